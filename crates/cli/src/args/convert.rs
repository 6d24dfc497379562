//! Arguments of `quayline convert`.

use std::path::PathBuf;

use clap::ValueEnum;
use quayline_cobol::{Absent, BadValue, Fillers, KeyStyle, LengthMismatch, NullAs, RedefinesPolicy, ShortRecord, Trim};
use quayline_convert::Compression;
use quayline_edi::ValidationLevel;
use quayline_project::SkipBytes;

use super::CopybookArgs;
use super::choices::{OutputLevel, choice, file_name, output_level};

/// Arguments of `quayline convert`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ConvertArgs {
    /// Files to convert; `-` is standard input
    ///
    /// `file:NAME` is a record file of the store; its records come in the order of its key. With several files, --output must name a folder. Each output has the name of its input and the extension of the format. JSON lines and
    /// records may also go to standard output, one file after another.
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// File to write; `-` or nothing is standard output
    ///
    /// Quayline writes FILE.partial and renames it when it is complete. It writes a pipe or device directly. `file:NAME` adds records to a
    /// record file of the store, 5,000 in one unit of work.
    #[arg(short, long, value_name = "FILE", help_heading = "Formats")]
    pub(crate) output: Option<PathBuf>,
    /// Write one JSON, XML or EDI file for each document to this folder
    ///
    /// The name has the number of the document and, for a transaction, its type and control number: 000001-837-0001.json. Quayline writes
    /// NAME.partial and renames it when it is complete. The folder must exist. --to selects the format (default: JSON).
    #[arg(long, value_name = "DIR", conflicts_with = "output", help_heading = "Formats")]
    pub(crate) split: Option<PathBuf>,
    /// Format to read, if unclear: record, edi, json, csv, xml, parquet or arrow
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Formats")]
    pub(crate) from: Option<FromFormat>,
    /// Format to write: jsonl, json, csv, xml, parquet, arrow, edi or record
    ///
    /// The default follows from the name of --output; standard output gets JSON lines.
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Formats")]
    pub(crate) to: Option<ToFormat>,
    /// Compress the output: gzip, zstd or none
    ///
    /// The default follows from the name of --output: .gz or .zst after the extension of the format. A compressed output cannot be resumed.
    #[arg(long, value_enum, value_name = "HOW", conflicts_with = "split", help_heading = "Formats")]
    pub(crate) compress: Option<CompressArg>,
    /// Decompress the input: auto or none
    ///
    /// With `auto`, Quayline recognizes gzip and Zstandard by their first bytes and reads what is inside.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = DecompressArg::Auto, hide_default_value = true, help_heading = "Formats")]
    pub(crate) decompress: DecompressArg,
    /// Separator of CSV cells, or `tab` [default: comma, or tab for .tsv]
    #[arg(long, value_name = "CHAR", value_parser = delimiter, help_heading = "Formats")]
    pub(crate) delimiter: Option<u8>,
    /// Read or write CSV without a header row
    #[arg(long, help_heading = "Formats")]
    pub(crate) no_header: bool,
    /// XML element around all records [default: records]
    #[arg(long, value_name = "NAME", help_heading = "Formats")]
    pub(crate) xml_root: Option<String>,
    /// XML element of one record [default: record]
    #[arg(long, value_name = "NAME", help_heading = "Formats")]
    pub(crate) xml_record: Option<String>,
    /// Guide for transactions, or a folder of guides
    ///
    /// May be given several times. Documents have a member for each loop, segment and element of the guide instead of lists of segments.
    /// Anything that a guide does not allow is an error; --level sets how much is checked.
    #[arg(short, long, value_name = "PATH", help_heading = "EDI")]
    pub(crate) guide: Vec<PathBuf>,
    /// How much to check by guide: envelope, guide, notes or rules
    #[arg(short, long, value_parser = choice::<ValidationLevel>(), value_name = "LEVEL", default_value = "rules", requires = "guide", hide_default_value = true, help_heading = "EDI")]
    pub(crate) level: ValidationLevel,
    /// Level to check written EDI at: none, envelope, guide, notes or rules
    ///
    /// What `quayline validate` finds at this level in the output rejects the document. The default is `rules` with --guide and `none` without.
    #[arg(long, value_parser = output_level(), value_name = "LEVEL", help_heading = "EDI")]
    pub(crate) output_level: Option<OutputLevel>,
    /// Names of members by guide: reference (NM103) or name
    #[arg(long, value_enum, value_name = "WHICH", requires = "guide", help_heading = "EDI")]
    pub(crate) names: Option<NamesArg>,
    /// Make one document for each segment instead of each transaction
    ///
    /// This is the default for tables (CSV, Parquet, Arrow) without a guide. No guide checks rows; `quayline validate` checks their source.
    #[arg(long, help_heading = "EDI")]
    pub(crate) rows: bool,
    /// Size above which a transaction is converted in pages [default: 512K]
    ///
    /// Each page is a document with `transaction.page`, so memory does not depend on the length of a transaction. Written back, the pages are
    /// one transaction again. K and M mean 1024 and 1024 x 1024 bytes.
    #[arg(long, value_name = "SIZE", value_parser = size_of_arg, help_heading = "EDI")]
    pub(crate) page: Option<usize>,
    /// Treat departures from the standards as errors, read or written
    #[arg(long, help_heading = "EDI")]
    pub(crate) strict: bool,
    /// Copybook that describes the records
    ///
    /// May be given several times, for files whose record types are described in several copybooks.
    #[arg(short, long, value_name = "FILE", help_heading = "Records")]
    pub(crate) copybook: Vec<PathBuf>,
    /// Bytes before the first record that are not a record, at most 16777216
    #[arg(long, value_name = "N", value_parser = skipped_first, help_heading = "Records")]
    pub(crate) skip_bytes_first: Option<u64>,
    /// Bytes after the last record that are not a record, at most 65536
    #[arg(long, value_name = "N", value_parser = skipped_last, help_heading = "Records")]
    pub(crate) skip_bytes_last: Option<usize>,
    /// Write one file for each record type to the folder --output
    ///
    /// The interface file names the types. A file has the name of the input and of the type: orders-CUSTOMER.parquet. Each of its
    /// documents has one member, the record, with the records that are nested in it. Quayline reads the input once for each file, and
    /// --rejects names a set of files, too.
    #[arg(long, help_heading = "Records", requires = "output", conflicts_with_all = ["split", "resume", "checkpoint"])]
    pub(crate) by_type: bool,
    /// Code page of records, such as cp037, or of EDI that names no set
    ///
    /// Quayline never guesses it, because a wrong one reads most letters correctly and some wrongly. `quayline inspect` proposes code pages
    /// with its evidence.
    #[arg(short, long, value_name = "PAGE", help_heading = "Records")]
    pub(crate) encoding: Option<String>,
    /// Framing of the records: fixed, rdw, vb, vbs, lines, layout, ...
    #[arg(short, long, value_name = "FRAMING", help_heading = "Records", long_help = FRAMING_LONG_HELP)]
    pub(crate) framing: Option<String>,
    /// Code page of the output records, if different
    #[arg(long, value_name = "PAGE", help_heading = "Records")]
    pub(crate) to_encoding: Option<String>,
    /// Framing of the output records, if different
    #[arg(long, value_name = "FRAMING", help_heading = "Records")]
    pub(crate) to_framing: Option<String>,
    /// Interface file that selects and renames fields and sets defaults
    ///
    /// docs/reference/interface.md lists its keys.
    #[arg(short, long, value_name = "FILE", help_heading = "Records")]
    pub(crate) interface: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Records")]
    pub(crate) store: super::FolderArg,
    #[command(flatten, next_help_heading = "Records")]
    pub(crate) reading: CopybookArgs,
    /// Bytes that are not a value of their field: error, null or raw
    #[arg(long, value_parser = choice::<BadValue>(), value_name = "POLICY", help_heading = "Values")]
    pub(crate) invalid: Option<BadValue>,
    /// Numeric fields that hold only spaces: error, null or raw
    #[arg(long, value_parser = choice::<BadValue>(), value_name = "POLICY", help_heading = "Values")]
    pub(crate) blank: Option<BadValue>,
    /// Numeric fields that hold only binary zeros: error, null or raw
    #[arg(long, value_parser = choice::<BadValue>(), value_name = "POLICY", help_heading = "Values")]
    pub(crate) low_values: Option<BadValue>,
    /// Blanks to cut from text: padding, both, keep or nul
    #[arg(long, value_parser = choice::<Trim>(), value_name = "WHICH", help_heading = "Values")]
    pub(crate) trim: Option<Trim>,
    /// Records shorter than the layout: error, pad or null
    ///
    /// The default is `pad` for lines, as READ pads them, and `error` for other framings. A text that the record's end cuts keeps its
    /// characters; a number that it cuts is an error under every policy.
    #[arg(long, value_parser = choice::<ShortRecord>(), value_name = "POLICY", help_heading = "Values")]
    pub(crate) short: Option<ShortRecord>,
    /// Records longer than the layout: error or accept
    #[arg(long, value_parser = choice::<LengthMismatch>(), value_name = "POLICY", help_heading = "Values")]
    pub(crate) long: Option<LengthMismatch>,
    /// Members missing in a document: value, initialize, low-values or error
    #[arg(long, value_parser = choice::<Absent>(), value_name = "POLICY", help_heading = "Values")]
    pub(crate) absent: Option<Absent>,
    /// Null in a document: error, spaces, zeros, low-values or value
    ///
    /// A record has no null. The default is what decoding reads as null: spaces with `--blank null`, low-values with `--low-values null` (spaces
    /// in text), and otherwise an error. An interface file says it for one field: null = "zeros".
    ///
    /// In CSV, an empty cell is null with this option, with `--blank null` or with `--low-values null`, and for a field with a null of its own.
    /// Otherwise it is a missing member, which `--absent` decides.
    #[arg(long, value_parser = choice::<NullAs>(), value_name = "POLICY", help_heading = "Values")]
    pub(crate) null: Option<NullAs>,
    /// Members that the records do not have: error or ignore
    #[arg(long, value_enum, value_name = "POLICY", help_heading = "Values")]
    pub(crate) unknown: Option<UnknownArg>,
    /// Preserve non-canonical bytes for byte-identical round trips
    ///
    /// Dirty fillers, slack bytes, sign nibbles and padding go to a member `_preserve`, and from there back into the record. In an edited document, the other members come first: bytes that decode to another value are not restored.
    #[arg(long, help_heading = "Values")]
    pub(crate) preserve: bool,
    /// Numbers that JSON readers may corrupt: exact, safe or string
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Names and numbers")]
    pub(crate) numbers: Option<NumbersArg>,
    /// Keys: cobol, underscore, snake, kebab, camel or pascal
    #[arg(long, value_parser = choice::<KeyStyle>(), value_name = "STYLE", help_heading = "Names and numbers")]
    pub(crate) key_style: Option<KeyStyle>,
    /// FILLER items: drop or keep
    #[arg(long, value_parser = choice::<Fillers>(), value_name = "WHAT", help_heading = "Names and numbers")]
    pub(crate) fillers: Option<Fillers>,
    /// Views of redefined storage to show: all or original
    #[arg(long, value_parser = choice::<RedefinesPolicy>(), value_name = "WHICH", help_heading = "Names and numbers")]
    pub(crate) redefines: Option<RedefinesPolicy>,
    /// Add a member with the number of each record
    ///
    /// Headers count, so the number is that of findings. A member of this name is ignored in documents that become records.
    #[arg(long, value_name = "NAME", help_heading = "Names and numbers")]
    pub(crate) record_number: Option<String>,
    /// Add a member with the number of the parent record
    #[arg(long, value_name = "NAME", help_heading = "Names and numbers")]
    pub(crate) parent_number: Option<String>,
    /// Add a member with the name of the input
    #[arg(long, value_name = "NAME", help_heading = "Names and numbers")]
    pub(crate) source_file: Option<String>,
    /// Number of threads
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Running")]
    pub(crate) jobs: u16,
    /// File for records that do not convert, whole and unchanged
    ///
    /// Without it, the run stops at the first such record. FILE.findings.jsonl gives the faults of each. If FILE is a folder, the records go
    /// to a file in it with the name of the input. Several inputs require a folder.
    #[arg(long, value_name = "FILE", value_parser = file_name(), help_heading = "Running")]
    pub(crate) rejects: Option<PathBuf>,
    /// Stop after N rejected records
    ///
    /// Quayline checks N after each block of about 256 KiB, so it may reject a few more, the same number for any --jobs. The output so far is
    /// kept, and the run prints its warnings. --resume with a larger N continues from there and prints those of the rest.
    #[arg(long, value_name = "N", requires = "rejects", help_heading = "Running")]
    pub(crate) max_rejects: Option<u64>,
    /// File that holds the state to resume from
    ///
    /// The default is OUTPUT.checkpoint. A conversion from file to file writes it when it is stopped or takes long, and removes it when the
    /// output is complete.
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Continue from the checkpoint of a stopped run
    #[arg(long, help_heading = "Running")]
    pub(crate) resume: bool,
    /// Print statistics: records, bytes, time and memory
    #[arg(long, help_heading = "Running")]
    pub(crate) stats: bool,
    /// Write the cost of a record by phase, for `quayline profile`
    #[arg(long, value_name = "FILE", value_parser = file_name(), help_heading = "Running")]
    pub(crate) profile: Option<PathBuf>,
    /// Show no progress bar
    #[arg(long, help_heading = "Running")]
    pub(crate) no_progress: bool,
    /// Show the content of fields in messages
    ///
    /// By default, messages name only place and shape, because these files contain health and money data.
    #[arg(long, help_heading = "Running")]
    pub(crate) show_data: bool,
    /// Print findings and statistics as JSON lines on standard error
    #[arg(long, help_heading = "Running")]
    pub(crate) json: bool,
}

/// A number of bytes that a file of rejects can have as fillers.
fn skipped_first(text: &str) -> Result<u64, String> {
    let most = SkipBytes::FIRST_MAX;
    let bytes = text.parse::<u64>().ok().filter(|bytes| *bytes <= most);
    bytes.ok_or_else(|| format!("expected a number of bytes from 0 to {most}"))
}

/// A number of bytes that a reader can hold back.
fn skipped_last(text: &str) -> Result<usize, String> {
    let most = SkipBytes::LAST_MAX;
    let bytes = text.parse::<usize>().ok().filter(|bytes| *bytes <= most);
    bytes.ok_or_else(|| format!("expected a number of bytes from 0 to {most}"))
}

/// A separator: one character of ASCII, or the word `tab`.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ => {
            Err("expected one ASCII character that is not a letter, digit, quote or line end, or the word `tab`"
                .to_owned())
        }
    }
}

/// A number of bytes, with K or M behind it for more of them.
pub(crate) fn size_of_arg(text: &str) -> Result<usize, String> {
    let (digits, unit) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1 << 10),
        None => text.strip_suffix(['M', 'm']).map_or((text, 1), |digits| (digits, 1 << 20)),
    };
    let size = digits.parse::<usize>().ok().and_then(|number| number.checked_mul(unit)).filter(|size| *size > 0);
    size.filter(|size| *size <= 1 << 30)
        .ok_or_else(|| "expected a number of bytes from 1 to 1024M, such as 500K".to_owned())
}

/// How members are called.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum NamesArg {
    /// References of the standard: NM103, 2010AA (default)
    Reference,
    /// Names of the guide, in lower case with underscores
    Name,
}

/// Formats to read.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum FromFormat {
    /// Records described by a copybook
    Record,
    /// JSON: documents one after another, or one array of them
    #[value(alias = "jsonl")]
    Json,
    /// CSV with a header line
    Csv,
    /// XML: a root element with an element for each document
    Xml,
    /// X12 and EDIFACT interchanges
    #[value(alias = "x12", alias = "edifact")]
    Edi,
    /// Parquet
    Parquet,
    /// Arrow IPC file or stream
    #[value(alias = "arrow-stream", alias = "feather")]
    Arrow,
}

/// How the output is compressed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum CompressArg {
    /// gzip
    #[value(alias = "gz")]
    Gzip,
    /// Zstandard
    #[value(alias = "zst")]
    Zstd,
    /// Not compressed
    None,
}

impl CompressArg {
    /// How an output of this name is compressed.
    pub(crate) fn of_output(given: Option<CompressArg>, name: Option<&std::path::Path>) -> Option<Compression> {
        match given {
            Some(CompressArg::Gzip) => Some(Compression::Gzip),
            Some(CompressArg::Zstd) => Some(Compression::Zstd),
            Some(CompressArg::None) => None,
            None => name.and_then(Compression::of_name),
        }
    }
}

/// Whether the input is decompressed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum DecompressArg {
    /// gzip and Zstandard, by their first bytes (default)
    Auto,
    /// The bytes are read as they are
    None,
}

/// Formats to write.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum ToFormat {
    /// JSON, one document on each line
    Jsonl,
    /// JSON, one array of documents
    Json,
    /// CSV with a header line
    Csv,
    /// XML: a root element with an element for each document
    Xml,
    /// Parquet
    Parquet,
    /// Arrow IPC file
    Arrow,
    /// Arrow IPC stream
    ArrowStream,
    /// Records described by a copybook
    Record,
    /// X12 and EDIFACT interchanges
    #[value(alias = "x12", alias = "edifact")]
    Edi,
}

/// Members that the records do not have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum UnknownArg {
    /// Reject the document, because a name is probably misspelt (default)
    Error,
    /// Ignore them
    Ignore,
}

/// Numbers in JSON.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum NumbersArg {
    /// JSON numbers with every digit (default)
    Exact,
    /// Strings if a 64-bit float would lose digits
    Safe,
    /// Strings
    String,
}

/// Also of `quayline inspect --framing`.
pub(crate) const FRAMING_LONG_HELP: &str = "\
Framing of the records, as NAME or NAME:OPTION,OPTION...

- fixed, fixed:N: N bytes each; `fixed` alone means the layout's maximum length (default)
- rdw: a length before every record, as in V files of z/OS. be or le; whole or body
  (whether it counts itself); its form ll00, 00ll, ll or llll; any (reserved bytes); adjust=N; max=N
- vb: blocks and records with a length before each; options as rdw, and bdw-le, bdw-body,
  bdw-adjust=N for the block's length
- vbs: spanned records; no-bdw if the block headers are missing
- lines: lf, crlf, nl (0x15) or lf25 (0x25); strip-cr
- length: a length field; offset=N, size=N; be, le, ascii or ebcdic; whole or body; adjust=N; strip
- layout: records one after another, each as long as its OCCURS DEPENDING ON counters say
- d: a length of four ASCII digits before every record, which counts itself
- gnucobol, gnucobol:N: variable sequential files with COB_VARSEQ_FORMAT N, 0 to 3
- mf: Micro Focus variable format with its file header";

const EXAMPLES: &str = "\
Quayline recognizes the input format from the name or otherwise the content, and the output format from
the name of --output. Everything except the output goes to standard error.

Examples:
  quayline convert orders.dat --copybook orders.cpy --encoding cp037 -o orders.jsonl
  quayline convert orders.dat -c orders.cpy -e cp1140 -f rdw --rejects bad.dat -o orders.parquet
  quayline convert orders.jsonl -c orders.cpy -e cp037 -o orders.dat
  quayline convert - -c orders.cpy -e cp037 --to csv < orders.dat | head
  quayline convert big.dat -c orders.cpy -e cp037 -o big.jsonl -j 2 --resume --stats";
