//! Batch windows: elapsed time on another machine, blocks, and how many streams a machine feeds.

use crate::error::{not_negative, positive, within};
use crate::{Bytes, CapacityUnits, Estimate, Method, ModelError, PerSecond, Seconds, Share, Validity};

/// Predicts the elapsed time on a machine with another rating: CPU time scales, I/O time does not.
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

/// What limits a batch step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StepLimit {
    /// The disk.
    Disk,
    /// Processors, locks or other work.
    Other,
}

/// Checks whether a read cache shortens a batch step: the disk is the limit, CPU is below 60 % and memory is free.
///
/// # Errors
/// [`ModelError`] for a share outside 0 to 1 or negative memory.
pub fn cache_pays(limit: StepLimit, cpu: Share, memory_free: Bytes) -> Result<Estimate<bool>, ModelError> {
    let has_processor = within("CPU utilization", cpu.0, 0.0, 1.0)? < 0.6;
    let has_memory = not_negative("free memory", memory_free.0)? > 0.0;
    let text = "all three conditions; the commercial mix of the source had no gain without them";
    let pays = limit == StepLimit::Disk && has_processor && has_memory;
    Ok(Estimate::new(Method::ReadCache, Validity::RuleOfSource(text), pays))
}

/// Computes the time of a transfer in blocks. Each block has a fixed cost, so small blocks pay it more often.
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

/// Limits of the number of streams.
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

/// Least and most time of a step that is split into jobs that run at the same time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchWindow {
    /// Elapsed time if CPU and I/O of different jobs overlap without a gap.
    pub least: Seconds,
    /// Elapsed time if jobs never overlap: the step as one job.
    pub most: Seconds,
    /// Number of jobs from which processors limit, not their number.
    pub jobs_enough: f64,
}

/// Computes the batch window of a step that is split into `jobs` jobs, from its CPU and I/O time. Each job waits for its own I/O, so more
/// jobs shorten the window until the processors are saturated.
///
/// # Errors
/// [`ModelError`] for negative times, or no jobs or processors.
pub fn batch_window(
    cpu: Seconds,
    io: Seconds,
    jobs: u32,
    processors: u32,
) -> Result<Estimate<BatchWindow>, ModelError> {
    let work = not_negative("CPU time", cpu.0)? + not_negative("I/O time", io.0)?;
    let jobs = positive("jobs", f64::from(jobs))?;
    let processors = positive("processors", f64::from(processors))?;
    let least = (work / jobs).max(cpu.0 / processors);
    let jobs_enough = if cpu.0 > 0.0 { work * processors / cpu.0 } else { f64::INFINITY };
    let window = BatchWindow { least: Seconds(least), most: Seconds(work), jobs_enough };
    Ok(Estimate::new(Method::BatchTime, Validity::Bound, window))
}

/// Computes the time that all of `devices` lose while each in turn is switched for `each`. Segments or media that change one after the other
/// stop the streams that they fill together. Staggered switches lose none.
///
/// # Errors
/// [`ModelError`] for a negative time.
pub fn serial_switches(devices: u32, each: Seconds) -> Result<Estimate<Seconds>, ModelError> {
    let lost = f64::from(devices) * not_negative("time of a switch", each.0)?;
    let text = "derived from two printed runs of ten devices";
    Ok(Estimate::new(Method::StreamFeed, Validity::OurRule(text), Seconds(lost)))
}
