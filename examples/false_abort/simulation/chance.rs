//! Chance that repeats itself: numbers that follow from a seed, on every machine alike.

/// A stream of numbers (SplitMix64).
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// The stream of a seed and a path below it, such as a loop and a session in it.
    pub fn new(seed: u64, path: &[u64]) -> Self {
        let mut chance = Chance(seed);
        for part in path {
            chance.0 = chance.next() ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to, but without, 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether something of this probability happens.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A length around `median`, from a `spread`th of it to `spread` times it; as often shorter as longer.
    pub fn around(&mut self, median: f64, spread: f64) -> f64 {
        median * spread.powf(2.0 * self.unit() - 1.0)
    }
}
