//! Acknowledgments of partners, matched to what was sent.
//!
//! | report | is about | found by |
//! |---|---|---|
//! | TA1, UCI | an interchange | its number, between the same parties |
//! | AK1 and AK9, UCF | a group | its number, between the same parties |
//! | AK2 and AK5, UCM | a transaction | its number in its group or, for EDIFACT, in its interchange |
//!
//! A group that is accepted or rejected as a whole decides about those of its transactions that no report names. Numbers come again after
//! the last of their range, so these are the transactions of the group's own interchange. A report about something that was never sent, or
//! that was sent as something else, is a finding of the acknowledgment's own entry, which is found by search.

use quayline_core::{Fault, Finding, Findings};
use quayline_edi::acknowledge::{AcknowledgmentCode, GroupReport, Outcome, Report, TransactionReport};

use crate::codes;
use crate::desk::Desk;
use crate::entry::{Details, Entry, EntryId, Kind, State, Way, context_of, kept_number};
use crate::field_key::Prefix;
use crate::work::Work;

/// The context of numbers of groups that were sent: within a pair of parties and a standard.
pub(crate) fn group_context(standard: &str, sender: &str, receiver: &str) -> u64 {
    context_of(&["group", standard, sender, receiver])
}

/// The context of numbers of transactions that were sent in a group, or in an interchange without groups.
pub(crate) fn transaction_context(standard: &str, sender: &str, receiver: &str, around: &str) -> u64 {
    context_of(&["transaction", standard, sender, receiver, around.trim_start_matches('0')])
}

/// Applies reports to the entries that they are about. Returns how many there were.
pub(crate) fn apply(desk: &mut Desk<'_>, work: &mut Work<'_>, reports: &[Report]) -> Result<u64, Findings> {
    let mut matched = 0;
    // What we sent went the other way.
    let (sender, receiver) = (work.details.receiver.clone(), work.details.sender.clone());
    let standard = work.details.standard.clone();
    // Groups last: they decide about what is left.
    let of_groups = reports.iter().filter(|report| matches!(report, Report::Group(_)));
    let others = reports.iter().filter(|report| !matches!(report, Report::Group(_)));
    for report in others.chain(of_groups) {
        let found = match report {
            Report::Interchange(one) => {
                let context = context_of(&[&standard, &sender, &receiver]);
                let number =
                    if standard == "X12" { padded_number(&one.control_number) } else { one.control_number.clone() };
                let state = state_of(Some(&one.outcome));
                let about = About { kind: Kind::Interchange, context, number: &number, document: "" };
                let found = settle(desk, work, &about, state, &one.codes)?;
                if let Found::Sent(id) = found
                    && (standard == "EDIFACT" || one.outcome.is_rejected())
                {
                    children(desk, work, id, state)?;
                }
                found
            }
            Report::Group(one) => group(desk, work, one, (&standard, &sender, &receiver))?,
            Report::Transaction(one) => transaction(desk, work, one, (&standard, &sender, &receiver))?,
        };
        let (what, number, document) = match report {
            Report::Interchange(one) => ("interchange", &one.control_number, ""),
            Report::Group(one) => ("group", &one.control_number, one.functional_id.as_deref().unwrap_or("")),
            Report::Transaction(one) => ("transaction", &one.control_number, one.transaction.as_str()),
        };
        let (message, hint) = match found {
            Found::Sent(_) => {
                matched += 1;
                continue;
            }
            Found::Other(sent) => (
                format!("it acknowledges {what} {number} of {document}, and {what} {number} was sent as {sent}"),
                "nothing was changed: ask the partner which one is meant",
            ),
            Found::Nothing => (
                format!("it acknowledges {what} {number}, which was never sent to this partner"),
                "ask the partner what was acknowledged; a purge may also have removed the entry",
            ),
        };
        work.find(Finding::error(codes::ACK_UNKNOWN, Fault::Sender, message).hint(hint));
    }
    Ok(matched)
}

fn padded_number(number: &str) -> String {
    format!("{:0>9}", number.trim())
}

fn state_of(outcome: Option<&Outcome>) -> State {
    match outcome {
        Some(Outcome::Accepted | Outcome::Received) => State::Accepted,
        Some(Outcome::AcceptedWithErrors | Outcome::Other(_)) | None => State::AcceptedWithErrors,
        Some(Outcome::PartiallyAccepted) => State::PartlyAccepted,
        Some(_) => State::Refused,
    }
}

fn group(
    desk: &mut Desk<'_>,
    work: &mut Work<'_>,
    report: &GroupReport,
    (standard, sender, receiver): (&str, &str, &str),
) -> Result<Found, Findings> {
    let context = group_context(standard, sender, receiver);
    let number = report.control_number.trim().trim_start_matches('0').to_owned();
    let state = state_of(report.outcome.as_ref());
    let document = report.functional_id.as_deref().unwrap_or("").trim();
    let about = About { kind: Kind::Group, context, number: &number, document };
    let found = settle(desk, work, &about, state, &report.codes)?;
    if let Found::Sent(id) = found
        && matches!(state, State::Accepted | State::AcceptedWithErrors | State::Refused)
    {
        let interchange = {
            let ledger = desk.ledger;
            ledger.need(desk.unit()?, id)?.details.parent
        };
        let context = transaction_context(standard, sender, receiver, &number);
        let rest = if state == State::Refused { State::Refused } else { State::Accepted };
        for entry in sent_in(desk, context)? {
            if entry.details.group == number && entry.details.parent == interchange && is_open(entry.state) {
                set(desk, entry.id, work.id, rest, &format!("its group {id} was answered in entry {}", work.id))?;
            }
        }
    }
    Ok(found)
}

fn transaction(
    desk: &mut Desk<'_>,
    work: &mut Work<'_>,
    report: &TransactionReport,
    (standard, sender, receiver): (&str, &str, &str),
) -> Result<Found, Findings> {
    let around = report.group.as_deref().or(report.interchange.as_deref()).unwrap_or("");
    let context = transaction_context(standard, sender, receiver, around.trim());
    let state = state_of(report.outcome.as_ref());
    let (number, document) = (report.control_number.trim(), report.transaction.trim());
    settle(desk, work, &About { kind: Kind::Transaction, context, number, document }, state, &report.codes)
}

/// What a report is about.
struct About<'a> {
    kind: Kind,
    context: u64,
    number: &'a str,
    /// GS01, ST01 or the message type; empty where the report does not say it.
    document: &'a str,
}

/// What was sent with a number.
enum Found {
    Sent(EntryId),
    /// Something else, which is named.
    Other(String),
    Nothing,
}

/// Sets the state of the newest entry with a number.
fn settle(
    desk: &mut Desk<'_>,
    work: &mut Work<'_>,
    &About { kind, context, number, document }: &About<'_>,
    state: State,
    reasons: &[AcknowledgmentCode],
) -> Result<Found, Findings> {
    let number = kept_number(number);
    let key = Prefix::in_context(kind, Way::Sent, context, Some(number));
    let ledger = desk.ledger;
    let mut newest = None;
    ledger.each_numbered(desk.unit()?, &key, &mut |entry| {
        if entry.number == number {
            newest = Some((entry.id, entry.details.document));
        }
        Ok(true)
    })?;
    let Some((id, sent)) = newest else { return Ok(Found::Nothing) };
    // A partner that takes one of our groups for another must not accept or refuse it.
    if !document.is_empty() && !sent.is_empty() && document != sent {
        return Ok(Found::Other(sent));
    }
    let words: Vec<&str> = reasons.iter().map(AcknowledgmentCode::words).collect();
    let why = if words.is_empty() { String::new() } else { format!(": {}", words.join("; ")) };
    set(desk, id, work.id, state, &format!("{} in entry {}{why}", state.name(), work.id))?;
    work.details.happened(
        work.details.history.last().map_or(0, |line| line.at_ms),
        format!("{} of entry {id}: {}", kind.name(), state.name()),
    );
    if state == State::Refused {
        let message = format!("the partner refused the {} of entry {id}{why}", kind.name());
        let finding = Finding::warning(codes::REFUSED, Fault::Sender, message);
        work.find(
            finding.hint(format!(
                "`quayline transaction show {id}` has the reasons; correct the document and send it again"
            )),
        );
    }
    Ok(Found::Sent(id))
}

fn set(desk: &mut Desk<'_>, id: EntryId, by: EntryId, state: State, what: &str) -> Result<(), Findings> {
    let now = desk.now_ms();
    let ledger = desk.ledger;
    let unit = desk.unit()?;
    let mut entry = ledger.locked(unit, id)?;
    entry.state = state;
    entry.due_ms = now;
    entry.details.answered_by = by.0;
    entry.details.happened(now, what);
    ledger.update(unit, &entry)
}

fn is_open(state: State) -> bool {
    matches!(state, State::Sent | State::Expecting)
}

/// Entries of transactions that were sent in a group or interchange.
fn sent_in(desk: &mut Desk<'_>, context: u64) -> Result<Vec<Entry>, Findings> {
    let key = Prefix::in_context(Kind::Transaction, Way::Sent, context, None);
    let ledger = desk.ledger;
    let mut entries = Vec::new();
    ledger.each_numbered(desk.unit()?, &key, &mut |entry| {
        entries.push(entry);
        Ok(true)
    })?;
    Ok(entries)
}

/// The groups of an interchange that was sent.
fn groups_in(desk: &mut Desk<'_>, interchange: &Entry) -> Result<Vec<Entry>, Findings> {
    let Details { standard, sender, receiver, group, .. } = &interchange.details;
    let context = group_context(standard, sender, receiver);
    let ledger = desk.ledger;
    let mut found = Vec::new();
    for group in group.split(',').filter(|group| !group.is_empty()) {
        let key = Prefix::in_context(Kind::Group, Way::Sent, context, Some(group));
        ledger.each_numbered(desk.unit()?, &key, &mut |one| {
            let is_it = one.number == group && one.details.parent == interchange.id.0;
            found.extend(is_it.then_some(one));
            Ok(!is_it)
        })?;
    }
    Ok(found)
}

/// The transactions of an interchange that was sent, in the order of its groups.
fn transactions_in(desk: &mut Desk<'_>, interchange: &Entry) -> Result<Vec<Entry>, Findings> {
    let Details { standard, sender, receiver, group, .. } = &interchange.details;
    // Transactions of an interchange without groups are numbered in the interchange.
    let around = if group.is_empty() { interchange.number.as_str() } else { group };
    let mut found = Vec::new();
    for around in around.split(',') {
        let context = transaction_context(standard, sender, receiver, around);
        let all = sent_in(desk, context)?;
        found.extend(all.into_iter().filter(|one| one.details.parent == interchange.id.0));
    }
    Ok(found)
}

/// What was sent in an interchange and is not answered yet: refused with it, or accepted with an EDIFACT interchange.
fn children(desk: &mut Desk<'_>, work: &Work<'_>, interchange: EntryId, state: State) -> Result<(), Findings> {
    let ledger = desk.ledger;
    let entry = {
        let unit = desk.unit()?;
        ledger.need(unit, interchange)?
    };
    let rest = if state == State::Refused { State::Refused } else { State::Accepted };
    let what = format!("its interchange {interchange} was answered in entry {}", work.id);
    let groups = groups_in(desk, &entry)?;
    for one in groups.into_iter().chain(transactions_in(desk, &entry)?) {
        if is_open(one.state) {
            set(desk, one.id, work.id, rest, &what)?;
        }
    }
    Ok(())
}

/// An interchange was replaced, and so are its groups, which are no longer overdue. Returns its transactions, in the order in which it holds them.
pub(crate) fn replace_in(desk: &mut Desk<'_>, interchange: &Entry) -> Result<Vec<Entry>, Findings> {
    let now = desk.now_ms();
    let ledger = desk.ledger;
    for mut group in groups_in(desk, interchange)? {
        (group.state, group.due_ms) = (State::Replaced, now);
        group.details.happened(now, "its documents were put into a new interchange");
        ledger.update(desk.unit()?, &group)?;
    }
    transactions_in(desk, interchange)
}
