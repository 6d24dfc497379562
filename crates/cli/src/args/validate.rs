//! Arguments of `quayline validate`.

use std::path::PathBuf;

use clap::ValueEnum;
use quayline_edi::ValidationLevel;

use super::choices::choice;

/// Arguments of `quayline validate`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// EDI files to check; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Guide to check transactions by, or a folder of guides
    ///
    /// May be given several times. Type and version of a transaction select the guide; a transaction without one is an error. Without guides,
    /// Quayline checks envelopes, counts and control numbers. `builtin:` names all guides that come with Quayline (`quayline guide list`),
    /// `builtin:NAME` for one of them. `builtin:balances` adds the balances of claims and payments to the guides.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) guide: Vec<PathBuf>,
    /// How much to check: envelope, guide, notes or rules
    ///
    /// Each level includes those before it: syntax, counts and control numbers; loops, segments, elements and codes of the guide; notes between
    /// the elements of a segment; balances and rules between segments. Without guides, it applies to acknowledgments, which have built-in guides.
    /// The default is `rules`.
    #[arg(short, long, value_parser = choice::<ValidationLevel>(), value_name = "LEVEL")]
    pub(crate) level: Option<ValidationLevel>,
    /// Character set of the data, such as utf-8 or iso-8859-2
    ///
    /// EDIFACT interchanges name their character set in UNB. X12 interchanges name none and are checked as ASCII.
    #[arg(short, long, value_name = "CHARSET")]
    pub(crate) encoding: Option<String>,
    /// Treat departures from the standard as errors
    #[arg(long)]
    pub(crate) strict: bool,
    /// Acknowledgment to write: ta1, 997, 999, contrl or auto
    ///
    /// Quayline answers each interchange with one of its own, with sender and receiver exchanged. For X12 it writes TA1 (if ISA14 requests it or
    /// the envelope has a fault) and 997 or 999, for EDIFACT CONTRL. `auto` means 999, or 997 before 005010, and CONTRL; `ta1` and `contrl`
    /// write nothing else. Quayline refuses an interchange of the other standard, except with `auto`.
    #[arg(long, value_enum, value_name = "KIND", help_heading = "Acknowledgment")]
    pub(crate) ack: Option<AckArg>,
    /// File for acknowledgments [default: standard output]
    ///
    /// Quayline writes FILE.partial and renames it when it is complete; it writes a pipe or device directly. If acknowledgments go to standard
    /// output, findings go to standard error.
    #[arg(long, value_name = "FILE", requires = "ack", help_heading = "Acknowledgment")]
    pub(crate) ack_output: Option<PathBuf>,
    /// First control number of acknowledgments
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=999_999_999), requires = "ack", help_heading = "Acknowledgment")]
    pub(crate) ack_control: u64,
    /// Date and time of the acknowledgment, CCYYMMDDHHMM [default: now, UTC]
    #[arg(long, value_name = "WHEN", value_parser = moment, requires = "ack", help_heading = "Acknowledgment")]
    pub(crate) ack_time: Option<String>,
    /// Change a limit: NAME=N, such as segment-bytes=4M
    #[arg(long, value_name = "NAME=N", long_help = super::LIMIT_LONG_HELP, help_heading = "Running")]
    pub(crate) limit: Vec<super::LimitArg>,
    /// Number of threads
    ///
    /// Findings and acknowledgments are the same for any number. Threads check whole transactions of up to 5 MiB in parallel, and longer ones in turns.
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Running")]
    pub(crate) jobs: u16,
    /// Maximum number of findings to print; the rest are counted
    #[arg(long, value_name = "N", default_value_t = 1000, help_heading = "Running")]
    pub(crate) max_findings: usize,
    /// Print statistics: records, bytes, time and memory
    #[arg(long, help_heading = "Running")]
    pub(crate) stats: bool,
    /// Show no progress bar
    #[arg(long, help_heading = "Running")]
    pub(crate) no_progress: bool,
    /// Print findings and a summary for each file as JSON lines
    #[arg(long, help_heading = "Running")]
    pub(crate) json: bool,
}

/// Twelve digits; whether they are a date and a time is seen where they are used.
fn moment(text: &str) -> Result<String, String> {
    let good =
        text.len() == 12 && text.is_ascii() && quayline_edi::acknowledge::Stamp::new(&text[..8], &text[8..]).is_some();
    if good {
        Ok(text.to_owned())
    } else {
        Err("expected a date and a time in twelve digits, such as 202604011200".to_owned())
    }
}

/// Acknowledgments.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum AckArg {
    /// X12: the interchange only
    Ta1,
    /// X12: functional acknowledgment
    #[value(name = "997")]
    Functional,
    /// X12: implementation acknowledgment
    #[value(name = "999")]
    Implementation,
    /// EDIFACT
    Contrl,
    /// The acknowledgment that fits each interchange
    Auto,
}

impl AckArg {
    /// The name by which the acknowledger knows it.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            AckArg::Ta1 => "ta1",
            AckArg::Functional => "997",
            AckArg::Implementation => "999",
            AckArg::Contrl => "contrl",
            AckArg::Auto => "auto",
        }
    }
}

const EXAMPLES: &str = "\
Findings go to standard output and a summary to standard error. The exit code is 1 if any finding is an error.

Examples:
  quayline validate claims.x12 --guide 837p.guide
  quayline validate claims.x12 --guide guides/ --ack 999 --ack-output answer.x12
  quayline validate orders.edi --ack contrl > answer.edi
  quayline validate *.edi --level envelope --json";
