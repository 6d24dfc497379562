//! Types of expressions, known at compile time.

use core::fmt;

use quayline_core::Scalar;

/// Kind of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// Type of an erroneous expression that is already reported; compatible with every type.
    Bad,
    /// The word `absent`.
    Absent,
    /// Text, with its maximum number of characters if known.
    Text(Option<u32>),
    Decimal(Digits),
    Float,
    Bool,
    Date,
    Time,
    DateTime,
    Bytes(Option<u32>),
}

/// Bounds of a decimal; `None` is unknown, so runs find out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Digits {
    /// Digits before the point.
    pub(crate) whole: Option<u16>,
    /// Digits after the decimal point.
    pub(crate) scale: Option<i16>,
    pub(crate) signed: bool,
    /// For a sum over a list without a maximum: digits before the point of one value. `whole` is then unknown.
    pub(crate) sum_of: Option<u16>,
}

impl Digits {
    pub(crate) const UNKNOWN: Digits = Digits { whole: None, scale: None, signed: true, sum_of: None };

    /// Returns the digits of an integer with at most `whole` digits.
    pub(crate) fn integer(whole: u16) -> Digits {
        Digits { whole: Some(whole), scale: Some(0), signed: false, sum_of: None }
    }

    /// Characters of its text: sign, digits, point.
    pub(crate) fn chars(self) -> Option<u32> {
        let whole = u32::from(self.whole?.max(1));
        let scale = u32::try_from(self.scale?.max(0)).unwrap_or(0);
        Some(whole + scale + u32::from(scale > 0) + u32::from(self.signed))
    }

    pub(crate) fn join(self, other: Digits) -> Digits {
        Digits {
            whole: self.whole.zip(other.whole).map(|(a, b)| a.max(b)),
            scale: self.scale.zip(other.scale).map(|(a, b)| a.max(b)),
            signed: self.signed || other.signed,
            sum_of: self.sum_of.max(other.sum_of),
        }
    }
}

/// Kind of a value, and whether it may be absent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Ty {
    pub(crate) kind: Kind,
    pub(crate) maybe: bool,
}

impl Ty {
    pub(crate) const BAD: Ty = Ty { kind: Kind::Bad, maybe: true };
    pub(crate) const BOOL: Ty = Ty { kind: Kind::Bool, maybe: false };

    pub(crate) fn new(kind: Kind) -> Ty {
        Ty { kind, maybe: false }
    }

    pub(crate) fn is_bad(self) -> bool {
        self.kind == Kind::Bad
    }

    /// Returns the common type of two alternatives; `None` if no type contains both.
    pub(crate) fn join(self, other: Ty) -> Option<Ty> {
        let kind = match (self.kind, other.kind) {
            (Kind::Bad, _) | (_, Kind::Bad) => Kind::Bad,
            (Kind::Absent, kind) | (kind, Kind::Absent) => kind,
            (Kind::Text(a), Kind::Text(b)) => Kind::Text(a.zip(b).map(|(a, b)| a.max(b))),
            (Kind::Bytes(a), Kind::Bytes(b)) => Kind::Bytes(a.zip(b).map(|(a, b)| a.max(b))),
            (Kind::Decimal(a), Kind::Decimal(b)) => Kind::Decimal(a.join(b)),
            (a, b) if a == b => a,
            _ => return None,
        };
        let absent = self.kind == Kind::Absent || other.kind == Kind::Absent;
        Some(Ty { kind, maybe: self.maybe || other.maybe || absent })
    }
}

impl From<&Scalar> for Kind {
    fn from(scalar: &Scalar) -> Kind {
        match scalar {
            Scalar::Text { chars_max } => Kind::Text(*chars_max),
            Scalar::Decimal { digits, scale, signed } => {
                let whole = i32::from(*digits) - i32::from(*scale);
                Kind::Decimal(Digits {
                    whole: Some(u16::try_from(whole.max(0)).unwrap_or(0)),
                    scale: Some(*scale),
                    signed: *signed,
                    sum_of: None,
                })
            }
            Scalar::Float32 | Scalar::Float64 => Kind::Float,
            Scalar::Bool => Kind::Bool,
            Scalar::Bytes { len_max } => Kind::Bytes(*len_max),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Bad => f.write_str("an unknown type"),
            Kind::Absent => f.write_str("`absent`"),
            Kind::Text(None) => f.write_str("text"),
            Kind::Text(Some(max)) => write!(f, "text of at most {max} character{}", if *max == 1 { "" } else { "s" }),
            Kind::Decimal(digits) => match (digits.whole, digits.scale) {
                (Some(whole), Some(scale)) if scale > 0 => write!(f, "a number of {whole} digits and {scale} decimals"),
                (Some(whole), Some(_)) => {
                    write!(f, "a whole number of {whole} digit{}", if whole == 1 { "" } else { "s" })
                }
                _ => f.write_str("a number"),
            },
            Kind::Float => f.write_str("a float"),
            Kind::Bool => f.write_str("a truth value"),
            Kind::Date => f.write_str("a date"),
            Kind::Time => f.write_str("a time"),
            Kind::DateTime => f.write_str("a date and time"),
            Kind::Bytes(None) => f.write_str("bytes"),
            Kind::Bytes(Some(max)) => write!(f, "at most {max} bytes"),
        }
    }
}
