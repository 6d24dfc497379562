//! Rows of blank-padded text between words that are always the same: `{"REF":"` … `","MODEL":"` … `"},`, once for each row.
//!
//! ```text
//! words, places ──Weave::new──▶ chunks of 64 bytes: words with holes, and where in the row the bytes of the holes stand
//! row ──▶ a chunk with its holes filled (one permute) ──▶ its blanks before the next word left out (one compress) ──▶ out
//! ```
//! A chunk costs some twenty instructions, whatever stands in it, where a text costs forty when each is copied by itself.

#[cfg(target_arch = "x86_64")]
mod avx512;

/// Where a text stands in a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Hole {
    /// First byte.
    pub offset: usize,
    /// Bytes, blanks at the end included; they are left out.
    pub size: usize,
}

/// What a row is made of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Piece<'a> {
    /// Bytes that are always the same.
    Word(&'a [u8]),
    /// A text of the row.
    Text(Hole),
}

/// Rows of one kind, prepared.
#[derive(Clone, Debug)]
pub struct Weave {
    pieces: Vec<Owned>,
    steps: Vec<Step>,
    /// Bytes of a row that are read, from its first text's on.
    first: usize,
    span: usize,
    /// Bytes of a row that may be touched.
    reach: usize,
    /// Bytes that a row becomes at most.
    row_max: usize,
}

#[derive(Clone, Debug)]
enum Owned {
    Word(Vec<u8>),
    Text(Hole),
}

/// Part of a row as it is written.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Step {
    /// Words, with anything in the holes.
    words: [u8; CHUNK],
    /// For each byte of a hole where it stands, from `at` on.
    from: [u8; CHUNK],
    /// Bytes that are in holes, and bytes that are words.
    holes: u64,
    kept: u64,
    at: u32,
    /// Not 0 for one text of so many bytes from `at` on, and no words.
    long: u32,
}

/// Rows and bytes that were written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Woven {
    /// Rows.
    pub rows: usize,
    /// Bytes.
    pub bytes: usize,
}

/// Bytes of a chunk.
const CHUNK: usize = 64;

/// Texts of more bytes go by themselves; the bytes between two holes of a chunk are at least one less.
const SHORT_MAX: usize = 16;

/// Longest text.
const LONG_MAX: usize = 2 * CHUNK;

impl Weave {
    /// Bytes behind a row's last text that must be there to be read.
    pub const TEXT_SLACK: usize = CHUNK;

    /// Bytes behind what is written that must be there to be written.
    pub const OUT_SLACK: usize = LONG_MAX;

    /// Prepares rows of these pieces. `None` where they have no text, one without bytes or of more than 128, or on a machine on which this
    /// would not be faster than copying text by text.
    #[must_use]
    pub fn new(pieces: &[Piece<'_>]) -> Option<Weave> {
        is_fast().then(|| Weave::of_pieces(pieces))?
    }

    fn of_pieces(pieces: &[Piece<'_>]) -> Option<Weave> {
        let holes = || {
            pieces.iter().filter_map(|piece| match piece {
                Piece::Text(hole) => Some(*hole),
                Piece::Word(_) => None,
            })
        };
        if !holes().all(|hole| (1..=LONG_MAX).contains(&hole.size)) {
            return None;
        }
        let first = holes().map(|hole| hole.offset).min()?;
        let end = holes().map(|hole| hole.offset + hole.size).max()?;
        let mut steps = Steps::default();
        let mut row_max = 0;
        for piece in pieces {
            match *piece {
                Piece::Word(word) => {
                    steps.word(word);
                    row_max += word.len();
                }
                Piece::Text(hole) => {
                    steps.text(hole)?;
                    row_max += hole.size;
                }
            }
        }
        steps.end();
        let pieces = pieces.iter().map(|piece| match *piece {
            Piece::Word(word) => Owned::Word(word.to_vec()),
            Piece::Text(hole) => Owned::Text(hole),
        });
        Some(Weave {
            pieces: pieces.collect(),
            steps: steps.done,
            first,
            span: end - first,
            reach: end + Weave::TEXT_SLACK,
            row_max,
        })
    }

    /// Bytes that a row becomes at most.
    #[must_use]
    pub fn row_bytes_max(&self) -> usize {
        self.row_max
    }

    /// Writes rows that begin every `stride` bytes of `text`, at most `rows`, as many as lie in `text` and fit `out`, with
    /// [`Weave::TEXT_SLACK`] and [`Weave::OUT_SLACK`] bytes to spare, and none from the first on that has, in its texts or between them, a byte that is not printable ASCII or one of `stops`.
    #[must_use]
    pub fn write(&self, text: &[u8], stride: usize, rows: usize, stops: [u8; 2], out: &mut [u8]) -> Woven {
        let Some(beyond) = text.len().checked_sub(self.reach) else { return Woven::default() };
        let within = beyond.checked_div(stride).map_or(rows, |rows| rows.saturating_add(1));
        let fit = out.len().saturating_sub(Weave::OUT_SLACK).checked_div(self.row_max).unwrap_or(rows);
        let rows = rows.min(within).min(fit);
        #[cfg(target_arch = "x86_64")]
        if is_fast() {
            // SAFETY: the machine has what the function is compiled for; `rows` rows of `reach` bytes lie in `text`, and as many of `row_max`
            // bytes with the slack in `out`.
            return unsafe { avx512::write(self, text, stride, rows, stops, out) };
        }
        self.write_plain(text, stride, rows, stops, out)
    }

    /// The same, a byte at a time.
    fn write_plain(&self, text: &[u8], stride: usize, rows: usize, stops: [u8; 2], out: &mut [u8]) -> Woven {
        let mut woven = Woven::default();
        while woven.rows < rows {
            let row = &text[woven.rows * stride..];
            if row[self.first..self.first + self.span]
                .iter()
                .any(|byte| !matches!(byte, 0x20..=0x7e) || stops.contains(byte))
            {
                break;
            }
            for piece in &self.pieces {
                let bytes = match piece {
                    Owned::Word(word) => word,
                    Owned::Text(Hole { offset, size }) => {
                        let text = &row[*offset..offset + size];
                        &text[..text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1)]
                    }
                };
                out[woven.bytes..woven.bytes + bytes.len()].copy_from_slice(bytes);
                woven.bytes += bytes.len();
            }
            woven.rows += 1;
        }
        woven
    }
}

fn is_fast() -> bool {
    #[cfg(target_arch = "x86_64")]
    return avx512::is_there();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Steps in the making.
#[derive(Default)]
struct Steps {
    done: Vec<Step>,
    words: Vec<u8>,
    from: Vec<u8>,
    holes: u64,
    kept: u64,
    at: Option<usize>,
    /// Where the last hole of the chunk ends.
    hole_end: Option<usize>,
}

impl Steps {
    fn word(&mut self, word: &[u8]) {
        for byte in word {
            if self.words.len() == CHUNK {
                self.end();
            }
            self.kept |= 1 << self.words.len();
            self.words.push(*byte);
            self.from.push(0);
        }
    }

    fn text(&mut self, Hole { offset, size }: Hole) -> Option<()> {
        let narrow = |n: usize| u32::try_from(n).ok();
        if size > SHORT_MAX {
            self.end();
            let (words, from) = ([0; CHUNK], [0; CHUNK]);
            self.done.push(Step { words, from, holes: 0, kept: 0, at: narrow(offset)?, long: narrow(size)? });
            return Some(());
        }
        let here = self.words.len();
        let apart = self.hole_end.is_none_or(|end| here - end >= SHORT_MAX - 1);
        let near = self.at.is_none_or(|at| at <= offset && offset + size - at <= CHUNK);
        if here + size > CHUNK || !apart || !near {
            self.end();
        }
        let at = *self.at.get_or_insert(offset);
        narrow(offset)?;
        for byte in offset..offset + size {
            self.holes |= 1 << self.words.len();
            self.words.push(0);
            self.from.push(u8::try_from(byte - at).ok()?);
        }
        self.hole_end = Some(self.words.len());
        Some(())
    }

    /// Ends the chunk.
    fn end(&mut self) {
        if self.words.is_empty() {
            return;
        }
        let block = |bytes: &[u8]| {
            let mut block = [0; CHUNK];
            block[..bytes.len()].copy_from_slice(bytes);
            block
        };
        let (words, from) = (block(&self.words), block(&self.from));
        let at = u32::try_from(self.at.unwrap_or(0)).unwrap_or(0);
        let step = Step { words, from, holes: self.holes, kept: self.kept, at, long: 0 };
        *self = Steps { done: core::mem::take(&mut self.done), ..Steps::default() };
        self.done.push(step);
    }
}

#[cfg(test)]
mod tests;
