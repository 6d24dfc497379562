//! Mapping of errors to acknowledgment codes: one exhaustive match, so a new error does not compile until its reply is defined.

use crate::acknowledgment_codes::AcknowledgmentCodes;
use crate::fault::{EdiError, ServiceCharacter};
use crate::level::{Level, Side};

impl EdiError {
    /// Returns the codes of TA1, 997, 999 and CONTRL for the error.
    ///
    /// The innermost level with a code reports it: a data element, its segment, the transaction, the group, the interchange.
    ///
    /// Sources: X12 data elements I18, 716, 718, 720, 723, 618, 620, 621; UN/EDIFACT code list 0085.
    #[must_use]
    pub fn acknowledgment(&self) -> AcknowledgmentCodes {
        let none = AcknowledgmentCodes::default();
        let ta1 = |note, contrl| AcknowledgmentCodes { interchange_note: Some(note), contrl: Some(contrl), ..none };
        match self {
            EdiError::Noise { .. } | EdiError::NoInterchange | EdiError::Columns { .. } => none,
            // 1: transaction set not supported; 14: value not supported in this position.
            EdiError::NoGuide { .. } => AcknowledgmentCodes { transaction: Some("1"), contrl: Some("14"), ..none },
            // 1: transaction set not supported; I6: implementation convention not supported.
            EdiError::ImplementationDiffers => AcknowledgmentCodes {
                transaction: Some("1"),
                implementation_transaction: Some("I6"),
                contrl: Some("14"),
                ..none
            },
            // 18: transaction set not in functional group.
            EdiError::GroupDiffers { .. } | EdiError::MessageDiffers { .. } => {
                AcknowledgmentCodes { transaction: Some("18"), contrl: Some("14"), ..none }
            }
            // The checks of the guide report this fault.
            EdiError::NotInDocument { .. } | EdiError::ImpliedMark => none,
            EdiError::Content(error) => error.acknowledgment(),
            // 022 invalid control structure; 12 invalid value.
            EdiError::IsaWidth { .. } | EdiError::Header { .. } => ta1("022", "12"),
            EdiError::DelimiterKind { which, .. } | EdiError::DelimiterTwice { second: which, .. } => match which {
                ServiceCharacter::Element => ta1("026", "20"),
                ServiceCharacter::Component => ta1("027", "20"),
                ServiceCharacter::Terminator => ta1("004", "20"),
                ServiceCharacter::Repetition | ServiceCharacter::Release => ta1("022", "20"),
            },
            // 016 invalid interchange standards identifier value, which ISA11 was.
            EdiError::RepetitionKind => ta1("016", "20"),
            EdiError::StandardsId => ta1("016", "12"),
            // 15: not supported in this position.
            EdiError::Package => ta1("024", "15"),
            EdiError::Syntax { .. } => ta1("017", "2"),
            // 8: segment has data element errors; 16: too many constituents; 39: data element too long.
            EdiError::SegmentTooLong { .. } => {
                AcknowledgmentCodes { transaction: Some("5"), segment: Some("8"), contrl: Some("39"), ..none }
            }
            // 3: too many data elements.
            EdiError::TerminatorMissing { .. } => AcknowledgmentCodes {
                transaction: Some("5"),
                segment: Some("8"),
                element: Some("3"),
                contrl: Some("16"),
                ..none
            },
            // 34: explicit nesting is not allowed.
            EdiError::Nesting => AcknowledgmentCodes { contrl: Some("34"), ..none },
            // 004: the segment terminator is invalid.
            EdiError::TrailerMerged { .. } => ta1("004", "16"),
            EdiError::TooManyElements { .. } => {
                AcknowledgmentCodes { transaction: Some("5"), segment: Some("8"), contrl: Some("16"), ..none }
            }
            // 023: improper (premature) end of file; 13: missing.
            EdiError::HeaderInside { .. } => ta1("023", "13"),
            // 023 improper (premature) end of file; the transaction has no trailer.
            EdiError::Unterminated | EdiError::BinaryCut { .. } => AcknowledgmentCodes {
                interchange_note: Some("023"),
                group: Some("3"),
                transaction: Some("2"),
                contrl: Some("13"),
                ..none
            },
            // 6 and 21: invalid character(s).
            EdiError::LineBreakInside
            | EdiError::BreakBehind
            | EdiError::NeedlessRelease
            | EdiError::Characters
            | EdiError::Encoding { .. }
            | EdiError::Repertoire { .. }
            | EdiError::Controls
            | EdiError::CodeExtension { .. } => AcknowledgmentCodes {
                interchange_note: Some("022"),
                transaction: Some("5"),
                segment: Some("8"),
                element: Some("6"),
                contrl: Some("21"),
                ..none
            },
            EdiError::BinaryLength | EdiError::BinaryTooLong { .. } | EdiError::BinaryEnd => {
                AcknowledgmentCodes { transaction: Some("5"), segment: Some("8"), contrl: Some("12"), ..none }
            }
            // 8: segment has data element errors; 13: missing.
            EdiError::NoElements => {
                AcknowledgmentCodes { transaction: Some("5"), segment: Some("8"), contrl: Some("13"), ..none }
            }
            // 1: unrecognised segment identifier.
            EdiError::Tag { .. } | EdiError::Empty => {
                AcknowledgmentCodes { transaction: Some("5"), segment: Some("1"), contrl: Some("15"), ..none }
            }
            EdiError::TrailerMissing { level, .. } => match level {
                Level::Interchange => ta1("023", "13"),
                Level::Group => {
                    AcknowledgmentCodes { interchange_note: Some("024"), group: Some("3"), contrl: Some("13"), ..none }
                }
                Level::Transaction => AcknowledgmentCodes { transaction: Some("2"), contrl: Some("13"), ..none },
            },
            // 33: invalid occurrence outside message, package or group.
            EdiError::TrailerAlone { level, .. } => match level {
                Level::Interchange => ta1("022", "33"),
                Level::Group => ta1("024", "33"),
                Level::Transaction => ta1("024", "33"),
            },
            EdiError::Nested { .. } => {
                AcknowledgmentCodes { interchange_note: Some("024"), group: Some("3"), contrl: Some("33"), ..none }
            }
            // No transaction can report a segment outside of all transactions.
            EdiError::Outside { .. } => ta1("024", "33"),
            EdiError::GroupsMixed { .. } => ta1("024", "30"),
            // 28: references do not match.
            EdiError::ControlDiffers { level, .. } | EdiError::ControlZeros { level, .. } => match level {
                Level::Interchange => ta1("001", "28"),
                Level::Group => AcknowledgmentCodes { group: Some("4"), contrl: Some("28"), ..none },
                Level::Transaction => AcknowledgmentCodes { transaction: Some("3"), contrl: Some("28"), ..none },
            },
            // 29: control count does not match number of instances received.
            EdiError::CountDiffers { level, .. } | EdiError::CountFormat { level, .. } => match level {
                Level::Interchange => ta1("021", "29"),
                Level::Group => AcknowledgmentCodes { group: Some("5"), contrl: Some("29"), ..none },
                Level::Transaction => AcknowledgmentCodes { transaction: Some("4"), contrl: Some("29"), ..none },
            },
            // 26: duplicate detected.
            EdiError::ControlTwice { level, .. } => match level {
                Level::Interchange => ta1("025", "26"),
                Level::Group => AcknowledgmentCodes { group: Some("19"), contrl: Some("26"), ..none },
                Level::Transaction => AcknowledgmentCodes { transaction: Some("23"), contrl: Some("26"), ..none },
            },
            EdiError::EnvelopeElements { level, .. } => AcknowledgmentCodes { contrl: Some("15"), ..field(*level, "") },
            EdiError::FieldMissing { level, name, .. } => {
                AcknowledgmentCodes { contrl: Some("13"), ..field(*level, name) }
            }
            EdiError::FieldFormat { level, name, .. } | EdiError::DateWidth { level, name, .. } => {
                AcknowledgmentCodes { contrl: Some("12"), ..field(*level, name) }
            }
        }
    }
}

/// Codes of a header field that is wrong.
fn field(level: Level, name: &str) -> AcknowledgmentCodes {
    let none = AcknowledgmentCodes::default();
    match (level, name) {
        (Level::Interchange, _) => AcknowledgmentCodes {
            interchange_note: Some(match name {
                "ISA01" => "010",
                "ISA02" => "011",
                "ISA03" => "012",
                "ISA04" => "013",
                "ISA05" => "005",
                "ISA06" => "006",
                "ISA07" => "007",
                "ISA08" => "008",
                "ISA09" => "014",
                "ISA10" => "015",
                "ISA11" => "016",
                "ISA12" => "017",
                "ISA13" => "018",
                "ISA14" => "019",
                "ISA15" => "020",
                _ => "022",
            }),
            ..none
        },
        (Level::Group, "GS01") => AcknowledgmentCodes { group: Some("1"), ..none },
        (Level::Group, "GS06") => AcknowledgmentCodes { group: Some("6"), ..none },
        (Level::Group, "GS07" | "GS08") => AcknowledgmentCodes { group: Some("2"), ..none },
        (Level::Group, _) => AcknowledgmentCodes { interchange_note: Some("024"), ..none },
        (Level::Transaction, "ST01") => AcknowledgmentCodes { transaction: Some("6"), ..none },
        (Level::Transaction, "ST02") => AcknowledgmentCodes { transaction: Some("7"), ..none },
        (Level::Transaction, _) => AcknowledgmentCodes { transaction: Some("5"), ..none },
    }
}

/// Returns the control segment that an error concerns, so that an acknowledgment can point to it; `None` for errors elsewhere.
pub(crate) fn service_segment(error: &EdiError) -> Option<(Level, Side)> {
    match error {
        EdiError::FieldMissing { level, .. }
        | EdiError::FieldFormat { level, .. }
        | EdiError::DateWidth { level, .. }
        | EdiError::ControlTwice { level, .. }
        | EdiError::EnvelopeElements { level, in_trailer: false, .. }
        | EdiError::Nested { level, .. } => Some((*level, Side::Header)),
        EdiError::TrailerMissing { level, .. }
        | EdiError::TrailerAlone { level, .. }
        | EdiError::ControlDiffers { level, .. }
        | EdiError::ControlZeros { level, .. }
        | EdiError::CountDiffers { level, .. }
        | EdiError::EnvelopeElements { level, in_trailer: true, .. }
        | EdiError::CountFormat { level, .. } => Some((*level, Side::Trailer)),
        EdiError::IsaWidth { .. }
        | EdiError::Header { .. }
        | EdiError::DelimiterKind { .. }
        | EdiError::DelimiterTwice { .. }
        | EdiError::RepetitionKind
        | EdiError::StandardsId
        | EdiError::Syntax { .. } => Some((Level::Interchange, Side::Header)),
        EdiError::ImplementationDiffers | EdiError::MessageDiffers { .. } => Some((Level::Transaction, Side::Header)),
        _ => None,
    }
}
