//! The case study of 2005: 65 % XML to EDI in an envelope at once, 25 % XML to EDI in envelopes that wait, 10 % XML to flat files; 20 partners,
//! messages of about 2 KB, 4 threads.
//!
//! Each thread has its own partners, because a unit of work would otherwise wait for the control numbers of another. A thread processes 64
//! messages in one unit of work, like the group commit of the study. It creates each message when it needs it, to keep memory constant. All messages
//! are documents to partners: a rule takes each, and each has an entry, whatever it becomes.

pub(crate) mod switches;
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
use quayline_store::queue::QueueDefinition;
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

/// Kinds of messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Messages {
    /// All three, of which 65 %, 25 % and 10 % are each kind.
    All,
    /// XML to EDI, in an envelope at once.
    AtOnce,
    /// XML to EDI, in envelopes that wait.
    Delayed,
    /// XML to rows of a flat file.
    Flat,
}

impl Messages {
    const ALL: [Messages; 4] = [Messages::All, Messages::AtOnce, Messages::Delayed, Messages::Flat];

    /// Name as an argument.
    fn word(self) -> &'static str {
        match self {
            Messages::All => "all",
            Messages::AtOnce => "order",
            Messages::Delayed => "delayed",
            Messages::Flat => "flat",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Messages::All => "the mix",
            Messages::AtOnce => "to EDI, at once",
            Messages::Delayed => "to EDI, delayed",
            Messages::Flat => "to flat files",
        }
    }

    /// Returns the figure of the study: its threads, and messages in an hour.
    fn then(self) -> &'static str {
        match self {
            Messages::All => "51,808 an hour",
            Messages::AtOnce => "30,972 an hour, 4 threads",
            Messages::Delayed => "7,376 an hour, 1 thread",
            Messages::Flat => "13,548 an hour, 2 threads",
        }
    }

    /// Returns the document name of a message with this number, by which a rule takes it. Of 20 messages of the mix, 13, 5 and 2 have each kind.
    fn document(self, number: usize) -> &'static str {
        match (self, number * 7 % 20) {
            (Messages::AtOnce, _) | (Messages::All, 0..13) => Messages::AtOnce.word(),
            (Messages::Delayed, _) | (Messages::All, 13..18) => Messages::Delayed.word(),
            (Messages::Flat | Messages::All, _) => Messages::Flat.word(),
        }
    }
}

fn text(findings: Findings) -> String {
    findings.to_string()
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

/// Sends `messages` messages on each thread.
///
/// # Errors
/// The store or a map reports an error.
pub fn run(folder: &Path, settings: Settings, mix: Messages, messages: usize) -> Result<Speed, String> {
    let project = Project::new(folder)?;
    project.receivers(PARTNERS)?;
    let store = open(&project.path("data"), settings)?;
    define_queues(&store, &["OUT", "FLAT"]).map_err(|error| error.to_string())?;
    let ledger = Ledger::open(&store).map_err(|error| error.to_string())?;
    // Definitions are compiled before the clock starts. Threads create each message within the measured time.
    let books: Vec<Book> = (0..THREADS)
        .map(|_| Book::open(project.folder(), ShapeOptions::default(), 0, 1).map_err(text))
        .collect::<Result<_, _>>()?;
    for book in &books {
        for map in ["maps/xml.qmap", "maps/flat.qmap"] {
            book.map(&RuleMap::without_lookups(map)).map_err(ToString::to_string)?;
        }
    }
    let (began, cpu) = (Instant::now(), ProcessUse::now().cpu);
    std::thread::scope(|scope| {
        let workers: Vec<_> = books
            .iter()
            .enumerate()
            .map(|(thread, book)| {
                let ledger = &ledger;
                scope.spawn(move || work(thread, book, ledger, mix, messages))
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

/// Runs the measured process with the arguments `FOLDER buffered|sync all|order|delayed|flat MESSAGES`. Returns a line with messages a second and CPU microseconds of
/// each message.
///
/// # Errors
/// As [`run`].
pub fn child(arguments: &[OsString]) -> Result<String, String> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let [folder, durability, mix, messages] = words[..] else {
        return Err(format!("{CHILD} FOLDER buffered|sync all|order|delayed|flat MESSAGES"));
    };
    let known = Messages::ALL.into_iter().find(|known| known.word() == mix);
    let mix = known.ok_or_else(|| format!("`{mix}` is not a kind of messages"))?;
    let durability = match durability {
        "sync" => Durability::Sync,
        "buffered" => Durability::Buffered,
        other => return Err(format!("`{other}` is neither buffered nor sync")),
    };
    let messages = messages.parse().map_err(|_| format!("`{messages}` is not a number of messages"))?;
    let speed = run(Path::new(folder), bounded(durability), mix, messages)?;
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

/// Number of messages of each thread in a report, by durability. Each kind alone has as many as the mix has of all.
const MESSAGES: [(&str, usize); 2] = [("buffered", 10_000), ("sync", 5_000)];
/// Size of a message in bytes. The limit on the inputs of a report counts messages with it.
const MESSAGE_BYTES: u64 = 2_048;
/// Minimum number of messages of each thread, even if the limit on the inputs is lower.
const MESSAGES_MIN: usize = 10 * UNIT;

/// Figures of one process.
struct Figures {
    messages: f64,
    rate: f64,
    cpu_us: f64,
    peak_mib: f64,
    is_within: bool,
}

/// Prints the results of the mix and of each kind alone at both durabilities, with those of the study and the sync rate of the disk. Each row has its own
/// process, and its threads together at most `max_bytes` of messages. Returns the rows as a section, and whether memory stays within its limit.
///
/// # Errors
/// A process does not end with 0, or the folder cannot be written.
pub(crate) fn report(
    this: &Path,
    folder: &Path,
    (peak_max, max_bytes): (u64, u64),
    say: &mut dyn FnMut(&str),
) -> Result<(Section, bool), String> {
    let most = usize::try_from(max_bytes / (THREADS as u64 * MESSAGE_BYTES)).unwrap_or(usize::MAX).max(MESSAGES_MIN);
    say(&format!(
        "\ncase study: XML of 2 KB, 65 % to EDI at once, 25 % to EDI in envelopes that wait, 10 % to flat files; {PARTNERS} partners, {THREADS} threads, a store with 8 MB of changes and 4 MB of cache in memory\n  \
         the floor is one sync of the disk for each unit of {UNIT} messages; units that share a sync exceed it; each kind alone follows its mix\n  \
         {:<11}{:>9}{:>11}{:>11}{:>10}{:>14}{:>10}{:>9}   the study",
        "", "messages", "a second", "the floor", "by floor", "an hour", "CPU us", "peak MB"
    ));
    let (mut good, mut rows) = (true, Vec::new());
    for (durability, messages) in MESSAGES {
        for mix in Messages::ALL {
            // The disk is measured beside each row, because its speed changes.
            #[expect(clippy::cast_precision_loss, reason = "figures for people")]
            let floor = bare_syncs(folder)? * UNIT as f64;
            let Figures { messages, rate, cpu_us, peak_mib, is_within } =
                measured(this, folder, (durability, mix, messages.min(most)), peak_max)?;
            good &= is_within;
            say(&format!(
                "  {:<11}{messages:>9.0}{rate:>11.0}{floor:>11.0}{:>10.3}{:>14.0}{cpu_us:>10.1}{peak_mib:>9.1}   {}{}",
                if mix == Messages::All { durability } else { mix.word() },
                rate / floor,
                rate * 3_600.0,
                mix.then(),
                if is_within { "" } else { "   MORE THAN 64 MB" }
            ));
            let numbers = [messages, rate, floor, rate / floor, cpu_us, peak_mib].map(Cell::Number);
            let words = vec![Cell::text(durability), Cell::text(mix.title())];
            rows.push([words, numbers.to_vec(), vec![Cell::text(mix.then())]].concat());
        }
    }
    let columns = vec![
        Column::new("durability", ""),
        Column::new("kind", ""),
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
        notes: vec![
            format!("The floor is one sync of the disk for each unit of {UNIT} messages. Units that share a sync exceed it."),
            "Each message is a document to a partner: a rule takes it, and it has an entry. Each kind alone is another run, with all threads."
                .to_owned(),
        ],
        table: Table { columns, rows },
        picture: None,
    };
    Ok((section, good))
}

fn measured(
    this: &Path,
    folder: &Path,
    (durability, mix, messages): (&str, Messages, usize),
    peak_max: u64,
) -> Result<Figures, String> {
    let project = Scratch::inside(folder, "partner-study")?;
    let output = folder.join("partner-study.out");
    let words =
        [CHILD.into(), project.folder().into(), durability.into(), mix.word().into(), messages.to_string().into()];
    let command: Vec<OsString> = std::iter::once(this.into()).chain(words).collect();
    let usage = process::run(this, &command, Some(&output))?;
    let line = std::fs::read_to_string(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    let _ = std::fs::remove_file(&output);
    let figures: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [rate, cpu_us] = figures[..] else { return Err(format!("{CHILD} answered `{}`", line.trim())) };
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let (messages, peak_mib) = ((THREADS * messages) as f64, usage.peak_bytes as f64 / f64::from(1 << 20));
    Ok(Figures { messages, rate, cpu_us, peak_mib, is_within: usage.peak_bytes <= peak_max })
}

/// Defines queues without a practical limit.
fn define_queues(store: &Store, names: &[&str]) -> Result<(), StoreError> {
    let mut unit = store.begin()?;
    for name in names {
        store.define_queue(&mut unit, QueueDefinition { depth_max: 10_000_000, ..QueueDefinition::local(name) })?;
    }
    unit.commit().map(|_| ())
}

fn work(thread: usize, book: &Book, ledger: &Ledger, mix: Messages, messages: usize) -> Result<(), String> {
    let limits = DeskLimits {
        unit_transactions_max: usize::MAX,
        unit_bytes_max: usize::MAX,
        entry_numbers_ahead: 4_096,
        ..DeskLimits::default()
    };
    let partners: Vec<String> = (0..PARTNERS).skip(thread).step_by(THREADS).map(world::name).collect();
    let mut desk = Desk::new(book, ledger, limits, now_ms).map_err(text)?;
    for begin in (0..messages).step_by(UNIT) {
        desk.together(|desk| {
            for number in begin..messages.min(begin + UNIT) {
                let order = world::xml_order(thread * messages + number);
                let request = SendRequest {
                    name: "order.xml",
                    to: Some(&partners[number % partners.len()]),
                    from: None,
                    document: mix.document(number),
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
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_that_of_the_study() {
        let count = |kind: Messages| (0..200).filter(|number| Messages::All.document(*number) == kind.word()).count();
        assert_eq!([Messages::AtOnce, Messages::Delayed, Messages::Flat].map(count), [130, 50, 20]);
    }
}
