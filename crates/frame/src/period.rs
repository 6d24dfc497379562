//! At which distance the bytes of a sample repeat: the length of fixed records without any other sign of it.

/// A distance at which bytes repeat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Period {
    pub(crate) length: usize,
    /// Share of bytes that are equal at this distance, beyond the share at the distances next to it: 0 to 1.
    pub(crate) contrast: f64,
    /// The same in standard deviations of chance; chance alone gives up to about 5 among thousands of distances.
    pub(crate) deviations: f64,
}

/// Bytes compared per distance.
const COMPARED: usize = 32 << 10;
/// A repetition below this is chance.
const DEVIATIONS_MIN: f64 = 6.0;
/// Longest distance tried where the file's length does not narrow them down.
const LENGTH_MAX: usize = 4_096;

/// The most likely record lengths, best first, at most three. With `file_len` its divisors are tried first, whatever their size.
pub(crate) fn find_periods(sample: &[u8], file_len: Option<u64>) -> Vec<Period> {
    let half = sample.len() / 2;
    let divisors = file_len.map_or_else(Vec::new, |len| {
        (2..=half).filter(|length| len.is_multiple_of(*length as u64)).collect::<Vec<_>>()
    });
    let found = best(sample, divisors.into_iter());
    if found.first().is_some_and(|period| period.contrast > 0.1) {
        found
    } else {
        best(sample, 2..=half.min(LENGTH_MAX))
    }
}

/// The repetition at one distance, where the sample is long enough.
pub(crate) fn period_at(sample: &[u8], length: usize) -> Option<Period> {
    if length < 2 || length + 1 >= sample.len() {
        return None;
    }
    let beside = equal_share(sample, length - 1).max(equal_share(sample, length + 1));
    let here = equal_share(sample, length);
    if beside >= 1.0 || here <= beside {
        return Some(Period { length, contrast: 0.0, deviations: 0.0 });
    }
    let spread = (beside.max(0.004) * (1.0 - beside) / compared(sample, length) as f64).sqrt();
    Some(Period { length, contrast: (here - beside) / (1.0 - beside), deviations: (here - beside) / spread })
}

fn best(sample: &[u8], lengths: impl Iterator<Item = usize>) -> Vec<Period> {
    let mut found: Vec<Period> = lengths
        .filter_map(|length| period_at(sample, length))
        .filter(|period| period.deviations > DEVIATIONS_MIN)
        .collect();
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
