//! Number of reads of a selection, and memory that it may use.

use crate::error::{positive, within};
use crate::{Bytes, Estimate, Method, ModelError, Seconds, Share, Validity};

/// Bytes that one read of a scan takes.
const READ_BYTES: f64 = 131_072.0;

/// Known selectivity of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Selectivity {
    /// Statistics give the rows that are selected.
    Rows(f64),
    /// No statistics; one row in ten is assumed.
    Unknown,
}

/// The ways to read two files that a key joins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AccessPlan {
    /// Scan the first file and probe the index of the second.
    ScanFirst {
        /// Reads.
        reads: f64,
    },
    /// Scan the second file and probe the index of the first.
    ScanSecond {
        /// Reads.
        reads: f64,
    },
}

/// Computes the number of reads of a scan over `size` bytes: 128 KiB each, rounded to the nearest.
///
/// # Errors
/// [`ModelError`] for zero bytes.
pub fn scan_reads(size: Bytes) -> Result<Estimate<f64>, ModelError> {
    let reads = (positive("size", size.0)? / READ_BYTES).round();
    Ok(Estimate::new(Method::AccessPlan, Validity::OurRule("128 KiB a read, derived from the printed reads"), reads))
}

/// Chooses between scanning the first of two files (then probing the second `probes` times) and scanning the second (then one probe of the
/// first for each row that is selected there).
///
/// # Errors
/// [`ModelError`] for sizes that are not positive.
pub fn access_plan(
    first: Bytes,
    second: Bytes,
    second_rows: f64,
    probes: f64,
    selected: Selectivity,
) -> Result<Estimate<AccessPlan>, ModelError> {
    let scan_first = scan_reads(first)?.value + probes;
    let rows = match selected {
        Selectivity::Rows(rows) => rows,
        Selectivity::Unknown => second_rows * 0.1,
    };
    let scan_second = scan_reads(second)?.value + positive("rows", rows.max(1.0))?;
    let plan = if scan_second < scan_first {
        AccessPlan::ScanSecond { reads: scan_second }
    } else {
        AccessPlan::ScanFirst { reads: scan_first }
    };
    let text = "reads only; a probe is one read";
    Ok(Estimate::new(Method::AccessPlan, Validity::OurRule(text), plan))
}

/// A range of values that a check of the schema allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckRange {
    /// Least value.
    pub least: f64,
    /// Largest value.
    pub most: f64,
}

/// Checks whether a selection of values above `above` contradicts the check constraint, so that nothing needs to be read.
#[must_use]
pub fn pruned_by_check(check: CheckRange, above: f64) -> Estimate<bool> {
    Estimate::exact(Method::CheckConstraint, above >= check.most)
}

/// Measured ways to select records of one file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessTimes {
    /// Time of a scan of the whole file.
    pub scan: Seconds,
    /// Time of a selection by probes of an index.
    pub probe: Seconds,
    /// Share of the records that the probes selected.
    pub probed: Share,
}

/// A way to select records of one file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// Read the whole file.
    Scan,
    /// Read the index, and then the records that it names.
    Probe,
}

/// The faster way to select records, and the share at which it changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessChoice {
    /// The faster way.
    pub access: Access,
    /// Time of that way.
    pub time: Seconds,
    /// Share of the records from which a scan is faster; 1 if it never is.
    pub crossover: Share,
}

/// Chooses between a scan and probes for a selection of `selected` of the records. A scan takes the same time for every selection. The time of probes
/// is proportional to the records that they select.
///
/// # Errors
/// [`ModelError`] for times that are not positive, or shares outside 0 to 1.
pub fn access_choice(times: &AccessTimes, selected: Share) -> Result<Estimate<AccessChoice>, ModelError> {
    let scan = positive("time of the scan", times.scan.0)?;
    let probe = positive("time of the probes", times.probe.0)?;
    let probed = within("share that the probes selected", times.probed.0, f64::MIN_POSITIVE, 1.0)?;
    let selected = within("selected share", selected.0, 0.0, 1.0)?;
    let by_probes = probe * selected / probed;
    let (access, time) = if by_probes < scan { (Access::Probe, by_probes) } else { (Access::Scan, scan) };
    let choice = AccessChoice { access, time: Seconds(time), crossover: Share((probed * scan / probe).min(1.0)) };
    let text = "probes in proportion to the records; the source prints one selection of each way";
    Ok(Estimate::new(Method::AccessPlan, Validity::OurRule(text), choice))
}

/// Bytes of an encoded vector index: one code per row, of 1, 2 or 4 bytes by the number of distinct keys.
///
/// # Errors
/// [`ModelError`] for no keys.
pub fn vector_index_bytes(rows: u64, distinct: u64) -> Result<Estimate<Bytes>, ModelError> {
    within("distinct keys", distinct as f64, 1.0, f64::from(u32::MAX))?;
    let width = match distinct {
        0..=255 => 1.0,
        256..=65_535 => 2.0,
        _ => 4.0,
    };
    let text = "limits of the code widths are derived";
    Ok(Estimate::new(Method::VectorIndex, Validity::OurRule(text), Bytes(rows as f64 * width)))
}

/// Computes the memory of one job of a pool that several jobs share evenly.
///
/// # Errors
/// [`ModelError`] for no jobs.
pub fn memory_share(pool: Bytes, active: u32) -> Result<Estimate<(Bytes, Share)>, ModelError> {
    let jobs = positive("active jobs", f64::from(active))?;
    let text = "each active job has the same part";
    Ok(Estimate::new(Method::MemoryShare, Validity::RuleOfSource(text), (Bytes(pool.0 / jobs), Share(1.0 / jobs))))
}
