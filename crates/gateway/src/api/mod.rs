//! APIs: the client's view of services.

mod compile;
mod location;
mod records;
mod wire;

use std::sync::Arc;

use quayline_cobol::RecordPlan;
use quayline_core::{Finding, NodeId, Place, Shape};
use quayline_xml::XmlStyle;

use crate::about::About;
use crate::gate::GateRules;
use crate::parameter::{Parameter, ParameterPlace};
use crate::provider::ProviderSpec;
use crate::record_call::{FileAction, FileOperation};
use crate::rule::{Condition, Probe};
use crate::service::Service;
use crate::shaping::ShapingRules;
use crate::top_array::TopArray;
use location::Location;

/// A compiled API.
#[derive(Debug)]
pub struct Api {
    /// Name.
    pub name: String,
    /// Title for documents.
    pub title: String,
    /// Version for documents.
    pub version: String,
    /// Purpose.
    pub description: String,
    /// First part of every path: `/car100`.
    pub base_path: String,
    /// True if answers have an ETag, and conditional requests may be answered with 304.
    pub etag: bool,
    /// Compression of answers.
    pub compression: Compression,
    /// True if clients need not authenticate.
    pub public: bool,
    /// Roles of which a client must have one; `None`: any client that is authenticated.
    pub roles: Option<Vec<String>>,
    /// Content for its OpenAPI document only.
    pub(crate) about: About,
    /// Operations.
    pub operations: Vec<Arc<Operation>>,
    /// Parts that work, but may be mistakes.
    pub warnings: Vec<Finding>,
    /// Place of its base path.
    pub(crate) at: Place,
}

/// Compression of answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Compression {
    /// Compresses when it pays: for an answer of a few kilobytes to a client that is neither on this machine nor in a private network.
    Auto,
    /// Never.
    Off,
    /// Wherever the client takes it.
    Always,
}

/// One method of one path.
#[derive(Debug)]
pub struct Operation {
    /// Unique in the project, for metrics, audit and documents.
    pub id: String,
    /// GET, POST, …
    pub method: String,
    /// The whole path, base path included, with `{name}` for parameters.
    pub path: String,
    /// One line for documents.
    pub summary: String,
    /// More for documents.
    pub description: String,
    /// Groups that documents show it in.
    pub tags: Vec<String>,
    /// True if clients need not authenticate.
    pub public: bool,
    /// Roles of which a client must have one.
    pub roles: Option<Vec<String>>,
    /// True if answers have an ETag.
    pub etag: bool,
    /// Compression of answers.
    pub compression: Compression,
    /// The service that answers it.
    pub service: Arc<Service>,
    /// Index of the service in the project.
    pub service_index: usize,
    pub(crate) segments: Vec<Segment>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) ignore_unknown: bool,
    pub(crate) body: Option<Body>,
    pub(crate) assigned: Vec<(NodeId, String)>,
    pub(crate) gate: GateRules,
    pub(crate) probe: Option<Probe>,
    pub(crate) responses: Vec<Response>,
    /// Operation on the records of a file, if the service is a record file.
    pub(crate) file: Option<FileOperation>,
    /// Location at which the API reads a record that this operation adds.
    pub(crate) location: Option<Location>,
    /// Place of the operation in the file.
    pub(crate) at: Place,
}

/// Part of a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Segment {
    Text(String),
    /// Index of the parameter.
    Parameter(usize),
}

#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) required: bool,
    /// The list that it is, if it is an array.
    pub(crate) array: Option<TopArray>,
}

/// One response of an operation.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) description: String,
    /// Conditions, all of which hold.
    pub(crate) when: Vec<Condition>,
    pub(crate) body: ResponseBody,
}

#[derive(Debug)]
pub(crate) enum ResponseBody {
    None,
    Problem { detail: String },
    Answer(Box<Projection>),
}

/// The part of a record that a response shows.
#[derive(Debug)]
pub(crate) struct Projection {
    pub(crate) plan: RecordPlan,
    pub(crate) shape: Arc<Shape>,
    pub(crate) rules: ShapingRules,
    /// The list that it is, if it is an array.
    pub(crate) array: Option<TopArray>,
    /// True if XML can represent the document: the members of each group have different element names.
    pub(crate) xml: bool,
}

/// Returns the style of XML answers: one element around the record.
pub(crate) fn xml_style() -> XmlStyle {
    XmlStyle { root: None, record: "answer".to_owned(), ..XmlStyle::default() }
}

impl Api {
    /// Returns the file of the definition, relative to the project: `apis/orders.toml`.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.at.file.as_deref()
    }
}

impl Operation {
    /// Headers that are parameters, in lower case.
    pub fn header_parameters(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().filter(|p| p.place == ParameterPlace::Header).map(|p| p.name.as_str())
    }

    /// Returns the action on a record file; `None` if the service is not one.
    #[must_use]
    pub fn file_action(&self) -> Option<FileAction> {
        self.file.as_ref().map(|file| file.action)
    }

    /// Status of the answer where it does not depend on a record.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.responses.first().map_or(200, |response| response.status)
    }

    /// Returns path and query for reading a record that the operation added, if the API has such a request.
    #[must_use]
    pub fn location_of(&self, record: &[u8]) -> Option<String> {
        self.location.as_ref()?.of_record(record)
    }

    /// Returns the name of the alternate index that the operation uses.
    #[must_use]
    pub fn file_index(&self) -> Option<&str> {
        self.file.as_ref().and_then(|file| file.index.as_deref())
    }

    /// Returns the answers that responses show, each with its part of the record.
    pub(crate) fn answers(&self) -> impl Iterator<Item = &Projection> + Clone {
        self.responses.iter().filter_map(|response| match &response.body {
            ResponseBody::Answer(projection) => Some(&**projection),
            ResponseBody::None | ResponseBody::Problem { .. } => None,
        })
    }

    /// Returns true if a request becomes a message without a reply.
    pub(crate) fn is_put(&self) -> bool {
        matches!(&self.service.provider, ProviderSpec::Queue(spec) if spec.reply_queue.is_none())
    }

    /// Returns whether it takes a body.
    #[must_use]
    pub fn takes_body(&self) -> bool {
        self.body.is_some()
    }
}
