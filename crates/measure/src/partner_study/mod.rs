//! The case study of 2005: 65 % XML to EDI in an envelope at once, 25 % XML to EDI in envelopes that wait, 10 % XML to flat files; 20 partners,
//! messages of about 2 KB, 4 threads.
//!
//! Each thread has its own partners, because a unit of work would otherwise wait for the control numbers of another. A thread processes 64
//! messages in one unit of work, like the group commit of the study. It creates each message when it needs it, to keep memory constant.

pub mod world;

use std::ffi::OsString;
use std::io::Cursor;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use quayline_core::Findings;
use quayline_meter::ProcessUse;
use quayline_partner::{Again, Book, Desk, DeskLimits, Ledger, SendRequest};
use quayline_project::ShapeOptions;
use quayline_project::partner::RuleMap;
use quayline_report::{Cell, Column, Section, Table};
use quayline_store::queue::{Message, QueueDefinition};
use quayline_store::{Store, StoreError};
use quayline_store_embedded::{Durability, Settings};

use self::world::{PARTNERS, Project};
use crate::flow_bed::bare_syncs;
use crate::process;
use crate::scratch::Scratch;
use crate::store_study::open;

/// Number of threads.
pub const THREADS: usize = 4;
/// Number of messages in a unit of work.
pub const UNIT: usize = 64;

/// Measured speed of the mix.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// Number of messages.
    pub messages: usize,
    /// Messages a second.
    pub rate: f64,
    /// CPU time of the process for each message, in microseconds.
    pub cpu_us: f64,
}

/// Returns the kind of a message with this number. Of 20 messages, 13, 5 and 2 have each kind.
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

/// Sends the mix: `messages` messages on each thread.
///
/// # Errors
/// The store or a map reports an error.
pub fn run(folder: &Path, settings: Settings, messages: usize) -> Result<Speed, String> {
    let project = Project::new(folder)?;
    project.receivers(PARTNERS)?;
    let store = open(&project.path("data"), settings)?;
    define(&store).map_err(|error| error.to_string())?;
    let ledger = Ledger::open(&store).map_err(|error| error.to_string())?;
    // Definitions are compiled before the clock starts. Threads create each message within the measured time.
    let books: Vec<Book> = (0..THREADS)
        .map(|_| Book::open(project.folder(), ShapeOptions::default(), 0, 1).map_err(text))
        .collect::<Result<_, _>>()?;
    books.iter().try_for_each(|book| {
        book.map(&RuleMap::without_lookups("maps/xml.qmap")).map(|_| ()).map_err(ToString::to_string)
    })?;
    let (began, cpu) = (Instant::now(), ProcessUse::now().cpu);
    std::thread::scope(|scope| {
        let workers: Vec<_> = books
            .iter()
            .enumerate()
            .map(|(thread, book)| {
                let ledger = &ledger;
                scope.spawn(move || work(thread, book, ledger, messages))
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a worker panicked".to_owned())?)
    })?;
    let (elapsed, cpu) = (began.elapsed(), ProcessUse::now().cpu.saturating_sub(cpu));
    Ok(Speed::of(THREADS * messages, elapsed, cpu))
}

impl Speed {
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    fn of(messages: usize, elapsed: Duration, cpu: Duration) -> Speed {
        let count = messages as f64;
        Speed { messages, rate: count / elapsed.as_secs_f64(), cpu_us: cpu.as_secs_f64() * 1e6 / count }
    }
}

/// Argument with which a program starts itself as [`child`].
pub const CHILD: &str = "--partner-study";

/// Runs the measured process with the arguments `FOLDER buffered|sync MESSAGES`. Returns a line with messages a second and CPU microseconds of
/// each message.
///
/// # Errors
/// As [`run`].
pub fn child(arguments: &[OsString]) -> Result<String, String> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let [folder, durability, messages] = words[..] else {
        return Err(format!("{CHILD} FOLDER buffered|sync MESSAGES"));
    };
    let durability = match durability {
        "sync" => Durability::Sync,
        "buffered" => Durability::Buffered,
        other => return Err(format!("`{other}` is neither buffered nor sync")),
    };
    let messages = messages.parse().map_err(|_| format!("`{messages}` is not a number of messages"))?;
    let speed = run(Path::new(folder), bounded(durability), messages)?;
    Ok(format!("{} {}", speed.rate, speed.cpu_us))
}

/// Returns settings of a store with little memory. The process stays below 64 MB, but the applier has more work.
fn bounded(durability: Durability) -> Settings {
    Settings {
        durability,
        delta_bytes_max: 8 << 20,
        apply_bytes: 4 << 20,
        cache_bytes: 4 << 20,
        record_cache_bytes: 0,
        ..Settings::default()
    }
}

/// Number of messages of each thread in a report, by durability.
const MESSAGES: [(&str, usize); 2] = [("buffered", 10_000), ("sync", 5_000)];

/// Prints the results of the mix at both durabilities with those of the study and the sync rate of the disk. Each durability has its own process.
/// Returns them as a section, and whether memory stays within its limit.
///
/// # Errors
/// A process does not end with 0, or the folder cannot be written.
pub(crate) fn report(
    this: &Path,
    folder: &Path,
    peak_max: u64,
    say: &mut dyn FnMut(&str),
) -> Result<(Section, bool), String> {
    say(&format!(
        "\ncase study: XML of 2 KB, 65 % to EDI at once, 25 % to EDI in envelopes that wait, 10 % to flat files; {PARTNERS} partners, {THREADS} threads, a store with 8 MB of changes and 4 MB of cache in memory\n  \
         the floor is one sync of the disk for each unit of {UNIT} messages; units that share a sync exceed it\n  \
         {:<11}{:>9}{:>11}{:>11}{:>10}{:>14}{:>10}{:>9}   the study",
        "", "messages", "a second", "the floor", "by floor", "an hour", "CPU us", "peak MB"
    ));
    let output = folder.join("partner-study.out");
    let (mut good, mut rows) = (true, Vec::new());
    for (durability, messages) in MESSAGES {
        let project = Scratch::inside(folder, "partner-study")?;
        // The disk is measured beside each row, because its speed changes.
        let syncs = bare_syncs(folder)?;
        let words = [CHILD.into(), project.folder().into(), durability.into(), messages.to_string().into()];
        let command: Vec<OsString> = std::iter::once(this.into()).chain(words).collect();
        let usage = process::run(this, &command, Some(&output))?;
        let line = std::fs::read_to_string(&output).map_err(|error| format!("{}: {error}", output.display()))?;
        let figures: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [rate, cpu_us] = figures[..] else { return Err(format!("{CHILD} answered `{}`", line.trim())) };
        let within = usage.peak_bytes <= peak_max;
        good &= within;
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let (peak, floor) = (usage.peak_bytes as f64 / f64::from(1 << 20), syncs * UNIT as f64);
        say(&format!(
            "  {durability:<11}{:>9}{rate:>11.0}{floor:>11.0}{:>10.3}{:>14.0}{cpu_us:>10.1}{peak:>9.1}   51,808 an hour{}",
            THREADS * messages,
            rate / floor,
            rate * 3_600.0,
            if within { "" } else { "   MORE THAN 64 MB" }
        ));
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let count = (THREADS * messages) as f64;
        let numbers = [count, rate, floor, rate / floor, cpu_us, peak].map(Cell::Number);
        rows.push([vec![Cell::text(durability)], numbers.to_vec(), vec![Cell::text("51,808 an hour")]].concat());
    }
    let _ = std::fs::remove_file(&output);
    let columns = vec![
        Column::new("durability", ""),
        Column::new("messages", ""),
        Column::higher("rate", "1/s"),
        Column::new("floor of the disk", "1/s"),
        Column::new("rate by floor", ""),
        Column::lower("CPU of a message", "us"),
        Column::lower("peak memory", "MiB"),
        Column::new("the study", ""),
    ];
    let section = Section {
        id: "case-study".to_owned(),
        title: format!("Case study: messages of 2 KB between {PARTNERS} partners"),
        notes: vec![format!(
            "The floor is one sync of the disk for each unit of {UNIT} messages. Units that share a sync exceed it."
        )],
        table: Table { columns, rows },
        picture: None,
    };
    Ok((section, good))
}

fn define(store: &Store) -> Result<(), StoreError> {
    let mut unit = store.begin()?;
    for name in ["OUT", "FLAT"] {
        store.define_queue(&mut unit, QueueDefinition { depth_max: 10_000_000, ..QueueDefinition::local(name) })?;
    }
    unit.commit().map(|_| ())
}

fn work(thread: usize, book: &Book, ledger: &Ledger, messages: usize) -> Result<(), String> {
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
    for begin in (0..messages).step_by(UNIT) {
        let mut flat_files = Vec::new();
        desk.together(|desk| {
            for number in begin..messages.min(begin + UNIT) {
                let order = world::xml_order(thread * messages + number);
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
