//! A layout and an interface compile to a plan: the shape that sinks see, the operations that decode a record into it, and the
//! targets that encode one from it.
//!
//! Decoding walks [`Op`]s in the order of the copybook. Every offset is the static one of a record whose tables are at their
//! maximum. A running `base` is added, which grows by a stride per occurrence and shrinks by the missing occurrences of a short
//! OCCURS DEPENDING ON table. Nested, repeated and sliding tables therefore need no layout to be rebuilt for a record, and an
//! excluded field has no operation at all.

mod codes;
mod rows;
mod unset;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use quayline_charset::Charset;
use quayline_core::{DatePattern, Moment, NodeId, Shape, TextPlace};

use crate::layout::{Encoding, FieldIndex, Layout};
use crate::{NullAs, Policies};
pub(crate) use codes::{SignCode, text_code};
pub(crate) use rows::TextTables;

/// Node of an item that no sink sees.
pub(crate) const HIDDEN: NodeId = NodeId(u32::MAX);

/// A compiled record description. Cheap to clone; one serves any number of decoders and encoders on any number of threads.
#[derive(Clone, Debug)]
pub struct RecordPlan(pub(crate) Arc<Plan>);

impl RecordPlan {
    /// Returns the shape that sinks see and sources drive.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.0.shape
    }

    /// Returns the layout from which the plan was compiled.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.0.layout
    }

    /// Bytes of a record with every table at its maximum.
    #[must_use]
    pub fn length_max(&self) -> usize {
        self.0.layout.length_max
    }

    /// Returns the field that a leaf or a list of the shape shows; `None` for a group that occurs once, a wrapper and a node added
    /// to records.
    #[must_use]
    pub fn field_of(&self, node: NodeId) -> Option<FieldIndex> {
        let target = self.0.targets.get(node.index())?;
        match (target.list, target.kind) {
            (Some(list), _) => Some(list.field),
            (None, TargetKind::Item(item)) => Some(self.0.items[item as usize].field),
            (None, _) => None,
        }
    }

    /// Returns the leaves whose values are dates.
    #[must_use]
    pub fn moments(&self) -> Vec<(NodeId, Moment)> {
        let dates = self.0.items.iter().filter(|item| item.form == ItemForm::Date && item.node != HIDDEN);
        dates.map(|item| (item.node, Moment::Date)).collect()
    }

    /// Returns the leaves for which null has bytes: by a rule of their own, or by a policy.
    #[must_use]
    pub fn leaves_with_null(&self) -> Vec<NodeId> {
        let items = self.0.items.iter().filter(|item| item.null != NullAs::Error && item.node != HIDDEN);
        items.map(|item| item.node).collect()
    }

    /// Returns the lists of the shape whose elements a leaf counts (OCCURS DEPENDING ON), each with that leaf.
    #[must_use]
    pub fn counters(&self) -> Vec<(NodeId, NodeId)> {
        let lists = (0..).map(NodeId).zip(&self.0.targets);
        let counters = lists.filter_map(|(node, target)| {
            let counter = &self.0.items[target.list?.counter? as usize];
            (counter.node != HIDDEN).then_some((node, counter.node))
        });
        counters.collect()
    }

    /// Returns the node of the member that keeps bytes which a canonical encoding would lose, with [`crate::Preserve::Yes`].
    #[must_use]
    pub fn preserve_node(&self) -> Option<NodeId> {
        self.0.preserve_node
    }

    /// Returns how many of a record's first bytes determine its length, for [`crate::RecordDecoder::length`]. Returns `None` if its
    /// length is fixed, or depends on more than counts before all tables.
    #[must_use]
    pub fn length_front(&self) -> Option<usize> {
        let tables = &self.0.slides;
        if self.0.layout.fields.iter().any(|field| field.redefines.is_some()) {
            return None;
        }
        let first = tables.iter().map(|table| table.offset).min()?;
        let counter = |table: &Slide| {
            let item = &self.0.items[table.counter? as usize];
            (table.len == 0 && table.counter_depth == 0).then_some(item.offset + item.size)
        };
        let ends: Option<Vec<usize>> = tables.iter().map(counter).collect();
        ends?.into_iter().max().filter(|end| *end <= first)
    }

    /// Returns the record of a document without members: defaults of the interface, then the policy for absent members, every table
    /// at its maximum.
    #[must_use]
    pub fn initial(&self) -> &[u8] {
        &self.0.template
    }

    /// Returns the byte that pads a record to a fixed length: the code page's space.
    #[must_use]
    pub fn pad_byte(&self) -> u8 {
        self.0.text.space
    }
}

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) layout: Layout,
    pub(crate) shape: Shape,
    pub(crate) policies: Policies,
    pub(crate) charset: Charset,
    pub(crate) text: TextCode,
    pub(crate) sign: SignCode,
    pub(crate) items: Vec<Item>,
    pub(crate) ops: Vec<Op>,
    /// Item of each operation, for places in faults.
    pub(crate) op_items: Vec<ItemIndex>,
    /// Position of each text operation; arbitrary for other operations.
    pub(crate) text_places: Vec<TextPlace>,
    /// Number of consecutive short texts from this operation on; for a table, its number in `rows` from 1, or 0.
    pub(crate) text_runs: Vec<u32>,
    /// Tables whose occurrences hold only texts.
    pub(crate) rows: TextTables,
    pub(crate) tables: Vec<Table>,
    pub(crate) unions: Vec<Union>,
    pub(crate) captures: Vec<ItemIndex>,
    /// Encoding target of each node of the shape.
    pub(crate) targets: Vec<Target>,
    /// Fields with a default of the interface.
    pub(crate) defaults: HashSet<FieldIndex>,
    /// Initial content of an encoded record: every item initialised, tables at their maximum.
    pub(crate) template: Vec<u8>,
    /// The text of the template in ASCII, and a mask of the bytes that are text; empty if text is written item by item.
    pub(crate) ascii: Vec<u8>,
    pub(crate) is_text: Vec<u8>,
    /// Walk over sliding tables that compacts an encoded record.
    pub(crate) slides: Vec<Slide>,
    /// The table at the end of the record whose missing occurrences a record of variable length leaves out, where tables do not slide.
    pub(crate) last_table: Option<LastTable>,
    /// Storage at the end of the record whose view is chosen.
    pub(crate) tails: Vec<Tail>,
    /// The operations that determine the end of a record: captures and tables that slide.
    pub(crate) extent_ops: Vec<Op>,
    /// Node of the member that keeps dirty bytes.
    pub(crate) preserve_node: Option<NodeId>,
    /// Members that say where a record comes from.
    pub(crate) origin: OriginNodes,
    /// For items whose values have names, the names and the bytes that they represent.
    pub(crate) names: HashMap<ItemIndex, Vec<(String, Vec<u8>)>>,
    /// For items whose values are dates, their form in the record.
    pub(crate) dates: HashMap<ItemIndex, Dated>,
    /// Made when a map is checked.
    pub(crate) elsewhere: OnceLock<unset::Elsewhere>,
}

impl Plan {
    /// Returns the digits of a binary's picture if the dialect limits numbers to them (`TRUNC(STD)`).
    pub(crate) fn picture_digits(&self, encoding: &Encoding) -> Option<u16> {
        picture_digits(&self.layout, encoding)
    }
}

pub(crate) fn picture_digits(layout: &Layout, encoding: &Encoding) -> Option<u16> {
    match encoding {
        Encoding::Binary { digits, full_range: false, .. } if layout.dialect.binary_truncate && *digits > 0 => {
            Some(*digits)
        }
        _ => None,
    }
}

/// Code of single characters in records.
#[derive(Debug)]
pub(crate) struct TextCode {
    /// Record byte to printable ASCII, 0xff for any other character.
    pub(crate) to_ascii: &'static [u8; 256],
    /// ASCII byte to record byte; only meaningful for `ascii_ok` bytes.
    pub(crate) from_ascii: [u8; 128],
    /// True if every printable ASCII character has a byte (false for a few national EBCDIC pages).
    pub(crate) ascii_whole: bool,
    /// Space.
    pub(crate) space: u8,
    /// Zero; digits follow it.
    pub(crate) zero: u8,
    pub(crate) plus: u8,
    pub(crate) minus: u8,
    /// ASCII to record bytes for whole records: present for a single-byte page that has all of printable ASCII.
    pub(crate) bulk: Option<&'static [u8; 256]>,
}

pub(crate) type ItemIndex = u32;

/// An elementary item as decoding and encoding need it.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) field: FieldIndex,
    pub(crate) node: NodeId,
    pub(crate) offset: usize,
    pub(crate) size: usize,
    pub(crate) encoding: Encoding,
    /// Bytes of null in it.
    pub(crate) null: NullAs,
    /// Form of its values in documents.
    pub(crate) form: ItemForm,
}

/// Form of an item's values in documents.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ItemForm {
    Plain,
    /// Documents have names for some of its values: [`Plan::names`].
    Named,
    /// Its values are dates: [`Plan::dates`].
    Date,
}

/// Storage at the end of the record whose view is chosen: a record may end with the view.
#[derive(Debug)]
pub(crate) struct Tail {
    /// The tail and its view that this one is the end of.
    pub(crate) inside: Option<(usize, usize)>,
    /// Bytes that each view is shorter than the storage, in the order of the copybook.
    pub(crate) lacks: Vec<usize>,
    pub(crate) view: TailView,
}

/// The view of a tail that a record has.
#[derive(Debug)]
pub(crate) enum TailView {
    /// The same view for every record.
    Always(usize),
    /// The view that this union chooses.
    Chosen(u32),
}

impl Plan {
    /// Bytes that a record is shorter than one with the longest view at its end.
    pub(crate) fn tail_cut(&self, mut chosen: impl FnMut(&Choice) -> Option<usize>) -> usize {
        let mut views: Vec<Option<usize>> = Vec::with_capacity(self.tails.len());
        let mut cut = 0;
        for tail in &self.tails {
            let applies = tail.inside.is_none_or(|(outer, view)| views[outer] == Some(view));
            let view = match tail.view {
                _ if !applies => None,
                TailView::Always(view) => Some(view),
                TailView::Chosen(union) => self.unions[union as usize].choice.as_ref().and_then(&mut chosen),
            };
            cut += view.map_or(0, |view| tail.lacks[view]);
            views.push(view);
        }
        cut
    }
}

impl Choice {
    /// Returns the view for a selector's value.
    pub(crate) fn view(&self, value: Option<&str>) -> Option<usize> {
        let number = value.filter(|_| self.is_number).and_then(plain_number);
        let value = number.as_deref().or(value);
        let case = value.and_then(|value| self.cases.iter().find(|(case, _)| case == value));
        case.map(|(_, view)| *view).or(self.otherwise)
    }
}

/// One step of decoding. The first variants are the common encodings, in the form of their fast path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Text padded on the right, cut by `Trim::Padding`, single-byte page.
    Text { offset: u32, size: u32, node: NodeId },
    /// Unsigned zoned, at most 16 digits.
    ZonedUnsigned { offset: u32, size: u16, scale: i16, node: NodeId },
    /// Zoned with the sign over the last digit, at most 16 digits.
    ZonedTrailing { offset: u32, size: u16, scale: i16, node: NodeId },
    /// Packed in at most 16 bytes.
    Packed { offset: u32, size: u8, pad: u8, signed: bool, scale: i16, node: NodeId },
    /// Big-endian binary of 2, 4 or 8 bytes; `digits` of the picture, or 0 for no limit.
    Binary { offset: u32, size: u8, signed: bool, digits: u8, scale: i16, node: NodeId },
    /// Any other item.
    Item(ItemIndex),
    /// A group occurrence begins.
    Enter(NodeId),
    /// A group occurrence ends.
    Leave(NodeId),
    /// The occurrences of a table: the body is the next `len` operations, the last of them `Next`.
    Loop { table: u32, len: u32 },
    /// An occurrence of the innermost table ends.
    Next,
    /// A sliding table that no field is read from.
    Skip { table: u32 },
    /// Remembers the place of an ODO counter or a selector.
    Capture { slot: u32, offset: u32 },
    /// Storage with several views, whose operations are the next `len`.
    Union { union: u32, len: u32 },
}

/// A table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// The list's node; `None` if the table is walked only for its captures or its slide.
    pub(crate) node: Option<NodeId>,
    pub(crate) max: u32,
    pub(crate) stride: usize,
    /// Captured counter of an OCCURS DEPENDING ON.
    pub(crate) counter: Option<u32>,
    /// True if the fields after the table move.
    pub(crate) slides: bool,
    pub(crate) field: FieldIndex,
    /// Offset of its first occurrence.
    pub(crate) offset: usize,
}

/// Storage with several views.
#[derive(Debug)]
pub(crate) struct Union {
    /// Views in copybook order: length in operations, and the node of an elementary one.
    pub(crate) views: Vec<View>,
    /// Selector by another field.
    pub(crate) choice: Option<Choice>,
    /// The union and view around it, innermost.
    pub(crate) inside: Option<(u32, u32)>,
    /// Lists around it.
    pub(crate) depth: u32,
}

#[derive(Debug)]
pub(crate) struct View {
    pub(crate) field: FieldIndex,
    pub(crate) len: u32,
    /// For an elementary view that occurs once, its node, which is null if the bytes do not fit.
    pub(crate) scalar: Option<NodeId>,
    /// Initial bytes of the view, if they differ from those of the template.
    pub(crate) initial: Option<Box<[u8]>>,
}

/// A table at the end of the record in a dialect without sliding: the length of a record that a program writes to a file of variable
/// length ends with the last occurrence that the counter gives. Source: GnuCOBOL, variable sequential files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastTable {
    /// Captured counter.
    pub(crate) counter: u32,
    pub(crate) max: u32,
    pub(crate) stride: usize,
}

#[derive(Debug)]
pub(crate) struct Choice {
    /// Captured selector.
    pub(crate) slot: u32,
    /// Lists around the selector.
    pub(crate) depth: u32,
    /// Trimmed text, or number in its plain form, and index of the view.
    pub(crate) cases: Vec<(String, usize)>,
    /// True if the selector is a number.
    pub(crate) is_number: bool,
    pub(crate) otherwise: Option<usize>,
}

/// Nodes of [`crate::OriginMembers`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OriginNodes {
    pub(crate) number: Option<NodeId>,
    pub(crate) parent: Option<NodeId>,
    pub(crate) file: Option<NodeId>,
}

/// Encoding target of a node.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) kind: TargetKind,
    /// Occurrences, for a list.
    pub(crate) list: Option<ListTarget>,
    /// The union and view the node belongs to, innermost.
    pub(crate) view: Option<(u32, u32)>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TargetKind {
    Group,
    Item(ItemIndex),
    /// Read and dropped: RENAMES, and where a record comes from.
    Ignored,
    /// The `_preserve` member.
    Preserve,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ListTarget {
    pub(crate) field: FieldIndex,
    pub(crate) max: u32,
    pub(crate) stride: usize,
    /// Item index of the counter.
    pub(crate) counter: Option<ItemIndex>,
    /// Number of lists around the counter.
    pub(crate) counter_depth: u32,
}

/// One table on the walk that compacts an encoded record: its children are the next `len` entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slide {
    pub(crate) offset: usize,
    pub(crate) stride: usize,
    pub(crate) max: u32,
    pub(crate) counter: Option<ItemIndex>,
    /// Lists that enclose the counter.
    pub(crate) counter_depth: u32,
    pub(crate) len: u32,
}

/// An item whose values are dates.
#[derive(Debug)]
pub(crate) struct Dated {
    pub(crate) pattern: DatePattern,
    /// Bytes of null, if a rule or policy defines them.
    pub(crate) null: Option<Vec<u8>>,
}

/// Removes superfluous zeros from a number, for comparisons; `None` for other text.
pub(crate) fn plain_number(text: &str) -> Option<String> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && decimals.is_empty() || !whole.bytes().chain(decimals.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (whole, decimals) = (whole.trim_start_matches('0'), decimals.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if decimals.is_empty() { "" } else { "." };
    let sign = if is_negative && (whole, decimals) != ("0", "") { "-" } else { "" };
    Some(format!("{sign}{whole}{point}{decimals}"))
}
