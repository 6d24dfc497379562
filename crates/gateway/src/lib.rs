//! x

mod api;
mod codes;
mod files;
mod gate;
mod json_text;
mod lane;
mod problem;
mod project;
mod provider;
mod rule;
mod service;
mod shaping;
mod typed;
mod uri;

pub use api::{Api, Compression, Operation};
pub use json_text::Json;
pub use lane::{Answer, Media, OperationLane, Request, asked_fields};
pub use problem::{FieldError, Problem, allowed, title};
pub use project::{Definitions, Routed};
pub use provider::{
    Answered, CannedRecords, HttpSpec, ProgramSpec, Provider, ProviderFault, ProviderSpec, RecordsSpec,
};
pub use service::{Options, Service};
pub use quayline_project::UserText;
pub use typed::{DatePattern, Typed};
