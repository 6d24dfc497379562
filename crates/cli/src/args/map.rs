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
    /// Proposes a map between two shapes, by names and types
    #[command(after_long_help = NEW_EXAMPLES)]
    New(MapNewArgs),
    /// Says what is wrong with maps, without running them
    #[command(after_long_help = CHECK_EXAMPLES)]
    Check(MapCheckArgs),
    /// Runs the golden cases of maps
    Test(TestArgs),
    /// Formats maps
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
    /// What describes the source: a guide, copybook, layout, JSON Schema, XML schema or outline
    #[arg(long, value_name = "FILE")]
    pub(crate) from: String,
    /// What describes the target
    #[arg(long, value_name = "FILE")]
    pub(crate) to: String,
    /// Name of the target in the map [default: that of its file]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// File of the map [default: standard output]
    ///
    /// A file that is there is not written over. The map names its shapes as seen from its folder.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Arguments of `quayline map check`.
#[derive(Debug, clap::Args)]
pub(crate) struct MapCheckArgs {
    /// Maps, or folders whose maps are meant
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Findings as JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

const NEW_EXAMPLES: &str = "\
Fields with equal names are set; those with nearly equal ones are set and marked `# guess`; those that
nothing is alike stand as comments, mandatory ones marked. Guides are asked for the names of their
elements too, so `price` finds PO104. Decide on each mark, then run `quayline map check`.

Examples:
  quayline map new --from guides/850.guide --to shapes/order.json -o maps/order.qmap
  quayline map new --from shapes/order.json --to shapes/order-record.toml";

const CHECK_EXAMPLES: &str = "\
Included maps, tables in files and the shapes that a map names are read too; all findings come at once.
Of a folder, maps without a source are passed over: they are there to be included.

Examples:
  quayline map check maps
  quayline map check maps/order.qmap --json";
