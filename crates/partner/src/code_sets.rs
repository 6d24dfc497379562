//! Text with code extension (ISO 2022, syntax identifier `UNOX`) that moves to another interchange.
//!
//! An escape sequence selects a character set until another one does, also for the messages after it. A message therefore moves with the selections
//! that are in force where it begins. The crate `charset` knows the characters of a set; here only the escape sequences and shifts matter.

use quayline_edi::{CharacterSet, Closed, EnvelopePass, Event, Standard};

/// The character sets in force at a place, each as the escape sequence or shift that selected it; empty for the one at the start of an interchange.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct CodeSets {
    /// G0 to G3.
    sets: [Vec<u8>; 4],
    /// Shifts of the bytes 0x20 to 0x7F, and of the bytes 0xA0 to 0xFF.
    left: Vec<u8>,
    right: Vec<u8>,
    /// Sequence that selects UTF-8.
    utf8: Vec<u8>,
}

const ESCAPE: u8 = 0x1b;
const SHIFT_OUT: u8 = 0x0e;
const SHIFT_IN: u8 = 0x0f;

impl CodeSets {
    /// Returns the sets in force after a text.
    fn after(text: &[u8]) -> Self {
        let mut sets = CodeSets::default();
        sets.pass(text);
        sets
    }

    /// Looks at a text. Bytes of characters are never escape characters or shifts.
    fn pass(&mut self, text: &[u8]) {
        let mut at = 0;
        while at < text.len() {
            match function_at(&text[at..]) {
                Some(function) => {
                    self.select(function);
                    at += function.len();
                }
                None => at += 1,
            }
        }
    }

    /// Looks at an escape sequence or shift.
    pub(crate) fn select(&mut self, function: &[u8]) {
        let place = match function {
            [SHIFT_OUT] | [ESCAPE, b'n' | b'o'] => &mut self.left,
            [SHIFT_IN] => return self.left.clear(),
            [ESCAPE, b'~'] => return self.right.clear(),
            [ESCAPE, b'}' | b'|'] => &mut self.right,
            [ESCAPE, b'(', b'B'] => return self.sets[0].clear(),
            [ESCAPE, b'%', b'@'] => return self.utf8.clear(),
            [ESCAPE, b'%', ..] => &mut self.utf8,
            [ESCAPE, b'$', b'@' | b'A' | b'B'] => &mut self.sets[0],
            [ESCAPE, b'$', to @ b'('..=b'+', ..] | [ESCAPE, to @ b'('..=b'+', ..] => {
                &mut self.sets[usize::from(to - b'(')]
            }
            [ESCAPE, b'$', to @ b'-'..=b'/', ..] | [ESCAPE, to @ b'-'..=b'/', ..] => {
                &mut self.sets[usize::from(to - b',')]
            }
            _ => return,
        };
        place.clear();
        place.extend_from_slice(function);
    }

    /// Returns what the bytes of ASCII mean.
    pub(crate) fn ascii(&self) -> AsciiBytes {
        match (&self.sets[0][..], &self.left[..]) {
            (b"", b"") => AsciiBytes::Characters,
            ([ESCAPE, b'$', ..], b"") => AsciiBytes::Parts,
            _ => AsciiBytes::Unknown,
        }
    }

    /// Appends the selections that a place with the sets `before` needs.
    fn append_since(&self, before: &CodeSets, out: &mut Vec<u8>) {
        // UTF-8 has no other escape sequences.
        if !before.utf8.is_empty() && self.utf8.is_empty() {
            out.extend_from_slice(b"\x1b%@");
        }
        let pairs: [(&[u8], &[u8], &[u8]); 6] = [
            (&self.sets[0], &before.sets[0], b"\x1b(B"),
            (&self.sets[1], &before.sets[1], b""),
            (&self.sets[2], &before.sets[2], b""),
            (&self.sets[3], &before.sets[3], b""),
            (&self.left, &before.left, &[SHIFT_IN]),
            (&self.right, &before.right, b"\x1b~"),
        ];
        for (now, _, at_start) in pairs.into_iter().filter(|(now, before, _)| now != before) {
            out.extend_from_slice(if now.is_empty() { at_start } else { now });
        }
        if self.utf8 != before.utf8 {
            out.extend_from_slice(&self.utf8);
        }
    }
}

/// Meaning of the bytes 0x21 to 0x7E.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AsciiBytes {
    /// Characters of ASCII.
    Characters,
    /// Parts of characters of several bytes.
    Parts,
    /// Characters of another set, such as katakana.
    Unknown,
}

/// Returns the escape sequence or shift at the start of a text.
pub(crate) fn function_at(text: &[u8]) -> Option<&[u8]> {
    let between = |text: &[u8]| text.iter().take_while(|byte| matches!(byte, 0x20..0x30)).count();
    match *text.first()? {
        SHIFT_OUT | SHIFT_IN => Some(&text[..1]),
        ESCAPE => {
            let last = 1 + between(&text[1..]);
            Some(&text[..text.len().min(last + 1)])
        }
        _ => None,
    }
}

/// Returns the number of bytes of escape sequences and shifts at the start of a text.
fn functions_at(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(function) = function_at(&text[at..]) {
        at += function.len();
    }
    at
}

/// Returns true if the syntax identifier is that of text with code extension.
pub(crate) fn has_code_extension(identifier: &[u8]) -> bool {
    CharacterSet::of(identifier) == Some(CharacterSet::Iso2022)
}

/// Headers of the interchange that is read, with the bytes of the source, and the sets in force. Empty for an interchange without code
/// extension.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExtendedHeaders {
    is_on: bool,
    interchange: Vec<u8>,
    /// Header of the open group, with the selections that it needs after that of the interchange.
    group: Vec<u8>,
    sets: CodeSets,
}

impl ExtendedHeaders {
    /// Looks at an event over `input`, after the caller has used what is in force before the segment.
    pub(crate) fn see(&mut self, event: Event, pass: &EnvelopePass<'_>, input: &[u8]) {
        if event == Event::InterchangeStart {
            let header = pass.interchange();
            let is_edifact = header.delimiters().standard == Standard::Edifact;
            let is_on = is_edifact && has_code_extension(&header.field("syntax_identifier"));
            *self = ExtendedHeaders { is_on, ..ExtendedHeaders::default() };
        }
        let is_segment = matches!(
            event,
            Event::InterchangeStart
                | Event::GroupStart
                | Event::TransactionStart
                | Event::Segment
                | Event::TransactionEnd(Closed::ByTrailer)
                | Event::GroupEnd(Closed::ByTrailer)
        );
        if !self.is_on || !is_segment {
            return;
        }
        let segment = &input[pass.segment_start()..pass.consumed()];
        match event {
            Event::InterchangeStart => self.interchange.extend_from_slice(segment),
            Event::GroupStart => {
                self.group.clear();
                self.sets.append_since(&CodeSets::after(&self.interchange), &mut self.group);
                self.group.extend_from_slice(segment);
            }
            Event::GroupEnd(_) => self.group.clear(),
            _ => {}
        }
        self.sets.pass(segment);
    }

    /// Returns the headers of the open interchange and group, then the selections for the message that begins; `None` without code extension.
    pub(crate) fn before_message(&self) -> Option<Vec<u8>> {
        let mut out = self.unchanged()?;
        let before = CodeSets::after(&out);
        self.sets.append_since(&before, &mut out);
        Some(out)
    }

    /// Returns the headers of the open interchange and group; `None` without code extension.
    pub(crate) fn unchanged(&self) -> Option<Vec<u8>> {
        self.is_on.then(|| [&self.interchange[..], &self.group].concat())
    }

    /// Returns the number of bytes before the tag of a message's `header`, and the selections that the segments after the header need in an interchange
    /// without earlier messages.
    pub(crate) fn after_header(&self, header: &[u8]) -> (usize, Vec<u8>) {
        let mut selections = Vec::new();
        if !self.is_on {
            return (0, selections);
        }
        let tag = functions_at(header);
        let mut now = self.sets.clone();
        now.pass(header);
        now.append_since(&CodeSets::after(&header[tag..]), &mut selections);
        (tag, selections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_are_those_in_force_and_no_others() {
        let needed = |before: &[u8], text: &[u8]| {
            let mut out = Vec::new();
            CodeSets::after(text).append_since(&CodeSets::after(before), &mut out);
            out
        };
        assert_eq!(needed(b"", b"UNB+\x1b$B?M\x1b(B'"), b"");
        assert_eq!(needed(b"UNB+\x1b$B", b"UNB+\x1b$B?M\x1b(B'"), b"\x1b(B");
        assert_eq!(needed(b"", b"\x1b-A\xfc\x1b-F\xe1\x1b$)C\x1b.A"), b"\x1b$)C\x1b.A");
        assert_eq!(needed(b"", b"\x0eA\x0f\x1b}\x1bnB"), b"\x1bn\x1b}");
        assert_eq!(needed(b"\x1b%G\x0e\x1b|", b""), b"\x1b%@\x0f\x1b~");
        assert_eq!(needed(b"", b"\x1b"), b"", "a sequence that is cut off");
    }
}
