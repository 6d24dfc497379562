//! Services and APIs: from an HTTP request to a record and from a record to an answer, without HTTP.
//!
//! ```text
//! Request ─▶ OperationLane::record ─▶ [front, rest] ─▶ Provider::call ─▶ record ─▶ OperationLane::answer ─▶ Answer
//!              parameters, body, assignments                                rules, types, `fields=`
//! ```
//!
//! * A [`Service`] is the offer of a program or file: a copybook, the selection, names and types for requests and answers, options,
//!   and the provider ([`ProviderSpec`]).
//! * An [`Api`] is the client's view: paths, methods, parameters, bodies, and the response for each answer.
//! * [`Definitions`] are all of a project, compiled; they never change, a reload makes others.
//! * An [`OperationLane`] is one thread's buffers and compiled loops for one operation. Nothing here waits: between record and answer the
//!   caller waits for the [`Provider`].
//!
//! * A record file or a queue is a service too: operations of a file say what they do with its records ([`RecordCall`]).
//!
//! # Where a request field's value comes from (as in the original product, highest first)
//! 1. a mapped parameter, or the JSON body; a field that a parameter or `assign` sets is not a member of the body;
//! 2. the default of the API's parameter;
//! 3. the default of the service's request interface;
//! 4. the service's initialisation: 0x00 (`low-values`, the default), spaces and zeros (`initial`), or VALUE clauses (`value`).
//!
//! *Absent* and *empty* therefore differ: a member that is `""` writes spaces, and an absent one has the value of 3 or 4.
//!
//! # Envelope
//! A request costs its front of the record (0.3 us for a few fields), an answer its decoding and writing (11 us for 64 KB). Nothing
//! is allocated per field, and a body's buffer returns to its thread. `ARCHITECTURE.md`, "The gateway", has the whole arithmetic.
//!
//! # Leniency
//! * An unknown query parameter is refused; `unknown-parameters = "ignore"` passes it over.
//! * A code without a name is shown as it is: code lists are open.
//! * A record longer than its layout is accepted: a COMMAREA may have room after it.

mod about;
mod api;
mod certificate;
mod codes;
mod copied_members;
mod encoding;
mod gate;
mod json_text;
mod lane;
mod media_type;
mod named;
mod openapi;
mod page;
mod parameter;
mod problem;
mod program_head;
mod program_records;
mod project;
mod propose;
mod provider;
mod record_call;
mod rule;
mod schema;
mod service;
mod shaping;
mod sql;
mod token;
mod top_array;
mod typed;
mod unread;
mod uri;

pub use api::{Api, Compression, Operation};
pub use certificate::common_name;
pub use copied_members::members_beside;
pub use encoding::{from_base64url, to_base64url};
pub use json_text::Json;
pub use lane::{Answer, Media, OperationLane, Request, asked_fields, check_form, etag};
pub use openapi::{Security, document, security_of};
pub use page::{DOCS_POLICY, DOCS_SCRIPT, docs_page};
pub use problem::{FieldError, Problem, allowed, title};
pub use program_head::ProgramHead;
pub use program_records::ProgramRecords;
pub use project::{Definitions, Routed, Stamp};
pub use propose::{
    FileProposal, Include, ProgramProposal, Proposal, Proposed, ProposedFile, ProposedProgram, ServiceRow, layout_of,
    layout_of_parameters, service_name, service_table,
};
pub use provider::{
    Answered, CannedRecords, CannedSpec, Held, HttpSpec, Measure, Outgoing, ProgramSource, ProgramSpec, Provider,
    ProviderFault, ProviderSpec, Returned, WorkingStorage,
};
pub use quayline_core::DatePattern;
pub use record_call::{
    Conditions, FileAction, FileIndex, FileKey, FileSpec, Matching, PAGE_BYTES_MAX, QueueSpec, RecordCall, RecordCheck,
    record_tag,
};
pub use service::{Options, Service};
pub use sql::{SqlColumns, SqlForm, SqlPassword, SqlSpec};
pub use token::{KeySet, TokenClaims, TokenFault, TokenRules};
pub use typed::Typed;
pub use uri::{decode_path, decode_query, pairs, percent_encoded};
