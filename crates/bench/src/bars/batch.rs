//! Batch jobs: overhead of the container over the floor of the database, partitions, large chunks and positions, memory.

use quayline_measure::batch::{KeptEvents, Listens, Load, Moves, Rows, Took, World};

use super::{Area, Bar, Bench, Measured, Side};
use crate::batch::{AgainstPeers, Missing, against_peers, floor, large_items_memory, peak_memory, unchanged};
use crate::median;

pub(super) const BARS: &[Bar] = &[
    ratio("container time a checkpoint by floor, database in memory", 1.15, |_| container(true)),
    ratio("container time a checkpoint by floor, database on disk", 1.15, |_| container(false)),
    ratio("job at item-count 1,000 by floor, pipelined", 1.10, |_| job(Rows::Pipelined)),
    ratio("job at item-count 1,000 by floor, set-based", 1.10, |_| job(Rows::Set)),
    most("checkpoint of 100 items in memory", 5.0, "us", in_memory),
    ratio("checkpoint data of 2 MB by floor", 1.10, large),
    ratio("checkpoint data of 1 MB that does not change, by 16 bytes", 1.15, |_| same()),
    ratio("checkpoint data of 1 MB given again unchanged, by a copy and a comparison", 1.5, |_| again(Moves::Copies)),
    ratio("checkpoint data of 1 MB lent again unchanged, by a copy and a comparison", 1.5, |_| again(Moves::Lends)),
    ratio("1,000 partitions by 20", 1.0, |_| partitions_by_twenty()),
    ratio("1,000 partitions by floor", 1.15, |_| partitions_by_floor()),
    ratio("a record at item-count 100,000 by item-count 1,000", 1.10, |_| cliff()),
    most("durable event of a checkpoint, database in memory", 30.0, "us", |_| event(true)),
    most("durable event of a checkpoint, database on disk", 30.0, "us", |_| event(false)),
    ratio("events that a filter leaves out, by no events", 1.03, |_| filtered()),
    least("times as fast as JBeret or Spring Batch, pipelined", 7.0, |_| times_a_peer(|found| found.pipelined)),
    least("times as fast as JBeret or Spring Batch, set-based", 13.0, |_| times_a_peer(|found| found.set)),
    ratio("job at item-count 1,000 that measures its parts, by one that does not", 1.01, |_| measuring(1_000)),
    ratio("job at item-count 100 that measures its parts, by one that does not", 1.01, |_| measuring(100)),
    ratio("start of a job in a store, after 50,000 executions by after 2,000", 1.15, |_| starts_in_store()),
    ratio("start of a job in a database, after 5,000 executions by after 500", 1.15, |_| starts_in_database()),
    most("memory of a job in a database", 30.0, "MB", memory),
    most("memory of a job in a store", 30.0, "MB", memory_in_store),
    most("memory of a job in a store, checkpoint data of 2 MB", 30.0, "MB", memory_of_positions),
    ratio("memory of a job in a store, 3,000,000 records by 3,000", 1.25, memory_by_records),
    most("memory of a job of 10,000 partitions", 64.0, "MB", memory_of_partitions),
    most("memory of a job with items of 100 kB", 64.0, "MB", large_items),
];

const fn most(
    name: &'static str,
    bar: f64,
    unit: &'static str,
    measure: fn(&Bench) -> Result<Measured, String>,
) -> Bar {
    Bar { area: Area::Batch, name, bar, side: Side::AtMost, unit, measure }
}

const fn least(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Batch, name, bar, side: Side::AtLeast, unit: "ratio", measure }
}

const fn ratio(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    most(name, bar, "ratio", measure)
}

/// Times that each pair is measured, after one to warm up.
const TURNS: usize = 3;

const CONTAINER: Load = Load {
    records: 200_000,
    items: 100,
    partitions: 1,
    rows: Rows::None,
    checkpoint_bytes: 1_024,
    listens: Listens::No,
    events: KeptEvents::Off,
    object_bytes: 0,
    measures: true,
};

/// Measures in a separate world, so that no bar has the rows of another.
fn with_world(in_memory: bool, measure: impl Fn(&World) -> Result<Measured, String>) -> Result<Measured, String> {
    match World::database(in_memory)? {
        Some(world) => measure(&world),
        None => Ok(Measured::skipped("PostgreSQL is not installed")),
    }
}

/// Alternates two measurements, and returns the ratio of their medians.
fn in_turns(
    unit: &str,
    ours: impl Fn() -> Result<f64, String>,
    other: impl Fn() -> Result<f64, String>,
) -> Result<Measured, String> {
    in_many_turns(TURNS, unit, ours, other)
}

fn in_many_turns(
    turns: usize,
    unit: &str,
    ours: impl Fn() -> Result<f64, String>,
    other: impl Fn() -> Result<f64, String>,
) -> Result<Measured, String> {
    let mut pairs = Vec::new();
    for _ in 0..=turns {
        pairs.push((ours()?, other()?));
    }
    // The first turn warms up.
    pairs.remove(0);
    let (a, b) = (median(pairs.iter().map(|pair| pair.0)), median(pairs.iter().map(|pair| pair.1)));
    Ok(Measured { value: median(pairs.iter().map(|(a, b)| a / b)), detail: format!("{a:.1} by {b:.1} {unit}") })
}

fn seconds(took: Took) -> f64 {
    took.wall.as_secs_f64()
}

/// Compares whole checkpoints, with reading: Quayline reads while the chunk before commits, so its time without reading is not known. A run takes less
/// than a second, and the machine's speed changes within seconds, so the pairs are more than those of other rows.
fn container(in_memory: bool) -> Result<Measured, String> {
    with_world(in_memory, |world| {
        let us = |took: Took| seconds(took) * 1e6 / CONTAINER.chunks() as f64;
        in_many_turns(4 * TURNS, "us", || world.job(&CONTAINER).map(us), || floor(world, &CONTAINER).map(us))
    })
}

fn job(rows: Rows) -> Result<Measured, String> {
    let load = Load { records: 200_000, items: 1_000, rows, ..CONTAINER };
    with_world(false, |world| in_turns("s", || world.job(&load).map(seconds), || floor(world, &load).map(seconds)))
}

/// Returns the ratio of the faster peer to Quayline, for the same job.
fn times_a_peer(ours: fn(&AgainstPeers) -> f64) -> Result<Measured, String> {
    let load = Load { records: 200_000, items: 1_000, ..CONTAINER };
    match against_peers(&load) {
        Ok(found) => {
            let (name, peer, other, ours) = (found.name, found.peer, found.other, ours(&found));
            let detail = format!("{name} {peer:.2} s, the other peer {other:.2} s, Quayline {ours:.2} s");
            Ok(Measured { value: peer / ours, detail })
        }
        Err(Missing::Peer(why)) => Ok(Measured::skipped(&why)),
        Err(Missing::Failed(why)) => Err(why),
    }
}

fn in_memory(_: &Bench) -> Result<Measured, String> {
    let world = World::memory()?;
    let load = Load { records: 1_000_000, ..CONTAINER };
    let mut found = Vec::new();
    for _ in 0..=TURNS {
        found.push(world.job(&load)?.checkpoint_us(&load));
    }
    Ok(Measured { value: median(found.into_iter().skip(1)), detail: format!("{} checkpoints", load.chunks()) })
}

fn large(_: &Bench) -> Result<Measured, String> {
    let load = Load { records: 10_000, items: 100, checkpoint_bytes: 1_000_000, ..CONTAINER };
    with_world(false, |world| {
        let ms = |took: Took| took.checkpoint_us(&load) / 1e3;
        in_turns("ms", || world.job(&load).map(ms), || floor(world, &load).map(ms))
    })
}

/// Returns the time in microseconds of a checkpoint whose reader returns the same position of `bytes` bytes each time.
fn unchanged_us(world: &World, bytes: usize, moves: Moves) -> Result<f64, String> {
    const CHUNKS: u64 = 1_000;
    Ok(seconds(unchanged(world, bytes, CHUNKS, moves)?) * 1e6 / CHUNKS as f64)
}

const MEGABYTE: usize = 1_000_000;

fn same() -> Result<Measured, String> {
    with_world(false, |world| {
        in_turns("us", || unchanged_us(world, MEGABYTE, Moves::Never), || unchanged_us(world, 16, Moves::Never))
    })
}

/// Measures the time that a megabyte adds if the reader returns it as a copy, or lends it, and does not report that it is the same. The ceiling copies
/// and compares a megabyte.
fn again(moves: Moves) -> Result<Measured, String> {
    let ceiling = || -> Result<f64, String> {
        let position = vec![b'p'; MEGABYTE];
        let begin = std::time::Instant::now();
        const TIMES: u32 = 1_000;
        for _ in 0..TIMES {
            let again = std::hint::black_box(&position).clone();
            std::hint::black_box(std::hint::black_box(again) == position);
        }
        Ok(begin.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES))
    };
    with_world(false, |world| {
        let us = |bytes| unchanged_us(world, bytes, moves);
        let [with, without, ceiling] = shortest([&|| us(MEGABYTE), &|| us(16), &ceiling])?;
        let detail = format!("{with:.1} less {without:.1} by {ceiling:.1} us");
        Ok(Measured { value: (with - without) / ceiling, detail })
    })
}

fn of_partitions(partitions: u64) -> Load {
    Load { records: 1_000_000, items: 1_000, partitions, rows: Rows::Pipelined, ..CONTAINER }
}

fn partitions_by_twenty() -> Result<Measured, String> {
    with_world(false, |world| {
        in_turns("s", || world.job(&of_partitions(1_000)).map(seconds), || world.job(&of_partitions(20)).map(seconds))
    })
}

fn partitions_by_floor() -> Result<Measured, String> {
    let load = of_partitions(1_000);
    with_world(false, |world| in_turns("s", || world.job(&load).map(seconds), || floor(world, &load).map(seconds)))
}

fn cliff() -> Result<Measured, String> {
    let of = |items| Load { records: 400_000, items, rows: Rows::Set, ..CONTAINER };
    with_world(false, |world| {
        let us = |took: Took| seconds(took) * 1e6 / 400_000.0;
        in_turns("us", || world.job(&of(100_000)).map(us), || world.job(&of(1_000)).map(us))
    })
}

/// Turns of a row that subtracts one figure from another: the noise of both is larger than the difference.
const RUNS: usize = 12;

/// Returns the shortest run of each measurement, in turns: other work on the machine, and on its disk, makes runs longer, never shorter.
fn shortest<const N: usize>(measurements: [&dyn Fn() -> Result<f64, String>; N]) -> Result<[f64; N], String> {
    let mut found = [f64::INFINITY; N];
    for _ in 0..RUNS {
        for (found, measure) in found.iter_mut().zip(measurements) {
            *found = found.min(measure()?);
        }
    }
    Ok(found)
}

/// Measures the time that a checkpoint's event adds to the checkpoint.
fn event(in_memory: bool) -> Result<Measured, String> {
    with_world(in_memory, |world| {
        let load = Load { records: 100_000, ..CONTAINER };
        let us = |events| Ok::<f64, String>(world.job(&Load { events, ..load })?.checkpoint_us(&load));
        let [with, without] = shortest([&|| us(KeptEvents::All), &|| us(KeptEvents::Off)])?;
        Ok(Measured { value: with - without, detail: format!("{with:.1} less {without:.1} us a checkpoint") })
    })
}

fn filtered() -> Result<Measured, String> {
    with_world(true, |world| {
        let us = |events| Ok(world.job(&Load { events, ..CONTAINER })?.checkpoint_us(&CONTAINER));
        in_many_turns(4 * TURNS, "us", || us(KeptEvents::Filtered), || us(KeptEvents::Off))
    })
}

/// Lines of 100 kB, read, copied through a chunk and written to a file, at item-count 1,000.
fn large_items(bench: &Bench) -> Result<Measured, String> {
    let peak = large_items_memory(&bench.quayline, &bench.this)? as f64 / 1e6;
    Ok(Measured { value: peak, detail: "2,000 lines of 100 kB at item-count 1,000".to_owned() })
}

fn memory(bench: &Bench) -> Result<Measured, String> {
    with_world(false, |world| largest_memory(bench, world, [(25, 20_000), (1_000, 400_000), (8_000, 400_000)]))
}

/// Measures the memory of a store, which must not grow with the job.
fn memory_in_store(bench: &Bench) -> Result<Measured, String> {
    largest_memory(bench, &World::embedded()?, [(25, 100_000), (1_000, 3_000_000), (8_000, 3_000_000)])
}

/// Measures the memory of checkpoints with 1 MB of the reader and 1 MB of the writer.
fn memory_of_positions(bench: &Bench) -> Result<Measured, String> {
    let load = Load { records: 1_000, items: 10, checkpoint_bytes: 1_024_000, ..CONTAINER };
    let peak = peak_memory(&bench.quayline, &bench.this, &World::embedded()?, &load)? as f64 / 1e6;
    Ok(Measured { value: peak, detail: format!("{} checkpoints", load.chunks()) })
}

/// Measures the memory of a job of 10,000 partitions, with its repository in a store and in a database.
fn memory_of_partitions(bench: &Bench) -> Result<Measured, String> {
    let load = Load { records: 100_000, items: 10, partitions: 10_000, rows: Rows::Pipelined, ..CONTAINER };
    let peak = |world: &World| Ok::<f64, String>(peak_memory(&bench.quayline, &bench.this, world, &load)? as f64 / 1e6);
    let in_store = peak(&World::embedded()?)?;
    with_world(false, |world| {
        let in_database = peak(world)?;
        let detail = format!("{in_store:.1} in a store, {in_database:.1} in a database");
        Ok(Measured { value: in_store.max(in_database), detail })
    })
}

/// Compares the memory of the same job over three decades of records.
fn memory_by_records(bench: &Bench) -> Result<Measured, String> {
    let world = World::embedded()?;
    let mut peaks = Vec::new();
    for records in [3_000, 30_000, 300_000, 3_000_000] {
        let load = Load { records, items: 1_000, rows: Rows::Pipelined, ..CONTAINER };
        peaks.push(peak_memory(&bench.quayline, &bench.this, &world, &load)? as f64 / 1e6);
    }
    let detail = peaks.iter().map(|peak| format!("{peak:.1}")).collect::<Vec<_>>().join(", ");
    let most = peaks.iter().copied().fold(0.0, f64::max);
    Ok(Measured { value: most / peaks[0], detail: format!("{detail} MB") })
}

/// Returns the maximum of three runs, each with an item-count and a number of records.
fn largest_memory(bench: &Bench, world: &World, runs: [(u64, u64); 3]) -> Result<Measured, String> {
    let (mut most, mut detail) = (0.0f64, Vec::new());
    for (items, records) in runs {
        let load = Load { records, items, rows: Rows::Pipelined, ..CONTAINER };
        let peak = peak_memory(&bench.quayline, &bench.this, world, &load)? as f64 / 1e6;
        detail.push(format!("{peak:.1} at item-count {items} for {records} records"));
        most = most.max(peak);
    }
    Ok(Measured { value: most, detail: detail.join(", ") })
}

/// Compares the quickest starts of a job after a long history and after a short one.
fn starts(world: &World, [long, short]: [u64; 2]) -> Result<Measured, String> {
    let found = world.quickest_starts(&[short, long])?;
    let detail = format!("{:.1} by {:.1} us", found[1], found[0]);
    Ok(Measured { value: found[1] / found[0], detail })
}

fn starts_in_store() -> Result<Measured, String> {
    let world = World::embedded()?;
    // A sync is longer than all the rest of a start.
    world.unsynced(|| starts(&world, [50_000, 2_000]))
}

fn starts_in_database() -> Result<Measured, String> {
    with_world(true, |world| starts(world, [5_000, 500]))
}

fn measuring(items: u64) -> Result<Measured, String> {
    let world = World::memory()?;
    let load = Load { records: 300_000, items, rows: Rows::Pipelined, ..CONTAINER };
    let run = |measures| Ok::<f64, String>(seconds(world.job(&Load { measures, ..load })?));
    let [with, without] = shortest([&|| run(true), &|| run(false)])?;
    Ok(Measured { value: with / without, detail: format!("{:.1} by {:.1} ms", with * 1e3, without * 1e3) })
}
