//! Documents by guide: their shape, and the conversion from and to transactions.

pub(crate) mod body;
mod constant;
pub(crate) mod draft;
mod number;
mod plan;
mod send;

pub(crate) use body::{GuideBody, Left, Sent};
pub(crate) use draft::GuideDraft;

use std::sync::Arc;

use quayline_core::{NodeId, Occurs, Shape, Stored, StoredReader};

use crate::generic::{Nodes, Paged};
use crate::guide::{GuideSet, Item};
pub(crate) use plan::{ElementPlan, ItemPlan, Kind, Plan};

/// Documents of a set of guides, with one shape for all of them.
///
/// A document has the same head as one without a guide (`standard`, `delimiters`, `interchange`, `group`, `transaction`), followed by the items of
/// its guide: loops by id, segments by the names from [`crate::guide::item_names`], elements as `NM103`, components as `CLM05-1` in a group `CLM05`.
/// Repeatable items are lists. Numbers (R, N0 to N9, `n`) are exact decimals, with the implied places of N1 to N9; all other values are text. With
/// several guides, each has a group named after the guide. `segments` contains the transaction as without a guide if no guide matches, and content
/// outside of transactions.
#[derive(Debug)]
pub struct GuideDocuments {
    set: GuideSet,
    shape: Arc<Shape>,
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) plans: Vec<Plan>,
}

/// Naming of the parts of documents.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum NodeNames {
    /// References of the standard: `NM103`, `2010AA`.
    #[default]
    References,
    /// Names in the guide, in lower case with underscores: `name_last_or_organization_name`; the reference for items without a name.
    Words,
}

impl GuideDocuments {
    /// Documents of these guides.
    #[must_use]
    pub fn new(set: GuideSet, names: NodeNames) -> Self {
        let mut shape = Shape::builder("edi");
        let nodes = Nodes::open(&mut shape, Paged::WithHeads);
        let mut plans = Vec::new();
        let several = set.len() > 1;
        let mut used: Vec<String> = HEAD.map(str::to_owned).to_vec();
        for number in 0..set.len() {
            let guide = set.guide(number);
            let root = several.then(|| {
                let name = plan::unique(&guide.name, &mut used);
                shape.open(name, Occurs::Optional)
            });
            let taken = if several { Vec::new() } else { used.clone() };
            plans.push(Plan::new(guide, &mut shape, root.unwrap_or(NodeId::ROOT), names, taken));
            if several {
                shape.close();
            }
        }
        for (number, plan) in plans.iter().enumerate() {
            debug_assert_eq!(plan.items.len(), set.compiled(number).items().len(), "the same items in the same order");
        }
        GuideDocuments { set, shape: Arc::new(shape.finish()), nodes: Arc::new(nodes), plans }
    }

    /// Returns the shape of the documents.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn shared_shape(&self) -> Arc<Shape> {
        Arc::clone(&self.shape)
    }

    /// Returns the guides.
    #[must_use]
    pub fn guides(&self) -> &GuideSet {
        &self.set
    }
}

/// The nodes of the head are the same for all documents by guide.
impl Stored for GuideDocuments {
    fn store(&self, to: &mut Vec<u8>) {
        self.set.store(to);
        self.shape.store(to);
        self.plans.store(to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let set = GuideSet::load(from)?;
        let shape = Stored::load(from)?;
        let plans: Vec<Plan> = Stored::load(from)?;
        let nodes = Arc::new(Nodes::open(&mut Shape::builder("edi"), Paged::WithHeads));
        (plans.len() == set.len()).then_some(GuideDocuments { set, shape, nodes, plans })
    }
}

/// Names below the root that are taken.
const HEAD: [&str; 6] = ["standard", "delimiters", "interchange", "group", "transaction", "segments"];

/// Returns the rank of each item among its siblings: those with the same rank may come in any order.
pub(crate) fn ranks(items: &[Item]) -> Vec<u32> {
    let (mut rank, mut before) = (0, 0);
    items
        .iter()
        .enumerate()
        .map(|(i, item)| {
            let position = match item {
                Item::Segment(segment) => segment.position,
                Item::Loop(inner) => inner.position,
            };
            rank += u32::from(i > 0 && (position == 0 || position != before));
            before = position;
            rank
        })
        .collect()
}
