//! The transaction store: its record files in the unit-of-work store, and the operations on them.
//!
//! | file | key | record |
//! |---|---|---|
//! | `PARTNER.ENTRIES` | id | an [`Entry`] with the index `partner`, and its bytes, compressed, up to 16 KB |
//! | `PARTNER.FIELDS` | see `field_key.rs` (25) | nothing else; see below |
//! | `PARTNER.BODIES` | id (8), part (1) | larger bytes, compressed |
//! | `PARTNER.RECEIVED` | id (8), piece (4) | a piece of a received interchange, compressed; see `whole.rs` |
//! | `PARTNER.OUTBOX` | id (8), number (2) | a file that is still to be written |
//! | `PARTNER.PENDING` | envelope (16), id (8) | a document that waits for its envelope |
//! | `PARTNER.ENVELOPES` | envelope (16) | number of waiting documents, and the time of the first |
//! | `PARTNER.ARRIVALS` | digest of a source (16) | processed position of the source |
//!
//! In addition to users' fields, the file of fields has control numbers, for people who search for one; states that need attention, with their due
//! times; and numbers in their context, by which duplicates and acknowledged entries are found. A delivered document has none of the last two.
//!
//! Every key of entries and fields ends with the number of the entry, which a sequence issues once. Entries can therefore be added without a
//! check for duplicate keys; that look-up was a third of the cost of a document.

use std::sync::Arc;

use quayline_core::{Fault, Finding, Findings, Place};
use quayline_store::record_file::{
    AlternateIndex, By, Duplicates, FileDefinition, KeyPlace, Organisation, RecordFile, Relation,
};
use quayline_store::{LockWait, Space, Store, StoreError, Unit};

use crate::codes;
use crate::entry::{self, Bytes, Entry, EntryId, Packed, Part};
use crate::field_key::{self, Digest, Prefix, id_of, numbers_of, prefixes_of};
use crate::seal::{SEALED, StoreKey};

/// The open transaction store. Clones share it.
#[derive(Clone, Debug)]
pub struct Ledger {
    store: Store,
    key: Option<Arc<StoreKey>>,
    /// Digest of the key that the store was given first, 0 without one.
    sealed_by: u64,
    pub(crate) entries: RecordFile,
    pub(crate) fields: RecordFile,
    bodies: RecordFile,
    pub(crate) received: RecordFile,
    pub(crate) outbox: RecordFile,
    pub(crate) pending: RecordFile,
    pub(crate) envelopes: RecordFile,
    pub(crate) arrivals: RecordFile,
}

/// Name of the number that has the digest of the key.
const SEALED_BY: &str = "partner/key";
/// Name of the sequence that entries are numbered by.
const IDS: &str = "partner/entries";
/// Longest body: one transaction, or an interchange that was sent.
const BODY_BYTES_MAX: u32 = 100 << 20;
/// Longest piece of a received interchange with its key.
const PIECE_RECORD_BYTES_MAX: u32 = 2 << 20;

impl Ledger {
    /// Opens the files with a key for stored bytes, and defines those that are missing. A store without a key gets this one; bytes that were stored before
    /// stay as they are.
    ///
    /// # Errors
    /// Errors of the store, and a key that is not the one of the store.
    pub fn open_with(store: &Store, key: Option<StoreKey>) -> Result<Ledger, Findings> {
        let mut ledger = Ledger::open(store).map_err(of_store)?;
        if let Some(key) = key {
            if ledger.sealed_by == 0 {
                let mut unit = ledger.begin().map_err(of_store)?;
                unit.lock(Space::NUMBERS, SEALED_BY.as_bytes(), LockWait::Default).map_err(of_store)?;
                // Another process may have given the store its key since the files were opened.
                ledger.sealed_by = unit.last_number(SEALED_BY).map_err(of_store)?;
                if ledger.sealed_by == 0 {
                    unit.set_number(SEALED_BY, key.digest()).map_err(of_store)?;
                    unit.commit().map_err(of_store)?;
                    ledger.sealed_by = key.digest();
                }
            }
            if ledger.sealed_by != key.digest() {
                let finding = Finding::error(codes::KEY, Fault::Config, "the key is not the key of this store");
                return Err(finding.hint("give the key that the store was encrypted with first").into());
            }
            ledger.key = Some(Arc::new(key));
        }
        Ok(ledger)
    }

    /// Fails if the store has a key and this ledger does not, because stored data would not be encrypted.
    pub(crate) fn check_key(&self) -> Result<(), Findings> {
        if self.sealed_by == 0 || self.key.is_some() {
            return Ok(());
        }
        Err(no_key())
    }

    /// Opens the files, and defines those that are missing.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn open(store: &Store) -> Result<Ledger, StoreError> {
        let index = |name: &str, (offset, length): (u32, u32)| AlternateIndex {
            name: name.to_owned(),
            place: KeyPlace { offset, length },
            duplicates: Duplicates::Unique,
        };
        let file = |name: &str, key: u32, max: u32| FileDefinition {
            name: format!("PARTNER.{name}"),
            organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: key }),
            record_bytes_min: key,
            record_bytes_max: max,
            alternates: Vec::new(),
        };
        let entries = FileDefinition {
            record_bytes_min: entry::RECORD_BYTES_MIN,
            alternates: vec![index("partner", entry::BY_PARTNER)],
            ..file("ENTRIES", 8, entry::RECORD_BYTES_MAX)
        };
        let open = |definition: FileDefinition| -> Result<RecordFile, StoreError> {
            let mut unit = store.begin()?;
            let mut found = store.file(&unit, &definition.name);
            if let Err(StoreError::FileMissing { .. }) = found {
                found = match store.define_file(&mut unit, definition.clone()) {
                    Ok(file) => return unit.commit().map(|_| file),
                    // Another thread or process has just defined it.
                    Err(StoreError::Exists { .. }) => store.file(&store.begin()?, &definition.name),
                    Err(error) => Err(error),
                };
            }
            match found {
                Ok(file)
                    if file.definition().alternates != definition.alternates
                        || file.definition().organisation != definition.organisation =>
                {
                    Err(StoreError::Version { file: definition.name, found: 3, known: 4 })
                }
                found => found,
            }
        };
        Ok(Ledger {
            entries: open(entries)?,
            fields: open(file("FIELDS", KEY_BYTES_OF_FIELDS, KEY_BYTES_OF_FIELDS))?,
            bodies: open(file("BODIES", 9, BODY_BYTES_MAX))?,
            received: open(file("RECEIVED", 12, PIECE_RECORD_BYTES_MAX))?,
            outbox: open(file("OUTBOX", 10, BODY_BYTES_MAX))?,
            pending: open(file("PENDING", 24, BODY_BYTES_MAX))?,
            envelopes: open(file("ENVELOPES", 16, 4096))?,
            arrivals: open(file("ARRIVALS", 16, 4096))?,
            key: None,
            sealed_by: store.begin()?.last_number(SEALED_BY)?,
            store: store.clone(),
        })
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Begins a unit of work.
    ///
    /// # Errors
    /// Limits of the store.
    pub fn begin(&self) -> Result<Unit, StoreError> {
        self.store.begin()
    }

    /// Returns the next number of an entry. Other units of work that need a number wait for the outcome of this one.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn next_id(&self, unit: &mut Unit) -> Result<EntryId, StoreError> {
        Ok(EntryId(unit.next_number(IDS)?))
    }

    /// Returns the number of the newest entry.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn last_id(&self, unit: &Unit) -> Result<EntryId, StoreError> {
        Ok(EntryId(unit.last_number(IDS)?))
    }

    /// Takes numbers of entries in a unit of work of their own, so that workers do not wait for each other.
    pub(crate) fn take_ids(&self, count: u64) -> Result<std::ops::Range<u64>, StoreError> {
        let mut unit = self.begin()?;
        let first = unit.next_number(IDS)?;
        unit.set_number(IDS, first + count - 1)?;
        unit.commit()?;
        Ok(first..first + count)
    }

    /// Returns the key that encrypts stored bytes.
    pub(crate) fn key(&self) -> Option<&StoreKey> {
        self.key.as_deref()
    }

    /// Adds an entry with its fields. Its number must be new, see [`Ledger::next_id`].
    ///
    /// # Errors
    /// Errors of the store and of the encryption.
    pub fn insert(&self, unit: &mut Unit, entry: &Entry) -> Result<(), Findings> {
        self.enter(unit, entry).map_err(of_store)?;
        let record = self.encoded(entry, Bytes::None, &[], self.key())?;
        self.entries.insert_fresh(unit, &record).map_err(of_store)
    }

    /// Returns the stored form, encrypted if the ledger has a key.
    fn encoded(&self, entry: &Entry, bytes: Bytes, tail: &[u8], key: Option<&StoreKey>) -> Result<Vec<u8>, Findings> {
        let packed = entry.pack_details();
        match key {
            None => Ok(entry.encode(Packed::Plain(&packed), bytes, tail)),
            Some(key) => {
                let sealed = key.seal(&entry.id.0.to_be_bytes(), packed)?;
                Ok(entry.encode(Packed::Sealed(&sealed), bytes, tail))
            }
        }
    }

    /// Decodes an entry from its stored form.
    pub(crate) fn decoded(&self, record: &[u8]) -> Result<Entry, Findings> {
        let unreadable = || damaged("an entry of the transaction store is not readable");
        let entry = match Entry::packed_details(record).ok_or_else(unreadable)? {
            Packed::Plain(packed) => Entry::decode(record, packed),
            Packed::Sealed(sealed) => {
                let key = self.key().ok_or_else(no_key)?;
                let opened = sealed.split_first().and_then(|(_, sealed)| key.open(&record[..8], sealed));
                let opened =
                    opened.ok_or_else(|| damaged("an encrypted entry differs from the one that was stored"))?;
                Entry::decode(record, &opened)
            }
        };
        entry.ok_or_else(unreadable)
    }

    /// Returns the key with which a record's entry was stored; its index digests depend on the key.
    fn key_of(&self, record: &[u8]) -> Option<&StoreKey> {
        self.key().filter(|_| matches!(Entry::packed_details(record), Some(Packed::Sealed(_))))
    }

    /// Adds an entry with its fields and its bytes.
    ///
    /// # Errors
    /// Errors of the store and of the encryption.
    pub fn insert_with(&self, unit: &mut Unit, entry: &Entry, part: Part, bytes: &[u8]) -> Result<(), Findings> {
        let packed = self.packed(&body_key(entry.id, part), bytes)?;
        self.insert_packed(unit, entry, part, &packed)
    }

    fn insert_packed(&self, unit: &mut Unit, entry: &Entry, part: Part, packed: &[u8]) -> Result<(), Findings> {
        self.enter(unit, entry).map_err(of_store)?;
        let record = if packed.len() <= BYTES_INSIDE_MAX {
            self.encoded(entry, Bytes::Inside(part), packed, self.key())?
        } else {
            let mut record = Vec::with_capacity(9 + packed.len());
            record.extend_from_slice(&body_key(entry.id, part));
            record.extend_from_slice(packed);
            self.bodies.insert_fresh(unit, &record).map_err(of_store)?;
            self.encoded(entry, Bytes::Apart(part), &[], self.key())?
        };
        self.entries.insert_fresh(unit, &record).map_err(of_store)
    }

    /// Adds the keys by which a new entry is found.
    fn enter(&self, unit: &mut Unit, entry: &Entry) -> Result<(), StoreError> {
        let key = self.key();
        for key in keys_of(entry, key) {
            self.fields.insert_fresh(unit, &key)?;
        }
        Ok(())
    }

    /// Replaces an entry, except for its business fields and its bytes.
    ///
    /// # Errors
    /// Errors of the store, and an entry that cannot be read.
    pub fn update(&self, unit: &mut Unit, entry: &Entry) -> Result<(), Findings> {
        let id = entry.id.0.to_be_bytes();
        let read = self.entries.read_for_update(unit, By::Key(&id), Relation::Equal, LockWait::Default);
        let read = read.map_err(of_store)?;
        let old = self.decoded(&read.bytes)?;
        let (bytes, tail) =
            Entry::bytes_of(&read.bytes).ok_or_else(|| damaged("an entry of the transaction store is not readable"))?;
        let key = self.key_of(&read.bytes);
        let (before, now): (Vec<_>, Vec<_>) = (prefixes_of(&old).collect(), prefixes_of(entry).collect());
        for prefix in before.iter().filter(|prefix| !now.contains(prefix)) {
            self.fields.remove(unit, &prefix.of(entry.id)).map_err(of_store)?;
        }
        // The same key may have been there before, so these are not fresh.
        for prefix in now.iter().filter(|prefix| !before.contains(prefix)) {
            self.fields.set(unit, &prefix.of(entry.id)).map_err(of_store)?;
        }
        let (before, now): (Vec<&str>, Vec<&str>) = (numbers_of(&old).collect(), numbers_of(entry).collect());
        for number in before.iter().filter(|number| !now.contains(number)) {
            self.fields.remove(unit, &Digest::number(number, key).of(entry.id)).map_err(of_store)?;
        }
        for number in now.iter().filter(|number| !before.contains(number)) {
            self.fields.set(unit, &Digest::number(number, key).of(entry.id)).map_err(of_store)?;
        }
        let record = self.encoded(entry, bytes, tail, key)?;
        self.entries.rewrite(unit, &read, &record).map(|_| ()).map_err(of_store)
    }

    /// Returns an entry.
    ///
    /// # Errors
    /// Errors of the store, and entries that cannot be decoded.
    pub fn get(&self, unit: &Unit, id: EntryId) -> Result<Option<Entry>, Findings> {
        match self.entries.read(unit, By::Key(&id.0.to_be_bytes()), Relation::Equal) {
            Ok(record) => self.decoded(&record.bytes).map(Some),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.finding().into()),
        }
    }

    /// Returns an entry that must exist.
    ///
    /// # Errors
    /// Errors of the store, or a finding that names the missing entry.
    pub fn need(&self, unit: &Unit, id: EntryId) -> Result<Entry, Findings> {
        self.get(unit, id)?.ok_or_else(|| no_entry(id))
    }

    /// Returns an entry that must exist and locks it for an update. Decisions about what the update does belong after the lock.
    ///
    /// # Errors
    /// Errors of the store, or a finding that names the missing entry.
    pub(crate) fn locked(&self, unit: &mut Unit, id: EntryId) -> Result<Entry, Findings> {
        self.locked_if_kept(unit, id)?.ok_or_else(|| no_entry(id))
    }

    /// Returns an entry and locks it for an update; `None` if a purge has removed it.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn locked_if_kept(&self, unit: &mut Unit, id: EntryId) -> Result<Option<Entry>, Findings> {
        let key = id.0.to_be_bytes();
        match self.entries.read_for_update(unit, By::Key(&key), Relation::Equal, LockWait::Default) {
            Ok(record) => self.decoded(&record.bytes).map(Some),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(of_store(error)),
        }
    }

    /// Hands the entries with a number in its context to `visit`, in the order of their numbers, then of their ids, until it returns `false`. Others may
    /// come too: `visit` compares numbers.
    pub(crate) fn each_numbered(
        &self,
        unit: &Unit,
        key: &Prefix,
        visit: &mut dyn FnMut(Entry) -> Result<bool, Findings>,
    ) -> Result<(), Findings> {
        let mut browse = self.fields.browse();
        match browse.start(unit, By::Key(key.bytes()), Relation::AtLeast) {
            Ok(()) => {}
            Err(StoreError::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(of_store(error)),
        }
        loop {
            let record = match browse.next(unit) {
                Ok(record) => record,
                Err(StoreError::EndOfFile { .. }) => return Ok(()),
                Err(error) => return Err(of_store(error)),
            };
            if !record.key.starts_with(key.bytes()) {
                return Ok(());
            }
            if let Some(entry) = self.get(unit, id_of(&record.key))?
                && !visit(entry)?
            {
                return Ok(());
            }
        }
    }

    /// Bytes of an entry.
    ///
    /// # Errors
    /// Errors of the store, and bytes that cannot be read.
    pub fn body(&self, unit: &Unit, id: EntryId, part: Part) -> Result<Option<Vec<u8>>, Findings> {
        let record = match self.entries.read(unit, By::Key(&id.0.to_be_bytes()), Relation::Equal) {
            Ok(record) => record,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(of_store(error)),
        };
        match Entry::bytes_of(&record.bytes)
            .ok_or_else(|| damaged("an entry of the transaction store is not readable"))?
        {
            (Bytes::Inside(inside), tail) if inside == part => self.unpacked(&body_key(id, part), tail).map(Some),
            (Bytes::Apart(apart), _) if apart == part => {
                let record = self.bodies.read(unit, By::Key(&body_key(id, part)), Relation::Equal).map_err(of_store)?;
                self.unpacked(&body_key(id, part), &record.bytes[9..]).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Removes an entry with its fields and bytes.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn remove(&self, unit: &mut Unit, entry: &Entry) -> Result<(), StoreError> {
        let id = entry.id.0.to_be_bytes();
        let read = self.entries.read_for_update(unit, By::Key(&id), Relation::Equal, LockWait::Default)?;
        let key = self.key_of(&read.bytes);
        for key in keys_of(entry, key) {
            self.fields.remove(unit, &key)?;
        }
        if let Some((Bytes::Apart(part), _)) = Entry::bytes_of(&read.bytes) {
            self.bodies.remove(unit, &body_key(entry.id, part))?;
        }
        self.remove_received(unit, entry)?;
        self.entries.delete(unit, &read)
    }
}

/// Bytes, compressed, that are kept in the entry itself. Larger ones would make lists read them.
const BYTES_INSIDE_MAX: usize = 16 << 10;

/// Bytes of a record of the file of fields.
const KEY_BYTES_OF_FIELDS: u32 = 25;
const _: () = assert!(field_key::KEY_BYTES == 25);

/// Returns all keys by which an entry is found.
fn keys_of(entry: &Entry, key: Option<&StoreKey>) -> impl Iterator<Item = [u8; field_key::KEY_BYTES]> {
    let fields = entry.details.fields.iter().map(move |(name, value)| Digest::field(name, value, key));
    let numbers = numbers_of(entry).map(move |number| Digest::number(number, key));
    let digests = fields.chain(numbers).map(|digest| digest.of(entry.id));
    digests.chain(prefixes_of(entry).map(|prefix| prefix.of(entry.id)))
}

pub(crate) fn damaged(what: &str) -> Findings {
    let place = Place { path: Some("PARTNER.ENTRIES".to_owned()), ..Place::default() };
    let finding = Finding::error(codes::DAMAGED, Fault::Environment, what).at(place);
    finding.hint("check the store with `quayline store check`; a newer version of Quayline may have written it").into()
}

fn body_key(id: EntryId, part: Part) -> [u8; 9] {
    let mut key = [part.byte(); 9];
    key[..8].copy_from_slice(&id.0.to_be_bytes());
    key
}

impl Ledger {
    /// Encodes bytes for storage. The first byte is the form: 0 unchanged, 1 a Snappy block, 2 one of these encrypted. `record` is the key of the
    /// record that holds them.
    pub(crate) fn packed(&self, record: &[u8], bytes: &[u8]) -> Result<Vec<u8>, Findings> {
        let mut out = vec![0; 1 + snap::raw::max_compress_len(bytes.len())];
        match snap::raw::Encoder::new().compress(bytes, &mut out[1..]) {
            Ok(packed) if packed < bytes.len() => {
                out[0] = 1;
                out.truncate(1 + packed);
            }
            _ => {
                out.truncate(1);
                out.extend_from_slice(bytes);
            }
        }
        match &self.key {
            Some(key) => key.seal(record, out),
            None => Ok(out),
        }
    }

    pub(crate) fn unpacked(&self, record: &[u8], bytes: &[u8]) -> Result<Vec<u8>, Findings> {
        match bytes.split_first() {
            Some((&SEALED, sealed)) => plain(&self.opened(record, sealed)?),
            _ => plain(bytes),
        }
    }

    /// Returns the length of packed bytes after [`Ledger::unpacked`], without unpacking them.
    pub(crate) fn unpacked_length(&self, record: &[u8], bytes: &[u8]) -> Result<u64, Findings> {
        match bytes.split_first() {
            Some((&SEALED, sealed)) => plain_length(&self.opened(record, sealed)?),
            _ => plain_length(bytes),
        }
    }

    fn opened(&self, record: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Findings> {
        let key = self.key.as_ref().ok_or_else(no_key)?;
        key.open(record, sealed).ok_or_else(|| damaged("encrypted bytes differ from those that were stored"))
    }
}

/// Returns the length of bytes after [`plain`].
fn plain_length(bytes: &[u8]) -> Result<u64, Findings> {
    let length = match bytes.split_first() {
        Some((0, rest)) => rest.len(),
        Some((1, rest)) => snap::raw::decompress_len(rest).map_err(|_| damaged("stored bytes are not readable"))?,
        _ => return Err(damaged("stored bytes are of no known form")),
    };
    Ok(length as u64)
}

fn plain(bytes: &[u8]) -> Result<Vec<u8>, Findings> {
    match bytes.split_first() {
        Some((0, rest)) => Ok(rest.to_vec()),
        Some((1, rest)) => {
            snap::raw::Decoder::new().decompress_vec(rest).map_err(|_| damaged("stored bytes are not readable"))
        }
        _ => Err(damaged("stored bytes are of no known form")),
    }
}

fn no_entry(id: EntryId) -> Findings {
    let finding = Finding::error(codes::NO_ENTRY, Fault::Caller, format!("entry {id} does not exist"));
    finding.hint("list entries with `quayline transaction list`; a purge may have removed it").into()
}

fn no_key() -> Findings {
    let finding =
        Finding::error(codes::KEY, Fault::Config, "the bytes of this store are encrypted, and no key is given");
    finding.hint("name the key: set QUAYLINE_STORE_KEY to 64 hexadecimal digits, or to file:PATH").into()
}

/// Converts an error of the store into findings.
pub(crate) fn of_store(error: StoreError) -> Findings {
    error.finding().into()
}
