//! Measurements of an aging store: slow commits, queues after many messages and of great depth, restarts, the size of the data folder.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quayline_store::StoreError;
use quayline_store::queue::{GetWait, Message, Select};
use quayline_store::save::{SaveOptions, save};
use quayline_store_embedded::Durability;

use crate::clock::cpu_of;
use crate::unit_of_work::{Bed, open, text};

/// Messages that a queue has seen before it is measured again.
pub const MESSAGES: u64 = 1_000_000;

/// Commits of several workers, one by one.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// Commits.
    pub count: usize,
    /// Milliseconds that 999 of 1,000 commits stay below.
    pub p999_ms: f64,
    /// Milliseconds of the longest.
    pub max_ms: f64,
    /// Number of saves that ran during the measurement.
    pub saves: u64,
    /// Bytes written to the disks by all processes for each commit; `None` if the system does not count them.
    pub device_bytes: Option<f64>,
}

/// Measures the time of each commit while the applier, segment changes and saves run.
///
/// # Errors
/// Errors of the store.
pub fn latency(bed: &Bed, workers: u64, time: Duration) -> Result<Latency, String> {
    let stop = AtomicBool::new(false);
    let before = written_bytes();
    let mut saves = 0;
    let mut all = std::thread::scope(|scope| {
        let saver = scope.spawn(|| {
            let mut saves = 0;
            while !stop.load(Ordering::Relaxed) {
                save(bed.store.engine().as_ref(), &mut std::io::sink(), SaveOptions::default(), "a save")?;
                saves += 1;
                std::thread::sleep(Duration::from_secs(1));
            }
            Ok::<u64, StoreError>(saves)
        });
        let workers: Vec<_> = (0..workers)
            .map(|me| {
                let stop = &stop;
                scope.spawn(move || {
                    let (mut seed, mut times) = (0x9e37_79b9 ^ (me + 1), Vec::new());
                    while !stop.load(Ordering::Relaxed) {
                        let unit = bed.unit(&mut seed, times.len() as u64 + me)?;
                        let began = Instant::now();
                        unit.commit()?;
                        times.push(began.elapsed().as_secs_f64() * 1e3);
                    }
                    Ok::<_, StoreError>(times)
                })
            })
            .collect();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().map_err(|_| "a worker panicked".to_owned())?.map_err(text)?);
        }
        saves = saver.join().map_err(|_| "a save panicked".to_owned())?.map_err(text)?;
        Ok::<_, String>(all)
    })?;
    all.sort_by(f64::total_cmp);
    let last = all.last().copied().ok_or("no commit ended")?;
    let p999 = all[(all.len() * 999 / 1000).min(all.len() - 1)];
    let bytes = before.zip(written_bytes()).map(|(before, now)| (now - before) as f64 / all.len() as f64);
    Ok(Latency { count: all.len(), p999_ms: p999, max_ms: last, saves, device_bytes: bytes })
}

/// Bytes that were written to the disks of this machine since it started. The figures of a process count whole pages of its files.
fn written_bytes() -> Option<u64> {
    const SECTOR: u64 = 512;
    let counts = std::fs::read_to_string("/proc/diskstats").ok()?;
    let sectors = counts.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let name = fields.get(2)?;
        // A partition is a part of its disk, and the others lie on one.
        let is_disk = Path::new("/sys/block").join(name).join("device").exists();
        if is_disk { fields.get(9)?.parse::<u64>().ok() } else { None }
    });
    let sectors: Vec<u64> = sectors.collect();
    (!sectors.is_empty()).then(|| sectors.iter().sum::<u64>() * SECTOR)
}

/// Returns the CPU microseconds of one put and one get, in units of work of 100 messages.
fn put_and_get(bed: &Bed, messages: u64) -> Result<f64, String> {
    let queue = &bed.queues[1];
    let (done, cpu) = cpu_of(|| -> Result<(), StoreError> {
        for _ in 0..messages / 100 {
            let mut unit = bed.store.begin()?;
            for _ in 0..100 {
                queue.put(&mut unit, &Message::new(vec![5; 200]))?;
            }
            unit.commit()?;
            let mut unit = bed.store.begin()?;
            for _ in 0..100 {
                queue.get(&mut unit, Select::First, GetWait::No)?;
            }
            unit.commit()?;
        }
        Ok(())
    });
    done.map_err(text)?;
    Ok(cpu.as_secs_f64() * 1e6 / messages as f64)
}

/// Returns the CPU time of a message before and after [`MESSAGES`] messages passed through the queue, and the size of the data folder some seconds
/// later.
///
/// # Errors
/// Errors of the store.
pub fn passing(bed: &Bed, folder: &Path) -> Result<(f64, f64, u64), String> {
    let samples = |count: usize| (0..count).map(|_| put_and_get(bed, 10_000)).collect::<Result<Vec<_>, _>>();
    put_and_get(bed, 10_000)?;
    let first = crate::median(samples(5)?.into_iter());
    put_and_get(bed, messages())?;
    let last = crate::median(samples(5)?.into_iter());
    bed.settle();
    std::thread::sleep(Duration::from_secs(2));
    let bytes = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let bytes = bytes.flatten().filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum();
    Ok((first, last, bytes))
}

/// Returns the CPU time of a message on an empty queue and on one with [`MESSAGES`] others.
///
/// # Errors
/// Errors of the store.
pub fn deep(bed: &Bed) -> Result<(f64, f64), String> {
    put_and_get(bed, 10_000)?;
    let samples = || (0..5).map(|_| put_and_get(bed, 10_000)).collect::<Result<Vec<_>, _>>();
    let empty = crate::median(samples()?.into_iter());
    deepen(bed)?;
    bed.settle();
    Ok((empty, crate::median(samples()?.into_iter())))
}

/// Messages that go through a queue or stay on it: the variable `QUAYLINE_BENCH_MESSAGES`, or [`MESSAGES`].
fn messages() -> u64 {
    let wanted = std::env::var("QUAYLINE_BENCH_MESSAGES").ok().and_then(|count| count.parse().ok());
    wanted.unwrap_or(MESSAGES)
}

fn deepen(bed: &Bed) -> Result<(), String> {
    for _ in 0..messages() / 1000 {
        let mut unit = bed.store.begin().map_err(text)?;
        for _ in 0..1000 {
            bed.queues[1].put(&mut unit, &Message::new(vec![5; 200])).map_err(text)?;
        }
        unit.commit().map_err(text)?;
    }
    Ok(())
}

/// Returns the seconds from opening the store to the first message of a queue with [`MESSAGES`], and from there to its exact depth.
///
/// # Errors
/// Errors of the store.
pub fn reopened(bed: Bed, folder: &Path) -> Result<(f64, f64), String> {
    deepen(&bed)?;
    bed.settle();
    drop(bed);
    let began = Instant::now();
    let store = open(folder, Durability::Buffered)?;
    let queue = store.queue("B").map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    queue.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
    let first = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let depth = queue.facts().map_err(text)?.depth;
    if depth != messages() / 1000 * 1000 {
        return Err(format!("the queue holds {depth} messages"));
    }
    Ok((first, began.elapsed().as_secs_f64()))
}

/// Argument of this program that makes it the child of [`restart`].
pub const CHILD: &str = "--store-child";

/// Opens units of work that stay open, and commits others until the parent process kills it. The arguments are the folder, the number of open units, the
/// number of other units after which it reports, and the number of changes in each of these.
///
/// # Errors
/// Errors of the store.
pub fn child(arguments: &[std::ffi::OsString]) -> Result<(), String> {
    let number = |text: &std::ffi::OsString| text.to_str().and_then(|text| text.parse::<u64>().ok());
    let [folder, numbers @ ..] = arguments else { return Err("expected a folder".to_owned()) };
    let numbers: Option<Vec<u64>> = numbers.iter().map(number).collect();
    let Some(&[open_units, units, changes]) = numbers.as_deref() else {
        return Err("expected three numbers".to_owned());
    };
    let bed = Bed::new(Path::new(folder), crate::unit_of_work::RECORDS, Durability::Sync)?.0;
    let _open: Vec<_> = (0..open_units).map(|turn| bed.unit_at(turn, turn).map_err(text)).collect::<Result<_, _>>()?;
    let queue = &bed.queues[1];
    let mut told = false;
    loop {
        for _ in 0..1000 / changes {
            let mut unit = bed.store.begin().map_err(text)?;
            for _ in 0..changes {
                queue.put(&mut unit, &Message::new(vec![5; 200])).map_err(text)?;
            }
            unit.submit_with(Box::new(|_| ()));
        }
        // The store limits the number of open units: the others end before this one.
        let mut last = bed.store.begin().map_err(text)?;
        queue.put(&mut last, &Message::new(vec![5; 200])).map_err(text)?;
        last.commit().map_err(text)?;
        if !std::mem::replace(&mut told, bed.store.facts().units > units) && told {
            let _ = writeln!(std::io::stdout(), "ready");
        }
    }
}

/// Returns the seconds from opening the folder of a killed process to the first message, and the number of replayed log bytes. The process had `held`
/// units open, and committed `units` others of `changes` each.
///
/// # Errors
/// Errors of the store or the system.
pub fn restart(this: &Path, folder: &Path, [held, units, changes]: [u64; 3]) -> Result<(f64, u64), String> {
    let said = |error: std::io::Error| error.to_string();
    let mut command = Command::new(this);
    command.arg(CHILD).arg(folder).args([held, units, changes].map(|number| number.to_string()));
    command.stdout(Stdio::piped());
    let mut child = command.spawn().map_err(said)?;
    let output = child.stdout.take().ok_or("no output of the child")?;
    let line = std::io::BufReader::new(output).lines().next();
    child.kill().map_err(said)?;
    child.wait().map_err(said)?;
    line.ok_or("the child ended early")?.map_err(said)?;
    let began = Instant::now();
    let store = open(folder, Durability::Sync)?;
    let queue = store.queue("A").map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    queue.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
    let seconds = began.elapsed().as_secs_f64();
    Ok((seconds, store.facts().log_bytes))
}

/// Argument of this program that makes it the child of [`size`].
pub const SIZE_CHILD: &str = "--store-size";

/// Costs of a store by its number of records.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Records loaded a second.
    pub load: f64,
    /// Microseconds of a random read.
    pub read_us: f64,
    /// CPU microseconds of a durable unit of work of 5 workers.
    pub unit_us: f64,
    /// Records that a browse gives a second.
    pub browse: f64,
    /// Bytes of the data folder.
    pub folder: f64,
    /// Largest memory of the process, in bytes.
    pub peak: f64,
}

/// Measures a store. The arguments are its folder and its number of records, each of 32 bytes. Returns the figures as one line.
///
/// # Errors
/// Errors of the store.
pub fn size_child(arguments: &[std::ffi::OsString]) -> Result<String, String> {
    const READS: u64 = 500_000;
    let [folder, records] = arguments else { return Err("expected a folder and a number".to_owned()) };
    let records = records.to_str().and_then(|text| text.parse().ok()).ok_or("expected a number")?;
    let (bed, load) = Bed::new(Path::new(folder), records, Durability::Sync)?;
    bed.settle();
    let read_us = 1e6 / bed.reads(1, READS)?;
    let browse = bed.browse()?;
    let unit_us = bed.units(5, Duration::from_secs(3))?.cpu_us;
    bed.settle();
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let bytes: u64 = entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum();
    Ok(format!("{load} {read_us} {unit_us} {browse} {bytes}"))
}

/// Measures a store with `records` records of 32 bytes in a separate process, which has the peak memory of this store only.
///
/// # Errors
/// Errors of the store or the system.
pub fn size(this: &Path, folder: &Path, records: u64) -> Result<Size, String> {
    let command = [this.into(), SIZE_CHILD.into(), folder.into(), records.to_string().into()];
    let output = folder.with_extension("figures");
    let peak = crate::process::run(this, &command, Some(&output))?.peak_bytes as f64;
    let text = std::fs::read_to_string(&output).map_err(|error| error.to_string())?;
    let found: Option<Vec<f64>> = text.split_whitespace().map(|number| number.parse().ok()).collect();
    let Some(&[load, read_us, unit_us, browse, folder]) = found.as_deref() else {
        return Err(format!("the figures are {text}"));
    };
    Ok(Size { load, read_us, unit_us, browse, folder, peak })
}
