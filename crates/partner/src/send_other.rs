//! Map outputs other than EDI, such as flat files, JSON or XML, which a partner gets unchanged.
//!
//! They have no envelope, no control numbers and no acknowledgment. Each becomes an entry with its bytes, and is delivered to the rule's destination.

use quayline_core::{Fault, Finding, Findings};
use quayline_frame::FramingSpec;
use quayline_project::partner::{Delivery, KeepPolicy, Usage};

use crate::codes;
use crate::defaults::KEEP_DAYS;
use crate::desk::Desk;
use crate::details::Details;
use crate::entry::{Entry, EntryId, Kind, Part, State, Way};
use crate::outbox::name_part;
use crate::outputs::OutputKind;
use crate::rules::RuleId;
use crate::send_request::{SendReport, SendRequest};
use crate::write::rule_name;

/// An output that is not EDI.
pub(crate) struct Other {
    /// Name of the output in `deliver`.
    pub(crate) name: String,
    pub(crate) extension: &'static str,
    /// Framing of an output of records.
    pub(crate) framing: Option<FramingSpec>,
    /// Documents of the source that it was made of.
    pub(crate) documents: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Desk<'_> {
    /// Delivers an output, in the unit of work that is open.
    pub(crate) fn send_other(
        &mut self,
        request: &SendRequest<'_>,
        (own, to): (usize, Option<usize>),
        rule: Option<RuleId>,
        output: Other,
        report: &mut SendReport,
    ) -> Result<EntryId, Findings> {
        let book = self.book;
        let place = rule
            .map(|rule| book.rule(rule))
            .and_then(|rule| rule.deliver.get(&output.name).or_else(|| rule.deliver.get("")));
        let settings = match (to, rule) {
            (Some(to), rule) => book.settings_of_rule(own, to, rule),
            (None, Some(rule)) => std::sync::Arc::clone(&book.rule(rule).settings),
            (None, None) => std::sync::Arc::default(),
        };
        // Without a place in the rule, it goes where interchanges to the partner go.
        let Some(place) = place.or(settings.send_to.as_ref().filter(|_| to.is_some())) else {
            let message = format!("the output `{}` is not EDI, and nothing says where it goes", output.name);
            let hint = "add deliver = \"folder:PATH\" or \"queue:NAME\" to the rule, or name the partner with --to and give it a `send-to`";
            return Err(Finding::error(codes::MAP, Fault::Config, message).hint(hint).into());
        };
        let id = self.next_id()?;
        report.keep_entry(id);
        let now = self.now_ms();
        let partner = to.map(|to| book.partner(to).name.clone()).unwrap_or_default();
        let parts = [partner.clone(), name_part(request.document), name_part(&output.name)];
        let stem: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let name = format!("{}-{id}.{}", stem.join("-"), output.extension);
        let to = if let Delivery::File(file) = place {
            // A record that the file refuses ends the run: the source of the records is ours.
            self.insert(file, output.framing.as_ref(), &output.bytes)?.map_err(Findings::from)?;
            place.to_string()
        } else {
            self.deliver(place, OutputKind::Document, (id, 0), &name, output.bytes.as_slice().into())?
        };
        let maps = rule.map_or(&[][..], |rule| &book.rule(rule).maps);
        let digests: Vec<&str> =
            maps.iter().filter_map(|map| book.map(map).ok()).map(|map| map.digits.as_str()).collect();
        let mut details = Details {
            document: request.document.to_owned(),
            own: book.partner(own).name.clone(),
            test: settings.usage == Some(Usage::Test),
            rule: rule.map(|rule| rule_name(book, rule)).unwrap_or_default(),
            map: digests.join(","),
            bytes: output.bytes.len() as u64,
            transactions: output.documents,
            source: request.name.to_owned(),
            outputs: vec![to],
            keep_days: settings.keep_days.unwrap_or(KEEP_DAYS),
            ..Details::default()
        };
        details.happened(now, "sent");
        let entry = Entry {
            id,
            kind: Kind::Transaction,
            partner,
            time_ms: now,
            state: State::Sent,
            due_ms: now,
            way: Way::Sent,
            context: 0,
            number: String::new(),
            details,
        };
        let ledger = self.ledger;
        let unit = self.unit()?;
        if settings.keep.unwrap_or(KeepPolicy::All) == KeepPolicy::All {
            ledger.insert_with(unit, &entry, Part::Document, &output.bytes)?;
        } else {
            ledger.insert(unit, &entry)?;
        }
        report.transactions += output.documents;
        report.sent += output.documents;
        Ok(id)
    }
}
