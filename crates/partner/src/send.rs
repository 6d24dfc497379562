//! Documents to partners.
//!
//! A document becomes a transaction by the map of its rule, or is a transaction already. Then it is put into an interchange at once, or it waits:
//! all documents of one kind to one partner in one group, all groups in one interchange. A waiting document is in the store with its entry;
//! the release takes numbers, writes the interchange, changes the entries and removes the waiting documents in one unit of work.

use std::io::{Read, SeekFrom};
use std::sync::Arc;

use quayline_core::{Fault, Finding, Findings, Limits, Place, Severity, system_error_text};
use quayline_edi::acknowledge::Stamp;
use quayline_edi::{Delimiters, Level, Standard};
use quayline_project::partner::{
    AckKind, Direction, EnvelopePolicy, KeepPolicy, NumberRange, Settings, Usage, delimiters_of,
};
use quayline_store::record_file::{By, Relation};
use quayline_store::{LockWait, StoreError};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::book::PLACEHOLDER;
use crate::codes;
use crate::desk::Desk;
use crate::entry::{Details, Entry, EntryId, Kind, State, Way, context_of};
use crate::envelope::{Envelope, EnvelopeText, Party, Piece, pieces, recode};
use crate::ledger::{self, Part, of_store};
use crate::matching::{group_context, transaction_context};
use crate::receive::{Again, KEEP_DAYS, Source, default_folder};
use crate::rules::{Query, RuleId};

/// What is to be sent.
#[derive(Clone, Debug)]
pub struct SendRequest<'a> {
    /// Names the source in entries.
    pub name: &'a str,
    /// The partner, by name; absent, the receiver in the interchange that the map makes.
    pub to: Option<&'a str>,
    /// Our identity, by name; absent, the first of our files.
    pub from: Option<&'a str>,
    /// The kind of document, which rules look at.
    pub document: &'a str,
    /// Whether a source that was sent before is sent again.
    pub again: Again,
}

/// What came of documents to send.
#[derive(Clone, Debug, Default)]
pub struct SendReport {
    /// Documents of this run.
    pub transactions: u64,
    /// Of them put into interchanges at once.
    pub sent: u64,
    /// Of them waiting for their envelope.
    pub waiting: u64,
    /// Of them rejected.
    pub rejected: u64,
    /// Interchanges written.
    pub interchanges: u64,
    /// Whether the run continued an earlier one.
    pub resumed: bool,
    /// Whether the same bytes were sent before, so that nothing was done.
    pub repeated: bool,
    /// Findings with the entry that they are about, at most 100.
    pub findings: Vec<(EntryId, Finding)>,
}

/// How far a source of documents is sent.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct SendState {
    documents: u64,
    done: bool,
    at_ms: u64,
}

/// The transactions of a source.
#[derive(Default)]
struct Documents {
    /// Interchanges: what maps made, or the source.
    texts: Vec<Vec<u8>>,
    /// Each transaction with the number of its text.
    pieces: Vec<(usize, Piece)>,
    /// What the map rejected.
    rejected: Option<(Vec<u8>, Vec<Finding>)>,
}

impl Documents {
    fn add(&mut self, edi: Vec<u8>, limits: &Limits, fields: &[(String, String)]) -> Result<(), Findings> {
        let of = self.texts.len();
        self.pieces.extend(pieces(&edi, limits, fields)?.into_iter().map(|piece| (of, piece)));
        self.texts.push(edi);
        Ok(())
    }
}

/// A transaction that answers a received document, its text, and where it goes.
pub(crate) type Answer = (Piece, Vec<u8>, Target);

/// Where a document goes.
pub(crate) struct Target {
    pub(crate) own: usize,
    pub(crate) partner: usize,
    pub(crate) rule: Option<RuleId>,
    pub(crate) settings: Arc<Settings>,
}

impl Desk<'_> {
    /// Sends the documents of a source. A run that stopped in the middle continues, when it is given the same bytes.
    ///
    /// # Errors
    /// What stops the run: the source, a definition, the store or a delivery fails. What was committed before stays.
    pub fn send(&mut self, request: &SendRequest<'_>, source: &mut dyn Source) -> Result<SendReport, Findings> {
        let done = self.send_all(request, source).and_then(|report| self.finish().map(|()| report));
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    /// The same within a unit of work that others end.
    pub(crate) fn send_part(
        &mut self,
        request: &SendRequest<'_>,
        source: &mut dyn Source,
    ) -> Result<SendReport, Findings> {
        self.send_all(request, source)
    }

    /// Stores a source that nothing can send, as one that the map rejects.
    pub(crate) fn refuse_source(
        &mut self,
        request: &SendRequest<'_>,
        bytes: &[u8],
        findings: &[Finding],
    ) -> Result<SendReport, Findings> {
        let mut report = SendReport::default();
        let own = self.book.own()[0];
        self.reject(request, own, None, None, bytes, findings, &mut report)?;
        Ok(report)
    }

    fn send_all(&mut self, request: &SendRequest<'_>, source: &mut dyn Source) -> Result<SendReport, Findings> {
        let mut input = Vec::new();
        let most = self.limits.send_bytes_max;
        let io = |error: std::io::Error| -> Findings {
            let message = format!("the source cannot be read: {}", system_error_text(&error));
            let place = Place { file: Some(request.name.into()), ..Place::default() };
            let finding = Finding::error(codes::NOT_EDI, Fault::Environment, message).at(place);
            finding.hint("correct the cause and send it again").into()
        };
        source.seek(SeekFrom::Start(0)).map_err(io)?;
        source.take(most + 1).read_to_end(&mut input).map_err(io)?;
        if input.len() as u64 > most {
            let message = format!("the source is larger than {most} bytes (send_bytes_max)");
            return Err(Finding::error(codes::TOO_LARGE, Fault::Caller, message)
                .hint("split it into several files")
                .into());
        }
        let book = self.book;
        let own = match request.from {
            None => book.own()[0],
            Some(name) => book.named(name).filter(|number| book.partner(*number).is_own).ok_or_else(|| {
                let message = format!("`{name}` is not one of your own files");
                Findings::from(
                    Finding::error(codes::NO_PARTNER, Fault::Caller, message).hint("name a file with own = true"),
                )
            })?,
        };
        let to = match request.to {
            None => None,
            Some(name) => Some(book.named(name).filter(|number| !book.partner(*number).is_own).ok_or_else(|| {
                let names = book.partners().iter().filter(|one| !one.is_own).map(|one| one.name.as_str());
                let hint = match quayline_core::nearest(name, names) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "`quayline partner list` lists partners".to_owned(),
                };
                let message = format!("there is no partner `{name}`");
                Findings::from(Finding::error(codes::NO_PARTNER, Fault::Caller, message).hint(hint))
            })?),
        };
        let key = xxh3_128(
            &[
                &xxh3_128(&input).to_le_bytes()[..],
                request.document.as_bytes(),
                b"\0",
                request.to.unwrap_or("").as_bytes(),
            ]
            .concat(),
        );
        let key = key.to_be_bytes();
        let mut state = self.send_state(&key)?;
        let mut report = SendReport { resumed: state.documents > 0 && !state.done, ..SendReport::default() };
        if state.done && request.again == Again::No {
            let place = Place { file: Some(request.name.into()), ..Place::default() };
            let message = format!("the same bytes were sent before, at {}", crate::time_text(state.at_ms));
            let finding = Finding::error(codes::SAME_FILE, Fault::Caller, message).at(place);
            report
                .findings
                .push((EntryId(0), finding.hint("nothing was done; --again sends them again, with new numbers")));
            report.repeated = true;
            return Ok(report);
        }
        if state.done {
            state = SendState::default();
        }
        let done_before = state.documents;
        let rule = self.send_rule(own, to, request.document)?;
        let Documents { texts, pieces, rejected } = self.documents(request, input, rule, &mut report)?;
        let total = pieces.len() as u64;
        for (number, (of, piece)) in (1..).zip(pieces) {
            if number <= done_before {
                continue;
            }
            let target = self.target(own, to, rule, &piece);
            let text = &texts[of][piece.text.clone()];
            let bytes = text.len();
            self.send_one(request, EntryId(0), (piece, text), target, &mut report)?;
            report.transactions += 1;
            if self.is_full_after(bytes) {
                state = SendState { documents: number, ..state };
                self.keep_send_state(&key, &state)?;
            }
            self.counted(bytes)?;
        }
        if let Some((bytes, findings)) = rejected {
            self.reject(request, own, to, rule, &bytes, &findings, &mut report)?;
        }
        let state = SendState { documents: total, done: true, at_ms: self.now_ms() };
        self.keep_send_state(&key, &state)?;
        Ok(report)
    }

    fn send_state(&mut self, key: &[u8; 16]) -> Result<SendState, Findings> {
        let ledger = self.ledger;
        let unit = self.unit()?;
        // Locked, so that two workers never send the same source at the same time.
        match ledger.arrivals.read_for_update(unit, By::Key(key), Relation::Equal, LockWait::Default) {
            Ok(record) => serde_json::from_slice(&record.bytes[16..])
                .map_err(|_| ledger::damaged("the state of a source is not readable")),
            Err(StoreError::NotFound { .. }) => Ok(SendState::default()),
            Err(error) => Err(of_store(error)),
        }
    }

    fn keep_send_state(&mut self, key: &[u8; 16], state: &SendState) -> Result<(), Findings> {
        let mut record = key.to_vec();
        serde_json::to_writer(&mut record, state).expect("numbers");
        let ledger = self.ledger;
        ledger.arrivals.set(self.unit()?, &record).map_err(of_store)
    }

    /// The rule for the documents of a source.
    fn send_rule(&self, own: usize, to: Option<usize>, document: &str) -> Result<Option<RuleId>, Findings> {
        let query =
            Query { direction: Direction::Send, standard: None, document, version: "", application: "", test: false };
        let found = self.book.choose(own, to, &query, &|_, _| false);
        if found.is_none() && !document.is_empty() {
            let message = match to {
                Some(to) => format!("no rule sends `{document}` to {}", self.book.partner(to).name),
                None => format!("no rule of your own file sends `{document}`"),
            };
            let hint = "add a [[rule]] with direction = \"send\" and this document, or name the partner with --to";
            return Err(Finding::error(codes::NO_RULE, Fault::Config, message).hint(hint).into());
        }
        Ok(found)
    }

    /// The transactions of a source, and what the map rejected.
    fn documents(
        &mut self,
        request: &SendRequest<'_>,
        input: Vec<u8>,
        rule: Option<RuleId>,
        report: &mut SendReport,
    ) -> Result<Documents, Findings> {
        let book = self.book;
        let limits = book.limits();
        let fields = rule.map_or(&[][..], |id| &book.rule(id).fields);
        let maps = rule.map_or(&[][..], |id| &book.rule(id).maps);
        let mut documents = Documents::default();
        if maps.is_empty() {
            documents.add(input, limits, fields)?;
            return Ok(documents);
        }
        let name: Arc<str> = request.name.into();
        for map in maps {
            let (now_ms, run) = self.begin_map();
            let lane = self.lane(map)?;
            lane.map.begin_unit(now_ms, run);
            let done = lane.lane.run(&name, &input, &mut lane.buffers);
            let edi: Vec<Vec<u8>> = lane.buffers.iter_mut().map(quayline_pipeline::OutputBuffer::take).collect();
            if let Some(lost) = done.lost {
                return Err(lost);
            }
            for edi in edi.into_iter().filter(|edi| !edi.is_empty()) {
                documents.add(edi, limits, fields)?;
            }
            let (errors, others): (Vec<_>, Vec<_>) =
                done.findings.into_iter().partition(|one| one.severity == Severity::Error);
            report.findings.extend(others.into_iter().take(100).map(|finding| (EntryId(0), finding)));
            if done.tally.records_rejected > 0 {
                let (_, findings) = documents.rejected.get_or_insert_with(|| (done.rejects, Vec::new()));
                findings.extend(errors);
            }
        }
        // What one map takes and another rejects is sent by neither: the document is corrected and sent again as a whole.
        if maps.len() > 1 && documents.rejected.is_some() {
            let (_, findings) = documents.rejected.unwrap_or_default();
            return Ok(Documents { rejected: Some((input, findings)), ..Documents::default() });
        }
        Ok(documents)
    }

    /// What a map made as the answer to a received document, with where it goes. The answer to a test is a test. Changes nothing.
    pub(crate) fn prepare_answer(
        &self,
        (own, partner): (usize, usize),
        to_test: bool,
        edi: &[u8],
    ) -> Result<Vec<Answer>, Findings> {
        let with_target = |piece: Piece| {
            let mut target =
                self.target(own, Some(partner), None, &piece).map_err(|finding| Findings::from(*finding))?;
            if to_test {
                Arc::make_mut(&mut target.settings).usage = Some(Usage::Test);
            }
            let text = edi[piece.text.clone()].to_vec();
            Ok((piece, text, target))
        };
        pieces(edi, self.book.limits(), &[])?.into_iter().map(with_target).collect()
    }

    /// Sends an answer in the unit of work that is open. Returns the new entries; a document that cannot be written with the partner's delimiters
    /// is one of them, rejected.
    pub(crate) fn answer(&mut self, about: EntryId, answers: Vec<Answer>) -> Result<Vec<EntryId>, Findings> {
        let name = format!("answer to entry {about}");
        let request = SendRequest { name: &name, to: None, from: None, document: "", again: Again::No };
        let mut report = SendReport::default();
        let send =
            |(piece, text, target): Answer| self.send_one(&request, about, (piece, &text), Ok(target), &mut report);
        answers.into_iter().map(send).collect()
    }

    /// The partner and settings of a document.
    fn target(
        &self,
        own: usize,
        to: Option<usize>,
        rule: Option<RuleId>,
        piece: &Piece,
    ) -> Result<Target, Box<Finding>> {
        let book = self.book;
        let (qualifier, id) = &piece.receiver;
        let partner = match to {
            Some(to) => {
                let named = book.identified(piece.delimiters.standard, qualifier, id);
                if let Some(other) = named.filter(|named| *named != to && !book.partner(*named).is_own) {
                    let (other, to) = (&book.partner(other).name, &book.partner(to).name);
                    let message = format!("the document names {other} as its receiver, and it is to go to {to}");
                    let finding = Finding::error(codes::OTHER_PARTNER, Fault::Config, message);
                    return Err(Box::new(
                        finding.hint("leave --to away, or correct the receiver in the document or the map"),
                    ));
                }
                Some(to)
            }
            None if id == PLACEHOLDER => None,
            None => book.identified(piece.delimiters.standard, qualifier, id).or_else(|| {
                // Maps often give the id alone: it is enough where one partner has it.
                let mut with_id = book.partners().iter().enumerate().filter(|(_, one)| {
                    !one.is_own
                        && one
                            .identities
                            .iter()
                            .any(|known| known.standard == piece.delimiters.standard && known.id == *id)
                });
                match (with_id.next(), with_id.next()) {
                    (Some((number, _)), None) => Some(number),
                    _ => None,
                }
            }),
        };
        let Some(partner) = partner.filter(|number| !book.partner(*number).is_own) else {
            let message = "the document names no partner as its receiver";
            let finding = Finding::error(codes::NO_PARTNER, Fault::Config, message);
            return Err(Box::new(finding.hint("name the partner with --to, or set interchange.receiver in the map")));
        };
        let standard = piece.delimiters.standard;
        for number in [own, partner] {
            if book.partner(number).identity(standard).is_none() {
                let message = format!("{} has no {} identity", book.partner(number).name, standard.name());
                let finding = Finding::error(codes::NO_IDENTITY, Fault::Config, message);
                return Err(Box::new(
                    finding.hint("add [[identity]] to the file, or send a document of another standard"),
                ));
            }
        }
        Ok(Target { own, partner, rule, settings: book.settings_of_rule(own, partner, rule) })
    }

    /// One document: enveloped at once, made to wait, or rejected. `about` is the entry that it answers, or 0.
    fn send_one(
        &mut self,
        request: &SendRequest<'_>,
        about: EntryId,
        (mut piece, text): (Piece, &[u8]),
        target: Result<Target, Box<Finding>>,
        report: &mut SendReport,
    ) -> Result<EntryId, Findings> {
        let id = self.next_id()?;
        let now = self.now_ms();
        let mut details = Details {
            standard: piece.delimiters.standard.name().to_owned(),
            document: piece.document.clone(),
            version: piece.version.clone(),
            bytes: text.len() as u64,
            source: request.name.to_owned(),
            about: about.0,
            keep_days: KEEP_DAYS,
            ..Details::default()
        };
        details.happened(now, "made");
        let mut entry = Entry {
            id,
            kind: Kind::Transaction,
            partner: String::new(),
            time_ms: now,
            state: State::Rejected,
            due_ms: now,
            way: Way::Sent,
            context: 0,
            number: String::new(),
            details,
        };
        let target = match target {
            Ok(target) => target,
            Err(finding) => return self.refuse(entry, text, &finding, report).map(|()| id),
        };
        let book = self.book;
        let (own, partner) = (book.partner(target.own), book.partner(target.partner));
        entry.partner = partner.name.clone();
        entry.details.own = own.name.clone();
        entry.details.keep_days = target.settings.keep_days.unwrap_or(KEEP_DAYS);
        entry.details.test = target.settings.usage == Some(Usage::Test);
        let party = |of: &quayline_project::partner::PartnerFile| {
            of.identity(piece.delimiters.standard)
                .map(|one| format!("{}:{}", one.qualifier, one.id))
                .unwrap_or_default()
        };
        entry.details.sender = party(own);
        entry.details.receiver = party(partner);
        if let Some(rule) = target.rule {
            let of = book.rule(rule);
            entry.details.rule = format!("{}/{}", book.partner(rule.owner).name, of.name);
            let digests = of.maps.iter().filter_map(|map| book.map(map).ok());
            entry.details.map = digests.map(|map| map.digits.as_str()).collect::<Vec<_>>().join(",");
            entry.details.fields = std::mem::take(&mut piece.fields);
        }
        let delimiters = delimiters_for(&target.settings, &piece);
        let line_breaks = target.settings.line_breaks.unwrap_or(false);
        let written = if delimiters == piece.delimiters && !line_breaks {
            Ok(text.to_vec())
        } else {
            recode(text, &piece.delimiters, &delimiters, line_breaks)
        };
        let text = match written {
            Ok(text) => text,
            Err(Findings(found)) => return self.refuse(entry, text, &found[0], report).map(|()| id),
        };
        let delayed = target.settings.envelope == Some(EnvelopePolicy::Delayed);
        entry.state = if delayed { State::Waiting } else { State::Sent };
        let mut document =
            Document { id, functional: piece.functional, version: piece.group_version, text, entry: None };
        if delayed {
            let ledger = self.ledger;
            ledger.insert(self.unit()?, &entry)?;
            report.waiting += 1;
            self.wait(&target, &entry, &document, report)?;
            return Ok(id);
        }
        report.sent += 1;
        let route = Route::of(&target, &entry);
        document.entry = Some(Box::new(entry));
        self.write_interchange(&route, vec![document], report)?;
        Ok(id)
    }

    fn refuse(
        &mut self,
        mut entry: Entry,
        text: &[u8],
        finding: &Finding,
        report: &mut SendReport,
    ) -> Result<(), Findings> {
        entry.details.add_findings([finding]);
        let ledger = self.ledger;
        let unit = self.unit()?;
        ledger.insert_with(unit, &entry, Part::Document, text)?;
        report.rejected += 1;
        if report.findings.len() < 100 {
            report.findings.push((entry.id, finding.clone()));
        }
        Ok(())
    }

    /// What the map rejected is kept in the form of its source.
    #[allow(clippy::too_many_arguments, reason = "one caller")]
    fn reject(
        &mut self,
        request: &SendRequest<'_>,
        own: usize,
        to: Option<usize>,
        rule: Option<RuleId>,
        bytes: &[u8],
        findings: &[Finding],
        report: &mut SendReport,
    ) -> Result<(), Findings> {
        let id = self.next_id()?;
        let now = self.now_ms();
        let book = self.book;
        let mut details = Details {
            document: request.document.to_owned(),
            own: book.partner(own).name.clone(),
            bytes: bytes.len() as u64,
            source: request.name.to_owned(),
            rule: rule.map(|id| format!("{}/{}", book.partner(id.owner).name, book.rule(id).name)).unwrap_or_default(),
            keep_days: KEEP_DAYS,
            ..Details::default()
        };
        details.add_findings(findings);
        details.happened(now, "rejected by the map");
        let entry = Entry {
            id,
            kind: Kind::Transaction,
            partner: to.map(|to| book.partner(to).name.clone()).unwrap_or_default(),
            time_ms: now,
            state: State::Rejected,
            due_ms: now,
            way: Way::Sent,
            context: 0,
            number: String::new(),
            details,
        };
        let ledger = self.ledger;
        let unit = self.unit()?;
        ledger.insert_with(unit, &entry, Part::Source, bytes)?;
        report.rejected += 1;
        report.findings.extend(findings.iter().take(100).map(|finding| (id, finding.clone())));
        Ok(())
    }

    /// Writes an interchange of documents, whose entries are there: numbers, entries and delivery in the unit of work that is open.
    pub(crate) fn write_interchange(
        &mut self,
        route: &Route,
        mut documents: Vec<Document>,
        report: &mut SendReport,
    ) -> Result<(), Findings> {
        let settings = Arc::clone(&route.settings);
        let parties = (route.own, route.partner);
        let standard = route.standard;
        let now = self.now_ms();
        let envelope = self.envelope(route)?;
        // Documents of one kind in one group, in the order in which they came.
        documents.sort_by(|a, b| (&a.functional, &a.version, a.id).cmp(&(&b.functional, &b.version, b.id)));
        let number = self.control_number(
            standard,
            Level::Interchange,
            parties,
            settings.interchange_numbers.unwrap_or(NumberRange::ALL),
        )?;
        let mut text = EnvelopeText::open(&envelope, number);
        let number = if standard == Standard::X12 { format!("{number:09}") } else { number.to_string() };
        let interchange = self.next_id()?;
        let sender = format!("{}:{}", envelope.sender.qualifier, envelope.sender.id);
        let receiver = format!("{}:{}", envelope.receiver.qualifier, envelope.receiver.id);
        let mut groups = Vec::new();
        let mut at = 0;
        while at < documents.len() {
            let (functional, version) = (documents[at].functional.clone(), documents[at].version.clone());
            let same = |one: &Document| {
                standard == Standard::Edifact || (one.functional == functional && one.version == version)
            };
            let count = documents[at..].iter().take_while(|one| same(one)).count();
            let mut group = String::new();
            if standard == Standard::X12 {
                let taken = self.control_number(
                    standard,
                    Level::Group,
                    parties,
                    settings.group_numbers.unwrap_or(NumberRange::ALL),
                )?;
                group = taken.to_string();
                text.open_group(&functional, &version, taken);
            }
            let around = if standard == Standard::X12 { &group } else { &number };
            let context = transaction_context(standard.name(), &sender, &receiver, around);
            for (place, document) in (1_u64..).zip(&mut documents[at..at + count]) {
                let taken = match settings.transaction_numbers {
                    Some(range) => self.control_number(standard, Level::Transaction, parties, range)?,
                    None => place,
                };
                let taken = if standard == Standard::X12 { format!("{taken:04}") } else { taken.to_string() };
                text.transaction(&document.text, &taken);
                let ledger = self.ledger;
                let unit = self.unit()?;
                let new = document.entry.take();
                let is_new = new.is_some();
                let mut entry = match new {
                    Some(entry) => *entry,
                    None => ledger.locked(unit, document.id)?,
                };
                entry.state = State::Sent;
                entry.due_ms = now;
                entry.context = context;
                entry.number = taken;
                entry.details.parent = interchange.0;
                entry.details.interchange.clone_from(&number);
                entry.details.group.clone_from(&group);
                entry.details.happened(now, format!("sent in interchange {number}, entry {interchange}"));
                let kept = if is_new { ledger.insert(unit, &entry) } else { ledger.update(unit, &entry) };
                kept?;
            }
            if standard == Standard::X12 {
                text.close_group();
                groups.push((group, functional, version, count as u64));
            }
            at += count;
        }
        let bytes = text.close();
        let book = self.book;
        let partner = book.partner(route.partner).name.clone();
        let due = now + settings.due_s.unwrap_or(DUE_S) * 1_000;
        let expects = |kinds: &[AckKind]| settings.expect.is_some_and(|kind| kinds.contains(&kind));
        let (state_of_groups, state) = (
            if expects(&[AckKind::Functional, AckKind::Implementation]) { State::Expecting } else { State::Sent },
            if expects(&[AckKind::Ta1, AckKind::Contrl]) { State::Expecting } else { State::Sent },
        );
        let details = Details {
            standard: standard.name().to_owned(),
            own: book.partner(route.own).name.clone(),
            sender: sender.clone(),
            receiver: receiver.clone(),
            interchange: number.clone(),
            test: route.test,
            keep_days: settings.keep_days.unwrap_or(KEEP_DAYS),
            ..Details::default()
        };
        for (group, functional, version, count) in &groups {
            let id = self.next_id()?;
            let mut details = Details {
                document: functional.clone(),
                version: version.clone(),
                group: group.clone(),
                parent: interchange.0,
                transactions: *count,
                ..details.clone()
            };
            details.happened(now, "sent");
            let entry = Entry {
                id,
                kind: Kind::Group,
                partner: partner.clone(),
                time_ms: now,
                state: state_of_groups,
                due_ms: if state_of_groups == State::Expecting { due } else { now },
                way: Way::Sent,
                context: group_context(standard.name(), &sender, &receiver),
                number: group.clone(),
                details,
            };
            let ledger = self.ledger;
            ledger.insert(self.unit()?, &entry)?;
        }
        let to = settings.send_to.clone().unwrap_or_else(|| default_folder(&partner));
        let extension = if standard == Standard::X12 { "x12" } else { "edi" };
        let name = format!("{partner}-{number}-{interchange}.{extension}");
        let place = self.deliver(&to, interchange, 0, &name, bytes.as_slice().into())?;
        let mut details = Details {
            bytes: bytes.len() as u64,
            transactions: documents.len() as u64,
            group: groups.iter().map(|(group, ..)| group.as_str()).collect::<Vec<_>>().join(","),
            outputs: vec![place],
            ..details
        };
        details.happened(now, "sent");
        let entry = Entry {
            id: interchange,
            kind: Kind::Interchange,
            partner,
            time_ms: now,
            state,
            due_ms: if state == State::Expecting { due } else { now },
            way: Way::Sent,
            context: context_of(&[standard.name(), &sender, &receiver]),
            number,
            details,
        };
        let ledger = self.ledger;
        let unit = self.unit()?;
        // Without its bytes it could not be sent again.
        if settings.keep.unwrap_or(KeepPolicy::All) == KeepPolicy::All {
            ledger.insert_with(unit, &entry, Part::Document, &bytes)?;
        } else {
            ledger.insert(unit, &entry)?;
        }
        report.interchanges += 1;
        Ok(())
    }

    fn envelope(&self, route: &Route) -> Result<Envelope, Findings> {
        let book = self.book;
        let settings = &route.settings;
        let party = |number: usize| -> Result<Party, Findings> {
            let partner = book.partner(number);
            let identity = partner.identity(route.standard).ok_or_else(|| {
                let message = format!("{} has no {} identity", partner.name, route.standard.name());
                Findings::from(
                    Finding::error(codes::NO_IDENTITY, Fault::Config, message).hint("add [[identity]] to its file"),
                )
            })?;
            Ok(Party { qualifier: identity.qualifier.clone(), id: identity.id.clone(), group: identity.group.clone() })
        };
        let mut fields = Vec::new();
        for (name, value) in settings.fields.iter().flatten() {
            fields.push((name.clone(), book.field_value(name, value)?));
        }
        let is_x12 = route.standard == Standard::X12;
        let usual = if is_x12 { "00501" } else { "UNOC:3" };
        let version = settings.version.clone().filter(|version| version.contains(':') != is_x12);
        let envelope = Envelope {
            delimiters: delimiters_of_settings(settings, route.standard),
            version: version.unwrap_or_else(|| usual.to_owned()),
            sender: party(route.own)?,
            receiver: party(route.partner)?,
            test: route.test,
            stamp: Stamp::from_unix(self.now_ms() / 1_000),
            fields,
            line_breaks: settings.line_breaks.unwrap_or(false),
        };
        let delimiters = &envelope.delimiters;
        let texts = [&envelope.sender, &envelope.receiver]
            .into_iter()
            .flat_map(|party| [&party.qualifier, &party.id, &party.group]);
        let texts = texts.chain(envelope.fields.iter().map(|(_, value)| value));
        let service = |byte: u8| {
            [delimiters.element, delimiters.component, delimiters.terminator].contains(&byte)
                || Some(byte) == delimiters.repetition
        };
        let holds_service = texts.into_iter().any(|text| text.bytes().any(service));
        if is_x12 && holds_service {
            let message = "an identity or header field holds a delimiter of the partner";
            return Err(Finding::error(codes::DELIMITER, Fault::Config, message)
                .hint("choose other delimiters")
                .into());
        }
        Ok(envelope)
    }
}

/// Seconds until an expected acknowledgment is overdue by default.
const DUE_S: u64 = 86_400;

pub(crate) fn no_bytes(id: EntryId) -> Findings {
    let message = format!("the bytes of entry {id} are not kept");
    let finding = Finding::error(codes::NO_BYTES, Fault::Caller, message);
    finding.hint("`keep = \"all\"` in the partner's settings keeps the bytes of later documents").into()
}

/// A document on its way into an interchange.
pub(crate) struct Document {
    pub(crate) id: EntryId,
    pub(crate) functional: String,
    pub(crate) version: String,
    pub(crate) text: Vec<u8>,
    /// Its entry, if it is not in the store yet: then it is added once, with its numbers.
    pub(crate) entry: Option<Box<Entry>>,
}

/// From whom to whom.
pub(crate) struct Route {
    pub(crate) own: usize,
    pub(crate) partner: usize,
    pub(crate) standard: Standard,
    pub(crate) test: bool,
    pub(crate) settings: Arc<Settings>,
}

impl Route {
    fn of(target: &Target, entry: &Entry) -> Self {
        let standard = if entry.details.standard == "X12" { Standard::X12 } else { Standard::Edifact };
        let settings = Arc::clone(&target.settings);
        Route { own: target.own, partner: target.partner, standard, test: entry.details.test, settings }
    }

    /// The key of the envelope: a digest, because names are longer than keys should be.
    pub(crate) fn key(entry: &Entry) -> [u8; 16] {
        let Details { own, standard, test, .. } = &entry.details;
        let text = format!("{own}\u{1f}{}\u{1f}{standard}\u{1f}{test}", entry.partner);
        xxh3_128(text.as_bytes()).to_be_bytes()
    }
}

fn delimiters_of_settings(settings: &Settings, standard: Standard) -> Delimiters {
    let usual = if standard == Standard::X12 { Delimiters::X12 } else { Delimiters::EDIFACT };
    settings.delimiters.as_deref().and_then(|text| delimiters_of(text, standard)).unwrap_or(usual)
}

pub(crate) fn delimiters_for(settings: &Settings, piece: &Piece) -> Delimiters {
    let wanted = delimiters_of_settings(settings, piece.delimiters.standard);
    Delimiters { decimal_mark: piece.delimiters.decimal_mark, ..wanted }
}
