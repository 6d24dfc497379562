//! `quayline.httpProcessor`: one request for each item, and the answer's content as the item to write.
//!
//! Requests are not a part of the unit of work: a chunk that is rolled back or continues after a crash sends its items again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use quayline_core::{Limits, system_error_text};
use quayline_meter::{WaitFor, waiting};
use ureq::http::{HeaderName, HeaderValue, Method, Request, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Error};

use super::folder::io;
use super::limits::limits;
use crate::artifact::{Answer, Injected, Item, Processed, Processor};
use crate::error::Thrown;

/// Most requests at the same time.
pub(super) const PARALLEL_MAX: u64 = 64;
/// Default time limit of one request in seconds.
const TIMEOUT_S: u64 = 30;
/// Placeholder for the item in the URL.
const ITEM: &str = "{item}";
/// Paths at which operating systems keep the certificates of authorities.
const AUTHORITIES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

pub(super) struct HttpProcessor {
    agent: Agent,
    url: String,
    method: Method,
    headers: Vec<(HeaderName, HeaderValue)>,
    limits: Limits,
    parallel: usize,
}

/// Checks a URL. The error is a description of the fault and a remedy.
pub(super) fn url_of(text: &str) -> Result<(), (String, String)> {
    let wrong = |what: &str| (what.to_owned(), "write it as http://HOST:PORT/PATH or https://HOST/PATH".to_owned());
    // Only a whole path segment or a value of the query can be an item.
    let place = text.find(ITEM).unwrap_or(text.len());
    let uri: Uri = text.replace(ITEM, "0").parse().map_err(|_| wrong("is not a URL"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
        return Err(wrong("does not begin with http:// or https:// and a host"));
    }
    let authority = text.find("://").map_or(0, |at| at + 3);
    if !text[authority..place].contains('/') && place < text.len() {
        return Err(wrong("has {item} before the path"));
    }
    Ok(())
}

/// Parses lines such as `Accept: application/json`. The error is the invalid line.
pub(super) fn headers_of(text: &str) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let lines = text.split(['\n', '|']).map(str::trim).filter(|line| !line.is_empty());
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let mut value = HeaderValue::from_str(value.trim()).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::from_bytes(name.trim().as_bytes()).ok()?, value))
    };
    (1..).zip(lines).map(|(number, line)| header(line).ok_or_else(|| format!("header {number}"))).collect()
}

impl HttpProcessor {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let url = with.required("url")?;
        // The declared properties have no other methods.
        let method = with.property("method").and_then(|name| name.parse().ok()).unwrap_or(Method::POST);
        let remedy = "write NAME: VALUE, several with | between them";
        let mut headers = headers_of(with.property("headers").unwrap_or_default())
            .map_err(|what| Thrown::property(&with.name, "headers", format!("is wrong in {what}"), remedy))?;
        if with.property("headers-file").is_some() {
            let path = with.path("headers-file")?;
            let text = std::fs::read_to_string(&path).map_err(|error| io(&path, "read", &error))?;
            let remedy = "write one NAME: VALUE in each line of the file";
            let more = headers_of(&text)
                .map_err(|what| Thrown::property(&with.name, "headers-file", format!("is wrong in {what}"), remedy))?;
            headers.extend(more);
        }
        let parallel = with.number("parallel", 1)?.clamp(1, PARALLEL_MAX);
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_global(Some(Duration::from_secs(with.number("timeout-s", TIMEOUT_S)?)))
            .max_idle_connections_per_host(usize::try_from(parallel).unwrap_or(1))
            .user_agent(concat!("quayline/", env!("CARGO_PKG_VERSION")));
        if url.starts_with("https:") {
            config = config.tls_config(tls(with.property("ca").map(|_| with.path("ca")).transpose()?)?);
        }
        Ok(HttpProcessor {
            agent: config.build().into(),
            url: url.to_owned(),
            method,
            headers,
            limits: limits(with)?,
            parallel: usize::try_from(parallel).unwrap_or(1),
        })
    }

    fn ask(&self, item: &Item) -> Answer<Option<Item>> {
        let is_in_url = self.url.contains(ITEM);
        let url = if is_in_url { self.url.replace(ITEM, &percent(item)) } else { self.url.clone() };
        let mut request = Request::builder().method(self.method.clone()).uri(&url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let has_type = self.headers.iter().any(|(name, _)| name == "content-type");
        let answer = if is_in_url {
            request.body(()).map_err(Error::from).and_then(|request| self.agent.run(request))
        } else {
            if !has_type {
                request = request.header("content-type", "application/octet-stream");
            }
            request.body(item.as_slice()).map_err(Error::from).and_then(|request| self.agent.run(request))
        };
        let mut answer = answer.map_err(|error| self.unreachable(&error))?;
        let status = answer.status().as_u16();
        let most = self.limits.record_bytes_max as u64;
        let content = answer.body_mut().with_config().limit(most).read_to_vec();
        match status {
            204 | 205 => Ok(None),
            200..=299 => match content {
                Ok(content) => Ok(Some(content)),
                Err(Error::BodyExceedsLimit(_)) => {
                    let message = format!("the answer of {} has more than {most} bytes", self.place());
                    Err(Thrown::of(&["quayline.Rejected"], message)
                        .hint("raise the property limit: record-bytes=NUMBER"))
                }
                Err(error) => Err(self.unreachable(&error)),
            },
            // Temporary: too early, too many requests, timeout, a conflict with an earlier request, and server errors.
            408 | 409 | 425 | 429 | 500..=599 => {
                let message = format!("{} answers with status {status}", self.place());
                Err(Thrown::of(&["quayline.HttpUnavailable", "java.io.IOException", "quayline.Environment"], message)
                    .hint("let the step try again: retryable-exception-classes with quayline.HttpUnavailable"))
            }
            _ => {
                let message = format!("{} answers with status {status}", self.place());
                Err(Thrown::of(&["quayline.HttpRefused", "quayline.Rejected"], message)
                    .hint("see what the server expects, or skip such items: skippable-exception-classes with quayline.HttpRefused"))
            }
        }
    }

    /// Returns host and port, without path and query, which may contain data.
    fn place(&self) -> String {
        let uri: Option<Uri> = self.url.replace(ITEM, "0").parse().ok();
        uri.and_then(|uri| uri.authority().map(|at| at.host().to_owned() + &port(at.port_u16()))).unwrap_or_default()
    }

    fn unreachable(&self, error: &Error) -> Thrown {
        let why = match error {
            Error::Timeout(_) => "did not answer in time".to_owned(),
            Error::HostNotFound => "is not known".to_owned(),
            Error::ConnectionFailed => "cannot be reached".to_owned(),
            Error::Rustls(error) => untrusted(error),
            Error::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(error) => untrusted(error),
                None => format!("cannot be reached: {}", system_error_text(error)),
            },
            _ => "ended the connection without an answer".to_owned(),
        };
        Thrown::of(
            &["quayline.HttpUnavailable", "java.io.IOException", "quayline.Environment"],
            format!("{} {why}", self.place()),
        )
        .hint("check the property url, the server and the network")
    }
}

fn untrusted(error: &rustls::Error) -> String {
    format!("is not trusted, or speaks no TLS: {error}")
}

fn port(port: Option<u16>) -> String {
    port.map_or_else(String::new, |port| format!(":{port}"))
}

/// Percent-encodes an item for a URL. Source: RFC 3986, section 2.3.
fn percent(item: &[u8]) -> String {
    let mut text = String::with_capacity(item.len());
    for byte in item {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(*byte)),
            byte => {
                text.push('%');
                for digit in [byte >> 4, byte & 15] {
                    text.push(char::from(b"0123456789ABCDEF"[usize::from(digit)]));
                }
            }
        }
    }
    text
}

/// Trusts the authorities of a file, or those of the system.
fn tls(ca: Option<PathBuf>) -> Answer<TlsConfig> {
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let system = || AUTHORITIES.iter().map(PathBuf::from).find(|path| path.exists());
    let Some(path) = ca.or(named).or_else(system) else {
        return Err(Thrown::of(&["quayline.Environment"], "this system has no file of certificate authorities")
            .hint("name one with the property ca: a PEM file"));
    };
    let pem = std::fs::read(&path).map_err(|error| io(&path, "read", &error))?;
    let found: Vec<Certificate<'static>> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate.to_owned()),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        let message = format!("{} holds no certificate", path.display());
        return Err(Thrown::of(&["quayline.Environment"], message).hint("name a PEM file in the property ca"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = RootCerts::Specific(Arc::new(found));
    Ok(TlsConfig::builder().root_certs(roots).unversioned_rustls_crypto_provider(provider).build())
}

impl Processor for HttpProcessor {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        waiting(WaitFor::External, || self.ask(item))
    }

    fn takes_chunks(&self) -> bool {
        self.parallel > 1
    }

    /// Sends several requests concurrently. Items after one that throws may already have been sent; they are sent again.
    fn process_all(&mut self, items: &[Item]) -> Processed {
        let next = AtomicUsize::new(0);
        let first_thrown = AtomicUsize::new(usize::MAX);
        let answers: Vec<Mutex<Option<Answer<Option<Item>>>>> = items.iter().map(|_| Mutex::new(None)).collect();
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= items.len() || at > first_thrown.load(Ordering::Relaxed) {
                    return;
                }
                let answer = self.ask(&items[at]);
                if answer.is_err() {
                    first_thrown.fetch_min(at, Ordering::Relaxed);
                }
                *answers[at].lock() = Some(answer);
            }
        };
        let all = || {
            std::thread::scope(|scope| {
                for _ in 1..self.parallel.min(items.len()) {
                    scope.spawn(work);
                }
                work();
            });
        };
        waiting(WaitFor::External, all);
        let mut processed = Processed::default();
        for answer in answers {
            match answer.into_inner() {
                Some(Ok(result)) => processed.results.push(result),
                Some(Err(thrown)) => {
                    processed.thrown = Some(thrown);
                    break;
                }
                None => break,
            }
        }
        processed
    }
}
