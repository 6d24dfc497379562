//! How a conversion runs.

mod block;
mod checkpoint_file;
mod csv_header;
mod cut;
pub(crate) mod destination;
mod digest;
mod exchange;
mod findings_file;
mod intake;
mod lane;
mod lanes;
mod lot;
mod map_lanes;
mod misfit;
mod output;
pub(crate) mod partial;
mod reject;
mod resume;
mod run;
mod settle;
mod source;
mod split;
mod spool;
mod target;
mod text_place;
mod writer;

pub use destination::{Destination, partial_path};
pub use digest::definition_digest;
pub use partial::write_whole;
pub(crate) use run::open_input;
