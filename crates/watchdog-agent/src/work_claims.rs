//! Reads claims about the work from an agent's last words. Pure.

use watchdog_facts::display::{cut_text, escape_to_one_line};
pub use watchdog_facts::work_claim::WorkClaim;

use super::assertions::read_sentences;
use super::claim_words::{DENIES, SAYS, has_sign, is_named};
use super::reply_claims::list_paths;

/// Bytes of a quotation.
const QUOTED: usize = 120;
/// Files that a text says were written, of which each is a claim.
const FILES: usize = 5;
/// Endings of files without a folder that are no other names, as `Node.js` is one.
const ENDINGS: &str =
    "md py rs go ts tsx java rb php cpp cs kt swift sh sql yml yaml toml html css";

/// A claim of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatedClaim {
    /// Its kind.
    pub claim: WorkClaim,
    /// The sentence that makes it, cut.
    pub quote: String,
    /// The path of the file, or the number or address of the pull request; empty where it names none.
    pub subject: String,
}

/// The claims of a text, each kind once, but for files.
pub fn read_work_claims(text: &str) -> Vec<StatedClaim> {
    let lower = text.to_ascii_lowercase();
    let signed = |claim: &&WorkClaim| has_sign(**claim, &lower);
    let mut signed = WorkClaim::ALL.iter().filter(signed).copied();
    let Some(first) = signed.next() else {
        return Vec::new();
    };
    let sentences = read_sentences(text);
    let read = |claim: WorkClaim| {
        let assertions = sentences.assertions.iter();
        let made = assertions.filter(move |(_, plain)| is_named(claim, SAYS, plain));
        let claims = made.filter_map(move |(raw, _)| {
            Some(StatedClaim {
                claim,
                quote: cut_quote(raw),
                subject: find_subject(claim, raw)?,
            })
        });
        let is_withdrawn = is_named(claim, DENIES, &sentences.masked);
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
            let (_, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
            let is_file = match path.contains('/') {
                true => ending.starts_with(|c: char| c.is_ascii_alphabetic()),
                false => ENDINGS.split(' ').any(|name| name == ending),
            };
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
