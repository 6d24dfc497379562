//! Matching of partners' acknowledgments to sent documents.
//!
//! | report | is about | found by |
//! |---|---|---|
//! | TA1, UCI | an interchange | its number, between the same parties, which a UCI names, and for TA1 its date and time |
//! | AK1 and AK9, UCF | a group | its number, between the same parties |
//! | OTI, APERAK | a transaction, or with OTI a group | its number in its group or, for EDIFACT, in its interchange |
//! | AK2 and AK5, UCM | a transaction | its number in its group, which AK1 names with its kind, or, for EDIFACT, in its interchange |
//!
//! A group that is accepted or rejected as a whole determines the state of its transactions that no report names, but an acceptance whose counts
//! contradict each other or the group that was sent does not. Numbers recur after the end of
//! their range, so this applies to the transactions of the group's own interchange. A report about an unknown number, or about a document of
//! another type, is a finding of the acknowledgment's own entry, which can be found by search. The same applies to a report that contradicts
//! itself or an earlier one.

use quayline_core::{Fault, Finding, Findings};
use quayline_edi::acknowledge::{
    AcknowledgmentCode, AcknowledgmentKind, GroupReport, InterchangeReport, Outcome, Report, Stamp, TransactionReport,
};

use crate::codes;
use crate::desk::Desk;
use crate::details::Details;
use crate::entry::{
    Entry, EntryId, Kind, Part, State, Way, context_of, group_context, kept_number, transaction_context,
};
use crate::field_key::Prefix;
use crate::work::Work;

/// Applies reports to the entries that they are about. Returns how many there were.
pub(crate) fn apply(desk: &mut Desk<'_>, work: &mut Work<'_>, reports: &[Report]) -> Result<u64, Findings> {
    let mut matched = 0;
    let parties = parties_of(desk, work);
    let standard = work.details.standard.clone();
    let parties = match named_parties(reports, parties) {
        Ok(parties) => parties,
        Err(uci) => {
            let message = format!(
                "it acknowledges interchange {} from {} to {}, and no interchange was sent between these parties",
                uci.control_number, uci.sender, uci.receiver
            );
            let hint = "nothing was changed: ask the partner which interchange is meant";
            work.find(Finding::error(codes::ACK_UNKNOWN, Fault::Sender, message).hint(hint));
            return Ok(0);
        }
    };
    // Groups after transactions, and interchanges last: they decide about what is left.
    let functional = functional_ids(reports);
    let mut ordered: Vec<(&Report, Option<&str>)> = reports.iter().zip(functional).collect();
    ordered.sort_by_key(|(report, _)| match report {
        Report::Transaction(_) => 0,
        Report::Group(_) => 1,
        Report::Interchange(_) => 2,
    });
    for (report, functional) in ordered {
        let found = match report {
            Report::Interchange(one) => interchange(desk, work, one, (&standard, &parties))?,
            Report::Group(one) => group(desk, work, one, (&standard, &parties))?,
            Report::Transaction(one) => transaction(desk, work, one, functional, (&standard, &parties))?,
        };
        let (what, number, document) = match report {
            Report::Interchange(one) => ("interchange", &one.control_number, time_of(one).unwrap_or_default()),
            Report::Group(one) => ("group", &one.control_number, one.functional_id.clone().unwrap_or_default()),
            Report::Transaction(one) => ("transaction", &one.control_number, one.transaction.clone()),
        };
        let (message, hint) = match found {
            Found::Sent { .. } => {
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

/// Reports segments of an acknowledgment that belong to nothing, such as an AK5 without AK2.
pub(crate) fn report_stray(work: &mut Work<'_>, count: u64) {
    if count > 0 {
        let message = format!("{count} segments of the acknowledgment belong to no group, transaction or segment");
        let finding = Finding::warning(codes::ACK_CONTRADICTS, Fault::Sender, message);
        work.find(finding.hint("they changed nothing: ask the partner what they say"));
    }
}

/// Returns candidates for sender and receiver of the sent document: the acknowledgment's parties, reversed, followed by the other identities of the
/// same two files. Partners may answer from another identity than the one that they receive with.
fn parties_of(desk: &Desk<'_>, work: &Work<'_>) -> Vec<(String, String)> {
    let mut all = vec![(work.details.receiver.clone(), work.details.sender.clone())];
    let book = desk.book;
    let identities = |number: usize| {
        let of_standard =
            book.partner(number).identities.iter().filter(|one| one.standard.name() == work.details.standard);
        of_standard.map(|one| format!("{}:{}", one.qualifier, one.id)).collect::<Vec<_>>()
    };
    let Some(partner) = work.partner else { return all };
    let theirs = identities(partner);
    for sender in identities(work.own) {
        for receiver in &theirs {
            let pair = (sender.clone(), receiver.clone());
            if !all.contains(&pair) {
                all.push(pair);
            }
        }
    }
    all
}

/// Returns the pairs of sender and receiver whose identifiers a UCI names (ISO 9735, S002 and S003); all pairs for other reports. An error is the UCI of
/// other parties.
fn named_parties(
    reports: &[Report],
    mut parties: Vec<(String, String)>,
) -> Result<Vec<(String, String)>, &InterchangeReport> {
    let uci = reports.iter().find_map(|report| match report {
        Report::Interchange(one) if one.kind == AcknowledgmentKind::Contrl => Some(one),
        _ => None,
    });
    let Some(uci) = uci else { return Ok(parties) };
    // A party of an entry is QUALIFIER:ID. Some partners answer without qualifiers.
    let is_named = |party: &str, id: &str| {
        id.trim().is_empty() || party.split_once(':').is_some_and(|(_, known)| known.trim() == id.trim())
    };
    parties.retain(|(sender, receiver)| is_named(sender, &uci.sender) && is_named(receiver, &uci.receiver));
    if parties.is_empty() { Err(uci) } else { Ok(parties) }
}

/// Returns for each report of a transaction the functional identifier (AK101) of its group, whose report follows it.
fn functional_ids(reports: &[Report]) -> Vec<Option<&str>> {
    let mut ids = vec![None; reports.len()];
    let mut id = None;
    for (at, report) in reports.iter().enumerate().rev() {
        match report {
            Report::Group(group) => id = group.functional_id.as_deref().map(str::trim).filter(|id| !id.is_empty()),
            Report::Transaction(transaction) if transaction.kind != AcknowledgmentKind::Contrl => ids[at] = id,
            Report::Transaction(_) | Report::Interchange(_) => {}
        }
    }
    ids
}

/// Standard, and pairs of sender and receiver, of the sent interchange.
type Sent<'a> = (&'a str, &'a [(String, String)]);

fn padded_number(number: &str) -> String {
    format!("{:0>9}", number.trim())
}

/// Converts an outcome into a state; `None` if the acknowledgment ends before its outcome, or has one that the standard does not define.
fn state_of(outcome: Option<&Outcome>) -> Option<State> {
    match outcome {
        Some(Outcome::Accepted) => Some(State::Accepted),
        Some(Outcome::AcceptedWithErrors) => Some(State::AcceptedWithErrors),
        Some(Outcome::PartiallyAccepted) => Some(State::PartlyAccepted),
        Some(Outcome::Rejected | Outcome::AuthenticationFailed | Outcome::AssuranceFailed | Outcome::NotReadable) => {
            Some(State::Refused)
        }
        // Only an interchange is received (UCI).
        Some(Outcome::Received | Outcome::Other(_)) | None => None,
    }
}

/// Ranks answers by severity; `None` for states that are not answers.
fn badness(state: State) -> Option<u8> {
    match state {
        State::Accepted => Some(0),
        State::AcceptedWithErrors => Some(1),
        State::PartlyAccepted => Some(2),
        State::Refused => Some(3),
        _ => None,
    }
}

fn interchange(
    desk: &mut Desk<'_>,
    work: &mut Work<'_>,
    report: &InterchangeReport,
    (standard, parties): Sent<'_>,
) -> Result<Found, Findings> {
    let contexts: Vec<u64> =
        parties.iter().map(|(sender, receiver)| context_of(&[standard, sender, receiver])).collect();
    let number = if standard == "X12" { padded_number(&report.control_number) } else { report.control_number.clone() };
    let is_receipt = report.outcome == Outcome::Received;
    let state = if is_receipt { Some(State::Accepted) } else { state_of(Some(&report.outcome)) };
    let time = time_of(report).unwrap_or_default();
    let about = About {
        kind: Kind::Interchange,
        contexts: &contexts,
        number: &number,
        document: &time,
        advice: None,
        is_receipt,
    };
    let found = settle(desk, work, &about, state, &report.codes)?;
    let (Found::Sent { id, is_changed }, Some(state), false) = (&found, state, is_receipt) else { return Ok(found) };
    // An acceptance after a receipt does not change the interchange, and answers its messages.
    let ledger = desk.ledger;
    let is_accepted = state == State::Accepted && ledger.need(desk.unit()?, *id)?.state == State::Accepted;
    let is_answered = match standard {
        "EDIFACT" => *is_changed || is_accepted,
        _ => *is_changed && state == State::Refused,
    };
    if is_answered {
        children(desk, work, *id, state)?;
    }
    Ok(found)
}

/// Returns ISA09 and ISA10 as a TA1 names them; `None` if it does not.
fn time_of(report: &InterchangeReport) -> Option<String> {
    let (date, time) = (report.date.as_deref()?.trim(), report.time.as_deref()?.trim());
    // Some partners add the century or seconds.
    let date = if date.len() == 8 { date.get(2..)? } else { date };
    Some(format!("{date} {}", time.get(..4)?))
}

/// Returns the date and time of a sent interchange by the time of its entry, in the form of [`time_of`].
fn stamp_of(entry: &Entry) -> String {
    let stamp = Stamp::from_unix(entry.time_ms / 1_000);
    format!("{} {}", crate::time::text_of(stamp.short_date()), crate::time::text_of(stamp.time()))
}

/// Returns ISA09 and ISA10 of a sent interchange whose bytes are kept: the clock may differ between its header and its entry.
fn written_time(desk: &mut Desk<'_>, entry: &Entry) -> Result<Option<String>, Findings> {
    let ledger = desk.ledger;
    let bytes = ledger.body(desk.unit()?, entry.id, Part::Document)?;
    // X12.5: the elements of ISA have fixed lengths.
    let field = |range| bytes.as_deref().and_then(|bytes| bytes.get(range)).map(crate::time::text_of);
    Ok(field(70..76).zip(field(77..81)).map(|(date, time)| format!("{date} {time}")))
}

fn group(
    desk: &mut Desk<'_>,
    work: &mut Work<'_>,
    report: &GroupReport,
    (standard, parties): Sent<'_>,
) -> Result<Found, Findings> {
    let contexts: Vec<u64> =
        parties.iter().map(|(sender, receiver)| group_context(standard, sender, receiver)).collect();
    let number = report.control_number.trim().trim_start_matches('0').to_owned();
    let state = state_of(report.outcome.as_ref());
    let document = report.functional_id.as_deref().unwrap_or("").trim();
    let about =
        About { kind: Kind::Group, contexts: &contexts, number: &number, document, advice: None, is_receipt: false };
    let found = settle(desk, work, &about, state, &report.codes)?;
    let members = match &found {
        Found::Sent { id, .. } => {
            let ledger = desk.ledger;
            let entry = ledger.need(desk.unit()?, *id)?;
            let members = members(desk, &entry)?;
            Some((entry, members))
        }
        _ => None,
    };
    let sent = members.as_ref().map(|(_, members)| members.len() as u64);
    let version = members.as_ref().and_then(|(entry, _)| other_version(report, &entry.details.version));
    let contradiction = report.contradiction().map(str::to_owned).or(version).or_else(|| missed(report, sent?));
    let is_doubtful = contradiction.is_some();
    if let Some(what) = contradiction.filter(|_| state.is_some()) {
        let message = format!("the answer to group {number} contradicts itself or the group: {what}");
        let finding = Finding::warning(codes::ACK_CONTRADICTS, Fault::Sender, message);
        work.find(finding.hint(
            "ask the partner which documents were accepted; those without an answer of their own are not accepted",
        ));
    }
    let (Found::Sent { is_changed: true, .. }, Some(state), Some((entry, members))) = (&found, state, members) else {
        return Ok(found);
    };
    let rest = match state {
        State::Refused => State::Refused,
        State::Accepted | State::AcceptedWithErrors if !is_doubtful => State::Accepted,
        _ => return Ok(found),
    };
    decide(desk, work, &entry, members, rest)?;
    Ok(found)
}

/// Compares the counts of an answer with the group that was sent. An answer that says less about it cannot accept what it does not name.
fn missed(report: &GroupReport, sent: u64) -> Option<String> {
    // Without transactions, a purge removed them.
    let received = report.received.filter(|received| *received != sent && sent > 0)?;
    Some(format!("it counts {received} transaction sets, and the group has {sent}"))
}

/// Compares the version of an answer (AK103, since 005010) with GS08 of the group that was sent.
fn other_version(report: &GroupReport, sent: &str) -> Option<String> {
    let version = report.version.as_deref().map(str::trim).filter(|version| !version.is_empty() && *version != sent)?;
    (!sent.is_empty()).then(|| format!("it names version {version}, and the group was sent as {sent}"))
}

/// Returns the transactions of a group that was sent.
fn members(desk: &mut Desk<'_>, group: &Entry) -> Result<Vec<Entry>, Findings> {
    let Details { standard, sender, receiver, parent, .. } = &group.details;
    let context = transaction_context(standard, sender, receiver, &group.number);
    let mut members = sent_in(desk, context)?;
    members.retain(|one| one.details.group == group.number && one.details.parent == *parent);
    Ok(members)
}

/// Decides about the transactions of a group that was sent.
fn decide_group(desk: &mut Desk<'_>, work: &Work<'_>, group: &Entry, rest: State) -> Result<(), Findings> {
    let members = members(desk, group)?;
    decide(desk, work, group, members, rest)
}

/// Decides about those transactions of a group that have no answer of their own.
fn decide(
    desk: &mut Desk<'_>,
    work: &Work<'_>,
    group: &Entry,
    members: Vec<Entry>,
    rest: State,
) -> Result<(), Findings> {
    let what = format!("its group {} was answered in entry {}", group.id, work.id);
    members.into_iter().try_for_each(|one| set_decided(desk, &one, work.id, rest, &what))
}

/// Applies what an application advice says to the documents that it is about. Returns how many there were.
pub(crate) fn apply_advice(desk: &mut Desk<'_>, work: &mut Work<'_>) -> Result<u64, Findings> {
    let parties = parties_of(desk, work);
    let standard = work.details.standard.clone();
    let mut matched = 0;
    let advices = crate::advice::read(work.bytes, desk.book.limits());
    if advices.is_cut {
        let message = "the advice names more than 10,000 documents, and Quayline changes nothing for the others";
        let hint = "ask the partner to send the advice in several documents";
        work.find(Finding::error(codes::ACK_UNKNOWN, Fault::Sender, message).hint(hint));
    }
    if advices.all.is_empty() {
        let message = "the advice names no document: it has no OTI";
        let hint = "nothing was changed: ask the partner which document is meant, and for its numbers in the advice";
        work.find(Finding::error(codes::ACK_UNKNOWN, Fault::Sender, message).hint(hint));
    }
    for advice in advices.all {
        let around = advice.around.trim().trim_start_matches('0').to_owned();
        let contexts = parties.iter().map(|(sender, receiver)| match advice.kind {
            Kind::Group => group_context(&standard, sender, receiver),
            _ => transaction_context(&standard, sender, receiver, &around),
        });
        let contexts: Vec<u64> = contexts.collect();
        let number = if advice.kind == Kind::Group { around.as_str() } else { advice.number.as_str() };
        let reasons = advice.reasons.join("; ");
        let reasons = if reasons.is_empty() { reasons } else { format!(": {reasons}") };
        // An advice about a group names the type of its transactions, and a group has a functional identifier.
        let document = if advice.kind == Kind::Group { "" } else { advice.document.as_str() };
        let about = About {
            kind: advice.kind,
            contexts: &contexts,
            number,
            document,
            advice: Some(&reasons),
            is_receipt: false,
        };
        let is_named = !around.is_empty() && !number.is_empty();
        let found = if is_named { settle(desk, work, &about, advice.state, &[])? } else { Found::Nothing };
        let message = match found {
            Found::Sent { id, is_changed } => {
                matched += 1;
                if let (true, Kind::Group, Some(state @ (State::Accepted | State::Refused))) =
                    (is_changed, advice.kind, advice.state)
                {
                    let ledger = desk.ledger;
                    let group = ledger.need(desk.unit()?, id)?;
                    decide_group(desk, work, &group, state)?;
                }
                continue;
            }
            Found::Other(sent) => {
                format!("it advises of {document} {number} in {around}, and that was sent as {sent}")
            }
            Found::Nothing if !is_named => {
                let place = if standard == "X12" { "OTI08 and OTI09" } else { "RFF+ACE and RFF+ACW" };
                format!("the advice names no document: {place} are missing")
            }
            Found::Nothing => format!("it advises of {number} in {around}, which was never sent to this partner"),
        };
        let hint = "nothing was changed: ask the partner which document is meant, and for its numbers in the advice";
        work.find(Finding::error(codes::ACK_UNKNOWN, Fault::Sender, message).hint(hint));
    }
    Ok(matched)
}

fn transaction(
    desk: &mut Desk<'_>,
    work: &mut Work<'_>,
    report: &TransactionReport,
    functional: Option<&str>,
    (standard, parties): Sent<'_>,
) -> Result<Found, Findings> {
    let around = report.group.as_deref().or(report.interchange.as_deref()).unwrap_or("").trim();
    let contexts = parties.iter().map(|(sender, receiver)| transaction_context(standard, sender, receiver, around));
    let contexts: Vec<u64> = contexts.collect();
    let state = state_of(report.outcome.as_ref());
    let (number, document) = (report.control_number.trim(), report.transaction.trim());
    if let Some(functional) = functional {
        // A group of another kind is another group, although its number and those of its transactions are the same.
        let groups = parties.iter().map(|(sender, receiver)| group_context(standard, sender, receiver));
        let groups: Vec<u64> = groups.collect();
        let (sent, _) = newest(desk, Kind::Group, &groups, around.trim_start_matches('0'), None)?;
        let other = sent.map(|sent| sent.details.document).filter(|sent| !sent.is_empty() && sent != functional);
        if let Some(other) = other {
            return Ok(Found::Other(format!("{document} in a group of {other}, not of {functional}")));
        }
    }
    let about =
        About { kind: Kind::Transaction, contexts: &contexts, number, document, advice: None, is_receipt: false };
    settle(desk, work, &about, state, &report.codes)
}

/// Subject of a report.
struct About<'a> {
    kind: Kind,
    /// Contexts of the number, the likeliest first.
    contexts: &'a [u64],
    number: &'a str,
    /// GS01, ST01 or the message type, of an interchange ISA09 and ISA10; empty where the report does not say it.
    document: &'a str,
    /// Reasons of an application advice, which may reject a document that an acknowledgment accepted.
    advice: Option<&'a str>,
    /// True for the receipt of an interchange (action 8 of UCI), which does not report whether its content is accepted.
    is_receipt: bool,
}

/// Result of the search for a sent number.
enum Found {
    Sent {
        id: EntryId,
        /// True if the report changed the entry's state.
        is_changed: bool,
    },
    /// Another document, with its description.
    Other(String),
    Nothing,
}

/// Finds the newest sent entry with a number. An entry of a time, if one is given, is before newer ones; the flag says whether it is of that time.
fn newest(
    desk: &mut Desk<'_>,
    kind: Kind,
    contexts: &[u64],
    number: &str,
    time: Option<&str>,
) -> Result<(Option<Entry>, bool), Findings> {
    let number = kept_number(number);
    let ledger = desk.ledger;
    let (mut newest, mut is_of_time): (Option<Entry>, bool) = (None, false);
    for (at, context) in contexts.iter().enumerate() {
        let key = Prefix::in_context(kind, Way::Sent, *context, Some(number));
        ledger.each_numbered(desk.unit()?, &key, &mut |entry| {
            let is_it = time.is_some_and(|time| stamp_of(&entry) == time);
            let is_newer = newest.as_ref().is_none_or(|newest| (is_of_time, newest.id) < (is_it, entry.id));
            if entry.number == number && is_newer {
                (newest, is_of_time) = (Some(entry), is_it);
            }
            Ok(true)
        })?;
        // The parties of the acknowledgment itself decide, if anything was sent between them.
        if at == 0 && newest.is_some() {
            break;
        }
    }
    Ok((newest, is_of_time))
}

/// Sets the state of the newest entry with a number.
///
/// The worst answer applies: a rejection after an acceptance needs attention, and an acceptance after a rejection may be about another
/// document. A replaced entry remains replaced.
fn settle(
    desk: &mut Desk<'_>,
    work: &mut Work<'_>,
    &About { kind, contexts, number, document, advice, is_receipt }: &About<'_>,
    state: Option<State>,
    reasons: &[AcknowledgmentCode],
) -> Result<Found, Findings> {
    let ledger = desk.ledger;
    // Numbers recur, so a TA1 also names the date and time of its interchange (X12.5, TA102 and TA103).
    let has_time = kind == Kind::Interchange && !document.is_empty();
    let (newest, is_of_time) = newest(desk, kind, contexts, number, has_time.then_some(document))?;
    let Some(entry) = newest else { return Ok(Found::Nothing) };
    // Another worker may change its state until it is locked.
    let entry = ledger.locked(desk.unit()?, entry.id)?;
    // A partner that takes one of our groups for another must not accept or refuse it.
    let sent = if !has_time {
        entry.details.document.clone()
    } else if is_of_time {
        document.to_owned()
    } else {
        written_time(desk, &entry)?.unwrap_or_else(|| stamp_of(&entry))
    };
    if !document.is_empty() && !sent.is_empty() && document != sent {
        return Ok(Found::Other(sent));
    }
    let (id, by) = (entry.id, work.id);
    let kept = Ok(Found::Sent { id, is_changed: false });
    let words: Vec<&str> = reasons.iter().map(AcknowledgmentCode::words).collect();
    let why = if words.is_empty() { String::new() } else { format!(": {}", words.join("; ")) };
    let mut contradicts = |message: String, hint: &str| {
        work.find(Finding::warning(codes::ACK_CONTRADICTS, Fault::Sender, message).hint(hint));
    };
    let Some(state) = state else {
        contradicts(
            format!("the answer to the {} of entry {id} does not say what becomes of it", kind.name()),
            "nothing was changed, and its answer is still awaited: ask the partner for a whole acknowledgment",
        );
        return kept;
    };
    if entry.state == State::Replaced {
        contradicts(
            format!(
                "it answers the {} of entry {id}, which a later entry replaced: {}{why}",
                kind.name(),
                state.name()
            ),
            "nothing was changed: inform the partner that the documents were sent again with new numbers",
        );
        return kept;
    }
    let mut line = match advice {
        None => format!("{} in entry {by}{why}", state.name()),
        Some(reasons) => format!("{} by the partner's application in entry {by}{reasons}", state.name()),
    };
    if is_receipt {
        line = format!("received in entry {by}; its messages are not answered yet");
        if badness(entry.state).is_some() {
            let mut entry = ledger.locked(desk.unit()?, id)?;
            entry.details.happened(desk.now_ms(), format!("received in entry {by}"));
            ledger.update(desk.unit()?, &entry)?;
            return kept;
        }
    }
    if advice.is_some() && kind == Kind::Group && entry.state == State::Expecting && state != State::Refused {
        // Only a 997 or 999 answers the group itself. The advice is about its documents.
        let mut entry = ledger.locked(desk.unit()?, id)?;
        entry.details.happened(desk.now_ms(), format!("{line}; its acknowledgment is still awaited"));
        ledger.update(desk.unit()?, &entry)?;
        return Ok(Found::Sent { id, is_changed: true });
    }
    match badness(entry.state).cmp(&badness(state)) {
        // It was not answered yet.
        _ if badness(entry.state).is_none() => {}
        std::cmp::Ordering::Equal => {
            let mut entry = ledger.locked(desk.unit()?, id)?;
            entry.details.happened(desk.now_ms(), format!("answered again, {line}"));
            ledger.update(desk.unit()?, &entry)?;
            return kept;
        }
        std::cmp::Ordering::Greater => {
            contradicts(
                format!("the {} of entry {id} is {}, and now: {}{why}", kind.name(), entry.state.name(), state.name()),
                "nothing was changed: ask the partner which answer holds; `quayline interchange resend` awaits a new one",
            );
            return kept;
        }
        std::cmp::Ordering::Less => {
            if advice.is_none() && !is_only_received(desk, &entry)? {
                contradicts(
                    format!(
                        "the {} of entry {id} was {}, and now: {}{why}",
                        kind.name(),
                        entry.state.name(),
                        state.name()
                    ),
                    "the worse answer holds: ask the partner which one is meant",
                );
            }
            line = format!("after {}: {line}", entry.state.name());
        }
    }
    set(desk, id, by, state, &line)?;
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
    Ok(Found::Sent { id, is_changed: true })
}

/// Returns true if only the receipt of an interchange was acknowledged: an acceptance of an EDIFACT interchange answers all its content.
fn is_only_received(desk: &mut Desk<'_>, entry: &Entry) -> Result<bool, Findings> {
    if entry.kind != Kind::Interchange || entry.details.standard != "EDIFACT" || entry.state != State::Accepted {
        return Ok(false);
    }
    let groups = groups_in(desk, entry)?;
    let mut all = groups.into_iter().chain(transactions_in(desk, entry)?);
    Ok(all.any(|one| matches!(one.state, State::Sent | State::Expecting)))
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

/// Applies the answer to the enclosing group or interchange to an entry, which was read without a lock.
fn set_decided(desk: &mut Desk<'_>, one: &Entry, by: EntryId, state: State, what: &str) -> Result<(), Findings> {
    let ledger = desk.ledger;
    if is_decided(one.state, state) && is_decided(ledger.locked(desk.unit()?, one.id)?.state, state) {
        set(desk, one.id, by, state, what)?;
    }
    Ok(())
}

/// Returns true if the answer to the enclosing group or interchange applies to an entry: the entry has no answer, or a better one than a refusal.
fn is_decided(state: State, by: State) -> bool {
    matches!(state, State::Sent | State::Expecting)
        || by == State::Refused && badness(state).is_some_and(|one| Some(one) < badness(by))
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

/// Returns the groups of a sent interchange.
pub(crate) fn groups_in(desk: &mut Desk<'_>, interchange: &Entry) -> Result<Vec<Entry>, Findings> {
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

/// Returns the transactions of a sent interchange, in their order in it.
pub(crate) fn transactions_in(desk: &mut Desk<'_>, interchange: &Entry) -> Result<Vec<Entry>, Findings> {
    let Details { standard, sender, receiver, group, .. } = &interchange.details;
    // Transactions of an interchange without groups are numbered in the interchange.
    let around = if group.is_empty() { interchange.number.as_str() } else { group };
    let mut found = Vec::new();
    for around in around.split(',') {
        let context = transaction_context(standard, sender, receiver, around);
        let all = sent_in(desk, context)?;
        let begin = found.len();
        found.extend(all.into_iter().filter(|one| one.details.parent == interchange.id.0));
        // A group has its documents in the order in which they came. Their numbers may begin again within it.
        found[begin..].sort_by_key(|one| one.id);
    }
    Ok(found)
}

/// Applies the state of an interchange to its unanswered content: refused with it, or accepted with an EDIFACT interchange.
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
        set_decided(desk, &one, work.id, rest, &what)?;
    }
    Ok(())
}

/// Marks the groups of a replaced interchange as replaced, so that they are no longer overdue. Returns its transactions in their order.
pub(crate) fn replace_in(desk: &mut Desk<'_>, interchange: &Entry) -> Result<Vec<Entry>, Findings> {
    let now = desk.now_ms();
    let ledger = desk.ledger;
    for group in groups_in(desk, interchange)? {
        let mut group = ledger.locked(desk.unit()?, group.id)?;
        (group.state, group.due_ms) = (State::Replaced, now);
        group.details.happened(now, "its documents were put into a new interchange");
        ledger.update(desk.unit()?, &group)?;
    }
    transactions_in(desk, interchange)
}
