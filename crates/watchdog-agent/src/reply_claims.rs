//! Finds claims in an agent's `complete` that git can check: names of files, commits and pushes. Pure: the caller checks them
//! with git.
//!
//! Only sentences that claim an action of this session count, and none that deny one or describe a removal, since removed files need not
//! exist.

use std::sync::LazyLock;

use regex::Regex;

use super::claim_words::read_entry;
use watchdog_facts::evidence::Reply;
use watchdog_facts::patterns::compile_fixed;

/// So many names of a kind are looked up at most.
const NAMES: usize = 20;

fn compile_entry(name: &str) -> Regex {
    compile_fixed(&read_entry(&format!("reply {name}")))
}

/// The end of a sentence or a clause.
static ENDS: LazyLock<Regex> = LazyLock::new(|| compile_entry("ends"));
/// Phrases for actions that were not done here, or files that were removed.
static NO_CLAIM: LazyLock<Regex> = LazyLock::new(|| compile_entry("claims_nothing"));
static MADE: LazyLock<Regex> = LazyLock::new(|| compile_entry("made"));
static COMMITTED: LazyLock<Regex> = LazyLock::new(|| compile_entry("committed"));
/// A commit as an action, not as a state.
static COMMITS_MADE: LazyLock<Regex> = LazyLock::new(|| compile_entry("commits_made"));
static PUSHED: LazyLock<Regex> = LazyLock::new(|| compile_entry("pushed"));
static PATH: LazyLock<Regex> = LazyLock::new(|| compile_entry("path"));
static COMMIT_ID: LazyLock<Regex> = LazyLock::new(|| compile_entry("commit_id"));
/// A number right behind the word is the id of a commit, too: some ids have no letter.
static COMMIT_NUMBER: LazyLock<Regex> = LazyLock::new(|| compile_entry("commit_number"));

/// The names in a sentence that are paths of files in the worktree.
pub(super) fn list_paths(text: &str) -> impl Iterator<Item = &str> {
    let paths = PATH.captures_iter(text).filter_map(|captures| {
        let path = captures.get(1).or(captures.get(2)).or(captures.get(3))?;
        Some(path.as_str().trim_end_matches('`').trim_start_matches("./"))
    });
    paths.filter(|path| !path.contains("://") && !path.contains(".."))
}

/// The claims of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplyClaims {
    /// Files that it says were made.
    pub made: Vec<String>,
    /// Files that it says were committed.
    pub committed: Vec<String>,
    /// Ids of commits.
    pub ids: Vec<String>,
    /// Whether it says that commits were made.
    pub commits: bool,
    /// Whether it says that the work is committed.
    pub is_committed: bool,
    /// How many commits it says it made.
    pub count: u64,
    /// Whether it says that they were pushed.
    pub pushed: bool,
}

impl ReplyClaims {
    /// The claims in the message and in the completed tasks of a reply.
    pub fn from_reply(reply: &Reply) -> Self {
        let mut claims = ReplyClaims {
            count: reply.commits_made.unwrap_or(0),
            ..ReplyClaims::default()
        };
        for text in std::iter::once(&reply.message).chain(&reply.tasks_completed) {
            let mut from = 0;
            for end in ENDS.find_iter(text) {
                claims.sentence(&text[from..end.start()]);
                from = end.start();
            }
            claims.sentence(&text[from..]);
        }
        claims
    }

    fn sentence(&mut self, text: &str) {
        // The words of a name say nothing.
        if NO_CLAIM.is_match(&PATH.replace_all(text, " ")) {
            return;
        }
        for captures in COMMIT_ID.captures_iter(text) {
            let id = captures[1].to_lowercase();
            // A word of the language, or a number, is none.
            if self.ids.len() < NAMES
                && id.bytes().any(|b| b.is_ascii_digit())
                && id.bytes().any(|b| b.is_ascii_alphabetic())
            {
                self.ids.push(id);
            }
        }
        let room = NAMES - self.ids.len();
        self.ids.extend(
            COMMIT_NUMBER
                .captures_iter(text)
                .take(room)
                .map(|captures| captures[1].to_owned()),
        );
        let committed = COMMITTED.is_match(text);
        self.is_committed |= committed;
        self.commits |= COMMITS_MADE.is_match(text);
        self.pushed |= PUSHED.is_match(text);
        if !committed && !MADE.is_match(text) {
            return;
        }
        for path in list_paths(text) {
            let list = if text.to_lowercase().contains("committed") {
                &mut self.committed
            } else {
                &mut self.made
            };
            if list.len() < NAMES {
                list.push(path.to_owned());
            }
        }
    }

    /// Whether nothing is claimed.
    pub fn is_empty(&self) -> bool {
        *self == ReplyClaims::default()
    }

    /// The first claim that git does not bear out. `new_commits` is what there is since the baseline, `left` whether anything is
    /// uncommitted, where that is known.
    pub fn missing(
        &self,
        (new_commits, left): (Option<u64>, Option<bool>),
        has_commit: &dyn Fn(&str) -> bool,
        head_has: &dyn Fn(&str) -> bool,
        is_on_disk: &dyn Fn(&str) -> bool,
        is_pushed: &dyn Fn() -> bool,
    ) -> Option<String> {
        if let Some(id) = self.ids.iter().find(|id| !has_commit(id)) {
            return Some(format!("it names the commit {id}, which git does not have"));
        }
        if let Some(path) = self.committed.iter().find(|path| !head_has(path)) {
            return Some(format!(
                "it says that {path} is committed, and HEAD does not have it"
            ));
        }
        if let Some(path) = self
            .made
            .iter()
            .find(|path| !head_has(path) && !is_on_disk(path))
        {
            return Some(format!(
                "it names {path}, which is neither in HEAD nor in the work tree"
            ));
        }
        if new_commits == Some(0) && (self.commits || self.count > 0) {
            return Some(
                "it says that it committed, and HEAD has no commit since the baseline".to_string(),
            );
        }
        if new_commits == Some(0) && self.is_committed && left == Some(true) {
            return Some("it says that the work is committed; HEAD is as at the baseline, and changes are uncommitted".to_string());
        }
        if let Some(made) = new_commits.filter(|made| *made < self.count) {
            return Some(format!(
                "it says that it made {} commits, and git shows {made} since the baseline",
                self.count
            ));
        }
        (self.pushed && !is_pushed())
            .then(|| "it says that it pushed, and no remote-tracking branch has HEAD".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_facts::evidence::ReplyStatus;

    /// A git that has `a.rs` and `src/b.rs` in HEAD, `new.rs` on disk, the commit `abc1234`, and one commit since the baseline.
    fn find_missing_in_example(message: &str, new_commits: u64, pushed: bool) -> Option<String> {
        missing_beside(message, new_commits, pushed, false)
    }

    fn missing_beside(
        message: &str,
        new_commits: u64,
        pushed: bool,
        changes_left: bool,
    ) -> Option<String> {
        let reply = Reply {
            message: message.into(),
            ..Reply::bare(ReplyStatus::Complete)
        };
        let head = |path: &str| ["a.rs", "src/b.rs"].contains(&path);
        ReplyClaims::from_reply(&reply).missing(
            (Some(new_commits), Some(changes_left)),
            &|id| "abc1234".starts_with(id),
            &head,
            &|path| path == "new.rs",
            &|| pushed,
        )
    }

    #[test]
    fn what_is_named_and_not_there_is_missing() {
        for (message, word) in [
            ("I created src/c.rs and its tests.", "src/c.rs"),
            ("Added `c.rs`.", "c.rs"),
            ("I committed new.rs", "new.rs is committed"),
            ("Everything is in commit deadbe1.", "deadbe1"),
            ("Done (commit 0a1b2c3d).", "0a1b2c3d"),
            ("Commit 1234567 has it.", "1234567"),
            ("All changes are committed and pushed to origin.", "pushed"),
            ("I pushed the branch", "pushed"),
        ] {
            let why = find_missing_in_example(message, 1, false);
            assert!(
                why.as_ref().is_some_and(|why| why.contains(word)),
                "{message}: {why:?}"
            );
        }
        assert!(missing_beside("All changes are committed.", 0, false, true).is_some());
        assert!(find_missing_in_example("I committed everything.", 0, false).is_some());
        assert!(find_missing_in_example("I made two small commits.", 0, false).is_some());
    }

    #[test]
    fn existing_work_and_plain_mentions_are_not_missing() {
        for message in [
            "I created src/b.rs.",
            "Added `new.rs`, not committed yet.",
            "Removed src/old.rs and wrote a.rs",
            "I committed `a.rs` in commit abc1234.",
            "The docs mention docs/later.md.",
            "See https://example.com/x.html for what was created.",
            "Nothing was committed to src/none.rs.",
            "I did not push.",
            "Pushed the value onto the stack",
            "Session 0a0a0a0a-0000-4000-8000-000000000001 ended",
            "Fixed color #a1b2c3d",
            "Created a queue that handles input/output.",
        ] {
            assert_eq!(find_missing_in_example(message, 1, true), None, "{message}");
        }
        assert_eq!(
            find_missing_in_example("All work is done and committed.", 0, false),
            None,
            "a session with nothing to do"
        );
        assert_eq!(
            find_missing_in_example("Renamed x/y.rs to a.rs", 1, false),
            None
        );
    }

    #[test]
    fn a_count_of_commits_is_held_against_git() {
        let reply = Reply {
            commits_made: Some(3),
            ..Reply::bare(ReplyStatus::Complete)
        };
        let yes = |_: &str| true;
        let claims = ReplyClaims::from_reply(&reply);
        assert!(
            claims
                .missing((Some(2), None), &yes, &yes, &yes, &|| true)
                .is_some_and(|why| why.contains("3 commits"))
        );
        assert_eq!(
            claims.missing((Some(3), None), &yes, &yes, &yes, &|| true),
            None
        );
        assert_eq!(
            claims.missing((None, None), &yes, &yes, &yes, &|| true),
            None
        );
    }
}
