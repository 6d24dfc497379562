//! Power cuts: every acknowledged unit of work is there and whole, none is there in part.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quayline_store::{Batch, Change, Engine, FullKey, StoreError};
use quayline_store_embedded::fake::{Chance, FakeDisk, Trouble};
use quayline_store_embedded::{Durability, EmbeddedEngine, Settings, Work};

use crate::support::{SPACES, State, count_of, open, small, state};

/// State of a random history, and the states allowed after a crash.
struct History {
    chance: Chance,
    /// States that an image may show: the last acknowledged one, and one more for each group in progress.
    allowed: Vec<State>,
    next_fresh: u64,
    fresh: BTreeSet<Vec<u8>>,
    compactions: u64,
}

impl History {
    fn new(seed: u64) -> Self {
        History {
            chance: Chance(seed),
            allowed: vec![State::new()],
            next_fresh: 0,
            fresh: BTreeSet::new(),
            compactions: 0,
        }
    }

    /// A random unit of work, entered into the state that follows the last one.
    fn unit(&mut self, state: &mut State) -> Batch {
        let mut batch = Batch::new();
        for _ in 0..1 + self.chance.below(4) {
            let space = SPACES[self.chance.index(SPACES.len())];
            let longest = if self.chance.below(8) == 0 { 3000 } else { 120 };
            let length = self.chance.index(longest);
            let value = vec![u8::try_from(self.chance.below(256)).expect("a small number of this test"); length];
            let (key, change) = match self.chance.below(5) {
                0 | 1 => (self.chance.below(40).to_be_bytes().to_vec(), Change::Put(value.clone().into())),
                2 => (self.chance.below(40).to_be_bytes().to_vec(), Change::Delete),
                3 => {
                    self.next_fresh += 1;
                    let key = [b"fresh".as_slice(), &self.next_fresh.to_be_bytes()].concat();
                    self.fresh.insert(key.clone());
                    (key, Change::Fresh(value.clone().into()))
                }
                _ => match self.fresh.pop_first() {
                    Some(key) => (key, Change::Delete),
                    None => continue,
                },
            };
            // A fresh key lives in one space only.
            let space = if key.starts_with(b"fresh") { SPACES[0] } else { space };
            let full = FullKey::new(space, &key);
            if batch.iter().any(|(other, _)| *other == full) {
                continue;
            }
            match &change {
                Change::Delete => state.remove(&(space, key)),
                _ => state.insert((space, key), value),
            };
            batch.push((full, change));
        }
        batch
    }

    /// One group of random units, and now and then an apply or a compaction. An error is the power cut.
    fn step(&mut self, engine: &EmbeddedEngine, durability: Durability) -> Result<(), StoreError> {
        let mut next = self.allowed.last().expect("never empty").clone();
        // A group none of whose units asks for a sync.
        let is_written = self.chance.below(3) == 0;
        for _ in 0..1 + self.chance.below(4) {
            let batch = self.unit(&mut next);
            if is_written {
                engine.submit_written(batch, Box::new(|_| ()));
            } else {
                engine.submit(batch, Box::new(|_| ()));
            }
        }
        self.allowed.push(next);
        engine.flush()?;
        match durability {
            Durability::Sync if !is_written => self.acknowledged(),
            _ if self.chance.below(6) == 0 => {
                engine.wait(engine.position())?;
                self.acknowledged();
            }
            _ => {}
        }
        if self.chance.below(5) == 0 {
            engine.apply()?;
            self.acknowledged();
        }
        if self.chance.below(25) == 0 {
            engine.compact()?;
            self.acknowledged();
            self.compactions += 1;
        }
        Ok(())
    }

    fn acknowledged(&mut self) {
        let last = self.allowed.pop().expect("never empty");
        self.allowed = vec![last];
    }

    /// Continues the history from the state of an opened image.
    fn resume(&mut self, found: State, what: &str) {
        assert!(
            self.allowed.contains(&found),
            "{what}: {} entries, allowed {:?}",
            found.len(),
            self.allowed.iter().map(State::len).collect::<Vec<_>>()
        );
        self.fresh = found.keys().filter(|(_, key)| key.starts_with(b"fresh")).map(|(_, key)| key.clone()).collect();
        self.allowed = vec![found];
    }
}

#[derive(Default)]
struct Seen {
    images: u64,
    cuts_inside_recovery: u64,
}

/// Runs histories over a disk that is cut at random steps, opens each image and continues there.
fn run(seed: u64, images: u64, settings: Settings) -> Seen {
    let mut seen = Seen::default();
    let mut disk = FakeDisk::new(seed);
    let mut history = History::new(seed);
    while seen.images < images {
        if seen.images % 40 == 0 {
            (disk, history) = (FakeDisk::new(seed + seen.images), History::new(seed + seen.images));
        }
        let far = if history.chance.below(4) == 0 { 12 } else { 200 };
        disk.set_trouble(Trouble { cut_in: Some(history.chance.below(far)), ..Trouble::default() });
        let what = format!("seed {seed}, image {}", seen.images);
        match open(&disk, settings, seed + seen.images) {
            Err(error) => {
                assert!(disk.is_off(), "{what}: recovery refused a mere power cut: {error}");
                seen.cuts_inside_recovery += 1;
            }
            Ok(engine) => match state(&engine) {
                Ok(found) => {
                    history.resume(found, &what);
                    while history.step(&engine, settings.durability).is_ok() {}
                    assert!(disk.is_off(), "{what}: a commit failed without a power cut");
                }
                Err(error) => assert!(disk.is_off(), "{what}: {error}"),
            },
        }
        disk = disk.after_power_cut();
        seen.images += 1;
    }
    seen
}

#[test]
fn every_image_of_a_power_cut_holds_what_was_acknowledged() {
    let images = count_of("QUAYLINE_CRASH_IMAGES", 10_000) / 2;
    let halves: Vec<_> =
        (0..2).map(|half| std::thread::spawn(move || run(1 + half * 1_000_003, images, small()))).collect();
    for half in halves {
        let seen = half.join().expect("a history failed");
        assert!(seen.cuts_inside_recovery * 20 > seen.images, "cuts inside recovery are tried too");
    }
}

#[test]
fn a_buffered_store_loses_only_the_last_units_and_keeps_order() {
    let images = count_of("QUAYLINE_CRASH_IMAGES", 10_000) / 10;
    run(77, images, Settings { durability: Durability::Buffered, ..small() });
}

/// One worker of the test below: two keys in two spaces, always changed together to the same number.
fn worker(engine: &EmbeddedEngine, me: u64, acknowledged: &AtomicU64, tried: &AtomicU64) {
    for number in acknowledged.load(Ordering::SeqCst) + 1.. {
        tried.store(number, Ordering::SeqCst);
        let value: Arc<[u8]> = number.to_le_bytes().as_slice().into();
        let key = |space| FullKey::new(space, &me.to_be_bytes());
        let batch = vec![(key(SPACES[0]), Change::Put(Arc::clone(&value))), (key(SPACES[1]), Change::Put(value))];
        if engine.commit(batch, Box::new(|_| ())).is_err() {
            return;
        }
        acknowledged.store(number, Ordering::SeqCst);
    }
}

#[test]
fn threads_with_an_applier_beside_them_lose_nothing_at_a_power_cut() {
    const WORKERS: usize = 5;
    let settings = Settings { work: Work::Background, apply_interval_ms: 1, apply_batch_changes_max: 2, ..small() };
    let mut chance = Chance(5);
    let mut disk = FakeDisk::new(9);
    let acknowledged: Vec<AtomicU64> = (0..WORKERS).map(|_| AtomicU64::new(0)).collect();
    let tried: Vec<AtomicU64> = (0..WORKERS).map(|_| AtomicU64::new(0)).collect();
    for image in 0..count_of("QUAYLINE_CRASH_IMAGES", 10_000) / 50 {
        disk.set_trouble(Trouble { cut_in: Some(30 + chance.below(700)), ..Trouble::default() });
        if let Ok(engine) = open(&disk, settings, image) {
            std::thread::scope(|scope| {
                for (me, (acknowledged, tried)) in (0..).zip(acknowledged.iter().zip(&tried)) {
                    let engine = &engine;
                    scope.spawn(move || worker(engine, me, acknowledged, tried));
                }
            });
        }
        assert!(disk.is_off(), "only the power cut ends a run");
        disk = disk.after_power_cut();
        let engine = open(&disk, small(), image).expect("an image opens");
        for (me, (acknowledged, tried)) in (0u64..).zip(acknowledged.iter().zip(&tried)) {
            let read = |space| {
                let value = engine.get(&FullKey::new(space, &me.to_be_bytes())).expect("readable");
                value.map_or(0, |value| u64::from_le_bytes(value.as_ref().try_into().expect("8 bytes")))
            };
            let (one, other) = (read(SPACES[0]), read(SPACES[1]));
            assert_eq!(one, other, "image {image}: a unit is there in part");
            let (low, high) = (acknowledged.load(Ordering::SeqCst), tried.load(Ordering::SeqCst));
            assert!((low..=high).contains(&one), "image {image}: {one} is not in {low}..={high}");
            acknowledged.store(one, Ordering::SeqCst);
        }
        drop(engine);
        disk = disk.after_power_cut();
    }
}
