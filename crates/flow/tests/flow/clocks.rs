//! Times of flows while somebody sets the clock of the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quayline_flow::{Engine, EngineOptions, Observer};
use quayline_store::queue::{GetWait, Message, Select};
use quayline_store::{Access, Clock, MemoryEngine, Store, StoreLimits, SystemClock};

use crate::support::{World, ended, until};

const HOUR_MS: i64 = 3_600_000;

/// The clock of the machine, which is wrong by some time.
#[derive(Debug, Default)]
struct Set(AtomicI64);

impl Clock for Set {
    fn now_ms(&self) -> u64 {
        SystemClock.now_ms().saturating_add_signed(self.0.load(Ordering::SeqCst))
    }

    fn random(&self) -> u64 {
        SystemClock.random()
    }
}

struct Clocked {
    world: World,
    clock: Arc<Set>,
}

impl Clocked {
    fn new() -> Clocked {
        let clock = Arc::new(Set::default());
        let shared: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
        let store = Store::open(Arc::new(MemoryEngine::new()), shared, StoreLimits::default(), Access::Write);
        Clocked { world: World::over(store.expect("a new store")), clock }
    }

    fn engine(&self, flow: &str) -> Engine {
        let clock: Arc<dyn Clock> = Arc::clone(&self.clock) as Arc<dyn Clock>;
        let observer: Arc<dyn Observer> = Arc::clone(&self.world.said) as Arc<dyn Observer>;
        let options = EngineOptions { threads: 2, ..EngineOptions::default() };
        let engine = Engine::start(&self.world.store, &clock, &observer, options).expect("threads");
        engine.deploy(self.world.compile(flow).unwrap_or_else(|findings| panic!("{findings}")));
        engine
    }

    fn set(&self, by_ms: i64) {
        self.clock.0.store(by_ms, Ordering::SeqCst);
    }
}

fn groups(timeout: &str) -> String {
    format!(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"group\"\n\
         [node.group]\ntype = \"aggregate\"\ntimeout = \"{timeout}\"\nout = \"put\"\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
    )
}

/// The time of a group ended with the clock of the machine: an hour ahead, at once; an hour back, an hour later.
#[test]
fn a_group_waits_for_its_time_however_the_clock_is_set() {
    let clocked = Clocked::new();
    let world = &clocked.world;
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let engine = clocked.engine(&groups("1500ms"));
    for (number, by_ms) in [(1, HOUR_MS), (3, -HOUR_MS), (5, 0)] {
        world.put(&input, &Message::new(format!("{number}")));
        until("the first message is in its group", || ended(&engine).0 == number);
        let began = Instant::now();
        clocked.set(by_ms);
        assert_eq!(world.get_text(&out), format!("{number}\n"));
        assert!(began.elapsed() >= Duration::from_millis(1_000), "{by_ms}: after {:?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_secs(30), "{by_ms}: after {:?}", began.elapsed());
        until("its unit of work ends", || ended(&engine).0 == number + 1);
    }
}

/// After a restart, a stored group waits at most its time limit again, even if the clock was set back in between.
#[test]
fn a_group_of_an_earlier_run_waits_at_most_its_time_again() {
    let clocked = Clocked::new();
    let world = &clocked.world;
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    clocked.set(HOUR_MS);
    let engine = clocked.engine(&groups("5s"));
    world.put(&input, &Message::new(*b"1"));
    until("the message is in its group", || ended(&engine).0 == 1);
    engine.drain();
    clocked.set(0);
    let engine = clocked.engine(&groups("1s"));
    world.put(&input, &Message::new(*b"2"));
    assert_eq!(world.get_text(&out), "1\n2\n");
    engine.drain();
    let mut unit = world.store.begin().expect("a unit");
    assert!(out.get(&mut unit, Select::First, GetWait::No).is_err(), "one group");
}

/// A clock that counts the looks at it.
#[derive(Debug, Default)]
struct Counted(AtomicU64);

impl Clock for Counted {
    fn now_ms(&self) -> u64 {
        SystemClock.now_ms()
    }

    fn steady_ms(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst);
        SystemClock.steady_ms()
    }

    fn random(&self) -> u64 {
        SystemClock.random()
    }
}

/// The end of the pause of a group that failed, and became complete before it was sent again, was due for good: the node searched a hundred times a
/// second until the next start.
#[test]
fn a_group_that_is_complete_after_it_failed_is_not_searched_for() {
    let world = World::new();
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let clock = Arc::new(Counted::default());
    let shared: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
    let observer: Arc<dyn Observer> = Arc::clone(&world.said) as Arc<dyn Observer>;
    let engine = Engine::start(&world.store, &shared, &observer, EngineOptions::default()).expect("threads");
    let text = groups("200ms")
        .replace("out = \"put\"", "count = \"2\"\nattempts = 1000\nincomplete = \"fail\"\nout = \"put\"")
        + "[node.fail]\ntype = \"throw\"\ntext = \"no\"\n";
    engine.deploy(world.compile(&text).unwrap_or_else(|findings| panic!("{findings}")));
    world.put(&input, &Message::new(*b"1"));
    // The pause is longer after each failure.
    until("it fails", || ended(&engine).1 == 3);
    world.put(&input, &Message::new(*b"2"));
    assert_eq!(world.get_text(&out), "1\n2\n");
    std::thread::sleep(Duration::from_secs(1));
    let before = clock.0.load(Ordering::SeqCst);
    std::thread::sleep(Duration::from_secs(1));
    let looks = clock.0.load(Ordering::SeqCst) - before;
    assert!(looks < 40, "{looks} looks");
}

#[test]
fn a_timer_keeps_its_pace_however_the_clock_is_set() {
    let clocked = Clocked::new();
    let out = clocked.world.queue("OUT");
    let engine = clocked.engine(
        "[node.timer]\ntype = \"timer_input\"\nevery = \"200ms\"\nout = \"put\"\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
    );
    for by_ms in [HOUR_MS, -HOUR_MS, 0] {
        clocked.set(by_ms);
        let (before, began) = (ended(&engine).0, Instant::now());
        until("three more", || ended(&engine).0 >= before + 3);
        assert!(began.elapsed() >= Duration::from_millis(390), "{by_ms}: after {:?}", began.elapsed());
    }
    drop(engine);
    assert!(out.facts().expect("facts").depth >= 9);
}
