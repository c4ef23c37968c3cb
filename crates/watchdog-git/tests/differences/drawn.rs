//! Numbers drawn from a seed: the same ones in each run.

use std::env;

/// Draws numbers (SplitMix64).
pub struct DrawnNumbers(u64);

impl DrawnNumbers {
    pub fn new(seed: u64) -> Self {
        DrawnNumbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("it is below a usize")
    }

    /// One of these.
    pub fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// Lines that nothing else resembles.
    pub fn lines(&mut self) -> String {
        (0..2 + self.below(4))
            .map(|_| format!("{:016x}{:016x}\n", self.next(), self.next()))
            .collect()
    }
}

/// The number in a variable of the environment.
pub fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is \"{text}\", expected a number")),
    )
}
