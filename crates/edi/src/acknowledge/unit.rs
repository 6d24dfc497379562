//! Business units: what a 999 names beside a fault, such as the claim that contains it.

use crate::characters::first_characters;
use crate::delimiters::Standard;
use crate::envelope::Header;
use crate::segment::Segment;

/// Element that identifies the business unit of a transaction in a 999 (CTX, data element 9999).
#[derive(Debug)]
pub(super) struct BusinessUnit {
    /// ST01.
    transactions: &'static [&'static [u8]],
    /// Data element 9999.
    pub(super) name: &'static str,
    tag: [u8; 3],
    element: usize,
    /// REF01 and the like.
    qualifier: Option<&'static [u8]>,
    /// Tag of the segment at which a unit ends, in addition to the next one of its kind: it begins a loop around units.
    ends_at: Option<&'static [u8]>,
}

/// Source: 005010X231A1, CTX in loop 2100, business unit identifier.
const UNITS: [BusinessUnit; 5] = [
    BusinessUnit { transactions: &[b"837"], name: "CLM01", tag: *b"CLM", element: 1, ends_at: Some(b"HL"), ..ANY },
    BusinessUnit {
        transactions: &[b"270", b"271", b"276", b"277", b"278"],
        name: "TRN02",
        tag: *b"TRN",
        element: 2,
        ends_at: Some(b"HL"),
        ..ANY
    },
    BusinessUnit { transactions: &[b"835"], name: "TRN02", tag: *b"TRN", element: 2, ..ANY },
    BusinessUnit { transactions: &[b"820"], name: "ENT01", tag: *b"ENT", element: 1, ..ANY },
    BusinessUnit {
        transactions: &[b"834"],
        name: "SUBSCRIBER NUMBER REF02",
        tag: *b"REF",
        element: 2,
        qualifier: Some(b"0F"),
        ends_at: Some(b"INS"),
    },
];

const ANY: BusinessUnit =
    BusinessUnit { transactions: &[], name: "", tag: [0; 3], element: 0, qualifier: None, ends_at: None };

/// Data element 9998.
const CHARACTERS_MAX: usize = 35;

impl BusinessUnit {
    /// Returns the unit of a transaction set by its header; `None` for sets without one, and for EDIFACT.
    pub(super) fn of(header: &Header) -> Option<&'static BusinessUnit> {
        if header.delimiters().standard != Standard::X12 {
            return None;
        }
        let kind = header.component(1, 1);
        UNITS.iter().find(|unit| unit.transactions.contains(&&kind[..]))
    }

    /// Returns true if a segment with this tag may begin or end a unit.
    #[inline(always)]
    pub(super) fn is_of(&self, tag: &[u8]) -> bool {
        tag == self.tag || self.ends_at.is_some_and(|ends| tag == ends)
    }

    /// Returns the first 35 characters of the value if the segment identifies a unit, and no characters if it only ends one.
    pub(super) fn value<'s>(&self, segment: &Segment<'s>) -> Option<&'s [u8]> {
        if self.ends_at == Some(segment.tag()) {
            return Some(b"");
        }
        if segment.tag() != self.tag {
            return None;
        }
        let element = |number: usize| segment.element(number).map_or(&b""[..], |element| element.raw());
        if self.qualifier.is_some_and(|qualifier| element(1) != qualifier) {
            return None;
        }
        let value = element(self.element);
        Some(first_characters(value, CHARACTERS_MAX, false))
    }
}
