//! The job of IBM's paper on Liberty Batch beside the floor: the same SQL with nothing around it.

mod memory;
mod peers;

pub use memory::{large_items_memory, peak_memory, unchanged};
pub use peers::{AgainstPeers, Missing, against_peers};

pub use quayline_measure::batch::floor;
