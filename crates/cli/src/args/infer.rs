//! Arguments of `quayline infer`.

use std::path::PathBuf;

use clap::ValueEnum;

/// Arguments of `quayline infer`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct InferArgs {
    /// Files of JSON, XML, CSV or EDI; several are merged
    #[arg(required = true, value_name = "SAMPLE")]
    pub(crate) samples: Vec<PathBuf>,
    /// Name of the document [default: the first file's, or the XML element's]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What to write: outline, schema, layout or guide
    ///
    /// It is what the output's name says where it is left out, else an outline; of EDI always a guide.
    #[arg(long = "as", value_enum, value_name = "FORM")]
    pub(crate) form: Option<InferForm>,
    /// Of EDI: the type of transaction that the guide is for
    ///
    /// ST01 or the message type of UNH, where the samples hold several.
    #[arg(long, value_name = "TYPE")]
    pub(crate) only: Option<String>,
    /// File to write: .shape, .json, .toml or .guide [default: standard output]
    ///
    /// A file that is there is not written over.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Forms of shapes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum InferForm {
    /// A line a field, with what was seen behind it
    Outline,
    /// JSON Schema
    Schema,
    /// Layout of CSV
    Layout,
    /// Guide of EDI
    Guide,
}

const EXAMPLES: &str = "\
Samples show what there is, not what there may be: lengths get a margin, what was missing once is
optional, and what a person has to confirm is said behind each line. More samples make it better.
EDI does not say what its elements mean: its guide is one without names. Loops are guessed from
what repeats, codes from few short values; the samples keep to it. Where a dictionary has the
standard's own guide, `quayline guide import` makes a better one.

Examples:
  quayline infer orders/*.json -o shapes/order.shape
  quayline infer prices.csv -o shapes/prices.toml
  quayline infer order.xml --as schema
  quayline infer orders.x12 -o orders.guide";
