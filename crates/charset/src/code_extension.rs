//! Text by code extension (ISO/IEC 2022, ECMA-35): escape sequences and shifts select the character sets of the bytes.
//!
//! # What is followed
//!
//! * Designation of sets of 94, 96 and several bytes a character to G0 to G3, in the short form for `@`, `A`, `B` too.
//! * Shifts: SI, SO, LS2, LS3, LS1R, LS2R, LS3R, and SS2, SS3 for one character.
//! * `ESC % G` and `ESC % @`: into UTF-8 and back. Announcers, identification of revised sets and the C0 and C1 sets of ISO 6429 change
//!   nothing.
//!
//! The escape sequence itself determines how many bytes a character has. Text in unsupported sets is therefore skipped character by
//! character, and service characters are never confused with bytes of other characters.
//!
//! # Which sets are here
//!
//! | designation | set |
//! |---|---|
//! | 94: `B @ A J K f R Y Z G H`, grave accent | ISO 646: ASCII and international, Britain, Japan, Germany, France (1982, 1973), Italy, Spain, Sweden, Norway |
//! | 94: `I` | JIS X 0201 katakana |
//! | 96: `A B C D F G H L M b`, `V Y _ f` | right halves of ISO 8859-1 to 9 and 15; 10, 13, 14, 16 |
//! | 96: `T` | TIS 620, Thai |
//! | 94²: `@ B`, `D` | JIS X 0208, JIS X 0212 |
//! | 94²: `A`, `C` | GB 2312, KS X 1001 |
//!
//! Source: the final bytes are those of the International Register of Coded Character Sets (ISO/IEC 2375). Sets of several bytes
//! are read with the tables of `encoding_rs`, which are those of web browsers and have some more characters than the registered
//! sets.

use core::fmt;

use encoding_rs::Encoding;

use crate::{CodePage, Unencodable};

const ESC: u8 = 0x1b;

/// Most bytes of an escape sequence between ESC and its final byte.
const INTERMEDIATES_MAX: usize = 4;

/// The sets in use at a place in a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CodeExtension {
    /// G0 to G3.
    sets: [GraphicSet; 4],
    /// Index of the set of bytes 0x20 to 0x7F.
    left: u8,
    /// Index of the set of bytes 0xA0 to 0xFF.
    right: u8,
    utf8: bool,
}

/// A set of graphic characters, by the escape sequence that designates it.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct GraphicSet {
    kind: Kind,
    /// Second intermediate byte (`!`, or a space for private sets); 0 if there is none.
    second: u8,
    /// Final byte; 0 if nothing was designated.
    last: u8,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Kind {
    /// 94 characters: bytes 0x21 to 0x7E.
    Single94,
    /// 96 characters: bytes 0x20 to 0x7F.
    Single96,
    /// Several bytes a character, each of 94.
    Multiple94,
    /// Several bytes a character, each of 96.
    Multiple96,
}

/// The next unit of a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    /// A character of ISO 646 as itself, or a control character.
    Plain(u8),
    /// Any other character.
    Char(char),
    /// An escape sequence or a shift: no character.
    Function,
    /// Bytes that are not a known character.
    Unknown(CodeProblem),
}

/// Reason why bytes of a text by code extension are not a character.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum CodeProblem {
    /// A character of a set that is not here.
    #[error("the character set {0} is not known here")]
    Set(GraphicSet),
    /// A byte for which no set was designated.
    #[error("bytes are characters of G{number}, and no escape sequence before them designates that set")]
    Undesignated {
        /// 1 to 3.
        number: u8,
    },
    /// Bytes that are not a character of a known set.
    #[error("bytes are not a character of the set {0}")]
    NoCharacter(GraphicSet),
    /// An escape sequence with another meaning.
    #[error("the escape sequence {0} does not belong to a supported code extension")]
    Escape(EscapeSequence),
    /// Bytes that are not UTF-8 after an escape sequence that selects it.
    #[error("bytes are not UTF-8, although an escape sequence before them announces it")]
    Utf8,
    /// The text ends inside of a character or an escape sequence.
    #[error("the text ends inside of a character or an escape sequence")]
    Cut,
}

/// An escape sequence without ESC: intermediate bytes and the final one.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct EscapeSequence {
    bytes: [u8; INTERMEDIATES_MAX + 1],
    len: u8,
}

impl Default for CodeExtension {
    fn default() -> Self {
        CodeExtension::START
    }
}

impl CodeExtension {
    /// State at the start of a text: ASCII is G0, and nothing else is designated.
    pub const START: CodeExtension = CodeExtension {
        sets: [GraphicSet::ASCII, GraphicSet::NONE, GraphicSet::NONE, GraphicSet::NONE],
        left: 0,
        right: 1,
        utf8: false,
    };

    /// Reads the unit at the start of `text` and returns it with its length in bytes. Returns `None` if the text ends before the
    /// unit is known.
    pub fn next(&mut self, text: &[u8]) -> Option<(Unit, usize)> {
        let first = *text.first()?;
        match first {
            ESC => self.escape(text),
            _ if self.utf8 => utf8(text),
            0x0e => Some((self.shift(1), 1)),
            0x0f => Some((self.shift(0), 1)),
            0x8e => self.graphic(2, &text[1..], 1),
            0x8f => self.graphic(3, &text[1..], 1),
            0x00..0x20 => Some((Unit::Plain(first), 1)),
            0x80..0xa0 => Some((Unit::Char(char::from(first)), 1)),
            0x20..0x80 => self.graphic(self.left, text, 0),
            0xa0.. => self.graphic(self.right, text, 0),
        }
    }

    /// Returns the state as numbers, for a checkpoint.
    #[must_use]
    pub fn to_bits(self) -> [u64; 2] {
        let set = |at: usize| {
            let GraphicSet { kind, second, last } = self.sets[at];
            u64::from(kind as u8) | u64::from(second) << 8 | u64::from(last) << 16
        };
        let shifts = u64::from(self.left) | u64::from(self.right) << 4 | u64::from(self.utf8) << 8;
        [set(0) | set(1) << 24 | shifts << 48, set(2) | set(3) << 24]
    }

    /// Restores the state from [`CodeExtension::to_bits`]. Returns `None` for other numbers.
    #[must_use]
    pub fn from_bits(bits: [u64; 2]) -> Option<Self> {
        let [a, b, c, d, e, f, left_right, flag] = bits[0].to_le_bytes();
        let [g, h, i, j, k, l, _, _] = bits[1].to_le_bytes();
        let set = |kind, second, last| {
            let kind = [Kind::Single94, Kind::Single96, Kind::Multiple94, Kind::Multiple96].get(usize::from(kind))?;
            Some(GraphicSet { kind: *kind, second, last })
        };
        let sets = [set(a, b, c)?, set(d, e, f)?, set(g, h, i)?, set(j, k, l)?];
        let (left, right) = (left_right & 15, left_right >> 4);
        (left < 4 && (1..4).contains(&right) && flag < 2).then_some(CodeExtension {
            sets,
            left,
            right,
            utf8: flag == 1,
        })
    }

    fn shift(&mut self, number: u8) -> Unit {
        self.left = number;
        Unit::Function
    }

    /// Reads a character of G0 to G3 that begins `behind` bytes after the start of the escape sequence or text.
    fn graphic(&self, number: u8, text: &[u8], behind: usize) -> Option<(Unit, usize)> {
        let set = self.sets[usize::from(number)];
        let first = *text.first()?;
        // SPACE and DELETE are in every set of 94; control characters are not part of a character.
        let small = set.kind == Kind::Single94 || set.kind == Kind::Multiple94;
        if first & 0x7f < 0x20 || (small && matches!(first, 0x20 | 0x7f)) {
            let unit =
                if behind == 0 { Unit::Plain(first) } else { Unit::Unknown(CodeProblem::Undesignated { number }) };
            return Some((unit, behind + usize::from(behind == 0)));
        }
        if set.last == 0 {
            return Some((Unit::Unknown(CodeProblem::Undesignated { number }), behind + 1));
        }
        let len = set.bytes();
        let half = first & 0x80;
        let range = if small { 0x21..=0x7e } else { 0x20..=0x7f };
        let mut bytes = [0; 4];
        for (at, byte) in bytes[..len].iter_mut().enumerate() {
            let next = text.get(at)?;
            if next & 0x80 != half || !range.contains(&(next & 0x7f)) {
                // A byte that cannot be part of a character begins a new unit.
                return Some((Unit::Unknown(CodeProblem::NoCharacter(set)), behind + at.max(1)));
            }
            *byte = next & 0x7f;
        }
        Some((set.character(&bytes[..len]), behind + len))
    }

    fn escape(&mut self, text: &[u8]) -> Option<(Unit, usize)> {
        let body = &text[1..];
        let between = body.iter().take(INTERMEDIATES_MAX + 1).take_while(|byte| matches!(byte, 0x20..0x30)).count();
        let sequence = |len: usize| {
            let mut bytes = [0; INTERMEDIATES_MAX + 1];
            bytes[..len].copy_from_slice(&body[..len]);
            EscapeSequence { bytes, len: u8::try_from(len).unwrap_or(0) }
        };
        let unknown = |len: usize| Some((Unit::Unknown(CodeProblem::Escape(sequence(len))), 1 + len));
        let Some(last) = body.get(between).copied() else {
            return if between > INTERMEDIATES_MAX { unknown(between) } else { None };
        };
        if between > INTERMEDIATES_MAX || !(0x30..0x7f).contains(&last) {
            return unknown(between);
        }
        if self.utf8 && body[..between] != *b"%" {
            return unknown(between + 1);
        }
        let len = 2 + between;
        let unit = match (&body[..between], last) {
            (b"", b'N') => return self.graphic(2, body.get(1..)?, 2),
            (b"", b'O') => return self.graphic(3, body.get(1..)?, 2),
            (b"", b'n') => self.shift(2),
            (b"", b'o') => self.shift(3),
            (b"", b'~' | b'}' | b'|') => {
                self.right = match last {
                    b'~' => 1,
                    b'}' => 2,
                    _ => 3,
                };
                Unit::Function
            }
            (b"%", b'G') | (b"%/", b'G' | b'H' | b'I') => {
                self.utf8 = true;
                Unit::Function
            }
            (b"%", b'@') => {
                self.utf8 = false;
                Unit::Function
            }
            // Announcer, identification of a revised set; C0 of ISO 646, C1 of ISO 6429.
            (b" " | b"&", _) | (b"!", b'@') | (b"\"", b'C') => Unit::Function,
            (b"$", b'@' | b'A' | b'B') => self.designate(0, Kind::Multiple94, 0, last),
            ([b'$', to, second @ ..], _) if second.len() < 2 => {
                let second = second.first().copied().unwrap_or(0);
                match to {
                    b'('..=b'+' => self.designate(to - b'(', Kind::Multiple94, second, last),
                    b'-'..=b'/' => self.designate(to - b',', Kind::Multiple96, second, last),
                    _ => return unknown(between + 1),
                }
            }
            ([to @ b'('..=b'+', second @ ..], _) if second.len() < 2 => {
                self.designate(to - b'(', Kind::Single94, second.first().copied().unwrap_or(0), last)
            }
            ([to @ b'-'..=b'/', second @ ..], _) if second.len() < 2 => {
                self.designate(to - b',', Kind::Single96, second.first().copied().unwrap_or(0), last)
            }
            _ => return unknown(between + 1),
        };
        Some((unit, len))
    }

    fn designate(&mut self, number: u8, kind: Kind, second: u8, last: u8) -> Unit {
        self.sets[usize::from(number)] = GraphicSet { kind, second, last };
        Unit::Function
    }
}

fn utf8(text: &[u8]) -> Option<(Unit, usize)> {
    let first = text[0];
    let len = match first {
        0..0x80 => return Some((Unit::Plain(first), 1)),
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return Some((Unit::Unknown(CodeProblem::Utf8), 1)),
    };
    let bytes = &text[..text.len().min(len)];
    match core::str::from_utf8(bytes) {
        Ok(char) => Some((char.chars().next().map_or(Unit::Unknown(CodeProblem::Utf8), Unit::Char), len)),
        Err(error) if error.error_len().is_none() => None,
        Err(error) => Some((Unit::Unknown(CodeProblem::Utf8), error.error_len().unwrap_or(1))),
    }
}

impl GraphicSet {
    const NONE: GraphicSet = GraphicSet { kind: Kind::Single94, second: 0, last: 0 };
    const ASCII: GraphicSet = GraphicSet { kind: Kind::Single94, second: 0, last: b'B' };

    /// Bytes of a character, by the final byte (ISO 2022, multiple-byte sets).
    fn bytes(self) -> usize {
        match (self.kind, self.last) {
            (Kind::Single94 | Kind::Single96, _) => 1,
            (_, 0x60..0x70) => 3,
            (_, 0x70..) => 4,
            _ => 2,
        }
    }

    /// Decodes a character from its bytes, of which only the lower 7 bits are given.
    fn character(self, bytes: &[u8]) -> Unit {
        let found = match (self.kind, self.second, self.last, bytes) {
            (Kind::Single94, 0, last, [byte]) if iso646(last).is_some() => {
                return iso646(last)
                    .and_then(|changed| changed.iter().find(|(at, _)| at == byte))
                    .map_or(Unit::Plain(*byte), |(_, char)| Unit::Char(*char));
            }
            (Kind::Single94, 0, b'I', [byte]) => {
                (*byte < 0x60).then(|| char::from_u32(0xff40 + u32::from(*byte))).flatten().filter(|_| *byte > 0x20)
            }
            (Kind::Single96, 0, last, [byte]) => match right_half(last) {
                Some(Half::Page(page)) => page.to_char(byte | 0x80),
                Some(Half::Encoding(encoding)) => decoded(encoding, &[byte | 0x80]),
                None => return Unit::Unknown(CodeProblem::Set(self)),
            },
            (Kind::Multiple94, 0, b'@' | b'B', [a, b]) => decoded(encoding_rs::EUC_JP, &[a | 0x80, b | 0x80]),
            (Kind::Multiple94, 0, b'D', [a, b]) => decoded(encoding_rs::EUC_JP, &[0x8f, a | 0x80, b | 0x80]),
            (Kind::Multiple94, 0, b'A', [a, b]) => decoded(encoding_rs::GBK, &[a | 0x80, b | 0x80]),
            (Kind::Multiple94, 0, b'C', [a, b]) => decoded(encoding_rs::EUC_KR, &[a | 0x80, b | 0x80]),
            _ => return Unit::Unknown(CodeProblem::Set(self)),
        };
        found.map_or(Unit::Unknown(CodeProblem::NoCharacter(self)), Unit::Char)
    }

    /// Returns the name of a well-known set.
    fn name(self) -> Option<&'static str> {
        Some(match (self.kind, self.second, self.last) {
            (Kind::Single94, 0, b'I') => "JIS X 0201 katakana",
            (Kind::Single94, 0, b'N') => "KOI8, Cyrillic",
            (Kind::Multiple94, 0, b'@') => "JIS C 6226-1978",
            (Kind::Multiple94, 0, b'A') => "GB 2312",
            (Kind::Multiple94, 0, b'B') => "JIS X 0208",
            (Kind::Multiple94, 0, b'C') => "KS X 1001",
            (Kind::Multiple94, 0, b'D') => "JIS X 0212",
            (Kind::Multiple94, 0, b'E') => "ISO-IR 165, extended GB 2312",
            (Kind::Multiple94, 0, b'G'..=b'M') => "CNS 11643",
            (Kind::Multiple94, 0, b'O' | b'Q') => "JIS X 0213, plane 1",
            (Kind::Multiple94, 0, b'P') => "JIS X 0213, plane 2",
            (Kind::Single96, 0, last) => match right_half(last)? {
                Half::Page(page) => page.name(),
                Half::Encoding(encoding) => encoding.name(),
            },
            _ => return None,
        })
    }
}

/// Writes text by code extension so that each piece is self-contained: it begins and ends in ASCII and contains the designations
/// that it needs.
///
/// A character is written as G1 in the right half, in the first part of ISO 8859 that has it (1, 2, 5, 7, 15, 9, 3, 4, 6, 8) or as
/// katakana of JIS X 0201. Otherwise it is written as G0 in JIS X 0208, KS X 1001 or GB 2312.
#[derive(Clone, Debug, Default)]
pub struct ExtendedText {
    /// Designations in use; empty for ASCII and for nothing.
    left: &'static [u8],
    right: &'static [u8],
}

impl ExtendedText {
    /// Switches back to ASCII: before bytes of ASCII, and at the end.
    pub fn ascii(&mut self, out: &mut Vec<u8>) {
        if !self.left.is_empty() {
            out.extend_from_slice(b"\x1b(B");
            self.left = b"";
        }
    }

    /// Appends a character beyond ASCII.
    ///
    /// # Errors
    /// [`Unencodable`], with index 0, for a character in none of the sets.
    pub fn put(&mut self, char: char, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        const KATAKANA: u8 = 0;
        const HALVES: [(&[u8], u8); 11] = [
            (b"\x1b-A", b'A'),
            (b"\x1b-B", b'B'),
            (b"\x1b-L", b'L'),
            (b"\x1b-F", b'F'),
            (b"\x1b-b", b'b'),
            (b"\x1b-M", b'M'),
            (b"\x1b-C", b'C'),
            (b"\x1b-D", b'D'),
            (b"\x1b-G", b'G'),
            (b"\x1b-H", b'H'),
            (b"\x1b)I", KATAKANA),
        ];
        // Control characters of ISO 6429, but for the single shifts.
        if let Some(control) = u8::try_from(char).ok().filter(|byte| matches!(byte, 0x80..0x8e | 0x90..0xa0)) {
            out.push(control);
            return Ok(());
        }
        let byte_in = |last: u8| match right_half(last) {
            Some(Half::Page(page)) => page.from_char(char).filter(|byte| *byte >= 0xa0),
            _ if last == KATAKANA && ('｡'..='ﾟ').contains(&char) => {
                u8::try_from(u32::from(char) - 0xff40 + 0x80).ok()
            }
            _ => None,
        };
        let used = HALVES.iter().filter(|(designation, _)| *designation == self.right);
        let found = used.chain(&HALVES).find_map(|(designation, last)| Some((*designation, byte_in(*last)?)));
        if let Some((designation, byte)) = found {
            if self.right != designation {
                out.extend_from_slice(designation);
                self.right = designation;
            }
            out.push(byte);
            return Ok(());
        }
        let large: [(&'static [u8], &'static Encoding); 3] =
            [(b"\x1b$B", encoding_rs::EUC_JP), (b"\x1b$(C", encoding_rs::EUC_KR), (b"\x1b$A", encoding_rs::GBK)];
        let used = large.iter().filter(|(designation, _)| *designation == self.left);
        let found = used.chain(&large).find_map(|(designation, encoding)| Some((*designation, pair(encoding, char)?)));
        let (designation, pair) = found.ok_or(Unencodable { char, index: 0 })?;
        if self.left != designation {
            out.extend_from_slice(designation);
            self.left = designation;
        }
        out.extend_from_slice(&pair);
        Ok(())
    }
}

/// Encodes a character as its two 7-bit bytes in a set of 94 by 94 characters.
fn pair(encoding: &'static Encoding, char: char) -> Option<[u8; 2]> {
    let (mut text, mut out) = ([0; 4], [0; 16]);
    let text = char.encode_utf8(&mut text);
    let (result, _, written) = encoding.new_encoder().encode_from_utf8_without_replacement(text, &mut out, true);
    let good = result == encoding_rs::EncoderResult::InputEmpty;
    // The encoder may write another character that looks alike, such as U+FF0D for U+2212.
    match &out[..written] {
        bytes @ [a @ 0xa1..=0xfe, b @ 0xa1..=0xfe] if good && decoded(encoding, bytes) == Some(char) => {
            Some([a & 0x7f, b & 0x7f])
        }
        _ => None,
    }
}

impl fmt::Display for GraphicSet {
    /// Writes the sequence as standards do, such as `2/4 2/8 4/7` after ESC, with the name of a well-known set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let multiple = matches!(self.kind, Kind::Multiple94 | Kind::Multiple96);
        let small = matches!(self.kind, Kind::Single94 | Kind::Multiple94);
        f.write_str(if multiple { "ESC 2/4 " } else { "ESC " })?;
        f.write_str(if small { "2/8" } else { "2/13" })?;
        if self.second != 0 {
            write!(f, " {}/{}", self.second >> 4, self.second & 15)?;
        }
        write!(f, " {}/{}", self.last >> 4, self.last & 15)?;
        self.name().map_or(Ok(()), |name| write!(f, " ({name})"))
    }
}

impl fmt::Debug for GraphicSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for EscapeSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ESC")?;
        self.bytes[..usize::from(self.len)].iter().try_for_each(|byte| write!(f, " {}/{}", byte >> 4, byte & 15))
    }
}

enum Half {
    Page(&'static CodePage),
    Encoding(&'static Encoding),
}

/// Returns the right half of a part of ISO 8859 by the final byte of its escape sequence.
fn right_half(last: u8) -> Option<Half> {
    let page = |at: usize| Some(Half::Page(CodePage::ISO_8859[at - 2]));
    match last {
        b'A' => Some(Half::Page(CodePage::LATIN1)),
        b'B' => page(2),
        b'C' => page(3),
        b'D' => page(4),
        b'F' => page(7),
        b'G' => page(6),
        b'H' => page(8),
        b'L' => page(5),
        b'M' => page(9),
        b'b' => Some(Half::Page(CodePage::LATIN9)),
        b'V' => Some(Half::Encoding(encoding_rs::ISO_8859_10)),
        b'Y' => Some(Half::Encoding(encoding_rs::ISO_8859_13)),
        b'_' => Some(Half::Encoding(encoding_rs::ISO_8859_14)),
        b'f' => Some(Half::Encoding(encoding_rs::ISO_8859_16)),
        b'T' => Some(Half::Encoding(encoding_rs::WINDOWS_874)),
        _ => None,
    }
}

/// Returns the characters by which a version of ISO 646 replaces those of ASCII.
fn iso646(last: u8) -> Option<&'static [(u8, char)]> {
    Some(match last {
        b'B' => &[],
        b'@' => &[(b'$', '¤'), (b'~', '‾')],
        b'A' => &[(b'#', '£'), (b'~', '‾')],
        b'J' => &[(b'\\', '¥'), (b'~', '‾')],
        b'K' => {
            &[(b'@', '§'), (b'[', 'Ä'), (b'\\', 'Ö'), (b']', 'Ü'), (b'{', 'ä'), (b'|', 'ö'), (b'}', 'ü'), (b'~', 'ß')]
        }
        b'f' => &[
            (b'#', '£'),
            (b'@', 'à'),
            (b'[', '°'),
            (b'\\', 'ç'),
            (b']', '§'),
            (b'`', 'µ'),
            (b'{', 'é'),
            (b'|', 'ù'),
            (b'}', 'è'),
            (b'~', '¨'),
        ],
        b'R' => &[
            (b'#', '£'),
            (b'@', 'à'),
            (b'[', '°'),
            (b'\\', 'ç'),
            (b']', '§'),
            (b'{', 'é'),
            (b'|', 'ù'),
            (b'}', 'è'),
            (b'~', '¨'),
        ],
        b'Y' => &[
            (b'#', '£'),
            (b'@', '§'),
            (b'[', '°'),
            (b'\\', 'ç'),
            (b']', 'é'),
            (b'`', 'ù'),
            (b'{', 'à'),
            (b'|', 'ò'),
            (b'}', 'è'),
            (b'~', 'ì'),
        ],
        b'Z' => {
            &[(b'#', '£'), (b'@', '§'), (b'[', '¡'), (b'\\', 'Ñ'), (b']', '¿'), (b'{', '°'), (b'|', 'ñ'), (b'}', 'ç')]
        }
        b'G' => {
            &[(b'$', '¤'), (b'[', 'Ä'), (b'\\', 'Ö'), (b']', 'Å'), (b'{', 'ä'), (b'|', 'ö'), (b'}', 'å'), (b'~', '‾')]
        }
        b'H' => &[
            (b'$', '¤'),
            (b'@', 'É'),
            (b'[', 'Ä'),
            (b'\\', 'Ö'),
            (b']', 'Å'),
            (b'^', 'Ü'),
            (b'`', 'é'),
            (b'{', 'ä'),
            (b'|', 'ö'),
            (b'}', 'å'),
            (b'~', 'ü'),
        ],
        b'`' => &[(b'[', 'Æ'), (b'\\', 'Ø'), (b']', 'Å'), (b'{', 'æ'), (b'|', 'ø'), (b'}', 'å'), (b'~', '‾')],
        _ => return None,
    })
}

/// Decodes bytes that must be exactly one character.
fn decoded(encoding: &'static Encoding, bytes: &[u8]) -> Option<char> {
    let mut out = [0; 16];
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let (result, read, written) = decoder.decode_to_utf8_without_replacement(bytes, &mut out, true);
    if result != encoding_rs::DecoderResult::InputEmpty || read != bytes.len() {
        return None;
    }
    let mut chars = core::str::from_utf8(&out[..written]).ok()?.chars();
    chars.next().filter(|char| chars.next().is_none() && *char != '\u{fffd}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the text, with `\u{fffd}` for bytes that are not characters, and each problem once.
    fn read(bytes: &[u8]) -> (String, Vec<String>) {
        let mut state = CodeExtension::START;
        let (mut text, mut problems, mut at) = (String::new(), Vec::new(), 0);
        while at < bytes.len() {
            let (unit, len) = state.next(&bytes[at..]).unwrap_or((Unit::Unknown(CodeProblem::Cut), bytes.len() - at));
            at += len;
            match unit {
                Unit::Plain(byte) => text.push(char::from(byte)),
                Unit::Char(char) => text.push(char),
                Unit::Function => {}
                Unit::Unknown(problem) => {
                    text.push('\u{fffd}');
                    problems.push(problem.to_string());
                }
            }
        }
        problems.dedup();
        (text, problems)
    }

    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(read(bytes), (expected.to_owned(), Vec::new()));
    }

    #[test]
    fn sets_of_one_byte() {
        check(b"\x1b-A\xe9\x1b-L\xe9", "éщ");
        check(b"\x1b-A\x1b.F\xe9\x1bN\xe9\x8e\x69\xe9", "éιιé");
        check(b"\x1b(K[{~+\x1b(B[", "Ääß+[");
        check(b"\x1b)I\x0e1\x0f1\xb1", "ｱ1ｱ");
        check(b"\x1b-M\x1b/A\xfd\x1b|\xfd\x1b~\xfd", "ıýı");
    }

    #[test]
    fn sets_of_several_bytes_hide_what_looks_like_ascii() {
        // The second byte of the first is 0x2B, an EDIFACT separator; spaces and line ends stay themselves.
        check(b"\x1b$B%+ %J\n\x1b(B+", "カ ナ\n+");
        check(b"\x1b$@F|\x1b(J\\", "日¥");
        check(b"\x1b$(D0!\x1b(B", "丂");
        check(b"\x1b$)C\x0e\x30\x21\x0f\xb0\xa1", "가가");
        check(b"\x1b$A0!\x1b(B", "啊");
        check(b"\x1b&@\x1b$B4A\x1b(B", "漢");
        check(b"\x1b%G\xc3\xa9\xe6\xbc\xa2+\x1b%@+", "é漢++");
    }

    #[test]
    fn what_is_not_known_is_named_and_passed_over_by_characters() {
        let problem = |bytes: &[u8], text: &str, expected: &str| {
            assert_eq!(read(bytes), (text.to_owned(), vec![expected.to_owned()]));
        };
        problem(b"\x1b$(G''\x1b(B'", "\u{fffd}'", "the character set ESC 2/4 2/8 4/7 (CNS 11643) is not known here");
        problem(b"\x1b$(a'''\x1b(B'", "\u{fffd}'", "the character set ESC 2/4 2/8 6/1 is not known here");
        problem(b"\x1b(N+\x1b(B+", "\u{fffd}+", "the character set ESC 2/8 4/14 (KOI8, Cyrillic) is not known here");
        problem(
            b"a\xe9",
            "a\u{fffd}",
            "bytes are characters of G1, and no escape sequence before them designates that set",
        );
        problem(
            b"\x1b%/@a",
            "\u{fffd}a",
            "the escape sequence ESC 2/5 2/15 4/0 does not belong to a supported code extension",
        );
        problem(b"\x1b-G\xa1", "\u{fffd}", "bytes are not a character of the set ESC 2/13 4/7 (ISO-8859-6)");
        problem(
            b"\x1b%G\xe9+",
            "\u{fffd}+",
            "bytes are not UTF-8, although an escape sequence before them announces it",
        );
        problem(b"\x1b$B%", "\u{fffd}", "the text ends inside of a character or an escape sequence");
        // Half a character before a line end or an escape sequence.
        problem(b"\x1b$B%\n%J", "\u{fffd}\nナ", "bytes are not a character of the set ESC 2/4 2/8 4/2 (JIS X 0208)");
    }

    /// Regression: U+2212 was written as U+FF0D.
    #[test]
    fn every_character_that_can_be_written_is_read_again() {
        let mut written = 0;
        for char in (0x80..0x1_0000).filter_map(char::from_u32) {
            let mut out = Vec::new();
            if ExtendedText::default().put(char, &mut out).is_ok() {
                written += 1;
                assert_eq!(read(&out), (char.to_string(), Vec::new()), "U+{:04X}", u32::from(char));
            }
        }
        assert!(written > 15_000, "{written}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(text in "[ -~\u{85}éЖΩ€ąחع請求가价￦日ｱ]{0,20}") {
            let (mut writer, mut out) = (ExtendedText::default(), Vec::new());
            for char in text.chars() {
                match u8::try_from(char).ok().filter(u8::is_ascii) {
                    Some(byte) => {
                        writer.ascii(&mut out);
                        out.push(byte);
                    }
                    None => prop_assert_eq!(writer.put(char, &mut out), Ok(())),
                }
            }
            writer.ascii(&mut out);
            // The text is the same after any other text: it does not depend on what precedes it.
            let before = b"\x1b-L\x1b.F";
            prop_assert_eq!(read(&[before, &out[..]].concat()), (text, Vec::new()));
        }

        #[test]
        fn any_bytes_are_read_on_and_alike_wherever_they_are_cut(
            bytes in prop::collection::vec(prop_oneof![Just(0x1b), Just(b'$'), Just(b'('), b' '..=b'~', any::<u8>()], 0..60),
        ) {
            let mut state = CodeExtension::START;
            let mut at = 0;
            while at < bytes.len() {
                let before = state;
                let Some((unit, len)) = state.next(&bytes[at..]) else {
                    prop_assert_eq!(state, before);
                    break;
                };
                prop_assert!(len > 0 && at + len <= bytes.len());
                for cut in 0..bytes.len() - at {
                    let mut other = before;
                    if let Some(found) = other.next(&bytes[at..at + cut]) {
                        prop_assert_eq!((found, other), ((unit, len), state));
                    }
                }
                prop_assert_eq!(CodeExtension::from_bits(state.to_bits()), Some(state));
                at += len;
            }
        }
    }
}
