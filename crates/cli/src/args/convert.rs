//! Arguments of `quayline convert`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::{CopybookArgs, LevelArg, OutputLevelArg};

/// Arguments of `quayline convert`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ConvertArgs {
    /// Files to convert; `-` is standard input
    ///
    /// Several files go to a folder named by --output, each to a file of its own name with the target's extension, or one after the other to
    /// standard output (JSON lines and records only).
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// File to write; `-` or nothing is standard output
    ///
    /// It is written as FILE.partial and takes its name when it is complete. A pipe or device is written as it is.
    #[arg(short, long, value_name = "FILE", help_heading = "Formats")]
    pub(crate) output: Option<PathBuf>,
    /// Folder for one file a document, of JSON, XML or EDI
    ///
    /// Each is named by its number and, where it is a transaction, by type and control number: 000001-837-0001.json. It is written as
    /// NAME.partial and takes its name when it is complete. The folder must be there. --to says which format; JSON is the default.
    #[arg(long, value_name = "DIR", conflicts_with = "output", help_heading = "Formats")]
    pub(crate) split: Option<PathBuf>,
    /// Format to read, where content leaves doubt: record, edi, json, csv or xml
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Formats")]
    pub(crate) from: Option<FromFormat>,
    /// Format to write: jsonl, json, csv, xml, parquet, arrow, edi or record
    ///
    /// Where it is left out, the name of --output says it; standard output gets JSON lines.
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Formats")]
    pub(crate) to: Option<ToFormat>,
    /// Separator of CSV cells, or `tab`; for .tsv it is a tab [default: ,]
    #[arg(long, value_name = "CHAR", value_parser = delimiter, help_heading = "Formats")]
    pub(crate) delimiter: Option<u8>,
    /// CSV without a first row that names the columns
    #[arg(long, help_heading = "Formats")]
    pub(crate) no_header: bool,
    /// XML element around all records [default: records]
    #[arg(long, value_name = "NAME", help_heading = "Formats")]
    pub(crate) xml_root: Option<String>,
    /// XML element of one record [default: record]
    #[arg(long, value_name = "NAME", help_heading = "Formats")]
    pub(crate) xml_record: Option<String>,
    /// Guide for the documents of transactions; or a folder of guides
    ///
    /// May be given several times. Documents have a member for each loop, segment and element of the guide instead of lists of segments. What
    /// a guide does not allow is an error; --level says how much is checked.
    #[arg(short, long, value_name = "PATH", help_heading = "EDI")]
    pub(crate) guide: Vec<PathBuf>,
    /// How much to check by guide: envelope, guide, notes or rules
    #[arg(short, long, value_enum, value_name = "LEVEL", default_value_t = LevelArg::Rules, requires = "guide", hide_default_value = true, help_heading = "EDI")]
    pub(crate) level: LevelArg,
    /// Level to check written EDI at: none, envelope, guide, notes or rules
    ///
    /// What `quayline validate` finds at this level in the output rejects the document. The default is `rules` with --guide and `none` without.
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = "EDI")]
    pub(crate) output_level: Option<OutputLevelArg>,
    /// Members by guide: reference (NM103) or name
    #[arg(long, value_enum, value_name = "WHICH", requires = "guide", help_heading = "EDI")]
    pub(crate) names: Option<NamesArg>,
    /// One document a segment instead of one a transaction
    ///
    /// Tables (CSV, Parquet, Arrow) have these unless there is a guide.
    #[arg(long, help_heading = "EDI")]
    pub(crate) rows: bool,
    /// Bytes from which a transaction is converted in pages
    ///
    /// Each page is a document with `transaction.page`, so that memory does not depend on how long a transaction is; written back, they are
    /// one again. K and M stand for 1024 and 1024 x 1024 bytes.
    #[arg(long, value_name = "SIZE", default_value = "512K", value_parser = size_of_arg, help_heading = "EDI")]
    pub(crate) page: usize,
    /// Treat departures from the standards as errors, read or written
    #[arg(long, help_heading = "EDI")]
    pub(crate) strict: bool,
    /// Copybook that describes the records
    #[arg(short, long, value_name = "FILE", help_heading = "Records")]
    pub(crate) copybook: Option<PathBuf>,
    /// Code page of records such as cp037, or of EDI that names none
    ///
    /// It is never guessed: a wrong one reads most letters right and some wrong. `quayline inspect` proposes one with its evidence.
    #[arg(short, long, value_name = "PAGE", help_heading = "Records")]
    pub(crate) encoding: Option<String>,
    /// How records stand in the file: fixed, rdw, vb, vbs, lines, layout, ...
    #[arg(short, long, value_name = "FRAMING", help_heading = "Records", long_help = FRAMING_LONG_HELP)]
    pub(crate) framing: Option<String>,
    /// Code page of the records to write, where it is another
    #[arg(long, value_name = "PAGE", help_heading = "Records")]
    pub(crate) to_encoding: Option<String>,
    /// How records stand in the file to write, where it is another way
    #[arg(long, value_name = "FRAMING", help_heading = "Records")]
    pub(crate) to_framing: Option<String>,
    /// Interface file that selects, renames and gives defaults
    ///
    /// Its keys are in docs/reference/interface.md.
    #[arg(short, long, value_name = "FILE", help_heading = "Records")]
    pub(crate) interface: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Records")]
    pub(crate) reading: CopybookArgs,
    /// Bytes that are no value of their field: error, null or raw
    #[arg(long, value_enum, value_name = "POLICY", help_heading = "Values")]
    pub(crate) invalid: Option<BadValueArg>,
    /// Numeric fields that hold only spaces: error, null or raw
    #[arg(long, value_enum, value_name = "POLICY", help_heading = "Values")]
    pub(crate) blank: Option<BadValueArg>,
    /// Numeric fields that hold only binary zeros: error, null or raw
    #[arg(long, value_enum, value_name = "POLICY", help_heading = "Values")]
    pub(crate) low_values: Option<BadValueArg>,
    /// Blanks to cut from text: padding, both or keep
    #[arg(long, value_enum, value_name = "WHICH", help_heading = "Values")]
    pub(crate) trim: Option<TrimArg>,
    /// Records shorter than the layout: error, pad or null
    ///
    /// The default is `pad` for lines, as READ pads them, and `error` for other framings. A text that the record's end cuts keeps its
    /// characters; a number that it cuts is an error under every policy.
    #[arg(long, value_enum, value_name = "POLICY", help_heading = "Values")]
    pub(crate) short: Option<ShortArg>,
    /// Records longer than the layout: error or accept
    #[arg(long, value_enum, value_name = "POLICY", help_heading = "Values")]
    pub(crate) long: Option<LengthArg>,
    /// Members missing in a document: value, initialize, low-values or error
    #[arg(long, value_enum, value_name = "POLICY", help_heading = "Values")]
    pub(crate) absent: Option<AbsentArg>,
    /// Null in a document: error, spaces, zeros, low-values or value
    ///
    /// A record has no null. The default is what decoding reads as null: spaces with `--blank null`, low-values with `--low-values null`, and
    /// otherwise an error. An interface file says it for one field: null = "zeros".
    #[arg(long, value_enum, value_name = "POLICY", help_heading = "Values")]
    pub(crate) null: Option<NullArg>,
    /// Members that the records do not have: error or ignore
    #[arg(long, value_enum, value_name = "POLICY", help_heading = "Values")]
    pub(crate) unknown: Option<UnknownArg>,
    /// Keep what a canonical record would lose, for byte-identical round trips
    ///
    /// Dirty fillers, slack bytes, sign nibbles and padding go to a member `_preserve` and come back from it.
    #[arg(long, help_heading = "Values")]
    pub(crate) preserve: bool,
    /// Numbers that JSON readers may corrupt: exact, safe or string
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Names and numbers")]
    pub(crate) numbers: Option<NumbersArg>,
    /// Keys: cobol, underscore, snake, kebab, camel or pascal
    #[arg(long, value_enum, value_name = "STYLE", help_heading = "Names and numbers")]
    pub(crate) key_style: Option<KeyStyleArg>,
    /// FILLER items: drop or keep
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Names and numbers")]
    pub(crate) fillers: Option<FillersArg>,
    /// Views of redefined storage to show: all or original
    #[arg(long, value_enum, value_name = "WHICH", help_heading = "Names and numbers")]
    pub(crate) redefines: Option<RedefinesArg>,
    /// Threads that convert
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Running")]
    pub(crate) jobs: u16,
    /// File for records that do not convert, whole and unchanged
    ///
    /// Without it the run stops at the first such record. FILE.findings.jsonl beside it says what is wrong with each. Where FILE is a folder,
    /// the records go to a file in it that is named like the input; for several inputs it must be one.
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub(crate) rejects: Option<PathBuf>,
    /// Rejected records after which the run stops
    ///
    /// It is looked at behind each block of some 256 KiB, so a few more may be rejected; how many is the same for any --jobs. What was written is
    /// kept, and --resume with a larger N goes on from there.
    #[arg(long, value_name = "N", requires = "rejects", help_heading = "Running")]
    pub(crate) max_rejects: Option<u64>,
    /// File that holds the state to resume from
    ///
    /// It is OUTPUT.checkpoint where it is left out, written when a conversion from file to file is stopped or takes long, and removed when
    /// the output is complete.
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint of a stopped run
    #[arg(long, help_heading = "Running")]
    pub(crate) resume: bool,
    /// Print what was done and what it cost
    #[arg(long, help_heading = "Running")]
    pub(crate) stats: bool,
    /// No progress bar
    #[arg(long, help_heading = "Running")]
    pub(crate) no_progress: bool,
    /// Show the content of fields in messages
    ///
    /// Messages name place and shape only, since these files hold people's health and money.
    #[arg(long, help_heading = "Running")]
    pub(crate) show_data: bool,
    /// Findings and statistics as JSON, one object a line on standard error
    #[arg(long, help_heading = "Running")]
    pub(crate) json: bool,
}

/// A separator: one character of ASCII, or the word `tab`.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ => {
            Err("it is one character of ASCII that is no letter, digit, quote or line end, or the word `tab`"
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
        .ok_or_else(|| "it is a number of bytes from 1 to 1024M, such as 500K".to_owned())
}

/// How members are called.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum NamesArg {
    /// As the standard refers to them: NM103, 2010AA (default)
    Reference,
    /// As the guide names them, in lower case with underscores
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
    /// XML: a root element with an element a document
    Xml,
    /// X12 and EDIFACT interchanges
    #[value(alias = "x12", alias = "edifact")]
    Edi,
}

/// Formats to write.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum ToFormat {
    /// JSON, one document a line
    Jsonl,
    /// JSON, one array of documents
    Json,
    /// CSV with a header line
    Csv,
    /// XML: a root element with an element a document
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

/// What to do with bytes that are no value.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum BadValueArg {
    /// Reject the record (default)
    Error,
    /// Null
    Null,
    /// The bytes as a string `0x...`, which converts back
    Raw,
}

/// Blanks to cut.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum TrimArg {
    /// Trailing ones, leading ones for JUSTIFIED RIGHT (default)
    Padding,
    /// Leading and trailing ones
    Both,
    /// None
    Keep,
}

/// Records that end before their layout does.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum ShortArg {
    /// Reject the record
    Error,
    /// Pad it with blanks; --blank says what a missing number becomes
    Pad,
    /// Missing fields are null
    #[value(alias = "accept")]
    Null,
}

/// Records that are longer than their layout.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum LengthArg {
    /// Reject the record (default)
    Error,
    /// Ignore the rest, and count such records in a warning
    Accept,
}

/// Members that a document does not have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum AbsentArg {
    /// The VALUE clause where there is one, else as initialize (default)
    Value,
    /// Spaces for text, zero for numbers
    Initialize,
    /// Binary zeros
    LowValues,
    /// Reject the document
    Error,
}

/// Null in a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum NullArg {
    /// Reject the document
    Error,
    /// Spaces; an error in a binary or floating-point field
    Spaces,
    /// Zero for numbers, spaces for text
    Zeros,
    /// Binary zeros
    LowValues,
    /// The VALUE clause where there is one, otherwise as zeros
    Value,
}

/// Members that the records do not have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum UnknownArg {
    /// Reject the document: most often a name is misspelt (default)
    Error,
    /// Pass over them
    Ignore,
}

/// Numbers in JSON.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum NumbersArg {
    /// As JSON numbers with every digit (default)
    Exact,
    /// As strings where a 64-bit float would lose digits
    Safe,
    /// As strings, all of them
    String,
}

/// COBOL names as keys.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum KeyStyleArg {
    /// CUST-NAME (default)
    Cobol,
    /// CUST_NAME, as z/OS Connect writes it
    Underscore,
    /// cust_name
    Snake,
    /// cust-name
    Kebab,
    /// custName
    Camel,
    /// CustName
    Pascal,
}

/// FILLER items.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum FillersArg {
    /// Left out (default)
    Drop,
    /// Shown as FILL_0, FILL_1, ...
    Keep,
}

/// Views of shared storage.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum RedefinesArg {
    /// The original and every redefinition (default)
    All,
    /// The original only
    Original,
}

/// Also of `quayline inspect --framing`.
pub(crate) const FRAMING_LONG_HELP: &str = "\
How records stand in the file, as NAME or NAME:OPTION,OPTION...

- fixed, fixed:N: N bytes each; `fixed` alone is the layout's maximum length, and the default
- rdw: a length in front of every record, as z/OS writes V files. be or le; whole or body
  (whether it counts itself); its form ll00, 00ll, ll or llll; any (reserved bytes); adjust=N; max=N
- vb: blocks with a length in front, records with one inside; as rdw, and bdw-le, bdw-body,
  bdw-adjust=N for the block's
- vbs: spanned records; no-bdw where the block headers are gone
- lines: lf, crlf, nl (0x15) or lf25 (0x25); strip-cr
- length: a length field; offset=N, size=N; be, le, ascii or ebcdic; whole or body; adjust=N; strip
- layout: records one after another, each as long as its OCCURS DEPENDING ON counters say
- d: four ASCII digits in front that count themselves
- gnucobol, gnucobol:N: variable sequential files with COB_VARSEQ_FORMAT N, 0 to 3
- mf: Micro Focus variable format with its file header";

const EXAMPLES: &str = "\
Formats are recognised: the input's from its name or else its content, the output's from the name of --output.
Everything but the output goes to standard error.

Examples:
  quayline convert orders.dat --copybook orders.cpy --encoding cp037 -o orders.jsonl
  quayline convert orders.dat -c orders.cpy -e cp1140 -f rdw --rejects bad.dat -o orders.parquet
  quayline convert orders.jsonl -c orders.cpy -e cp037 -o orders.dat
  quayline convert - -c orders.cpy -e cp037 --to csv < orders.dat | head
  quayline convert big.dat -c orders.cpy -e cp037 -o big.jsonl -j 2 --resume --stats";
