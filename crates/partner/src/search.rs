//! Search for entries, and the operation on a found document: reprocess.
//!
//! Every search walks the index of its most selective condition: business field, control number, a state that needs attention,
//! partner and time (of one kind, or of all kinds at once), or all entries by number, which follows the time. The other conditions are tested for each entry. A page ends after a fixed
//! number of entries was found or examined, and has the position of the next one, so the cost of a page does not depend on the size of the store. Searches by field or
//! number also look once into each block of 65,536 entries (`field_key.rs`).

use std::ops::ControlFlow;

use quayline_core::{Fault, Finding, Findings, Place, Severity};
use quayline_edi::acknowledge::{AcknowledgmentReader, Rejections, Report};
use quayline_edi::{
    EndOfInput, EnvelopePass, EnvelopeReader, Event, Level, Rules, ValidationLevel, Validator, ValidatorOptions,
};
use quayline_store::record_file::{Browse, By, Record, Relation};
use quayline_store::{StoreError, Unit};

use crate::advice::{guides_for, is_advice};
use crate::book::LoadedGuides;
use crate::codes;
use crate::compiled_condition::Undecided;
use crate::correction::refuse_other;
use crate::defaults::KEEP_DAYS;
use crate::desk::Desk;
use crate::entry::{Entry, EntryId, Kind, Part, State, Way, context_of};
use crate::envelope::version_of;
use crate::field_key::{Digest, KEY_BYTES, Prefix, begin_of_block, id_of};
use crate::ledger::{self, Ledger, of_store};
use crate::matching;
use crate::seal::StoreKey;
use crate::send_request::SendRequest;
use crate::source::Again;
use crate::verdict::{count_as_processed, interchange_of, rejects};
use crate::watch::Watch;
use crate::work::Work;

/// Conditions of a search. An absent condition matches every entry.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Interchanges, groups or transactions.
    pub kind: Option<Kind>,
    /// Partner, by name.
    pub partner: Option<String>,
    /// State.
    pub state: Option<State>,
    /// Direction.
    pub way: Option<Way>,
    /// Type of document.
    pub document: Option<String>,
    /// Name of the guide that checked it, or the digest of the guides.
    pub guide: Option<String>,
    /// Digest of a map.
    pub map: Option<String>,
    /// Rule, as `OWNER/NAME`.
    pub rule: Option<String>,
    /// Code of a finding.
    pub finding: Option<String>,
    /// Control number of an interchange, with the groups and documents in it, or of a group.
    pub number: Option<String>,
    /// Name and value of a business field.
    pub field: Option<(String, String)>,
    /// Milliseconds since 1970: not before.
    pub from_ms: Option<u64>,
    /// Milliseconds since 1970: before.
    pub to_ms: Option<u64>,
    /// Expected acknowledgments that are overdue at this time, in milliseconds since 1970.
    pub overdue_at_ms: Option<u64>,
    /// Entries of a page.
    pub limit: usize,
    /// Position of the page: [`Found::next`] of the previous page.
    pub after: Option<Vec<u8>>,
}

impl Filter {
    /// Reads a business field as `NAME=VALUE`. Of a long value, it compares the part that entries keep.
    #[must_use]
    pub fn field_of(text: &str) -> Option<(String, String)> {
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty())?;
        Some((name.to_owned(), crate::watch::kept(value).to_owned()))
    }
}

/// A page of entries, the newest first.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Position of the next page; `None` at the end.
    pub next: Option<Vec<u8>>,
}

/// Milliseconds that entries may be out of the order of time: clocks are corrected, and workers take numbers in advance. One day.
const CLOCKS_MS: u64 = 86_400_000;

/// Entries that one page looks at.
const LOOKED_AT_MAX: usize = 20_000;

/// A page of a search in the file of fields, and the number of keys and blocks that it looked at.
#[derive(Default)]
struct FieldPage {
    found: Found,
    looked_at: usize,
}

/// An index to walk: keys begin with `prefix`, and the walk begins at its end.
struct Walk {
    index: Option<&'static str>,
    prefix: Vec<u8>,
    /// Start of the range, exclusive.
    from: Vec<u8>,
}

/// Callback that receives a key and a record, and decides whether to continue.
type Visit<'v> = dyn FnMut(&[u8], &Record) -> Result<ControlFlow<()>, Findings> + 'v;

/// The records of a walk, the last first.
struct Backwards<'w> {
    walk: &'w Walk,
    browse: Browse,
}

impl Ledger {
    /// Searches.
    ///
    /// # Errors
    /// Errors of the store; a store that is encrypted, without its key.
    pub fn search(&self, filter: &Filter) -> Result<Found, Findings> {
        // Its entries are found by digests that need the key, so nothing would be found.
        self.check_key()?;
        let unit = self.begin().map_err(of_store)?;
        if let Some((name, value)) = &filter.field {
            return self.by_digest(&unit, filter, &|key| Digest::field(name, value, key));
        }
        if let Some(number) = &filter.number {
            return self.by_digest(&unit, filter, &|key| Digest::number(number, key));
        }
        if let Some(state) = filter.state.filter(|state| state.needs_attention())
            && (filter.partner.is_none() || filter.kind.is_none() || filter.overdue_at_ms.is_some())
        {
            let prefix = Prefix::state(state, None);
            let from = match filter.overdue_at_ms {
                Some(_) => Prefix::state(state, filter.overdue_at_ms).bytes().to_vec(),
                None => end_of(prefix.bytes()),
            };
            check_place(filter, |place| is_key(place, &prefix))?;
            let mut page = FieldPage::default();
            let from = filter.after.as_deref().unwrap_or(&from);
            let _ = self.by_field(&unit, filter, prefix.bytes(), from, &mut page)?;
            return Ok(page.found);
        }
        if let (None, Some(partner)) = (filter.kind, &filter.partner) {
            check_place(filter, |place| place.len() == TIME_AND_NUMBER)?;
            return self.by_partner(&unit, filter, partner);
        }
        let mut walk = walk_of(filter);
        let rest = if walk.index.is_some() { TIME_AND_NUMBER } else { NUMBER_BYTES };
        check_place(filter, |place| place.strip_prefix(&walk.prefix[..]).is_some_and(|key| key.len() == rest))?;
        if walk.index.is_none()
            && let Some(to) = filter.to_ms
        {
            walk.from = self.first_since(&unit, to.saturating_add(CLOCKS_MS))?.0.to_be_bytes().to_vec();
        }
        if let Some(after) = &filter.after {
            walk.from.clone_from(after);
        }
        let mut found = Found::default();
        let mut looked_at = 0;
        self.walk_back(&unit, &walk, &mut |key, record| {
            let entry = self.decoded(&record.bytes)?;
            looked_at += 1;
            // Times descend in these indexes, so nothing earlier follows. Numbers of entries follow the clock but for its corrections.
            let slack = if walk.index.is_some() { 0 } else { CLOCKS_MS };
            if filter.from_ms.is_some_and(|from| entry.time_ms.saturating_add(slack) < from) {
                return Ok(ControlFlow::Break(()));
            }
            if fits(filter, &entry) {
                found.entries.push(entry);
            }
            if found.entries.len() >= filter.limit.max(1) || looked_at >= LOOKED_AT_MAX {
                found.next = Some(key.to_vec());
                return Ok(ControlFlow::Break(()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// Finds the first entry since a time, or the number after the last. Entry numbers follow the time, so a binary search is possible.
    fn first_since(&self, unit: &Unit, at_ms: u64) -> Result<EntryId, Findings> {
        let (mut low, mut high) = (0, self.last_id(unit).map_err(of_store)?.0.saturating_add(1));
        while low < high {
            let middle = low + (high - low) / 2;
            let mut browse = self.entries.browse();
            // A purge leaves gaps: the next entry says on which side to look.
            let next = match browse.start(unit, By::Key(&middle.to_be_bytes()), Relation::AtLeast) {
                Ok(()) => match browse.next(unit) {
                    Ok(record) => Some(self.decoded(&record.bytes)?),
                    Err(StoreError::EndOfFile { .. }) => None,
                    Err(error) => return Err(of_store(error)),
                },
                Err(StoreError::NotFound { .. }) => None,
                Err(error) => return Err(of_store(error)),
            };
            match next {
                Some(entry) if entry.time_ms < at_ms => low = entry.id.0 + 1,
                _ => high = middle,
            }
        }
        Ok(EntryId(low))
    }

    /// Finds the entries of a partner, of all kinds: the index has a range for each kind, and the newest of their heads comes next. A place in the
    /// result is time and number of an entry, the end of its keys in all ranges.
    fn by_partner(&self, unit: &Unit, filter: &Filter, partner: &str) -> Result<Found, Findings> {
        let walk = |kind: Kind| {
            let walk = walk_of(&Filter { kind: Some(kind), partner: Some(partner.to_owned()), ..filter.clone() });
            match &filter.after {
                Some(after) => Walk { from: [&walk.prefix[..], after].concat(), ..walk },
                None => walk,
            }
        };
        let walks = [Kind::Interchange, Kind::Group, Kind::Transaction].map(walk);
        let mut heads = Vec::with_capacity(walks.len());
        for walk in &walks {
            let mut records = self.backwards(unit, walk)?;
            let head = records.next(unit)?;
            heads.push((records, head));
        }
        let mut found = Found::default();
        let mut looked_at = 0;
        loop {
            let newest = heads.iter_mut().filter(|(_, head)| head.is_some());
            let newest = newest.max_by(|(_, one), (_, other)| place_in_time(one).cmp(&place_in_time(other)));
            let Some((records, head)) = newest else { return Ok(found) };
            let Some(record) = head.take() else { return Ok(found) };
            let entry = self.decoded(&record.bytes)?;
            looked_at += 1;
            if filter.from_ms.is_some_and(|from| entry.time_ms < from) {
                return Ok(found);
            }
            if fits(filter, &entry) {
                found.entries.push(entry);
            }
            if found.entries.len() >= filter.limit.max(1) || looked_at >= LOOKED_AT_MAX {
                found.next = place_in_time(&Some(record)).map(<[u8]>::to_vec);
                return Ok(found);
            }
            *head = records.next(unit)?;
        }
    }

    /// Walks an index backwards.
    fn walk_back(&self, unit: &Unit, walk: &Walk, visit: &mut Visit<'_>) -> Result<(), Findings> {
        let mut records = self.backwards(unit, walk)?;
        while let Some(record) = records.next(unit)? {
            if visit(key_of(walk.index, &record.bytes)?, &record)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Begins a walk.
    fn backwards<'w>(&self, unit: &Unit, walk: &'w Walk) -> Result<Backwards<'w>, Findings> {
        let new = || match walk.index {
            Some(index) => self.entries.browse_by(index).map_err(of_store),
            None => Ok(self.entries.browse()),
        };
        let mut browse: Browse = new()?;
        let by = match walk.index {
            Some(index) => By::Alternate(index, &walk.from),
            None => By::Key(&walk.from),
        };
        match browse.start(unit, by, Relation::AtLeast) {
            Ok(()) => {}
            Err(StoreError::NotFound { .. }) => {
                browse = new()?;
                browse.to_end();
            }
            Err(error) => return Err(of_store(error)),
        }
        Ok(Backwards { walk, browse })
    }

    /// Finds entries by a digest, in one block of entries after the other, the newest first. If the store got its key later, earlier entries have digests
    /// without it; they are older, so they come last in their block.
    fn by_digest(
        &self,
        unit: &Unit,
        filter: &Filter,
        digest: &dyn Fn(Option<&StoreKey>) -> Digest,
    ) -> Result<Found, Findings> {
        let (keyed, plain) = (digest(self.key()), digest(None));
        let mut digests = vec![keyed, plain];
        digests.dedup();
        check_place(filter, |place| digests.iter().any(|digest| digest.is_of(place)))?;
        let mut page = FieldPage::default();
        let Some((oldest, newest)) = self.ids_between(unit, filter)? else { return Ok(page.found) };
        let mut after = filter.after.as_deref();
        let mut block = begin_of_block(after.map_or(newest, id_of).min(newest));
        loop {
            for digest in &digests {
                let prefix = digest.in_block_of(block);
                if after.is_some_and(|after| !digest.is_of(after)) {
                    continue;
                }
                let after = after.take().filter(|after| after.starts_with(&prefix));
                let from = after.map_or_else(|| end_of(&prefix), <[u8]>::to_vec);
                page.looked_at += 1;
                match self.fields.read(unit, By::Key(&prefix), Relation::Equal) {
                    Ok(_) => {}
                    Err(StoreError::NotFound { .. }) => continue,
                    Err(error) => return Err(of_store(error)),
                }
                if self.by_field(unit, filter, &prefix, &from, &mut page)?.is_break() {
                    return Ok(page.found);
                }
            }
            if block <= oldest {
                return Ok(page.found);
            }
            if page.looked_at >= LOOKED_AT_MAX {
                page.found.next = Some(plain.of(block).to_vec());
                return Ok(page.found);
            }
            block = begin_of_block(EntryId(block.0 - 1));
        }
    }

    /// Returns the numbers of the oldest and of the newest entry that can have the times of a filter; `None` if the store has no entry.
    fn ids_between(&self, unit: &Unit, filter: &Filter) -> Result<Option<(EntryId, EntryId)>, Findings> {
        let first = match self.entries.read(unit, By::Key(&[0; NUMBER_BYTES]), Relation::AtLeast) {
            Ok(first) => id_of(&first.key),
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(of_store(error)),
        };
        let oldest = match filter.from_ms {
            Some(from) => self.first_since(unit, from.saturating_sub(CLOCKS_MS))?,
            None => first,
        };
        let newest = match filter.to_ms {
            Some(to) => self.first_since(unit, to.saturating_add(CLOCKS_MS))?,
            None => self.last_id(unit).map_err(of_store)?,
        };
        Ok(Some((oldest.max(first), newest)))
    }

    /// Finds entries whose keys in the file of fields begin with a prefix, from before `from` back. Breaks if the page is complete.
    fn by_field(
        &self,
        unit: &Unit,
        filter: &Filter,
        prefix: &[u8],
        from: &[u8],
        page: &mut FieldPage,
    ) -> Result<ControlFlow<()>, Findings> {
        let mut browse = self.fields.browse();
        match browse.start(unit, By::Key(from), Relation::AtLeast) {
            Ok(()) => {}
            Err(StoreError::NotFound { .. }) => {
                browse = self.fields.browse();
                browse.to_end();
            }
            Err(error) => return Err(of_store(error)),
        }
        page.found.next = None;
        loop {
            let record = match browse.previous(unit) {
                Ok(record) => record,
                Err(StoreError::EndOfFile { .. }) => return Ok(ControlFlow::Continue(())),
                Err(error) => return Err(of_store(error)),
            };
            if record.key.as_slice() >= from {
                continue;
            }
            if !record.key.starts_with(prefix) {
                return Ok(ControlFlow::Continue(()));
            }
            page.looked_at += 1;
            if let Some(entry) = self.get(unit, id_of(&record.key))?
                && fits(filter, &entry)
            {
                page.found.entries.push(entry);
            }
            if page.found.entries.len() >= filter.limit.max(1) || page.looked_at >= LOOKED_AT_MAX {
                page.found.next = Some(record.key);
                return Ok(ControlFlow::Break(()));
            }
        }
    }
}

impl Backwards<'_> {
    /// Returns the record before the last one; `None` at the beginning of the range.
    fn next(&mut self, unit: &Unit) -> Result<Option<Record>, Findings> {
        loop {
            let record = match self.browse.previous(unit) {
                Ok(record) => record,
                Err(StoreError::EndOfFile { .. }) => return Ok(None),
                Err(error) => return Err(of_store(error)),
            };
            let key = key_of(self.walk.index, &record.bytes)?;
            if key < self.walk.from.as_slice() {
                return Ok(key.starts_with(&self.walk.prefix).then_some(record));
            }
        }
    }
}

/// Returns time and number of an entry of the index by partner: the last bytes of its key.
fn place_in_time(record: &Option<Record>) -> Option<&[u8]> {
    let key = key_of(Some("partner"), &record.as_ref()?.bytes).ok()?;
    key.get(key.len() - TIME_AND_NUMBER..)
}

/// Bytes of time and number in a key of the index by partner.
const TIME_AND_NUMBER: usize = 16;
/// Bytes of the number of an entry.
const NUMBER_BYTES: usize = 8;

/// Returns true if a place is a key with a prefix.
fn is_key(place: &[u8], prefix: &Prefix) -> bool {
    place.len() == KEY_BYTES && place.starts_with(prefix.bytes())
}

/// Refuses a page that begins where no page of the search ends. Otherwise, it would begin anywhere, and mostly at the newest entry.
fn check_place(filter: &Filter, is_place: impl Fn(&[u8]) -> bool) -> Result<(), Findings> {
    if filter.after.as_deref().is_none_or(is_place) {
        return Ok(());
    }
    let message = "`after` is not the place where a page of this search ends";
    let finding = Finding::error(codes::PLACE, Fault::Caller, message);
    Err(finding.hint("use `next` of the page before, with the same conditions").into())
}

/// Returns the first possible key after those with a prefix.
fn end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    for byte in end.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            break;
        }
    }
    end.resize(KEY_BYTES, 0);
    end
}

/// Extracts the index key of a stored entry.
fn key_of<'r>(index: Option<&str>, record: &'r [u8]) -> Result<&'r [u8], Findings> {
    let (offset, length) = if index.is_some() { crate::entry::BY_PARTNER } else { (0, 8) };
    let range = usize::try_from(offset).unwrap_or(0)..usize::try_from(offset + length).unwrap_or(0);
    record.get(range).ok_or_else(|| ledger::damaged("an entry of the transaction store is not readable"))
}

fn walk_of(filter: &Filter) -> Walk {
    let (Some(kind), Some(partner)) = (filter.kind, &filter.partner) else {
        return Walk { index: None, prefix: Vec::new(), from: vec![0xff; 8] };
    };
    let prefix = Entry::partner_key(kind, partner, None);
    // Time and id follow.
    let end = |prefix: &[u8]| [prefix, &[0xff; 16]].concat();
    let from = filter.to_ms.map_or_else(|| end(&prefix), |to| [&prefix[..], &to.to_be_bytes()].concat());
    Walk { index: Some("partner"), prefix, from }
}

fn fits(filter: &Filter, entry: &Entry) -> bool {
    let details = &entry.details;
    let number = |wanted: &String| {
        let same =
            |number: &str| !number.is_empty() && number.trim_start_matches('0') == wanted.trim_start_matches('0');
        same(&entry.number) || same(&details.group) || same(&details.interchange)
    };
    filter.kind.is_none_or(|kind| kind == entry.kind)
        && filter.partner.as_ref().is_none_or(|partner| *partner == entry.partner)
        && filter.state.is_none_or(|state| state == entry.state)
        && filter.way.is_none_or(|way| way == entry.way)
        && filter.guide.as_ref().is_none_or(|guide| details.guide.split(' ').any(|part| part == guide))
        && filter.map.as_ref().is_none_or(|map| details.map.split(',').any(|one| one == map))
        && filter.rule.as_ref().is_none_or(|rule| *rule == details.rule)
        && filter.finding.as_ref().is_none_or(|code| details.findings.iter().any(|one| one.code == *code))
        && filter.document.as_ref().is_none_or(|document| *document == details.document)
        && filter.number.as_ref().is_none_or(number)
        && filter.from_ms.is_none_or(|from| entry.time_ms >= from)
        && filter.to_ms.is_none_or(|to| entry.time_ms < to)
        && filter.overdue_at_ms.is_none_or(|at| entry.state == State::Expecting && entry.due_ms < at)
}

/// A document that is processed again.
#[derive(Clone, Debug)]
pub struct Corrected {
    /// The new entry.
    pub entry: EntryId,
    /// State of the new entry.
    pub state: State,
    /// Findings of the document.
    pub findings: Vec<Finding>,
    /// Destinations of its output.
    pub outputs: Vec<String>,
}

/// A stored document, checked by the definitions of now.
pub(crate) struct Checked {
    pub(crate) details: crate::details::Details,
    pub(crate) watch: Watch,
    pub(crate) findings: Vec<Finding>,
    /// Errors and warnings of the transaction itself. Those of its headers were decided when its interchange was received.
    pub(crate) has_errors: bool,
    pub(crate) has_warnings: bool,
    pub(crate) application: String,
    /// Our identity and the partner.
    pub(crate) parties: (usize, Option<usize>),
    /// Reports, if the document is an acknowledgment, and its segments that match no known structure.
    pub(crate) reports: Vec<Report>,
    pub(crate) stray: u64,
}

impl Desk<'_> {
    /// Processes a received document again: with the stored bytes, or with corrected bytes, which are an interchange with one transaction. Sends a
    /// rejected document again that was to be sent: with its stored source, or a corrected one.
    ///
    /// The document is checked, mapped and delivered by the current definitions. It is not acknowledged again. The old entry is replaced.
    ///
    /// # Errors
    /// The entry is not such a document, or its bytes are not kept or not one transaction.
    pub fn reprocess(&mut self, id: EntryId, corrected: Option<&[u8]>) -> Result<Corrected, Findings> {
        let done = self.reprocess_one(id, corrected).and_then(|done| self.finish().map(|()| done));
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    fn reprocess_one(&mut self, id: EntryId, corrected: Option<&[u8]>) -> Result<Corrected, Findings> {
        let now = self.now_ms();
        let ledger = self.ledger;
        let unit = self.unit()?;
        let mut old = ledger.locked(unit, id)?;
        let wrong = |what: &str, hint: &str| -> Findings {
            Finding::error(codes::STATE, Fault::Caller, format!("entry {id} {what}")).hint(hint).into()
        };
        let is_refused = old.way == Way::Sent && old.state == State::Rejected;
        let is_replaced = old.state == State::Replaced;
        if old.kind != Kind::Transaction || old.way != Way::Received && !is_refused && !is_replaced {
            return Err(wrong(
                "is not a document that was received, nor one to send that was rejected",
                "send documents again with `quayline partner send`, or their interchange with `quayline interchange resend`",
            ));
        }
        if old.state == State::Replaced {
            let hint = format!("reprocess entry {} instead", old.details.replaced_by);
            return Err(wrong("is replaced already", &hint));
        }
        if is_refused {
            return self.send_corrected(old, corrected);
        }
        let mut bytes = match corrected {
            Some(bytes) => bytes.to_vec(),
            None => ledger.body(unit, id, Part::Document)?.ok_or_else(|| crate::send::no_bytes(id))?,
        };
        let new = self.next_id()?;
        let Checked { mut details, watch, findings, has_errors, has_warnings, application, parties, reports, stray } =
            self.check(&bytes, new, &old)?;
        if corrected.is_some() {
            refuse_other(&old, &details, parties.1.map(|number| self.book.partner(number).name.as_str()))?;
        }
        details.about = id.0;
        details.parent = old.details.parent;
        details.source.clone_from(&old.details.source);
        details.happened(now, format!("processed again, from entry {id}"));
        details.add_findings(&findings);
        let place = Place { path: Some(format!("entry {new}")), ..Place::default() };
        let (own, partner) = parties;
        let mut work = Work {
            id: new,
            own,
            partner,
            details,
            place,
            application,
            bytes: &mut bytes,
            watch: &watch,
            findings,
            is_refused_by_map: false,
        };
        let (rule, undecided) = match work.rule(self) {
            Ok(rule) => (rule, Vec::new()),
            Err(Undecided::Rejected(found)) => (None, found),
            Err(Undecided::Stopped(findings)) => return Err(findings),
        };
        let settings = match partner {
            Some(partner) => self.book.settings_of_rule(own, partner, rule),
            None => std::sync::Arc::default(),
        };
        work.details.keep_days = settings.keep_days.unwrap_or(KEEP_DAYS);
        work.record_fields(self.book, rule);
        let (interchange, repeated) = interchange_of(self, &old, &settings)?;
        repeated.into_iter().for_each(|finding| work.find(finding));
        let is_acknowledgment = matches!(work.details.document.as_str(), "997" | "999" | "CONTRL");
        let state = if rejects(&settings, has_errors, has_warnings) {
            State::Rejected
        } else if is_acknowledgment && partner.is_some() {
            matching::apply(self, &mut work, &reports)?;
            matching::report_stray(&mut work, stray);
            State::Delivered
        } else if is_advice(&work.details.document) && partner.is_some() {
            matching::apply_advice(self, &mut work)?;
            work.process_advice(self, rule, undecided)?
        } else if !undecided.is_empty() {
            undecided.into_iter().for_each(|finding| work.find(finding));
            State::Rejected
        } else {
            work.process(self, rule)?
        };
        let Work { mut details, findings, .. } = work;
        details.happened(now, state.name());
        let outputs = details.outputs.clone();
        let entry = Entry {
            id: new,
            partner: partner.map(|partner| self.book.partner(partner).name.clone()).unwrap_or_default(),
            time_ms: now,
            due_ms: now,
            state,
            context: context_of(&["in", &old.details.parent.to_string()]),
            details,
            ..old.clone()
        };
        old.state = State::Replaced;
        old.due_ms = now;
        old.details.replaced_by = new.0;
        old.details.happened(now, format!("replaced by entry {new}"));
        let unit = self.unit()?;
        ledger.insert_with(unit, &entry, Part::Document, &bytes)?;
        ledger.update(unit, &old)?;
        count_as_processed(self, interchange.filter(|_| state == State::Delivered), &entry)?;
        Ok(Corrected { entry: new, state, findings, outputs })
    }

    /// Sends a rejected document again, with its original bytes before the map or a correction. A document that a rule or the partner's delimiters
    /// rejected after the map is stored without headers. Its correction is an interchange, which is sent without a map.
    fn send_corrected(&mut self, mut old: Entry, corrected: Option<&[u8]>) -> Result<Corrected, Findings> {
        let ledger = self.ledger;
        let id = old.id;
        let source = ledger.body(self.unit()?, id, Part::Source)?;
        let document = if source.is_some() { old.details.document.clone() } else { String::new() };
        let bytes = match (corrected, source) {
            (Some(bytes), _) => bytes.to_vec(),
            (None, Some(bytes)) => bytes,
            (None, None) => {
                let message = format!("entry {id} holds a transaction without its interchange");
                let hint = "give the corrected interchange with --with (over HTTP: in the body)";
                return Err(Finding::error(codes::NO_BYTES, Fault::Caller, message).hint(hint).into());
            }
        };
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let (to, from) = (given(&old.partner), given(&old.details.own));
        let name = format!("entry {id}");
        let request = SendRequest {
            name: &name,
            to: to.as_deref(),
            from: from.as_deref(),
            document: &document,
            again: Again::Yes,
        };
        let report = self.send_part(&request, &mut std::io::Cursor::new(bytes))?;
        let first = *report.entries.first().ok_or_else(|| {
            let message = format!("the source of entry {id} holds no document");
            Findings::from(Finding::error(codes::NOT_EDI, Fault::Caller, message).hint("correct it with --with"))
        })?;
        let now = self.now_ms();
        old.state = State::Replaced;
        old.due_ms = now;
        old.details.replaced_by = first.0;
        let count = report.transactions + report.rejected;
        old.details.happened(now, format!("sent again as entry {first}, {count} documents"));
        ledger.update(self.unit()?, &old)?;
        let new = ledger.need(self.unit()?, first)?;
        let findings = report.findings.into_iter().map(|(_, finding)| finding).collect();
        Ok(Corrected { entry: first, state: new.state, findings, outputs: new.details.outputs })
    }

    /// Checks an interchange with one transaction.
    pub(crate) fn check(&self, bytes: &[u8], id: EntryId, old: &Entry) -> Result<Checked, Findings> {
        let book = self.book;
        let mut reader = EnvelopeReader::new(book.limits(), Rules::Lenient);
        let mut pass = reader.over(bytes, EndOfInput::Yes);
        let mut validator = Validator::new(ValidatorOptions::default());
        let mut guides = None;
        let mut watch = Watch::default();
        let (mut findings, mut faults) = (Vec::new(), Vec::new());
        let mut details = crate::details::Details::default();
        let mut application = String::new();
        let mut parties = (book.own()[0], None);
        let mut transactions = 0;
        let mut rejections = Rejections::default();
        let (mut has_errors, mut has_warnings) = (false, false);
        let (mut reader_of_reports, mut reports) = (AcknowledgmentReader::default(), Vec::new());
        let file: std::sync::Arc<str> = format!("entry {id}").into();
        loop {
            let event = pass.advance();
            reader_of_reports.event(event, &pass, &mut |report| reports.push(report));
            if event == Event::InterchangeStart {
                let (sender, receiver) = book.parties(pass.interchange());
                let is_own = |number: &usize| book.partner(*number).is_own;
                parties = (receiver.filter(is_own).unwrap_or(book.own()[0]), sender.filter(|number| !is_own(number)));
                if let Some(partner) = parties.1 {
                    let settings = book.settings(parties.0, partner);
                    let level = settings.validate.unwrap_or(ValidationLevel::Rules);
                    validator = Validator::new(ValidatorOptions { level, ..ValidatorOptions::default() });
                    guides = book.guides(&settings)?.filter(|_| level > ValidationLevel::Envelope);
                }
            }
            let mut of_partner = None;
            let choose = |pass: &EnvelopePass<'_>| {
                of_partner = guides_for(guides.as_deref(), pass.transaction(), pass.group());
                of_partner.map(|guides: &LoadedGuides| &guides.set)
            };
            let check = validator.event(event, choose, &mut pass, &mut faults);
            let (mut is_around, mut is_within) = (false, false);
            rejections.event(event, &pass, &faults, &mut |level, severity, _| {
                is_around |= level != Level::Transaction;
                is_within |= level == Level::Transaction;
                has_errors |= level == Level::Transaction && severity == Severity::Error;
                has_warnings |= level == Level::Transaction && severity == Severity::Warning;
            });
            match event {
                Event::TransactionStart => {
                    transactions += 1;
                    let guide = check.guide.as_ref();
                    details.guide = guide.map(|guide| LoadedGuides::name_of(of_partner, guide)).unwrap_or_default();
                    let header = pass.transaction();
                    let text = |header: &quayline_edi::Header, name: &str| crate::time::text_of(&header.field(name));
                    let standard = header.delimiters().standard;
                    let party = |qualifier, id| {
                        format!("{}:{}", text(pass.interchange(), qualifier), text(pass.interchange(), id))
                    };
                    details.standard = standard.name().to_owned();
                    details.document = text(header, "type");
                    details.version = version_of(header, pass.group());
                    details.own.clone_from(&book.partner(parties.0).name);
                    details.sender = party("sender_qualifier", "sender");
                    details.receiver = party("receiver_qualifier", "receiver");
                    details.interchange = text(pass.interchange(), "control_number");
                    details.group = pass.group().map(|group| text(group, "control_number")).unwrap_or_default();
                    details.test = pass.interchange().is_test();
                    application = match standard {
                        quayline_edi::Standard::X12 => {
                            pass.group().map(|group| text(group, "receiver")).unwrap_or_default()
                        }
                        quayline_edi::Standard::Edifact => text(pass.interchange(), "application_reference"),
                    };
                    let owners = crate::Book::owners(parties.0, parties.1);
                    let rules = owners.iter().flat_map(|owner| &book.partner(*owner).rules);
                    watch = Watch::of_rules(rules);
                }
                Event::Segment if pass.in_transaction() => watch.segment(&pass.segment(), pass.interchange()),
                _ => {}
            }
            findings.extend(faults.iter().map(|fault| {
                let mut finding = fault.finding(Some(&file));
                if is_around && !is_within && finding.severity == Severity::Error {
                    // A fault of the headers around the document does not reject it again.
                    finding.severity = Severity::Warning;
                }
                finding
            }));
            check.end(&mut pass);
            if event == Event::Done {
                break;
            }
        }
        if transactions != 1 {
            let message = format!("the bytes hold {transactions} transactions, expected one");
            let hint = format!(
                "write the interchange of one document: `quayline transaction show {} --bytes` prints it",
                old.id
            );
            return Err(Finding::error(codes::NOT_EDI, Fault::Caller, message).hint(hint).into());
        }
        details.bytes = bytes.len() as u64;
        let stray = reader_of_reports.stray();
        Ok(Checked { details, watch, findings, has_errors, has_warnings, application, parties, reports, stray })
    }
}
