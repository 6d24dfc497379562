//! The random numbers of Python, so that generated EDI files are the same bytes as those of the generator that peers were measured with.

/// Python's `random.Random(seed)`: the Mersenne Twister MT19937 and the ways in which Python draws from it.
///
/// Source: M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM TOMACS 8 (1998).
#[derive(Clone, Debug)]
pub struct PythonRandom {
    state: Vec<u32>,
    next: usize,
}

const STATE: usize = 624;
const MIDDLE: usize = 397;

impl PythonRandom {
    /// Seeds the generator as `random.Random(seed)` does.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        let mut state = vec![0u32; STATE];
        state[0] = 19_650_218;
        for i in 1..STATE {
            state[i] = twist(state[i - 1]).wrapping_mul(1_812_433_253).wrapping_add(index(i));
        }
        // The key of a small seed is one number.
        let mut i = 1;
        for _ in 0..STATE {
            state[i] = (state[i] ^ twist(state[i - 1]).wrapping_mul(1_664_525)).wrapping_add(seed);
            i = advance(&mut state, i);
        }
        for _ in 1..STATE {
            state[i] = (state[i] ^ twist(state[i - 1]).wrapping_mul(1_566_083_941)).wrapping_sub(index(i));
            i = advance(&mut state, i);
        }
        state[0] = 0x8000_0000;
        PythonRandom { state, next: STATE }
    }

    /// Returns `random.random()`: a number from 0 to below 1.
    pub fn random(&mut self) -> f64 {
        let (high, low) = (self.word() >> 5, self.word() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// Returns `random.randrange(n)`.
    pub fn below(&mut self, n: u64) -> u64 {
        let bits = u64::BITS - n.leading_zeros();
        loop {
            let drawn = self.bits(bits);
            if drawn < n {
                return drawn;
            }
        }
    }

    /// Returns `random.randint(low, high)`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns a random element like `random.choice(items)`.
    ///
    /// # Panics
    /// The slice is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[usize::try_from(self.below(items.len() as u64)).expect("below a length")]
    }

    /// Returns `random.sample(items, count)` of at most 21 items, for which Python uses the pool algorithm.
    ///
    /// # Panics
    /// If there are fewer than `count` items.
    pub fn sample<T: Copy>(&mut self, items: &[T], count: usize) -> Vec<T> {
        let mut pool = items.to_vec();
        (0..count)
            .map(|taken| {
                let left = pool.len() - taken;
                let at = usize::try_from(self.below(left as u64)).expect("below a length");
                let item = pool[at];
                pool[at] = pool[left - 1];
                item
            })
            .collect()
    }

    /// Returns `random.getrandbits(count)`. The first word supplies the low bits.
    fn bits(&mut self, count: u32) -> u64 {
        if count <= 32 {
            return u64::from(self.word() >> (32 - count));
        }
        let low = u64::from(self.word());
        low | u64::from(self.word() >> (64 - count)) << 32
    }

    fn word(&mut self) -> u32 {
        if self.next == STATE {
            for i in 0..STATE {
                let mixed = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % STATE] & 0x7fff_ffff);
                let odd = if mixed & 1 == 0 { 0 } else { 0x9908_b0df };
                self.state[i] = self.state[(i + MIDDLE) % STATE] ^ (mixed >> 1) ^ odd;
            }
            self.next = 0;
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }
}

fn twist(word: u32) -> u32 {
    word ^ (word >> 30)
}

fn index(i: usize) -> u32 {
    u32::try_from(i).expect("below 624")
}

fn advance(state: &mut [u32], i: usize) -> usize {
    if i + 1 < STATE {
        return i + 1;
    }
    state[0] = state[STATE - 1];
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_python_s() {
        // python3 -c 'import random; r = random.Random(1); print(r.random(), r.randrange(10**15), r.choice("ABCDEFGH"), r.sample(range(18), 4))'
        let mut random = PythonRandom::new(1);
        assert!((random.random() - 0.134_364_244_112_401_22).abs() < 1e-17);
        assert_eq!(random.below(1_000_000_000_000_000), 903_269_621_787_359);
        assert_eq!(*random.pick(b"ABCDEFGH"), b'B');
        assert_eq!(random.sample(&(0..18).collect::<Vec<_>>(), 4), [8, 3, 15, 12]);
    }
}
