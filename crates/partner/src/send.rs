//! Documents to partners.
//!
//! A document becomes a transaction by the map of its rule, or is a transaction already. Then it is put into an interchange at once, or it waits:
//! all documents of one kind to one partner in one group, all groups in one interchange. A waiting document is in the store with its entry;
//! the release takes numbers, writes the interchange, changes the entries and removes the waiting documents in one unit of work.

use std::borrow::Cow;
use std::io::{Read, SeekFrom};
use std::sync::Arc;

use quayline_core::{ByteOffset, Fault, Finding, Findings, Limits, Place, Severity, system_error_text};
use quayline_edi::Standard;
use quayline_project::partner::{EnvelopePolicy, Usage};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::book::PLACEHOLDER;
use crate::codes;
use crate::defaults::KEEP_DAYS;
use crate::desk::Desk;
use crate::details::Details;
use crate::entry::{Entry, EntryId, Kind, Part, State, Way};
use crate::envelope::{Piece, Wanted, pieces};
use crate::ledger;
use crate::rules::RuleId;
use crate::send_other::Other;
use crate::send_request::{SendReport, SendRequest};
use crate::send_rule::SendRules;
use crate::send_target::Target;
use crate::source::{Again, Source};
use crate::write::{Document, Route, Shape, delimiters_for, rule_name};

/// Processed position of a source of documents.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct SendState {
    documents: u64,
    /// Number of documents that were rejected.
    #[serde(default)]
    rejected: u64,
    done: bool,
    at_ms: u64,
}

/// The transactions of a source.
#[derive(Default)]
struct Documents {
    /// Interchanges: the output of maps, or the source.
    texts: Vec<Vec<u8>>,
    /// Each transaction with the number of its text.
    pieces: Vec<(usize, Piece)>,
    /// Outputs that are not EDI, which no envelope takes.
    others: Vec<Other>,
    /// Documents that the map rejected.
    rejected: Option<(Vec<u8>, Vec<Finding>)>,
}

impl Documents {
    fn add(&mut self, edi: Vec<u8>, limits: &Limits, wanted: Wanted<'_>) -> Result<(), Findings> {
        let of = self.texts.len();
        self.pieces.extend(pieces(&edi, limits, wanted)?.into_iter().map(|piece| (of, piece)));
        self.texts.push(edi);
        Ok(())
    }
}

/// A transaction that answers a received document, its text, and where it goes.
pub(crate) type Answer = (Piece, Vec<u8>, Target);

impl Desk<'_> {
    /// Sends the documents of a source. A run that stopped in the middle continues when it gets the same bytes.
    ///
    /// # Errors
    /// The source, a definition, the store or a delivery fails, which stops the run. Earlier commits remain.
    pub fn send(&mut self, request: &SendRequest<'_>, source: &mut dyn Source) -> Result<SendReport, Findings> {
        let done = self.send_all(request, source).and_then(|report| self.finish().map(|()| report));
        if done.is_err() {
            self.roll_back();
        }
        let mut done = done?;
        self.take_undelivered().iter().for_each(|finding| done.find(EntryId(0), finding));
        Ok(done)
    }

    /// Sends documents in a unit of work that the caller ends.
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
        let (own, to) = self.parties(request)?;
        let key = xxh3_128(
            &[
                &xxh3_128(&input).to_le_bytes()[..],
                request.document.as_bytes(),
                b"\0",
                request.to.unwrap_or("").as_bytes(),
                // Without `from`, the key is that of earlier versions.
                request.from.map_or(String::new(), |from| format!("\0{from}")).as_bytes(),
            ]
            .concat(),
        );
        let key = request.again.key(key.to_be_bytes());
        let mut state = self.send_state(&key)?;
        let mut report = SendReport { resumed: state.documents > 0 && !state.done, ..SendReport::default() };
        if state.done && request.again.is_refused() {
            let place = Place { file: Some(request.name.into()), ..Place::default() };
            let message = format!("the same bytes were sent before, at {}", crate::time_text(state.at_ms));
            let finding = Finding::error(codes::SAME_FILE, Fault::Caller, message).at(place);
            let hint = "the file changes nothing; --again sends it again, with new numbers";
            report.find(EntryId(0), &finding.hint(hint));
            report.repeated = true;
            report.rejected_before = state.rejected;
            return Ok(report);
        }
        if state.done {
            state = SendState::default();
        }
        let done_before = state.documents;
        report.rejected_before = state.rejected;
        let rules = SendRules::of(book, own, to, request.document)?;
        let rule = rules.usual;
        let Documents { texts, pieces, others, rejected } = self.documents(request, input, &rules, &mut report)?;
        let total = pieces.len() as u64;
        for (number, (of, piece)) in (1..).zip(pieces) {
            if number <= done_before {
                continue;
            }
            let target = self.target((own, request.from.is_some()), to, rule, &piece);
            let text = piece.text(&texts[of]);
            let target = self.with_rule(target, &rules, &piece, &text)?;
            let bytes = text.len();
            self.send_one(request, EntryId(0), (piece, &text), target, &mut report)?;
            report.transactions += 1;
            if self.is_full_after(bytes) {
                let rejected = report.rejected_before + report.rejected;
                state = SendState { documents: number, rejected, ..state };
                self.keep_position(&key, &state)?;
            }
            self.counted(bytes)?;
        }
        // They are in the unit of work that ends the source, so a run that continues does not repeat them.
        for other in others {
            self.send_other(request, (own, to), rules.first, other, &mut report)?;
        }
        if let Some((bytes, findings)) = rejected {
            self.reject(request, own, to, rule, &bytes, &findings, &mut report)?;
        }
        let rejected = report.rejected_before + report.rejected;
        let state = SendState { documents: total, rejected, done: true, at_ms: self.now_ms() };
        self.keep_position(&key, &state)?;
        Ok(report)
    }

    /// Returns our identity and the partner that a request names.
    pub(crate) fn parties(&self, request: &SendRequest<'_>) -> Result<(usize, Option<usize>), Findings> {
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
            Some(name) => Some(self.other_named(name)?),
        };
        Ok((own, to))
    }

    /// Returns a partner by its name.
    pub(crate) fn other_named(&self, name: &str) -> Result<usize, Findings> {
        let book = self.book;
        book.named(name).filter(|number| !book.partner(*number).is_own).ok_or_else(|| {
            let names = book.partners().iter().filter(|one| !one.is_own).map(|one| one.name.as_str());
            let hint = match quayline_core::nearest(name, names) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "`quayline partner list` lists partners".to_owned(),
            };
            let message = format!("partner `{name}` does not exist");
            Findings::from(Finding::error(codes::NO_PARTNER, Fault::Caller, message).hint(hint))
        })
    }

    fn send_state(&mut self, key: &[u8; 16]) -> Result<SendState, Findings> {
        let state = self.position(key)?;
        let state = state.map(|state| serde_json::from_slice(&state)).transpose();
        state.map(Option::unwrap_or_default).map_err(|_| ledger::damaged("the state of a source is not readable"))
    }

    /// Returns the transactions of a source, and the documents that the map rejected.
    fn documents(
        &mut self,
        request: &SendRequest<'_>,
        input: Vec<u8>,
        rules: &SendRules,
        report: &mut SendReport,
    ) -> Result<Documents, Findings> {
        let book = self.book;
        let limits = book.limits();
        let (wanted, maps) = (rules.wanted(), &rules.maps);
        let mut documents = Documents::default();
        if maps.is_empty() {
            documents.add(input, limits, wanted)?;
            return Ok(documents);
        }
        let name: Arc<str> = request.name.into();
        for map in maps {
            let (now_ms, run) = self.begin_map();
            let lane = self.lane(map)?;
            lane.map.begin_unit(now_ms, run);
            let done = lane.lane.run(&name, &input, &mut lane.buffers);
            let bytes: Vec<Vec<u8>> = lane.buffers.iter_mut().map(quayline_pipeline::OutputBuffer::take).collect();
            let loaded = lane.map;
            if let Some(lost) = done.lost {
                return Err(lost);
            }
            let names: Vec<String> = match rules.first {
                Some(rule) => loaded.delivery_names(book.rule(rule), map).collect(),
                None => loaded.outputs.iter().map(|output| output.name.clone()).collect(),
            };
            for ((facts, name), bytes) in loaded.outputs.iter().zip(names).zip(bytes) {
                match facts.is_edi {
                    _ if bytes.is_empty() => {}
                    true => documents.add(bytes, limits, wanted)?,
                    false => {
                        let documents_in = done.documents;
                        documents.others.push(Other {
                            name,
                            extension: facts.extension,
                            framing: facts.framing,
                            documents: documents_in,
                            bytes,
                        });
                    }
                }
            }
            let (errors, others): (Vec<_>, Vec<_>) =
                done.findings.into_iter().partition(|one| one.severity == Severity::Error);
            others.iter().for_each(|finding| report.find(EntryId(0), finding));
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

    /// Prepares the answer that a map made to a received document, with its destination. The answer to a test is a test. Changes nothing.
    pub(crate) fn prepare_answer(
        &self,
        (own, partner): (usize, usize),
        to_test: bool,
        edi: &[u8],
    ) -> Result<Vec<Answer>, Findings> {
        let with_target = |piece: Piece| {
            let mut target =
                self.target((own, true), Some(partner), None, &piece).map_err(|finding| Findings::from(*finding))?;
            if to_test {
                Arc::make_mut(&mut target.settings).usage = Some(Usage::Test);
            }
            let text = piece.text(edi).into_owned();
            Ok((piece, text, target))
        };
        pieces(edi, self.book.limits(), Wanted::default())?.into_iter().map(with_target).collect()
    }

    /// Sends an answer in the open unit of work. Returns the new entries; a document that cannot be written with the partner's delimiters
    /// is one of them, in state rejected.
    pub(crate) fn answer(&mut self, about: EntryId, answers: Vec<Answer>) -> Result<Vec<EntryId>, Findings> {
        let name = format!("answer to entry {about}");
        let request = SendRequest { name: &name, to: None, from: None, document: "", again: Again::No };
        let mut report = SendReport::default();
        let send =
            |(piece, text, target): Answer| self.send_one(&request, about, (piece, &text), Ok(target), &mut report);
        answers.into_iter().map(send).collect()
    }

    /// Determines the partner and settings of a document. `own` is the identity that the caller named, or the first of our files.
    fn target(
        &self,
        (own, is_named): (usize, bool),
        to: Option<usize>,
        rule: Option<RuleId>,
        piece: &Piece,
    ) -> Result<Target, Box<Finding>> {
        let book = self.book;
        let standard = piece.delimiters.standard;
        let own = match self.identified(standard, &piece.sender).filter(|number| book.partner(*number).is_own) {
            Some(named) if is_named && named != own => {
                let (named, own) = (&book.partner(named).name, &book.partner(own).name);
                let message = format!("the document names {named} as its sender, and it is to come from {own}");
                let finding = Finding::error(codes::OTHER_PARTNER, Fault::Config, message);
                return Err(Box::new(
                    finding.hint("leave --from away, or correct the sender in the document or the map"),
                ));
            }
            Some(named) => named,
            None => own,
        };
        let named = self.identified(standard, &piece.receiver);
        let partner = match to {
            Some(to) => {
                // A document that came to us may go on to a partner.
                let is_ours = named.is_some_and(|named| book.partner(named).is_own);
                let is_open = piece.receiver.1.is_empty() || piece.receiver.1 == PLACEHOLDER || is_ours;
                if !is_open && named != Some(to) {
                    let to = &book.partner(to).name;
                    let (qualifier, id) = &piece.receiver;
                    let other = match named {
                        Some(named) => book.partner(named).name.clone(),
                        None => format!("{qualifier}:{id}, which is not an identity of a partner,"),
                    };
                    let message = format!("the document names {other} as its receiver, and it is to go to {to}");
                    let finding = Finding::error(codes::OTHER_PARTNER, Fault::Config, message);
                    return Err(Box::new(
                        finding.hint("leave --to away, or correct the receiver in the document or the map"),
                    ));
                }
                Some(to)
            }
            None => named,
        };
        let Some(partner) = partner.filter(|number| !book.partner(*number).is_own) else {
            let (qualifier, id) = &piece.receiver;
            let message = if id.is_empty() || id == PLACEHOLDER {
                "the document names no partner as its receiver".to_owned()
            } else {
                format!("the document names {qualifier}:{id} as its receiver, which is not an identity of a partner")
            };
            let finding = Finding::error(codes::NO_PARTNER, Fault::Config, message);
            let hint =
                "name the partner with --to, or set interchange.receiver and interchange.receiver_qualifier in the map";
            return Err(Box::new(finding.hint(hint)));
        };
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

    /// Returns the file with an identity. Without a qualifier, the id suffices if only one file has it.
    fn identified(&self, standard: Standard, (qualifier, id): &(String, String)) -> Option<usize> {
        let book = self.book;
        if id == PLACEHOLDER || id.is_empty() {
            return None;
        }
        let exact = book.identified(standard, qualifier, id);
        if exact.is_some() || !qualifier.is_empty() {
            return exact;
        }
        let has_id = |number: &usize| {
            let identities = &book.partner(*number).identities;
            identities.iter().any(|known| known.standard == standard && known.id == *id)
        };
        let mut with_id = (0..book.partners().len()).filter(has_id);
        with_id.next().filter(|_| with_id.next().is_none())
    }

    /// Sends one document: it is enveloped at once, waits, or is rejected. `about` is the entry that it answers, or 0.
    fn send_one(
        &mut self,
        request: &SendRequest<'_>,
        about: EntryId,
        (piece, text): (Piece, &[u8]),
        target: Result<Target, Box<Finding>>,
        report: &mut SendReport,
    ) -> Result<EntryId, Findings> {
        let id = self.next_id()?;
        report.keep_entry(id);
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
            entry.details.rule = rule_name(book, rule);
            let digests = of.maps.iter().filter_map(|map| book.map(map).ok());
            entry.details.map = digests.map(|map| map.digits.as_str()).collect::<Vec<_>>().join(",");
            let value = |element: &str| piece.value(element).filter(|value| !value.is_empty()).map(str::to_owned);
            let fields = of.fields.iter().filter_map(|(name, element)| Some((name.clone(), value(element)?)));
            entry.details.fields = fields.collect();
        }
        let delimiters = delimiters_for(&target.settings, &piece);
        let shape = Shape::of(&target.settings, &delimiters);
        let written = in_character_set(text, &piece, shape.version())
            .and_then(|text| piece.written(text, &delimiters, shape.line_breaks()));
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
            self.wait(&target, &entry, &document, &shape, report)?;
            return Ok(id);
        }
        report.sent += 1;
        let route = Route::of(book, &target, &entry, shape);
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
        report.find(entry.id, finding);
        Ok(())
    }

    /// Stores a document that the map rejected, in the form of its source.
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
        report.keep_entry(id);
        let now = self.now_ms();
        let book = self.book;
        let mut details = Details {
            document: request.document.to_owned(),
            own: book.partner(own).name.clone(),
            bytes: bytes.len() as u64,
            source: request.name.to_owned(),
            rule: rule.map(|id| rule_name(book, id)).unwrap_or_default(),
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
        findings.iter().for_each(|finding| report.find(id, finding));
        Ok(())
    }
}

pub(crate) fn no_bytes(id: EntryId) -> Findings {
    let message = format!("the bytes of entry {id} are not kept");
    let finding = Finding::error(codes::NO_BYTES, Fault::Caller, message);
    finding.hint("`keep = \"all\"` in the partner's settings keeps the bytes of later documents").into()
}

/// Converts the text of a document to the character set of the partner's interchanges.
pub(crate) fn in_character_set<'t>(text: &'t [u8], piece: &Piece, version: &str) -> Result<Cow<'t, [u8]>, Findings> {
    let Some((syntax, _)) = version.split_once(':').filter(|_| piece.delimiters.standard == Standard::Edifact) else {
        return Ok(Cow::Borrowed(text));
    };
    quayline_edi::in_character_set(text, piece.syntax.as_bytes(), syntax.as_bytes()).map_err(|missing| {
        let message = format!(
            "{syntax}, the character set of the partner's interchanges, does not have a character of the document (written in {})",
            piece.syntax
        );
        let place = Place { byte: Some(ByteOffset(missing.offset as u64)), ..Place::default() };
        let finding = Finding::error(codes::CHARACTER, Fault::Config, message).at(place);
        let hint = "agree with the partner on a `version` whose set has the character, such as UNOW:4, or UNOX for a document in UNOX; or replace the character in the map";
        finding.hint(hint).into()
    })
}
