//! A shape compiled to columns: Arrow schema and the kind of every leaf.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use quayline_core::{Code, Fault, Finding, Findings, Limits, Moment, NodeId, NodeKind, Occurs, Place, Scalar, Shape};

use crate::number::Precision;

/// Layout of columns, and the size of a full batch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ColumnOptions {
    /// Whether groups that occur once are structs.
    pub nesting: Nesting,
    /// Form of text until the batch leaves.
    pub text: TextStore,
    /// Rows of a batch, also of a Parquet page. Default 16,384: pages stay within the second-level cache, and readers prune by page.
    pub batch_rows_max: usize,
    /// Bytes of a batch's buffers, a goal met within one document. Default 2 MiB, for the same reason.
    pub batch_bytes_max: usize,
    /// Text leaves that are columns of dates or timestamps.
    pub moments: Vec<(NodeId, Moment)>,
    /// Most columns and other limits.
    pub limits: Limits,
}

impl Default for ColumnOptions {
    fn default() -> Self {
        ColumnOptions {
            nesting: Nesting::default(),
            text: TextStore::default(),
            batch_rows_max: 16_384,
            batch_bytes_max: 2 << 20,
            moments: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// Treatment of groups that occur once.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Nesting {
    /// The elements are structs.
    #[default]
    Struct,
    /// Outside lists, their members are in the parent, named `GROUP_MEMBER`. Optional groups stay structs, because they may be
    /// null.
    Flat,
}

/// Form of a text column until the batch leaves.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum TextStore {
    /// Each distinct value once, and a key for each row, until there are too many distinct values: for Parquet.
    #[default]
    Interned,
    /// Values one after another: for Arrow.
    Plain,
}

/// Type of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LeafKind {
    Number { width: Width, precision: Precision, integer: bool },
    Float32,
    Float64,
    Bool,
    Text,
    Bytes,
    Moment(Moment),
}

/// Bits of the integers in a column of numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Width {
    W32,
    W64,
    W128,
    W256,
}

impl LeafKind {
    fn of(scalar: &Scalar) -> Option<LeafKind> {
        Some(match *scalar {
            Scalar::Text { .. } => LeafKind::Text,
            Scalar::Float32 => LeafKind::Float32,
            Scalar::Float64 => LeafKind::Float64,
            Scalar::Bool => LeafKind::Bool,
            Scalar::Bytes { .. } => LeafKind::Bytes,
            Scalar::Decimal { digits, scale, .. } => {
                let digits = i32::from(digits.max(1)) - i32::from(scale.min(0));
                let digits = u8::try_from(digits.max(scale.into())).ok().filter(|digits| *digits <= 76)?;
                let scale = u8::try_from(scale.max(0)).ok()?;
                let width = match digits {
                    ..=9 => Width::W32,
                    10..=18 => Width::W64,
                    19..=38 => Width::W128,
                    39.. => Width::W256,
                };
                LeafKind::Number { width, precision: Precision { digits, scale }, integer: scale == 0 && digits <= 18 }
            }
        })
    }

    pub(crate) fn data_type(self) -> DataType {
        match self {
            LeafKind::Number { integer: true, width: Width::W32, .. } => DataType::Int32,
            LeafKind::Number { integer: true, .. } => DataType::Int64,
            LeafKind::Number { width: Width::W256, precision, .. } => {
                DataType::Decimal256(precision.digits, precision.scale.cast_signed())
            }
            LeafKind::Number { precision, .. } => DataType::Decimal128(precision.digits, precision.scale.cast_signed()),
            LeafKind::Float32 => DataType::Float32,
            LeafKind::Float64 => DataType::Float64,
            LeafKind::Bool => DataType::Boolean,
            LeafKind::Text => DataType::Utf8,
            LeafKind::Bytes => DataType::Binary,
            LeafKind::Moment(Moment::Date) => DataType::Date32,
            LeafKind::Moment(Moment::Timestamp) => DataType::Timestamp(TimeUnit::Microsecond, None),
        }
    }

    pub(crate) fn is_moment(self) -> bool {
        matches!(self, LeafKind::Moment(_))
    }

    /// Describes the type for a message.
    pub(crate) fn words(self) -> String {
        match self {
            LeafKind::Number { width: Width::W32, integer: true, .. } => "an integer of 32 bits".to_owned(),
            LeafKind::Number { integer: true, .. } => "an integer of 64 bits".to_owned(),
            LeafKind::Number { precision: Precision { digits, scale: 0 }, .. } => {
                format!("an integer of up to {digits} digits")
            }
            LeafKind::Number { precision: Precision { digits, scale }, .. } => {
                format!("a number of up to {digits} digits, {scale} of them decimals")
            }
            LeafKind::Float32 | LeafKind::Float64 => "a number".to_owned(),
            LeafKind::Bool => "a truth value".to_owned(),
            LeafKind::Text => "text".to_owned(),
            LeafKind::Bytes => "bytes".to_owned(),
            LeafKind::Moment(moment) => moment.form().to_owned(),
        }
    }
}

/// A node as the sink sees it.
#[derive(Clone, Debug)]
pub(crate) struct NodePlan {
    pub(crate) name: String,
    pub(crate) parent: Option<NodeId>,
    /// Nodes in one occurrence of this group, without those that have no column.
    pub(crate) children: Vec<NodeId>,
    /// `None` for groups.
    pub(crate) leaf: Option<LeafKind>,
    pub(crate) list: bool,
    /// A group that may be absent.
    pub(crate) optional: bool,
    /// Whether the group has any leaf, directly or below.
    pub(crate) present: bool,
    /// True for a group whose members are columns of the enclosing level instead of a struct.
    pub(crate) flattened: bool,
}

/// A shape compiled to columns.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) schema: SchemaRef,
    pub(crate) nodes: Vec<NodePlan>,
    pub(crate) options: ColumnOptions,
}

impl Plan {
    pub(crate) fn new(shape: &Shape, options: &ColumnOptions) -> Result<Plan, Findings> {
        let mut findings = Vec::new();
        let mut nodes = nodes(shape, options, &mut findings);
        for at in (0..nodes.len()).rev() {
            let node = &nodes[at];
            if let (true, Some(parent)) = (node.present, node.parent) {
                nodes[parent.index()].present = true;
            }
        }
        let present: Vec<bool> = nodes.iter().map(|node| node.present).collect();
        for node in &mut nodes {
            node.children.retain(|child| present[child.index()]);
        }
        let columns = nodes.iter().filter(|node| node.leaf.is_some()).count();
        if columns == 0 && findings.is_empty() {
            findings.push(
                Finding::error(Code("COL-003"), Fault::Config, "the record has no field that becomes a column")
                    .hint("include at least one field in the interface file"),
            );
        }
        if columns > options.limits.columns_max {
            findings.push(
                Finding::error(
                    Code("COL-004"),
                    Fault::Config,
                    format!("the record has {columns} columns, the limit is {}", options.limits.columns_max),
                )
                .hint("exclude fields in the interface file or allow more with `--limit columns=N`"),
            );
        }
        let mut plan = Plan { schema: Arc::new(Schema::empty()), nodes, options: options.clone() };
        let mut fields = Vec::new();
        plan.fields(NodeId::ROOT, "", &mut fields);
        let mut seen = HashSet::new();
        for field in &fields {
            if !seen.insert(field.name().as_str()) {
                findings.push(
                    Finding::error(Code("COL-002"), Fault::Config, format!("two columns are named {}", field.name()))
                        .hint("rename one of the fields in the interface file, or keep groups as structs"),
                );
            }
        }
        plan.schema = Arc::new(Schema::new(fields.clone()));
        if findings.is_empty() { Ok(plan) } else { Err(Findings(findings)) }
    }

    /// Fields of a group's members; those of flattened groups are prefixed.
    fn fields(&self, group: NodeId, prefix: &str, fields: &mut Vec<Field>) {
        for &child in &self.nodes[group.index()].children {
            let node = &self.nodes[child.index()];
            let name = format!("{prefix}{}", node.name);
            if node.flattened {
                self.fields(child, &format!("{name}_"), fields);
            } else if node.list {
                let element = Field::new("element", self.element_type(child), node.leaf.is_some());
                fields.push(Field::new(name, DataType::List(Arc::new(element)), true));
            } else {
                fields.push(Field::new(name, self.element_type(child), node.leaf.is_some() || node.optional));
            }
        }
    }

    fn element_type(&self, node: NodeId) -> DataType {
        self.nodes[node.index()].leaf.map_or_else(
            || {
                let mut fields = Vec::new();
                self.fields(node, "", &mut fields);
                DataType::Struct(Fields::from(fields))
            },
            LeafKind::data_type,
        )
    }
}

fn nodes(shape: &Shape, options: &ColumnOptions, findings: &mut Vec<Finding>) -> Vec<NodePlan> {
    let mut nodes: Vec<NodePlan> = Vec::with_capacity(shape.len());
    for (id, node) in shape.iter() {
        let leaf = match &node.kind {
            NodeKind::Group => None,
            NodeKind::Scalar(scalar) => {
                let moment = options.moments.iter().find(|(leaf, _)| *leaf == id);
                let kind = moment.map_or_else(|| LeafKind::of(scalar), |(_, moment)| Some(LeafKind::Moment(*moment)));
                if kind.is_none() {
                    findings.push(too_precise(shape, id, scalar));
                }
                kind
            }
        };
        let parent_flat = node.parent.is_none_or(|parent| {
            let parent: &NodePlan = &nodes[parent.index()];
            parent.flattened || parent.parent.is_none()
        });
        nodes.push(NodePlan {
            name: node.name.clone(),
            parent: node.parent,
            children: shape.children(id).collect(),
            leaf,
            list: node.is_list(),
            optional: node.occurs == Occurs::Optional,
            present: leaf.is_some(),
            flattened: options.nesting == Nesting::Flat
                && node.kind == NodeKind::Group
                && node.occurs == Occurs::Once
                && node.parent.is_some()
                && parent_flat,
        });
    }
    nodes
}

fn too_precise(shape: &Shape, id: NodeId, scalar: &Scalar) -> Finding {
    let found = match scalar {
        Scalar::Decimal { digits, scale, .. } => format!("{digits} digits with scale {scale}"),
        _ => "another type".to_owned(),
    };
    Finding::error(Code("COL-001"), Fault::Config, format!("a decimal column holds at most 76 digits, found {found}"))
        .at(Place { path: Some(shape.path(id)), ..Place::default() })
        .hint("exclude the field, or show it as text in the interface file")
}
