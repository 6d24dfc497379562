//! The documentation page of an API: one page, one script, no other host.

use crate::Json;

/// The script of every page.
pub const DOCS_SCRIPT: &str = include_str!("docs.js");

/// Resources that a page may load and call (Content-Security-Policy).
pub const DOCS_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the page for an OpenAPI document. It loads `docs.js` from the same folder.
#[must_use]
pub fn docs_page(openapi: &Json) -> String {
    // `<` is escaped in our JSON, so nothing in the document ends the element.
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n\
<title>API</title><style>{}</style></head><body>\n<script type=\"application/json\" id=\"openapi\">{openapi}</script>\n\
<script src=\"docs.js\"></script></body></html>\n",
        include_str!("docs.css")
    )
}
