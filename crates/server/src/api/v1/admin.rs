//! Answers of the listener for operators, and lines of the audit.

use std::net::IpAddr;

use quayline_core::Code;
use serde::Serialize;

/// Result of a request as text.
#[derive(Serialize)]
pub(crate) struct Status {
    pub(crate) status: String,
    /// Reasons of a refusal, in the form of all findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<Refusal>,
}

/// A finding about a request that was refused.
#[derive(Serialize)]
pub(crate) struct Refusal {
    pub(crate) schema: &'static str,
    pub(crate) code: &'static str,
    pub(crate) severity: &'static str,
    pub(crate) fault: &'static str,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Status {
    pub(crate) fn new(status: impl Into<String>) -> Status {
        Status { status: status.into(), findings: Vec::new() }
    }

    /// A refusal with its reason.
    pub(crate) fn refused(status: &str, code: Code, message: impl Into<String>, hint: impl Into<String>) -> Status {
        let (code, message, hint) = (code.0, message.into(), hint.into());
        let finding = Refusal { schema: "quayline.finding/1", code, severity: "error", fault: "caller", message, hint };
        Status { status: status.to_owned(), findings: vec![finding] }
    }
}

/// `/ready`.
#[derive(Serialize)]
pub(crate) struct Readiness {
    pub(crate) status: &'static str,
    /// Services that do not work.
    pub(crate) services: Vec<MissingPart>,
    /// Errors of the last reload.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reload: Vec<String>,
}

/// A service that currently does not work.
#[derive(Serialize)]
pub(crate) struct MissingPart {
    pub(crate) service: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
}

/// `/definitions`.
#[derive(Serialize)]
pub(crate) struct Definitions<'d> {
    pub(crate) operations: Vec<Operation<'d>>,
}

/// An operation of an API.
#[derive(Serialize)]
pub(crate) struct Operation<'d> {
    pub(crate) id: &'d str,
    pub(crate) method: &'d str,
    pub(crate) path: &'d str,
    pub(crate) service: &'d str,
    pub(crate) public: bool,
}

/// The answer for an unknown path.
#[derive(Serialize)]
pub(crate) struct Paths {
    pub(crate) paths: &'static str,
}

/// One request in the audit.
#[derive(Serialize)]
pub(crate) struct AuditLine<'a> {
    /// Seconds since 1970-01-01 UTC.
    pub(crate) time: u64,
    /// Trace of the request. The client may have started the trace and used it for other requests.
    pub(crate) request: String,
    /// Span identifier of this request in the trace. The server chooses a different one for each request.
    pub(crate) span: String,
    pub(crate) from: IpAddr,
    pub(crate) client: &'a str,
    /// Method by which the client was identified.
    pub(crate) by: &'a str,
    pub(crate) operation: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) status: u16,
    pub(crate) bytes: usize,
    pub(crate) micros: u128,
}
