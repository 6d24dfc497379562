//! Numbers of units of work.

/// Number of a unit of work, unique while the store is open.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct UnitId(pub u64);
