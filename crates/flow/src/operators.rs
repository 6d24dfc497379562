//! Answers to operators: state, counters and steps of flows as JSON.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::engine::{Engine, FlowState};
use crate::stats::{LastError, NodeStats};
use crate::trace::TraceEvent;

/// Answers a request below `/flows`: status and content. Returns `None` for other paths and methods. `now_ms` is the time since 1970.
#[must_use]
pub fn answer(engine: &Engine, now_ms: u64, method: &str, path: &str) -> Option<(u16, Value)> {
    let rest = path.strip_prefix("/flows")?;
    let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
    let flows = engine.flows();
    let found = |name: &str, of: &dyn Fn(&FlowState) -> Value| match flows.iter().find(|flow| flow.flow.name() == name)
    {
        Some(flow) => (200, of(flow)),
        None => unknown(name),
    };
    Some(match (method, parts.as_slice()) {
        ("GET", []) => (200, Value::from(flows.iter().map(state).collect::<Vec<_>>())),
        ("GET", [name]) => found(name, &state),
        (method @ ("GET" | "POST"), [name, "trace"]) => found(name, &|flow| trace_of(flow, now_ms, method == "POST")),
        ("POST", [name, "stop"]) if engine.stop(name) => (200, json!({ "flow": name, "running": false })),
        ("POST", [name, "start"]) if engine.restart(name) => (200, json!({ "flow": name, "running": true })),
        ("POST", [name, "start" | "stop"]) => unknown(name),
        _ => return None,
    })
}

/// Returns the flows that do not work, each as `flow NAME`, with the reason.
#[must_use]
pub fn not_ready(flows: &[FlowState]) -> Vec<(String, String)> {
    let why = |flow: &FlowState| flow.broken.clone().or_else(|| flow.stats.not_begun().filter(|_| flow.is_running));
    flows.iter().filter_map(|flow| Some((format!("flow {}", flow.flow.name()), why(flow)?))).collect()
}

fn count(of: &AtomicU64) -> u64 {
    of.load(Ordering::Relaxed)
}

fn unknown(name: &str) -> (u16, Value) {
    (404, json!({ "status": "no such flow", "flow": name }))
}

fn failure(error: Option<LastError>) -> Value {
    error.map_or(Value::Null, |error| {
        json!({ "at_ms": error.at_ms, "code": error.finding.code.0, "message": error.finding.message, "place": error.finding.place.to_string() })
    })
}

/// Returns the steps of messages since the last request. The first request, with POST, begins the trace.
fn trace_of(flow: &FlowState, now_ms: u64, begins: bool) -> Value {
    if begins {
        flow.stats.begin_trace(now_ms);
    }
    let (events, lost) = flow.stats.take_trace(now_ms);
    let event = |event: TraceEvent| {
        json!({
            "at_ms": event.at_ms, "message": event.message, "part": event.part, "node": event.node, "terminal": event.terminal,
            "bytes": event.bytes, "trace_id": event.trace_id, "failure": event.failure,
        })
    };
    json!({ "flow": flow.flow.name(), "lost": lost, "events": events.into_iter().map(event).collect::<Vec<_>>() })
}

/// Returns the current state of a node.
fn node_state(flow: &FlowState, node: &NodeStats) -> &'static str {
    match flow {
        FlowState { broken: Some(_), .. } => "ended",
        FlowState { is_running: false, .. } => "stopped",
        _ if node.is_elsewhere.load(Ordering::Relaxed) => "elsewhere",
        _ if flow.stats.not_begun().is_some() => "waiting",
        _ => "running",
    }
}

/// Returns why a node waits now. A node that is stopped or has another owner does not wait.
fn waits_for(flow: &FlowState, node: &NodeStats) -> Option<String> {
    let last = node.waits_for().filter(|_| node_state(flow, node) == "running")?;
    Some(format!("{}: {}", last.finding.code, last.finding.message))
}

fn state(flow: &FlowState) -> Value {
    let nodes = flow.flow.file.nodes.iter().zip(&flow.stats.nodes).map(|(node, stats)| {
        json!({
            "name": node.name, "type": node.kind.name, "messages": count(&stats.messages),
            "failures": count(&stats.failures), "last_failure": failure(stats.last_error()),
            "dropped": count(&stats.dropped),
            "warnings": count(&stats.warnings), "last_warning": failure(stats.last_warning()),
            "state": node_state(flow, stats), "waits_for": waits_for(flow, stats), "elsewhere": stats.is_elsewhere.load(Ordering::Relaxed),
        })
    });
    let stats = &flow.stats;
    json!({
        "name": flow.flow.name(), "running": flow.is_running, "received": count(&stats.received),
        "committed": count(&stats.committed), "rolled_back": count(&stats.rolled_back),
        "conflicts": count(&stats.conflicts), "open": count(&stats.open), "undelivered": count(&stats.undelivered),
        "ended": flow.broken, "waits_for": flow.stats.not_begun(), "last_failure": failure(stats.last_error()), "nodes": nodes.collect::<Vec<_>>(),
    })
}
