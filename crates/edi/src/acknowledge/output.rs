//! Where acknowledgments go.

use crate::level::Level;

/// What an [`super::Acknowledger`] writes to: it holds text whose beginning is not known yet.
///
/// Calls nest: text is held for a group or an interchange, and when that ends, it is released with what comes before and behind it: what was
/// held of a group goes behind what is held of the interchange, what was held of the interchange behind what is written. An output that
/// writes files holds in memory or, past some size, in a file of its own; one that can fail keeps the error until its caller asks.
pub trait AcknowledgmentOutput {
    /// Text of a group or interchange, behind what is held of it already.
    fn hold(&mut self, level: Level, text: &[u8]);

    /// A group or interchange ends: `head`, what is held of it if it is kept, and `tail` go on. Nothing is held of it then.
    fn release(&mut self, level: Level, head: &[u8], held: Held, tail: &[u8]);
}

/// What becomes of text that is held.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Held {
    /// It goes on.
    Keep,
    /// It is taken back.
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
    /// Whole acknowledging interchanges, those that were written so far.
    #[must_use]
    pub fn written(&self) -> &[u8] {
        &self.written
    }

    /// Forgets what was written; what is held stays.
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
