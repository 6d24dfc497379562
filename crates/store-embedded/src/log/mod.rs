//! The log of units of work: segment files, one record for each group, one record on its way to the disk at any time.
//!
//! **Why an intact record after a damaged one is damage.** With `durability = sync` a record is written only after the one before it was synced.
//! So a power cut can tear only the last record, and the intact record proves that the damaged one was whole. With `durability = buffered` several
//! records may be unsynced; each record says how far the log was durable when it was written, and only damage before that point is an error.

pub(crate) mod record;
pub(crate) mod segment;

use std::collections::VecDeque;
use std::sync::Arc;

use quayline_store::{Batch, Clock, Position, StoreError};

use crate::log::record::{HEADER, SEAL, SEAL_BYTES, decode_units, seal_record};
use crate::log::segment::{DATA, Found, Head, Segment, name_of, number_of};
use crate::medium::{Medium, OpenMode};
use crate::settings::Settings;

/// Position from which a replay starts, as the applied store records it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Mark {
    /// Everything before this position is applied.
    pub(crate) position: u64,
    /// Segment that holds it.
    pub(crate) segment: u64,
    /// Identity of the log.
    pub(crate) identity: u64,
}

#[derive(Debug)]
pub(crate) struct Log {
    medium: Arc<dyn Medium>,
    clock: Arc<dyn Clock>,
    /// Segments with records that are not applied yet, oldest first. The last one is being written.
    segments: VecDeque<Segment>,
    /// Files of freed segments, for reuse.
    spares: Vec<String>,
    position: u64,
    durable: u64,
    segment_bytes: u64,
    spare_max: usize,
    pub(crate) syncs: u64,
    /// Microseconds in syncs that commits and the applier waited for.
    pub(crate) sync_us: u64,
}

impl Log {
    /// Makes the first segment of a new log.
    pub(crate) fn create(
        medium: &Arc<dyn Medium>,
        clock: &Arc<dyn Clock>,
        settings: &Settings,
    ) -> Result<(Self, Mark), StoreError> {
        let identity = clock.random();
        let head = Head { number: 1, base: 0, salt: clock.random(), identity };
        let segment = Segment::create(medium.as_ref(), head)?;
        let log = Log::with(medium, clock, settings, VecDeque::from([segment]), 0);
        Ok((log, Mark { position: 0, segment: 1, identity }))
    }

    fn with(
        medium: &Arc<dyn Medium>,
        clock: &Arc<dyn Clock>,
        settings: &Settings,
        segments: VecDeque<Segment>,
        position: u64,
    ) -> Self {
        Log {
            medium: Arc::clone(medium),
            clock: Arc::clone(clock),
            segments,
            spares: Vec::new(),
            position,
            durable: position,
            segment_bytes: settings.segment_bytes.max(4 * DATA),
            spare_max: settings.spare_segments_max,
            syncs: 0,
            sync_us: 0,
        }
    }

    /// Opens the log and replays the records after the mark. When this returns, the end of the log is durable.
    pub(crate) fn open(
        medium: &Arc<dyn Medium>,
        clock: &Arc<dyn Clock>,
        settings: &Settings,
        mark: Mark,
        access: OpenMode,
        replay: &mut dyn FnMut(Vec<Batch>) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        let first = must_open(medium.as_ref(), mark.segment, mark.identity, access)?;
        let mut log = Log::with(medium, clock, settings, VecDeque::from([first]), mark.position);
        // The last record: its segment among those that are open, its position and its body.
        let mut last: Option<(usize, u64, Vec<u8>)> = None;
        loop {
            let segment = log.segments.back().expect("a log has a segment");
            if log.position < segment.head.base {
                return Err(damaged(segment, 0, "the applied store is ahead of the segment".to_owned()));
            }
            let Found::Record { header, body, end } = segment.record_at(log.position)? else { break };
            if header.kind == SEAL {
                let (number, salt) = next_of(&body).ok_or_else(|| {
                    damaged(segment, segment.byte_of(log.position), "a seal of no known form".to_owned())
                })?;
                let next = must_open(medium.as_ref(), number, mark.identity, access)?;
                if next.head.salt != salt || next.head.base != end {
                    return Err(damaged(
                        &next,
                        0,
                        "the header is not the one that the segment before announced".into(),
                    ));
                }
                last = Some((log.segments.len() - 1, log.position, body));
                log.segments.push_back(next);
            } else {
                let at = segment.byte_of(log.position);
                let units = decode_units(&body, header.units)
                    .ok_or_else(|| damaged(segment, at, "a group of no known form".to_owned()))?;
                last = Some((log.segments.len() - 1, log.position, body));
                replay(units)?;
            }
            log.position = end;
        }
        log.durable = log.position;
        log.look_behind(access)?;
        if access != OpenMode::Read {
            log.make_end_durable(last)?;
            log.tidy_files()?;
        }
        Ok(log)
    }

    /// Handles an incomplete record at the end. It is the torn end of the log unless a later record proves otherwise.
    fn look_behind(&self, access: OpenMode) -> Result<(), StoreError> {
        let segment = self.segments.back().expect("a log has a segment");
        let mut later = segment.intact_after(self.position)?;
        let mut files = vec![segment.clone(); later.len()];
        // A segment that was announced and used, whose announcement is what is damaged.
        if let Some(next) = Segment::open(self.medium.as_ref(), segment.head.number + 1, OpenMode::Read)?
            && next.head.identity == segment.head.identity
            && next.head.base > self.position
            && let Found::Record { header, .. } = next.record_at(next.head.base)?
        {
            later.push((Position(next.head.base), header.durable));
            files.push(next);
        }
        for ((intact, durable), file) in later.into_iter().zip(files) {
            if durable > self.position {
                return Err(StoreError::LogDamaged {
                    file: segment.name.clone(),
                    byte: segment.byte_of(self.position),
                    damaged: Position(self.position),
                    intact,
                });
            }
            // Written with `durability = buffered` and lost with what came before it: a later record must not lead to it.
            if access != OpenMode::Read
                && let Some(file) = Segment::open(self.medium.as_ref(), file.head.number, OpenMode::Write)?
            {
                file.erase(intact.0)?;
                file.sync()?;
            }
        }
        Ok(())
    }

    /// Writes the last record again. After a failed sync it may be in the system's cache only, where a later sync no longer writes it. Only the last record
    /// was ever unsynced, so this makes everything durable that this opening shows.
    fn make_end_durable(&mut self, last: Option<(usize, u64, Vec<u8>)>) -> Result<(), StoreError> {
        if let Some((index, position, body)) = last {
            let segment = &self.segments[index];
            let at = segment.byte_of(position);
            let mut record = vec![0; HEADER];
            segment.file.read(at, &mut record).map_err(|error| StoreError::io(&segment.name, "read", &error))?;
            record.extend_from_slice(&body);
            segment.file.write(at, &record).map_err(|error| StoreError::io(&segment.name, "written", &error))?;
            segment.sync()?;
        }
        self.syncs += 1;
        self.segments.back().expect("a log has a segment").sync()
    }

    /// Keeps some files of freed segments for reuse and removes the others.
    fn tidy_files(&mut self) -> Result<(), StoreError> {
        let oldest = self.segments.front().map_or(0, |segment| segment.head.number);
        let names = self.medium.list().map_err(|error| StoreError::io(&self.medium.name(), "listed", &error))?;
        for name in names.iter().filter(|name| number_of(name).is_some_and(|number| number < oldest)) {
            self.keep_or_remove(name)?;
        }
        Ok(())
    }

    /// A segment that one long group made larger is not kept: the store would never be small again.
    fn keep_or_remove(&mut self, name: &str) -> Result<(), StoreError> {
        let length = self.medium.open(name, OpenMode::Read).and_then(|file| file.len());
        let length = length.map_err(|error| StoreError::io(name, "read", &error))?;
        if self.spares.len() < self.spare_max && length <= 2 * self.segment_bytes {
            self.spares.push(name.to_owned());
            return Ok(());
        }
        self.medium.remove(name).map_err(|error| StoreError::io(name, "removed", &error))
    }

    /// Removes the files that are kept for reuse.
    pub(crate) fn remove_spares(&mut self) -> Result<(), StoreError> {
        while let Some(name) = self.spares.pop() {
            self.medium.remove(&name).map_err(|error| StoreError::io(&name, "removed", &error))?;
        }
        Ok(())
    }

    /// Returns true if the log is one segment in which nothing was ever written.
    pub(crate) fn is_empty_segment(&self) -> bool {
        self.segments.len() == 1 && self.segments[0].is_empty()
    }

    /// Bytes of all files of the log.
    pub(crate) fn disk_bytes(&self) -> Result<u64, StoreError> {
        let mut bytes = 0;
        for segment in &self.segments {
            bytes += segment.disk_bytes()?;
        }
        for name in &self.spares {
            let file =
                self.medium.open(name, OpenMode::Read).map_err(|error| StoreError::io(name, "opened", &error))?;
            bytes += file.len().map_err(|error| StoreError::io(name, "read", &error))?;
        }
        Ok(bytes)
    }

    /// Returns the last position.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the position up to which everything is synced.
    pub(crate) fn durable(&self) -> u64 {
        self.durable
    }

    /// Writes a group. `record` begins with room for a header. Returns the position after it.
    pub(crate) fn append(&mut self, record: &mut Vec<u8>, units: u32) -> Result<u64, StoreError> {
        let bytes = record.len().next_multiple_of(8) as u64;
        let segment = self.segments.back().expect("a log has a segment");
        if segment.byte_of(self.position) + bytes + SEAL_BYTES > self.segment_bytes && self.position > segment.head.base
        {
            self.next_segment()?;
        }
        let (position, durable, limit) = (self.position, self.durable, self.segment_bytes);
        let segment = self.segments.back_mut().expect("a log has a segment");
        seal_record(record, record::GROUP, position, durable, units, segment.head.salt);
        segment.write(position, record, limit)?;
        self.position += record.len() as u64;
        Ok(self.position)
    }

    /// Makes everything durable.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        if self.durable < self.position {
            let began = std::time::Instant::now();
            self.segments.back().expect("a log has a segment").sync()?;
            self.syncs += 1;
            self.sync_us += u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.durable = self.position;
        }
        Ok(())
    }

    /// Makes sure that no opening finds the record that a write or sync failed for, which begins at a position or in a segment after it. Nothing may be
    /// written after this.
    pub(crate) fn cut_back(&mut self, begin: u64) -> Result<(), StoreError> {
        let segment = self.segments.back().expect("a log has a segment");
        // A segment that was begun meanwhile has nothing but this record.
        segment.cut(begin.max(segment.head.base))?;
        segment.sync()
    }

    /// Continues in another segment: the next one is durable before the seal names it, and the seal before anything is written there.
    pub(crate) fn next_segment(&mut self) -> Result<(), StoreError> {
        self.sync()?;
        let segment = self.segments.back().expect("a log has a segment");
        let head = Head {
            number: segment.head.number + 1,
            base: self.position + SEAL_BYTES,
            salt: self.clock.random(),
            identity: segment.head.identity,
        };
        if let Some(spare) = self.spares.pop() {
            let name = name_of(head.number);
            self.medium.rename(&spare, &name).map_err(|error| StoreError::io(&spare, "renamed", &error))?;
        }
        let next = Segment::create(self.medium.as_ref(), head)?;
        let mut record = vec![0; HEADER];
        record.extend_from_slice(&head.number.to_le_bytes());
        record.extend_from_slice(&head.salt.to_le_bytes());
        let (position, durable, limit) = (self.position, self.durable, self.segment_bytes);
        let segment = self.segments.back_mut().expect("a log has a segment");
        seal_record(&mut record, SEAL, position, durable, 0, segment.head.salt);
        segment.write(position, &mut record, limit)?;
        segment.sync()?;
        self.syncs += 1;
        self.position = head.base;
        self.durable = head.base;
        self.segments.push_back(next);
        Ok(())
    }

    /// Returns the mark of a position, from which a replay starts.
    pub(crate) fn mark_of(&self, position: u64) -> Mark {
        let holds = self.segments.iter().rev().find(|segment| segment.head.base <= position);
        let segment = holds.or(self.segments.front()).expect("a log has a segment");
        // The position between a seal and its segment's end is the next segment's base, so a mark never points at a seal's own bytes.
        Mark { position, segment: segment.head.number, identity: segment.head.identity }
    }

    /// Frees segments whose records are all applied.
    pub(crate) fn free_to(&mut self, mark: Mark) -> Result<(), StoreError> {
        while self.segments.len() > 1 && self.segments[0].head.number < mark.segment {
            let segment = self.segments.pop_front().expect("there are two");
            self.keep_or_remove(&segment.name)?;
        }
        Ok(())
    }

    /// Reads every record from a mark to the end of the log. Returns the damage found.
    pub(crate) fn check(&self, mark: Mark) -> Result<Vec<StoreError>, StoreError> {
        let mut position = mark.position;
        for segment in self.segments.iter().filter(|segment| segment.head.number >= mark.segment) {
            loop {
                if position >= self.position {
                    return Ok(Vec::new());
                }
                match segment.record_at(position)? {
                    Found::Record { header, end, .. } => {
                        position = end;
                        if header.kind == SEAL {
                            break;
                        }
                    }
                    Found::Nothing => {
                        let byte = segment.byte_of(position);
                        let end = self.position;
                        let what = format!("the group at position {position} does not hold; the log ends at {end}");
                        return Ok(vec![StoreError::Damaged { file: segment.name.clone(), byte, what }]);
                    }
                }
            }
        }
        Ok(Vec::new())
    }
}

/// Returns a segment name if a folder holds a log with at least one record, of any store.
pub(crate) fn any_record(medium: &dyn Medium) -> Result<Option<String>, StoreError> {
    let names = medium.list().map_err(|error| StoreError::io(&medium.name(), "listed", &error))?;
    for number in names.iter().filter_map(|name| number_of(name)) {
        if let Some(segment) = Segment::open(medium, number, OpenMode::Read)?
            && matches!(segment.record_at(segment.head.base)?, Found::Record { .. })
        {
            return Ok(Some(segment.name));
        }
    }
    Ok(None)
}

/// Removes all segment files.
pub(crate) fn remove_all(medium: &dyn Medium) -> Result<(), StoreError> {
    let names = medium.list().map_err(|error| StoreError::io(&medium.name(), "listed", &error))?;
    for name in names.iter().filter(|name| number_of(name).is_some()) {
        medium.remove(name).map_err(|error| StoreError::io(name, "removed", &error))?;
    }
    Ok(())
}

fn must_open(medium: &dyn Medium, number: u64, identity: u64, access: OpenMode) -> Result<Segment, StoreError> {
    let name = name_of(number);
    let lost = |what: &str| StoreError::Damaged { file: name.clone(), byte: 0, what: what.to_owned() };
    let segment = Segment::open(medium, number, access)?
        .ok_or_else(|| lost("the segment that the log needs is missing or its header is damaged"))?;
    if segment.head.identity != identity {
        return Err(lost("the segment belongs to another store"));
    }
    if segment.head.number != number {
        return Err(lost("the header has another number than the name of the file"));
    }
    Ok(segment)
}

fn damaged(segment: &Segment, byte: u64, what: String) -> StoreError {
    StoreError::Damaged { file: segment.name.clone(), byte, what }
}

fn next_of(seal: &[u8]) -> Option<(u64, u64)> {
    let number = u64::from_le_bytes(seal.get(..8)?.try_into().ok()?);
    let salt = u64::from_le_bytes(seal.get(8..16)?.try_into().ok()?);
    Some((number, salt))
}
