//! Queues over HTTP.

use std::collections::BTreeMap;

use serde::Serialize;

/// A message that was put.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageId<'m> {
    pub(crate) message_id: &'m str,
}

/// Queues that the client may use.
#[derive(Serialize)]
pub(crate) struct QueueList<'q> {
    pub(crate) queues: Vec<QueueRights<'q>>,
}

/// Rights of a client on a queue: `put`, `get`, `browse`.
#[derive(Serialize)]
pub(crate) struct QueueRights<'q> {
    pub(crate) queue: &'q str,
    pub(crate) rights: Vec<&'static str>,
}

/// Depth and counts of a queue.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueFacts<'q> {
    pub(crate) queue: &'q str,
    pub(crate) depth: u64,
    pub(crate) depth_high: u64,
    pub(crate) depth_max: u64,
    pub(crate) message_bytes_max: u64,
    pub(crate) put: u64,
    pub(crate) got: u64,
    pub(crate) expired: u64,
    pub(crate) backed_out: u64,
    pub(crate) moved: u64,
}

/// A page of messages.
#[derive(Serialize)]
pub(crate) struct MessagePage {
    pub(crate) messages: Vec<MessageHead>,
    /// Position of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// A message without its content.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageHead {
    pub(crate) message_id: String,
    pub(crate) priority: u8,
    pub(crate) persistent: bool,
    pub(crate) put_ms: u64,
    pub(crate) bytes: u64,
    pub(crate) backout_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group_id: Option<String>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) group_sequence: u32,
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) expires_at_ms: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reply_to: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) format: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) properties: BTreeMap<String, String>,
    /// Time from which the message can be taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) available_at_ms: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Returns true for a message that does not expire.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_none(expires_ms: &u64) -> bool {
    *expires_ms == 0
}
