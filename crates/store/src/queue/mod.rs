//! Queues: messages that are put and got in units of work.
//!
//! ```text
//! space of the messages   9 - priority (1 byte), stamp (8 bytes, high byte first) ─▶ header and content
//! space of the counts     the same key                                            ─▶ rollbacks (4 bytes)
//! ```
//!
//! A put becomes available when its unit of work commits. A get claims the message in memory, so no two units get the same one, and deletes it with the
//! unit. A rollback gives it back, counts, and after the threshold moves it to the backout queue with the reason. Messages that do not persist
//! never reach the engine.
//!
//! A get claims inside a unit of work. A server that sends messages and learns later what became of them claims first ([`Claim`]) and makes the get a part
//! of a unit when the answer comes.

mod claim;
mod definition;
mod get;
mod message;
mod put;
mod retry;
mod window;

use std::sync::Arc;
use std::task::Waker;

use parking_lot::{Condvar, Mutex};

use crate::catalog::{self, Kind};
use crate::record_file::for_each;
use crate::store::Inner;
use crate::{Space, Store, StoreError, Unit};

pub use claim::{Attempt, Claim, Claimed};
pub(crate) use definition::StoredQueue;
pub use definition::{DEAD_LETTER, QueueDefinition, QueueKind};
pub use get::Browsed;
pub(crate) use message::Head;
pub use message::{Message, MessageId, PRIORITY_MAX, Persistence};
pub use retry::{FAILED_ON, RetryOutcome};
pub use window::Select;
pub(crate) use window::Window;

/// Aliases of aliases that a name may lead through.
const ALIASES_MAX: usize = 8;

/// An open queue or topic. Clones share it.
#[derive(Clone, Debug)]
pub struct Queue {
    targets: Vec<Arc<QueueState>>,
    name: String,
}

/// How long a get waits for a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GetWait {
    /// Not at all.
    No,
    /// At most this many milliseconds.
    AtMostMs(u64),
}

/// Counts since the store was opened, and the depth.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct QueueFacts {
    /// Messages on the queue, those that open units of work have got included.
    pub depth: u64,
    /// Greatest depth.
    pub depth_high: u64,
    /// Messages put.
    pub put: u64,
    /// Messages got.
    pub got: u64,
    /// Messages that expired.
    pub expired: u64,
    /// Rollbacks that gave a message back.
    pub backed_out: u64,
    /// Messages that moved to the backout queue.
    pub moved: u64,
    /// Messages in memory.
    pub in_memory: u64,
}

/// A local queue, shared by all that have it open.
#[derive(Debug)]
pub(crate) struct QueueState {
    stored: StoredQueue,
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug)]
struct State {
    window: Window,
    /// Gets that wait for one message and not for any.
    choosy: usize,
    /// Tasks that found nothing and wait, with what they look for, the one that waits longest first.
    wakers: Vec<(Waker, Select)>,
    facts: QueueFacts,
}

impl State {
    /// Keeps a task to wake.
    fn register(&mut self, waker: &Waker, select: Select) {
        if !self.wakers.iter().any(|(known, looks_for)| *looks_for == select && known.will_wake(waker)) {
            self.wakers.push((waker.clone(), select));
        }
    }

    /// The tasks to wake for a message that arrived: those that look for it, and of those that take any the one that waits longest. Without its head,
    /// all that look for a certain message are woken.
    fn wakers_of(&mut self, head: Option<&Head>) -> Vec<Waker> {
        let mut any = false;
        let wakes = |(_, select): &mut (Waker, Select)| match select {
            Select::First => !core::mem::replace(&mut any, true),
            certain => head.is_none_or(|head| certain.fits(head)),
        };
        self.wakers.extract_if(.., wakes).map(|(waker, _)| waker).collect()
    }

    /// All that wait.
    fn take_wakers(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.wakers).into_iter().map(|(waker, _)| waker)
    }
}

/// What a get that does not wait found.
#[derive(Debug)]
pub enum Polled {
    /// A message.
    Message(Box<Message>),
    /// None fits. The task is woken when one arrives; the next message that waits for its retry is due at this time.
    Nothing {
        /// Milliseconds since 1970.
        due_ms: Option<u64>,
    },
}

impl Store {
    /// Defines a queue, alias or topic as a part of a unit of work.
    ///
    /// # Errors
    /// [`StoreError::BadDefinition`], [`StoreError::Exists`].
    pub fn define_queue(&self, unit: &mut Unit, definition: QueueDefinition) -> Result<(), StoreError> {
        definition.check()?;
        let (messages, counts) = match definition.kind {
            QueueKind::Local => (catalog::new_space(unit)?, catalog::new_space(unit)?),
            QueueKind::Alias(_) | QueueKind::Topic(_) => (Space(0), Space(0)),
        };
        let stored = StoredQueue { definition, messages, counts };
        catalog::add(unit, Kind::Queue, &stored.definition.name, &stored.encode())
    }

    /// Opens a queue, alias or topic that is committed.
    ///
    /// # Errors
    /// [`StoreError::QueueMissing`], [`StoreError::BadDefinition`] for aliases that lead in a circle.
    pub fn queue(&self, name: &str) -> Result<Queue, StoreError> {
        open(&self.0, name)
    }

    /// Names of all queues, aliases and topics, ascending.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn queues(&self, unit: &Unit) -> Result<Vec<String>, StoreError> {
        catalog::names(unit, Kind::Queue)
    }

    /// Deletes a queue with all its messages.
    ///
    /// # Errors
    /// [`StoreError::QueueMissing`], errors of the medium.
    pub fn delete_queue(&self, name: &str) -> Result<(), StoreError> {
        let mut unit = self.begin()?;
        let found = catalog::find(&unit, Kind::Queue, name)?;
        let value = found.ok_or_else(|| StoreError::QueueMissing { name: name.to_owned() })?;
        let stored = StoredQueue::decode(name, &value)?;
        catalog::remove(&mut unit, Kind::Queue, name)?;
        unit.commit()?;
        self.0.queues.lock().remove(name);
        if stored.definition.kind == QueueKind::Local {
            self.clear_space(stored.messages)?;
            self.clear_space(stored.counts)?;
        }
        Ok(())
    }
}

pub(crate) fn open(store: &Arc<Inner>, name: &str) -> Result<Queue, StoreError> {
    let unit = Unit::begin(store)?;
    let mut at = name.to_owned();
    for _ in 0..ALIASES_MAX {
        if let Some(state) = store.queues.lock().get(&at) {
            return Ok(Queue { targets: vec![Arc::clone(state)], name: at });
        }
        let found = catalog::find(&unit, Kind::Queue, &at)?;
        let value = found.ok_or_else(|| StoreError::QueueMissing { name: at.clone() })?;
        let stored = StoredQueue::decode(&at, &value)?;
        match stored.definition.kind.clone() {
            QueueKind::Local => {
                let state = QueueState::load(&unit, stored)?;
                // Another thread may have been quicker; its state is the one that counts.
                let state = Arc::clone(store.queues.lock().entry(at.clone()).or_insert_with(|| Arc::new(state)));
                return Ok(Queue { targets: vec![state], name: at });
            }
            QueueKind::Alias(target) => at = target,
            QueueKind::Topic(subscribers) => {
                let mut targets = Vec::new();
                for subscriber in &subscribers {
                    targets.extend(open(store, subscriber)?.targets);
                }
                return Ok(Queue { targets, name: at });
            }
        }
    }
    let what = format!("its aliases lead through more than {ALIASES_MAX} names");
    Err(StoreError::BadDefinition { name: name.to_owned(), what })
}

impl QueueState {
    /// Counts the messages and reads the backout counts.
    fn load(unit: &Unit, stored: StoredQueue) -> Result<Self, StoreError> {
        let mut window = Window::unread();
        for_each(unit, stored.counts, &mut |key, value| {
            if let (Ok(key), Ok(count)) = (key.try_into(), value.try_into()) {
                window.backouts.insert(key, u32::from_le_bytes(count));
            }
            Ok(())
        })?;
        let depth = for_each(unit, stored.messages, &mut |_, _| Ok(()))?;
        let facts = QueueFacts { depth, depth_high: depth, ..QueueFacts::default() };
        Ok(QueueState {
            stored,
            state: Mutex::new(State { window, choosy: 0, wakers: Vec::new(), facts }),
            arrived: Condvar::new(),
        })
    }

    fn name(&self) -> String {
        self.stored.definition.name.clone()
    }

    pub(crate) fn facts(&self) -> QueueFacts {
        let state = self.state.lock();
        QueueFacts { in_memory: state.window.len() as u64, ..state.facts }
    }
}

impl Queue {
    /// Name of the queue that an alias stands for, or of the topic.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The local queue; a topic has no messages of its own.
    fn local(&self) -> Result<&Arc<QueueState>, StoreError> {
        match self.targets.as_slice() {
            [state] if state.stored.definition.name == self.name => Ok(state),
            _ => {
                Err(StoreError::Unsupported { file: self.name.clone(), organisation: "a topic", operation: "getting" })
            }
        }
    }

    /// The definition of the local queue.
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] for a topic.
    pub fn definition(&self) -> Result<&QueueDefinition, StoreError> {
        Ok(&self.local()?.stored.definition)
    }

    /// Figures.
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] for a topic.
    pub fn facts(&self) -> Result<QueueFacts, StoreError> {
        Ok(self.local()?.facts())
    }
}
