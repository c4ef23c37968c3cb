//! Reads the vocabulary of claims, `claim_words.txt`: their words, and the commands that bear them out.

use std::sync::OnceLock;

use regex::Regex;

use watchdog_facts::patterns::compile_fixed;
use watchdog_facts::work_claim::WorkClaim;

const TABLE: &str = include_str!("claim_words.txt");

/// The lines of a key, as alternatives.
pub(super) fn read_entry(key: &str) -> String {
    let lines = TABLE.lines().filter_map(|line| line.split_once(" = "));
    let entries = lines.filter_map(|(name, text)| (name == key).then_some(text));
    entries.collect::<Vec<_>>().join("|")
}

/// Compiles a pattern for text in lower case. ASCII classes compile many times faster than those of all scripts.
pub(super) fn compile_words(text: &str) -> Regex {
    let parts = TABLE.lines().filter(|line| line.starts_with('<'));
    let parts = parts.filter_map(|line| line.split_once(" = "));
    let text = parts.fold(text.to_owned(), |text, (name, part)| {
        text.replace(name, part)
    });
    let text = text.replace(r"\b", r"(?-u:\b)").replace(r"\w", "[0-9a-z_]");
    compile_fixed(&text)
}

/// The patterns of a claim.
const COLUMNS: [&str; 3] = ["says", "denies", "runs"];
pub(super) const SAYS: usize = 0;
pub(super) const DENIES: usize = 1;
pub(super) const RUNS: usize = 2;

/// The rows, each compiled at its first use: most texts need none.
static COMPILED: [OnceLock<[Regex; 3]>; WorkClaim::ALL.len()] =
    [const { OnceLock::new() }; WorkClaim::ALL.len()];

/// Whether a text, in lower case, has a word without which this claim is not made.
pub(super) fn has_sign(claim: WorkClaim, lower: &str) -> bool {
    let signs = read_entry(&format!("{claim} signs"));
    signs.split('|').any(|sign| lower.contains(sign))
}

/// Whether the words of this claim are in a text.
pub(super) fn is_named(claim: WorkClaim, column: usize, text: &str) -> bool {
    let compile = || COLUMNS.map(|column| compile_words(&read_entry(&format!("{claim} {column}"))));
    COMPILED[claim as usize].get_or_init(compile)[column].is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_claim_has_every_entry() {
        for claim in WorkClaim::ALL {
            for column in COLUMNS.iter().chain(&["signs"]) {
                let key = format!("{claim} {column}");
                assert!(!read_entry(&key).is_empty(), "{key}");
            }
            assert!(!is_named(*claim, SAYS, ""), "{claim:?}");
        }
    }
}
