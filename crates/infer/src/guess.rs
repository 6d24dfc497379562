//! Thresholds of guesses.

/// Fewer occurrences than these prove little.
pub(crate) const FEW: u64 = 3;

/// Adds half to a length and rounds it to one that people choose.
pub(crate) fn roomy(longest: u32) -> u32 {
    const LENGTHS: [u32; 16] = [3, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000];
    let wanted = longest.saturating_add(longest / 2);
    LENGTHS.into_iter().find(|length| *length >= wanted).unwrap_or(wanted)
}
