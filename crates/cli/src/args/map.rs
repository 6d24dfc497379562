//! Arguments of `quayline map`.

use std::path::PathBuf;

use clap::Subcommand;

use super::{FmtArgs, TestArgs};

/// Arguments of `quayline map`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct MapArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: MapCommand,
}

/// What to do with maps.
#[derive(Debug, Subcommand)]
pub(crate) enum MapCommand {
    /// Propose a map between two shapes, by names and types
    #[command(after_long_help = NEW_EXAMPLES)]
    New(MapNewArgs),
    /// Report faults of maps without running them
    #[command(after_long_help = CHECK_EXAMPLES)]
    Check(MapCheckArgs),
    /// Run the test cases of maps
    Test(TestArgs),
    /// Format maps
    Fmt(FmtArgs),
}

impl MapCommand {
    /// Whether programs read the answer.
    pub(crate) fn json(&self) -> bool {
        match self {
            MapCommand::New(_) | MapCommand::Fmt(_) => false,
            MapCommand::Test(args) => args.json,
            MapCommand::Check(args) => args.json,
        }
    }
}

/// Arguments of `quayline map new`.
#[derive(Debug, clap::Args)]
pub(crate) struct MapNewArgs {
    /// Shape of the source: a guide (`builtin:NAME` too), copybook, layout, JSON Schema, XML schema or outline
    #[arg(long, value_name = "FILE")]
    pub(crate) from: String,
    /// Shape of the target
    #[arg(long, value_name = "FILE")]
    pub(crate) to: String,
    /// Name of the target in the map [default: that of its file]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// File of the map [default: standard output]
    ///
    /// Quayline does not overwrite an existing file. The map names its shapes relative to its folder.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Arguments of `quayline map check`.
#[derive(Debug, clap::Args)]
pub(crate) struct MapCheckArgs {
    /// Maps, or folders of maps
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print findings as JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

const NEW_EXAMPLES: &str = "\
Quayline sets fields with equal names. It sets fields with similar names and marks them
`# guess`. The mark `# cuts` is for a conversion that may lose characters or decimals. Fields
without a match become comments, with mandatory ones marked. Quayline also compares the names
of elements in guides, so `price` finds PO104. Decide on each mark, then run
`quayline map check`.

Examples:
  quayline map new --from guides/850.guide --to shapes/order.json -o maps/order.qmap
  quayline map new --from shapes/order.json --to shapes/order-record.toml";

const CHECK_EXAMPLES: &str = "\
Quayline also reads included maps, tables in files and the shapes that a map names, and reports all
findings at once. In a folder, it skips maps without a source, because other maps include them.

Examples:
  quayline map check maps
  quayline map check maps/order.qmap --json";
