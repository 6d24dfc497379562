//! Character codes of a plan.

use quayline_charset::{Charset, CodePage};

use super::TextCode;
use crate::layout::OverpunchVariant;

/// Returns the codes of text.
pub(crate) fn text_code(charset: Charset) -> TextCode {
    let page = charset.code_page().unwrap_or(CodePage::ASCII);
    let byte = |c: char| page.from_char(c);
    let mut from_ascii = [0u8; 128];
    let mut ascii_whole = !matches!(charset, Charset::Utf16(_));
    for code in 0u8..128 {
        match byte(char::from(code)) {
            Some(b) => from_ascii[usize::from(code)] = b,
            None if (0x20..0x7f).contains(&code) => ascii_whole = false,
            None => {}
        }
    }
    TextCode {
        to_ascii: page.ascii_table(),
        from_ascii,
        ascii_whole,
        space: byte(' ').unwrap_or(b' '),
        zero: byte('0').unwrap_or(b'0'),
        plus: byte('+').unwrap_or(b'+'),
        minus: byte('-').unwrap_or(b'-'),
        bulk: (ascii_whole && charset.code_page().is_some()).then(|| page.from_ascii_table()),
    }
}

/// Bytes that hold a digit and a sign.
#[derive(Debug)]
pub(crate) struct SignCode {
    /// Digit of each record byte, with [`SignCode::NEGATIVE`] for minus; [`SignCode::INVALID`] for any other byte.
    pub(crate) decode: [u8; 256],
    /// Digit to byte, plus sign.
    pub(crate) plus: [u8; 10],
    /// Digit to byte, minus sign.
    pub(crate) minus: [u8; 10],
}

impl SignCode {
    pub(crate) const NEGATIVE: u8 = 0x80;
    pub(crate) const INVALID: u8 = 0xff;

    /// Creates the sign codes. EBCDIC: zones 0xB and 0xD are minus, 0xA, 0xC, 0xE and 0xF plus; 0xC and 0xD are written (z/Architecture
    /// Principles of Operation, decimal codes). ASCII: by the dialect's overpunch variant; a plain digit is plus in both.
    pub(crate) fn new(charset: Charset, overpunch: OverpunchVariant) -> Self {
        let mut code = SignCode { decode: [Self::INVALID; 256], plus: [0; 10], minus: [0; 10] };
        for digit in 0u8..10 {
            let mut set = |byte: u8, sign: u8| code.decode[usize::from(byte)] = digit | sign;
            let d = usize::from(digit);
            if charset.code_page().is_some_and(CodePage::is_ebcdic) {
                for zone in [0xa0, 0xc0, 0xe0, 0xf0] {
                    set(zone | digit, 0);
                }
                for zone in [0xb0, 0xd0] {
                    set(zone | digit, Self::NEGATIVE);
                }
                code.plus[d] = 0xc0 | digit;
                code.minus[d] = 0xd0 | digit;
                continue;
            }
            set(b'0' + digit, 0);
            match overpunch {
                OverpunchVariant::Ebcdic => {
                    let plus = b"{ABCDEFGHI"[d];
                    let minus = b"}JKLMNOPQR"[d];
                    set(plus, 0);
                    set(minus, Self::NEGATIVE);
                    code.plus[d] = plus;
                    code.minus[d] = minus;
                }
                OverpunchVariant::Ascii => {
                    set(b'p' + digit, Self::NEGATIVE);
                    code.plus[d] = b'0' + digit;
                    code.minus[d] = b'p' + digit;
                }
            }
        }
        code
    }
}
