//! The job of IBM's paper "WebSphere Liberty Batch: Thoughts on Performance": a reader of a flat file, a writer that inserts rows in one chunk and
//! deletes them in the next, and a listener that writes times as CSV. Properties have the names of the paper.

mod listener;
mod reader;
mod writer;

use crate::artifact::{Answer, Injected};

pub(super) use listener::ChunkTimes;
pub(super) use reader::AccountReader;
pub(super) use writer::AccountWriter;

/// Maximum number of bytes of checkpoint data.
pub(super) const POSITION_BYTES_MAX: u64 = 64 << 20;

/// Bytes of the two numbers that each artifact needs in its checkpoint data.
const NEEDED: usize = 16;

/// Returns the size from a property. If the checkpoint data needs more bytes, Quayline notes this in the job log.
fn size_of(with: &Injected, name: &str) -> Answer<usize> {
    let size = usize::try_from(with.number(name, 1_024)?).unwrap_or(usize::MAX);
    if let Some(step) = with.step.as_ref().filter(|_| size < NEEDED) {
        step.note(name, || format!("{name} is {size}, but {} needs {NEEDED} bytes of checkpoint data", with.name));
    }
    Ok(size.max(NEEDED))
}

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
