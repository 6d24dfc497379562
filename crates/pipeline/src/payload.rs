//! Output of one block, before it is written.

use quayline_columnar::{ParquetPages, RecordBatch};
use quayline_edi::EdiDraft;
use quayline_flat::KeySpan;

use crate::spool::Spool;

/// Output of one block.
#[derive(Debug, Default)]
pub struct Payload {
    /// Output in `..len`. A writer may keep the whole vector initialized, so the length is separate.
    pub bytes: Vec<u8>,
    /// Number of bytes of output.
    pub len: usize,
    /// Output as columns.
    pub columns: Vec<Columns>,
    /// Output that precedes the bytes because it waited for the end of its source document.
    pub front: Option<Spool>,
    /// Set before filling if the source document continues in the next block.
    pub goes_on: bool,
    /// For a map with several outputs: those after the first.
    pub more: Vec<Payload>,
    /// Output as documents that the writer turns into interchanges.
    pub drafts: Vec<EdiDraft>,
    /// Written drafts of the preceding lot, for reuse of their memory.
    pub used: Vec<EdiDraft>,
    /// If each document goes to a separate file: the end of each document in the bytes, and the parts of the file names.
    pub cuts: Vec<usize>,
    /// The documents' own parts of those names.
    pub names: Vec<String>,
    /// The keys of documents of several rows that have keys.
    pub keys: Option<KeySpan>,
    /// True if a document was taken out again, so the keys of this output and the next are not comparable.
    pub keys_unknown: bool,
}

/// Output that a columnar writer takes.
#[derive(Debug)]
pub enum Columns {
    /// Pages of Parquet.
    Pages(ParquetPages),
    /// A batch of Arrow.
    Batch(RecordBatch),
    /// A payload that is written in parts: this part is written.
    Written,
}

impl Columns {
    fn memory(&self) -> usize {
        match self {
            Columns::Pages(pages) => pages.memory(),
            Columns::Batch(batch) => batch.get_array_memory_size(),
            Columns::Written => 0,
        }
    }

    /// Takes the columns out, to be written.
    #[must_use]
    pub fn take(&mut self) -> Columns {
        core::mem::replace(self, Columns::Written)
    }
}

impl Payload {
    /// Bytes of memory, about.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
            + self.columns.iter().map(Columns::memory).sum::<usize>()
            + self.drafts.iter().map(EdiDraft::memory).sum::<usize>()
            + self.more.iter().map(Payload::memory).sum::<usize>()
    }

    /// Empties it and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.columns.clear();
        self.front = None;
        self.goes_on = false;
        self.used.clear();
        core::mem::swap(&mut self.used, &mut self.drafts);
        self.used.retain(|draft| draft.memory() <= DRAFT_KEPT_BYTES);
        self.cuts.clear();
        self.names.clear();
        self.keys = None;
        self.keys_unknown = false;
        self.more.iter_mut().for_each(Payload::clear);
    }

    /// Copies a writer's bytes.
    pub(crate) fn fill(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.len = bytes.len();
    }
}

/// Maximum memory of a draft that is kept for the next document; a larger draft is released.
const DRAFT_KEPT_BYTES: usize = 64 << 10;
