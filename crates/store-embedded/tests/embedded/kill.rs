//! Kill -9 with many units of work open.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use quayline_store::queue::{GetWait, Message, QueueDefinition, Select};
use quayline_store::{Access, Clock, LockWait, Space, Store, StoreLimits, SystemClock};
use quayline_store_embedded::fake::Chance;
use quayline_store_embedded::{EmbeddedEngine, Folder, Settings};

use crate::support::count_of;

const FOLDER: &str = "QUAYLINE_KILL_FOLDER";
const OPEN_UNITS: &str = "QUAYLINE_KILL_OPEN_UNITS";
const WORKERS: u64 = 8;
/// Messages on the queue, of which open units get up to 500.
const MESSAGES: u64 = 600;

fn open_store(folder: &Path) -> Store {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let settings = Settings { apply_interval_ms: 20, segment_bytes: 256 << 10, ..Settings::default() };
    let medium = Arc::new(Folder::create(folder).expect("a folder"));
    let engine = EmbeddedEngine::open(medium, &clock, settings).expect("the store opens");
    // The content of a message is its number in three parts.
    let limits = StoreLimits { message_part_bytes: 3, ..StoreLimits::default() };
    Store::open(Arc::new(engine), clock, limits, Access::Write).expect("the store opens")
}

/// The process that is killed: workers count up and print each number after its commit; other units of work stay open.
#[test]
fn killed_child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let store = open_store(Path::new(&folder));
    let mut open = Vec::new();
    let queue = store.queue("Q").expect("the queue of the parent");
    for number in 0..count_of(OPEN_UNITS, 1) {
        let mut unit = store.begin().expect("a unit");
        unit.put(Space(20), &number.to_be_bytes(), b"never committed".as_slice()).expect("a change");
        let message = queue.get(&mut unit, Select::First, GetWait::No).expect("a message for each unit");
        queue.put(&mut unit, &message).expect("put");
        open.push(unit);
    }
    std::thread::scope(|scope| {
        for me in 0..WORKERS {
            let store = &store;
            scope.spawn(move || {
                loop {
                    let mut unit = store.begin().expect("a unit");
                    let last = unit.read_for_update(Space(16), &me.to_be_bytes(), LockWait::Default).expect("readable");
                    let next =
                        last.map_or(1, |value| u64::from_le_bytes(value.as_ref().try_into().expect("8 bytes")) + 1);
                    for space in [Space(16), Space(17)] {
                        unit.put(space, &me.to_be_bytes(), next.to_le_bytes().as_slice()).expect("a change");
                    }
                    unit.commit().expect("a commit");
                    // One write a line, so that the parent never reads a part of a number.
                    let _ = std::io::stdout().write_all(format!("\nacknowledged {me} {next}\n").as_bytes());
                }
            });
        }
    });
}

#[test]
fn kill_9_loses_nothing_acknowledged_whatever_units_are_open() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("store");
    let mut chance = Chance(3);
    let mut floor: BTreeMap<u64, u64> = BTreeMap::new();
    {
        let store = open_store(&folder);
        let mut unit = store.begin().expect("a unit");
        let definition = QueueDefinition { backout_threshold: 0, ..QueueDefinition::local("Q") };
        store.define_queue(&mut unit, definition).expect("defined");
        unit.commit().expect("committed");
        let queue = store.queue("Q").expect("opened");
        let mut unit = store.begin().expect("a unit");
        for number in 0..MESSAGES {
            queue.put(&mut unit, &Message::new(number.to_be_bytes())).expect("put");
        }
        unit.commit().expect("committed");
    }
    for round in 0..count_of("QUAYLINE_KILLS", 6) {
        let open_units: u64 = [1, 50, 500][usize::try_from(round % 3).expect("a small number of this test")];
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "kill::killed_child", "--nocapture", "--test-threads=1"])
            .env(FOLDER, &folder)
            .env(OPEN_UNITS, open_units.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let reader = std::thread::spawn(move || {
            let mut acknowledged: BTreeMap<u64, u64> = BTreeMap::new();
            for line in output.lines().map_while(Result::ok) {
                let mut words = line.split(' ').skip_while(|word| *word != "acknowledged").skip(1);
                if let (Some(me), Some(number)) = (words.next(), words.next())
                    && let (Ok(me), Ok(number)) = (me.parse(), number.parse::<u64>())
                {
                    let last = acknowledged.entry(me).or_default();
                    *last = (*last).max(number);
                }
            }
            acknowledged
        });
        std::thread::sleep(Duration::from_millis(150 + chance.below(350)));
        child.kill().expect("killed");
        child.wait().expect("ended");
        for (me, number) in reader.join().expect("the reader ends") {
            let last = floor.entry(me).or_default();
            *last = (*last).max(number);
        }
        let store = open_store(&folder);
        let unit = store.begin().expect("a unit");
        for (me, acknowledged) in &floor {
            let read = |space| {
                let value = unit.read(space, &me.to_be_bytes()).expect("readable");
                value.map_or(0, |value| u64::from_le_bytes(value.as_ref().try_into().expect("8 bytes")))
            };
            assert_eq!(read(Space(16)), read(Space(17)), "round {round}: a unit is there in part");
            assert!(read(Space(16)) >= *acknowledged, "round {round}, worker {me}: an acknowledged unit is lost");
        }
        for number in 0..open_units {
            let left = unit.read(Space(20), &number.to_be_bytes()).expect("readable");
            assert!(left.is_none(), "round {round}: open unit {number} left a change");
        }
        // What open units had got is there again, and what they had put is not.
        let queue = store.queue("Q").expect("opened");
        let found = queue.browse(&unit, None, usize::MAX).expect("readable");
        let numbers: BTreeSet<Vec<u8>> = found.iter().map(|browsed| browsed.message.payload.clone()).collect();
        assert_eq!((found.len() as u64, numbers.len() as u64), (MESSAGES, MESSAGES), "round {round}");
    }
    assert!(!floor.is_empty(), "the children committed");
}
