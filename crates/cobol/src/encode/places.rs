//! A set of places in a record.

use std::collections::HashSet;

/// Places that are compared one by one; a set of more finds them by their hash.
const FEW: usize = 16;

/// A set of places in a record, most often with few of them.
#[derive(Debug, Default)]
pub(super) struct Places {
    few: Vec<usize>,
    /// All of them, if there are more than [`FEW`].
    many: HashSet<usize>,
}

impl Places {
    pub(super) fn has(&self, at: usize) -> bool {
        if self.few.len() <= FEW { self.few.contains(&at) } else { self.many.contains(&at) }
    }

    pub(super) fn add(&mut self, at: usize) {
        if self.few.len() == FEW {
            self.many.extend(self.few.iter().copied());
        }
        if self.few.len() <= FEW {
            self.few.push(at);
        }
        if self.few.len() > FEW {
            self.many.insert(at);
        }
    }

    pub(super) fn clear(&mut self) {
        self.few.clear();
        self.many.clear();
    }
}
