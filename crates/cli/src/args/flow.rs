//! Arguments of `quayline flow`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{DurabilityOption, FolderArg};

/// Arguments of `quayline flow`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct FlowArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: FlowCommand,
}

/// What to do with flows.
#[derive(Debug, Subcommand)]
pub(crate) enum FlowCommand {
    /// Check flows with their shapes, maps and expressions
    Check(FlowNamesArgs),
    /// Print a flow as text, or as an SVG picture
    #[command(
        after_long_help = "Examples:\n  quayline flow show orders\n  quayline flow show orders --svg > orders.svg"
    )]
    Show(FlowShowArgs),
    /// Write a page of Markdown and an SVG picture for each flow
    #[command(after_long_help = "Examples:\n  quayline flow pages --out docs/flows")]
    Pages(FlowPagesArgs),
    /// List the flows of a project with their queues and record files
    #[command(after_long_help = "Examples:\n  quayline flow list\n  quayline flow list --live --admin 127.0.0.1:9090")]
    List(FlowListArgs),
    /// Define the queues that flows use and that do not exist
    Define(FlowDefineArgs),
    /// Run flows until Ctrl-C, or until they have nothing to do
    #[command(
        after_long_help = "Examples:\n  quayline flow run --store data\n  quayline flow run orders --until-idle 2s"
    )]
    Run(FlowRunArgs),
    /// Print figures of flows that a server runs, as JSON
    Stats(FlowAdminArgs),
    /// Print the path of messages through a flow that a server runs, a line of JSON for each step
    #[command(
        after_long_help = "A step names the node, the terminal and the time, and never the content.\n\nExamples:\n  quayline flow trace orders\n  quayline flow trace orders --for 10s"
    )]
    Trace(FlowTraceArgs),
    /// Stop a flow of a server; its open units of work finish first
    Stop(FlowAdminArgs),
    /// Start a flow of a server again
    Start(FlowAdminArgs),
}

/// The project and some of its flows.
#[derive(Debug, clap::Args)]
pub(crate) struct FlowNamesArgs {
    /// Names of flows [default: all]
    #[arg(value_name = "FLOW")]
    pub(crate) names: Vec<String>,
    /// Folder of the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) project: PathBuf,
}

/// Arguments of `quayline flow pages`.
#[derive(Debug, clap::Args)]
pub(crate) struct FlowPagesArgs {
    /// Flows to write pages of
    #[command(flatten)]
    pub(crate) flows: FlowNamesArgs,
    /// Folder for the pages
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// Arguments of `quayline flow show`.
#[derive(Debug, clap::Args)]
pub(crate) struct FlowShowArgs {
    /// Name of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) name: String,
    /// Folder of the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) project: PathBuf,
    /// Print an SVG picture
    #[arg(long)]
    pub(crate) svg: bool,
    /// Show state, messages and last failure of each node, of the flow that a server runs
    #[arg(long, conflicts_with = "svg")]
    pub(crate) live: bool,
    /// Listener for operators of the server [default: that of the project]
    #[arg(long, value_name = "ADDRESS", requires = "live")]
    pub(crate) admin: Option<SocketAddr>,
}

/// Arguments of `quayline flow list`.
#[derive(Debug, clap::Args)]
pub(crate) struct FlowListArgs {
    /// The flows.
    #[command(flatten)]
    pub(crate) flows: FlowNamesArgs,
    /// Show state, messages and last failure of each flow that a server runs
    #[arg(long)]
    pub(crate) live: bool,
    /// Listener for operators of the server [default: that of the project]
    #[arg(long, value_name = "ADDRESS", requires = "live")]
    pub(crate) admin: Option<SocketAddr>,
}

/// The store of a project, the same that `quayline serve` uses.
#[derive(Debug, clap::Args)]
pub(crate) struct ProjectStoreArg {
    /// Data folder of the store, or address of its database [default: `data` in the project]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) durability: DurabilityOption,
}

impl ProjectStoreArg {
    pub(crate) fn of(&self, project: &Path) -> FolderArg {
        // Messages show the folder as one would write it.
        let default = || if project == Path::new(".") { PathBuf::from("data") } else { project.join("data") };
        FolderArg::new(self.store.clone().unwrap_or_else(default), self.durability)
    }
}

/// Arguments of `quayline flow define`.
#[derive(Debug, clap::Args)]
pub(crate) struct FlowDefineArgs {
    #[command(flatten)]
    pub(crate) flows: FlowNamesArgs,
    #[command(flatten)]
    pub(crate) store: ProjectStoreArg,
    /// Define the queues at the server that has the store open: `listen` in [serve.admin] of its quayline.toml
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["store", "durability"])]
    pub(crate) admin: Option<SocketAddr>,
}

/// Arguments of `quayline flow stats`, `stop` and `start`.
#[derive(Debug, clap::Args)]
pub(crate) struct FlowAdminArgs {
    /// Name of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) name: Option<String>,
    /// Folder of the project that the server runs
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) project: PathBuf,
    /// Listener for operators [default: that of quayline.toml]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) admin: Option<SocketAddr>,
}

/// Arguments of `quayline flow trace`.
#[derive(Debug, clap::Args)]
pub(crate) struct FlowTraceArgs {
    #[command(flatten)]
    pub(crate) flow: FlowAdminArgs,
    /// Stop after this time, such as 10s [default: Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = time_ms)]
    pub(crate) time: Option<u64>,
}

/// Arguments of `quayline flow run`.
#[derive(Debug, clap::Args)]
pub(crate) struct FlowRunArgs {
    #[command(flatten)]
    pub(crate) flows: FlowNamesArgs,
    #[command(flatten)]
    pub(crate) store: ProjectStoreArg,
    /// Stop when no message was received for this time, such as 2s
    #[arg(long, value_name = "TIME", value_parser = time_ms)]
    pub(crate) until_idle: Option<u64>,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

fn time_ms(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return Err("expected a time such as 200ms, 2s or 1m".to_owned()),
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(unit))
        .ok_or_else(|| "expected a whole number with a unit".to_owned())
}
