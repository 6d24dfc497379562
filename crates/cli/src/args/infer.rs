//! Arguments of `quayline infer`.

use std::path::PathBuf;

use clap::ValueEnum;

/// Arguments of `quayline infer`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct InferArgs {
    /// Files of JSON, XML or CSV; several are merged
    #[arg(required = true, value_name = "SAMPLE")]
    pub(crate) samples: Vec<PathBuf>,
    /// Name of the document [default: the first file's, or the XML element's]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What to write: outline, schema or layout
    ///
    /// It is what the output's name says where it is left out, else an outline.
    #[arg(long = "as", value_enum, value_name = "FORM")]
    pub(crate) form: Option<InferForm>,
    /// File to write: .shape, .json or .toml [default: standard output]
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
}

const EXAMPLES: &str = "\
Samples show what there is, not what there may be: lengths get a margin, what was missing once is
optional, and what a person has to confirm is said behind each line. More samples make it better.
EDI does not say what its elements mean: that is what guides are for (`quayline guide import`).

Examples:
  quayline infer orders/*.json -o shapes/order.shape
  quayline infer prices.csv -o shapes/prices.toml
  quayline infer order.xml --as schema";
