//! What the rounds did, in numbers.

use std::collections::BTreeMap;
use std::fmt;

/// Counts by group and word.
#[derive(Debug, Default, Clone)]
pub struct Tally(BTreeMap<&'static str, BTreeMap<String, u64>>);

impl Tally {
    /// Counts one.
    pub fn one(&mut self, group: &'static str, word: impl Into<String>) {
        self.many(group, word, 1);
    }

    /// Counts many.
    pub fn many(&mut self, group: &'static str, word: impl Into<String>, n: u64) {
        *self
            .0
            .entry(group)
            .or_default()
            .entry(word.into())
            .or_default() += n;
    }

    /// Takes over what another one counted.
    pub fn join(&mut self, other: Tally) {
        for (group, words) in other.0 {
            for (word, n) in words {
                self.many(group, word, n);
            }
        }
    }

    /// How often.
    pub fn count(&self, group: &str, word: &str) -> u64 {
        self.0
            .get(group)
            .and_then(|words| words.get(word))
            .copied()
            .unwrap_or(0)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (group, words) in &self.0 {
            writeln!(f, "{group}:")?;
            for (word, n) in words {
                writeln!(f, "  {n:>8}  {word}")?;
            }
        }
        Ok(())
    }
}
