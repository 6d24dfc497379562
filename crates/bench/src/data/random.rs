//! Numbers that look random and are the same everywhere.

/// SplitMix64: 64 bits of state, one multiplication chain a number.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 17.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a sequence of numbers determined by the seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Returns the next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to `bound - 1`; `bound` must be at least 1. The bias of below 2^-32 for small bounds does not matter here.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound
    }

    /// Returns true with a probability of this many percent.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
