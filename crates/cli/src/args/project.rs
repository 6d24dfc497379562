//! Arguments of `quayline check` and `quayline new`.

use std::path::PathBuf;

/// Compile everything in a project and report all faults at once.
///
/// Reads `quayline.toml`, copybooks, guides, schemas, layouts, maps, services, APIs, flows, jobs and
/// partners. It runs nothing and reads no data.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  quayline check\n  quayline check examples/dealership --json")]
pub(crate) struct CheckProjectArgs {
    /// Folder of the project
    #[arg(default_value = ".", value_name = "FOLDER")]
    pub(crate) project: PathBuf,
    /// Print findings and answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a small, complete project to start from.
///
/// The project has a copybook, a map with a test, a service and an API, and a README that names the commands to try. No file is replaced.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  quayline new bank\n  cd bank && quayline check && quayline map test")]
pub(crate) struct NewArgs {
    /// Folder for the project; it is made if it does not exist
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}
