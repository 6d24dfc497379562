//! Every bar of the project: a row in a table and the function that measures it.
//!
//! To add a bar, write a function `fn(&Bench) -> Result<Measured, String>` in the module of its area and a row in its table.

mod batch;
mod capacity;
mod flow;
mod gateway;
mod growth;
mod interchanges;
mod maps;
mod partner;
mod records;
mod store;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::{Comparison, Scratch};

/// Environment of all measurements.
#[derive(Debug)]
pub struct Bench {
    /// Files of this run.
    pub scratch: Scratch,
    /// The `quayline` command, built for release.
    pub quayline: PathBuf,
    /// This program.
    pub this: PathBuf,
}

/// The part of the product that a bar measures; `make bench AREA=NAME` measures one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Area {
    /// Copybooks and record files.
    Records,
    /// X12 and EDIFACT.
    Edi,
    /// Maps from any shape to any shape.
    Maps,
    /// APIs over HTTP.
    Gateway,
    /// Units of work, record files and queues.
    Store,
    /// Message flows.
    Flow,
    /// Batch jobs.
    Batch,
    /// Trading partners.
    Partner,
    /// Queueing models and sizing.
    Capacity,
}

impl Area {
    /// Every area, in the order in which they are measured.
    pub const ALL: [Area; 9] = [
        Area::Records,
        Area::Edi,
        Area::Maps,
        Area::Gateway,
        Area::Store,
        Area::Flow,
        Area::Batch,
        Area::Partner,
        Area::Capacity,
    ];

    /// Returns the name on the command line and in `bars.json`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Area::Records => "records",
            Area::Edi => "edi",
            Area::Maps => "maps",
            Area::Gateway => "gateway",
            Area::Store => "store",
            Area::Flow => "flow",
            Area::Batch => "batch",
            Area::Partner => "partner",
            Area::Capacity => "capacity",
        }
    }
}

/// A bar and how to measure against it.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// The part of the product that it measures.
    pub area: Area,
    /// Unique name of the measurement.
    pub name: &'static str,
    /// The bar.
    pub bar: f64,
    /// The good side of the bar.
    pub side: Side,
    /// Unit of value and bar.
    pub unit: &'static str,
    /// Measures.
    pub measure: fn(&Bench) -> Result<Measured, String>,
}

/// The good side of a bar.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// The bar or more.
    AtLeast,
    /// The bar or less.
    AtMost,
}

/// Result of a measurement.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Value in the unit of the bar.
    pub value: f64,
    /// Description of the value's origin.
    pub detail: String,
}

impl Measured {
    /// Creates a result without a value, because a peer is missing on this machine. The row reports this, and no bar falls short.
    #[must_use]
    pub fn skipped(why: &str) -> Measured {
        Measured { value: f64::NAN, detail: why.to_owned() }
    }
}

impl From<Comparison> for Measured {
    fn from(found: Comparison) -> Self {
        let detail = format!("{} of {}", rate(found.subject), rate(found.ceiling));
        Measured { value: found.ratio, detail }
    }
}

/// A bar with its result, or the reason why it could not be measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The bar.
    pub bar: Bar,
    /// The measurement.
    pub measured: Result<Measured, String>,
}

impl Outcome {
    /// Returns true if the bar is reached.
    #[must_use]
    pub fn ok(&self) -> bool {
        match (&self.measured, self.bar.side) {
            (Ok(measured), Side::AtLeast) => measured.value >= self.bar.bar,
            (Ok(measured), Side::AtMost) => measured.value <= self.bar.bar,
            (Err(_), _) => false,
        }
    }

    /// Returns true if a peer of the comparison is missing on this machine.
    #[must_use]
    pub fn is_skipped(&self) -> bool {
        self.measured.as_ref().is_ok_and(|measured| measured.value.is_nan())
    }

    /// Returns the row of `bars.json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "area": self.bar.area.name(),
            "name": self.bar.name,
            "value": self.measured.as_ref().map_or(Value::Null, |measured| json!(measured.value)),
            "bar": self.bar.bar,
            "unit": self.bar.unit,
            "ok": self.ok(),
        })
    }

    /// Formats the row as text.
    #[must_use]
    pub fn to_line(&self) -> String {
        self.to_line_as(match (self.is_skipped(), self.ok()) {
            (true, _) => "skip",
            (_, true) => "ok",
            _ => "SHORT",
        })
    }

    /// Formats the row with another verdict.
    #[must_use]
    pub fn to_line_as(&self, verdict: &str) -> String {
        let sign = if self.bar.side == Side::AtLeast { ">=" } else { "<=" };
        let (value, detail) = match &self.measured {
            Ok(measured) if measured.value.is_nan() => ("skipped".to_owned(), measured.detail.as_str()),
            Ok(measured) => (format!("{:.3}", measured.value), measured.detail.as_str()),
            Err(why) => ("none".to_owned(), why.as_str()),
        };
        let Bar { name, bar, unit, .. } = self.bar;
        format!("{verdict:<5} {name:<58} {value:>9} {sign} {bar:<6} {unit:<8} {detail}")
    }
}

/// Returns every bar, in the order of measurement.
#[must_use]
pub fn all() -> Vec<Bar> {
    [
        records::BARS,
        interchanges::BARS,
        maps::BARS,
        growth::BARS,
        gateway::BARS,
        store::BARS,
        flow::BARS,
        batch::BARS,
        partner::BARS,
        capacity::BARS,
    ]
    .concat()
}

/// Returns measurements that are shown with the bars without a verdict: files with worse results.
#[must_use]
pub fn also() -> Vec<Bar> {
    [interchanges::ALSO, maps::ALSO].concat()
}

/// Formats a rate.
pub(crate) fn rate(bytes_per_second: f64) -> String {
    if bytes_per_second >= 1e9 {
        format!("{:.2} GB/s", bytes_per_second / 1e9)
    } else {
        format!("{:.0} MB/s", bytes_per_second / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let names: Vec<&str> = all().iter().chain(&also()).map(|bar| bar.name).collect();
        for (i, name) in names.iter().enumerate() {
            assert!(!names[..i].contains(name), "{name} occurs twice");
        }
    }

    #[test]
    fn a_bar_that_cannot_be_measured_is_not_reached() {
        let bar = Bar {
            area: Area::Store,
            name: "x",
            bar: 0.0,
            side: Side::AtLeast,
            unit: "ratio",
            measure: |_| Err("no".into()),
        };
        let outcome = Outcome { bar, measured: Err("no command".into()) };
        assert!(!outcome.ok());
        assert_eq!(
            outcome.to_json().to_string(),
            r#"{"area":"store","bar":0.0,"name":"x","ok":false,"unit":"ratio","value":null}"#
        );
    }

    #[test]
    fn a_bar_without_its_peer_is_skipped_and_not_reached() {
        let bar = Bar {
            area: Area::Flow,
            name: "x",
            bar: 1.0,
            side: Side::AtLeast,
            unit: "ratio",
            measure: |_| Err(String::new()),
        };
        let outcome = Outcome { bar, measured: Ok(Measured::skipped("no server")) };
        assert!(outcome.is_skipped() && !outcome.ok() && outcome.to_line().starts_with("skip"));
    }

    #[test]
    fn sides_of_a_bar() {
        let outcome = |side, value| Outcome {
            bar: Bar { area: Area::Store, name: "x", bar: 1.0, side, unit: "MB", measure: |_| Err(String::new()) },
            measured: Ok(Measured { value, detail: String::new() }),
        };
        assert!(outcome(Side::AtLeast, 1.0).ok() && !outcome(Side::AtLeast, 0.9).ok());
        assert!(outcome(Side::AtMost, 1.0).ok() && !outcome(Side::AtMost, 1.1).ok());
    }
}
