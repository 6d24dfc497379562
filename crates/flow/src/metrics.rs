//! Figures of flows and their nodes in the text format of Prometheus.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::FlowState;
use crate::stats::{CpuPart, NodeStats};

/// A metric.
#[derive(Debug)]
pub struct Metric {
    /// Name of the metric.
    pub name: &'static str,
    /// `counter` or `gauge`.
    pub kind: &'static str,
    /// Labels in addition to `flow`.
    pub labels: &'static [&'static str],
    /// Description with the unit.
    pub help: &'static str,
    value: Value,
}

#[derive(Debug)]
enum Value {
    Flow(fn(&FlowState) -> f64),
    Part(fn(&FlowState, CpuPart) -> f64),
    /// `None`: the node has no such figure yet.
    Node(fn(&FlowState, &NodeStats) -> Option<f64>),
}

const fn of_flow(name: &'static str, kind: &'static str, help: &'static str, value: fn(&FlowState) -> f64) -> Metric {
    Metric { name, kind, labels: &[], help, value: Value::Flow(value) }
}

const fn of_node(
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: fn(&FlowState, &NodeStats) -> Option<f64>,
) -> Metric {
    Metric { name, kind, labels: &["node", "type"], help, value: Value::Node(value) }
}

fn count(of: &AtomicU64) -> f64 {
    of.load(Ordering::Relaxed) as f64
}

fn truth(is_true: bool) -> f64 {
    f64::from(u8::from(is_true))
}

/// Every metric, in the order of the text.
pub const METRICS: &[Metric] = &[
    of_flow("quayline_flow_messages_total", "counter", "Messages received.", |flow| count(&flow.stats.received)),
    of_flow("quayline_flow_commits_total", "counter", "Units of work committed.", |flow| count(&flow.stats.committed)),
    of_flow("quayline_flow_rollbacks_total", "counter", "Units of work rolled back.", |flow| {
        count(&flow.stats.rolled_back)
    }),
    of_flow(
        "quayline_flow_conflicts_total",
        "counter",
        "Units of work rolled back and repeated, because they and others waited for each other's locks.",
        |flow| count(&flow.stats.conflicts),
    ),
    of_flow("quayline_flow_open", "gauge", "Units of work that are open.", |flow| count(&flow.stats.open)),
    of_flow("quayline_flow_running", "gauge", "1 if the flow takes messages.", |flow| truth(flow.is_running)),
    of_flow(
        "quayline_flow_unit_seconds_total",
        "counter",
        "Time of the units of work that ended, from the first message to the end of the commit or rollback.",
        |flow| count(&flow.stats.wall_ns) / 1e9,
    ),
    Metric {
        name: "quayline_flow_cpu_seconds_per_message",
        kind: "gauge",
        labels: &["part"],
        help: "CPU time of a message, by what it was for, from one unit of work in 32.",
        value: Value::Part(|flow, part| flow.stats.cpu.us_per_message(part) / 1e6),
    },
    of_node(
        "quayline_flow_node_messages_total",
        "counter",
        "Messages that arrived at the node; at an input, those that it received.",
        |_, node| Some(count(&node.messages)),
    ),
    of_node("quayline_flow_node_failures_total", "counter", "Failures of the node.", |_, node| {
        Some(count(&node.failures))
    }),
    of_node(
        "quayline_flow_node_warnings_total",
        "counter",
        "Warnings about messages that the node accepted, such as those of its map.",
        |_, node| Some(count(&node.warnings)),
    ),
    of_node(
        "quayline_flow_node_dropped_total",
        "counter",
        "Messages that ended at the node: `no_match` leads to no node, or its map made no document.",
        |_, node| Some(count(&node.dropped)),
    ),
    of_node(
        "quayline_flow_node_last_failure_timestamp_seconds",
        "gauge",
        "Time of the node's last failure, in seconds since 1970; absent before the first one.",
        |_, node| node.last_error().map(|last| last.at_ms as f64 / 1e3),
    ),
    of_node(
        "quayline_flow_node_running",
        "gauge",
        "1 if the flow takes messages and no other process is the owner of the node.",
        |flow, node| Some(truth(flow.is_running && !node.is_elsewhere.load(Ordering::Relaxed))),
    ),
];

const PARTS: [(CpuPart, &str); 4] =
    [(CpuPart::Queues, "queues"), (CpuPart::Files, "files"), (CpuPart::Flow, "flow"), (CpuPart::Commit, "commit")];

/// Writes the metrics of flows.
#[must_use]
pub fn metrics(flows: &[FlowState]) -> String {
    let mut text = String::new();
    for Metric { name, kind, help, value, .. } in METRICS {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for state in flows {
            let flow = escaped(state.flow.name());
            match value {
                Value::Flow(value) => {
                    let _ = writeln!(text, "{name}{{flow=\"{flow}\"}} {}", value(state));
                }
                Value::Part(value) => {
                    for (part, label) in PARTS {
                        let _ = writeln!(text, "{name}{{flow=\"{flow}\",part=\"{label}\"}} {}", value(state, part));
                    }
                }
                Value::Node(value) => {
                    for (node, stats) in state.flow.file.nodes.iter().zip(&state.stats.nodes) {
                        let Some(value) = value(state, stats) else { continue };
                        let (node, kind) = (escaped(&node.name), node.kind.name);
                        let _ = writeln!(text, "{name}{{flow=\"{flow}\",node=\"{node}\",type=\"{kind}\"}} {value}");
                    }
                }
            }
        }
    }
    text
}

/// Escapes the value of a label. Source: the text format of Prometheus, version 0.0.4.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
