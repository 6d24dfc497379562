//! Record types: the description for each record, and the nesting of records.

use quayline_cobol::RecordPlan;
use quayline_core::{Moment, NodeId};
use quayline_frame::Edges;

use crate::schema::chooser::Test;

/// The record types of a file, compiled.
#[derive(Debug)]
pub struct RecordTypes {
    /// Types in the order of the interface file: parents before their children.
    pub(crate) types: Vec<RecordTypePlan>,
    pub(crate) unmatched: Unmatched,
    pub(crate) edges: Edges,
    /// True if any type has a parent, so that documents hold several records.
    pub(crate) nested: bool,
    /// True if a layout file with fixed fields describes the records.
    pub(crate) of_layout: bool,
}

/// One record type.
#[derive(Debug)]
pub(crate) struct RecordTypePlan {
    pub(crate) tests: Vec<Test>,
    pub(crate) kind: TypeKind,
}

/// Treatment of records of a type.
#[derive(Debug)]
pub(crate) enum TypeKind {
    /// Records are skipped.
    Skip,
    Record {
        plan: RecordPlan,
        /// Name of the group.
        name: String,
        /// True if the type sets the field that says the type.
        is_set: bool,
        /// The type's group in the shape of the documents: node `n` of the plan's own shape is node `group + n` there.
        group: NodeId,
        /// Index of the type it is nested in.
        parent: Option<usize>,
        /// Indices of the types nested in it.
        children: Vec<usize>,
    },
}

/// Treatment of a record that matches no type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unmatched {
    Reject,
    Skip,
    Type(usize),
}

/// Description of a record of unknown type, for messages.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownType {
    /// The value that the record has, and where.
    pub value: String,
    /// The values that are known.
    pub known: String,
    /// How to make the value known, in the terms of the file that describes the records.
    pub remedy: &'static str,
}

impl UnknownType {
    const PLACES_MAX: usize = 3;
    const KNOWN_MAX: usize = 20;
}

/// The type of a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Found {
    /// A type that becomes a document or a part of one: its index.
    Type(usize),
    /// A type that is left out.
    Skip,
    /// The record matches no type, and such records are left out.
    SkipUnknown,
    /// The record matches no type.
    Unknown,
}

impl RecordTypes {
    /// Number of types; their indices follow the order of the interface file.
    #[must_use]
    pub fn count(&self) -> usize {
        self.types.len()
    }

    /// Records at the file's ends that belong to no type.
    #[must_use]
    pub fn edges(&self) -> Edges {
        self.edges
    }

    /// Returns true if any type has a parent, so that documents hold several records.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        self.nested
    }

    /// Returns the leaves of the documents whose values are dates.
    pub(crate) fn moments(&self) -> Vec<(NodeId, Moment)> {
        let of_type = |of_type: &RecordTypePlan| match &of_type.kind {
            TypeKind::Skip => Vec::new(),
            TypeKind::Record { plan, group, .. } => {
                let in_document = |(leaf, moment): (NodeId, Moment)| (NodeId(group.0 + leaf.0), moment);
                plan.moments().into_iter().map(in_document).collect()
            }
        };
        self.types.iter().flat_map(of_type).collect()
    }

    /// Returns the description of the record that a leaf of the documents is in, and the type's group.
    pub(crate) fn record_of(&self, leaf: NodeId) -> Option<(&RecordPlan, NodeId)> {
        self.types.iter().find_map(|of_type| match &of_type.kind {
            TypeKind::Record { plan, group, .. } => {
                let nodes = u32::try_from(plan.shape().len()).unwrap_or(u32::MAX);
                (group.0..group.0.saturating_add(nodes)).contains(&leaf.0).then_some((plan, *group))
            }
            TypeKind::Skip => None,
        })
    }

    /// Finds the type of a record.
    #[must_use]
    pub fn find(&self, record: &[u8]) -> Found {
        let fits = |t: &RecordTypePlan| t.tests.iter().any(|test| test.fits(record));
        let index = match (self.types.iter().position(fits), self.unmatched) {
            (Some(index), _) | (None, Unmatched::Type(index)) => index,
            (None, Unmatched::Skip) => return Found::SkipUnknown,
            (None, Unmatched::Reject) => return Found::Unknown,
        };
        match self.types[index].kind {
            TypeKind::Skip => Found::Skip,
            TypeKind::Record { .. } => Found::Type(index),
        }
    }

    /// Describes the content that a record of unknown type has at the position of the discriminator.
    #[must_use]
    pub fn unknown(&self, record: &[u8]) -> UnknownType {
        let mut places: Vec<&Test> = Vec::new();
        for test in self.types.iter().flat_map(|of_type| &of_type.tests) {
            if !places.iter().any(|known| known.place() == test.place()) {
                places.push(test);
            }
        }
        let value = |test: &&Test| {
            let (offset, length) = test.place();
            let bytes = if length == 1 { "byte" } else { "bytes" };
            format!("`{}` ({length} {bytes} from byte {offset} on)", test.shown(record))
        };
        let values: Vec<String> = places.iter().take(UnknownType::PLACES_MAX).map(value).collect();
        let written = self.types.iter().flat_map(|of_type| &of_type.tests).flat_map(Test::written);
        let mut known: Vec<&str> = written.map(String::as_str).collect();
        known.dedup();
        let more = known.len() > UnknownType::KNOWN_MAX;
        known.truncate(UnknownType::KNOWN_MAX);
        let known = known.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
        let remedy = match self.of_layout {
            true => "add the value to `values` of a [[record]] of the layout, or add a [[record]] for it",
            false => "add the value to a [[records.type]], or set otherwise = \"skip\" in [records]",
        };
        let known = if more { format!("{known}, …") } else { known };
        UnknownType { value: values.join(" and "), known, remedy }
    }

    /// Bytes from the start of a record that say its type.
    pub(crate) fn front(&self) -> usize {
        self.types.iter().flat_map(|of_type| &of_type.tests).map(Test::end).max().unwrap_or(0)
    }

    /// Returns true if a record begins a document: its type has no parent.
    #[must_use]
    pub fn begins_document(&self, record: &[u8]) -> bool {
        match self.find(record) {
            Found::Type(index) => matches!(self.types[index].kind, TypeKind::Record { parent: None, .. }),
            Found::Skip | Found::SkipUnknown | Found::Unknown => false,
        }
    }

    /// Returns the description of a type's records; `None` for a skipped type.
    #[must_use]
    pub fn plan(&self, index: usize) -> Option<&RecordPlan> {
        match &self.types[index].kind {
            TypeKind::Record { plan, .. } => Some(plan),
            TypeKind::Skip => None,
        }
    }

    /// Returns the name of a type's group in the documents; empty for a skipped type.
    #[must_use]
    pub fn name(&self, index: usize) -> &str {
        match &self.types[index].kind {
            TypeKind::Record { name, .. } => name,
            TypeKind::Skip => "",
        }
    }

    /// Returns true if a document need not give the field that says the type.
    #[must_use]
    pub fn sets_type(&self, index: usize) -> bool {
        matches!(&self.types[index].kind, TypeKind::Record { is_set: true, .. })
    }

    /// Describes the bytes that say a type, and their values; `None` for a type that holds what no other type does.
    #[must_use]
    pub fn discriminator(&self, index: usize) -> Option<String> {
        let test = self.types[index].tests.first()?;
        let (offset, length) = test.place();
        let values: Vec<String> = test.written().iter().map(|value| format!("`{value}`")).collect();
        let bytes = if length == 1 { "the byte".to_owned() } else { format!("the {length} bytes") };
        let more = if self.types[index].tests.len() > 1 { ", …" } else { "" };
        Some(format!("{bytes} from byte {offset} on must be {}{more}", values.join(" or ")))
    }

    /// Iterates over the descriptions of all types that are not skipped.
    pub fn plans(&self) -> impl Iterator<Item = &RecordPlan> {
        (0..self.types.len()).filter_map(|index| self.plan(index))
    }

    /// Returns the index of the parent of a type.
    #[must_use]
    pub fn parent(&self, index: usize) -> Option<usize> {
        match &self.types[index].kind {
            TypeKind::Record { parent, .. } => *parent,
            TypeKind::Skip => None,
        }
    }

    /// Indices of the types that are nested in a type.
    #[must_use]
    pub fn children(&self, index: usize) -> &[usize] {
        match &self.types[index].kind {
            TypeKind::Record { children, .. } => children,
            TypeKind::Skip => &[],
        }
    }

    /// Returns the group of a type in the documents' shape: node `n` of the plan's own shape is node `group + n` there.
    #[must_use]
    pub fn group(&self, index: usize) -> NodeId {
        match &self.types[index].kind {
            TypeKind::Record { group, .. } => *group,
            TypeKind::Skip => NodeId::ROOT,
        }
    }
}
