//! Names of the limits that a job can set.

/// Bounds that a job can set: those of the data, not of definitions.
pub(crate) const LIMITS: [&str; 6] =
    ["record-bytes", "line-bytes", "segment-bytes", "segment-elements", "depth", "map-text-bytes"];
