//! Metrics in Prometheus' protobuf form, which native histograms need: length-prefixed messages of `io.prometheus.client`.
//!
//! The encoder supports only the parts of Protocol Buffers that it needs: varints, doubles and length-delimited fields.

use std::sync::atomic::Ordering;

use crate::metric_kind::Kind;
use crate::metrics::{FIRST_EXPONENT, Family, Metrics, PER_DOUBLING, Sample, Times, bound_seconds};

/// Media type that a scraper requests.
pub(crate) const MEDIA_TYPE: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Returns true if a scraper accepts protobuf; all others get the text form.
pub(crate) fn is_wanted(accept: &str) -> bool {
    accept.split(',').any(|part| {
        let mut words = part.split(';').map(str::trim);
        words.next() == Some("application/vnd.google.protobuf")
            && words.clone().any(|word| word == "proto=io.prometheus.client.MetricFamily")
            && !words.any(|word| matches!(word.strip_prefix("q=").map(str::parse::<f32>), Some(Ok(q)) if q <= 0.0))
    })
}

/// Writes all families.
pub(crate) fn delimited(metrics: &Metrics, connections: usize) -> Vec<u8> {
    let mut out = Message::default();
    metrics.families(connections, |family| {
        let message = of_family(family);
        out.varint(message.0.len() as u64);
        out.0.extend_from_slice(&message.0);
    });
    out.0
}

fn of_family(family: &Family<'_>) -> Message {
    let mut message = Message::default();
    message.bytes(1, family.name.as_bytes());
    message.bytes(2, family.help.as_bytes());
    message.number(
        3,
        match family.kind {
            Kind::Counter => 0,
            Kind::Gauge => 1,
            Kind::Histogram => 4,
        },
    );
    for (labels, sample) in &family.samples {
        let mut metric = Message::default();
        for (name, value) in &labels.0 {
            let mut pair = Message::default();
            pair.bytes(1, name.as_bytes());
            pair.bytes(2, value.as_bytes());
            metric.bytes(1, &pair.0);
        }
        match sample {
            Sample::Value(_) | Sample::Number(_) => {
                let mut number = Message::default();
                number.double(1, sample.number());
                metric.bytes(if family.kind == Kind::Gauge { 2 } else { 3 }, &number.0);
            }
            Sample::Times(times) => metric.bytes(7, &of_times(times).0),
        }
        message.bytes(4, &metric.0);
    }
    message
}

/// Writes both histograms: the classic one with a bucket for each doubling, and the native one, schema 3, whose bucket `i` ends at 2^(i/8).
fn of_times(times: &Times) -> Message {
    let counts: Vec<u64> = times.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
    let mut message = Message::default();
    message.number(1, counts.iter().sum());
    message.double(2, times.sum_ns.load(Ordering::Relaxed) as f64 / 1e9);
    let mut sum = 0;
    for (i, count) in counts.iter().enumerate() {
        sum += count;
        if i % PER_DOUBLING == 0 && i + 1 < counts.len() {
            let mut bucket = Message::default();
            bucket.number(1, sum);
            bucket.double(2, bound_seconds(i));
            message.bytes(3, &bucket.0);
        }
    }
    message.signed(5, 3);
    // What is below the first bound counts as zero.
    message.double(6, f64::from(FIRST_EXPONENT).exp2());
    message.number(7, counts[0]);
    let first = i64::from(FIRST_EXPONENT) * PER_DOUBLING as i64;
    let mut next = 0;
    let mut last = 0;
    let mut span: Option<(i64, u64)> = None;
    let mut deltas = Message::default();
    for (index, count) in (first..).zip(&counts).skip(1).filter(|(_, count)| **count > 0) {
        match &mut span {
            Some((_, length)) if index == next => *length += 1,
            _ => {
                let offset = if span.is_some() { index - next } else { index };
                message.span(span.replace((offset, 1)));
            }
        }
        next = index + 1;
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        deltas.varint(zigzag(count - last));
        last = count;
    }
    message.span(span);
    if !deltas.0.is_empty() {
        message.bytes(13, &deltas.0);
    }
    message
}

#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut n: u64) {
        while n > 0x7f {
            self.0.push(n.to_le_bytes()[0] | 0x80);
            n >>= 7;
        }
        self.0.push(n.to_le_bytes()[0]);
    }

    fn number(&mut self, field: u64, n: u64) {
        self.varint(field << 3);
        self.varint(n);
    }

    fn signed(&mut self, field: u64, n: i64) {
        self.number(field, zigzag(n));
    }

    fn double(&mut self, field: u64, x: f64) {
        self.varint(field << 3 | 1);
        self.0.extend_from_slice(&x.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Writes a span of consecutive buckets.
    fn span(&mut self, span: Option<(i64, u64)>) {
        if let Some((offset, length)) = span {
            let mut message = Message::default();
            message.signed(1, offset);
            message.number(2, length);
            self.bytes(12, &message.0);
        }
    }
}

fn zigzag(n: i64) -> u64 {
    (n << 1 ^ n >> 63).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn native_buckets_are_spans_and_differences() {
        let times = Times::default();
        // 2^-20 s and less; then 2^-10 s twice and the bucket behind it; then a second.
        for ns in [0, 900, 976_000, 976_000, 980_000, 1_000_000_000] {
            times.record(Duration::from_nanos(ns));
        }
        let text = hex(&of_times(&times).0);
        // Schema 3, threshold 2^-20, two below it; spans: index -80, two long, then 79 further, one long; differences 2, -1, 0.
        let native = concat!("2806", "31000000000000b03e", "3802", "6205089f011002", "6205089c011001", "6a03040100");
        assert!(text.ends_with(native), "{text}");
        assert!(text.starts_with("0806"), "{text}");
    }

    #[test]
    fn it_is_for_scrapers_that_ask() {
        assert!(is_wanted(
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,text/plain;q=0.3"
        ));
        assert!(!is_wanted("text/plain;version=0.0.4"));
        assert!(!is_wanted("application/vnd.google.protobuf;proto=other"));
    }
}
