//! The shape of documents that hold any transaction.

use std::sync::{Arc, OnceLock};

use quayline_core::{NodeId, Occurs, Scalar, Shape, ShapeBuilder};

use super::draft::Draft;
use crate::delimiters::Standard;
use crate::envelope::header_fields;
use crate::guide::CompiledGuide;
use crate::level::Level;

/// Returns the shape of generic documents: one transaction with its envelope, or content outside of transactions.
#[must_use]
pub fn generic_shape() -> Shape {
    Nodes::build().0
}

/// Nodes of the head of a document, which describes the envelope of the segments.
#[derive(Clone, Debug)]
pub(crate) struct HeadNodes {
    pub(super) standard: NodeId,
    pub(super) delimiters: NodeId,
    pub(super) element: NodeId,
    pub(super) component: NodeId,
    pub(super) repetition: NodeId,
    pub(super) release: NodeId,
    pub(super) terminator: NodeId,
    pub(super) decimal_mark: NodeId,
    pub(super) line_break: NodeId,
    pub(super) una: NodeId,
    pub(super) reserved: NodeId,
    pub(super) interchange: HeaderNodes,
    pub(super) group: HeaderNodes,
    pub(super) transaction: HeaderNodes,
}

/// The nodes of the shape.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    pub(crate) head: HeadNodes,
    pub(super) segments: NodeId,
    pub(super) tag: NodeId,
    pub(super) elements: NodeId,
    pub(super) value: NodeId,
    pub(super) components: NodeId,
    pub(super) repetitions: NodeId,
    pub(super) repetition_value: NodeId,
    pub(super) repetition_components: NodeId,
    pub(super) binary: NodeId,
}

impl HeadNodes {
    /// Returns the nodes of a header, in the order of [`header_fields`].
    pub(crate) fn fields(&self, standard: Standard, level: Level) -> &[NodeId] {
        match level {
            Level::Interchange => self.interchange.fields(standard),
            Level::Group => self.group.fields(standard),
            Level::Transaction => self.transaction.fields(standard),
        }
    }

    /// Returns the node of the page number in a transaction.
    pub(crate) fn page(&self) -> NodeId {
        self.transaction.page
    }

    /// Returns the node of the number of segments that a page repeats.
    pub(crate) fn repeated(&self) -> NodeId {
        self.transaction.repeated
    }

    /// Fills missing fields of the head from a guide.
    pub(crate) fn fill(&self, guide: &CompiledGuide, draft: &mut Draft) {
        let mut set = |node: NodeId, text: &str| {
            if draft.field(node).is_empty() && !text.is_empty() {
                draft.set_field(node, text.as_bytes());
            }
        };
        set(self.standard, guide.standard().name());
        let mut known = |level, nodes: &HeaderNodes, name: &str, text: &str| {
            let fields = header_fields(guide.standard(), level).iter().zip(nodes.fields(guide.standard()));
            for (_, node) in fields.filter(|(field, _)| field.name == name) {
                set(*node, text);
            }
        };
        known(Level::Transaction, &self.transaction, "type", guide.transaction());
        match guide.standard() {
            Standard::X12 => {
                known(Level::Group, &self.group, "functional_id", guide.functional_group().unwrap_or(""));
                known(Level::Group, &self.group, "version", guide.version());
                let agency = header_fields(Standard::X12, Level::Group).iter().position(|field| field.name == "agency");
                if let Some(node) = agency.map(|at| self.group.fields(Standard::X12)[at])
                    && draft.field(node).is_empty()
                {
                    draft.set_field(node, b"X");
                    draft.has_usual_agency = true;
                }
            }
            Standard::Edifact => {
                for (name, text) in
                    ["version", "release", "agency", "association"].into_iter().zip(guide.version().split(':'))
                {
                    known(Level::Transaction, &self.transaction, name, text);
                }
            }
        }
        draft.has_transaction = true;
    }
}

impl core::ops::Deref for Nodes {
    type Target = HeadNodes;

    fn deref(&self) -> &HeadNodes {
        &self.head
    }
}

/// Content of the pages of a transaction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Paged {
    Whole,
    WithHeads,
}

/// Nodes of a header.
#[derive(Clone, Debug)]
pub(crate) struct HeaderNodes {
    pub(super) group: NodeId,
    pub(super) position: NodeId,
    /// For a transaction: its page number, from 2. For other levels, the position.
    pub(super) page: NodeId,
    /// For a transaction by guide: number of segments repeated from earlier pages. For other levels, the position.
    pub(super) repeated: NodeId,
    /// Fields in the order of [`header_fields`] of X12 and EDIFACT.
    pub(super) x12: Vec<NodeId>,
    pub(super) edifact: Vec<NodeId>,
}

impl HeaderNodes {
    pub(super) fn fields(&self, standard: Standard) -> &[NodeId] {
        match standard {
            Standard::X12 => &self.x12,
            Standard::Edifact => &self.edifact,
        }
    }
}

impl Nodes {
    pub(super) fn build() -> (Shape, Nodes) {
        let mut shape = Shape::builder("edi");
        let nodes = Nodes::open(&mut shape, Paged::Whole);
        (shape.finish(), nodes)
    }

    /// Returns the shape without a guide. It is built once, because readers of small units are created by the thousand.
    pub(super) fn shared() -> (Arc<Shape>, Arc<Nodes>) {
        static GENERIC: OnceLock<(Arc<Shape>, Arc<Nodes>)> = OnceLock::new();
        let (shape, nodes) = GENERIC.get_or_init(|| {
            let (shape, nodes) = Nodes::build();
            (Arc::new(shape), Arc::new(nodes))
        });
        (Arc::clone(shape), Arc::clone(nodes))
    }

    /// Adds head and segments below the root.
    pub(crate) fn open(s: &mut ShapeBuilder, paged: Paged) -> Nodes {
        let text = Scalar::Text { chars_max: None };
        let many = Occurs::Many { min: 0, max: None };
        let leaf = |shape: &mut ShapeBuilder, name: &str, occurs| shape.scalar(name, text.clone(), occurs);
        let head = HeadNodes {
            standard: leaf(s, "standard", Occurs::Once),
            delimiters: s.open("delimiters", Occurs::Optional),
            element: leaf(s, "element", Occurs::Once),
            component: leaf(s, "component", Occurs::Once),
            repetition: leaf(s, "repetition", Occurs::Optional),
            release: leaf(s, "release", Occurs::Optional),
            terminator: leaf(s, "terminator", Occurs::Once),
            decimal_mark: leaf(s, "decimal_mark", Occurs::Once),
            line_break: leaf(s, "line_break", Occurs::Optional),
            una: s.scalar("una", Scalar::Bool, Occurs::Optional),
            reserved: {
                let reserved = leaf(s, "reserved", Occurs::Optional);
                s.close();
                reserved
            },
            interchange: header(s, Level::Interchange, "interchange", Occurs::Once, paged),
            group: header(s, Level::Group, "group", Occurs::Optional, paged),
            transaction: header(s, Level::Transaction, "transaction", Occurs::Optional, paged),
        };
        let nodes = Nodes {
            head,
            segments: s.open("segments", many),
            tag: leaf(s, "tag", Occurs::Once),
            elements: s.open("elements", many),
            value: leaf(s, "value", Occurs::Optional),
            components: leaf(s, "components", many),
            repetitions: s.open("repetitions", many),
            repetition_value: leaf(s, "value", Occurs::Optional),
            repetition_components: {
                let components = leaf(s, "components", many);
                s.close();
                components
            },
            binary: s.scalar("binary", Scalar::Bytes { len_max: None }, Occurs::Optional),
        };
        // The elements, then the segments.
        s.close();
        s.close();
        nodes
    }
}

fn header(shape: &mut ShapeBuilder, level: Level, name: &str, occurs: Occurs, paged: Paged) -> HeaderNodes {
    let group = shape.open(name, occurs);
    let position = shape.scalar("position", Scalar::Decimal { digits: 18, scale: 0, signed: false }, Occurs::Optional);
    let page = if level == Level::Transaction {
        shape.scalar("page", Scalar::Decimal { digits: 18, scale: 0, signed: false }, Occurs::Optional)
    } else {
        position
    };
    let repeated = if level == Level::Transaction && paged == Paged::WithHeads {
        shape.scalar("repeated", Scalar::Decimal { digits: 18, scale: 0, signed: false }, Occurs::Optional)
    } else {
        position
    };
    let mut known: Vec<(&str, NodeId)> = Vec::new();
    let mut fields = |standard| {
        let fields = header_fields(standard, level).iter().map(|field| {
            if let Some((_, node)) = known.iter().find(|(name, _)| *name == field.name) {
                return *node;
            }
            let node = shape.scalar(field.name, Scalar::Text { chars_max: None }, Occurs::Optional);
            known.push((field.name, node));
            node
        });
        fields.collect::<Vec<_>>()
    };
    let x12 = fields(Standard::X12);
    let edifact = fields(Standard::Edifact);
    shape.close();
    HeaderNodes { group, position, page, repeated, x12, edifact }
}
