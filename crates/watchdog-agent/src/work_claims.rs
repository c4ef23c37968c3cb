//! Reads claims about the work from an agent's last words. Pure.

use watchdog_facts::display::{cut_text, escape_to_one_line};

use super::assertions::read_sentences;
use super::claim_words::{PHRASES, WITHDRAWN};

/// Bytes of a quotation.
const QUOTED: usize = 120;
/// A text without one of these words makes no claim: its patterns are not even compiled.
const TRIGGERS: [&str; 6] = ["commit", "push", "pass", "green", "clean", "succe"];

/// A claim that git or the session's own commands can bear out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkClaim {
    /// The work is committed.
    Committed,
    /// The commits are on a remote.
    Pushed,
    /// The tests passed.
    TestsPassed,
    /// The build passed.
    BuildPassed,
    /// The linter passed.
    LintPassed,
}
use WorkClaim::{BuildPassed, Committed, LintPassed, Pushed, TestsPassed};

/// The claims of a text, each kind once, with the sentence that makes it, cut.
pub fn read_work_claims(text: &str) -> Vec<(WorkClaim, String)> {
    let lower = text.to_ascii_lowercase();
    if !TRIGGERS.iter().any(|word| lower.contains(word)) {
        return Vec::new();
    }
    let sentences = read_sentences(text);
    let read = |claim: WorkClaim| {
        let mut assertions = sentences.assertions.iter();
        let (raw, _) = assertions.find(|(_, plain)| claim.is_named(PHRASES, plain))?;
        let is_withdrawn = claim.is_named(WITHDRAWN, &sentences.masked);
        (!is_withdrawn).then(|| (claim, cut_quote(raw)))
    };
    let all = [Committed, Pushed, TestsPassed, BuildPassed, LintPassed];
    all.into_iter().filter_map(read).collect()
}

fn cut_quote(text: &str) -> String {
    let text = text.trim_matches(|c: char| " -*+#,;.!".contains(c));
    cut_text(&escape_to_one_line(text), QUOTED)
}

#[cfg(test)]
#[path = "work_claims_tests.rs"]
mod tests;
