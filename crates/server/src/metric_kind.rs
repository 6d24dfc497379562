//! Kinds of metrics.

/// Kind of a family.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}
