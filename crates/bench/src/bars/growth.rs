//! Hostile inputs: no shape of any format costs more than its size.

use super::{Area, Bar, Bench, Measured, Side};
use crate::hostile::{self, Depth};

pub(super) const BARS: &[Bar] = &[
    growth(Area::Edi, "CPU by size to 64 MB, hostile X12", |bench| worst(bench, "X12")),
    growth(Area::Edi, "CPU by size to 64 MB, hostile EDIFACT", |bench| worst(bench, "EDIFACT")),
    growth(Area::Edi, "CPU by size to 64 MB, hostile guides", |bench| worst(bench, "guide")),
    growth(Area::Records, "CPU by size to 64 MB, hostile JSON", |bench| worst(bench, "JSON")),
    growth(Area::Records, "CPU by size to 64 MB, hostile XML", |bench| worst(bench, "XML")),
    growth(Area::Records, "CPU by size to 64 MB, hostile CSV", |bench| worst(bench, "CSV")),
    growth(Area::Records, "CPU by size to 64 MB, hostile RDW", |bench| worst(bench, "RDW")),
    growth(Area::Records, "CPU by size to 64 MB, hostile lines", |bench| worst(bench, "lines")),
    growth(Area::Records, "CPU by size to 64 MB, hostile copybooks", |bench| worst(bench, "copybook")),
    growth(Area::Maps, "CPU by size to 64 MB, hostile maps", |bench| worst(bench, "map")),
];

const fn growth(area: Area, name: &'static str, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area, name, bar: 1.05, side: Side::AtMost, unit: "exponent", measure }
}

/// The largest exponent of all shapes and commands of a format.
fn worst(bench: &Bench, name: &str) -> Result<Measured, String> {
    let formats = hostile::formats();
    let format = formats.iter().find(|format| format.name == name).ok_or_else(|| format!("no format {name}"))?;
    for (file, bytes) in &format.files {
        bench.scratch.write(file, bytes).map_err(|error| format!("{file}: {error}"))?;
    }
    let depth = if bench.whole { Depth::Brief } else { Depth::Whole };
    let found = hostile::measure(&bench.this, &bench.quayline, &bench.scratch.path(""), format, depth)?;
    let steepest = found.iter().max_by(|a, b| a.exponent.total_cmp(&b.exponent)).ok_or("no shape")?;
    let peak = found.iter().map(|growth| growth.peak_bytes).max().unwrap_or_default();
    let detail = format!(
        "{} runs, {} of them to 64 MB; {:.2} s for {}, peak {:.0} MB",
        found.len(),
        found.iter().filter(|growth| growth.bytes >= 64 << 20).count(),
        steepest.cpu_s,
        steepest.name,
        peak as f64 / 1e6
    );
    Ok(Measured { value: steepest.exponent, detail })
}
