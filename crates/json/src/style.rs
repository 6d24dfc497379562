//! Style of written JSON.

/// Choices of a [`crate::JsonWriter`]. The default is compact JSON lines with exact numbers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct JsonStyle {
    /// Text between documents.
    pub stream: Stream,
    /// Numbers to write as strings.
    pub numbers: Numbers,
    /// White space inside a document.
    pub spacing: Spacing,
}

/// Text between documents.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Stream {
    /// Each document is followed by a line feed (JSON lines).
    #[default]
    Lines,
    /// One array: `[` from [`crate::JsonWriter::begin`], documents joined by `,` and a line feed, `]` from [`crate::JsonWriter::end`].
    Array,
}

/// Rule that selects the numbers to write as strings.
///
/// A decimal of at most 15 significant digits survives a reader that uses IEEE doubles; one of 16 digits may not.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Numbers {
    /// Never: all digits are written as a JSON number.
    #[default]
    Exact,
    /// A decimal is a string if its node can hold more than 15 digits, so that a member has one type in every document, and also if
    /// its value has more. Floats stay numbers, since a double holds them.
    StringsWhenUnsafe,
    /// Always: every decimal and every float is a string.
    Strings,
}

/// White space inside a document.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Spacing {
    /// Without white space.
    #[default]
    Compact,
    /// One member or element a line, indented by two blanks a level.
    Pretty,
}

/// Most significant decimal digits that survive any IEEE double (DBL_DIG).
pub(crate) const SAFE_DIGITS: usize = 15;
