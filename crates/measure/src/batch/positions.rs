//! A reader with a large position.

use quayline_batch::Work;
use quayline_batch::artifact::{Answer, Item, Lent, Reader};

/// Changes of a position from one checkpoint to the next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Moves {
    /// No change, which the reader states, so that the engine does not request the position.
    Never,
    /// No change; the reader lends the position at each checkpoint.
    Lends,
    /// No change; the reader returns a copy of the position at each checkpoint.
    Copies,
    /// The first eight bytes change at each checkpoint.
    Changes,
}

/// Reads the same item several times.
pub struct Positioned {
    left: u64,
    position: Vec<u8>,
    moves: Moves,
}

impl Positioned {
    /// Returns a reader of `items` items with a position of `bytes` bytes.
    #[must_use]
    pub fn new(bytes: usize, items: u64, moves: Moves) -> Self {
        // Bytes that repeat would become smaller in the database.
        let noise = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (at << 7)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let words = (0..(bytes as u64).div_ceil(8)).flat_map(|at| noise(at + 1).to_le_bytes());
        Positioned { left: items, position: words.take(bytes).collect(), moves }
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
        self.moves != Moves::Never
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        if self.moves == Moves::Changes {
            let count = self.left.to_le_bytes();
            self.position.iter_mut().zip(count).for_each(|(byte, new)| *byte = new);
        }
        Ok(Some(if self.moves == Moves::Copies { self.position.clone().into() } else { (&self.position).into() }))
    }
}
