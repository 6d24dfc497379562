//! Readers with a large position: one that never changes, and one of which each checkpoint changes a few bytes.

use quayline_batch::Work;
use quayline_batch::artifact::{Answer, Item, Reader};

/// Reads the same item so many times.
pub(super) struct Positioned {
    left: u64,
    position: Vec<u8>,
    changes: bool,
}

impl Positioned {
    /// A reader whose position stays the same, or whose first bytes change.
    pub(super) fn new(bytes: usize, items: u64, changes: bool) -> Self {
        // Bytes that repeat would become smaller in the database.
        let noise = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (at << 7)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let words = (0..(bytes as u64).div_ceil(8)).flat_map(|at| noise(at + 1).to_le_bytes());
        Positioned { left: items, position: words.take(bytes).collect(), changes }
    }
}

impl Reader for Positioned {
    fn open(&mut self, _: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        Ok(())
    }

    fn read(&mut self, _: &mut dyn Work) -> Answer<Option<Item>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        Ok(Some(vec![b'a'; 20]))
    }

    fn has_moved(&self) -> bool {
        self.changes
    }

    fn checkpoint(&mut self) -> Answer<Option<Vec<u8>>> {
        if self.changes {
            let count = self.left.to_le_bytes();
            self.position.iter_mut().zip(count).for_each(|(byte, new)| *byte = new);
        }
        Ok(Some(self.position.clone()))
    }
}
