//! Measures ratios to ceilings within the same run, and compares them with the project's bars.
//!
//! * [`data`] generates record files; [`ceiling`] has the passes that form the upper limits.
//! * [`compare()`] alternates measurements of a subject and its ceiling, by CPU time, and returns the median ratio.
//! * [`interchange`] has the measurements of EDI, [`subject`] those of record files.
//! * [`mapping`] has the measurements of maps.
//! * [`process`], of `measure`, runs the `quayline` command and reads time and peak memory of exactly that process.
//! * [`bars`] lists every bar: one row and one small function each.
//! * [`translator_study`], of `measure`, prints the rows of a translator's study of 2005 with the measured ones.
//! * [`hostile`] generates inputs that a careless reader never finishes, and measures the growth of cost with their size.
//! * [`unit_of_work`] has the measurements of the store.
//! * `store_fjall` runs fjall, the peer of the store.
//! * [`nats`] and [`artemis`] run the servers that the bars compare with flows.
//! * [`partner`] has the measurements of trading partners.
//! * [`dealership`] measures the seven payloads of `examples/dealership`.
//!
//! A ratio is the same on a fast and on a slow machine, and alternating the measurements lets other processes slow both sides.

pub mod artemis;
pub mod bars;
pub mod batch;
pub mod ceiling;
pub mod clock;
mod compare;
pub mod data;
pub mod dealership;
pub mod hostile;
pub mod interchange;
pub mod mapping;
pub mod nats;
pub mod partner;
mod peer;
mod scratch;
pub mod store_database;
mod store_fjall;
pub mod store_growth;
pub mod subject;
pub mod unit_of_work;

pub(crate) use compare::median;
pub use compare::{Comparison, Run, compare};
pub use quayline_measure::{process, translator_study};
pub use scratch::Scratch;
