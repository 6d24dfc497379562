//! An HTTP service as provider: the record goes to it as a POST, its answer is the record.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Request, StatusCode};
use quayline_gateway::{Answered, HttpSpec, Outgoing, Problem, Provider, ProviderFault, Returned};

use crate::outbound::{BodyFault, Endpoint, Whole, read_all};
use crate::tls;

/// Connections to one service from one thread.
pub(crate) struct Upstream {
    endpoint: Endpoint,
    headers: Vec<(HeaderName, HeaderValue)>,
    length: usize,
    spec: HttpSpec,
    idle: RefCell<Vec<SendRequest<Whole>>>,
}

/// Connections that are kept for later calls.
const IDLE_MAX: usize = 32;

impl Upstream {
    /// Prepares calls without connecting.
    ///
    /// # Errors
    /// A description of the error in the specification, without secrets.
    pub(crate) fn new(spec: &HttpSpec, length: usize) -> Result<Upstream, String> {
        let endpoint = Endpoint::new(&spec.url, || match &spec.authorities {
            Some(path) => tls::authorities(path),
            None => tls::system_authorities(),
        })?;
        let mut headers = Vec::new();
        for (name, value) in &spec.headers {
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("`{name}` is not a header"))?;
            let mut value = HeaderValue::from_str(&from_environment(value)?)
                .map_err(|_| format!("the value of the header `{name}` has characters that a header does not have"))?;
            value.set_sensitive(header == AUTHORIZATION);
            headers.push((header, value));
        }
        Ok(Upstream { endpoint, headers, length, spec: spec.clone(), idle: RefCell::default() })
    }

    fn request(&self, record: Bytes, trace: &str) -> Result<Request<Whole>, String> {
        let mut request = Request::post(self.endpoint.target())
            .header(HOST, self.endpoint.authority())
            .header(CONTENT_TYPE, "application/octet-stream")
            .header("traceparent", trace);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.body(Whole(Some(record))).map_err(|error| error.to_string())
    }

    /// Sends a record and reads the answer. `sent` is true from the moment at which the other side may have the request.
    async fn exchange(&self, record: Vec<u8>, trace: String, sent: &Cell<bool>) -> Result<Returned, ProviderFault> {
        let named = |reason: String| format!("{}: {reason}", self.endpoint.authority());
        let absent = |reason: String| ProviderFault::Absent { reason: named(reason) };
        // The request may have been performed, so the client must not repeat it unchecked.
        let cut = |reason: String| ProviderFault::Refused(Box::new(Problem::cut_answer().logged(named(reason))));
        let record = Bytes::from(record);
        let mut answered = None;
        // The other side may close a kept connection at the moment it is used again. A request that was not sent goes over the next one; one
        // that was sent never goes twice.
        while answered.is_none() {
            // The borrow ends here: what follows waits.
            let kept = self.idle.borrow_mut().pop();
            let Some(mut send) = kept else { break };
            if send.is_closed() || send.ready().await.is_err() {
                continue;
            }
            let request = self.request(record.clone(), &trace).map_err(absent)?;
            sent.set(true);
            match send.try_send_request(request).await {
                Ok(response) => answered = Some((send, response)),
                Err(error) if error.message().is_some() => sent.set(false),
                Err(error) => return Err(cut(error.into_error().to_string())),
            }
        }
        let (send, response) = match answered {
            Some(answered) => answered,
            None => {
                let mut send = self.endpoint.connect().await.map_err(absent)?;
                send.ready().await.map_err(|error| absent(error.to_string()))?;
                let request = self.request(record, &trace).map_err(absent)?;
                sent.set(true);
                match send.try_send_request(request).await {
                    Ok(response) => (send, response),
                    Err(error) if error.message().is_some() => return Err(absent(error.into_error().to_string())),
                    Err(error) => return Err(cut(error.into_error().to_string())),
                }
            }
        };
        let status = response.status();
        let coding = response.headers().get(CONTENT_ENCODING).filter(|coding| *coding != "identity");
        let misfit = if !status.is_success() || status == StatusCode::PARTIAL_CONTENT {
            Some(format!("{} answered {status}", self.endpoint.authority()))
        } else {
            coding.map(|coding| format!("{} answered with the content coding {coding:?}", self.endpoint.authority()))
        };
        let mut answer = Vec::new();
        read_all(response.into_body(), self.length, &mut answer).await.map_err(|fault| match fault {
            BodyFault::TooLong => {
                ProviderFault::BadAnswer { reason: format!("the answer is longer than {} bytes", self.length) }
            }
            BodyFault::Broken(reason) => cut(reason),
        })?;
        if self.idle.borrow().len() < IDLE_MAX {
            self.idle.borrow_mut().push(send);
        }
        match misfit {
            Some(reason) => Err(ProviderFault::BadAnswer { reason }),
            None => Ok(Returned::Bytes(answer)),
        }
    }
}

impl Provider for Upstream {
    fn call<'a>(&'a self, record: Outgoing<'_>, traceparent: &dyn Fn() -> String) -> Answered<'a> {
        let record = record.to_vec();
        let trace = traceparent();
        Box::pin(async move {
            let limit = self.spec.time_limit;
            let sent = Cell::new(false);
            let answered = tokio::time::timeout(limit, self.exchange(record, trace, &sent)).await;
            answered.unwrap_or_else(|_| {
                let authority = self.endpoint.authority();
                Err(if sent.get() {
                    let note = format!("{authority} did not answer within {} ms", limit.as_millis());
                    ProviderFault::Refused(Box::new(Problem::no_answer(limit).logged(note)))
                } else {
                    let reason = format!("{authority}: no connection within {} ms", limit.as_millis());
                    ProviderFault::Absent { reason }
                })
            })
        })
    }
}

/// Replaces `${NAME}` by the environment's value.
pub(crate) fn from_environment(text: &str) -> Result<String, String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let (name, after) = behind.split_once('}').ok_or("a `${` is not closed")?;
        whole.push_str(before);
        whole.push_str(&std::env::var(name).map_err(|_| format!("the environment has no {name}"))?);
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

/// Creates the provider of a service, or returns the reason for the failure.
pub(crate) fn provider(spec: &HttpSpec, length: usize) -> Result<Rc<dyn Provider>, String> {
    Ok(Rc::new(Upstream::new(spec, length)?))
}
