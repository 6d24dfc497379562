//! Services: the offer of a program or file, from its copybook and a user's choices.

mod code_names;
mod compile;
mod database;
mod gnucobol;
mod joined;
mod layouts;
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

pub(crate) use compile::{in_file, layout_at, layout_of_records, named_field, single_values};
pub(crate) use provider::PROGRAM_PLACEHOLDER;
pub(crate) use quayline_project::gnucobol_options;
pub(crate) use records::slides;

/// A compiled service.
#[derive(Debug)]
pub struct Service {
    /// Name.
    pub name: String,
    /// Purpose, for documents.
    pub description: String,
    /// Provider that answers the requests.
    pub provider: ProviderSpec,
    /// Bytes of the record that goes to the provider and returns.
    pub length: usize,
    /// Bytes of the request record, if the answer has another record, which follows it.
    pub request_length: Option<usize>,
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
    /// Place of its name; the first line of its file if the file's name is used.
    pub(crate) at: Place,
}

impl Service {
    /// Returns the place of the file of its definition, which may have another name than the service.
    #[must_use]
    pub fn file(&self) -> Place {
        Place { file: self.at.file.clone(), ..Place::default() }
    }

    /// Returns whether a number may be null in an answer.
    pub(crate) fn nullable_numbers(&self) -> bool {
        self.policies.blank == quayline_cobol::BadValue::Null
    }
}

/// Options of a service, in addition to the interfaces. The names of the original's options are in parentheses.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Options {
    /// Leaves out members whose text is empty after trimming, and groups and lists that are empty then (omitOutputEmptyTags).
    pub omit_empty: bool,
    /// Leaves out members whose bytes are all 0x00, except binary numbers and floats, in which 0x00 is zero
    /// (omitOutputFieldsByValue 0x00).
    pub omit_low_values: bool,
    /// Control characters in text become spaces instead of `\u00XX` (escapeOutputControlCharacters=false).
    pub controls_to_spaces: bool,
    /// True if Quayline refuses control characters in text of requests. Otherwise it writes them to the record.
    pub refuse_controls: bool,
    /// Requests may have numbers in strings, numbers with leading zeros, and `null` or an empty string for a number that is absent.
    pub lenient_requests: bool,
    /// Numbers of requests that a float field does not keep become the nearest float. Otherwise Quayline refuses them.
    pub round_floats: bool,
    /// A list with fewer elements than its OCCURS minimum is refused (enforceMinArrayOccurrence).
    pub enforce_minimum_items: bool,
    /// Enforces it for answers too, which are a 502 otherwise (enforceMinArrayOccurrenceResponse).
    pub enforce_minimum_items_of_answers: bool,
}

/// The request's half: the content that a client may send, and the beginning and end of the record.
#[derive(Debug)]
pub(crate) struct RequestSide {
    pub(crate) plan: RecordPlan,
    pub(crate) shape: Arc<Shape>,
    pub(crate) typed: Vec<Option<Arc<Typed>>>,
    /// The interface's value for a node that is not set, as text.
    pub(crate) defaults: Vec<Option<String>>,
    /// Bytes after the plan's record: fields that no client sets.
    pub(crate) tail: std::sync::Arc<[u8]>,
    /// Bytes of the tail without the 0x00 at its end.
    pub(crate) tail_used: usize,
}

/// Returns the shape with the types of a service: the same nodes under the same ids.
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
