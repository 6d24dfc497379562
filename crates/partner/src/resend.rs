//! Repeated sending: the same bytes, or the same documents with new numbers.

use quayline_core::{Fault, Finding, Findings};

use crate::codes;
use crate::defaults::{DUE_S, default_folder};
use crate::desk::Desk;
use crate::details::{Details, HistoryLine};
use crate::entry::{Entry, EntryId, Kind, Part, State, Way};
use crate::envelope::{Wanted, pieces};
use crate::matching::{groups_in, replace_in, transactions_in};
use crate::outputs::OutputKind;
use crate::send::{in_character_set, no_bytes};
use crate::send_request::SendReport;
use crate::write::{Document, Route, Shape, delimiters_for, expected, standard_of};

impl Desk<'_> {
    /// Sends the bytes of an interchange again, as they were.
    ///
    /// # Errors
    /// The entry is not an interchange that was sent, or its bytes are not kept.
    pub fn resend(&mut self, id: EntryId) -> Result<String, Findings> {
        let done = self.resend_one(id).and_then(|place| self.finish().map(|()| place));
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    fn resend_one(&mut self, id: EntryId) -> Result<String, Findings> {
        let now = self.now_ms();
        let ledger = self.ledger;
        let unit = self.unit()?;
        let mut entry = ledger.locked(unit, id)?;
        if entry.kind != Kind::Interchange || entry.way != Way::Sent {
            let message = format!("entry {id} is not an interchange that was sent");
            let hint = "`quayline transaction show` names the interchange of a transaction in `parent`";
            return Err(Finding::error(codes::STATE, Fault::Caller, message).hint(hint).into());
        }
        if entry.state == State::Replaced {
            let message = format!("the documents of interchange {id} were sent again in a later one, with new numbers");
            let hint = "resend that one: `quayline interchange list` shows it";
            return Err(Finding::error(codes::STATE, Fault::Caller, message).hint(hint).into());
        }
        let bytes = ledger.body(unit, id, Part::Document)?.ok_or_else(|| no_bytes(id))?;
        let times = times_sent_again(&entry.details) + 1;
        let (own, partner) = self.parties_named(&entry.details.own, &entry.partner)?;
        let rule = self.book.rule_named(&entry.details.rule);
        let settings = self.book.settings_of_rule(own, partner, rule);
        let to_acknowledge = settings.acknowledge_to.clone().filter(|_| entry.details.transactions == 0);
        let to = to_acknowledge.or_else(|| settings.send_to.clone());
        let to = to.unwrap_or_else(|| default_folder(&entry.partner));
        let extension = if entry.details.standard == "X12" { "x12" } else { "edi" };
        let name = format!("{}-{}-{id}-again-{times}.{extension}", entry.partner, entry.number);
        let number = u16::try_from(times).unwrap_or(u16::MAX);
        let place = self.deliver(&to, OutputKind::Interchange, (id, number), &name, bytes.as_slice().into())?;
        entry.details.happened(now, format!("sent again to {place}{TIMES}{times})"));
        let due = now + settings.due.map_or(DUE_S, |due| due.seconds) * 1_000;
        let (state_of_groups, state) = expected(&settings, standard_of(&entry.details.standard));
        // An answer is awaited anew, also where the partner refused what it got. Acknowledgments are not answered.
        if entry.details.transactions > 0 {
            await_again(&mut entry, state, due, now);
            for group in groups_in(self, &entry)? {
                let mut group = ledger.locked(self.unit()?, group.id)?;
                await_again(&mut group, state_of_groups, due, now);
                ledger.update(self.unit()?, &group)?;
            }
            for document in transactions_in(self, &entry)? {
                let mut document = ledger.locked(self.unit()?, document.id)?;
                await_again(&mut document, State::Sent, due, now);
                ledger.update(self.unit()?, &document)?;
            }
        }
        ledger.update(self.unit()?, &entry)?;
        Ok(place)
    }

    /// Puts the transactions of an interchange that was sent into a new one, with new numbers. The old entries are replaced.
    ///
    /// # Errors
    /// The entry is not an interchange that was sent, or its bytes are not kept.
    pub fn reenvelope(&mut self, id: EntryId) -> Result<SendReport, Findings> {
        let done = self.reenvelope_one(id).and_then(|report| self.finish().map(|()| report));
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    fn reenvelope_one(&mut self, id: EntryId) -> Result<SendReport, Findings> {
        let now = self.now_ms();
        let ledger = self.ledger;
        let limits = self.book.limits().clone();
        let unit = self.unit()?;
        let mut old = ledger.locked(unit, id)?;
        if old.kind != Kind::Interchange
            || old.way != Way::Sent
            || old.details.transactions == 0
            || old.state == State::Replaced
        {
            let message = format!("entry {id} is not an interchange of documents that were sent");
            let hint = "name the entry of an interchange; acknowledgments are not put into new envelopes";
            return Err(Finding::error(codes::STATE, Fault::Caller, message).hint(hint).into());
        }
        let bytes = ledger.body(unit, id, Part::Document)?.ok_or_else(|| no_bytes(id))?;
        let all = pieces(&bytes, &limits, Wanted::default())?;
        let Some(first) = all.first() else {
            let message = format!("the interchange of entry {id} holds no document");
            return Err(Finding::error(codes::NO_ENVELOPE, Fault::Caller, message).hint("choose another entry").into());
        };
        let standard = first.delimiters.standard;
        let (own, partner) = self.parties_named(&old.details.own, &old.partner)?;
        let rule = self.book.rule_named(&old.details.rule);
        let settings = self.book.settings_of_rule(own, partner, rule);
        let shape = Shape::of(&settings, &delimiters_for(&settings, first));
        let mut report = SendReport::default();
        let mut documents = Vec::new();
        let mut before = replace_in(self, &old)?.into_iter();
        let are_all = before.len() == all.len();
        for piece in all {
            let document = self.next_id()?;
            // What it is found by goes with it. A purge may have removed some of the old entries; then nobody knows which is whose.
            let replaced = before.next().filter(|_| are_all);
            let text = piece.text(&bytes);
            let text = in_character_set(&text, &piece, shape.version())?;
            let text = piece.written(text, &shape.delimiters(standard), shape.line_breaks())?;
            let mut details = Details {
                standard: standard.name().to_owned(),
                document: piece.document,
                version: piece.version,
                own: old.details.own.clone(),
                sender: old.details.sender.clone(),
                receiver: old.details.receiver.clone(),
                test: old.details.test,
                about: id.0,
                bytes: text.len() as u64,
                keep_days: old.details.keep_days,
                ..Details::default()
            };
            if let Some(replaced) = replaced {
                // An acknowledgment may have changed it until now.
                let mut replaced = ledger.locked(self.unit()?, replaced.id)?;
                details.about = replaced.id.0;
                details.fields.clone_from(&replaced.details.fields);
                details.rule.clone_from(&replaced.details.rule);
                details.map.clone_from(&replaced.details.map);
                details.source.clone_from(&replaced.details.source);
                (replaced.state, replaced.due_ms) = (State::Replaced, now);
                replaced.details.replaced_by = document.0;
                replaced.details.happened(now, format!("sent again as entry {document}"));
                ledger.update(self.unit()?, &replaced)?;
            }
            details.happened(now, format!("taken from interchange {id}"));
            let entry = Entry {
                id: document,
                kind: Kind::Transaction,
                partner: old.partner.clone(),
                time_ms: now,
                state: State::Sent,
                due_ms: now,
                way: Way::Sent,
                context: 0,
                number: String::new(),
                details,
            };
            documents.push(Document {
                id: document,
                functional: piece.functional,
                version: piece.group_version,
                text,
                entry: Some(Box::new(entry)),
            });
            report.transactions += 1;
            report.sent += 1;
        }
        let (test, rule) = (old.details.test, old.details.rule.clone());
        let route = Route { own, partner, standard, test, rule, settings, shape };
        self.write_interchange(&route, documents, &mut report)?;
        old.state = State::Replaced;
        old.due_ms = now;
        old.details.happened(now, "its documents were put into a new interchange");
        ledger.update(self.unit()?, &old)?;
        Ok(report)
    }
}

/// Returns how often an interchange was sent again. Its history keeps only the newest lines, so each has the number.
fn times_sent_again(details: &Details) -> usize {
    let lines = details.history.iter().filter(|line| line.what.starts_with("sent again"));
    let number = |line: &HistoryLine| {
        let number = match line.what.rsplit_once(TIMES) {
            Some((_, number)) => number.strip_suffix(')'),
            // Earlier versions had the number in the name of the file only.
            None => line.what.rsplit_once("-again-").and_then(|(_, rest)| rest.split('.').next()),
        };
        number.and_then(|number| number.parse::<usize>().ok()).unwrap_or(0)
    };
    lines.clone().map(number).max().unwrap_or(0).max(lines.count())
}

/// Text before the number in a line of the history.
const TIMES: &str = " (repetition ";

/// Makes an entry whose bytes were sent again expect an answer, unless the partner accepted it.
fn await_again(entry: &mut Entry, state: State, due_ms: u64, now_ms: u64) {
    if matches!(entry.state, State::Accepted | State::AcceptedWithErrors | State::Replaced) {
        return;
    }
    entry.state = state;
    entry.due_ms = if state == State::Expecting { due_ms } else { now_ms };
}
