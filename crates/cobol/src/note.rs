//! What is odd in a record that was read all the same.

use quayline_core::Code;

use crate::RecordPlan;
use crate::layout::FieldIndex;

/// Why something is noted. A note refuses nothing; it says what of the record is not in the document, or is there against the copybook.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum NoteKind {
    /// Bytes that are no value of their field became null, as [`crate::Policies::invalid`] asks.
    Nulled,
    /// Bytes after the last field were ignored, as [`crate::Policies::long`] asks.
    Ignored,
    /// A binary number has more digits than its picture.
    BeyondPicture,
}

impl NoteKind {
    /// Stable code.
    #[must_use]
    pub fn code(self) -> Code {
        Code(match self {
            NoteKind::Nulled => "REC-041",
            NoteKind::Ignored => "REC-042",
            NoteKind::BeyondPicture => "REC-043",
        })
    }

    /// What the notes of a field say after their number: where it is one, and where it is any other.
    #[must_use]
    pub fn words(self, plan: &RecordPlan, field: Option<FieldIndex>) -> (String, String) {
        let name = field.map_or_else(String::new, |field| {
            let layout = plan.layout();
            let description = &layout.field(field).description;
            let path = layout.path(field);
            if description.is_empty() { path } else { format!("{path} ({description})") }
        });
        let both = |one: &str, many: &str, what: String| (format!("{one} {what}"), format!("{many} {what}"));
        match self {
            NoteKind::Nulled => {
                both("value", "values", format!("of {name} became null: the bytes are no value of the field"))
            }
            NoteKind::Ignored => {
                let what = "more bytes after the last field, which were ignored";
                both("record has", "records have", what.to_owned())
            }
            NoteKind::BeyondPicture => both("value", "values", format!("of {name} with more digits than the picture")),
        }
    }

    /// What can be done.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            NoteKind::Nulled => "`--invalid raw` keeps such bytes, and `--preserve` keeps them beside the null",
            NoteKind::Ignored => "`--preserve` keeps these bytes",
            NoteKind::BeyondPicture => {
                "a program compiled with TRUNC(STD) does not write such numbers: if the values are wrong, check framing and copybook with `quayline inspect`; if they are right, `--set truncate=no` says so"
            }
        }
    }
}

/// Something odd in a record that was read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RecordNote {
    /// Why.
    pub kind: NoteKind,
    /// The field, where one is concerned.
    pub field: Option<FieldIndex>,
    /// Bytes from the start of the record.
    pub offset: usize,
}
