//! Arguments of `quayline translate`.

use std::path::PathBuf;

use super::convert::size_of_arg;
use super::{AckArg, FromFormat, LevelArg, NumbersArg, OutputLevelArg, ToFormat, UnknownArg};

/// Arguments of `quayline translate`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TranslateArgs {
    /// Files to translate, or a folder of them; `-` is standard input
    ///
    /// Several files, and those of a folder, go to a folder named by --output, each to a file of its own name.
    #[arg(value_name = "INPUT", required_unless_present = "explain")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Map to go by
    #[arg(short, long, value_name = "FILE")]
    pub(crate) map: PathBuf,
    /// File or folder to write; `-` or nothing is standard output
    ///
    /// A map with several targets has one for each: --output order=orders.json --output log=log.csv. It is written as FILE.partial and takes its
    /// name when it is complete.
    #[arg(short, long, value_name = "[TARGET=]PATH", help_heading = "Outputs")]
    pub(crate) output: Vec<String>,
    /// Folder for one file a document, of JSON, XML or EDI
    ///
    /// Each is named by its number: 000001.json. The folder must be there.
    #[arg(long, value_name = "[TARGET=]DIR", help_heading = "Outputs")]
    pub(crate) split: Vec<String>,
    /// Format to write, where it is not the target's own
    ///
    /// jsonl, json, csv, xml, parquet, arrow or arrow-stream; a name that ends so says it too. Records and EDI follow from the target.
    #[arg(long, value_name = "[TARGET=]FORMAT", help_heading = "Outputs")]
    pub(crate) to: Vec<String>,
    /// Numbers that JSON readers may corrupt: exact, safe or string
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Outputs")]
    pub(crate) numbers: Option<NumbersArg>,
    /// Level to check written EDI at: none, envelope, guide, notes or rules
    ///
    /// What `quayline validate` finds at this level in the output rejects the source document. With --strict, departures from the standards do
    /// too. `none` writes EDI unchecked.
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = OutputLevelArg::Rules, hide_default_value = true, help_heading = "Outputs")]
    pub(crate) output_level: OutputLevelArg,
    /// Format to read: json, csv or xml
    ///
    /// Where the source's shape does not say it.
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Source")]
    pub(crate) from: Option<FromFormat>,
    /// How much to check by guide: envelope, guide, notes or rules
    #[arg(short, long, value_enum, value_name = "LEVEL", default_value_t = LevelArg::Rules, hide_default_value = true, help_heading = "Source")]
    pub(crate) level: LevelArg,
    /// Treat departures from the standards as errors, read or written
    #[arg(long, help_heading = "Source")]
    pub(crate) strict: bool,
    /// Members that the source does not have: error or ignore
    #[arg(long, value_enum, value_name = "POLICY", help_heading = "Source")]
    pub(crate) unknown: Option<UnknownArg>,
    /// Code page of the source's records, or of EDI that names none
    #[arg(long, value_name = "PAGE", help_heading = "Records")]
    pub(crate) from_encoding: Option<String>,
    /// Code page of the records to write, or of EDI
    #[arg(long, value_name = "PAGE", help_heading = "Records")]
    pub(crate) to_encoding: Option<String>,
    /// How records stand in the source: fixed, rdw, lines, ...
    #[arg(long, value_name = "FRAMING", help_heading = "Records")]
    pub(crate) from_framing: Option<String>,
    /// How records stand in the file to write: fixed, rdw, ...
    #[arg(long, value_name = "FRAMING", help_heading = "Records")]
    pub(crate) to_framing: Option<String>,
    /// Sender of interchanges to write: ID or QUALIFIER:ID
    #[arg(long, value_name = "ID", help_heading = "Envelopes")]
    pub(crate) sender: Option<String>,
    /// Receiver of interchanges to write: ID or QUALIFIER:ID
    #[arg(long, value_name = "ID", help_heading = "Envelopes")]
    pub(crate) receiver: Option<String>,
    /// Control number of the interchange that is written
    #[arg(long, value_name = "NUMBER", help_heading = "Envelopes")]
    pub(crate) control_number: Option<String>,
    /// Envelope value, and header field of interchanges to write
    ///
    /// Maps read it as envelope.NAME. A header field is called as in documents, with its level in front: group.sender, interchange.test. What the map sets goes before it.
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Envelopes")]
    pub(crate) envelope: Vec<String>,
    /// Acknowledgment of the source to write: ta1, 997, 999, contrl or auto
    ///
    /// It is what `quayline validate --ack` writes for the same file.
    #[arg(long, value_enum, value_name = "KIND", requires = "ack_output", help_heading = "Acknowledgment")]
    pub(crate) ack: Option<AckArg>,
    /// File for acknowledgments
    ///
    /// For several inputs it is a folder.
    #[arg(long, value_name = "FILE", requires = "ack", help_heading = "Acknowledgment")]
    pub(crate) ack_output: Option<PathBuf>,
    /// CSV table that the map looks up
    ///
    /// Its first columns are the keys, the others the fields, in the order of the map's `lookup`.
    #[arg(long, value_name = "NAME=FILE", help_heading = "Running")]
    pub(crate) lookup: Vec<String>,
    /// Time that the map takes as now: 2026-01-31T12:00:00
    #[arg(long, value_name = "TIME", help_heading = "Running")]
    pub(crate) now: Option<String>,
    /// Threads that translate
    ///
    /// The output is the same for any number of them.
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Running")]
    pub(crate) jobs: u16,
    /// File for documents that are not translated, unchanged
    ///
    /// Without it the run stops at the first. FILE.findings.jsonl beside it says what is wrong with each. For several inputs it is a folder.
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub(crate) rejects: Option<PathBuf>,
    /// Rejected documents after which the run stops
    #[arg(long, value_name = "N", requires = "rejects", help_heading = "Running")]
    pub(crate) max_rejects: Option<u64>,
    /// File that holds the state to resume from
    ///
    /// It is OUTPUT.checkpoint where it is left out, and removed when the output is complete.
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Bytes of the source between two checkpoints
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = size_of_arg, hide = true, help_heading = "Running")]
    pub(crate) checkpoint_every: usize,
    /// Go on from the checkpoint of a stopped run
    #[arg(long, help_heading = "Running")]
    pub(crate) resume: bool,
    /// Bound to change: NAME=N, such as segment-bytes=4M
    #[arg(long, value_name = "NAME=N", long_help = super::LIMIT_LONG_HELP, help_heading = "Running")]
    pub(crate) limit: Vec<super::LimitArg>,
    /// Print the plan of the map and what it keeps in memory
    ///
    /// No input is read.
    #[arg(long, help_heading = "Running")]
    pub(crate) explain: bool,
    /// File that is told which statement wrote what, from what
    ///
    /// Such a run has one thread. docs/guides/translate.md shows the form.
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub(crate) trace: Option<PathBuf>,
    /// Print what was done and what it cost
    #[arg(long, help_heading = "Running")]
    pub(crate) stats: bool,
    /// Say nothing of what is merely odd
    #[arg(short, long, help_heading = "Running")]
    pub(crate) quiet: bool,
    /// No progress bar
    #[arg(long, help_heading = "Running")]
    pub(crate) no_progress: bool,
    /// Findings and statistics as JSON, one object a line on standard error
    #[arg(long, help_heading = "Running")]
    pub(crate) json: bool,
}

/// A format by its word.
pub(crate) fn format_named(word: &str) -> Option<ToFormat> {
    <ToFormat as clap::ValueEnum>::from_str(word, true).ok()
}

const EXAMPLES: &str = "\
The map names its source and its targets, and these say how they are read and written.

Examples:
  quayline translate --map maps/850-order.qmap orders.x12 -o orders.jsonl
  quayline translate --map maps/837p-claims.qmap claims.x12 -o claims.dat --ack auto --ack-output claims.999 --rejects bad.x12 -j 2
  quayline translate --map maps/invoice-810.qmap invoices.dat -o invoices.x12 --sender ZZ:ACME --receiver 01:123456789
  quayline translate --map maps/835-payments.qmap inbox/ -o outbox/ --to parquet
  quayline translate --map maps/850-order.qmap --explain";
