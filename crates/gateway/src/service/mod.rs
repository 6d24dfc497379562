//! Services: what a program or file offers, as its copybook and a user's choices say.

mod compile;
mod database;
mod gnucobol;
mod provider;
mod records;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;

use quayline_charset::Charset;
use quayline_cobol::layout::{FieldIndex, Layout};
use quayline_cobol::{Interface, Policies, RecordPlan};
use quayline_core::{NodeId, NodeKind, Place, Scalar, Shape};

use crate::provider::ProviderSpec;
use crate::typed::Typed;

pub(crate) use compile::{in_file, layout_at, named_field, node_of, single_values};
pub(crate) use gnucobol::compiler_options as gnucobol_options;
pub(crate) use records::slides;

/// A compiled service.
#[derive(Debug)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// What it does, for documents.
    pub description: String,
    /// Who answers.
    pub provider: ProviderSpec,
    /// Bytes of the record that goes to the provider and comes back.
    pub length: usize,
    /// Files that it was read from: copybooks and all that they copy, interface files, a file of records.
    pub files: Vec<PathBuf>,
    pub(crate) layout: Layout,
    pub(crate) charset: Charset,
    pub(crate) policies: Policies,
    pub(crate) options: Options,
    pub(crate) request: Arc<RequestSide>,
    pub(crate) response: Interface,
    /// Types by field, for both directions.
    pub(crate) types: Vec<(FieldIndex, Typed)>,
    /// Fields that a request must have.
    pub(crate) required: Vec<FieldIndex>,
    /// Where its name stands; its file's first line, which it is named after, where it says none.
    pub(crate) at: Place,
}

impl Service {
    /// Whether a number may be null in an answer.
    pub(crate) fn nullable_numbers(&self) -> bool {
        self.policies.blank == quayline_cobol::BadValue::Null
    }
}

/// Options beside the interfaces. Names of the original's options stand behind each.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Options {
    /// Members whose text is empty after trimming, and groups and lists that are empty then, are left out (omitOutputEmptyTags).
    pub omit_empty: bool,
    /// Members whose bytes are all 0x00 are left out; binary numbers and floats are not looked at, since there 0x00 is zero
    /// (omitOutputFieldsByValue 0x00).
    pub omit_low_values: bool,
    /// Control characters in text become spaces instead of `\u00XX` (escapeOutputControlCharacters=false).
    pub controls_to_spaces: bool,
    /// Requests may have numbers in strings, numbers with leading zeros, and `null` or an empty string for a number that is absent.
    pub lenient_requests: bool,
    /// A list with fewer elements than its OCCURS minimum is refused (enforceMinArrayOccurrence).
    pub enforce_minimum_items: bool,
    /// The same for answers, which are a 502 then (enforceMinArrayOccurrenceResponse).
    pub enforce_minimum_items_of_answers: bool,
}

/// The request's half: what a client may send, and how the record begins and ends.
#[derive(Debug)]
pub(crate) struct RequestSide {
    pub(crate) plan: RecordPlan,
    pub(crate) shape: Arc<Shape>,
    pub(crate) typed: Vec<Option<Arc<Typed>>>,
    /// What the interface gives a node that nobody sets, as text.
    pub(crate) defaults: Vec<Option<String>>,
    /// What follows the plan's record: fields that no client sets.
    pub(crate) tail: std::sync::Arc<[u8]>,
    /// Bytes of the tail without the 0x00 at its end.
    pub(crate) tail_used: usize,
}

/// The shape with the types that a service gives: the same nodes under the same ids.
pub(crate) fn typed_shape(plan: &RecordPlan, types: &[(FieldIndex, Typed)]) -> (Arc<Shape>, Vec<Option<Arc<Typed>>>) {
    let shape = plan.shape();
    let mut builder = Shape::builder(shape.node(NodeId::ROOT).name.clone());
    let mut typed = vec![None; shape.len()];
    let mut open: Vec<NodeId> = Vec::new();
    for (id, node) in shape.iter().skip(1) {
        while open.last().is_some_and(|end| *end <= id) {
            builder.close();
            open.pop();
        }
        match &node.kind {
            NodeKind::Group => {
                builder.open(node.name.clone(), node.occurs);
                open.push(node.subtree_end);
            }
            NodeKind::Scalar(scalar) => {
                let field = plan.field_of(id);
                let hint = types.iter().find(|(of, _)| Some(*of) == field).map(|(_, typed)| typed);
                let scalar = match hint {
                    None | Some(Typed::Range(_)) => scalar.clone(),
                    Some(Typed::Boolean { .. }) => Scalar::Bool,
                    Some(Typed::Digits(digits)) => Scalar::Text { chars_max: u32::try_from(*digits).ok() },
                    Some(Typed::Date(_) | Typed::Codes(_)) => Scalar::Text { chars_max: None },
                };
                builder.scalar(node.name.clone(), scalar, node.occurs);
                typed[id.index()] = hint.map(|hint| Arc::new(hint.clone()));
            }
        }
    }
    (Arc::new(builder.finish()), typed)
}
