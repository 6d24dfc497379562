//! Arguments of `quayline map test`.

use std::path::PathBuf;

/// Arguments of `quayline map test`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TestArgs {
    /// Maps, or folders of maps
    #[arg(default_value = "maps", value_name = "MAP")]
    pub(crate) maps: Vec<PathBuf>,
    /// Run only cases with this text in their name
    #[arg(long, value_name = "TEXT")]
    pub(crate) case: Option<String>,
    /// Write the output as the expected output
    ///
    /// Review the change before you keep it.
    #[arg(long)]
    pub(crate) update: bool,
    /// List statements that never ran, and unmapped source elements
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Print one JSON object; docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
A case of maps/order.qmap is a folder maps/tests/order/NAME with
  input.*          the document(s) to translate
  expected.*       the expected output; for several targets, expected.TARGET.* for each
  acknowledgment.* optional: the expected acknowledgment
  findings.txt     optional: the expected findings; without it, the run must have no findings
  case.toml        optional: now, sender, receiver, envelope, lookup, function and other options of the run

If the expected output of records or EDI is a .jsonl file, Quayline reads the output back and compares
it as JSON. docs/reference/map-tests.md lists all keys. The clock is 2026-01-01T12:00:00 unless a case
sets it.

Examples:
  quayline map test
  quayline map test maps/order.qmap --coverage
  quayline map test maps --update && git diff maps/tests";
