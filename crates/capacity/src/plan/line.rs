//! Utilization of a line, and its dependence on connections and sizes.

use crate::error::{not_negative, positive};
use crate::{Bytes, Estimate, Method, ModelError, PerSecond, Seconds, Share, Validity};

/// Use of the line by the two directions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Duplex {
    /// One direction at a time.
    Half,
    /// Both directions transfer at the same time; utilization is their mean.
    Full,
}

/// Computes the utilization of a line of `bits` a second from bytes in and out over a time.
///
/// # Errors
/// [`ModelError`] for negative amounts, no time or no speed.
pub fn line_utilization(
    bytes_in: Bytes,
    bytes_out: Bytes,
    time: Seconds,
    bits: PerSecond,
    duplex: Duplex,
) -> Result<Estimate<Share>, ModelError> {
    let both = not_negative("bytes in", bytes_in.0)? + not_negative("bytes out", bytes_out.0)?;
    let room = positive("time", time.0)? * positive("line speed", bits.0)?;
    let share = match duplex {
        Duplex::Half => both * 8.0 / room,
        Duplex::Full => both * 4.0 / room,
    };
    Ok(Estimate::exact(Method::LineUtilization, Share(share)))
}

/// Mean and maximum of the two directions of a full-duplex line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineLoad {
    /// Mean of both.
    pub mean: Share,
    /// The busier direction.
    pub most: Share,
}

/// Computes mean and maximum of sending and receiving. One full and one idle direction have a mean of a half, so both numbers are needed.
#[must_use]
pub fn line_load(send: Share, receive: Share) -> Estimate<LineLoad> {
    let load = LineLoad { mean: Share((send.0 + receive.0) / 2.0), most: Share(send.0.max(receive.0)) };
    Estimate::exact(Method::LineUtilization, load)
}

/// Computes the transmission time of bytes on a line.
///
/// # Errors
/// [`ModelError`] for a line without speed.
pub fn wire_time(size: Bytes, bits: PerSecond) -> Result<Estimate<Seconds>, ModelError> {
    let time = not_negative("size", size.0)? * 8.0 / positive("line speed", bits.0)?;
    Ok(Estimate::exact(Method::LineUtilization, Seconds(time)))
}

/// Computes the rate of new connections at which the port numbers of a pair of addresses run out, if a closed one waits for `timeout`.
///
/// # Errors
/// [`ModelError`] for a timeout that is not positive.
pub fn port_pairs(timeout: Seconds) -> Result<Estimate<PerSecond>, ModelError> {
    let rate = 60_000.0 / positive("timeout", timeout.0)?;
    let text = "60,000 usable port numbers, derived from 500 pairs a second at 120 s";
    Ok(Estimate::new(Method::LineUtilization, Validity::OurRule(text), PerSecond(rate)))
}

/// Traffic of a line or an interface, which determines its acceptable utilization.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LineKind {
    /// A wide-area line with people at its end.
    Interactive,
    /// A medium that stations share and on which they collide.
    SharedMedium,
    /// A medium on which a token passes.
    TokenRing,
    /// The processor of an interface.
    InterfaceProcessor,
    /// A few users, or large transfers whose individual response times do not matter.
    Bulk,
}

/// Verdict on a line's utilization for its kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LineVerdict {
    /// Within the limit.
    Good,
    /// Above the limit.
    Busy,
    /// Far above the limit: response times are unacceptable.
    Overloaded,
}

impl LineKind {
    /// Returns the utilization up to which the line is good, and from which it is overloaded.
    #[must_use]
    pub fn limits(self) -> (Share, Share) {
        match self {
            LineKind::Interactive => (Share(0.3), Share(0.5)),
            LineKind::SharedMedium => (Share(0.25), Share(1.0)),
            LineKind::TokenRing => (Share(0.5), Share(1.0)),
            LineKind::InterfaceProcessor => (Share(0.6), Share(1.0)),
            LineKind::Bulk => (Share(1.0), Share(1.0)),
        }
    }
}

/// Judges the utilization of a line by its kind.
///
/// # Errors
/// [`ModelError`] for a negative utilization.
pub fn line_verdict(kind: LineKind, utilization: Share) -> Result<Estimate<LineVerdict>, ModelError> {
    let used = not_negative("utilization", utilization.0)?;
    let (good, bad) = kind.limits();
    let verdict = if used <= good.0 {
        LineVerdict::Good
    } else if used <= bad.0 {
        LineVerdict::Busy
    } else {
        LineVerdict::Overloaded
    };
    let text = "limits of the source; they are waived for a few users and large transfers";
    Ok(Estimate::new(Method::LineUtilization, Validity::RuleOfSource(text), verdict))
}
