//! Bytes of a source outside of all interchanges: mail headers, a header that is cut off, and what follows a broken header.
//!
//! Quayline cannot process these bytes, so it reports them. If they cause an error, they also become an entry, so that a search finds them.

use std::io::{Read, SeekFrom};
use std::sync::Arc;

use quayline_core::{Finding, Findings, Severity};
use quayline_edi::{EdiFault, EnvelopePass, Event};

use crate::desk::Desk;
use crate::entry::{Details, Entry, EntryId, Kind, State, Way};
use crate::ledger::Part;
use crate::receive::{ReceiveReport, Source};

/// Maximum number of pieces that become entries. Quayline only counts the findings of further pieces.
const PIECES_MAX: usize = 100;

/// Findings outside of interchanges so far.
#[derive(Default)]
pub(crate) struct Outside {
    /// Whether an interchange is open.
    inside: bool,
    pieces: Vec<Piece>,
    warnings: Vec<Finding>,
    /// Findings beyond those that are kept.
    more: u64,
}

struct Piece {
    from: u64,
    /// Where the next interchange begins.
    to: Option<u64>,
    findings: Vec<Finding>,
}

impl Outside {
    /// Looks at an event and the faults that came with it. `is_open` says that an interchange takes them.
    pub(crate) fn see(
        &mut self,
        event: Event,
        pass: &EnvelopePass<'_>,
        faults: &[EdiFault],
        (file, is_open): (&Arc<str>, bool),
    ) {
        if !self.inside && !is_open {
            faults.iter().for_each(|fault| self.take(fault, file));
        }
        match event {
            Event::InterchangeStart => {
                self.inside = true;
                if let Some(last) = self.pieces.last_mut() {
                    last.to.get_or_insert(pass.interchange().position().byte.0);
                }
            }
            Event::InterchangeEnd(_) => self.inside = false,
            _ => {}
        }
    }

    fn take(&mut self, fault: &EdiFault, file: &Arc<str>) {
        let finding = fault.finding(Some(file));
        if fault.severity == Severity::Warning {
            if self.warnings.len() < ReceiveReport::FINDINGS_MAX {
                self.warnings.push(finding);
            } else {
                self.more += 1;
            }
            return;
        }
        let count = self.pieces.len();
        match self.pieces.last_mut().filter(|piece| piece.to.is_none()) {
            Some(piece) if piece.findings.len() < crate::FINDINGS_KEPT_MAX => piece.findings.push(finding),
            None if count < PIECES_MAX => {
                self.pieces.push(Piece { from: fault.at.byte.0, to: None, findings: vec![finding] });
            }
            _ => self.more += 1,
        }
    }

    /// Reports all findings, and stores the bytes that cause errors, in the unit of work that ends the source.
    ///
    /// # Errors
    /// Those of the source and of the store.
    pub(crate) fn end(
        self,
        desk: &mut Desk<'_>,
        (name, source): (&str, &mut dyn Source),
        report: &mut ReceiveReport,
    ) -> Result<(), Findings> {
        self.warnings.iter().for_each(|finding| report.find(EntryId(0), finding));
        report.findings_more += self.more;
        let most = desk.limits.transaction_bytes_max as u64;
        for piece in self.pieces {
            let read = |source: &mut dyn Source| {
                let mut bytes = Vec::new();
                source.seek(SeekFrom::Start(piece.from))?;
                let length = piece.to.map_or(most, |to| to.saturating_sub(piece.from).min(most));
                source.take(length).read_to_end(&mut bytes)?;
                Ok(bytes)
            };
            let bytes = read(source).map_err(|error| crate::receive::unreadable(name, &error))?;
            let why = "received; no interchange is here, so nothing of it can be processed";
            let id = keep_unrouted(desk, (name, bytes.len() as u64), &bytes, &piece.findings, why)?;
            piece.findings.iter().for_each(|finding| report.find(id, finding));
            report.unrouted += 1;
        }
        Ok(())
    }
}

/// Stores bytes that belong to no partner as an entry with the state `unrouted`. `length` is that of the source, of which `bytes` may be a part.
pub(crate) fn keep_unrouted(
    desk: &mut Desk<'_>,
    (name, length): (&str, u64),
    bytes: &[u8],
    findings: &[Finding],
    why: &str,
) -> Result<EntryId, Findings> {
    let id = desk.next_id()?;
    let now = desk.now_ms();
    let mut details = Details { bytes: length, source: name.to_owned(), ..Details::default() };
    details.add_findings(findings);
    details.happened(now, why);
    let entry = Entry {
        id,
        kind: Kind::Interchange,
        partner: String::new(),
        time_ms: now,
        state: State::Unrouted,
        due_ms: now,
        way: Way::Received,
        context: 0,
        number: String::new(),
        details,
    };
    let ledger = desk.ledger;
    ledger.insert_with(desk.unit()?, &entry, Part::Document, bytes)?;
    Ok(id)
}
