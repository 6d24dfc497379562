//! Problems in answers to clients (RFC 9457).

use crate::{Json, codes};

/// A problem: status, general description, and the rules that fields break. It never contains a value of the request or of a
/// record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// HTTP status.
    pub status: u16,
    /// Stable code such as `GTW-102`.
    pub code: &'static str,
    /// One line for this occurrence.
    pub detail: String,
    /// The fields and the rules that they break.
    pub errors: Vec<FieldError>,
    /// Seconds after which another try makes sense.
    pub retry_after_s: Option<u32>,
    /// Additional header: the allowed methods for 405, the authentication schemes for 401.
    pub header: Option<(&'static str, String)>,
    /// Information for the operator that clients must not see.
    pub for_log: Option<String>,
}

/// One field that breaks a rule.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FieldError {
    /// Source of the value: `body`, `query`, `path` or `header`.
    pub place: &'static str,
    /// Parameter name, or JSON path as `$.a.b[3].c`.
    pub field: String,
    /// Stable code of the rule.
    pub rule: String,
    /// Expected and found form, without the value.
    pub detail: String,
}

impl Problem {
    /// Creates a problem without fields.
    #[must_use]
    pub fn new(status: u16, code: &'static str, detail: impl Into<String>) -> Problem {
        Problem {
            status,
            code,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after_s: None,
            header: None,
            for_log: None,
        }
    }

    /// Refuses a request for the first 50 of these fields.
    pub(crate) fn of_errors(mut errors: Vec<FieldError>) -> Problem {
        errors.truncate(50);
        let is_parameter = errors.iter().all(|error| error.place != "body");
        let code = if is_parameter { codes::PARAMETER } else { codes::BODY };
        let detail = if errors.len() == 1 { "a value breaks a rule" } else { "some values break rules" };
        Problem { errors, ..Problem::new(400, code, detail) }
    }

    /// Returns the problem with a note for the log.
    #[must_use]
    pub fn logged(mut self, note: impl Into<String>) -> Problem {
        self.for_log = Some(note.into());
        self
    }

    /// Reports that the path does not exist.
    #[must_use]
    pub fn no_route() -> Problem {
        Problem::new(404, codes::NO_ROUTE, "no API has this path")
    }

    /// Reports that the path does not allow the method.
    #[must_use]
    pub fn no_method(methods: &[&str]) -> Problem {
        let mut problem = Problem::new(405, codes::NO_METHOD, "the path does not take this method");
        problem.header = Some(("allow", allowed(methods)));
        problem
    }

    /// Reports that the API cannot produce a media type that the client accepts.
    #[must_use]
    pub fn not_acceptable() -> Problem {
        Problem::new(406, codes::NOT_ACCEPTABLE, "answers are application/json or application/xml")
    }

    /// Reports that the client is not authenticated. `challenge` is the value of WWW-Authenticate.
    #[must_use]
    pub fn unauthenticated(challenge: &str, why: &str) -> Problem {
        let mut problem = Problem::new(401, codes::UNAUTHENTICATED, "the request is not authenticated");
        problem.header = Some(("www-authenticate", challenge.to_owned()));
        problem.logged(why)
    }

    /// Reports that tokens cannot be checked, because the issuer's keys could not be read.
    #[must_use]
    pub fn no_token_keys() -> Problem {
        let mut problem = Problem::new(503, codes::NO_TOKEN_KEYS, "tokens cannot be checked now");
        problem.retry_after_s = Some(5);
        problem.logged("no key of the issuer is known")
    }

    /// Reports that the client has none of the required roles.
    #[must_use]
    pub fn forbidden() -> Problem {
        Problem::new(403, codes::FORBIDDEN, "the client has none of the roles that the operation needs")
    }

    /// Reports that the client exceeds its request limit.
    #[must_use]
    pub fn too_many(what: &str, retry_after_s: u32) -> Problem {
        let mut problem = Problem::new(429, codes::TOO_MANY, what);
        problem.retry_after_s = Some(retry_after_s.max(1));
        problem
    }

    /// Reports that the server has no room for another request.
    #[must_use]
    pub fn overloaded(what: &str) -> Problem {
        let mut problem = Problem::new(503, codes::TOO_MANY, what);
        problem.retry_after_s = Some(1);
        problem
    }

    /// Reports that the audit record cannot be written, and unaudited requests are not processed.
    #[must_use]
    pub fn unaudited() -> Problem {
        let mut problem = Problem::new(503, codes::UNAUDITED, "requests cannot be put on record now");
        problem.retry_after_s = Some(5);
        problem
    }

    /// Reports that a part of the request is larger than its limit.
    #[must_use]
    pub fn too_large(status: u16, what: &str, limit: usize) -> Problem {
        Problem::new(status, codes::TOO_LARGE, format!("{what} is larger than its limit of {limit} bytes"))
    }

    /// Reports that the body's framing is invalid: a chunk without a size, or a missing end.
    #[must_use]
    pub fn malformed_body() -> Problem {
        Problem::new(400, codes::BODY, "the body does not come as HTTP says: a broken chunk, or less than its length")
    }

    /// Reports that a header is ambiguous or not text.
    #[must_use]
    pub fn bad_header(name: &str, rule: &str, detail: &str) -> Problem {
        let mut problem = Problem::new(400, codes::PARAMETER, "a header breaks a rule");
        let (field, rule, detail) = (name.to_owned(), rule.to_owned(), detail.to_owned());
        problem.errors.push(FieldError { place: "header", field, rule, detail });
        problem
    }

    /// Reports that the body is compressed, which the server does not support.
    #[must_use]
    pub fn content_coding() -> Problem {
        let mut problem =
            Problem::new(415, codes::MEDIA_TYPE, "bodies are taken as they are, without a content coding");
        problem.header = Some(("accept-encoding", "identity".to_owned()));
        problem
    }

    /// Reports that the transfer coding of the body is not chunked (RFC 9112, section 6.1).
    #[must_use]
    pub fn transfer_coding() -> Problem {
        Problem::new(501, codes::MEDIA_TYPE, "bodies are taken in chunks or as they are, without a transfer coding")
    }

    /// Reports that the client accepts no available content coding.
    #[must_use]
    pub fn no_coding() -> Problem {
        Problem::new(406, codes::NOT_ACCEPTABLE, "answers are sent as they are or by gzip, and the client refuses both")
    }

    /// Reports that an internal error ended the request.
    #[must_use]
    pub fn broken() -> Problem {
        Problem::new(500, codes::BROKEN, "the server failed at this request; its operator finds the reason in the log")
    }

    /// Reports that a condition of the request is false, so the server did not perform it (RFC 9110, section 13).
    #[must_use]
    pub fn precondition(name: &str) -> Problem {
        Problem::new(412, codes::PRECONDITION, format!("the condition of {name} is false"))
    }

    /// The request arrived too slowly.
    #[must_use]
    pub fn too_slow(limit_s: u64) -> Problem {
        Problem::new(408, codes::TOO_SLOW, format!("the body did not arrive within {limit_s} s"))
    }

    /// The media type of [`Problem::json`].
    pub const MEDIA_TYPE: &'static str = "application/problem+json";

    /// Returns the body. `request_id` identifies the request in the log.
    #[must_use]
    pub fn json(&self, request_id: &str) -> Json {
        let errors = self.errors.iter().map(|error| {
            Json::object([
                ("in", Json::text(error.place)),
                ("field", Json::text(error.field.clone())),
                ("rule", Json::text(error.rule.clone())),
                ("detail", Json::text(error.detail.clone())),
            ])
        });
        let errors: Vec<Json> = errors.collect();
        Json::object([
            ("type", Json::text(format!("urn:quayline:problem:{}", self.code))),
            ("title", Json::text(title(self.status))),
            ("status", Json::int(self.status)),
            ("detail", Json::text(self.detail.clone())),
            ("code", Json::text(self.code)),
            ("requestId", Json::text(request_id)),
        ])
        .with("errors", (!errors.is_empty()).then_some(Json::List(errors)))
    }
}

/// Builds the Allow header: GET implies HEAD, and OPTIONS is always allowed.
#[must_use]
pub fn allowed(methods: &[&str]) -> String {
    let mut all: Vec<&str> = Vec::new();
    for method in methods {
        all.push(method);
        if *method == "GET" {
            all.push("HEAD");
        }
    }
    all.push("OPTIONS");
    all.join(", ")
}

/// Returns the reason phrase (RFC 9110 and 6585).
#[must_use]
pub fn title(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        status if status < 300 => "OK",
        status if status < 400 => "Redirection",
        status if status < 500 => "Client Error",
        _ => "Server Error",
    }
}
