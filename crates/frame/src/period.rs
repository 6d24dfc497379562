//! The distance at which the bytes of a sample repeat. It is the length of fixed records that have no other sign of their length.

/// A distance at which bytes repeat. It is judged against the distances next to it; among the divisors of a file's length also against
/// all distances, since in a short file with long runs of blanks the neighbours of the length are nearly as good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Period {
    pub(crate) length: usize,
    /// Share of bytes that are equal at this distance, beyond the share at others: 0 to 1.
    pub(crate) contrast: f64,
    /// The score in standard deviations of chance; chance alone gives up to about 5 among thousands of distances.
    pub(crate) deviations: f64,
    /// The distances that it was compared with.
    pub(crate) others: Others,
}

impl Period {
    /// Whether the bytes repeat more than at the distances next to it.
    pub(crate) fn is_near(&self) -> bool {
        self.others == Others::Neighbors
    }
}

/// Distances that a distance is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Others {
    Neighbors,
    All,
}

impl core::fmt::Display for Others {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Others::Neighbors => "at its neighbours",
            Others::All => "at other distances",
        })
    }
}

/// Bytes compared per distance.
const COMPARED: usize = 32 << 10;
/// A repetition below this is chance.
const DEVIATIONS_MIN: f64 = 6.0;
/// Longest distance that is tried if the file's length does not restrict them.
const LENGTH_MAX: usize = 4_096;

/// Returns the most likely record lengths, best first, at most three. If `file_len` is known, its divisors of any size are tried first.
pub(crate) fn find_periods(sample: &[u8], file_len: Option<u64>) -> Vec<Period> {
    let half = sample.len() / 2;
    let divisors = file_len.map_or_else(Vec::new, |len| {
        (2..=half).filter(|length| len.is_multiple_of(*length as u64)).collect::<Vec<_>>()
    });
    let near = |length: &usize| period_at(sample, *length);
    let found = best(divisors.iter().filter_map(near));
    if !found.is_empty() {
        return found;
    }
    let usual = usual_share(sample, half);
    let peaks = divisors.iter().filter(|length| near(length).is_some_and(|period| period.contrast > 0.0));
    let found = best(peaks.map(|length| against(sample, *length, usual, Others::All)));
    if found.is_empty() { best((2..=half.min(LENGTH_MAX)).filter_map(|length| near(&length))) } else { found }
}

/// Returns the repetition at one distance, if the sample is long enough.
pub(crate) fn period_at(sample: &[u8], length: usize) -> Option<Period> {
    if length < 2 || length + 1 >= sample.len() {
        return None;
    }
    let beside = equal_share(sample, length - 1).max(equal_share(sample, length + 1));
    Some(against(sample, length, beside, Others::Neighbors))
}

/// Scores the repetition at one distance relative to the usual share.
fn against(sample: &[u8], length: usize, usual: f64, others: Others) -> Period {
    let here = equal_share(sample, length);
    if usual >= 1.0 || here <= usual {
        return Period { length, contrast: 0.0, deviations: 0.0, others };
    }
    let spread = (usual.max(0.004) * (1.0 - usual) / compared(sample, length) as f64).sqrt();
    Period { length, contrast: (here - usual) / (1.0 - usual), deviations: (here - usual) / spread, others }
}

/// Returns the median share of about sixty distances.
fn usual_share(sample: &[u8], half: usize) -> f64 {
    let step = (half / 64).max(1);
    let mut shares: Vec<f64> = (2..=half).step_by(step).map(|length| equal_share(sample, length)).collect();
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied().unwrap_or(1.0)
}

fn best(periods: impl Iterator<Item = Period>) -> Vec<Period> {
    let mut found: Vec<Period> = periods.filter(|period| period.deviations > DEVIATIONS_MIN).collect();
    let most = found.iter().map(|period| period.contrast).fold(0.0, f64::max);
    // Every multiple of the length repeats as well: of those that are nearly as good the shortest is the length.
    found.retain(|period| period.contrast > 0.7 * most);
    let mut kept: Vec<Period> = Vec::new();
    for period in found {
        if !kept.iter().any(|shorter| period.length.is_multiple_of(shorter.length)) {
            kept.push(period);
        }
    }
    kept.sort_by(|a, b| b.contrast.total_cmp(&a.contrast));
    kept.truncate(3);
    kept
}

fn equal_share(sample: &[u8], distance: usize) -> f64 {
    let n = compared(sample, distance);
    let equal = sample[..n].iter().zip(&sample[distance..]).filter(|(a, b)| a == b).count();
    equal as f64 / n as f64
}

fn compared(sample: &[u8], distance: usize) -> usize {
    (sample.len() - distance).min(COMPARED)
}
