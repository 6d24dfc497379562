//! Parser that turns source text into record descriptions.
//!
//! ```text
//! SourceText ─lines─▶ logical lines ─token─▶ text words ─expand─▶ text words ─parser─▶ entries ─hierarchy─▶ RecordDescription
//!             columns, comments,             COPY, REPLACE                    clauses              levels
//!             continuation
//! ```
//!
//! Every stage continues after a finding, so one run reports all of them.

mod clauses;
#[cfg(test)]
mod corpus_tests;
pub(crate) mod entry;
mod expand;
#[cfg(test)]
mod finding_tests;
mod format;
mod hierarchy;
mod ignored;
#[cfg(test)]
mod law_tests;
mod library;
mod lines;
mod literal;
mod occurs;
mod parser;
mod picture_clause;
mod replace;
pub(crate) mod report;
pub(crate) mod source;
mod special_names;
#[cfg(test)]
mod text_tests;
mod token;
mod usage;

pub use format::Format;
pub use hierarchy::{RecordDescription, Section};
pub use library::{CopyError, CopyLibrary, MemoryLibrary, NoLibrary};
pub use literal::{Condition, Figurative, Literal};
pub use source::SourcePlace;

use std::sync::Arc;

use quayline_core::{Fault, Finding, Limits};

use self::expand::Expander;
use self::parser::Parser;
use self::report::Report;
use self::source::{Sources, Span};
use crate::codes;
use crate::picture::PictureSettings;

/// A text and its name for messages.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceText {
    /// File name or member name, for messages.
    pub name: Arc<str>,
    /// The text: lines that end with LF or CR LF, in UTF-8. A byte-order mark is skipped, Ctrl-Z ends it.
    pub text: Arc<str>,
}

impl SourceText {
    /// Creates a source text with a name.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        SourceText { name: name.into(), text: text.into() }
    }
}

/// Options for reading a copybook.
#[derive(Clone, Copy)]
pub struct ParseOptions<'a> {
    /// Use of columns, for the copybook and all it copies.
    pub format: Format,
    /// Source of the members that COPY names.
    pub library: &'a dyn CopyLibrary,
    /// Remedy for a member that the library does not have: what the caller offers to find it.
    pub copy_remedy: &'a str,
    /// Text as after `COPY … REPLACING`, applied to the copybook itself: `==:TAG:== BY ==CUST==`.
    pub replacing: Option<&'a str>,
    /// Name of the record for entries before the first level 01; by default the source's name without folder and extension.
    pub fragment_name: Option<&'a str>,
    /// DECIMAL-POINT IS COMMA and CURRENCY SIGN, for a copybook without SPECIAL-NAMES; those of a program are added.
    pub picture: &'a PictureSettings,
    /// Bounds: `copy_depth_max`, `copybook_bytes_max`, `findings_max`, `fields_max`, `record_bytes_max`.
    pub limits: &'a Limits,
}

impl core::fmt::Debug for ParseOptions<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ParseOptions")
            .field("format", &self.format)
            .field("replacing", &self.replacing)
            .field("fragment_name", &self.fragment_name)
            .field("picture", &self.picture)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Default for ParseOptions<'static> {
    fn default() -> Self {
        static PICTURE: PictureSettings = PictureSettings::DEFAULT;
        static LIMITS: std::sync::LazyLock<Limits> = std::sync::LazyLock::new(Limits::default);
        ParseOptions {
            format: Format::Auto,
            library: &NoLibrary,
            copy_remedy: "name the folder that holds it with `-I`",
            replacing: None,
            fragment_name: None,
            picture: &PICTURE,
            limits: &LIMITS,
        }
    }
}

/// The record descriptions of one source text.
#[derive(Clone, Debug)]
pub struct Copybook {
    /// Level-01 records and level-77 items, preceded by the record of the entries before the first 01, if any; in the order of the
    /// text. At least one.
    pub records: Vec<RecordDescription>,
    /// Findings that refuse nothing.
    pub warnings: Vec<Finding>,
}

/// A text that is not a copybook: what is wrong with it, and the records that were read nevertheless.
pub(crate) struct Refused {
    pub(crate) findings: Vec<Finding>,
    pub(crate) records: Vec<RecordDescription>,
}

impl From<Finding> for Refused {
    fn from(finding: Finding) -> Self {
        Refused { findings: vec![finding], records: Vec::new() }
    }
}

/// Reads a copybook for [`crate::parse()`], which adds the errors of fields.
pub(crate) fn read(source: &SourceText, options: &ParseOptions<'_>) -> Result<Copybook, Refused> {
    let mut sources = Sources::default();
    let mut report = Report::new(options.limits.findings_max);
    if source.text.len() > options.limits.copybook_bytes_max {
        let message = format!(
            "{} has {} bytes, more than a copybook may have: {}",
            source.name,
            source.text.len(),
            options.limits.copybook_bytes_max
        );
        return Err(Finding::error(codes::SOURCE_TOO_LARGE, Fault::Config, message)
            .hint("name the copybook itself: a record description has far less text; or allow more with `--limit copybook-bytes=N`")
            .into());
    }
    let text = source.text.strip_prefix('\u{feff}').map_or_else(|| Arc::clone(&source.text), Arc::from);
    let file = sources.add(Arc::clone(&source.name), text, None);

    let mut expander = Expander::new(&mut sources, &mut report, options);
    let tokens = expander.expand(file);
    let tokens = match options.replacing {
        None => tokens,
        Some(phrase) => expander.replace_all(phrase, tokens),
    };

    let parsed =
        Parser::new(&tokens, &sources, &mut report, options.picture.clone(), options.limits.record_bytes_max).parse();
    if let Some(start) = parsed.data_start {
        // Text before the DATA DIVISION is not checked: an AUTHOR paragraph may hold a lone quote.
        let start = sources.root(start);
        report.retain(|at| {
            let at = sources.root(at);
            at.file != start.file || (at.line, at.column) >= (start.line, start.column)
        });
    }
    let sources = Arc::new(sources);
    let name = options.fragment_name.map_or_else(|| stem(&source.name), str::to_uppercase);
    let records = hierarchy::records(parsed.entries, &name, &sources, &mut report, options.limits);
    let (findings, failed) = report.finish();
    if failed {
        return Err(Refused { findings, records });
    }
    if records.is_empty() {
        let at = Span { file, line: 1, column: 1, width: 1 };
        let finding = Finding::error(codes::NOTHING_DESCRIBED, Fault::Config, "no data description was found")
            .at(sources.place(at))
            .hint("a copybook has entries such as `05 NAME PIC X(10).`; if it has, say which format its columns are in (fixed or free)");
        return Err(Refused { findings: findings.into_iter().chain([finding]).collect(), records });
    }
    Ok(Copybook { records, warnings: findings })
}

/// Returns a file name without folder and extension, as a COBOL name.
fn stem(name: &str) -> String {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = file.split('.').next().unwrap_or(file);
    let word: String =
        stem.to_uppercase().chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let word = word.trim_matches('-');
    if word.is_empty() { "RECORD".to_owned() } else { word.to_owned() }
}
