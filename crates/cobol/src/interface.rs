//! Selection and naming of a layout's fields: the parsed form of an interface file.

use quayline_core::{DatePattern, named};

/// Selection, names, defaults and policies for one record description. [`Interface::default`] shows everything but fillers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Interface {
    /// Name of an object that wraps the record's fields (z/OS Connect wraps with the 01 name); none by default.
    pub wrapper: Option<String>,
    /// Form of keys made from COBOL names.
    pub key_style: KeyStyle,
    /// Beginnings of COBOL names, in upper case, and their replacements in keys. The longest that fits counts, and it never replaces the whole name.
    pub prefixes: Vec<(String, String)>,
    /// Treatment of fillers.
    pub fillers: Fillers,
    /// The views of shared storage that are shown.
    pub redefines: RedefinesPolicy,
    /// Rules per field; a rule on a group covers its subtree.
    pub fields: Vec<FieldRule>,
    /// Views chosen by another field's value.
    pub choices: Vec<RedefinesChoice>,
    /// Views that every record has, each the only one of its storage. If the storage ends the record, the record ends with the
    /// view.
    pub views: Vec<String>,
    /// Members that say where a record comes from.
    pub origin: OriginMembers,
}

/// Names of members that say where a record comes from; `None`: the documents have no such member. A document that becomes a record
/// may have them, and they are ignored.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct OriginMembers {
    /// Number of the record in its file, from 1; headers count.
    pub number: Option<String>,
    /// Number of the record that this one is nested in; null for others.
    pub parent: Option<String>,
    /// The file, as it was named.
    pub file: Option<String>,
}

named! {
    /// Form of a key made from a COBOL name.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub enum KeyStyle {
        /// `CUST-NAME`: as in the copybook, upper case.
        #[default]
        Cobol = "cobol", "CUST-NAME (default)";
        /// `CUST_NAME`, as z/OS Connect writes it.
        Underscore = "underscore", "CUST_NAME, as z/OS Connect writes it";
        /// `cust_name`.
        Snake = "snake", "cust_name";
        /// `cust-name`.
        Kebab = "kebab", "cust-name";
        /// `custName`.
        Camel = "camel", "custName";
        /// `CustName`.
        Pascal = "pascal", "CustName";
    }
}

named! {
    /// Treatment of FILLER items.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub enum Fillers {
        /// Elementary fillers are dropped; the named children of a filler group move to its parent.
        #[default]
        Drop = "drop", "Left out (default)";
        /// Show all fillers, named `FILL_0`, `FILL_1`, … in the order of the copybook.
        Keep = "keep", "Shown as FILL_0, FILL_1, ...";
    }
}

named! {
    /// The views of storage with REDEFINES that are shown.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub enum RedefinesPolicy {
        /// The original and every redefinition that fits the bytes; of the others, an elementary one is null and a group is left out.
        /// If none fits, the record is bad.
        #[default]
        All = "all", "The original and every redefinition (default)";
        /// The original only.
        Original = "original", "The original only";
    }
}

/// A rule for one field or group.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FieldRule {
    /// COBOL path, or any unambiguous tail of the path: `CUST-NAME`, `CUSTOMER.CUST-NAME`. A `*` at the end of a name matches any suffix.
    pub field: String,
    /// Shown or not; a rule nearer to the field wins over one on a group above it.
    pub include: Option<bool>,
    /// Key instead of the styled name.
    pub rename: Option<String>,
    /// Value when the input document has none, as text; checked against the field when the plan is made.
    pub default: Option<String>,
    /// Bytes of null, in the field or in everything below the group; the rule nearest to a field takes precedence.
    pub null: Option<NullAs>,
    /// Form of the values, in the field or in everything below the group; the rule nearest to a field takes precedence.
    pub values: Option<FieldValues>,
    /// Pattern of a date in the record, which documents show as `2026-01-31`; for one elementary field.
    pub date: Option<DatePattern>,
}

named! {
    /// Form of a field's values in documents.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub enum FieldValues {
        /// The value that PICTURE and USAGE define.
        #[default]
        Plain = "plain", "The value of PICTURE and USAGE (default)";
        /// The name of the level-88 condition that has exactly this one value. Other values are plain, as text.
        Names = "names", "The names of level-88 conditions";
    }
}

/// Chooses a view of redefined storage by another field's value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RedefinesChoice {
    /// The original field of the shared storage.
    pub storage: String,
    /// The selector field, which must precede the storage.
    pub by: String,
    /// Values and the view each selects, in order; values are compared as trimmed text.
    pub cases: Vec<(Vec<String>, String)>,
    /// The view if no case fits; without it such a record is an error.
    pub otherwise: Option<String>,
}

named! {
    /// Treatment of bytes that are not a value of their field.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub enum BadValue {
        /// The record is rejected with a finding.
        #[default]
        Error = "error", "Reject the record (default)";
        /// The value is null.
        Null = "null", "Null";
        /// The value is the string `0x` and the bytes in hexadecimal; encoding accepts it back.
        Raw = "raw", "The bytes as a string `0x...`, which converts back";
    }
}

named! {
    /// The blanks of text that decoding cuts.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub enum Trim {
        /// Trailing spaces (leading ones for JUSTIFIED RIGHT).
        #[default]
        Padding = "padding", "Trailing blanks; for JUSTIFIED RIGHT, leading blanks (default)";
        /// Leading and trailing spaces.
        Both = "both", "Leading and trailing blanks";
        /// Keep all blanks.
        Keep = "keep", "No blanks";
        /// Trailing spaces and NULs, as C programs leave them.
        Nuls = "nul", "Trailing blanks and NULs";
    }
}

named! {
    /// Value of a field that is missing in an input document and has no default in the interface.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub enum Absent {
        /// The item's VALUE clause if it has one, otherwise as `Initialize`: the initial content of a program's storage.
        #[default]
        Value = "value", "The VALUE clause if there is one, otherwise as initialize (default)";
        /// Spaces for text, zero for numbers: the result of INITIALIZE.
        Initialize = "initialize", "Spaces for text, zero for numbers";
        /// Binary zeros (LOW-VALUES).
        LowValues = "low-values", "Binary zeros";
        /// A finding.
        Error = "error", "Reject the document";
    }
}

named! {
    /// Bytes for a null of an input document, since records have no null.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub enum NullAs {
        /// A finding; the document is rejected.
        #[default]
        Error = "error", "Reject the document";
        /// SPACES. In a binary or floating-point field they are a number like any other, so there it is a finding.
        Spaces = "spaces", "Spaces; an error in a binary or floating-point field";
        /// ZERO in a number, SPACES in a text: the result of INITIALIZE.
        Zeros = "zeros", "Zero for numbers, spaces for text";
        /// LOW-VALUES, 0x00.
        LowValues = "low-values", "Binary zeros";
        /// The item's VALUE clause if it has one, otherwise as `Zeros`.
        Value = "value", "The VALUE clause where there is one, otherwise as zeros";
    }
}

named! {
    /// A record that ends before its layout does. A number that the end cuts is a finding under every policy, and a text that it cuts keeps its
    /// characters under every policy but [`ShortRecord::Error`].
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub enum ShortRecord {
        /// A finding; the record is rejected.
        #[default]
        Error = "error", "Reject the record";
        /// Blanks follow the end, as READ of a LINE SEQUENTIAL file pads its record area: a missing text is empty, and a missing number holds
        /// only spaces, which [`Policies::blank`] judges.
        Pad = "pad", "Pad it with blanks; --blank says what a missing number becomes";
        /// Fields after the end are null.
        Null = "null" | "accept", "Missing fields are null";
    }
}

named! {
    /// Treatment of a record that is longer than its layout, or padded with anything other than spaces or low-values.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub enum LengthMismatch {
        /// A finding; the record is rejected.
        #[default]
        Error = "error", "Reject the record (default)";
        /// The rest is ignored and counted as a [`crate::RecordNote`].
        Accept = "accept", "Ignore the rest, and count such records in a warning";
    }
}

/// Policies for reading and writing records, in addition to layout and interface.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Policies {
    /// Nibbles, zones, signs or characters that are not of the type.
    pub invalid: BadValue,
    /// A numeric field that holds only spaces (of the code page).
    pub blank: BadValue,
    /// A numeric field that holds only 0x00; only DISPLAY and packed, in which that is not a number.
    pub low_values: BadValue,
    /// Blanks around text.
    pub trim: Trim,
    /// Absent members on encode.
    pub absent: Absent,
    /// Null on encode. `None`: the bytes that decoding reads as null, which are spaces if `blank` and low-values if `low_values` is
    /// [`BadValue::Null`]; otherwise [`NullAs::Error`].
    pub null: Option<NullAs>,
    /// A record shorter than its layout. `None`: the default of its framing, [`ShortRecord::Pad`] for lines and
    /// [`ShortRecord::Error`] otherwise.
    pub short: Option<ShortRecord>,
    /// A record longer than its layout.
    pub long: LengthMismatch,
    /// Use of a member `_preserve`, which keeps the differences between the record and its canonical encoding.
    pub preserve: Preserve,
}

/// Byte-identical round trips of non-canonical records.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Preserve {
    /// Dirty bytes (FILLER content, slack, sign nibbles, padding) are normalised by a round trip.
    #[default]
    No,
    /// A member `_preserve` holds the bytes that the canonical encoding would lose.
    Yes,
}
