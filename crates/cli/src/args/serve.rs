//! Arguments of `quayline serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Serves a project's APIs over HTTP until SIGTERM or Ctrl-C; requests in progress are answered first.
///
/// Only this machine is served, and clients must be authenticated, unless `quayline.toml` says otherwise in so many words. SIGHUP reads the
/// services and APIs again; so does a change of their files.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  quayline serve examples/dealership\n  quayline serve --listen 127.0.0.1:9000 --threads 1"
)]
pub(crate) struct ServeArgs {
    /// Folder of the project: quayline.toml, services/, apis/, copybooks/
    #[arg(default_value = ".", value_name = "FOLDER")]
    pub(crate) project: PathBuf,
    /// Address and port instead of those of quayline.toml
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Server threads instead of one for each core
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}
