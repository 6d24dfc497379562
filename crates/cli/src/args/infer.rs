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
    /// The default follows from the name of --output, and is otherwise an outline. EDI always gives a guide.
    #[arg(long = "as", value_enum, value_name = "FORM")]
    pub(crate) form: Option<InferForm>,
    /// Type of transaction for the guide
    ///
    /// ST01 or the message type of UNH. Needed if EDI samples contain several types.
    #[arg(long, value_name = "TYPE")]
    pub(crate) only: Option<String>,
    /// File to write: .shape, .json, .toml or .guide [default: standard output]
    ///
    /// Quayline does not overwrite an existing file.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Forms of shapes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum InferForm {
    /// One line for each field, with the observations after it
    Outline,
    /// JSON Schema
    Schema,
    /// Layout of CSV
    Layout,
    /// Guide of EDI
    Guide,
}

const EXAMPLES: &str = "\
Samples show what occurs, not what may occur. So lengths get a margin, a field that was missing once
is optional, and each line says what you must confirm. More samples give a better result.
EDI does not name its elements, so its guide has no names. Quayline guesses loops from repetition and
codes from small sets of short values; the samples always pass. If a dictionary has the standard's own
guide, `quayline guide import` makes a better one.

Examples:
  quayline infer orders/*.json -o shapes/order.shape
  quayline infer prices.csv -o shapes/prices.toml
  quayline infer order.xml --as schema
  quayline infer orders.x12 -o orders.guide";
