//! Arguments of `quayline inspect`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::CopybookArgs;

/// Arguments of `quayline inspect`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct InspectArgs {
    /// Copybook, COBOL program, EDI file or data file; `-` is standard input
    pub(crate) file: PathBuf,
    /// Copybook to test on a data file
    ///
    /// Quayline reports how many records decode with each proposed code page and framing, and where and why the first one does not.
    #[arg(long, value_name = "FILE")]
    pub(crate) copybook: Option<PathBuf>,
    /// Code page to test instead of the proposed ones
    #[arg(long, value_name = "PAGE")]
    pub(crate) encoding: Option<String>,
    /// Framing to test instead of the proposed ones
    #[arg(long, value_name = "FRAMING", long_help = super::FRAMING_LONG_HELP)]
    pub(crate) framing: Option<String>,
    /// Kind of file, if the content is ambiguous: copybook, edi or data
    #[arg(long = "as", value_enum, value_name = "WHAT")]
    pub(crate) is: Option<As>,
    #[command(flatten)]
    pub(crate) reading: CopybookArgs,
    /// Print one JSON object; docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a file is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum As {
    /// COBOL source: a copybook or a program
    Copybook,
    /// X12 and EDIFACT interchanges
    Edi,
    /// Records or other data
    Data,
}

const EXAMPLES: &str = "\
A copybook appears as a tree: offset from 0, start from 1 and length in bytes, level, name, tables as
[min..max by COUNTER], PICTURE and USAGE, redefinitions, conditions (level 88) and slack bytes.

For an EDI file, Quayline reads all of it and lists interchanges, groups, transactions, partners, versions,
delimiters, counts, and faults of envelopes. For acknowledgments (TA1, 997, 999, CONTRL), it says what was
accepted or rejected, with each code in words and its place.

For a data file, it proposes code pages and framings with the evidence for each. It decides nothing:
`convert` requires the code page.

Examples:
  quayline inspect car100.cpy
  quayline inspect program.cbl --record CUSTOMER-RECORD --dialect gnucobol --set sync=4
  quayline inspect orders.x12
  quayline inspect answer.x12
  quayline inspect orders.dat
  quayline inspect orders.dat --copybook orders.cpy --json";
