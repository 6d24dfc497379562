//! Arguments of `quayline map fmt`.

use std::path::PathBuf;

/// Arguments of `quayline map fmt`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct FmtArgs {
    /// Maps, or folders whose maps are meant; `-` is standard input, written to standard output
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write nothing: show what would change, and end with 1 if anything would
    #[arg(long)]
    pub(crate) check: bool,
}

const EXAMPLES: &str = "\
What a map means stays the same: words are parted by single blanks, blocks moved in by two a level, empty
lines taken together. Line breaks and comments stay where they are. A file that is laid out already is not
written; one with errors is told and left as it is.

Examples:
  quayline map fmt maps
  quayline map fmt --check maps/*.qmap
  quayline map fmt - < order.qmap";
