//! Received interchanges in original form: every byte from the header to the trailer, in pieces.
//!
//! Quayline keeps each transaction as a separate interchange, to process it again. To prove what a partner sent, you need the original
//! interchange. `PARTNER.RECEIVED` has its bytes in compressed pieces of 1 MB, because an interchange has no maximum length. The entry has the
//! number of bytes kept. Further pieces are left over from a killed run and do not count.

use std::io::{self, Read, SeekFrom};
use std::ops::Range;

use quayline_core::{Fault, Finding, Findings};
use quayline_project::partner::{Settings, WholePolicy};
use quayline_store::record_file::{By, Relation};
use quayline_store::{StoreError, Unit};

use crate::codes;
use crate::desk::Desk;
use crate::entry::{Entry, EntryId, Kind, Part, State, Way};
use crate::ledger::{Ledger, of_store};
use crate::source::{Source, unreadable};

/// Bytes of a piece before compression.
const PIECE_BYTES: u64 = 1 << 20;

/// Pieces that are in the unit of work that closes the interchange. Those of a larger one are in units of their own, before it: a unit of work is in memory.
const PIECES_INSIDE_MAX: u64 = 4;

fn key(id: EntryId, piece: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&id.0.to_be_bytes());
    key[8..].copy_from_slice(&piece.to_be_bytes());
    key
}

/// Returns true if the policy keeps an interchange with this outcome.
pub(crate) fn keeps(settings: &Settings, entry: &Entry) -> bool {
    let details = &entry.details;
    match settings.keep_interchanges.unwrap_or(WholePolicy::Rejected) {
        WholePolicy::All => true,
        WholePolicy::None => false,
        WholePolicy::Rejected => {
            entry.state != State::Delivered
                || details.transactions_bad > 0
                || details.findings.iter().any(|finding| finding.severity == "error")
        }
    }
}

/// Finds the UNA that precedes an interchange at `begin`, possibly separated from it by a line break.
pub(crate) fn service_before(source: &mut dyn Source, begin: u64) -> io::Result<u64> {
    const SERVICE_BYTES: usize = 9;
    let from = begin.saturating_sub(SERVICE_BYTES as u64 + 16);
    source.seek(SeekFrom::Start(from))?;
    let mut before = Vec::new();
    source.take(begin - from).read_to_end(&mut before)?;
    let is_service = |at: &usize| {
        let rest = &before[*at..];
        rest.starts_with(b"UNA") && rest.get(SERVICE_BYTES..).is_some_and(|after| after.trim_ascii().is_empty())
    };
    Ok((0..before.len()).rev().find(is_service).map_or(begin, |at| from + at as u64))
}

/// Returns true if the bytes of a received interchange are kept longer than their retention time.
pub(crate) fn has_old_bytes(entry: &Entry, now_ms: u64) -> bool {
    let days = entry.details.kept_days;
    let is_old = entry.time_ms.saturating_add(days.saturating_mul(86_400_000)) <= now_ms;
    days > 0 && entry.details.kept_bytes > 0 && is_old
}

impl Desk<'_> {
    /// Stores this range of the source, which is an interchange, and records it in its entry. The caller stores the entry.
    pub(crate) fn keep_whole(
        &mut self,
        entry: &mut Entry,
        settings: &Settings,
        (name, source): (&str, &mut dyn Source),
        range: Range<u64>,
    ) -> Result<(), Findings> {
        let io = |error| unreadable(name, &error);
        let length = range.end.saturating_sub(range.start);
        let pieces = length.div_ceil(PIECE_BYTES);
        // A unit of work of a caller has its message in memory, whatever its size.
        let is_inside = pieces <= PIECES_INSIDE_MAX || self.is_lent();
        source.seek(SeekFrom::Start(range.start)).map_err(io)?;
        let ledger = self.ledger;
        let mut apart: Option<Unit> = None;
        for piece in 0..pieces {
            // If the file has become shorter since the run began, reading returns an error.
            let most = PIECE_BYTES.min(length - piece * PIECE_BYTES);
            let mut bytes = vec![0; usize::try_from(most).expect("a piece fits in memory")];
            source.read_exact(&mut bytes).map_err(io)?;
            let key = key(entry.id, u32::try_from(piece).unwrap_or(u32::MAX));
            let mut record = key.to_vec();
            record.extend_from_slice(&ledger.packed(&key, &bytes)?);
            if is_inside {
                ledger.received.set(self.unit()?, &record).map_err(of_store)?;
                continue;
            }
            let mut unit = match apart.take() {
                Some(unit) => unit,
                None => ledger.begin().map_err(of_store)?,
            };
            ledger.received.set(&mut unit, &record).map_err(of_store)?;
            if (piece + 1) % PIECES_INSIDE_MAX == 0 || piece + 1 == pieces {
                unit.commit().map_err(of_store)?;
            } else {
                apart = Some(unit);
            }
        }
        if is_inside {
            self.add_bytes(usize::try_from(length).unwrap_or(usize::MAX));
        }
        entry.details.kept_bytes = length;
        entry.details.kept_days = settings.keep_interchanges_days.unwrap_or(0);
        Ok(())
    }
}

impl Ledger {
    /// Hands the bytes of an entry to `visit`, piece by piece: those of a document or its source, or a received interchange as it came.
    ///
    /// # Errors
    /// The entry does not keep its bytes, errors of the store, and those of `visit`.
    pub fn bytes_of(
        &self,
        unit: &Unit,
        entry: &Entry,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), Findings>,
    ) -> Result<(), Findings> {
        for part in [Part::Document, Part::Source] {
            if let Some(body) = self.body(unit, entry.id, part)? {
                return visit(&body);
            }
        }
        if entry.details.kept_bytes == 0 {
            let message = format!("the bytes of entry {} are not kept", entry.id);
            let hint = match (entry.kind, entry.way) {
                (Kind::Interchange, Way::Received) => {
                    "`keep-interchanges = \"all\"` in the partner's settings keeps later interchanges as they come; the documents of this one have their own bytes"
                }
                (Kind::Group, _) => "a group has no bytes of its own; its interchange and its documents have",
                (Kind::Transaction, Way::Sent) if entry.details.parent != 0 => {
                    let parent = entry.details.parent;
                    &format!("the interchange has the bytes of a sent document: see entry {parent}")
                }
                _ => "set keep = \"all\" in the partner's settings",
            };
            return Err(Finding::error(codes::NO_BYTES, Fault::Caller, message).hint(hint).into());
        }
        for piece in 0..entry.details.kept_bytes.div_ceil(PIECE_BYTES) {
            let key = key(entry.id, u32::try_from(piece).unwrap_or(u32::MAX));
            let record = self.received.read(unit, By::Key(&key), Relation::Equal).map_err(of_store)?;
            visit(&self.unpacked(&key, &record.bytes[key.len()..])?)?;
        }
        Ok(())
    }

    /// Removes the bytes of a received interchange.
    pub(crate) fn remove_received(&self, unit: &mut Unit, entry: &Entry) -> Result<(), StoreError> {
        for piece in 0..entry.details.kept_bytes.div_ceil(PIECE_BYTES) {
            self.received.remove(unit, &key(entry.id, u32::try_from(piece).unwrap_or(u32::MAX)))?;
        }
        Ok(())
    }

    /// Removes the bytes of a received interchange, but keeps its entry, which is locked.
    pub(crate) fn purge_received(&self, unit: &mut Unit, mut entry: Entry, now_ms: u64) -> Result<(), Findings> {
        self.remove_received(unit, &entry).map_err(of_store)?;
        entry.details.kept_bytes = 0;
        entry.details.happened(now_ms, "the bytes of the interchange were purged");
        self.update(unit, &entry)
    }
}
