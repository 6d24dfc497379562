//! Arguments that say how records are described and found: copybook and dialect.

use std::path::PathBuf;

use clap::ValueEnum;

/// Which record of a copybook to use, and how to read it.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct CopybookArgs {
    /// Record description to use, if the copybook has several
    ///
    /// The name of a level-01 (or level-77) entry. A fragment without a level 01 is one record with the name of its file.
    #[arg(long, value_name = "NAME")]
    pub(crate) record: Option<String>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// How to read a copybook; the same for every command that takes one.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct SourceArgs {
    /// Compiler to follow: ibm, gnucobol or microfocus
    #[arg(long, value_enum, default_value_t = DialectName::Ibm, value_name = "NAME")]
    pub(crate) dialect: DialectName,
    /// Change one dialect setting, such as sync=8
    #[arg(long = "set", value_name = "SETTING=VALUE", long_help = set_long_help())]
    pub(crate) set: Vec<String>,
    /// Replace text of the copybook, as COPY REPLACING does: :TAG:=CUST
    ///
    /// Repeat it for several texts. Use it for copybooks that programs copy with REPLACING.
    #[arg(long, value_name = "TEXT=BY", value_parser = replacement)]
    pub(crate) replacing: Vec<String>,
    /// Folder for COPY members, searched after the copybook's own
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    pub(crate) include: Vec<PathBuf>,
    /// Columns of the copybook: auto, fixed or free
    #[arg(long, value_enum, default_value_t = SourceFormatArg::Auto, value_name = "FORM")]
    pub(crate) source_format: SourceFormatArg,
    /// Change a limit: NAME=N, such as segment-bytes=4M
    #[arg(long, value_name = "NAME=N", long_help = super::LIMIT_LONG_HELP)]
    pub(crate) limit: Vec<super::LimitArg>,
}

/// `:TAG:=CUST` as the operand of REPLACING.
fn replacement(text: &str) -> Result<String, String> {
    match text.split_once('=').map(|(from, to)| (from.trim(), to.trim())) {
        Some((from, to)) if !from.is_empty() && !text.contains("==") => Ok(format!("=={from}== BY =={to}==")),
        _ => Err("it is two texts with `=` between them, such as :TAG:=CUST".to_owned()),
    }
}

/// Dialect presets.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum DialectName {
    /// Enterprise COBOL for z/OS, 31-bit
    #[default]
    Ibm,
    /// GnuCOBOL 3, default configuration
    Gnucobol,
    /// Micro Focus (Rocket) COBOL, defaults
    Microfocus,
}

impl DialectName {
    /// The name as users write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            DialectName::Ibm => "ibm",
            DialectName::Gnucobol => "gnucobol",
            DialectName::Microfocus => "microfocus",
        }
    }
}

/// Column rules of COBOL source text.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum SourceFormatArg {
    /// Recognise it from the text
    #[default]
    Auto,
    /// Fixed form: ignore columns 1-6 and 73-80; column 7 is the indicator
    Fixed,
    /// Free form
    Free,
}

/// Every dialect setting with its values.
fn set_long_help() -> String {
    let mut text = String::from("Change one dialect setting; may be given several times\n");
    for setting in quayline_cobol::layout::Dialect::SETTINGS {
        text.push_str(&format!("\n- {}={}: {}", setting.name, setting.values.join("|"), setting.meaning));
    }
    text
}
