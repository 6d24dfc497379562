//! The job of IBM's paper on Liberty Batch, compared with the floor: the same SQL without a container.

mod memory;
mod peers;

pub use memory::{large_items_memory, peak_memory, unchanged};
pub use peers::{AgainstPeers, Missing, against_peers};

pub use quayline_measure::batch::floor;
