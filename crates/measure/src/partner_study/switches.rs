//! The cost of each switch of a partner alone: what it adds to `quayline translate` of the same orders, in CPU time and elapsed time.
//!
//! A switch that can be off is the difference between two processes. A look-up and an entry cannot be off, so this process repeats them alone.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use quayline_meter::ProcessUse;
use quayline_partner::{Book, Details, Entry, EntryId, Kind, Ledger, Query, State, Way, context_of};
use quayline_project::ShapeOptions;
use quayline_project::partner::Direction;
use quayline_report::{Cell, Column, Section, Table};
use quayline_store::StoreError;
use quayline_store_embedded::{Durability, Settings};

use super::world::{self, Project};
use super::{now_ms, text};
use crate::process::{self, Usage};
use crate::scratch::Scratch;
use crate::store_study::open;

/// Settings that turn everything off.
const OFF: &str =
    "validate = \"envelope\"\nacknowledge = []\nduplicates = \"accept\"\ngaps = \"ignore\"\nkeep = \"rejected\"";
/// Orders of an interchange.
const EACH: u32 = 100;
/// Bytes of an interchange, about.
const INTERCHANGE_BYTES: u64 = 212_000;
/// Runs of each row; the median counts.
const ROUNDS: usize = 5;
/// Transactions of a unit of work without checkpoints between: the most that `--commit-interval` takes, so a unit ends at its 4 MB.
const NO_CHECKPOINT: u32 = 10_000;

/// Processes to compare.
struct Run {
    name: &'static str,
    settings: String,
    /// Transactions of a unit of work; `None` is `translate`.
    unit: Option<u32>,
    /// The row that this one is compared with.
    over: Option<usize>,
    then: &'static str,
}

fn runs() -> Vec<Run> {
    let off = |from: &str, to: &str| OFF.replace(from, to);
    let on = OFF
        .replace("acknowledge = []", "acknowledge = [\"997\"]")
        .replace("\"accept\"", "\"reject\"")
        .replace("\"ignore\"", "\"warn\"")
        .replace("keep = \"rejected\"", "keep = \"all\"");
    let run = |name, settings, unit, over, then| Run { name, settings, unit, over, then };
    vec![
        run("translate", String::new(), None, None, ""),
        run("received, all switches off", OFF.to_owned(), Some(NO_CHECKPOINT), Some(0), ""),
        run("bodies kept", off("keep = \"rejected\"", "keep = \"all\""), Some(NO_CHECKPOINT), Some(1), ""),
        run("acknowledgment", off("acknowledge = []", "acknowledge = [\"997\"]"), Some(NO_CHECKPOINT), Some(1), ""),
        run(
            "duplicate check",
            off("\"accept\"", "\"reject\"").replace("\"ignore\"", "\"warn\""),
            Some(NO_CHECKPOINT),
            Some(1),
            "",
        ),
        run("checkpoint for each 64", OFF.to_owned(), Some(64), Some(1), "recovery: about +50 %"),
        run("check by guide", off("validate = \"envelope\"\n", ""), Some(NO_CHECKPOINT), Some(1), ""),
        run(
            "all together",
            on.replace("validate = \"envelope\"\n", ""),
            Some(64),
            Some(0),
            "target: at most +35 % CPU",
        ),
    ]
}

/// CPU and elapsed seconds.
#[derive(Clone, Copy, Debug)]
struct Cost {
    cpu: f64,
    elapsed: f64,
}

impl Cost {
    fn less(self, other: Cost) -> Cost {
        Cost { cpu: self.cpu - other.cpu, elapsed: self.elapsed - other.elapsed }
    }
}

/// Prints the cost of each switch, over at most `max_bytes` of orders, and returns the table.
///
/// # Errors
/// A command does not end with 0, or the folder cannot be written.
pub(crate) fn report(
    quayline: &Path,
    this: &Path,
    folder: &Path,
    max_bytes: u64,
    say: &mut dyn FnMut(&str),
) -> Result<Section, String> {
    let interchanges = u32::try_from((max_bytes / INTERCHANGE_BYTES).clamp(2, 100)).unwrap_or(100);
    let orders = u64::from(interchanges * EACH);
    let scratch = Scratch::inside(folder, "partner-switches")?;
    let project = Project::new(&scratch.folder().join("project"))?;
    let input = project.path("in.x12");
    std::fs::write(&input, world::orders(interchanges, EACH)).map_err(|error| error.to_string())?;
    let runs = runs();
    let mut costs: Vec<Vec<Usage>> = runs.iter().map(|_| Vec::new()).collect();
    // In turns, because the speed of a machine changes.
    for _ in 0..ROUNDS {
        for (run, costs) in runs.iter().zip(&mut costs) {
            costs.push(measured(run, quayline, this, &project, &input)?);
        }
    }
    let costs: Vec<Cost> = costs.iter().map(|runs| median(runs)).collect();
    let base = costs[0];
    let lookup = looked_up(&project, orders)?;
    let entry = entered(&scratch.folder().join("entries"), orders)?;
    say(&format!(
        "\nswitches of a partner alone: what each adds for {orders} orders of 2 KB, beside `translate`\n  \
         {:<28}{:>10}{:>11}{:>10}{:>11}   the study of 2002",
        "", "CPU ms", "elapsed ms", "CPU %", "elapsed %"
    ));
    let mut rows = Vec::new();
    let mut row = |name: &str, cost: Cost, then: &str| {
        let figures =
            [cost.cpu * 1e3, cost.elapsed * 1e3, 100.0 * cost.cpu / base.cpu, 100.0 * cost.elapsed / base.elapsed];
        let [cpu, elapsed, cpu_by, elapsed_by] = figures;
        say(&format!("  {name:<28}{cpu:>10.1}{elapsed:>11.1}{cpu_by:>10.1}{elapsed_by:>11.1}   {then}"));
        rows.push([vec![Cell::text(name)], figures.map(Cell::Number).to_vec(), vec![Cell::text(then)]].concat());
    };
    for (run, cost) in runs.iter().zip(&costs) {
        row(run.name, run.over.map_or(*cost, |over| cost.less(costs[over])), run.then);
        if run.over == Some(0) && run.unit == Some(NO_CHECKPOINT) {
            row("partner and rule look-up", lookup, "");
            row("audit entry", entry, "audit: about +15 %");
        }
    }
    let columns = vec![
        Column::new("switch", ""),
        Column::lower("adds CPU", "ms"),
        Column::lower("adds time", "ms"),
        Column::lower("adds CPU to translate", "%"),
        Column::lower("adds time to translate", "%"),
        Column::new("the study of 2002", ""),
    ];
    Ok(Section {
        id: "switches".to_owned(),
        title: format!("Switches of a partner, each alone, for {orders} orders of 2 KB"),
        notes: vec![
            format!(
                "The first row is `translate` itself. A switch is the difference to a run with all switches off, whose difference to `translate` has a row, \
                 too. Medians of {ROUNDS} runs in turns. Look-up and entry cannot be off, so they are repeated alone in one process, with a store of their own."
            ),
            "The study of 2002 measured another product under another load: audit messages on a queue, and recovery by check points.".to_owned(),
        ],
        table: Table { columns, rows },
        picture: None,
    })
}

fn median(runs: &[Usage]) -> Cost {
    let middle = |of: fn(&Usage) -> Duration| {
        let mut all: Vec<f64> = runs.iter().map(|run| of(run).as_secs_f64()).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or_default()
    };
    Cost { cpu: middle(|run| run.cpu), elapsed: middle(|run| run.wall) }
}

fn measured(run: &Run, quayline: &Path, this: &Path, project: &Project, input: &Path) -> Result<Usage, String> {
    let Some(unit) = run.unit else {
        let words: [OsString; 8] = [
            quayline.into(),
            "translate".into(),
            "--quiet".into(),
            "--jobs=1".into(),
            "--map".into(),
            project.path("maps/in.qmap").into(),
            input.into(),
            "-o".into(),
        ];
        let command: Vec<OsString> = words.into_iter().chain([project.path("out.jsonl").into()]).collect();
        return process::run(this, &command, None);
    };
    project.sender(&format!("{}\nguides = [\"850.guide\"]", run.settings))?;
    // The last run's store.
    let _ = std::fs::remove_dir_all(project.path("data"));
    let settings = Settings::default();
    let store = open(&project.path("data"), settings)?;
    super::define_queues(&store, &["IN", "OUT"]).map_err(|error| error.to_string())?;
    drop(store);
    let command: [OsString; 7] = [
        quayline.into(),
        "partner".into(),
        "receive".into(),
        "--project".into(),
        project.folder().into(),
        format!("--commit-interval={unit}").into(),
        input.into(),
    ];
    process::run(this, &command, None)
}

/// Repeats an action once for each order. Returns its cost in this process.
fn repeated(work: impl FnOnce() -> Result<(), String>) -> Result<Cost, String> {
    let (began, cpu) = (Instant::now(), ProcessUse::now().cpu);
    work()?;
    let (elapsed, cpu) = (began.elapsed(), ProcessUse::now().cpu.saturating_sub(cpu));
    Ok(Cost { cpu: cpu.as_secs_f64(), elapsed: elapsed.as_secs_f64() })
}

/// Looks for the partner, its settings and the rule of each order.
fn looked_up(project: &Project, orders: u64) -> Result<Cost, String> {
    let book = Book::open(project.folder(), ShapeOptions::default(), 0, 1).map_err(text)?;
    let sender = book.named("SENDER").ok_or("the sender has no file")?;
    let identity = book.partner(sender).identities.first().cloned().ok_or("the sender has no identity")?;
    let own = book.own()[0];
    repeated(|| {
        for _ in 0..orders {
            let found = book.identified(identity.standard, &identity.qualifier, &identity.id);
            let query = Query {
                direction: Direction::Receive,
                standard: Some(identity.standard),
                document: "850",
                version: "005010",
                application: "SYNTHRECEIVER",
                test: false,
            };
            let settings = book.settings(own, sender);
            let rule = book.choose(own, found, &query, &mut |_, _| true);
            if std::hint::black_box((settings, rule)).1.is_none() {
                return Err("no rule takes the order".to_owned());
            }
        }
        Ok(())
    })
}

/// Adds an entry with a business field for each order, and waits until the store has applied it.
fn entered(folder: &Path, orders: u64) -> Result<Cost, String> {
    let shown = |error: StoreError| error.to_string();
    let store = open(folder, Settings { durability: Durability::Buffered, ..Settings::default() })?;
    let ledger = Ledger::open(&store).map_err(shown)?;
    repeated(|| {
        for first in (0..orders).step_by(64) {
            let mut unit = ledger.begin().map_err(shown)?;
            for number in first..orders.min(first + 64) {
                let id = ledger.next_id(&mut unit).map_err(shown)?;
                ledger.insert(&mut unit, &entry(id, number)).map_err(text)?;
            }
            unit.commit().map_err(shown)?;
        }
        let began = Instant::now();
        while store.facts().delta_bytes > 0 && began.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    })
}

fn entry(id: EntryId, number: u64) -> Entry {
    let time_ms = now_ms();
    let mut details = Details {
        standard: "X12".to_owned(),
        document: "850".to_owned(),
        version: "005010".to_owned(),
        own: "US".to_owned(),
        sender: "ZZ:SYNTHSENDER".to_owned(),
        receiver: "ZZ:SYNTHRECEIVER".to_owned(),
        interchange: format!("{:09}", number / u64::from(EACH) + 1),
        group: (number / u64::from(EACH) + 1).to_string(),
        parent: id.0,
        rule: "SENDER/orders".to_owned(),
        bytes: 2_117,
        source: "in.x12".to_owned(),
        fields: vec![("order".to_owned(), format!("PO{number:08}"))],
        keep_days: 2_555,
        ..Details::default()
    };
    details.happened(time_ms, "received");
    details.happened(time_ms, "delivered");
    Entry {
        id,
        kind: Kind::Transaction,
        partner: "SENDER".to_owned(),
        time_ms,
        state: State::Delivered,
        due_ms: time_ms,
        way: Way::Received,
        context: context_of(&["in", &(number / u64::from(EACH)).to_string()]),
        number: format!("{:04}", number % u64::from(EACH) + 1),
        details,
    }
}
