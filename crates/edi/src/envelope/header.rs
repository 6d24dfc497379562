//! Headers of interchanges, groups and transactions: their elements and the required formats.

use core::fmt;
use std::borrow::Cow;

use quayline_charset::Ends;
use quayline_core::ByteOffset;

use crate::calendar::is_day;
use crate::delimiters::{Delimiters, Standard};
use crate::level::Level;
use crate::position::Position;
use crate::segment::{Element, Segment};
use crate::state::{StateReader, StateWriter};

/// One fact in a header.
///
/// Names are those of documents: the same fact has the same name in both standards.
#[derive(Clone, Copy, Debug)]
pub struct HeaderField {
    /// Name in documents, such as `sender_qualifier`.
    pub name: &'static str,
    /// Name in the standard, such as `ISA05` or `UNB S002 0007`.
    pub reference: &'static str,
    /// Element of the header, from 1.
    pub element: usize,
    /// Component of the element, from 1; an element that is not a composite has one.
    pub component: usize,
    pub(crate) check: Check,
}

impl HeaderField {
    /// Returns the expected format if a value to be written does not have it. The writer pads fields of ISA to their widths.
    #[must_use]
    pub fn expected(&self, value: &[u8]) -> Option<&'static str> {
        match (self.check, self.reference) {
            (Check::Digits(9, 9), _) => Check::Digits(1, 9).expected(value),
            (_, "ISA06" | "ISA08") if value.len() > 15 => Some("at most 15 characters"),
            (_, "ISA02" | "ISA04") if value.len() > 10 => Some("at most 10 characters"),
            (check, _) => check.expected(value),
        }
    }

    /// Returns true if the field consists of digits.
    pub(crate) fn has_digits(&self) -> bool {
        matches!(self.check, Check::Digits(..) | Check::Date | Check::Time)
    }

    /// Finds a field by the name that users write: `sender` for the interchange, or with its level, `group.sender`. The parts of a name
    /// may also be joined by `-` or `_`.
    #[must_use]
    pub fn named(standard: Standard, name: &str) -> Option<(Level, &'static HeaderField)> {
        let levels =
            [("interchange", Level::Interchange), ("group", Level::Group), ("transaction", Level::Transaction)];
        let found = levels.into_iter().find_map(|(word, level)| {
            name.strip_prefix(word).and_then(|rest| rest.strip_prefix(['.', '-', '_'])).map(|field| (level, field))
        });
        let (level, field) = found.unwrap_or((Level::Interchange, name));
        let field = field.replace('-', "_");
        header_fields(standard, level).iter().find(|known| known.name == field).map(|known| (level, known))
    }
}

/// Required format of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Check {
    /// Anything or nothing.
    Any,
    /// Any non-empty value.
    Present,
    /// A value with a maximum number of characters.
    Name(usize),
    /// Nothing, or a value with a maximum number of characters.
    AtMost(usize),
    /// Nothing, or data element 0008 or 0014: at most 14 characters in syntax versions 1 to 3, and 35 in version 4.
    Internal,
    /// A value with a maximum number of characters, before syntax version 4; from version 4 on, the value may be absent.
    NameBefore4(usize),
    /// Data element 0051: at most two characters in syntax versions 1 to 3, and three in version 4; in a group of version 4 it may be absent.
    Agency(Level),
    /// Data element 0017 or 0019 of a group, which may be absent in syntax version 4. The check of their widths checks the form.
    PresentBefore4,
    /// Nothing, or one digit.
    Digit,
    /// Letters, digits or special characters, with minimum and maximum length.
    Text(usize, usize),
    /// Digits, with minimum and maximum length.
    Digits(usize, usize),
    /// One of these characters.
    OneOf(&'static str),
    /// Two characters that are in a list, which is named for people.
    Listed(&'static [[u8; 2]], &'static str),
    /// A version of the interchange control segments, `00200` to `00909`: later ones are known by their form.
    Version,
    /// `YYMMDD`, or with the century.
    Date,
    /// `HHMM`, further digits allowed.
    Time,
}

/// Maximum lengths of data elements 0008 and 0014 in syntax versions 1 to 3, and in version 4.
const INTERNAL_MAX: (usize, usize) = (14, 35);

/// Maximum lengths of data element 0051 in syntax versions 1 to 3, and in version 4.
const AGENCY_MAX: (usize, usize) = (2, 3);

/// Returns the number of characters of a text, or of bytes if it is not UTF-8.
fn characters(value: &[u8]) -> usize {
    core::str::from_utf8(value).map_or(value.len(), |text| text.chars().count())
}

fn at_most(characters: usize) -> &'static str {
    match characters {
        1 => "at most 1 character",
        2 => "at most 2 characters",
        3 => "at most 3 characters",
        6 => "at most 6 characters",
        4 => "at most 4 characters",
        12 => "at most 12 characters",
        14 => "at most 14 characters",
        15 => "at most 15 characters",
        35 => "at most 35 characters",
        _ => "of the length that the standard gives",
    }
}

impl Check {
    /// Returns true if the field must have a value.
    pub(crate) fn is_mandatory(self) -> bool {
        !matches!(self, Check::Any | Check::AtMost(_) | Check::Internal | Check::Digit)
    }

    /// Returns the check in an interchange of syntax version 4, or of an earlier one.
    pub(crate) fn in_syntax(self, is_4: bool) -> Self {
        match self {
            Check::Internal if !is_4 => Check::AtMost(INTERNAL_MAX.0),
            Check::NameBefore4(most) if is_4 => Check::AtMost(most),
            Check::NameBefore4(most) => Check::Name(most),
            Check::PresentBefore4 if is_4 => Check::Any,
            Check::PresentBefore4 => Check::Present,
            Check::Agency(Level::Group) if is_4 => Check::AtMost(AGENCY_MAX.1),
            Check::Agency(_) => Check::Name(if is_4 { AGENCY_MAX.1 } else { AGENCY_MAX.0 }),
            check => check,
        }
    }

    /// Returns the expected format if `value` does not have it.
    pub(crate) fn expected(self, value: &[u8]) -> Option<&'static str> {
        let is_digits = || value.iter().all(u8::is_ascii_digit);
        // No text has more characters than bytes.
        let at_most_characters = |most: usize| value.len() <= most || characters(value) <= most;
        let within = |low: usize, high: usize| (low..=high).contains(&value.len());
        let (good, expected) = match self {
            Check::Any => (true, ""),
            Check::Present => (!value.is_empty(), "present"),
            Check::Name(most) => (!value.is_empty() && at_most_characters(most), at_most(most)),
            Check::AtMost(most) => (at_most_characters(most), at_most(most)),
            Check::Internal => (at_most_characters(INTERNAL_MAX.1), at_most(INTERNAL_MAX.1)),
            // Without the syntax version, the check allows what one of the versions allows.
            Check::NameBefore4(most) => (at_most_characters(most), at_most(most)),
            Check::Agency(_) => (at_most_characters(AGENCY_MAX.1), at_most(AGENCY_MAX.1)),
            Check::PresentBefore4 => (true, ""),
            Check::Digit => (value.is_empty() || within(1, 1) && is_digits(), "one digit"),
            Check::Text(2, 2) => (within(2, 2), "two characters"),
            Check::Text(3, 3) => (within(3, 3), "three characters"),
            Check::Text(1, 14) => (within(1, 14), at_most(14)),
            Check::Text(4, 9) => (within(4, 9), "four to nine characters"),
            Check::Text(low, high) => (within(low, high), "of the length that the standard gives"),
            Check::Digits(3, 3) => (within(3, 3) && is_digits(), "three digits"),
            Check::Digits(5, 5) => (within(5, 5) && is_digits(), "five digits"),
            Check::Digits(9, 9) => (within(9, 9) && is_digits(), "nine digits"),
            Check::Digits(1, 9) => (within(1, 9) && is_digits(), "one to nine digits"),
            Check::Digits(low, high) => (within(low, high) && is_digits(), "of digits"),
            Check::OneOf(characters) => {
                let one = value.len() == 1 && characters.as_bytes().contains(&value[0]);
                let expected = match characters {
                    "01" => "0 or 1",
                    "AER" => "A, E or R",
                    "TX" => "T or X",
                    _ => "P, T or I",
                };
                (one, expected)
            }
            Check::Listed(list, expected) => (list.iter().any(|one| one == value), expected),
            Check::Version => {
                (matches!(value, [b'0', b'0', b'2'..=b'9', b'0', b'0'..=b'9']), "a version such as 00401 or 00501")
            }
            Check::Date => (is_digits() && is_date(value), "a date (YYMMDD or CCYYMMDD)"),
            Check::Time => (is_digits() && is_time(value), "a time (HHMM)"),
        };
        (!good).then_some(expected)
    }
}

fn number(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |n, digit| n * 10 + u32::from(digit - b'0'))
}

fn is_date(digits: &[u8]) -> bool {
    match digits.len() {
        6 => is_day(20_000_000 + number(digits)),
        8 => is_day(number(digits)),
        _ => false,
    }
}

fn is_time(digits: &[u8]) -> bool {
    matches!(digits.len(), 4 | 6..=8)
        && number(&digits[..2]) < 24
        && number(&digits[2..4]) < 60
        && digits.get(4..6).is_none_or(|seconds| number(seconds) < 60)
}

/// Returns the fields of a header, in order.
#[must_use]
pub fn header_fields(standard: Standard, level: Level) -> &'static [HeaderField] {
    match (standard, level) {
        (Standard::X12, Level::Interchange) => &ISA,
        (Standard::X12, Level::Group) => &GS,
        (Standard::X12, Level::Transaction) => &ST,
        (Standard::Edifact, Level::Interchange) => &UNB,
        (Standard::Edifact, Level::Group) => &UNG,
        (Standard::Edifact, Level::Transaction) => &UNH,
    }
}

const fn f(name: &'static str, reference: &'static str, element: usize, component: usize, check: Check) -> HeaderField {
    HeaderField { name, reference, element, component, check }
}

/// The interchange acknowledgment, X12.5: the elements of the ISA that it answers, status and note.
pub(super) static TA1: [HeaderField; 5] = [
    f("control_number", "TA101", 1, 1, Check::Digits(9, 9)),
    f("date", "TA102", 2, 1, Check::Date),
    f("time", "TA103", 3, 1, Check::Time),
    f("status", "TA104", 4, 1, Check::OneOf("AER")),
    f("note", "TA105", 5, 1, Check::Digits(3, 3)),
];

/// X12 data element I01, all versions.
static AUTHORIZATION: [[u8; 2]; 7] = [*b"00", *b"01", *b"02", *b"03", *b"04", *b"05", *b"06"];

/// X12 data element I03.
static SECURITY: [[u8; 2]; 2] = [*b"00", *b"01"];

/// X12 data element I05, all versions. The list is closed, although the code lists of headers are otherwise open: partners cannot define a private
/// qualifier, because `ZZ` is for that purpose, and a wrong one makes the reply undeliverable.
#[rustfmt::skip]
static PARTNER: [[u8; 2]; 42] = [
    *b"01", *b"02", *b"03", *b"04", *b"07", *b"08", *b"09", *b"10", *b"11", *b"12", *b"13", *b"14", *b"15", *b"16",
    *b"17", *b"18", *b"19", *b"20", *b"21", *b"22", *b"23", *b"24", *b"25", *b"26", *b"27", *b"28", *b"29", *b"30",
    *b"31", *b"32", *b"33", *b"34", *b"35", *b"36", *b"37", *b"38", *b"AM", *b"NR", *b"SA", *b"SN", *b"ZN", *b"ZZ",
];

static ISA: [HeaderField; 15] = [
    f("authorization_qualifier", "ISA01", 1, 1, Check::Listed(&AUTHORIZATION, "a code of I01: 00 to 06")),
    f("authorization", "ISA02", 2, 1, Check::Any),
    f("security_qualifier", "ISA03", 3, 1, Check::Listed(&SECURITY, "a code of I03: 00 or 01")),
    f("security", "ISA04", 4, 1, Check::Any),
    f("sender_qualifier", "ISA05", 5, 1, Check::Listed(&PARTNER, "a code of I05, such as 01, 14, 30 or ZZ")),
    f("sender", "ISA06", 6, 1, Check::Present),
    f("receiver_qualifier", "ISA07", 7, 1, Check::Listed(&PARTNER, "a code of I05, such as 01, 14, 30 or ZZ")),
    f("receiver", "ISA08", 8, 1, Check::Present),
    f("date", "ISA09", 9, 1, Check::Date),
    f("time", "ISA10", 10, 1, Check::Time),
    f("standards_id", "ISA11", 11, 1, Check::Present),
    f("version", "ISA12", 12, 1, Check::Version),
    f("control_number", "ISA13", 13, 1, Check::Digits(9, 9)),
    f("acknowledgment_requested", "ISA14", 14, 1, Check::OneOf("01")),
    f("test", "ISA15", 15, 1, Check::OneOf("PTI")),
];

static GS: [HeaderField; 8] = [
    f("functional_id", "GS01", 1, 1, Check::Text(2, 2)),
    f("sender", "GS02", 2, 1, Check::Name(15)),
    f("receiver", "GS03", 3, 1, Check::Name(15)),
    f("date", "GS04", 4, 1, Check::Date),
    f("time", "GS05", 5, 1, Check::Time),
    f("control_number", "GS06", 6, 1, Check::Digits(1, 9)),
    f("agency", "GS07", 7, 1, Check::OneOf("TX")),
    f("version", "GS08", 8, 1, Check::Name(12)),
];

static ST: [HeaderField; 3] = [
    f("type", "ST01", 1, 1, Check::Text(3, 3)),
    f("control_number", "ST02", 2, 1, Check::Text(4, 9)),
    f("implementation", "ST03", 3, 1, Check::AtMost(35)),
];

static UNB: [HeaderField; 22] = [
    f("syntax_identifier", "UNB S001 0001", 1, 1, Check::Present),
    f("syntax_version", "UNB S001 0002", 1, 2, Check::Present),
    f("service_code_list", "UNB S001 0080", 1, 3, Check::Any),
    f("character_encoding", "UNB S001 0133", 1, 4, Check::Any),
    f("sender", "UNB S002 0004", 2, 1, Check::Name(35)),
    f("sender_qualifier", "UNB S002 0007", 2, 2, Check::AtMost(4)),
    f("sender_internal", "UNB S002 0008", 2, 3, Check::Internal),
    f("sender_internal_sub", "UNB S002 0042", 2, 4, Check::AtMost(35)),
    f("receiver", "UNB S003 0010", 3, 1, Check::Name(35)),
    f("receiver_qualifier", "UNB S003 0007", 3, 2, Check::AtMost(4)),
    f("receiver_internal", "UNB S003 0014", 3, 3, Check::Internal),
    f("receiver_internal_sub", "UNB S003 0046", 3, 4, Check::AtMost(35)),
    f("date", "UNB S004 0017", 4, 1, Check::Date),
    f("time", "UNB S004 0019", 4, 2, Check::Time),
    f("control_number", "UNB 0020", 5, 1, Check::Text(1, 14)),
    f("password", "UNB S005 0022", 6, 1, Check::AtMost(14)),
    f("password_qualifier", "UNB S005 0025", 6, 2, Check::AtMost(2)),
    f("application_reference", "UNB 0026", 7, 1, Check::AtMost(14)),
    f("priority", "UNB 0029", 8, 1, Check::AtMost(1)),
    f("acknowledgment_requested", "UNB 0031", 9, 1, Check::Digit),
    f("agreement", "UNB 0032", 10, 1, Check::AtMost(35)),
    f("test", "UNB 0035", 11, 1, Check::Digit),
];

static UNG: [HeaderField; 13] = [
    f("functional_id", "UNG 0038", 1, 1, Check::NameBefore4(6)),
    f("sender", "UNG S006 0040", 2, 1, Check::NameBefore4(35)),
    f("sender_qualifier", "UNG S006 0007", 2, 2, Check::AtMost(4)),
    f("receiver", "UNG S007 0044", 3, 1, Check::NameBefore4(35)),
    f("receiver_qualifier", "UNG S007 0007", 3, 2, Check::AtMost(4)),
    f("date", "UNG S004 0017", 4, 1, Check::PresentBefore4),
    f("time", "UNG S004 0019", 4, 2, Check::PresentBefore4),
    f("control_number", "UNG 0048", 5, 1, Check::Text(1, 14)),
    f("agency", "UNG 0051", 6, 1, Check::Agency(Level::Group)),
    f("version", "UNG S008 0052", 7, 1, Check::NameBefore4(3)),
    f("release", "UNG S008 0054", 7, 2, Check::NameBefore4(3)),
    f("association", "UNG S008 0057", 7, 3, Check::AtMost(6)),
    f("password", "UNG 0058", 8, 1, Check::AtMost(14)),
];

static UNH: [HeaderField; 23] = [
    f("control_number", "UNH 0062", 1, 1, Check::Text(1, 14)),
    f("type", "UNH S009 0065", 2, 1, Check::Name(6)),
    f("version", "UNH S009 0052", 2, 2, Check::Name(3)),
    f("release", "UNH S009 0054", 2, 3, Check::Name(3)),
    f("agency", "UNH S009 0051", 2, 4, Check::Agency(Level::Transaction)),
    f("association", "UNH S009 0057", 2, 5, Check::AtMost(6)),
    f("code_list_version", "UNH S009 0110", 2, 6, Check::AtMost(6)),
    f("subfunction", "UNH S009 0113", 2, 7, Check::AtMost(6)),
    f("common_access_reference", "UNH 0068", 3, 1, Check::AtMost(35)),
    f("transfer_sequence", "UNH S010 0070", 4, 1, Check::AtMost(2)),
    f("transfer_first_last", "UNH S010 0073", 4, 2, Check::AtMost(1)),
    f("subset", "UNH S016 0115", 5, 1, Check::AtMost(14)),
    f("subset_version", "UNH S016 0116", 5, 2, Check::AtMost(3)),
    f("subset_release", "UNH S016 0118", 5, 3, Check::AtMost(3)),
    f("subset_agency", "UNH S016 0051", 5, 4, Check::AtMost(3)),
    f("implementation", "UNH S017 0121", 6, 1, Check::AtMost(14)),
    f("implementation_version", "UNH S017 0122", 6, 2, Check::AtMost(3)),
    f("implementation_release", "UNH S017 0124", 6, 3, Check::AtMost(3)),
    f("implementation_agency", "UNH S017 0051", 6, 4, Check::AtMost(3)),
    f("scenario", "UNH S018 0127", 7, 1, Check::AtMost(14)),
    f("scenario_version", "UNH S018 0128", 7, 2, Check::AtMost(3)),
    f("scenario_release", "UNH S018 0130", 7, 3, Check::AtMost(3)),
    f("scenario_agency", "UNH S018 0051", 7, 4, Check::AtMost(3)),
];

/// A copy of a header that stays while its level is open; its memory is used again for the next.
#[derive(Clone)]
pub struct Header {
    pub(crate) level: Level,
    pub(crate) at: Position,
    delimiters: Delimiters,
    tag: Vec<u8>,
    text: Vec<u8>,
    /// Original bytes, if they differ from the text.
    source: Vec<u8>,
    ends: Vec<u32>,
    parts: Vec<u32>,
    marks: Vec<u32>,
}

impl Header {
    pub(crate) fn new(level: Level) -> Self {
        Header {
            level,
            at: Position::default(),
            delimiters: Delimiters::X12,
            tag: Vec::new(),
            text: Vec::new(),
            source: Vec::new(),
            ends: vec![0],
            parts: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// Stores a segment. `source` is its original bytes if they differ from its text.
    pub(crate) fn set(&mut self, segment: &Segment<'_>, source: Option<&[u8]>, at: Position) {
        let from = segment.start;
        let copy = |to: &mut Vec<u32>, positions: &[u32]| {
            to.clear();
            to.extend(positions.iter().map(|position| position - from));
        };
        self.at = at;
        self.delimiters = *segment.delimiters;
        self.text.clear();
        self.text.extend_from_slice(segment.raw());
        self.source.clear();
        self.source.extend_from_slice(source.unwrap_or_default());
        self.tag.clear();
        self.tag.extend_from_slice(segment.tag());
        copy(&mut self.ends, segment.ends.positions());
        copy(&mut self.parts, segment.parts);
        copy(&mut self.marks, segment.marks);
    }

    pub(crate) fn put_state(&self, out: &mut StateWriter) {
        let at = &self.at;
        out.number(at.byte.0);
        for number in [at.interchange, at.group, at.transaction, at.element, at.repetition, at.component] {
            out.number(number.into());
        }
        out.number(at.segment);
        out.number(self.delimiters.to_bits());
        out.text(&self.tag);
        out.text(&self.text);
        out.text(&self.source);
        out.list(&self.ends);
        out.list(&self.parts);
        out.list(&self.marks);
    }

    pub(crate) fn from_state(level: Level, from: &mut StateReader<'_>) -> Option<Self> {
        let byte = ByteOffset(from.number()?);
        let [interchange, group, transaction, element, repetition, component] = [(); 6].map(|()| from.small());
        let header = Header {
            level,
            at: Position {
                byte,
                interchange: interchange?,
                group: group?,
                transaction: transaction?,
                element: element?,
                repetition: repetition?,
                component: component?,
                segment: from.number()?,
            },
            delimiters: Delimiters::from_bits(from.number()?),
            tag: from.text()?.to_vec(),
            text: from.text()?.to_vec(),
            source: from.text()?.to_vec(),
            ends: from.list()?,
            parts: from.list()?,
            marks: from.list()?,
        };
        let inside = |positions: &[u32]| positions.iter().all(|at| *at as usize <= header.text.len());
        let rise = !header.ends.is_empty() && Ends::new(&header.ends).is_some();
        let good = rise && [&header.ends, &header.parts, &header.marks].iter().all(|all| inside(all));
        good.then_some(header)
    }

    /// Returns the level that the header opens.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Returns the position of the header.
    #[must_use]
    pub fn position(&self) -> Position {
        self.at
    }

    /// Returns the positions of its first byte in the file and of the byte after its terminator.
    pub(crate) fn bytes(&self) -> (ByteOffset, ByteOffset) {
        let from = self.at.byte;
        (from, ByteOffset(from.0 + self.source().len() as u64 + 1))
    }

    /// Returns the original bytes of the segment without its terminator.
    pub(crate) fn source(&self) -> &[u8] {
        if self.source.is_empty() { &self.text } else { &self.source }
    }

    /// Returns the delimiters of its interchange.
    #[must_use]
    pub fn delimiters(&self) -> &Delimiters {
        &self.delimiters
    }

    /// Returns the segment.
    #[must_use]
    pub fn segment(&self) -> Segment<'_> {
        Segment {
            own_tag: &self.tag,
            text: &self.text,
            start: 0,
            ends: Ends::new(&self.ends).expect("those of a segment, which rise"),
            parts: &self.parts,
            marks: &self.marks,
            delimiters: &self.delimiters,
            binary: false,
            printable: false,
        }
    }

    /// Returns true if the segment contains control characters, in a value or as delimiters.
    pub(crate) fn has_controls(&self) -> bool {
        self.text.iter().any(u8::is_ascii_control)
    }

    /// Returns true if the segment has elements, components or repetitions that the standard does not have.
    pub(crate) fn has_surplus(&self) -> bool {
        let fields = header_fields(self.delimiters.standard, self.level);
        // ISA16 is the component separator.
        let last =
            fields.iter().map(|field| field.element).max().unwrap_or(0) + usize::from(fields[0].reference == "ISA01");
        let segment = self.segment();
        segment.len() > last
            || (1..).zip(segment.elements()).any(|(number, element)| {
                let components = fields.iter().filter(|field| field.element == number).count().max(1);
                !element.is_empty() && element.components().count() > components
                    || element.repetitions().nth(1).is_some()
            })
    }

    /// Returns the data of a component without release characters and, for X12, without trailing spaces; empty if it is absent.
    #[must_use]
    pub fn component(&self, element: usize, component: usize) -> Cow<'_, [u8]> {
        if self.marks.is_empty() {
            return Cow::Borrowed(self.trimmed(self.span(element, component).unwrap_or_default()));
        }
        let part = self.segment().element(element).and_then(|element| element.component(component));
        let mut scratch = Vec::new();
        Cow::Owned(part.map_or(&b""[..], |part| self.value(&part, &mut scratch)).to_vec())
    }

    /// Returns a component of a header without release characters and line breaks. Building a [`Segment`] for it would cost more than the search, and
    /// values of the headers are read for each message.
    fn span(&self, element: usize, component: usize) -> Option<&[u8]> {
        let end = *self.ends.get(element)?;
        let first = if element == 0 { 0 } else { self.ends[element - 1] + 1 };
        let inside = self.parts.iter().copied().skip_while(|at| *at < first).take_while(|at| *at < end);
        let mut separators = inside.filter(|at| self.text[*at as usize] == self.delimiters.component);
        let mut start = first;
        for _ in 0..component.checked_sub(1)? {
            start = separators.next()? + 1;
        }
        Some(&self.text[start as usize..separators.next().unwrap_or(end) as usize])
    }

    /// Returns the data of a component as [`Header::component`] does, using `scratch` for one with release characters.
    pub(crate) fn value<'s>(&self, part: &Element<'s>, scratch: &'s mut Vec<u8>) -> &'s [u8] {
        self.trimmed(part.data(scratch).bytes())
    }

    fn trimmed<'v>(&self, value: &'v [u8]) -> &'v [u8] {
        match self.delimiters.standard {
            Standard::X12 => value.trim_ascii_end(),
            Standard::Edifact => value,
        }
    }

    /// Returns the value of a field by its name in documents; empty if the header does not have it.
    #[must_use]
    pub fn field(&self, name: &str) -> Cow<'_, [u8]> {
        let fields = header_fields(self.delimiters.standard, self.level);
        match fields.iter().find(|field| field.name == name) {
            Some(field) => self.component(field.element, field.component),
            None => Cow::Borrowed(b""),
        }
    }

    /// Returns the identification of the sender.
    #[must_use]
    pub fn sender(&self) -> Cow<'_, [u8]> {
        self.field("sender")
    }

    /// Returns the identification of the receiver.
    #[must_use]
    pub fn receiver(&self) -> Cow<'_, [u8]> {
        self.field("receiver")
    }

    /// Returns the control number: ISA13, GS06, ST02; data elements 0020, 0048, 0062.
    #[must_use]
    pub fn control_number(&self) -> Cow<'_, [u8]> {
        self.component(self.level.control_element(self.delimiters.standard) as usize, 1)
    }

    /// Returns the type of a transaction: ST01 (`837`) or the message type (`ORDERS`).
    #[must_use]
    pub fn transaction_type(&self) -> Cow<'_, [u8]> {
        self.field("type")
    }

    /// Returns true for an interchange that is marked as a test (ISA15 `T`, data element 0035 `1` to `9`).
    #[must_use]
    pub fn is_test(&self) -> bool {
        let value = self.field("test");
        match self.delimiters.standard {
            Standard::X12 => &value[..] == b"T",
            // All codes of 0035 are kinds of tests, and later directories have more than `1`.
            Standard::Edifact => matches!(&value[..], [b'1'..=b'9']),
        }
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header").field("level", &self.level).field("at", &self.at).finish()
    }
}
