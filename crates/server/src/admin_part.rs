//! Parts of the program on the listener for operators.

/// A request that an operator sends to a part of the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdminRequest<'r> {
    /// `GET`, `POST`.
    pub method: &'r str,
    /// The path, percent-encoded as it came.
    pub path: &'r str,
    /// Query string without `?`, percent-encoded.
    pub query: &'r str,
    /// The body, at most [`AdminRequest::BODY_BYTES_MAX`].
    pub body: &'r [u8],
    /// Name of the operator, if the listener requires credentials.
    pub operator: Option<&'r str>,
    /// True if the operator may see and change only its own jobs.
    pub owns_only: bool,
    /// Value of `If-Match`: versions that the client expects.
    pub if_match: Option<&'r str>,
    /// Value of `If-None-Match`.
    pub if_none_match: Option<&'r str>,
}

impl AdminRequest<'_> {
    /// Bytes of a body: an interchange with one transaction fits, which has at most 64 MB.
    pub const BODY_BYTES_MAX: usize = 65 << 20;
}

/// The answer of a part of the program.
#[derive(Clone, Debug)]
pub struct AdminAnswer {
    /// HTTP status.
    pub status: u16,
    /// Media type of the body.
    pub media: &'static str,
    /// The body.
    pub body: Vec<u8>,
    /// Methods that the path supports, for a 405.
    pub allow: Option<String>,
    /// Version of what the answer shows, without quotes, for `ETag`.
    pub version: Option<String>,
}

impl AdminAnswer {
    /// Returns an answer with a body of a media type.
    #[must_use]
    pub fn new(status: u16, media: &'static str, body: Vec<u8>) -> Self {
        AdminAnswer { status, media, body, allow: None, version: None }
    }
}

/// Extension of the listener for operators by another part of the program, such as message flows.
pub trait AdminPart: Send + Sync {
    /// Answers a request, or returns `None` if the path belongs to another part. It runs on a separate thread and may block. By default, it looks at
    /// method and path only.
    fn request(&self, request: &AdminRequest<'_>) -> Option<AdminAnswer> {
        let (status, text) = self.answer(request.method, request.path)?;
        Some(AdminAnswer::new(status, "application/json", text.into_bytes()))
    }

    /// Returns status and JSON for a request, or `None` if the path belongs to another part. It runs on a separate thread and may block.
    fn answer(&self, method: &str, path: &str) -> Option<(u16, String)>;

    /// Returns whether the path is for operators who may see and change only their own jobs ([`AdminRequest::owns_only`]).
    fn is_for_submitters(&self, path: &str) -> bool {
        let _ = path;
        false
    }

    /// Returns the stream of server-sent events for a `GET` with `Accept: text/event-stream`, or `None` if the path has no stream. `last` is the id
    /// of the last event that the client has received.
    fn stream(
        &self,
        request: &AdminRequest<'_>,
        last: Option<&str>,
    ) -> Option<Result<Box<dyn AdminStream>, AdminAnswer>> {
        let _ = (request, last);
        None
    }

    /// Returns the answer to a `GET` whose body has no known length, or `None` if the path has no such answer. It runs on a separate thread and may
    /// block.
    fn download(&self, request: &AdminRequest<'_>) -> Option<Result<AdminDownload, AdminAnswer>> {
        let _ = request;
        None
    }

    /// Metrics in the text form of Prometheus, each line with its line feed.
    fn metrics(&self) -> String;

    /// Returns the components of this part that do not work now, by name, with the reason. It may block; the listener waits for two seconds.
    fn not_ready(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// Source of events for a client that keeps its connection open.
pub trait AdminStream: Send {
    /// Returns the text of new events since the last call, empty without new events; `None` ends the stream. It may block.
    fn next(&mut self) -> Option<Vec<u8>>;
}

/// An answer that is sent while it is made, so that memory does not depend on its length.
pub struct AdminDownload {
    /// Media type of the body.
    pub media: &'static str,
    /// Parts of the body. After an error, the connection ends without the end of the body, so that the client notices. Taking a part may block.
    pub parts: DownloadParts,
}

/// Parts of an [`AdminDownload`].
pub type DownloadParts = Box<dyn Iterator<Item = Result<Vec<u8>, String>> + Send>;
