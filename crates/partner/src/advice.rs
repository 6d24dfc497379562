//! Application advices (X12 824, EDIFACT APERAK): reports of the receiver's application on a document whose syntax is valid.
//!
//! | | 824 | APERAK (D.96A) |
//! |---|---|---|
//! | is about | OTI08 and OTI09: numbers of group and transaction | RFF+ACE and RFF+ACW: references of interchange and message |
//! | accepts or rejects | OTI01: TA, TC, TE, TP, TR | BGM: 1225 27 not accepted, 29 accepted; without it 4343, then 1001 312 or 313, then ERC |
//! | says why | TED, NTE | ERC, FTX+AAO |
//!
//! Advices are documents: they have groups (AG) or messages like others, by the settings of the partner, and are acknowledged by 997 or CONTRL.
//! An advice is never answered by an advice.

use std::collections::HashMap;

use quayline_core::{Fault, Finding, Findings, Limits};
use quayline_edi::acknowledge::Stamp;
use quayline_edi::{EndOfInput, EnvelopeReader, Event, Header, Rules, Segment, Standard};
use quayline_project::partner::{AdviceKind, Settings};

use crate::advice_text::{AdviceText, Loss, REASONS_MAX, ted_and_nte};
use crate::book::{LoadedGuides, PLACEHOLDER};
use crate::codes;
use crate::desk::Desk;
use crate::details::{Details, StoredFinding};
use crate::entry::{EntryId, Kind, State, Way};
use crate::work::Work;
use crate::write::{Shape, delimiters_for, standard_of};

/// Outcome that the receiver's application reports for a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AdviceOutcome {
    /// The document was accepted.
    Accepted,
    /// The document was accepted although it has errors.
    AcceptedWithErrors,
    /// The document was rejected.
    Rejected,
}

impl AdviceOutcome {
    /// Every word, in the order of the outcomes.
    pub const WORDS: &'static [&'static str] = &["accepted", "accepted-with-errors", "rejected"];

    /// Returns the outcome with this name.
    #[must_use]
    pub fn named(word: &str) -> Option<AdviceOutcome> {
        match word {
            "accepted" => Some(AdviceOutcome::Accepted),
            "accepted-with-errors" => Some(AdviceOutcome::AcceptedWithErrors),
            "rejected" => Some(AdviceOutcome::Rejected),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            AdviceOutcome::Accepted => "accepted",
            AdviceOutcome::AcceptedWithErrors => "accepted with errors",
            AdviceOutcome::Rejected => "rejected",
        }
    }

    fn oti(self) -> &'static str {
        match self {
            AdviceOutcome::Accepted => "TA",
            AdviceOutcome::AcceptedWithErrors => "TE",
            AdviceOutcome::Rejected => "TR",
        }
    }
}

/// Returns true if documents of this type are application advices.
pub(crate) fn is_advice(document: &str) -> bool {
    matches!(document, "824" | "APERAK")
}

/// Returns the guides that check a transaction. Guides of partners describe their documents. Without a guide for advices, Quayline checks only the
/// envelope of an advice.
pub(crate) fn guides_for<'g>(
    guides: Option<&'g LoadedGuides>,
    transaction: &Header,
    group: Option<&Header>,
) -> Option<&'g LoadedGuides> {
    let kind = transaction.transaction_type();
    guides.filter(|guides| !matches!(&kind[..], b"824" | b"APERAK") || guides.set.choose(transaction, group).is_some())
}

/// Maximum number of documents in one advice. Quayline reports the others in a finding.
const ADVICES_MAX: usize = 10_000;

/// Characters of a reason that are kept.
const REASON_CHARACTERS_MAX: usize = 256;

/// Report of an advice on one document or group.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Advice {
    /// A document, or a group with all of its documents.
    pub(crate) kind: Kind,
    /// Number of the group, or for EDIFACT of the interchange.
    pub(crate) around: String,
    /// Number of the transaction; empty for a group.
    pub(crate) number: String,
    /// ST01; empty where the advice does not say it.
    pub(crate) document: String,
    /// State that the advice gives the document, or `None` if the standard does not define the code.
    pub(crate) state: Option<State>,
    /// Reasons in the partner's words.
    pub(crate) reasons: Vec<String>,
}

impl Advice {
    fn add(&mut self, reason: String) {
        if !reason.is_empty() && self.reasons.len() < REASONS_MAX {
            self.reasons.push(reason.chars().take(REASON_CHARACTERS_MAX).collect());
        }
    }

    /// Combines two answers about the same document: the worse outcome applies, with the reasons of both.
    fn join(&mut self, other: Advice) {
        let rank = |state: Option<State>| match state {
            None => 0,
            Some(State::Accepted) => 1,
            Some(State::AcceptedWithErrors) => 2,
            Some(State::PartlyAccepted) => 3,
            Some(_) => 4,
        };
        if rank(other.state) > rank(self.state) {
            self.state = other.state;
        }
        other.reasons.into_iter().for_each(|reason| self.add(reason));
    }
}

fn value(segment: &Segment<'_>, element: usize, component: usize) -> String {
    let part = segment.element(element).and_then(|element| element.component(component));
    let mut scratch = Vec::new();
    let data = part.map(|part| part.data(&mut scratch).bytes().to_vec()).unwrap_or_default();
    crate::time::text_of(data.trim_ascii())
}

/// Statements of an 824 or APERAK, by document.
#[derive(Default)]
pub(crate) struct Advices {
    /// Statements, one for each document or group, at most [`ADVICES_MAX`].
    pub(crate) all: Vec<Advice>,
    /// True if the advice names more documents or groups than are kept.
    pub(crate) is_cut: bool,
    /// Position of each document in `all`, by the number of its group or interchange and its own number.
    places: HashMap<(String, String), usize>,
    /// Place of the document to which the next reasons belong.
    current: Option<usize>,
}

impl Advices {
    /// Adds a statement. An advice may name parts of one document several times; the worst answer applies.
    fn add(&mut self, advice: Advice) {
        let key = (advice.around.clone(), advice.number.clone());
        self.current = match self.places.get(&key) {
            Some(place) => {
                self.all[*place].join(advice);
                Some(*place)
            }
            None if self.all.len() < ADVICES_MAX => {
                self.places.insert(key, self.all.len());
                self.all.push(advice);
                Some(self.all.len() - 1)
            }
            None => {
                self.is_cut = true;
                None
            }
        };
    }

    fn add_reason(&mut self, reason: String) {
        if let Some(place) = self.current {
            self.all[place].add(reason);
        }
    }
}

/// Reads an 824 or APERAK that is alone in its interchange.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Advices {
    let mut reader = EnvelopeReader::new(limits, Rules::Lenient);
    let mut pass = reader.over(bytes, EndOfInput::Yes);
    let mut found = Advices::default();
    let mut message = Message::default();
    loop {
        match pass.advance() {
            Event::Segment if pass.in_transaction() => {
                let segment = pass.segment();
                match segment.delimiters().standard {
                    Standard::X12 => of_x12(&segment, &mut found),
                    Standard::Edifact => message.segment(&segment),
                }
            }
            Event::TransactionEnd(_) if pass.delimiters().standard == Standard::Edifact => {
                found.add(std::mem::take(&mut message).end());
            }
            Event::Done => break,
            _ => {}
        }
    }
    found
}

fn of_x12(segment: &Segment<'_>, found: &mut Advices) {
    match segment.tag() {
        b"OTI" => {
            let number = value(segment, 9, 1);
            found.add(Advice {
                kind: if number.is_empty() { Kind::Group } else { Kind::Transaction },
                around: value(segment, 8, 1),
                number,
                document: value(segment, 10, 1),
                state: state_of_oti(&value(segment, 1, 1)),
                reasons: Vec::new(),
            });
        }
        b"TED" => {
            let (code, text) = (value(segment, 1, 1), value(segment, 2, 1));
            let place = [3, 4, 5].map(|element| value(segment, element, 1)).join(" ");
            let text = if text.is_empty() { format!("error condition {code}") } else { text };
            let place = place.trim();
            found.add_reason(if place.is_empty() { text } else { format!("{text} (at {place})") });
        }
        b"NTE" => found.add_reason(value(segment, 2, 1)),
        _ => {}
    }
}

/// Converts OTI01 into a state. Its first letter is the level (group, transaction, or a batch or item in it), its second the outcome.
fn state_of_oti(code: &str) -> Option<State> {
    let mut letters = code.chars();
    let (level, outcome) = (letters.next()?, letters.next()?);
    match (level, outcome) {
        ('G' | 'T' | 'B' | 'I', 'A') => Some(State::Accepted),
        ('G' | 'T' | 'B' | 'I', 'C' | 'E') => Some(State::AcceptedWithErrors),
        ('G' | 'T' | 'B' | 'I', 'P') => Some(State::PartlyAccepted),
        ('G' | 'T', 'R') => Some(State::Refused),
        // A part of the document.
        ('B' | 'I', 'R') => Some(State::PartlyAccepted),
        _ => None,
    }
}

/// An APERAK that is read.
#[derive(Default)]
struct Message {
    /// Data element 1001: 312 for an acknowledgment, 313 for an application error.
    name: String,
    /// Data element 1225.
    function: String,
    /// Data element 4343.
    response: String,
    around: String,
    number: String,
    has_errors: bool,
    reasons: Vec<String>,
}

impl Message {
    fn segment(&mut self, segment: &Segment<'_>) {
        match segment.tag() {
            b"BGM" => {
                self.name = value(segment, 1, 1);
                self.function = value(segment, 3, 1);
                self.response = value(segment, 4, 1);
            }
            b"RFF" => {
                let kept = match value(segment, 1, 1).as_str() {
                    "ACE" => &mut self.around,
                    "ACW" => &mut self.number,
                    _ => return,
                };
                if kept.is_empty() {
                    *kept = value(segment, 1, 2);
                }
            }
            b"ERC" => {
                self.has_errors = true;
                self.reasons.push(format!("error {}", value(segment, 1, 1)));
            }
            b"FTX" => {
                let lines: Vec<String> = (1..=5).map(|line| value(segment, 4, line)).collect();
                self.reasons.push(lines.concat());
            }
            _ => {}
        }
        self.reasons.truncate(4 * REASONS_MAX);
    }

    fn end(self) -> Advice {
        let accepted = if self.has_errors { State::AcceptedWithErrors } else { State::Accepted };
        // Most partners omit function and response. In this case, the name decides. Without it, an error means a refusal.
        let by_function = match self.function.as_str() {
            "10" | "12" | "27" => Some(State::Refused),
            "45" => Some(State::AcceptedWithErrors),
            "28" | "29" | "30" | "34" | "44" => Some(accepted),
            _ => None,
        };
        let by_response = || match self.response.as_str() {
            "RE" => Some(State::Refused),
            "CA" => Some(State::AcceptedWithErrors),
            "AC" | "AD" | "AI" | "AP" => Some(accepted),
            _ => None,
        };
        let by_name = || match self.name.as_str() {
            "312" => Some(accepted),
            "313" => Some(State::Refused),
            _ => None,
        };
        let by_errors = if self.has_errors { State::Refused } else { State::Accepted };
        let state = by_function.or_else(by_response).or_else(by_name).unwrap_or(by_errors);
        let mut advice = Advice {
            kind: Kind::Transaction,
            around: self.around,
            number: self.number,
            document: String::new(),
            state: Some(state),
            reasons: Vec::new(),
        };
        self.reasons.into_iter().for_each(|reason| advice.add(reason));
        advice
    }
}

/// The document that an advice is about.
struct About<'a> {
    entry: EntryId,
    number: &'a str,
    details: &'a Details,
}

/// Returns the errors among findings as readable reasons: code and message, without content of the document.
fn reasons_of(findings: &[StoredFinding]) -> Vec<String> {
    let errors = findings.iter().filter(|finding| finding.severity == "error");
    errors.map(|finding| format!("{} {}", finding.code, finding.message)).collect()
}

/// Writes an 824 as a separate interchange with the partner's delimiters, whose headers are replaced when it is enveloped.
fn written_824(
    about: &About<'_>,
    outcome: AdviceOutcome,
    reasons: &[String],
    stamp: &Stamp,
    form: &AdviceText,
    loss: &mut Loss,
) -> Vec<u8> {
    let text = |bytes: &[u8]| crate::time::text_of(bytes);
    let (date, short, time) = (text(stamp.date()), text(stamp.short_date()), text(stamp.time()));
    let details = about.details;
    let version: String = details.version.chars().take(6).filter(char::is_ascii_digit).collect();
    let version = if version.len() == 6 { version } else { "005010".to_owned() };
    let number = form.reference(about.number, loss);
    let field = details.fields.first().map(|(_, value)| form.reference(value, loss)).filter(|value| !value.is_empty());
    // OTI03 has 30 characters in 004010 and 50 in later versions.
    let most = if version.as_str() < "004030" { 30 } else { 50 };
    let whole = field.unwrap_or_else(|| number.clone());
    let reference: String = whole.chars().take(most).collect();
    loss.cut += usize::from(reference.len() < whole.len());
    let d = &form.delimiters;
    let element = char::from(d.element).to_string();
    let segment = |elements: &[&str]| elements.join(&element);
    let entry = about.entry.to_string();
    let mut segments = vec![segment(&["ST", "824", "0001"]), segment(&["BGN", "11", &entry, &date, &time])];
    let (group, document) = (form.reference(&details.group, loss), form.reference(&details.document, loss));
    let oti = ["OTI", outcome.oti(), "TN", &reference, "", "", "", ""];
    segments.push(if group.is_empty() {
        segment(&[&oti[..], &["", "", &document]].concat())
    } else {
        segment(&[&oti[..], &[&group, &number, &document, &version]].concat())
    });
    for reason in reasons {
        let (first, rest) = ted_and_nte(reason);
        segments.push(segment(&["TED", "024", first]));
        segments.extend(rest.into_iter().map(|piece| segment(&["NTE", "", piece])));
    }
    let count = (segments.len() + 1).to_string();
    segments.push(segment(&["SE", &count, "0001"]));
    let party = format!("{PLACEHOLDER:15}");
    let blanks = " ".repeat(10);
    let (separator, version_of_isa) =
        d.repetition.map_or(("U".to_owned(), "00401"), |byte| (char::from(byte).to_string(), "00501"));
    let isa = segment(&[
        "ISA",
        "00",
        &blanks,
        "00",
        &blanks,
        "ZZ",
        &party,
        "ZZ",
        &party,
        &short,
        &time,
        &separator,
        version_of_isa,
        "000000001",
        "0",
        "P",
        &char::from(d.component).to_string(),
    ]);
    let mut all = vec![isa, segment(&["GS", "AG", PLACEHOLDER, PLACEHOLDER, &date, &time, "1", "X", &version])];
    all.append(&mut segments);
    all.extend([segment(&["GE", "1", "1"]), segment(&["IEA", "1", "000000001"])]);
    form.encoded(all.into_iter().map(|one| one + &char::from(d.terminator).to_string()).collect())
}

/// Writes an APERAK as a separate interchange with the partner's delimiters and character set.
fn written_aperak(
    about: &About<'_>,
    outcome: AdviceOutcome,
    reasons: &[String],
    stamp: &Stamp,
    form: &AdviceText,
    loss: &mut Loss,
) -> Vec<u8> {
    let text = |bytes: &[u8]| crate::time::text_of(bytes);
    let (date, short, time) = (text(stamp.date()), text(stamp.short_date()), text(stamp.time()));
    let details = about.details;
    let (name, function) = if outcome == AdviceOutcome::Rejected { ("313", "27") } else { ("312", "29") };
    let d = &form.delimiters;
    let (element, component) = (char::from(d.element).to_string(), char::from(d.component).to_string());
    let segment = |elements: &[&str]| elements.join(&element);
    let composite = |components: &[&str]| components.join(&component);
    let mut referred = |qualifier: &str, value: &str| {
        let value = form.reference(value, loss);
        segment(&["RFF", &composite(&[qualifier, &form.released(&value)])])
    };
    let mut segments = vec![
        segment(&["UNH", "1", &composite(&["APERAK", "D", "96A", "UN"])]),
        segment(&["BGM", name, &about.entry.to_string(), function]),
        segment(&["DTM", &composite(&["137", &format!("{date}{time}"), "203"])]),
        referred("ACE", &details.interchange),
        referred("ACW", about.number),
    ];
    if let Some((_, whole)) = details.fields.first() {
        let field: String = whole.chars().take(35).collect();
        segments.push(referred("AGO", &field));
        loss.cut += usize::from(field.len() < whole.len());
    }
    for reason in reasons {
        let (code, lines) = form.kept_lines(reason);
        segments.push(segment(&["ERC", code]));
        let lines: Vec<String> = lines.into_iter().map(|line| form.released(line)).collect();
        segments.push(segment(&["FTX", "AAO", "", "", &lines.join(&component)]));
    }
    let count = (segments.len() + 1).to_string();
    segments.push(segment(&["UNT", &count, "1"]));
    let service = [d.component, d.element, d.decimal_mark, d.release.unwrap_or(b' '), d.repetition.unwrap_or(b' ')];
    let una: String = service.iter().chain([&d.terminator]).map(|byte| char::from(*byte)).collect();
    let day = if form.syntax_version() == "4" { &date } else { &short };
    let syntax = composite(&form.version.split(':').collect::<Vec<_>>());
    let unb = segment(&["UNB", &syntax, PLACEHOLDER, PLACEHOLDER, &composite(&[day, &time]), "1"]);
    let mut all = vec![unb];
    all.append(&mut segments);
    all.push(segment(&["UNZ", "1", "1"]));
    let text: String = all.into_iter().map(|one| one + &char::from(d.terminator).to_string()).collect();
    form.encoded(format!("UNA{una}{text}"))
}

impl Desk<'_> {
    /// Sends an advice about a received document (`entry`, with this number and these details) in the open unit of work. Returns the entry of the
    /// advice and a warning about what it does not say, or the reason why none was sent.
    pub(crate) fn advise_of(
        &mut self,
        (entry, number, details): (EntryId, &str, &Details),
        parties: (usize, usize),
        (outcome, texts): (AdviceOutcome, &[String]),
    ) -> Result<Result<(EntryId, Option<Finding>), Finding>, Findings> {
        let stamp = Stamp::from_unix(self.now_ms() / 1_000);
        let about = About { entry, number, details };
        let not_advised = |message: &str, hint: Option<String>| {
            let message = format!("Quayline cannot advise the partner: {message}");
            let finding = Finding::warning(codes::NOT_ADVISED, Fault::Config, message);
            finding.hint(
                hint.unwrap_or_else(|| "correct the partner file, then run `quayline transaction advise`".to_owned()),
            )
        };
        let standard = standard_of(&details.standard);
        let write = match standard {
            Standard::X12 => written_824,
            Standard::Edifact => written_aperak,
        };
        // An advice without reasons and references leads to the partner's settings.
        let (nothing, usual) = (Details::default(), AdviceText::usual(standard));
        let bare = About { entry, number: "1", details: &nothing };
        let bare = write(&bare, outcome, &[], &stamp, &usual, &mut Loss::default());
        let form = self.prepare_answer(parties, details.test, &bare).map(|answers| {
            answers.first().map_or(usual, |(piece, _, target)| {
                let delimiters = delimiters_for(&target.settings, piece);
                let version = Shape::of(&target.settings, &delimiters).version().to_owned();
                AdviceText { delimiters, version }
            })
        });
        let mut loss = Loss::default();
        let edi = match form {
            Ok(form) => {
                let reasons = match outcome {
                    AdviceOutcome::Accepted => Vec::new(),
                    _ if texts.is_empty() => form.close(&reasons_of(&details.findings), &mut loss),
                    _ => form.exact(texts)?,
                };
                Ok(write(&about, outcome, &reasons, &stamp, &form, &mut loss))
            }
            Err(found) => Err(found),
        };
        let mark = self.mark()?;
        let sent = edi
            .and_then(|edi| self.prepare_answer(parties, details.test, &edi))
            .and_then(|answers| self.answer(entry, answers));
        let refused = match sent {
            Ok(entries) => {
                let advice = *entries.first().expect("an advice is one document");
                let ledger = self.ledger;
                let written = ledger.need(self.unit()?, advice)?;
                if written.state != State::Rejected {
                    return Ok(Ok((advice, loss.finding())));
                }
                // The partner's delimiters or character set do not allow the text.
                let first = written.details.findings.into_iter().find(|finding| finding.severity == "error");
                first.map_or_else(
                    || not_advised("the partner's settings do not allow the text", None),
                    |first| not_advised(&first.message, Some(first.hint).filter(|hint| !hint.is_empty())),
                )
            }
            // A problem of the store or a folder, such as a lock of another worker, also stops the document. The next run processes it again.
            Err(Findings(found)) if found.iter().any(|one| one.fault != Fault::Config) => {
                return Err(Findings(found));
            }
            Err(Findings(found)) => {
                let first = found.into_iter().next().expect("an error has a finding");
                not_advised(&first.message, first.hint)
            }
        };
        self.back_to(mark)?;
        Ok(Err(refused))
    }

    /// Advises the partner of a received document by command. Without texts, the reasons are the findings of the document.
    ///
    /// # Errors
    /// The entry is not a received document of a partner, or the partner cannot be advised.
    pub fn advise(&mut self, id: EntryId, outcome: AdviceOutcome, texts: &[String]) -> Result<EntryId, Findings> {
        let done = self.advise_one(id, outcome, texts).and_then(|advice| self.finish().map(|()| advice));
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    fn advise_one(&mut self, id: EntryId, outcome: AdviceOutcome, texts: &[String]) -> Result<EntryId, Findings> {
        let ledger = self.ledger;
        let mut entry = ledger.locked(self.unit()?, id)?;
        let is_answer = matches!(entry.details.document.as_str(), "997" | "999" | "CONTRL");
        if outcome == AdviceOutcome::Accepted && !texts.is_empty() {
            let hint = "omit the text, or advise with the outcome accepted-with-errors";
            return Err(Finding::error(codes::STATE, Fault::Caller, "an accepted document has no reasons")
                .hint(hint)
                .into());
        }
        if entry.kind != Kind::Transaction || entry.way != Way::Received || entry.partner.is_empty() {
            let message = format!("entry {id} is not a document that a partner sent");
            let hint = "name the entry of a received document; `quayline transaction list --received` lists them";
            return Err(Finding::error(codes::STATE, Fault::Caller, message).hint(hint).into());
        }
        if is_answer || is_advice(&entry.details.document) {
            let message = format!("entry {id} is an acknowledgment or advice, and an advice cannot answer it");
            let hint = "name the entry of a document, such as an order";
            return Err(Finding::error(codes::STATE, Fault::Caller, message).hint(hint).into());
        }
        let parties = self.parties_named(&entry.details.own, &entry.partner)?;
        let number = entry.number.clone();
        let (advice, warning) =
            self.advise_of((id, &number, &entry.details), parties, (outcome, texts))?.map_err(Findings::from)?;
        entry.details.add_findings(&warning);
        advised(&mut entry.details, self.now_ms(), outcome, advice);
        ledger.update(self.unit()?, &entry)?;
        Ok(advice)
    }
}

impl Work<'_> {
    /// Advises the sender that a map rejected the document, if the settings want that.
    pub(crate) fn advise(&mut self, desk: &mut Desk<'_>, number: &str, settings: &Settings) -> Result<(), Findings> {
        let Some(partner) = self.partner else { return Ok(()) };
        let is_wanted = self.is_refused_by_map && !is_advice(&self.details.document);
        if !is_wanted || !wants(settings.advise.as_ref(), &self.details.standard) {
            return Ok(());
        }
        let outcome = AdviceOutcome::Rejected;
        match desk.advise_of((self.id, number, &self.details), (self.own, partner), (outcome, &[]))? {
            Ok((advice, warning)) => {
                advised(&mut self.details, desk.now_ms(), outcome, advice);
                if let Some(warning) = warning {
                    self.find(warning);
                }
            }
            Err(finding) => self.find(finding),
        }
        Ok(())
    }
}

/// Notes an advice in the entry that it is about.
fn advised(details: &mut Details, now_ms: u64, outcome: AdviceOutcome, advice: EntryId) {
    details.answered_by = advice.0;
    details.happened(now_ms, format!("the partner was advised in entry {advice}: {}", outcome.name()));
}

/// Returns true if the settings request an advice for a rejected document of a standard.
fn wants(kinds: Option<&Vec<AdviceKind>>, standard: &str) -> bool {
    let kind = if standard == "X12" { AdviceKind::Application } else { AdviceKind::Aperak };
    kinds.is_some_and(|kinds| kinds.contains(&kind))
}
