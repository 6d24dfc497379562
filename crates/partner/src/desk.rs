//! State of one worker: the open unit of work, the maps with their memory, and pending output to folders.
//!
//! Output to a queue or a record file is put in the unit of work itself. Output to a folder is kept in the store in the same unit of work, written after the
//! commit under a name that depends on the entry only, made durable, and removed from the store in a later unit. So a crash at any
//! point repeats at most the writing of the same bytes under the same name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use quayline_core::{Fault, Finding, Findings, Place, system_error_text};
use quayline_edi::{Level, Standard};
use quayline_frame::{EndOfInput, FramingSpec, Splitter, Step};
use quayline_pipeline::{OutputBuffer, UnitLane};
use quayline_project::partner::{Delivery, NumberRange, PartnerFile, RuleMap};
use quayline_store::queue::{Message, Queue};
use quayline_store::record_file::{By, RecordFile, Relation};
use quayline_store::{LockWait, StoreError, Unit, UnitMark};
use serde::Serialize;

use crate::book::{Book, LoadedMap};
use crate::codes;
use crate::compiled_condition::ConditionLane;
use crate::entry::EntryId;
use crate::ledger::{Ledger, of_store};
use crate::outbox::{OutboxKey, StoredFile, file_name, record_of, stored};
use crate::outputs::{HandedOutput, OutputKind, Outputs, not_taken, unwritten};

/// Bounds of one unit of work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DeskLimits {
    /// Transactions in a unit of work. Default 64, which share one sync of the disk; 1 commits each transaction separately.
    pub unit_transactions_max: usize,
    /// Bytes of documents. Default 4 MB.
    pub unit_bytes_max: usize,
    /// Bytes of one transaction. Default 64 MB: a map sees a transaction as a whole.
    pub transaction_bytes_max: usize,
    /// Bytes of one source of documents to send. Default 256 MB.
    pub send_bytes_max: u64,
    /// Numbers of entries that a worker takes in advance. Default 1: each is taken in its unit of work, without a gap, and other workers wait
    /// for the outcome. Workers on several threads take more, and a worker that ends leaves a gap. Numbers that are left after an hour are not used,
    /// because searches by time rely on the order of numbers.
    pub entry_numbers_ahead: u64,
}

impl Default for DeskLimits {
    fn default() -> Self {
        DeskLimits {
            unit_transactions_max: 64,
            unit_bytes_max: 4 << 20,
            transaction_bytes_max: 64 << 20,
            send_bytes_max: 256 << 20,
            entry_numbers_ahead: 1,
        }
    }
}

/// A worker. Each thread has its own.
pub struct Desk<'b> {
    pub(crate) book: &'b Book,
    pub(crate) ledger: &'b Ledger,
    pub(crate) limits: DeskLimits,
    pub(crate) lanes: HashMap<RuleMap, MapLane<'b>>,
    /// Conditions of rules, by number.
    pub(crate) conditions: HashMap<usize, ConditionLane<'b>>,
    unit: Option<Unit>,
    transactions: usize,
    bytes: usize,
    outgoing: Vec<Outgoing>,
    /// Place in the unit of work after the removal of files that are written.
    after_files: Option<UnitMark>,
    /// Findings about files that are not written.
    written: Written,
    pub(crate) outputs: Outputs<'b>,
    now_ms: Box<dyn Fn() -> u64 + 'b>,
    /// Units of work that committed.
    commits: u64,
    /// Numbers of entries that were taken in advance, and the time in milliseconds until which they are used.
    ids: (std::ops::Range<u64>, u64),
    /// True if sources share a unit of work.
    shares: bool,
    /// True if the unit of work is that of a caller, who ends it.
    is_lent: bool,
    /// Queue of the last delivery in this unit of work. Another process may redefine the queue between two units.
    queue: Option<(String, Queue)>,
    /// Record file of the last delivery in this unit of work.
    file: Option<(String, RecordFile)>,
    /// Record of the processed position that the current source wrote last, with its key at the start.
    position: Option<Vec<u8>>,
}

/// A map with its memory.
pub(crate) struct MapLane<'b> {
    pub(crate) map: &'b LoadedMap,
    pub(crate) lane: UnitLane<'b>,
    pub(crate) buffers: Vec<OutputBuffer>,
}

/// A file that is to be written after the commit, or without a folder, output for standard output.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) key: OutboxKey,
    folder: PathBuf,
    name: String,
    bytes: Vec<u8>,
}

/// Point in the open unit of work, in the list of files to write after it, and in the output for the caller.
pub(crate) struct DeskMark {
    unit: UnitMark,
    files: usize,
    outputs: usize,
}

impl<'b> Desk<'b> {
    /// Creates a worker. `now_ms` is the clock in milliseconds since 1970-01-01 UTC. Quayline first writes the files that an earlier run could not
    /// write. Files that still cannot be written are findings of [`Desk::take_undelivered`] and block nothing else.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn new(
        book: &'b Book,
        ledger: &'b Ledger,
        limits: DeskLimits,
        now_ms: impl Fn() -> u64 + 'b,
    ) -> Result<Desk<'b>, Findings> {
        Desk::with_output(book, ledger, limits, now_ms, None)
    }

    /// Creates a worker as [`Desk::new`] does. What rules and settings deliver to `output` goes to the stream. Without a stream, it is refused.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn with_output(
        book: &'b Book,
        ledger: &'b Ledger,
        limits: DeskLimits,
        now_ms: impl Fn() -> u64 + 'b,
        stream: Option<Box<dyn io::Write + 'b>>,
    ) -> Result<Desk<'b>, Findings> {
        ledger.check_key()?;
        let mut desk = Desk {
            book,
            ledger,
            limits,
            lanes: HashMap::new(),
            conditions: HashMap::new(),
            unit: None,
            transactions: 0,
            bytes: 0,
            outgoing: Vec::new(),
            after_files: None,
            written: Written::default(),
            outputs: stream.map_or(Outputs::Nobody, Outputs::Stream),
            now_ms: Box::new(now_ms),
            commits: 0,
            ids: (0..0, 0),
            shares: false,
            is_lent: false,
            queue: None,
            file: None,
            position: None,
        };
        desk.write_left()?;
        Ok(desk)
    }

    /// The transaction store.
    #[must_use]
    pub fn ledger(&self) -> &'b Ledger {
        self.ledger
    }

    /// Returns the number of units of work that this worker has committed, by which a caller detects that a failure undid everything.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.commits
    }

    /// Returns the findings about failed deliveries since the last call. The output is in the store, and the next worker delivers it. The reports of
    /// [`Desk::receive`], [`Desk::send`] and [`Desk::release`] include these findings.
    pub fn take_undelivered(&mut self) -> Vec<Finding> {
        self.written.take_undelivered()
    }

    /// Returns the time of the clock.
    pub(crate) fn now_ms(&self) -> u64 {
        (self.now_ms)()
    }

    /// Returns the clock and the number for one run of a map.
    pub(crate) fn begin_map(&mut self) -> (u64, u64) {
        (self.now_ms(), self.book.next_run())
    }

    /// Returns the open unit of work.
    pub(crate) fn unit(&mut self) -> Result<&mut Unit, Findings> {
        if self.unit.is_none() {
            self.unit = Some(self.ledger.begin().map_err(of_store)?);
        }
        Ok(self.unit.as_mut().expect("made above"))
    }

    /// Returns the next number of an entry.
    pub(crate) fn next_id(&mut self) -> Result<EntryId, Findings> {
        let ledger = self.ledger;
        if self.limits.entry_numbers_ahead <= 1 {
            return ledger.next_id(self.unit()?).map_err(of_store);
        }
        let now_ms = self.now_ms();
        if self.ids.0.is_empty() || now_ms >= self.ids.1 {
            let ids = ledger.take_ids(self.limits.entry_numbers_ahead).map_err(of_store)?;
            self.ids = (ids, now_ms.saturating_add(IDS_USED_MS));
        }
        Ok(EntryId(self.ids.0.next().expect("numbers were taken above")))
    }

    /// Takes numbers of entries for a unit of work that has no control numbers yet: another unit may hold the sequence of entries and wait for these.
    pub(crate) fn take_ids_ahead(&mut self) -> Result<(), Findings> {
        let ahead = self.limits.entry_numbers_ahead;
        let left = self.ids.0.end.saturating_sub(self.ids.0.start);
        if ahead > 1 && left < ahead / 4 {
            let ids = self.ledger.take_ids(ahead).map_err(of_store)?;
            self.ids = (ids, self.now_ms().saturating_add(IDS_USED_MS));
        }
        Ok(())
    }

    /// Does several things, such as receiving and sending many small sources, in shared units of work, up to [`DeskLimits`].
    ///
    /// Envelopes are released outside of `work`. Workers on several threads must handle different partners: a unit of work locks the control numbers
    /// of its partners until it ends.
    ///
    /// # Errors
    /// The first error of `work`, or of the commit. Everything that is not committed is undone, including that of earlier sources. The next attempt
    /// does not repeat what is committed.
    pub fn together<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Findings>) -> Result<T, Findings> {
        self.shares = true;
        let done = work(self);
        self.shares = false;
        let done = done.and_then(|done| self.finish().map(|()| done));
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    /// Counts a transaction; commits when the unit of work is full.
    pub(crate) fn counted(&mut self, bytes: usize) -> Result<(), Findings> {
        self.transactions += 1;
        self.bytes += bytes;
        if self.transactions >= self.limits.unit_transactions_max || self.bytes >= self.limits.unit_bytes_max {
            self.commit()?;
            self.lock_position_again()?;
        }
        Ok(())
    }

    /// Locks the position of a source and returns its state, without the key. Two workers thus never process one source at the same time.
    pub(crate) fn position(&mut self, key: &[u8; 16]) -> Result<Option<Vec<u8>>, Findings> {
        self.position = None;
        let ledger = self.ledger;
        let unit = self.unit()?;
        match ledger.arrivals.read_for_update(unit, By::Key(key), Relation::Equal, LockWait::Default) {
            Ok(record) => Ok(record.bytes.get(key.len()..).map(<[u8]>::to_vec)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(of_store(error)),
        }
    }

    /// Keeps the position of a source in the unit of work that is open.
    pub(crate) fn keep_position(&mut self, key: &[u8; 16], state: &impl Serialize) -> Result<(), Findings> {
        let mut record = key.to_vec();
        serde_json::to_writer(&mut record, state).expect("numbers");
        let ledger = self.ledger;
        ledger.arrivals.set(self.unit()?, &record).map_err(of_store)?;
        self.position = Some(record);
        Ok(())
    }

    /// Locks the position of the current source in a new unit of work. The commit released the lock, so a worker that waited for it may have continued
    /// the source.
    fn lock_position_again(&mut self) -> Result<(), Findings> {
        let Some(kept) = self.position.take() else { return Ok(()) };
        let ledger = self.ledger;
        let unit = self.unit()?;
        match ledger.arrivals.read_for_update(unit, By::Key(&kept[..16]), Relation::Equal, LockWait::Default) {
            Ok(record) if *record.bytes == *kept => {
                self.position = Some(kept);
                Ok(())
            }
            Ok(_) | Err(StoreError::NotFound { .. }) => {
                let message = "another worker continued the source after a unit of work of this run";
                let finding = Finding::error(codes::CONTINUED, Fault::Environment, message);
                Err(finding
                    .hint("nothing is processed twice: run again to continue the source if it is incomplete")
                    .into())
            }
            Err(error) => Err(of_store(error)),
        }
    }

    /// Counts bytes of the unit of work that are of no transaction.
    pub(crate) fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// Returns true if the unit of work has transactions.
    pub(crate) fn has_transactions(&self) -> bool {
        self.transactions > 0
    }

    /// Returns true if the next transaction would end the unit of work.
    pub(crate) fn is_full_after(&self, bytes: usize) -> bool {
        self.transactions + 1 >= self.limits.unit_transactions_max || self.bytes + bytes >= self.limits.unit_bytes_max
    }

    /// Commits the open unit of work, then writes its files.
    pub(crate) fn commit(&mut self) -> Result<(), Findings> {
        self.transactions = 0;
        self.bytes = 0;
        (self.queue, self.file, self.after_files) = (None, None, None);
        if let Some(unit) = self.unit.take() {
            unit.commit().map_err(of_store)?;
            self.commits += 1;
        }
        let outgoing = std::mem::take(&mut self.outgoing);
        if outgoing.is_empty() {
            return Ok(());
        }
        // The next unit of work locks the files before they are written and removes them from the outbox, so no other worker writes them.
        let mut unit = self.ledger.begin().map_err(of_store)?;
        if self.written.write_locked(self.ledger, &mut unit, outgoing, &mut self.outputs)? > 0 {
            self.after_files = Some(unit.mark());
            self.unit = Some(unit);
        }
        Ok(())
    }

    /// Makes a unit of work of the caller the open one.
    pub(crate) fn lend(&mut self, unit: Unit) {
        (self.unit, self.is_lent, self.shares) = (Some(unit), true, true);
    }

    /// Returns the unit of work of the caller, with the files to write after its commit.
    pub(crate) fn give_back(&mut self) -> (Unit, Vec<Outgoing>) {
        (self.is_lent, self.shares) = (false, false);
        (self.queue, self.file) = (None, None);
        (self.transactions, self.bytes) = (0, 0);
        let unit = self.unit.take().expect("a unit of work of a caller is neither committed nor dropped");
        (unit, std::mem::take(&mut self.outgoing))
    }

    /// Returns true if the unit of work is that of a caller.
    pub(crate) fn is_lent(&self) -> bool {
        self.is_lent
    }

    /// Commits, and removes the written files from the outbox.
    pub(crate) fn finish(&mut self) -> Result<(), Findings> {
        self.position = None;
        if self.shares {
            return Ok(());
        }
        self.commit()?;
        if self.unit.is_some() {
            self.commit()?;
        }
        Ok(())
    }

    /// Drops the open unit of work. That of a caller stays; [`Desk::in_unit`] undoes what was done in it.
    pub(crate) fn roll_back(&mut self) {
        if !self.is_lent {
            let unit = self.unit.take();
            // Files that were written before this unit of work are removed from the outbox, otherwise the next worker writes them again.
            if let Some((mut unit, mark)) = unit.zip(self.after_files.take()) {
                unit.back_to(mark);
                // After a failure of the store, the next worker writes the same bytes under the same names.
                let _ = unit.commit();
            }
        }
        (self.queue, self.file) = (None, None);
        self.outgoing.clear();
        self.position = None;
        self.transactions = 0;
        self.bytes = 0;
    }

    /// Returns a mark.
    pub(crate) fn mark(&mut self) -> Result<DeskMark, Findings> {
        let (files, outputs) = (self.outgoing.len(), self.outputs.len());
        Ok(DeskMark { unit: self.unit()?.mark(), files, outputs })
    }

    /// Undoes the changes since a mark. Entry numbers that were reserved remain used.
    pub(crate) fn back_to(&mut self, mark: DeskMark) -> Result<(), Findings> {
        self.unit()?.back_to(mark.unit);
        self.outgoing.truncate(mark.files);
        self.outputs.truncate(mark.outputs);
        Ok(())
    }

    /// Hands output of an entry to its delivery; returns where it goes, for the entry.
    pub(crate) fn deliver(
        &mut self,
        to: &Delivery,
        kind: OutputKind,
        (id, number): (EntryId, u16),
        name: &str,
        bytes: Cow<'_, [u8]>,
    ) -> Result<String, Findings> {
        match to {
            Delivery::Queue(queue) => {
                if self.queue.as_ref().is_none_or(|(name, _)| name != queue) {
                    let open = open_queue(self.ledger, queue)?;
                    self.queue = Some((queue.clone(), open));
                }
                let mut message = Message::new(bytes.into_owned());
                message.properties = vec![
                    ("entry".to_owned(), id.to_string().into_bytes()),
                    ("name".to_owned(), name.as_bytes().to_vec()),
                ];
                self.unit()?;
                let (unit, open) = self.unit.as_mut().zip(self.queue.as_ref()).expect("both were opened above");
                open.1.put(unit, &message).map_err(not_queued)?;
                Ok(format!("queue:{queue}"))
            }
            Delivery::File(_) => Err(not_records().into()),
            Delivery::Answer => {
                let message = "a document without a partner has no sender to answer";
                let finding = Finding::error(codes::NO_PARTNER, Fault::Config, message);
                Err(finding.hint("add the sender to a partner file, then run again").into())
            }
            Delivery::Output if !self.outputs.takes(kind) => Err(not_taken(kind).into()),
            Delivery::Output => {
                if let Outputs::Caller(_, handed) = &mut self.outputs {
                    handed.push(HandedOutput { kind, bytes: bytes.into_owned() });
                } else {
                    self.keep_outgoing(PathBuf::new(), (id, number), name, bytes)?;
                }
                Ok(to.to_string())
            }
            Delivery::Folder(folder) => {
                let to = self.book.project().join(folder).join(name).display().to_string();
                self.keep_outgoing(PathBuf::from(folder), (id, number), name, bytes)?;
                Ok(to)
            }
        }
    }

    /// Keeps a file in the outbox until it is written after the commit. The folder is one of the project, so that a later run from another working
    /// directory writes it to the same place.
    fn keep_outgoing(
        &mut self,
        folder: PathBuf,
        (id, number): (EntryId, u16),
        name: &str,
        bytes: Cow<'_, [u8]>,
    ) -> Result<(), Findings> {
        let mut key = [0; 10];
        key[..8].copy_from_slice(&id.0.to_be_bytes());
        key[8..].copy_from_slice(&number.to_be_bytes());
        let ledger = self.ledger;
        let record = record_of(&key, &folder.to_string_lossy(), name, &ledger.packed(&key, &bytes)?);
        ledger.outbox.set(self.unit()?, &record).map_err(of_store)?;
        let folder = in_project(self.book.project(), folder);
        self.outgoing.push(Outgoing { key, folder, name: name.to_owned(), bytes: bytes.into_owned() });
        Ok(())
    }

    /// Inserts the records of an output into a record file, in the unit of work that is open. Returns the finding about a record that the file refuses,
    /// such as a duplicate key; the caller then undoes the others.
    pub(crate) fn insert(
        &mut self,
        name: &str,
        framing: Option<&FramingSpec>,
        bytes: &[u8],
    ) -> Result<Result<(), Finding>, Findings> {
        let Some(mut splitter) = framing.and_then(|framing| Splitter::new(framing, self.book.limits()).ok()) else {
            return Err(not_records().into());
        };
        self.unit()?;
        let unit = self.unit.as_mut().expect("it was opened above");
        if self.file.as_ref().is_none_or(|(known, _)| known != name) {
            self.file = Some((name.to_owned(), open_file(self.ledger, unit, name)?));
        }
        let (_, file) = self.file.as_ref().expect("it was opened above");
        let mut from = 0;
        loop {
            match splitter.split(&bytes[from..], EndOfInput::Yes) {
                Ok(Step::Record { body, consumed, .. }) => {
                    if let Err(error) = file.insert(unit, body) {
                        let finding = error.finding();
                        return if finding.fault == Fault::Sender { Ok(Err(finding)) } else { Err(finding.into()) };
                    }
                    from += consumed;
                }
                Ok(Step::Done { .. }) => return Ok(Ok(())),
                // The writer of the framing made these bytes.
                Ok(Step::NeedMore { .. }) | Err(_) => {
                    let message = format!("the output for the record file {name} is not whole records");
                    return Err(Finding::error(codes::DELIVERY, Fault::Ours, message).into());
                }
            }
        }
    }

    /// Writes the files that a crash left in the outbox.
    fn write_left(&mut self) -> Result<(), Findings> {
        let mut after: Option<Vec<u8>> = None;
        loop {
            let mut unit = self.ledger.begin().map_err(of_store)?;
            let mut browse = self.ledger.outbox.browse();
            let mut files = Vec::new();
            let mut bytes = 0;
            if let Some(after) = &after {
                match browse.start(&unit, By::Key(after), Relation::AtLeast) {
                    Ok(()) => {}
                    Err(StoreError::NotFound { .. }) => break,
                    Err(error) => return Err(of_store(error)),
                }
            }
            while bytes < self.limits.unit_bytes_max {
                match browse.next(&unit) {
                    Ok(record) if after.as_deref() == Some(&record.key[..]) => {}
                    Ok(record) => {
                        let file = outgoing_of(self.ledger, self.book.project(), &record.bytes)?;
                        bytes += file.bytes.len() + 1_024;
                        files.push(file);
                    }
                    Err(StoreError::EndOfFile { .. }) => break,
                    Err(error) => return Err(of_store(error)),
                }
            }
            let Some(last) = files.last() else { break };
            after = Some(last.key.to_vec());
            self.written.write_locked(self.ledger, &mut unit, files, &mut self.outputs)?;
            unit.commit().map_err(of_store)?;
        }
        Ok(())
    }

    /// Returns the next control number of a register. Each range between two identities has its own register, identified by its first number.
    pub(crate) fn control_number(
        &mut self,
        standard: Standard,
        level: Level,
        (own, partner): (usize, usize),
        range: NumberRange,
    ) -> Result<u64, Findings> {
        let level = match level {
            Level::Interchange => "interchange",
            Level::Group => "group",
            Level::Transaction => "transaction",
        };
        let (own, partner) = (self.book.partner(own), self.book.partner(partner));
        let identity = |file: &PartnerFile| {
            file.identity(standard).map(|one| format!("{}:{}", one.qualifier, one.id)).unwrap_or_default()
        };
        let (sender, receiver) = (identity(own), identity(partner));
        let name = format!("partner/{level}/{}/{sender}/{receiver}/{}", standard.name(), range.first);
        let unit = self.unit()?;
        let mut number = unit.next_number(&name).map_err(of_store)?;
        if number == 1 {
            // Earlier versions counted by the names of the files, with one register for all ranges.
            let by_names = format!("partner/{level}/{}/{}/{}", standard.name(), own.name, partner.name);
            let last = unit.last_number(&by_names).map_err(of_store)?;
            if last >= range.first && last <= range.last {
                number = last + 1;
                unit.set_number(&name, number).map_err(of_store)?;
            }
        }
        if number < range.first || number > range.last {
            number = range.first;
            unit.set_number(&name, number).map_err(of_store)?;
        }
        Ok(number)
    }

    /// Returns a map with its memory.
    pub(crate) fn lane(&mut self, of: &RuleMap) -> Result<&mut MapLane<'b>, Findings> {
        if !self.lanes.contains_key(of) {
            let map = self.book.map(of).map_err(Clone::clone)?;
            let lane = MapLane { map, lane: map.pipeline.lane()?, buffers: map.pipeline.buffers()? };
            self.lanes.insert(of.clone(), lane);
        }
        Ok(self.lanes.get_mut(of).expect("made above"))
    }
}

/// Findings about files that could not be written after a commit.
#[derive(Default)]
pub(crate) struct Written {
    /// Findings about failed deliveries, at most [`UNDELIVERED_MAX`]; the files are in the outbox.
    undelivered: Vec<Finding>,
    undelivered_more: u64,
}

impl Written {
    /// Locks files in the outbox, writes those that are still there, and removes them. Returns the number of written files. Those that another worker
    /// writes now are left to it.
    pub(crate) fn write_locked(
        &mut self,
        ledger: &Ledger,
        unit: &mut Unit,
        files: Vec<Outgoing>,
        outputs: &mut Outputs<'_>,
    ) -> Result<usize, Findings> {
        let mut locked = Vec::with_capacity(files.len());
        for file in files {
            match ledger.outbox.read_for_update(unit, By::Key(&file.key), Relation::Equal, LockWait::No) {
                Ok(_) => locked.push(file),
                Err(StoreError::NotFound { .. } | StoreError::LockTimeout { .. }) => {}
                Err(error) => return Err(of_store(error)),
            }
        }
        let keys = self.write(&locked, outputs);
        for key in &keys {
            ledger.outbox.remove(unit, key).map_err(of_store)?;
        }
        Ok(keys.len())
    }

    /// Writes files and returns the keys of those that are durable. A file that cannot be written stays in the outbox with a finding. If its folder
    /// cannot be written, the later files of the folder stay there, too, without further attempts. Output for standard output stays there if `outputs`
    /// has no stream.
    fn write(&mut self, files: &[Outgoing], outputs: &mut Outputs<'_>) -> Vec<[u8; 10]> {
        let mut keys = Vec::new();
        let mut folders: Vec<(&Path, bool)> = Vec::new();
        let mut written: Vec<(&Path, [u8; 10])> = Vec::new();
        for file in files {
            if file.folder.as_os_str().is_empty() {
                match outputs.write(&file.bytes) {
                    Some(Ok(())) => keys.push(file.key),
                    Some(Err(error)) => self.keep_undelivered(unwritten(&error)),
                    None => {}
                }
                continue;
            }
            let known = folders.iter().position(|(folder, _)| *folder == file.folder.as_path());
            if known.is_some_and(|known| !folders[known].1) {
                self.undelivered_more += 1;
                continue;
            }
            let done = write_file(file);
            let is_usable = match &done {
                Ok(()) => {
                    written.push((&file.folder, file.key));
                    true
                }
                Err(Unwritten::File(error) | Unwritten::Folder(error)) => {
                    self.keep_undelivered(undelivered(&file.folder.join(&file.name), error));
                    matches!(done, Err(Unwritten::File(_)))
                }
            };
            match known {
                Some(known) => folders[known].1 = is_usable,
                None => folders.push((&file.folder, is_usable)),
            }
        }
        let mut unsynced: Vec<&Path> = Vec::new();
        for (folder, _) in folders.iter().filter(|(folder, _)| written.iter().any(|(of, _)| of == folder)) {
            // One call makes all files of the folder durable, with their names.
            let sync = || -> io::Result<()> { Ok(rustix::fs::syncfs(fs::File::open(folder)?)?) };
            if let Err(error) = sync() {
                self.keep_undelivered(undelivered(folder, &error));
                unsynced.push(folder);
            }
        }
        let durable = written.into_iter().filter(|(folder, _)| !unsynced.contains(folder));
        keys.extend(durable.map(|(_, key)| key));
        keys
    }

    fn keep_undelivered(&mut self, finding: Finding) {
        if self.undelivered.len() < UNDELIVERED_MAX {
            self.undelivered.push(finding);
        } else {
            self.undelivered_more += 1;
        }
    }

    /// Returns the findings since the last call.
    pub(crate) fn take_undelivered(&mut self) -> Vec<Finding> {
        let mut all = std::mem::take(&mut self.undelivered);
        let more = std::mem::take(&mut self.undelivered_more);
        if more > 0 {
            let message = format!("{more} more files cannot be delivered");
            all.push(Finding::error(codes::DELIVERY, Fault::Environment, message).hint(UNDELIVERED_HINT));
        }
        all
    }
}

/// Creates the finding about a document for a record file that is not records.
fn not_records() -> Finding {
    let message = "a document that is not records cannot go into a record file";
    Finding::error(codes::DELIVERY, Fault::Config, message).hint("deliver it to a folder or queue, then run again")
}

pub(crate) fn open_file(ledger: &Ledger, unit: &Unit, file: &str) -> Result<RecordFile, Findings> {
    match ledger.store().file(unit, file) {
        Err(StoreError::FileMissing { .. }) => {
            let message = format!("record file {file} is not defined");
            let finding = Finding::error(codes::DELIVERY, Fault::Config, message);
            let hint = "define it with `quayline file define` in the store of this command, with its key and the layout's copybook, then run again";
            Err(finding.hint(hint).into())
        }
        found => found.map_err(of_store),
    }
}

pub(crate) fn open_queue(ledger: &Ledger, queue: &str) -> Result<Queue, Findings> {
    match ledger.store().queue(queue) {
        Err(StoreError::QueueMissing { .. }) => {
            let message = format!("queue {queue} is not defined");
            let finding = Finding::error(codes::DELIVERY, Fault::Config, message);
            Err(finding.hint(format!("define it with `quayline queue define {queue}`, then run again")).into())
        }
        found => found.map_err(of_store),
    }
}

/// Returns the findings about a message that a queue did not take. One that is too long, or a full queue, stops its source only, as a queue that is
/// not defined does; the error of a store stops the run.
fn not_queued(error: StoreError) -> Findings {
    let finding = match &error {
        StoreError::MessageTooLong { queue, .. } => {
            let hint = format!(
                "raise the limit with `quayline queue alter {queue} --message-max`, or deliver to a folder, then run again"
            );
            Finding::error(codes::DELIVERY, Fault::Config, error.to_string()).hint(hint)
        }
        StoreError::QueueFull { queue, .. } => {
            let hint = format!(
                "get messages of {queue}, or raise its limits with `quayline queue alter`; the next run delivers"
            );
            Finding::error(codes::DELIVERY, Fault::Environment, error.to_string()).hint(hint)
        }
        _ => return of_store(error),
    };
    finding.into()
}

/// Returns the path of a folder of the project; an empty one is standard output.
fn in_project(project: &Path, folder: PathBuf) -> PathBuf {
    if folder.as_os_str().is_empty() { folder } else { project.join(folder) }
}

fn outgoing_of(ledger: &Ledger, project: &Path, record: &[u8]) -> Result<Outgoing, Findings> {
    let StoredFile { key, folder, name, packed } = stored(record)?;
    let bytes = ledger.unpacked(&key, packed)?;
    Ok(Outgoing { key, folder: in_project(project, folder.into()), name: file_name(name).into_owned(), bytes })
}

/// Reason why a file is not written.
enum Unwritten {
    /// Other files of the folder may be writable.
    File(io::Error),
    /// The folder cannot be written, or has no room.
    Folder(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{InvalidFilename, InvalidInput, IsADirectory, NotFound};
        match error.kind() {
            InvalidFilename | InvalidInput | IsADirectory | NotFound => Unwritten::File(error),
            _ => Unwritten::Folder(error),
        }
    }
}

/// Writes a file under a temporary name and renames it, so that no reader gets an incomplete file.
fn write_file(file: &Outgoing) -> Result<(), Unwritten> {
    fs::create_dir_all(&file.folder).map_err(Unwritten::Folder)?;
    // A name per process: a process that lost its lock of the outbox while it was stopped does not truncate the file of another one.
    let partial = file.folder.join(format!(".{}.{}.partial", file.name, std::process::id()));
    let write = || {
        fs::write(&partial, &file.bytes)?;
        fs::rename(&partial, file.folder.join(&file.name))
    };
    let done = write();
    if done.is_err() {
        let _ = fs::remove_file(&partial);
    }
    Ok(done?)
}

fn undelivered(path: &Path, error: &io::Error) -> Finding {
    let message = format!("output cannot be delivered: {}", system_error_text(error));
    let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
    let finding = Finding::error(codes::DELIVERY, Fault::Environment, message).at(place);
    finding.hint(UNDELIVERED_HINT)
}

const UNDELIVERED_HINT: &str = "nothing is lost: correct the folder or free space, and the next run delivers it; `quayline partner outbox` lists the files that wait";

/// Time for which numbers of entries that were taken in advance are used: an hour.
const IDS_USED_MS: u64 = 3_600_000;

/// Findings about deliveries that a worker keeps; the rest is counted.
const UNDELIVERED_MAX: usize = 100;
