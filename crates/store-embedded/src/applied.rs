//! The applied store beside the log, as a trait of five methods, and its implementation with redb.
//!
//! Every value carries four bytes of checksum over key and value, because the tree reads pages without checking them: a flipped bit is an error
//! with a place, not another value.

use std::fmt::Debug;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use parking_lot::RwLock;
use quayline_store::{Direction, FullKey, PageKind, Space, StoreError, Value, count_page};
use redb::{Database, ReadOnlyTable, ReadableDatabase as _, TableDefinition};

use crate::log::Mark;
use crate::medium::{Medium, MediumFile, OpenMode};
use crate::readable::Damaged;
use crate::sorted_changes::{self, SortedChange};
use crate::tree_file::{FILE, checksum, damaged_by, error};

/// Takes an entry of a scan and says whether to continue.
pub(crate) type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// An ordered store that commits batches durably. Its keys are full keys.
pub(crate) trait AppliedStore: Send + Sync + Debug {
    /// The mark of the last batch.
    fn mark(&self) -> Mark;
    /// A snapshot for readers.
    fn view(&self) -> Result<Arc<dyn AppliedView>, StoreError>;
    /// Applies changes whose keys ascend and remembers the mark, all in one durable commit.
    fn apply(&self, changes: &[SortedChange<'_>], mark: Mark) -> Result<u64, StoreError>;
    /// Adds ascending entries to a range without keys, all in one durable commit. The mark does not move. If the range has a key, nothing is
    /// added and the result is [`StoreError::NotEmpty`].
    fn load(&self, entries: &LoadBatch) -> Result<(), StoreError>;
    /// Bytes on disk.
    fn bytes(&self) -> Result<u64, StoreError>;
    /// Maintains the store while no view of it exists: checks its structure, or compacts it.
    fn maintain(&self, what: Maintenance) -> Result<bool, StoreError>;
}

/// Ascending entries of a load, one after another: full key, value, checksum.
#[derive(Debug, Default)]
pub(crate) struct LoadBatch {
    bytes: Vec<u8>,
    /// End of the key and end of the checksum of each entry.
    ends: Vec<(usize, usize)>,
}

impl LoadBatch {
    /// Adds an entry. Its key follows the one before.
    pub(crate) fn push(&mut self, space: Space, key: &[u8], value: &[u8]) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&space.0.to_be_bytes());
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        let sum = checksum(&self.bytes[begin..], value);
        self.bytes.extend_from_slice(value);
        self.bytes.extend_from_slice(&sum);
        self.ends.push((key_end, self.bytes.len()));
    }

    /// Returns the last key, without its space.
    pub(crate) fn last_key(&self) -> Option<&[u8]> {
        let begin = self.ends.iter().rev().nth(1).map_or(0, |(_, end)| *end);
        self.ends.last().map(|(key_end, _)| &self.bytes[begin + 4..*key_end])
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Iterates over full keys, and values with their checksums.
    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let begins = std::iter::once(0).chain(self.ends.iter().map(|(_, end)| *end));
        begins
            .zip(&self.ends)
            .map(|(begin, (key_end, end))| (&self.bytes[begin..*key_end], &self.bytes[*key_end..*end]))
    }
}

/// Work that needs the applied store alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Maintenance {
    /// Check that the structure is intact.
    Check,
    /// Gives unused space back; whether there was any.
    Compact,
}

/// A snapshot.
pub(crate) trait AppliedView: Send + Sync + Debug {
    /// The value of a key.
    fn get(&self, key: &FullKey) -> Result<Option<Value>, StoreError>;
    /// Visits entries in order.
    fn scan(
        &self,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError>;
    /// Visits every entry that can be read and every damage, and continues after it.
    fn salvage(&self, range: (Bound<&[u8]>, Bound<&[u8]>), visit: &mut TryVisit<'_>) -> Result<(), StoreError>;
}

/// Result of a salvage step, with full keys.
#[derive(Debug)]
pub(crate) enum Tried<'a> {
    Entry(&'a [u8], &'a [u8]),
    /// Damage, with the key if it can be read.
    Damage(Option<&'a [u8]>, StoreError),
}

/// Receives the entries and the damage that a salvage finds, and decides whether to continue.
pub(crate) type TryVisit<'a> = dyn FnMut(Tried<'_>) -> ControlFlow<()> + 'a;

/// Damage at which a salvage ends. Each is a page or an entry; a tree with more is not one of which much is left.
const DAMAGE_MAX: usize = 10_000;
/// Damaged entries whose place in the file is looked for, which reads the file.
const PLACES_MAX: usize = 20;

const NEW_FILE: &str = "store.redb.new";
/// Version of the layout inside the file.
const VERSION: u32 = 1;
/// Size of a page of redb.
const PAGE_BYTES: u64 = 4096;

type Table = TableDefinition<'static, &'static [u8], &'static [u8]>;
const ENTRIES: Table = TableDefinition::new("entries");
const MARK: TableDefinition<'static, u8, (u32, u64, u64, u64)> = TableDefinition::new("mark");

/// Calls a function that uses the tree. In a release, redb does not check its pages, so damage can end in a panic; the caller gets an error.
fn guarded<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    quayline_store::guarded((FILE, "/redb"), "a page of the tree is malformed", work)
}

#[derive(Debug)]
pub(crate) struct Redb {
    /// `None` only while maintenance has it, or after it failed.
    database: RwLock<Option<Database>>,
    file: Arc<dyn MediumFile>,
    mark: RwLock<Mark>,
}

impl Redb {
    /// Opens the applied store; `None` if the folder has none.
    pub(crate) fn open(medium: &dyn Medium, cache_bytes: usize) -> Result<Option<Self>, StoreError> {
        let file = match medium.open(FILE, OpenMode::Write) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(FILE, "opened", &error)),
        };
        whole_pages(&*file).map_err(|error| StoreError::io(FILE, "opened", &error))?;
        let (database, found) = guarded(|| {
            let database = Database::builder()
                .set_cache_size(cache_bytes)
                .create_with_backend(Backend(Arc::clone(&file)))
                .map_err(error("opened"))?;
            let read = database.begin_read().map_err(error("read"))?;
            let table = read.open_table(MARK).map_err(error("read"))?;
            let found = table.get(0).map_err(error("read"))?.map(|guard| guard.value());
            Ok((database, found))
        })?;
        let Some((version, position, segment, identity)) = found else {
            let what = "the store has no mark".to_owned();
            return Err(StoreError::Damaged { file: FILE.to_owned(), byte: 0, what });
        };
        if version != VERSION {
            return Err(StoreError::Version { file: FILE.to_owned(), found: version, known: VERSION });
        }
        let mark = Mark { position, segment, identity };
        Ok(Some(Redb { database: RwLock::new(Some(database)), file, mark: RwLock::new(mark) }))
    }

    /// Makes the applied store. It gets its name when it is whole.
    pub(crate) fn create(medium: &dyn Medium, cache_bytes: usize, mark: Mark) -> Result<Self, StoreError> {
        let written = |error: std::io::Error| StoreError::io(FILE, "written", &error);
        if medium.list().map_err(written)?.iter().any(|name| name == NEW_FILE) {
            medium.remove(NEW_FILE).map_err(written)?;
        }
        let file = medium.open(NEW_FILE, OpenMode::Create).map_err(written)?;
        let database = Database::builder()
            .set_cache_size(cache_bytes)
            .create_with_backend(Backend(Arc::clone(&file)))
            .map_err(error("written"))?;
        let store = Redb { database: RwLock::new(Some(database)), file, mark: RwLock::new(mark) };
        store.apply(&[], mark)?;
        medium.rename(NEW_FILE, FILE).map_err(written)?;
        medium.sync_folder().map_err(|error| StoreError::io(&medium.name(), "synced", &error))?;
        Ok(store)
    }

    fn gone() -> StoreError {
        StoreError::Poisoned { cause: "maintenance of the applied store failed".to_owned() }
    }
}

impl Drop for Redb {
    fn drop(&mut self) {
        // Closing writes the allocation state, for which the tree reads pages. Everything that is committed is durable without it.
        let database = self.database.get_mut().take();
        let _ = guarded(|| {
            drop(database);
            Ok(())
        });
    }
}

impl AppliedStore for Redb {
    fn mark(&self) -> Mark {
        *self.mark.read()
    }

    fn view(&self) -> Result<Arc<dyn AppliedView>, StoreError> {
        let database = self.database.read();
        let database = database.as_ref().ok_or_else(Redb::gone)?;
        let entries = guarded(|| {
            let read = database.begin_read().map_err(error("read"))?;
            read.open_table(ENTRIES).map_err(error("read"))
        })?;
        Ok(Arc::new(RedbView { entries, file: Arc::clone(&self.file) }))
    }

    fn apply(&self, changes: &[SortedChange<'_>], mark: Mark) -> Result<u64, StoreError> {
        let database = self.database.read();
        let database = database.as_ref().ok_or_else(Redb::gone)?;
        let count = guarded(|| {
            let mut write = database.begin_write().map_err(error("written"))?;
            // Opening after a crash then reads the allocation state instead of the whole file.
            write.set_quick_repair(true);
            let count = sorted_changes::apply(&mut write.open_table(ENTRIES).map_err(error("written"))?, changes)?;
            {
                let mut marks = write.open_table(MARK).map_err(error("written"))?;
                marks.insert(0, (VERSION, mark.position, mark.segment, mark.identity)).map_err(error("written"))?;
            }
            write.commit().map_err(error("synced"))?;
            Ok(count)
        })?;
        *self.mark.write() = mark;
        Ok(count)
    }

    fn load(&self, entries: &LoadBatch) -> Result<(), StoreError> {
        let database = self.database.read();
        let database = database.as_ref().ok_or_else(Redb::gone)?;
        guarded(|| {
            let mut write = database.begin_write().map_err(error("written"))?;
            write.set_quick_repair(true);
            {
                let mut table = write.open_table(ENTRIES).map_err(error("written"))?;
                let mut entries = entries.iter().peekable();
                if let Some((first, _)) = entries.peek() {
                    // A run of ascending keys fills page after page; single inserts would descend for each and split pages in halves.
                    let place: Bound<&[u8]> = Bound::Excluded(first);
                    let mut cursor = table.lower_bound_mut(place).map_err(error("written"))?;
                    for (key, value) in entries {
                        cursor.insert_before(key, value).map_err(|failed| match failed {
                            redb::CursorError::UnorderedKey => StoreError::NotEmpty { space: space_of(key) },
                            other => error("written")(other),
                        })?;
                    }
                    cursor.close().map_err(error("written"))?;
                }
            }
            write.commit().map_err(error("synced"))
        })
    }

    fn bytes(&self) -> Result<u64, StoreError> {
        self.file.len().map_err(|error| StoreError::io(FILE, "read", &error))
    }

    fn maintain(&self, what: Maintenance) -> Result<bool, StoreError> {
        let mut guard = self.database.write();
        let database = guard.as_mut().ok_or_else(Redb::gone)?;
        guarded(|| match what {
            Maintenance::Check => database.check_integrity().map_err(error("read")),
            Maintenance::Compact => database.compact().map_err(error("written")),
        })
    }
}

/// Returns the value of a stored entry, if its checksum is right.
fn value_of<'v>(key: &[u8], stored: &'v [u8]) -> Result<&'v [u8], StoreError> {
    let intact = stored.split_last_chunk::<4>().filter(|(value, sum)| checksum(key, value) == **sum);
    intact.map(|(value, _)| value).ok_or_else(|| damaged_entry(key))
}

fn space_of(key: &[u8]) -> Space {
    FullKey::from_bytes(key).map_or(Space(0), |key| key.space())
}

fn damaged_entry(key: &[u8]) -> StoreError {
    damaged_entry_at(key, 0)
}

fn damaged_entry_at(key: &[u8], byte: u64) -> StoreError {
    let space = space_of(key).0;
    let what = format!("the checksum of an entry in space {space} does not hold");
    StoreError::Damaged { file: FILE.to_owned(), byte, what }
}

struct RedbView {
    entries: ReadOnlyTable<&'static [u8], &'static [u8]>,
    file: Arc<dyn MediumFile>,
}

impl Debug for RedbView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RedbView")
    }
}

impl AppliedView for RedbView {
    fn get(&self, key: &FullKey) -> Result<Option<Value>, StoreError> {
        guarded(|| {
            let found = self.entries.get(key.bytes()).map_err(error("read"))?;
            found.map(|stored| value_of(key.bytes(), stored.value()).map(Value::from)).transpose()
        })
    }

    fn scan(
        &self,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        guarded(|| {
            let mut range = self.entries.range::<&[u8]>((from, to)).map_err(error("read"))?;
            loop {
                let entry = match direction {
                    Direction::Forward => range.next(),
                    Direction::Backward => range.next_back(),
                };
                let Some(entry) = entry else { return Ok(()) };
                let (key, stored) = entry.map_err(error("read"))?;
                if visit(key.value(), value_of(key.value(), stored.value())?).is_break() {
                    return Ok(());
                }
            }
        })
    }

    fn salvage(&self, range: (Bound<&[u8]>, Bound<&[u8]>), visit: &mut TryVisit<'_>) -> Result<(), StoreError> {
        let (mut from, to) = (range.0.map(<[u8]>::to_vec), range.1);
        let mut places = 0;
        for _ in 0..DAMAGE_MAX {
            let mut last: Option<Vec<u8>> = None;
            let begin = from.as_ref().map(Vec::as_slice);
            let read = guarded(|| {
                for entry in self.entries.range::<&[u8]>((begin, to)).map_err(error("read"))? {
                    let (key, stored) = entry.map_err(error("read"))?;
                    let key = key.value();
                    let ascends = match (&last, begin) {
                        (Some(last), _) => last.as_slice() < key,
                        (None, Bound::Included(begin)) => begin <= key,
                        (None, Bound::Excluded(begin)) => begin < key,
                        (None, Bound::Unbounded) => true,
                    };
                    if !ascends {
                        return Err(damaged_by("a page of the tree is malformed", &"keys do not ascend"));
                    }
                    last = Some(key.to_vec());
                    let tried = match value_of(key, stored.value()) {
                        Ok(value) => Tried::Entry(key, value),
                        Err(_) => {
                            places += 1;
                            let byte = if places > PLACES_MAX { 0 } else { self.place_of(stored.value()) };
                            Tried::Damage(Some(key), damaged_entry_at(key, byte))
                        }
                    };
                    if visit(tried).is_break() {
                        return Ok(());
                    }
                }
                Ok(())
            });
            let Err(error) = read else { return Ok(()) };
            if visit(Tried::Damage(None, error)).is_break() {
                return Ok(());
            }
            let after = match (last, from) {
                (Some(last), _) | (None, Bound::Included(last) | Bound::Excluded(last)) => last,
                (None, Bound::Unbounded) => Vec::new(),
            };
            match self.after_damage(&after, to) {
                Some(next) => from = Bound::Included(next),
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

impl RedbView {
    /// Returns the smallest key after `after` from which the tree can be read again.
    fn after_damage(&self, after: &[u8], to: Bound<&[u8]>) -> Option<Vec<u8>> {
        let last = guarded(|| {
            let mut range = self.entries.range::<&[u8]>((Bound::Excluded(after), to)).map_err(error("read"))?;
            let last = range.next_back().transpose().map_err(error("read"))?;
            Ok(last.map(|(key, _)| key.value().to_vec()))
        });
        // In a damaged tree, a range can look empty from its end.
        let last = last.ok().flatten();
        let damaged = Damaged { after, last: last.as_deref(), to };
        damaged.next_readable(&mut |next| {
            let probe = guarded(|| {
                let bounds: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(next), to);
                let mut range = self.entries.range::<&[u8]>(bounds).map_err(error("read"))?;
                let entry = range.next().transpose().map_err(error("read"))?;
                Ok(entry.is_none_or(|(key, _)| key.value() >= next))
            });
            probe.unwrap_or(false)
        })
    }

    /// Returns the offset of bytes in the file; 0 if they are too few to identify, or not found.
    fn place_of(&self, bytes: &[u8]) -> u64 {
        const WINDOW: usize = 1 << 20;
        let length = self.file.len().unwrap_or(0);
        if bytes.len() < 8 || bytes.len() > WINDOW {
            return 0;
        }
        let mut window = vec![0; WINDOW + bytes.len()];
        let mut at = 0;
        while at < length {
            let count = usize::try_from(length - at).map_or(window.len(), |left| left.min(window.len()));
            if self.file.read(at, &mut window[..count]).is_err() {
                return 0;
            }
            if let Some(found) = window[..count].windows(bytes.len()).position(|part| part == bytes) {
                return at + found as u64;
            }
            at += WINDOW as u64;
        }
        0
    }
}

/// redb over the medium.
#[derive(Debug)]
struct Backend(Arc<dyn MediumFile>);

/// Completes the last page of the file. If power was lost while the file grew, it may end within a page, which redb refuses as the work of
/// another program. No commit needs that page: a file grows before the commit that uses its end. A file that lost its end in
/// another way is reported as damaged, because redb checks every page of a file whose length changed.
fn whole_pages(file: &dyn MediumFile) -> std::io::Result<()> {
    let length = file.len()?;
    let whole = length.next_multiple_of(PAGE_BYTES);
    if whole == length { Ok(()) } else { file.set_len(whole) }
}

impl redb::StorageBackend for Backend {
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read(offset, out)?;
        // The first byte of a page of the tree is its kind. Other pages are of the tree's own bookkeeping.
        match out.first() {
            Some(1) => count_page(PageKind::Data),
            Some(2) => count_page(PageKind::Index),
            _ => {}
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.0.write(offset, data)
    }
}
