//! `fjall-peer FOLDER RECORDS WORKERS SECONDS`: loads records of 32 bytes and rewrites random ones, each in a durable commit. Prints commits a second.
//!
//! fjall syncs each batch separately. Here the first worker of a group writes the changes of all that wait as one batch, so the group shares its sync:
//! as Quayline's store does.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

/// Keys and values of 32 bytes.
type Change = ([u8; 8], [u8; 32]);

#[derive(Default)]
struct Group {
    waiting: Vec<Change>,
    joined: u64,
    durable: u64,
    is_led: bool,
}

struct Grouped {
    database: Database,
    records: Keyspace,
    group: Mutex<Group>,
    ended: Condvar,
}

fn key(number: u64) -> [u8; 8] {
    (number * 1000).to_be_bytes()
}

impl Grouped {
    fn open(folder: &str, records: u64) -> fjall::Result<Grouped> {
        let database = Database::builder(folder).cache_size(256 << 20).open()?;
        let keyspace = database.keyspace("records", KeyspaceCreateOptions::default)?;
        let mut load = keyspace.start_ingestion()?;
        for number in 0..records {
            load.write(key(number), [7; 32])?;
        }
        load.finish()?;
        database.persist(PersistMode::SyncAll)?;
        Ok(Grouped { database, records: keyspace, group: Mutex::default(), ended: Condvar::new() })
    }

    /// Returns when the change is durable.
    fn commit(&self, change: Change) -> fjall::Result<()> {
        let mut group = self.group.lock().expect("no worker panics");
        group.waiting.push(change);
        group.joined += 1;
        let mine = group.joined;
        while group.durable < mine {
            if group.is_led {
                group = self.ended.wait(group).expect("no worker panics");
                continue;
            }
            group.is_led = true;
            let (changes, last) = (std::mem::take(&mut group.waiting), group.joined);
            drop(group);
            let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
            for (key, value) in changes {
                batch.insert(&self.records, key, value);
            }
            batch.commit()?;
            group = self.group.lock().expect("no worker panics");
            group.durable = last;
            group.is_led = false;
            self.ended.notify_all();
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, records, workers, seconds] = &arguments[..] else {
        return Err("usage: fjall-peer FOLDER RECORDS WORKERS SECONDS".into());
    };
    let (records, workers): (u64, u64) = (records.parse()?, workers.parse()?);
    let store = Grouped::open(folder, records)?;
    let (count, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for me in 0..workers {
            let (store, count, stop) = (&store, &count, &stop);
            scope.spawn(move || {
                let mut seed = 0x9e37_79b9_7f4a_7c15u64 ^ (me + 1);
                while !stop.load(Ordering::Relaxed) {
                    seed ^= seed << 13;
                    seed ^= seed >> 7;
                    seed ^= seed << 17;
                    let mut value = [7; 32];
                    value[..8].copy_from_slice(&seed.to_be_bytes());
                    store.commit((key((seed >> 8) % records), value)).expect("a commit");
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(Duration::from_secs_f64(seconds.parse().unwrap_or(10.0)));
        stop.store(true, Ordering::Relaxed);
    });
    println!("{:.1}", count.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64());
    Ok(())
}
