//! The entries of a column that are null.

/// Bits of a column, set for values. Nothing is stored until the first null: bits beyond the stored words count as set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Validity {
    words: Vec<u64>,
    nulls: usize,
}

impl Validity {
    pub(crate) fn nulls(&self) -> usize {
        self.nulls
    }

    pub(crate) fn is_valid(&self, at: usize) -> bool {
        self.words.get(at / 64).is_none_or(|word| word >> (at % 64) & 1 == 1)
    }

    /// Marks a null at `at`.
    #[inline]
    pub(crate) fn set_null(&mut self, at: usize) {
        if self.words.len() <= at / 64 {
            self.words.resize(at / 64 + 1, !0);
        }
        let bit = 1 << (at % 64);
        let word = &mut self.words[at / 64];
        self.nulls += usize::from(*word & bit != 0);
        *word &= !bit;
    }

    /// Forgets the entries from `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        if self.nulls == 0 {
            return;
        }
        let words = len.div_ceil(64);
        self.words.truncate(words);
        if let Some(last) = self.words.get_mut(words.wrapping_sub(1))
            && !len.is_multiple_of(64)
        {
            *last |= !0 << (len % 64);
        }
        self.nulls = self.words.iter().map(|word| word.count_zeros() as usize).sum();
    }

    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.nulls = 0;
    }

    /// Returns the bitmap words for `len` entries, or `None` if no entry is null.
    pub(crate) fn words(&self, len: usize) -> Option<Vec<u64>> {
        (self.nulls > 0).then(|| {
            let mut words = self.words.clone();
            words.resize(len.div_ceil(64), !0);
            words
        })
    }

    pub(crate) fn memory(&self) -> usize {
        self.words.len() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncating_takes_back_later_nulls_only() {
        let mut validity = Validity::default();
        for at in [3, 64, 70, 200] {
            validity.set_null(at);
        }
        validity.set_null(70);
        assert_eq!(validity.nulls(), 4);
        validity.truncate(70);
        assert_eq!(validity.nulls(), 2);
        assert!(validity.is_valid(70) && validity.is_valid(200) && !validity.is_valid(64) && !validity.is_valid(3));
        validity.truncate(64);
        assert_eq!(validity.nulls(), 1);
        assert_eq!(validity.words(65), Some(vec![!8, !0]));
        validity.truncate(0);
        assert_eq!((validity.nulls(), validity.words(9)), (0, None));
    }
}
