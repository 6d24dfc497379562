//! Version 1 of the answers that are not records.

mod admin;
mod queues;
mod store;

pub(crate) use admin::{AuditLine, Definitions, MissingPart, Operation, Paths, Readiness, Status};
pub(crate) use queues::{MessageHead, MessageId, MessagePage, QueueFacts, QueueList, QueueRights};
use serde::Serialize;
pub(crate) use store::{
    Commits, Files, Locks, Measured, OpenQueue, OwnerName, OwnerState, Problem, Queues, Save, StoreState, Units,
};

/// Writes an answer as JSON in one line.
pub(crate) fn text(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).expect("wire types have string keys, and writing to memory succeeds")
}
