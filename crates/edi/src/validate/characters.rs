//! Check of text against the character set of its interchange.

use quayline_charset::Charset;
use quayline_core::Run;

use crate::characters::{Characters, Fit};
use crate::envelope::EnvelopePass;
use crate::fault::{EdiError, SyntaxLevel};
use crate::position::Position;
use crate::segment::Segment;

/// Character checks of a validator.
#[derive(Clone, Copy, Debug, Default)]
pub enum CharacterRules {
    /// No checks: the code that decodes the characters reports their faults.
    #[default]
    Unchecked,
    /// Checks against the named set, otherwise that of the interchange. X12 names none, so its set is ASCII.
    Checked(Option<Charset>),
}

/// Checks that are still pending in the open transaction. Each fault is reported once, so that findings do not depend on the division of the work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CharacterCheck {
    characters: Option<Characters>,
    level: Option<SyntaxLevel>,
}

impl CharacterCheck {
    pub(super) fn of(rules: CharacterRules, pass: &EnvelopePass<'_>) -> Self {
        let CharacterRules::Checked(named) = rules else { return CharacterCheck::default() };
        let header = pass.interchange();
        let identifier = header.field("syntax_identifier");
        let level = if named.is_none() { SyntaxLevel::of(&identifier) } else { None };
        CharacterCheck { characters: Some(Characters::of(header, named)), level }
    }

    /// Returns the first fault of a segment's characters.
    #[inline(always)]
    pub(super) fn look(&mut self, segment: &Segment<'_>, at: impl Fn() -> Position) -> Option<(EdiError, Position)> {
        if self.level.is_none() && (segment.is_printable() || self.characters.is_none()) {
            return None;
        }
        self.look_closely(segment, at())
    }

    #[inline(never)]
    fn look_closely(&mut self, segment: &Segment<'_>, at: Position) -> Option<(EdiError, Position)> {
        if segment.binary().is_some() {
            return None;
        }
        let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
        if let Some(level) = self.level
            && !level.has_all(segment.raw())
        {
            let delimiters = segment.delimiters();
            let beyond = |raw: &[u8]| raw.iter().any(|byte| !delimiters.is_service(*byte) && !level.has_all(&[*byte]));
            if let Some(found) = segment.raw_elements().position(beyond) {
                self.level = None;
                return Some((EdiError::Repertoire { level }, at.element(number(found))));
            }
        }
        let characters = self.characters?;
        if segment.is_printable() || segment.raw().is_ascii() {
            return None;
        }
        let mut scratch = Vec::new();
        let found =
            segment.raw_elements().position(|raw| characters.value(Run::from(raw), &mut scratch).1 == Fit::Foreign)?;
        self.characters = None;
        Some((EdiError::Characters, at.element(number(found))))
    }
}
