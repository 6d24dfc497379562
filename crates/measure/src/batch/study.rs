//! The experiments of the paper: tables of ours beside the paper's figures.

use std::fmt::Write as _;

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

/// The tables of a study.
#[derive(Debug)]
pub struct BatchStudy {
    tables: String,
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
const PAPER: f64 = 1e7;

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
        let mut tables = String::new();
        let place = if options.embedded { "store" } else { "PostgreSQL" };
        let _ = writeln!(tables, "{} records in each run, repository and rows in: {place}\n", options.records);
        say("item-counts");
        item_counts(&world, base, &mut tables)?;
        say("checkpoint data");
        checkpoint_data(&world, base, &mut tables)?;
        say("write objects");
        write_objects(&world, base, &mut tables)?;
        say("partitions");
        partitions(&world, base, &mut tables)?;
        say("events");
        events(&world, base, &mut tables)?;
        say("listener");
        listener(&world, base, &mut tables)?;
        Ok(BatchStudy { tables })
    }

    /// The tables.
    #[must_use]
    pub fn tables(&self) -> &str {
        &self.tables
    }
}

fn us(seconds: f64, count: u64) -> f64 {
    seconds * 1e6 / count as f64
}

/// E1 to E5: what each part of a run takes, by item-count.
fn item_counts(world: &World, base: Load, out: &mut String) -> Result<(), String> {
    let _ = writeln!(out, "E1 to E5: item-count");
    let _ = writeln!(
        out,
        "{:>10} {:>9} {:>11} {:>11} {:>11} {:>13} {:>13} {:>13}",
        "item-count", "seconds", "us/record", "paper", "read ns", "write us/row", "container us", "commit us"
    );
    // The first run makes the tables and warms up.
    world.job(&Load { records: base.records / 10, ..base })?;
    for (items, paper) in ITEMS.into_iter().filter(|(items, _)| *items <= base.records) {
        let load = Load { items, ..base };
        let took = world.job(&load)?;
        let Took { wall, times } = took;
        let chunks = load.chunks();
        // What nobody named is the container's own; it waits for commits too.
        let named = times.read_ns + times.process_ns + times.write_ns + times.commit_ns;
        let container = wall.as_nanos() as f64 - named as f64;
        let paper = paper.map_or_else(|| "-".to_owned(), |seconds| format!("{:.1}", seconds / PAPER * 1e6));
        let _ = writeln!(
            out,
            "{items:>10} {:>9.3} {:>11.2} {paper:>11} {:>11.0} {:>13.2} {:>13.1} {:>13.1}",
            wall.as_secs_f64(),
            us(wall.as_secs_f64(), load.records),
            times.read_ns as f64 / load.records as f64,
            times.write_ns as f64 / 1e3 / load.records as f64,
            container / 1e3 / chunks as f64,
            times.commit_ns as f64 / 1e3 / chunks as f64,
        );
    }
    let _ = writeln!(out);
    Ok(())
}

/// E6: the size of checkpoint data.
fn checkpoint_data(world: &World, base: Load, out: &mut String) -> Result<(), String> {
    let _ = writeln!(out, "E6: checkpoint data, without rows");
    let _ = writeln!(out, "{:>10} {:>16} {:>16}", "bytes", "us a checkpoint", "paper, us");
    for (bytes, paper) in BYTES {
        let chunks = if bytes > 1_000_000 { 100 } else { 1_000 };
        let load = Load { records: chunks * 10, items: 10, rows: Rows::None, checkpoint_bytes: bytes / 2, ..base };
        let _ = writeln!(out, "{bytes:>10} {:>16.1} {:>16.0}", world.job(&load)?.checkpoint_us(&load), paper * 1e3);
    }
    let _ = writeln!(out);
    Ok(())
}

/// E7: the size of what is written. Chunks end at 16 MB, so that large items do not fill the memory.
fn write_objects(world: &World, base: Load, out: &mut String) -> Result<(), String> {
    let _ = writeln!(out, "E7: write object, without rows, item-count {}", base.items);
    let _ = writeln!(out, "{:>10} {:>9} {:>11} {:>20}", "bytes", "seconds", "us/record", "process us/record");
    let mut seconds = Vec::new();
    for bytes in [1_000, 100_000] {
        let load = Load { rows: Rows::None, object_bytes: bytes, ..base };
        let Took { wall, times } = world.job(&load)?;
        seconds.push(wall.as_secs_f64());
        let _ = writeln!(
            out,
            "{bytes:>10} {:>9.3} {:>11.2} {:>20.2}",
            wall.as_secs_f64(),
            us(wall.as_secs_f64(), load.records),
            times.process_ns as f64 / 1e3 / load.records as f64
        );
    }
    let _ = writeln!(
        out,
        "100 kB by 1 kB: {:.1} times (paper: 277 s and about 960 s, 3.5 times)\n",
        seconds[1] / seconds[0]
    );
    Ok(())
}

/// E8: partitions.
fn partitions(world: &World, base: Load, out: &mut String) -> Result<(), String> {
    let _ = writeln!(out, "E8: partitions, at most {THREADS} at once");
    let _ = writeln!(out, "{:>10} {:>9} {:>11} {:>18}", "partitions", "seconds", "us/record", "paper, us/record");
    for (partitions, paper) in PARTITIONS.into_iter().filter(|(partitions, _)| *partitions <= base.records / 10) {
        let load = Load { partitions, ..base };
        let seconds = world.job(&load)?.wall.as_secs_f64();
        let _ = writeln!(
            out,
            "{partitions:>10} {seconds:>9.3} {:>11.2} {:>18.2}",
            us(seconds, base.records),
            paper / PAPER * 1e6
        );
    }
    let _ = writeln!(out);
    Ok(())
}

/// E9: what durable events cost, each in the unit of work of its checkpoint, and what a filter leaves of that.
fn events(world: &World, base: Load, out: &mut String) -> Result<(), String> {
    let load = Load { rows: Rows::None, items: 100, ..base };
    let of = |events| Ok::<f64, String>(world.job(&Load { events, ..load })?.wall.as_secs_f64());
    let (without, filtered, all) = (of(KeptEvents::Off)?, of(KeptEvents::Filtered)?, of(KeptEvents::All)?);
    let us = |seconds: f64| (seconds - without) * 1e6 / load.chunks() as f64;
    let _ = writeln!(out, "E9: events kept for {} checkpoints, without rows", load.chunks());
    let _ = writeln!(
        out,
        "without {without:.3} s; without those of checkpoints {filtered:.3} s, {:+.1} us a checkpoint; all {all:.3} s, {:+.1} us an event \
         (paper: 272 s and 282 s for 10,000 events, 1,000 us an event, no filter)\n",
        us(filtered),
        us(all)
    );
    Ok(())
}

/// E10: what the listener that measures costs.
fn listener(world: &World, base: Load, out: &mut String) -> Result<(), String> {
    let (without, with) =
        (world.job(&base)?.wall.as_secs_f64(), world.job(&Load { listens: true, ..base })?.wall.as_secs_f64());
    let _ = writeln!(out, "E10: the listener that writes times as CSV");
    let _ = writeln!(
        out,
        "without {without:.3} s, with {with:.3} s: {:+.1} % (paper: 268 s and 272.8 s, +1.8 %)",
        (with / without - 1.0) * 100.0
    );
    Ok(())
}
