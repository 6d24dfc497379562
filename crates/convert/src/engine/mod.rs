//! How a conversion runs.

pub(crate) mod block;
pub(crate) mod checkpoint_file;
mod csv_header;
mod cut;
pub(crate) mod destination;
mod digest;
pub(crate) mod exchange;
mod findings_file;
mod hold;
pub(crate) mod intake;
pub(crate) mod lane;
mod lanes;
pub(crate) mod lot;
mod map_lanes;
mod misfit;
mod output;
pub(crate) mod partial;
pub(crate) mod reject;
pub(crate) mod repeats;
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
