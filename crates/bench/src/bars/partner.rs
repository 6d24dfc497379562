//! Trading partners: cost of the features beyond `translate`, the case study of 2005, growth.

use std::time::Duration;

use quayline_store_embedded::{Durability, Settings};

use super::{Area, Bar, Bench, Measured, Side};
use crate::partner::commands::{self, CHECKED, Cost, OFF, ON, Programs, Received};
use crate::partner::growth::{self, Grown};
use crate::unit_of_work::floor;
use quayline_measure::partner_study::{self, Messages, UNIT};

pub(super) const BARS: &[Bar] = &[
    most("look-up of 50,000 rules of 1,000 partners, by 500 of ten", 1.5, "ratio", lookup),
    most("an entry after many, by one of the first", 1.25, "ratio", |bench| {
        grown(bench, |grown| {
            (grown.last_us / grown.first_us, format!("{:.1} by {:.1} us CPU", grown.last_us, grown.first_us))
        })
    }),
    most("search by business field", 10.0, "ms", |bench| grown(bench, |grown| (grown.by_field_ms, String::new()))),
    most("search by control number", 10.0, "ms", |bench| grown(bench, |grown| (grown.by_number_ms, String::new()))),
    most("page of a partner's day", 50.0, "ms", |bench| {
        grown(bench, |grown| (grown.by_day_ms, "50 entries".to_owned()))
    }),
    least("documents added while half is purged, of 1,000 a second", 950.0, "/s", |bench| {
        grown(bench, |grown| {
            (grown.while_purging, format!("{} entries purged in {:.1} s", grown.purged, grown.purge_s))
        })
    }),
    most("peak memory, 10,000 envelopes wait and close", 64.0, "MB", envelopes),
    switch("orders of 2 KB received, all switches off, by translate", 1.35, |bench| orders(bench, OFF, 10_000)),
    switch("orders of 2 KB received, bytes kept", 1.35, |bench| {
        orders(bench, &OFF.replace("keep = \"rejected\"", "keep = \"all\""), 10_000)
    }),
    switch("orders of 2 KB received, acknowledged", 1.35, |bench| {
        orders(bench, &OFF.replace("acknowledge = []", "acknowledge = [\"997\"]"), 10_000)
    }),
    switch("orders of 2 KB received, duplicates and gaps looked for", 1.35, |bench| {
        orders(bench, &OFF.replace("\"accept\"", "\"reject\"").replace("\"ignore\"", "\"warn\""), 10_000)
    }),
    switch("orders of 2 KB received, a commit for each 64", 1.35, |bench| orders(bench, OFF, 64)),
    switch("orders of 2 KB received, all switches on, by translate", 1.35, |bench| orders(bench, ON, 64)),
    switch("orders of 2 KB received and checked by guide, by translate", 1.35, |bench| orders(bench, CHECKED, 64)),
    switch("10,000 claims received, all switches on, by translate", 1.10, |bench| claims(bench, ON)),
    switch("10,000 claims received and checked by guide, by translate", 1.10, |bench| claims(bench, CHECKED)),
    least("case study of 2005, buffered", 20_000.0, "/s", buffered),
    least("case study of 2005, durable, by floor and unit of work", 1.0, "ratio", durable),
];

const fn most(
    name: &'static str,
    bar: f64,
    unit: &'static str,
    measure: fn(&Bench) -> Result<Measured, String>,
) -> Bar {
    Bar { area: Area::Partner, name, bar, side: Side::AtMost, unit, measure }
}

const fn least(
    name: &'static str,
    bar: f64,
    unit: &'static str,
    measure: fn(&Bench) -> Result<Measured, String>,
) -> Bar {
    Bar { area: Area::Partner, name, bar, side: Side::AtLeast, unit, measure }
}

const fn switch(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    most(name, bar, "ratio", measure)
}

fn cost(bench: &Bench, what: Received, settings: &str, unit: u32) -> Result<Measured, String> {
    let folder = bench.scratch.path("");
    let programs = Programs { quayline: &bench.quayline, this: &bench.this, folder: &folder };
    let Cost { receive, translate, elapsed, peak_bytes } = commands::cost(programs, what, settings, unit)?;
    let detail = format!(
        "{:.0} by {:.0} ms CPU, {:.0} by {:.0} ms elapsed, {:.0} MB",
        receive * 1e3,
        translate * 1e3,
        elapsed.0 * 1e3,
        elapsed.1 * 1e3,
        peak_bytes as f64 / 1e6
    );
    Ok(Measured { value: receive / translate, detail })
}

fn orders(bench: &Bench, settings: &str, unit: u32) -> Result<Measured, String> {
    cost(bench, Received::Orders, settings, unit)
}

fn claims(bench: &Bench, settings: &str) -> Result<Measured, String> {
    cost(bench, Received::Claims, settings, 64)
}

fn lookup(bench: &Bench) -> Result<Measured, String> {
    let folder = bench.scratch.path("partner-rules");
    let ten = growth::lookup(&folder, 10)?;
    let thousand = growth::lookup(&folder, 1_000)?;
    Ok(Measured { value: thousand / ten, detail: format!("{thousand:.0} by {ten:.0} ns CPU") })
}

/// Entries of the store that grows; `QUAYLINE_BENCH_ENTRIES` sets another number.
const ENTRIES: u64 = 300_000;

/// Grows the store once for all bars of one run.
fn grown(bench: &Bench, of: fn(&Grown) -> (f64, String)) -> Result<Measured, String> {
    static GROWN: std::sync::OnceLock<Result<Grown, String>> = std::sync::OnceLock::new();
    let count = std::env::var("QUAYLINE_BENCH_ENTRIES").ok().and_then(|text| text.parse().ok()).unwrap_or(ENTRIES);
    let grown = GROWN.get_or_init(|| growth::grow(&bench.scratch.path("partner-store"), count));
    let (value, detail) = of(grown.as_ref().map_err(Clone::clone)?);
    let detail = if detail.is_empty() { format!("{count} entries") } else { format!("{detail}, {count} entries") };
    Ok(Measured { value, detail })
}

fn envelopes(bench: &Bench) -> Result<Measured, String> {
    let folder = bench.scratch.path("");
    let programs = Programs { quayline: &bench.quayline, this: &bench.this, folder: &folder };
    let (sent, released) = commands::envelopes(programs, 10_000)?;
    let (few, _) = commands::envelopes(programs, 1_000)?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let detail = format!(
        "send {:.0} MB and {:.2} s CPU, release {:.0} MB and {:.2} s; with 1,000: {:.0} MB",
        megabytes(sent.peak_bytes),
        sent.cpu.as_secs_f64(),
        megabytes(released.peak_bytes),
        released.cpu.as_secs_f64(),
        megabytes(few.peak_bytes)
    );
    Ok(Measured { value: megabytes(sent.peak_bytes.max(released.peak_bytes)), detail })
}

fn settings(durability: Durability) -> Settings {
    Settings { durability, ..Settings::default() }
}

fn buffered(bench: &Bench) -> Result<Measured, String> {
    let speed = partner_study::run(
        &bench.scratch.path("partner-study"),
        settings(Durability::Buffered),
        Messages::All,
        10_000,
    )?;
    let detail = format!("{:.1} us CPU each, {} messages; the study: 51,808 an hour", speed.cpu_us, speed.messages);
    Ok(Measured { value: speed.rate, detail })
}

fn durable(bench: &Bench) -> Result<Measured, String> {
    let floor = || floor(&bench.scratch.path("floor"), Duration::from_secs(1)).map_err(|error| error.to_string());
    let before = floor()?;
    let speed =
        partner_study::run(&bench.scratch.path("partner-study"), settings(Durability::Sync), Messages::All, 5_000)?;
    let floor = before.midpoint(floor()?);
    let detail =
        format!("{:.0} messages/s, {:.1} us CPU each, floor {floor:.0}/s, {UNIT} in a unit", speed.rate, speed.cpu_us);
    Ok(Measured { value: speed.rate / (floor * UNIT as f64), detail })
}
