//! Queues: messages that are put and got in units of work.
//!
//! ```text
//! space of the messages   9 - priority (1 byte), stamp (8 bytes, high byte first) ─▶ header and content
//! space of the counts     the same key                                            ─▶ rollbacks (4 bytes)
//! space of the parts      the same key, number of the part (4 bytes)              ─▶ a part of long content
//! ```
//!
//! Content of more than about 1 MB is stored in parts. Therefore operations that scan a queue, such as counting its depth, read headers only, and
//! memory contains the content of one message while a get reads it.
//!
//! A put becomes available when its unit of work commits. A get claims the message in memory, so no two units get the same one, and deletes it with
//! the unit. A rollback returns it to the queue and increments its backout count; at the threshold it moves the message to the backout queue with the
//! reason. Non-persistent messages never reach the engine.
//!
//! A get claims inside a unit of work. A server that sends messages before it learns the outcome claims first ([`Claim`]) and makes the get part
//! of a unit when the acknowledgment arrives.

mod change;
mod claim;
mod definition;
mod depth;
mod get;
mod json;
mod marks;
mod message;
mod poison;
mod put;
mod retry;
mod shared;
mod window;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Instant;

use parking_lot::{Condvar, Mutex, RwLock};

use crate::catalog::{self, Kind};
use crate::engine::Engine;
use crate::record_file::for_each;
use crate::roll_back::RollBack;
use crate::shared::{Arrival, Shared};
use crate::store::Inner;
use crate::{Space, Store, StoreError, Unit};

pub use change::QueueChange;
pub use claim::{Attempt, Claim, Claimed};
pub(crate) use definition::StoredQueue;
pub use definition::{DEAD_LETTER, QueueDefinition, QueueKind};
pub use get::{Browsed, DrainStopped};
pub use json::Content;
pub use marks::{DEPTH_EVENT, DEPTH_QUEUE};
pub(crate) use message::Head;
pub use message::{CONTENT_TYPE, Message, MessageId, OF_AMQP, PRIORITY_MAX, Persistence, USER_ID};

pub use retry::{FAILED_ON, FAILURE_CODE, FAILURE_PLACE, FAILURE_TEXT, RetryOutcome, set_cause};
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

/// Wait policy of a get.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GetWait {
    /// Do not wait.
    No,
    /// Wait at most this many milliseconds.
    AtMostMs(u64),
}

/// Counts since the store was opened, and the depth.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct QueueFacts {
    /// Messages on the queue, those that open units of work have got included.
    pub depth: u64,
    /// Messages that units of work of this process have put and that `depth` does not count yet.
    pub uncommitted: u64,
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
    /// Messages that reached the threshold and are still on the queue, because they cannot move to the backout queue.
    pub poison: u64,
    /// Times that such a message could not move.
    pub not_moved: u64,
    /// Bytes of messages that do not persist, those of open units of work included.
    pub memory_bytes: u64,
    /// Messages in memory.
    pub in_memory: u64,
    /// True if the depth rose to the high mark and has not fallen to the low mark since.
    pub is_above_mark: bool,
    /// Times that the depth rose to the high mark.
    pub depth_high_events: u64,
    /// Times that it fell to the low mark after that.
    pub depth_low_events: u64,
    /// Events that could not be put on the event queue.
    pub depth_events_lost: u64,
}

/// Action of a queue when the outcome of a unit of work is known. Runs before the commit is acknowledged, on any thread, and must not block.
pub(crate) enum QueueOutcome {
    Put(put::PutOutcome),
    Get(get::GetOutcome),
}

impl QueueOutcome {
    /// Applies the commit of the unit, which is visible now.
    pub(crate) fn committed(&mut self) {
        match self {
            QueueOutcome::Put(put) => put.committed(),
            QueueOutcome::Get(get) => get.committed(),
        }
    }

    /// Applies the rollback or failed commit of the unit.
    pub(crate) fn rolled_back(&mut self, how: &RollBack) {
        match self {
            QueueOutcome::Put(put) => put.rolled_back(),
            QueueOutcome::Get(get) => get.rolled_back(how),
        }
    }
}

/// A local queue, shared by all that have it open.
#[derive(Debug)]
pub(crate) struct QueueState {
    name: String,
    messages: Space,
    counts: Space,
    parts: Option<Space>,
    /// Changes when the queue is altered.
    definition: RwLock<Arc<QueueDefinition>>,
    state: Mutex<State>,
    arrived: Condvar,
    engine: Arc<dyn Engine>,
    /// The claims of several processes.
    shared: Option<Arc<dyn Shared>>,
    /// Gets that look for a message now.
    seeking: AtomicUsize,
}

#[derive(Debug)]
struct State {
    /// Messages of earlier openings, until they are counted.
    counting: Option<depth::Counting>,
    /// Time and duration of the last count of the depth, if several processes change it.
    counted: Option<(Instant, std::time::Duration)>,
    window: Window,
    /// Number of gets that wait for a specific message.
    choosy: usize,
    /// Wakers of tasks that found no message, with their selection; the longest-waiting task comes first.
    wakers: Vec<(Waker, Select)>,
    facts: QueueFacts,
    /// Messages that do not persist, those that units of work have got included.
    volatile: u64,
    /// Reason why a poison message could not move at its last failure.
    unmoved: Option<StoreError>,
    /// A unit of work is open that crosses a mark of the depth.
    is_crossing: bool,
    /// The queue was deleted after it was opened.
    is_deleted: bool,
    /// Lower limit of the expiry times of all messages; 0 if unknown.
    expires_ms: u64,
}

impl State {
    /// Keeps a task to wake.
    fn register(&mut self, waker: &Waker, select: Select) {
        if !self.wakers.iter().any(|(known, looks_for)| *looks_for == select && known.will_wake(waker)) {
            self.wakers.push((waker.clone(), select));
        }
    }

    /// Returns the tasks to wake for an arrived message: those that select it, and the longest-waiting one of those that accept any message. Without
    /// the message's head, all tasks that wait for a specific message are woken.
    fn wakers_of(&mut self, head: Option<&Head>) -> Vec<Waker> {
        let mut any = false;
        let wakes = |(_, select): &mut (Waker, Select)| match select {
            Select::First => !core::mem::replace(&mut any, true),
            certain => head.is_none_or(|head| certain.fits(head)),
        };
        self.wakers.extract_if(.., wakes).map(|(waker, _)| waker).collect()
    }

    /// Removes and returns all wakers.
    fn take_wakers(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.wakers).into_iter().map(|(waker, _)| waker)
    }
}

/// Outcome of a get that does not block.
#[derive(Debug)]
pub enum Polled {
    /// A message.
    Message(Box<Message>),
    /// No message matches. The task is woken when one arrives; the next message that waits for its retry is due at this time.
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
        refuse_circle(unit, &definition)?;
        let (messages, counts, parts) = match definition.kind {
            QueueKind::Local => (catalog::new_space(unit)?, catalog::new_space(unit)?, Some(catalog::new_space(unit)?)),
            QueueKind::Alias(_) | QueueKind::Topic(_) => (Space(0), Space(0), None),
        };
        let stored = StoredQueue { definition, messages, counts, parts };
        catalog::add(unit, Kind::Queue, &stored.definition.name, &stored.encode())?;
        if let Some(shared) = self.0.shared.as_ref().filter(|_| stored.definition.kind == QueueKind::Local) {
            // Marks the queue as used between its definition and its first use by this process, so that no other process treats it as unused.
            let nobody: Weak<QueueState> = Weak::new();
            shared.watch(messages, nobody)?;
        }
        Ok(())
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

    /// Returns the definition of a queue, alias or topic.
    ///
    /// # Errors
    /// [`StoreError::QueueMissing`], errors of the medium.
    pub fn queue_definition(&self, name: &str) -> Result<QueueDefinition, StoreError> {
        Ok(stored(&self.begin()?, name)?.definition)
    }

    /// Returns the spaces of a queue; `None` for an alias, a topic or a queue deleted in the meantime.
    pub(crate) fn queue_spaces(&self, unit: &Unit, name: &str) -> Result<Option<Vec<Space>>, StoreError> {
        match stored(unit, name) {
            Ok(stored) if stored.definition.kind == QueueKind::Local => Ok(Some(stored.spaces())),
            Ok(_) | Err(StoreError::QueueMissing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives a queue, alias or topic another definition. A queue keeps its messages, also those beyond new limits. Open handles of an alias or topic
    /// keep its old targets.
    ///
    /// # Errors
    /// [`StoreError::QueueMissing`], [`StoreError::BadDefinition`] if a queue would become an alias or topic, or the reverse,
    /// [`StoreError::QueueInUse`] by another process, errors of the medium.
    pub fn alter_queue(&self, definition: QueueDefinition) -> Result<(), StoreError> {
        definition.check()?;
        // Open handles get the definitions in the order of the commits.
        let _one_at_a_time = self.0.altering.lock();
        let mut unit = self.begin()?;
        // First the lock: another process may delete the queue, and clear its spaces, after the definition was read.
        catalog::lock(&mut unit, Kind::Queue, &definition.name)?;
        let old = stored(&unit, &definition.name)?;
        let is_local = |definition: &QueueDefinition| definition.kind == QueueKind::Local;
        if is_local(&old.definition) != is_local(&definition) {
            let what = "a queue with messages of its own cannot become an alias or topic, nor the reverse".to_owned();
            return Err(StoreError::BadDefinition { name: definition.name, what });
        }
        refuse_circle(&unit, &definition)?;
        let name = definition.name.clone();
        catalog::remove(&mut unit, Kind::Queue, &name)?;
        self.refuse_watched(&old)?;
        // A queue of an earlier version stores long messages in parts from now on.
        let parts = match (&definition.kind, old.parts) {
            (QueueKind::Local, None) => Some(catalog::new_space(&mut unit)?),
            _ => old.parts,
        };
        let old_messages = old.messages;
        let stored = StoredQueue { definition: definition.clone(), parts, ..old };
        catalog::add(&mut unit, Kind::Queue, &name, &stored.encode())?;
        unit.commit()?;
        let open = self.0.queues.lock().get(&name).cloned();
        // Since the commit, another thread may have deleted the queue and defined another one.
        if let Some(state) = open.filter(|state| state.messages == old_messages) {
            state.alter(definition);
        }
        Ok(())
    }

    /// Returns whether anything in this process has the queue open.
    ///
    /// A unit of work with messages of the queue counts, and so does a waiting get.
    #[must_use]
    pub fn is_queue_open(&self, name: &str) -> bool {
        self.0.queues.lock().get(name).is_some_and(|state| Arc::strong_count(state) > 1)
    }

    /// Refuses a queue that another process uses.
    fn refuse_watched(&self, stored: &StoredQueue) -> Result<(), StoreError> {
        match &self.0.shared {
            Some(shared) if stored.definition.kind == QueueKind::Local && shared.is_watched(stored.messages)? => {
                Err(StoreError::QueueInUse { queue: stored.definition.name.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Deletes a queue with all its messages. Handles of this process that are open find it missing. After a crash in the middle, the next opening of
    /// the store continues.
    ///
    /// # Errors
    /// [`StoreError::QueueMissing`], [`StoreError::QueueInUse`] by another process, errors of the medium.
    pub fn delete_queue(&self, name: &str) -> Result<(), StoreError> {
        let mut unit = self.begin()?;
        // First the lock, which another process takes before it uses the queue, or deletes and defines it again.
        catalog::lock(&mut unit, Kind::Queue, name)?;
        let stored = stored(&unit, name)?;
        catalog::remove(&mut unit, Kind::Queue, name)?;
        self.refuse_watched(&stored)?;
        let spaces = match stored.definition.kind {
            QueueKind::Local => stored.spaces(),
            QueueKind::Alias(_) | QueueKind::Topic(_) => Vec::new(),
        };
        let open = self.0.queues.lock().remove(name);
        // Before the commit: what is put afterwards would be in no queue.
        open.iter().for_each(|state| state.set_deleted(true));
        let committed = self.commit_dropping(unit, &spaces, name);
        if let (Err(_), Some(state)) = (&committed, open) {
            state.set_deleted(false);
            self.0.queues.lock().entry(name.to_owned()).or_insert(state);
        }
        let _holder = committed?;
        self.clear_spaces(&spaces)
    }
}

fn stored(unit: &Unit, name: &str) -> Result<StoredQueue, StoreError> {
    let found = catalog::find(unit, Kind::Queue, name)?;
    let value = found.ok_or_else(|| StoreError::QueueMissing { name: name.to_owned() })?;
    StoredQueue::decode(name, &value)
}

/// Refuses an alias or topic that would lead to itself through others. A name that leads nowhere yet is allowed.
fn refuse_circle(unit: &Unit, definition: &QueueDefinition) -> Result<(), StoreError> {
    let next = |definition: &QueueDefinition| match &definition.kind {
        QueueKind::Local => Vec::new(),
        QueueKind::Alias(target) => vec![target.clone()],
        QueueKind::Topic(subscribers) => subscribers.clone(),
    };
    let mut seen = BTreeSet::new();
    let mut open = next(definition);
    while let Some(name) = open.pop() {
        if name == definition.name {
            let what = "its aliases or subscribers lead back to it".to_owned();
            return Err(StoreError::BadDefinition { name, what });
        }
        if !seen.insert(name.clone()) {
            continue;
        }
        match stored(unit, &name) {
            Ok(found) => open.extend(next(&found.definition)),
            Err(StoreError::QueueMissing { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(crate) fn open(store: &Arc<Inner>, name: &str) -> Result<Queue, StoreError> {
    let mut unit = Unit::begin(store)?;
    let mut at = name.to_owned();
    for _ in 0..ALIASES_MAX {
        if let Some(state) = store.queues.lock().get(&at) {
            return Ok(Queue { targets: vec![Arc::clone(state)], name: at });
        }
        // Until it is open here, nobody deletes or alters it.
        catalog::lock(&mut unit, Kind::Queue, &at)?;
        let found = catalog::find(&unit, Kind::Queue, &at)?;
        let value = found.ok_or_else(|| StoreError::QueueMissing { name: at.clone() })?;
        let stored = StoredQueue::decode(&at, &value)?;
        match stored.definition.kind.clone() {
            QueueKind::Local => {
                let state = QueueState::load(&unit, stored)?;
                // Another thread may have inserted its state first; that one is kept.
                let state = Arc::clone(store.queues.lock().entry(at.clone()).or_insert_with(|| Arc::new(state)));
                if let Some(shared) = &state.shared {
                    let weak: Weak<QueueState> = Arc::downgrade(&state);
                    shared.watch(state.messages, weak as Weak<dyn Arrival>)?;
                }
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
    /// Reads the backout counts. Messages are counted when the depth is requested.
    fn load(unit: &Unit, stored: StoredQueue) -> Result<Self, StoreError> {
        if let Some(shared) = unit.inner().shared.clone() {
            // Counts come with the messages.
            return Ok(QueueState::new(stored, Window::default(), unit, None, Some(shared)));
        }
        let mut window = Window::unread();
        for_each(unit, stored.counts, &mut |key, value| {
            if let (Ok(key), Ok(count)) = (key.try_into(), value.try_into()) {
                window.backouts.insert(key, u32::from_le_bytes(count));
            }
            Ok(())
        })?;
        let counting = depth::Counting::from(unit.inner().next_stamp());
        Ok(QueueState::new(stored, window, unit, Some(counting), None))
    }

    fn new(
        stored: StoredQueue,
        window: Window,
        unit: &Unit,
        counting: Option<depth::Counting>,
        shared: Option<Arc<dyn Shared>>,
    ) -> Self {
        let facts = QueueFacts::default();
        let StoredQueue { definition, messages, counts, parts } = stored;
        QueueState {
            name: definition.name.clone(),
            messages,
            counts,
            parts,
            definition: RwLock::new(Arc::new(definition)),
            state: Mutex::new(State {
                counting,
                counted: None,
                window,
                choosy: 0,
                wakers: Vec::new(),
                facts,
                volatile: 0,
                unmoved: None,
                is_crossing: false,
                is_deleted: false,
                expires_ms: 0,
            }),
            arrived: Condvar::new(),
            engine: Arc::clone(&unit.inner().engine),
            shared,
            seeking: AtomicUsize::new(0),
        }
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn definition(&self) -> Arc<QueueDefinition> {
        Arc::clone(&self.definition.read())
    }

    /// Gives the open queue another definition.
    fn alter(&self, new: QueueDefinition) {
        let mut state = self.state.lock();
        let old = self.definition();
        if (old.depth_high_mark, old.depth_low_mark) != (new.depth_high_mark, new.depth_low_mark) {
            // The next message that reaches the new mark reports it.
            state.facts.is_above_mark = false;
        }
        *self.definition.write() = Arc::new(new);
        let wakers = state.take_wakers();
        drop(state);
        // Messages that could not move to the backout queue may be able to now.
        wakers.for_each(Waker::wake);
        self.arrived.notify_all();
    }

    /// Ends all use of the queue, because it is deleted, or allows it again.
    fn set_deleted(&self, is_deleted: bool) {
        let mut state = self.state.lock();
        state.is_deleted = is_deleted;
        let wakers = state.take_wakers();
        drop(state);
        wakers.for_each(Waker::wake);
        self.arrived.notify_all();
    }

    /// Refuses a queue that was deleted after it was opened.
    fn refuse_deleted(&self, state: &State) -> Result<(), StoreError> {
        if state.is_deleted { Err(StoreError::QueueMissing { name: self.name() }) } else { Ok(()) }
    }

    /// Returns the facts without counting messages that were on the queue before this process started.
    pub(crate) fn known_facts(&self) -> QueueFacts {
        let state = self.state.lock();
        QueueFacts { in_memory: state.window.len() as u64, poison: self.poison_in_memory(&state), ..state.facts }
    }

    pub(crate) fn facts(&self) -> QueueFacts {
        let mut state = self.state.lock();
        // If the medium fails, the last known depth is all there is to say.
        let _ = self.count(&mut state);
        let poison = self.poison(&state).unwrap_or_else(|_| self.poison_in_memory(&state));
        let uncommitted = state.window.uncommitted.len() as u64;
        QueueFacts { in_memory: state.window.len() as u64, uncommitted, poison, ..state.facts }
    }
}

impl Queue {
    /// Returns the name of the queue that an alias refers to, or of the topic.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the local queue. A topic is refused because it keeps no messages.
    fn local(&self) -> Result<&Arc<QueueState>, StoreError> {
        match self.targets.as_slice() {
            [state] if state.name == self.name => Ok(state),
            _ => {
                Err(StoreError::Unsupported { file: self.name.clone(), organisation: "a topic", operation: "getting" })
            }
        }
    }

    /// Returns the definition of the local queue.
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] for a topic.
    pub fn definition(&self) -> Result<Arc<QueueDefinition>, StoreError> {
        Ok(self.local()?.definition())
    }

    /// Figures.
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] for a topic.
    pub fn facts(&self) -> Result<QueueFacts, StoreError> {
        Ok(self.local()?.facts())
    }
}
