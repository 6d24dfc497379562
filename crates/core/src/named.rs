//! Choices that have names: one table for the command line, TOML and JSON.

/// A choice among few values, each with a name that users write. [`named!`](crate::named!) defines the type and its table together.
pub trait Named: Copy + Eq + 'static {
    /// Every value with its name.
    const CHOICES: &'static [Choice<Self>];
    /// The names, in the same order.
    const NAMES: &'static [&'static str];

    /// Returns the name of the value.
    fn name(self) -> &'static str {
        Self::CHOICES.iter().find(|choice| choice.value == self).map_or("", |choice| choice.name)
    }

    /// Finds a value by its name, or by an old name that is still accepted.
    #[must_use]
    fn by_name(name: &str) -> Option<Self> {
        let found = Self::CHOICES.iter().find(|choice| choice.name == name || choice.aliases.contains(&name));
        found.map(|choice| choice.value)
    }
}

/// A row of the table of a [`Named`] type.
#[derive(Clone, Copy, Debug)]
pub struct Choice<T: 'static> {
    /// The value.
    pub value: T,
    /// Its name.
    pub name: &'static str,
    /// Other names that are accepted.
    pub aliases: &'static [&'static str],
    /// One line of help.
    pub help: &'static str,
}

/// Defines an enumeration whose values have names and a line of help each.
///
/// ```
/// use quayline_core::Named as _;
///
/// quayline_core::named! {
///     /// What to do with a gap.
///     #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
///     pub enum Gap {
///         /// A finding.
///         #[default]
///         Reject = "reject", "Reject the interchange (default)";
///         /// Nothing.
///         Ignore = "ignore" | "accept", "Ignore the gap";
///     }
/// }
///
/// assert_eq!(Gap::by_name("accept"), Some(Gap::Ignore));
/// assert_eq!(Gap::default().name(), "reject");
/// assert_eq!(Gap::NAMES, ["reject", "ignore"]);
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* $visibility:vis enum $enumeration:ident {
        $($(#[$attribute:meta])* $value:ident = $name:literal $(| $alias:literal)*, $help:literal;)+
    }) => {
        $(#[$about])*
        $visibility enum $enumeration { $($(#[$attribute])* $value),+ }

        impl $crate::Named for $enumeration {
            const CHOICES: &'static [$crate::Choice<Self>] = &[$($crate::Choice {
                value: $enumeration::$value,
                name: $name,
                aliases: &[$($alias),*],
                help: $help,
            }),+];
            const NAMES: &'static [&'static str] = &[$($name),+];
        }
    };
}
