//! Interchanges from partners.

use std::collections::HashMap;
use std::io::SeekFrom;
use std::sync::Arc;

use quayline_core::{Fault, Finding, Findings, Limits, Place, Severity};
use quayline_edi::acknowledge::{
    Acknowledger, AcknowledgmentKind, AcknowledgmentReader, MemoryOutput, OnError, Rejections, Report,
};
use quayline_edi::{Closed, EdiFault, EnvelopePass, EnvelopeReader, Event, Header, Level, Rules, Standard, Validator};
use quayline_project::partner::{Direction, KeepPolicy, Settings};
use serde::{Deserialize, Serialize};

use crate::advice::{guides_for, is_advice};
use crate::book::{Book, LoadedGuides};
use crate::code_sets::ExtendedHeaders;
use crate::codes;
use crate::compiled_condition::Undecided;
use crate::defaults::KEEP_DAYS;
use crate::desk::Desk;
use crate::details::Details;
use crate::entry::{Entry, EntryId, Kind, Part, State, Way};
use crate::envelope::{begin_alone, end_alone, version_of};
use crate::ledger;
use crate::matching;
use crate::outside::{Outside, keep_unrouted};
use crate::receive_report::ReceiveReport;
use crate::refusal::is_refused;
use crate::rules::{Query, RuleId};
use crate::source::{Again, Source, unreadable};
use crate::survey::{Feed, Survey, rejects_warnings, survey};
use crate::verdict::{answer_of, rejects};
use crate::watch::Watch;
use crate::whole::{keeps, service_before};
use crate::work::Work;

/// Processed position of a source.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Arrival {
    /// Interchanges that are done.
    pub(crate) interchanges: u32,
    /// Transactions of the next one that are done.
    pub(crate) transactions: u64,
    /// Number of those transactions that were not delivered.
    pub(crate) bad: u64,
    /// The entry of the next one, 0 before it has one.
    pub(crate) entry: u64,
    /// TA1 segments of the next one that are done.
    #[serde(default)]
    pub(crate) reports: u64,
    /// Pieces outside of interchanges that are stored.
    #[serde(default)]
    pub(crate) pieces: u64,
    pub(crate) done: bool,
    pub(crate) at_ms: u64,
}

/// The interchange that is open.
pub(crate) struct Open {
    pub(crate) own: usize,
    pub(crate) partner: Option<usize>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) entry: Entry,
    /// Reason why no part of the interchange is processed.
    pub(crate) verdict: Option<(State, Finding)>,
    pub(crate) acknowledger: Option<Acknowledger>,
    pub(crate) acknowledgments: MemoryOutput,
    pub(crate) validator: Validator,
    pub(crate) guides: Option<Arc<LoadedGuides>>,
    pub(crate) reader: AcknowledgmentReader,
    pub(crate) transactions: u64,
    pub(crate) bad: u64,
    /// TA1 segments.
    pub(crate) reports: u64,
    /// Transactions that an earlier run processed.
    pub(crate) done_before: u64,
    pub(crate) group_transactions: u64,
    pub(crate) group: Option<GroupFacts>,
    pub(crate) una: bool,
    /// The context of numbers in it.
    pub(crate) inside: u64,
}

/// Content of a group header.
pub(crate) struct GroupFacts {
    /// Numbers of interchange and group in the source.
    place: (u32, u32),
    number: String,
    functional: String,
    version: String,
}

/// State of the open transaction.
#[derive(Default)]
pub(crate) struct Transaction {
    /// The transaction as a separate interchange: copies of its headers, the part read so far, and at its end the trailers.
    pub(crate) text: Vec<u8>,
    /// Offset of the transaction in the text.
    pub(crate) begin: usize,
    /// Offset of the transaction in the buffer, while it is being read.
    pub(crate) from: Option<usize>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) more: u64,
    /// Errors and warnings that the acknowledgment assigns to the transaction, before the partner's settings make errors of warnings.
    pub(crate) has_errors: bool,
    pub(crate) has_warnings: bool,
    pub(crate) too_large: bool,
    pub(crate) reports: Vec<Report>,
    /// Segments of the acknowledgment that belong to nothing.
    pub(crate) stray: u64,
    /// Number of its bytes without headers and trailers.
    read: usize,
    /// The guide that checks it.
    guide: String,
    pub(crate) version: String,
    pub(crate) application: String,
    pub(crate) rule: Option<RuleId>,
    /// The rule of a transaction that is not processed, such as a duplicate.
    unprocessed: Option<RuleId>,
    /// Reasons why no rule can be chosen.
    undecided: Vec<Finding>,
    /// Settings of the rule, otherwise those of the interchange.
    pub(crate) settings: Arc<Settings>,
    pub(crate) is_rejected: bool,
}

impl Desk<'_> {
    /// Receives the interchanges of a source. `name` is the name of the source in entries.
    ///
    /// A run that stopped in the middle continues there when it gets the same bytes.
    ///
    /// # Errors
    /// The source, the store or a delivery fails, which stops the run. Earlier commits remain.
    pub fn receive(&mut self, name: &str, source: &mut dyn Source, again: Again) -> Result<ReceiveReport, Findings> {
        let limits = self.book.limits().clone();
        let survey = survey(&mut *source, &limits).map_err(|error| unreadable(name, &error))?;
        source.seek(SeekFrom::Start(0)).map_err(|error| unreadable(name, &error))?;
        let key = again.key(survey.digest);
        let arrival = self.arrival(&key)?;
        let mut report =
            ReceiveReport { resumed: arrival.as_ref().is_some_and(|one| !one.done), ..ReceiveReport::default() };
        if let Some(arrival) = arrival.as_ref().filter(|one| one.done && again.is_refused()) {
            let place = Place { file: Some(name.into()), ..Place::default() };
            let message = format!("the same bytes were received before, at {}", crate::time_text(arrival.at_ms));
            let finding = Finding::error(codes::SAME_FILE, Fault::Sender, message).at(place);
            let finding = finding.hint("the file counts as rejected and changes nothing; --again receives it again, and finds duplicates by number");
            report.find(EntryId(0), &finding);
            report.rejected = 1;
            self.finish()?;
            return Ok(report);
        }
        if survey.interchanges == 0 && survey.has_refused {
            report.find(EntryId(0), &no_interchange(name));
        } else if survey.interchanges == 0 {
            let file: Arc<str> = name.into();
            let mut findings = vec![no_interchange(name)];
            findings.extend(survey.before.iter().map(|fault| fault.finding(Some(&file))));
            let done = self.unknown_source((name, source), survey.bytes, &findings, &mut report);
            return match done.and_then(|()| self.finish()) {
                Ok(()) => {
                    self.take_undelivered().iter().for_each(|finding| report.find(EntryId(0), finding));
                    Ok(report)
                }
                Err(findings) => {
                    self.roll_back();
                    Err(findings)
                }
            };
        }
        let arrival = arrival.filter(|one| !one.done).unwrap_or_default();
        let mut run = Run {
            name,
            file: name.into(),
            survey: &survey,
            key,
            arrival,
            report,
            open: None,
            transaction: Transaction::default(),
            watch: Watch::default(),
            watched: None,
            watches: HashMap::new(),
            rejections: Rejections::default(),
            headers: ExtendedHeaders::default(),
        };
        let done = run.pass_over(self, source, &limits);
        let Run { report, .. } = run;
        let mut report = report;
        match done.and_then(|()| self.finish()) {
            Ok(()) => {
                self.take_undelivered().iter().for_each(|finding| report.find(EntryId(0), finding));
                Ok(report)
            }
            Err(findings) => {
                self.roll_back();
                Err(findings)
            }
        }
    }

    fn arrival(&mut self, digest: &[u8; 16]) -> Result<Option<Arrival>, Findings> {
        let state = self.position(digest)?;
        let arrival = state.map(|state| serde_json::from_slice(&state)).transpose();
        arrival.map_err(|_| ledger::damaged("the state of an arrival is not readable"))
    }

    /// Stores a source in full that has neither an interchange nor a header of one.
    fn unknown_source(
        &mut self,
        source: (&str, &mut dyn Source),
        bytes: u64,
        findings: &[Finding],
        report: &mut ReceiveReport,
    ) -> Result<(), Findings> {
        let why = "received; nothing of it can be processed";
        let ids = keep_unrouted(self, source, 0..bytes, findings, why)?;
        if let Some(id) = ids.first() {
            findings.iter().for_each(|finding| report.find(*id, finding));
        }
        report.unrouted += 1;
        Ok(())
    }
}

fn no_interchange(name: &str) -> Finding {
    let place = Place { file: Some(name.into()), ..Place::default() };
    let finding = Finding::error(codes::NO_INTERCHANGE, Fault::Sender, "the source holds no interchange");
    finding.at(place).hint("`quayline inspect` shows what the file is")
}

/// One run over a source.
pub(crate) struct Run<'r> {
    pub(crate) name: &'r str,
    /// Name of the source, for places.
    pub(crate) file: Arc<str>,
    pub(crate) survey: &'r Survey,
    /// Key of `arrival`.
    key: [u8; 16],
    pub(crate) arrival: Arrival,
    pub(crate) report: ReceiveReport,
    pub(crate) open: Option<Box<Open>>,
    pub(crate) transaction: Transaction,
    pub(crate) watch: Watch,
    /// The rules for which `watch` extracts elements.
    watched: Option<WatchKey>,
    pub(crate) watches: HashMap<WatchKey, Watch>,
    /// Levels that faults reject in the acknowledgment.
    rejections: Rejections,
    headers: ExtendedHeaders,
}

/// Our identity, partner and type.
type WatchKey = (usize, Option<usize>, String);

impl Run<'_> {
    fn pass_over(&mut self, desk: &mut Desk<'_>, source: &mut dyn Source, limits: &Limits) -> Result<(), Findings> {
        let limits = Limits { findings_max: usize::MAX, ..limits.clone() };
        let mut reader = EnvelopeReader::new(&limits, Rules::Lenient);
        let mut feed = Feed::new(&mut *source);
        let (mut done, mut base) = (0, 0);
        let mut faults: Vec<EdiFault> = Vec::new();
        let mut outside = Outside::default();
        let file: Arc<str> = self.name.into();
        loop {
            feed.advance(done, &mut |_| ()).map_err(|error| unreadable(self.name, &error))?;
            let end = feed.end();
            let Feed { reader: source, buffer, filled, .. } = &mut feed;
            let input = &buffer[..*filled];
            let mut pass = reader.over(input, end);
            let finished = loop {
                let event = pass.advance();
                let skip = match event {
                    Event::InterchangeStart => {
                        self.report.interchanges += 1;
                        let number = pass.interchange().position().interchange;
                        number <= self.arrival.interchanges
                    }
                    _ => false,
                };
                if event == Event::InterchangeStart && !skip {
                    self.open_interchange(desk, &pass)?;
                }
                let check = match &mut self.open {
                    Some(open) => {
                        let mut of_document = None;
                        let choose = |pass: &EnvelopePass<'_>| {
                            of_document = guides_for(open.guides.as_deref(), pass.transaction(), pass.group());
                            of_document.map(|guides| &guides.set)
                        };
                        let check = open.validator.event(event, choose, &mut pass, &mut faults);
                        if event == Event::TransactionStart {
                            let guide = check.guide.as_ref();
                            self.transaction.guide =
                                guide.map(|guide| LoadedGuides::name_of(of_document, guide)).unwrap_or_default();
                        } else if event == Event::Segment && pass.in_transaction() {
                            self.watch.segment(&pass.segment(), pass.interchange());
                        }
                        Some(check)
                    }
                    None => {
                        faults.clear();
                        faults.extend(pass.take_faults());
                        None
                    }
                };
                // A header that cannot be used begins no interchange: nobody knows that it is of the partner whose interchange is open.
                outside.refuse(&faults, &file);
                faults.retain(|fault| !is_refused(fault));
                outside.see(event, &pass, &faults, (&file, self.open.is_some()));
                self.event(desk, event, &pass, &mut faults, (input, base, &mut **source))?;
                if let Some(check) = check {
                    check.end(&mut pass);
                }
                match event {
                    Event::NeedMore => break false,
                    Event::Done => break true,
                    _ => {}
                }
            };
            done = pass.finish();
            base += done as u64;
            if let Some(from) = self.transaction.from {
                self.transaction.keep(&input[from.min(done)..done], desk.limits.transaction_bytes_max);
                self.transaction.from = Some(0);
            }
            if finished {
                let (stored, key) = (self.arrival.pieces, self.key);
                let arrival = &mut self.arrival;
                let mut keep = |desk: &mut Desk<'_>, pieces| {
                    arrival.pieces = pieces;
                    desk.keep_position(&key, arrival)
                };
                let whole: (&str, &mut dyn Source, u64) = (self.name, &mut **source, self.survey.bytes);
                outside.end(desk, whole, &mut self.report, (stored, &mut keep))?;
                self.arrival = Arrival { done: true, at_ms: desk.now_ms(), ..self.arrival.clone() };
                return desk.keep_position(&self.key, &self.arrival);
            }
        }
    }

    fn event(
        &mut self,
        desk: &mut Desk<'_>,
        event: Event,
        pass: &EnvelopePass<'_>,
        faults: &mut Vec<EdiFault>,
        (input, base, source): (&[u8], u64, &mut dyn Source),
    ) -> Result<(), Findings> {
        if self.open.is_none() {
            return Ok(());
        }
        if event == Event::TransactionStart {
            self.open_transaction(desk, pass);
        }
        self.headers.see(event, pass, input);
        let Run { rejections, transaction, .. } = self;
        rejections.event(event, pass, faults, &mut |level, severity, _| {
            transaction.has_errors |= level == Level::Transaction && severity == Severity::Error;
            transaction.has_warnings |= level == Level::Transaction && severity == Severity::Warning;
        });
        if !faults.is_empty() {
            let open = self.open.as_ref().expect("looked at above");
            if rejects_warnings(&open.settings) {
                faults.iter_mut().filter(|fault| fault.severity == Severity::Warning).for_each(|fault| {
                    fault.severity = Severity::Error;
                });
            }
            self.take_faults(faults, pass, event);
        }
        if let Event::TransactionEnd(closed) = event {
            let end = match closed {
                Closed::ByTrailer => pass.consumed(),
                Closed::Unclosed => pass.unclosed_end(),
            };
            let from = self.transaction.from.take().unwrap_or(end);
            self.transaction.keep(&input[from.min(end)..end], desk.limits.transaction_bytes_max);
            self.decide(desk, pass)?;
        }
        let open = self.open.as_mut().expect("looked at above");
        // The answer says why in its own words; the finding of the verdict is reported already.
        if event == Event::InterchangeStart
            && let Some(fault) = open.verdict.as_ref().and_then(|(_, finding)| answer_of(finding, pass.interchange()))
        {
            faults.push(fault);
        }
        if let Some(acknowledger) = &mut open.acknowledger {
            acknowledger.event(event, pass, faults, &mut open.acknowledgments);
        }
        if open.partner.is_some() && open.verdict.is_none() {
            let reports = &mut self.transaction.reports;
            let mut outside = None;
            open.reader.event(event, pass, &mut |report| match &report {
                Report::Interchange(one) if one.kind == AcknowledgmentKind::Ta1 => outside = Some(report),
                _ => reports.push(report),
            });
            if let Some(report) = outside {
                self.take_ta1(desk, pass, &report)?;
            }
        }
        let open = self.open.as_mut().expect("looked at above");
        match event {
            Event::TransactionEnd(_) => self.close_transaction(desk, pass),
            Event::GroupStart => {
                open.group_transactions = 0;
                // When the group ends, its header may be gone.
                open.group = pass.group().map(|header| {
                    let text = |name: &str| crate::time::text_of(&header.field(name));
                    let at = header.position();
                    let (interchange, group) = (at.interchange, at.group);
                    GroupFacts {
                        place: (interchange, group),
                        number: text("control_number"),
                        functional: text("functional_id"),
                        version: text("version"),
                    }
                });
                Ok(())
            }
            Event::GroupEnd(_) => self.close_group(desk),
            Event::InterchangeEnd(closed) => {
                let end = match closed {
                    Closed::ByTrailer => pass.consumed(),
                    Closed::Unclosed => pass.unclosed_end(),
                };
                self.close_interchange(desk, pass, (source, base + end as u64, base + input.len() as u64))
            }
            _ => Ok(()),
        }
    }

    /// Findings belong to the transaction that is open, or that has just ended, and otherwise to the interchange.
    fn take_faults(&mut self, faults: &[EdiFault], pass: &EnvelopePass<'_>, event: Event) {
        let file = Arc::clone(&self.file);
        let in_transaction = pass.in_transaction() || matches!(event, Event::TransactionEnd(_));
        for fault in faults {
            let finding = fault.finding(Some(&file));
            if in_transaction {
                if self.transaction.findings.len() < crate::FINDINGS_KEPT_MAX {
                    self.transaction.findings.push(finding);
                } else {
                    self.transaction.more += 1;
                }
            } else if let Some(open) = &mut self.open {
                open.entry.details.add_findings([&finding]);
                self.report.find(open.entry.id, &finding);
            }
        }
    }

    /// Applies a TA1, which is outside of groups: a run that continues has applied those before its place already.
    fn take_ta1(&mut self, desk: &mut Desk<'_>, pass: &EnvelopePass<'_>, report: &Report) -> Result<(), Findings> {
        let open = self.open.as_mut().expect("a TA1 is in an interchange");
        open.reports += 1;
        let interchange = pass.interchange().position().interchange;
        if open.reports <= self.arrival.reports || self.survey.rejects_interchange(interchange, &open.settings) {
            return Ok(());
        }
        let place = Place { file: Some(Arc::clone(&self.file)), byte: Some(pass.position().byte), ..Place::default() };
        let mut work = Work {
            id: open.entry.id,
            own: open.own,
            partner: open.partner,
            details: std::mem::take(&mut open.entry.details),
            place,
            application: String::new(),
            bytes: &mut Vec::new(),
            watch: &self.watch,
            findings: Vec::new(),
            is_refused_by_map: false,
        };
        let matched = matching::apply(desk, &mut work, std::slice::from_ref(report));
        let Work { details, findings, .. } = work;
        open.entry.details = details;
        self.report.matched += matched?;
        findings.iter().for_each(|finding| self.report.find(open.entry.id, finding));
        // What it says is in the store with what it changed: the interchange may end in a later unit of work.
        let ledger = desk.ledger;
        ledger.update(desk.unit()?, &open.entry)?;
        if desk.is_full_after(0) {
            let (transactions, bad, reports) = (open.transactions, open.bad, open.reports);
            self.arrival = Arrival { transactions, bad, reports, ..self.arrival.clone() };
            desk.keep_position(&self.key, &self.arrival)?;
        }
        desk.counted(0)
    }

    /// Chooses the rule of the transaction that ends, and says whether its findings reject it, before its acknowledgment is written.
    fn decide(&mut self, desk: &mut Desk<'_>, pass: &EnvelopePass<'_>) -> Result<(), Findings> {
        let open = self.open.as_mut().expect("a transaction is in an interchange");
        let transaction = &mut self.transaction;
        let (header, group) = (pass.transaction(), pass.group());
        let standard = header.delimiters().standard;
        let text = |header: &Header, name: &str| crate::time::text_of(&header.field(name));
        transaction.version = version_of(header, group);
        transaction.application = match standard {
            Standard::X12 => group.map(|group| text(group, "receiver")).unwrap_or_default(),
            Standard::Edifact => text(pass.interchange(), "application_reference"),
        };
        transaction.rule = None;
        transaction.unprocessed = None;
        transaction.undecided.clear();
        transaction.settings = Arc::clone(&open.settings);
        transaction.read = transaction.text.len() - transaction.begin;
        end_alone(pass.interchange(), group, transaction.begin, &mut transaction.text);
        if let Some(partner) = open.partner {
            let query = Query {
                direction: Direction::Receive,
                standard: Some(standard),
                document: &text(header, "type"),
                version: &transaction.version,
                application: &transaction.application,
                test: open.entry.details.test,
            };
            let document = (self.watch.reads_document && !transaction.too_large).then_some(transaction.text.as_slice());
            match (desk.choose((open.own, Some(partner)), &query, &self.watch, document), &open.verdict) {
                (Err(Undecided::Stopped(findings)), _) => return Err(findings),
                (Ok(rule), None) => transaction.rule = rule,
                (Err(Undecided::Rejected(found)), None) => transaction.undecided = found,
                // The rule of a document that is not processed, such as a duplicate, says only what its business fields are.
                (rule, Some(_)) => transaction.unprocessed = rule.ok().flatten(),
            }
            if open.verdict.is_none() {
                transaction.settings = desk.book.settings_of_rule(open.own, partner, transaction.rule);
            }
        }
        let (errors, warnings) = (transaction.has_errors, transaction.has_warnings);
        transaction.is_rejected = transaction.too_large || rejects(&transaction.settings, errors, warnings);
        let Some(acknowledger) = &mut open.acknowledger else { return Ok(()) };
        if transaction.is_rejected != rejects(&open.settings, errors, warnings) {
            acknowledger.decide(if transaction.is_rejected { OnError::Reject } else { OnError::Accept });
        }
        Ok(())
    }

    fn open_transaction(&mut self, desk: &Desk<'_>, pass: &EnvelopePass<'_>) {
        let Some(open) = &mut self.open else { return };
        let transaction = &mut self.transaction;
        let service = open.una.then(|| pass.interchange().delimiters());
        let unchanged = self.headers.before_message();
        begin_alone(service, (pass.interchange(), pass.group()), unchanged.as_deref(), &mut transaction.text);
        transaction.begin = transaction.text.len();
        transaction.from = Some(pass.segment_start());
        transaction.findings.clear();
        transaction.more = 0;
        transaction.has_errors = false;
        transaction.has_warnings = false;
        transaction.too_large = false;
        transaction.reports.clear();
        transaction.stray = open.reader.stray();
        let document = pass.transaction().transaction_type();
        let is_known = |(own, partner, known): &WatchKey| {
            *own == open.own && *partner == open.partner && known.as_bytes() == &document[..]
        };
        if self.watched.as_ref().is_some_and(is_known) {
            return self.watch.clear();
        }
        let key = (open.own, open.partner, crate::time::text_of(&document));
        if !self.watches.contains_key(&key) {
            let owners = Book::owners(open.own, open.partner);
            let rules = owners.iter().flat_map(|owner| &desk.book.partner(*owner).rules).filter(|rule| {
                rule.direction == Direction::Receive && rule.document.as_ref().is_none_or(|document| *document == key.2)
            });
            let watch = Watch::of_rules(rules);
            if self.watches.len() >= WATCHES_MAX {
                self.watches.clear();
            }
            self.watches.insert(key.clone(), watch);
        }
        self.watch.clone_from(&self.watches[&key]);
        self.watched = Some(key);
    }

    fn close_transaction(&mut self, desk: &mut Desk<'_>, pass: &EnvelopePass<'_>) -> Result<(), Findings> {
        let open = self.open.as_mut().expect("a transaction is in an interchange");
        open.transactions += 1;
        open.group_transactions += 1;
        if open.transactions <= open.done_before {
            return Ok(());
        }
        let id = desk.next_id()?;
        let now = desk.now_ms();
        let header = pass.transaction();
        let at = header.position();
        let (standard, group) = (header.delimiters().standard, pass.group());
        let text = |header: &Header, name: &str| crate::time::text_of(&header.field(name));
        let mut details = Details {
            standard: standard.name().to_owned(),
            document: text(header, "type"),
            version: std::mem::take(&mut self.transaction.version),
            guide: std::mem::take(&mut self.transaction.guide),
            own: open.entry.details.own.clone(),
            sender: open.entry.details.sender.clone(),
            receiver: open.entry.details.receiver.clone(),
            interchange: open.entry.number.clone(),
            group: group.map(|group| text(group, "control_number")).unwrap_or_default(),
            test: open.entry.details.test,
            parent: open.entry.id.0,
            bytes: self.transaction.read as u64,
            source: self.name.to_owned(),
            keep_days: self.transaction.settings.keep_days.unwrap_or(KEEP_DAYS),
            ..Details::default()
        };
        details.findings_more = self.transaction.more;
        details.add_findings(&self.transaction.findings);
        details.happened(now, "received");
        let place = Place { file: Some(Arc::clone(&self.file)), byte: Some(at.byte), ..Place::default() };
        let mut work = Work {
            id,
            own: open.own,
            partner: open.partner,
            details,
            place,
            application: std::mem::take(&mut self.transaction.application),
            bytes: &mut self.transaction.text,
            watch: &self.watch,
            findings: Vec::new(),
            is_refused_by_map: false,
        };
        work.record_fields(desk.book, self.transaction.rule.or(self.transaction.unprocessed));
        let around = self.survey.rejects_group((at.interchange, at.group), &open.settings);
        let is_acknowledgment = matches!(work.details.document.as_str(), "997" | "999" | "CONTRL");
        let state =
            if let Some((state, finding)) = &open.verdict {
                let message = format!("its interchange is not processed: {}", finding.message);
                work.find(
                    Finding::error(codes::REJECTED_WITH, Fault::Sender, message)
                        .hint(finding.hint.clone().unwrap_or_default()),
                );
                *state
            } else if self.transaction.too_large {
                let message = format!("the transaction is larger than {} bytes", desk.limits.transaction_bytes_max);
                let finding = Finding::error(codes::TOO_LARGE, Fault::Sender, message);
                work.find(finding.hint(
                    "its beginning is kept; translate the file with `quayline translate`, which has no such limit",
                ));
                State::Rejected
            } else if self.transaction.is_rejected {
                work.findings.clone_from(&self.transaction.findings);
                State::Rejected
            } else if around {
                let message = "its group or interchange is rejected for its envelope";
                let finding = Finding::error(codes::REJECTED_WITH, Fault::Sender, message);
                work.find(finding.hint(
                    "see the findings of the interchange; reprocess the document if it is to be taken all the same",
                ));
                State::Rejected
            } else if is_acknowledgment {
                let stray = open.reader.stray() - self.transaction.stray;
                let matched = matching::apply(desk, &mut work, &self.transaction.reports)?;
                matching::report_stray(&mut work, stray);
                self.report.matched += matched;
                State::Delivered
            } else if is_advice(&work.details.document) {
                self.report.matched += matching::apply_advice(desk, &mut work)?;
                work.process_advice(desk, self.transaction.rule, std::mem::take(&mut self.transaction.undecided))?
            } else if !self.transaction.undecided.is_empty() {
                self.transaction.undecided.drain(..).for_each(|finding| work.find(finding));
                State::Rejected
            } else {
                work.process(desk, self.transaction.rule)?
            };
        let number = text(header, "control_number");
        if state == State::Rejected {
            work.advise(desk, &number, &self.transaction.settings)?;
        }
        let Work { mut details, findings, .. } = work;
        match state {
            State::Delivered => self.report.delivered += 1,
            State::Duplicate => self.report.duplicates += 1,
            State::Unrouted => self.report.unrouted += 1,
            _ => self.report.rejected += 1,
        }
        if state != State::Delivered {
            open.bad += 1;
        }
        details.happened(now, state.name());
        findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error || finding.code == codes::ACK_CONTRADICTS)
            .for_each(|finding| self.report.find(id, finding));
        self.report.transactions += 1;
        let entry = Entry {
            id,
            kind: Kind::Transaction,
            partner: open.entry.partner.clone(),
            time_ms: now,
            state,
            due_ms: now,
            way: Way::Received,
            context: open.inside,
            number,
            details,
        };
        let keep =
            self.transaction.settings.keep.unwrap_or(KeepPolicy::All) == KeepPolicy::All || state != State::Delivered;
        let ledger = desk.ledger;
        let unit = desk.unit()?;
        if keep {
            ledger.insert_with(unit, &entry, Part::Document, &self.transaction.text)?;
        } else {
            ledger.insert(unit, &entry)?;
        }
        let (transactions, bad, reports) = (open.transactions, open.bad, open.reports);
        let bytes = self.transaction.text.len();
        if desk.is_full_after(bytes) {
            self.arrival = Arrival { transactions, bad, reports, ..self.arrival.clone() };
            desk.keep_position(&self.key, &self.arrival)?;
        }
        desk.counted(bytes)
    }

    fn close_group(&mut self, desk: &mut Desk<'_>) -> Result<(), Findings> {
        let open = self.open.as_mut().expect("a group is in an interchange");
        // A unit of work ends with a transaction, so a group is committed with a later transaction, or with the interchange.
        if open.transactions < open.done_before {
            return Ok(());
        }
        let Some(group) = open.group.take() else { return Ok(()) };
        let now = desk.now_ms();
        let id = desk.next_id()?;
        let around = self.survey.rejects_group(group.place, &open.settings);
        let state = match &open.verdict {
            Some((state, _)) => *state,
            None if around => State::Rejected,
            None => State::Delivered,
        };
        let entry = Entry {
            id,
            kind: Kind::Group,
            partner: open.entry.partner.clone(),
            time_ms: now,
            state,
            due_ms: now,
            way: Way::Received,
            context: open.inside,
            number: group.number,
            details: Details {
                standard: open.entry.details.standard.clone(),
                own: open.entry.details.own.clone(),
                sender: open.entry.details.sender.clone(),
                receiver: open.entry.details.receiver.clone(),
                test: open.entry.details.test,
                document: group.functional,
                version: group.version,
                interchange: open.entry.number.clone(),
                parent: open.entry.id.0,
                transactions: open.group_transactions,
                keep_days: open.settings.keep_days.unwrap_or(KEEP_DAYS),
                ..Details::default()
            },
        };
        let ledger = desk.ledger;
        ledger.insert(desk.unit()?, &entry)
    }

    /// Ends an interchange. `source` was read up to byte `read`, and the interchange ends at byte `end`.
    fn close_interchange(
        &mut self,
        desk: &mut Desk<'_>,
        pass: &EnvelopePass<'_>,
        (source, end, read): (&mut dyn Source, u64, u64),
    ) -> Result<(), Findings> {
        let mut open = self.open.take().expect("an interchange is open");
        let now = desk.now_ms();
        let at = pass.interchange().position();
        if !open.acknowledgments.written().is_empty() {
            self.acknowledge(desk, &mut open)?;
        }
        let is_bad = self.survey.rejects_interchange(at.interchange, &open.settings);
        open.entry.state = match &open.verdict {
            Some((state, _)) => *state,
            None if is_bad => State::Rejected,
            None => State::Delivered,
        };
        open.entry.details.transactions = open.transactions;
        open.entry.details.transactions_bad = open.bad;
        open.entry.details.happened(now, open.entry.state.name());
        match open.entry.state {
            _ if open.transactions > 0 => {}
            State::Delivered => {}
            State::Duplicate => self.report.duplicates += 1,
            _ => self.report.rejected += 1,
        }
        if keeps(&open.settings, &open.entry) {
            let begin = pass.interchange().position().byte.0;
            let io = |error| unreadable(self.name, &error);
            let range = if open.una { service_before(source, begin).map_err(io)? } else { begin }..end;
            desk.keep_whole(&mut open.entry, &open.settings, (self.name, &mut *source), range)?;
            source.seek(SeekFrom::Start(read)).map_err(io)?;
        }
        let ledger = desk.ledger;
        ledger.update(desk.unit()?, &open.entry)?;
        self.arrival = Arrival { interchanges: at.interchange, ..Arrival::default() };
        desk.keep_position(&self.key, &self.arrival)
    }
}

impl Transaction {
    fn keep(&mut self, bytes: &[u8], most: usize) {
        let room = most.saturating_sub(self.text.len() - self.begin);
        self.too_large |= bytes.len() > room;
        self.text.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// Returns the time at which a source was completed, in milliseconds since 1970, from its stored state; `None` if it is not complete.
pub(crate) fn done_at(record: &[u8]) -> Result<Option<u64>, Findings> {
    #[derive(Deserialize)]
    struct Done {
        done: bool,
        at_ms: u64,
    }
    let done: Option<Done> = record.get(16..).and_then(|state| serde_json::from_slice(state).ok());
    let Done { done, at_ms } = done.ok_or_else(|| ledger::damaged("the state of a source is not readable"))?;
    Ok(done.then_some(at_ms))
}

/// Kinds of documents whose watched elements are remembered.
const WATCHES_MAX: usize = 10_000;
