//! Rows of a batch as events.

use arrow_array::cast::AsArray as _;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Schema};
use quayline_core::{Code, Fault, Finding, Findings, NodeId, NodeKind, Occurs, Place, Shape, Sink, Value};

use super::bind::{Bind, BindKind, Bound, From, bind};
use super::column::{Column, Offsets, Scratch};

/// Treatment of columns that the shape does not have.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum UnknownColumn {
    /// Report an error, since a name is usually misspelled.
    #[default]
    Error,
    /// Skip the columns.
    Ignore,
}

/// Sends rows as documents of a shape. One per lane.
#[derive(Clone, Debug)]
pub struct RowSource {
    members: Vec<Bind>,
    warnings: Vec<Finding>,
    /// A required leaf without a column: every row is refused.
    missing: Option<NodeId>,
}

impl RowSource {
    /// Binds the columns of a file to the nodes of a shape by their names.
    ///
    /// # Errors
    /// Columns that are unknown (`COL-037`), of another kind than their node (`COL-040`), or of a type that is not supported
    /// (`COL-034`), all at once; and a file of which no column is a field (`COL-038`).
    pub fn new(schema: &Schema, shape: &Shape, unknown: UnknownColumn) -> Result<RowSource, Findings> {
        let Bound { members, warnings } = bind(schema, shape, unknown)?;
        Ok(RowSource { members, warnings, missing: None })
    }

    /// Refuses rows without a value for a leaf that occurs once, outside of groups and lists (`COL-044`). A layout declares such leaves.
    #[must_use]
    pub fn with_required(mut self, shape: &Shape) -> RowSource {
        let is_required = |node: NodeId| {
            let node = shape.node(node);
            node.occurs == Occurs::Once && matches!(node.kind, NodeKind::Scalar(_))
        };
        self.members.iter_mut().for_each(|bind| bind.required = is_required(bind.node));
        let mut leaves = shape.children(NodeId::ROOT).filter(|node| is_required(*node));
        self.missing = leaves.find(|leaf| self.members.iter().all(|bind| bind.node != *leaf));
        self
    }

    /// Returns the warnings about the columns: fields without one (`COL-039`).
    #[must_use]
    pub fn warnings(&self) -> &[Finding] {
        &self.warnings
    }

    /// Returns the rows of a batch, whose columns are those of the schema given to [`RowSource::new`].
    #[must_use]
    pub fn rows<'a>(&'a self, batch: &'a RecordBatch) -> Rows<'a> {
        let views = self.members.iter().map(|bind| View::of_member(bind, batch.columns())).collect();
        Rows { members: &self.members, views, scratch: Scratch::default(), missing: self.missing }
    }
}

/// The rows of one batch.
pub struct Rows<'a> {
    members: &'a [Bind],
    views: Vec<View<'a>>,
    scratch: Scratch,
    missing: Option<NodeId>,
}

impl Rows<'_> {
    /// Sends one row.
    ///
    /// # Errors
    /// [`RowFault`] for a value that the sink's documents cannot represent. The row was sent without it, so the caller must discard the document.
    pub fn send<S: Sink>(&mut self, row: usize, sink: &mut S) -> Result<(), RowFault> {
        let mut walk = Walk { scratch: &mut self.scratch, sink, fault: self.missing.map(RowFault::Missing) };
        walk.sink.enter(NodeId::ROOT);
        walk.each(self.members, &self.views, row);
        walk.sink.leave(NodeId::ROOT);
        walk.fault.map_or(Ok(()), Err)
    }
}

/// The arrays of a node in one batch.
enum View<'a> {
    Leaf(Column<'a>),
    Group {
        nulls: Option<&'a NullBuffer>,
        members: Vec<View<'a>>,
    },
    Leaves {
        nulls: Option<&'a NullBuffer>,
        offsets: Offsets<'a>,
        leaf: Column<'a>,
    },
    Groups {
        nulls: Option<&'a NullBuffer>,
        offsets: Offsets<'a>,
        item_nulls: Option<&'a NullBuffer>,
        members: Vec<View<'a>>,
    },
}

impl<'a> View<'a> {
    fn of_member(bind: &Bind, columns: &'a [ArrayRef]) -> View<'a> {
        match bind.from {
            From::Member(at) => View::of(bind, &columns[at]),
            From::Itself => View::of(bind, &columns[0]),
        }
    }

    /// Creates the view of an array that is bound to a node.
    ///
    /// # Panics
    /// If the array has another type than the column of the schema, which the readers rule out.
    fn of(bind: &Bind, array: &'a ArrayRef) -> View<'a> {
        let members_of = |members: &[Bind], columns: &'a [ArrayRef]| -> Vec<View<'a>> {
            members.iter().map(|member| View::of_member(member, columns)).collect()
        };
        match &bind.kind {
            BindKind::Leaf => View::Leaf(Column::of(array).expect("a leaf was bound to a column of values")),
            BindKind::Group(members) => {
                View::Group { nulls: array.nulls(), members: members_of(members, array.as_struct().columns()) }
            }
            BindKind::Leaves => {
                let (offsets, items, _) = items(array);
                let leaf = Column::of(&items[0]).expect("a list of leaves was bound to a list of values");
                View::Leaves { nulls: array.nulls(), offsets, leaf }
            }
            BindKind::Groups(members) => {
                let (offsets, items, item_nulls) = items(array);
                View::Groups { nulls: array.nulls(), offsets, item_nulls, members: members_of(members, items) }
            }
        }
    }
}

/// Returns the ranges of a list's elements; their members, or the elements themselves if they are not structs; and which structs
/// are null.
fn items(array: &ArrayRef) -> (Offsets<'_>, &[ArrayRef], Option<&NullBuffer>) {
    let (offsets, values) = match array.data_type() {
        DataType::Map(..) => {
            let map = array.as_map();
            return (Offsets::Small(map.offsets()), map.entries().columns(), map.entries().nulls());
        }
        DataType::List(_) => (Offsets::Small(array.as_list::<i32>().offsets()), array.as_list::<i32>().values()),
        DataType::LargeList(_) => (Offsets::Large(array.as_list::<i64>().offsets()), array.as_list::<i64>().values()),
        DataType::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).unwrap_or(0);
            (Offsets::Fixed(size), array.as_fixed_size_list().values())
        }
        other => unreachable!("a list was bound to a column of {other}"),
    };
    match values.data_type() {
        DataType::Struct(_) => (offsets, values.as_struct().columns(), values.nulls()),
        // A list in a list is its own only member.
        _ => (offsets, core::slice::from_ref(values), None),
    }
}

/// State while one row is sent.
struct Walk<'w, S> {
    scratch: &'w mut Scratch,
    sink: &'w mut S,
    fault: Option<RowFault>,
}

impl<S: Sink> Walk<'_, S> {
    fn each(&mut self, members: &[Bind], views: &[View<'_>], row: usize) {
        for (bind, view) in members.iter().zip(views) {
            self.member(bind, view, row);
        }
    }

    fn member(&mut self, bind: &Bind, view: &View<'_>, row: usize) {
        let is_null = |nulls: &Option<&NullBuffer>, row| nulls.is_some_and(|nulls| nulls.is_null(row));
        match (&bind.kind, view) {
            (BindKind::Leaf, View::Leaf(column)) => match column.value(row, self.scratch) {
                Value::Null if bind.optional => {}
                value => {
                    if bind.required && matches!(value, Value::Null) {
                        self.fault = Some(RowFault::Missing(bind.node));
                    }
                    let value = finite::<S>(bind.node, value, &mut self.fault);
                    self.sink.value(bind.node, value);
                    if !column.has_time_of_day(row) {
                        self.fault = Some(RowFault::NotTime(bind.node));
                    }
                }
            },
            (BindKind::Group(members), View::Group { nulls, members: views }) => {
                if !is_null(nulls, row) {
                    self.sink.enter(bind.node);
                    self.each(members, views, row);
                    self.sink.leave(bind.node);
                } else if !bind.optional {
                    self.sink.null_branch(bind.node);
                }
            }
            (BindKind::Leaves, View::Leaves { nulls, offsets, leaf }) if !is_null(nulls, row) => {
                self.sink.open_list(bind.node);
                for at in offsets.of_row(row) {
                    let value = finite::<S>(bind.node, leaf.value(at, self.scratch), &mut self.fault);
                    self.sink.value(bind.node, value);
                    if !leaf.has_time_of_day(at) {
                        self.fault = Some(RowFault::NotTime(bind.node));
                    }
                }
                self.sink.close_list(bind.node);
            }
            (BindKind::Groups(members), View::Groups { nulls, offsets, item_nulls, members: views })
                if !is_null(nulls, row) =>
            {
                self.sink.open_list(bind.node);
                for at in offsets.of_row(row) {
                    self.sink.enter(bind.node);
                    if is_null(item_nulls, at) {
                        self.fault = Some(RowFault::NullElement(bind.node));
                    } else {
                        self.each(members, views, at);
                    }
                    self.sink.leave(bind.node);
                }
                self.sink.close_list(bind.node);
            }
            (BindKind::Leaves, View::Leaves { .. }) | (BindKind::Groups(_), View::Groups { .. }) => {}
            _ => unreachable!("views are made by the kinds of their nodes"),
        }
    }
}

/// Reason why a row cannot become a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RowFault {
    /// `COL-041`: a list has a null in the place of a struct.
    NullElement(NodeId),
    /// `COL-042`: a float is an infinity or no number, and the sink has no such values.
    NotFinite(NodeId),
    /// `COL-043`: a time is before midnight or after the end of the day.
    NotTime(NodeId),
    /// `COL-044`: a field that the layout requires has no value.
    Missing(NodeId),
}

impl RowFault {
    /// Returns the fault as a finding.
    #[must_use]
    pub fn finding(self, shape: &Shape) -> Finding {
        let (code, node, message, hint) = match self {
            RowFault::NullElement(node) => (
                Code("COL-041"),
                node,
                "an element of the list is null, expected a struct",
                "leave such elements out in the program that writes the file",
            ),
            RowFault::NotFinite(node) => (
                Code("COL-042"),
                node,
                "the float is an infinity or NaN, expected a number",
                "write null instead in the program that writes the file, or convert to Parquet or Arrow, which have such floats",
            ),
            RowFault::NotTime(node) => (
                Code("COL-043"),
                node,
                "no day has the time of the column, expected at least 0 and less than 24 hours",
                "correct it in the program that writes the file",
            ),
            RowFault::Missing(node) => (
                Code("COL-044"),
                node,
                "the column has no value, and the layout requires one",
                "fill the column, or leave `required` out for this field in the layout",
            ),
        };
        let place = Place { path: Some(shape.path(node)), ..Place::default() };
        Finding::error(code, Fault::Sender, message).at(place).hint(hint)
    }
}

/// Passes a value on, or null and a fault for a float that the sink cannot represent.
#[inline(always)]
fn finite<'v, S: Sink>(node: NodeId, value: Value<'v>, fault: &mut Option<RowFault>) -> Value<'v> {
    let is_odd = match value {
        Value::Float32(x) => !x.is_finite(),
        Value::Float64(x) => !x.is_finite(),
        _ => false,
    };
    if S::TAKES_NOT_FINITE || !is_odd {
        return value;
    }
    *fault = Some(RowFault::NotFinite(node));
    Value::Null
}
