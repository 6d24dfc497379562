//! The artifacts of the job of IBM's paper "WebSphere Liberty Batch: Thoughts on Performance": a reader of a flat file, a writer that inserts rows in
//! one chunk and deletes them in the next, and a listener that writes times as CSV. Properties have the names of the paper.

mod listener;
mod reader;
mod writer;

use quayline_batch::Thrown;
use quayline_batch::artifact::{Answer, Expected, Injected, Properties, Property, Registry};

use listener::ChunkTimesListener;
use reader::AccountReader;
use writer::AccountWriter;

const POSITION_BYTES: Expected = Expected::Number(0, 64 << 20, "1024");

/// Adds `quayline.accountReader`, `quayline.accountWriter` and `quayline.chunkTimesListener`.
pub fn register(registry: &mut Registry) {
    const READER: Properties = Properties::only(&[
        Property::required("FileName", Expected::Text),
        Property::optional("NumRecords", Expected::Number(0, u64::MAX, "10000000")),
        Property::optional("ReaderCheckpointDataSize", POSITION_BYTES),
    ]);
    const WRITER: Properties = Properties::only(&[
        Property::optional("AccountNumberBase", Expected::Number(0, u64::MAX, "0")),
        Property::optional("WriterCheckpointDataSize", POSITION_BYTES),
        Property::optional("Table", Expected::Text),
        Property::optional("Deletes", Expected::OneOf(&["rows", "set", "one-by-one", "none"])),
    ]);
    const LISTENER: Properties = Properties::only(&[
        Property::required("File", Expected::Text),
        Property::optional("IterationFile", Expected::Text),
        Property::optional("Writes", Expected::OneOf(&["sent", "answered"])),
    ]);
    registry.declare("reader", "quayline.accountReader", READER);
    registry.declare("writer", "quayline.accountWriter", WRITER);
    registry.declare("listener", "quayline.chunkTimesListener", LISTENER);
    registry.reader("quayline.accountReader", |with| Ok(Box::new(AccountReader::new(with)?)));
    registry.writer("quayline.accountWriter", |with| Ok(Box::new(AccountWriter::new(with)?)));
    registry.listener("quayline.chunkTimesListener", |with| Ok(Box::new(ChunkTimesListener::new(with)?)));
}

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

/// Decodes the two numbers of checkpoint data; zeros without checkpoint data.
fn numbers(checkpoint: Option<&[u8]>) -> Answer<[u64; 2]> {
    let Some(bytes) = checkpoint else { return Ok([0, 0]) };
    match bytes.as_chunks::<8>().0 {
        [first, second, ..] => Ok([first, second].map(|bytes| u64::from_le_bytes(*bytes))),
        _ => Err(Thrown::of(&["quayline.Environment"], "the checkpoint is of no known form")
            .hint("the step had another reader or writer: restore the job XML, or start a new instance of the job")),
    }
}
