//! High and low marks of the depth of a queue: one event when the depth rises to the high mark, one when it falls to the low mark.
//!
//! ```text
//! depth   high ───────────╭─╮───╭──────  event: high     between the marks nothing is reported again
//!         low  ───╭───────╯ ╰─╯  ╰────╮  event: low
//! ```
//!
//! The event is a message on the event queue. It is put in the unit of work whose put or get crosses the mark, so it exists exactly if that change
//! does. Without an event queue, crossings are only counted. Each process that opens the queue has its own state, which begins below the high mark.

use std::sync::Arc;

use serde::Serialize;

use super::{CONTENT_TYPE, Message, QueueDefinition, QueueState, State};
use crate::store::Inner;
use crate::{StoreError, Unit};

/// Property of an event: `depth-high` or `depth-low`.
pub const DEPTH_EVENT: &str = "quayline.event";
/// Property of an event: name of the queue.
pub const DEPTH_QUEUE: &str = "quayline.queue";

/// The content of an event.
#[derive(Debug, Serialize)]
struct DepthEvent<'a> {
    event: &'static str,
    queue: &'a str,
    depth: u64,
    mark: u64,
    depth_max: u64,
    time_ms: u64,
}

/// A mark that is crossed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Crossed {
    High,
    Low,
}

/// A mark with the depth at which it was crossed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing {
    crossed: Crossed,
    depth: u64,
}

impl QueueDefinition {
    pub(super) fn check_marks(&self) -> Result<(), String> {
        let (high, low) = (self.depth_high_mark, self.depth_low_mark);
        if high == 0 && (low > 0 || !self.event_queue.is_empty()) {
            return Err("a low mark and an event queue need a high mark".to_owned());
        }
        if high > 0 && low >= high {
            return Err(format!("a low mark of {low}, expected less than the high mark of {high}"));
        }
        if high > self.depth_max {
            return Err(format!("a high mark of {high}, expected at most the depth limit of {}", self.depth_max));
        }
        if self.event_queue == self.name {
            return Err("the queue is its own event queue".to_owned());
        }
        Ok(())
    }
}

impl QueueState {
    /// Returns true if the queue has a high mark.
    pub(crate) fn has_marks(&self) -> bool {
        self.definition().depth_high_mark > 0
    }

    /// Returns a crossing if a put raises the depth to the high mark. The message's place must be reserved.
    pub(super) fn rises(&self, state: &mut State) -> Option<Crossing> {
        let definition = self.definition();
        if definition.depth_high_mark == 0 {
            return None;
        }
        let depth = state.facts.depth + state.window.uncommitted.len() as u64;
        // Messages that expired left without a unit of work.
        if state.facts.is_above_mark && !state.is_crossing && depth <= definition.depth_low_mark + 1 {
            state.facts.is_above_mark = false;
            state.facts.depth_low_events += 1;
            state.facts.depth_events_lost += u64::from(!definition.event_queue.is_empty());
        }
        let crosses = !state.facts.is_above_mark && !state.is_crossing && depth >= definition.depth_high_mark;
        state.is_crossing |= crosses;
        crosses.then_some(Crossing { crossed: Crossed::High, depth })
    }

    /// Returns a crossing if a get lowers the depth to the low mark. The message must be claimed.
    fn falls(&self, state: &mut State) -> Option<Crossing> {
        if !state.facts.is_above_mark || state.is_crossing {
            return None;
        }
        let depth = state.facts.depth.saturating_sub(state.window.claimed.len() as u64);
        let crosses = depth <= self.definition().depth_low_mark;
        state.is_crossing |= crosses;
        crosses.then_some(Crossing { crossed: Crossed::Low, depth })
    }

    /// Reports with the unit of work of a get that the depth falls to the low mark, if it does.
    pub(super) fn report_fall(self: &Arc<Self>, unit: &mut Unit) -> Option<Crossed> {
        let crossing = {
            let mut state = self.state.lock();
            self.falls(&mut state)?
        };
        self.report(unit, crossing);
        Some(crossing.crossed)
    }

    /// Puts the event on the event queue with the unit of work. An event that cannot be put does not stop the work: it counts as lost.
    pub(super) fn report(&self, unit: &mut Unit, Crossing { crossed, depth }: Crossing) -> Crossed {
        let event_queue = &self.definition().event_queue;
        if !event_queue.is_empty()
            && let Err(_lost) = self.put_event(unit, event_queue, crossed, depth)
        {
            self.state.lock().facts.depth_events_lost += 1;
        }
        crossed
    }

    fn put_event(&self, unit: &mut Unit, event_queue: &str, crossed: Crossed, depth: u64) -> Result<(), StoreError> {
        let definition = self.definition();
        let (event, mark) = match crossed {
            Crossed::High => ("depth-high", definition.depth_high_mark),
            Crossed::Low => ("depth-low", definition.depth_low_mark),
        };
        let store: Arc<Inner> = Arc::clone(unit.inner());
        let name = &definition.name;
        let text = DepthEvent {
            event,
            queue: name,
            depth,
            mark,
            depth_max: definition.depth_max,
            time_ms: store.clock.now_ms(),
        };
        let text = serde_json::to_vec(&text).expect("an event has string keys and plain values");
        let mut message = Message::new(text);
        message.properties = [(DEPTH_EVENT, event), (DEPTH_QUEUE, name), (CONTENT_TYPE, "application/json")]
            .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
            .to_vec();
        super::open(&store, event_queue)?.put(unit, &message).map(|_| ())
    }
}

impl State {
    /// Records that the unit of work that crosses a mark was committed.
    pub(super) fn crossed(&mut self, crossed: Option<Crossed>) {
        let Some(crossed) = crossed else { return };
        self.is_crossing = false;
        self.facts.is_above_mark = crossed == Crossed::High;
        match crossed {
            Crossed::High => self.facts.depth_high_events += 1,
            Crossed::Low => self.facts.depth_low_events += 1,
        }
    }

    /// Records that the unit of work that would have crossed a mark was rolled back.
    pub(super) fn not_crossed(&mut self, crossed: Option<Crossed>) {
        if crossed.is_some() {
            self.is_crossing = false;
        }
    }
}
