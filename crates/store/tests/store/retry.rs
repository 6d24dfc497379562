//! Number of bytes that a retry of failed messages reads, and the queue to which each message returns.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use quayline_store::queue::{
    FAILED_ON, GetWait, Message, Persistence, Polled, Queue, QueueDefinition, QueueKind, RetryOutcome, Select,
};
use quayline_store::{
    Access, Batch, Completion, Direction, Engine, EngineFacts, FullKey, KeyRange, LoadSource, ManualClock,
    MemoryEngine, Page, PageLimit, Position, Snapshot, Space, Store, StoreError, StoreLimits, Value,
};

/// Counts the bytes of the pages that are read, and can do something else after the catalog was read.
#[derive(Default)]
pub(crate) struct Counting {
    engine: MemoryEngine,
    bytes: AtomicUsize,
    pub(crate) after_catalog: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// Runs after the next read of a single entry.
    pub(crate) after_get: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Counting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counting").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl Engine for Counting {
    fn get(&self, key: &FullKey) -> Result<Option<Value>, StoreError> {
        let read = self.engine.get(key);
        let hook = self.after_get.lock().expect("no panic").take();
        if let Some(hook) = hook {
            hook();
        }
        read
    }

    fn page(
        &self,
        space: Space,
        range: KeyRange<'_>,
        direction: Direction,
        limit: PageLimit,
        page: &mut Page,
    ) -> Result<(), StoreError> {
        let read = self.engine.page(space, range, direction, limit, page);
        self.bytes.fetch_add(page.byte_len(), Ordering::Relaxed);
        let hook = if space == Space::CATALOG { self.after_catalog.lock().expect("no panic").take() } else { None };
        if let Some(hook) = hook {
            hook();
        }
        read
    }

    fn commit(&self, batch: Batch, after: Completion) -> Result<Position, StoreError> {
        self.engine.commit(batch, after)
    }

    fn submit(&self, batch: Batch, after: Completion) {
        self.engine.submit(batch, after);
    }

    fn load(&self, space: Space, source: &mut LoadSource<'_>) -> Result<u64, StoreError> {
        self.engine.load(space, source)
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.engine.snapshot()
    }

    fn position(&self) -> Position {
        self.engine.position()
    }

    fn wait(&self, position: Position) -> Result<(), StoreError> {
        self.engine.wait(position)
    }

    fn facts(&self) -> EngineFacts {
        self.engine.facts()
    }

    fn check(&self) -> Result<Vec<StoreError>, StoreError> {
        self.engine.check()
    }

    fn compact(&self) -> Result<(u64, u64), StoreError> {
        self.engine.compact()
    }
}

pub(crate) fn opened() -> (Store, Arc<Counting>) {
    let engine: Arc<Counting> = Arc::default();
    let shared: Arc<Counting> = Arc::clone(&engine);
    let clock = Arc::new(ManualClock::new(1_000_000, 1));
    (Store::open(shared, clock, StoreLimits::default(), Access::Write).expect("a new store"), engine)
}

fn define(store: &Store, definitions: impl IntoIterator<Item = QueueDefinition>) {
    let mut unit = store.begin().expect("a unit");
    for definition in definitions {
        store.define_queue(&mut unit, definition).expect("defined");
    }
    unit.commit().expect("committed");
}

fn put(store: &Store, name: &str, message: &Message) {
    let mut unit = store.begin().expect("a unit");
    store.queue(name).expect("opened").put(&mut unit, message).expect("put");
    unit.commit().expect("committed");
}

/// A retry of one message read two hundred whole messages first: with messages of 100 MB, 20 GB.
#[test]
fn a_retry_of_one_message_reads_few_of_a_queue_of_long_ones() {
    let (store, engine) = opened();
    define(&store, ["FROM", "DEAD.LETTER"].map(QueueDefinition::local));
    let failed =
        Message { properties: vec![(FAILED_ON.to_owned(), b"FROM".to_vec())], ..Message::new(vec![7; 1 << 20]) };
    for _ in 0..80 {
        put(&store, "DEAD.LETTER", &failed);
    }
    let dead = store.queue("DEAD.LETTER").expect("opened");
    let before = engine.bytes.load(Ordering::Relaxed);
    assert_eq!(dead.retry(&store, 1).expect("returned"), RetryOutcome { returned: 1, left: 0 });
    let read = engine.bytes.load(Ordering::Relaxed) - before;
    assert!(read < 20 << 20, "{read} bytes");
    assert_eq!(dead.retry(&store, u64::MAX).expect("returned"), RetryOutcome { returned: 79, left: 0 });
}

/// Creates a store whose queue DEAD.LETTER has a message of each subscriber of a topic, with the same id, in the order in which they failed.
fn with_two_failures(order: [&str; 2]) -> Store {
    let (store, _) = opened();
    let poison = |name: &str| QueueDefinition { backout_threshold: 1, ..QueueDefinition::local(name) };
    let topic =
        QueueDefinition { kind: QueueKind::Topic(vec!["A".into(), "B".into()]), ..QueueDefinition::local("NEWS") };
    define(&store, [poison("A"), poison("B"), QueueDefinition::local("DEAD.LETTER"), topic]);
    put(&store, "NEWS", &Message::new(*b"news"));
    for name in order {
        let mut unit = store.begin().expect("a unit");
        store.queue(name).expect("opened").get(&mut unit, Select::First, GetWait::No).expect("there");
        unit.roll_back();
    }
    store
}

/// The queue was that of the message that was seen, and the message that of its id: two subscribers of a topic got each other's messages.
#[test]
fn messages_of_one_id_return_to_their_own_queues() {
    let store = with_two_failures(["B", "A"]);
    let dead = store.queue("DEAD.LETTER").expect("opened");
    assert_eq!(dead.retry(&store, u64::MAX).expect("returned"), RetryOutcome { returned: 2, left: 0 });
    let depths = ["A", "B"].map(|name| store.queue(name).and_then(|queue| queue.facts()).expect("counted").depth);
    assert_eq!(depths, [1, 1]);
}

/// The message of a queue that is gone hid those after it that have its id.
#[test]
fn a_message_whose_queue_is_gone_hides_no_other_of_its_id() {
    let store = with_two_failures(["A", "B"]);
    ["NEWS", "A"].iter().for_each(|name| store.delete_queue(name).expect("deleted"));
    let dead = store.queue("DEAD.LETTER").expect("opened");
    assert_eq!(dead.retry(&store, u64::MAX).expect("returned"), RetryOutcome { returned: 1, left: 1 });
    let depth = |name: &str| store.queue(name).and_then(|queue| queue.facts()).expect("counted").depth;
    assert_eq!((depth("B"), depth("DEAD.LETTER")), (1, 1));
    // The one that was left did not fail again.
    let unit = store.begin().expect("a unit");
    let left = dead.browse(&unit, None, 9).expect("readable");
    assert_eq!((left.len(), left[0].message.backout_count), (1, 0));
}

/// An expired message left its backout count in the store, and a later opening reported it as poison.
#[test]
fn an_expired_message_leaves_no_backout_count() {
    let engine: Arc<Counting> = Arc::default();
    let clock = Arc::new(ManualClock::new(1_000_000, 1));
    let open = || {
        let shared: Arc<Counting> = Arc::clone(&engine);
        let clock: Arc<ManualClock> = Arc::clone(&clock);
        Store::open(shared, clock, StoreLimits::default(), Access::Write).expect("a store")
    };
    let store = open();
    let poison =
        QueueDefinition { backout_threshold: 1, backout_queue: "NOWHERE".into(), ..QueueDefinition::local("A") };
    define(&store, [poison]);
    put(&store, "A", &Message { expires_ms: 1_001_000, ..Message::new(*b"news") });
    let mut unit = store.begin().expect("a unit");
    store.queue("A").expect("opened").get(&mut unit, Select::First, GetWait::No).expect("there");
    unit.roll_back();
    assert_eq!(store.queue("A").and_then(|queue| queue.facts()).expect("counted").poison, 1);
    clock.set(9_000_000);
    let mut unit = store.begin().expect("a unit");
    assert!(store.queue("A").expect("opened").get(&mut unit, Select::First, GetWait::No).is_err(), "it has expired");
    unit.roll_back();
    drop(store);
    let facts = open().queue("A").and_then(|queue| queue.facts()).expect("counted");
    assert_eq!((facts.depth, facts.poison), (0, 0));
}

/// A retry or move is not a failed attempt, so a full queue does not increment the backout counts.
#[test]
fn a_full_queue_counts_no_rollback_of_a_retry_or_a_move() {
    let (store, _) = opened();
    let full = QueueDefinition { depth_max: 1, ..QueueDefinition::local("FROM") };
    define(&store, [full, QueueDefinition::local("DEAD.LETTER")]);
    put(&store, "FROM", &Message::new(*b"there"));
    let failed = Message { properties: vec![(FAILED_ON.to_owned(), b"FROM".to_vec())], ..Message::new(*b"failed") };
    put(&store, "DEAD.LETTER", &failed);
    let (from, dead) = (store.queue("FROM").expect("opened"), store.queue("DEAD.LETTER").expect("opened"));
    for _ in 0..5 {
        assert!(matches!(dead.retry(&store, 1), Err(StoreError::QueueFull { .. })));
        let stopped = dead.move_to(&store, &from, 1).expect_err("it is full");
        assert!(matches!(stopped.error, StoreError::QueueFull { .. }) && stopped.done == 0);
    }
    let unit = store.begin().expect("a unit");
    let left = dead.browse(&unit, None, 9).expect("readable");
    assert_eq!((left.len(), left[0].message.backout_count), (1, 0));
}

/// Returns the time at which a message that fits may come.
fn due(store: &Store, queue: &Queue, select: Select) -> Option<u64> {
    let mut unit = store.begin().expect("a unit");
    match queue.poll_get(&mut unit, select, Waker::noop()).expect("polled") {
        Polled::Nothing { due_ms } => due_ms,
        Polled::Message(message) => panic!("{message:?}"),
    }
}

/// The next retry of any message was that of each message that is searched by its id, so that a reader took one that had left the queue for one that waits.
#[test]
fn the_retry_of_another_message_is_not_that_of_a_message_that_is_gone() {
    let (store, _) = opened();
    define(&store, [QueueDefinition { retry_ms: 600_000, retry_ms_max: 600_000, ..QueueDefinition::local("Q") }]);
    let queue = store.queue("Q").expect("opened");
    let (paused, gone) = (store.new_message_id(), store.new_message_id());
    for persistence in [Persistence::Persistent, Persistence::NotPersistent] {
        put(&store, "Q", &Message { id: paused, persistence, ..Message::new(*b"paused") });
        let mut unit = store.begin().expect("a unit");
        queue.get(&mut unit, Select::First, GetWait::No).expect("got");
        unit.roll_back();
        let due = |queue: &Queue, select| due(&store, queue, select);
        assert!(due(&queue, Select::First).is_some() && due(&queue, Select::Id(paused)).is_some(), "{persistence:?}");
        assert_eq!(due(&queue, Select::Id(gone)), None, "{persistence:?}");
        queue.end_pauses().expect("ended");
        let mut unit = store.begin().expect("a unit");
        queue.get(&mut unit, Select::Id(paused), GetWait::No).expect("due");
        assert_eq!(due(&queue, Select::Id(paused)), None, "{persistence:?}");
        unit.commit().expect("committed");
    }
}

fn news(store: &Store) -> Queue {
    let topic =
        QueueDefinition { kind: QueueKind::Topic(vec!["A".into(), "B".into()]), ..QueueDefinition::local("NEWS") };
    define(store, [QueueDefinition::local("A"), QueueDefinition::local("B"), topic]);
    store.queue("NEWS").expect("opened")
}

/// Each message that the move got came back to the queue, so the move had no end.
#[test]
fn a_queue_does_not_move_its_messages_to_a_topic_to_which_it_subscribes() {
    let (store, _) = opened();
    let topic = news(&store);
    put(&store, "A", &Message::new(*b"one"));
    let queue = store.queue("A").expect("opened");
    for (other, text) in [(&topic, "NEWS is a topic"), (&queue, "A is the same queue")] {
        // Without the refusal, a limit ends the move.
        let stopped = queue.move_to(&store, other, 1_000).expect_err("refused");
        assert_eq!(stopped.done, 0);
        assert!(stopped.error.to_string().starts_with(text), "{}", stopped.error);
        assert_eq!(stopped.error.finding().hint.as_deref(), Some("name another queue"));
    }
    assert_eq!(queue.facts().expect("facts").depth, 1);
    define(&store, [QueueDefinition::local("OTHER")]);
    put(&store, "OTHER", &Message::new(*b"two"));
    assert_eq!(store.queue("OTHER").expect("opened").move_to(&store, &topic, 1_000).expect("moved"), 1);
    assert_eq!(queue.facts().expect("facts").depth, 2);
}

/// The message stayed on the first queues of the topic, and a caller that handled the failure committed it.
#[test]
fn a_topic_puts_a_message_on_all_queues_or_on_none() {
    let limits = StoreLimits { unit_bytes_max: 10_000, ..StoreLimits::default() };
    let clock = Arc::new(ManualClock::new(1_000_000, 1));
    let store = Store::open(Arc::new(MemoryEngine::new()), clock, limits, Access::Write).expect("a new store");
    let topic = news(&store);
    let depth = |name: &str| store.queue(name).expect("opened").facts().expect("facts").depth;
    let mut unit = store.begin().expect("a unit");
    store.queue("A").expect("opened").put(&mut unit, &Message::new([7; 100])).expect("put");
    // There is room for one of the two.
    topic.put(&mut unit, &Message::new([7; 7_000])).expect_err("refused");
    store.queue("B").expect("opened").put(&mut unit, &Message::new([7; 7_000])).expect("there is room again");
    unit.commit().expect("committed");
    assert_eq!((depth("A"), depth("B")), (1, 1));
    put(&store, "NEWS", &Message::new(*b"news"));
    assert_eq!((depth("A"), depth("B")), (2, 2));
}
