//! Utilization of a line, and what connections and sizes make of it.

use crate::error::{not_negative, positive};
use crate::{Bytes, Estimate, Method, ModelError, PerSecond, Seconds, Share, Validity};

/// Whether both directions share the line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Duplex {
    /// One direction at a time.
    Half,
    /// Both directions at once; utilization is their mean.
    Full,
}

/// Utilization of a line of `bits` a second by bytes in and out over a time.
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

/// Mean and maximum of sending and receiving. The mean of one full and one idle direction is a half, so both numbers are needed.
#[must_use]
pub fn line_load(send: Share, receive: Share) -> Estimate<LineLoad> {
    let load = LineLoad { mean: Share((send.0 + receive.0) / 2.0), most: Share(send.0.max(receive.0)) };
    Estimate::exact(Method::LineUtilization, load)
}

/// Time that bytes take on a line.
///
/// # Errors
/// [`ModelError`] for a line without speed.
pub fn wire_time(size: Bytes, bits: PerSecond) -> Result<Estimate<Seconds>, ModelError> {
    let time = not_negative("size", size.0)? * 8.0 / positive("line speed", bits.0)?;
    Ok(Estimate::exact(Method::LineUtilization, Seconds(time)))
}

/// New socket pairs a second before the numbers of a pair of addresses run out, while a closed one waits for `timeout`.
///
/// # Errors
/// [`ModelError`] for a timeout that is not positive.
pub fn port_pairs(timeout: Seconds) -> Result<Estimate<PerSecond>, ModelError> {
    let rate = 60_000.0 / positive("timeout", timeout.0)?;
    let text = "60,000 usable port numbers, derived from 500 pairs a second at 120 s";
    Ok(Estimate::new(Method::LineUtilization, Validity::OurRule(text), PerSecond(rate)))
}
