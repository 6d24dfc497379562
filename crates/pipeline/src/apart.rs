//! Distribution of an output's documents to files.

/// Files of an output: one for all documents, or one for each.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Apart {
    /// One after another.
    Together,
    /// Each to a separate file, which ends at an entry of [`Payload::cuts`](crate::Payload::cuts).
    FileEach,
}
