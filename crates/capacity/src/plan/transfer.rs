//! Rates of transfers and backups.

use crate::error::{positive, within};
use crate::{Bytes, Estimate, Method, ModelError, Share, Validity};

/// A rate, in megabytes a second and gigabytes an hour; both decimal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferRate {
    /// Megabytes (10^6) a second.
    pub megabytes_a_second: f64,
    /// Gigabytes (10^9) an hour.
    pub gigabytes_an_hour: f64,
}

impl TransferRate {
    /// Returns the time for an amount of data.
    #[must_use]
    pub fn time(&self, size: Bytes) -> crate::Seconds {
        crate::Seconds(size.0 / (self.megabytes_a_second * 1e6))
    }
}

/// Computes the rate of a transfer: device speed × share that the kind of data keeps × compaction. Many small objects keep a twentieth on
/// any device.
///
/// # Errors
/// [`ModelError`] for a speed that is not positive, or a kept share outside 0 to 1.
pub fn transfer_rate(device: f64, kept: Share, compaction: f64) -> Result<Estimate<TransferRate>, ModelError> {
    positive("device speed", device)?;
    within("kept share", kept.0, 0.0, 1.0)?;
    within("compaction", compaction, 1.0, f64::MAX)?;
    let rate = device * kept.0 * compaction;
    let text = "the source's own estimates differ from its measurements by -8 to +26 %";
    let rate = TransferRate { megabytes_a_second: rate, gigabytes_an_hour: rate * 3.6 };
    Ok(Estimate::new(Method::TransferRate, Validity::RuleOfSource(text), rate))
}
