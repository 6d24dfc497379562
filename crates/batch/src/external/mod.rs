//! Artifacts implemented by programs of the user: `quayline.externalReader` and others. `docs/reference/artifact-protocol.md` is the contract.
//!
//! ```text
//! reader, processor, writer, batchlet, listener, decider, algorithm,
//! mapper, collector, analyzer, reducer ─▶ Program: one process for each use of the artifact
//!                                            │ wire: frames of fields over standard input and output
//!                                            ▼
//!                                         hello, open, read, process, write, ...
//! ```
//!
//! - **A round trip serves many items.** The reader receives a chunk of items, each with its position, in one answer. Processor and writer get
//!   the items of a chunk in one request. A listener gets the events of single items with the next event that concerns the chunk.
//! - **Time is bounded.** A program that does not answer in time is terminated, and the call throws. An ended program is started again by the
//!   next `open`, so a job may retry such an exception.

mod algorithm;
mod batchlet;
mod decider;
mod function;
mod listener;
mod partition;
mod processor;
mod program;
mod reader;
mod wire;
mod writer;

use crate::artifact::Registry;
pub use function::{FUNCTION_TIME, FunctionProgram};

/// Adds the artifacts that are programs of the user.
pub(crate) fn register(registry: &mut Registry) {
    registry.reader("quayline.externalReader", |with| Ok(Box::new(reader::ExternalReader::new(with)?)));
    registry.processor("quayline.externalProcessor", |with| Ok(Box::new(processor::ExternalProcessor::new(with)?)));
    registry.writer("quayline.externalWriter", |with| Ok(Box::new(writer::ExternalWriter::new(with)?)));
    registry.batchlet("quayline.externalBatchlet", |with| Ok(Box::new(batchlet::ExternalBatchlet::new(with)?)));
    registry.listener("quayline.externalListener", |with| Ok(Box::new(listener::ExternalListener::new(with)?)));
    registry.decider("quayline.externalDecider", |with| Ok(Box::new(decider::ExternalDecider::new(with)?)));
    registry.checkpoint_algorithm("quayline.externalCheckpointAlgorithm", |with| {
        Ok(Box::new(algorithm::ExternalAlgorithm::new(with)?))
    });
    registry.mapper("quayline.externalMapper", |with| Ok(Box::new(partition::ExternalMapper::new(with)?)));
    registry.collector("quayline.externalCollector", |with| Ok(Box::new(partition::ExternalCollector::new(with)?)));
    registry.analyzer("quayline.externalAnalyzer", |with| Ok(Box::new(partition::ExternalAnalyzer::new(with)?)));
    registry.reducer("quayline.externalReducer", |with| Ok(Box::new(partition::ExternalReducer::new(with)?)));
}
