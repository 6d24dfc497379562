//! Finds the beginning of an interchange and its delimiters.
//!
//! # Leniency
//! * Quayline reads an ISA whose elements do not have their fixed widths by its separators ([`EdiError::IsaWidth`]).
//! * Before version 00402, Quayline ignores an ISA11 that is not `U` ([`EdiError::StandardsId`]).
//! * ISA11 that is a letter from version 00402 on means that there is no repetition separator ([`EdiError::RepetitionKind`]).
//! * Quayline ignores line breaks inside ISA, and between UNA and UNB.

use std::borrow::Cow;

use crate::delimiters::{Delimiters, Standard};
use crate::fault::{EdiError, ServiceCharacter};
use crate::position::EndOfInput;

/// Result of examining a position at which an interchange may begin.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Start {
    /// More bytes are needed.
    NeedMore,
    /// No header.
    No,
    /// A header. Its first segment begins after `skip` bytes (after UNA); `leniencies` were applied.
    /// `extended` is true if its text uses code extension.
    Yes { delimiters: Delimiters, skip: usize, extended: bool, leniencies: Vec<EdiError> },
    /// A header that cannot be used.
    Refused(EdiError),
}

/// Bytes within which an interchange's first segment must end.
pub(crate) const HEADER_BYTES_MAX: usize = 1024;

/// Examines the start of `text`. With `Certain::Yes`, only an interchange may begin here, so `ISA` before a letter is a header with an invalid
/// separator. Otherwise it is a word.
pub(crate) fn at(text: &[u8], end: EndOfInput, certain: Certain) -> Start {
    let Some(tag) = text.first_chunk::<3>() else {
        let cut = end == EndOfInput::No && [&b"ISA"[..], b"UNA", b"UNB"].iter().any(|tag| tag.starts_with(text));
        return if cut { Start::NeedMore } else { Start::No };
    };
    let header: fn(&[u8], EndOfInput) -> Start = match tag {
        b"ISA" => isa,
        b"UNA" => una,
        b"UNB" => unb_alone,
        _ => return Start::No,
    };
    match text.get(3) {
        None if end == EndOfInput::No => Start::NeedMore,
        None => Start::No,
        Some(separator) if separator.is_ascii_alphanumeric() && certain == Certain::No => Start::No,
        Some(_) => header(text, end),
    }
}

/// Returns true if the text begins with a header that cannot be part of a word: ISA with its fixed widths, `UNB+UNOC:3+`, or UNA directly before
/// UNB. `None` if there are too few bytes.
pub(crate) fn sure(text: &[u8], end: EndOfInput) -> Option<bool> {
    let is_mark = |byte: u8| bad_kind(byte).is_none();
    // Bytes beyond the end of the input count as matching.
    let has = |at: usize, test: &dyn Fn(u8) -> bool| text.get(at).is_none_or(|byte| test(*byte));
    let says = |at: usize, word: &[u8]| word.iter().zip(at..).all(|(byte, at)| has(at, &|found| found == *byte));
    let same = |a: usize, b: usize| text.get(a).zip(text.get(b)).is_none_or(|(a, b)| a == b);
    let (fits, need) = match text.get(2) {
        Some(b'A') if text[0] == b'I' => {
            let separated = has(3, &is_mark) && ISA_SEPARATORS.iter().all(|at| same(3, *at));
            (says(0, b"ISA") && separated && has(104, &is_mark) && has(105, &is_mark), ISA_BYTES)
        }
        Some(b'B') => {
            let syntax = says(4, b"UNO") && has(7, &|byte| byte.is_ascii_uppercase()) && has(8, &is_mark);
            let version = has(9, &|byte| byte.is_ascii_digit()) && same(3, 10);
            (says(0, b"UNB") && has(3, &|byte| matches!(byte, b'+' | 0x1d)) && syntax && version, 11)
        }
        Some(b'A') => {
            let blanks =
                text.iter().skip(9).take(HEADER_BYTES_MAX).take_while(|byte| byte.is_ascii_whitespace()).count();
            (says(0, b"UNA") && says(9 + blanks, b"UNB") && same(4, 12 + blanks), 13 + blanks)
        }
        Some(_) => (false, 0),
        None => ([&b"ISA"[..], b"UNA", b"UNB"].iter().any(|tag| tag.starts_with(text)), 3),
    };
    match (fits, text.len() >= need, end) {
        (false, ..) => Some(false),
        (true, true, _) => Some(true),
        (true, false, EndOfInput::No) => None,
        (true, false, EndOfInput::Yes) => Some(false),
    }
}

/// Expectation of an interchange at a position.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Certain {
    Yes,
    /// After bytes outside of an interchange.
    No,
}

/// Offsets of the element separators in an ISA of fixed widths.
const ISA_SEPARATORS: [usize; 16] = [3, 6, 17, 20, 31, 34, 50, 53, 69, 76, 81, 83, 89, 99, 101, 103];
const ISA_BYTES: usize = 106;

struct Isa<'a> {
    standards_id: Option<u8>,
    version: Cow<'a, [u8]>,
    component: u8,
    terminator: u8,
    /// Bytes with the terminator, without line breaks of a wrapped file.
    bytes: usize,
    /// Line breaks of a wrapped file.
    breaks: usize,
}

/// Returns an ISA of fixed widths from a file that was wrapped into lines: its bytes without line breaks, and the number of line breaks.
fn unwrapped(text: &[u8], element: u8) -> Option<([u8; ISA_BYTES], usize)> {
    let (mut isa, mut len, mut breaks) = ([0; ISA_BYTES], 0, 0);
    for byte in text {
        match byte {
            b'\r' | b'\n' => breaks += 1,
            _ => {
                isa[len] = *byte;
                len += 1;
                if len == ISA_BYTES {
                    let separators = memchr::memchr_iter(element, &isa);
                    let is_fixed = breaks > 0 && separators.eq(ISA_SEPARATORS);
                    return (is_fixed && !isa[ISA_BYTES - 1].is_ascii_alphanumeric()).then_some((isa, breaks));
                }
            }
        }
        if breaks > ISA_BREAKS_MAX {
            return None;
        }
    }
    None
}

/// Line breaks that an ISA may have: CR LF after every 10 bytes.
const ISA_BREAKS_MAX: usize = 20;

fn isa(text: &[u8], end: EndOfInput) -> Start {
    const STANDARD: Standard = Standard::X12;
    let element = text[3];
    if let Some(kind) = bad_kind(element) {
        return Start::Refused(EdiError::DelimiterKind { standard: STANDARD, which: ServiceCharacter::Element, kind });
    }
    if let Some(start) = wide(&text[3..], end, STANDARD, ServiceCharacter::Element) {
        return start;
    }
    let isa = match isa_fields(text, element, end) {
        Ok(isa) => isa,
        Err(start) => return start,
    };
    let mut leniencies = Vec::new();
    if isa.bytes != ISA_BYTES {
        leniencies.push(EdiError::IsaWidth { found: isa.bytes });
    }
    let mut repetition = None;
    if *isa.version >= b"00402"[..] && isa.version.iter().all(u8::is_ascii_digit) {
        match isa.standards_id {
            Some(byte) if byte.is_ascii_alphanumeric() => leniencies.push(EdiError::RepetitionKind),
            // Quayline reports a blank ISA11 as a missing element.
            Some(b' ') => {}
            other => repetition = other,
        }
    } else if isa.version.iter().all(u8::is_ascii_digit)
        && isa.standards_id.is_some_and(|byte| !matches!(byte, b'U' | b' '))
    {
        leniencies.push(EdiError::StandardsId);
    }
    for (which, behind) in [(ServiceCharacter::Component, 2), (ServiceCharacter::Terminator, 1)] {
        if let Some(start) = wide(&text[isa.bytes + isa.breaks - behind..], end, STANDARD, which) {
            return start;
        }
    }
    let delimiters = Delimiters {
        standard: STANDARD,
        element,
        component: isa.component,
        terminator: isa.terminator,
        repetition,
        release: None,
        decimal_mark: b'.',
    };
    match check(&delimiters) {
        Some(error) => Start::Refused(error),
        None => Start::Yes { delimiters, skip: 0, extended: false, leniencies },
    }
}

fn isa_fields(text: &[u8], element: u8, end: EndOfInput) -> Result<Isa<'_>, Start> {
    let fixed = |separators: &[usize]| separators.iter().all(|at| text.get(*at).is_none_or(|byte| *byte == element));
    if fixed(&ISA_SEPARATORS) {
        if text.len() >= ISA_BYTES {
            return Ok(Isa {
                standards_id: Some(text[82]),
                version: text[84..89].into(),
                component: text[104],
                terminator: text[105],
                bytes: ISA_BYTES,
                breaks: 0,
            });
        }
        if end == EndOfInput::No {
            return Err(Start::NeedMore);
        }
    }
    if let Some((isa, breaks)) = unwrapped(text, element) {
        return Ok(Isa {
            standards_id: Some(isa[82]),
            version: isa[84..89].to_vec().into(),
            component: isa[104],
            terminator: isa[105],
            bytes: ISA_BYTES,
            breaks,
        });
    }
    let unreadable = |why| Err(Start::Refused(EdiError::Header { standard: Standard::X12, why }));
    let near = &text[..text.len().min(HEADER_BYTES_MAX)];
    let mut separators = [0usize; 16];
    let mut found = 0;
    for at in memchr::memchr_iter(element, near).take(16) {
        separators[found] = at;
        found += 1;
    }
    let next_segment = near[separators[15]..].get(3..).unwrap_or(&[]);
    let following = next_segment.iter().find(|byte| !byte.is_ascii_whitespace());
    match (found, following) {
        (16, Some(byte)) if byte.is_ascii_alphabetic() => {}
        (16, Some(_)) => return unreadable("no segment follows where the separators say that ISA ends"),
        _ if text.len() < HEADER_BYTES_MAX && end == EndOfInput::No => return Err(Start::NeedMore),
        (16, None) => return unreadable("the file ends after ISA"),
        _ => return unreadable("ISA has fewer than 16 elements"),
    }
    let field = |number: usize| &near[separators[number - 1] + 1..separators[number]];
    Ok(Isa {
        standards_id: field(11).first().copied(),
        version: field(12).into(),
        component: near[separators[15] + 1],
        terminator: near[separators[15] + 2],
        bytes: separators[15] + 3,
        breaks: 0,
    })
}

/// Parses UNA: component, element, decimal mark, release, reserved or repetition, terminator; then UNB.
fn una(text: &[u8], end: EndOfInput) -> Start {
    let Some([component, element, decimal_mark, release, repetition, terminator]) =
        text.get(3..9).and_then(|characters| characters.first_chunk::<6>()).copied()
    else {
        return cut(text, end, "UNA has fewer than six service characters");
    };
    for (at, which) in UNA_ORDER.iter().enumerate() {
        if let Some(start) = which.and_then(|which| wide(&text[3 + at..], end, Standard::Edifact, which)) {
            return start;
        }
    }
    let blanks = text[9..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let skip = 9 + blanks;
    let unb = &text[skip..];
    if blanks > HEADER_BYTES_MAX || (unb.len() >= 3 && !unb.starts_with(b"UNB")) {
        return refuse("UNA is not followed by UNB");
    }
    let delimiters = Delimiters {
        standard: Standard::Edifact,
        element,
        component,
        terminator,
        repetition: None,
        release: (release != b' ').then_some(release),
        decimal_mark,
    };
    unb_with(unb, end, delimiters, skip, Some(repetition))
}

/// Parses UNB without UNA: the byte after the tag determines the default delimiters.
fn unb_alone(text: &[u8], end: EndOfInput) -> Start {
    let delimiters = match text[3] {
        b'+' => Delimiters::EDIFACT,
        0x1d => Delimiters::EDIFACT_B,
        byte => {
            return match bad_kind(byte) {
                Some(kind) => Start::Refused(EdiError::DelimiterKind {
                    standard: Standard::Edifact,
                    which: ServiceCharacter::Element,
                    kind,
                }),
                None => refuse("UNB is not followed by +, and no UNA names another separator"),
            };
        }
    };
    unb_with(text, end, delimiters, 0, None)
}

fn unb_with(unb: &[u8], end: EndOfInput, mut delimiters: Delimiters, skip: usize, reserved: Option<u8>) -> Start {
    // Syntax identifier, component separator, version: `UNB+UNOC:3`.
    let head = &unb[..unb.len().min(HEADER_BYTES_MAX)];
    // A wrapped file may have a line break anywhere, which the splitter reports.
    let text = |bytes: &[u8]| bytes.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect::<Vec<u8>>();
    let ends =
        |byte: &u8| *byte == delimiters.component || *byte == delimiters.element || *byte == delimiters.terminator;
    let version = head.get(4..).and_then(|rest| {
        let identifier = rest.iter().position(ends)?;
        let version = &rest[identifier + 1..];
        Some((text(&rest[..identifier]), text(&version[..version.iter().position(ends)?])))
    });
    let Some((identifier, version)) = version else {
        return cut(unb, end, "UNB has no syntax identifier and version");
    };
    if head[3] != delimiters.element {
        return refuse("UNB is not followed by the element separator that UNA gives");
    }
    let mut leniencies = Vec::new();
    if CharacterSet::of(&identifier).is_none() {
        leniencies.push(EdiError::Syntax { what: "syntax identifier" });
    }
    match &version[..] {
        b"1" | b"2" | b"3" => {}
        b"4" => {
            let default = if reserved.is_none() && delimiters.release.is_some() { Some(b'*') } else { None };
            delimiters.repetition = reserved.filter(|byte| *byte != b' ').or(default);
        }
        _ => leniencies.push(EdiError::Syntax { what: "syntax version" }),
    }
    let extended = CharacterSet::of(&identifier) == Some(CharacterSet::Iso2022);
    match check(&delimiters).or_else(|| if extended { check_extended(&delimiters) } else { None }) {
        Some(error) => Start::Refused(error),
        None => Start::Yes { delimiters, skip, extended, leniencies },
    }
}

/// Checks delimiters for code extension: they must be graphic characters of ISO 646 or information separators, because other bytes have another
/// meaning there.
fn check_extended(delimiters: &Delimiters) -> Option<EdiError> {
    let which = [
        (ServiceCharacter::Element, Some(delimiters.element)),
        (ServiceCharacter::Component, Some(delimiters.component)),
        (ServiceCharacter::Terminator, Some(delimiters.terminator)),
        (ServiceCharacter::Repetition, delimiters.repetition),
        (ServiceCharacter::Release, delimiters.release),
    ];
    let shift = |byte: u8| matches!(byte, 0x0e | 0x0f | 0x1b | 0x7f..);
    let (which, _) = which.into_iter().find(|(_, byte)| byte.is_some_and(shift))?;
    Some(EdiError::DelimiterKind { standard: Standard::Edifact, which, kind: "byte of code extension" })
}

fn cut(text: &[u8], end: EndOfInput, why: &'static str) -> Start {
    if end == EndOfInput::No && text.len() < HEADER_BYTES_MAX { Start::NeedMore } else { refuse(why) }
}

fn refuse(why: &'static str) -> Start {
    Start::Refused(EdiError::Header { standard: Standard::Edifact, why })
}

/// Returns the first fault of a set of delimiters: letters, digits and spaces are data, and all delimiters must be different.
pub(crate) fn check(delimiters: &Delimiters) -> Option<EdiError> {
    let standard = delimiters.standard;
    let all = [
        (ServiceCharacter::Element, Some(delimiters.element)),
        (ServiceCharacter::Component, Some(delimiters.component)),
        (ServiceCharacter::Terminator, Some(delimiters.terminator)),
        (ServiceCharacter::Repetition, delimiters.repetition),
        (ServiceCharacter::Release, delimiters.release),
    ];
    for (i, (which, byte)) in all.iter().enumerate() {
        let Some(byte) = byte else { continue };
        if let Some(kind) = bad_kind(*byte) {
            return Some(EdiError::DelimiterKind { standard, which: *which, kind });
        }
        if let Some((first, _)) = all[..i].iter().find(|(_, other)| *other == Some(*byte)) {
            return Some(EdiError::DelimiterTwice { standard, first: *first, second: *which });
        }
    }
    None
}

/// Characters of UNA, in order. The decimal mark does not separate anything.
const UNA_ORDER: [Option<ServiceCharacter>; 6] = [
    Some(ServiceCharacter::Component),
    Some(ServiceCharacter::Element),
    None,
    Some(ServiceCharacter::Release),
    Some(ServiceCharacter::Repetition),
    Some(ServiceCharacter::Terminator),
];

/// Refuses a delimiter of several bytes in UTF-8. Otherwise Quayline would read its first byte alone as the delimiter.
fn wide(text: &[u8], end: EndOfInput, standard: Standard, which: ServiceCharacter) -> Option<Start> {
    let len = match text.first()? {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    if text.len() < len && end == EndOfInput::No {
        return Some(Start::NeedMore);
    }
    let is_character = core::str::from_utf8(text.get(..len)?).is_ok();
    is_character.then_some(Start::Refused(EdiError::DelimiterKind { standard, which, kind: WIDE }))
}

const WIDE: &str = "character of several bytes (UTF-8)";

fn bad_kind(byte: u8) -> Option<&'static str> {
    match byte {
        b'0'..=b'9' => Some("digit"),
        b'a'..=b'z' | b'A'..=b'Z' => Some("letter"),
        b' ' => Some("space"),
        _ => None,
    }
}

/// The character sets that UNB's syntax identifier (data element 0001) names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CharacterSet {
    /// UNOA: capital letters, digits and some signs of ISO 646.
    A,
    /// UNOB: ISO 646 but for some signs.
    B,
    /// UNOC to UNOL: a part of ISO 8859, by its number.
    Iso8859(u8),
    /// UNOW: ISO 10646-1 as UTF-8.
    Utf8,
    /// UNOX: ISO 2022 code extension.
    Iso2022,
    /// UNOY: ISO 10646-1 in octets. Quayline reads it as UTF-8, because text that begins with `UNB` in ISO 646 cannot have 16 or 32 bits per
    /// character.
    Iso10646,
}

impl CharacterSet {
    /// Returns the character set of a syntax identifier; `None` for one that ISO 9735 does not have.
    #[must_use]
    pub fn of(identifier: &[u8]) -> Option<Self> {
        Some(match identifier {
            b"UNOA" => CharacterSet::A,
            b"UNOB" => CharacterSet::B,
            b"UNOC" => CharacterSet::Iso8859(1),
            b"UNOD" => CharacterSet::Iso8859(2),
            b"UNOE" => CharacterSet::Iso8859(5),
            b"UNOF" => CharacterSet::Iso8859(7),
            b"UNOG" => CharacterSet::Iso8859(3),
            b"UNOH" => CharacterSet::Iso8859(4),
            b"UNOI" => CharacterSet::Iso8859(6),
            b"UNOJ" => CharacterSet::Iso8859(8),
            b"UNOK" => CharacterSet::Iso8859(9),
            b"UNOL" => CharacterSet::Iso8859(15),
            b"UNOW" => CharacterSet::Utf8,
            b"UNOX" => CharacterSet::Iso2022,
            b"UNOY" => CharacterSet::Iso10646,
            _ => return None,
        })
    }

    /// Returns true if the set has characters beyond ISO 646.
    pub(crate) fn has_more_than_ascii(self) -> bool {
        !matches!(self, CharacterSet::A | CharacterSet::B)
    }
}
