//! The look-up of rules with many partners, and the transaction store with many entries.

use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quayline_edi::Standard;
use quayline_partner::{Book, Details, Entry, EntryId, Filter, Kind, Ledger, Part, Query, State, Way, context_of};
use quayline_project::ShapeOptions;
use quayline_project::partner::Direction;
use quayline_store::StoreError;
use quayline_store_embedded::Durability;

use crate::clock::cpu_of;
use crate::median;
use crate::unit_of_work::open;
use quayline_measure::partner_study::world::{self, Project};

/// Look-ups of one sample.
const LOOKUPS: usize = 100_000;

/// Returns the CPU nanoseconds of one lookup of a partner, its settings and the rule of a document, among this many partners with 50 rules each.
///
/// # Errors
/// Files that cannot be written or read.
pub fn lookup(folder: &Path, partners: usize) -> Result<f64, String> {
    const RULES: usize = 50;
    let project = Project::new(folder)?;
    project.with_rules(partners, RULES)?;
    let book = Book::open(project.folder(), ShapeOptions::default(), 0, 1).map_err(|findings| findings.to_string())?;
    let names: Vec<String> = (0..partners).map(world::name).collect();
    let documents: Vec<String> = (0..RULES).map(|rule| (100 + rule).to_string()).collect();
    let own = book.own()[0];
    let mut seed = 0x9e37_79b9_u64;
    let mut sample = || {
        let (found, cpu) = cpu_of(|| {
            let mut found = 0;
            for _ in 0..LOOKUPS {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let pick = usize::try_from(seed >> 33).unwrap_or_default();
                let partner = book.identified(Standard::X12, "ZZ", &names[pick % partners]);
                let query = Query {
                    direction: Direction::Receive,
                    standard: Some(Standard::X12),
                    document: &documents[pick / partners % RULES],
                    version: "005010",
                    application: "",
                    test: false,
                };
                let settings = book.settings(own, partner.unwrap_or(own));
                found += usize::from(black_box(book.choose(own, partner, &query, &mut |_, _| false)).is_some());
                black_box(settings);
            }
            found
        });
        if found == LOOKUPS {
            Ok(cpu.as_secs_f64() * 1e9 / LOOKUPS as f64)
        } else {
            Err("a rule is missing".to_owned())
        }
    };
    // The first lookup computes the merged settings of each partner.
    sample()?;
    let samples = (0..7).map(|_| sample()).collect::<Result<Vec<_>, _>>()?;
    Ok(median(samples.into_iter()))
}

/// Performance of a store with many entries.
#[derive(Clone, Copy, Debug)]
pub struct Grown {
    /// CPU microseconds of the process for one entry at the beginning.
    pub first_us: f64,
    /// Mean time in microseconds at the end.
    pub last_us: f64,
    /// Milliseconds of a search by business field.
    pub by_field_ms: f64,
    /// Milliseconds of a page of 50 entries of one partner and day.
    pub by_day_ms: f64,
    /// Milliseconds of a search by control number.
    pub by_number_ms: f64,
    /// Documents a second that were added while half of the entries were purged, of 1,000 offered.
    pub while_purging: f64,
    /// Seconds of that purge.
    pub purge_s: f64,
    /// Entries that it removed.
    pub purged: u64,
}

/// Number of entries that are added between two samples.
const SAMPLE: u64 = 20_000;
const DAY_MS: u64 = 86_400_000;
/// Midnight of a day in 2026.
const BEGIN_MS: u64 = 1_775_001_600_000;
/// Partners of the entries.
const PARTNERS: u64 = 100;

fn entry(id: EntryId, number: u64, count: u64) -> Entry {
    // A hundred days.
    let time_ms = BEGIN_MS + number * (100 * DAY_MS / count.max(1));
    let mut details = Details {
        standard: "X12".to_owned(),
        document: "850".to_owned(),
        version: "005010".to_owned(),
        own: "US".to_owned(),
        sender: "ZZ:SYNTHSENDER".to_owned(),
        receiver: "ZZ:SYNTHRECEIVER".to_owned(),
        interchange: format!("{:09}", number / 100 + 1),
        group: (number / 100 + 1).to_string(),
        parent: id.0,
        rule: "SENDER/orders".to_owned(),
        bytes: 2_048,
        source: "in.x12".to_owned(),
        fields: vec![("order".to_owned(), format!("PO{number:010}"))],
        keep_days: 2_555,
        ..Details::default()
    };
    details.happened(time_ms, "received");
    details.happened(time_ms, "delivered");
    Entry {
        id,
        kind: Kind::Transaction,
        partner: world::name(usize::try_from(number % PARTNERS).unwrap_or_default()),
        time_ms,
        state: State::Delivered,
        due_ms: time_ms,
        way: Way::Received,
        context: context_of(&["in", &(number / 100).to_string()]),
        number: format!("{:04}", number % 100 + 1),
        details,
    }
}

fn add(ledger: &Ledger, from: u64, to: u64, count: u64) -> Result<(), String> {
    let shown = |error: StoreError| error.to_string();
    let mut at = from;
    while at < to {
        let mut unit = ledger.begin().map_err(shown)?;
        for number in at..(at + 64).min(to) {
            let id = ledger.next_id(&mut unit).map_err(shown)?;
            let entry = entry(id, number, count);
            let added = ledger.insert_with(&mut unit, &entry, Part::Document, &[b'*'; 600]);
            added.map_err(|findings| findings.to_string())?;
        }
        unit.commit().map_err(shown)?;
        at += 64;
    }
    Ok(())
}

/// Adds this many entries, searches them, and purges half of them while others are added.
///
/// # Errors
/// Errors of the store.
pub fn grow(folder: &Path, count: u64) -> Result<Grown, String> {
    let shown = |error: StoreError| error.to_string();
    // Left over from a run that was stopped.
    let _ = std::fs::remove_dir_all(folder);
    let store = open(folder, Durability::Buffered)?;
    let ledger = Ledger::open(&store).map_err(shown)?;
    // The cost of an entry includes its later application to the tree, up to a second after its commit.
    let settle = || {
        let began = Instant::now();
        while ledger.store().facts().delta_bytes > 0 && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let sample = |at: u64| -> Result<f64, String> {
        settle();
        let (done, cpu) = cpu_of(|| {
            let done = add(&ledger, at, at + SAMPLE, count);
            settle();
            done
        });
        done?;
        Ok(cpu.as_secs_f64() * 1e6 / SAMPLE as f64)
    };
    sample(0)?;
    let first = (1..4).map(|turn| sample(turn * SAMPLE)).collect::<Result<Vec<_>, _>>()?;
    let end = count.max(8 * SAMPLE) / SAMPLE;
    add(&ledger, 4 * SAMPLE, (end - 4) * SAMPLE, count)?;
    // The first sample is not counted, as at the beginning: files that the system still writes take time of it.
    sample((end - 4) * SAMPLE)?;
    let last = (end - 3..end).map(|turn| sample(turn * SAMPLE)).collect::<Result<Vec<_>, _>>()?;
    let count = end * SAMPLE;
    let time = |filter: &dyn Fn(u64) -> Filter| -> Result<f64, String> {
        let mut times = Vec::new();
        for turn in 0..100 {
            let filter = filter(turn * (count / 100));
            let began = Instant::now();
            let found = ledger.search(&filter).map_err(|findings| findings.to_string())?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
            if found.entries.is_empty() {
                return Err(format!("nothing is found by {filter:?}"));
            }
        }
        Ok(median(times.into_iter()))
    };
    let by_field_ms = time(&|number| Filter {
        field: Some(("order".to_owned(), format!("PO{number:010}"))),
        limit: 50,
        ..Filter::default()
    })?;
    let by_number_ms =
        time(&|number| Filter { number: Some((number / 100 + 1).to_string()), limit: 50, ..Filter::default() })?;
    let by_day_ms = time(&|number| {
        let of = entry(EntryId(1), number, count);
        let day = (of.time_ms - BEGIN_MS) / DAY_MS;
        Filter {
            kind: Some(Kind::Transaction),
            partner: Some(of.partner),
            from_ms: Some(BEGIN_MS + day * DAY_MS),
            to_ms: Some(BEGIN_MS + (day + 1) * DAY_MS),
            limit: 50,
            ..Filter::default()
        }
    })?;
    let (while_purging, purge_s, purged) = purge(&ledger, count)?;
    Ok(Grown {
        first_us: median(first.into_iter()),
        last_us: median(last.into_iter()),
        by_field_ms,
        by_day_ms,
        by_number_ms,
        while_purging,
        purge_s,
        purged,
    })
}

/// Removes the older half while 1,000 documents a second are added, in units of work of 10.
fn purge(ledger: &Ledger, count: u64) -> Result<(f64, f64, u64), String> {
    const PAUSE: Duration = Duration::from_millis(10);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let began = Instant::now();
        let purging = scope.spawn(|| {
            let removed = ledger.purge(BEGIN_MS + 100 * DAY_MS, Some(50));
            done.store(true, Ordering::Release);
            removed
        });
        let mut added = 0;
        while !done.load(Ordering::Acquire) {
            add(ledger, count + added, count + added + 10, count)?;
            added += 10;
            let due = PAUSE * u32::try_from(added / 10).unwrap_or(u32::MAX);
            std::thread::sleep(due.saturating_sub(began.elapsed()));
        }
        let seconds = began.elapsed().as_secs_f64();
        let removed = purging.join().map_err(|_| "the purge panicked".to_owned())?;
        Ok((added as f64 / seconds, seconds, removed.map_err(|findings| findings.to_string())?))
    })
}
