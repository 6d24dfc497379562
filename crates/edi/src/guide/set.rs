//! Selection of the guide for a transaction.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use quayline_core::{Code, Fault, Finding, Findings, Place, Severity, Stored, StoredReader, store_bytes};

use super::{CompiledGuide, Guide};
use crate::delimiters::Standard;
use crate::envelope::Header;
use crate::fault::EdiError;

/// Maximum number of guides in a message, which appears for each transaction; folders can contain hundreds.
const KNOWN_MAX: usize = 5;

/// Origins of guides imported from a dictionary of a whole standard. Like the built-in guides they describe the general standard, unlike
/// guides that a user wrote or that come from a partner's schema.
const DICTIONARIES_OF_STANDARDS: [&str; 2] = ["pyx12", "x12-types"];

/// Origin of built-in guides.
const BUILT_IN_SOURCE: &str = "written for Quayline";

/// Two guides that answer to the same.
const SAME: Code = Code("GDE-015");

/// A set of guides from which a transaction's version selects one.
///
/// A guide matches if standard and transaction are those of the header and its version is equal to that of the header or a prefix of it: for X12, of
/// ST03 or otherwise GS08, by character (`005010` matches `005010X222A1`); for EDIFACT, of version, release, agency and association code of UNH S009,
/// by component (`D:96A:UN` matches `D:96A:UN:EAN008`). Among the matching guides, the one with the longest version is taken; among equal ones, one
/// whose functional group equals GS01.
///
/// Among guides for the same version, one that a user wrote or that comes from a schema takes precedence over a built-in one, and that over one
/// that was imported from a dictionary of a whole standard.
#[derive(Clone, Debug, Default)]
pub struct GuideSet {
    guides: Vec<Arc<Entry>>,
}

#[derive(Debug)]
struct Entry {
    /// The guide. Only writers of guides and shapes of documents use it, so a serialized guide is decoded at the first use.
    guide: OnceLock<Guide>,
    stored: Box<[u8]>,
    compiled: Arc<CompiledGuide>,
    /// True if a transaction was read or checked by this guide.
    is_used: AtomicBool,
}

/// Standard, transaction, version and functional group.
type Key = (&'static str, String, String, Option<String>);

/// Origin of a guide, in ascending order of precedence.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Origin {
    /// Imported from a dictionary of a whole standard.
    Dictionary,
    /// Comes with Quayline.
    BuiltIn,
    /// Written by a user, or converted from a schema.
    Own,
}

impl Origin {
    fn of(guide: &Guide) -> Self {
        let source = guide.source.as_deref().unwrap_or("");
        match source {
            _ if DICTIONARIES_OF_STANDARDS.iter().any(|name| source.starts_with(name)) => Origin::Dictionary,
            _ if source.starts_with(BUILT_IN_SOURCE) => Origin::BuiltIn,
            _ => Origin::Own,
        }
    }
}

impl Entry {
    fn guide(&self) -> &Guide {
        self.guide.get_or_init(|| Guide::load_all(&self.stored).expect("bytes that are whole, from this build"))
    }
}

impl GuideSet {
    /// Compiles the guides.
    ///
    /// # Errors
    /// All errors of all guides, and `GDE-015` for two guides of the same origin with the same standard, transaction, version and
    /// group.
    pub fn new(guides: impl IntoIterator<Item = Guide>) -> Result<Self, Findings> {
        let mut set = GuideSet::default();
        let mut findings = Vec::new();
        let guides: Vec<Guide> = guides.into_iter().collect();
        let key = |guide: &Guide| {
            let group = guide.functional_group.clone();
            (guide.standard.name(), guide.transaction.clone(), guide.version.clone(), group)
        };
        let mut best: BTreeMap<Key, Origin> = BTreeMap::new();
        for guide in &guides {
            let origin = best.entry(key(guide)).or_insert(Origin::Dictionary);
            *origin = (*origin).max(Origin::of(guide));
        }
        let mut known: BTreeMap<Key, String> = BTreeMap::new();
        for guide in guides {
            let key = key(&guide);
            if best.get(&key).is_some_and(|best| Origin::of(&guide) < *best) {
                continue;
            }
            if let Some(other) = known.insert(key, guide.name.clone()) {
                let message = format!(
                    "guides {other} and {} are both for {} {} of {}",
                    guide.name,
                    guide.transaction,
                    guide.version,
                    guide.standard.name()
                );
                let place = Place { path: Some(guide.name.clone()), ..Place::default() };
                let hint = "leave one of them out, or give it a version of its own";
                findings.push(Finding::error(SAME, Fault::Config, message).at(place).hint(hint));
            }
            match CompiledGuide::new(&guide) {
                Ok(compiled) => set.guides.push(Arc::new(Entry {
                    guide: guide.into(),
                    stored: Box::default(),
                    compiled: Arc::new(compiled),
                    is_used: AtomicBool::new(false),
                })),
                Err(found) => findings.extend(found.0),
            }
        }
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(Findings(findings));
        }
        Ok(set)
    }

    /// Returns the number of guides.
    #[must_use]
    pub fn len(&self) -> usize {
        self.guides.len()
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.guides.is_empty()
    }

    /// Returns true if no guide is for a standard.
    #[must_use]
    pub fn is_without(&self, standard: Standard) -> bool {
        !self.guides.iter().any(|entry| entry.compiled.standard() == standard)
    }

    /// Returns a guide by its number, from 0.
    ///
    /// # Panics
    /// If the guide does not exist.
    #[must_use]
    pub fn guide(&self, number: usize) -> &Guide {
        self.guides[number].guide()
    }

    /// Returns true if a guide was imported from a dictionary of a whole standard.
    pub(crate) fn is_from_dictionary(&self, number: usize) -> bool {
        Origin::of(self.guide(number)) == Origin::Dictionary
    }

    /// Returns a compiled guide by its number, from 0.
    ///
    /// # Panics
    /// If the guide does not exist.
    #[must_use]
    pub fn compiled(&self, number: usize) -> &Arc<CompiledGuide> {
        &self.guides[number].compiled
    }

    /// Returns the number of the guide for a transaction, by its header and that of its group.
    #[must_use]
    pub fn choose(&self, transaction: &Header, group: Option<&Header>) -> Option<usize> {
        let chosen = self.choose_asked(&Asked::of(transaction, group))?;
        self.guides[chosen].is_used.store(true, Ordering::Relaxed);
        Some(chosen)
    }

    /// Returns the names of the guides that [`GuideSet::choose`] has returned for a transaction since the set was made.
    pub fn used(&self) -> impl Iterator<Item = &str> {
        let used = self.guides.iter().filter(|entry| entry.is_used.load(Ordering::Relaxed));
        used.map(|entry| entry.compiled.name())
    }

    /// Returns the number of the guide for a transaction set with another functional group (GS01): one that matches otherwise.
    #[must_use]
    pub fn choose_of_another_group(&self, transaction: &Header, group: Option<&Header>) -> Option<usize> {
        let asked = Asked::of(transaction, group);
        asked.group.as_ref()?;
        self.choose_asked(&Asked { group: None, ..asked })
    }

    /// Returns the number of the guide for a request.
    #[must_use]
    pub fn choose_asked(&self, asked: &Asked) -> Option<usize> {
        let fits = |(number, entry): (usize, &Arc<Entry>)| {
            let guide = &entry.compiled;
            if guide.standard() != asked.standard || guide.transaction() != asked.transaction {
                return None;
            }
            let group = guide.functional_group();
            if group.is_some() && asked.group.is_some() && group != asked.group.as_deref() {
                return None;
            }
            let longest =
                asked.versions.iter().enumerate().find(|(_, version)| begins(asked.standard, guide.version(), version));
            let (nearness, _) = longest?;
            // The guide's own version may be long; the header version that it matches is more significant.
            Some((guide.version().len(), usize::MAX - nearness, group.is_some(), usize::MAX - number))
        };
        let best = self.guides.iter().enumerate().filter_map(fits).max()?;
        Some(usize::MAX - best.3)
    }

    /// Returns the error for a transaction without a guide: its functional group differs, or no guide matches.
    #[must_use]
    pub fn none_for(&self, transaction: &Header, group: Option<&Header>) -> EdiError {
        let asked = Asked::of(transaction, group);
        let other = self.choose_of_another_group(transaction, group).map(|number| self.compiled(number));
        if let Some(expected) = other.and_then(|guide| guide.functional_group()) {
            return EdiError::GroupDiffers { transaction: asked.transaction.into(), expected: expected.into() };
        }
        let known = self.known(&asked).into();
        EdiError::NoGuide { standard: asked.standard, asked: asked.words().into(), known }
    }

    /// Describes the transactions of the guides for messages: those of the requested transaction first, limited in number.
    #[must_use]
    pub fn known(&self, asked: &Asked) -> String {
        let mut guides: Vec<&CompiledGuide> = self.guides.iter().map(|entry| &*entry.compiled).collect();
        guides.sort_by_key(|guide| (guide.standard() != asked.standard, guide.transaction() != asked.transaction));
        let words = |guide: &&CompiledGuide| format!("{} {} ({})", guide.transaction(), guide.version(), guide.name());
        let each: Vec<String> = guides.iter().take(KNOWN_MAX).map(words).collect();
        let more = guides.len().saturating_sub(KNOWN_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", each.join(", "))
    }
}

impl Stored for GuideSet {
    fn store(&self, to: &mut Vec<u8>) {
        self.guides.len().store(to);
        for entry in &self.guides {
            let mut guide = Vec::new();
            entry.guide().store(&mut guide);
            store_bytes(&guide, to);
            entry.compiled.store(to);
        }
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let count = usize::load(from)?;
        let entry = |_| {
            let stored = from.bytes()?.into();
            let compiled = Stored::load(from)?;
            Some(Arc::new(Entry { guide: OnceLock::new(), stored, compiled, is_used: AtomicBool::new(false) }))
        };
        Some(GuideSet { guides: (0..count).map(entry).collect::<Option<_>>()? })
    }
}

/// Returns true if a guide's version is a prefix of the requested one.
fn begins(standard: Standard, guide: &str, asked: &str) -> bool {
    match standard {
        Standard::X12 => asked.starts_with(guide),
        Standard::Edifact => {
            asked.strip_prefix(guide).is_some_and(|rest| rest.is_empty() || guide.is_empty() || rest.starts_with(':'))
        }
    }
}

/// Guide requested by the headers of a transaction.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Asked {
    /// X12 or EDIFACT.
    pub standard: Standard,
    /// ST01, UNH 0065.
    pub transaction: String,
    /// GS01.
    pub group: Option<String>,
    /// The most telling first: ST03, then GS08; UNH S009 with colons.
    pub versions: Vec<String>,
}

impl Asked {
    /// Returns the guide requested by a transaction's header and that of its group.
    #[must_use]
    pub fn of(transaction: &Header, group: Option<&Header>) -> Self {
        let text = |bytes: &[u8]| {
            bytes.iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '?' }).collect::<String>()
        };
        let standard = transaction.delimiters().standard;
        let versions = match standard {
            Standard::X12 => {
                let first = text(&transaction.field("implementation"));
                let second = group.map(|group| text(&group.field("version"))).unwrap_or_default();
                [first, second].into_iter().filter(|version| !version.is_empty()).collect()
            }
            Standard::Edifact => {
                let parts = ["version", "release", "agency", "association"].map(|name| text(&transaction.field(name)));
                vec![parts.join(":").trim_end_matches(':').to_owned()]
            }
        };
        let group = match standard {
            Standard::X12 => group.map(|group| text(&group.field("functional_id"))).filter(|group| !group.is_empty()),
            Standard::Edifact => None,
        };
        Asked { standard, transaction: text(&transaction.transaction_type()), group, versions }
    }

    /// Formats the request for messages: `837 005010X222A1`.
    #[must_use]
    pub fn words(&self) -> String {
        let version = self.versions.first().map_or("", String::as_str);
        let words = format!("{} {version}", self.transaction);
        words.chars().take(60).collect::<String>().trim_end().to_owned()
    }
}
