//! The commercial mix: units of work with keyed records, queues, journal and commit.
//!
//! One unit of work gets a message, reads a record of its customer and one of its product by key, rewrites the customer, adds an entry to the
//! journal file and puts an answer. Two reads, one update, one insert, one get, one put and one commit are the shape of an order.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quayline_capacity::calibration::Rating;
use quayline_capacity::{PerSecond, Seconds};
use quayline_store::queue::{GetWait, Message, Queue, QueueDefinition, Select};
use quayline_store::record_file::{By, FileDefinition, KeyPlace, Organisation, RecordFile, Relation};
use quayline_store::{Access, Clock, LockWait, Store, StoreError, StoreLimits, SystemClock};
use quayline_store_embedded::{Durability, EmbeddedEngine, Folder, Settings};

use crate::keys::{below, key};
use crate::run::process_cpu;

const CUSTOMERS: u64 = 20_000;
const PRODUCTS: u64 = 5_000;
const MESSAGES: u64 = 1_000;

pub(crate) fn text(error: StoreError) -> String {
    error.to_string()
}

/// Opens a store in a separate folder.
pub(crate) fn open(folder: &Path, durability: Durability) -> Result<Store, String> {
    let medium = Folder::create(folder).map_err(|error| error.to_string())?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let settings = Settings { durability, ..Settings::default() };
    let engine = EmbeddedEngine::open(Arc::new(medium), &clock, settings).map_err(text)?;
    Store::open(Arc::new(engine), clock, StoreLimits::default(), Access::Write).map_err(text)
}

/// Creates a record file of fixed records with a key of 8 bytes, and loads the keys 0 to `records - 1`.
pub(crate) fn loaded(store: &Store, name: &str, record_bytes: u32, records: u64) -> Result<RecordFile, String> {
    let mut unit = store.begin().map_err(text)?;
    let definition = FileDefinition {
        name: name.to_owned(),
        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 8 }),
        record_bytes_min: record_bytes,
        record_bytes_max: record_bytes,
        alternates: Vec::new(),
    };
    let file = store.define_file(&mut unit, definition).map_err(text)?;
    unit.commit().map_err(text)?;
    let mut number = 0;
    file.load_sorted(store, &mut |record| {
        record.clear();
        record.extend_from_slice(&key(number));
        record.resize(record_bytes as usize, b'.');
        number += 1;
        Ok(number <= records)
    })
    .map_err(|stopped| text(stopped.error))?;
    Ok(file)
}

struct Orders {
    store: Store,
    customers: RecordFile,
    products: RecordFile,
    journal: RecordFile,
    orders: Queue,
    answers: Queue,
}

impl Orders {
    fn new(folder: &Path, durability: Durability) -> Result<Orders, String> {
        let store = open(folder, durability)?;
        let customers = loaded(&store, "CUSTOMER", 200, CUSTOMERS)?;
        let products = loaded(&store, "PRODUCT", 120, PRODUCTS)?;
        let mut unit = store.begin().map_err(text)?;
        let journal = FileDefinition {
            name: "JOURNAL".to_owned(),
            organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 8 }),
            record_bytes_min: 64,
            record_bytes_max: 64,
            alternates: Vec::new(),
        };
        let journal = store.define_file(&mut unit, journal).map_err(text)?;
        for name in ["ORDERS", "ANSWERS"] {
            let definition = QueueDefinition { depth_max: 2_000_000, ..QueueDefinition::local(name) };
            store.define_queue(&mut unit, definition).map_err(text)?;
        }
        unit.commit().map_err(text)?;
        let (orders, answers) = (store.queue("ORDERS").map_err(text)?, store.queue("ANSWERS").map_err(text)?);
        let mut unit = store.begin().map_err(text)?;
        for _ in 0..MESSAGES {
            orders.put(&mut unit, &Message::new(vec![b'o'; 300])).map_err(text)?;
        }
        unit.commit().map_err(text)?;
        Ok(Orders { store, customers, products, journal, orders, answers })
    }

    /// Executes one unit of work. It moves messages from one queue to the other and back.
    fn unit(&self, seed: &mut u64, number: u64) -> Result<(), StoreError> {
        let mut unit = self.store.begin()?;
        let mut ways = [(&self.orders, &self.answers), (&self.answers, &self.orders)];
        if (number / MESSAGES) % 2 == 1 {
            ways.reverse();
        }
        let mut found = None;
        for (from, to) in ways {
            match from.get(&mut unit, Select::First, GetWait::No) {
                Ok(message) => {
                    found = Some((message, to));
                    break;
                }
                Err(StoreError::NoMessage { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let product = key(below(seed, PRODUCTS));
        self.products.read(&unit, By::Key(&product), Relation::Equal)?;
        let customer = key(below(seed, CUSTOMERS));
        let read = self.customers.read_for_update(&mut unit, By::Key(&customer), Relation::Equal, LockWait::Default)?;
        let mut record = read.bytes.to_vec();
        record[8..16].copy_from_slice(&number.to_be_bytes());
        self.customers.rewrite(&mut unit, &read, &record)?;
        let mut entry = key(number).to_vec();
        entry.resize(64, b'j');
        self.journal.insert(&mut unit, &entry)?;
        if let Some((message, to)) = found {
            to.put(&mut unit, &Message::new(message.payload))?;
        }
        unit.commit().map(|_| ())
    }

    /// Runs units of work on a number of threads for a time. Returns their number and the CPU time of the process.
    fn run(&self, threads: u32, time: Duration) -> Result<(f64, Duration, Duration), String> {
        let (count, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let (began, cpu) = (Instant::now(), process_cpu());
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..u64::from(threads))
                .map(|me| {
                    let (count, stop) = (&count, &stop);
                    scope.spawn(move || {
                        let mut seed = 0x9e37_79b9_7f4a_7c15 ^ (me + 1);
                        while !stop.load(Ordering::Relaxed) {
                            self.unit(&mut seed, count.fetch_add(1, Ordering::Relaxed))?;
                        }
                        Ok::<(), StoreError>(())
                    })
                })
                .collect();
            std::thread::sleep(time);
            stop.store(true, Ordering::Relaxed);
            let failed = || "a thread panicked".to_owned();
            workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| failed())?.map_err(text))
        })?;
        let wall = began.elapsed();
        // Changes that are still in memory are work of these units too.
        while self.store.facts().delta_bytes > 0 && began.elapsed() < wall + Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok((count.load(Ordering::Relaxed) as f64, process_cpu().saturating_sub(cpu), wall))
    }
}

/// Rates the machine by units of work in a new store.
pub(crate) fn rate(folder: &Path, threads: u32, time: Duration) -> Result<Rating, String> {
    let run = |name: &str, durability, threads| {
        let folder = folder.join(name);
        let orders = Orders::new(&folder, durability)?;
        let found = orders.run(threads, time);
        drop(orders);
        let _ = std::fs::remove_dir_all(&folder);
        found
    };
    let (units, cpu, _) = run("buffered", Durability::Buffered, threads)?;
    let cpu = cpu.as_secs_f64() / units.max(1.0);
    // Commits of many threads share a sync.
    let (durable, _, wall) = run("durable", Durability::Sync, threads.saturating_mul(8))?;
    Ok(Rating {
        units: PerSecond(f64::from(threads) / cpu.max(1e-12)),
        cpu: Seconds(cpu),
        durable: PerSecond(durable / wall.as_secs_f64().max(1e-9)),
    })
}
