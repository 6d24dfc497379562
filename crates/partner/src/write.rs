//! An interchange of documents: its numbers, its entries, its bytes and its delivery, in the unit of work that is open.

use std::sync::Arc;

use quayline_core::{Fault, Finding, Findings};
use quayline_edi::acknowledge::Stamp;
use quayline_edi::{Delimiters, Level, Standard};
use quayline_project::partner::{AckKind, KeepPolicy, NumberRange, Settings, delimiters_of};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::book::Book;
use crate::codes;
use crate::defaults::{DUE_S, KEEP_DAYS, default_folder};
use crate::desk::Desk;
use crate::details::Details;
use crate::entry::{Entry, EntryId, Kind, Part, State, Way, context_of, group_context, transaction_context};
use crate::envelope::{Envelope, EnvelopeText, Party, Piece, has_repetition};
use crate::outputs::OutputKind;
use crate::rules::RuleId;
use crate::send_request::SendReport;
use crate::send_target::Target;

impl Desk<'_> {
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
        let envelope = self.envelope(route, now)?;
        // Documents of one kind in one group, in the order in which they came. In EDIFACT, all are together.
        documents.sort_by(|a, b| match standard {
            Standard::X12 => (&a.functional, &a.version, a.id).cmp(&(&b.functional, &b.version, b.id)),
            Standard::Edifact => a.id.cmp(&b.id),
        });
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
                if !text.transaction(&document.text, &taken) {
                    let message = format!("waiting document {} has other delimiters than its envelope", document.id);
                    let hint =
                        "restore the partner's `delimiters` of the time when it was sent, and release the envelope";
                    return Err(Finding::error(codes::DELIMITER, Fault::Config, message).hint(hint).into());
                }
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
        let due = now + settings.due.map_or(DUE_S, |due| due.seconds) * 1_000;
        let (state_of_groups, state) = expected(&settings, standard);
        let details = Details {
            standard: standard.name().to_owned(),
            own: book.partner(route.own).name.clone(),
            sender: sender.clone(),
            receiver: receiver.clone(),
            interchange: number.clone(),
            test: route.test,
            rule: route.rule.clone(),
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
        let place = self.deliver(&to, OutputKind::Interchange, (interchange, 0), &name, bytes.as_slice().into())?;
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

    fn envelope(&self, route: &Route, now_ms: u64) -> Result<Envelope, Findings> {
        let book = self.book;
        let shape = &route.shape;
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
        for (name, value) in &shape.fields {
            fields.push((name.clone(), book.field_value(route.standard, name, value)?));
        }
        let is_x12 = route.standard == Standard::X12;
        let envelope = Envelope {
            delimiters: shape.delimiters(route.standard),
            version: shape.version.clone(),
            sender: party(route.own)?,
            receiver: party(route.partner)?,
            test: route.test,
            stamp: Stamp::from_unix(now_ms / 1_000),
            fields,
            line_breaks: shape.line_breaks,
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

/// Returns the initial states of sent groups and interchanges, which depend on the expected acknowledgments.
pub(crate) fn expected(settings: &Settings, standard: Standard) -> (State, State) {
    let state = |kinds: &[AckKind]| {
        if settings.expect.iter().flatten().any(|kind| kind.standard() == standard && kinds.contains(kind)) {
            State::Expecting
        } else {
            State::Sent
        }
    };
    (state(&[AckKind::Functional, AckKind::Implementation]), state(&[AckKind::Ta1, AckKind::Contrl]))
}

/// A document to be put into an interchange.
pub(crate) struct Document {
    pub(crate) id: EntryId,
    pub(crate) functional: String,
    pub(crate) version: String,
    pub(crate) text: Vec<u8>,
    /// The entry, if it is not in the store yet; it is then added once, with its numbers.
    pub(crate) entry: Option<Box<Entry>>,
}

/// Parties and settings of an interchange.
pub(crate) struct Route {
    pub(crate) own: usize,
    pub(crate) partner: usize,
    pub(crate) standard: Standard,
    pub(crate) test: bool,
    /// The rule whose settings apply, as `OWNER/NAME`; empty where those of the partner do.
    pub(crate) rule: String,
    pub(crate) settings: Arc<Settings>,
    pub(crate) shape: Shape,
}

impl Route {
    pub(crate) fn of(book: &Book, target: &Target, entry: &Entry, shape: Shape) -> Self {
        Route {
            own: target.own,
            partner: target.partner,
            standard: standard_of(&entry.details.standard),
            test: entry.details.test,
            rule: rule_with_settings(book, target.rule),
            settings: Arc::clone(&target.settings),
            shape,
        }
    }
}

/// Returns the standard with this name.
pub(crate) fn standard_of(name: &str) -> Standard {
    if name == "X12" { Standard::X12 } else { Standard::Edifact }
}

/// Returns the name of a rule for entries.
pub(crate) fn rule_name(book: &Book, rule: RuleId) -> String {
    format!("{}/{}", book.partner(rule.owner).name, book.rule(rule).name)
}

/// Returns `OWNER/NAME` of the rule if it has settings. Documents of rules without settings share their envelopes.
pub(crate) fn rule_with_settings(book: &Book, rule: Option<RuleId>) -> String {
    rule.filter(|rule| !Settings::are_none(&book.rule(*rule).settings))
        .map(|rule| rule_name(book, rule))
        .unwrap_or_default()
}

/// Format of an interchange's bytes. Documents are written in this format when they start to wait, so their envelope stores it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Shape {
    /// Component, element, decimal mark, release character, repetition and terminator; 0 for an absent delimiter.
    delimiters: [u8; 6],
    /// ISA12, or syntax identifier and version.
    version: String,
    line_breaks: bool,
    /// Header fields; secrets are references.
    fields: Vec<(String, String)>,
}

impl Shape {
    pub(crate) fn of(settings: &Settings, delimiters: &Delimiters) -> Shape {
        Shape {
            delimiters: [
                delimiters.component,
                delimiters.element,
                delimiters.decimal_mark,
                delimiters.release.unwrap_or(0),
                delimiters.repetition.unwrap_or(0),
                delimiters.terminator,
            ],
            version: version_of(settings, delimiters.standard).to_owned(),
            line_breaks: settings.line_breaks.unwrap_or(false),
            fields: settings.fields.clone().unwrap_or_default(),
        }
    }

    /// Returns the format by the current settings, for documents that started to wait in a version that did not store it.
    pub(crate) fn of_now(settings: &Settings, standard: Standard) -> Shape {
        Shape::of(settings, &delimiters_of_settings(settings, standard))
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn line_breaks(&self) -> bool {
        self.line_breaks
    }

    pub(crate) fn delimiters(&self, standard: Standard) -> Delimiters {
        let [component, element, decimal_mark, release, repetition, terminator] = self.delimiters;
        let given = |byte: u8| (byte != 0).then_some(byte);
        let (release, repetition) = (given(release), given(repetition));
        Delimiters { standard, component, element, decimal_mark, release, repetition, terminator }
    }

    /// Returns the key of the envelope for the documents of an entry: a digest, because the names are too long for a key.
    pub(crate) fn key(&self, entry: &Entry, rule: &str) -> [u8; 16] {
        let Details { own, standard, test, .. } = &entry.details;
        let shape = serde_json::to_string(self).expect("texts and numbers");
        let text = format!("{own}\u{1f}{}\u{1f}{standard}\u{1f}{test}\u{1f}{rule}\u{1f}{shape}", entry.partner);
        xxh3_128(text.as_bytes()).to_be_bytes()
    }
}

/// Returns the version of the partner's interchanges: ISA12, or syntax identifier and version.
fn version_of(settings: &Settings, standard: Standard) -> &str {
    settings.version(standard).unwrap_or(if standard == Standard::X12 { "00501" } else { "UNOC:3" })
}

fn delimiters_of_settings(settings: &Settings, standard: Standard) -> Delimiters {
    let usual = if standard == Standard::X12 { Delimiters::X12 } else { Delimiters::EDIFACT };
    let given = settings.delimiters(standard).and_then(|text| delimiters_of(text, standard)).unwrap_or(usual);
    let repetition = given.repetition.filter(|_| has_repetition(standard, version_of(settings, standard)));
    Delimiters { repetition, ..given }
}

pub(crate) fn delimiters_for(settings: &Settings, piece: &Piece) -> Delimiters {
    let wanted = delimiters_of_settings(settings, piece.delimiters.standard);
    Delimiters { decimal_mark: piece.delimiters.decimal_mark, ..wanted }
}
