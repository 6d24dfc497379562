//! Interchanges that are received: who sent them, whether they are processed, how they are answered.

use std::sync::Arc;

use quayline_core::{Fault, Finding, Findings, Place, Severity};
use quayline_edi::acknowledge::{Acknowledger, AcknowledgmentReader, MemoryOutput, Stamp};
use quayline_edi::{EnvelopePass, Header, Standard, ValidationLevel, Validator, ValidatorOptions};
use quayline_project::partner::{DuplicatePolicy, Settings, Usage};

use crate::acknowledgment::Answered;
use crate::codes;
use crate::defaults::KEEP_DAYS;
use crate::desk::Desk;
use crate::details::Details;
use crate::entry::{Entry, EntryId, Kind, State, Way, context_of};
use crate::ledger::of_store;
use crate::receive::{Arrival, Open, Run};
use crate::verdict::{
    acknowledgment_options, came_before, duplicates_since, gap, lock_numbers, processed_before, verdict_of,
};

impl Run<'_> {
    pub(crate) fn open_interchange(&mut self, desk: &mut Desk<'_>, pass: &EnvelopePass<'_>) -> Result<(), Findings> {
        let book = desk.book;
        let header = pass.interchange();
        let (sender, receiver) = book.parties(header);
        let is_own = |number: &usize| book.partner(*number).is_own;
        let partner = sender.filter(|number| !is_own(number));
        let own = receiver.filter(is_own);
        let settings = match partner {
            Some(partner) => book.settings(own.unwrap_or(book.own()[0]), partner),
            None => Arc::default(),
        };
        let own_or_first = own.unwrap_or(book.own()[0]);
        let begun = self.begun(desk)?;
        let resumed = begun.is_some();
        let (entry, verdict) = match begun {
            Some(entry) => {
                let verdict = verdict_of(&entry);
                (entry, verdict)
            }
            None => self.new_interchange(desk, header, (partner, own, own_or_first), &settings)?,
        };
        let options = acknowledgment_options(&settings, Stamp::from_unix(desk.now_ms() / 1_000));
        let acknowledges = partner.is_some() && settings.acknowledge.as_ref().is_none_or(|kinds| !kinds.is_empty());
        let level = settings.validate.unwrap_or(ValidationLevel::Rules);
        let guides = book.guides(&settings)?.filter(|_| level > ValidationLevel::Envelope && partner.is_some());
        let inside = context_of(&["in", &entry.id.to_string()]);
        self.open = Some(Box::new(Open {
            own: own_or_first,
            partner,
            settings,
            entry,
            verdict,
            acknowledger: acknowledges.then(|| Acknowledger::new(options)),
            acknowledgments: MemoryOutput::default(),
            validator: Validator::new(ValidatorOptions {
                level,
                findings_max: usize::MAX,
                ..ValidatorOptions::default()
            }),
            guides,
            reader: AcknowledgmentReader::default(),
            transactions: 0,
            bad: if resumed { self.arrival.bad } else { 0 },
            reports: 0,
            done_before: if resumed { self.arrival.transactions } else { 0 },
            group_transactions: 0,
            group: None,
            una: pass.style().1,
            inside,
        }));
        Ok(())
    }

    /// Returns the entry of the interchange that an earlier run began. A purge may have removed it if the interchange is not processed; it then begins
    /// again.
    fn begun(&mut self, desk: &Desk<'_>) -> Result<Option<Entry>, Findings> {
        if self.arrival.entry == 0 {
            return Ok(None);
        }
        let unit = desk.ledger.begin().map_err(of_store)?;
        let entry = desk.ledger.get(&unit, EntryId(self.arrival.entry))?;
        if entry.is_none() {
            self.arrival = Arrival { transactions: 0, bad: 0, entry: 0, reports: 0, ..self.arrival.clone() };
        }
        Ok(entry)
    }

    /// Creates the entry of a new interchange, with the reason if it is not processed.
    fn new_interchange(
        &mut self,
        desk: &mut Desk<'_>,
        header: &Header,
        (partner, own, own_or_first): (Option<usize>, Option<usize>, usize),
        settings: &Settings,
    ) -> Result<(Entry, Option<(State, Finding)>), Findings> {
        let book = desk.book;
        let text = |name: &str| crate::time::text_of(header.field(name).trim_ascii());
        let standard = header.delimiters().standard;
        let number = text("control_number");
        let party = |qualifier: &str, id: &str| format!("{}:{}", text(qualifier), text(id));
        let (sender, receiver) = (party("sender_qualifier", "sender"), party("receiver_qualifier", "receiver"));
        let context = context_of(&[standard.name(), &sender, &receiver]);
        let now = desk.now_ms();
        let id = desk.next_id()?;
        let at = header.position();
        let place = Place { file: Some(self.name.into()), byte: Some(at.byte), ..Place::default() };
        if partner.is_some() {
            lock_numbers(desk, (standard, &sender, &receiver))?;
        }
        let mut verdict = self.verdict(desk, header, (partner, own), settings, (context, &number))?;
        let mut missing = None;
        if verdict.as_ref().is_none_or(|(state, _)| *state != State::Duplicate)
            && let Some(partner) = partner
        {
            let parties = (own_or_first, partner);
            missing = gap(desk, (standard, &sender, &receiver), parties, (context, &number), settings)?;
        }
        if verdict.is_none() {
            let rejecting = missing.take_if(|finding| finding.severity == Severity::Error);
            verdict = rejecting.map(|finding| (State::Rejected, finding));
        }
        let verdict = verdict.map(|(state, finding)| (state, finding.at(place.clone())));
        let mut details = Details {
            standard: standard.name().to_owned(),
            own: book.partner(own_or_first).name.clone(),
            sender,
            receiver,
            interchange: number.clone(),
            test: header.is_test(),
            source: self.name.to_owned(),
            keep_days: settings.keep_days.unwrap_or(KEEP_DAYS),
            ..Details::default()
        };
        if verdict.is_none()
            && settings.duplicates == Some(DuplicatePolicy::Warn)
            && let Some(earlier) = processed_before(desk, (context, &number), duplicates_since(settings, now))?
        {
            let hint = "it is processed, because the partner's `duplicates` is \"warn\"; compare both entries";
            let finding = Finding::warning(codes::DUPLICATE, Fault::Sender, came_before(earlier)).hint(hint);
            let finding = finding.at(place.clone());
            self.report.find(id, &finding);
            details.add_findings([&finding]);
        }
        if let Some(finding) = missing {
            let finding = finding.at(place);
            // A gap that the partner's settings ignore is only on record.
            if finding.severity != Severity::Note {
                self.report.find(id, &finding);
            }
            details.add_findings([&finding]);
        }
        if let Some((_, finding)) = &verdict {
            self.report.find(id, finding);
            details.add_findings([finding]);
        }
        details.happened(now, "received");
        let entry = Entry {
            id,
            kind: Kind::Interchange,
            partner: partner.map(|partner| book.partner(partner).name.clone()).unwrap_or_default(),
            time_ms: now,
            state: verdict.as_ref().map_or(State::Receiving, |(state, _)| *state),
            due_ms: now,
            way: Way::Received,
            context,
            number,
            details,
        };
        let ledger = desk.ledger;
        ledger.insert(desk.unit()?, &entry)?;
        self.arrival.entry = id.0;
        Ok((entry, verdict))
    }

    /// Returns the reason if no part of an interchange is to be processed.
    fn verdict(
        &self,
        desk: &mut Desk<'_>,
        header: &Header,
        (partner, own): (Option<usize>, Option<usize>),
        settings: &Settings,
        (context, number): (u64, &str),
    ) -> Result<Option<(State, Finding)>, Findings> {
        let error = |code, message: &str, hint: &str| Finding::error(code, Fault::Sender, message).hint(hint);
        if partner.is_none() {
            let hint = "add the sender's qualifier and id to a partner file, then receive the file again with --again, which also acknowledges it";
            return Ok(Some((State::Unrouted, error(codes::UNKNOWN_SENDER, "the sender is not a partner", hint))));
        }
        if own.is_none() {
            let hint =
                "add the receiver's identity to your own file if it is yours; otherwise return the file to its sender";
            let finding = error(codes::UNKNOWN_RECEIVER, "the receiver is not one of our identities", hint);
            return Ok(Some((State::Unrouted, finding)));
        }
        let usage = settings.usage.unwrap_or(Usage::Production);
        let wrong = match (header.is_test(), usage) {
            (true, Usage::Production) => Some("the interchange is a test, but the partner is in production"),
            (false, Usage::Test) => Some("the interchange is for production, but the partner is in test"),
            _ => None,
        };
        if let Some(message) = wrong {
            let hint = "ask the partner for the right test indicator, or set `usage` in the partner's settings";
            return Ok(Some((State::Rejected, error(codes::USAGE, message, hint))));
        }
        let policy = settings.duplicates.unwrap_or(DuplicatePolicy::Reject);
        let now = desk.now_ms();
        if policy == DuplicatePolicy::Reject
            && let Some(earlier) = processed_before(desk, (context, number), duplicates_since(settings, now))?
        {
            let hint =
                "the partner sent it twice, or reused a number; `duplicates = \"accept\"` processes such interchanges";
            return Ok(Some((State::Duplicate, error(codes::DUPLICATE, &came_before(earlier), hint))));
        }
        Ok(None)
    }

    /// Sends the acknowledgment of the interchange.
    pub(crate) fn acknowledge(&mut self, desk: &mut Desk<'_>, open: &mut Open) -> Result<(), Findings> {
        let Some(partner) = open.partner else { return Ok(()) };
        let details = &open.entry.details;
        let answered = Answered {
            id: open.entry.id,
            parties: (open.own, partner),
            standard: if details.standard == "X12" { Standard::X12 } else { Standard::Edifact },
            sender: &details.sender,
            receiver: &details.receiver,
            test: details.test,
        };
        let id = desk.acknowledge(open.acknowledgments.written(), &open.settings, &answered)?;
        open.entry.details.answered(desk.now_ms(), id.0);
        self.report.acknowledgments += 1;
        Ok(())
    }
}
