//! Named choices in TOML and JSON.

use quayline_core::Named;
use serde::de::{Deserialize, Deserializer, Error};

/// A choice, read by its name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Word<T>(pub(crate) T);

impl<'de, T: Named> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let name = String::deserialize(input)?;
        T::by_name(&name).map(Word).ok_or_else(|| D::Error::unknown_variant(&name, T::NAMES))
    }
}
