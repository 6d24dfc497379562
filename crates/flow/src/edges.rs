//! Delivery guarantees at each place where a flow exchanges data with something other than its store.

use quayline_project::{FlowFile, FlowNode};

use crate::compile::Flow;

/// Delivery guarantee of a node that exchanges data with another system.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Edge<'f> {
    /// Name of the node.
    pub node: &'f str,
    /// Type of the node.
    pub kind: &'static str,
    /// Number of effects of a message, and its conditions.
    pub guarantee: &'static str,
}

impl Flow {
    /// Returns the nodes that exchange data with other systems, with their guarantees, and the queue inputs that may lose messages. All other queues and
    /// record files commit with the unit of work.
    pub fn edges(&self) -> impl Iterator<Item = Edge<'_>> {
        edges(&self.file)
    }
}

/// Returns the edges of a flow file, as [`Flow::edges`] does.
pub(crate) fn edges(file: &FlowFile) -> impl Iterator<Item = Edge<'_>> {
    file.nodes.iter().flat_map(move |node| {
        let all = [guarantee(node), lost_first(node), lost_by_power(file, node)];
        all.into_iter().flatten().map(move |guarantee| Edge { node: &node.name, kind: node.kind.name, guarantee })
    })
}

/// Describes the loss in a power failure if the flow does not sync all commits.
fn lost_by_power(file: &FlowFile, node: &FlowNode) -> Option<&'static str> {
    let is_lossy = file.syncs_persistent_only && node.kind.name == "queue_input";
    is_lossy.then_some(
        "`sync = \"persistent\"`: a power failure may undo the units of work of non-persistent messages from about the last second, \
         with their changes of record files and even if clients have their replies; persistent messages lose nothing",
    )
}

/// Describes the loss of an input whose get commits before the flow runs.
fn lost_first(node: &FlowNode) -> Option<&'static str> {
    if node.kind.name != "queue_input" {
        return None;
    }
    match node.text("transaction") {
        Some("no") => Some(
            "at most once with `transaction = \"no\"`: the get commits before the flow runs, so a message whose flow fails, or that a \
             crash interrupts, is lost",
        ),
        Some("automatic") => Some(
            "at most once for non-persistent messages with `transaction = \"automatic\"`: their get commits before the flow runs, so one \
             whose flow fails is lost; exactly once for persistent messages",
        ),
        _ => None,
    }
}

fn guarantee(node: &FlowNode) -> Option<&'static str> {
    Some(match node.kind.name {
        "folder_input" => "exactly once: the unit of work remembers the file",
        "http_input" => {
            "exactly once for requests with an Idempotency-Key that are repeated within `remember`: the unit of work remembers the key \
             and the answer; at least once for requests without one, which are new messages when a client repeats them"
        }
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
        "sql_input" if node.text("done").is_some() => {
            "exactly once if no key is used again: the unit of work remembers the row until the database has committed `done`"
        }
        "sql_input" => {
            "exactly once for rows that become visible in the order of `key`: the unit of work remembers the key; a row that becomes \
             visible after rows with greater keys is never read, which `done` avoids"
        }
        "file_output" => "exactly once: the file is written after the commit, and again after a crash",
        "sql_query" => "at least once: the query runs again after a rollback, so it should only read",
        "sql_output" => "exactly once: the database remembers the message in the transaction of the statement",
        "cobol_program" => {
            "at least once: the program runs again after a rollback, so what it changes outside of its record happens again"
        }
        "partner_receive" => {
            "exactly once: entries, numbers, acknowledgments and outputs are in the unit of work; files are written after the commit, \
             and again after a crash"
        }
        "partner_send" => {
            "exactly once: entries, numbers and interchanges are in the unit of work; files are written after the commit, and again \
             after a crash"
        }
        "http_request" => "at least once: the request is sent again after a rollback, with the same Idempotency-Key",
        "http_output" => {
            "at least once: the request is sent after the commit until it is accepted, with the same Idempotency-Key; \
             exactly once if the server remembers the key"
        }
        _ => return None,
    })
}
