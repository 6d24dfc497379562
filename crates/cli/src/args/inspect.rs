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
    /// Copybook to hold a data file against
    ///
    /// Says whether the file's size and records fit it: how many records decode with each proposed code page and framing, and where and why the
    /// first one does not.
    #[arg(long, value_name = "FILE")]
    pub(crate) copybook: Option<PathBuf>,
    /// Code page to hold the data file against, instead of the proposed ones
    #[arg(long, value_name = "PAGE")]
    pub(crate) encoding: Option<String>,
    /// Framing to hold the data file against, instead of the proposed ones
    #[arg(long, value_name = "FRAMING", long_help = super::FRAMING_LONG_HELP)]
    pub(crate) framing: Option<String>,
    /// What the file is, if content leaves doubt: copybook, edi or data
    #[arg(long = "as", value_enum, value_name = "WHAT")]
    pub(crate) is: Option<As>,
    #[command(flatten)]
    pub(crate) reading: CopybookArgs,
    /// Answer as one JSON object; its schema is in docs/reference/json.md
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
    /// Data
    Data,
}

const EXAMPLES: &str = "\
A copybook is shown as a tree: offset from 0, start from 1 and length in bytes, level, name, tables as
[min..max by COUNTER], PICTURE and USAGE, redefinitions, conditions (level 88) and slack bytes.

Of an EDI file all of it is read: interchanges, groups, transactions, partners, versions, delimiters, counts,
and what is wrong with its envelopes. Of acknowledgments in it (TA1, 997, 999, CONTRL) what they say: what was
accepted or rejected, each code in words, with its place.

Of a data file, code page and framing are proposed with the evidence for each. Nothing is decided:
`convert` wants the code page named.

Examples:
  quayline inspect car100.cpy
  quayline inspect program.cbl --record CUSTOMER-RECORD --dialect gnucobol --set sync=4
  quayline inspect orders.x12
  quayline inspect answer.x12
  quayline inspect orders.dat
  quayline inspect orders.dat --copybook orders.cpy --json";
