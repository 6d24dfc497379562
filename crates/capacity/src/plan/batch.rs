//! Batch windows: elapsed time on another machine, blocks, and how many streams a machine feeds.

use crate::error::{not_negative, positive, within};
use crate::{Bytes, CapacityUnits, Estimate, Method, ModelError, PerSecond, Seconds, Share, Validity};

/// Elapsed time on a machine of another rating: CPU time scales, I/O time does not.
///
/// # Errors
/// [`ModelError`] for negative times or ratings that are not positive.
pub fn batch_run_time(
    cpu: Seconds,
    io: Seconds,
    old: CapacityUnits,
    new: CapacityUnits,
) -> Result<Estimate<Seconds>, ModelError> {
    not_negative("CPU time", cpu.0)?;
    not_negative("I/O time", io.0)?;
    let ratio = positive("old rating", old.0)? / positive("new rating", new.0)?;
    let text = "CPU and I/O follow each other; overlapped I/O takes less";
    Ok(Estimate::new(Method::BatchTime, Validity::OurRule(text), Seconds(cpu.0 * ratio + io.0)))
}

/// Whether a read cache shortens a batch step: only where the disk limits, CPU is below 60 % and memory is free.
#[must_use]
pub fn cache_pays(disk_limits: bool, cpu: Share, memory_free: Bytes) -> bool {
    disk_limits && cpu.0 < 0.6 && memory_free.0 > 0.0
}

/// Time of a transfer in blocks: each has a fixed cost, so small blocks pay it more often.
///
/// # Errors
/// [`ModelError`] for numbers that are not positive.
pub fn block_time(
    size: Bytes,
    block: Bytes,
    per_block: Seconds,
    rate: PerSecond,
) -> Result<Estimate<Seconds>, ModelError> {
    not_negative("size", size.0)?;
    positive("block size", block.0)?;
    not_negative("cost of a block", per_block.0)?;
    positive("rate", rate.0)?;
    let blocks = (size.0 / block.0).ceil();
    Ok(Estimate::exact(Method::BlockCost, Seconds(blocks * per_block.0 + size.0 / rate.0)))
}

/// Kind of data that streams carry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WorkKind {
    /// Few large files: a processor feeds two streams.
    LargeFiles,
    /// Many objects of all sizes: a stream needs 1 1/3 processors.
    UserMix,
}

/// What limits the number of streams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamLimits {
    /// Devices or partitions.
    pub devices: u32,
    /// Processors.
    pub processors: u32,
    /// Links; each carries two streams of large files.
    pub links: Option<u32>,
    /// Streams that the disks can feed.
    pub disks: Option<u32>,
}

/// Streams that a machine keeps busy: the least of devices, processors, links and disks.
///
/// # Errors
/// [`ModelError`] for no devices or processors.
pub fn streams(limits: &StreamLimits, kind: WorkKind) -> Result<Estimate<u32>, ModelError> {
    within("devices", f64::from(limits.devices), 1.0, f64::from(u32::MAX))?;
    within("processors", f64::from(limits.processors), 1.0, f64::from(u32::MAX))?;
    let by_processors = match kind {
        WorkKind::LargeFiles => limits.processors.saturating_mul(2),
        WorkKind::UserMix => limits.processors.saturating_mul(3) / 4,
    };
    let by_links = limits.links.map_or(u32::MAX, |links| links.saturating_mul(2));
    let most = limits.devices.min(by_processors.max(1)).min(by_links).min(limits.disks.unwrap_or(u32::MAX));
    let text = "2 streams of large files a processor and a link; 3 streams of mixed objects for 4 processors";
    Ok(Estimate::new(Method::StreamFeed, Validity::RuleOfSource(text), most))
}
