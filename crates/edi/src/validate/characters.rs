//! Check of text against the character set of its interchange.

use quayline_charset::Charset;
use quayline_core::{Run, Value};

use crate::characters::{Characters, Fit};
use crate::envelope::EnvelopePass;
use crate::fault::{EdiError, SyntaxLevel};
use crate::position::Position;
use crate::segment::Segment;

/// Character checks of a validator.
#[derive(Clone, Copy, Debug)]
pub enum CharacterRules {
    /// No checks: the code that decodes the characters reports their faults. Lengths count characters of the named set, otherwise of that of the
    /// interchange.
    Unchecked(Option<Charset>),
    /// Checks against the named set, otherwise that of the interchange. X12 names none, so its set is ASCII.
    Checked(Option<Charset>),
}

impl CharacterRules {
    /// Returns the set that the user names.
    pub(super) fn named(self) -> Option<Charset> {
        let (CharacterRules::Unchecked(named) | CharacterRules::Checked(named)) = self;
        named
    }
}

impl Default for CharacterRules {
    fn default() -> Self {
        CharacterRules::Unchecked(None)
    }
}

/// Checks that are still pending in the open transaction. Each fault is reported once, so that findings do not depend on the division of the work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CharacterCheck {
    characters: Option<Characters>,
    level: Option<SyntaxLevel>,
    is_foreign_told: bool,
    are_controls_told: bool,
}

/// Check that reports control characters of ASCII.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum AsciiControls {
    /// This check.
    Here,
    /// The check of elements by a guide or of header fields: the element has invalid characters.
    OfElements,
}

impl CharacterCheck {
    pub(super) fn of(rules: CharacterRules, pass: &EnvelopePass<'_>) -> Self {
        let CharacterRules::Checked(named) = rules else { return CharacterCheck::default() };
        let header = pass.interchange();
        let identifier = header.field("syntax_identifier");
        let level = if named.is_none() { SyntaxLevel::of(&identifier) } else { None };
        CharacterCheck { characters: Some(Characters::of(header, named)), level, ..CharacterCheck::default() }
    }

    /// Returns the first fault of a segment's characters.
    #[inline(always)]
    pub(super) fn look(
        &mut self,
        segment: &Segment<'_>,
        ascii: AsciiControls,
        at: impl Fn() -> Position,
    ) -> Option<(EdiError, Position)> {
        if self.level.is_none() && (segment.is_printable() || self.characters.is_none()) {
            return None;
        }
        self.look_closely(segment, ascii, at())
    }

    #[inline(never)]
    fn look_closely(
        &mut self,
        segment: &Segment<'_>,
        ascii: AsciiControls,
        at: Position,
    ) -> Option<(EdiError, Position)> {
        if segment.binary().is_some() {
            return None;
        }
        let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
        let delimiters = segment.delimiters();
        if let Some(level) = self.level
            && !level.has_all(segment.raw())
        {
            let beyond = |raw: &[u8]| raw.iter().any(|byte| !delimiters.is_service(*byte) && !level.has_all(&[*byte]));
            if let Some(found) = segment.raw_elements().position(beyond) {
                (self.level, self.are_controls_told) = (None, true);
                return Some((EdiError::Repertoire { level }, at.element(number(found))));
            }
        }
        let characters = self.characters?;
        if segment.is_printable() {
            return None;
        }
        let mut scratch = Vec::new();
        let mut is_foreign = |raw: &[u8]| characters.value(Run::from(raw), &mut scratch).1 == Fit::Foreign;
        if !self.is_foreign_told
            && !segment.raw().is_ascii()
            && let Some(found) = segment.raw_elements().position(&mut is_foreign)
        {
            self.is_foreign_told = true;
            return Some((characters.foreign(), at.element(number(found))));
        }
        if self.are_controls_told {
            return None;
        }
        let is_control =
            |byte: u8| byte.is_ascii_control() && !matches!(byte, b'\r' | b'\n') && !delimiters.is_service(byte);
        let found = segment.raw_elements().position(|raw| {
            ascii == AsciiControls::Here && raw.iter().any(|byte| is_control(*byte))
                || !raw.is_ascii() && has_high_controls(characters, raw, &mut scratch)
        })?;
        self.are_controls_told = true;
        Some((EdiError::Controls, at.element(number(found))))
    }
}

/// Returns true if a text has control characters from U+0080 to U+009F (C1), which no repertoire of ISO 9735 has: its sets have graphic characters.
fn has_high_controls(characters: Characters, raw: &[u8], scratch: &mut Vec<u8>) -> bool {
    match characters.value(Run::from(raw), scratch) {
        (Value::Text(text), Fit::Fits) => {
            text.bytes().windows(2).any(|pair| pair[0] == 0xc2 && (0x80..0xa0).contains(&pair[1]))
        }
        _ => false,
    }
}
