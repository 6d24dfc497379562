//! Facts that all lanes of a run share: the source, and the form of rejected documents.

use core::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quayline_frame::FramingSpec;

use crate::reject::RejectForm;
use crate::spool::SpoolFolder;

/// State shared by all lanes of a run.
#[derive(Debug)]
pub struct LaneFacts {
    /// The source's name, for places.
    pub file: Arc<str>,
    /// The form of rejected documents.
    pub reject_form: RejectForm,
    /// True if a lane may stop at its first reject.
    pub stop_at_reject: bool,
    /// True if each document goes to a separate file.
    pub split: bool,
    /// Storage for the bytes of a document that continues over several blocks.
    pub spool_folder: SpoolFolder,
    /// Set for a source of records.
    pub records: Option<SourceFacts>,
    /// Set from outside to stop: a lane then abandons its block before the next document, which a slow function of a map may delay for long.
    pub cancel: Arc<AtomicBool>,
}

impl LaneFacts {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Known properties of a source of records before its first record.
#[derive(Debug)]
pub struct SourceFacts {
    /// Framing of the records.
    pub framing: FramingSpec,
    /// Size of the source in bytes, if it is a file.
    pub bytes: Option<u64>,
    /// Fixed length of records, if the description has one.
    pub record_length: Option<usize>,
    /// Bytes of the shortest and of the longest record that the description accepts.
    pub record_lengths: Option<RangeInclusive<usize>>,
}
