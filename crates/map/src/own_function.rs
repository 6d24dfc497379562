//! Functions of the user's own: a program outside of the map computes them, and the run connects it.

use quayline_core::stored;

/// A function that a map declares with types and without a body: `fn rate(country: text(2)) -> decimal(5, 3)`.
///
/// Its results depend on nothing but its arguments, so a run may call it in any order, or reuse a result.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct OwnFunction {
    /// Name in the map.
    pub name: String,
    /// Parameters in order: name and type.
    pub parameters: Vec<(String, OwnType)>,
    /// Type of the result.
    pub gives: OwnType,
    /// True if results of earlier calls may be reused.
    pub cached: bool,
}

/// A type of a parameter or a result.
///
/// Values cross as text: a number as `-12.50`, a date as `2026-01-31`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum OwnType {
    /// Text, with its maximum number of characters if declared.
    Text(Option<u32>),
    /// Digits before and after the decimal point.
    Decimal(Option<(u16, i16)>),
    /// A day.
    Date,
}

impl core::fmt::Display for OwnType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            OwnType::Text(None) => f.write_str("text"),
            OwnType::Text(Some(max)) => write!(f, "text({max})"),
            OwnType::Decimal(None) => f.write_str("decimal"),
            OwnType::Decimal(Some((whole, scale))) => {
                write!(f, "decimal({}, {scale})", i32::from(*whole) + i32::from(*scale))
            }
            OwnType::Date => f.write_str("date"),
        }
    }
}

impl OwnType {
    /// Returns the reason if a value does not have this type. `what` names the value. A number consists of units and scale.
    pub(crate) fn refuses(self, what: &str, value: Checked<'_>) -> Option<String> {
        match (self, value) {
            (OwnType::Text(max), Checked::Text(text)) => {
                let Ok(text) = core::str::from_utf8(text) else { return Some(format!("{what} is not UTF-8")) };
                let found = text.chars().count();
                let max = max.filter(|max| found > *max as usize)?;
                Some(format!("{what} has {found} characters, and text({max}) is declared"))
            }
            (OwnType::Decimal(Some((whole, scale))), Checked::Number(units, found)) => {
                let (units, found) = shortest(units, found);
                let digits = i32::try_from(units.checked_ilog10().map_or(0, |log| log + 1)).unwrap_or(i32::MAX);
                let before = digits.saturating_sub(found.into());
                let fits = before <= i32::from(whole) && found <= scale;
                (!fits).then(|| {
                    format!(
                        "{what} has {} digits before and {} after the decimal point, and {self} is declared",
                        before.max(0),
                        found.max(0)
                    )
                })
            }
            _ => None,
        }
    }
}

/// A value whose type is to be checked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Checked<'v> {
    Text(&'v [u8]),
    Number(i128, i16),
}

/// Removes trailing zeros of the decimals and the sign.
fn shortest(number: i128, mut scale: i16) -> (u128, i16) {
    let mut units = number.unsigned_abs();
    while scale > 0 && units.is_multiple_of(10) {
        (units, scale) = (units / 10, scale - 1);
    }
    (units, scale)
}

stored!(struct OwnFunction { name, parameters, gives, cached });
stored!(enum OwnType { 0 Text(max), 1 Decimal(digits), 2 Date });
