//! Options of the validation.

use quayline_core::named;

use super::characters::CharacterRules;

/// Settings of a [`super::Validator`].
#[derive(Clone, Debug)]
pub struct ValidatorOptions {
    /// Extent of the validation.
    pub level: ValidationLevel,
    /// Day for dated codes, `YYYYMMDD`; `None` takes the date of the group or interchange.
    pub day: Option<u32>,
    /// Findings kept in full; later ones are only counted. Default 1,000.
    pub findings_max: usize,
    /// Whether characters are checked against the character set. Default: no.
    pub characters: CharacterRules,
    /// Values that rules hold at a time: those of one list or group of a rule. Default 100,000.
    pub rule_values_max: usize,
}

impl Default for ValidatorOptions {
    fn default() -> Self {
        ValidatorOptions {
            level: ValidationLevel::Rules,
            day: None,
            findings_max: 1_000,
            characters: CharacterRules::Unchecked(None),
            rule_values_max: 100_000,
        }
    }
}

named! {
    /// Extent of the validation; each level includes the preceding ones.
    #[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
    pub enum ValidationLevel {
        /// Syntax, envelopes, counts, control numbers.
        Envelope = "envelope", "Syntax, envelopes, counts, control numbers";
        /// Loops, segments, elements and codes of the guide; the order of HL segments.
        Guide = "guide", "Loops, segments, elements and codes of the guide";
        /// Syntax notes between elements of a segment, or components of an element.
        Notes = "notes", "Notes between the elements of a segment";
        /// Balances and rules between segments.
        #[default]
        Rules = "rules", "Balances and rules between segments (default)";
    }
}
