//! Export of spans and metrics to an OpenTelemetry collector: OTLP over HTTP with JSON (OTLP 1.x, "OTLP/HTTP"). It is off unless `[serve.otlp]` names a
//! collector.
//!
//! ```text
//! request ─▶ span() ─▶ queue, bounded ─▶ keep(): batches ─▶ POST URL/v1/traces
//!                         full: dropped and counted         POST URL/v1/metrics, every `metrics-seconds`
//! ```
//!
//! No request waits for the collector. A batch that cannot be sent is retried a few times while the queue fills; afterwards it is dropped and counted.
//! When the server stops, it sends the rest once.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::connections::Connections;
use crate::metric_kind::Kind;
use crate::metrics::{Family, Metrics, Sample, Telemetry};
use crate::otlp_config::{BATCH_MAX, OtlpConfig, QUEUE_MAX};
use crate::outbound::{Endpoint, Whole, read_all};
use crate::tls;
use crate::trace::Trace;
use crate::upstream::from_environment;

/// Attempts to send a batch.
const TRIES: u32 = 4;
/// Pause after the first attempt; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Bytes of a collector's answer that are read.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Longest pause between two lines of the log about one collector.
const SAID_EVERY: Duration = Duration::from_secs(60);

/// A request as a span.
struct Span {
    trace: Trace,
    name: String,
    route: Option<String>,
    operation: Option<String>,
    method: String,
    status: u16,
    bytes: usize,
    begin_ns: u128,
    end_ns: u128,
}

/// Properties of an answered request.
pub(crate) struct Answered<'r> {
    pub(crate) trace: &'r Trace,
    pub(crate) method: &'r str,
    /// Operation and path, where there is one.
    pub(crate) operation: Option<(&'r str, &'r str)>,
    pub(crate) status: u16,
    pub(crate) bytes: usize,
    pub(crate) began: Instant,
}

/// The exporter: the endpoints of the collector, and the spans that wait.
pub(crate) struct Otlp {
    traces: Endpoint,
    metrics: Endpoint,
    headers: Vec<(HeaderName, HeaderValue)>,
    service: String,
    /// A trace is sampled if the last 64 bits of its id are below this number.
    sampled_below: u128,
    queue_max: usize,
    batch_max: usize,
    interval: Duration,
    metrics_every: Option<Duration>,
    time_limit: Duration,
    queue: Mutex<VecDeque<Span>>,
    full: Notify,
    began_ns: u128,
    counts: Arc<Telemetry>,
    /// Time at which a failure was last logged.
    said: Mutex<Option<Instant>>,
    is_down: AtomicBool,
}

/// Spans that are being sent. They count as dropped if sending fails or the server ends the sending task.
struct Unsent<'o> {
    counts: &'o Telemetry,
    spans: u64,
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        self.counts.dropped.fetch_add(self.spans, Ordering::Relaxed);
    }
}

/// Failure of a request to the collector.
struct Failure {
    why: String,
    /// True if a retry may succeed (OTLP/HTTP, "Failures").
    again: bool,
}

/// Metrics to export, and a log for failures of the collector.
pub(crate) struct Sources<'s> {
    pub(crate) metrics: &'s Metrics,
    pub(crate) connections: &'s Connections,
    pub(crate) stopping: &'s AtomicBool,
    pub(crate) log: &'s dyn Fn(&str),
}

impl Otlp {
    /// Creates the exporter without connecting.
    ///
    /// # Errors
    /// A description of the error in the URL, the authorities or a header.
    pub(crate) fn new(config: &OtlpConfig, counts: Arc<Telemetry>) -> Result<Otlp, String> {
        let endpoint = |path: &str| {
            Endpoint::new(&format!("{}{path}", config.url.trim_end_matches('/')), || match &config.authorities {
                Some(path) => tls::authorities(path),
                None => tls::system_authorities(),
            })
        };
        let mut headers = Vec::new();
        for (name, value) in &config.headers {
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("`{name}` is not a header"))?;
            let value = HeaderValue::from_str(&from_environment(value)?);
            let mut value = value.map_err(|_| format!("the value of `{name}` has characters that no header has"))?;
            value.set_sensitive(true);
            headers.push((header, value));
        }
        let share = config.sample.unwrap_or(1.0).clamp(0.0, 1.0);
        Ok(Otlp {
            traces: endpoint("/v1/traces")?,
            metrics: endpoint("/v1/metrics")?,
            headers,
            service: config.service_name.clone().unwrap_or_else(|| "quayline".to_owned()),
            sampled_below: share_of(share),
            queue_max: config.queue.unwrap_or(2_048).clamp(1, QUEUE_MAX),
            batch_max: config.batch.unwrap_or(512).clamp(1, BATCH_MAX),
            interval: Duration::from_millis(config.interval_ms.unwrap_or(5_000).max(1)),
            metrics_every: Some(config.metrics_seconds.unwrap_or(60)).filter(|n| *n > 0).map(Duration::from_secs),
            time_limit: Duration::from_millis(config.time_limit_ms.unwrap_or(10_000).max(1)),
            queue: Mutex::default(),
            full: Notify::new(),
            began_ns: now_ns(),
            counts,
            said: Mutex::default(),
            is_down: AtomicBool::new(false),
        })
    }

    /// Returns true if a trace that begins here is sent.
    pub(crate) fn samples(&self, trace: u128) -> bool {
        (trace & u128::from(u64::MAX)) < self.sampled_below
    }

    /// Takes the span of a request that was answered. It never waits.
    pub(crate) fn span(&self, answered: &Answered<'_>) {
        let end_ns = now_ns();
        let span = Span {
            trace: *answered.trace,
            name: match answered.operation {
                Some((_, path)) => format!("{} {path}", answered.method),
                None => answered.method.to_owned(),
            },
            route: answered.operation.map(|(_, path)| path.to_owned()),
            operation: answered.operation.map(|(id, _)| id.to_owned()),
            method: answered.method.to_owned(),
            status: answered.status,
            bytes: answered.bytes,
            begin_ns: end_ns.saturating_sub(answered.began.elapsed().as_nanos()),
            end_ns,
        };
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() >= self.queue_max {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        queue.push_back(span);
        if queue.len() == self.batch_max {
            self.full.notify_one();
        }
    }

    /// Sends spans and metrics until the server ends.
    pub(crate) async fn keep(&self, from: &Sources<'_>) {
        let mut metrics_sent = Instant::now();
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.interval) => {}
                () = self.full.notified() => {}
            }
            loop {
                let batch = self.batch();
                if batch.is_empty() {
                    break;
                }
                let is_whole = batch.len() == self.batch_max;
                self.send_spans(from, &batch, TRIES).await;
                if !is_whole {
                    break;
                }
            }
            if self.metrics_every.is_some_and(|every| metrics_sent.elapsed() >= every) {
                metrics_sent = Instant::now();
                self.send_metrics(from).await;
            }
        }
    }

    /// Sends the remaining spans and the metrics once, within the time limit.
    pub(crate) async fn flush(&self, from: &Sources<'_>) {
        let all = async {
            loop {
                let batch = self.batch();
                if batch.is_empty() {
                    break;
                }
                self.send_spans(from, &batch, 1).await;
            }
            if self.metrics_every.is_some() {
                self.send_metrics(from).await;
            }
        };
        let _ = tokio::time::timeout(self.time_limit, all).await;
        let left = self.queue.lock().unwrap_or_else(PoisonError::into_inner).len() as u64;
        if left > 0 {
            self.counts.dropped.fetch_add(left, Ordering::Relaxed);
        }
        let dropped = self.counts.dropped.load(Ordering::Relaxed);
        if dropped > 0 {
            (from.log)(&format!("{dropped} spans were not sent to {}", self.traces.authority()));
        }
    }

    fn batch(&self) -> Vec<Span> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let count = queue.len().min(self.batch_max);
        queue.drain(..count).collect()
    }

    async fn send_spans(&self, from: &Sources<'_>, batch: &[Span], tries: u32) {
        let spans: Vec<Value> = batch.iter().map(span_json).collect();
        let scope = json!({ "scope": scope(), "spans": spans });
        let body = json!({ "resourceSpans": [{ "resource": self.resource(), "scopeSpans": [scope] }] });
        let count = batch.len() as u64;
        let mut unsent = Unsent { counts: &self.counts, spans: count };
        if let Ok(answer) = self.send(from, &self.traces, &body, tries).await {
            unsent.spans = rejected(&answer, "rejectedSpans").min(count);
            self.counts.sent.fetch_add(count - unsent.spans, Ordering::Relaxed);
        }
    }

    async fn send_metrics(&self, from: &Sources<'_>) {
        let (now, mut metrics) = (now_ns(), Vec::new());
        let connections = from.connections.open();
        from.metrics.families(connections, |family| metrics.extend(metric_json(family, self.began_ns, now)));
        let scope = json!({ "scope": scope(), "metrics": metrics });
        let body = json!({ "resourceMetrics": [{ "resource": self.resource(), "scopeMetrics": [scope] }] });
        // The next ones are cumulative: nothing is lost if these do not arrive.
        let _ = self.send(from, &self.metrics, &body, 1).await;
    }

    fn resource(&self) -> Value {
        let attributes = [("service.name", self.service.as_str()), ("service.version", env!("CARGO_PKG_VERSION"))];
        json!({ "attributes": attributes.map(|(key, value)| text(key, value)) })
    }

    /// Sends a body, again after failures that may pass. The answer's body, or nothing after the last attempt.
    async fn send(&self, from: &Sources<'_>, to: &Endpoint, body: &Value, tries: u32) -> Result<Vec<u8>, ()> {
        let body = Bytes::from(body.to_string());
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=tries {
            let sent = tokio::time::timeout(self.time_limit, self.post(to, body.clone())).await;
            let late = || Failure { why: format!("no answer within {} ms", self.time_limit.as_millis()), again: true };
            match sent.unwrap_or_else(|_| Err(late())) {
                Ok(answer) => {
                    if self.is_down.swap(false, Ordering::Relaxed) {
                        (from.log)(&format!("the collector {} answers again", to.authority()));
                    }
                    return Ok(answer);
                }
                Err(Failure { why, again }) => {
                    self.counts.failed.fetch_add(1, Ordering::Relaxed);
                    self.is_down.store(true, Ordering::Relaxed);
                    self.say(from, &format!("the collector {} does not take telemetry: {why}", to.authority()));
                    if !again || attempt == tries || from.stopping.load(Ordering::Relaxed) {
                        return Err(());
                    }
                }
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Err(())
    }

    async fn post(&self, to: &Endpoint, body: Bytes) -> Result<Vec<u8>, Failure> {
        let passing = |why: String| Failure { why, again: true };
        let mut send = to.connect().await.map_err(passing)?;
        send.ready().await.map_err(|error| passing(error.to_string()))?;
        let mut request =
            Request::post(to.target()).header(HOST, to.authority()).header(CONTENT_TYPE, "application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request =
            request.body(Whole(Some(body))).map_err(|error| Failure { why: error.to_string(), again: false })?;
        let response = send.send_request(request).await.map_err(|error| passing(error.to_string()))?;
        let status = response.status();
        if !status.is_success() {
            let again = matches!(
                status,
                StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::BAD_GATEWAY
                    | StatusCode::SERVICE_UNAVAILABLE
                    | StatusCode::GATEWAY_TIMEOUT
            );
            return Err(Failure { why: format!("it answered {status}"), again });
        }
        let mut answer = Vec::new();
        // What was taken was taken, however its answer ends.
        let _ = read_all(response.into_body(), ANSWER_BYTES_MAX, &mut answer).await;
        Ok(answer)
    }

    /// Says that the collector fails, now and then.
    fn say(&self, from: &Sources<'_>, line: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_none_or(|at| at.elapsed() >= SAID_EVERY) {
            *said = Some(Instant::now());
            (from.log)(line);
        }
    }
}

/// Returns the given share of the range of 64-bit numbers.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the share is from 0 to 1")]
fn share_of(share: f64) -> u128 {
    (share * 2f64.powi(64)) as u128
}

fn now_ns() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

fn scope() -> Value {
    json!({ "name": "quayline", "version": env!("CARGO_PKG_VERSION") })
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Writes a 64-bit number as a string, as the JSON of Protocol Buffers requires.
fn number(key: &str, value: impl ToString) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

/// Writes a span with the names of the semantic conventions for HTTP.
fn span_json(span: &Span) -> Value {
    const SERVER: u8 = 2;
    const ERROR: u8 = 2;
    let mut attributes = vec![
        text("http.request.method", &span.method),
        number("http.response.status_code", span.status),
        number("http.response.body.size", span.bytes),
    ];
    attributes.extend(span.route.iter().map(|route| text("http.route", route)));
    attributes.extend(span.operation.iter().map(|operation| text("quayline.operation", operation)));
    let mut json = json!({
        "traceId": format!("{:032x}", span.trace.trace),
        "spanId": format!("{:016x}", span.trace.span),
        "name": span.name,
        "kind": SERVER,
        "startTimeUnixNano": span.begin_ns.to_string(),
        "endTimeUnixNano": span.end_ns.to_string(),
        "attributes": attributes,
    });
    if let Some(parent) = span.trace.parent {
        json["parentSpanId"] = format!("{parent:016x}").into();
    }
    if span.status >= 500 {
        json["status"] = json!({ "code": ERROR });
    }
    json
}

/// Writes a family as a metric; `None` for one without numbers yet.
fn metric_json(family: &Family<'_>, began_ns: u128, now_ns: u128) -> Option<Value> {
    const CUMULATIVE: u8 = 2;
    let point = |labels: &crate::metrics::Labels| {
        let attributes: Vec<Value> = labels.0.iter().map(|(name, value)| text(name, value)).collect();
        json!({
            "attributes": attributes,
            "startTimeUnixNano": began_ns.to_string(),
            "timeUnixNano": now_ns.to_string(),
        })
    };
    let points: Vec<Value> = family
        .samples
        .iter()
        .map(|(labels, sample)| {
            let mut point = point(labels);
            match sample {
                Sample::Value(value) => point["asInt"] = value.to_string().into(),
                Sample::Number(value) => point["asDouble"] = (*value).into(),
                Sample::Times(times) => {
                    let (bounds, counts) = times.doublings();
                    point["count"] = counts.iter().sum::<u64>().to_string().into();
                    point["sum"] = times.seconds().into();
                    point["bucketCounts"] = counts.iter().map(u64::to_string).collect::<Vec<_>>().into();
                    point["explicitBounds"] = bounds.into();
                }
            }
            point
        })
        .collect();
    let unit = if family.name.contains("_seconds") {
        "s"
    } else if family.name.contains("_bytes") {
        "By"
    } else {
        "1"
    };
    let mut metric = json!({ "name": family.name, "description": family.help, "unit": unit });
    match family.kind {
        Kind::Counter => {
            metric["sum"] = json!({ "aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points });
        }
        Kind::Gauge => metric["gauge"] = json!({ "dataPoints": points }),
        Kind::Histogram => {
            metric["histogram"] = json!({ "aggregationTemporality": CUMULATIVE, "dataPoints": points });
        }
    }
    (!points.is_empty()).then_some(metric)
}

/// Returns the number of items that a collector rejected from a body that it accepted.
fn rejected(answer: &[u8], name: &str) -> u64 {
    let Ok(answer) = serde_json::from_slice::<Value>(answer) else { return 0 };
    let count = &answer["partialSuccess"][name];
    count.as_u64().or_else(|| count.as_str()?.parse().ok()).unwrap_or(0)
}
