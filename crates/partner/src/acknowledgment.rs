//! Sending an acknowledgment: its control numbers, its entry and its delivery.

use quayline_core::Findings;
use quayline_edi::{Level, Standard};
use quayline_project::partner::{NumberRange, Settings};

use crate::defaults::{KEEP_DAYS, default_folder};
use crate::desk::Desk;
use crate::details::Details;
use crate::entry::{Entry, EntryId, Kind, Part, State, Way, context_of};
use crate::outputs::OutputKind;

/// The interchange that an acknowledgment answers.
pub(crate) struct Answered<'e> {
    /// Entry of the interchange.
    pub(crate) id: EntryId,
    /// Our own file, and the partner.
    pub(crate) parties: (usize, usize),
    pub(crate) standard: Standard,
    pub(crate) sender: &'e str,
    pub(crate) receiver: &'e str,
    pub(crate) test: bool,
}

impl Desk<'_> {
    /// Numbers an acknowledgment, stores it and hands it to its delivery. Returns its entry.
    pub(crate) fn acknowledge(
        &mut self,
        written: &[u8],
        settings: &Settings,
        answered: &Answered<'_>,
    ) -> Result<EntryId, Findings> {
        let Answered { standard, parties, .. } = *answered;
        let limits = self.book.limits().clone();
        let mut number = String::new();
        let text = quayline_edi::renumbered::<Findings>(written, &limits, &mut |level| {
            let range = match level {
                Level::Interchange => settings.interchange_numbers,
                Level::Group | Level::Transaction => settings.group_numbers,
            };
            let taken = self.control_number(standard, level, parties, range.unwrap_or(NumberRange::ALL))?;
            if level == Level::Interchange {
                number = if standard == Standard::X12 { format!("{taken:09}") } else { taken.to_string() };
            }
            Ok(taken)
        })?;
        let id = self.next_id()?;
        let now = self.now_ms();
        let book = self.book;
        let (own, partner) = (&book.partner(parties.0).name, &book.partner(parties.1).name);
        let to = settings.acknowledge_to.clone().or_else(|| settings.send_to.clone());
        let to = to.unwrap_or_else(|| default_folder(partner));
        let extension = if standard == Standard::X12 { "x12" } else { "edi" };
        let name = format!("{partner}-acknowledgment-{id}.{extension}");
        let place = self.deliver(&to, OutputKind::Acknowledgment, (id, 0), &name, text.as_slice().into())?;
        let mut details = Details {
            standard: standard.name().to_owned(),
            document: "acknowledgment".to_owned(),
            own: own.clone(),
            sender: answered.receiver.to_owned(),
            receiver: answered.sender.to_owned(),
            interchange: number.clone(),
            test: answered.test,
            about: answered.id.0,
            bytes: text.len() as u64,
            outputs: vec![place],
            keep_days: settings.keep_days.unwrap_or(KEEP_DAYS),
            ..Details::default()
        };
        details.happened(now, format!("acknowledges entry {}", answered.id));
        let context = context_of(&[&details.standard, &details.sender, &details.receiver]);
        let entry = Entry {
            id,
            kind: Kind::Interchange,
            partner: partner.clone(),
            time_ms: now,
            state: State::Sent,
            due_ms: now,
            way: Way::Sent,
            context,
            number,
            details,
        };
        let ledger = self.ledger;
        ledger.insert_with(self.unit()?, &entry, Part::Document, &text)?;
        Ok(id)
    }
}
