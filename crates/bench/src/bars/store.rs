//! The store: durable units of work, reads, browses, loads.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use quayline_store_embedded::Durability;

use super::{Area, Bar, Bench, Measured, Side};
use crate::store_growth;
use crate::unit_of_work::{Bed, Pace, RECORDS, floor, redb_reads};

/// Duration of one measurement of a rate.
const TIME: Duration = Duration::from_secs(2);
/// Duration of each of six turns on a database.
const DATABASE_TIME: Duration = Duration::from_millis(1_500);
/// Reads of one measurement.
const READS: u64 = 1_000_000;

pub(super) const BARS: &[Bar] = &[
    ratio("units of work, one worker, by append and sync", 0.75, one_worker),
    ratio("units of work, 5 workers by one", 1.8, |bench| by_one(bench, |bed| bed.units(5, TIME))),
    ratio("units of work, 64 workers by one", 8.0, |bench| by_one(bench, |bed| bed.units(64, TIME))),
    ratio("units of work, 512 commits of one thread by one", 15.0, |bench| {
        by_one(bench, |bed| bed.in_flight(512, TIME))
    }),
    ratio("units of work, buffered by durable, one worker", 10.0, buffered),
    cost("CPU of a unit of work, one worker", 80.0, |bench| cpu(bench, 1)),
    cost("CPU of a unit of work, 5 workers", 55.0, |bench| cpu(bench, 5)),
    cost("CPU of a unit of work, 64 workers", 25.0, |bench| cpu(bench, 64)),
    ratio("point reads by redb's own", 0.6, reads),
    ratio("point reads, two threads by one", 1.6, reads_by_two),
    Bar { unit: "M/s", ..ratio("browse to a counting sink", 5.0, browse) },
    Bar { unit: "M/s", ..ratio("sorted load of 32-byte records", 1.0, load) },
    ratio("units of work, 5 million records, 64 workers by one", 5.5, many_records),
    Bar { unit: "ms", ..cost("commit, 5 workers, 999 of 1,000", 5.0, |bench| slow(bench, |found| found.p999_ms)) },
    Bar { unit: "ms", ..cost("commit, 5 workers, the longest", 100.0, |bench| slow(bench, |found| found.max_ms)) },
    Bar { unit: "ratio", ..cost("message after a million others by the first", 1.2, passing) },
    Bar { unit: "MB", ..cost("data folder after a million messages", 64.0, folder_after) },
    Bar { unit: "ratio", ..cost("message on a queue a million deep by an empty one", 1.2, deep) },
    Bar { unit: "s", ..cost("reopening to the first message of a queue a million deep", 1.0, reopened) },
    ratio("units of work on PostgreSQL, 5 workers by SKIP LOCKED by hand", 0.8, |bench| on_database(bench, 5)),
    ratio("units of work on PostgreSQL, 64 workers by SKIP LOCKED by hand", 0.8, |bench| on_database(bench, 64)),
    Bar { unit: "s", ..cost("restart with 50 open units to the first message", 1.0, |bench| restart(bench, 50)) },
    Bar { unit: "s", ..cost("restart with 150 open units to the first message", 1.0, |bench| restart(bench, 150)) },
    Bar { unit: "s", ..cost("restart with 500 open units to the first message", 1.0, |bench| restart(bench, 500)) },
    Bar { unit: "s", ..cost("restart after 5 million changes to the first message", 1.0, restart_after_many) },
    ratio("random updates of 5 million records, 64 workers by fjall with group commit", 0.9, by_fjall),
    Bar { unit: "M/s", ..ratio("load of an EBCDIC file by the command", 1.0, load_file) },
    Bar { unit: "MB", ..cost("memory of a store with 5 million records", 768.0, memory) },
];

const fn ratio(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Store, name, bar, side: Side::AtLeast, unit: "ratio", measure }
}

const fn cost(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Store, name, bar, side: Side::AtMost, unit: "us", measure }
}

fn folder(bench: &Bench) -> PathBuf {
    bench.scratch.path("store")
}

fn bed(bench: &Bench, records: u64, durability: Durability) -> Result<(Bed, f64), String> {
    Bed::new(&folder(bench), records, durability)
}

fn floor_of(bench: &Bench) -> Result<f64, String> {
    floor(&bench.scratch.path("floor"), Duration::from_secs(1)).map_err(|error| error.to_string())
}

fn one_worker(bench: &Bench) -> Result<Measured, String> {
    let bed = bed(bench, RECORDS, Durability::Sync)?.0;
    // The floor before and after: a disk that others use changes by the second.
    let before = floor_of(bench)?;
    let pace = bed.units(1, TIME)?;
    let floor = before.midpoint(floor_of(bench)?);
    Ok(Measured { value: pace.rate / floor, detail: format!("{:.0} of {floor:.0}/s", pace.rate) })
}

fn by_one(bench: &Bench, work: fn(&Bed) -> Result<Pace, String>) -> Result<Measured, String> {
    let bed = bed(bench, RECORDS, Durability::Sync)?.0;
    let before = bed.units(1, TIME)?.rate;
    let pace = work(&bed)?;
    let one = before.midpoint(bed.units(1, TIME)?.rate);
    let detail = format!("{:.0} by {one:.0}/s, {:.1} us CPU, floor {:.0}/s", pace.rate, pace.cpu_us, floor_of(bench)?);
    Ok(Measured { value: pace.rate / one, detail })
}

fn buffered(bench: &Bench) -> Result<Measured, String> {
    let durable = bed(bench, RECORDS, Durability::Sync)?.0.units(1, TIME)?;
    let buffered = bed(bench, RECORDS, Durability::Buffered)?.0.units(1, TIME)?;
    let detail = format!("{:.0} by {:.0}/s, floor {:.0}/s", buffered.rate, durable.rate, floor_of(bench)?);
    Ok(Measured { value: buffered.rate / durable.rate, detail })
}

fn cpu(bench: &Bench, workers: u64) -> Result<Measured, String> {
    let pace = bed(bench, RECORDS, Durability::Sync)?.0.units(workers, TIME)?;
    Ok(Measured { value: pace.cpu_us, detail: format!("{:.0} units/s, floor {:.0}/s", pace.rate, floor_of(bench)?) })
}

fn reads(bench: &Bench) -> Result<Measured, String> {
    let bed = bed(bench, RECORDS, Durability::Sync)?.0;
    bed.settle();
    let own = bed.reads(1, READS)?;
    let tree = redb_reads(&bench.scratch.path("reads.redb"), RECORDS, READS)?;
    Ok(Measured { value: own / tree, detail: format!("{:.2} of {:.2} M/s", own / 1e6, tree / 1e6) })
}

fn reads_by_two(bench: &Bench) -> Result<Measured, String> {
    let bed = bed(bench, RECORDS, Durability::Sync)?.0;
    bed.settle();
    let one = bed.reads(1, READS)?;
    let two = bed.reads(2, READS)?;
    Ok(Measured { value: two / one, detail: format!("{:.2} by {:.2} M/s", two / 1e6, one / 1e6) })
}

fn browse(bench: &Bench) -> Result<Measured, String> {
    let bed = bed(bench, 1_000_000, Durability::Sync)?.0;
    bed.settle();
    let rate = crate::median((0..3).map(|_| bed.browse()).collect::<Result<Vec<_>, _>>()?.into_iter());
    Ok(Measured { value: rate / 1e6, detail: "1 million records of 32 bytes".to_owned() })
}

fn load(bench: &Bench) -> Result<Measured, String> {
    let rate = bed(bench, 1_000_000, Durability::Sync)?.1;
    Ok(Measured { value: rate / 1e6, detail: format!("1 million records, durable, floor {:.0}/s", floor_of(bench)?) })
}

fn many_records(bench: &Bench) -> Result<Measured, String> {
    let bed = bed(bench, 5_000_000, Durability::Sync)?.0;
    bed.settle();
    let one = bed.units(1, TIME)?;
    let pace = bed.units(64, TIME)?;
    let detail =
        format!("{:.0} by {:.0}/s, {:.1} us CPU, floor {:.0}/s", pace.rate, one.rate, pace.cpu_us, floor_of(bench)?);
    Ok(Measured { value: pace.rate / one.rate, detail })
}

fn slow(bench: &Bench, of: fn(&store_growth::Latency) -> f64) -> Result<Measured, String> {
    // Both rows are of the same commits.
    static FOUND: OnceLock<Result<store_growth::Latency, String>> = OnceLock::new();
    let measure = || store_growth::latency(&bed(bench, RECORDS, Durability::Sync)?.0, 5, sustained(8));
    let found = FOUND.get_or_init(measure).clone()?;
    let bytes = found.device_bytes.map_or("unknown".to_owned(), |bytes| format!("{bytes:.0}"));
    let (count, saves, floor) = (found.count, found.saves, floor_of(bench)?);
    let detail = format!("{count} commits beside {saves} saves, {bytes} device bytes each, floor {floor:.0}/s");
    Ok(Measured { value: of(&found), detail })
}

/// Figures of [`store_growth::passing`], once for both rows.
fn passed(bench: &Bench) -> Result<(f64, f64, u64), String> {
    static FOUND: OnceLock<Result<(f64, f64, u64), String>> = OnceLock::new();
    let measure = || store_growth::passing(&bed(bench, RECORDS, Durability::Buffered)?.0, &folder(bench));
    FOUND.get_or_init(measure).clone()
}

fn passing(bench: &Bench) -> Result<Measured, String> {
    let (first, last, _) = passed(bench)?;
    Ok(Measured { value: last / first, detail: format!("{last:.2} by {first:.2} us CPU for a put and a get") })
}

fn folder_after(bench: &Bench) -> Result<Measured, String> {
    let (_, _, bytes) = passed(bench)?;
    Ok(Measured { value: bytes as f64 / 1e6, detail: "200 bytes each, two seconds after the last".to_owned() })
}

fn deep(bench: &Bench) -> Result<Measured, String> {
    let bed = bed(bench, RECORDS, Durability::Buffered)?.0;
    let (empty, deep) = store_growth::deep(&bed)?;
    Ok(Measured { value: deep / empty, detail: format!("{deep:.2} by {empty:.2} us CPU for a put and a get") })
}

fn restart(bench: &Bench, open: u64) -> Result<Measured, String> {
    restart_after(bench, [open, 100_000, 1], "100,000 units")
}

fn restart_after_many(bench: &Bench) -> Result<Measured, String> {
    restart_after(bench, [50, 50_000, 100], "5 million messages")
}

fn restart_after(bench: &Bench, load: [u64; 3], what: &str) -> Result<Measured, String> {
    let (seconds, log) = store_growth::restart(&bench.this, &folder(bench), load)?;
    let (log, floor) = (log as f64 / 1e6, floor_of(bench)?);
    Ok(Measured {
        value: seconds,
        detail: format!("killed after {what}, {log:.0} MB of log not applied, floor {floor:.0}/s"),
    })
}

/// Compares with fjall. Half of the time of each is before and half after the other.
fn by_fjall(bench: &Bench) -> Result<Measured, String> {
    const RECORDS: u64 = 5_000_000;
    const WORKERS: u64 = 64;
    let time = sustained(4);
    let ours = || -> Result<f64, String> {
        let bed = bed(bench, RECORDS, Durability::Sync)?.0;
        bed.settle();
        Ok(bed.updates(WORKERS, time / 2)?.rate)
    };
    let first = ours()?;
    let peer = match crate::store_fjall::updates(&bench.scratch.path("fjall"), RECORDS, WORKERS, time) {
        Ok(rate) => rate,
        Err(why) => return Ok(Measured::skipped(&why)),
    };
    let rate = first.midpoint(ours()?);
    let detail = format!("{rate:.0} by {peer:.0}/s, {} s each, floor {:.0}/s", time.as_secs(), floor_of(bench)?);
    Ok(Measured { value: rate / peer, detail })
}

/// Measures `quayline file load` of 32-byte records with an EBCDIC key, including the start of the process.
fn load_file(bench: &Bench) -> Result<Measured, String> {
    const RECORDS: u64 = 2_000_000;
    let (input, data) = (bench.scratch.path("load.ebc"), folder(bench));
    let mut bytes = Vec::with_capacity(usize::try_from(RECORDS * 32).unwrap_or(0));
    for number in 0..RECORDS {
        // Digits and letters of code page 37.
        bytes.extend(format!("{number:08}").bytes().map(|digit| digit - b'0' + 0xf0));
        bytes.extend([0xc1; 24]);
    }
    std::fs::write(&input, bytes).map_err(|error| error.to_string())?;
    let run = |arguments: &[&str]| {
        let mut command = vec![bench.quayline.clone().into_os_string(), "file".into()];
        command.extend(arguments.iter().map(Into::into));
        command.extend(["--store".into(), data.clone().into_os_string()]);
        crate::process::run(&bench.this, &command, None)
    };
    let mut rates = Vec::new();
    for _ in 0..3 {
        // Remove the data of the previous run.
        let _ = std::fs::remove_dir_all(&data);
        run(&["define", "LOADED", "--key", "0:8", "--record", "32"])?;
        let began = std::time::Instant::now();
        run(&["load", "LOADED", &input.display().to_string(), "--framing", "fixed:32", "--sorted"])?;
        rates.push(RECORDS as f64 / began.elapsed().as_secs_f64());
    }
    let detail = format!("{RECORDS} records of 32 bytes, floor {:.0}/s", floor_of(bench)?);
    Ok(Measured { value: crate::median(rates.into_iter()) / 1e6, detail })
}

/// Checks that memory stays within the sum of the caches and changes that the settings of a server allow, see `docs/reference/limits.md`.
fn memory(bench: &Bench) -> Result<Measured, String> {
    let records = number("QUAYLINE_BENCH_RECORDS").unwrap_or(5_000_000);
    let (mut most, mut detail) = (0.0f64, Vec::new());
    for records in [RECORDS, records] {
        let found = store_growth::size(&bench.this, &folder(bench), records)?;
        most = most.max(found.peak / 1e6);
        detail.push(format!(
            "{records} records: load {:.2} M/s, read {:.2} us, browse {:.1} M/s, unit {:.1} us CPU, folder {:.0} MB, memory {:.0} MB",
            found.load / 1e6,
            found.read_us,
            found.browse / 1e6,
            found.unit_us,
            found.folder / 1e6,
            found.peak / 1e6
        ));
    }
    Ok(Measured { value: most, detail: detail.join("; ") })
}

/// Returns the number in an environment variable, for runs longer than those of `make bench`.
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

/// Returns the duration of a sustained measurement: the variable `QUAYLINE_BENCH_SECONDS`, or that of `make bench`.
fn sustained(seconds: u64) -> Duration {
    Duration::from_secs(number("QUAYLINE_BENCH_SECONDS").unwrap_or(seconds))
}

fn on_database(bench: &Bench, workers: u64) -> Result<Measured, String> {
    let Some((ours, by_hand)) = crate::store_database::units(&bench.scratch.path("postgres"), workers, DATABASE_TIME)?
    else {
        return Ok(Measured::skipped("PostgreSQL is not installed"));
    };
    Ok(Measured {
        value: ours / by_hand,
        detail: format!(
            "{ours:.0} by {by_hand:.0}/s, three times {} s by turns, floor {:.0}/s",
            DATABASE_TIME.as_secs_f64(),
            floor_of(bench)?
        ),
    })
}

fn reopened(bench: &Bench) -> Result<Measured, String> {
    let bed = bed(bench, RECORDS, Durability::Buffered)?.0;
    let (first, count) = store_growth::reopened(bed, &folder(bench))?;
    Ok(Measured { value: first, detail: format!("and {count:.2} s more to the exact depth") })
}
