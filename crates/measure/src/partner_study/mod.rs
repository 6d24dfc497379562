//! The case study of 2005: 65 % XML to EDI in an envelope at once, 25 % XML to EDI in envelopes that wait, 10 % XML to flat files; 20 partners,
//! messages of about 2 KB, 4 threads.
//!
//! A thread has partners of its own, so that no unit of work waits for the control numbers of another. Each takes 64 messages into one unit
//! of work, which is the group commit of the study.

use std::io::Cursor;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use quayline_core::Findings;
use quayline_partner::{Again, Book, Desk, DeskLimits, Ledger, SendRequest};
use quayline_project::ShapeOptions;
use quayline_project::partner::RuleMap;
use quayline_store::queue::{Message, QueueDefinition};
use quayline_store::{Store, StoreError};
use quayline_store_embedded::Durability;

use super::world::{self, PARTNERS, Project};
use crate::clock::cpu_of;
use crate::unit_of_work::open;

/// Threads.
pub const THREADS: usize = 4;
/// Messages of a unit of work.
pub const UNIT: usize = 64;

/// How fast the mix went.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// Messages.
    pub messages: usize,
    /// Messages a second.
    pub rate: f64,
    /// CPU microseconds of the process for each.
    pub cpu_us: f64,
}

/// Which of the three kinds a message is, by its number: 13, 5 and 2 of 20.
fn kind(number: usize) -> &'static str {
    match number * 7 % 20 {
        0..13 => "order",
        13..18 => "delayed",
        _ => "flat",
    }
}

fn text(findings: Findings) -> String {
    findings.to_string()
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

/// Sends the mix, so many messages on each thread.
///
/// # Errors
/// What the store or the maps answer.
pub fn run(folder: &Path, durability: Durability, messages: usize) -> Result<Speed, String> {
    let project = Project::new(folder)?;
    project.receivers(PARTNERS)?;
    let store = open(&project.path("data"), durability)?;
    define(&store).map_err(|error| error.to_string())?;
    let ledger = Ledger::open(&store).map_err(|error| error.to_string())?;
    // Definitions are compiled and messages made before the clock starts.
    let books: Vec<Book> = (0..THREADS)
        .map(|_| Book::open(project.folder(), ShapeOptions::default(), 0, 1).map_err(text))
        .collect::<Result<_, _>>()?;
    books.iter().try_for_each(|book| {
        book.map(&RuleMap::without_lookups("maps/xml.qmap")).map(|_| ()).map_err(ToString::to_string)
    })?;
    let orders: Vec<Vec<String>> = (0..THREADS)
        .map(|thread| (0..messages).map(|number| world::xml_order(thread * messages + number)).collect())
        .collect();
    let began = Instant::now();
    let (done, cpu) = cpu_of(|| {
        std::thread::scope(|scope| {
            let workers: Vec<_> = books
                .iter()
                .zip(&orders)
                .enumerate()
                .map(|(thread, (book, orders))| {
                    let ledger = &ledger;
                    scope.spawn(move || work(thread, book, ledger, orders))
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a worker panicked".to_owned())?)
        })
    });
    done?;
    let messages = THREADS * messages;
    let seconds = began.elapsed().as_secs_f64();
    Ok(Speed { messages, rate: messages as f64 / seconds, cpu_us: cpu.as_secs_f64() * 1e6 / messages as f64 })
}

fn define(store: &Store) -> Result<(), StoreError> {
    let mut unit = store.begin()?;
    for name in ["OUT", "FLAT"] {
        store.define_queue(&mut unit, QueueDefinition { depth_max: 10_000_000, ..QueueDefinition::local(name) })?;
    }
    unit.commit().map(|_| ())
}

fn work(thread: usize, book: &Book, ledger: &Ledger, orders: &[String]) -> Result<(), String> {
    let limits = DeskLimits {
        unit_transactions_max: usize::MAX,
        unit_bytes_max: usize::MAX,
        entry_numbers_ahead: 4_096,
        ..DeskLimits::default()
    };
    let partners: Vec<String> = (0..PARTNERS).skip(thread).step_by(THREADS).map(world::name).collect();
    let flat = book.map(&RuleMap::without_lookups("maps/flat.qmap")).map_err(ToString::to_string)?;
    let mut lane = flat.pipeline.lane().map_err(text)?;
    let mut buffers = flat.pipeline.buffers().map_err(text)?;
    let rows = ledger.store().queue("FLAT").map_err(|error| error.to_string())?;
    let mut desk = Desk::new(book, ledger, limits, now_ms).map_err(text)?;
    for (turn, unit) in orders.chunks(UNIT).enumerate() {
        let mut flat_files = Vec::new();
        desk.together(|desk| {
            for (place, order) in unit.iter().enumerate() {
                let number = turn * UNIT + place;
                let document = kind(number);
                if document == "flat" {
                    let report = lane.run(&"order.xml".into(), order.as_bytes(), &mut buffers);
                    if let Some(lost) = report.lost {
                        return Err(lost);
                    }
                    flat_files.extend(buffers.iter_mut().map(quayline_pipeline::OutputBuffer::take));
                    continue;
                }
                let request = SendRequest {
                    name: "order.xml",
                    to: Some(&partners[number % partners.len()]),
                    from: None,
                    document,
                    again: Again::No,
                };
                let report = desk.send(&request, &mut Cursor::new(order.as_bytes()))?;
                if report.rejected > 0 {
                    return Err(Findings(report.findings.into_iter().map(|(_, finding)| finding).collect()));
                }
            }
            Ok(())
        })
        .map_err(text)?;
        let put = || -> Result<(), StoreError> {
            let mut unit = ledger.begin()?;
            for file in flat_files {
                rows.put(&mut unit, &Message::new(file))?;
            }
            unit.commit().map(|_| ())
        };
        put().map_err(|error| error.to_string())?;
    }
    Ok(())
}
