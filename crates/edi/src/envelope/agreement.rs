//! Agreement of headers: dates with the version, and messages with their group.

use super::EnvelopePass;
use super::header::{Check, header_fields};
use crate::delimiters::Standard;
use crate::fault::EdiError;
use crate::level::Level;
use crate::position::Position;

/// Elements of UNH and UNG with the same meaning, by their name in documents. ISO 9735-1: the messages of a group are of one type.
pub(crate) const OF_GROUP: [(&str, &str); 5] = [
    ("type", "functional_id"),
    ("version", "version"),
    ("release", "release"),
    ("agency", "agency"),
    ("association", "association"),
];

/// Returns true if GS04 has eight digits in the version of GS08; `None` if the version is not known.
pub(crate) fn dates_have_century(version: &[u8]) -> Option<bool> {
    let digits = version.first_chunk::<6>().filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    Some(digits >= b"004010")
}

impl EnvelopePass<'_> {
    /// Checks that date and time of a header have the digits of its version.
    ///
    /// GS04 has six digits before 004010 and eight since (X12 data element 373); data element 0017 has six before syntax version 4 and eight since, and
    /// 0019 has four.
    pub(super) fn check_widths(&mut self, level: Level, standard: Standard, at: Position) {
        let has_century = match (standard, level) {
            (Standard::X12, Level::Group) => dates_have_century(&self.envelope.group.header.field("version")),
            (Standard::Edifact, Level::Interchange | Level::Group) => {
                let version = self.envelope.interchange.header.field("syntax_version");
                matches!(&version[..], [b'1'..=b'4']).then(|| &version[..] == b"4")
            }
            _ => None,
        };
        let Some(has_century) = has_century else { return };
        for field in header_fields(standard, level) {
            let (check, expected) = match field.name {
                "date" => (Check::Date, if has_century { 8 } else { 6 }),
                "time" if standard == Standard::Edifact => (Check::Time, 4),
                _ => continue,
            };
            let name = field.reference;
            let header = if level == Level::Group { &self.envelope.group } else { &self.envelope.interchange };
            let value = header.header.component(field.element, field.component);
            let found = value.len();
            let error = match check.expected(&value) {
                // The check of fields looks only at the presence in UNG.
                Some(expected) if matches!(field.check, Check::PresentBefore4) && found > 0 => {
                    EdiError::FieldFormat { standard, level, name, expected }
                }
                None if found != expected => EdiError::DateWidth { standard, level, name, expected, found },
                _ => continue,
            };
            let place = |number: usize| u32::try_from(number).unwrap_or(0);
            let component = if standard == Standard::X12 { 0 } else { place(field.component) };
            self.fault(error, at.element(place(field.element)).component(component));
        }
    }

    /// Compares a message with its group. A group that leaves an element out allows any value.
    pub(super) fn check_message_group(&mut self, at: Position) {
        let (group, message) = (&self.envelope.group.header, &self.envelope.transaction.header);
        let differs = OF_GROUP.iter().find(|(of_message, of_group)| {
            let (one, other) = (message.field(of_message), group.field(of_group));
            !one.is_empty() && !other.is_empty() && one != other
        });
        let Some((of_message, of_group)) = differs else { return };
        let named = |level, name: &str| {
            header_fields(Standard::Edifact, level).iter().find(|field| field.name == name).map(|field| field.reference)
        };
        let names = (named(Level::Transaction, of_message), named(Level::Group, of_group));
        let (Some(of_message), Some(of_group)) = names else { return };
        self.fault(EdiError::MessageDiffers { message: of_message, group: of_group }, at.element(2));
    }
}
