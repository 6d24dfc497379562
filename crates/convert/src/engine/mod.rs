//! Execution of a conversion.

mod digest;
mod findings_file;
mod new_files;
mod output;
mod page_transaction;
pub(crate) mod partial;
mod resume;
mod run;
mod split;
pub(crate) mod temporary;
pub(crate) mod threads;
mod writer;

pub use digest::definition_digest;
pub use new_files::NewFiles;
pub use partial::{write_complete, write_whole};
pub(crate) use run::open_input;
pub use split::replaced_by_documents;
pub use temporary::to_temporary_file;
