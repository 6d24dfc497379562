//! E1 to E10 on one repository: tables of ours beside the paper's figures, and beside the floor where there is a database.

use std::time::Duration;

use quayline_batch::artifact::Registry;
use quayline_capacity::Seconds;
use quayline_capacity::fit::ChunkModel;
use quayline_report::{Cell, Column, Section};

use super::positions::{Moves, Positioned};
use super::study::section;
use super::{KeptEvents, Listens, Load, Rows, THREADS, Took, World, floor};
use crate::pressure::{OUTSIDE_MAX, beside_others};

/// The paper's figures for an item-count and 10 million records, in milliseconds.
struct Paper {
    items: u64,
    elapsed: f64,
    writer: f64,
    insert: f64,
    delete: f64,
    container: f64,
}

const fn paper(items: u64, elapsed: u32, writer: u32, insert: u32, delete: u32, container: u32) -> Paper {
    Paper {
        items,
        elapsed: elapsed as f64,
        writer: writer as f64,
        insert: insert as f64,
        delete: delete as f64,
        container: container as f64,
    }
}

/// Tables 1 to 5 of the paper.
const PAPER: [Paper; 12] = [
    paper(25, 1_438_624, 228_595, 43_231, 185_364, 1_207_965),
    paper(75, 629_566, 202_233, 27_568, 174_665, 425_263),
    paper(125, 474_214, 199_447, 25_572, 173_875, 272_758),
    paper(250, 373_130, 219_000, 23_129, 195_871, 152_184),
    paper(500, 303_840, 224_786, 21_107, 203_679, 77_179),
    paper(1_000, 272_783, 229_436, 20_256, 209_180, 41_500),
    paper(2_000, 256_833, 230_579, 19_562, 211_017, 24_413),
    paper(4_000, 244_517, 228_580, 18_758, 209_822, 14_068),
    paper(5_000, 247_129, 232_573, 18_687, 213_886, 12_747),
    paper(6_000, 244_723, 231_554, 18_278, 213_276, 11_410),
    paper(7_000, 243_701, 231_179, 18_116, 213_063, 10_742),
    paper(8_000, 1_117_523, 1_104_194, 18_242, 1_085_952, 11_408),
];
/// An item-count that the paper does not have.
const LARGE: u64 = 100_000;
/// Item-counts of the runs that compare ways to delete.
const DELETED: [u64; 4] = [25, 250, 1_000, 4_000];
/// Bytes of checkpoint data with the milliseconds of container time that the paper has for 10,000 checkpoints.
const BYTES: [(usize, f64); 5] =
    [(20, 41_851.0), (2_048, 42_271.0), (20_480, 45_636.0), (204_800, 66_454.0), (2_048_000, 303_026.0)];
/// Partitions with the milliseconds of the paper for 10 million records, on 20 processors.
const PARTITIONS: [(u64, f64); 6] =
    [(1, 272_783.0), (2, 137_946.0), (10, 32_170.0), (20, 17_960.0), (100, 10_485.0), (1_000, 23_204.0)];
/// Bytes of a written object with the paper's reader, processor, writer and container, in milliseconds.
const OBJECTS: [(usize, [f64; 4]); 2] =
    [(1_000, [1_704.0, 2_443.0, 227_055.0, 46_651.0]), (100_000, [7_281.0, 640_866.0, 247_327.0, 62_242.0])];
/// Item-counts with the seconds of elapsed time of the paper without the listener, and those that the listener adds.
const LISTENER: [(u64, f64, f64); 2] = [(1_000, 268.314, 4.469), (75, 622.270, 7.296)];
/// Records and checkpoints at item-count 1,000 of the paper's runs.
const PAPER_RECORDS: u64 = 10_000_000;
const PAPER_CHECKPOINTS: f64 = 10_000.0;
/// Runs of each side where two are compared.
const TURNS: usize = 3;
/// Item-counts that predict the others.
const FITTED: [u64; 3] = [25, 250, 4_000];
/// Largest error of an elapsed time that these predict, as a share.
const ELAPSED_MAX: f64 = 0.10;
/// Seconds of the shortest run for a verdict.
const JUDGED_S: f64 = 0.2;

/// The experiments on one repository.
pub(super) struct Experiments<'w> {
    world: &'w World,
    base: Load,
    /// Whether the elapsed times that three runs predict were within [`ELAPSED_MAX`]; `None` without a verdict.
    elapsed: core::cell::Cell<Option<bool>>,
}

fn us(seconds: f64, count: u64) -> f64 {
    seconds * 1e6 / count as f64
}

fn number(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, Cell::Number)
}

impl<'w> Experiments<'w> {
    pub(super) fn new(world: &'w World, base: Load) -> Self {
        Experiments { world, base, elapsed: core::cell::Cell::default() }
    }

    /// Returns whether the predicted elapsed times were within their limit; `None` without a verdict.
    pub(super) fn elapsed_is_within(&self) -> Option<bool> {
        self.elapsed.get()
    }

    /// Runs all experiments. `say` receives the name of each.
    pub(super) fn all(&self, say: &dyn Fn(&str)) -> Result<Vec<Section>, String> {
        say("item-counts");
        let mut sections = self.item_counts()?;
        say("parts of a chunk");
        sections.push(self.parts_of_a_chunk()?);
        say("inserts and deletes");
        sections.push(self.deletes()?);
        say("checkpoint data");
        sections.push(self.checkpoint_data()?);
        say("write objects");
        sections.push(self.write_objects()?);
        say("partitions");
        sections.push(self.partitions()?);
        say("events");
        sections.push(self.events()?);
        say("listener");
        sections.push(self.listener()?);
        Ok(sections)
    }

    /// Measures the floor of a load in the same run: its SQL over a bare connection. `None` without a database.
    fn floor(&self, load: &Load) -> Result<Option<Took>, String> {
        self.world.server().map(|_| floor(self.world, load)).transpose()
    }

    /// E1, E2 and E5: measures elapsed time, writer and container by item-count, and predicts the other runs from three of them.
    fn item_counts(&self) -> Result<Vec<Section>, String> {
        let base = self.base;
        // The first run makes the tables and warms up.
        self.world.job(&Load { records: base.records / 10, ..base })?;
        let (mut elapsed, mut container, mut runs) = (Vec::new(), Vec::new(), Vec::new());
        let mut outside = 0.0f64;
        let counts = PAPER.iter().map(|paper| (paper.items, Some(paper))).chain([(LARGE, None)]);
        for (items, paper) in counts.filter(|(items, _)| *items <= base.records) {
            let load = Load { items, ..base };
            let (took, others) = beside_others(None, || self.world.job(&load));
            let Took { wall, times, .. } = took?;
            outside = outside.max(others);
            let floor = self.floor(&load)?.map(|floor| floor.wall.as_secs_f64());
            let (seconds, chunks) = (wall.as_secs_f64(), load.chunks());
            runs.push((items, Seconds(seconds)));
            elapsed.push(vec![
                Cell::text(items.to_string()),
                Cell::Number(seconds),
                Cell::Number(us(seconds, load.records)),
                number(floor.map(|floor| us(floor, load.records))),
                number(floor.map(|floor| seconds / floor)),
                number(paper.map(|paper| us(paper.elapsed / 1e3, PAPER_RECORDS))),
                Cell::Number(times.read_ns as f64 / load.records as f64),
                Cell::Number(times.write_ns as f64 / 1e3 / load.records as f64),
                number(paper.map(|paper| us(paper.writer / 1e3, PAPER_RECORDS))),
            ]);
            let of_chunk = |ns: u64| Cell::Number(ns as f64 / 1e3 / chunks as f64);
            container.push(vec![
                Cell::text(items.to_string()),
                of_chunk(times.container_ns() + times.commit_ns),
                of_chunk(times.checkpoint_ns),
                of_chunk(times.container_ns().saturating_sub(times.checkpoint_ns)),
                of_chunk(times.commit_ns),
                number(paper.map(|paper| paper.container * 1e3 * paper.items as f64 / PAPER_RECORDS as f64)),
            ]);
        }
        let columns = vec![
            Column::new("item-count", ""),
            Column::lower("elapsed", "s"),
            Column::lower("record", "µs"),
            Column::new("record of the floor", "µs"),
            Column::lower("by the floor", ""),
            Column::new("record in the paper", "µs"),
            Column::new("read", "ns"),
            Column::new("write of a row", "µs"),
            Column::new("write in the paper", "µs"),
        ];
        let first = section(
            ("item-count", "E1 to E5: item-count"),
            &["In a database, the writer's statements leave with the commit, so their time is in the commit (E5)."],
            columns,
            elapsed,
            ("time of a record, µs", &[2, 3, 5]),
        );
        let columns = vec![
            Column::new("item-count", ""),
            Column::lower("container and commit", "µs"),
            Column::new("checkpoint", "µs"),
            Column::new("rest of the container", "µs"),
            Column::new("commit", "µs"),
            Column::new("container in the paper", "µs"),
        ];
        let second = section(
            ("container", "E5: container and commit of a chunk"),
            &[
                "The paper's container has the commit in it. Ours waits for the commit only after the next chunk was read.",
            ],
            columns,
            container,
            ("time of a chunk, µs", &[1, 2, 4, 5]),
        );
        let predicted = predicted(base.records, &runs, outside);
        self.elapsed.set(predicted.as_ref().and_then(|(_, within)| *within));
        Ok([first, second].into_iter().chain(predicted.map(|(section, _)| section)).collect())
    }

    /// Runs loads in turns. Returns the times of each, in seconds.
    fn in_turns<const N: usize>(&self, loads: [Load; N]) -> Result<[Vec<f64>; N], String> {
        let mut times = std::array::from_fn(|_| Vec::new());
        for _ in 0..TURNS {
            for (load, times) in loads.iter().zip(&mut times) {
                times.push(self.world.job(load)?.wall.as_secs_f64());
            }
        }
        Ok(times)
    }

    /// E5: measures the time of a chunk in its statements and in the sync of its commit. The time of the sync is the difference to runs
    /// without one.
    fn parts_of_a_chunk(&self) -> Result<Section, String> {
        let mut rows = Vec::new();
        for items in DELETED.into_iter().filter(|items| *items * 2 <= self.base.records) {
            let load = Load { items, ..self.base };
            let (mut with, mut without) = (Vec::new(), Vec::new());
            let mut times = quayline_batch::record::Times::default();
            for _ in 0..TURNS {
                let took = self.world.job(&load)?;
                with.push(took.wall.as_secs_f64());
                times = took.times;
                without.push(self.world.unsynced(|| self.world.job(&load))?.wall.as_secs_f64());
            }
            let of_chunk = |seconds: f64| us(seconds, load.chunks());
            let sync = of_chunk(added(&with, &without)).max(0.0);
            let whole = of_chunk(median(with));
            let items_us = (times.read_ns + times.process_ns) as f64 / 1e3 / load.chunks() as f64;
            let checkpoint = times.checkpoint_ns as f64 / 1e3 / load.chunks() as f64;
            let rest = (whole - items_us - checkpoint - sync).max(0.0);
            rows.push(vec![
                Cell::text(items.to_string()),
                Cell::Number(whole),
                Cell::Number(items_us),
                Cell::Number(checkpoint),
                Cell::Number(rest),
                Cell::Number(sync),
            ]);
        }
        let columns = vec![
            Column::new("item-count", ""),
            Column::lower("chunk", "µs"),
            Column::new("read and process", "µs"),
            Column::new("make the checkpoint", "µs"),
            Column::new("rows, checkpoint and commit without the sync", "µs"),
            Column::new("sync", "µs"),
        ];
        let notes = [
            "The sync is the median difference to runs in turns without one: `synchronous_commit = off`, or `buffered` in a store.",
            "The next chunk is read while a commit is under way, so the parts may overlap.",
        ];
        let title = ("parts-of-a-chunk", "E5: parts of a chunk");
        Ok(section(title, &notes, columns, rows, ("time of a chunk, µs", &[2, 3, 4, 5])))
    }

    /// E3 and E4: measures inserts and deletes separately, for each way to delete. The listener records the writer's time for each chunk, so the
    /// writer waits for each write.
    fn deletes(&self) -> Result<Section, String> {
        let mut rows = Vec::new();
        let ways: &[(Rows, &str)] = match self.world.server() {
            Some(_) => {
                &[(Rows::OneByOne, "one by one"), (Rows::Pipelined, "sent together"), (Rows::Set, "one statement")]
            }
            None => &[(Rows::OneByOne, "one by one")],
        };
        for items in DELETED.into_iter().filter(|items| *items * 2 <= self.base.records) {
            let paper = PAPER.iter().find(|paper| paper.items == items);
            for (way, name) in ways {
                let load = Load { items, rows: *way, listens: Listens::Answers, ..self.base };
                let file = self.world.folder().join("times.csv");
                // Of the run before.
                let _ = std::fs::remove_file(&file);
                self.world.job(&load)?;
                let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
                let [insert, delete] = written(&text)?;
                let half = PAPER_RECORDS as f64 / 2.0;
                let of_paper = |ms: fn(&Paper) -> f64| number(paper.map(|paper| ms(paper) * 1e3 / half));
                let is_of_paper = *way == Rows::OneByOne;
                rows.push(vec![
                    Cell::text(format!("{items}, {name}")),
                    Cell::Number(insert),
                    of_paper(|paper| paper.insert),
                    Cell::Number(delete),
                    if is_of_paper { of_paper(|paper| paper.delete) } else { Cell::Empty },
                ]);
            }
        }
        let columns = vec![
            Column::new("item-count and way to delete", ""),
            Column::lower("insert of a row", "µs"),
            Column::new("insert in the paper", "µs"),
            Column::lower("delete of a row", "µs"),
            Column::new("delete in the paper", "µs"),
        ];
        let notes = ["The paper deletes one by one: a round trip for each row."];
        Ok(section(
            ("inserts-deletes", "E3 and E4: inserts and deletes"),
            &notes,
            columns,
            rows,
            ("time of a row, µs", &[1, 2, 3, 4]),
        ))
    }

    /// E6: measures checkpoint data by size, and data of which a checkpoint changes nothing or a few bytes.
    fn checkpoint_data(&self) -> Result<Section, String> {
        let mut rows = Vec::new();
        // A study of few records is a quick one, although most of the work here depends on the bytes.
        let most_chunks = (self.base.records / 100).max(5);
        let chunks_of = |bytes: usize| most_chunks.min(if bytes > 1_000_000 { 100 } else { 1_000 });
        for (bytes, paper) in BYTES {
            let records = chunks_of(bytes) * 10;
            let load = Load { records, items: 10, rows: Rows::None, checkpoint_bytes: bytes / 2, ..self.base };
            let checkpoint = self.world.job(&load)?.checkpoint_us(&load);
            let floor = self.floor(&load)?.map(|floor| floor.checkpoint_us(&load));
            rows.push(vec![
                Cell::text(bytes.to_string()),
                Cell::Number(checkpoint),
                number(floor),
                number(floor.map(|floor| checkpoint / floor)),
                Cell::Number(paper * 1e3 / PAPER_CHECKPOINTS),
            ]);
        }
        let most = BYTES[BYTES.len() - 1].0;
        for (name, moves, property) in [
            ("unchanged", Moves::Never, ""),
            ("a few bytes change", Moves::Changes, ""),
            ("a few bytes change, quayline.checkpoints=delta", Moves::Changes, "delta"),
        ] {
            let load = Load { records: chunks_of(most) * 10, items: 10, rows: Rows::None, ..self.base };
            let mut more = |registry: &mut Registry| {
                let records = load.records;
                registry.reader("positioned", move |_| Ok(Box::new(Positioned::new(most, records, moves))));
            };
            let checkpoint = self.world.run(&positioned_xml(property), &mut more)?.checkpoint_us(&load);
            rows.push(vec![
                Cell::text(format!("{most}, {name}")),
                Cell::Number(checkpoint),
                Cell::Empty,
                Cell::Empty,
                Cell::Empty,
            ]);
        }
        let columns = vec![
            Column::new("bytes", ""),
            Column::lower("checkpoint", "µs"),
            Column::new("checkpoint of the floor", "µs"),
            Column::lower("by the floor", ""),
            Column::new("checkpoint in the paper", "µs"),
        ];
        Ok(section(
            ("checkpoint-data", "E6: checkpoint data, without rows"),
            &[],
            columns,
            rows,
            ("time of a checkpoint, µs", &[1, 2, 4]),
        ))
    }

    /// E7: measures the parts of a record by the size of the object that the processor returns, and the memory that the objects take. Chunks end at
    /// 16 MB, so that large items do not fill the memory.
    fn write_objects(&self) -> Result<Section, String> {
        let (mut rows, mut seconds) = (Vec::new(), Vec::new());
        for (bytes, paper) in OBJECTS {
            let load = Load { object_bytes: bytes, ..self.base };
            let can_reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
            let Took { wall, times, .. } = self.world.job(&load)?;
            seconds.push(wall.as_secs_f64());
            let parts = [times.read_ns, times.process_ns, times.write_ns, times.container_ns() + times.commit_ns];
            let mut row = vec![
                Cell::text(bytes.to_string()),
                Cell::Number(wall.as_secs_f64()),
                Cell::Number(us(wall.as_secs_f64(), load.records)),
                Cell::Number(us(paper.iter().sum::<f64>() / 1e3, PAPER_RECORDS)),
            ];
            for (ns, paper_ms) in parts.into_iter().zip(paper) {
                row.push(Cell::Number(ns as f64 / 1e3 / load.records as f64));
                row.push(Cell::Number(us(paper_ms / 1e3, PAPER_RECORDS)));
            }
            row.push(number(peak_bytes().filter(|_| can_reset).map(|bytes| bytes as f64 / 1e6)));
            rows.push(row);
        }
        let note = format!(
            "100 kB by 1 kB: {:.1} times; in the paper 3.4 times. Item-count {}. The memory is that of this process, with the store if there is one.",
            seconds[1] / seconds[0],
            self.base.items
        );
        let columns = vec![
            Column::new("bytes", ""),
            Column::lower("elapsed", "s"),
            Column::lower("record", "µs"),
            Column::new("record in the paper", "µs"),
            Column::new("read", "µs"),
            Column::new("read in the paper", "µs"),
            Column::new("process", "µs"),
            Column::new("process in the paper", "µs"),
            Column::new("write", "µs"),
            Column::new("write in the paper", "µs"),
            Column::new("container and commit", "µs"),
            Column::new("container in the paper", "µs"),
            Column::lower("peak memory", "MB"),
        ];
        let title = ("write-object", "E7: write object");
        Ok(section(title, &[&note], columns, rows, ("time of a record, µs", &[4, 6, 8, 10])))
    }

    /// E8: measures partitions.
    fn partitions(&self) -> Result<Section, String> {
        let mut rows = Vec::new();
        for (partitions, paper) in PARTITIONS.into_iter().filter(|(count, _)| *count <= self.base.records / 10) {
            let load = Load { partitions, ..self.base };
            let seconds = self.world.job(&load)?.wall.as_secs_f64();
            let floor = self.floor(&load)?.map(|floor| floor.wall.as_secs_f64());
            rows.push(vec![
                Cell::text(partitions.to_string()),
                Cell::Number(seconds),
                Cell::Number(us(seconds, self.base.records)),
                number(floor.map(|floor| us(floor, self.base.records))),
                number(floor.map(|floor| seconds / floor)),
                Cell::Number(us(paper / 1e3, PAPER_RECORDS)),
            ]);
        }
        let columns = vec![
            Column::new("partitions", ""),
            Column::lower("elapsed", "s"),
            Column::lower("record", "µs"),
            Column::new("record of the floor", "µs"),
            Column::lower("by the floor", ""),
            Column::new("record in the paper", "µs"),
        ];
        let title = format!("E8: partitions, at most {THREADS} at once");
        Ok(section(("partitions", &title), &[], columns, rows, ("time of a record, µs", &[2, 3, 5])))
    }

    /// E9: measures the cost of durable events, each in the unit of work of its checkpoint, with and without a filter.
    fn events(&self) -> Result<Section, String> {
        let load = Load { rows: Rows::None, items: 100, ..self.base };
        let of = |events| Load { events, ..load };
        let loads = [of(KeptEvents::Off), of(KeptEvents::Filtered), of(KeptEvents::All)];
        let [without, filtered, all] = self.in_turns(loads)?;
        let row = |name: &str, times: &[f64], is_base: bool| {
            let each = added(times, &without) * 1e6 / load.chunks() as f64;
            let added = if is_base { Cell::Empty } else { Cell::Number(each) };
            vec![Cell::text(name), Cell::Number(median(times.to_vec())), added]
        };
        let mut rows = vec![
            row("none", &without, true),
            row("without those of checkpoints", &filtered, false),
            row("all", &all, false),
        ];
        rows.extend(
            self.floor(&load)?.map(|floor| row("the floor, without events", &[floor.wall.as_secs_f64()], true)),
        );
        let columns =
            vec![Column::new("events", ""), Column::lower("elapsed", "s"), Column::new("added to a checkpoint", "µs")];
        let note = "In the paper: 272 s and 282 s for 10,000 events, 1,000 µs an event, without a filter.";
        let title = format!("E9: events kept for {} checkpoints, without rows", load.chunks());
        Ok(section(("events", &title), &[note], columns, rows, ("elapsed, s", &[1])))
    }

    /// E10: measures the cost of the listener that records times, at both item-counts of the paper.
    fn listener(&self) -> Result<Section, String> {
        let mut rows = Vec::new();
        for (items, paper, paper_adds) in LISTENER.into_iter().filter(|(items, ..)| *items <= self.base.records) {
            let of = |listens| Load { items, listens, ..self.base };
            let loads = [Listens::No, Listens::Chunks, Listens::Items].map(of);
            let mut took: [Vec<Took>; 3] = Default::default();
            for _ in 0..TURNS {
                for (load, took) in loads.iter().zip(&mut took) {
                    for file in ["times.csv", "items.csv"] {
                        // Of the run before.
                        let _ = std::fs::remove_file(self.world.folder().join(file));
                    }
                    took.push(self.world.job(load)?);
                }
            }
            let seconds = |of: fn(&Took) -> Duration| {
                took.each_ref().map(|took| took.iter().map(|took| of(took).as_secs_f64()).collect::<Vec<_>>())
            };
            let (wall, cpu) = (seconds(|took| took.wall), seconds(|took| took.cpu));
            let (base, base_cpu) = (median(wall[0].clone()), median(cpu[0].clone()));
            let names = ["without", "times of chunks", "times of chunks and items"];
            for (at, name) in names.into_iter().enumerate() {
                let adds = if at == 0 { None } else { Some(added(&wall[at], &wall[0]) / base * 100.0) };
                let adds_cpu = if at == 0 { None } else { Some(added(&cpu[at], &cpu[0]) / base_cpu * 100.0) };
                rows.push(vec![
                    Cell::text(format!("{items}, {name}")),
                    Cell::Number(median(wall[at].clone())),
                    number(adds),
                    number(Some(paper_adds / paper * 100.0).filter(|_| at == 2)),
                    Cell::Number(median(cpu[at].clone())),
                    number(adds_cpu),
                ]);
            }
            let floor = self.floor(&loads[0])?.map(|floor| floor.wall.as_secs_f64());
            rows.extend(floor.map(|floor| {
                let more = Cell::Number((floor / base - 1.0) * 100.0);
                vec![
                    Cell::text(format!("{items}, the floor")),
                    Cell::Number(floor),
                    more,
                    Cell::Empty,
                    Cell::Empty,
                    Cell::Empty,
                ]
            }));
        }
        let columns = vec![
            Column::new("item-count and listener", ""),
            Column::lower("elapsed", "s"),
            Column::lower("more", "%"),
            Column::new("more in the paper", "%"),
            Column::lower("CPU time of this process", "s"),
            Column::lower("more CPU time", "%"),
        ];
        let notes = [
            "In the paper: 268.3 and 272.8 s at item-count 1,000, with 3.9 s more CPU time (6.9 %); 7.3 s more at 75. Its listener writes a line for each item too.",
            "The engine measures each chunk in all these runs. The listener writes what it has measured.",
        ];
        let title = ("listener", "E10: the listener that writes times as CSV");
        Ok(section(title, &notes, columns, rows, ("elapsed, s", &[1])))
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Returns the median of the differences between both kinds of runs, turn by turn.
fn added(with: &[f64], without: &[f64]) -> f64 {
    median(with.iter().zip(without).map(|(with, without)| with - without).collect())
}

/// Returns the XML of a job whose reader has a large position.
fn positioned_xml(checkpoints: &str) -> String {
    format!(
        "<job id=\"positions\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"step\">\
         <properties><property name=\"quayline.checkpoints\" value=\"{checkpoints}\"/></properties><chunk item-count=\"10\">\
         <reader ref=\"positioned\"/><writer ref=\"quayline.accountWriter\"><properties><property name=\"Deletes\" value=\"none\"/>\
         <property name=\"WriterCheckpointDataSize\" value=\"10\"/></properties></writer></chunk></step></job>"
    )
}

/// Microseconds of a row that is inserted and of one that is deleted, from the times of chunks: the first inserts, the second deletes.
fn written(csv: &str) -> Result<[f64; 2], String> {
    let mut sums = [(0u64, 0u64); 2];
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
        let (Some(chunk), Some(items), Some(ns)) = (number(3), number(4), number(7)) else {
            return Err("a line of the times of chunks is not complete".to_owned());
        };
        let sum = &mut sums[usize::from(chunk % 2 == 0)];
        sum.0 += items;
        sum.1 += ns;
    }
    Ok(sums.map(|(items, ns)| Duration::from_nanos(ns).as_secs_f64() * 1e6 / items.max(1) as f64))
}

/// Returns the peak memory of this process since the last reset, in bytes (`VmHWM`).
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1_024)
}

/// Judges the largest error of the predicted elapsed times. Runs that are too short, or beside other programs, have no verdict.
fn judged(error: f64, shortest: Seconds, outside: f64) -> (Option<bool>, String) {
    let (percent, limit) = (100.0 * error, 100.0 * ELAPSED_MAX);
    let figure = format!("The largest error of a predicted item-count is {percent:.1} %");
    if outside > OUTSIDE_MAX {
        let used = 100.0 * outside;
        return (None, format!("{figure}. Other programs used {used:.0} % of the machine, so it has no verdict."));
    }
    if shortest.0 < JUDGED_S {
        let why = format!("The shortest run took less than {JUDGED_S} s, so it has no verdict: use more --records.");
        return (None, format!("{figure}. {why}"));
    }
    let within = error <= ELAPSED_MAX;
    let verdict = if within { "within" } else { "beyond" };
    (Some(within), format!("{figure}, {verdict} the limit of {limit:.0} %."))
}

/// Predicts all item-counts from the runs of three, and judges the others. `outside` is the part of the machine that other programs used. `None` if too few ran, or if larger item-counts were not faster, because the cost of checkpoints
/// cannot then be separated from noise.
fn predicted(records: u64, runs: &[(u64, Seconds)], outside: f64) -> Option<(Section, Option<bool>)> {
    let fitted: Vec<(u64, Seconds)> = runs.iter().copied().filter(|(items, _)| FITTED.contains(items)).collect();
    let model = (fitted.len() == FITTED.len()).then(|| ChunkModel::fit(records, &fitted))?.ok()?.value;
    let mut rows = Vec::new();
    let mut worst = 0.0f64;
    for (items, measured) in runs {
        let estimate = model.elapsed(*items).ok()?;
        let predicted = estimate.value;
        let place = estimate.validity.to_string();
        if !FITTED.contains(items) {
            worst = worst.max((predicted.0 / measured.0 - 1.0).abs());
        }
        rows.push(vec![
            Cell::text(items.to_string()),
            Cell::Number(measured.0),
            Cell::Number(predicted.0),
            Cell::Number(100.0 * (predicted.0 / measured.0 - 1.0)),
            Cell::text(if FITTED.contains(items) { "fitted" } else { "predicted" }),
            Cell::text(place),
        ]);
    }
    let columns = vec![
        Column::new("item-count", ""),
        Column::new("measured", "s"),
        Column::new("predicted", "s"),
        Column::new("error", "%"),
        Column::new("use", ""),
        Column::new("validity", ""),
    ];
    let note = "The time without checkpoints and the time of one, from three runs, give the elapsed time for every item-count.";
    let title = ("predicted", "Elapsed time predicted from three item-counts");
    let shortest = runs.iter().map(|(_, elapsed)| elapsed.0).fold(f64::INFINITY, f64::min);
    let (within, verdict) = judged(worst, Seconds(shortest), outside);
    Some((section(title, &[note, &verdict], columns, rows, ("elapsed, s", &[1, 2])), within))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elapsed times of a million records at 2 us each and 300 us for a checkpoint; `slow` multiplies that of item-count 1,000.
    fn elapsed(records: u64, slow: f64, outside: f64) -> (Section, Option<bool>) {
        let of = |items: u64| {
            let seconds = records as f64 * 2e-6 + records.div_ceil(items) as f64 * 300e-6;
            (items, Seconds(if items == 1_000 { slow * seconds } else { seconds }))
        };
        predicted(records, &[25, 75, 250, 1_000, 4_000].map(of), outside).expect("three runs are fitted")
    }

    #[test]
    fn elapsed_times_from_three_runs_have_a_verdict() {
        let verdict = |(section, within): (Section, Option<bool>)| (within, section.notes[1].clone());
        let (within, note) = verdict(elapsed(1_000_000, 1.0, 0.0));
        assert_eq!(within, Some(true), "{note}");
        assert!(note.ends_with("within the limit of 10 %."), "{note}");
        let (within, note) = verdict(elapsed(1_000_000, 1.2, 0.0));
        assert_eq!(within, Some(false), "{note}");
        assert_eq!(note, "The largest error of a predicted item-count is 16.7 %, beyond the limit of 10 %.");
        // Outside pressure and short runs have the figure and no verdict.
        let (within, note) = verdict(elapsed(1_000_000, 1.2, 0.5));
        assert_eq!(within, None);
        assert!(note.contains("16.7 %. Other programs used 50 % of the machine"), "{note}");
        let (within, note) = verdict(elapsed(10_000, 1.2, 0.0));
        assert_eq!(within, None);
        assert!(note.contains("16.7 %. The shortest run took less than 0.2 s"), "{note}");
    }

    #[test]
    fn inserts_and_deletes_are_told_apart() {
        let csv = "execution,step,partition,chunk,items,read_ns,process_ns,write_ns\n1,s,,1,10,0,0,20000\n1,s,,2,10,0,0,400000\n1,s,,3,5,0,0,40000\n";
        assert_eq!(written(csv), Ok([4.0, 40.0]));
        assert!(written("h\n1,s,,1\n").is_err());
    }
}
