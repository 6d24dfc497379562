//! Files with several record types: the description for each record, the nesting of records, and the records to skip.

use quayline_core::Place;

/// The `[records]` part of an interface file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordRules {
    /// Discriminator of the record type, for types without their own.
    pub by: Option<ChooseBy>,
    /// Number of records at the start of the file that are skipped regardless of content.
    pub skip_first: u32,
    /// Number of records at the end of the file that are skipped regardless of content.
    pub skip_last: u32,
    /// Treatment of a record that matches no type.
    pub otherwise: Otherwise,
    /// The types, in the order of the file: parents before their children; the first that fits a record is its type.
    pub types: Vec<RecordType>,
    /// Place of `[records]`.
    pub place: Place,
}

/// Discriminator of a record's type.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ChooseBy {
    /// A field, by its COBOL path or any unambiguous tail of the path. It must precede every table of variable length.
    Field(String),
    /// Bytes of the record, compared as text in the record's code page.
    Bytes {
        /// First byte, from 0.
        offset: usize,
        /// Number of bytes.
        length: usize,
    },
}

/// Treatment of a record that matches no type.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Otherwise {
    /// The record is rejected with a finding.
    #[default]
    Reject,
    /// The record is skipped and counted.
    Skip,
    /// The record has this type (index into [`RecordRules::types`]).
    Type(usize),
}

/// One record type.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordType {
    /// Use of records of this type.
    pub uses: TypeUse,
    /// Discriminator of this type; `None` for that of [`RecordRules::by`].
    pub by: Option<ChooseBy>,
    /// Values of the discriminator that select this type, as trimmed text.
    pub values: Vec<String>,
    /// Place of the type in the file.
    pub place: Place,
}

/// Use of a record type.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TypeUse {
    /// Skipped and counted: a header or trailer.
    Skip,
    /// Converted.
    Record {
        /// The record description: a level-01 name of the copybook.
        record: String,
        /// View of storage that several REDEFINES share; the other views are not shown.
        view: Option<String>,
        /// Key instead of the styled record (or view) name.
        rename: Option<String>,
        /// Parent type (index into [`RecordRules::types`], smaller than this type's index). Records of this type are a list in the object of the
        /// preceding record of the parent type.
        parent: Option<usize>,
    },
}
