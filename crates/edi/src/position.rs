//! Positions in a file of interchanges.

use core::fmt;
use std::sync::Arc;

use quayline_core::{ByteOffset, Place, PlaceName, PlacePart};

/// A place in a file. Numbers count from 1; 0 means that the place lies outside such a thing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Position {
    /// Byte in the file, from 0.
    pub byte: ByteOffset,
    /// Interchange in the file.
    pub interchange: u32,
    /// Functional group in the interchange.
    pub group: u32,
    /// Number of the transaction set or message in the group, or in an interchange without groups.
    pub transaction: u32,
    /// Segment: in the transaction with its header as 1, or, outside of transactions, in the interchange with its header as 1.
    pub segment: u64,
    /// Element in the segment; 0 is the tag or the whole segment.
    pub element: u32,
    /// Repetition of the element.
    pub repetition: u32,
    /// Component of the element.
    pub component: u32,
}

impl Position {
    /// Returns the position with another element.
    #[must_use]
    pub fn element(self, element: u32) -> Self {
        Position { element, ..self }
    }

    /// Returns the position with another component.
    #[must_use]
    pub fn component(self, component: u32) -> Self {
        Position { component, ..self }
    }

    /// Converts the position to the place of a finding.
    #[must_use]
    pub fn place(&self, file: Option<&Arc<str>>) -> Place {
        let path = self.to_string();
        let path = if path.is_empty() { None } else { Some(path) };
        let parts = self.numbers().map(|(name, number)| (name, PlacePart::Number(number))).collect();
        Place { file: file.cloned(), byte: Some(self.byte), path, parts, ..Place::default() }
    }

    /// The numbers that are not 0, with their names, from the outside in.
    fn numbers(&self) -> impl Iterator<Item = (PlaceName, u64)> {
        let numbers = [
            (PlaceName::Interchange, u64::from(self.interchange)),
            (PlaceName::Group, self.group.into()),
            (PlaceName::Transaction, self.transaction.into()),
            (PlaceName::Segment, self.segment),
            (PlaceName::Element, self.element.into()),
            (PlaceName::Repetition, self.repetition.into()),
            (PlaceName::Component, self.component.into()),
        ];
        numbers.into_iter().filter(|(_, number)| *number > 0)
    }
}

/// Formats the position as `interchange 1, group 1, transaction 2, segment 14, element 5, repetition 1, component 2`, omitting zeros and the byte.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (name, number) in self.numbers() {
            write!(f, "{separator}{} {number}", name.as_str())?;
            separator = ", ";
        }
        Ok(())
    }
}

/// Relation of the input to the end of its source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndOfInput {
    /// More may follow.
    No,
    /// The source ends after the input.
    Yes,
}
