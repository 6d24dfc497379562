//! Some transactions of interchanges, byte for byte, in interchanges of their own.

use crate::delimiters::{Delimiters, Standard};
use crate::envelope::{EnvelopePass, Header};
use crate::level::Level;
use crate::splitter::LineBreak;
use crate::state::{StateReader, StateWriter};

/// Headers of the levels around a document, as they are in the file.
#[derive(Clone, Eq, PartialEq)]
pub struct Surroundings {
    delimiters: Delimiters,
    line_break: LineBreak,
    interchange: HeaderCopy,
    group: Option<HeaderCopy>,
}

#[derive(Clone, Eq, PartialEq)]
struct HeaderCopy {
    /// Number in the file or in the interchange.
    number: u64,
    /// Text with terminator and line break; for an interchange, also UNA.
    text: Vec<u8>,
    /// The control number as written there.
    control: Vec<u8>,
}

impl core::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Headers name partners.
        f.debug_struct("Surroundings").field("interchange", &self.interchange.number).finish_non_exhaustive()
    }
}

impl Surroundings {
    pub(crate) fn of(pass: &EnvelopePass<'_>, in_group: bool) -> Self {
        let delimiters = *pass.delimiters();
        let (line_break, una) = pass.style();
        let mut interchange = HeaderCopy::of(pass.interchange(), line_break);
        interchange.number = pass.interchange().position().interchange.into();
        if una {
            let d = delimiters;
            let (release, repetition) = (d.release.unwrap_or(b' '), d.repetition.unwrap_or(pass.reserved()));
            let una = [d.component, d.element, d.decimal_mark, release, repetition, d.terminator];
            interchange.text = [b"UNA", &una[..], line_break.bytes(), &interchange.text].concat();
        }
        if let (Standard::X12, Some(release)) = (delimiters.standard, delimiters.release) {
            // The release character of X12 is in a separate segment.
            interchange.text.extend_from_slice(&[b'I', b'S', b'X', delimiters.element, release, delimiters.terminator]);
            interchange.text.extend_from_slice(line_break.bytes());
        }
        let group = in_group.then(|| {
            let header = pass.last_group();
            HeaderCopy { number: header.position().group.into(), ..HeaderCopy::of(header, line_break) }
        });
        Surroundings { delimiters, line_break, interchange, group }
    }
}

impl HeaderCopy {
    fn of(header: &Header, line_break: LineBreak) -> Self {
        let delimiters = header.delimiters();
        let control = header.segment().element(header.level().control_element(delimiters.standard) as usize);
        HeaderCopy {
            number: 0,
            text: [header.source(), &[delimiters.terminator], line_break.bytes()].concat(),
            control: control.map_or_else(Vec::new, |element| element.raw().to_vec()),
        }
    }
}

/// Copies transactions unchanged into interchanges that contain only these: headers are copied, trailers have new counts.
///
/// Consecutive transactions of one interchange or group share one copy of the header.
#[derive(Clone, Debug, Default)]
pub struct ExcerptWriter {
    open: Option<Surroundings>,
    /// Groups, or messages outside of groups, so far.
    in_interchange: u64,
    in_group: u64,
}

impl ExcerptWriter {
    /// Creates a writer without an open interchange.
    #[must_use]
    pub fn new() -> Self {
        ExcerptWriter::default()
    }

    /// Appends a document: its bytes from [`crate::DocumentStep::Document`].
    pub fn add(&mut self, around: &Surroundings, is_transaction: bool, raw: &[u8], out: &mut Vec<u8>) {
        if self.begin(around, is_transaction, raw, out) {
            out.extend_from_slice(raw);
            self.end(around, is_transaction, out);
        }
    }

    /// Appends the headers before a document whose bytes begin with `raw`. The caller appends the bytes, and then calls
    /// [`ExcerptWriter::end`]. If it returns false, the caller omits the bytes and the call of `end`.
    pub fn begin(&mut self, around: &Surroundings, is_transaction: bool, raw: &[u8], out: &mut Vec<u8>) -> bool {
        let same = self.open.as_ref().is_some_and(|open| open.interchange == around.interchange);
        if !same {
            self.finish(out);
            out.extend_from_slice(&around.interchange.text);
            self.open = Some(Surroundings { group: None, ..around.clone() });
        }
        let open_group = self.open.as_ref().and_then(|open| open.group.as_ref());
        if open_group != around.group.as_ref() {
            self.close_group(out);
            if let (Some(group), Some(open)) = (&around.group, &mut self.open) {
                out.extend_from_slice(&group.text);
                open.group = Some(group.clone());
                self.in_interchange += 1;
            }
        }
        // A document without segments has the bytes of its header, which is already written.
        let header = [Level::Interchange, Level::Group].iter().any(|level| {
            raw.starts_with(level.header(around.delimiters.standard).as_bytes()) || raw.starts_with(b"UNA")
        });
        !header || is_transaction
    }

    /// Appends the line break after the document, instead of white space that is already there, and counts the document. If its last segment is cut
    /// off, so that it has no terminator, the terminator comes first: otherwise the trailers would become data. `out` ends with the document, or at
    /// least with its last bytes.
    pub fn end(&mut self, around: &Surroundings, is_transaction: bool, out: &mut Vec<u8>) {
        end_segment(&around.delimiters, out);
        out.extend_from_slice(around.line_break.bytes());
        if is_transaction {
            *(if around.group.is_some() { &mut self.in_group } else { &mut self.in_interchange }) += 1;
        }
    }

    /// Closes the open group and interchange.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.close_group(out);
        if let Some(open) = self.open.take() {
            trailer(
                &open,
                Level::Interchange,
                core::mem::take(&mut self.in_interchange),
                &open.interchange.control,
                out,
            );
        }
    }

    fn close_group(&mut self, out: &mut Vec<u8>) {
        if let Some(open) = &mut self.open
            && let Some(group) = open.group.take()
        {
            trailer(open, Level::Group, core::mem::take(&mut self.in_group), &group.control, out);
        }
    }

    /// Encodes the open levels for a checkpoint.
    #[must_use]
    pub fn state(&self) -> Vec<u8> {
        let mut out = StateWriter::new();
        out.number(self.in_interchange);
        out.number(self.in_group);
        out.flag(self.open.is_some());
        if let Some(open) = &self.open {
            out.number(open.delimiters.to_bits());
            out.text(open.line_break.bytes());
            for header in core::iter::once(&open.interchange).chain(&open.group) {
                out.number(header.number);
                out.text(&header.text);
                out.text(&header.control);
            }
        }
        out.bytes
    }

    /// Continues from the result of [`ExcerptWriter::state`]. `None` for other bytes.
    #[must_use]
    pub fn resume(state: &[u8]) -> Option<Self> {
        let mut from = StateReader::new(state);
        let mut writer =
            ExcerptWriter { in_interchange: from.number()?, in_group: from.number()?, ..ExcerptWriter::default() };
        if from.flag()? {
            let delimiters = Delimiters::from_bits(from.number()?);
            let line_break = match from.text()? {
                b"" => LineBreak::None,
                b"\n" => LineBreak::Lf,
                b"\r\n" => LineBreak::CrLf,
                _ => return None,
            };
            let mut header = || {
                Some(HeaderCopy { number: from.number()?, text: from.text()?.to_vec(), control: from.text()?.to_vec() })
            };
            let interchange = header()?;
            let group = header();
            writer.open = Some(Surroundings { delimiters, line_break, interchange, group });
        }
        from.is_empty().then_some(writer)
    }
}

/// Ends the text with the terminator.
fn end_segment(delimiters: &Delimiters, text: &mut Vec<u8>) {
    let terminator = delimiters.terminator;
    let ended = text.trim_ascii_end().len();
    if ended > 0 && !terminator.is_ascii_whitespace() {
        text.truncate(ended);
        if text[ended - 1] != terminator {
            text.push(terminator);
        }
    }
}

fn trailer(around: &Surroundings, level: Level, count: u64, control: &[u8], out: &mut Vec<u8>) {
    let d = &around.delimiters;
    out.extend_from_slice(level.trailer(d.standard).as_bytes());
    out.push(d.element);
    out.extend_from_slice(count.to_string().as_bytes());
    out.push(d.element);
    out.extend_from_slice(control);
    out.push(d.terminator);
    out.extend_from_slice(around.line_break.bytes());
}
