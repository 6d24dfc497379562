//! Inputs made to be slow: every shape is one unit repeated in one place of an otherwise good file, and cost must grow as its size does.
//!
//! A reader that looks back, rescans a gap, or keeps a list for each delimiter is fast on every real file and never ends on one of these. Each
//! [`Shape`] runs through the `quayline` command at several sizes up to 64 MB. The results are the exponents of CPU time, less the time of an empty
//! run, and of peak memory over size. A run that a limit refuses costs almost nothing and passes. Requests go to a running server
//! ([`measure_http`]).

mod http;
mod shapes;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::iter;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use http::measure as measure_http;
pub use shapes::{Format, formats};

use crate::process::{self, Ended};

/// Bytes of the files that every run reads, smallest first. The good file, about 1 KB, comes before them.
const SIZES: [usize; 2] = [64 << 10, 1 << 20];
/// Bytes of the largest file.
pub const BYTES_MAX: usize = 64 << 20;
/// Bytes of the largest file for a command that takes long, see [`CPU_SECONDS_WHOLE`].
const BYTES_SLOW: usize = 8 << 20;
/// Bytes of the largest file for a command that takes longer still, see [`CPU_SECONDS_SLOW`].
const BYTES_SLOWEST: usize = 4 << 20;
/// CPU seconds that the largest file may take by the time of a smaller one; else [`BYTES_SLOW`] bytes are the most. Rejecting 64 million records of a
/// byte is honest work of a minute, and all such shapes together would take half an hour.
const CPU_SECONDS_WHOLE: f64 = 0.7;
/// CPU seconds that a file of [`BYTES_SLOW`] bytes may take by the time of 1 MB; else [`BYTES_SLOWEST`] bytes are the most. Eight million empty lines are
/// eight million findings; a few such shapes took half of the time of a format, and noise is small beside runs of a second.
const CPU_SECONDS_SLOW: f64 = 1.0;
/// Environment variable: with any value, every command reads [`BYTES_MAX`] bytes, however long it takes.
const WHOLE: &str = "QUAYLINE_BENCH_HOSTILE_WHOLE";
/// CPU seconds that one run may take before it counts as endless. The slowest honest shape takes about twenty on a busy machine.
const CPU_SECONDS_MAX: u32 = 100;
/// CPU time below which a run does not show growth: starting a process has noise of this magnitude.
const NOISE_S: f64 = 0.02;

/// Runs of the good file: the shortest is what starting takes.
const STARTS: usize = 5;

/// One unit repeated between what makes the rest of the file good.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Place and unit.
    pub name: String,
    /// Bytes before the units.
    pub before: Vec<u8>,
    /// Repeated bytes.
    pub unit: Vec<u8>,
    /// Bytes after the units.
    pub after: Vec<u8>,
}

impl Shape {
    /// Writes a file of about `bytes` bytes.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write(&self, path: &Path, bytes: usize) -> io::Result<()> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        file.write_all(&self.before)?;
        // Blocks of units: a write call for each byte of a gap would take longer than the run that is measured.
        let block = self.unit.repeat((64 << 10) / self.unit.len().max(1) + 1);
        let mut left = bytes / self.unit.len().max(1) * self.unit.len();
        while left > 0 {
            let part = left.min(block.len());
            file.write_all(&block[..part])?;
            left -= part;
        }
        file.write_all(&self.after)?;
        file.flush()
    }
}

/// Growth of the cost of one shape with one command.
#[derive(Clone, Debug)]
pub struct Growth {
    /// Format, command and shape.
    pub name: String,
    /// Exponent of CPU time over size from 1 KB to the largest size, without a bend; 0 where the run is too short to say.
    pub exponent: f64,
    /// Exponent of peak memory over size, from 1 MB to the largest size; 0 if it needs no more than a good file.
    pub memory_exponent: f64,
    /// CPU seconds at the largest size.
    pub cpu_s: f64,
    /// The largest size, bytes.
    pub bytes: usize,
    /// Peak memory at the largest size, bytes.
    pub peak_bytes: u64,
}

/// Runs every shape of `format` under each of its commands. It uses every core, since it compares CPU time.
///
/// # Errors
/// A run that ends by a signal, takes longer than its limit, or ends with the status of a fault of ours.
pub fn measure(this: &Path, quayline: &Path, folder: &Path, format: &Format) -> Result<Vec<Growth>, String> {
    let runner = Runner { this, quayline, folder, format };
    let mut starts = Vec::new();
    // A command that refuses its own options is fast on every shape: the good file shows that it reads.
    if let Some(shape) = format.shapes.first() {
        let file = folder.join(format!("hostile-good.{}", format.extension));
        shape.write(&file, 0).map_err(|error| format!("{}: {error}", file.display()))?;
        for command in &format.commands {
            let ended = runner.run(command, &file, "the good file")?;
            if ended.status == Some(2) {
                return Err(format!("{}: `quayline {}` cannot be used on a good file", format.name, command.join(" ")));
            }
            let mut start = (ended.cpu.as_secs_f64(), ended.peak_bytes);
            for _ in 1..STARTS {
                let ended = runner.run(command, &file, "the good file")?;
                start = (start.0.min(ended.cpu.as_secs_f64()), start.1.max(ended.peak_bytes));
            }
            starts.push(start);
        }
    }
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut found = Vec::new();
        while let Some(shape) = format.shapes.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.extend(runner.shape(shape, &starts)?);
        }
        Ok::<_, String>(found)
    };
    let parts: Vec<Result<Vec<Growth>, String>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".to_owned())))
            .collect()
    });
    let mut found = Vec::new();
    for part in parts {
        found.extend(part?);
    }
    Ok(found)
}

/// Cost of one shape with one command, by size.
struct Curve {
    /// CPU seconds of the smallest file.
    small: f64,
    /// Bytes and CPU seconds of larger files, smallest first.
    points: Vec<(usize, f64)>,
    /// Peak memory at the last of [`SIZES`], bytes.
    peak_at_last: u64,
    /// Peak memory at the largest size, bytes.
    peak: u64,
}

impl Curve {
    fn largest(&self) -> (usize, f64) {
        *self.points.last().expect("curves begin with a point")
    }

    fn exponent(&self) -> f64 {
        let last = SIZES[SIZES.len() - 1];
        let at_last = self.points.iter().find(|(size, _)| *size == last).map_or(self.small, |(_, cpu_s)| *cpu_s);
        exponent(&self.points).max(exponent_of_small(self.small, at_last))
    }

    /// Records a repeated run.
    fn repeated(&mut self, size: usize, cpu_s: f64) {
        if size == SIZES[0] {
            self.small = self.small.min(cpu_s);
            return;
        }
        match self.points.binary_search_by_key(&size, |(known, _)| *known) {
            Ok(place) => self.points[place].1 = self.points[place].1.min(cpu_s),
            Err(place) => self.points.insert(place, (size, cpu_s)),
        }
    }
}

/// Runs commands of one format.
struct Runner<'a> {
    this: &'a Path,
    quayline: &'a Path,
    folder: &'a Path,
    format: &'a Format,
}

impl Runner<'_> {
    /// Runs one shape under each command. `starts` holds each command's time and memory for the good file.
    fn shape(&self, shape: &Shape, starts: &[(f64, u64)]) -> Result<Vec<Growth>, String> {
        let name = format!("hostile-{:?}.{}", std::thread::current().id(), self.format.extension);
        let file = self.folder.join(name.replace(['(', ')'], ""));
        let write = |bytes| shape.write(&file, bytes).map_err(|error| format!("{}: {error}", file.display()));
        let own = |ended: &Ended, start: f64| (ended.cpu.as_secs_f64() - start).max(NOISE_S / 16.0);
        let mut known = vec![[(0.0, 0); SIZES.len()]; starts.len()];
        for (place, size) in SIZES.into_iter().enumerate() {
            write(size)?;
            for ((command, (start, _)), known) in self.format.commands.iter().zip(starts).zip(&mut known) {
                let ended = self.run(command, &file, &shape.name)?;
                known[place] = (own(&ended, *start), ended.peak_bytes);
            }
        }
        let last = SIZES[SIZES.len() - 1];
        let is_whole = std::env::var_os(WHOLE).is_some();
        let is_slow = |cpu_s: f64, bytes: usize| cpu_s * (BYTES_MAX / bytes) as f64 > CPU_SECONDS_WHOLE && !is_whole;
        // The time of a megabyte says little of a reader that stops at a limit or begins to count findings there.
        let mut curves: Vec<Curve> = known
            .iter()
            .map(|[small, at_last]| Curve {
                small: small.0,
                peak_at_last: at_last.1,
                points: vec![(last, at_last.0)],
                peak: 0,
            })
            .collect();
        for bytes in [BYTES_SLOWEST, BYTES_SLOW, BYTES_MAX] {
            let mut is_written = false;
            for ((column, curve), [_, (at_last, _)]) in curves.iter_mut().enumerate().zip(&known) {
                let is_slowest = at_last * (BYTES_SLOW / last) as f64 > CPU_SECONDS_SLOW && !is_whole;
                let is_wanted = match bytes {
                    BYTES_SLOWEST => is_slowest,
                    BYTES_SLOW => !is_slowest,
                    _ => !is_slowest && !curve.points.iter().any(|(size, cpu_s)| is_slow(*cpu_s, *size)),
                };
                if !is_wanted {
                    continue;
                }
                if !is_written {
                    write(bytes)?;
                    is_written = true;
                }
                let ended = self.run(&self.format.commands[column], &file, &shape.name)?;
                curve.points.push((bytes, own(&ended, starts[column].0)));
                curve.peak = ended.peak_bytes;
            }
        }
        let mut found = Vec::new();
        for (column, (mut curve, (start, resting))) in curves.into_iter().zip(starts).enumerate() {
            let command = &self.format.commands[column];
            let (bytes, _) = curve.largest();
            // A busy neighbour can only slow a run, and a reader that begins to count findings has a bend: the shortest of
            // several runs counts, and growth on both sides of a bend. Memory depends on when threads take a block.
            let of_memory = |curve: &Curve| memory_exponent(*resting, curve.peak_at_last, curve.peak, bytes / last);
            for _ in 0..REPEATS_MAX {
                if curve.exponent() <= EXPONENT_MAX && of_memory(&curve) <= EXPONENT_MAX {
                    break;
                }
                for size in iter::once(SIZES[0]).chain(repeated_sizes(bytes)) {
                    write(size)?;
                    let ended = self.run(command, &file, &shape.name)?;
                    curve.repeated(size, own(&ended, *start));
                    match size {
                        _ if size == bytes => curve.peak = curve.peak.min(ended.peak_bytes),
                        _ if size == last => curve.peak_at_last = curve.peak_at_last.max(ended.peak_bytes),
                        _ => {}
                    }
                }
            }
            found.push(Growth {
                name: format!("{} {}: {}", self.format.name, command[0], shape.name),
                exponent: curve.exponent(),
                memory_exponent: of_memory(&curve),
                cpu_s: curve.largest().1 + start,
                bytes,
                peak_bytes: curve.peak,
            });
        }
        let _ = std::fs::remove_file(&file);
        let _ = std::fs::remove_file(beside(&file, FINDINGS));
        Ok(found)
    }

    fn run(&self, command: &[&str], file: &Path, shape: &str) -> Result<Ended, String> {
        run(self.this, self.quayline, self.folder, command, file, || format!("{}, {shape}", self.format.name))
    }
}

/// Times that the runs of a shape are repeated as long as its growth is above the bar.
const REPEATS_MAX: usize = 4;

/// Growth above which a run is repeated: the bar.
const EXPONENT_MAX: f64 = 1.05;

/// Sizes of repeated runs up to `bytes`, smallest first: enough to find a bend. Bends of findings are a little above a megabyte, so a size below it is
/// among them.
fn repeated_sizes(bytes: usize) -> impl Iterator<Item = usize> {
    let last = SIZES[SIZES.len() - 1];
    let larger = [bytes / 16, bytes / 4, bytes / 2, bytes / 4 * 3, bytes].into_iter().filter(move |size| *size > last);
    [last / 4, last].into_iter().chain(larger)
}

/// Returns the exponent of CPU seconds over bytes, with points sorted by size; 0 if the largest run is within the noise.
///
/// Linear time with a bend has no exponent above one. With the points of [`repeated_sizes`], the exponent is the smaller of two: of all points, and of
/// both sides of an interval, for a reader that does a bounded amount of work once above some size. Quadratic time has two by both.
fn exponent(points: &[(usize, f64)]) -> f64 {
    // Each side has two points at least, and the interval between them is at most fourfold: a wider one could hide growth.
    let sides = (2..points.len().saturating_sub(1))
        .filter(|at| points[*at].0 <= 4 * points[at - 1].0)
        .map(|at| without_bend(&points[..at]).max(without_bend(&points[at..])));
    sides.fold(without_bend(points), f64::min)
}

/// Returns the smaller of two exponents: from the first point to the last, and of the increments from size to size, for a reader that does more for each
/// byte above some size.
fn without_bend(points: &[(usize, f64)]) -> f64 {
    let (Some((first, small)), Some((last, large))) = (points.first(), points.last()) else { return 0.0 };
    let whole = grown(*small, *large, *last as f64 / *first as f64);
    if points.len() < 3 {
        return whole;
    }
    // The middle is half of the largest size, or a little more.
    let middle = points.partition_point(|(size, _)| *size < last / 2).clamp(1, points.len() - 2);
    let (b, at_b) = points[middle];
    let slopes = [(at_b - small) / (b - first) as f64, (large - at_b) / (last - b) as f64];
    // Slopes that fall say nothing of the first interval, which a quadratic part up to a limit may fill.
    if slopes[0] <= 0.0 || slopes[1] < slopes[0] / 2.0 {
        return whole.max(grown(*small, at_b, b as f64 / *first as f64));
    }
    // The slopes apply to the midpoints of the two intervals.
    let apart = (b + last) as f64 / (first + b) as f64;
    whole.min(1.0 + (slopes[1] / slopes[0]).ln() / apart.ln())
}

/// Returns the exponent of CPU seconds from the good file of 1 KB to the file of 64 KB, or from there to that of 1 MB, whichever is larger. A reader
/// that is slow up to a limit, and refuses what is larger, shows only here. Times within the noise count as the noise, so that linear time has at most
/// one.
fn exponent_of_small(at_small: f64, at_last: f64) -> f64 {
    let of = |small: f64, large: f64, by: usize| (large / small.max(NOISE_S)).ln().max(0.0) / (by as f64).ln();
    of(0.0, at_small, SIZES[0] >> 10).max(of(at_small, at_last, SIZES[1] / SIZES[0]))
}

/// Bytes of memory below which a run does not show growth: buffers and the allocator's reserve.
const NOISE_BYTES: u64 = 4 << 20;

/// Factor of peak memory that does not count as growth: a buffer that doubles may be twice as large as its content at one size, and full at another.
const NOISE_FACTOR: f64 = 1.25;

/// Returns the exponent of peak memory, without that of a good file, between two sizes whose ratio is `by`. 0 if the larger run is within the noise.
fn memory_exponent(resting: u64, small: u64, large: u64, by: usize) -> f64 {
    let of = |peak: u64| peak.saturating_sub(resting).max(NOISE_BYTES) as f64;
    (of(large) / of(small) / NOISE_FACTOR).ln().max(0.0) / (by as f64).ln()
}

/// The exponent of growth between two sizes whose ratio is `by`; 0 if the larger run is within the noise.
fn grown(small: f64, large: f64, by: f64) -> f64 {
    if large < NOISE_S * by.sqrt() { 0.0 } else { (large / small.max(NOISE_S / by)).ln() / by.ln() }
}

fn run(
    this: &Path,
    quayline: &Path,
    folder: &Path,
    command: &[&str],
    file: &Path,
    name: impl Fn() -> String,
) -> Result<Ended, String> {
    let mut words: Vec<OsString> = vec![quayline.into()];
    for word in command {
        words.push(match *word {
            "FILE" => file.into(),
            word if word.starts_with("FILE.") => beside(file, &word["FILE".len()..]),
            word => match word.strip_prefix("FOLDER/") {
                Some(name) => folder.join(name).into(),
                None => word.into(),
            },
        });
    }
    // A finding for each record of one byte is 200 times the input. They go to a device, so a run costs what it costs to find and to describe them.
    let findings = beside(file, FINDINGS);
    match std::os::unix::fs::symlink("/dev/null", &findings) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(format!("{}: {error}", Path::new(&findings).display()));
        }
        _ => {}
    }
    let ended = process::run_bounded(this, &words, CPU_SECONDS_MAX)?;
    let _ = std::fs::remove_file(beside(file, ".rejects"));
    match ended.status {
        // Done, data refused, unusable definition, stopped.
        Some(0..=3) => Ok(ended),
        status => {
            let how = status.map_or_else(|| "by a signal".to_owned(), |status| format!("with status {status}"));
            let cpu = ended.cpu.as_secs_f64();
            Err(format!("{}: `quayline {}` ended {how} after {cpu:.1} s of CPU", name(), command.join(" ")))
        }
    }
}

/// Ending of the findings file of a run whose rejects are in `FILE.rejects`.
const FINDINGS: &str = ".rejects.findings.jsonl";

/// Returns the name of a file with an ending appended.
fn beside(file: &Path, ending: &str) -> OsString {
    [file.as_os_str(), ending.as_ref()].into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_forty_shapes() {
        for format in formats() {
            assert!(format.shapes.len() >= 40, "{} has {}", format.name, format.shapes.len());
            let mut names: Vec<&str> = format.shapes.iter().map(|shape| shape.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), format.shapes.len(), "{}: names repeat", format.name);
        }
    }

    #[test]
    fn a_square_has_the_exponent_two() {
        assert!((grown(1.0, 256.0, 16.0) - 2.0).abs() < 1e-9);
        assert!(grown(0.001, 0.001, 16.0).abs() < 1e-9);
    }

    #[test]
    fn a_bend_is_no_growth() {
        let of = |bytes: usize, time: fn(f64) -> f64| {
            let points: Vec<_> =
                repeated_sizes(bytes).map(|size| (size, time(size as f64 / f64::from(1 << 20)))).collect();
            exponent(&points)
        };
        for bytes in [BYTES_MAX, BYTES_SLOW] {
            assert!((of(bytes, |mb| mb * mb) - 2.0).abs() < 0.05, "{}", of(bytes, |mb| mb * mb));
            assert!(of(bytes, |mb| mb.powf(1.2)) > 1.15);
            assert!((of(bytes, |mb| 0.1 * mb) - 1.0).abs() < 1e-9);
            assert!(of(bytes, |mb| 0.02 * mb + 0.11 * (mb - 1.2).max(0.0)) < 1.01);
            assert!(of(bytes, |mb| 0.04 * mb + 0.11 * (mb - 3.0).max(0.0)) < 1.01);
            // A square up to a limit.
            assert!(of(bytes, |mb| 0.3 * mb.min(4.0).powi(2)) > EXPONENT_MAX);
        }
        assert!((of(BYTES_SLOWEST, |mb| mb * mb) - 2.0).abs() < 0.05, "{}", of(BYTES_SLOWEST, |mb| mb * mb));
        assert!(of(BYTES_SLOWEST, |mb| mb.powf(1.2)) > 1.15);
        assert!(of(BYTES_SLOWEST, |mb| 0.02 * mb + 0.11 * (mb - 1.2).max(0.0)) < 1.01);
        // A step: what a reader does once for a line that is longer than its limit.
        assert!(of(BYTES_MAX, |mb| 0.0003 * mb + if mb > 15.0 { 0.4 } else { 0.0 }) < 1.01);
        assert!(of(BYTES_MAX, |mb| 0.0003 * mb + if mb > 16.0 { 0.4 } else { 0.0 }) < 1.01);
        assert!(of(BYTES_MAX, |mb| 0.01 * mb + 0.01 * (mb - 16.0).max(0.0).powi(2)) > 1.5);
        assert!(of(BYTES_MAX, |mb| 0.01 * mb.min(16.0).powi(2)) > 1.2);
    }

    #[test]
    fn a_reader_that_a_limit_stops_above_a_megabyte_shows_its_growth() {
        let of = |time: fn(f64) -> f64| exponent_of_small(time(64.0), time(1024.0));
        assert!(of(|kb| kb * 0.0005) < 1.001);
        assert!(of(|kb| kb * 0.000_01) < 1.001);
        assert!((of(|kb| kb * kb * 0.00001) - 2.0).abs() < 0.05, "{}", of(|kb| kb * kb * 0.00001));
        assert!(of(|kb| if kb > 100.0 { 0.0 } else { kb * kb * 0.0005 }) > 1.05);
    }

    #[test]
    fn memory_of_a_good_file_is_no_growth() {
        let of = |small: u64, large: u64| memory_exponent(10 << 20, small << 20, large << 20, 64);
        assert!(of(10, 13).abs() < 1e-9);
        assert!((of(14, 10 + 5 * 64) - 1.0).abs() < 1e-9);
        assert!(of(14, 10 + 8 * 64) > 1.1);
        assert!(memory_exponent(10 << 20, 14 << 20, (10 + 4 * 64) << 20, 8) > 1.8);
    }
}
