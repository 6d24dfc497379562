//! Maps: any shape to any shape.

use std::ffi::OsString;
use std::path::Path;

use super::interchanges::claims_file;
use super::{Area, Bar, Bench, Measured, Side, rate};
use crate::ceiling::scalar_translate;
use crate::data::Claims;
use crate::interchange::{Checks, Interchange};
use crate::mapping::{ClaimMap, RecordMap};
use crate::process::{self, Usage};
use crate::{Run, compare, median};

pub(super) const BARS: &[Bar] = &[
    ratio("837P by a map to JSON, by JSON by guide", 0.5, |_| claims()),
    ratio("837P by a map to JSON, codes unchecked, by a scalar translate", 0.0226, |_| claims_alone(Checks::Structure)),
    ratio("records by a map of 100 fields, by a scalar translate", 0.03, |_| records()),
    Bar { unit: "ratio", ..time("map of 837P compiled, by its guide", 1.0, |_| compiled()) },
    Bar {
        unit: "MB",
        ..time("peak memory, 100 MB of claims in one transaction by a map", 64.0, |bench| {
            let used = translate(bench, Claims { claims: 105_600, per_transaction: 105_600 })?;
            let detail = format!("{:.2} s of CPU", used.cpu.as_secs_f64());
            Ok(Measured { value: used.peak_bytes as f64 / 1e6, detail })
        })
    },
    Bar {
        unit: "exponent",
        ..time("CPU time by size, 10 MB to 1 GB, claims by a map", 1.02, |bench| {
            let time = |claims, times: usize| -> Result<f64, String> {
                let runs: Result<Vec<f64>, String> =
                    (0..times).map(|_| Ok(translate(bench, Claims::new(claims))?.cpu.as_secs_f64())).collect();
                Ok(median(runs?.into_iter()))
            };
            let (small, large) = (time(10_560, 9)?, time(1_056_000, 1)?);
            let detail = format!("{:.1} ms and {:.0} ms", small * 1e3, large * 1e3);
            Ok(Measured { value: (large / small).ln() / 100.0f64.ln(), detail })
        })
    },
];

pub(super) const ALSO: &[Bar] = &[
    ratio("837P read by guide, for maps, by a scalar translate", 0.043, |_| {
        let claims = Interchange::claims()?;
        by_translate(&claims, || claims.read_by_guide(Checks::Structure))
    }),
    ratio("837P by a map to JSON, checked, by a scalar translate", 0.0226, |_| claims_alone(Checks::ByGuide)),
    ratio("records by a map of 100 fields, by the same without a map", 0.5, |_| records_by_copy()),
];

const fn ratio(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Maps, name, bar, side: Side::AtLeast, unit: "ratio", measure }
}

const fn time(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Maps, name, bar, side: Side::AtMost, unit: "ms", measure }
}

/// Runs `quayline translate` on a file of claims with the map of `examples/bench`.
fn translate(bench: &Bench, claims: Claims) -> Result<Usage, String> {
    let map = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bench/claims.qmap");
    let path = claims_file(bench, claims)?;
    let mut command: Vec<OsString> = vec![bench.quayline.clone().into(), "translate".into(), "--quiet".into()];
    command.extend(["--jobs".into(), "1".into(), "--map".into(), map.into(), path.into()]);
    process::run(&bench.this, &command, None)
}

fn claims() -> Result<Measured, String> {
    let (claims, map) = (Interchange::claims()?, ClaimMap::new()?);
    let plan = map.compile(&claims.shape())?;
    let found = compare(|| claims.guide_json(), || map.to_json(&plan, &claims, Checks::ByGuide));
    let detail = format!("{} of {}, {} statements", rate(found.subject), rate(found.ceiling), map.statements());
    Ok(Measured { value: found.ratio, detail })
}

fn claims_alone(checks: Checks) -> Result<Measured, String> {
    let (claims, map) = (Interchange::claims()?, ClaimMap::new()?);
    let plan = map.compile(&claims.shape())?;
    by_translate(&claims, || map.to_json(&plan, &claims, checks))
}

/// Bytes of input per CPU second, by those of a scalar translate of the same bytes.
fn by_translate(claims: &Interchange, run: impl Fn() -> Run) -> Result<Measured, String> {
    Ok(compare(|| scalar_translate(claims.bytes()), run).into())
}

fn records() -> Result<Measured, String> {
    let map = RecordMap::new()?;
    Ok(compare(|| scalar_translate(map.bytes()), || map.run()).into())
}

fn records_by_copy() -> Result<Measured, String> {
    let map = RecordMap::new()?;
    Ok(compare(|| map.copy(), || map.run()).into())
}

/// Compares reading and compiling the map with reading and compiling the guide of its source, in turns.
fn compiled() -> Result<Measured, String> {
    const TURNS: usize = 9;
    let (claims, map) = (Interchange::claims()?, ClaimMap::new()?);
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        turns.push((ms(map.compile_time(&claims)?), ms(Interchange::guide_compile_time()?)));
    }
    let (map_ms, guide_ms) = (median(turns.iter().map(|turn| turn.0)), median(turns.iter().map(|turn| turn.1)));
    let detail = format!("{} statements, {map_ms:.2} by {guide_ms:.2} ms", map.statements());
    Ok(Measured { value: median(turns.iter().map(|turn| turn.0 / turn.1)), detail })
}
