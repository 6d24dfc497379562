//! Outputs of acknowledgments.

use crate::level::Level;

/// Output of an [`super::Acknowledger`]. It holds text until the preceding text is known.
///
/// Calls nest: text is held for a group or an interchange. When the level ends, its text is released between a head and a tail: the text
/// of a group is appended to the held text of the interchange, the text of an interchange to the written text. An output that
/// writes files holds text in memory or, above some size, in a separate file. One that can fail keeps the error until its caller requests it.
pub trait AcknowledgmentOutput {
    /// Appends text to the held text of a group or interchange.
    fn hold(&mut self, level: Level, text: &[u8]);

    /// Ends a group or interchange: passes on `head`, the held text if it is kept, and `tail`. No text of the level is held afterwards.
    fn release(&mut self, level: Level, head: &[u8], held: Held, tail: &[u8]);
}

/// Handling of held text at the end of its level.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Held {
    /// The text is passed on.
    Keep,
    /// The text is discarded.
    Discard,
}

/// An output in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryOutput {
    group: Vec<u8>,
    interchange: Vec<u8>,
    written: Vec<u8>,
}

impl MemoryOutput {
    /// Returns the acknowledging interchanges that are complete so far.
    #[must_use]
    pub fn written(&self) -> &[u8] {
        &self.written
    }

    /// Discards the written text; held text stays.
    pub fn clear(&mut self) {
        self.written.clear();
    }

    /// Bytes that are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.group.len() + self.interchange.len()
    }
}

impl AcknowledgmentOutput for MemoryOutput {
    fn hold(&mut self, level: Level, text: &[u8]) {
        match level {
            Level::Interchange => self.interchange.extend_from_slice(text),
            Level::Group | Level::Transaction => self.group.extend_from_slice(text),
        }
    }

    fn release(&mut self, level: Level, head: &[u8], held: Held, tail: &[u8]) {
        let (from, to) = match level {
            Level::Interchange => (&mut self.interchange, &mut self.written),
            Level::Group | Level::Transaction => (&mut self.group, &mut self.interchange),
        };
        to.extend_from_slice(head);
        if held == Held::Keep {
            to.extend_from_slice(from);
        }
        to.extend_from_slice(tail);
        from.clear();
    }
}
