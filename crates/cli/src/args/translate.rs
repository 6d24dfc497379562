//! Arguments of `quayline translate`.

use std::path::PathBuf;

use quayline_edi::ValidationLevel;

use super::choices::{OutputLevel, choice, file_name, output_level};
use super::convert::size_of_arg;
use super::{AckArg, FromFormat, NumbersArg, ToFormat, UnknownArg};

/// Arguments of `quayline translate`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TranslateArgs {
    /// Files to translate, or a folder of them; `-` is standard input
    ///
    /// `file:NAME` is a record file of the store, here and for --output. With several files or a folder, --output must name a folder. Each output has the name of its input.
    #[arg(value_name = "INPUT", required_unless_present = "explain")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Map to use
    #[arg(short, long, value_name = "FILE")]
    pub(crate) map: PathBuf,
    /// File or folder to write; `-` or nothing is standard output
    ///
    /// A map with several targets needs one for each: --output order=orders.json --output log=log.csv. Quayline writes FILE.partial and renames
    /// it when it is complete.
    #[arg(short, long, value_name = "[TARGET=]PATH", help_heading = "Outputs")]
    pub(crate) output: Vec<String>,
    /// Write one JSON, XML or EDI file for each document to this folder
    ///
    /// The name is the number of the document: 000001.json. The folder must exist.
    #[arg(long, value_name = "[TARGET=]DIR", help_heading = "Outputs")]
    pub(crate) split: Vec<String>,
    /// Format to write instead of the target's own
    ///
    /// jsonl, json, csv, xml, parquet, arrow or arrow-stream. The extension of --output selects it too. Records and EDI follow from the target.
    #[arg(long, value_name = "[TARGET=]FORMAT", help_heading = "Outputs")]
    pub(crate) to: Vec<String>,
    /// Numbers that JSON readers may corrupt: exact, safe or string
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Outputs")]
    pub(crate) numbers: Option<NumbersArg>,
    /// Level to check written EDI at: none, envelope, guide, notes or rules
    ///
    /// What `quayline validate` finds at this level in the output rejects the source document. With --strict, departures from the standards do
    /// too. `none` writes EDI unchecked.
    #[arg(long, value_parser = output_level(), value_name = "LEVEL", default_value = "rules", hide_default_value = true, help_heading = "Outputs")]
    pub(crate) output_level: OutputLevel,
    /// Format to read: json, csv or xml
    ///
    /// Needed if the source's shape does not determine it.
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Source")]
    pub(crate) from: Option<FromFormat>,
    /// How much to check by guide: envelope, guide, notes or rules
    #[arg(short, long, value_parser = choice::<ValidationLevel>(), value_name = "LEVEL", default_value = "rules", hide_default_value = true, help_heading = "Source")]
    pub(crate) level: ValidationLevel,
    /// Treat departures from the standards as errors, read or written
    #[arg(long, help_heading = "Source")]
    pub(crate) strict: bool,
    /// Members that the source does not have: error or ignore
    #[arg(long, value_enum, value_name = "POLICY", help_heading = "Source")]
    pub(crate) unknown: Option<UnknownArg>,
    #[command(flatten, next_help_heading = "Records")]
    pub(crate) store: super::FolderArg,
    /// Code page of the source's records, or of EDI that names no set
    #[arg(long, value_name = "PAGE", help_heading = "Records")]
    pub(crate) from_encoding: Option<String>,
    /// Code page of the records to write, or of EDI
    #[arg(long, value_name = "PAGE", help_heading = "Records")]
    pub(crate) to_encoding: Option<String>,
    /// Framing of the source records: fixed, rdw, lines, ...
    #[arg(long, value_name = "FRAMING", help_heading = "Records")]
    pub(crate) from_framing: Option<String>,
    /// Framing of the output records: fixed, rdw, ...
    #[arg(long, value_name = "FRAMING", help_heading = "Records")]
    pub(crate) to_framing: Option<String>,
    /// Sender of interchanges to write: ID or QUALIFIER:ID
    #[arg(long, value_name = "ID", help_heading = "Envelopes")]
    pub(crate) sender: Option<String>,
    /// Receiver of interchanges to write: ID or QUALIFIER:ID
    #[arg(long, value_name = "ID", help_heading = "Envelopes")]
    pub(crate) receiver: Option<String>,
    /// First control number of interchanges to write
    #[arg(long, value_name = "NUMBER", help_heading = "Envelopes")]
    pub(crate) control_number: Option<String>,
    /// Set a value of the envelope or a header field
    ///
    /// Maps read it as envelope.NAME. Name a header field as in documents, with its level: group.sender, interchange.test. Values that the map
    /// sets take precedence.
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Envelopes")]
    pub(crate) envelope: Vec<String>,
    /// Acknowledgment of the source to write: ta1, 997, 999, contrl or auto
    ///
    /// It is what `quayline validate --ack` writes for the same file.
    #[arg(long, value_enum, value_name = "KIND", requires = "ack_output", help_heading = "Acknowledgment")]
    pub(crate) ack: Option<AckArg>,
    /// File for acknowledgments
    ///
    /// Several inputs require a folder.
    #[arg(long, value_name = "FILE", value_parser = file_name(), requires = "ack", help_heading = "Acknowledgment")]
    pub(crate) ack_output: Option<PathBuf>,
    /// CSV table for a lookup of the map
    ///
    /// The first columns are the keys, the others the fields, in the order of the map's `lookup`.
    #[arg(long, value_name = "NAME=FILE", help_heading = "Running")]
    pub(crate) lookup: Vec<String>,
    /// Program for a function of the map
    ///
    /// A command, or cobol:FOLDER/PROGRAM. The map declares the function: `fn rate(country: text(2)) -> decimal(5, 3)`. Quayline calls a command by the artifact protocol, with the
    /// request `call`, and a COBOL program with its arguments and its result in one parameter.
    #[arg(long, value_name = "NAME=PROGRAM", help_heading = "Running")]
    pub(crate) function: Vec<String>,
    /// Folder in which programs of functions run
    #[arg(long, value_name = "DIR", default_value = ".", hide = true)]
    pub(crate) function_folder: PathBuf,
    /// Seconds that a call of a function may take
    ///
    /// The default is 10. Then Quayline ends the program.
    #[arg(long, value_name = "N", default_value_t = quayline_batch::FUNCTION_TIME.as_secs(), hide_default_value = true, value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = "Running")]
    pub(crate) function_timeout: u64,
    /// Value of now() in the map: 2026-01-31T12:00:00
    #[arg(long, value_name = "TIME", help_heading = "Running")]
    pub(crate) now: Option<String>,
    /// Number of threads
    ///
    /// The output is the same for any number.
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Running")]
    pub(crate) jobs: u16,
    /// File for rejected documents, whole and unchanged
    ///
    /// Without it, the run stops at the first such document. FILE.findings.jsonl gives the faults of each. Several inputs require a folder.
    #[arg(long, value_name = "FILE", value_parser = file_name(), help_heading = "Running")]
    pub(crate) rejects: Option<PathBuf>,
    /// Stop after N rejected documents
    #[arg(long, value_name = "N", requires = "rejects", help_heading = "Running")]
    pub(crate) max_rejects: Option<u64>,
    /// File that holds the state to resume from
    ///
    /// The default is OUTPUT.checkpoint. Quayline removes it when the output is complete.
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Bytes of the source between two checkpoints
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = size_of_arg, hide = true, help_heading = "Running")]
    pub(crate) checkpoint_every: usize,
    /// Continue from the checkpoint of a stopped run
    #[arg(long, help_heading = "Running")]
    pub(crate) resume: bool,
    /// Change a limit: NAME=N, such as segment-bytes=4M
    #[arg(long, value_name = "NAME=N", long_help = super::LIMIT_LONG_HELP, help_heading = "Running")]
    pub(crate) limit: Vec<super::LimitArg>,
    /// Print the plan of the map and what it keeps in memory
    ///
    /// Quayline reads no input.
    #[arg(long, help_heading = "Running")]
    pub(crate) explain: bool,
    /// Write a trace: each value, the statement that wrote it, its source
    ///
    /// Such a run uses one thread. docs/guides/translate.md shows the format.
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub(crate) trace: Option<PathBuf>,
    /// Print statistics: records, bytes, time and memory
    #[arg(long, help_heading = "Running")]
    pub(crate) stats: bool,
    /// Write the cost of a record by phase, for `quayline profile`
    #[arg(long, value_name = "FILE", value_parser = file_name(), help_heading = "Running")]
    pub(crate) profile: Option<PathBuf>,
    /// Hide warnings
    #[arg(short, long, help_heading = "Running")]
    pub(crate) quiet: bool,
    /// Show no progress bar
    #[arg(long, help_heading = "Running")]
    pub(crate) no_progress: bool,
    /// Print findings and statistics as JSON lines on standard error
    #[arg(long, help_heading = "Running")]
    pub(crate) json: bool,
}

/// A format by its word.
pub(crate) fn format_named(word: &str) -> Option<ToFormat> {
    <ToFormat as clap::ValueEnum>::from_str(word, true).ok()
}

const EXAMPLES: &str = "\
The map names its source and its targets, which determine how files are read and written.

Examples:
  quayline translate --map maps/850-order.qmap orders.x12 -o orders.jsonl
  quayline translate --map maps/837p-claims.qmap claims.x12 -o claims.dat --ack auto --ack-output claims.999 --rejects bad.x12 -j 2
  quayline translate --map maps/invoice-810.qmap invoices.dat -o invoices.x12 --sender ZZ:ACME --receiver 01:123456789
  quayline translate --map maps/835-payments.qmap inbox/ -o outbox/ --to parquet
  quayline translate --map maps/850-order.qmap --explain";
