//! The partners of a project, prepared for look-up: identities, rules, effective settings, maps and guides.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use quayline_core::{Fault, Finding, Findings, Limits, Place, Severity, Stored};
use quayline_edi::guide::{CompiledGuide, GuideSet};
use quayline_edi::{Header, HeaderField, Standard};
use quayline_frame::FramingSpec;
use quayline_pipeline::{CsvTable, Pipeline, UnitWorld, World};
use quayline_project::partner::{
    Delivery, Direction, PartnerFile, PartnerFolder, PartnerTexts, Rule, RuleMap, Settings,
};
use quayline_project::{LookupTable, MapFile, ShapeFile, ShapeOptions, TargetFormat, read_guides_and_files};
use quayline_store::Store;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::checkable::leave_checkable;
use crate::codes;
use crate::compiled_condition::Conditions;
use crate::revision::Revision;
use crate::rules::{OfDigest, Query, RuleId, RuleIndex, differing_maps, digest_of, has_conditions};
use crate::stored::{StoredPartners, has_stored, stored_version};

/// The partners of a project, prepared for look-up.
pub struct Book {
    project: PathBuf,
    partners: Vec<PartnerFile>,
    by_name: HashMap<String, usize>,
    /// Partners by the digest of standard, qualifier and identification.
    by_identity: HashMap<u128, u32, BuildHasherDefault<OfDigest>>,
    own: Vec<usize>,
    rules: RuleIndex,
    /// Maps by path and tables.
    maps: BTreeMap<RuleMap, MapSlot>,
    conditions: Conditions,
    guides: Mutex<BTreeMap<Vec<PathBuf>, Arc<LoadedGuides>>>,
    /// Settings of our files by file number, `None` for partners' files. Partners without settings use them directly.
    of_own: Vec<Option<Arc<Settings>>>,
    /// Settings of our identity and a partner, merged once, for partners that have settings.
    merged: Mutex<HashMap<(usize, usize), Arc<Settings>>>,
    /// Settings of rules merged with those of identity and partner, by the address of the latter. The book keeps these alive, so addresses are
    /// unique.
    of_rules: Mutex<HashMap<(usize, RuleId), Arc<Settings>>>,
    options: ShapeOptions,
    world: (i64, u64),
    findings: Vec<Finding>,
    /// Number of changes of partners in the store, if the book has them.
    stored_version: Option<u64>,
    /// Digests of the partners' texts, by number.
    versions: Vec<u128>,
    revision: Revision,
    /// Maps that were run. Workers that use the book one after the other in the same millisecond must not make the same ids.
    runs: AtomicU64,
}

/// The texts of all partners of a project.
struct BookTexts {
    texts: PartnerTexts,
    folder: PathBuf,
    /// Findings about files that cannot be read.
    found: Vec<Finding>,
    stored_version: Option<u64>,
}

impl BookTexts {
    fn read(project: &Path, store: Option<&Store>) -> Result<BookTexts, Findings> {
        let folder = project.join("partners");
        let stored = store.map(StoredPartners::read).transpose()?;
        let stored_version = stored.as_ref().map(|stored| stored.version);
        let stored = stored.map(|stored| stored.texts).unwrap_or_default();
        let (mut texts, found) =
            if stored.is_empty() || folder.exists() { PartnerFolder::texts(&folder)? } else { Default::default() };
        texts.extend(stored);
        Ok(BookTexts { texts, folder, found, stored_version })
    }
}

struct MapSlot {
    used_at: Place,
    loaded: OnceLock<Result<LoadedMap, Findings>>,
}

/// The guides of some settings.
#[derive(Debug)]
pub struct LoadedGuides {
    /// The guides.
    pub set: GuideSet,
    /// Digest of all guides and their includes, as hexadecimal digits.
    pub(crate) digits: String,
    /// Files that they are made of.
    files: Vec<PathBuf>,
}

impl LoadedGuides {
    /// Returns the name of a guide as entries record it. Built-in guides are not among `guides`.
    pub(crate) fn name_of(guides: Option<&LoadedGuides>, guide: &CompiledGuide) -> String {
        let digits = guides.map_or("", |guides| guides.digits.as_str());
        format!("{} {} {digits}", guide.name(), guide.version()).trim_end().to_owned()
    }
}

/// A map of a rule, compiled.
pub struct LoadedMap {
    /// The compiled loop.
    pub pipeline: Pipeline,
    world: Arc<World>,
    /// Outputs: name, file extension, and true if the output is EDI.
    pub outputs: Vec<OutputFacts>,
    /// Names of the tables that it looks up.
    lookups: Vec<String>,
    /// Digest of the map, all files that it is made of, and its tables.
    pub digest: u64,
    /// The digest as hexadecimal digits, as entries have it.
    pub(crate) digits: String,
    /// True if the source is EDI.
    pub from_edi: bool,
    /// Files that the map depends on, and its tables.
    files: Vec<PathBuf>,
    /// The shape of the source.
    pub(crate) source: ShapeFile,
    /// The shape of the first EDI output.
    pub(crate) edi_target: Option<ShapeFile>,
}

impl LoadedMap {
    /// Returns the names of the outputs in `deliver` and in a rule's files: the name of the output or, in a rule with several maps, the name of
    /// the map's file, followed by the output's name if the map has several.
    pub(crate) fn delivery_names<'m>(&'m self, rule: &Rule, map: &RuleMap) -> impl Iterator<Item = String> + use<'m> {
        let stem = map.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let (several_maps, several_outputs) = (rule.maps.len() > 1, self.outputs.len() > 1);
        self.outputs.iter().map(move |output| match (several_maps, several_outputs) {
            (false, _) => output.name.clone(),
            (true, false) => stem.clone(),
            (true, true) => format!("{stem}.{}", output.name),
        })
    }

    /// Sets the clock and the seed of ids for the next unit of work, so that a later unit gets another time and other ids.
    pub(crate) fn begin_unit(&self, now_ms: u64, number: u64) {
        let now = i64::try_from(now_ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
        let mut parts = [0; 24];
        parts[..8].copy_from_slice(&self.world.seed.to_be_bytes());
        parts[8..16].copy_from_slice(&now_ms.to_be_bytes());
        parts[16..].copy_from_slice(&number.to_be_bytes());
        self.world.set_unit(Some(UnitWorld { now, seed: xxh3_64(&parts), envelope: Vec::new() }));
    }
}

/// One output of a map.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OutputFacts {
    /// Name of the output in the map.
    pub name: String,
    /// Extension of files.
    pub extension: &'static str,
    /// True if the output is interchanges.
    pub is_edi: bool,
    /// Framing of an output of records.
    pub framing: Option<FramingSpec>,
}

/// One layer of settings, for people who ask where a setting comes from.
#[derive(Clone, Debug)]
pub struct Layer<'b> {
    /// Name of the layer: `rule orders`, `agreement with US`, `partner ACME`, `own US`.
    pub name: String,
    /// Settings of the layer.
    pub settings: &'b Settings,
}

impl Book {
    /// Reads the folder `partners` of a project, without partners in a store. Maps and guides are compiled when they are first used; [`Book::check`]
    /// compiles all.
    ///
    /// `options` gives limits and the cache; `now_us` and `seed` are the clock and the source of ids of maps.
    ///
    /// # Errors
    /// Everything that is wrong with the files.
    pub fn open(project: &Path, options: ShapeOptions, now_us: i64, seed: u64) -> Result<Book, Findings> {
        Book::open_with(project, None, options, now_us, seed)
    }

    /// Reads the partners of a project as [`Book::open`] does, in the folder `partners` and in a store. The folder may be missing if the store has
    /// partners.
    ///
    /// # Errors
    /// Everything that is wrong with the partners, and errors of the store.
    pub fn open_with(
        project: &Path,
        store: Option<&Store>,
        options: ShapeOptions,
        now_us: i64,
        seed: u64,
    ) -> Result<Book, Findings> {
        let BookTexts { texts, folder, found, stored_version } = BookTexts::read(project, store)?;
        let versions = texts.iter().map(|(_, text)| xxh3_128(text.as_bytes())).collect();
        let folder = PartnerFolder::of_texts(&texts, &folder, project, found)?;
        Ok(Book { stored_version, versions, ..Book::of(folder, project, options, (now_us, seed))? })
    }

    /// Returns the number of partners of a project, and all findings about them. A project without partners has none.
    #[must_use]
    pub fn findings_of(project: &Path, store: Option<&Store>, options: ShapeOptions) -> (usize, Vec<Finding>) {
        let is_stored = store.is_some_and(has_stored);
        if !project.join("partners").is_dir() && !is_stored {
            return (0, Vec::new());
        }
        match Book::open_checked(project, store, options, 0, 0) {
            Ok(book) => (book.partners.len(), book.findings),
            Err((number, Findings(findings))) => (number, findings),
        }
    }

    /// Reads the partners of a project as [`Book::open_with`] does, and compiles every map, guide and condition.
    ///
    /// # Errors
    /// The number of partners, and every finding about them at once: an error in one rule hides none of another rule or file.
    pub fn open_checked(
        project: &Path,
        store: Option<&Store>,
        options: ShapeOptions,
        now_us: i64,
        seed: u64,
    ) -> Result<Book, (usize, Findings)> {
        let BookTexts { texts, folder, found, stored_version } =
            BookTexts::read(project, store).map_err(|findings| (0, findings))?;
        let versions = texts.iter().map(|(_, text)| xxh3_128(text.as_bytes())).collect();
        let mut folder = PartnerFolder::all_of_texts(&texts, &folder, project, found);
        let mut findings = std::mem::take(&mut folder.findings);
        let maps = leave_checkable(&mut folder.partners, project);
        let (mut book, found) = Book::assemble(folder, project, options, (now_us, seed));
        findings.extend(found);
        for (map, used_at) in maps {
            book.maps.entry(map).or_insert_with(|| MapSlot { used_at, loaded: OnceLock::new() });
        }
        if let Err(Findings(found)) = book.check() {
            findings.extend(found);
        }
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err((book.partners.len(), Findings(findings)));
        }
        Ok(Book { stored_version, versions, findings, ..book })
    }

    /// Creates a book from partner files that were read, or that would result from a change.
    pub(crate) fn of(
        folder: PartnerFolder,
        project: &Path,
        options: ShapeOptions,
        world: (i64, u64),
    ) -> Result<Book, Findings> {
        let (book, found) = Book::assemble(folder, project, options, world);
        if found.is_empty() { Ok(book) } else { Err(Findings(found)) }
    }

    /// Creates a book, and returns the contradictions between its partners.
    fn assemble(
        folder: PartnerFolder,
        project: &Path,
        options: ShapeOptions,
        world: (i64, u64),
    ) -> (Book, Vec<Finding>) {
        let PartnerFolder { partners, findings } = folder;
        let (rules, mut found) = RuleIndex::new(&partners);
        found.extend(crate::numbers::overlaps(&partners));
        let mut book = Book {
            project: project.to_owned(),
            by_name: HashMap::new(),
            by_identity: HashMap::default(),
            own: Vec::new(),
            of_own: Vec::new(),
            rules,
            maps: BTreeMap::new(),
            conditions: Conditions::of(&partners),
            guides: Mutex::default(),
            merged: Mutex::default(),
            of_rules: Mutex::default(),
            options,
            world,
            findings,
            stored_version: None,
            versions: Vec::new(),
            revision: Revision::default(),
            runs: AtomicU64::new(0),
            partners,
        };
        for (number, partner) in book.partners.iter().enumerate() {
            book.by_name.insert(partner.name.clone(), number);
            book.of_own.push(partner.is_own.then(|| Arc::clone(&partner.settings)));
            if partner.is_own {
                book.own.push(number);
            }
            for identity in &partner.identities {
                let key = identity_key(identity.standard, identity.qualifier.as_bytes(), identity.id.as_bytes());
                book.by_identity.insert(key, u32::try_from(number).unwrap_or(u32::MAX));
            }
            for rule in &partner.rules {
                for map in &rule.maps {
                    let slot = || MapSlot { used_at: rule.place.clone(), loaded: OnceLock::new() };
                    book.maps.entry(map.clone()).or_insert_with(slot);
                }
            }
        }
        (book, found)
    }

    /// Compiles every map and guide.
    ///
    /// # Errors
    /// Every error in any of them.
    pub fn check(&self) -> Result<(), Findings> {
        let mut found = Vec::new();
        for map in self.maps.keys() {
            if let Err(Findings(findings)) = self.map(map) {
                found.extend(findings.iter().cloned());
            }
        }
        let mut guides: Vec<&Vec<PathBuf>> = Vec::new();
        for partner in &self.partners {
            let settings = std::iter::once(&partner.settings)
                .chain(partner.agreements.iter().map(|one| &one.settings))
                .chain(partner.rules.iter().map(|one| &one.settings));
            guides.extend(settings.filter_map(|settings| settings.guides.as_ref()));
        }
        guides.sort();
        guides.dedup();
        for paths in guides {
            if let Err(Findings(findings)) = self.guides_of(paths) {
                found.extend(findings);
            }
        }
        for partner in &self.partners {
            for rule in &partner.rules {
                found.extend(self.check_rule(rule));
                found.extend(self.check_places(partner, rule));
            }
            found.extend(differing_maps(partner));
        }
        found.extend(self.check_conditions());
        if found.is_empty() { Ok(()) } else { Err(Findings(found)) }
    }

    /// Checks that the maps of a rule fit the rule.
    fn check_rule(&self, rule: &Rule) -> Option<Finding> {
        let maps = rule.maps.iter().map(|map| self.map(map).ok()).collect::<Option<Vec<_>>>()?;
        let wrong = |message: String, hint: &str| {
            Some(Finding::error(codes::MAP, Fault::Config, message).at(rule.place.clone()).hint(hint))
        };
        let lookups = rule.maps.first().map(|map| &*map.lookups).unwrap_or_default();
        let looked_up: HashSet<&str> = maps.iter().flat_map(|map| &map.lookups).map(String::as_str).collect();
        if let Some((name, _)) = lookups.iter().find(|(name, _)| !looked_up.contains(name.as_str())) {
            return Some(LookupTable::unknown(name, LOOKUPS).at(rule.place.clone()));
        }
        let outputs = || maps.iter().flat_map(|map| &map.outputs);
        let named = || outputs().zip(rule.maps.iter().zip(&maps).flat_map(|(of, map)| map.delivery_names(rule, of)));
        let to = |name: &str| rule.deliver.get(name).or_else(|| rule.deliver.get(""));
        // Each record has an end in the output, except in a framing that only the layout knows.
        let is_records = |output: &OutputFacts| output.framing.as_ref().is_some_and(|of| *of != FramingSpec::Layout);
        let into_file = |name: &str| matches!(to(name), Some(Delivery::File(_)));
        if maps.is_empty() && rule.deliver.values().any(|to| matches!(to, Delivery::File(_))) {
            let message = "the document itself is EDI, and a record file takes records";
            return wrong(message.to_owned(), "name a map whose target is a layout, or deliver to a folder or queue");
        }
        if let Some((_, name)) = named().find(|(output, name)| into_file(name) && !is_records(output)) {
            let message = format!("output `{name}` is not records in a framing, so a record file cannot take it");
            return wrong(
                message,
                "choose a layout with a framing such as \"rdw\" as target, or deliver to a folder or queue",
            );
        }
        match rule.direction {
            Direction::Receive if maps.iter().any(|map| !map.from_edi) => {
                return wrong(
                    "the source of the map is not EDI".to_owned(),
                    "documents received are EDI: name another map",
                );
            }
            Direction::Send => {
                let others: Vec<String> = named().filter(|(output, _)| !output.is_edi).map(|(_, name)| name).collect();
                let is_placed = |name: &String| rule.deliver.contains_key(name) || rule.deliver.contains_key("");
                if let Some(name) = others.iter().find(|name| !is_placed(name) && rule.settings.send_to.is_none()) {
                    let message = format!("the output `{name}` is not EDI, and the rule does not say where it goes");
                    return wrong(message, "add deliver = \"folder:PATH\" or \"queue:NAME\"");
                }
                if !others.is_empty() && has_conditions(rule) {
                    let message = "conditions of a rule to send are about EDI, and an output of the map is not EDI";
                    return wrong(message.to_owned(), "remove the conditions, or give the rule another `document`");
                }
                let edi: Vec<String> = named().filter(|(output, _)| output.is_edi).map(|(_, name)| name).collect();
                if let Some(name) = rule.deliver.keys().find(|name| edi.contains(name)) {
                    let message = format!("the output `{name}` is EDI, and goes to the partner in an interchange");
                    return wrong(message, "remove it from `deliver`; `send-to` says where interchanges go");
                }
                return None;
            }
            Direction::Receive => {}
        }
        let names: Vec<String> = named().map(|(_, name)| name).collect();
        if let Some((_, twice)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            let message = format!("two maps of the rule have the name `{twice}`");
            return wrong(message, "rename the file of one of the maps: files and deliveries are named after it");
        }
        if maps.is_empty() {
            let answers = rule.deliver.values().any(|to| *to == Delivery::Answer);
            let hint = "name a map with an EDI target, or deliver to a folder or queue";
            return if answers {
                wrong("the document itself is not an answer to its sender".to_owned(), hint)
            } else {
                None
            };
        }
        if let Some(unknown) = rule.deliver.keys().find(|name| !name.is_empty() && !names.contains(name)) {
            let message = format!("the map has no output `{unknown}`, but {}", names.join(", "));
            return wrong(message, "correct the name in `deliver`");
        }
        let (_, other) = named().find(|(output, name)| !output.is_edi && to(name) == Some(&Delivery::Answer))?;
        let message = format!("output `{other}` is not EDI, so it cannot answer the partner");
        wrong(message, "deliver it to a folder or queue, or choose an EDI target")
    }

    /// Returns the number of changes of partners in the store that the book has; see [`crate::stored_version`]. `None` without a store.
    #[must_use]
    pub fn stored_version(&self) -> Option<u64> {
        self.stored_version
    }

    /// Returns the version of a partner: a digest of its text; see [`crate::RosterText::version`].
    #[must_use]
    pub fn version(&self, number: usize) -> Option<String> {
        self.versions.get(number).map(|digest| version_text(*digest))
    }

    /// Returns the folder of partner files, these files, and the files of the maps and guides that were used so far, after [`Book::check`] of all. They
    /// show whether the book is up to date.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = vec![self.project.join("partners")];
        let in_files = self.partners.iter().filter(|partner| !partner.is_stored());
        files.extend(in_files.map(|partner| partner.path.clone()));
        let maps = self.maps.values().filter_map(|slot| slot.loaded.get()?.as_ref().ok());
        files.extend(maps.flat_map(|map| map.files.iter().cloned()));
        let guides = self.guides.lock().unwrap_or_else(PoisonError::into_inner);
        files.extend(guides.values().flat_map(|guides| guides.files.iter().cloned()));
        files.extend(self.conditions.files());
        files.sort();
        files.dedup();
        files
    }

    /// Returns true if every map and condition that was used so far could be read. Guides that could not be read are read again at the next use.
    pub(crate) fn is_whole(&self) -> bool {
        let is_failed = |slot: &MapSlot| slot.loaded.get().is_some_and(Result::is_err);
        !self.maps.values().any(is_failed) && self.conditions.are_whole()
    }

    /// Returns true if reading the partners again would give the same: no file and no partner in the store has changed since the book was opened, and
    /// every definition that was used so far could be read. A file that was changed less than 0.1 s before counts as changed.
    ///
    /// The clock with which the book was opened must be that of the system.
    #[must_use]
    pub fn is_current(&self, store: Option<&Store>) -> bool {
        let stored = store.map(stored_version);
        let is_same = match (stored, self.stored_version()) {
            (None, None) => true,
            (Some(Ok(now)), Some(then)) => now == then,
            _ => false,
        };
        is_same
            && self.is_whole()
            && self.revision.has_same_files(self.files(), self.opened_us(), |file| self.may_be_missing(file))
    }

    /// Returns true if a file is the folder of partner files, and no partner is in it.
    fn may_be_missing(&self, file: &Path) -> bool {
        self.partners().iter().all(PartnerFile::is_stored) && file == self.project().join("partners")
    }

    /// Returns the number of the next run of a map.
    pub(crate) fn next_run(&self) -> u64 {
        self.runs.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Warnings about the partner files.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The project's folder.
    #[must_use]
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Returns all partners, including our own files.
    #[must_use]
    pub fn partners(&self) -> &[PartnerFile] {
        &self.partners
    }

    /// Returns the limits for reading input.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    pub(crate) fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    pub(crate) fn shape_options(&self) -> &ShapeOptions {
        &self.options
    }

    /// Returns the time at which the book was opened, in microseconds since 1970.
    pub(crate) fn opened_us(&self) -> i64 {
        self.world.0
    }

    /// Returns the time at which the book was opened.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.world.0 / 1_000).unwrap_or_default()
    }

    pub(crate) fn seed(&self) -> u64 {
        self.world.1
    }

    /// Our own files.
    #[must_use]
    pub fn own(&self) -> &[usize] {
        &self.own
    }

    /// A partner by number.
    ///
    /// # Panics
    /// If there is no such partner.
    #[must_use]
    pub fn partner(&self, number: usize) -> &PartnerFile {
        &self.partners[number]
    }

    /// Returns the number of the partner with this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns the number of the partner with an identity.
    #[must_use]
    pub fn identified(&self, standard: Standard, qualifier: &str, id: &str) -> Option<usize> {
        self.with_identity(identity_key(standard, qualifier.as_bytes(), id.as_bytes()))
    }

    /// Sender and receiver of an interchange.
    #[must_use]
    pub fn parties(&self, header: &Header) -> (Option<usize>, Option<usize>) {
        let standard = header.delimiters().standard;
        let party = |qualifier: &str, id: &str| {
            let text = |name| crate::time::text_of(header.field(name).trim_ascii());
            self.identified(standard, &text(qualifier), &text(id))
        };
        (party("sender_qualifier", "sender"), party("receiver_qualifier", "receiver"))
    }

    fn with_identity(&self, key: u128) -> Option<usize> {
        self.by_identity.get(&key).and_then(|number| usize::try_from(*number).ok())
    }

    /// A rule.
    #[must_use]
    pub fn rule(&self, id: RuleId) -> &Rule {
        &self.partners[id.owner].rules[id.rule]
    }

    /// Returns a rule by `OWNER/NAME`, the form in entries.
    #[must_use]
    pub fn rule_named(&self, name: &str) -> Option<RuleId> {
        let (owner, rule) = name.split_once('/')?;
        let owner = self.named(owner)?;
        let rule = self.partners[owner].rules.iter().position(|one| one.name == rule)?;
        Some(RuleId { owner, rule })
    }

    /// Returns a finding if no rule takes documents to send of this name.
    #[must_use]
    pub fn unknown_document(&self, name: &str) -> Option<Finding> {
        let rules = self.partners.iter().flat_map(|partner| &partner.rules);
        let mut known = Vec::new();
        for rule in rules.filter(|rule| rule.direction == Direction::Send) {
            match rule.document.as_deref() {
                Some(document) if document != name => known.push(document),
                _ => return None,
            }
        }
        let hint = match quayline_core::nearest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("add a rule with direction = \"send\" and document = \"{name}\""),
        };
        let message = format!("no rule takes documents to send with the name `{name}`; they stay where they are");
        Some(Finding::error(codes::NO_RULE, Fault::Config, message).hint(hint))
    }

    /// The index of rules.
    #[must_use]
    pub fn rules(&self) -> &RuleIndex {
        &self.rules
    }

    /// Returns the files whose rules apply, the most specific first.
    #[must_use]
    pub fn owners(own: usize, partner: Option<usize>) -> Vec<usize> {
        partner.into_iter().chain([own]).collect()
    }

    /// Returns the rule that matches a document. `holds` evaluates the content conditions of a rule.
    #[must_use]
    pub fn choose(
        &self,
        own: usize,
        partner: Option<usize>,
        query: &Query<'_>,
        holds: &mut dyn FnMut(RuleId, &Rule) -> bool,
    ) -> Option<RuleId> {
        let owners = [partner.unwrap_or(own), own];
        self.rules.choose(&self.partners, &owners[usize::from(partner.is_none())..], query, holds)
    }

    /// Settings of one of our identities and a partner.
    #[must_use]
    pub fn settings(&self, own: usize, partner: usize) -> Arc<Settings> {
        if let Some(ours) = &self.of_own[own]
            && self.is_plain(own, partner)
        {
            return Arc::clone(ours);
        }
        let mut merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        let merge = || {
            let layers = self.layers(own, partner, None);
            Arc::new(layers.iter().fold(Settings::default(), |all, layer| all.over(layer.settings)))
        };
        Arc::clone(merged.entry((own, partner)).or_insert_with(merge))
    }

    /// Returns true if a partner has no settings of its own.
    fn is_plain(&self, own: usize, partner: usize) -> bool {
        let file = &self.partners[partner];
        own == partner || file.agreements.is_empty() && Settings::are_none(&file.settings)
    }

    /// Returns the effective settings for a document that a rule matched.
    #[must_use]
    pub fn settings_of_rule(&self, own: usize, partner: usize, rule: Option<RuleId>) -> Arc<Settings> {
        let settings = self.settings(own, partner);
        let Some((id, of_rule)) =
            rule.map(|id| (id, self.rule(id))).filter(|(_, rule)| !Settings::are_none(&rule.settings))
        else {
            return settings;
        };
        let mut of_rules = self.of_rules.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (Arc::as_ptr(&settings).addr(), id);
        Arc::clone(of_rules.entry(key).or_insert_with(|| Arc::new(of_rule.settings.over(&settings))))
    }

    /// Returns the layers of settings, the most specific first.
    #[must_use]
    pub fn layers(&self, own: usize, partner: usize, rule: Option<RuleId>) -> Vec<Layer<'_>> {
        let mut layers = Vec::new();
        if let Some(rule) = rule.map(|id| self.rule(id)) {
            layers.push(Layer { name: format!("rule {}", rule.name), settings: &rule.settings });
        }
        let (ours, theirs) = (&self.partners[own], &self.partners[partner]);
        for agreement in theirs.agreements.iter().filter(|agreement| agreement.with == ours.name) {
            layers.push(Layer { name: format!("agreement with {}", ours.name), settings: &agreement.settings });
        }
        if own != partner {
            layers.push(Layer { name: format!("partner {}", theirs.name), settings: &theirs.settings });
        }
        layers.push(Layer { name: format!("own {}", ours.name), settings: &ours.settings });
        layers
    }

    /// Returns a map, which is compiled at its first use.
    ///
    /// # Errors
    /// Every error in the map.
    pub fn map(&self, map: &RuleMap) -> Result<&LoadedMap, &Findings> {
        let slot = &self.maps[map];
        slot.loaded.get_or_init(|| self.load(map, &slot.used_at)).as_ref()
    }

    fn load(&self, of: &RuleMap, used_at: &Place) -> Result<LoadedMap, Findings> {
        let map = MapFile::open(&self.project.join(&of.path), &self.options, &self.options)?;
        let placed = |Findings(mut found)| {
            for finding in &mut found {
                if finding.place == Place::default() {
                    finding.place = used_at.clone();
                }
            }
            Findings(found)
        };
        if let Some(function) = map.plan.own_functions().next() {
            let name = &function.name;
            let message =
                format!("a program computes the function `{name}` of the map, and partners run no such programs");
            let finding = Finding::error(codes::OWN_FUNCTION, Fault::Config, message).at(used_at.clone());
            return Err(finding.hint("compute it in the map, or look the values up in a table of `lookups`").into());
        }
        let lookups: Vec<String> = map.plan.lookups().map(|lookup| lookup.name.to_owned()).collect();
        // The other tables are those of the rule's other maps; `check_rule` finds one that no map looks up.
        let tables = of.lookups.iter().filter(|(name, _)| lookups.contains(name));
        let tables: Vec<_> = tables.map(|(name, file)| (name.clone(), self.project.join(file))).collect();
        let mut digest = 0;
        for file in map.files.iter().chain(tables.iter().map(|(_, file)| file)) {
            // A file that is gone by now changes the digest too.
            let bytes = std::fs::read(file).unwrap_or_default();
            digest = xxh3_64(&[&u64::to_le_bytes(digest)[..], &bytes].concat());
        }
        let mut outputs = Vec::new();
        for target in &map.targets {
            let format = target.shape.target()?;
            let extension = match &format {
                TargetFormat::JsonLines(_) => "jsonl",
                TargetFormat::JsonArray(_) => "json",
                TargetFormat::Csv(_) => "csv",
                TargetFormat::Xml(_) => "xml",
                TargetFormat::Records(_) => "dat",
                TargetFormat::Parquet(_) => "parquet",
                TargetFormat::ArrowFile | TargetFormat::ArrowStream => "arrow",
                TargetFormat::Edi(_) => "edi",
            };
            let is_edi = matches!(format, TargetFormat::Edi(_));
            let framing = if let TargetFormat::Records(framing) = format { Some(framing) } else { None };
            outputs.push(OutputFacts { name: target.name.clone(), extension, is_edi, framing });
        }
        let files = map.files.iter().cloned().chain(tables.iter().map(|(_, file)| file.clone())).collect();
        let from_edi = matches!(map.source.source()?, quayline_project::SourceFormat::Edi(_));
        let (now, seed) = self.world;
        // Headers of interchanges are written again when a document is enveloped, so these values never leave Quayline.
        let envelope = [("sender", PLACEHOLDER), ("receiver", PLACEHOLDER)];
        let envelope = envelope.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let tables = CsvTable::all(LookupTable::of_map(&map.plan, &tables, LOOKUPS).map_err(placed)?);
        let world = Arc::new(World::new(now, seed, envelope, tables));
        let source = map.source.clone();
        let edi_target = map.targets.iter().zip(&outputs).find(|(_, output)| output.is_edi);
        let edi_target = edi_target.map(|(target, _)| target.shape.clone());
        let pipeline = Pipeline::into_files(map, Arc::clone(&world), self.options.limits.clone()).map_err(placed)?;
        let digits = format!("{digest:016x}");
        Ok(LoadedMap { pipeline, world, outputs, lookups, digest, digits, from_edi, files, source, edi_target })
    }

    /// Returns the guides of some settings.
    ///
    /// # Errors
    /// Every error in the guides.
    pub fn guides(&self, settings: &Settings) -> Result<Option<Arc<LoadedGuides>>, Findings> {
        settings.guides.as_ref().filter(|paths| !paths.is_empty()).map(|paths| self.guides_of(paths)).transpose()
    }

    pub(crate) fn guides_of(&self, paths: &[PathBuf]) -> Result<Arc<LoadedGuides>, Findings> {
        let mut guides = self.guides.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = guides.get(paths) {
            return Ok(Arc::clone(known));
        }
        let files: Vec<PathBuf> = paths.iter().map(|path| self.project.join(path)).collect();
        let (set, files) = read_guides_and_files(&files, &self.options.limits, self.options.cache.as_deref())?;
        let mut packed = Vec::new();
        set.store(&mut packed);
        let set = Arc::new(LoadedGuides { set, digits: format!("{:016x}", xxh3_64(&packed)), files });
        guides.insert(paths.to_vec(), Arc::clone(&set));
        Ok(set)
    }

    /// Returns the value of a header field of a partner file, and reads secrets from the environment.
    ///
    /// # Errors
    /// The environment variable is not set, or the header of this standard cannot hold its value.
    pub fn field_value(&self, standard: Standard, name: &str, value: &str) -> Result<String, Findings> {
        let Some(variable) = value.strip_prefix("env:") else { return Ok(value.to_owned()) };
        let refused = |message: String, hint: String| {
            Findings::from(Finding::error(codes::SECRET, Fault::Config, message).hint(hint))
        };
        let value = std::env::var(variable).map_err(|_| {
            let message = format!("the environment has no value {variable} for header field {name}");
            refused(message, format!("set {variable} before the command"))
        })?;
        match HeaderField::named(standard, name).and_then(|(_, field)| Some((field, field.expected(value.as_bytes())?)))
        {
            Some((field, expected)) => {
                let message = format!("the value of {} must be {expected}", field.reference);
                Err(refused(message, format!("correct the environment variable {variable}")))
            }
            None => Ok(value),
        }
    }
}

/// Formats the digest of a partner's text.
pub(crate) fn version_text(digest: u128) -> String {
    format!("{digest:032x}")
}

fn identity_key(standard: Standard, qualifier: &[u8], id: &[u8]) -> u128 {
    digest_of(&[standard.name().as_bytes(), qualifier, id])
}

/// Place where a rule names the tables of its maps.
const LOOKUPS: &str = "`lookups` of the rule";

/// The placeholder for a partner until the document is enveloped.
pub(crate) const PLACEHOLDER: &str = "QUAYLINE";

impl std::fmt::Debug for Book {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Book")
            .field("partners", &self.partners.len())
            .field("maps", &self.maps.len())
            .finish_non_exhaustive()
    }
}
