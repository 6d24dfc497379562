//! Record types: which description a record has, and what is nested in what.

use quayline_cobol::RecordPlan;
use quayline_core::NodeId;
use quayline_frame::Edges;

use crate::schema::chooser::Test;

/// The record types of a file, compiled.
#[derive(Debug)]
pub(crate) struct RecordTypes {
    /// In the order of the interface file: parents before their children.
    pub(crate) types: Vec<RecordTypePlan>,
    pub(crate) unmatched: Unmatched,
    pub(crate) edges: Edges,
    /// Whether any type has a parent, so that documents hold several records.
    pub(crate) nested: bool,
}

/// One record type.
#[derive(Debug)]
pub(crate) struct RecordTypePlan {
    pub(crate) tests: Vec<Test>,
    pub(crate) kind: TypeKind,
}

/// What a record of a type becomes.
#[derive(Debug)]
pub(crate) enum TypeKind {
    /// Nothing.
    Skip,
    Record {
        plan: RecordPlan,
        /// The type's group in the shape of the documents: node `n` of the plan's own shape is node `group + n` there.
        group: NodeId,
        /// Index of the type it is nested in.
        parent: Option<usize>,
        /// Indices of the types nested in it.
        children: Vec<usize>,
    },
}

/// What becomes of a record that no type fits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unmatched {
    Reject,
    Skip,
    Type(usize),
}

/// What a record is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Found {
    Type(usize),
    Skip,
    /// No type fits.
    Unknown,
}

impl RecordTypes {
    /// What this record is.
    pub(crate) fn find(&self, record: &[u8]) -> Found {
        let fits = |t: &RecordTypePlan| t.tests.iter().any(|test| test.fits(record));
        let index = match (self.types.iter().position(fits), self.unmatched) {
            (Some(index), _) | (None, Unmatched::Type(index)) => index,
            (None, Unmatched::Skip) => return Found::Skip,
            (None, Unmatched::Reject) => return Found::Unknown,
        };
        match self.types[index].kind {
            TypeKind::Skip => Found::Skip,
            TypeKind::Record { .. } => Found::Type(index),
        }
    }

    /// Whether a record begins a document: it is of a type that is nested in no other.
    pub(crate) fn begins_document(&self, record: &[u8]) -> bool {
        match self.find(record) {
            Found::Type(index) => matches!(self.types[index].kind, TypeKind::Record { parent: None, .. }),
            Found::Skip | Found::Unknown => false,
        }
    }

    pub(crate) fn plan(&self, index: usize) -> Option<&RecordPlan> {
        match &self.types[index].kind {
            TypeKind::Record { plan, .. } => Some(plan),
            TypeKind::Skip => None,
        }
    }

    pub(crate) fn plans(&self) -> impl Iterator<Item = &RecordPlan> {
        (0..self.types.len()).filter_map(|index| self.plan(index))
    }

    pub(crate) fn parent(&self, index: usize) -> Option<usize> {
        match &self.types[index].kind {
            TypeKind::Record { parent, .. } => *parent,
            TypeKind::Skip => None,
        }
    }

    pub(crate) fn children(&self, index: usize) -> &[usize] {
        match &self.types[index].kind {
            TypeKind::Record { children, .. } => children,
            TypeKind::Skip => &[],
        }
    }

    pub(crate) fn group(&self, index: usize) -> NodeId {
        match &self.types[index].kind {
            TypeKind::Record { group, .. } => *group,
            TypeKind::Skip => NodeId::ROOT,
        }
    }
}
