//! The experiments of the paper: tables of ours beside the paper's figures.

use quayline_capacity::Seconds;
use quayline_capacity::fit::ChunkModel;
use quayline_report::{Cell, Column, Picture, Report, Section, Table, Verdict};

use super::{KeptEvents, Load, Rows, THREADS, Took, World};

/// What a study runs.
#[derive(Clone, Debug)]
pub struct BatchStudyOptions {
    /// Records of each run; the paper has 10 million.
    pub records: u64,
    /// Whether the job repository and the rows are in a store instead of a database.
    pub embedded: bool,
    /// How rows are deleted.
    pub rows: Rows,
}

/// What was measured.
#[derive(Debug)]
pub struct BatchStudy {
    conditions: Vec<(String, String)>,
    sections: Vec<Section>,
}

/// Item-counts of the first experiment with the seconds that the paper has for 10 million records.
const ITEMS: [(u64, Option<f64>); 9] = [
    (25, Some(1438.6)),
    (75, None),
    (125, None),
    (250, None),
    (500, None),
    (1_000, Some(272.8)),
    (4_000, Some(244.5)),
    (8_000, Some(1117.0)),
    (100_000, None),
];
/// Bytes of checkpoint data with the milliseconds that a checkpoint takes in the paper.
const BYTES: [(usize, f64); 5] = [(20, 4.19), (2_048, 4.23), (20_480, 4.56), (204_800, 6.65), (2_048_000, 30.3)];
/// Partitions with the seconds of the paper for 10 million records, on 20 processors.
const PARTITIONS: [(u64, f64); 6] = [(1, 272.8), (2, 137.9), (10, 32.2), (20, 18.0), (100, 10.5), (1_000, 23.2)];
/// Records of the paper's runs.
const PAPER_RECORDS: u64 = 10_000_000;
/// Item-counts that predict the others.
const FITTED: [u64; 3] = [25, 250, 4_000];

impl BatchStudy {
    /// Runs the experiments. `say` hears what runs.
    ///
    /// # Errors
    /// PostgreSQL is not installed; those of the jobs.
    pub fn run(options: &BatchStudyOptions, say: &dyn Fn(&str)) -> Result<BatchStudy, String> {
        let world = if options.embedded {
            World::embedded()?
        } else {
            World::database(false)?
                .ok_or("PostgreSQL is not installed: install it, or measure the store with --embedded")?
        };
        let base = Load {
            records: options.records,
            items: 1_000,
            partitions: 1,
            rows: options.rows,
            checkpoint_bytes: 1_024,
            listens: false,
            events: KeptEvents::Off,
            object_bytes: 0,
        };
        let place = if options.embedded { "store" } else { "PostgreSQL" };
        let rows = if options.rows == Rows::Set { "set" } else { "rows" };
        say("item-counts");
        let mut sections = item_counts(&world, base)?;
        say("checkpoint data");
        sections.push(checkpoint_data(&world, base)?);
        say("write objects");
        sections.push(write_objects(&world, base)?);
        say("partitions");
        sections.push(partitions(&world, base)?);
        say("events");
        sections.push(events(&world, base)?);
        say("listener");
        sections.push(listener(&world, base)?);
        let conditions = vec![
            ("records of a run".to_owned(), options.records.to_string()),
            ("repository and rows".to_owned(), place.to_owned()),
            ("deletes".to_owned(), rows.to_owned()),
        ];
        Ok(BatchStudy { conditions, sections })
    }

    /// The study as a report of kind `batch`.
    #[must_use]
    pub fn report(&self) -> Report {
        let of = |name: &str| self.conditions.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
        Report {
            kind: "batch".to_owned(),
            title: "Batch: the experiments of IBM's paper on Liberty Batch".to_owned(),
            verdict: Verdict::Good,
            summary: format!(
                "{} records in each run; the job repository and the rows are in: {}.",
                of("records of a run"),
                of("repository and rows")
            ),
            conditions: self.conditions.clone(),
            sections: self.sections.clone(),
        }
    }
}

fn us(seconds: f64, count: u64) -> f64 {
    seconds * 1e6 / count as f64
}

fn section(id: &str, title: &str, notes: &[&str], columns: Vec<Column>, rows: Vec<Vec<Cell>>) -> Section {
    Section {
        id: id.to_owned(),
        title: title.to_owned(),
        notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        table: Table { columns, rows },
        picture: None,
    }
}

fn number(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, Cell::Number)
}

/// E1 to E5: what each part of a run takes, by item-count; and what three of the runs predict of the others.
fn item_counts(world: &World, base: Load) -> Result<Vec<Section>, String> {
    // The first run makes the tables and warms up.
    world.job(&Load { records: base.records / 10, ..base })?;
    let (mut rows, mut runs) = (Vec::new(), Vec::new());
    for (items, paper) in ITEMS.into_iter().filter(|(items, _)| *items <= base.records) {
        let load = Load { items, ..base };
        let Took { wall, times } = world.job(&load)?;
        let chunks = load.chunks();
        // What nobody named is the container's own; it waits for commits too.
        let named = times.read_ns + times.process_ns + times.write_ns + times.commit_ns;
        let container = wall.as_nanos() as f64 - named as f64;
        runs.push((items, Seconds(wall.as_secs_f64())));
        rows.push(vec![
            Cell::text(items.to_string()),
            Cell::Number(wall.as_secs_f64()),
            Cell::Number(us(wall.as_secs_f64(), load.records)),
            number(paper.map(|seconds| us(seconds, PAPER_RECORDS))),
            Cell::Number(times.read_ns as f64 / load.records as f64),
            Cell::Number(times.write_ns as f64 / 1e3 / load.records as f64),
            Cell::Number(container / 1e3 / chunks as f64),
            Cell::Number(times.commit_ns as f64 / 1e3 / chunks as f64),
        ]);
    }
    let picture = Picture::Bars {
        across: "time of a record, µs".to_owned(),
        rows: runs.iter().map(|(items, _)| items.to_string()).collect(),
        series: vec![("record".to_owned(), runs.iter().map(|(_, time)| us(time.0, base.records)).collect())],
    };
    let columns = vec![
        Column::new("item-count", ""),
        Column::lower("elapsed", "s"),
        Column::lower("record", "µs"),
        Column::new("record in the paper", "µs"),
        Column::new("read", "ns"),
        Column::new("write of a row", "µs"),
        Column::lower("container of a chunk", "µs"),
        Column::new("commit of a chunk", "µs"),
    ];
    let measured =
        Section { picture: Some(picture), ..section("item-count", "E1 to E5: item-count", &[], columns, rows) };
    Ok(std::iter::once(measured).chain(predicted(base.records, &runs)).collect())
}

/// What the runs of three item-counts predict of all. `None` if too few ran, or if larger item-counts were not faster: then checkpoints cost nothing
/// that could be told from noise.
fn predicted(records: u64, runs: &[(u64, Seconds)]) -> Option<Section> {
    let fitted: Vec<(u64, Seconds)> = runs.iter().copied().filter(|(items, _)| FITTED.contains(items)).collect();
    let model = (fitted.len() == FITTED.len()).then(|| ChunkModel::fit(records, &fitted))?.ok()?.value;
    let mut rows = Vec::new();
    for (items, measured) in runs {
        let predicted = model.elapsed(*items).ok()?.value;
        rows.push(vec![
            Cell::text(items.to_string()),
            Cell::Number(measured.0),
            Cell::Number(predicted.0),
            Cell::Number(100.0 * (predicted.0 / measured.0 - 1.0)),
            Cell::text(if FITTED.contains(items) { "fitted" } else { "predicted" }),
        ]);
    }
    let columns = vec![
        Column::new("item-count", ""),
        Column::new("measured", "s"),
        Column::new("predicted", "s"),
        Column::new("error", "%"),
        Column::new("use", ""),
    ];
    let note = "The time without checkpoints and the time of one, from three runs, give the elapsed time for every item-count.";
    Some(section("predicted", "Elapsed time predicted from three item-counts", &[note], columns, rows))
}

/// E6: the size of checkpoint data.
fn checkpoint_data(world: &World, base: Load) -> Result<Section, String> {
    let mut rows = Vec::new();
    for (bytes, paper) in BYTES {
        let chunks = if bytes > 1_000_000 { 100 } else { 1_000 };
        let load = Load { records: chunks * 10, items: 10, rows: Rows::None, checkpoint_bytes: bytes / 2, ..base };
        let checkpoint = world.job(&load)?.checkpoint_us(&load);
        rows.push(vec![Cell::text(bytes.to_string()), Cell::Number(checkpoint), Cell::Number(paper * 1e3)]);
    }
    let columns =
        vec![Column::new("bytes", ""), Column::lower("checkpoint", "µs"), Column::new("checkpoint in the paper", "µs")];
    Ok(section("checkpoint-data", "E6: checkpoint data, without rows", &[], columns, rows))
}

/// E7: the size of what is written. Chunks end at 16 MB, so that large items do not fill the memory.
fn write_objects(world: &World, base: Load) -> Result<Section, String> {
    let (mut rows, mut seconds) = (Vec::new(), Vec::new());
    for bytes in [1_000, 100_000] {
        let load = Load { rows: Rows::None, object_bytes: bytes, ..base };
        let Took { wall, times } = world.job(&load)?;
        seconds.push(wall.as_secs_f64());
        rows.push(vec![
            Cell::text(bytes.to_string()),
            Cell::Number(wall.as_secs_f64()),
            Cell::Number(us(wall.as_secs_f64(), load.records)),
            Cell::Number(times.process_ns as f64 / 1e3 / load.records as f64),
        ]);
    }
    let note = format!(
        "100 kB by 1 kB: {:.1} times. In the paper: 277 s and about 960 s, 3.5 times. Item-count {}.",
        seconds[1] / seconds[0],
        base.items
    );
    let columns = vec![
        Column::new("bytes", ""),
        Column::lower("elapsed", "s"),
        Column::lower("record", "µs"),
        Column::new("process of a record", "µs"),
    ];
    Ok(section("write-object", "E7: write object, without rows", &[&note], columns, rows))
}

/// E8: partitions.
fn partitions(world: &World, base: Load) -> Result<Section, String> {
    let mut rows = Vec::new();
    for (partitions, paper) in PARTITIONS.into_iter().filter(|(partitions, _)| *partitions <= base.records / 10) {
        let load = Load { partitions, ..base };
        let seconds = world.job(&load)?.wall.as_secs_f64();
        rows.push(vec![
            Cell::text(partitions.to_string()),
            Cell::Number(seconds),
            Cell::Number(us(seconds, base.records)),
            Cell::Number(us(paper, PAPER_RECORDS)),
        ]);
    }
    let columns = vec![
        Column::new("partitions", ""),
        Column::lower("elapsed", "s"),
        Column::lower("record", "µs"),
        Column::new("record in the paper", "µs"),
    ];
    let title = format!("E8: partitions, at most {THREADS} at once");
    Ok(section("partitions", &title, &[], columns, rows))
}

/// E9: what durable events cost, each in the unit of work of its checkpoint, and what a filter leaves of that.
fn events(world: &World, base: Load) -> Result<Section, String> {
    let load = Load { rows: Rows::None, items: 100, ..base };
    let of = |events| Ok::<f64, String>(world.job(&Load { events, ..load })?.wall.as_secs_f64());
    let (without, filtered, all) = (of(KeptEvents::Off)?, of(KeptEvents::Filtered)?, of(KeptEvents::All)?);
    let row = |name: &str, seconds: f64| {
        let each = (seconds - without) * 1e6 / load.chunks() as f64;
        vec![Cell::text(name), Cell::Number(seconds), if seconds == without { Cell::Empty } else { Cell::Number(each) }]
    };
    let rows = vec![row("none", without), row("without those of checkpoints", filtered), row("all", all)];
    let columns =
        vec![Column::new("events", ""), Column::lower("elapsed", "s"), Column::new("added to a checkpoint", "µs")];
    let note = "In the paper: 272 s and 282 s for 10,000 events, 1,000 µs an event, without a filter.";
    let title = format!("E9: events kept for {} checkpoints, without rows", load.chunks());
    Ok(section("events", &title, &[note], columns, rows))
}

/// E10: what the listener that measures costs.
fn listener(world: &World, base: Load) -> Result<Section, String> {
    let (without, with) =
        (world.job(&base)?.wall.as_secs_f64(), world.job(&Load { listens: true, ..base })?.wall.as_secs_f64());
    let row = |name: &str, seconds: f64| {
        vec![Cell::text(name), Cell::Number(seconds), Cell::Number((seconds / without - 1.0) * 100.0)]
    };
    let rows = vec![row("without", without), row("with", with)];
    let columns = vec![Column::new("listener", ""), Column::lower("elapsed", "s"), Column::new("more", "%")];
    let note = "In the paper: 268 s and 272.8 s, +1.8 %.";
    Ok(section("listener", "E10: the listener that writes times as CSV", &[note], columns, rows))
}
