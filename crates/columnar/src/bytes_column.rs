//! Columns of text and bytes.

use quayline_core::Run;

use crate::dictionary::Dictionary;
use crate::plan::TextStore;
use crate::validity::Validity;

/// Byte strings of one column, either as keys of a dictionary or one after another.
///
/// A column starts interned if that was requested. It becomes plain, with its content, when its values prove too different: a key
/// then saves nothing and looking it up costs more than copying. The rule reads only the values of this batch, so the distribution
/// of work over threads does not change the output.
#[derive(Debug)]
pub(crate) struct BytesColumn {
    store: TextStore,
    /// The form that it returns to when cleared.
    wanted: TextStore,
    keys: Vec<u16>,
    dictionary: Dictionary,
    /// End of each value in `bytes`.
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

/// Most distinct values of one batch.
const ENTRIES_MAX: usize = 1 << 15;
/// Most bytes of the distinct values of one batch.
const DICTIONARY_BYTES_MAX: usize = 1 << 20;
/// Most bytes of one batch's column; offsets are 32 bits, signed in Arrow.
const BYTES_MAX: usize = 1 << 30;

/// The column would pass [`BYTES_MAX`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ColumnFull;

impl BytesColumn {
    pub(crate) fn new(wanted: TextStore) -> Self {
        BytesColumn {
            store: wanted,
            wanted,
            keys: Vec::new(),
            dictionary: Dictionary::default(),
            ends: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Sets the value at `at`, which is the column's length. `validity` has the nulls before it.
    #[inline(always)]
    pub(crate) fn put(&mut self, at: usize, value: Run<'_>, validity: &Validity) -> Result<(), ColumnFull> {
        if self.store == TextStore::Interned {
            let (key, new) = self.dictionary.intern(value);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "keys stay below ENTRIES_MAX, checked for every new one"
            )]
            set(&mut self.keys, at, key as u16);
            if new && is_varied(&self.dictionary, at + 1) {
                self.spread(at + 1, validity)?;
            }
            return Ok(());
        }
        if self.bytes.len() + value.len() > BYTES_MAX {
            return Err(ColumnFull);
        }
        self.append(at, value);
        Ok(())
    }

    /// Returns true if the values are keys of a dictionary.
    #[inline(always)]
    pub(crate) fn is_interned(&self) -> bool {
        self.store == TextStore::Interned
    }

    /// Sets an empty value, the place holder of a null.
    #[inline]
    pub(crate) fn put_empty(&mut self, at: usize) {
        if self.store == TextStore::Interned {
            // A key that may name no entry: readers of the column look at its nulls first.
            set_null(&mut self.keys, at);
        } else {
            self.append(at, Run::from(&[][..]));
        }
    }

    #[inline(always)]
    fn append(&mut self, at: usize, value: Run<'_>) {
        let len = value.len();
        let end = self.bytes.len() + len;
        let blocks = len.next_multiple_of(16);
        if let Some(blocks) = value.tail().get(..blocks)
            && len <= 64
        {
            for block in blocks.chunks_exact(16) {
                self.bytes.extend_from_slice(block);
            }
            self.bytes.truncate(end);
        } else {
            self.bytes.extend_from_slice(value.bytes());
        }
        #[expect(clippy::cast_possible_truncation, reason = "a column is shorter than BYTES_MAX")]
        set(&mut self.ends, at, end as u32);
    }

    /// Converts keys to values. Values that do not fit leave the column as it is. The key of a null may name a long entry, which is not its value.
    #[cold]
    fn spread(&mut self, len: usize, validity: &Validity) -> Result<(), ColumnFull> {
        let valid = self.keys[..len].iter().enumerate().filter(|(at, _)| validity.is_valid(*at));
        let bytes: usize = valid.map(|(_, key)| self.dictionary.get((*key).into()).len()).sum();
        if bytes > BYTES_MAX {
            return Err(ColumnFull);
        }
        let keys = core::mem::take(&mut self.keys);
        let mut dictionary = core::mem::take(&mut self.dictionary);
        self.store = TextStore::Plain;
        for (at, key) in keys[..len].iter().enumerate() {
            let value = if validity.is_valid(at) { dictionary.get((*key).into()) } else { Run::from(&[][..]) };
            self.append(at, value);
        }
        dictionary.clear();
        self.keys = keys;
        self.dictionary = dictionary;
        Ok(())
    }

    /// Forgets the values from `len` on. Distinct values of the dictionary stay.
    pub(crate) fn truncate(&mut self, len: usize) {
        if self.store == TextStore::Plain {
            let end = len.checked_sub(1).map_or(0, |last| self.ends[last] as usize);
            self.bytes.truncate(end);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.store = self.wanted;
        self.dictionary.clear();
        self.bytes.clear();
    }

    /// Returns the first `len` values of the column.
    pub(crate) fn values(&self, len: usize) -> BytesValues<'_> {
        match self.store {
            TextStore::Interned => BytesValues::Interned { keys: up_to(&self.keys, len), dictionary: &self.dictionary },
            TextStore::Plain => BytesValues::Plain { ends: &self.ends[..len], bytes: &self.bytes },
        }
    }

    /// Bytes in use by `len` values.
    pub(crate) fn memory(&self, len: usize) -> usize {
        match self.store {
            TextStore::Interned => len * 2 + self.dictionary.memory(),
            TextStore::Plain => len * 4 + self.bytes.len(),
        }
    }
}

/// Returns true if the first `len` values have too few repetitions for a dictionary to pay. Call it after each new distinct value, since the
/// answer changes only when the number of distinct values doubles.
#[inline(always)]
pub(crate) fn is_varied(dictionary: &Dictionary, len: usize) -> bool {
    let distinct = dictionary.len();
    let percent = match distinct {
        1024 => 87,
        2048 => 75,
        4096 | 8192 | 16_384 => 50,
        ENTRIES_MAX.. => 0,
        _ => return dictionary.bytes() > DICTIONARY_BYTES_MAX,
    };
    distinct * 100 > len * percent
}

/// The values of a column, borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BytesValues<'a> {
    /// One key a value. The key of a null has no meaning, and nulls after the last value may have none.
    Interned { keys: &'a [u16], dictionary: &'a Dictionary },
    /// Value `i` ends at `ends[i]` and begins where the previous one ends.
    Plain { ends: &'a [u32], bytes: &'a [u8] },
}

impl<'a> BytesValues<'a> {
    /// Returns all values in order. Those of nulls have no meaning, and those after the last value may be missing.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let len = match self {
            BytesValues::Interned { keys, .. } => keys.len(),
            BytesValues::Plain { ends, .. } => ends.len(),
        };
        let mut start = 0;
        (0..len).map(move |at| match self {
            BytesValues::Interned { keys, dictionary } => {
                let key = usize::from(keys[at]);
                if key < dictionary.len() { dictionary.get(key).bytes() } else { &[] }
            }
            BytesValues::Plain { ends, bytes } => {
                let end = ends[at] as usize;
                &bytes[core::mem::replace(&mut start, end)..end]
            }
        })
    }
}

/// Sets entry `at` of a buffer that is used up to `at` and may be longer.
#[inline(always)]
pub(crate) fn set<T: Copy + Default>(buffer: &mut Vec<T>, at: usize, value: T) {
    if at >= buffer.len() {
        grow(buffer, at);
    }
    buffer[at] = value;
}

/// Sets the placeholder of a null, which takes no memory after the last value: most columns of a wide shape have no values at all.
#[inline(always)]
pub(crate) fn set_null<T: Copy + Default>(buffer: &mut [T], at: usize) {
    if let Some(place) = buffer.get_mut(at) {
        *place = T::default();
    }
}

/// Returns the first `len` entries of a buffer, without nulls after the last value if these have no place.
pub(crate) fn up_to<T>(buffer: &[T], len: usize) -> &[T] {
    buffer.get(..len).unwrap_or(buffer)
}

#[cold]
#[inline(never)]
fn grow<T: Copy + Default>(buffer: &mut Vec<T>, at: usize) {
    buffer.resize((at * 2).max(1024), T::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(column: &BytesColumn, len: usize) -> Vec<String> {
        column.values(len).iter().map(|value| String::from_utf8(value.to_vec()).unwrap()).collect()
    }

    #[test]
    fn varied_values_make_a_column_plain_and_keep_their_order() {
        let mut column = BytesColumn::new(TextStore::Interned);
        let mut expected = Vec::new();
        let mut validity = Validity::default();
        validity.set_null(0);
        column.put_empty(0);
        expected.push(String::new());
        for n in 0..5000 {
            let value = format!("value {}", n % 3000);
            column.put(expected.len(), value.as_bytes().into(), &validity).unwrap();
            expected.push(value);
        }
        assert!(matches!(column.values(5001), BytesValues::Plain { .. }));
        column.truncate(4000);
        column.put(4000, b"last"[..].into(), &validity).unwrap();
        expected.truncate(4000);
        expected.push("last".to_owned());
        assert_eq!(strings(&column, 4001), expected);
        column.clear();
        assert!(matches!(column.values(0), BytesValues::Interned { .. }));
    }

    /// Regression: each null held the key of the first value. When the column left its dictionary, it copied that value once for each null.
    #[test]
    fn nulls_take_no_copies_of_the_first_value() {
        let mut column = BytesColumn::new(TextStore::Interned);
        let mut validity = Validity::default();
        column.put(0, b"x".repeat(60_000)[..].into(), &validity).unwrap();
        for at in 1..17_000 {
            validity.set_null(at);
            column.put_empty(at);
        }
        for at in 17_000..20_000 {
            column.put(at, b"y".repeat(at - 16_990)[..].into(), &validity).unwrap();
        }
        assert!(matches!(column.values(20_000), BytesValues::Plain { .. }));
        assert!(column.memory(20_000) < 6 << 20, "{}", column.memory(20_000));
        assert_eq!(column.values(20_000).iter().nth(16_999), Some(&[][..]));
    }

    #[test]
    fn few_values_stay_keys() {
        let mut column = BytesColumn::new(TextStore::Interned);
        let mut random = 1u64;
        for n in 0..50_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let value = format!("{}", (random >> 33) % 3000);
            column.put(n, value.as_bytes().into(), &Validity::default()).unwrap();
        }
        assert!(matches!(column.values(50_000), BytesValues::Interned { dictionary, .. } if dictionary.len() == 3000));
    }
}
