//! Random numbers with a seed, and the distributions that service times and gaps follow.

use crate::error::{not_negative, positive};
use crate::{ModelError, Seconds};

/// A generator of random numbers: xoshiro256++, its state filled by splitmix64 (Blackman & Vigna 2021).
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: [u64; 4],
}

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        let mut mixed = seed;
        let mut next = || {
            mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = mixed;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        };
        Random { state: [next(), next(), next(), next()] }
    }

    fn word(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let word = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        word
    }

    /// Returns a number from 0 (included) to 1 (excluded).
    pub(super) fn share(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns an exponential time of mean 1.
    fn exponential(&mut self) -> f64 {
        -(-self.share()).ln_1p()
    }
}

/// Variation of times around their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Variation {
    /// Always the mean.
    Constant,
    /// Exponential.
    Exponential,
    /// A squared coefficient of variation: below 1 a sum of exponential phases (a mixture of two Erlang distributions with equal rates), above 1
    /// two exponentials with balanced means (hyperexponential).
    Squared(f64),
}

/// Most exponential phases of a time.
const PHASES_MAX: u64 = 10_000;

/// Draws a time of mean 1 with a squared coefficient of variation below 1: `k - 1` phases with a probability that the squared
/// coefficient determines, otherwise `k` phases, all of one rate, with `1 / k <= squared <= 1 / (k - 1)`.
fn erlang(squared: f64, random: &mut Random) -> f64 {
    let phases = crate::quantity::count_up(1.0 / squared).clamp(1, PHASES_MAX);
    let k = phases as f64;
    let fewer = (k * squared - (k * (1.0 + squared) - k * k * squared).max(0.0).sqrt()) / (1.0 + squared);
    let fewer = fewer.clamp(0.0, 1.0);
    let count = if random.share() < fewer { phases - 1 } else { phases };
    (0..count).map(|_| random.exponential()).sum::<f64>() / (k - fewer)
}

/// A time that varies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Mean.
    pub mean: Seconds,
    /// Variation around the mean.
    pub variation: Variation,
}

impl Spread {
    /// Creates an exponential time.
    #[must_use]
    pub fn exponential(mean: Seconds) -> Spread {
        Spread { mean, variation: Variation::Exponential }
    }

    /// Creates a constant time.
    #[must_use]
    pub fn constant(mean: Seconds) -> Spread {
        Spread { mean, variation: Variation::Constant }
    }

    pub(super) fn check(&self) -> Result<(), ModelError> {
        not_negative("mean of a time", self.mean.0)?;
        if let Variation::Squared(squared) = self.variation {
            positive("squared coefficient of variation", squared)?;
        }
        Ok(())
    }

    pub(super) fn draw(&self, random: &mut Random) -> f64 {
        let relative = match self.variation {
            Variation::Constant => 1.0,
            Variation::Exponential => random.exponential(),
            Variation::Squared(squared) if squared < 1.0 => erlang(squared, random),
            Variation::Squared(squared) => {
                // Each branch contributes half of the mean.
                let first = (1.0 + ((squared - 1.0) / (squared + 1.0)).sqrt()) / 2.0;
                let branch = if random.share() < first { first } else { 1.0 - first };
                random.exponential() / (2.0 * branch)
            }
        };
        self.mean.0 * relative
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_their_squared_coefficient_of_variation() {
        for squared in [0.05, 0.3, 0.5, 0.7, 0.95, 1.0, 4.0] {
            let spread = Spread { mean: Seconds(2.0), variation: Variation::Squared(squared) };
            let mut random = Random::new(7);
            let times: Vec<f64> = (0..200_000).map(|_| spread.draw(&mut random)).collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / times.len() as f64;
            let found = variance / (mean * mean);
            assert!((mean - 2.0).abs() < 0.03 && (found / squared - 1.0).abs() < 0.05, "{squared}: {mean}, {found}");
        }
    }
}
