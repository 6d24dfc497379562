//! Notes on unusual content of a record that was read.

use quayline_core::Code;

use crate::layout::FieldIndex;
use crate::{NullAs, RecordPlan, ShortRecord};

/// Reason for a note. A note refuses nothing; it reports content of the record that is not in the document, or that contradicts the
/// copybook.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum NoteKind {
    /// Bytes that are not a value of their field became null, as [`crate::Policies::invalid`] says.
    Nulled,
    /// Bytes after the last field were ignored, as [`crate::Policies::long`] asks.
    Ignored,
    /// A binary number has more digits than its picture.
    BeyondPicture,
    /// A zero with a minus sign, whose sign the target does not have.
    ZeroSign,
    /// A hexadecimal COMP-2 has more than the 53 bits of a double, and became the nearest.
    Rounded,
    /// A number has more digits than its float keeps, and became the nearest. Of records that are written.
    NearestFloat,
    /// Blanks and binary zeros of one field are both null, which is written as the other of the two.
    OtherNull,
    /// Preserved bytes were not restored, because the document has other values than they had.
    NotRestored,
    /// Occurrences of a table beyond its count hold bytes, where tables do not slide.
    Stale,
    /// A record is shorter than its layout, as [`crate::Policies::short`] allows. Lines are not noted: editors cut the blanks at their ends.
    Short,
}

impl NoteKind {
    /// Stable code.
    #[must_use]
    pub fn code(self) -> Code {
        Code(match self {
            NoteKind::Nulled => "REC-041",
            NoteKind::Ignored => "REC-042",
            NoteKind::BeyondPicture => "REC-043",
            NoteKind::ZeroSign => "REC-044",
            NoteKind::Rounded => "REC-045",
            NoteKind::NotRestored => "REC-046",
            NoteKind::Stale => "REC-047",
            NoteKind::Short => "REC-048",
            NoteKind::NearestFloat => "REC-049",
            NoteKind::OtherNull => "REC-050",
        })
    }

    /// Returns the text that follows the number of notes on a field, for one note and for several.
    #[must_use]
    pub fn words(self, plan: &RecordPlan, field: Option<FieldIndex>) -> (String, String) {
        let name = field.map_or_else(String::new, |field| {
            let (path, description) = (plan.layout().path(field), &plan.layout().field(field).description);
            if description.is_empty() { path } else { format!("{path} ({description})") }
        });
        let both = |one: &str, many: &str, what: String| (format!("{one} {what}"), format!("{many} {what}"));
        match self {
            NoteKind::Nulled => {
                both("value", "values", format!("of {name} became null: the bytes are not a value of the field"))
            }
            NoteKind::Ignored => {
                let what = "more bytes after the last field, which were ignored";
                both("record has", "records have", what.to_owned())
            }
            NoteKind::BeyondPicture => both("value", "values", format!("of {name} with more digits than the picture")),
            NoteKind::ZeroSign => both("value", "values", format!("of {name} lost the minus sign of a zero")),
            NoteKind::Rounded => both("value", "values", format!("of {name} rounded to 53 bits")),
            NoteKind::NearestFloat => {
                let what = format!("of {name} with more digits than the float keeps, written as the nearest float");
                both("value", "values", what)
            }
            NoteKind::OtherNull => {
                let is_zeros =
                    plan.0.items.iter().any(|item| Some(item.field) == field && item.null == NullAs::LowValues);
                let (found, written) = if is_zeros { ("spaces", "binary zeros") } else { ("binary zeros", "spaces") };
                both("value", "values", format!("of {name}: {found} that became null, which is written as {written}"))
            }
            NoteKind::Stale => {
                let what = format!("bytes in occurrences of {name} beyond its count, which are not in the document");
                both("record has", "records have", what)
            }
            NoteKind::Short => {
                let what = match plan.0.policies.short {
                    Some(ShortRecord::Null) => "shorter than the layout; fields after the end are null",
                    _ => "shorter than the layout; blanks are added",
                };
                both("record is", "records are", what.to_owned())
            }
            NoteKind::NotRestored => {
                let what = "other values than the bytes in `_preserve`: the values were written";
                both("document has", "documents have", what.to_owned())
            }
        }
    }

    /// Returns the remedy.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            NoteKind::Nulled => "`quayline convert` keeps the bytes: `--invalid raw`, or `--preserve` beside the null",
            NoteKind::Ignored => "`quayline convert --preserve` keeps these bytes",
            NoteKind::Short => {
                "`quayline convert --short error`, or `short = \"error\"` of a layout, rejects such records: the file may have been cut"
            }
            NoteKind::Stale => "programs leave old data there; `quayline convert --preserve` keeps these bytes",
            NoteKind::Rounded => "`quayline convert --preserve` keeps the bytes beside the number",
            NoteKind::NearestFloat => "only a decimal field, such as COMP-3, keeps all digits",
            NoteKind::OtherNull => {
                "`quayline convert --preserve` keeps these bytes; with one of the two policies alone, null has one form"
            }
            NoteKind::NotRestored => {
                "nothing to do if the documents were edited on purpose: all other bytes were restored"
            }
            NoteKind::ZeroSign => "the numbers are equal; `quayline convert --preserve` keeps the bytes of the sign",
            NoteKind::BeyondPicture => {
                "a program compiled with TRUNC(STD) does not write such numbers: if the values are wrong, check framing and copybook with `quayline inspect`; if they are right, `--set truncate=no` says so"
            }
        }
    }
}

/// A note on a record that was read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RecordNote {
    /// Kind of the note.
    pub kind: NoteKind,
    /// The field, if the note is about one.
    pub field: Option<FieldIndex>,
    /// Bytes from the start of the record.
    pub offset: usize,
}
