//! Arguments of `quayline map test`.

use std::path::PathBuf;

/// Arguments of `quayline map test`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TestArgs {
    /// Maps, or folders whose maps are meant
    #[arg(default_value = "maps", value_name = "MAP")]
    pub(crate) maps: Vec<PathBuf>,
    /// Only cases whose name has this in it
    #[arg(long, value_name = "TEXT")]
    pub(crate) case: Option<String>,
    /// Write what comes out as what is expected
    ///
    /// Look at the change before you keep it.
    #[arg(long)]
    pub(crate) update: bool,
    /// List statements that never ran, and what came unmapped
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Answer as one JSON object; docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
A case of maps/order.qmap is a folder maps/tests/order/NAME with
  input.*          the document(s) to translate
  expected.*       what must come out; of several targets, expected.TARGET.* for each
  acknowledgment.* what the sender must be answered, where it is there
  findings.txt     the findings that must come, where it is there; without it there must be none
  case.toml        options of the run, where it needs some: now, sender, receiver, envelope, lookup, …

Where what is expected of records or EDI is a .jsonl file, the output is read back and compared as JSON.
docs/reference/map-tests.md has all keys. The clock is 2026-01-01T12:00:00 unless a case sets it.

Examples:
  quayline map test
  quayline map test maps/order.qmap --coverage
  quayline map test maps --update && git diff maps/tests";
