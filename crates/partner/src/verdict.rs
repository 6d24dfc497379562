//! Decision whether an interchange is processed, and the acknowledgment if it is not.

use quayline_core::{Fault, Finding, Findings, Severity};
use quayline_edi::acknowledge::{AcknowledgmentOptions, Functional, OnError, Stamp, When};
use quayline_edi::{EdiError, EdiFault, Header, Level, Standard};
use quayline_project::partner::{AckKind, DuplicatePolicy, GapPolicy, LowestRefused, Settings};
use quayline_store::{LockWait, Space};

use crate::codes;
use crate::desk::Desk;
use crate::details::StoredFinding;
use crate::entry::{Entry, EntryId, Kind, State, Way, kept_number};
use crate::field_key::Prefix;
use crate::ledger::of_store;

/// Returns an entry that processed an interchange with this number at `since_ms` or later.
pub(crate) fn processed_before(
    desk: &mut Desk<'_>,
    (context, number): (u64, &str),
    since_ms: Option<u64>,
) -> Result<Option<EntryId>, Findings> {
    let number = kept_number(number);
    let key = Prefix::in_context(Kind::Interchange, Way::Received, context, Some(number));
    let ledger = desk.ledger;
    let mut found = None;
    ledger.each_numbered(desk.unit()?, &key, &mut |entry| {
        let is_recent = since_ms.is_none_or(|since| entry.time_ms >= since);
        let processed =
            is_recent && entry.number == number && matches!(entry.state, State::Receiving | State::Delivered);
        found = processed.then_some(entry.id);
        Ok(!processed)
    })?;
    Ok(found)
}

/// Milliseconds since 1970 since when an interchange with the same number is a duplicate; `None` for any.
pub(crate) fn duplicates_since(settings: &Settings, now_ms: u64) -> Option<u64> {
    settings.duplicate_days.map(|days| now_ms.saturating_sub(days.saturating_mul(86_400_000)))
}

/// Describes a repeated interchange number for a finding.
pub(crate) fn came_before(earlier: EntryId) -> String {
    format!("the interchange number came before, in entry {earlier}")
}

/// Returns the interchange of a document that is processed again, if no document of the interchange was processed before, and locks its number. The
/// second value is a warning that the interchange came again.
///
/// # Errors
/// The interchange came again and was processed, and the partner's `duplicates` rejects such interchanges.
pub(crate) fn interchange_of(
    desk: &mut Desk<'_>,
    document: &Entry,
    settings: &Settings,
) -> Result<(Option<Entry>, Option<Finding>), Findings> {
    let unprocessed =
        |entry: &Entry| entry.kind == Kind::Interchange && matches!(entry.state, State::Unrouted | State::Rejected);
    let (ledger, id) = (desk.ledger, EntryId(document.details.parent));
    let Some(entry) = ledger.get(desk.unit()?, id)?.filter(unprocessed) else { return Ok((None, None)) };
    let standard = if entry.details.standard == "X12" { Standard::X12 } else { Standard::Edifact };
    lock_numbers(desk, (standard, &entry.details.sender, &entry.details.receiver))?;
    // Another worker may have processed one of its documents before the lock.
    let entry = ledger.locked(desk.unit()?, id)?;
    let policy = settings.duplicates.unwrap_or(DuplicatePolicy::Reject);
    if !unprocessed(&entry) || policy == DuplicatePolicy::Accept {
        return Ok((Some(entry).filter(unprocessed), None));
    }
    let since = duplicates_since(settings, desk.now_ms());
    let Some(earlier) = processed_before(desk, (entry.context, &entry.number), since)? else {
        return Ok((Some(entry), None));
    };
    let message = format!("the interchange of entry {} came again and is processed, as entry {earlier}", document.id);
    if policy == DuplicatePolicy::Warn {
        let hint = "it is processed, because the partner's `duplicates` is \"warn\"; compare both entries";
        return Ok((Some(entry), Some(Finding::warning(codes::DUPLICATE, Fault::Sender, message).hint(hint))));
    }
    let hint = "compare both entries; `duplicates = \"accept\"` in the partner's settings processes both";
    Err(Finding::error(codes::DUPLICATE, Fault::Sender, message).hint(hint).into())
}

/// Marks an interchange as processed, so that it is a duplicate when it comes again.
pub(crate) fn count_as_processed(
    desk: &mut Desk<'_>,
    interchange: Option<Entry>,
    document: &Entry,
) -> Result<(), Findings> {
    let Some(mut entry) = interchange else { return Ok(()) };
    entry.state = State::Delivered;
    entry.due_ms = document.time_ms;
    if entry.partner.is_empty() {
        entry.partner.clone_from(&document.partner);
    }
    entry.details.happened(document.time_ms, format!("a document is processed again, as entry {}", document.id));
    let ledger = desk.ledger;
    ledger.update(desk.unit()?, &entry)
}

/// Returns true if the findings in a document reject it.
pub(crate) fn rejects(settings: &Settings, errors: bool, warnings: bool) -> bool {
    match settings.reject_on.unwrap_or(LowestRefused::Error) {
        LowestRefused::Error => errors,
        LowestRefused::Warning => errors || warnings,
        LowestRefused::Nothing => false,
    }
}

/// The numbers of a sender's interchanges: where they were in the last one, by which a gap is found.
struct Sequence {
    /// Name of the register of the last number in the order of numbers.
    name: String,
    /// Name of the register of the last number that was not after `last`, 0 without one.
    earlier_name: String,
    last: u64,
    earlier: u64,
}

/// Locks the numbers of a sender's interchanges until the unit of work ends. Another worker cannot judge an interchange of the sender meanwhile, such as
/// one with the same number.
pub(crate) fn lock_numbers(desk: &mut Desk<'_>, header: (Standard, &str, &str)) -> Result<(), Findings> {
    let name = Sequence::name(header);
    desk.unit()?.lock(Space::NUMBERS, name.as_bytes(), LockWait::Default).map_err(of_store)
}

impl Sequence {
    fn name((standard, sender, receiver): (Standard, &str, &str)) -> String {
        format!("partner/received/{}/{receiver}/{sender}", standard.name())
    }

    /// Reads the numbers, which [`lock_numbers`] locked.
    fn of(
        desk: &mut Desk<'_>,
        header: (Standard, &str, &str),
        (own, partner): (usize, usize),
    ) -> Result<Sequence, Findings> {
        let standard = header.0;
        let name = Sequence::name(header);
        let (own, partner) = (&desk.book.partner(own).name, &desk.book.partner(partner).name);
        // Earlier versions counted by the names of the files.
        let by_name = format!("partner/received/{}/{own}/{partner}", standard.name());
        let earlier_name = format!("{name}/earlier");
        let unit = desk.unit()?;
        let last = unit.last_number(&name).map_err(of_store)?;
        let last = if last == 0 { unit.last_number(&by_name).map_err(of_store)? } else { last };
        let earlier = unit.last_number(&earlier_name).map_err(of_store)?;
        Ok(Sequence { name, earlier_name, last, earlier })
    }

    fn keep(&self, desk: &mut Desk<'_>, last: u64, earlier: u64) -> Result<(), Findings> {
        let unit = desk.unit()?;
        if last != self.last || self.last == 0 {
            unit.set_number(&self.name, last).map_err(of_store)?;
        }
        if earlier != self.earlier {
            unit.set_number(&self.earlier_name, earlier).map_err(of_store)?;
        }
        Ok(())
    }
}

/// Numbers between two interchanges that are looked up one by one; of more, all count as missing.
const LOOKED_UP_MAX: u64 = 1_000;

/// The last number that ISA13 can have; the first follows.
const X12_LAST: u64 = 999_999_999;

/// Returns a finding if numbers before this one are missing: an error, a warning or a note by the partner's `gaps`.
///
/// A number that is not higher than the last one is late, or the sender restarted its numbering: at the end of its range, or after a number that
/// was much too high. Two such numbers in order set the new position, so one wrong number does not disable the check. Numbers that arrived out of
/// order do not count as missing.
pub(crate) fn gap(
    desk: &mut Desk<'_>,
    (standard, sender, receiver): (Standard, &str, &str),
    parties: (usize, usize),
    (context, text): (u64, &str),
    settings: &Settings,
) -> Result<Option<Finding>, Findings> {
    let Ok(number) = text.parse::<u64>() else { return Ok(None) };
    let sequence = Sequence::of(desk, (standard, sender, receiver), parties)?;
    let last = sequence.last;
    let begins_again = standard == Standard::X12 && last == X12_LAST && number == 1;
    if last == 0 || number == last.saturating_add(1) || begins_again {
        sequence.keep(desk, number, 0)?;
        return Ok(None);
    }
    if number <= last {
        let follows = sequence.earlier != 0 && number == sequence.earlier + 1;
        let (last, earlier) = if follows { (number, 0) } else { (last, number) };
        sequence.keep(desk, last, earlier)?;
        return Ok(None);
    }
    let (first, until) = (last + 1, number - 1);
    let width = if text.starts_with('0') || standard == Standard::X12 { text.len() } else { 0 };
    let mut missing = until - first + 1;
    if missing <= LOOKED_UP_MAX {
        for one in first..=until {
            let came = processed_before(desk, (context, &format!("{one:0width$}")), None)?;
            missing -= u64::from(came.is_some());
        }
    }
    let rejects = settings.gaps == Some(GapPolicy::Reject);
    if missing == 0 || !rejects {
        sequence.keep(desk, number, 0)?;
    }
    if missing == 0 {
        return Ok(None);
    }
    let all = missing == until - first + 1;
    let message = match (missing, all) {
        (1, true) => format!("the interchange number {first} is missing before this one"),
        (1, false) => format!("one of the interchange numbers {first} to {until} is missing before this one"),
        (_, true) => format!("{missing} interchange numbers are missing before this one: {first} to {until}"),
        (_, false) => format!("{missing} of the interchange numbers {first} to {until} are missing before this one"),
    };
    if rejects {
        let hint = "receive the missing interchanges first, then this one again with --again; `gaps = \"warn\"` processes it now";
        return Ok(Some(Finding::error(codes::GAP, Fault::Sender, message).hint(hint)));
    }
    let finding = Finding::warning(codes::GAP, Fault::Sender, message);
    if settings.gaps == Some(GapPolicy::Ignore) {
        let hint = "the partner's `gaps` is \"ignore\": only this entry reports them";
        return Ok(Some(Finding { severity: Severity::Note, ..finding }.hint(hint)));
    }
    Ok(Some(finding.hint("ask the partner whether these interchanges are lost or were never sent")))
}

/// Returns the verdict on an interchange whose processing stopped in the middle.
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

/// Returns the fault that the acknowledgment reports for an interchange that is not processed.
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

/// Derives the acknowledgment options from the settings.
pub(crate) fn acknowledgment_options(settings: &Settings, stamp: Stamp) -> AcknowledgmentOptions {
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
    if settings.reject_on == Some(LowestRefused::Nothing) {
        options.outcomes.transaction = OnError::Accept;
    }
    options
}
