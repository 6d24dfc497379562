//! Record files: any copybook to JSON, Parquet and back, at memory speed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Area, Bar, Bench, Measured, Side};
use crate::ceiling::{cached_copy, scalar_translate};
use crate::data::{DisplayHeavy, PackedHeavy};
use crate::process::{self, Usage};
use crate::subject::Subject;
use crate::{Run, compare};

pub(super) const BARS: &[Bar] = &[
    ratio("CAR100 to JSON, by a cached copy of the JSON", 0.05, |_| car_to_json()),
    ratio("DISPLAY-heavy to JSON, by a scalar translate", 0.25, |_| to_json(&Subject::display_heavy()?)),
    ratio("COMP-3-heavy to JSON, by a scalar translate", 0.12, |_| to_json(&Subject::packed_heavy()?)),
    ratio("JSON to DISPLAY-heavy, by a scalar translate", 0.07, |_| from_json(&Subject::display_heavy()?)),
    ratio("JSON to CAR100, by a scalar translate", 0.07, |_| from_json(&Subject::cars()?)),
    ratio("DISPLAY-heavy to Parquet, by a scalar translate", 0.10, |_| to_parquet(&Subject::display_heavy()?)),
    ratio("two threads by one, DISPLAY-heavy to JSON, wall", 1.7, |bench| two_threads(bench, DISPLAY)),
    ratio("two threads by one, COMP-3-heavy to JSON, wall", 1.7, |bench| two_threads(bench, PACKED)),
    memory("peak memory, DISPLAY-heavy to JSON, 1 GB", |bench| peak(bench, DISPLAY, "jsonl", "1")),
    memory("peak memory, COMP-3-heavy to JSON, 1 GB, two threads", |bench| peak(bench, PACKED, "jsonl", "2")),
    memory("peak memory, DISPLAY-heavy to Parquet, 1 GB", peak_parquet),
    memory("peak memory, JSON to DISPLAY-heavy, 1 GB", peak_from_json),
    growth("peak memory, 1 GB by 10 MB, DISPLAY-heavy to JSON", 1.1, |bench| memory_growth(bench, "jsonl", 0)),
    // A row group is 16 MB of pages, which 10 MB of records do not fill: there the peak is lower, and from 100 MB on it is flat.
    growth("peak memory, 1 GB by 100 MB, DISPLAY-heavy to Parquet", 1.1, |bench| memory_growth(bench, "parquet", 1)),
    Bar { unit: "exponent", ..growth("CPU time by size, 1 MB to 1 GB, DISPLAY-heavy to JSON", 1.02, size_exponent) },
    // A name of 8 letters for every 5 bytes of data is harder on both.
    ratio("JSON to COMP-3-heavy, by a scalar translate", 0.07, |_| from_json(&Subject::packed_heavy()?)),
    ratio("COMP-3-heavy to Parquet, by a scalar translate", 0.12, |_| to_parquet(&Subject::packed_heavy()?)),
];

const fn ratio(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Records, name, bar, side: Side::AtLeast, unit: "ratio", measure }
}

const fn growth(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Records, name, bar, side: Side::AtMost, unit: "ratio", measure }
}

const fn memory(name: &'static str, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Records, name, bar: 64.0, side: Side::AtMost, unit: "MB", measure }
}

fn car_to_json() -> Result<Measured, String> {
    let subject = Subject::cars()?;
    let json = || {
        let done = subject.to_json();
        Run { bytes: done.output_bytes, cpu: done.cpu }
    };
    let records = subject.records() as f64;
    let cpu_per_record = json().cpu.as_secs_f64() * 1e6 / records;
    let found = compare(cached_copy, json);
    let mut measured = Measured::from(found);
    measured.detail.push_str(&format!(", {cpu_per_record:.1} us a record"));
    Ok(measured)
}

fn to_json(subject: &Subject) -> Result<Measured, String> {
    let translate = || scalar_translate(subject.bytes());
    Ok(compare(translate, || subject.record_rate(subject.to_json())).into())
}

fn to_parquet(subject: &Subject) -> Result<Measured, String> {
    let translate = || scalar_translate(subject.bytes());
    Ok(compare(translate, || subject.record_rate(subject.to_parquet())).into())
}

fn from_json(subject: &Subject) -> Result<Measured, String> {
    let json = subject.json();
    let translate = || scalar_translate(subject.bytes());
    Ok(compare(translate, || subject.record_rate(subject.from_json(&json))).into())
}

/// A kind of record, for the command line.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    copybook: &'static str,
    record_length: usize,
    block: fn() -> Vec<u8>,
}

const DISPLAY: Kind = Kind {
    name: "display-heavy",
    copybook: DisplayHeavy::COPYBOOK,
    record_length: DisplayHeavy::LENGTH,
    block: || DisplayHeavy::records(5_000, 2),
};

const PACKED: Kind = Kind {
    name: "packed-heavy",
    copybook: PackedHeavy::COPYBOOK,
    record_length: PackedHeavy::LENGTH,
    block: || PackedHeavy::records(6_500, 2),
};

const MB: u64 = 1_000_000;

impl Kind {
    /// Returns its copybook and a file of about this many megabytes; both are kept for later measurements.
    fn files(self, bench: &Bench, megabytes: u64) -> Result<(PathBuf, PathBuf), String> {
        let file = format!("{}-{megabytes}.dat", self.name);
        let path = bench.scratch.path(&file);
        if !path.exists() {
            let written = bench.scratch.write_repeated(&file, &(self.block)(), megabytes * MB);
            written.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let copybook = bench.scratch.write(&format!("{}.cpy", self.name), self.copybook.as_bytes());
        Ok((copybook.map_err(|error| error.to_string())?, path))
    }

    /// Runs `quayline convert` on a file of this many megabytes.
    fn convert(
        self,
        bench: &Bench,
        megabytes: u64,
        to: &str,
        jobs: &str,
        output: Option<&Path>,
    ) -> Result<Usage, String> {
        let (copybook, data) = self.files(bench, megabytes)?;
        let mut command: Vec<OsString> = vec![bench.quayline.clone().into(), "convert".into(), data.into()];
        command.extend(["--copybook".into(), copybook.into(), "--encoding".into(), "cp037".into()]);
        command.extend(["--framing".into(), format!("fixed:{}", self.record_length).into()]);
        command.extend(["--to".into(), to.into(), "--jobs".into(), jobs.into()]);
        process::run(&bench.this, &command, output)
    }
}

/// Alternates one thread and two, 400 MB, wall time, and takes the fastest of nine each: other processes can only slow a run, and they slow two
/// threads most.
fn two_threads(bench: &Bench, kind: Kind) -> Result<Measured, String> {
    let (mut one, mut two) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..9 {
        one = one.min(kind.convert(bench, 400, "jsonl", "1", None)?.wall.as_secs_f64());
        two = two.min(kind.convert(bench, 400, "jsonl", "2", None)?.wall.as_secs_f64());
    }
    Ok(Measured { value: one / two, detail: format!("{:.0} ms and {:.0} ms for 400 MB", two * 1e3, one * 1e3) })
}

fn peak(bench: &Bench, kind: Kind, to: &str, jobs: &str) -> Result<Measured, String> {
    let used = kind.convert(bench, 1_000, to, jobs, None)?;
    Ok(megabytes(used))
}

/// Measures peak memory for Parquet. A Parquet writer buffers one row group, which 10 MB do not fill, so its memory is constant only above that.
fn peak_parquet(bench: &Bench) -> Result<Measured, String> {
    let used = |size| Ok::<f64, String>(DISPLAY.convert(bench, size, "parquet", "1", None)?.peak_bytes as f64 / 1e6);
    let peaks = [used(10)?, used(100)?, used(1_000)?];
    Ok(Measured { value: peaks[2], detail: in_sizes(peaks) })
}

fn in_sizes(peaks: [f64; 3]) -> String {
    format!("{:.1}, {:.1}, {:.1} MB for 10 MB, 100 MB, 1 GB", peaks[0], peaks[1], peaks[2])
}

/// Measures peak memory of converting 1 GB of JSON lines to records.
fn peak_from_json(bench: &Bench) -> Result<Measured, String> {
    let json = bench.scratch.path("display-heavy.jsonl");
    // A record of 200 bytes is about 400 bytes of JSON.
    DISPLAY.convert(bench, 500, "jsonl", "2", Some(&json))?;
    let (copybook, _) = DISPLAY.files(bench, 500)?;
    let mut command: Vec<OsString> = vec![bench.quayline.clone().into(), "convert".into(), json.clone().into()];
    command.extend(["--copybook".into(), copybook.into(), "--encoding".into(), "cp037".into()]);
    command.extend([
        "--framing".into(),
        "fixed".into(),
        "--from".into(),
        "json".into(),
        "--to".into(),
        "record".into(),
    ]);
    let used = process::run(&bench.this, &command, None)?;
    let size = std::fs::metadata(&json).map_or(0, |data| data.len());
    std::fs::remove_file(&json).map_err(|error| error.to_string())?;
    let mut measured = megabytes(used);
    measured.detail.push_str(&format!(", {} MB of JSON", size / MB));
    Ok(measured)
}

fn megabytes(used: Usage) -> Measured {
    Measured { value: used.peak_bytes as f64 / 1e6, detail: format!("{:.2} s of CPU", used.cpu.as_secs_f64()) }
}

/// Returns the ratio of the peak for 1 GB to that for 10 MB (`from` 0) or 100 MB (`from` 1).
fn memory_growth(bench: &Bench, to: &str, from: usize) -> Result<Measured, String> {
    let used = |size| Ok::<f64, String>(DISPLAY.convert(bench, size, to, "1", None)?.peak_bytes as f64 / 1e6);
    let peaks = [used(10)?, used(100)?, used(1_000)?];
    Ok(Measured { value: peaks[2] / peaks[from], detail: in_sizes(peaks) })
}

/// Returns the least-squares slope of log CPU time over log size, after subtracting the time of a run on one record, which is constant startup cost.
fn size_exponent(bench: &Bench) -> Result<Measured, String> {
    let cpu = |megabytes: u64, times: usize| -> Result<f64, String> {
        let mut runs = Vec::new();
        for _ in 0..times {
            runs.push(DISPLAY.convert(bench, megabytes, "jsonl", "1", None)?.cpu.as_secs_f64());
        }
        Ok(crate::median(runs.into_iter()))
    };
    // A file of "0 MB" contains one block, which must be small compared with 1 MB.
    let (copybook, _) = DISPLAY.files(bench, 1)?;
    let one = bench.scratch.write("one-record.dat", &DisplayHeavy::records(1, 2)).map_err(|error| error.to_string())?;
    let mut command: Vec<OsString> = vec![bench.quayline.clone().into(), "convert".into(), one.into()];
    command.extend(["--copybook".into(), copybook.into(), "--encoding".into(), "cp037".into()]);
    command.extend(["--framing".into(), "fixed:200".into(), "--to".into(), "jsonl".into()]);
    let mut starts = Vec::new();
    for _ in 0..21 {
        starts.push(process::run(&bench.this, &command, None)?.cpu.as_secs_f64());
    }
    let start = crate::median(starts.into_iter());
    let mut points = Vec::new();
    for (megabytes, times) in [(1, 21), (10, 11), (100, 5), (1_000, 3)] {
        let own = (cpu(megabytes, times)? - start).max(1e-5);
        points.push(((megabytes as f64).ln(), own.ln()));
    }
    let shown: Vec<String> = points.iter().map(|point| format!("{:.1}", point.1.exp() * 1e3)).collect();
    Ok(Measured { value: slope(&points), detail: format!("{} ms for 1, 10, 100, 1000 MB", shown.join(", ")) })
}

/// Returns the least-squares slope.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let (over, under) =
        points.iter().fold((0.0, 0.0), |(o, u), p| (o + (p.0 - mx) * (p.1 - my), u + (p.0 - mx) * (p.0 - mx)));
    over / under
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_square_is_two() {
        let points: Vec<(f64, f64)> = [1.0f64, 10.0, 100.0].iter().map(|x| (x.ln(), (x * x).ln())).collect();
        assert!((slope(&points) - 2.0).abs() < 1e-9);
    }
}
