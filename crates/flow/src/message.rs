//! A message as it moves through a flow.

use std::rc::Rc;

use quayline_core::hex;
use quayline_store::queue::{Message, Persistence, USER_ID};

use crate::failure::Failure;

/// Names of envelope values that expressions and maps may read. `property_NAME` is a property of the message.
pub const ENVELOPE_NAMES: &[&str] = &[
    "message_id",
    "correlation_id",
    "group_id",
    "group_sequence",
    "priority",
    "persistence",
    "put_time",
    "reply_to",
    "format",
    "reason",
    "backout_count",
    "queue",
    "flow",
    "user_id",
    "file_name",
    "part",
    "group_key",
    "group_count",
    "status",
    "return_code",
    "error_code",
    "error_text",
    "error_node",
];

/// Property that counts the queues that a message and its successors have passed.
pub(crate) const HOPS: &str = "quayline_hops";

/// Properties that all messages made from one received message share.
#[derive(Debug)]
pub(crate) struct Received {
    /// The message without its content.
    pub(crate) header: Message,
    /// Name of the queue, folder or listener.
    pub(crate) from: String,
    /// Name of the flow.
    pub(crate) flow: Rc<str>,
    /// The file that it was read from.
    pub(crate) file_name: Option<String>,
    /// Receiver of the answer to an HTTP request.
    pub(crate) reply: Option<crate::http::ReplyTo>,
    /// The content as it was received.
    pub(crate) content: Rc<[u8]>,
    /// Terminal of the node that it enters the flow by: `out` but for groups whose time is over.
    pub(crate) terminal: &'static str,
    /// Key and number of messages of such a group.
    pub(crate) group: Option<Rc<(String, u64)>>,
    /// True if the same message, with the same id, arrives again after a rollback or a crash.
    pub(crate) comes_again: bool,
    /// The request whose answer is kept.
    pub(crate) asking: Option<crate::answers::Asking>,
}

/// A message between two nodes. Clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) content: Rc<[u8]>,
    pub(crate) received: Rc<Received>,
    /// Number of the part, after a split.
    pub(crate) part: u64,
    /// Path from the input to here: the same for each attempt, and different for all other messages made from one received message.
    pub(crate) path: u64,
    /// COBOL file status of the last record operation.
    pub(crate) status: Option<&'static str>,
    /// RETURN-CODE of the last COBOL program.
    pub(crate) return_code: Option<i32>,
    /// The failure that led here.
    pub(crate) failure: Option<Rc<Failure>>,
    /// Key and number of messages of the group that it was made of.
    pub(crate) group: Option<Rc<(String, u64)>>,
    /// True if the content is one record as in a file, even if the length in its shape differs.
    pub(crate) is_record: bool,
}

impl Parcel {
    pub(crate) fn new(received: Rc<Received>) -> Self {
        let (content, group) = (Rc::clone(&received.content), received.group.clone());
        Parcel {
            content,
            received,
            part: 0,
            path: 0,
            status: None,
            return_code: None,
            failure: None,
            group,
            is_record: false,
        }
    }

    pub(crate) fn with_content(&self, content: impl Into<Rc<[u8]>>) -> Self {
        Parcel { content: content.into(), is_record: false, ..self.clone() }
    }

    /// Returns the message for a node, as one of several that leave the previous node.
    pub(crate) fn towards(&self, node: u64, number: u64) -> Self {
        // An odd factor and a shift spread each difference over all bits.
        let mixed = (self.path ^ node).wrapping_add(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Parcel { path: mixed ^ (mixed >> 32), ..self.clone() }
    }

    /// Returns the key that identifies this message to a server; it is the same for each attempt.
    pub(crate) fn idempotency_key(&self) -> String {
        format!("{}-{:016x}", hex(&self.received.header.id), self.path)
    }

    pub(crate) fn is_persistent(&self) -> bool {
        self.received.header.persistence == Persistence::Persistent
    }

    /// Returns an envelope value.
    pub(crate) fn envelope(&self, name: &str) -> Option<String> {
        let header = &self.received.header;
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        match name {
            "message_id" => Some(hex(&header.id)),
            "correlation_id" => Some(hex(&header.correlation)),
            "group_id" => Some(hex(&header.group)),
            "group_sequence" => Some(header.group_sequence.to_string()),
            "priority" => Some(header.priority.to_string()),
            "persistence" => Some(if self.is_persistent() { "yes" } else { "no" }.to_owned()),
            "put_time" => Some(header.put_ms.to_string()),
            "reply_to" => text(&header.reply_to),
            "format" => text(&header.format),
            "reason" => text(&header.reason),
            "backout_count" => Some(header.backout_count.to_string()),
            "queue" => text(&self.received.from),
            "flow" => Some(self.received.flow.to_string()),
            "user_id" => self.property(USER_ID),
            "file_name" => self.received.file_name.clone(),
            "part" => (self.part > 0).then(|| self.part.to_string()),
            "group_key" => self.group.as_ref().map(|group| group.0.clone()),
            "group_count" => self.group.as_ref().map(|group| group.1.to_string()),
            "status" => self.status.map(str::to_owned),
            "return_code" => self.return_code.map(|code| code.to_string()),
            "error_code" => self.failure.as_ref().map(|failure| failure.finding.code.to_string()),
            "error_text" => self.failure.as_ref().map(|failure| failure.finding.message.clone()),
            "error_node" => self.failure.as_ref().and_then(|failure| failure.node.clone()),
            other => self.property(other.strip_prefix("property_")?),
        }
    }

    fn property(&self, name: &str) -> Option<String> {
        let found = self.received.header.properties.iter().find(|(known, _)| known == name)?;
        String::from_utf8(found.1.clone()).ok()
    }

    /// Queues that the message has passed.
    pub(crate) fn hops(&self) -> u32 {
        self.property(HOPS).and_then(|hops| hops.parse().ok()).unwrap_or(0)
    }
}
