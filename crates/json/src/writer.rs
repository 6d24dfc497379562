//! The sink that writes JSON text.

use quayline_core::{Decimal, Digits, NodeId, Run, Shape, Sink, TextPlace, TextRows, Value};

use crate::keys::{self, ALONE_MAX, Alone, Keys, NodeKeys, PREFIX_MAX, Prefix, Span};
use crate::number;
use crate::style::{JsonStyle, Numbers, SAFE_DIGITS, Spacing, Stream};
use crate::text;
use quayline_charset::scan::{mask_eq, mask_high, mask_json_special};
use quayline_charset::{Hole, Piece, Weave};

/// Bytes of a writer's buffer at the start; it grows as needed.
const BUFFER_BYTES: usize = 1 << 16;

/// Writes documents as JSON text into a buffer that the caller drains.
///
/// It does no I/O: after one or more documents the caller writes [`JsonWriter::bytes`] to the output and calls
/// [`JsonWriter::clear`].
///
/// # What is written
/// * A group is an object whose members are in the order of the events, a list an array.
/// * `Text` and `Ascii` are strings; `"`, `\` and characters below 0x20 are escaped, all others are written as UTF-8.
/// * Decimals are plain numbers without exponent or leading zeros, with every fractional digit of their scale (`100.00`, `0.05`,
///   `7000`). A negative zero keeps its sign (`-0`, `-0.00`), which JSON allows. [`Numbers`] determines when they become strings.
/// * Floats have the fewest digits that read back as the same value; one that is not finite is `null`.
/// * `Bytes` is a string of hexadecimal digits, `Raw` one with `0x` before them.
///
/// # Several writers for one array
/// With [`Stream::Array`] every document begins with its separator: a line feed for the first after [`JsonWriter::begin`],
/// otherwise `,` and a line feed. A driver that joins the output of several writers drops the first byte of the first output that
/// has any.
#[derive(Clone, Debug)]
pub struct JsonWriter {
    /// Always initialised to its full length; only `..pos` is output.
    buf: Vec<u8>,
    pos: usize,
    keys: Keys,
    /// For each group, the precomputed rows of texts, once it has some.
    rows: Vec<Option<Box<Rows>>>,
    style: JsonStyle,
    /// Whether no document of the array was written yet.
    first: bool,
    /// Whether the writer is between `enter(ROOT)` and `leave(ROOT)`.
    open: bool,
    /// Start of the document begun last, and the value of `first` before it.
    start: usize,
    start_first: bool,
    /// Bytes of the document begun last that were cleared while it was open.
    taken: u64,
}

impl JsonWriter {
    /// A writer for documents of `shape`.
    #[must_use]
    pub fn new(shape: &Shape, style: JsonStyle) -> Self {
        JsonWriter {
            buf: vec![0; BUFFER_BYTES],
            pos: 0,
            keys: Keys::new(shape, style),
            rows: Vec::new(),
            style,
            first: false,
            open: false,
            start: 0,
            start_first: false,
            taken: 0,
        }
    }

    /// Begins the stream: `[` for an array, nothing for lines.
    pub fn begin(&mut self) {
        if self.style.stream == Stream::Array {
            self.put(b"[");
            self.first = true;
        }
        self.start = self.pos;
    }

    /// Ends the stream: writes `]` on a separate line for an array, nothing for lines.
    pub fn end(&mut self) {
        if self.style.stream == Stream::Array {
            self.put(b"\n]\n");
        }
        self.start = self.pos;
    }

    /// Returns the text written since the last [`JsonWriter::clear`]. Inside a document, its last byte is held back.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.buf[..self.pos - usize::from(self.open)]
    }

    /// Removes [`JsonWriter::bytes`] and keeps the memory. If a document is open (a giant one is drained in parts), a later
    /// `discard` cannot withdraw the cleared bytes, and [`JsonWriter::taken`] returns how many there are.
    pub fn clear(&mut self) {
        let kept = usize::from(self.open);
        let cleared = self.pos - kept;
        if self.open {
            self.taken += (cleared - self.start.min(cleared)) as u64;
            self.buf[0] = self.buf[cleared];
        } else {
            self.taken = 0;
        }
        self.pos = kept;
        self.start = 0;
    }

    /// Exchanges the buffer instead of copying its bytes. Returns the old buffer and the length of the finished text at its start. The
    /// writer continues with `buffer`, whose content is discarded. An open document stays with the writer, in full if no part of it was
    /// cleared.
    #[must_use]
    pub fn exchange(&mut self, mut buffer: Vec<u8>) -> (Vec<u8>, usize) {
        if self.open {
            return self.exchange_closed(buffer);
        }
        if buffer.len() < BUFFER_BYTES {
            buffer.resize(BUFFER_BYTES, 0);
        }
        let len = core::mem::take(&mut self.pos);
        self.start = 0;
        self.taken = 0;
        (core::mem::replace(&mut self.buf, buffer), len)
    }

    #[cold]
    fn exchange_closed(&mut self, mut buffer: Vec<u8>) -> (Vec<u8>, usize) {
        let (closed, len) = (self.start, self.pos - self.start);
        if closed == 0 {
            return (buffer, 0);
        }
        if buffer.len() < len + BUFFER_BYTES {
            buffer.resize(len + BUFFER_BYTES, 0);
        }
        buffer[..len].copy_from_slice(&self.buf[closed..self.pos]);
        (self.pos, self.start) = (len, 0);
        (core::mem::replace(&mut self.buf, buffer), closed)
    }

    /// Truncates [`JsonWriter::bytes`] to the first `len`, which must be the end of a document of [`Stream::Lines`] or the first
    /// byte of an array. Everything after it is void, including an open document.
    pub fn back_to(&mut self, len: usize) {
        self.pos = len.min(self.pos);
        (self.open, self.first) = (false, false);
        (self.start, self.taken) = (self.pos, 0);
    }

    /// Returns the bytes of the open document that were cleared already; 0 if none is open.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns at least `need` bytes to write to, from the current end.
    #[inline(always)]
    fn room(&mut self, need: usize) -> &mut [u8] {
        room(&mut self.buf, self.pos, need)
    }

    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.pos += bytes.len();
    }

    #[inline(always)]
    fn put_key(&mut self, span: Span) {
        let len = span.len();
        let out = room(&mut self.buf, self.pos, len + keys::SLACK);
        self.keys.copy(span, out);
        self.pos += len;
    }

    /// Closes an object or array: the bracket replaces the comma after its last member.
    #[inline(always)]
    fn close(&mut self, bracket: u8, level: impl FnOnce(&Keys) -> u16) {
        // A branch, not an addition of 0 or 1: the place of the next member must not wait for the byte to be loaded.
        if self.style.spacing == Spacing::Compact
            && let Some(out @ [b',', ..]) = self.buf.get_mut(self.pos - 1..self.pos + 1)
        {
            out.copy_from_slice(&[bracket, b',']);
            self.pos += 1;
        } else {
            self.close_other(bracket, level(&self.keys));
        }
    }

    /// Closes a group without members, or any group in pretty output.
    #[inline(never)]
    fn close_other(&mut self, bracket: u8, level: u16) {
        let empty = self.buf[self.pos - 1] != b',';
        self.pos -= usize::from(!empty);
        if self.style.spacing == Spacing::Pretty && !empty {
            let line = keys::line_start(level, Spacing::Pretty);
            self.put(&line);
        }
        self.room(2)[..2].copy_from_slice(&[bracket, b',']);
        self.pos += 2;
    }

    /// Writes a string: up to 16 bytes at once, longer ones with [`JsonWriter::long_string`].
    #[inline(always)]
    fn string(&mut self, node: NodeId, run: Run<'_>, special: impl Fn(&[u8; 16]) -> u16) {
        let prefix = self.keys.short(node);
        let len = run.len();
        if let Some(block) = run.tail().first_chunk::<16>()
            && special(block).trailing_zeros() as usize >= len
            && len <= 16
            && prefix.string > 0
        {
            let out: &mut [u8; WINDOW] = window(&mut self.buf, self.pos);
            copy_prefix(prefix, out);
            // At most PREFIX_MAX, as the mask tells the compiler, so no access below needs a check.
            let at = usize::from(prefix.string & 0x7f);
            out[at..at + 16].copy_from_slice(block);
            let end = at + len;
            out[end..end + 2].copy_from_slice(b"\",");
            self.pos += end + 2;
        } else {
            self.long_string(self.keys.node(node).one, run.tail(), len);
        }
    }

    /// Writes a string of any length, with escapes if it needs them.
    #[inline(never)]
    fn long_string(&mut self, key: Span, tail: &[u8], len: usize) {
        self.put_key(key);
        let run = Run::new(tail, len);
        let clean = text::copy_clean(run, room(&mut self.buf, self.pos, len + text::SLACK));
        self.pos += clean;
        if clean < len {
            let rest = run.skip(clean);
            let out = room(&mut self.buf, self.pos, rest.len() * text::ESCAPED_MAX + text::SLACK);
            let written = text::copy_escaped(rest, out);
            self.pos += written;
        }
        self.put(b"\",");
    }

    /// Writes a decimal given as digits.
    #[inline(always)]
    fn digits(&mut self, node: NodeId, value: Digits<'_>) {
        let (tail, len) = (value.digits.tail(), value.digits.len());
        let prefix = self.keys.short(node);
        if let (Some(block), Ok(scale)) = (tail.first_chunk::<16>(), usize::try_from(value.scale))
            && len <= usize::from(prefix.block_digits)
            && scale < len
        {
            let digits = u128::from_le_bytes(*block);
            self.pos += short_number(window(&mut self.buf, self.pos), prefix, value.negative, digits, len, scale);
        } else {
            self.long_digits(node, value);
        }
    }

    /// Writes digits that start with zeros or are more than sixteen, a block at a time; others with [`JsonWriter::long_number`].
    #[inline(always)]
    fn long_digits(&mut self, node: NodeId, value: Digits<'_>) {
        let (tail, len) = (value.digits.tail(), value.digits.len());
        let prefix = self.keys.short(node);
        if let (Some(block), Ok(scale)) = (tail.first_chunk::<32>(), usize::try_from(value.scale))
            && (17..=usize::from(prefix.plain_digits)).contains(&len)
            && scale < len
        {
            let out: &mut [u8; WINDOW] = window(&mut self.buf, self.pos);
            copy_prefix(prefix, out);
            let mut at = usize::from(prefix.number & 0x7f);
            out[at] = b'-';
            at += usize::from(value.negative);
            at += number::put_two_blocks(block, len, scale, &mut out[at..]);
            out[at] = b'"';
            at += usize::from(prefix.quotes);
            out[at] = b',';
            self.pos += at + 1;
        } else {
            self.long_number(node, value);
        }
    }

    /// Writes a decimal given as a small integer.
    #[inline(always)]
    fn int(&mut self, node: NodeId, value: i64, scale: i16) {
        let magnitude = value.unsigned_abs();
        let prefix = self.keys.short(node);
        if magnitude < 100_000_000
            && let Ok(scale @ 0..8) = usize::try_from(scale)
            && prefix.plain_digits > 0
        {
            let digits = number::eight_digits(magnitude);
            self.pos += short_number(window(&mut self.buf, self.pos), prefix, value < 0, digits, 8, scale);
        } else {
            self.long_int(node, value, scale);
        }
    }

    #[inline(never)]
    fn long_int(&mut self, node: NodeId, value: i64, scale: i16) {
        let magnitude = value.unsigned_abs();
        let prefix = self.keys.short(node);
        if magnitude < 10u64.pow(u32::from(prefix.plain_digits.min(16)))
            && let Ok(scale @ 0..16) = usize::try_from(scale)
            && prefix.plain_digits > 0
        {
            let digits = number::sixteen_digits(magnitude);
            self.pos += short_number(window(&mut self.buf, self.pos), prefix, value < 0, digits, 16, scale);
        } else {
            self.decimal(node, Decimal { unscaled: value.into(), scale });
        }
    }

    /// Writes null as a member of the open group in place of a value, a group or a whole list.
    #[inline(never)]
    pub fn null_member(&mut self, node: NodeId) {
        let keys = self.keys.node(node);
        self.put_key(if keys.list.len() > 0 { keys.list } else { keys.one });
        // In place of the quotation mark or the bracket.
        self.pos -= 1;
        self.put(b"null,");
    }

    #[inline(never)]
    fn long_text_alone(&mut self, group: NodeId, leaf: NodeId, text: Run<'_>) {
        self.enter(group);
        if text.len() > 0 {
            self.value(leaf, Value::Ascii(text));
        }
        self.leave(group);
    }

    #[inline(never)]
    fn long_number(&mut self, node: NodeId, value: Digits<'_>) {
        let keys = self.keys.node(node);
        let quoted = keys.quoted
            || self.style.numbers == Numbers::StringsWhenUnsafe
                && number::significant_digits(value.digits.bytes()) > SAFE_DIGITS;
        let room = number::digits_room(value.digits.len(), value.scale);
        self.scalar(keys, quoted, room, |out| number::put_digits(value, out));
    }

    #[inline(never)]
    fn decimal(&mut self, node: NodeId, value: Decimal) {
        self.long_number(node, number::decimal_digits(value, &mut number::decimal_scratch()));
    }

    #[inline(never)]
    fn other(&mut self, node: NodeId, value: Value<'_>) {
        let keys = self.keys.node(node);
        let float_quoted = self.style.numbers == Numbers::Strings;
        match value {
            Value::Float32(x) if x.is_finite() => {
                self.scalar(keys, float_quoted, number::SLACK, |out| number::put_float(f64::from(x), out));
            }
            Value::Float64(x) if x.is_finite() => {
                self.scalar(keys, float_quoted, number::SLACK, |out| number::put_float(x, out));
            }
            Value::Bool(true) => self.scalar(keys, false, 4, |out| put_all(b"true", out)),
            Value::Bool(false) => self.scalar(keys, false, 5, |out| put_all(b"false", out)),
            Value::Bytes(bytes) => self.scalar(keys, true, 2 * bytes.len(), |out| put_hex(bytes, out)),
            Value::Raw(bytes) => self.scalar(keys, true, 2 + 2 * bytes.len(), |out| {
                let start = put_all(b"0x", out);
                start + put_hex(bytes, &mut out[start..])
            }),
            _ => self.scalar(keys, false, 4, |out| put_all(b"null", out)),
        }
    }

    /// Writes a key, a value of at most `need` bytes and a comma.
    fn scalar(&mut self, keys: NodeKeys, quoted: bool, need: usize, write: impl FnOnce(&mut [u8]) -> usize) {
        self.put_key(keys.one);
        self.pos -= usize::from(!quoted);
        let len = write(self.room(need));
        self.pos += len;
        self.put(if quoted { b"\"," } else { b"," });
    }

    fn enter_document(&mut self) {
        self.start = self.pos;
        self.start_first = self.first;
        self.taken = 0;
        self.open = true;
        if self.style.stream == Stream::Array {
            self.put(if self.first { b"\n" } else { b",\n" });
            self.first = false;
        }
    }

    fn leave_document(&mut self) {
        self.open = false;
        match self.style.stream {
            Stream::Lines => self.buf[self.pos - 1] = b'\n',
            Stream::Array => self.pos -= 1,
        }
    }
}

impl Sink for JsonWriter {
    #[inline(always)]
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.enter_document();
        }
        self.put_key(self.keys.node(node).one);
    }

    #[inline(always)]
    fn leave(&mut self, node: NodeId) {
        self.close(b'}', |keys| keys.node(node).level);
        if node == NodeId::ROOT {
            self.leave_document();
        }
    }

    #[inline]
    fn open_list(&mut self, node: NodeId) {
        self.put_key(self.keys.node(node).list);
    }

    #[inline]
    fn close_list(&mut self, node: NodeId) {
        self.close(b']', |keys| keys.node(node).level - 1);
    }

    #[inline(always)]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        match value {
            Value::Ascii(run) => {
                debug_assert!(run.is_printable());
                self.string(node, run, |block| mask_eq(block, b'"') | mask_eq(block, b'\\'))
            }
            Value::Text(run) => self.string(node, run, mask_json_special),
            Value::Digits(digits) => self.digits(node, digits),
            Value::Int(n, scale) => self.int(node, n, scale),
            Value::Decimal(decimal) => self.decimal(node, decimal),
            other => self.other(node, other),
        }
    }

    #[inline(always)]
    fn text_alone(&mut self, group: NodeId, leaf: NodeId, text: Run<'_>) {
        let alone = self.keys.alone(leaf);
        let len = text.len();
        if let Some(block) = text.tail().first_chunk::<16>()
            && plain_ascii(block) >= len
            && alone.all > 0
        {
            let out = window(&mut self.buf, self.pos).first_chunk_mut().expect("a window is longer");
            self.pos += put_alone(out, alone, block, len);
        } else {
            self.long_text_alone(group, leaf, text);
        }
    }

    #[inline(always)]
    fn each_text_alone<'v>(&mut self, group: NodeId, leaf: NodeId, texts: impl ExactSizeIterator<Item = Run<'v>>) {
        // By value: data in registers need not be loaded again after each store.
        let alone = *self.keys.alone(leaf);
        if alone.all == 0 {
            return texts.for_each(|text| self.text_alone(group, leaf, text));
        }
        let mut need = (texts.len() + 1) * EACH_ALONE_MAX;
        let whole = room(&mut self.buf, self.pos, need);
        let (mut before, mut left) = (whole.len(), whole);
        for text in texts {
            let len = text.len();
            need -= EACH_ALONE_MAX;
            if let (Some(block), Some(out)) =
                (text.tail().first_chunk::<16>(), left.first_chunk_mut::<EACH_ALONE_MAX>())
                && plain_ascii(block) >= len
            {
                let end = put_alone(out, &alone, block, len);
                left = left.get_mut(end..).unwrap_or_default();
            } else {
                self.pos += before - left.len();
                self.long_text_alone(group, leaf, text);
                let whole = room(&mut self.buf, self.pos, need);
                (before, left) = (whole.len(), whole);
            }
        }
        self.pos += before - left.len();
    }

    #[inline(always)]
    fn texts_alone<'v>(&mut self, group: NodeId, list: NodeId, texts: impl Iterator<Item = Run<'v>>) {
        let alone = self.keys.alone(list);
        if alone.all == 0 {
            self.enter(group);
            self.open_list(list);
            texts.for_each(|text| self.value(list, Value::Ascii(text)));
            self.close_list(list);
            return self.leave(group);
        }
        window(&mut self.buf, self.pos)[..ALONE_MAX].copy_from_slice(&alone.bytes);
        self.pos += usize::from(alone.all);
        let mut comma = 0;
        for text in texts {
            let len = text.len();
            if let Some(block) = text.tail().first_chunk::<16>()
                && plain_ascii(block) >= len
            {
                let out = window(&mut self.buf, self.pos);
                out[0] = b'"';
                out[1..17].copy_from_slice(block);
                out[len + 1..len + 3].copy_from_slice(b"\",");
                self.pos += len + 3;
            } else {
                self.long_string(self.keys.node(list).one, text.tail(), len);
            }
            comma = 1;
        }
        self.pos -= comma;
        window(&mut self.buf, self.pos)[..4].copy_from_slice(b"]},\0");
        self.pos += 3;
    }

    fn discard(&mut self) {
        self.pos = self.start;
        self.first = self.start_first;
        self.open = false;
        self.taken = 0;
    }

    const TAKES_TEXTS: bool = true;

    #[inline(always)]
    fn texts(&mut self, places: &[TextPlace], text: &[u8], shift: u32) -> usize {
        let Some(first) = places.first() else { return 0 };
        let Some(prefixes) = self.keys.run(first.node, places.len()) else { return 0 };
        let need = places.len() * (PREFIX_MAX + TextPlace::SIZE_MAX as usize + 2) + WINDOW;
        let whole = room(&mut self.buf, self.pos, need);
        let before = whole.len();
        let mut left = whole;
        let mut taken = 0;
        for (place, prefix) in places.iter().zip(prefixes) {
            let at = place.offset.wrapping_sub(shift) as usize;
            let Some(block) = text.get(at..at + 16).and_then(<[u8]>::first_chunk::<16>) else { break };
            let keep = (1u32 << (place.size & 0x1f)) - 1;
            let awkward = mask_high(block) | mask_eq(block, b'"') | mask_eq(block, b'\\');
            let Some(out) = left.first_chunk_mut::<WINDOW>() else { break };
            if u32::from(awkward) & keep != 0 || prefix.string == 0 {
                break;
            }
            let ink = !u32::from(mask_eq(block, b' ')) & keep;
            let len = (u32::BITS - ink.leading_zeros()) as usize;
            copy_prefix(prefix, out);
            let start = usize::from(prefix.string & 0x7f);
            out[start..start + 16].copy_from_slice(block);
            let end = start + (len & 0x1f);
            out[end..end + 2].copy_from_slice(b"\",");
            left = &mut left[end + 2..];
            taken += 1;
        }
        self.pos += before - left.len();
        taken
    }

    fn text_rows(&mut self, rows: TextRows<'_>) -> usize {
        if self.style.spacing != Spacing::Compact {
            return 0;
        }
        let index = rows.group.index();
        if self.rows.len() <= index {
            self.rows.resize_with(index + 1, || None);
        }
        let known = match &mut self.rows[index] {
            Some(known) if known.places == rows.places => known,
            other => other.insert(Box::new(Rows::new(&self.keys, &rows))),
        };
        let Some(weave) = &known.weave else { return 0 };
        let mut taken = 0;
        while taken < rows.count {
            let out = room(&mut self.buf, self.pos, weave.row_bytes_max() + Weave::OUT_SLACK);
            let woven = weave.write(&rows.text[taken * rows.stride..], rows.stride, rows.count - taken, *b"\"\\", out);
            if woven.rows == 0 {
                break;
            }
            self.pos += woven.bytes;
            taken += woven.rows;
        }
        taken
    }
}

/// Prepared rows of one group.
#[derive(Clone, Debug)]
struct Rows {
    /// The places that they were prepared for.
    places: Vec<TextPlace>,
    /// `None` if they are written text by text.
    weave: Option<Weave>,
}

impl Rows {
    fn new(keys: &Keys, rows: &TextRows<'_>) -> Rows {
        let (mut words, mut holes) = (vec![keys.bytes(keys.node(rows.group).one)], Vec::new());
        let first = rows.places.first().map_or(0, |place| place.offset);
        for place in rows.places {
            if let (Some(word), false) = (words.last_mut(), holes.is_empty()) {
                word.extend_from_slice(b"\",");
            }
            if let Some(word) = words.last_mut() {
                word.extend_from_slice(&keys.bytes(keys.node(place.node).one));
            }
            words.push(Vec::new());
            holes.push(Hole { offset: place.offset.saturating_sub(first) as usize, size: place.size as usize });
        }
        if let Some(word) = words.last_mut() {
            word.extend_from_slice(b"\"},");
        }
        let mut pieces = Vec::with_capacity(words.len() + holes.len());
        for (i, word) in words.iter().enumerate() {
            pieces.push(Piece::Word(word));
            pieces.extend(holes.get(i).map(|hole| Piece::Text(*hole)));
        }
        Rows { places: rows.places.to_vec(), weave: Weave::new(&pieces) }
    }
}

/// Bytes that [`put_alone`] may touch.
const EACH_ALONE_MAX: usize = 104;

/// Writes a group whose only member is a text of at most 16 bytes, and a comma.
#[inline(always)]
fn put_alone(out: &mut [u8; EACH_ALONE_MAX], alone: &Alone, block: &[u8; 16], len: usize) -> usize {
    out[..ALONE_MAX].copy_from_slice(&alone.bytes);
    let (at, end, end_len) = if len == 0 { (alone.group, *b"},  ", 2) } else { (alone.all, *b"\"}, ", 3) };
    // At most ALONE_MAX and 16, as the masks tell the compiler, so no access below needs a check.
    let at = usize::from(at & 0x3f);
    out[at..at + 16].copy_from_slice(block);
    let at = at + (len & 0x1f);
    out[at..at + 4].copy_from_slice(&end);
    at + end_len
}

/// Returns how many bytes at the start are printable ASCII that a JSON string holds unescaped, at most sixteen.
#[inline(always)]
fn plain_ascii(block: &[u8; 16]) -> usize {
    (u32::from(mask_eq(block, b'"') | mask_eq(block, b'\\')) | 1 << 16).trailing_zeros() as usize
}

/// Bytes that the short ways may touch: a prefix, a sign, 33 digits and a point, quotation mark and comma, and a block beyond.
const WINDOW: usize = 192;

/// Writes the prefix and, after it, arbitrary bytes. Most prefixes fit half a block, and a store of a whole one would nearly always
/// straddle two cache lines.
#[inline(always)]
fn copy_prefix(prefix: &Prefix, out: &mut [u8; WINDOW]) {
    const HALF: usize = PREFIX_MAX / 2;
    out[..HALF].copy_from_slice(&prefix.bytes[..HALF]);
    if usize::from(prefix.string) > HALF {
        out[HALF..PREFIX_MAX].copy_from_slice(&prefix.bytes[HALF..]);
    }
}

/// Writes a prefix, a number of at most 16 digits and a comma; returns the length.
#[inline(always)]
fn short_number(
    out: &mut [u8; WINDOW],
    prefix: &Prefix,
    negative: bool,
    digits: u128,
    len: usize,
    scale: usize,
) -> usize {
    copy_prefix(prefix, out);
    let mut at = usize::from(prefix.number & 0x7f);
    out[at] = b'-';
    at += usize::from(negative);
    at += number::put_short(digits, len, scale, &mut out[at..]);
    // At most PREFIX_MAX and 18, as the mask tells the compiler.
    let end = at & 0x7f;
    out[end] = b'"';
    let end = end + usize::from(prefix.quotes & 1);
    out[end] = b',';
    end + 1
}

/// [`WINDOW`] bytes of `buf` from `pos` on.
#[inline(always)]
fn window(buf: &mut Vec<u8>, pos: usize) -> &mut [u8; WINDOW] {
    if buf.len() < pos + WINDOW {
        grow(buf, pos + WINDOW);
    }
    buf[pos..pos + WINDOW].as_mut_array().expect("a slice of a window's length is one")
}

/// The bytes of `buf` from `pos` on, at least `need`.
#[inline(always)]
fn room(buf: &mut Vec<u8>, pos: usize, need: usize) -> &mut [u8] {
    if buf.len() - pos < need {
        grow(buf, pos + need);
    }
    &mut buf[pos..]
}

#[cold]
#[inline(never)]
fn grow(buf: &mut Vec<u8>, need: usize) {
    buf.resize(need.max(buf.len() * 2), 0);
}

fn put_all(bytes: &[u8], out: &mut [u8]) -> usize {
    out[..bytes.len()].copy_from_slice(bytes);
    bytes.len()
}

fn put_hex(bytes: &[u8], out: &mut [u8]) -> usize {
    for (pair, byte) in out.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&text::hex(*byte));
    }
    2 * bytes.len()
}
