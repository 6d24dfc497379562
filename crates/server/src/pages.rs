//! Documents of APIs: `BASE/openapi.json`, `BASE/docs`, `BASE/docs.js`.

use hyper::Response;
use hyper::header::{self, HeaderName, HeaderValue};
use quayline_gateway::{Api, DOCS_POLICY, DOCS_SCRIPT, Json, Problem, Security, docs_page};

use crate::body::Body;
use crate::config::ServeConfig;
use crate::thread::{Thread, Version};

/// Returns the document at a path without an operation. Documents of non-public APIs are shown only to clients that `may_read` them, unless
/// the settings show them to everybody.
///
/// # Errors
/// Those of `may_read`.
pub(crate) fn page(
    thread: &Thread,
    version: &Version,
    path: &str,
    may_read: impl Fn(&Api) -> Result<bool, Box<Problem>>,
) -> Result<Option<Response<Body>>, Box<Problem>> {
    let config = &thread.shared.config;
    let found = path.rsplit_once('/').and_then(|(base, name)| {
        let api = version.definitions.apis.iter().find(|api| api.base_path == base)?;
        Some((api, name))
    });
    let Some((api, name)) = found else { return Ok(None) };
    // Where authentication is off, only operations with roles are guarded.
    let needs_somebody = config.authentication.required || api.operations.iter().all(|one| one.roles.is_some());
    let guarded = !api.public && needs_somebody && !config.public_documents;
    if guarded && (!matches!(name, "openapi.json" | "docs" | "docs.js") || !may_read(api)?) {
        return Ok(None);
    }
    let openapi = || api.openapi("/", security(config));
    Ok(shown(name, guarded, openapi))
}

/// Returns the authentication schemes for documents.
pub(crate) fn security(config: &ServeConfig) -> Security {
    Security {
        api_key: config.authentication.api_keys.is_some(),
        bearer: config.authentication.jwt.is_some(),
        mutual_tls: config.tls.as_ref().is_some_and(|tls| tls.client_authorities.is_some()),
    }
}

/// Returns the document, the page that shows it, or the script of that page.
pub(crate) fn shown(name: &str, guarded: bool, openapi: impl Fn() -> Json) -> Option<Response<Body>> {
    let (text, media) = match name {
        "openapi.json" => (openapi().pretty(), "application/json"),
        "docs" => (docs_page(&openapi()), "text/html; charset=utf-8"),
        "docs.js" => (DOCS_SCRIPT.to_owned(), "text/javascript; charset=utf-8"),
        _ => return None,
    };
    let mut response = Response::new(Body::shared(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(DOCS_POLICY));
    headers.insert(HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer"));
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static(if guarded { "private, no-cache" } else { "no-cache" }),
    );
    Some(response)
}
