//! W3C trace context: which request of which trace this is.

use std::cell::Cell;

/// The trace of a request and our span in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Trace {
    pub(crate) trace: u128,
    pub(crate) parent: Option<u64>,
    pub(crate) span: u64,
    pub(crate) sampled: bool,
}

thread_local! {
    static SEED: Cell<u64> = Cell::new(seed());
}

fn seed() -> u64 {
    let mut bytes = [0u8; 8];
    // Ids need to be unique, not secret: without randomness of the system the clock and the thread's own address must do.
    let random = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    let here = core::ptr::from_ref(&bytes).addr() as u64;
    let clock =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |since| since.subsec_nanos());
    if random.is_ok() { u64::from_ne_bytes(bytes) | 1 } else { here ^ u64::from(clock) << 20 | 1 }
}

/// Returns the next number of a splitmix64 generator.
fn next() -> u64 {
    SEED.with(|seed| {
        let state = seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        seed.set(state);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31).max(1)
    })
}

impl Trace {
    /// Continues the trace that a `traceparent` header names, or begins one.
    pub(crate) fn of(traceparent: Option<&str>) -> Trace {
        let known = traceparent.and_then(parse);
        let (trace, parent, sampled) = known.map_or_else(
            || (u128::from(next()) << 64 | u128::from(next()), None, false),
            |(trace, parent, sampled)| (trace, Some(parent), sampled),
        );
        Trace { trace, parent, span: next(), sampled }
    }

    /// Returns the `traceparent` header for calls that this request makes.
    pub(crate) fn traceparent(&self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }

    /// Returns the id of the trace for logs and problems.
    pub(crate) fn id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    /// Returns the request id, which no other request has: the id of the trace, a hyphen, the span.
    pub(crate) fn request_id(&self) -> [u8; 49] {
        let mut id = [b'-'; 49];
        let write = |place: &mut [u8], mut number: u128| {
            for digit in place.iter_mut().rev() {
                *digit = b"0123456789abcdef"[(number & 15) as usize];
                number >>= 4;
            }
        };
        write(&mut id[..32], self.trace);
        write(&mut id[33..], self.span.into());
        id
    }
}

/// Parses version 00, and the part of it that later versions keep (W3C Trace Context, 3.2).
fn parse(text: &str) -> Option<(u128, u64, bool)> {
    let mut parts = text.trim().split('-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let digits =
        |text: &str, len: usize| text.len() == len && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let shaped = digits(version, 2) && digits(trace, 32) && digits(parent, 16) && digits(flags, 2);
    if !shaped || version == "ff" || version == "00" && parts.next().is_some() {
        return None;
    }
    let trace = u128::from_str_radix(trace, 16).ok().filter(|n| *n != 0)?;
    let parent = u64::from_str_radix(parent, 16).ok().filter(|n| *n != 0)?;
    let flags = u8::from_str_radix(flags, 16).ok()?;
    Some((trace, parent, flags & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_goes_on_under_a_span_of_ours() {
        let trace = Trace::of(Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
        assert_eq!(trace.id(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(trace.request_id(), format!("{}-{:016x}", trace.id(), trace.span).as_bytes());
        assert_eq!(trace.parent, Some(0xb7ad_6b71_6920_3331));
        assert!(
            trace.traceparent().starts_with("00-0af7651916cd43dd8448eb211c80319c-")
                && trace.traceparent().ends_with("-01")
        );
        for bad in [
            "",
            "00-0-0-0",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        ] {
            assert_eq!(Trace::of(Some(bad)).parent, None, "{bad}");
        }
        assert_ne!(Trace::of(None).trace, Trace::of(None).trace);
    }
}
