//! Trading partners as users describe them: one TOML file for each partner, and one for each of our own identities.
//!
//! ```text
//! partners/*.toml ──parse──▶ PartnerFile { identities, settings, agreements, rules } ──▶ PartnerFolder: all files, checked against each other
//! ```
//!
//! Every setting can appear in four places. The most specific one applies: a rule, otherwise the agreement between the partner and one of our
//! identities, otherwise the partner, otherwise our own file. [`Settings::over`] implements this rule; no other code merges settings.

mod check;
mod form;
mod settings;
mod wire;

use core::ops::Range;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::{Fault, Finding, Findings, Place, Severity};
use quayline_edi::Standard;

use crate::codes;
use crate::source_text::UserText;
use crate::user_file::UserFile;

pub use form::{json_of, toml_of};
pub use settings::{
    AckKind, AdviceKind, ClosePolicy, DuplicatePolicy, EnvelopePolicy, GapPolicy, KeepPolicy, LowestRefused,
    NumberRange, Period, Settings, Usage, WholePolicy,
};

/// The page that shows every key of a partner file.
const DOCUMENT: &str = "docs/reference/partners.md";

/// One partner, or one identity of our own.
#[derive(Clone, Debug, Default)]
pub struct PartnerFile {
    /// Name; the file's name without its extension unless the file says otherwise.
    pub name: String,
    /// The file, or the place in the store; see [`stored_path`].
    pub path: PathBuf,
    /// True if the file describes us.
    pub is_own: bool,
    /// Description for people.
    pub description: Option<String>,
    /// Contact for people.
    pub contact: Option<String>,
    /// Identities of the partner in interchanges.
    pub identities: Vec<Identity>,
    /// Settings of the partner.
    pub settings: Arc<Settings>,
    /// Settings for one of our identities.
    pub agreements: Vec<Agreement>,
    /// Rules for documents.
    pub rules: Vec<Rule>,
}

/// Identity of a partner in interchanges.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Identity {
    /// X12 or EDIFACT.
    pub standard: Standard,
    /// ISA05, ISA07; data element 0007. Empty where EDIFACT has none.
    pub qualifier: String,
    /// ISA06, ISA08; data elements 0004 and 0010. Without padding.
    pub id: String,
    /// GS02, GS03; empty is the same as `id`.
    pub group: String,
    /// Place of the identity in its file.
    pub place: Place,
}

/// Settings for one of our identities.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// Name of our file.
    pub with: String,
    /// The settings.
    pub settings: Arc<Settings>,
    /// Place of the agreement in its file.
    pub place: Place,
}

/// Direction of a document.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Direction {
    /// From the partner to us.
    Receive,
    /// From us to the partner.
    Send,
}

impl Direction {
    /// Returns `receive` or `send`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Direction::Receive => "receive",
            Direction::Send => "send",
        }
    }
}

/// Processing of a document. An absent condition matches every document.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Name, unique in its file.
    pub name: String,
    /// Direction of the documents.
    pub direction: Direction,
    /// X12 or EDIFACT.
    pub standard: Option<Standard>,
    /// ST01 or the message type; of documents to send, the name that the sender gives them.
    pub document: Option<String>,
    /// Version: GS08 or ST03; of EDIFACT `D:96A:UN`.
    pub version: Option<String>,
    /// Data element 0026; of X12 GS03.
    pub application: Option<String>,
    /// True for test interchanges only, false for production interchanges only.
    pub test: Option<bool>,
    /// Values of elements, by `BEG02` or `BGM01-1`: the first segment with that tag decides.
    pub when: Vec<(String, String)>,
    /// Condition on the document, as an expression of the map language.
    pub condition: Option<Condition>,
    /// The maps, each run over the whole document; without one, the document is delivered as it came.
    pub maps: Vec<RuleMap>,
    /// Delivery of each output, by the name of the map's target, or of the map's file if there are several maps. The entry with the empty name
    /// applies to all other outputs.
    pub deliver: BTreeMap<String, Delivery>,
    /// Fields to find the document by: name, and `BEG03` or `CLM01`.
    pub fields: Vec<(String, String)>,
    /// Settings that win over those of agreement, partner and house.
    pub settings: Arc<Settings>,
    /// True if a finding about the text of the rule is an error. Only [`PartnerFolder::all_of_texts`] returns such rules.
    pub has_errors: bool,
    /// Place of the rule in its file.
    pub place: Place,
}

/// Condition that a document must meet for a rule to match it: an expression of the map language.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The expression.
    pub text: String,
    /// The guide whose names the expression uses; absent, the rule's map decides.
    pub guide: Option<PathBuf>,
    /// Place of the expression in its file, including the quotes.
    pub span: Range<usize>,
    /// The file.
    pub file: UserText,
}

/// A map of a rule with the files of the tables that the rule's maps look up, by name.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RuleMap {
    /// The map's file.
    pub path: PathBuf,
    /// The tables of `lookups`, relative to the project; those of the other maps of the rule too.
    pub lookups: Arc<[(String, PathBuf)]>,
}

impl RuleMap {
    /// Creates an entry for a map without look-up tables.
    #[must_use]
    pub fn without_lookups(path: impl Into<PathBuf>) -> RuleMap {
        RuleMap { path: path.into(), lookups: Arc::default() }
    }
}

/// Destination of output.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Delivery {
    /// Into a folder, a file for each document.
    Folder(PathBuf),
    /// Onto a queue of the store, a message for each document.
    Queue(String),
    /// Into a record file of the store, a record for each record of the output.
    File(String),
    /// Into an interchange to the partner that sent the document: an answer, such as an 855 to an 850.
    Answer,
    /// To the caller: standard output of a command, or a terminal of a flow's node.
    Output,
}

impl Delivery {
    /// Reads `folder:PATH`, `queue:NAME`, `file:NAME`, `answer` or `output`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Delivery> {
        match text {
            "answer" => return Some(Delivery::Answer),
            "output" => return Some(Delivery::Output),
            _ => {}
        }
        match text.split_once(':')? {
            ("folder", path) if !path.is_empty() => Some(Delivery::Folder(path.into())),
            ("queue", name) if !name.is_empty() => Some(Delivery::Queue(name.to_owned())),
            ("file", name) if !name.is_empty() => Some(Delivery::File(name.to_owned())),
            _ => None,
        }
    }
}

impl core::fmt::Display for Delivery {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Delivery::Folder(path) => write!(f, "folder:{}", path.display()),
            Delivery::Queue(name) => write!(f, "queue:{name}"),
            Delivery::File(name) => write!(f, "file:{name}"),
            Delivery::Answer => f.write_str("answer"),
            Delivery::Output => f.write_str("output"),
        }
    }
}

/// Path and text of partners.
pub type PartnerTexts = Vec<(PathBuf, String)>;

/// All partner files of a folder.
#[derive(Clone, Debug, Default)]
pub struct PartnerFolder {
    /// The files, by name.
    pub partners: Vec<PartnerFile>,
    /// Warnings.
    pub findings: Vec<Finding>,
}

impl PartnerFolder {
    /// Reads the text of every `*.toml` of a folder, sorted by name. Returns findings about files that cannot be read.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn texts(folder: &Path) -> Result<(PartnerTexts, Vec<Finding>), Findings> {
        let mut texts = Vec::new();
        let mut found = Vec::new();
        for path in PartnerFolder::files(folder)? {
            match std::fs::read_to_string(&path) {
                Ok(text) => texts.push((path, text)),
                Err(error) => found.extend(unreadable(&path, &error).0),
            }
        }
        Ok((texts, found))
    }

    /// Lists the partner files of a folder, sorted by name.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn files(folder: &Path) -> Result<Vec<PathBuf>, Findings> {
        let mut paths = Vec::new();
        let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
        for entry in entries {
            let path = entry.map_err(|error| unreadable(folder, &error))?.path();
            if path.extension().is_some_and(|extension| extension == "toml") && path.is_file() {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// Checks the texts of all partners, in files of `folder` and in the store. Paths in them are relative to `project`. `findings` are the
    /// findings so far.
    ///
    /// # Errors
    /// Every error in any of the files, and every contradiction among them.
    pub fn of_texts(
        texts: &[(PathBuf, String)],
        folder: &Path,
        project: &Path,
        findings: Vec<Finding>,
    ) -> Result<PartnerFolder, Findings> {
        let all = PartnerFolder::all_of_texts(texts, folder, project, findings);
        if all.findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(Findings(all.findings));
        }
        Ok(all)
    }

    /// Checks the texts of all partners as [`PartnerFolder::of_texts`] does, and returns every partner whose text has the form of one, with errors
    /// among the findings. A partner with an error may lack what is wrong.
    #[must_use]
    pub fn all_of_texts(
        texts: &[(PathBuf, String)],
        folder: &Path,
        project: &Path,
        mut findings: Vec<Finding>,
    ) -> PartnerFolder {
        let mut partners = Vec::new();
        let mut faulty = Vec::new();
        let is_empty = texts.is_empty() && findings.is_empty();
        let mut is_complete = findings.is_empty();
        for (path, text) in texts {
            match PartnerFile::read_text(path, text) {
                Ok((partner, found)) => {
                    faulty.push(found.iter().any(|finding| finding.severity == Severity::Error));
                    partners.push(partner);
                    findings.extend(found);
                }
                Err(Findings(found)) => {
                    is_complete = false;
                    findings.extend(found);
                }
            }
        }
        if is_empty {
            let place = Place { file: Some(folder.display().to_string().into()), ..Place::default() };
            let finding = Finding::error(codes::PARTNER_MISSING, Fault::Config, "the folder has no partner file");
            findings.push(finding.at(place).hint(format!("write one file for you and one for a partner; {DOCUMENT}")));
        }
        findings.extend(check::together(&partners, &faulty, is_complete, project));
        PartnerFolder { partners, findings }
    }
}

impl PartnerFile {
    /// Reads one file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(path: &Path) -> Result<(PartnerFile, Vec<Finding>), Findings> {
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
        PartnerFile::parse(path, &text)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(path: &Path, text: &str) -> Result<(PartnerFile, Vec<Finding>), Findings> {
        let (partner, findings) = PartnerFile::read_text(path, text)?;
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(Findings(findings));
        }
        Ok((partner, findings))
    }

    /// Reads the text of a file. Wrong values are among the findings, and the partner lacks them; only a wrong form is an error.
    fn read_text(path: &Path, text: &str) -> Result<(PartnerFile, Vec<Finding>), Findings> {
        let mut file = UserFile::new(&path.display().to_string(), text);
        let wire: wire::File = file.parse(codes::PARTNER_SYNTAX, DOCUMENT)?;
        let partner = wire::partner(&mut file, path, wire);
        Ok((partner, file.findings))
    }

    /// Returns true if the partner is in the store and has no file.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        is_stored(&self.path)
    }

    /// Returns the partner's identity in a standard; the first if there are several.
    #[must_use]
    pub fn identity(&self, standard: Standard) -> Option<&Identity> {
        self.identities.iter().find(|identity| identity.standard == standard)
    }
}

/// Begin of the path of a partner in the store. Findings and lists print the path.
const STORED: &str = "store:";

/// Returns the path of a partner in the store: `store:NAME`.
#[must_use]
pub fn stored_path(name: &str) -> PathBuf {
    PathBuf::from(format!("{STORED}{name}"))
}

/// Returns true for the path of a partner in the store.
#[must_use]
pub fn is_stored(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(STORED))
}

/// Returns the name of a partner whose text has none: its name in the store, or that of its file without the extension.
#[must_use]
pub fn default_name(path: &Path) -> String {
    let stored = path.to_str().and_then(|path| path.strip_prefix(STORED));
    let stem = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    stored.map_or_else(stem, str::to_owned)
}

/// Parses the delimiters setting of a standard: element, component, repetition or a space, terminator and, for EDIFACT, the release
/// character. `None` if the text is not valid for the standard.
#[must_use]
pub fn delimiters_of(text: &str, standard: Standard) -> Option<quayline_edi::Delimiters> {
    wire::delimiters_of(text, standard)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Findings {
    let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
    let message = format!("cannot be read: {}", quayline_core::system_error_text(error));
    let finding = Finding::error(codes::PARTNER_MISSING, Fault::Environment, message);
    finding.at(place).hint("check the path; partner files are in the folder `partners` of a project, in UTF-8").into()
}
