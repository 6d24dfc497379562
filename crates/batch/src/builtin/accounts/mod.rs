//! The job of IBM's paper "WebSphere Liberty Batch: Thoughts on Performance": a reader of a flat file, a writer that inserts rows in one chunk and
//! deletes them in the next, and a listener that writes times as CSV. Properties have the names of the paper.

mod listener;
mod reader;
mod writer;

pub(super) use listener::ChunkTimes;
pub(super) use reader::AccountReader;
pub(super) use writer::AccountWriter;

/// Maximum number of bytes of checkpoint data.
pub(super) const POSITION_BYTES_MAX: u64 = 64 << 20;

/// Checkpoint data of a size: what the artifact needs, then bytes that differ from chunk to chunk.
fn padded(state: &[u64], size: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = state.iter().flat_map(|number| number.to_le_bytes()).collect();
    let first = state.first().copied().unwrap_or(0).to_le_bytes()[0];
    bytes.resize(bytes.len().max(size), first);
    bytes
}

/// Decodes the first numbers of checkpoint data.
fn numbers<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    super::file_reader::numbers(bytes.get(..8 * N)?)
}
