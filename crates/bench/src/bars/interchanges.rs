//! EDI: read, check, acknowledge and write X12 and EDIFACT.
//!
//! Other programs do not run here: `scripts/peers.sh` measures them and Quayline in one run. A bar defined as a multiple of another
//! program's rate is the ratio of this rate to a scalar translate of 4.7 GB/s, on the machine on which both were measured.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

use super::{Area, Bar, Bench, Measured, Side, rate};
use crate::ceiling::scalar_translate;
use crate::data::Claims;
use crate::interchange::{GUIDE_FILES, Interchange};
use crate::process::{self, Usage};
use crate::{Run, compare, median};

pub(super) const BARS: &[Bar] = &[
    ratio("837P to elements, by writing delimiter positions", 0.25, |_| elements(&Interchange::claims()?)),
    ratio("ORDERS to elements, by writing delimiter positions", 0.25, |_| elements(&Interchange::orders())),
    ratio("837P to elements, by a scalar translate", 0.30, |_| alone(&Interchange::claims()?, Interchange::elements)),
    ratio("837P checked by guide, by a scalar translate", 0.032, |_| {
        alone(&Interchange::claims()?, Interchange::validated)
    }),
    cost("837P checked and 999 written, by checked", 1.1, |_| acknowledged(&Interchange::claims()?)),
    ratio("837P to JSON by guide, checked, by a scalar translate", 0.021, |_| {
        alone(&Interchange::claims()?, Interchange::guide_json)
    }),
    ratio("837P to JSON by guide, by checked", 0.75, |_| {
        let subject = Interchange::claims()?;
        let found = compare(|| subject.validated(), || subject.guide_json());
        Ok(Measured { value: found.ratio, detail: format!("{} and {}", rate(found.ceiling), rate(found.subject)) })
    }),
    ratio("837P to a row a segment in CSV, by generic JSON", 0.5, |bench| by_json(bench, "csv")),
    ratio("837P to a row a segment in Parquet, by generic JSON", 0.5, |bench| by_json(bench, "parquet")),
    ratio("837P to generic JSON, by a scalar translate", 0.053, |_| {
        alone(&Interchange::claims()?, Interchange::to_json)
    }),
    ratio("generic JSON to 837P, by a scalar translate", 0.021, |_| from_json(&Interchange::claims()?)),
    ratio("ORDERS to components, by a scalar translate", 0.113, |_| {
        alone(&Interchange::orders(), Interchange::components)
    }),
    ratio("ORDERS checked and CONTRL written, by a scalar translate", 0.053, |_| {
        alone(&Interchange::orders(), |orders| orders.acknowledged("contrl"))
    }),
    memory("peak memory, 1 GB of claims checked and 999 written", |bench| {
        peak_of(validate(bench, Claims::new(1_056_000))?)
    }),
    memory("peak memory, 60,000 claims from JSON by guide, two threads", |bench| {
        peak_of(back(bench, Claims::new(60_000))?)
    }),
    memory("peak memory, 60,000 claims to a Parquet row a segment", |bench| {
        peak(bench, Claims::new(60_000), "parquet")
    }),
    memory("peak memory, 60,000 claims to a Parquet row a segment, two threads", |bench| {
        peak_of(convert_on(bench, Claims::new(60_000), "parquet", 2)?)
    }),
    memory("peak memory, 200 MB of claims to a Parquet row a segment", |bench| {
        peak(bench, Claims::new(211_200), "parquet")
    }),
    memory("peak memory, 60,000 claims to JSON", |bench| peak(bench, Claims::new(60_000), "jsonl")),
    memory("peak memory, 60,000 claims in one transaction to JSON", |bench| {
        peak(bench, Claims { claims: 60_000, per_transaction: 60_000 }, "jsonl")
    }),
    memory("peak memory, 60,000 claims to XML", |bench| peak(bench, Claims::new(60_000), "xml")),
    memory("peak memory, 60,000 claims to XML, two threads", |bench| {
        peak_of(convert_on(bench, Claims::new(60_000), "xml", 2)?)
    }),
    memory("peak memory, 1 GB of claims to JSON", |bench| peak(bench, Claims::new(1_056_000), "jsonl")),
    Bar {
        unit: "exponent",
        ..cost("CPU time by size, 10 MB to 1 GB, claims to JSON", 1.02, |bench| {
            let (small, large) = (cpu(bench, 10_560, "jsonl", 9)?, cpu(bench, 1_056_000, "jsonl", 1)?);
            let detail = format!("{:.1} ms and {:.0} ms", small * 1e3, large * 1e3);
            Ok(Measured { value: (large / small).ln() / 100.0f64.ln(), detail })
        })
    },
];

pub(super) const ALSO: &[Bar] = &[
    ratio("837P to elements, by positions written in first-level cache", 0.25, |_| {
        by_cached_positions(&Interchange::claims()?)
    }),
    ratio("ORDERS to elements, by positions written in first-level cache", 0.25, |_| {
        by_cached_positions(&Interchange::orders())
    }),
    ratio("837P envelopes checked, by a scalar translate", 0.30, |_| {
        alone(&Interchange::claims()?, Interchange::envelopes)
    }),
    ratio("837P to generic XML, by a scalar translate", 0.032, |_| alone(&Interchange::claims()?, Interchange::to_xml)),
    ratio("ORDERS to generic JSON, by a scalar translate", 0.053, |_| {
        alone(&Interchange::orders(), Interchange::to_json)
    }),
    ratio("ORDERS to generic XML, by a scalar translate", 0.032, |_| {
        alone(&Interchange::orders(), Interchange::to_xml)
    }),
    ratio("generic JSON to ORDERS, by a scalar translate", 0.021, |_| from_json(&Interchange::orders())),
];

const fn ratio(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Edi, name, bar, side: Side::AtLeast, unit: "ratio", measure }
}

const fn cost(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Edi, name, bar, side: Side::AtMost, unit: "ratio", measure }
}

/// Returns a bar of 32 MiB peak memory.
const fn memory(name: &'static str, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Edi, name, bar: 33.554_432, side: Side::AtMost, unit: "MB", measure }
}

fn peak(bench: &Bench, claims: Claims, to: &str) -> Result<Measured, String> {
    peak_of(convert(bench, claims, to)?)
}

fn peak_of(used: Usage) -> Result<Measured, String> {
    Ok(Measured { value: used.peak_bytes as f64 / 1e6, detail: format!("{:.2} s of CPU", used.cpu.as_secs_f64()) })
}

/// Runs `quayline convert` on a file of claims.
fn convert(bench: &Bench, claims: Claims, to: &str) -> Result<Usage, String> {
    convert_on(bench, claims, to, 1)
}

fn convert_on(bench: &Bench, claims: Claims, to: &str, threads: usize) -> Result<Usage, String> {
    let file = claims_file(bench, claims)?;
    let jobs = format!("--jobs={threads}");
    quayline(bench, [OsStr::new("convert"), file.as_ref(), "--to".as_ref(), to.as_ref(), jobs.as_ref()], None)
}

/// Compares the CPU time of two conversions of 10,000 claims: to JSON, and to another format.
fn by_json(bench: &Bench, to: &str) -> Result<Measured, String> {
    let (json, other) = (cpu(bench, 10_000, "jsonl", 5)?, cpu(bench, 10_000, to, 5)?);
    Ok(Measured { value: json / other, detail: format!("{:.0} ms and {:.0} ms", json * 1e3, other * 1e3) })
}

/// Returns the median of the CPU seconds of some conversions.
fn cpu(bench: &Bench, claims: u64, to: &str, times: usize) -> Result<f64, String> {
    let runs: Result<Vec<f64>, String> =
        (0..times).map(|_| Ok(convert(bench, Claims::new(claims), to)?.cpu.as_secs_f64())).collect();
    Ok(median(runs?.into_iter()))
}

/// Runs `quayline validate --ack 999` on a file of claims and discards the acknowledgments.
fn validate(bench: &Bench, claims: Claims) -> Result<Usage, String> {
    let (file, guide) = (claims_file(bench, claims)?, guide_file(bench)?);
    let arguments = [OsStr::new("validate"), file.as_ref(), "--guide".as_ref(), guide.as_ref(), "--ack=999".as_ref()];
    quayline(bench, arguments, None)
}

/// Claims that were converted to JSON by guide, back to X12 on two threads.
fn back(bench: &Bench, claims: Claims) -> Result<Usage, String> {
    let (file, guide) = (claims_file(bench, claims)?, guide_file(bench)?);
    let json = file.with_extension("jsonl");
    let there = [OsStr::new("convert"), file.as_ref(), "--guide".as_ref(), guide.as_ref(), "--to=jsonl".as_ref()];
    quayline(bench, there, Some(&json))?;
    let back = ["--guide".as_ref(), guide.as_ref(), "--to=edi".as_ref(), "--jobs=2".as_ref()];
    let arguments: Vec<&OsStr> = [OsStr::new("convert"), json.as_ref()].into_iter().chain(back).collect();
    let used = quayline(bench, arguments, None);
    std::fs::remove_file(&json).map_err(|error| format!("{}: {error}", json.display()))?;
    used
}

/// Returns a file of claims, which is kept for later measurements.
pub(super) fn claims_file(bench: &Bench, claims: Claims) -> Result<PathBuf, String> {
    let path = bench.scratch.path(&format!("{}-{}.x12", claims.claims, claims.per_transaction));
    if !path.exists() {
        let written = File::create(&path).and_then(|mut file| claims.write_to(&mut file));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(path)
}

/// Writes the guide of claims to a file.
fn guide_file(bench: &Bench) -> Result<PathBuf, String> {
    for (name, text) in GUIDE_FILES {
        let path = bench.scratch.path(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(bench.scratch.path(GUIDE_FILES[0].0))
}

fn quayline<'a>(
    bench: &Bench,
    arguments: impl IntoIterator<Item = &'a OsStr>,
    output: Option<&Path>,
) -> Result<Usage, String> {
    let arguments = arguments.into_iter().map(OsStr::to_owned);
    let command: Vec<OsString> = [bench.quayline.clone().into()].into_iter().chain(arguments).collect();
    process::run(&bench.this, &command, output)
}

fn elements(subject: &Interchange) -> Result<Measured, String> {
    Ok(compare(|| subject.positions(), || subject.elements()).into())
}

fn by_cached_positions(subject: &Interchange) -> Result<Measured, String> {
    Ok(compare(|| subject.positions_in_cache(), || subject.elements()).into())
}

/// Returns the ratio of the time with acknowledgments to that without.
fn acknowledged(subject: &Interchange) -> Result<Measured, String> {
    let found = compare(|| subject.acknowledged("999"), || subject.validated());
    Ok(Measured { value: found.ratio, detail: format!("{} and {}", rate(found.ceiling), rate(found.subject)) })
}

/// Bytes of input per CPU second, by those of a scalar translate of the same bytes.
fn alone(subject: &Interchange, run: impl Fn(&Interchange) -> Run) -> Result<Measured, String> {
    Ok(compare(|| scalar_translate(subject.bytes()), || run(subject)).into())
}

fn from_json(subject: &Interchange) -> Result<Measured, String> {
    let json = subject.json();
    alone(subject, |subject| subject.from_json(&json))
}
