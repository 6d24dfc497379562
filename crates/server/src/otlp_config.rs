//! `[serve.otlp]`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::Deserialize;

/// The collector that spans and metrics go to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OtlpConfig {
    /// URL of the collector; `/v1/traces` and `/v1/metrics` are appended.
    pub url: String,
    /// Authorities of its certificate, PEM; by default the system's.
    pub authorities: Option<PathBuf>,
    /// True to send to another machine without TLS.
    #[serde(default)]
    pub plain_text: bool,
    /// Headers of requests; `${NAME}` is from the environment.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// `service.name`. Default `quayline`.
    pub service_name: Option<String>,
    /// Share of the traces that begin here of which spans are sent, 0 to 1. Default 1. A trace that began elsewhere is sent if its caller samples it.
    pub sample: Option<f64>,
    /// Spans that wait at most. Default 2,048.
    pub queue: Option<usize>,
    /// Spans of one request at most. Default 512.
    pub batch: Option<usize>,
    /// Longest wait of a span for its batch. Default 5,000.
    pub interval_ms: Option<u64>,
    /// Interval of metrics; 0 sends none. Default 60.
    pub metrics_seconds: Option<u64>,
    /// Time limit of a request. Default 10,000.
    pub time_limit_ms: Option<u64>,
}

impl OtlpConfig {
    /// Reports invalid values.
    pub(crate) fn wrong(&self, value: &mut dyn FnMut(&'static str, &str, &str)) {
        let uri = self.url.parse::<hyper::Uri>().ok();
        let (scheme, host) = uri.as_ref().map_or((None, ""), |u| (u.scheme_str(), u.host().unwrap_or("")));
        let is_local =
            host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        match scheme {
            Some("https") if !host.is_empty() => {}
            Some("http") if is_local || self.plain_text && !host.is_empty() => {}
            Some("http") => value(
                "otlp.url",
                "others on the network could read spans, metrics and headers",
                "write https://, or `plain-text = true` if that is meant",
            ),
            _ => value("otlp.url", "this is not a URL of a collector", "write for example http://127.0.0.1:4318"),
        }
        if self.sample.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            value("otlp.sample", "this is not a share", "write a number from 0 to 1");
        }
        if self.queue.is_some_and(|n| !(1..=QUEUE_MAX).contains(&n)) {
            value("otlp.queue", "the number of waiting spans is out of range", "write 1 to 1000000");
        }
        if self.batch.is_some_and(|n| !(1..=BATCH_MAX).contains(&n)) {
            value("otlp.batch", "the number of spans of a request is out of range", "write 1 to 10000");
        }
        if self.interval_ms == Some(0) || self.time_limit_ms == Some(0) {
            value("otlp", "an interval or a time limit of nothing", "leave the key out for its default");
        }
    }
}

/// Most spans that may wait.
pub(crate) const QUEUE_MAX: usize = 1_000_000;
/// Most spans of one request.
pub(crate) const BATCH_MAX: usize = 10_000;
