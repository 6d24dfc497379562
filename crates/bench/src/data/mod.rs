//! Record and EDI files made by program: the same bytes for the same seed on every machine.

mod accounts;
mod car;
mod display_heavy;
mod packed_heavy;
mod policy;
mod random;
mod record;

pub use accounts::accounts;
pub use car::{CarRecords, Length};
pub use display_heavy::DisplayHeavy;
pub use packed_heavy::PackedHeavy;
pub use policy::Policies;
pub use quayline_measure::{Claims, Orders, PythonRandom};
pub use random::Random;
pub use record::RecordWriter;
