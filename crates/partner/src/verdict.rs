//! Whether an interchange is processed, and what its acknowledgment says where it is not.

use quayline_core::{Fault, Finding, Findings, Severity};
use quayline_edi::acknowledge::{AcknowledgmentOptions, Functional, OnError, Stamp, When};
use quayline_edi::{EdiError, EdiFault, Header, Level, Standard};
use quayline_project::partner::{AckKind, GapPolicy, LowestRefused, Settings};

use crate::codes;
use crate::desk::Desk;
use crate::entry::{Entry, EntryId, Kind, State, StoredFinding, Way, kept_number};
use crate::field_key::Prefix;
use crate::ledger::of_store;

/// An entry that processed an interchange with this number before.
pub(crate) fn processed_before(desk: &mut Desk<'_>, context: u64, number: &str) -> Result<Option<EntryId>, Findings> {
    let number = kept_number(number);
    let key = Prefix::in_context(Kind::Interchange, Way::Received, context, Some(number));
    let ledger = desk.ledger;
    let mut found = None;
    ledger.each_numbered(desk.unit()?, &key, &mut |entry| {
        let processed = entry.number == number && matches!(entry.state, State::Receiving | State::Delivered);
        found = processed.then_some(entry.id);
        Ok(!processed)
    })?;
    Ok(found)
}

/// A finding where numbers are missing before this one. Keeps the highest number, unless the interchange is rejected for the gap.
pub(crate) fn gap(
    desk: &mut Desk<'_>,
    standard: Standard,
    (own, partner): (usize, usize),
    number: &str,
    settings: &Settings,
) -> Result<Option<Finding>, Findings> {
    let Ok(number) = number.parse::<u64>() else { return Ok(None) };
    let (own, partner) = (&desk.book.partner(own).name, &desk.book.partner(partner).name);
    let name = format!("partner/received/{}/{own}/{partner}", standard.name());
    let unit = desk.unit()?;
    let last = unit.last_number(&name).map_err(of_store)?;
    if number <= last {
        return Ok(None);
    }
    let is_next = last == 0 || number == last + 1;
    let rejects = settings.gaps == Some(GapPolicy::Reject);
    if is_next || !rejects {
        unit.set_number(&name, number).map_err(of_store)?;
    }
    if is_next || settings.gaps == Some(GapPolicy::Ignore) {
        return Ok(None);
    }
    let missing = number - last - 1;
    let message = format!("{missing} interchange numbers are missing before this one: {} to {}", last + 1, number - 1);
    if rejects {
        let hint = "receive the missing interchanges first, then this one again with --again; `gaps = \"warn\"` processes it now";
        return Ok(Some(Finding::error(codes::GAP, Fault::Sender, message).hint(hint)));
    }
    let finding = Finding::warning(codes::GAP, Fault::Sender, message);
    Ok(Some(finding.hint("ask the partner whether these interchanges are lost or were never sent")))
}

/// The verdict on an interchange whose processing stopped in the middle.
pub(crate) fn verdict_of(entry: &Entry) -> Option<(State, Finding)> {
    if entry.state == State::Receiving {
        return None;
    }
    let stored = entry.details.findings.last().cloned().unwrap_or_default();
    let code = [codes::UNKNOWN_SENDER, codes::UNKNOWN_RECEIVER, codes::USAGE, codes::DUPLICATE, codes::GAP]
        .into_iter()
        .find(|code| code.0 == stored.code)
        .unwrap_or(codes::REJECTED_WITH);
    let StoredFinding { message, hint, .. } = stored;
    Some((entry.state, Finding::error(code, Fault::Sender, message).hint(hint)))
}

/// What an acknowledgment says of an interchange that is not processed.
pub(crate) fn answer_of(finding: &Finding, header: &Header) -> Option<EdiFault> {
    let standard = header.delimiters().standard;
    let level = Level::Interchange;
    let field = |x12: &'static str, edifact: &'static str| {
        let name = if standard == Standard::X12 { x12 } else { edifact };
        EdiError::FieldFormat { standard, level, name, expected: "one that we know" }
    };
    let error = if finding.code == codes::DUPLICATE {
        EdiError::ControlTwice { standard, level }
    } else if finding.code == codes::UNKNOWN_RECEIVER {
        field("ISA08", "UNB S003 0010")
    } else if finding.code == codes::USAGE {
        field("ISA15", "UNB 0035")
    } else if finding.code == codes::GAP {
        field("ISA13", "UNB 0020")
    } else {
        return None;
    };
    Some(EdiFault { error, at: header.position(), severity: Severity::Error, context: None })
}

/// What is acknowledged by which settings.
pub(crate) fn acknowledgment_options(settings: &Settings, standard: Standard, stamp: Stamp) -> AcknowledgmentOptions {
    let mut options = AcknowledgmentOptions::new(stamp);
    options.functional = Functional::Functional;
    if let Some(kinds) = &settings.acknowledge {
        let has = |kind| kinds.contains(&kind);
        options.functional = if has(AckKind::Implementation) {
            Functional::Implementation
        } else if has(AckKind::Functional) {
            Functional::Functional
        } else {
            Functional::None
        };
        options.interchange = if has(AckKind::Ta1) { When::Always } else { When::Asked };
        options.contrl = if has(AckKind::Contrl) { When::Always } else { When::Never };
    }
    if standard == Standard::X12 && settings.reject_on == Some(LowestRefused::Nothing) {
        options.outcomes.transaction = OnError::Accept;
    }
    options
}
