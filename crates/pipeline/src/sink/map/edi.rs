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
    defaults: EnvelopeDefaults,
    envelope: Vec<(String, String)>,
    /// Time of the unit of work, if the caller has set one.
    unit_time: Option<i64>,
}

/// Envelope values of a run, for those that neither map nor document sets.
#[derive(Clone, Default)]
pub(crate) struct EnvelopeDefaults {
    pub(crate) values: Arc<[(String, String)]>,
    /// Time of the run, for headers without date and time.
    pub(crate) now: i64,
}

impl EdiPart {
    pub(crate) fn new(options: &EdiWriterOptions, defaults: EnvelopeDefaults) -> Self {
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
            unit_time: None,
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
        self.fill_all(&Arc::clone(&self.defaults.values));
        if let Some(standard) = self.standard {
            self.drafter.fill_group(standard);
            // The digits of a date depend on the version, which is known now.
            let now = self.unit_time.unwrap_or(self.defaults.now);
            self.drafter.fill_time(standard, &date(now), &time(now));
        }
        self.drafts.extend(self.drafter.take(None));
    }
}

/// I05, code ZZ: mutually defined; the default qualifier of a party without one.
const USUAL_QUALIFIER: &str = "ZZ";

/// Returns the default header fields: the values that a standard and a guide require.
pub(crate) fn usual_envelope(options: &EdiWriterOptions) -> Vec<(String, String)> {
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
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

const DAY: i64 = 86_400_000_000;

/// Formats a date as `CCYYMMDD` by the civil calendar; days are counted from 1 March of the year 0.
fn date(micros: i64) -> [u8; 8] {
    let days = micros.div_euclid(DAY) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    digits(year * 10_000 + month * 100 + day)
}

/// Formats a time as `HHMM`.
fn time(micros: i64) -> [u8; 4] {
    let minutes = micros.rem_euclid(DAY) / 60_000_000;
    digits(minutes / 60 * 100 + minutes % 60)
}

/// Returns the last digits of a number.
fn digits<const N: usize>(number: i64) -> [u8; N] {
    let mut rest = number;
    let mut out = [b'0'; N];
    for digit in out.iter_mut().rev() {
        *digit += u8::try_from(rest.rem_euclid(10)).unwrap_or_default();
        rest = rest.div_euclid(10);
    }
    out
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

/// Moves initial control numbers from the envelope values to the counters; the remaining values apply to every document. The empty number of a group
/// remains in EDIFACT, so that documents have one: groups are optional there.
pub(crate) fn counted_from(
    numbers: &mut CountedNumbers,
    standard: Option<Standard>,
    envelope: &mut Vec<(String, String)>,
) {
    let Some(standard) = standard else { return };
    envelope.retain_mut(|(name, value)| {
        let Some((level, field)) = HeaderField::named(standard, name) else { return true };
        let number = value.parse::<u64>().ok().filter(|number| (1..=CountedNumbers::last(standard)).contains(number));
        let (true, Some(number)) = (field.name == "control_number", number) else { return true };
        match level {
            Level::Interchange => numbers.interchange = number,
            Level::Group => numbers.group = number,
            Level::Transaction => numbers.transaction = number,
        }
        if (level, standard) == (Level::Group, Standard::Edifact) {
            // Without a group there would be nothing to number.
            value.clear();
            return true;
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
        self.unit_time = now;
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
        OutputExtent { documents: drafts as u64, drafts, end: 0, has_notes: false }
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
        let at = |days: i64, minutes: i64| {
            let micros = days * DAY + minutes * 60_000_000;
            format!("{} {}", date(micros).escape_ascii(), time(micros).escape_ascii())
        };
        assert_eq!(at(0, 0), "19700101 0000");
        assert_eq!(at(11_016, 0), "20000229 0000");
        assert_eq!(at(11_017, 0), "20000301 0000");
        assert_eq!(at(20_484, 125), "20260131 0205");
        assert_eq!(at(-1, 1439), "19691231 2359");
    }
}
