//! Traces of messages through a flow, for troubleshooting, and the W3C trace context that messages carry.
//!
//! An untraced flow pays one load of a number for each terminal. Events have node, terminal and time, never content. They wait in a bounded buffer
//! until they are read; the oldest are dropped when it is full. Tracing ends automatically, so a forgotten trace costs nothing.
//!
//! Source of the context: W3C Trace Context, level 1. Quayline records no spans, so it passes `traceparent` and `tracestate` on unchanged.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use quayline_core::{Finding, hex};

use crate::message::{Parcel, Received};
use crate::run::Run;

/// Events that wait to be read. Default 10,000.
const EVENTS_MAX: usize = 10_000;
/// Time after the last look until tracing ends. Default 30 seconds.
const KEPT_MS: u64 = 30_000;
/// Properties that hold the context, and names of its headers.
const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";
/// Longest `tracestate` that is passed on, as the standard asks at least.
const STATE_BYTES_MAX: usize = 512;

/// A step of a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TraceEvent {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Id of the received message, as hexadecimal digits.
    pub message: String,
    /// Trace id of the context, if the message has one.
    pub trace_id: Option<String>,
    /// Number of the part, after a split; 0 otherwise.
    pub part: u64,
    /// Node that the message leaves.
    pub node: String,
    /// Terminal that it leaves by; `commit` and `rollback` at the end of its unit of work.
    pub terminal: String,
    /// Bytes of the content.
    pub bytes: u64,
    /// Code and text of the failure, at the terminal `failure`.
    pub failure: Option<String>,
}

/// The events of one flow.
#[derive(Debug, Default)]
pub(crate) struct Traced {
    /// Milliseconds since 1970 until which events are kept; 0 is never.
    until_ms: AtomicU64,
    events: Mutex<(VecDeque<TraceEvent>, u64)>,
}

impl Traced {
    pub(crate) fn begin(&self, now_ms: u64) {
        self.until_ms.store(now_ms + KEPT_MS, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.until_ms.store(0, Ordering::Relaxed);
        *self.events.lock() = Default::default();
    }

    /// Returns the events since the last call, and the number of events dropped for lack of room.
    pub(crate) fn take(&self, now_ms: u64) -> (Vec<TraceEvent>, u64) {
        if self.until_ms.load(Ordering::Relaxed) > 0 {
            self.begin(now_ms);
        }
        let mut events = self.events.lock();
        let lost = std::mem::take(&mut events.1);
        (events.0.drain(..).collect(), lost)
    }

    fn is_on(&self) -> bool {
        self.until_ms.load(Ordering::Relaxed) > 0
    }

    fn add(&self, event: TraceEvent) {
        if event.at_ms > self.until_ms.load(Ordering::Relaxed) {
            return self.end();
        }
        let mut events = self.events.lock();
        if events.0.len() == EVENTS_MAX {
            events.0.pop_front();
            events.1 += 1;
        }
        events.0.push_back(event);
    }
}

impl Run<'_> {
    fn event(&self, at: usize, terminal: &str, received: &Received, part: u64, bytes: usize) -> TraceEvent {
        let parent = received.header.properties.iter().find(|(name, _)| name == PARENT);
        let trace_id = parent.and_then(|(_, value)| std::str::from_utf8(value).ok()?.get(3..35).map(str::to_owned));
        TraceEvent {
            at_ms: self.clock.now_ms(),
            message: hex(&received.header.id),
            trace_id,
            part,
            node: self.flow.file.nodes[at].name.clone(),
            terminal: terminal.to_owned(),
            bytes: bytes as u64,
            failure: None,
        }
    }

    /// Takes note of a message that leaves a node.
    pub(crate) fn traced(&self, at: usize, terminal: &str, parcel: &Parcel) {
        if self.stats.traced.is_on() {
            let event = self.event(at, terminal, &parcel.received, parcel.part, parcel.content.len());
            self.stats.traced.add(event);
        }
    }

    /// Takes note of a node that failed.
    pub(crate) fn traced_failure(&self, at: usize, parcel: &Parcel, finding: &Finding) {
        if self.stats.traced.is_on() {
            let mut event = self.event(at, "failure", &parcel.received, parcel.part, parcel.content.len());
            event.failure = Some(format!("{}: {}", finding.code, finding.message));
            self.stats.traced.add(event);
        }
    }

    /// Takes note of the end of a unit of work.
    pub(crate) fn traced_end(&self, at: usize, received: &Received, is_good: bool) {
        if self.stats.traced.is_on() {
            let terminal = if is_good { "commit" } else { "rollback" };
            self.stats.traced.add(self.event(at, terminal, received, 0, received.content.len()));
        }
    }
}

/// Returns true if a text is a `traceparent` of version 00.
fn is_parent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &str, digits: usize| {
        part.len() == digits && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let has_one = |part: &str| part.bytes().any(|byte| byte != b'0');
    matches!(parts.as_slice(), ["00", trace, span, flags]
        if is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2) && has_one(trace) && has_one(span))
}

/// Converts the context of a request to properties of its message. Malformed parts are left out, as the standard requires.
pub(crate) fn context(parent: Option<&str>, state: Option<&str>) -> Vec<(String, Vec<u8>)> {
    let Some(parent) = parent.filter(|parent| is_parent(parent)) else { return Vec::new() };
    let mut properties = vec![(PARENT.to_owned(), parent.as_bytes().to_vec())];
    if let Some(state) = state.filter(|state| !state.is_empty() && state.len() <= STATE_BYTES_MAX) {
        properties.push((STATE.to_owned(), state.as_bytes().to_vec()));
    }
    properties
}

/// Converts the context of a message to headers of a request.
pub(crate) fn headers(properties: &[(String, Vec<u8>)]) -> Vec<(&str, &str)> {
    let value = |name: &str| {
        let (_, value) = properties.iter().find(|(known, _)| known == name)?;
        std::str::from_utf8(value).ok().filter(|value| value.bytes().all(|byte| matches!(byte, b' '..=b'~')))
    };
    let Some(parent) = value(PARENT).filter(|parent| is_parent(parent)) else { return Vec::new() };
    let state = value(STATE).filter(|state| state.len() <= STATE_BYTES_MAX);
    [Some((PARENT, parent)), state.map(|state| (STATE, state))].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_passed_on_whole_or_not_at_all() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let properties = context(Some(good), Some("a=1"));
        assert_eq!(headers(&properties), [(PARENT, good), (STATE, "a=1")]);
        for bad in [
            "",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert!(context(Some(bad), Some("a=1")).is_empty(), "{bad}");
        }
        assert_eq!(context(Some(good), Some(&"x".repeat(513))).len(), 1);
        assert!(headers(&[(PARENT.to_owned(), b"00-\r\n".to_vec())]).is_empty());
    }
}
