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
    /// Read everything, say what is wrong with it, and end
    #[arg(long)]
    pub(crate) check: bool,
}

/// Measures what transactions cost on this machine; exit code 1 where a bar is missed.
#[derive(Debug, clap::Args)]
pub(crate) struct MeasureArgs {
    /// What is measured.
    #[command(subcommand)]
    pub(crate) what: MeasureCommand,
}

/// The studies.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum MeasureCommand {
    /// The scenarios of IBM's report over the dealership: throughput, CPU per transaction, response times
    Gateway(MeasureGatewayArgs),
}

/// Arguments of `quayline measure gateway`.
#[derive(Debug, clap::Args)]
pub(crate) struct MeasureGatewayArgs {
    /// Folder of the dealership
    #[arg(default_value = "examples/dealership", value_name = "FOLDER")]
    pub(crate) project: PathBuf,
    /// Seconds that are measured in each run
    #[arg(long, default_value_t = 5.0, value_name = "N")]
    pub(crate) seconds: f64,
    /// Numbers of keep-alive clients with 500 ms think time
    #[arg(long, value_delimiter = ',', default_value = "100,200,300,400,500", value_name = "N,N")]
    pub(crate) clients: Vec<usize>,
    /// Folder for gateway.html and gateway.json
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Only the saturated comparison with static bytes
    #[arg(long)]
    pub(crate) saturated: bool,
    /// Only to see that everything runs: few clients, half a second each
    #[arg(long)]
    pub(crate) short: bool,
}

/// Proposes the service of a copybook.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceArgs {
    /// What is done.
    #[command(subcommand)]
    pub(crate) what: ServiceCommand,
}

/// What is done with services.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ServiceCommand {
    /// Writes a service file for a copybook, and prints the table of its fields
    New(ServiceNewArgs),
}

/// Arguments of `quayline service new`.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceNewArgs {
    /// The copybook
    #[arg(value_name = "COPYBOOK")]
    pub(crate) copybook: PathBuf,
    /// Record description, where the copybook has several
    #[arg(long, value_name = "NAME")]
    pub(crate) record: Option<String>,
    /// Code page of the record: ascii for a program of GnuCOBOL
    #[arg(long, default_value = "ascii", value_name = "PAGE")]
    pub(crate) encoding: String,
    /// ibm, gnucobol or microfocus; by default gnucobol, for an EBCDIC page ibm
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// Bound to change: NAME=N, such as fields=200K
    #[arg(long, value_name = "NAME=N", long_help = super::LIMIT_LONG_HELP)]
    pub(crate) limit: Vec<super::LimitArg>,
    /// The service file, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
