//! Hostile inputs: no shape of any format costs more time or memory than its size.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::{Area, Bar, Bench, Measured, Side};
use crate::hostile::{self, Growth};

pub(super) const BARS: &[Bar] = &[
    growth(Area::Edi, "CPU by size to 64 MB, hostile X12", |bench| time(bench, "X12")),
    growth(Area::Edi, "memory by size to 64 MB, hostile X12", |bench| memory(bench, "X12")),
    growth(Area::Edi, "CPU by size to 64 MB, hostile EDIFACT", |bench| time(bench, "EDIFACT")),
    growth(Area::Edi, "memory by size to 64 MB, hostile EDIFACT", |bench| memory(bench, "EDIFACT")),
    growth(Area::Edi, "CPU by size to 64 MB, hostile guides", |bench| time(bench, "guide")),
    growth(Area::Edi, "memory by size to 64 MB, hostile guides", |bench| memory(bench, "guide")),
    growth(Area::Records, "CPU by size to 64 MB, hostile JSON", |bench| time(bench, "JSON")),
    growth(Area::Records, "memory by size to 64 MB, hostile JSON", |bench| memory(bench, "JSON")),
    growth(Area::Records, "CPU by size to 64 MB, hostile XML", |bench| time(bench, "XML")),
    growth(Area::Records, "memory by size to 64 MB, hostile XML", |bench| memory(bench, "XML")),
    growth(Area::Records, "CPU by size to 64 MB, hostile CSV", |bench| time(bench, "CSV")),
    growth(Area::Records, "memory by size to 64 MB, hostile CSV", |bench| memory(bench, "CSV")),
    growth(Area::Records, "CPU by size to 64 MB, hostile RDW", |bench| time(bench, "RDW")),
    growth(Area::Records, "memory by size to 64 MB, hostile RDW", |bench| memory(bench, "RDW")),
    growth(Area::Records, "CPU by size to 64 MB, hostile lines", |bench| time(bench, "lines")),
    growth(Area::Records, "memory by size to 64 MB, hostile lines", |bench| memory(bench, "lines")),
    growth(Area::Records, "CPU by size to 64 MB, hostile copybooks", |bench| time(bench, "copybook")),
    growth(Area::Records, "memory by size to 64 MB, hostile copybooks", |bench| memory(bench, "copybook")),
    growth(Area::Maps, "CPU by size to 64 MB, hostile maps", |bench| time(bench, "map")),
    growth(Area::Maps, "memory by size to 64 MB, hostile maps", |bench| memory(bench, "map")),
    growth(Area::Gateway, "CPU by size to 64 MB, hostile requests", |bench| time(bench, HTTP)),
    growth(Area::Gateway, "memory by size to 64 MB, hostile requests", |bench| memory(bench, HTTP)),
];

/// Name of the requests to a server; it differs from the names of all file formats.
const HTTP: &str = "HTTP";

const fn growth(area: Area, name: &'static str, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area, name, bar: 1.05, side: Side::AtMost, unit: "exponent", measure }
}

/// Returns the largest exponent of CPU time of all shapes and commands of a format.
fn time(bench: &Bench, name: &'static str) -> Result<Measured, String> {
    worst(bench, name, |growth| growth.exponent)
}

/// Returns the largest exponent of peak memory of all shapes and commands of a format.
fn memory(bench: &Bench, name: &'static str) -> Result<Measured, String> {
    worst(bench, name, |growth| growth.memory_exponent)
}

/// Time and memory come from the same runs.
static FOUND: Mutex<BTreeMap<&'static str, Vec<Growth>>> = Mutex::new(BTreeMap::new());

fn worst(bench: &Bench, name: &'static str, exponent: fn(&Growth) -> f64) -> Result<Measured, String> {
    let mut known = FOUND.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !known.contains_key(name) {
        known.insert(name, measure(bench, name)?);
    }
    let found = &known[name];
    let steepest = found.iter().max_by(|a, b| exponent(a).total_cmp(&exponent(b))).ok_or("no shape")?;
    let peak = found.iter().max_by_key(|growth| growth.peak_bytes).ok_or("no shape")?;
    let to_most = found.iter().filter(|growth| growth.bytes == hostile::BYTES_MAX).count();
    let slow = match found.len() - to_most {
        0 => String::new(),
        slow => format!(", {slow} slow ones to 8 or 4 MB"),
    };
    let detail = format!(
        "{to_most} runs to 64 MB{slow}; {:.2} s, {:.0} MB for {}; peak {:.0} MB for {}",
        steepest.cpu_s,
        steepest.peak_bytes as f64 / 1e6,
        steepest.name,
        peak.peak_bytes as f64 / 1e6,
        peak.name,
    );
    Ok(Measured { value: exponent(steepest), detail })
}

fn measure(bench: &Bench, name: &str) -> Result<Vec<Growth>, String> {
    let folder = bench.scratch.path("");
    if name == HTTP {
        return hostile::measure_http(&bench.quayline, &folder);
    }
    let formats = hostile::formats();
    let format = formats.iter().find(|format| format.name == name).ok_or_else(|| format!("no format {name}"))?;
    for (file, bytes) in &format.files {
        bench.scratch.write(file, bytes).map_err(|error| format!("{file}: {error}"))?;
    }
    hostile::measure(&bench.this, &bench.quayline, &folder, format)
}
