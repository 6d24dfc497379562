//! Faults of records, and of documents to be encoded.

use core::fmt;

use quayline_core::{ByteOffset, Code, Fault, Finding, Place, RecordNumber};

use crate::RecordPlan;
use crate::layout::{Encoding, FieldIndex, FieldKind, OverpunchVariant, ZonedSign};
use crate::plan::SignCode;

/// A document has another view of a storage than its selector chooses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OtherView {
    /// The view of the document.
    pub given: String,
    /// The selector.
    pub selector: String,
    /// Value of the field, if the interface lists it.
    pub value: Option<String>,
    /// The view that it selects.
    pub chosen: Option<String>,
}

impl fmt::Display for OtherView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the document has the view {}, but {}", self.given, self.selector)?;
        if let Some(value) = &self.value {
            write!(f, " = {value}")?;
        }
        write!(f, " selects {}", self.chosen.as_deref().unwrap_or("none"))
    }
}

/// Kinds of faults of one value. Messages show place and shape, never content, except the one nibble or byte that breaks a rule.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// A digit nibble or zone is invalid.
    #[error("digit {digit} is {found:#x}, expected {expected}")]
    BadDigit {
        /// Digit, from 1.
        digit: usize,
        /// Value found.
        found: u8,
        /// Valid values of a digit here.
        expected: &'static str,
    },
    /// The sign nibble or zone is invalid.
    #[error("sign is {found:#x}, expected {expected}")]
    BadSign {
        /// Value found.
        found: u8,
        /// Valid values of a sign here.
        expected: &'static str,
    },
    /// An unsigned field holds a minus sign.
    #[error("field is unsigned but holds a minus sign")]
    NegativeUnsigned,
    /// A numeric field is all spaces.
    #[error("field holds only spaces")]
    Blank,
    /// A numeric field is all binary zeros.
    #[error("field holds only low-values (0x00)")]
    LowValues,
    /// A byte has no character in the code page.
    #[error("byte {byte:#04x} at position {position} is not a character of {page}")]
    BadCharacter {
        /// The byte.
        byte: u8,
        /// Position in the field, from 1.
        position: usize,
        /// The code page.
        page: &'static str,
    },
    /// A numeric-edited field does not read as its picture.
    #[error("position {position} does not fit the picture")]
    BadEdited {
        /// Position in the field, from 1.
        position: usize,
    },
    /// A float that JSON and decimal text cannot show.
    #[error("float is not a finite number")]
    NotFinite,
    /// A counter is outside its table.
    #[error("counter is {}, expected 0 to {max}", if *found < 0 { "negative" } else { "too large" })]
    CountOutOfRange {
        /// Value of the counter.
        found: i128,
        /// The table's maximum.
        max: u32,
    },
    /// A counter is not a number.
    #[error("counter is not a number: {0}")]
    BadCounter(Box<FaultKind>),
    /// The record ends before the field.
    #[error("record ends before the field: it has {found} bytes, {need} are needed")]
    ShortRecord {
        /// Bytes the record has.
        found: usize,
        /// Bytes needed.
        need: usize,
    },
    /// The record ends inside a field whose value would change.
    #[error("record ends inside the field: {present} of its {size} bytes are present")]
    CutField {
        /// Bytes of the field that the record has.
        present: usize,
        /// Bytes of the field.
        size: usize,
    },
    /// The record has bytes after its last field that are not padding.
    #[error("{count} {} the last field of the record, expected none or padding (spaces or low-values)",
        if *count == 1 { "byte follows" } else { "bytes follow" })]
    TrailingBytes {
        /// Number of bytes.
        count: usize,
    },
    /// The record is longer than its layout.
    #[error("record has {found} bytes, its layout {expected}")]
    LongRecord {
        /// Bytes the record has.
        found: usize,
        /// Length in bytes by the layout.
        expected: usize,
    },
    /// No case of a choice matches, and the choice has no default.
    #[error("no view is chosen for the selector's value")]
    NoView,
    /// Text is longer than its field.
    #[error("text has {found} {unit}, field holds {max}")]
    TextTooLong {
        /// Characters or bytes found.
        found: usize,
        /// Maximum number that fits.
        max: usize,
        /// Unit of the length: characters, or bytes in a code page where a character may have several.
        unit: &'static str,
    },
    /// A character is not in the code page.
    #[error("the character at position {position} is not in {page}")]
    Unmappable {
        /// Code point of the character.
        code: u32,
        /// Position in the text, from 1.
        position: usize,
        /// The code page.
        page: &'static str,
    },
    /// A number has more digits than its field.
    #[error("{}", if *max < 0 { format!("number has digits before decimal {}, the first of the field", 1 - max) }
        else { format!("number has {found} digits before the point, field holds {max}") })]
    TooManyDigits {
        /// Significant digits before the decimal point; zero or negative if the number begins after it.
        found: i64,
        /// Digits that fit before the point; negative for a field scaled by P.
        max: i64,
    },
    /// A number has more decimals than its field.
    #[error("{}", if *max < 0 { format!("number is not a multiple of 1{:0<1$}", "", usize::from(max.unsigned_abs())) }
        else { format!("number has more than {max} decimals") })]
    TooManyDecimals {
        /// Decimals that fit; may be negative for a field scaled by P.
        max: i16,
    },
    /// A binary number does not fit its bytes.
    #[error("number does not fit {bytes} bytes")]
    OutOfRange {
        /// Bytes of the field.
        bytes: usize,
    },
    /// Text for a numeric field.
    #[error("expected a number")]
    NotANumber,
    /// A value of a kind that the field cannot hold.
    #[error("expected {expected}, found {found}")]
    WrongKind {
        /// Values that would fit.
        expected: &'static str,
        /// Value found.
        found: &'static str,
    },
    /// Text that does not have the insertion characters of its picture.
    #[error("position {position} differs from what the picture inserts")]
    BadInsertion {
        /// Position, from 1.
        position: usize,
    },
    /// Hexadecimal digits expected.
    #[error("expected {bytes} bytes as hexadecimal digits")]
    BadHex {
        /// Bytes of the field.
        bytes: usize,
    },
    /// More elements than the table holds.
    #[error("list has more than {max} elements")]
    TooManyElements {
        /// The table's maximum.
        max: u32,
    },
    /// Counter and list disagree, or two lists with one counter.
    #[error("list has {list} element{}, {}", if *list == 1 { "" } else { "s" }, counted(*counter))]
    CountMismatch {
        /// Elements.
        list: u32,
        /// Counter; `None` if it is not a whole number.
        counter: Option<i128>,
    },
    /// Two views of the same bytes have different values.
    #[error("value differs from what another view of the same bytes says")]
    ViewConflict,
    /// The document has another view of a storage than its selector chooses.
    #[error("{0}")]
    OtherView(Box<OtherView>),
    /// A `0x…` string, although the policy does not read bytes that are not a value of the field.
    #[error("bytes written as 0x… are not a value of this field")]
    RawBytes,
    /// Null, and no rule or policy defines its bytes.
    #[error("null is not a value of a record's field")]
    NullValue,
    /// A text that documents would show as the name of another value.
    #[error("text is the name of a level-88 condition, which has another value")]
    LooksLikeName,
    /// A value that is not a date of the field's pattern.
    #[error("value is not a date of the field's pattern, or the day does not exist")]
    NotADate,
    /// A member that must be there is not.
    #[error("member is missing")]
    Missing,
    /// The text of `_preserve` is not one that decoding writes.
    #[error("_preserve does not fit the record")]
    BadPreserve,
}

/// Says what a counter of a list holds.
fn counted(counter: Option<i128>) -> String {
    let Some(counter) = counter else { return "and its counter is not a whole number".to_owned() };
    format!("its counter says {counter}")
}

impl FaultKind {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        Code(match self {
            FaultKind::BadDigit { .. } => "REC-001",
            FaultKind::BadSign { .. } => "REC-002",
            FaultKind::NegativeUnsigned => "REC-003",
            FaultKind::Blank => "REC-004",
            FaultKind::LowValues => "REC-005",
            FaultKind::BadCharacter { .. } => "REC-006",
            FaultKind::BadEdited { .. } => "REC-007",
            FaultKind::NotFinite => "REC-008",
            FaultKind::CountOutOfRange { .. } => "REC-009",
            FaultKind::BadCounter(_) => "REC-010",
            FaultKind::ShortRecord { .. } => "REC-011",
            FaultKind::LongRecord { .. } => "REC-012",
            FaultKind::NoView => "REC-013",
            FaultKind::CutField { .. } => "REC-014",
            FaultKind::TrailingBytes { .. } => "REC-015",
            FaultKind::TextTooLong { .. } => "REC-021",
            FaultKind::Unmappable { .. } => "REC-022",
            FaultKind::TooManyDigits { .. } => "REC-023",
            FaultKind::TooManyDecimals { .. } => "REC-024",
            FaultKind::OutOfRange { .. } => "REC-025",
            FaultKind::NotANumber => "REC-026",
            FaultKind::WrongKind { .. } => "REC-027",
            FaultKind::BadInsertion { .. } => "REC-028",
            FaultKind::BadHex { .. } => "REC-029",
            FaultKind::TooManyElements { .. } => "REC-030",
            FaultKind::CountMismatch { .. } => "REC-031",
            FaultKind::ViewConflict => "REC-032",
            FaultKind::Missing => "REC-033",
            FaultKind::BadPreserve => "REC-034",
            FaultKind::NullValue => "REC-035",
            FaultKind::LooksLikeName => "REC-036",
            FaultKind::OtherView(_) => "REC-037",
            FaultKind::RawBytes => "REC-026",
            FaultKind::NotADate => "REC-038",
        })
    }

    fn hint(&self) -> Option<&'static str> {
        Some(match self {
            FaultKind::LooksLikeName => "show this field's values as they are: remove `values = \"names\"`",
            FaultKind::Blank => "if that means \"no value\": `--blank null` (in a layout: `blank = \"null\"`)",
            FaultKind::LowValues => {
                "if that means \"no value\": `--low-values null` (in a layout: `low-values = \"null\"`)"
            }
            FaultKind::BadDigit { .. } | FaultKind::BadSign { .. } => {
                "if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`"
            }
            FaultKind::ShortRecord { .. } => {
                "if the sender cuts trailing blanks, convert with `--short pad`; if it leaves trailing fields out, with `--short null`; both keep every byte (in a layout, `short = \"pad\"`)"
            }
            FaultKind::CutField { .. } => {
                "a number that is cut cannot be read: check framing and copybook with `quayline inspect`, or put such records aside with `--rejects FILE`"
            }
            FaultKind::TrailingBytes { .. } => {
                "if records follow each other and end where their counters say, convert with `--framing layout`; to keep these bytes, `--preserve`; to ignore and count them, `--long accept`"
            }
            FaultKind::LongRecord { .. } => {
                "if the copybook covers only the front of the record, `--long accept` ignores and counts the rest, and with `--preserve` keeps it"
            }
            FaultKind::CountOutOfRange { .. } | FaultKind::BadCounter(_) => {
                "check that the file was written with this copybook: the counter determines the place of every later field"
            }
            FaultKind::CountMismatch { .. } => {
                "leave the counter out of the document or map: Quayline sets it from the list; lists with one counter must have the same length"
            }
            FaultKind::NegativeUnsigned => {
                "if the field may be negative, its picture needs an S; otherwise correct the value; to read such bytes as they are, use `quayline convert --invalid raw`"
            }
            FaultKind::BadEdited { .. } => {
                "check the field's picture and its place with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`"
            }
            FaultKind::TextTooLong { .. } => "shorten the text: none of it is cut off silently",
            FaultKind::Unmappable { .. } => {
                "replace the character, or write to a code page that has it, with `--encoding` or `--to-encoding`"
            }
            FaultKind::TooManyDigits { .. } => {
                "send a number that fits the picture; a binary field (COMP) whose program uses the full range of its bytes takes it with `--set truncate=no`, and what `--preserve` decoded comes back whole"
            }
            FaultKind::TooManyDecimals { .. } => {
                "round the number to the digits of the field: none is cut off silently"
            }
            FaultKind::NotANumber => "write plain digits with an optional sign and a decimal point, without grouping",
            FaultKind::NullValue => {
                "say what null becomes with `--null spaces`, `zeros`, `low-values` or `value`, or for one field with `null = \"spaces\"` in the interface file; in a file made with `--blank null` or `--low-values null`, use the same option again"
            }
            FaultKind::NoView => {
                "add the selector's value to `when` of the `[[choose]]`, or name a view for all other values with `otherwise`"
            }
            FaultKind::TooManyElements { .. } => {
                "send fewer elements, or check that the copybook is the one that the file is for: OCCURS gives the maximum"
            }
            FaultKind::NotADate => {
                "documents have dates as 2026-01-31; for bytes that mean \"no date\", `null` of the field in the interface file or `quayline convert --invalid null` makes them null, and `--invalid raw` keeps them"
            }
            FaultKind::Missing => "add the member, or choose a value for missing members with `--absent value`",
            FaultKind::OtherView(view) if view.chosen.is_none() => {
                "correct the selector, add its value to `when` of the `[[choose]]`, or name a view with `otherwise`"
            }
            FaultKind::OtherView(_) => "correct the selector or give the view that it selects",
            FaultKind::BadPreserve => {
                "if the document was edited so that tables or views changed their lengths, remove `_preserve` from it: the kept bytes have no place in the new record"
            }
            FaultKind::RawBytes => "send the number; in a file made with `--invalid raw`, use the same option again",
            FaultKind::ViewConflict => "keep one of the views, or set `redefines = \"original\"` in the interface",
            _ => return None,
        })
    }
}

/// One fault and its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RecordFault {
    /// Kind of the fault.
    pub kind: FaultKind,
    /// The field, if the fault is about one.
    pub field: Option<FieldIndex>,
    /// Bytes from the start of the record to the field.
    pub offset: usize,
    /// Path with indices from 0: `CARS[3].REF`; for encoding, the JSON path `$.CARS[3].REF`.
    pub path: String,
}

impl RecordFault {
    /// Returns the remedy for a sign that is valid in the other overpunch of ASCII data.
    fn overpunch_hint(&self, plan: &RecordPlan) -> Option<&'static str> {
        let FaultKind::BadSign { found, .. } = self.kind else { return None };
        let FieldKind::Item(Encoding::Zoned { sign, .. }) = &plan.layout().field(self.field?).kind else { return None };
        if !matches!(sign, ZonedSign::TrailingOverpunch | ZonedSign::LeadingOverpunch) {
            return None;
        }
        let (other, hint) = match plan.layout().dialect.overpunch {
            OverpunchVariant::Ebcdic => (
                OverpunchVariant::Ascii,
                "this is a sign as GnuCOBOL and Micro Focus write it in ASCII data: convert with `--dialect gnucobol`, or with `--set overpunch=ascii`",
            ),
            OverpunchVariant::Ascii => (
                OverpunchVariant::Ebcdic,
                "this is a sign as it is in EBCDIC data that was translated to ASCII: convert with `--set overpunch=ebcdic`",
            ),
        };
        let code = SignCode::new(plan.0.charset, other);
        (code.decode[usize::from(found)] != SignCode::INVALID).then_some(hint)
    }
}

impl fmt::Display for RecordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.kind)
    }
}

/// All faults of one record, up to [`RecordFaults::MAX`].
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RecordFaults(pub Vec<RecordFault>);

impl RecordFaults {
    /// Faults kept for one record; later ones add nothing that helps.
    pub const MAX: usize = 20;

    /// Converts the faults to findings.
    ///
    /// `record_start` is the byte of the file at which the record begins; `None` for a document to be encoded.
    #[must_use]
    pub fn findings(
        &self,
        plan: &RecordPlan,
        file: Option<&str>,
        record: RecordNumber,
        record_start: Option<ByteOffset>,
    ) -> Vec<Finding> {
        self.0
            .iter()
            .map(|fault| {
                let detail = fault.field.map(|index| {
                    let field = plan.layout().field(index);
                    let size = format!("{} bytes", field.size);
                    let what =
                        if field.description.is_empty() { size } else { format!("{size}, {}", field.description) };
                    match record_start {
                        Some(_) => format!("offset {} in the record, {what}", fault.offset),
                        None => what,
                    }
                });
                let place = Place {
                    file: file.map(Into::into),
                    record: Some(record),
                    byte: record_start.map(|start| ByteOffset(start.0 + fault.offset as u64)),
                    path: (!fault.path.is_empty()).then(|| fault.path.clone()),
                    detail,
                    ..Place::default()
                };
                let mut finding = Finding::error(fault.kind.code(), Fault::Sender, fault.kind.to_string()).at(place);
                let hint = fault.overpunch_hint(plan).or_else(|| fault.kind.hint());
                finding.hint = hint.map(str::to_owned);
                finding
            })
            .collect()
    }
}
