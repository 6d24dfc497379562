//! What is certain at each place where a flow meets something other than its store.

use quayline_project::FlowNode;

use crate::compile::Flow;

/// What is certain at a node that reaches the outside.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Edge<'f> {
    /// Name of the node.
    pub node: &'f str,
    /// Its type.
    pub kind: &'static str,
    /// How often a message has its effect, and what that depends on.
    pub guarantee: &'static str,
}

impl Flow {
    /// The nodes that reach something other than the store, with what is certain there. Queues and record files commit with the unit of work.
    pub fn edges(&self) -> impl Iterator<Item = Edge<'_>> {
        self.file.nodes.iter().filter_map(|node| {
            guarantee(node).map(|guarantee| Edge { node: &node.name, kind: node.kind.name, guarantee })
        })
    }
}

fn guarantee(node: &FlowNode) -> Option<&'static str> {
    Some(match node.kind.name {
        "folder_input" => "exactly once: the unit of work remembers the file",
        "http_input" => "at least once: a client without an answer repeats its request, which is a new message",
        "nats_input" => "exactly once: the unit of work remembers the number of the message in the stream",
        "nats_output" => {
            "exactly once while an outage is shorter than the duplicate window of the stream, because each attempt has the same \
             Nats-Msg-Id; at least once after a longer one"
        }
        "amqp_input" if node.text("without_id") == Some("backout") => {
            "exactly once if only this node receives from the queue and a message comes again within `remember`: the unit of work \
             remembers its message-id; a message without one moves to the backout queue"
        }
        "amqp_input" => {
            "exactly once if only this node receives from the queue and a message comes again within `remember`: the unit of work \
             remembers its message-id; at least once for messages without one"
        }
        "amqp_output" if node.text("duplicate_property").is_some() => {
            "exactly once while the broker remembers the id in `duplicate_property`, because each attempt has the same; at least \
             once after that"
        }
        "amqp_output" => {
            "at least once: an attempt without an answer is repeated with the same message-id; exactly once if the broker or the \
             receiver finds duplicates by it"
        }
        "kafka_input" => "exactly once: the unit of work remembers the offset of the message in its partition",
        "kafka_output" => {
            "exactly once while an outage is shorter than the time for which Kafka remembers a producer, because each attempt has the \
             same producer id and sequence number; at least once after a longer one"
        }
        "file_output" => "exactly once: the file is written after the commit, and again after a crash",
        "sql_query" => "at least once: the query runs again after a rollback, so it should only read",
        "sql_output" => "exactly once: the database remembers the message in the transaction of the statement",
        "http_request" => "at least once: the request is sent again after a rollback, with the same Idempotency-Key",
        "http_output" => {
            "at least once: the request is sent after the commit until it is accepted, with the same Idempotency-Key; \
             exactly once if the server remembers the key"
        }
        _ => return None,
    })
}
