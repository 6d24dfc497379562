//! Files with several record types: which description a record has, what is nested in what, what is skipped.

use quayline_core::Place;

/// The `[records]` part of an interface file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordRules {
    /// What tells the type, where a type does not name its own.
    pub by: Option<ChooseBy>,
    /// Records at the start of the file that are skipped whatever they hold.
    pub skip_first: u32,
    /// Records at the end of the file that are skipped whatever they hold.
    pub skip_last: u32,
    /// What becomes of a record that no type's values fit.
    pub otherwise: Otherwise,
    /// The types, in the order of the file: parents before their children; the first that fits a record is its type.
    pub types: Vec<RecordType>,
    /// Where `[records]` stands.
    pub place: Place,
}

/// What tells a record's type.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ChooseBy {
    /// A field, by its COBOL path or any unambiguous tail of it. It stands in front of every table of variable length.
    Field(String),
    /// Bytes of the record, compared as text in the record's code page.
    Bytes {
        /// First byte, from 0.
        offset: usize,
        /// How many.
        length: usize,
    },
}

/// What becomes of a record that no type's values fit.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Otherwise {
    /// It is rejected with a finding.
    #[default]
    Reject,
    /// It is skipped and counted.
    Skip,
    /// It is of this type (index into [`RecordRules::types`]).
    Type(usize),
}

/// One record type.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordType {
    /// What such a record is.
    pub uses: TypeUse,
    /// What tells it; `None`: [`RecordRules::by`].
    pub by: Option<ChooseBy>,
    /// The values that tell it, as trimmed text; several of them mean the same.
    pub values: Vec<String>,
    /// Where it stands in the file.
    pub place: Place,
}

/// What a record of a type is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TypeUse {
    /// Skipped and counted: a header or trailer.
    Skip,
    /// Converted.
    Record {
        /// The record description: a level-01 name of the copybook.
        record: String,
        /// Of storage that several REDEFINES share, the view that such a record has; the other views are not shown.
        view: Option<String>,
        /// Key instead of the styled record (or view) name.
        rename: Option<String>,
        /// The type it belongs to (index into [`RecordRules::types`], smaller than its own): it stands in a list in the object of the
        /// last record of that type before it.
        parent: Option<usize>,
    },
}
