//! Reads claims about the work from an agent's last words. Pure.

use watchdog_facts::display::{cut_text, escape_to_one_line};

use super::assertions::read_sentences;
use super::claim_words::{DENIES, SAYS};
use super::reply_claims::list_paths;

/// Bytes of a quotation.
const QUOTED: usize = 120;
/// Files that a text says were written, of which each is a claim.
const FILES: usize = 5;
/// Endings of files without a folder that are no other names, as `Node.js` is one.
const ENDINGS: &str =
    "md py rs go ts tsx java rb php cpp cs kt swift sh sql yml yaml toml html css";

/// A claim that git or the session's own commands can bear out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkClaim {
    /// The work is committed.
    Committed,
    /// The work tree is clean.
    CleanTree,
    /// The commits are on a remote.
    Pushed,
    /// The tests passed.
    TestsPassed,
    /// The build passed.
    BuildPassed,
    /// The linter passed.
    LintPassed,
    /// A pull request was opened.
    PullRequest,
    /// A file was written.
    FileWritten,
    /// No work is left.
    NothingLeft,
}

impl WorkClaim {
    /// All of them.
    pub const ALL: [WorkClaim; 9] = [
        WorkClaim::Committed,
        WorkClaim::CleanTree,
        WorkClaim::Pushed,
        WorkClaim::TestsPassed,
        WorkClaim::BuildPassed,
        WorkClaim::LintPassed,
        WorkClaim::PullRequest,
        WorkClaim::FileWritten,
        WorkClaim::NothingLeft,
    ];

    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            WorkClaim::Committed => "committed",
            WorkClaim::CleanTree => "clean_tree",
            WorkClaim::Pushed => "pushed",
            WorkClaim::TestsPassed => "tests_passed",
            WorkClaim::BuildPassed => "build_passed",
            WorkClaim::LintPassed => "lint_passed",
            WorkClaim::PullRequest => "pull_request",
            WorkClaim::FileWritten => "file_written",
            WorkClaim::NothingLeft => "nothing_left",
        }
    }
}

/// A claim of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadClaim {
    /// Its kind.
    pub claim: WorkClaim,
    /// The sentence that makes it, cut.
    pub quote: String,
    /// The path of the file, or the number or address of the pull request; empty where it names none.
    pub subject: String,
}

/// The claims of a text, each kind once, but for files.
pub fn read_work_claims(text: &str) -> Vec<ReadClaim> {
    let lower = text.to_ascii_lowercase();
    let mut signed = WorkClaim::ALL
        .into_iter()
        .filter(|claim| claim.has_sign(&lower));
    let Some(first) = signed.next() else {
        return Vec::new();
    };
    let sentences = read_sentences(text);
    let read = |claim: WorkClaim| {
        let assertions = sentences.assertions.iter();
        let made = assertions.filter(move |(_, plain)| claim.is_named(SAYS, plain));
        let claims = made.filter_map(move |(raw, _)| {
            Some(ReadClaim {
                claim,
                quote: cut_quote(raw),
                subject: find_subject(claim, raw)?,
            })
        });
        let is_withdrawn = claim.is_named(DENIES, &sentences.masked);
        let most = if claim == WorkClaim::FileWritten {
            FILES
        } else {
            1
        };
        claims.take(if is_withdrawn { 0 } else { most })
    };
    std::iter::once(first)
        .chain(signed)
        .flat_map(read)
        .collect()
}

/// The subject of a claim; `None` where it needs one and names none that can be looked up.
fn find_subject(claim: WorkClaim, raw: &str) -> Option<String> {
    match claim {
        WorkClaim::PullRequest => {
            let words = raw.split(|c: char| c.is_whitespace() || "`*()[]<>,".contains(c));
            let is_subject = |word: &&str| {
                let number = word.rsplit(['#', '/']).next().unwrap_or_default();
                let is_named = word.starts_with('#')
                    || word.starts_with("https://") && word.contains("/pull/");
                is_named && number.parse::<u32>().is_ok()
            };
            let mut words = words.map(|word| word.trim_end_matches(['.', ':', '!']));
            let subject = words.find(is_subject).unwrap_or_default();
            Some(subject.trim_start_matches('#').to_owned())
        }
        WorkClaim::FileWritten => {
            let path = list_paths(raw).next()?;
            let ending = path.rsplit('.').next().unwrap_or_default();
            let is_file = path.contains('/') || ENDINGS.split(' ').any(|name| name == ending);
            is_file.then(|| path.to_owned())
        }
        _ => Some(String::new()),
    }
}

fn cut_quote(text: &str) -> String {
    let text = text.trim_matches(|c: char| " -*+#,;.!".contains(c));
    cut_text(&escape_to_one_line(text), QUOTED)
}

#[cfg(test)]
#[path = "work_claims_tests.rs"]
mod tests;
