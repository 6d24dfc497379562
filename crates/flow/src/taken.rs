//! Messages that an input has received from a server: those that wait for processing, and those that Quayline processes again after a failure.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;

use quayline_core::Code;
use quayline_project::FlowNode;
use quayline_store::queue::{DEAD_LETTER, Message};
use quayline_store::{Cause, Unit};
use tokio::time::{Instant, Sleep};

use crate::failure::Failure;

/// First and longest pause before a message that failed is processed again.
const AGAIN_MS: (u64, u64) = (100, 10_000);
/// Number of failures after which a message moves to the backout queue, unless the node sets `attempts`.
const ATTEMPTS: u64 = 3;
/// Pause for a message whose unit of work could not begin. This does not count as a failure of the message.
pub(crate) const NOT_BEGUN: Duration = Duration::from_millis(AGAIN_MS.0);

/// Connection of an input, as its task reports it to the input.
#[derive(Default)]
pub(crate) struct Link {
    /// The last failure that the input has not reported yet.
    failure: Option<Failure>,
    is_up: bool,
    was_up: bool,
}

impl Link {
    /// Records that the input receives nothing until the cause of a failure is corrected.
    pub(crate) fn breaks(&mut self, why: Failure) {
        self.is_up = false;
        self.failure = Some(why);
    }

    /// Records a failure. The connection remains as it is.
    pub(crate) fn fails(&mut self, why: Failure) {
        self.failure = Some(why);
    }

    /// Records that the input receives.
    pub(crate) fn works(&mut self) {
        self.is_up = true;
    }

    /// Returns what happened since the last call.
    pub(crate) fn news(&mut self) -> LinkNews {
        let begins = self.is_up && !self.was_up;
        self.was_up = self.is_up;
        LinkNews { failure: self.failure.take(), is_up: self.is_up, begins }
    }
}

/// Changes of a connection.
pub(crate) struct LinkNews {
    pub(crate) failure: Option<Failure>,
    /// True if the input receives.
    pub(crate) is_up: bool,
    /// True if the input did not receive before.
    pub(crate) begins: bool,
}

/// Outcome of the unit of work of a message. An error has the reason, or `None` if the rollback was not a failure of the message.
pub(crate) type Outcome = Result<(), Option<Cause>>;

/// A message that is processed now.
pub(crate) struct Taken {
    pub(crate) unit: Unit,
    pub(crate) header: Message,
    pub(crate) content: Rc<[u8]>,
    /// Queue that it moves to instead, and why.
    pub(crate) backout: Option<(String, Cause)>,
}

/// Failures of messages that Quayline processes again. The key is the number or place that identifies a message.
pub(crate) struct Failures<K> {
    /// Number of failures of each message, and the reason of the last one.
    failed: HashMap<K, (u64, Cause)>,
    attempts: u64,
    queue: String,
    /// Flow and node, as the place of a failure.
    place: String,
}

impl<K: Eq + Hash> Failures<K> {
    /// Returns an empty set of failures, with the properties `attempts` and `backout` of the node.
    pub(crate) fn new(flow: &str, node: &FlowNode) -> Self {
        Failures {
            failed: HashMap::new(),
            attempts: node.number("attempts").unwrap_or(ATTEMPTS),
            queue: node.text("backout").unwrap_or(DEAD_LETTER).to_owned(),
            place: format!("flow {flow}, node {}", node.name),
        }
    }

    /// Adds a failure and returns the pause before the message is processed again. Without a reason the rollback was not a failure of the message.
    pub(crate) fn add(&mut self, key: K, why: Option<Cause>) -> Duration {
        let Some(why) = why else { return Duration::from_millis(AGAIN_MS.0) };
        let (failures, last) = self.failed.entry(key).or_insert_with(|| (0, why.clone()));
        // A backout queue that is full says nothing about the message.
        if *failures < self.attempts {
            *last = why;
        }
        *failures += 1;
        let doubled = AGAIN_MS.0.saturating_mul(1 << failures.saturating_sub(1).min(16));
        Duration::from_millis(doubled.min(AGAIN_MS.1))
    }

    /// Forgets the failures of a message that has had its effect.
    pub(crate) fn forget(&mut self, key: &K) {
        self.failed.remove(key);
    }

    /// Forgets all failures, because the messages are gone.
    pub(crate) fn clear(&mut self) {
        self.failed.clear();
    }

    /// Writes the number of failures into the header. Returns queue and reason if the message has failed too often.
    pub(crate) fn count(&self, key: &K, header: &mut Message) -> Option<(String, Cause)> {
        let (failures, why) = self.failed.get(key)?;
        header.backout_count = u32::try_from(*failures).unwrap_or(u32::MAX);
        (*failures >= self.attempts).then(|| (self.queue.clone(), why.clone()))
    }

    /// Returns the backout queue, and why a message that the input itself refuses moves there.
    pub(crate) fn to_backout(&self, code: Code, text: String) -> (String, Cause) {
        (self.queue.clone(), Cause { code: code.to_string(), place: self.place.clone(), text })
    }
}

/// Messages that wait for the end of their pause.
pub(crate) struct Pauses<K> {
    due: BTreeSet<(Instant, K)>,
    timer: Pin<Box<Sleep>>,
}

impl<K: Copy + Ord> Pauses<K> {
    pub(crate) fn new() -> Self {
        Pauses { due: BTreeSet::new(), timer: Box::pin(tokio::time::sleep(Duration::ZERO)) }
    }

    pub(crate) fn add(&mut self, key: K, pause: Duration) {
        self.due.insert((Instant::now() + pause, key));
    }

    /// Adds a message whose unit of work could not begin.
    pub(crate) fn add_not_begun(&mut self, key: K) {
        self.add(key, NOT_BEGUN);
    }

    /// Returns the message whose retry delay ended first. Without one, the task wakes when the next delay ends.
    pub(crate) fn ended(&mut self, context: &mut Context<'_>) -> Option<K> {
        while let Some((due, key)) = self.due.first().copied() {
            if due <= Instant::now() {
                self.due.remove(&(due, key));
                return Some(key);
            }
            self.timer.as_mut().reset(due);
            if self.timer.as_mut().poll(context).is_pending() {
                return None;
            }
        }
        None
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.due.clear();
    }
}
