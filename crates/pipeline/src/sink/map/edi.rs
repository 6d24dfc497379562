//! Documents as drafts of interchanges. The writer, which tracks the open envelopes, writes them.

use std::sync::Arc;

use quayline_core::{Finding, NodeId, Sink, Value};
use quayline_edi::{CountedNumbers, EdiDraft, EdiDrafter, EdiWriterOptions, HeaderField, Level, Standard};

use super::part::Part;
use super::world::EnvelopeSet;
use crate::payload::Payload;
use crate::target::OutputExtent;

/// Drafts of the documents of a lane.
pub(crate) struct EdiPart {
    drafter: EdiDrafter,
    standard: Option<Standard>,
    drafts: Vec<EdiDraft>,
    kept: usize,
    pending: bool,
    /// Envelope values that the source document had set when the pending document ended.
    set_before: Vec<(String, String)>,
    /// Documents of the source document before the pending one, each with that. The source document may still set values for them.
    waiting: Vec<(EdiDraft, Vec<(String, String)>)>,
    set: EnvelopeSet,
    /// Default envelope values of the run, for those that neither map nor document sets.
    defaults: Arc<[(String, String)]>,
    envelope: Vec<(String, String)>,
}

impl EdiPart {
    pub(crate) fn new(options: &EdiWriterOptions, defaults: Arc<[(String, String)]>) -> Self {
        let drafter = options.guides.as_ref().map_or_else(EdiDrafter::new, EdiDrafter::by_guide);
        let standard = options.guides.as_ref().map(|documents| documents.guides().compiled(0).standard());
        EdiPart {
            drafter,
            standard,
            drafts: Vec::new(),
            kept: 0,
            pending: false,
            set_before: Vec::new(),
            waiting: Vec::new(),
            set: EnvelopeSet::default(),
            defaults,
            envelope: Vec::new(),
        }
    }

    /// Fills the header fields that are still empty.
    fn fill_all(&mut self, values: &[(String, String)]) {
        // An address is a pair: combined with a party of another source, the qualifier would identify a different party.
        let is_other = |party: &str| {
            let own = self.drafter.field(Level::Interchange, party);
            let given = values.iter().find(|(name, _)| field_name(name) == party);
            !own.is_empty() && given.is_some_and(|(_, value)| value.as_bytes() != own)
        };
        let others: Vec<&str> = ["sender", "receiver"].into_iter().filter(|party| is_other(party)).collect();
        for (name, value) in values {
            let party = field_name(name).strip_suffix("_qualifier");
            let is_usual = self.standard == Some(Standard::X12) && value == USUAL_QUALIFIER;
            if is_usual || party.is_none_or(|party| !others.contains(&party)) {
                fill(&mut self.drafter, name, value);
            }
        }
    }

    /// Moves the pending document to those that wait for the end of the source document.
    fn wait_pending(&mut self) {
        if core::mem::take(&mut self.pending) {
            let set = core::mem::take(&mut self.set_before);
            self.waiting.extend(self.drafter.take(None).map(|draft| (draft, set)));
        }
    }

    /// Ends the documents of the source document. Values set before a document ended take precedence over those set later.
    fn end_all(&mut self) {
        if !self.waiting.is_empty() {
            self.wait_pending();
            for (draft, set) in core::mem::take(&mut self.waiting) {
                self.drafter.put_back(draft);
                self.end(&set);
            }
        } else if core::mem::take(&mut self.pending) {
            let set = core::mem::take(&mut self.set_before);
            self.end(&set);
        }
    }

    /// Ends the document in the drafter.
    fn end(&mut self, set: &[(String, String)]) {
        self.fill_all(set);
        self.fill_all(&Arc::from(&self.envelope[..]));
        self.fill_all(&Arc::clone(&self.defaults));
        if self.standard == Some(Standard::X12) {
            self.drafter.fill_group();
        }
        self.drafts.extend(self.drafter.take(None));
    }
}

/// I05, code ZZ: mutually defined; the default qualifier of a party without one.
const USUAL_QUALIFIER: &str = "ZZ";

/// Returns the default header fields: the values that a standard and a guide require, and the time of the run.
pub(crate) fn usual_envelope(options: &EdiWriterOptions, now: i64) -> Vec<(String, String)> {
    let Some(documents) = &options.guides else { return Vec::new() };
    let guide = documents.guides().compiled(0);
    let pairs: Vec<(&str, &str)> = match guide.standard() {
        Standard::X12 => vec![
            ("interchange.authorization_qualifier", "00"),
            ("interchange.security_qualifier", "00"),
            ("interchange.sender_qualifier", USUAL_QUALIFIER),
            ("interchange.receiver_qualifier", USUAL_QUALIFIER),
            ("interchange.version", guide.version().get(..5).unwrap_or("00501")),
            ("interchange.acknowledgment_requested", "0"),
            ("interchange.test", "P"),
        ],
        Standard::Edifact => vec![("interchange.syntax_identifier", "UNOC"), ("interchange.syntax_version", "3")],
    };
    let usual = pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    usual.chain(usual_time(guide.standard(), now)).collect()
}

/// Returns the date and time of headers.
fn usual_time(standard: Standard, now: i64) -> impl Iterator<Item = (String, String)> {
    let (date, time) = (format_date(now), format_time(now));
    let short = date[2..].to_owned();
    let interchange = [("interchange.date", short), ("interchange.time", time.clone())];
    let group = (standard == Standard::X12).then_some([("group.date", date), ("group.time", time)]);
    let all = interchange.into_iter().chain(group.into_iter().flatten());
    all.map(|(name, value)| (name.to_owned(), value))
}

const DAY: i64 = 86_400_000_000;

/// Formats a date as `CCYYMMDD` by the civil calendar; days are counted from 1 March of the year 0.
fn format_date(micros: i64) -> String {
    let days = micros.div_euclid(DAY) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}")
}

/// Formats a time as `HHMM`.
fn format_time(micros: i64) -> String {
    let minutes = micros.rem_euclid(DAY) / 60_000_000;
    format!("{:02}{:02}", minutes / 60, minutes % 60)
}

/// Returns the name of an interchange field without its level.
fn field_name(name: &str) -> &str {
    name.strip_prefix("interchange").and_then(|rest| rest.strip_prefix(['.', '-', '_'])).unwrap_or(name)
}

/// Sets a header field unless the document has a value: `sender`, or with its level, `group.sender`.
fn fill(drafter: &mut EdiDrafter, name: &str, value: &str) {
    let found = [Standard::X12, Standard::Edifact].into_iter().find_map(|standard| HeaderField::named(standard, name));
    if let Some((level, field)) = found {
        drafter.fill(level, field.name, value.as_bytes());
    }
}

/// Moves initial control numbers from the envelope values to the counters; the remaining values apply to every document.
pub(crate) fn counted_from(
    numbers: &mut CountedNumbers,
    standard: Option<Standard>,
    envelope: &mut Vec<(String, String)>,
) {
    let Some(standard) = standard else { return };
    envelope.retain(|(name, value)| {
        let Some((level, field)) = HeaderField::named(standard, name) else { return true };
        let number = value.parse::<u64>().ok().filter(|number| (1..=999_999_999).contains(number));
        let (true, Some(number)) = (field.name == "control_number", number) else { return true };
        match level {
            Level::Interchange => numbers.interchange = number,
            Level::Group => numbers.group = number,
            Level::Transaction => numbers.transaction = number,
        }
        false
    });
}

impl Sink for EdiPart {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.wait_pending();
        }
        self.drafter.enter(node);
    }
    fn leave(&mut self, node: NodeId) {
        self.drafter.leave(node);
        if node == NodeId::ROOT {
            self.pending = true;
            self.set_before = self.set.values();
        }
    }
    fn open_list(&mut self, node: NodeId) {
        self.drafter.open_list(node);
    }
    fn close_list(&mut self, node: NodeId) {
        self.drafter.close_list(node);
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.drafter.value(node, value);
    }
    fn discard(&mut self) {
        self.drafter.discard();
        self.pending = false;
    }
}

impl Part for EdiPart {
    fn defers(&self) -> bool {
        true
    }

    fn envelope(&mut self, values: &[(String, String)], now: Option<i64>) {
        self.envelope.clear();
        self.envelope.extend_from_slice(values);
        if let (Some(now), Some(standard)) = (now, self.standard) {
            self.envelope.extend(usual_time(standard, now));
        }
    }

    fn look_at(&mut self, set: &EnvelopeSet) {
        self.set = set.clone();
    }

    fn settle(&mut self) -> Result<(), Vec<Finding>> {
        self.end_all();
        Ok(())
    }

    fn keep(&mut self) -> OutputExtent {
        let drafts = self.drafts.len() - self.kept;
        self.kept = self.drafts.len();
        OutputExtent { documents: drafts as u64, drafts, end: 0 }
    }

    fn back(&mut self) {
        self.drafts.truncate(self.kept);
        self.waiting.clear();
        self.pending = false;
    }

    fn drain(&mut self, payload: &mut Payload, goes_on: bool) -> Result<(), Vec<Finding>> {
        payload.len = 0;
        if !goes_on {
            core::mem::swap(&mut payload.drafts, &mut self.drafts);
            self.drafts.clear();
            self.kept = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_minutes_of_the_civil_calendar() {
        let at = |days: i64, minutes: i64| days * DAY + minutes * 60_000_000;
        assert_eq!((format_date(0), format_time(0)), ("19700101".to_owned(), "0000".to_owned()));
        assert_eq!(format_date(at(11_016, 0)), "20000229");
        assert_eq!(format_date(at(11_017, 0)), "20000301");
        assert_eq!(
            (format_date(at(20_484, 125)), format_time(at(20_484, 125))),
            ("20260131".to_owned(), "0205".to_owned())
        );
        assert_eq!((format_date(at(-1, 1439)), format_time(at(-1, 1439))), ("19691231".to_owned(), "2359".to_owned()));
    }
}
