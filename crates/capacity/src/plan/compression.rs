//! Benefit of compression, and the length of a record with string control bytes.

use super::line::wire_time;
use crate::error::{not_negative, within};
use crate::{Bytes, Estimate, Method, ModelError, PerSecond, Seconds, Share, Validity};

/// Recommendation on compression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompressionAdvice {
    /// True if compression is recommended.
    pub compress: bool,
    /// Time on the wire without compression.
    pub wire: Seconds,
    /// Time on the wire that compression saves.
    pub saved: Seconds,
    /// CPU time that it adds.
    pub added: Seconds,
}

/// Share of the class' capacity from which compression is switched off regardless of its savings.
const BUSY: f64 = 0.7;

/// Advises on compression: it pays where it saves more time on the wire than it adds in CPU time, and where CPU is below 70 %.
///
/// # Errors
/// [`ModelError`] for a line without speed or a ratio below 1.
pub fn compression_advice(
    size: Bytes,
    bits: PerSecond,
    ratio: f64,
    cpu: Seconds,
    busy: Share,
) -> Result<Estimate<CompressionAdvice>, ModelError> {
    within("compression ratio", ratio, 1.0, f64::MAX)?;
    let wire = wire_time(size, bits)?.value;
    let saved = Seconds(wire.0 * (1.0 - 1.0 / ratio));
    let added = Seconds(not_negative("CPU time", cpu.0)?);
    let compress = saved.0 > added.0 && busy.0 < BUSY;
    let text = "saved wire time against added CPU time is our rule; 70 % is the source's";
    let advice = CompressionAdvice { compress, wire, saved, added };
    Ok(Estimate::new(Method::Compression, Validity::OurRule(text), advice))
}

/// Bytes of a record compressed by string control bytes: a run of 2 to 63 blanks takes one, a run of 3 to 63 equal bytes two, and other text
/// itself with one control byte for at most 63 bytes. The shortest form of each run is taken from the left.
#[must_use]
pub fn compressed_length(record: &[u8], blank: u8) -> Estimate<u64> {
    let mut length = 0_u64;
    let mut at = 0;
    let mut literal = 0_u64;
    while at < record.len() {
        let run = record[at..].iter().take(RUN_MAX).take_while(|byte| **byte == record[at]).count();
        let taken = if record[at] == blank && run >= 2 {
            length += 1;
            run
        } else if run >= 3 {
            length += 2;
            run
        } else {
            literal += 1;
            length += 1 + u64::from(literal == 1);
            at += 1;
            // A full literal starts another control byte.
            literal = if literal == 63 { 0 } else { literal };
            continue;
        };
        literal = 0;
        at += taken;
    }
    Estimate::exact(Method::Compression, length)
}

/// Longest run of one control byte.
const RUN_MAX: usize = 63;
/// Kinds of control byte. A run of blanks has no byte after it, a run of another byte has that byte, and a literal has its bytes.
const BLANKS: u8 = 0x80;
const RUN: u8 = 0xc0;
const LITERAL: u8 = 0x00;

/// Compresses a record with string control bytes; [`compressed_length`] calculates the length of the result. The two high bits of a control
/// byte are its kind, the six low bits its count.
#[must_use]
pub fn compress_record(record: &[u8], blank: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(record.len() / 2 + 2);
    // Position of the control byte of the literal that is open.
    let mut open: Option<usize> = None;
    let mut at = 0;
    while let Some(&byte) = record.get(at) {
        let run = record[at..].iter().take(RUN_MAX).take_while(|next| **next == byte).count();
        let count = u8::try_from(run).unwrap_or(0);
        if byte == blank && run >= 2 {
            out.push(BLANKS | count);
        } else if run >= 3 {
            out.extend([RUN | count, byte]);
        } else {
            let control = *open.get_or_insert_with(|| {
                out.push(LITERAL);
                out.len() - 1
            });
            out.push(byte);
            out[control] += 1;
            if usize::from(out[control]) == RUN_MAX {
                open = None;
            }
            at += 1;
            continue;
        }
        open = None;
        at += run;
    }
    out
}

/// Decompresses a record that [`compress_record`] wrote; `None` for other bytes, or for a record of more than `bytes_max`.
#[must_use]
pub fn decompress_record(compressed: &[u8], blank: u8, bytes_max: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = compressed;
    while let [control, after @ ..] = rest {
        let count = usize::from(control & 0x3f);
        if count == 0 || out.len() + count > bytes_max {
            return None;
        }
        rest = match control & 0xc0 {
            LITERAL => {
                out.extend_from_slice(after.get(..count)?);
                &after[count..]
            }
            BLANKS => {
                out.resize(out.len() + count, blank);
                after
            }
            RUN => {
                out.resize(out.len() + count, *after.first()?);
                &after[1..]
            }
            _ => return None,
        };
    }
    Some(out)
}
