//! Business units: what a 999 names beside a fault, such as the claim that contains it.

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
    pub(super) tag: [u8; 3],
    element: usize,
    /// REF01 and the like.
    qualifier: Option<&'static [u8]>,
}

/// Source: 005010X231A1, CTX in loop 2100, business unit identifier.
const UNITS: [BusinessUnit; 4] = [
    BusinessUnit { transactions: &[b"837"], name: "CLM01", tag: *b"CLM", element: 1, qualifier: None },
    BusinessUnit {
        transactions: &[b"270", b"271", b"276", b"277", b"278", b"835"],
        name: "TRN02",
        tag: *b"TRN",
        element: 2,
        qualifier: None,
    },
    BusinessUnit { transactions: &[b"820"], name: "ENT01", tag: *b"ENT", element: 1, qualifier: None },
    BusinessUnit {
        transactions: &[b"834"],
        name: "SUBSCRIBER NUMBER REF02",
        tag: *b"REF",
        element: 2,
        qualifier: Some(b"0F"),
    },
];

/// Data element 9998.
const BYTES_MAX: usize = 35;

impl BusinessUnit {
    /// Returns the unit of a transaction set by its header; `None` for sets without one, and for EDIFACT.
    pub(super) fn of(header: &Header) -> Option<&'static BusinessUnit> {
        if header.delimiters().standard != Standard::X12 {
            return None;
        }
        let kind = header.component(1, 1);
        UNITS.iter().find(|unit| unit.transactions.contains(&&kind[..]))
    }

    /// Returns the first 35 bytes of the value if the segment identifies a unit.
    pub(super) fn value<'s>(&self, segment: &Segment<'s>) -> Option<&'s [u8]> {
        if segment.tag() != self.tag {
            return None;
        }
        let element = |number: usize| segment.element(number).map_or(&b""[..], |element| element.raw());
        if self.qualifier.is_some_and(|qualifier| element(1) != qualifier) {
            return None;
        }
        let value = element(self.element);
        Some(&value[..value.len().min(BYTES_MAX)])
    }
}
