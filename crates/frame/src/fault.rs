//! Faults in the framing of a file, and their likely causes.

use core::fmt;

use quayline_core::{ByteOffset, Code, Fault, Finding, Place, RecordNumber};

use crate::ExtentFault;

/// A fault with its place. `Display` writes the message without the place; [`FrameFault::finding`] is the form for people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FrameFault {
    /// Kind of the fault.
    pub kind: FrameFaultKind,
    /// The record in which it was found.
    pub record: RecordNumber,
    /// First byte of that record's framing: its block header, if one precedes it.
    pub record_offset: ByteOffset,
    /// Byte that is wrong: of the header, length field or line.
    pub offset: ByteOffset,
    /// Likely cause, recognized by the bytes.
    pub cause: Option<Cause>,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FrameFaultKind {
    /// `FRM-001`: the source ends inside a record, header or block.
    Truncated {
        /// The part that ends too early.
        part: Part,
        /// Bytes that it needs.
        need: u64,
        /// Bytes that are there.
        have: u64,
    },
    /// `FRM-002`: a length smaller than the bytes that it must count.
    TooSmall {
        /// The part with this length.
        part: Part,
        /// The length as read.
        found: u64,
        /// The smallest possible.
        least: u64,
    },
    /// `FRM-003`: a length above what is plausible or allowed.
    TooLarge {
        /// The part with this length.
        part: Part,
        /// The length as read.
        found: u64,
        /// The largest allowed.
        most: u64,
        /// Name of the bound.
        bound: &'static str,
    },
    /// `FRM-004`: reserved bytes are not zero.
    Reserved {
        /// The part with this header.
        part: Part,
        /// The length as read.
        found: u64,
        /// Whether they could be a z/OS segment control code (0x01 to 0x03, then 0x00).
        segment: bool,
    },
    /// `FRM-005`: a record runs past the end of its block.
    PastBlock {
        /// Bytes the record or its header needs.
        need: u64,
        /// Bytes left in the block.
        left: u64,
    },
    /// `FRM-006`: a line longer than `line_bytes_max`.
    EndlessLine {
        /// The limit.
        limit: usize,
    },
    /// `FRM-013`: the last line has only end-of-file marks 0x1a, which are not a record.
    EndMark {
        /// Bytes of the line, with its end.
        bytes: usize,
    },
    /// `FRM-008`: a segment that does not continue the one before.
    SegmentOrder {
        /// Segment control code found.
        found: u8,
        /// Whether a record is open. Then 2 (last) or 3 (middle) is expected, otherwise 0 (complete) or 1 (first).
        open: bool,
    },
    /// `FRM-009`: a length field that is not a number.
    NotDigits {
        /// Bytes of the field.
        size: usize,
    },
    /// `FRM-010`: not the file header of a Micro Focus variable file.
    FileHeader,
    /// `FRM-011`: a record type that has no meaning in a sequential Micro Focus file.
    RecordType {
        /// The type, 0 to 15.
        found: u8,
    },
    /// `FRM-012`: a record does not determine where it ends.
    NoExtent {
        /// Reason from the record description.
        fault: ExtentFault,
    },
    /// `FRM-023`: a record to be written has another length than its own counters give, so no reader would find its end.
    OtherExtent {
        /// Length of the record in bytes.
        length: usize,
        /// Length that its counters give, if they give one.
        says: Option<usize>,
    },
    /// `FRM-020`: a record to be written is longer than its framing can hold.
    RecordTooLong {
        /// Length of the record in bytes.
        length: usize,
        /// The most.
        most: u64,
    },
    /// `FRM-024`: the bytes for the length in a record to be written have other content.
    OtherLength {
        /// Bytes before the length field.
        offset: usize,
        /// Bytes of the length field.
        size: usize,
        /// Length of the record in bytes.
        length: usize,
    },
    /// `FRM-021`: a record to be written as a line contains the line's terminator.
    TerminatorInside {
        /// Byte of the record, from 0.
        at: usize,
    },
    /// `FRM-022`: a record to be written ends before its own length field does.
    ShorterThanField {
        /// Length of the record in bytes.
        length: usize,
        /// Bytes up to the end of the field.
        need: usize,
    },
}

/// A part of the framing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    /// The record.
    Record,
    /// The record's length header.
    Rdw,
    /// The block's length header.
    Bdw,
    /// The block.
    Block,
    /// A segment's descriptor word.
    Sdw,
    /// A length field.
    LengthField,
    /// The header of the file.
    FileHeader,
}

impl Part {
    fn article(self) -> &'static str {
        if self == Part::Rdw { "an" } else { "a" }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Record => "record",
            Part::Rdw => "RDW",
            Part::Bdw => "BDW",
            Part::Block => "block",
            Part::Sdw => "segment descriptor word",
            Part::LengthField => "length field",
            Part::FileHeader => "file header",
        })
    }
}

/// Shape of the bytes of a faulty header. Text is identified by kind only; content is never shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cause {
    /// EBCDIC blanks (0x40).
    EbcdicBlanks,
    /// EBCDIC letters or digits.
    EbcdicText,
    /// ASCII blanks (0x20).
    AsciiBlanks,
    /// ASCII letters, digits or punctuation.
    AsciiText,
    /// A line end.
    LineEnd,
    /// Zeros only.
    Zeros,
    /// A sound length in the other byte order.
    OtherByteOrder,
    /// The file's last bytes are one or two line ends or an end-of-file mark 0x1a.
    TrailingMark,
}

impl Cause {
    /// Recognizes a likely cause by up to four bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let all = |test: fn(u8) -> bool| !bytes.is_empty() && bytes.iter().all(|b| test(*b));
        if all(|b| b == 0) {
            Some(Cause::Zeros)
        } else if all(|b| b == 0x40) {
            Some(Cause::EbcdicBlanks)
        } else if all(|b| b == 0x20) {
            Some(Cause::AsciiBlanks)
        } else if all(|b| matches!(b, 0x0d | 0x0a | 0x15 | 0x25)) {
            Some(Cause::LineEnd)
        } else if all(is_ebcdic_text) {
            Some(Cause::EbcdicText)
        } else if all(|b| (0x20..0x7f).contains(&b)) {
            Some(Cause::AsciiText)
        } else {
            None
        }
    }

    /// Returns whether the number read from such bytes would show content.
    fn is_text(self) -> bool {
        matches!(self, Cause::EbcdicText | Cause::AsciiText)
    }
}

fn is_ebcdic_text(b: u8) -> bool {
    matches!(b, 0x40 | 0x4b | 0x60 | 0x61 | 0x6b | 0x81..=0x89 | 0x91..=0x99 | 0xa2..=0xa9 | 0xc1..=0xc9 | 0xd1..=0xd9 | 0xe2..=0xe9 | 0xf0..=0xf9)
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::EbcdicBlanks => "the bytes are EBCDIC blanks",
            Cause::EbcdicText => "the bytes are EBCDIC text",
            Cause::AsciiBlanks => "the bytes are ASCII blanks",
            Cause::AsciiText => "the bytes are ASCII text",
            Cause::LineEnd => "the bytes are a line end",
            Cause::Zeros => "the bytes are zeros",
            Cause::OtherByteOrder => "the bytes are a sound length in the other byte order",
            Cause::TrailingMark => "the bytes left over are a line end or end-of-file mark",
        })
    }
}

/// Whether splitting can continue after a fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Resume {
    /// The next record can be written; the faulty one was not.
    NextRecord,
    /// The start of the next record is unknown, or no record follows.
    Stop,
}

impl FrameFault {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        Code(match self.kind {
            FrameFaultKind::Truncated { .. } => "FRM-001",
            FrameFaultKind::TooSmall { .. } => "FRM-002",
            FrameFaultKind::TooLarge { .. } => "FRM-003",
            FrameFaultKind::Reserved { .. } => "FRM-004",
            FrameFaultKind::PastBlock { .. } => "FRM-005",
            FrameFaultKind::EndlessLine { .. } => "FRM-006",
            FrameFaultKind::EndMark { .. } => "FRM-013",
            FrameFaultKind::SegmentOrder { .. } => "FRM-008",
            FrameFaultKind::NotDigits { .. } => "FRM-009",
            FrameFaultKind::FileHeader => "FRM-010",
            FrameFaultKind::RecordType { .. } => "FRM-011",
            FrameFaultKind::NoExtent { .. } => "FRM-012",
            FrameFaultKind::OtherExtent { .. } => "FRM-023",
            FrameFaultKind::RecordTooLong { .. } => "FRM-020",
            FrameFaultKind::OtherLength { .. } => "FRM-024",
            FrameFaultKind::TerminatorInside { .. } => "FRM-021",
            FrameFaultKind::ShorterThanField { .. } => "FRM-022",
        })
    }

    /// Returns how splitting or writing can continue.
    #[must_use]
    pub fn resume(&self) -> Resume {
        match self.kind {
            FrameFaultKind::RecordTooLong { .. }
            | FrameFaultKind::OtherLength { .. }
            | FrameFaultKind::OtherExtent { .. }
            | FrameFaultKind::TerminatorInside { .. }
            | FrameFaultKind::ShorterThanField { .. } => Resume::NextRecord,
            _ => Resume::Stop,
        }
    }

    /// Returns the remedy.
    #[must_use]
    pub fn remedy(&self) -> String {
        let by_cause = match self.cause {
            Some(Cause::EbcdicBlanks | Cause::EbcdicText | Cause::AsciiBlanks | Cause::AsciiText) => Some(
                "data is in the place of a length: the file has no such header (the transfer removed it) or another framing; `inspect` on the file proposes one",
            ),
            Some(Cause::LineEnd) => Some("the file seems to be in lines: use `lines`, `lines:crlf` or `lines:nl`"),
            Some(Cause::OtherByteOrder) => Some("add `le` to the framing (or leave it out), as in `rdw:le`"),
            Some(Cause::TrailingMark) => Some(
                "a transfer in text mode added it: transfer the file in binary, or leave it out with `--skip-bytes-last N`",
            ),
            Some(Cause::Zeros) => {
                Some("the file seems to be padded with zeros after its last record: cut them, or correct the framing")
            }
            None => None,
        };
        let by_kind = match self.kind {
            FrameFaultKind::Truncated { .. } => {
                "the transfer stopped early or the framing is wrong: compare the file's size with the sender's; `inspect` on the file proposes a framing"
            }
            FrameFaultKind::TooSmall { .. } | FrameFaultKind::TooLarge { bound: "length_max", .. } => {
                "if the length does not count its own header, say `body`, as in `rdw:body`; `inspect` on the file proposes a framing"
            }
            FrameFaultKind::TooLarge { .. } => {
                "a record of this length is implausible: `inspect` on the file proposes a framing; if it is right, allow more with `--limit record-bytes=N`"
            }
            FrameFaultKind::Reserved { segment: true, .. } => {
                "the record is in segments: use `vbs` (with block headers) or `vbs:no-bdw`"
            }
            FrameFaultKind::Reserved { .. } => {
                "if the sender uses these bytes, add `any`, as in `rdw:any`; otherwise `inspect` on the file proposes a framing"
            }
            FrameFaultKind::PastBlock { .. } => {
                "if the file has no block headers, use `rdw`; `inspect` on the file proposes a framing"
            }
            FrameFaultKind::EndlessLine { .. } => {
                "the file has no lines, or other line ends: `inspect` on the file proposes a framing; or allow more with `--limit line-bytes=N`"
            }
            FrameFaultKind::EndMark { bytes } => {
                return format!(
                    "an editor or a transfer in text mode added it: leave it out with `--skip-bytes-last {bytes}` (in an interface file, `skip-bytes-last = {bytes}`), or transfer the file in binary"
                );
            }
            FrameFaultKind::SegmentOrder { .. } => "a block was lost or written twice: transfer the file again",
            FrameFaultKind::NotDigits { .. } => "check offset, size and encoding of the length field",
            FrameFaultKind::FileHeader => "use `mf` only for Micro Focus variable files with their file header",
            FrameFaultKind::RecordType { .. } => "the file is damaged or is not a sequential one",
            FrameFaultKind::NoExtent { fault: ExtentFault::NoLayout } => {
                "name the copybook: `layout` ends a record by its counters"
            }
            FrameFaultKind::NoExtent { fault: ExtentFault::Type } => {
                "give the type a [[records.type]] with a record description, also where its records are not wanted: only it says where they end"
            }
            FrameFaultKind::NoExtent { .. } => {
                "check that the copybook is the one that the file was written with, and that nothing else is between the records: `inspect` on the file proposes a framing"
            }
            FrameFaultKind::OtherExtent { .. } => {
                "write such records with `rdw`, which keeps their lengths beside them"
            }
            FrameFaultKind::RecordTooLong { .. } => {
                "`fixed` needs a longer record length; `rdw:max=65535` and `vb:max=65535` hold up to 65531 bytes, and `vbs` holds any record up to `--limit record-bytes=N`"
            }
            FrameFaultKind::OtherLength { .. } => {
                "check offset and size of the length field against the copybook; leave the field that holds the length out of the document, so that it is set"
            }
            FrameFaultKind::TerminatorInside { .. } => {
                "write such records with `fixed` or `rdw`: binary fields may hold any byte"
            }
            FrameFaultKind::ShorterThanField { .. } => "check offset and size of the length field against the copybook",
        };
        let remedy = by_cause.unwrap_or(by_kind);
        // Bytes that a transfer appended have a shape: zeros, blanks, text or a line end.
        let is_header = matches!(self.kind, FrameFaultKind::TooSmall { .. } | FrameFaultKind::Reserved { .. });
        if is_header && self.cause.is_some() && self.record != RecordNumber::FIRST {
            return format!("{remedy}; leave out bytes that follow the last record with `--skip-bytes-last N`");
        }
        remedy.to_owned()
    }

    /// The fault as a finding: code, message, record, byte, remedy.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let fault = match self.resume() {
            Resume::NextRecord => Fault::Caller,
            Resume::Stop => Fault::Sender,
        };
        let place = Place { record: Some(self.record), byte: Some(self.offset), ..Place::default() };
        Finding::error(self.code(), fault, self.to_string()).at(place).hint(self.remedy())
    }
}

/// Returns true if a code refuses one record because its framing cannot hold it. The framer writes no byte of the record and accepts the next one.
#[must_use]
pub fn refuses_one_record(code: Code) -> bool {
    matches!(code.0, "FRM-020" | "FRM-021" | "FRM-022" | "FRM-023" | "FRM-024")
}

impl fmt::Display for FrameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.cause.is_some_and(Cause::is_text);
        match self.kind {
            FrameFaultKind::Truncated { part, .. } if text => {
                write!(f, "the source ends inside {} {part} whose length is invalid", part.article())?
            }
            FrameFaultKind::Truncated { part, need, have } => {
                write!(
                    f,
                    "the source ends inside {} {part}: {} of {need} bytes are missing",
                    part.article(),
                    need - have
                )?;
            }
            FrameFaultKind::TooSmall { part, least, .. } if text => {
                write!(f, "the {part} is not a length of at least {least}")?
            }
            FrameFaultKind::TooSmall { part, found, least } => {
                write!(f, "the {part} says {found}, expected at least {least}")?
            }
            FrameFaultKind::TooLarge { part, most, .. } if text => {
                write!(f, "the {part} is not a length of at most {most}")?;
            }
            FrameFaultKind::TooLarge { part: Part::Record, found, most, .. } => {
                write!(f, "the record has {found} bytes or more, expected at most {most}")?;
            }
            FrameFaultKind::TooLarge { part, found, most, .. } => {
                write!(f, "the {part} says {found}, expected at most {most}")?;
            }
            FrameFaultKind::Reserved { part, segment: true, .. } => {
                write!(f, "the {part} has a segment control code, expected zeros")?
            }
            FrameFaultKind::Reserved { part, .. } if text => {
                write!(f, "the {part} is invalid: its reserved bytes are not zero")?
            }
            FrameFaultKind::Reserved { part, found, .. } => {
                write!(f, "the {part} says {found} and its reserved bytes are not zero")?;
            }
            FrameFaultKind::PastBlock { need, left } => {
                write!(f, "the record needs {need} bytes, but its block has {left} left")?;
            }
            FrameFaultKind::EndlessLine { limit } => write!(f, "no line end within {limit} bytes")?,
            FrameFaultKind::EndMark { .. } => {
                write!(f, "the last line has only the end-of-file mark 0x1a, which is not a record")?;
            }
            FrameFaultKind::SegmentOrder { found, open } => {
                let expected = if open { "2 (last) or 3 (middle)" } else { "0 (complete) or 1 (first)" };
                write!(f, "segment control code {found}, expected {expected}")?;
            }
            FrameFaultKind::NotDigits { size } => write!(f, "the length field of {size} bytes does not hold digits")?,
            FrameFaultKind::FileHeader => {
                write!(
                    f,
                    "the file does not begin with the header of a Micro Focus variable file (30 7e 00 00 or 30 00 00 7c)"
                )?;
            }
            FrameFaultKind::RecordType { found } => {
                write!(f, "record type {found}, expected 4 (data), 2 (deleted) or 3 (system)")?
            }
            FrameFaultKind::NoExtent { fault } => {
                write!(f, "the record does not say where it ends: {fault}")?;
            }
            FrameFaultKind::OtherExtent { length, says: Some(says) } => {
                write!(f, "the record has {length} bytes, its own counters say {says}")?;
            }
            FrameFaultKind::OtherExtent { length, says: None } => {
                write!(f, "the record of {length} bytes does not say where it ends")?;
            }
            FrameFaultKind::RecordTooLong { length, most } => {
                write!(f, "the record has {length} bytes, its framing holds at most {most}")?;
            }
            FrameFaultKind::OtherLength { offset, size, length } => {
                write!(
                    f,
                    "the {size} bytes at offset {offset} are to hold the record's length of {length} bytes, but hold something else"
                )?;
            }
            FrameFaultKind::TerminatorInside { at } => {
                write!(f, "byte {at} of the record is the line's terminator: the line would end there")?;
            }
            FrameFaultKind::ShorterThanField { length, need } => {
                write!(f, "the record has {length} bytes, but its length field ends at {need}")?;
            }
        }
        match self.cause {
            Some(cause) => write!(f, "; {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FrameFault {}

/// Builds the warning `FRM-007`: the source is empty. Only its sender knows whether that is correct.
#[must_use]
pub fn empty_source() -> Finding {
    Finding::warning(Code("FRM-007"), Fault::Sender, "the source is empty: 0 records")
        .hint("if records were expected, ask the sender; a transfer that failed at once leaves such a file")
}

/// Builds the warning `FRM-007` for a source whose bytes the settings leave out, `first` at its beginning and `last` at its end.
#[must_use]
pub fn all_skipped(first: u64, last: u64) -> Finding {
    let count = |bytes: u64| if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") };
    let message = format!(
        "the settings leave out all {} of the source, {first} first and {last} last: 0 records",
        count(first.saturating_add(last))
    );
    Finding::warning(Code("FRM-007"), Fault::Sender, message)
        .hint("if records were expected, correct `skip-bytes-first` and `skip-bytes-last`, or ask the sender")
}
