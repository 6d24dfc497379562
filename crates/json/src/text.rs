//! Strings as JSON writes them.

use quayline_core::Run;

use quayline_charset::scan::mask_json_special;

/// Most bytes that one byte of text takes: `\u0000`.
pub(crate) const ESCAPED_MAX: usize = 6;

/// Bytes beyond the text that [`copy_escaped`] and [`copy_clean`] may write.
pub(crate) const SLACK: usize = 16;

/// Copies `run` to the start of `out` up to the first byte that needs an escape; returns how many bytes were copied.
/// `out` holds at least `run.len() + SLACK` bytes.
#[inline(always)]
pub(crate) fn copy_clean(run: Run<'_>, out: &mut [u8]) -> usize {
    let (tail, len) = (run.tail(), run.len());
    let mut at = 0;
    while at < len {
        let block = block_at(tail, at);
        out[at..at + 16].copy_from_slice(&block);
        let clean = mask_json_special(&block).trailing_zeros() as usize;
        if clean < 16 {
            return (at + clean).min(len);
        }
        at += 16;
    }
    len
}

/// Copies `run` to the start of `out` with escapes; returns how many bytes were written.
/// `out` holds at least `run.len() * ESCAPED_MAX + SLACK` bytes.
pub(crate) fn copy_escaped(run: Run<'_>, out: &mut [u8]) -> usize {
    let mut rest = run;
    let mut at = 0;
    loop {
        let clean = copy_clean(rest, &mut out[at..]);
        at += clean;
        rest = rest.skip(clean);
        let Some(byte) = rest.bytes().first() else { return at };
        let (escape, len) = escape(*byte);
        out[at..at + len].copy_from_slice(&escape[..len]);
        at += len;
        rest = rest.skip(1);
    }
}

/// Appends `text` as a string of JSON, with its quotes.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    escape_into(text.as_bytes(), out);
    out.push(b'"');
}

/// Appends `text` with escapes.
pub(crate) fn escape_into(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + text.len() * ESCAPED_MAX + SLACK, 0);
    let len = copy_escaped(text.into(), &mut out[start..]);
    out.truncate(start + len);
}

/// Returns the 16 bytes from `at`, with zeros after the end of `tail`.
#[inline(always)]
pub(crate) fn block_at(tail: &[u8], at: usize) -> [u8; 16] {
    match tail.get(at..).and_then(|tail| tail.first_chunk::<16>()) {
        Some(block) => *block,
        None => short_block(tail, at),
    }
}

#[inline(never)]
fn short_block(tail: &[u8], at: usize) -> [u8; 16] {
    let mut block = [0; 16];
    let rest = tail.get(at..).unwrap_or_default();
    let len = rest.len().min(16);
    block[..len].copy_from_slice(&rest[..len]);
    block
}

/// Returns the escape sequence of a byte that needs one, and its length (RFC 8259, section 7).
fn escape(byte: u8) -> ([u8; ESCAPED_MAX], usize) {
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        _ => {
            let [high, low] = hex(byte);
            return ([b'\\', b'u', b'0', b'0', high, low], 6);
        }
    };
    ([b'\\', short, 0, 0, 0, 0], 2)
}

/// Two lower-case hexadecimal digits.
#[inline(always)]
pub(crate) fn hex(byte: u8) -> [u8; 2] {
    let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble & 15)];
    [digit(byte >> 4), digit(byte)]
}
