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
pub trait Stored: Sized {
    /// Appends the value.
    fn store(&self, to: &mut Vec<u8>);

    /// Reads a value in the form of [`Stored::store`]. Returns `None` for other bytes.
    fn load(from: &mut StoredReader<'_>) -> Option<Self>;

    /// Reads a value that uses all of the bytes.
    fn load_all(bytes: &[u8]) -> Option<Self> {
        let mut from = StoredReader::new(bytes);
        let value = Self::load(&mut from)?;
        from.is_empty().then_some(value)
    }
}

/// A reader of stored bytes.
#[derive(Clone, Debug)]
pub struct StoredReader<'b> {
    rest: &'b [u8],
}

impl<'b> StoredReader<'b> {
    /// Starts at the first of these bytes.
    #[must_use]
    pub fn new(bytes: &'b [u8]) -> Self {
        StoredReader { rest: bytes }
    }

    /// Takes the next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// Reads a length and that many bytes.
    pub fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = u32::load(self)?;
        self.take(length as usize)
    }

    /// Returns whether no bytes are left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Appends a length and the bytes.
pub fn store_bytes(bytes: &[u8], to: &mut Vec<u8>) {
    length_of(bytes.len()).store(to);
    to.extend_from_slice(bytes);
}

fn length_of(count: usize) -> u32 {
    u32::try_from(count).expect("definitions are bounded far below 2^32 bytes by `Limits`")
}

/// Implements [`Stored`]: `stored!(struct Name { field, … })`, `stored!(struct Name(field, …))` and `stored!(enum Name { 0 Variant,
/// 1 Variant(a, b), 2 Variant { c } })`, with all fields and variants. A missing field does not compile.
#[macro_export]
macro_rules! stored {
    (struct $name:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::Stored for $name {
            fn store(&self, to: &mut Vec<u8>) {
                let Self { $($field),+ } = self;
                $( $crate::Stored::store($field, to); )+
            }

            fn load(from: &mut $crate::StoredReader<'_>) -> Option<Self> {
                Some(Self { $($field: $crate::Stored::load(from)?),+ })
            }
        }
    };
    (struct $name:ident ( $($field:ident),+ )) => {
        impl $crate::Stored for $name {
            fn store(&self, to: &mut Vec<u8>) {
                let Self($($field),+) = self;
                $( $crate::Stored::store($field, to); )+
            }

            fn load(from: &mut $crate::StoredReader<'_>) -> Option<Self> {
                $( let $field = $crate::Stored::load(from)?; )+
                Some(Self($($field),+))
            }
        }
    };
    (enum $name:ident { $( $tag:literal $variant:ident $(( $($part:ident),+ ))? $({ $($field:ident),+ $(,)? })? ),+ $(,)? }) => {
        impl $crate::Stored for $name {
            fn store(&self, to: &mut Vec<u8>) {
                match self {
                    $( Self::$variant $(( $($part),+ ))? $({ $($field),+ })? => {
                        to.push($tag);
                        $( $( $crate::Stored::store($part, to); )+ )?
                        $( $( $crate::Stored::store($field, to); )+ )?
                    } )+
                }
            }

            fn load(from: &mut $crate::StoredReader<'_>) -> Option<Self> {
                Some(match <u8 as $crate::Stored>::load(from)? {
                    $( $tag => {
                        $( $( let $part = $crate::Stored::load(from)?; )+ )?
                        $( $( let $field = $crate::Stored::load(from)?; )+ )?
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
        impl Stored for $number {
            #[inline]
            fn store(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn load(from: &mut StoredReader<'_>) -> Option<Self> {
                let bytes = from.take(size_of::<$number>())?;
                Some(<$number>::from_le_bytes(bytes.try_into().ok()?))
            }
        }
    )+ };
}

numbers!(u8 u16 u32 u64 u128 i16 i32 i64 i128 f32 f64);

impl Stored for usize {
    fn store(&self, to: &mut Vec<u8>) {
        (*self as u64).store(to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        u64::load(from)?.try_into().ok()
    }
}

impl Stored for bool {
    fn store(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        match u8::load(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Stored for char {
    fn store(&self, to: &mut Vec<u8>) {
        u32::from(*self).store(to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        char::from_u32(u32::load(from)?)
    }
}

macro_rules! texts {
    ($($text:ty)+) => { $(
        impl Stored for $text {
            fn store(&self, to: &mut Vec<u8>) {
                store_bytes(self.as_bytes(), to);
            }

            fn load(from: &mut StoredReader<'_>) -> Option<Self> {
                core::str::from_utf8(from.bytes()?).ok().map(Into::into)
            }
        }
    )+ };
}

texts!(String Box<str> Arc<str>);

impl<T: Stored> Stored for Vec<T> {
    fn store(&self, to: &mut Vec<u8>) {
        length_of(self.len()).store(to);
        self.iter().for_each(|each| each.store(to));
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let count = u32::load(from)? as usize;
        // Each entry of a list takes at least one byte, so a wrong count cannot allocate much.
        let mut all = Vec::with_capacity(count.min(from.rest.len()));
        for _ in 0..count {
            all.push(T::load(from)?);
        }
        Some(all)
    }
}

impl<T: Stored> Stored for Box<[T]> {
    fn store(&self, to: &mut Vec<u8>) {
        length_of(self.len()).store(to);
        self.iter().for_each(|each| each.store(to));
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        Vec::load(from).map(Vec::into_boxed_slice)
    }
}

impl<T: Stored> Stored for Box<T> {
    fn store(&self, to: &mut Vec<u8>) {
        T::store(self, to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        T::load(from).map(Box::new)
    }
}

impl<T: Stored> Stored for Arc<T> {
    fn store(&self, to: &mut Vec<u8>) {
        T::store(self, to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        T::load(from).map(Arc::new)
    }
}

impl<T: Stored> Stored for Option<T> {
    fn store(&self, to: &mut Vec<u8>) {
        self.is_some().store(to);
        self.iter().for_each(|it| it.store(to));
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        Some(if bool::load(from)? { Some(T::load(from)?) } else { None })
    }
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    fn store(&self, to: &mut Vec<u8>) {
        length_of(self.len()).store(to);
        for (key, value) in self {
            key.store(to);
            value.store(to);
        }
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let all: Vec<(K, V)> = Vec::load(from)?;
        Some(all.into_iter().collect())
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn store(&self, to: &mut Vec<u8>) {
        self.0.store(to);
        self.1.store(to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        Some((A::load(from)?, B::load(from)?))
    }
}

impl<A: Stored, B: Stored, C: Stored> Stored for (A, B, C) {
    fn store(&self, to: &mut Vec<u8>) {
        self.0.store(to);
        self.1.store(to);
        self.2.store(to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        Some((A::load(from)?, B::load(from)?, C::load(from)?))
    }
}

impl<T: Stored> Stored for Range<T> {
    fn store(&self, to: &mut Vec<u8>) {
        self.start.store(to);
        self.end.store(to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        Some(T::load(from)?..T::load(from)?)
    }
}

stored!(struct NodeId(id));
stored!(enum Occurs { 0 Once, 1 Optional, 2 Many { min, max } });
stored!(enum Scalar {
    0 Text { chars_max }, 1 Decimal { digits, scale, signed }, 2 Float32, 3 Float64, 4 Bool, 5 Bytes { len_max },
});
stored!(enum NodeKind { 0 Group, 1 Scalar(scalar) });
stored!(struct Node { name, parent, subtree_end, kind, occurs, mixed });

impl Stored for Shape {
    fn store(&self, to: &mut Vec<u8>) {
        length_of(self.len()).store(to);
        self.iter().for_each(|(_, node)| node.store(to));
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        Shape::of_nodes(Vec::load(from)?)
    }
}

stored!(enum Severity { 0 Note, 1 Warning, 2 Error });
stored!(enum Fault { 0 Sender, 1 Config, 2 Caller, 3 Environment, 4 Ours });
stored!(enum PlaceName {
    0 Interchange, 1 Group, 2 Transaction, 3 Segment, 4 Element, 5 Repetition, 6 Component, 7 Loops, 8 Reference,
});
stored!(enum PlacePart { 0 Number(number), 1 Text(text) });
stored!(struct Finding { code, severity, fault, message, place, hint });

impl Stored for Code {
    fn store(&self, to: &mut Vec<u8>) {
        store_bytes(self.0.as_bytes(), to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
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

impl Stored for Place {
    fn store(&self, to: &mut Vec<u8>) {
        let Place { file, line, column, width, line_text, record, byte, path, detail, parts } = self;
        (file.clone(), *line, *column).store(to);
        (*width, line_text.clone(), path.clone()).store(to);
        (record.map(|record| record.0), byte.map(|byte| byte.0), detail.clone()).store(to);
        parts.store(to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let (file, line, column) = Stored::load(from)?;
        let (width, line_text, path) = Stored::load(from)?;
        let (record, byte, detail): (Option<u64>, Option<u64>, _) = Stored::load(from)?;
        let (record, byte) = (record.map(crate::RecordNumber), byte.map(crate::ByteOffset));
        let parts = Stored::load(from)?;
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
    stored!(enum Figure { 0 Point, 1 Circle(radius), 7 Text { at, of } });

    #[derive(Debug, PartialEq)]
    struct Page {
        name: Box<str>,
        figures: Vec<Figure>,
        index: BTreeMap<String, Range<usize>>,
    }
    stored!(struct Page { name, figures, index });

    fn page() -> Page {
        Page {
            name: "é".into(),
            figures: vec![Figure::Point, Figure::Circle(9), Figure::Text { at: (-1, 2), of: Some("x".into()) }],
            index: BTreeMap::from([("a".to_owned(), 1..5)]),
        }
    }

    #[test]
    fn what_was_stored_comes_back() {
        let mut bytes = Vec::new();
        page().store(&mut bytes);
        assert_eq!(Page::load_all(&bytes), Some(page()));
        for until in 0..bytes.len() {
            assert_eq!(Page::load_all(&bytes[..until]), None, "cut at {until}");
        }
    }

    #[test]
    fn wrong_bytes_are_no_value_and_cost_no_memory() {
        let mut bytes = Vec::new();
        page().store(&mut bytes);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut wrong = bytes.clone();
                wrong[at] ^= 1 << bit;
                // Some of the changed bytes are other pages; none panics.
                let _ = Page::load_all(&wrong);
            }
        }
        assert_eq!(Vec::<u64>::load_all(&u32::MAX.to_le_bytes()), None);
    }

    #[test]
    fn shapes_and_findings_come_back() {
        let mut shape = Shape::builder("r");
        shape.open("list", Occurs::Many { min: 1, max: Some(3) });
        let leaf = shape.scalar("leaf", Scalar::Decimal { digits: 9, scale: -2, signed: true }, Occurs::Optional);
        shape.mix(leaf);
        let shape = shape.finish();
        let mut bytes = Vec::new();
        shape.store(&mut bytes);
        assert_eq!(Shape::load_all(&bytes), Some(shape));
        assert_eq!(Shape::load_all(&0u32.to_le_bytes()), None, "a shape has a root");
        let finding = Finding::warning(Code("TST-001"), Fault::Config, "odd")
            .at(Place::source(&"f".into(), 1, 2, 3, "text"))
            .hint("mend it");
        let mut bytes = Vec::new();
        finding.store(&mut bytes);
        assert_eq!(Finding::load_all(&bytes), Some(finding));
    }
}
