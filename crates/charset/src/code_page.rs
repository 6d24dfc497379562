//! Single-byte code pages.

use core::fmt;

use crate::tables;

/// A single-byte code page: 256 bytes and their characters.
///
/// Pages are compiled in; [`CodePage::by_name`] and [`CodePage::by_ccsid`] find one, [`CodePage::all`] lists them. Two pages are equal
/// when their CCSIDs are.
///
/// Every page here is a bijection between its assigned bytes and their characters, has U+0000 at 0x00, and every EBCDIC page has the
/// digits 0 to 9 at 0xF0 to 0xF9, the unaccented Latin letters at their usual places and the space at 0x40 (tests hold this).
///
/// The new line of EBCDIC (NL, 0x15) is U+0085 and its line feed (LF, 0x25) is U+000A, which is IBM's default conversion. Sources
/// of code page tables differ on a few bytes; `tables/DISAGREEMENTS.md` lists each with the choice and its reason.
///
/// Source: IBM Character Data Representation Architecture, code page registry.
pub struct CodePage {
    name: &'static str,
    ccsid: u16,
    family: Family,
    title: &'static str,
    to_unicode: [u16; 256],
    ascii: [u8; 256],
    from_ascii: [u8; 256],
    utf8: [Utf8Char; 256],
    from_unicode: FromUnicode,
}

/// The code that a page extends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Family {
    /// IBM's Extended Binary Coded Decimal Interchange Code.
    Ebcdic,
    /// ASCII and its extensions.
    Ascii,
}

/// Code point of an unassigned byte in the tables of pages.
pub const UNASSIGNED: u16 = 0xfffd;

/// Value of every byte that is not printable ASCII in [`CodePage::ascii_table`].
pub const NOT_ASCII: u8 = 0xff;

impl CodePage {
    /// IBM037: USA, Canada, Australia, New Zealand, Netherlands, Portugal, Brazil.
    pub const IBM037: &'static CodePage = &PAGES[0];
    /// US-ASCII.
    pub const ASCII: &'static CodePage = &PAGES[EBCDIC_PAGES];
    /// ISO-8859-1.
    pub const LATIN1: &'static CodePage = &PAGES[EBCDIC_PAGES + 1];
    /// ISO-8859-2 to ISO-8859-9.
    pub const ISO_8859: [&'static CodePage; 8] = {
        let first = EBCDIC_PAGES + 2;
        [
            &PAGES[first],
            &PAGES[first + 1],
            &PAGES[first + 2],
            &PAGES[first + 3],
            &PAGES[first + 4],
            &PAGES[first + 5],
            &PAGES[first + 6],
            &PAGES[first + 7],
        ]
    };
    /// ISO-8859-15.
    pub const LATIN9: &'static CodePage = &PAGES[EBCDIC_PAGES + 10];
    /// Windows-1252.
    pub const WINDOWS_1252: &'static CodePage = &PAGES[EBCDIC_PAGES + 11];

    /// Returns all pages: EBCDIC by CCSID, followed by ASCII and its extensions.
    #[must_use]
    pub fn all() -> &'static [CodePage] {
        &PAGES
    }

    /// Returns the page with this coded character set identifier (CCSID).
    #[must_use]
    pub fn by_ccsid(ccsid: u16) -> Option<&'static CodePage> {
        PAGES.iter().find(|page| page.ccsid == ccsid)
    }

    /// Returns the name that Quayline prints: `IBM037`, `US-ASCII`, `ISO-8859-1`, `windows-1252`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns IBM's coded character set identifier (CCSID).
    #[must_use]
    pub fn ccsid(&self) -> u16 {
        self.ccsid
    }

    /// Returns where the page is used.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// Returns the code that the page extends.
    #[must_use]
    pub fn family(&self) -> Family {
        self.family
    }

    /// Returns whether this is an EBCDIC page.
    #[must_use]
    pub fn is_ebcdic(&self) -> bool {
        self.family == Family::Ebcdic
    }

    /// Returns the byte of the space: 0x40 or 0x20.
    #[must_use]
    pub fn space(&self) -> u8 {
        match self.family {
            Family::Ebcdic => 0x40,
            Family::Ascii => b' ',
        }
    }

    /// Returns the byte of the digit 0: 0xF0 or 0x30. The other digits follow in ascending order.
    #[must_use]
    pub fn zero_digit(&self) -> u8 {
        match self.family {
            Family::Ebcdic => 0xf0,
            Family::Ascii => b'0',
        }
    }

    /// Decodes a byte; `None` if the page assigns no character to it.
    #[inline]
    #[must_use]
    pub fn to_char(&self, byte: u8) -> Option<char> {
        match self.to_unicode[usize::from(byte)] {
            UNASSIGNED => None,
            char => char::from_u32(u32::from(char)),
        }
    }

    /// Encodes a character; `None` if the page does not have it.
    #[inline]
    #[must_use]
    pub fn from_char(&self, char: char) -> Option<u8> {
        self.from_unicode.byte(char)
    }

    /// Returns a table that translates bytes to printable ASCII (0x20 to 0x7E), and all other bytes (control characters, letters beyond
    /// ASCII and unassigned bytes) to [`NOT_ASCII`]. A text is entirely printable ASCII if and only if no byte of its translation has the high bit.
    #[inline]
    #[must_use]
    pub fn ascii_table(&self) -> &[u8; 256] {
        &self.ascii
    }

    /// Returns the page's byte for each ASCII character (0x00 to 0x7F). A missing character and every index from 0x80 give 0, which
    /// is otherwise the byte of U+0000 only: a 0 in the output for an input other than 0 shows that a character could not be
    /// encoded.
    #[inline]
    #[must_use]
    pub fn from_ascii_table(&self) -> &[u8; 256] {
        &self.from_ascii
    }

    /// Returns a table of each byte's character in UTF-8.
    pub(crate) fn utf8_table(&self) -> &[Utf8Char; 256] {
        &self.utf8
    }

    const fn new(name: &'static str, ccsid: u16, family: Family, title: &'static str, to_unicode: [u16; 256]) -> Self {
        let mut ascii = [NOT_ASCII; 256];
        let mut from_ascii = [0; 256];
        let mut utf8 = [Utf8Char([0; 4]); 256];
        let mut byte = 0u8;
        loop {
            let char = to_unicode[byte as usize];
            if let [0, low] = char.to_be_bytes()
                && low < 0x80
            {
                from_ascii[low as usize] = byte;
                if low >= 0x20 && low < 0x7f {
                    ascii[byte as usize] = low;
                }
            }
            utf8[byte as usize] = Utf8Char::of(char);
            if byte == 0xff {
                break;
            }
            byte += 1;
        }
        let from_unicode = FromUnicode::of(&to_unicode);
        CodePage { name, ccsid, family, title, to_unicode, ascii, from_ascii, utf8, from_unicode }
    }
}

impl PartialEq for CodePage {
    fn eq(&self, other: &Self) -> bool {
        self.ccsid == other.ccsid
    }
}

impl Eq for CodePage {}

impl fmt::Debug for CodePage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CodePage({})", self.name)
    }
}

impl fmt::Display for CodePage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A character in UTF-8 and, as the fourth byte, its length: at most three, since the pages stay in the basic plane, and 0 for an
/// unassigned byte.
#[derive(Clone, Copy)]
pub(crate) struct Utf8Char(pub(crate) [u8; 4]);

impl Utf8Char {
    const fn of(char: u16) -> Self {
        let [high, low] = char.to_be_bytes();
        let last = 0x80 | (low & 0x3f);
        let middle = ((high << 2) & 0x3c) | (low >> 6);
        Utf8Char(match char {
            UNASSIGNED => [0; 4],
            0..0x80 => [low, 0, 0, 1],
            0x80..0x800 => [0xc0 | middle, last, 0, 2],
            _ => [0xe0 | (high >> 4), 0x80 | middle, last, 3],
        })
    }
}

/// Byte per character in two steps: the character's high byte names a block of 256, its low byte the entry.
struct FromUnicode {
    /// Number of the block plus 1; 0 if the page has no character there.
    block: [u8; 256],
    blocks: [[u8; 256]; BLOCKS_MAX],
}

/// IBM437 needs the most: U+00xx, U+01xx, U+03xx, U+20xx to U+23xx, U+25xx.
const BLOCKS_MAX: usize = 8;

impl FromUnicode {
    const fn of(to_unicode: &[u16; 256]) -> Self {
        let mut block = [0u8; 256];
        let mut blocks = [[0u8; 256]; BLOCKS_MAX];
        let mut used = 0u8;
        let mut byte = 0u8;
        loop {
            let char = to_unicode[byte as usize];
            if char != UNASSIGNED {
                let [high, low] = char.to_be_bytes();
                if block[high as usize] == 0 {
                    used += 1;
                    block[high as usize] = used;
                }
                blocks[block[high as usize] as usize - 1][low as usize] = byte;
            }
            if byte == 0xff {
                break;
            }
            byte += 1;
        }
        FromUnicode { block, blocks }
    }

    #[inline]
    fn byte(&self, char: char) -> Option<u8> {
        let [high, low] = u16::try_from(u32::from(char)).ok()?.to_be_bytes();
        let block = usize::from(self.block[usize::from(high)]).checked_sub(1)?;
        let byte = self.blocks[block][usize::from(low)];
        (byte != 0 || char == '\0').then_some(byte)
    }
}

/// Number of EBCDIC pages, which come first.
const EBCDIC_PAGES: usize = 34;

static PAGES: [CodePage; EBCDIC_PAGES + 25] = {
    use Family::{Ascii, Ebcdic};
    [
        CodePage::new("IBM037", 37, Ebcdic, "USA, Canada, Netherlands, Portugal, Brazil, Australia", tables::CP037),
        CodePage::new("IBM273", 273, Ebcdic, "Germany, Austria", tables::CP273),
        CodePage::new("IBM277", 277, Ebcdic, "Denmark, Norway", tables::CP277),
        CodePage::new("IBM278", 278, Ebcdic, "Finland, Sweden", tables::CP278),
        CodePage::new("IBM280", 280, Ebcdic, "Italy", tables::CP280),
        CodePage::new("IBM284", 284, Ebcdic, "Spain, Latin America", tables::CP284),
        CodePage::new("IBM285", 285, Ebcdic, "United Kingdom, Ireland", tables::CP285),
        CodePage::new("IBM297", 297, Ebcdic, "France", tables::CP297),
        CodePage::new("IBM500", 500, Ebcdic, "international Latin-1, Belgium, Switzerland", tables::CP500),
        CodePage::new("IBM870", 870, Ebcdic, "Latin-2: central Europe", tables::CP870),
        CodePage::new("IBM871", 871, Ebcdic, "Iceland", tables::CP871),
        CodePage::new("IBM875", 875, Ebcdic, "Greece", tables::CP875),
        CodePage::new("IBM1025", 1025, Ebcdic, "Cyrillic", tables::CP1025),
        CodePage::new("IBM1026", 1026, Ebcdic, "Turkey", tables::CP1026),
        CodePage::new("IBM1047", 1047, Ebcdic, "Latin-1 of open systems: z/OS UNIX, C", tables::CP1047),
        CodePage::new("IBM1112", 1112, Ebcdic, "Latvia, Lithuania", tables::CP1112),
        CodePage::new("IBM1122", 1122, Ebcdic, "Estonia", tables::CP1122),
        CodePage::new("IBM1123", 1123, Ebcdic, "Ukraine", tables::CP1123),
        CodePage::new("IBM1140", 1140, Ebcdic, "037 with the euro sign", tables::CP1140),
        CodePage::new("IBM1141", 1141, Ebcdic, "273 with the euro sign", tables::CP1141),
        CodePage::new("IBM1142", 1142, Ebcdic, "277 with the euro sign", tables::CP1142),
        CodePage::new("IBM1143", 1143, Ebcdic, "278 with the euro sign", tables::CP1143),
        CodePage::new("IBM1144", 1144, Ebcdic, "280 with the euro sign", tables::CP1144),
        CodePage::new("IBM1145", 1145, Ebcdic, "284 with the euro sign", tables::CP1145),
        CodePage::new("IBM1146", 1146, Ebcdic, "285 with the euro sign", tables::CP1146),
        CodePage::new("IBM1147", 1147, Ebcdic, "297 with the euro sign", tables::CP1147),
        CodePage::new("IBM1148", 1148, Ebcdic, "500 with the euro sign", tables::CP1148),
        CodePage::new("IBM1149", 1149, Ebcdic, "871 with the euro sign", tables::CP1149),
        CodePage::new("IBM1153", 1153, Ebcdic, "870 with the euro sign", tables::CP1153),
        CodePage::new("IBM1154", 1154, Ebcdic, "1025 with the euro sign", tables::CP1154),
        CodePage::new("IBM1155", 1155, Ebcdic, "1026 with the euro sign", tables::CP1155),
        CodePage::new("IBM1156", 1156, Ebcdic, "1112 with the euro sign", tables::CP1156),
        CodePage::new("IBM1157", 1157, Ebcdic, "1122 with the euro sign", tables::CP1157),
        CodePage::new("IBM1158", 1158, Ebcdic, "1123 with the euro sign", tables::CP1158),
        CodePage::new("US-ASCII", 367, Ascii, "ASCII, 7 bits", tables::ASCII),
        CodePage::new("ISO-8859-1", 819, Ascii, "Latin-1", tables::LATIN1),
        CodePage::new("ISO-8859-2", 912, Ascii, "Latin-2: central Europe", tables::ISO8859_2),
        CodePage::new("ISO-8859-3", 913, Ascii, "Latin-3: southern Europe, Esperanto", tables::ISO8859_3),
        CodePage::new("ISO-8859-4", 914, Ascii, "Latin-4: northern Europe, Baltic", tables::ISO8859_4),
        CodePage::new("ISO-8859-5", 915, Ascii, "Cyrillic", tables::ISO8859_5),
        CodePage::new("ISO-8859-6", 1089, Ascii, "Arabic", tables::ISO8859_6),
        CodePage::new("ISO-8859-7", 813, Ascii, "Greek", tables::ISO8859_7),
        CodePage::new("ISO-8859-8", 916, Ascii, "Hebrew", tables::ISO8859_8),
        CodePage::new("ISO-8859-9", 920, Ascii, "Latin-5: Turkey", tables::ISO8859_9),
        CodePage::new("ISO-8859-15", 923, Ascii, "Latin-9: Latin-1 with the euro sign", tables::ISO8859_15),
        CodePage::new("windows-1252", 1252, Ascii, "Latin-1 of Windows, with the euro sign", tables::CP1252),
        CodePage::new("windows-1250", 1250, Ascii, "Latin-2 of Windows, with the euro sign", tables::CP1250),
        CodePage::new("windows-1251", 1251, Ascii, "Cyrillic of Windows, with the euro sign", tables::CP1251),
        CodePage::new("windows-1253", 1253, Ascii, "Greek of Windows, with the euro sign", tables::CP1253),
        CodePage::new("windows-1254", 1254, Ascii, "Turkish of Windows, with the euro sign", tables::CP1254),
        CodePage::new("windows-1255", 1255, Ascii, "Hebrew of Windows, with the euro sign", tables::CP1255),
        CodePage::new("windows-1257", 1257, Ascii, "Baltic of Windows, with the euro sign", tables::CP1257),
        CodePage::new("IBM437", 437, Ascii, "DOS: USA", tables::CP437),
        CodePage::new("IBM850", 850, Ascii, "DOS: Latin-1", tables::CP850),
        CodePage::new("IBM852", 852, Ascii, "DOS: Latin-2", tables::CP852),
        CodePage::new("IBM855", 855, Ascii, "DOS: Cyrillic", tables::CP855),
        CodePage::new("IBM858", 858, Ascii, "DOS: 850 with the euro sign", tables::CP858),
        CodePage::new("IBM866", 866, Ascii, "DOS: Russia", tables::CP866),
        CodePage::new("KOI8-R", 878, Ascii, "Cyrillic of UNIX: Russia", tables::KOI8_R),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_a_bijection_between_bytes_and_characters() {
        for page in CodePage::all() {
            let assigned = (0..=255u8).filter(|byte| page.to_char(*byte).is_some());
            for byte in assigned {
                let char = page.to_char(byte).unwrap();
                assert_eq!(page.from_char(char), Some(byte), "{page} {byte:#04x} {char:?}");
            }
            let chars =
                (0..=0xffffu32).filter_map(char::from_u32).filter(|char| page.from_char(*char).is_some()).count();
            assert_eq!(chars, (0..=255u8).filter(|byte| page.to_char(*byte).is_some()).count(), "{page}");
            assert_eq!(page.from_char('\u{1f600}'), None);
        }
    }

    #[test]
    fn ebcdic_pages_agree_on_space_digits_letters_and_nul() {
        for page in CodePage::all() {
            assert_eq!(page.to_char(0), Some('\0'));
            assert_eq!(page.to_char(page.space()), Some(' '), "{page}");
            for digit in 0..10u8 {
                assert_eq!(page.to_char(page.zero_digit() + digit), Some(char::from(b'0' + digit)), "{page}");
            }
            for letter in (b'A'..=b'Z').chain(b'a'..=b'z') {
                let expected = if page.is_ebcdic() { CodePage::IBM037 } else { CodePage::ASCII };
                assert_eq!(page.from_char(char::from(letter)), expected.from_char(char::from(letter)), "{page}");
            }
        }
    }

    #[test]
    fn derived_tables_say_what_the_page_says() {
        for page in CodePage::all() {
            for byte in 0..=255u8 {
                let char = page.to_char(byte);
                let ascii = char.filter(|char| (' '..='~').contains(char)).map_or(NOT_ASCII, |char| char as u8);
                assert_eq!(page.ascii_table()[usize::from(byte)], ascii);
                let from =
                    Some(byte).filter(u8::is_ascii).and_then(|byte| page.from_char(char::from(byte))).unwrap_or(0);
                assert_eq!(page.from_ascii_table()[usize::from(byte)], from);
                let Utf8Char(utf8) = page.utf8_table()[usize::from(byte)];
                let mut buffer = [0; 4];
                let expected = char.map_or(&[][..], |char| char.encode_utf8(&mut buffer).as_bytes());
                assert_eq!(&utf8[..usize::from(utf8[3])], expected, "{page} {byte:#04x}");
            }
        }
    }

    #[test]
    fn euro_pages_differ_from_their_elders_by_the_currency_sign_only() {
        for (old, new, sign) in [
            (37, 1140, '¤'),
            (273, 1141, '¤'),
            (277, 1142, '¤'),
            (278, 1143, '¤'),
            (280, 1144, '¤'),
            (284, 1145, '¤'),
            (285, 1146, '¤'),
            (297, 1147, '¤'),
            (500, 1148, '¤'),
            (871, 1149, '¤'),
            (870, 1153, '¤'),
            (1025, 1154, '§'),
            (1026, 1155, '¤'),
            (1112, 1156, '¤'),
            (1122, 1157, '¤'),
            (1123, 1158, '§'),
            (850, 858, 'ı'),
        ] {
            let (old, new) = (CodePage::by_ccsid(old).unwrap(), CodePage::by_ccsid(new).unwrap());
            let changes: Vec<_> = (0..=255).filter(|byte| old.to_char(*byte) != new.to_char(*byte)).collect();
            assert_eq!(changes.len(), 1, "{old} {new}");
            assert_eq!((old.to_char(changes[0]), new.to_char(changes[0])), (Some(sign), Some('€')), "{old} {new}");
        }
    }
}
