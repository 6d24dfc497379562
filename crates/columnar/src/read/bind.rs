//! Columns bound to the nodes of a shape, by name.

use arrow_schema::{DataType, Field, Fields, Schema};
use quayline_core::{
    Code, Fault, Finding, Findings, NodeId, NodeKind, Occurs, PRESERVE, PRESERVE_REMEDY, Place, Severity, Shape,
    nearest,
};

use super::shape::{ELEMENT, Kind, kind, not_read, same_name};
use super::walk::UnknownColumn;

/// A node and the column of its values.
#[derive(Clone, Debug)]
pub(super) struct Bind {
    pub(super) node: NodeId,
    pub(super) from: From,
    /// Whether it may be absent. A null then means absent.
    pub(super) optional: bool,
    /// Whether a null is refused.
    pub(super) required: bool,
    pub(super) kind: BindKind,
}

/// Place of a node's column.
#[derive(Clone, Copy, Debug)]
pub(super) enum From {
    /// A member of the struct, or a column of the file.
    Member(usize),
    /// The element of the list itself: a list in a list has no name.
    Itself,
}

#[derive(Clone, Debug)]
pub(super) enum BindKind {
    Leaf,
    Group(Vec<Bind>),
    /// A list of leaves.
    Leaves,
    /// A list of groups with these members.
    Groups(Vec<Bind>),
}

/// Columns bound to a shape, with the warnings about them.
pub(super) struct Bound {
    pub(super) members: Vec<Bind>,
    pub(super) warnings: Vec<Finding>,
}

pub(super) fn bind(schema: &Schema, shape: &Shape, unknown: UnknownColumn) -> Result<Bound, Findings> {
    let mut binder = Binder { shape, unknown, errors: Vec::new(), missing: Vec::new(), ignored: 0 };
    let members = binder.members(schema.fields(), NodeId::ROOT);
    if !binder.errors.is_empty() {
        return Err(Findings(binder.errors));
    }
    if members.is_empty() {
        let finding = Finding::error(Code("COL-038"), Fault::Config, "no column of the file is a field");
        return Err(finding.hint("compare the names; --key-style writes those of a copybook another way").into());
    }
    let mut warnings = Vec::new();
    if binder.ignored > 0 {
        let message = match binder.ignored {
            1 => "1 column is left out: the record has no field for it".to_owned(),
            many => format!("{many} columns are left out: the record has no field for them"),
        };
        let mut note = Finding::warning(Code("COL-037"), Fault::Config, message);
        note.severity = Severity::Note;
        warnings.push(note.hint("describe them to keep them; without `--unknown ignore`, a finding names each"));
    }
    if !binder.missing.is_empty() {
        const SHOWN: usize = 10;
        let more = binder.missing.len().saturating_sub(SHOWN);
        let mut names = binder.missing[..binder.missing.len() - more].join(", ");
        if more > 0 {
            names.push_str(&format!(" and {more} more"));
        }
        let finding = Finding::warning(Code("COL-039"), Fault::Config, format!("the file has no column for {names}"));
        warnings.push(finding.hint("exclude the fields in the interface file if they are not to be read; otherwise each document is without them"));
    }
    Ok(Bound { members, warnings })
}

struct Binder<'s> {
    shape: &'s Shape,
    unknown: UnknownColumn,
    errors: Vec<Finding>,
    missing: Vec<String>,
    /// Columns that are left out.
    ignored: usize,
}

impl Binder<'_> {
    /// Binds the members of a group that have columns, in the order of the shape.
    fn members(&mut self, fields: &Fields, group: NodeId) -> Vec<Bind> {
        for field in fields.iter().filter(|field| self.shape.child(group, field.name()).is_none()) {
            match self.unknown {
                UnknownColumn::Error => self.unknown(group, field),
                UnknownColumn::Ignore => self.ignored += 1,
            }
        }
        let children: Vec<NodeId> = self.shape.children(group).collect();
        let mut members = Vec::new();
        for child in children {
            let node = self.shape.node(child);
            let mut named = fields.iter().enumerate().filter(|(_, field)| *field.name() == node.name);
            match (named.next(), named.next()) {
                (Some((at, field)), None) => members.extend(self.member(child, From::Member(at), field)),
                (Some(_), Some(_)) => {
                    self.errors.push(same_name(self.shape.path(child)));
                }
                // An optional leaf of the first level is a column that the user named.
                (None, _)
                    if (node.occurs != Occurs::Optional || group == NodeId::ROOT && node.scalar().is_some())
                        && self.has_leaf(child) =>
                {
                    self.missing.push(self.shape.path(child));
                }
                (None, _) => {}
            }
        }
        members
    }

    fn member(&mut self, node: NodeId, from: From, field: &Field) -> Option<Bind> {
        let occurs = self.shape.node(node).occurs;
        let is_group = self.shape.node(node).kind == NodeKind::Group;
        let Some(found) = kind(field.data_type()) else {
            self.errors.push(not_read(self.shape.path(node), field.data_type()));
            return None;
        };
        let kind = match (occurs, is_group, found) {
            (Occurs::Once | Occurs::Optional, false, Kind::Leaf(_)) => BindKind::Leaf,
            (Occurs::Once | Occurs::Optional, true, Kind::Group(fields)) => BindKind::Group(self.members(fields, node)),
            (Occurs::Many { .. }, _, Kind::List(item)) => self.list(node, is_group, item)?,
            _ => {
                self.mismatch(node, field.data_type());
                return None;
            }
        };
        Some(Bind { node, from, optional: occurs == Occurs::Optional, required: false, kind })
    }

    fn list(&mut self, node: NodeId, is_group: bool, item: &Field) -> Option<BindKind> {
        match (is_group, kind(item.data_type())) {
            (false, Some(Kind::Leaf(_))) => Some(BindKind::Leaves),
            (true, Some(Kind::Group(fields))) => Some(BindKind::Groups(self.members(fields, node))),
            (true, Some(Kind::List(_))) if self.shape.child(node, ELEMENT).is_some() => {
                let element = self.shape.child(node, ELEMENT)?;
                Some(BindKind::Groups(self.member(element, From::Itself, item).into_iter().collect()))
            }
            (_, None) => {
                self.errors.push(not_read(self.shape.path(node), item.data_type()));
                None
            }
            _ => {
                self.mismatch(node, item.data_type());
                None
            }
        }
    }

    fn mismatch(&mut self, node: NodeId, found: &DataType) {
        let expected = match (self.shape.node(node).is_list(), self.shape.node(node).kind == NodeKind::Group) {
            (true, true) => "a list of structs",
            (true, false) => "a list of values",
            (false, true) => "a struct",
            (false, false) => "a value",
        };
        let found = match kind(found) {
            Some(Kind::Group(_)) => "a struct".to_owned(),
            Some(Kind::List(_)) => "a list".to_owned(),
            Some(Kind::Leaf(_)) | None => found.to_string(),
        };
        let finding =
            Finding::error(Code("COL-040"), Fault::Config, format!("the column is {found}, expected {expected}"));
        self.error(node, finding.hint("use the copybook and interface file that the file was written by"));
    }

    fn unknown(&mut self, group: NodeId, field: &Field) {
        let names: Vec<&str> = self.shape.children(group).map(|child| self.shape.node(child).name.as_str()).collect();
        let alike = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
        let by_style = names.iter().copied().find(|name| alike(name) == alike(field.name()));
        let hint = match by_style.or_else(|| nearest(field.name(), names.iter().copied())) {
            Some(name) if by_style.is_some() => {
                format!(
                    "the field is named {name}: --key-style selects how names are written; --unknown ignore passes such columns over"
                )
            }
            _ if field.name() == PRESERVE => PRESERVE_REMEDY.to_owned(),
            Some(name) => format!("the nearest field is {name}; --unknown ignore passes such columns over"),
            None => "--unknown ignore passes such columns over".to_owned(),
        };
        let path = match self.shape.path(group) {
            path if path.is_empty() => field.name().clone(),
            path => format!("{path}.{}", field.name()),
        };
        let finding = Finding::error(Code("COL-037"), Fault::Config, "the column is not a field of the record");
        self.errors.push(finding.at(Place { path: Some(path), ..Place::default() }).hint(hint));
    }

    fn error(&mut self, node: NodeId, finding: Finding) {
        let path = Some(self.shape.path(node));
        self.errors.push(finding.at(Place { path, ..Place::default() }));
    }

    fn has_leaf(&self, node: NodeId) -> bool {
        let end = self.shape.node(node).subtree_end;
        (node.0..end.0).any(|id| self.shape.node(NodeId(id)).scalar().is_some())
    }
}
