//! Bytes of a source outside of all interchanges: mail headers, a header that is cut off, and what follows a broken header.
//!
//! Quayline cannot process these bytes, so it reports them. If they cause an error, they also become an entry, so that a search finds them.

use std::io::{Read, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use quayline_core::{Finding, Findings, Severity};
use quayline_edi::{EdiFault, EnvelopePass, Event};

use crate::desk::Desk;
use crate::details::Details;
use crate::entry::{Entry, EntryId, Kind, Part, State, Way};
use crate::receive_report::ReceiveReport;
use crate::refusal::{self, is_refused};
use crate::source::Source;

/// Maximum number of pieces that have their findings. Further pieces become entries too, with the first of their findings.
const PIECES_WITH_FINDINGS_MAX: usize = 100;

/// Maximum number of pieces. The last one holds everything from its first byte to the end of the source.
const PIECES_MAX: usize = 10_000;

/// Keeps the number of pieces that are stored, in the unit of work that is open.
pub(crate) type Keep<'k> = dyn FnMut(&mut Desk<'_>, u64) -> Result<(), Findings> + 'k;

/// Findings outside of interchanges so far.
#[derive(Default)]
pub(crate) struct Outside {
    /// True inside an interchange.
    inside: bool,
    pieces: Vec<Piece>,
    warnings: Vec<Finding>,
    /// Findings beyond those that are kept.
    more: u64,
}

struct Piece {
    from: u64,
    /// Start of the next interchange.
    to: Option<u64>,
    findings: Vec<Finding>,
    /// The fault of its header, if it begins with one.
    header: Option<Box<EdiFault>>,
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

    /// Takes the headers that begin no interchange, also where the interchange before them has no trailer: it is not theirs.
    pub(crate) fn refuse(&mut self, faults: &[EdiFault], file: &Arc<str>) {
        for fault in faults.iter().filter(|fault| is_refused(fault)) {
            // A header with several faults is one piece.
            if let Some(last) = self.pieces.last_mut().filter(|last| last.from != fault.at.byte.0) {
                last.to.get_or_insert(fault.at.byte.0);
            }
            self.take(fault, file);
            let begins = |piece: &&mut Piece| piece.from == fault.at.byte.0;
            if let Some(piece) = self.pieces.last_mut().filter(begins) {
                piece.header.get_or_insert_with(|| Box::new(fault.clone()));
            }
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
        match self.pieces.last_mut().filter(|piece| piece.to.is_none() || count == PIECES_MAX) {
            Some(piece) => {
                piece.to = None;
                if piece.findings.len() < crate::FINDINGS_KEPT_MAX && count <= PIECES_WITH_FINDINGS_MAX {
                    piece.findings.push(finding);
                } else {
                    self.more += 1;
                }
            }
            None => self.pieces.push(Piece { from: fault.at.byte.0, to: None, findings: vec![finding], header: None }),
        }
    }

    /// Reports all findings, and stores the bytes that cause errors, in the units of work that end the source.
    ///
    /// `stored` is the number of pieces that an earlier run stored; `keep` keeps the number of those that the unit of work holds.
    ///
    /// # Errors
    /// Those of the source and of the store.
    pub(crate) fn end(
        self,
        desk: &mut Desk<'_>,
        (name, source, length): (&str, &mut dyn Source, u64),
        report: &mut ReceiveReport,
        (stored, keep): (u64, &mut Keep<'_>),
    ) -> Result<(), Findings> {
        self.warnings.iter().for_each(|finding| report.find(EntryId(0), finding));
        report.findings_more += self.more;
        for (number, piece) in (1..).zip(self.pieces) {
            if number <= stored {
                continue;
            }
            let why = "received; no interchange is here, so nothing of it can be processed";
            let to = piece.to.unwrap_or(length).max(piece.from);
            let ids = keep_unrouted(desk, (name, source), piece.from..to, &piece.findings, why)?;
            for id in ids.iter().take(1) {
                piece.findings.iter().for_each(|finding| report.find(*id, finding));
                if let Some(fault) = &piece.header {
                    refusal::answer(desk, fault, *id, report)?;
                }
            }
            report.unrouted += 1;
            let bytes = usize::try_from(to - piece.from).unwrap_or(usize::MAX);
            if desk.is_full_after(bytes) {
                keep(desk, number)?;
            }
            desk.counted(bytes)?;
        }
        Ok(())
    }
}

/// Stores bytes of a source that belong to no partner as entries with the state `unrouted`: one, or several where they are more than an entry
/// holds. Returns their numbers.
pub(crate) fn keep_unrouted(
    desk: &mut Desk<'_>,
    (name, source): (&str, &mut dyn Source),
    range: Range<u64>,
    findings: &[Finding],
    why: &str,
) -> Result<Vec<EntryId>, Findings> {
    let most = desk.limits.transaction_bytes_max as u64;
    let parts = (range.end - range.start).div_ceil(most).max(1);
    let mut ids = Vec::new();
    let io = |error| crate::source::unreadable(name, &error);
    source.seek(SeekFrom::Start(range.start)).map_err(io)?;
    for part in 1..=parts {
        let mut bytes = Vec::new();
        let length = most.min(range.end - range.start - (part - 1) * most);
        (&mut *source).take(length).read_to_end(&mut bytes).map_err(io)?;
        let id = desk.next_id()?;
        let now = desk.now_ms();
        let mut details = Details {
            bytes: bytes.len() as u64,
            source: name.to_owned(),
            about: ids.first().map_or(0, |first: &EntryId| first.0),
            ..Details::default()
        };
        details.add_findings(findings);
        details.happened(now, why);
        if parts > 1 {
            details.happened(now, format!("part {part} of {parts} of bytes that one entry cannot hold"));
        }
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
        ledger.insert_with(desk.unit()?, &entry, Part::Document, &bytes)?;
        ids.push(id);
        if part < parts {
            // A crash between two parts stores them again: they are more than a unit of work should hold.
            desk.counted(bytes.len())?;
        }
    }
    Ok(ids)
}
