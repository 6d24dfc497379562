//! End of a record by its content, for the framing [`crate::FramingSpec::Layout`]. The owner of the record description implements
//! it.

use core::fmt;

use crate::EndOfInput;

/// Finds the end of a record that has its length in its own counters.
pub trait RecordExtent: fmt::Debug + Send + Sync {
    /// Determines the extent of the record at the start of `bytes`. The result must not depend on bytes after the record, and the time must be
    /// proportional to the record's counters.
    fn extent(&self, bytes: &[u8], end: EndOfInput) -> RecordExtentFound;
}

/// Result of [`RecordExtent::extent`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RecordExtentFound {
    /// Length of the record in bytes, which may exceed the input.
    Bytes(usize),
    /// The input is too short to determine the length.
    NeedMore {
        /// Fewest bytes that are needed for progress; more than there were.
        at_least: usize,
    },
    /// The record does not determine its length.
    Bad(ExtentFault),
}

/// Reason why a record does not determine its length.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ExtentFault {
    /// A counter holds no count of its table.
    Counter {
        /// Byte of the record, from 0.
        at: usize,
    },
    /// The record's type value selects no record type, or a type without a description.
    Type,
    /// The record has no bytes.
    Empty,
    /// No record description is available.
    NoLayout,
}

impl fmt::Display for ExtentFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExtentFault::Counter { at } => {
                write!(f, "the counter at byte {at} of the record is not a count of its table")
            }
            ExtentFault::Type => f.write_str("no description is known for a record of its type"),
            ExtentFault::Empty => f.write_str("a record of no bytes never ends"),
            ExtentFault::NoLayout => f.write_str("no record description is known"),
        }
    }
}
