//! A generated copybook as a tree, with what its author knows of every field.

/// One layout to compare.
#[derive(Debug)]
pub(crate) struct Case {
    /// `CASE0017`: the program's name and the copybook's.
    pub(crate) name: String,
    pub(crate) record: Entry,
    /// The copybook begins below level 01.
    pub(crate) fragment: bool,
    /// Text behind COPY … REPLACING.
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
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Group(Vec<Entry>),
    Item(Domain),
}

/// Which values a field can have.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Domain {
    Text {
        chars: usize,
        justified: bool,
        alphabetic: bool,
    },
    /// `None` where a character stands.
    TextEdited {
        mask: Vec<Option<char>>,
    },
    /// `±n × 10^-scale`, n of so many digits; `binary` bytes where any number that fits them is a value.
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
