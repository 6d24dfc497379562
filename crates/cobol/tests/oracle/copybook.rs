//! A generated copybook as a tree, with the properties of every field that the generator knows.

/// One layout to compare.
#[derive(Debug)]
pub(crate) struct Case {
    /// `CASE0017`: the program's name and the copybook's.
    pub(crate) name: String,
    pub(crate) record: Entry,
    /// The copybook begins below level 01.
    pub(crate) fragment: bool,
    /// Replacement text of COPY … REPLACING.
    pub(crate) replacing: Option<&'static str>,
    pub(crate) decimal_comma: bool,
    /// Level-66 entries: name, first and last field.
    pub(crate) renames: Vec<(String, String, Option<String>)>,
    /// The copybook's text.
    pub(crate) text: String,
}

/// A data description entry.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) level: usize,
    /// `None` is FILLER.
    pub(crate) name: Option<String>,
    pub(crate) redefines: Option<String>,
    pub(crate) occurs: Option<Occurs>,
    pub(crate) body: Body,
    /// Clauses in the order they are written, beside those above: PICTURE, USAGE, VALUE …, a word each.
    pub(crate) clauses: Vec<String>,
    /// Level-88 entries: name and VALUE clause.
    pub(crate) conditions: Vec<(String, String)>,
}

/// OCCURS.
#[derive(Clone, Debug)]
pub(crate) struct Occurs {
    pub(crate) min: usize,
    pub(crate) max: usize,
    pub(crate) counter: Option<String>,
    /// INDEXED BY.
    pub(crate) index: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Group(Vec<Entry>),
    Item(Domain),
}

/// Values that a field can have.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Domain {
    Text {
        chars: usize,
        justified: bool,
        alphabetic: bool,
    },
    /// `None` for the place of a character.
    TextEdited {
        mask: Vec<Option<char>>,
    },
    /// `±n × 10^-scale` with a number `n` of at most `digits` digits. `binary` is the number of bytes if any number that fits them is a value.
    Number {
        digits: usize,
        scale: i32,
        signed: bool,
        binary: Option<u32>,
        edited: bool,
    },
    Float {
        double: bool,
    },
    /// Size and place are compared, the content is not.
    Opaque,
}

impl Entry {
    pub(crate) fn children(&self) -> &[Entry] {
        match &self.body {
            Body::Group(children) => children,
            Body::Item(_) => &[],
        }
    }

    /// The entry and all below it, in the order of the copybook.
    pub(crate) fn all(&self) -> Vec<&Entry> {
        core::iter::once(self).chain(self.children().iter().flat_map(Entry::all)).collect()
    }
}
