//! Documents that wait for their envelope, and envelopes that close.

use quayline_core::{Fault, Finding, Findings};
use quayline_project::partner::ClosePolicy;
use quayline_store::record_file::{By, Relation};
use quayline_store::{LockWait, StoreError};
use serde::{Deserialize, Serialize};

use crate::codes;
use crate::desk::Desk;
use crate::entry::{Entry, EntryId};
use crate::ledger::{self, Ledger, of_store};
use crate::send_request::SendReport;
use crate::send_target::Target;
use crate::write::{Document, Route, Shape, rule_with_settings, standard_of};

/// One envelope that documents wait for.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Waiting {
    /// The partner.
    pub partner: String,
    /// Our identity.
    pub own: String,
    /// `X12` or `EDIFACT`.
    pub standard: String,
    /// True if the envelope is a test.
    pub test: bool,
    /// The rule whose settings apply, as `OWNER/NAME`; empty where those of the partner do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// Format of the interchange's bytes; absent in envelopes of versions that did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shape: Option<Shape>,
    /// Documents that wait.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Milliseconds since 1970 when the first came.
    pub since_ms: u64,
}

/// Selects the envelopes to close.
#[derive(Clone, Debug)]
pub enum Release<'a> {
    /// Envelopes whose close policy is met.
    Due,
    /// All envelopes.
    All,
    /// Envelopes of a partner.
    Partner(&'a str),
}

impl Desk<'_> {
    /// Puts a document among those that wait; closes the envelope if it is full.
    pub(crate) fn wait(
        &mut self,
        target: &Target,
        entry: &Entry,
        document: &Document,
        shape: &Shape,
        report: &mut SendReport,
    ) -> Result<(), Findings> {
        let rule = rule_with_settings(self.book, target.rule);
        let key = shape.key(entry, &rule);
        let now = self.now_ms();
        let ledger = self.ledger;
        let record = pending_record(ledger, &key, document)?;
        let unit = self.unit()?;
        ledger.pending.insert_fresh(unit, &record).map_err(of_store)?;
        let mut waiting =
            match ledger.envelopes.read_for_update(unit, By::Key(&key), Relation::Equal, LockWait::Default) {
                Ok(record) => waiting_of(&record.bytes)?,
                Err(StoreError::NotFound { .. }) => Waiting {
                    partner: entry.partner.clone(),
                    own: entry.details.own.clone(),
                    standard: entry.details.standard.clone(),
                    test: entry.details.test,
                    rule,
                    shape: Some(shape.clone()),
                    count: 0,
                    bytes: 0,
                    since_ms: now,
                },
                Err(error) => return Err(of_store(error)),
            };
        waiting.count += 1;
        waiting.bytes += document.text.len() as u64;
        let mut record = key.to_vec();
        serde_json::to_writer(&mut record, &waiting).expect("text and numbers");
        ledger.envelopes.set(unit, &record).map_err(of_store)?;
        let close = target.settings.close.clone().unwrap_or_default();
        let full = close.count.is_some_and(|count| waiting.count >= count)
            || waiting.bytes >= close.bytes.unwrap_or(ENVELOPE_BYTES_MAX).min(ENVELOPE_BYTES_MAX);
        if full {
            self.release_one(&key, &waiting, report)?;
        }
        Ok(())
    }

    /// Envelopes that documents wait for.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn waiting(&self) -> Result<Vec<Waiting>, Findings> {
        let unit = self.ledger.begin().map_err(of_store)?;
        let mut all = Vec::new();
        let mut browse = self.ledger.envelopes.browse();
        loop {
            match browse.next(&unit) {
                Ok(record) => all.push(waiting_of(&record.bytes)?),
                Err(StoreError::EndOfFile { .. }) => return Ok(all),
                Err(error) => return Err(of_store(error)),
            }
        }
    }

    /// Closes envelopes; units of work have at most [`crate::DeskLimits::unit_transactions_max`] of them. An envelope that cannot be closed, because its
    /// partner's file or a secret is missing, is a finding of the report and does not block the others.
    ///
    /// # Errors
    /// Errors of the store. Envelopes whose unit of work was committed remain closed.
    pub fn release(&mut self, which: &Release<'_>) -> Result<SendReport, Findings> {
        let done = self.release_each(which).and_then(|report| self.finish().map(|()| report));
        if done.is_err() {
            self.roll_back();
        }
        let mut report = done?;
        self.take_undelivered().iter().for_each(|finding| report.find(EntryId(0), finding));
        Ok(report)
    }

    fn release_each(&mut self, which: &Release<'_>) -> Result<SendReport, Findings> {
        let mut report = SendReport::default();
        let mut after: Option<[u8; 16]> = None;
        let mut found_any = false;
        loop {
            // One at a time, so that any number of envelopes needs the memory of one unit of work.
            let unit = self.ledger.begin().map_err(of_store)?;
            let mut browse = self.ledger.envelopes.browse();
            if let Some(after) = &after {
                match browse.start(&unit, By::Key(after), Relation::AtLeast) {
                    Ok(()) => {}
                    Err(StoreError::NotFound { .. }) => break,
                    Err(error) => return Err(of_store(error)),
                }
            }
            let record = loop {
                match browse.next(&unit) {
                    Ok(record) if after.as_ref().is_some_and(|after| record.key == after) => {}
                    Ok(record) => break Some(record),
                    Err(StoreError::EndOfFile { .. }) => break None,
                    Err(error) => return Err(of_store(error)),
                }
            };
            drop(unit);
            let Some(record) = record else { break };
            let key: [u8; 16] = record
                .key
                .as_slice()
                .try_into()
                .map_err(|_| ledger::damaged("the key of an envelope is not readable"))?;
            after = Some(key);
            let waiting = waiting_of(&record.bytes)?;
            if self.closes(which, &waiting) {
                found_any = true;
                self.release_or_report(&key, which, &mut report)?;
            }
        }
        if let (Release::Partner(name), false) = (which, found_any) {
            // Envelopes of a partner whose file was removed can be released; a name that nothing has is a mistake.
            self.other_named(name)?;
        }
        Ok(report)
    }

    /// Closes one envelope in the unit of work of those before, or reports why it stays open.
    fn release_or_report(
        &mut self,
        key: &[u8; 16],
        which: &Release<'_>,
        report: &mut SendReport,
    ) -> Result<(), Findings> {
        let mut done = self.release_marked(key, which, report);
        if done.is_err() && self.has_transactions() {
            // Another worker may wait for the control numbers of an envelope before, and this envelope for that worker. Alone it waits in no circle.
            self.commit()?;
            done = self.release_marked(key, which, report);
        }
        let found = match done {
            Ok(Some(bytes)) => return self.counted(usize::try_from(bytes).unwrap_or(usize::MAX)),
            Ok(None) => return Ok(()),
            Err(Findings(found)) => found,
        };
        if found.iter().any(|one| one.fault == Fault::Environment) {
            return Err(Findings(found));
        }
        found.iter().for_each(|finding| report.find(EntryId(0), finding));
        Ok(())
    }

    /// Closes one envelope, or changes nothing. Returns the bytes of its documents; `None` if it does not close after all.
    fn release_marked(
        &mut self,
        key: &[u8; 16],
        which: &Release<'_>,
        report: &mut SendReport,
    ) -> Result<Option<u64>, Findings> {
        let mark = self.mark()?;
        let before = (report.interchanges, report.findings.len(), report.findings_more);
        let done = self.release_locked(key, which, report);
        if done.is_err() {
            self.back_to(mark)?;
            (report.interchanges, report.findings_more) = (before.0, before.2);
            report.findings.truncate(before.1);
        }
        done
    }

    fn release_locked(
        &mut self,
        key: &[u8; 16],
        which: &Release<'_>,
        report: &mut SendReport,
    ) -> Result<Option<u64>, Findings> {
        let ledger = self.ledger;
        // Another worker may have closed the envelope or added a document since the list was read.
        let read = ledger.envelopes.read_for_update(self.unit()?, By::Key(key), Relation::Equal, LockWait::Default);
        let waiting = match read {
            Ok(record) => waiting_of(&record.bytes)?,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(of_store(error)),
        };
        if !self.closes(which, &waiting) {
            return Ok(None);
        }
        self.release_one(key, &waiting, report)?;
        Ok(Some(waiting.bytes))
    }

    fn closes(&self, which: &Release<'_>, waiting: &Waiting) -> bool {
        match which {
            Release::All => true,
            Release::Partner(name) => waiting.partner == *name,
            Release::Due => self.is_due(waiting),
        }
    }

    /// Returns true if an envelope closes now. One whose partner is missing also does, so that the problem is reported.
    fn is_due(&self, waiting: &Waiting) -> bool {
        let Ok((own, partner)) = self.parties_named(&waiting.own, &waiting.partner) else { return true };
        let settings = self.book.settings_of_rule(own, partner, self.book.rule_named(&waiting.rule));
        let close = settings.close.clone().unwrap_or_default();
        is_due(&close, waiting, self.now_ms())
    }

    /// Returns our identity and a partner by their names in entries.
    pub(crate) fn parties_named(&self, own: &str, partner: &str) -> Result<(usize, usize), Findings> {
        let book = self.book;
        book.named(own).zip(book.named(partner)).ok_or_else(|| {
            let message =
                format!("there are documents of {own} for {partner}, and one of the two partner files is missing");
            let finding = Finding::error(codes::NO_PARTNER, Fault::Config, message);
            finding.hint("restore the file of the partner or your own, then run this again").into()
        })
    }

    /// Closes one envelope, whose record is locked, in the unit of work that is open.
    fn release_one(&mut self, key: &[u8; 16], waiting: &Waiting, report: &mut SendReport) -> Result<(), Findings> {
        let (own, partner) = self.parties_named(&waiting.own, &waiting.partner)?;
        let standard = standard_of(&waiting.standard);
        let mut documents = Vec::new();
        let ledger = self.ledger;
        {
            let unit = self.unit()?;
            let mut browse = ledger.pending.browse();
            match browse.start(unit, By::Key(key), Relation::Equal) {
                Ok(()) => {}
                Err(StoreError::NotFound { .. }) => return Ok(()),
                Err(error) => return Err(of_store(error)),
            }
            let mut keys = Vec::new();
            loop {
                match browse.next(unit) {
                    Ok(record) if record.key.starts_with(key) => {
                        documents.push(document_of(ledger, &record.bytes)?);
                        keys.push(record.key);
                    }
                    Ok(_) | Err(StoreError::EndOfFile { .. }) => break,
                    Err(error) => return Err(of_store(error)),
                }
            }
            for key in keys {
                ledger.pending.remove(unit, &key).map_err(of_store)?;
            }
            ledger.envelopes.remove(unit, key).map_err(of_store)?;
        }
        let rule = self.book.rule_named(&waiting.rule);
        if rule.is_none() && !waiting.rule.is_empty() {
            let message = format!("documents waited by the settings of rule {}, which is missing", waiting.rule);
            let finding = Finding::warning(codes::RULE_MISSING, Fault::Config, message);
            let finding = finding.hint(
                "they were sent by the settings of the partner: correct the name of the rule if it has another one",
            );
            report.find(EntryId(0), &finding);
        }
        let settings = self.book.settings_of_rule(own, partner, rule);
        let shape = waiting.shape.clone().unwrap_or_else(|| Shape::of_now(&settings, standard));
        let route = Route { own, partner, standard, test: waiting.test, rule: waiting.rule.clone(), settings, shape };
        self.write_interchange(&route, documents, report)
    }
}

/// Bytes of one interchange: those of documents that wait for it reach at most so much.
const ENVELOPE_BYTES_MAX: u64 = 64 << 20;
fn pending_record(ledger: &Ledger, envelope: &[u8; 16], document: &Document) -> Result<Vec<u8>, Findings> {
    let mut record = envelope.to_vec();
    record.extend_from_slice(&document.id.0.to_be_bytes());
    let key = record.clone();
    for text in [&document.functional, &document.version] {
        record.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        record.extend_from_slice(&text.as_bytes()[..text.len().min(255)]);
    }
    record.extend_from_slice(&ledger.packed(&key, &document.text)?);
    Ok(record)
}

fn document_of(ledger: &Ledger, record: &[u8]) -> Result<Document, Findings> {
    let read = || -> Option<(EntryId, String, String, &[u8])> {
        let id = u64::from_be_bytes(record.get(16..24)?.try_into().ok()?);
        let mut rest = record.get(24..)?;
        let mut texts = Vec::new();
        for _ in 0..2 {
            let (length, after) = rest.split_first()?;
            let (text, after) = after.split_at_checked(usize::from(*length))?;
            texts.push(std::str::from_utf8(text).ok()?.to_owned());
            rest = after;
        }
        let version = texts.pop()?;
        Some((EntryId(id), texts.pop()?, version, rest))
    };
    let (id, functional, version, rest) =
        read().ok_or_else(|| ledger::damaged("a waiting document is not readable"))?;
    Ok(Document { id, functional, version, text: ledger.unpacked(&record[..24], rest)?, entry: None })
}

fn waiting_of(record: &[u8]) -> Result<Waiting, Findings> {
    let rest = record.get(16..).unwrap_or_default();
    serde_json::from_slice(rest).map_err(|_| ledger::damaged("the state of an envelope is not readable"))
}

/// Returns true if the policy closes an envelope now.
fn is_due(close: &ClosePolicy, waiting: &Waiting, now_ms: u64) -> bool {
    if waiting.count == 0 {
        return false;
    }
    let old = close.age.is_some_and(|age| now_ms >= waiting.since_ms.saturating_add(age.seconds * 1_000));
    // A time of day that passed since the first document came.
    let struck = close.at_minutes.iter().any(|minutes| {
        let (day, at) = (86_400_000, minutes * 60_000);
        let last = now_ms.saturating_sub(at) / day * day + at;
        now_ms >= at && last > waiting.since_ms && last <= now_ms
    });
    let full = close.count.is_some_and(|count| waiting.count >= count)
        || close.bytes.is_some_and(|bytes| waiting.bytes >= bytes);
    old || struck || full
}

#[cfg(test)]
mod tests {
    use quayline_project::partner::Period;

    use super::*;

    #[test]
    fn an_envelope_closes_by_count_bytes_age_or_clock() {
        let hour = 3_600_000;
        let waiting = |count, since_ms| Waiting {
            partner: "ACME".into(),
            own: "US".into(),
            standard: "X12".into(),
            test: false,
            rule: String::new(),
            shape: None,
            count,
            bytes: count * 100,
            since_ms,
        };
        let by = |count, bytes, age: Option<&str>, at_minutes: &[u64]| ClosePolicy {
            count,
            bytes,
            age: age.and_then(Period::parse),
            at_minutes: at_minutes.to_vec(),
        };
        let day = 24 * hour;
        assert!(!is_due(&by(None, None, None, &[]), &waiting(5, day), 9 * day));
        assert!(is_due(&by(Some(5), None, None, &[]), &waiting(5, day), day));
        assert!(!is_due(&by(Some(6), Some(501), None, &[]), &waiting(5, day), day));
        assert!(is_due(&by(None, Some(500), None, &[]), &waiting(5, day), day));
        assert!(!is_due(&by(None, None, Some("1h"), &[]), &waiting(5, day), day + hour - 1));
        assert!(is_due(&by(None, None, Some("1h"), &[]), &waiting(5, day), day + hour));
        // 18:00: a document that came at 17:00 leaves at 18:00, one of 19:00 the next day.
        let at_six = by(None, None, None, &[18 * 60]);
        assert!(!is_due(&at_six, &waiting(1, day + 17 * hour), day + 18 * hour - 1));
        assert!(is_due(&at_six, &waiting(1, day + 17 * hour), day + 18 * hour));
        assert!(!is_due(&at_six, &waiting(1, day + 19 * hour), day + 23 * hour));
        assert!(is_due(&at_six, &waiting(1, day + 19 * hour), 2 * day + 18 * hour));
        assert!(!is_due(&at_six, &waiting(0, day), 9 * day));
    }
}
