//! A layout: every field of a record with offset, length, type, occurrence and path.

mod build;
mod counters;
mod dbcs;
mod dialect;
mod item;
mod names;
mod place;
mod redefines;
mod renames;
mod settings;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use build::errors_of_fields;
pub(crate) use dbcs::dbcs_bytes;
pub use dialect::{BinarySizes, ByteOrder, Dialect, FloatFormat, OverpunchVariant, SyncRule};
pub use names::NameIndex;
pub use settings::{DialectSetting, DialectSettingError};

pub use crate::copybook::{Condition, Figurative, Literal, SourcePlace};
pub use crate::picture::{EditSymbol, EditedPicture};

use quayline_core::Finding;

/// Index of a field in its [`Layout`], in the order of the copybook; the record itself is 0.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FieldIndex(pub u32);

impl FieldIndex {
    /// The record itself.
    pub const RECORD: FieldIndex = FieldIndex(0);

    /// Returns the index into a table with an entry for each field.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The fields of one record description (level 01, 77, or the synthetic record of a fragment), in copybook order.
///
/// Offsets are those of a record in which every OCCURS DEPENDING ON table has its maximum. If tables are shorter and the dialect
/// slides, the fields after them move to the front by the missing bytes.
#[derive(Clone, Debug)]
pub struct Layout {
    /// `fields[0]` is the record.
    pub fields: Vec<Field>,
    /// RENAMES (level 66) items.
    pub renames: Vec<Rename>,
    /// Bytes with every table at its maximum.
    pub length_max: usize,
    /// Bytes with every table at its minimum, zero counted as one never is: a minimum of 1 may still be undercut by a count of 0.
    pub length_min: usize,
    /// The settings the layout was computed with.
    pub dialect: Dialect,
    /// Findings that refuse nothing.
    pub warnings: Vec<Finding>,
    /// Fields by name, for look-ups; made when it is first needed.
    pub names: NameIndex,
}

impl Layout {
    /// The field with this index.
    #[must_use]
    pub fn field(&self, index: FieldIndex) -> &Field {
        &self.fields[index.index()]
    }

    /// All fields with their indices, in copybook order.
    pub fn iter(&self) -> impl Iterator<Item = (FieldIndex, &Field)> {
        (0u32..).map(FieldIndex).zip(&self.fields)
    }

    /// Children of a group, in order, redefinitions included.
    pub fn children(&self, index: FieldIndex) -> impl Iterator<Item = FieldIndex> + '_ {
        let end = self.field(index).subtree_end;
        let mut next = FieldIndex(index.0 + 1);
        core::iter::from_fn(move || {
            (next < end).then(|| {
                let child = next;
                next = self.field(child).subtree_end;
                child
            })
        })
    }

    /// Returns for each field whether it follows a table of varying length, so that its offset is the maximum.
    #[must_use]
    pub fn sliding(&self) -> Vec<bool> {
        // Smallest end of the tables that are complete before each field.
        let mut ends = vec![usize::MAX; self.fields.len() + 1];
        for table in self.fields.iter().filter(|_| self.dialect.odo_slide) {
            if let Some(Occurs { max, depending_on: Some(_), .. }) = table.occurs {
                let end = &mut ends[table.subtree_end.index()];
                *end = (*end).min(table.offset + max as usize * table.stride);
            }
        }
        let mut end = usize::MAX;
        let follows = |(field, ends): (&Field, usize)| {
            end = end.min(ends);
            end <= field.offset
        };
        self.fields.iter().zip(ends).map(follows).collect()
    }

    /// Returns the COBOL names from below the record down to the field, joined by `.`; the record's own name for the record.
    #[must_use]
    pub fn path(&self, index: FieldIndex) -> String {
        let mut names = Vec::new();
        let mut at = index;
        while let Some(parent) = self.field(at).parent {
            names.push(self.field(at).name.as_str());
            at = parent;
        }
        if names.is_empty() {
            return self.field(index).name.clone();
        }
        names.reverse();
        names.join(".")
    }
}

/// One data description entry (levels 01 to 49, 77).
#[derive(Clone, Debug)]
pub struct Field {
    /// Name as in the copybook, upper case; `FILLER` if it has none.
    pub name: String,
    /// True if the item has no name, or `FILLER`.
    pub filler: bool,
    /// Level number as written; 1 for a synthetic record.
    pub level: u8,
    /// The group around it; `None` for the record.
    pub parent: Option<FieldIndex>,
    /// First index after its subtree: descendants are `index + 1 .. subtree_end`.
    pub subtree_end: FieldIndex,
    /// Bytes from the start of the record to its first occurrence, tables at their maximum.
    pub offset: usize,
    /// Bytes of one occurrence, with inner tables at their maximum and without the slack after it.
    pub size: usize,
    /// Bytes from one occurrence to the next: `size` and slack.
    pub stride: usize,
    /// Slack bytes before it that SYNCHRONIZED caused (already included in its offset).
    pub slack_before: usize,
    /// OCCURS clause.
    pub occurs: Option<Occurs>,
    /// The field whose storage it shares (the first one, if a redefinition names another redefinition).
    pub redefines: Option<FieldIndex>,
    /// Group or elementary item.
    pub kind: FieldKind,
    /// PICTURE and USAGE as normalised text, for messages and `inspect`: `PIC S9(7)V99 COMP-3`. Empty for a group.
    pub description: String,
    /// Level-88 condition names.
    pub conditions: Vec<Condition>,
    /// VALUE clause of the item itself.
    pub value: Option<Literal>,
    /// EXTERNAL was written.
    pub external: bool,
    /// GLOBAL was written.
    pub global: bool,
    /// Place of its entry in the source.
    pub source: SourcePlace,
}

/// OCCURS.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Occurs {
    /// Fewest occurrences; equals `max` for a fixed table.
    pub min: u32,
    /// Most occurrences.
    pub max: u32,
    /// The counter of an OCCURS DEPENDING ON.
    pub depending_on: Option<FieldIndex>,
}

/// Group or elementary item.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FieldKind {
    /// A field with children.
    Group,
    /// An elementary item with its own bytes.
    Item(Encoding),
}

/// Representation of an elementary item's value. A numeric value is `±digits × 10^-scale`.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Encoding {
    /// PIC X, A; a byte a character in the record's code page.
    Text {
        /// JUSTIFIED RIGHT: padded on the left.
        justified: bool,
        /// PIC A only: letters and spaces. (Informative; any character decodes.)
        alphabetic: bool,
    },
    /// PIC X/A/9 with B, 0 or /: alphanumeric-edited. Reads as text, insertion characters included.
    TextEdited {
        /// One entry a byte: `None` for a character position, `Some(c)` for an inserted `' '`, `'0'` or `'/'`.
        mask: Vec<Option<char>>,
    },
    /// DISPLAY numeric, a digit a byte.
    Zoned {
        /// Digit positions.
        digits: u16,
        /// Digits after the point.
        scale: i16,
        /// Sign position.
        sign: ZonedSign,
        /// BLANK WHEN ZERO.
        blank_when_zero: bool,
    },
    /// COMP-3, PACKED-DECIMAL: two digits a byte, sign nibble last.
    Packed {
        /// Digit positions in the picture; the field has one more if that is even.
        digits: u16,
        /// Digits after the point.
        scale: i16,
        /// S in the picture.
        signed: bool,
    },
    /// COMP-6: two digits a byte, no sign nibble.
    PackedUnsigned {
        /// Digit positions in the picture; the field has one more if that is odd.
        digits: u16,
        /// Digits after the point.
        scale: i16,
    },
    /// COMP, COMP-4, COMP-5, COMP-X, BINARY, INDEX, POINTER, BINARY-LONG …: two's complement, 1 to 16 bytes (the field's size).
    Binary {
        /// Digits of the picture; 0 without a picture, for the whole range of the bytes.
        digits: u16,
        /// Digits after the point.
        scale: i16,
        /// S in the picture.
        signed: bool,
        /// Byte order.
        order: ByteOrder,
        /// True if a value may use the whole range of the bytes (COMP-5, COMP-X, INDEX, or a dialect without truncation).
        full_range: bool,
    },
    /// COMP-1, FLOAT-SHORT: 4 bytes.
    Float32(FloatFormat),
    /// COMP-2, FLOAT-LONG: 8 bytes.
    Float64(FloatFormat),
    /// Numeric-edited: Z * + - CR DB , . $ B 0 /.
    Edited(EditedPicture),
    /// PIC N, USAGE NATIONAL: UTF-16 big-endian, two bytes a character position.
    National {
        /// JUSTIFIED RIGHT.
        justified: bool,
    },
    /// PIC U: UTF-8 in a fixed number of bytes, padded with spaces.
    Utf8,
    /// PIC G, DISPLAY-1: double-byte characters, two bytes a position. Reads and writes hexadecimal digits, since mixed DBCS pages
    /// are not supported yet.
    Dbcs,
    /// PIC 1 USAGE DISPLAY: a `0` or `1` a byte.
    Boolean,
}

/// Place of a zoned number's sign.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ZonedSign {
    /// Unsigned: the picture has no S.
    Unsigned,
    /// Sign in the zone of the last byte: the default for S.
    TrailingOverpunch,
    /// SIGN LEADING.
    LeadingOverpunch,
    /// SIGN TRAILING SEPARATE: `+` or `-` after the digits.
    TrailingSeparate,
    /// SIGN LEADING SEPARATE: `+` or `-` before the digits.
    LeadingSeparate,
}

/// A level-66 RENAMES item: another name for a stretch of the record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rename {
    /// Name, upper case.
    pub name: String,
    /// First field renamed.
    pub from: FieldIndex,
    /// Last field renamed, for THRU.
    pub thru: Option<FieldIndex>,
    /// Offset, tables at their maximum.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
    /// Place of its entry in the source.
    pub source: SourcePlace,
}
