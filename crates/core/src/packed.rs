//! Compiled definitions as bytes, for reuse in later runs.
//!
//! One build of the program writes the form for itself: no versions, no names, little-endian numbers, lengths as `u32`. The caller
//! must make sure that the bytes are complete and of the same build. Reading other bytes never panics and never allocates more than
//! they could hold; it returns `None`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{
    Code, Fault, Finding, Node, NodeId, NodeKind, Occurs, Place, PlaceName, PlacePart, Scalar, Severity, Shape,
};

/// A type that can be written as bytes and read back.
pub trait Packed: Sized {
    /// Appends the value.
    fn pack(&self, to: &mut Vec<u8>);

    /// Reads a value in the form of [`Packed::pack`]. Returns `None` for other bytes.
    fn unpack(from: &mut Unpacker<'_>) -> Option<Self>;

    /// Reads a value that uses all of the bytes.
    fn unpack_all(bytes: &[u8]) -> Option<Self> {
        let mut from = Unpacker::new(bytes);
        let value = Self::unpack(&mut from)?;
        from.is_empty().then_some(value)
    }
}

/// A reader of packed bytes.
#[derive(Clone, Debug)]
pub struct Unpacker<'b> {
    rest: &'b [u8],
}

impl<'b> Unpacker<'b> {
    /// Starts at the first of these bytes.
    #[must_use]
    pub fn new(bytes: &'b [u8]) -> Self {
        Unpacker { rest: bytes }
    }

    /// Takes the next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// Reads a length and that many bytes.
    pub fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = u32::unpack(self)?;
        self.take(length as usize)
    }

    /// Returns whether no bytes are left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Appends a length and the bytes.
pub fn pack_bytes(bytes: &[u8], to: &mut Vec<u8>) {
    length_of(bytes.len()).pack(to);
    to.extend_from_slice(bytes);
}

fn length_of(count: usize) -> u32 {
    u32::try_from(count).expect("definitions are bounded far below 2^32 bytes by `Limits`")
}

/// Implements [`Packed`]: `packed!(struct Name { field, … })`, `packed!(struct Name(field, …))` and `packed!(enum Name { 0 Variant,
/// 1 Variant(a, b), 2 Variant { c } })`, with all fields and variants. A missing field does not compile.
#[macro_export]
macro_rules! packed {
    (struct $name:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::Packed for $name {
            fn pack(&self, to: &mut Vec<u8>) {
                let Self { $($field),+ } = self;
                $( $crate::Packed::pack($field, to); )+
            }

            fn unpack(from: &mut $crate::Unpacker<'_>) -> Option<Self> {
                Some(Self { $($field: $crate::Packed::unpack(from)?),+ })
            }
        }
    };
    (struct $name:ident ( $($field:ident),+ )) => {
        impl $crate::Packed for $name {
            fn pack(&self, to: &mut Vec<u8>) {
                let Self($($field),+) = self;
                $( $crate::Packed::pack($field, to); )+
            }

            fn unpack(from: &mut $crate::Unpacker<'_>) -> Option<Self> {
                $( let $field = $crate::Packed::unpack(from)?; )+
                Some(Self($($field),+))
            }
        }
    };
    (enum $name:ident { $( $tag:literal $variant:ident $(( $($part:ident),+ ))? $({ $($field:ident),+ $(,)? })? ),+ $(,)? }) => {
        impl $crate::Packed for $name {
            fn pack(&self, to: &mut Vec<u8>) {
                match self {
                    $( Self::$variant $(( $($part),+ ))? $({ $($field),+ })? => {
                        to.push($tag);
                        $( $( $crate::Packed::pack($part, to); )+ )?
                        $( $( $crate::Packed::pack($field, to); )+ )?
                    } )+
                }
            }

            fn unpack(from: &mut $crate::Unpacker<'_>) -> Option<Self> {
                Some(match <u8 as $crate::Packed>::unpack(from)? {
                    $( $tag => {
                        $( $( let $part = $crate::Packed::unpack(from)?; )+ )?
                        $( $( let $field = $crate::Packed::unpack(from)?; )+ )?
                        Self::$variant $(( $($part),+ ))? $({ $($field),+ })?
                    } )+
                    _ => return None,
                })
            }
        }
    };
}

macro_rules! numbers {
    ($($number:ty)+) => { $(
        impl Packed for $number {
            #[inline]
            fn pack(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
                let bytes = from.take(size_of::<$number>())?;
                Some(<$number>::from_le_bytes(bytes.try_into().ok()?))
            }
        }
    )+ };
}

numbers!(u8 u16 u32 u64 u128 i16 i32 i64 i128 f32 f64);

impl Packed for usize {
    fn pack(&self, to: &mut Vec<u8>) {
        (*self as u64).pack(to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        u64::unpack(from)?.try_into().ok()
    }
}

impl Packed for bool {
    fn pack(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        match u8::unpack(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Packed for char {
    fn pack(&self, to: &mut Vec<u8>) {
        u32::from(*self).pack(to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        char::from_u32(u32::unpack(from)?)
    }
}

macro_rules! texts {
    ($($text:ty)+) => { $(
        impl Packed for $text {
            fn pack(&self, to: &mut Vec<u8>) {
                pack_bytes(self.as_bytes(), to);
            }

            fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
                core::str::from_utf8(from.bytes()?).ok().map(Into::into)
            }
        }
    )+ };
}

texts!(String Box<str> Arc<str>);

impl<T: Packed> Packed for Vec<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        length_of(self.len()).pack(to);
        self.iter().for_each(|each| each.pack(to));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let count = u32::unpack(from)? as usize;
        // Each entry of a list takes at least one byte, so a wrong count cannot allocate much.
        let mut all = Vec::with_capacity(count.min(from.rest.len()));
        for _ in 0..count {
            all.push(T::unpack(from)?);
        }
        Some(all)
    }
}

impl<T: Packed> Packed for Box<[T]> {
    fn pack(&self, to: &mut Vec<u8>) {
        length_of(self.len()).pack(to);
        self.iter().for_each(|each| each.pack(to));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Vec::unpack(from).map(Vec::into_boxed_slice)
    }
}

impl<T: Packed> Packed for Box<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        T::pack(self, to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        T::unpack(from).map(Box::new)
    }
}

impl<T: Packed> Packed for Arc<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        T::pack(self, to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        T::unpack(from).map(Arc::new)
    }
}

impl<T: Packed> Packed for Option<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        self.is_some().pack(to);
        self.iter().for_each(|it| it.pack(to));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(if bool::unpack(from)? { Some(T::unpack(from)?) } else { None })
    }
}

impl<K: Packed + Ord, V: Packed> Packed for BTreeMap<K, V> {
    fn pack(&self, to: &mut Vec<u8>) {
        length_of(self.len()).pack(to);
        for (key, value) in self {
            key.pack(to);
            value.pack(to);
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let all: Vec<(K, V)> = Vec::unpack(from)?;
        Some(all.into_iter().collect())
    }
}

impl<A: Packed, B: Packed> Packed for (A, B) {
    fn pack(&self, to: &mut Vec<u8>) {
        self.0.pack(to);
        self.1.pack(to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some((A::unpack(from)?, B::unpack(from)?))
    }
}

impl<A: Packed, B: Packed, C: Packed> Packed for (A, B, C) {
    fn pack(&self, to: &mut Vec<u8>) {
        self.0.pack(to);
        self.1.pack(to);
        self.2.pack(to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some((A::unpack(from)?, B::unpack(from)?, C::unpack(from)?))
    }
}

impl<T: Packed> Packed for Range<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        self.start.pack(to);
        self.end.pack(to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(T::unpack(from)?..T::unpack(from)?)
    }
}

packed!(struct NodeId(id));
packed!(enum Occurs { 0 Once, 1 Optional, 2 Many { min, max } });
packed!(enum Scalar {
    0 Text { chars_max }, 1 Decimal { digits, scale, signed }, 2 Float32, 3 Float64, 4 Bool, 5 Bytes { len_max },
});
packed!(enum NodeKind { 0 Group, 1 Scalar(scalar) });
packed!(struct Node { name, parent, subtree_end, kind, occurs, mixed });

impl Packed for Shape {
    fn pack(&self, to: &mut Vec<u8>) {
        length_of(self.len()).pack(to);
        self.iter().for_each(|(_, node)| node.pack(to));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Shape::of_nodes(Vec::unpack(from)?)
    }
}

packed!(enum Severity { 0 Note, 1 Warning, 2 Error });
packed!(enum Fault { 0 Sender, 1 Config, 2 Caller, 3 Environment, 4 Ours });
packed!(enum PlaceName {
    0 Interchange, 1 Group, 2 Transaction, 3 Segment, 4 Element, 5 Repetition, 6 Component, 7 Loops, 8 Reference,
});
packed!(enum PlacePart { 0 Number(number), 1 Text(text) });
packed!(struct Finding { code, severity, fault, message, place, hint });

impl Packed for Code {
    fn pack(&self, to: &mut Vec<u8>) {
        pack_bytes(self.0.as_bytes(), to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        /// The codes that were read, each kept once for the life of the process.
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let text = core::str::from_utf8(from.bytes()?).ok().filter(|text| text.len() <= CODE_BYTES_MAX)?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let code = match known.get(text) {
            Some(code) => code,
            None => {
                let code: &'static str = Box::leak(text.into());
                known.insert(code);
                code
            }
        };
        Some(Code(code))
    }
}

/// Codes are three letters, a dash and three digits.
const CODE_BYTES_MAX: usize = 16;

impl Packed for Place {
    fn pack(&self, to: &mut Vec<u8>) {
        let Place { file, line, column, width, line_text, record, byte, path, detail, parts } = self;
        (file.clone(), *line, *column).pack(to);
        (*width, line_text.clone(), path.clone()).pack(to);
        (record.map(|record| record.0), byte.map(|byte| byte.0), detail.clone()).pack(to);
        parts.pack(to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let (file, line, column) = Packed::unpack(from)?;
        let (width, line_text, path) = Packed::unpack(from)?;
        let (record, byte, detail): (Option<u64>, Option<u64>, _) = Packed::unpack(from)?;
        let (record, byte) = (record.map(crate::RecordNumber), byte.map(crate::ByteOffset));
        let parts = Packed::unpack(from)?;
        Some(Place { file, line, column, width, line_text, record, byte, path, detail, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    enum Figure {
        Point,
        Circle(u32),
        Text { at: (i16, i16), of: Option<String> },
    }
    packed!(enum Figure { 0 Point, 1 Circle(radius), 7 Text { at, of } });

    #[derive(Debug, PartialEq)]
    struct Page {
        name: Box<str>,
        figures: Vec<Figure>,
        index: BTreeMap<String, Range<usize>>,
    }
    packed!(struct Page { name, figures, index });

    fn page() -> Page {
        Page {
            name: "é".into(),
            figures: vec![Figure::Point, Figure::Circle(9), Figure::Text { at: (-1, 2), of: Some("x".into()) }],
            index: BTreeMap::from([("a".to_owned(), 1..5)]),
        }
    }

    #[test]
    fn what_was_packed_comes_back() {
        let mut bytes = Vec::new();
        page().pack(&mut bytes);
        assert_eq!(Page::unpack_all(&bytes), Some(page()));
        for until in 0..bytes.len() {
            assert_eq!(Page::unpack_all(&bytes[..until]), None, "cut at {until}");
        }
    }

    #[test]
    fn wrong_bytes_are_no_value_and_cost_no_memory() {
        let mut bytes = Vec::new();
        page().pack(&mut bytes);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut wrong = bytes.clone();
                wrong[at] ^= 1 << bit;
                // Some of the changed bytes are other pages; none panics.
                let _ = Page::unpack_all(&wrong);
            }
        }
        assert_eq!(Vec::<u64>::unpack_all(&u32::MAX.to_le_bytes()), None);
    }

    #[test]
    fn shapes_and_findings_come_back() {
        let mut shape = Shape::builder("r");
        shape.open("list", Occurs::Many { min: 1, max: Some(3) });
        let leaf = shape.scalar("leaf", Scalar::Decimal { digits: 9, scale: -2, signed: true }, Occurs::Optional);
        shape.mix(leaf);
        let shape = shape.finish();
        let mut bytes = Vec::new();
        shape.pack(&mut bytes);
        assert_eq!(Shape::unpack_all(&bytes), Some(shape));
        assert_eq!(Shape::unpack_all(&0u32.to_le_bytes()), None, "a shape has a root");
        let finding = Finding::warning(Code("TST-001"), Fault::Config, "odd")
            .at(Place::source(&"f".into(), 1, 2, 3, "text"))
            .hint("mend it");
        let mut bytes = Vec::new();
        finding.pack(&mut bytes);
        assert_eq!(Finding::unpack_all(&bytes), Some(finding));
    }
}
