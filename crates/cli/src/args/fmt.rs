//! Arguments of `quayline map fmt`.

use std::path::PathBuf;

/// Arguments of `quayline map fmt`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct FmtArgs {
    /// Maps, or folders of maps; `-` formats standard input to standard output
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Show what would change without writing; exit with 1 if anything would
    #[arg(long)]
    pub(crate) check: bool,
}

const EXAMPLES: &str = "\
Formatting does not change the meaning of a map: it puts single blanks between words, indents blocks by
two for each level, and merges empty lines. Line breaks and comments stay. Quayline does not write a file
that is already formatted, and reports a file with errors without changing it.

Examples:
  quayline map fmt maps
  quayline map fmt --check maps/*.qmap
  quayline map fmt - < order.qmap";
