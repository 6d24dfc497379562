//! Service time and rate of a disk arm.

use crate::error::{not_negative, positive, within};
use crate::{Estimate, Method, ModelError, PerSecond, Seconds, Share, Validity};

/// A disk, as its data sheet describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disk {
    /// Mean seek time.
    pub seek: Seconds,
    /// Revolutions a minute.
    pub revolutions: f64,
}

/// Computes the service time: seek plus half a revolution. It is an upper bound on the gain of a faster disk, since caches hide a part.
///
/// # Errors
/// [`ModelError`] for a disk without rotation.
pub fn disk_service(disk: &Disk) -> Result<Estimate<Seconds>, ModelError> {
    let latency = 30.0 / positive("revolutions", disk.revolutions)?;
    let service = not_negative("seek time", disk.seek.0)? + latency;
    let text = "without transfer, cache and queue";
    Ok(Estimate::new(Method::DiskService, Validity::OurRule(text), Seconds(service)))
}

/// Operations a second of one arm at a utilization. Documents compare at 40 %.
///
/// # Errors
/// [`ModelError`] for a utilization outside 0 to 1.
pub fn arm_rate(disk: &Disk, utilization: Share) -> Result<Estimate<PerSecond>, ModelError> {
    within("utilization", utilization.0, 0.0, 1.0)?;
    Ok(disk_service(disk)?.map(|service| PerSecond(utilization.0 / service.0)))
}
