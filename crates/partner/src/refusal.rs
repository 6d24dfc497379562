//! Answers to interchanges whose header cannot be used: a TA1 or CONTRL to the partner that the header names.

use quayline_core::{Findings, Severity};
use quayline_edi::acknowledge::{Acknowledger, MemoryOutput, RefusedHeader, Stamp};
use quayline_edi::{EdiError, EdiFault};

use crate::acknowledgment::Answered;
use crate::desk::Desk;
use crate::entry::EntryId;
use crate::receive_report::ReceiveReport;
use crate::time::text_of;
use crate::verdict::acknowledgment_options;

/// Answers the header with this fault, whose bytes are in entry `id`, in the unit of work that is open. Only a header that names a partner and one of our
/// identities has an answer.
pub(crate) fn answer(
    desk: &mut Desk<'_>,
    fault: &EdiFault,
    id: EntryId,
    report: &mut ReceiveReport,
) -> Result<(), Findings> {
    if !is_refused(fault) || fault.severity != Severity::Error {
        return Ok(());
    }
    let Some(header) = RefusedHeader::of(fault) else { return Ok(()) };
    let book = desk.book;
    let party = |[qualifier, identification]: &[Vec<u8>; 2]| {
        let (qualifier, identification) = (text_of(qualifier), text_of(identification));
        let number = book.identified(header.standard, &qualifier, &identification)?;
        Some((number, format!("{qualifier}:{identification}")))
    };
    let is_own = |number: usize| book.partner(number).is_own;
    let (Some((partner, sender)), Some((own, receiver))) = (party(&header.sender), party(&header.receiver)) else {
        return Ok(());
    };
    if is_own(partner) || !is_own(own) {
        return Ok(());
    }
    let settings = book.settings(own, partner);
    if settings.acknowledge.as_ref().is_some_and(Vec::is_empty) {
        return Ok(());
    }
    let mut written = MemoryOutput::default();
    let options = acknowledgment_options(&settings, Stamp::from_unix(desk.now_ms() / 1_000));
    Acknowledger::new(options).refuse(fault, &mut written);
    if written.written().is_empty() {
        return Ok(());
    }
    let standard = header.standard;
    let (sender, receiver) = (&*sender, &*receiver);
    let answered = Answered { id, parties: (own, partner), standard, sender, receiver, test: false };
    let answer = desk.acknowledge(written.written(), &settings, &answered)?;
    let (ledger, now) = (desk.ledger, desk.now_ms());
    let mut entry = ledger.locked(desk.unit()?, id)?;
    entry.details.answered(now, answer.0);
    ledger.update(desk.unit()?, &entry)?;
    report.acknowledgments += 1;
    Ok(())
}

/// Returns true if a fault is in a header that cannot be used, so that no interchange begins.
pub(crate) fn is_refused(fault: &EdiFault) -> bool {
    matches!(fault.error, EdiError::Header { .. } | EdiError::DelimiterKind { .. } | EdiError::DelimiterTwice { .. })
}
