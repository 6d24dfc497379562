//! Findings: what is wrong, where it is, who can fix it, and how.

use core::fmt;
use core::hash::BuildHasher as _;
use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::Arc;

use crate::{ByteOffset, RecordNumber};

/// Stable code such as `COB-021`: area, dash, number. Listed in `docs/reference/errors`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Code(pub &'static str);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Severity {
    /// Worth knowing; nothing was changed or lost.
    Note,
    /// Unusual, but nothing is lost.
    Warning,
    /// The affected unit is refused.
    Error,
}

/// Party that can fix a finding. Exit codes and protocol answers depend on it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Fault {
    /// The sender of the data.
    Sender,
    /// The author of the copybook, interface file or settings.
    Config,
    /// The caller, who passed wrong arguments.
    Caller,
    /// The machine: disk full, missing file, closed pipe.
    Environment,
    /// Quayline itself: a broken invariant.
    Ours,
}

/// Place of a finding; any part may be missing. It never holds payload except `line_text`, which is text of a user's own source
/// (copybook, settings).
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Place {
    /// File as the user named it.
    pub file: Option<Arc<str>>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column in characters, from 1.
    pub column: Option<u32>,
    /// Characters to underline from `column`.
    pub width: Option<u32>,
    /// The line itself, shown above the caret; only for sources that are not payload.
    pub line_text: Option<String>,
    /// Record, from 1.
    pub record: Option<RecordNumber>,
    /// Byte in the file, from 0.
    pub byte: Option<ByteOffset>,
    /// Field path or JSON path.
    pub path: Option<String>,
    /// More about the place: offset in the record, length, picture.
    pub detail: Option<String>,
    /// What `path` and the message say of the place, by name, for programs: the numbers of an interchange, the loops of a guide. Not shown as text.
    pub parts: Vec<(PlaceName, PlacePart)>,
}

/// Name of a part of a [`Place`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum PlaceName {
    /// Interchange in the file.
    Interchange,
    /// Functional group in the interchange.
    Group,
    /// Transaction set or message in the group or interchange.
    Transaction,
    /// Segment in the transaction, its header as 1, or outside of transactions in the interchange.
    Segment,
    /// Element in the segment.
    Element,
    /// Repetition of the element.
    Repetition,
    /// Component of the element.
    Component,
    /// Loops of the guide, as `2000A/2010AA`.
    Loops,
    /// Segment, element or component as guides name it, as `NM102`.
    Reference,
}

impl PlaceName {
    /// Returns the name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            PlaceName::Interchange => "interchange",
            PlaceName::Group => "group",
            PlaceName::Transaction => "transaction",
            PlaceName::Segment => "segment",
            PlaceName::Element => "element",
            PlaceName::Repetition => "repetition",
            PlaceName::Component => "component",
            PlaceName::Loops => "loops",
            PlaceName::Reference => "reference",
        }
    }
}

/// Value of a part of a [`Place`].
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum PlacePart {
    /// A number, from 1.
    Number(u64),
    /// A name in a guide.
    Text(Box<str>),
}

impl Place {
    /// Bytes of the longest line that a place keeps: a longer one is unreadable on a screen, and a generated file may be one line.
    const LINE_TEXT_BYTES_MAX: usize = 1_000;

    /// Returns a place in a user's source text. It has no `line_text` if the line is very long.
    #[must_use]
    pub fn source(file: &Arc<str>, line: u32, column: u32, width: u32, line_text: &str) -> Self {
        Place {
            file: Some(Arc::clone(file)),
            line: Some(line),
            column: Some(column),
            width: Some(width),
            line_text: (line_text.len() <= Place::LINE_TEXT_BYTES_MAX).then(|| line_text.to_owned()),
            ..Place::default()
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sep = "";
        let mut part = |f: &mut fmt::Formatter<'_>, text: fmt::Arguments<'_>| {
            let done = write!(f, "{sep}{text}");
            sep = ", ";
            done
        };
        match (&self.file, self.line, self.column) {
            (Some(file), Some(line), Some(column)) => part(f, format_args!("{file}:{line}:{column}"))?,
            (Some(file), Some(line), None) => part(f, format_args!("{file}:{line}"))?,
            (Some(file), None, _) => part(f, format_args!("{file}"))?,
            (None, Some(line), Some(column)) => part(f, format_args!("line {line}, column {column}"))?,
            (None, Some(line), None) => part(f, format_args!("line {line}"))?,
            (None, None, _) => {}
        }
        if let Some(record) = self.record {
            part(f, format_args!("record {record}"))?;
        }
        if let Some(byte) = self.byte {
            part(f, format_args!("byte {byte}"))?;
        }
        if let Some(path) = &self.path {
            part(f, format_args!("{path}"))?;
        }
        if let Some(detail) = &self.detail {
            write!(f, " ({detail})")?;
        }
        Ok(())
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Finding {
    /// Stable code.
    pub code: Code,
    /// Severity.
    pub severity: Severity,
    /// Party that can fix the problem.
    pub fault: Fault,
    /// Expected and found values: lower case, no final period, no payload.
    pub message: String,
    /// Place.
    pub place: Place,
    /// A remedy that the user can apply.
    pub hint: Option<String>,
}

impl Finding {
    /// Creates an error.
    #[must_use]
    pub fn error(code: Code, fault: Fault, message: impl Into<String>) -> Self {
        Finding { code, severity: Severity::Error, fault, message: message.into(), place: Place::default(), hint: None }
    }

    /// Creates a warning.
    #[must_use]
    pub fn warning(code: Code, fault: Fault, message: impl Into<String>) -> Self {
        Finding { severity: Severity::Warning, ..Finding::error(code, fault, message) }
    }

    /// Returns the finding with this place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// Returns the finding with this remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Writes the finding as plain text: code and message, place, source line with caret, hint. No colour and no final newline.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{word}[{}]: {}", self.code, self.message)?;
        let place = self.place.to_string();
        if !place.is_empty() {
            write!(f, "\n  at {place}")?;
        }
        if let (Some(text), Some(line)) = (&self.place.line_text, self.place.line) {
            let gutter = line.to_string().len();
            write!(f, "\n{:gutter$} |\n{line} | {}", "", text.trim_end())?;
            if let Some(column) = self.place.column {
                let before: String =
                    text.chars().take(column as usize - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
                let carets = "^".repeat(self.place.width.unwrap_or(1).max(1) as usize);
                write!(f, "\n{:gutter$} | {before}{carets}", "")?;
            }
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n\nhint: {hint}")?;
        }
        Ok(())
    }
}

/// All findings about one subject, at least one of which is an error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Findings(pub Vec<Finding>);

impl Findings {
    /// Returns the first error, for a caller that can name only one finding. Warnings may precede it.
    #[must_use]
    pub fn first_error(&self) -> Option<&Finding> {
        let error = self.0.iter().find(|finding| finding.severity == Severity::Error);
        error.or(self.0.first())
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, finding) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            finding.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Findings {}

/// Findings in the order in which they came, each once. Adding one costs the same however many there are.
#[derive(Clone, Debug, Default)]
pub struct DistinctFindings {
    all: Vec<Finding>,
    /// Places in `all` by hash.
    places: HashMap<u64, Vec<usize>>,
    hasher: RandomState,
}

impl DistinctFindings {
    /// Adds a finding, unless it is there.
    pub fn push(&mut self, finding: Finding) {
        let places = self.places.entry(self.hasher.hash_one(&finding)).or_default();
        if places.iter().all(|place| self.all[*place] != finding) {
            places.push(self.all.len());
            self.all.push(finding);
        }
    }

    /// Returns the number of findings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns true if the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns all findings.
    #[must_use]
    pub fn into_vec(self) -> Vec<Finding> {
        self.all
    }
}

impl Extend<Finding> for DistinctFindings {
    fn extend<T: IntoIterator<Item = Finding>>(&mut self, findings: T) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }
}

impl From<Finding> for Findings {
    fn from(finding: Finding) -> Self {
        Findings(vec![finding])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_findings_keep_their_order() {
        let finding = |message: &str| Finding::error(Code("COB-001"), Fault::Config, message.to_owned());
        let mut found = DistinctFindings::default();
        found.extend(["b", "a", "b", "c", "a"].map(finding));
        assert_eq!(found.len(), 3);
        let messages: Vec<String> = found.into_vec().into_iter().map(|finding| finding.message).collect();
        assert_eq!(messages, ["b", "a", "c"]);
    }

    #[test]
    fn a_finding_in_a_very_long_line_does_not_repeat_the_line() {
        let finding = Finding::error(Code("COB-001"), Fault::Config, "picture has no digit").at(Place::source(
            &"a.cpy".into(),
            3,
            12,
            2,
            &"X".repeat(1 << 20),
        ));
        assert_eq!(finding.to_string(), "error[COB-001]: picture has no digit\n  at a.cpy:3:12");
    }

    #[test]
    fn a_source_finding_shows_line_caret_and_hint() {
        let file: Arc<str> = "a.cpy".into();
        let finding = Finding::error(Code("COB-001"), Fault::Config, "picture has no digit")
            .at(Place::source(&file, 3, 12, 2, "       05 A SV."))
            .hint("write at least one 9");
        assert_eq!(
            finding.to_string(),
            "error[COB-001]: picture has no digit\n  at a.cpy:3:12\n  |\n3 |        05 A SV.\n  |            ^^\n\nhint: write at least one 9"
        );
    }
}
