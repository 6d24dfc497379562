//! Cache of recently read small records of the applied store, for readers that share no lock and no counter.
//!
//! The tree counts the users of its pages, so two readers of one tree write to the same cache lines and are no faster than one. A hit in this cache
//! writes nothing. Each slot is a sequence lock over atomic words: a writer makes the sequence odd, and a reader that sees it change treats it as a miss.
//!
//! ```text
//! slot (128 bytes): sequence (8)   tag: hash of the key, 0 is empty (8)   length of the key (4), of the value (4)   key and value (104)
//! ```
//!
//! An entry is valid as long as the applied store has that value. [`RecordCache::begin_new_epoch`], followed by [`RecordCache::forget`] for each applied
//! key, guarantees it: a reader of the older tree can no longer enter its result. The caller first makes sure that no newer change is in memory.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use quayline_store::{FullKey, Value};

/// Words of key and value in a slot.
const WORDS: usize = 13;
/// Bytes of a slot.
const SLOT_BYTES: usize = 128;
/// Slots that one hash may use.
const WAYS: usize = 2;
/// Slots that are allocated together: half a megabyte, so that a short command allocates only the memory that it uses.
const CHUNK: usize = 4096;

#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot {
    sequence: AtomicU64,
    tag: AtomicU64,
    key_bytes: AtomicU32,
    value_bytes: AtomicU32,
    words: [AtomicU64; WORDS],
}

#[derive(Debug)]
pub(crate) struct RecordCache {
    chunks: Vec<OnceLock<Box<[Slot]>>>,
    epoch: AtomicU64,
}

impl RecordCache {
    /// Creates a cache of at most this many bytes. Below half a megabyte, it is not used.
    pub(crate) fn new(bytes: usize) -> Self {
        let chunks = bytes / (CHUNK * SLOT_BYTES);
        RecordCache { chunks: (0..chunks).map(|_| OnceLock::new()).collect(), epoch: AtomicU64::new(0) }
    }

    /// Names the applied store of now. Read it before the store.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Slots of a hash.
    fn slots(&self, hash: u64, make: bool) -> Option<&[Slot]> {
        let place = usize::try_from(hash >> 24).unwrap_or(0);
        let chunk = self.chunks.get((place / CHUNK).checked_rem(self.chunks.len())?)?;
        let slots = match chunk.get() {
            Some(slots) => slots,
            None if make => chunk.get_or_init(|| (0..CHUNK).map(|_| Slot::default()).collect()),
            None => return None,
        };
        let first = place % CHUNK / WAYS * WAYS;
        slots.get(first..first + WAYS)
    }

    /// Returns the value of a key, if the cache has it.
    pub(crate) fn get(&self, hash: u64, key: &FullKey) -> Option<Value> {
        self.slots(hash, false)?
            .iter()
            .filter(|slot| slot.tag.load(Ordering::Relaxed) == hash)
            .find_map(|slot| slot.read(hash, key.bytes()))
    }

    /// Stores a value that was read from the applied store, unless the store changed since `epoch`.
    pub(crate) fn put(&self, hash: u64, key: &FullKey, value: &[u8], epoch: u64) {
        if key.bytes().len() + value.len() > WORDS * 8 || hash == 0 {
            return;
        }
        let Some(slots) = self.slots(hash, true) else { return };
        let tag = |slot: &Slot| slot.tag.load(Ordering::Relaxed);
        let same = slots.iter().find(|slot| tag(slot) == hash).or_else(|| slots.iter().find(|slot| tag(slot) == 0));
        // Otherwise the one that was entered less often; a sequence counts that.
        let oldest = || slots.iter().min_by_key(|slot| slot.sequence.load(Ordering::Relaxed));
        let Some(slot) = same.or_else(oldest) else { return };
        let Some(before) = slot.lock() else { return };
        if self.epoch() == epoch {
            slot.write(hash, key.bytes(), value);
        }
        slot.sequence.store(before + 2, Ordering::Release);
    }

    /// Prevents earlier reads from being entered.
    pub(crate) fn begin_new_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// Removes a key.
    pub(crate) fn forget(&self, hash: u64) {
        for slot in self.slots(hash, false).unwrap_or_default() {
            loop {
                let sequence = slot.sequence.load(Ordering::SeqCst);
                if sequence.is_multiple_of(2) && slot.tag.load(Ordering::Relaxed) != hash {
                    break;
                }
                if let Some(before) = slot.lock() {
                    if slot.tag.load(Ordering::Relaxed) == hash {
                        slot.tag.store(0, Ordering::Relaxed);
                    }
                    slot.sequence.store(before + 2, Ordering::Release);
                    break;
                }
                std::hint::spin_loop();
            }
        }
    }
}

impl Slot {
    /// Makes the sequence odd; `None` if another writer has the slot.
    fn lock(&self) -> Option<u64> {
        let before = self.sequence.load(Ordering::SeqCst);
        let free = before.is_multiple_of(2)
            && self.sequence.compare_exchange(before, before + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        // Readers must see the odd sequence before any word of the new content.
        fence(Ordering::Release);
        free.then_some(before)
    }

    fn write(&self, hash: u64, key: &[u8], value: &[u8]) {
        let mut bytes = [0; WORDS * 8];
        bytes[..key.len()].copy_from_slice(key);
        bytes[key.len()..key.len() + value.len()].copy_from_slice(value);
        self.tag.store(hash, Ordering::Relaxed);
        self.key_bytes.store(u32::try_from(key.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
        self.value_bytes.store(u32::try_from(value.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
        for (word, part) in self.words.iter().zip(bytes.chunks_exact(8)) {
            let mut number = [0; 8];
            number.copy_from_slice(part);
            word.store(u64::from_ne_bytes(number), Ordering::Relaxed);
        }
    }

    fn read(&self, hash: u64, key: &[u8]) -> Option<Value> {
        let before = self.sequence.load(Ordering::Acquire);
        let is_same = self.tag.load(Ordering::Relaxed) == hash;
        let length = |bytes: &AtomicU32| usize::try_from(bytes.load(Ordering::Relaxed)).unwrap_or(usize::MAX);
        let (key_bytes, value_bytes) = (length(&self.key_bytes), length(&self.value_bytes));
        // A torn pair of lengths is refused here or by the sequence below.
        let end = key_bytes.checked_add(value_bytes).filter(|end| *end <= WORDS * 8)?;
        let mut bytes = [0; WORDS * 8];
        for (word, part) in self.words.iter().zip(bytes.chunks_exact_mut(8)).take(end.div_ceil(8)) {
            part.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        fence(Ordering::Acquire);
        let is_whole = before.is_multiple_of(2) && self.sequence.load(Ordering::Relaxed) == before;
        (is_same && is_whole && bytes[..key_bytes] == *key).then(|| bytes[key_bytes..end].into())
    }
}

#[cfg(test)]
mod tests {
    use quayline_store::Space;

    use super::*;

    fn key(number: u64) -> FullKey {
        FullKey::new(Space(16), &number.to_be_bytes())
    }

    #[test]
    fn what_was_read_of_an_older_store_is_not_entered() {
        let cache = RecordCache::new(1 << 20);
        let epoch = cache.epoch();
        cache.put(1, &key(1), b"old", epoch);
        assert_eq!(cache.get(1, &key(1)).as_deref(), Some(b"old".as_slice()));
        assert_eq!(cache.get(1, &key(2)), None, "another key of the same hash");
        cache.begin_new_epoch();
        cache.forget(1);
        assert_eq!(cache.get(1, &key(1)), None);
        cache.put(1, &key(1), b"old", epoch);
        assert_eq!(cache.get(1, &key(1)), None, "the store changed since");
    }

    #[test]
    fn long_records_and_no_memory_are_passed_by() {
        let cache = RecordCache::new(1 << 20);
        cache.put(1, &key(1), &[7; 93], 0);
        assert_eq!(cache.get(1, &key(1)), None);
        cache.put(1, &key(1), &[7; 92], 0);
        assert_eq!(cache.get(1, &key(1)).map(|value| value.len()), Some(92));
        let none = RecordCache::new(0);
        none.put(1, &key(1), b"x", 0);
        assert_eq!(none.get(1, &key(1)), None);
    }

    #[test]
    fn a_reader_never_sees_a_mixture() {
        let cache = RecordCache::new(1 << 20);
        std::thread::scope(|scope| {
            for number in 0..3u8 {
                let cache = &cache;
                scope.spawn(move || {
                    for _ in 0..20_000 {
                        cache.put(9, &key(9), &[number; 40], cache.epoch());
                        if let Some(value) = cache.get(9, &key(9)) {
                            assert!(value.len() == 40 && value.iter().all(|byte| *byte == value[0]));
                        }
                        if number == 0 {
                            cache.forget(9);
                        }
                    }
                });
            }
        });
    }
}
