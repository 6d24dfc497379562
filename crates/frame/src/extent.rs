//! Where a record ends by what it holds, for the framing [`crate::FramingSpec::Layout`]. Whoever knows the record description says it.

use core::fmt;

use crate::EndOfInput;

/// Finds the end of a record whose length its own counters say.
pub trait RecordExtent: fmt::Debug + Send + Sync {
    /// The extent of the record at the start of `bytes`. It must not depend on bytes after the record, and takes time in proportion to the
    /// record's counters.
    fn extent(&self, bytes: &[u8], end: EndOfInput) -> RecordExtentFound;
}

/// What [`RecordExtent::extent`] found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RecordExtentFound {
    /// The record has so many bytes, which may be more than there are.
    Bytes(usize),
    /// Too few bytes to tell.
    NeedMore {
        /// Fewest bytes that tell more; more than there were.
        at_least: usize,
    },
    /// The record does not say it.
    Bad(ExtentFault),
}

/// Why a record does not say where it ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ExtentFault {
    /// A counter holds no count of its table.
    Counter {
        /// Byte of the record, from 0.
        at: usize,
    },
    /// No record type has its value, or its type has no description.
    Type,
    /// It has no byte.
    Empty,
    /// There is no record description.
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
