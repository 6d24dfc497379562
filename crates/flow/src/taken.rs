//! Messages that an input has received from a server: those that wait for processing, and those that Quayline processes again after a failure.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;

use quayline_project::FlowNode;
use quayline_store::Unit;
use quayline_store::queue::{DEAD_LETTER, Message};
use tokio::time::{Instant, Sleep};

/// First and longest pause before a message that failed is processed again.
const AGAIN_MS: (u64, u64) = (100, 10_000);
/// Number of failures after which a message moves to the backout queue, unless the node sets `attempts`.
const ATTEMPTS: u64 = 3;
/// Pause for a message whose unit of work could not begin. This does not count as a failure of the message.
pub(crate) const NOT_BEGUN: Duration = Duration::from_millis(AGAIN_MS.0);

/// Outcome of the unit of work of a message. An error has the reason, or `None` if the rollback was not a failure of the message.
pub(crate) type Outcome = Result<(), Option<String>>;

/// A message that is processed now.
pub(crate) struct Taken {
    pub(crate) unit: Unit,
    pub(crate) header: Message,
    pub(crate) content: Rc<[u8]>,
    /// Queue that it moves to instead, and why.
    pub(crate) backout: Option<(String, String)>,
}

/// Failures of messages that Quayline processes again. The key is the number or place that identifies a message.
pub(crate) struct Failures<K> {
    /// Number of failures of each message, and the reason of the last one.
    failed: HashMap<K, (u64, String)>,
    attempts: u64,
    queue: String,
}

impl<K: Eq + Hash> Failures<K> {
    /// Returns an empty set of failures, with the properties `attempts` and `backout` of the node.
    pub(crate) fn new(node: &FlowNode) -> Self {
        Failures {
            failed: HashMap::new(),
            attempts: node.number("attempts").unwrap_or(ATTEMPTS),
            queue: node.text("backout").unwrap_or(DEAD_LETTER).to_owned(),
        }
    }

    /// Adds a failure and returns the pause before the message is processed again. Without a reason the rollback was not a failure of the message.
    pub(crate) fn add(&mut self, key: K, why: Option<String>) -> Duration {
        let Some(why) = why else { return Duration::from_millis(AGAIN_MS.0) };
        let (failures, reason) = self.failed.entry(key).or_default();
        *failures += 1;
        *reason = why;
        let doubled = AGAIN_MS.0.saturating_mul(1 << failures.saturating_sub(1).min(16));
        Duration::from_millis(doubled.min(AGAIN_MS.1))
    }

    /// Forgets the failures of a message that has had its effect.
    pub(crate) fn forget(&mut self, key: &K) {
        self.failed.remove(key);
    }

    /// Writes the number of failures into the header. Returns queue and reason if the message has failed too often.
    pub(crate) fn count(&self, key: &K, header: &mut Message) -> Option<(String, String)> {
        let (failures, why) = self.failed.get(key)?;
        header.backout_count = u32::try_from(*failures).unwrap_or(u32::MAX);
        (*failures >= self.attempts).then(|| self.to_backout(why.clone()))
    }

    /// Returns the backout queue and a reason.
    pub(crate) fn to_backout(&self, why: String) -> (String, String) {
        (self.queue.clone(), why)
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
