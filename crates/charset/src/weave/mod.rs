//! Rows of blank-padded text between constant words: `{"REF":"` … `","MODEL":"` … `"},`, once for each row.
//!
//! ```text
//! words, places ──Weave::new──▶ steps: words, and a text after them
//! row ──▶ words and text as blocks ──▶ out; the next step begins after the text's last byte that is not a blank
//! ```
//! A text with its words costs about sixteen instructions regardless of its content; copying each separately costs forty.
//!
//! # Unsafe code
//!
//! `avx512::write` trusts its arguments; [`Weave::write`] makes them true.
//!
//! * **Reads.** A row may be read for `reach` bytes, which is the end of its last text and [`Weave::TEXT_SLACK`]. A text of 17 bytes
//!   or more is read in blocks of 32, any other in one block of 16, so at most 31 bytes beyond its end. `rows` is limited so that the
//!   last row has its reach.
//! * **Writes.** The words and texts of a row are at most `row_max` bytes. A step writes a chunk of 64 bytes where its words are
//!   fewer, and whole blocks where its text is shorter, so at most 64 bytes beyond what `row_max` counts. `rows` is limited so that
//!   all rows and [`Weave::OUT_SLACK`] fit `out`.
//! * **Steps.** `Steps::end` makes them: at most 64 bytes of words, a text of at most 128 bytes within the reach.
//! * **Instructions.** `is_there` detects all that the functions are compiled for.
//!
//! `write_plain` is the twin; `both_ways_agree` compares the two.

#[cfg(target_arch = "x86_64")]
mod avx512;

/// Place of a text in a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Hole {
    /// First byte.
    pub offset: usize,
    /// Length in bytes, with the blanks at the end, which are not written.
    pub size: usize,
}

/// Part of a row.
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

/// One step of a row: words, and one text after them.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Step {
    /// The words; bytes after them are arbitrary.
    words: [u8; CHUNK],
    /// Bytes that are words.
    before: u32,
    /// Offset of the text in the row.
    at: u32,
    /// 0 for a short text; otherwise the number of blocks of the text.
    blocks: u32,
    /// Mask of the text's own bytes in its last block, or in the only block of a short text.
    own: u32,
}

/// Rows and bytes that were written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Woven {
    /// Rows.
    pub rows: usize,
    /// Bytes.
    pub bytes: usize,
}

/// Most words of a step.
const CHUNK: usize = 64;

/// A block of words, and of a text that is not short.
const HALF: usize = CHUNK / 2;

/// Bytes of a short text.
const SHORT_MAX: usize = 16;

/// Longest text.
const LONG_MAX: usize = 2 * CHUNK;

impl Weave {
    /// Bytes of the input required after a row's last text.
    pub const TEXT_SLACK: usize = CHUNK;

    /// Slack that the output buffer needs beyond the text.
    pub const OUT_SLACK: usize = LONG_MAX;

    /// Prepares rows of these pieces. Returns `None` if the pieces have no text, an empty one or one of more than 128 bytes, or if
    /// copying text by text is as fast on this machine.
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
        steps.end(None);
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

    /// Writes rows that begin every `stride` bytes of `text`: at most `rows`, only those that lie in `text` and fit `out` with
    /// [`Weave::TEXT_SLACK`] and [`Weave::OUT_SLACK`] bytes to spare, and only those before the first row that has, in its texts or
    /// between them, a byte of `stops` or one that is not printable ASCII.
    #[must_use]
    pub fn write(&self, text: &[u8], stride: usize, rows: usize, stops: [u8; 2], out: &mut [u8]) -> Woven {
        let Some(beyond) = text.len().checked_sub(self.reach) else { return Woven::default() };
        let within = beyond.checked_div(stride).map_or(rows, |rows| rows.saturating_add(1));
        let fit = out.len().saturating_sub(Weave::OUT_SLACK).checked_div(self.row_max).unwrap_or(rows);
        let rows = rows.min(within).min(fit);
        #[cfg(target_arch = "x86_64")]
        if is_fast() {
            // SAFETY: the machine has the instructions that the function is compiled for; `rows` rows of `reach` bytes lie in
            // `text`, and as many of `row_max` bytes with the slack in `out`.
            return unsafe { avx512::write(self, text, stride, rows, stops, out) };
        }
        self.write_plain(text, stride, rows, stops, out)
    }

    /// Writes the rows a byte at a time.
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
}

impl Steps {
    fn word(&mut self, word: &[u8]) {
        for byte in word {
            if self.words.len() == CHUNK {
                self.end(None);
            }
            self.words.push(*byte);
        }
    }

    fn text(&mut self, Hole { offset, size }: Hole) -> Option<()> {
        self.end(Some((u32::try_from(offset).ok()?, size)));
        Some(())
    }

    /// Ends the step, with or without a text after its words.
    fn end(&mut self, text: Option<(u32, usize)>) {
        let before = self.words.len();
        if before == 0 && text.is_none() {
            return;
        }
        let (at, size) = text.unwrap_or_default();
        let mut words = [0; CHUNK];
        words[..before].copy_from_slice(&self.words);
        self.words.clear();
        let short = size <= SHORT_MAX;
        let blocks = if short { 0 } else { size.div_ceil(HALF).max(1) };
        let own = size - blocks.saturating_sub(1) * HALF;
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let own = if own == 0 { 0 } else { u32::MAX >> (HALF - own) };
        self.done.push(Step { words, before: narrow(before), at, blocks: narrow(blocks), own });
    }
}

#[cfg(test)]
mod tests;
