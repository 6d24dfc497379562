//! EDI: read, check, acknowledge and write X12 and EDIFACT.
//!
//! Other programs do not run here. A bar that the issue gives as a multiple of one is the rate that this multiple of its last measured rate is
//! ([docs/benchmarks.md](../../../../docs/benchmarks.md) has them, and `scripts/peers.sh` measures both sides in one run).

use super::{Bar, Bench, Measured, Side, rate};
use crate::interchange::Interchange;
use crate::{Run, compare, median};

pub(super) const BARS: &[Bar] = &[
    ratio("837P to elements, by writing delimiter positions", 0.25, |_| elements(&Interchange::claims()?)),
    ratio("ORDERS to elements, by writing delimiter positions", 0.25, |_| elements(&Interchange::orders())),
    speed("837P to elements", 1400.0, |_| alone(&Interchange::claims()?, Interchange::elements)),
    speed("837P checked by guide", 150.0, |_| alone(&Interchange::claims()?, Interchange::validated)),
    cost("837P checked and 999 written, by checked", 1.1, |_| acknowledged(&Interchange::claims()?)),
    speed("837P to JSON by guide, checked", 100.0, |_| alone(&Interchange::claims()?, Interchange::guide_json)),
    speed("837P to generic JSON", 250.0, |_| alone(&Interchange::claims()?, Interchange::to_json)),
    speed("837P to generic XML", 150.0, |_| alone(&Interchange::claims()?, Interchange::to_xml)),
    speed("generic JSON to 837P", 100.0, |_| from_json(&Interchange::claims()?)),
    speed("ORDERS to components", 530.0, |_| alone(&Interchange::orders(), Interchange::components)),
    speed("ORDERS checked and CONTRL written", 250.0, |_| {
        alone(&Interchange::orders(), |orders| orders.acknowledged("contrl"))
    }),
];

pub(super) const ALSO: &[Bar] = &[
    ratio("837P to elements, by positions written in first-level cache", 0.25, |_| {
        by_cached_positions(&Interchange::claims()?)
    }),
    ratio("ORDERS to elements, by positions written in first-level cache", 0.25, |_| {
        by_cached_positions(&Interchange::orders())
    }),
    speed("837P envelopes checked", 1400.0, |_| alone(&Interchange::claims()?, Interchange::envelopes)),
    speed("ORDERS to generic JSON", 250.0, |_| alone(&Interchange::orders(), Interchange::to_json)),
    speed("ORDERS to generic XML", 150.0, |_| alone(&Interchange::orders(), Interchange::to_xml)),
    speed("generic JSON to ORDERS", 100.0, |_| from_json(&Interchange::orders())),
];

const fn ratio(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { issue: 3, name, bar, side: Side::AtLeast, unit: "ratio", measure }
}

const fn cost(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { issue: 3, name, bar, side: Side::AtMost, unit: "ratio", measure }
}

const fn speed(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { issue: 3, name, bar, side: Side::AtLeast, unit: "MB/s", measure }
}

fn elements(subject: &Interchange) -> Result<Measured, String> {
    Ok(compare(|| subject.positions(), || subject.elements()).into())
}

fn by_cached_positions(subject: &Interchange) -> Result<Measured, String> {
    Ok(compare(|| subject.positions_in_cache(), || subject.elements()).into())
}

/// Time with by time without.
fn acknowledged(subject: &Interchange) -> Result<Measured, String> {
    let found = compare(|| subject.acknowledged("999"), || subject.validated());
    Ok(Measured { value: found.ratio, detail: format!("{} and {}", rate(found.ceiling), rate(found.subject)) })
}

/// Megabytes of input per CPU second: the median of seven runs behind one that warms up.
fn alone(subject: &Interchange, run: impl Fn(&Interchange) -> Run) -> Result<Measured, String> {
    let rates: Vec<f64> = (0..8).map(|_| run(subject).rate()).skip(1).collect();
    let value = median(rates.iter().copied()) / 1e6;
    let best = rates.iter().copied().fold(0.0, f64::max);
    Ok(Measured { value, detail: format!("best {}", rate(best)) })
}

fn from_json(subject: &Interchange) -> Result<Measured, String> {
    let json = subject.json();
    alone(subject, |subject| subject.from_json(&json))
}
