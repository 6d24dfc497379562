//! APIs: what a client sees of services.

mod compile;
mod records;
mod wire;

use std::sync::Arc;

use quayline_cobol::RecordPlan;
use quayline_core::{NodeId, Place, Shape};

use crate::gate::GateRules;
use crate::record_call::{FileAction, FileOperation};
use crate::rule::{Condition, Probe};
use crate::service::Service;
use crate::shaping::ShapingRules;

/// A compiled API.
#[derive(Debug)]
pub struct Api {
    /// Its name.
    pub name: String,
    /// Title for documents.
    pub title: String,
    /// Version for documents.
    pub version: String,
    /// What it is for.
    pub description: String,
    /// What every path begins with: `/car100`.
    pub base_path: String,
    /// Whether answers have an ETag and conditional requests are answered with 304.
    pub etag: bool,
    /// Whether answers are compressed.
    pub compression: Compression,
    /// Whether nobody needs to be authenticated.
    pub public: bool,
    /// Roles of which a client must have one; `None`: any client that is authenticated.
    pub roles: Option<Vec<String>>,
    /// Its operations.
    pub operations: Vec<Arc<Operation>>,
    /// Where its base path stands.
    pub(crate) at: Place,
}

/// When answers are compressed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Compression {
    /// Where it pays: an answer of some kilobytes to a client that is not on this machine or in a private network.
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
    /// Whether nobody needs to be authenticated.
    pub public: bool,
    /// Roles of which a client must have one.
    pub roles: Option<Vec<String>>,
    /// Whether answers have an ETag.
    pub etag: bool,
    /// Whether answers are compressed.
    pub compression: Compression,
    /// What answers it.
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
    /// What it does with the records of a file, where the service is one.
    pub(crate) file: Option<FileOperation>,
    /// Where it stands in its file.
    pub(crate) at: Place,
}

/// Part of a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Segment {
    Text(String),
    /// Index of the parameter.
    Parameter(usize),
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ParameterPlace {
    Path,
    Query,
    Header,
}

impl ParameterPlace {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ParameterPlace::Path => "path",
            ParameterPlace::Query => "query",
            ParameterPlace::Header => "header",
        }
    }
}

/// A parameter and the field it sets.
#[derive(Debug)]
pub(crate) struct Parameter {
    /// As the client writes it; lower case for headers.
    pub(crate) name: String,
    pub(crate) place: ParameterPlace,
    pub(crate) node: NodeId,
    pub(crate) required: bool,
    pub(crate) default: Option<String>,
    pub(crate) minimum: Option<i64>,
    pub(crate) maximum: Option<i64>,
    pub(crate) description: String,
    pub(crate) example: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) required: bool,
}

/// One response of an operation.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) description: String,
    /// All of them hold.
    pub(crate) when: Vec<Condition>,
    pub(crate) body: ResponseBody,
}

#[derive(Debug)]
pub(crate) enum ResponseBody {
    None,
    Problem { detail: String },
    Answer(Box<Projection>),
}

/// What of a record a response shows.
#[derive(Debug)]
pub(crate) struct Projection {
    pub(crate) plan: RecordPlan,
    pub(crate) shape: Arc<Shape>,
    pub(crate) rules: ShapingRules,
    /// Whether XML can show it: its members have different element names.
    pub(crate) xml: bool,
}

impl Operation {
    /// Headers that are parameters, in lower case.
    pub fn header_parameters(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().filter(|p| p.place == ParameterPlace::Header).map(|p| p.name.as_str())
    }

    /// What it does with the records of a file; `None` where the service is none.
    #[must_use]
    pub fn file_action(&self) -> Option<FileAction> {
        self.file.as_ref().map(|file| file.action)
    }

    /// Status of the answer where it does not depend on a record.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.responses.first().map_or(200, |response| response.status)
    }

    /// Name of the alternate index that it looks in.
    #[must_use]
    pub fn file_index(&self) -> Option<&str> {
        self.file.as_ref().and_then(|file| file.index.as_deref())
    }

    /// Whether it takes a body.
    #[must_use]
    pub fn takes_body(&self) -> bool {
        self.body.is_some()
    }
}
