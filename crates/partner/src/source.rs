//! Sources of interchanges and documents, and the treatment of one that was processed before.

use std::io::{self, Read, Seek};

use quayline_core::{Fault, Finding, Findings, Place, system_error_text};
use xxhash_rust::xxh3::xxh3_128;

use crate::codes;

/// A source of interchanges.
pub trait Source: Read + Seek {}
impl<S: Read + Seek> Source for S {}

/// Treatment of a source that was processed before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Again {
    /// The source is refused.
    No,
    /// The source is processed; duplicates are detected by their control numbers.
    Yes,
    /// The source is processed once under this number, independently of other sources with the same bytes. A run that continues another passes the
    /// same number. See [`Again::once`].
    Once(u128),
}

impl Again {
    /// Returns the policy for a claimed file: process it once under the unique name of the claim.
    #[must_use]
    pub fn once(claim: &str) -> Again {
        Again::Once(xxh3_128(claim.as_bytes()))
    }

    /// Returns true if work of an earlier run is not repeated.
    pub(crate) fn is_refused(self) -> bool {
        self != Again::Yes
    }

    /// Returns the key of a source's state: the digest of its bytes, combined with the number under which it is processed.
    pub(crate) fn key(self, digest: [u8; 16]) -> [u8; 16] {
        match self {
            Again::No | Again::Yes => digest,
            Again::Once(number) => xxh3_128(&[digest, number.to_be_bytes()].concat()).to_be_bytes(),
        }
    }
}

/// Returns the finding about a source that cannot be read.
pub(crate) fn unreadable(name: &str, error: &io::Error) -> Findings {
    let place = Place { file: Some(name.into()), ..Place::default() };
    let message = format!("the source cannot be read: {}", system_error_text(error));
    let finding = Finding::error(codes::NO_INTERCHANGE, Fault::Environment, message).at(place);
    finding.hint("correct the cause; the same command then continues where it stopped").into()
}
