//! Arguments of `quayline guide`.

use std::path::PathBuf;

use clap::Subcommand;

/// Arguments of `quayline guide`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct GuideArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: GuideCommand,
}

/// What to do with guides.
#[derive(Debug, Subcommand)]
pub(crate) enum GuideCommand {
    /// List the guides that come with Quayline, and those of files and folders
    #[command(after_long_help = LIST_EXAMPLES)]
    List(GuideListArgs),
    /// Turn dictionaries and schemas into guide files
    #[command(after_long_help = IMPORT_EXAMPLES)]
    Import(ImportArgs),
    /// Report faults of guide files, and places that a segment cannot distinguish
    #[command(after_long_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Show a guide as a tree of loops and segments
    #[command(after_long_help = SHOW_EXAMPLES)]
    Show(ShowArgs),
}

impl GuideCommand {
    /// Whether programs read the answer.
    pub(crate) fn json(&self) -> bool {
        match self {
            GuideCommand::List(args) => args.json,
            GuideCommand::Import(args) => args.json,
            GuideCommand::Check(args) => args.json,
            GuideCommand::Show(args) => args.json,
        }
    }
}

/// Arguments of `quayline guide list`.
#[derive(Debug, clap::Args)]
pub(crate) struct GuideListArgs {
    /// Guide files, or folders of them [default: the guides that come with Quayline]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline guide import`.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// Files or folders of dictionaries; Quayline recognizes their form
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,
    /// Folder for the guide files, each named NAME.guide
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Import only these guides, by name or by transaction: 837-005010X222A1, 850, ORDERS
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Print findings and answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline guide check`.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Guide files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Change a limit: NAME=N, such as segment-bytes=4M
    #[arg(long, value_name = "NAME=N", long_help = super::LIMIT_LONG_HELP)]
    pub(crate) limit: Vec<super::LimitArg>,
    /// Print findings and answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline guide show`.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// Guide file, or `builtin:NAME`
    pub(crate) file: PathBuf,
    /// Also show the elements of each segment
    #[arg(long)]
    pub(crate) elements: bool,
    /// Change a limit: NAME=N, such as segment-bytes=4M
    #[arg(long, value_name = "NAME=N", long_help = super::LIMIT_LONG_HELP)]
    pub(crate) limit: Vec<super::LimitArg>,
    /// Print the guide as JSON; docs/reference/guide-sources.md describes it
    #[arg(long, conflicts_with = "elements")]
    pub(crate) json: bool,
}

const LIST_EXAMPLES: &str = "\
`builtin:NAME` names a guide of this list instead of a guide file, `builtin:` all of them.

Examples:
  quayline guide list
  quayline guide list guides/
  quayline guide show builtin:850-004010";

const IMPORT_EXAMPLES: &str = "\
Sources: pyx12's folder of maps or one of them, the sources of x12-types, Smooks' EDIFACT schemas,
php-edifact's codes.xml with a source of messages, and your own messages in JSON or as an XML schema.
scripts/dictionaries.sh downloads the open ones; docs/guides/import-guides.md describes their licences
and the results.

Examples:
  quayline guide import target/dictionaries/pyx12-4.0.0/pyx12/map -o guides --only 837,835
  quayline guide import target/dictionaries/smooks-2.0.0 -o guides --only ORDERS-D96A
  quayline guide import my-message.json -o guides";

const CHECK_EXAMPLES: &str = "\
Examples:
  quayline guide check guides/*.guide";

const SHOW_EXAMPLES: &str = "\
Examples:
  quayline guide show guides/837-005010X222A1.guide
  quayline guide show guides/850-005010.guide --elements
  quayline guide show guides/850-005010.guide --json";
