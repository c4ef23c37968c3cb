//! The type `git`: commits and cleanliness decide.

use crate::decision::evidence::{Changes, Commits, Unreadable};
use crate::decision::verdict::Evidence;

use super::check::{CheckContext, CompletionCheck, Judgement};
use super::feedback::first_three;

/// Met when enough commits were made here, and nothing is left uncommitted where that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct GitCheck {
    /// Commits made here since the baseline, at least; they must change the tree. 0 asks for none.
    pub min_commits: u64,
    /// Whether nothing may be uncommitted or half done.
    pub require_clean: bool,
}

impl GitCheck {
    fn lacks_commits(&self, commits: &Commits) -> Option<String> {
        let made = commits.made_here;
        if made < self.min_commits {
            let imported = match commits.imported {
                0 => String::new(),
                n => format!(" ({n} that came from elsewhere do not count)"),
            };
            let wanted = plural(self.min_commits, "new commit is", "new commits are");
            return Some(format!("{wanted} wanted since the session began, and git shows {made}{imported}; commit the work"));
        }
        let of = plural(made, "new commit leaves", "new commits leave");
        (!commits.net_change).then(|| format!("the {of} the tree as it was when the session began"))
    }

    fn is_unclean(changes: &Changes) -> Option<String> {
        if changes.any() {
            let names: Vec<&str> = changes.paths.iter().map(String::as_str).collect();
            // Where not every path is listed, the sum of the kinds is the nearest thing to a count.
            let complete = !names.is_empty() && names.len() < Changes::LISTED;
            let count = if complete { names.len() as u64 } else { changes.total() };
            let listed = if names.is_empty() { String::new() } else { format!(": {}", first_three(&names)) };
            return Some(format!("uncommitted changes ({}){listed}; commit the work", plural(count, "file", "files")));
        }
        changes.operation.map(|operation| format!("a {} is half done; finish or abort it", operation.as_str()))
    }
}

fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn unreadable(what: &str, error: &Unreadable) -> Judgement {
    let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    Judgement::Failed { why: format!("the {what} cannot be read: {}{hint}", error.why) }
}

impl CompletionCheck for GitCheck {
    fn check(&self, context: &CheckContext<'_>) -> Judgement {
        if self.min_commits > 0 {
            match context.capabilities.commits() {
                Err(error) => return unreadable("commits", &error),
                Ok(commits) => {
                    if let Some(feedback) = self.lacks_commits(&commits) {
                        return Judgement::Unmet { feedback };
                    }
                }
            }
        }
        if self.require_clean {
            match context.capabilities.changes() {
                Err(error) => return unreadable("uncommitted changes", &error),
                Ok(changes) => {
                    if let Some(feedback) = Self::is_unclean(&changes) {
                        return Judgement::Unmet { feedback };
                    }
                }
            }
        }
        // The configuration refuses a check that asks for nothing; made in code, it shows nothing.
        let asked = self.min_commits > 0 || self.require_clean;
        Judgement::Pass { evidence: if asked { Evidence::Verified } else { Evidence::None } }
    }

    fn description(&self) -> String {
        let commits = plural(self.min_commits, "new commit with a net change is made", "new commits with a net change are made");
        match (self.min_commits, self.require_clean) {
            (0, true) => "everything is committed".into(),
            (0, false) => "nothing is asked of git".into(),
            (_, true) => format!("{commits}, and nothing is left uncommitted"),
            (_, false) => commits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Fake, broken};
    use super::*;
    use crate::decision::evidence::{CheckOutcome, Fact, Operation};

    #[track_caller]
    fn check(min_commits: u64, require_clean: bool, commits: Fact<Commits>, changes: Fact<Changes>, outcome: CheckOutcome, words: &str) {
        let fake = Fake { commits: Some(commits), changes: Some(changes), ..Fake::default() };
        let judgement = GitCheck { min_commits, require_clean }.check(&CheckContext::new(&fake));
        assert_eq!(judgement.outcome(), outcome, "{judgement:?}");
        assert!(judgement.feedback().contains(words), "{judgement:?}");
    }

    fn commits(made_here: u64, imported: u64, net_change: bool) -> Fact<Commits> {
        Ok(Commits { made_here, imported, net_change, new_commits: made_here + imported, ..Commits::default() })
    }

    fn untracked(paths: &[&str]) -> Fact<Changes> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        Ok(Changes { untracked: paths.len() as u64, paths, ..Changes::default() })
    }

    #[test]
    fn only_commits_made_here_that_change_something_count() {
        use CheckOutcome::{Failed, Pass, Unmet};
        let clean = || Ok(Changes::default());
        check(1, false, commits(1, 0, true), clean(), Pass, "");
        check(2, false, commits(1, 0, true), clean(), Unmet, "2 new commits are wanted since the session began, and git shows 1; commit");
        check(1, false, commits(0, 4, true), clean(), Unmet, "git shows 0 (4 that came from elsewhere do not count)");
        check(1, false, commits(1, 0, false), clean(), Unmet, "the 1 new commit leaves the tree as it was");
        check(0, true, commits(0, 0, false), clean(), Pass, "");
        check(
            1,
            false,
            Err(broken("packed-refs is damaged")),
            clean(),
            Failed,
            "the commits cannot be read: packed-refs is damaged; run git fsck",
        );
    }

    #[test]
    fn cleanliness_counts_only_where_it_is_asked_for() {
        use CheckOutcome::{Failed, Pass, Unmet};
        let done = || commits(1, 0, true);
        check(1, false, done(), untracked(&["a"]), Pass, "");
        check(1, true, done(), untracked(&["a", "b"]), Unmet, "uncommitted changes (2 files): a, b; commit the work");
        check(0, true, done(), Ok(Changes { staged: 1, ..Changes::default() }), Unmet, "uncommitted changes (1 file); commit the work");
        check(0, true, done(), untracked(&["a", "b", "c", "d"]), Unmet, "(4 files): a, b, c, ... (1 more)");
        let rebase = Changes { operation: Some(Operation::Rebase), ..Changes::default() };
        check(1, true, done(), Ok(rebase), Unmet, "a rebase is half done");
        check(1, true, done(), Err(broken("index is unreadable")), Failed, "the uncommitted changes cannot be read: index is unreadable");
        check(1, true, Err(broken("x")), Ok(Changes::default()), Failed, "the commits cannot be read");
    }

    #[test]
    fn a_check_that_asks_for_nothing_shows_nothing() {
        let judgement = GitCheck { min_commits: 0, require_clean: false }.check(&CheckContext::new(&Fake::default()));
        assert_eq!(judgement, Judgement::Pass { evidence: Evidence::None });
    }

    #[test]
    fn the_description_says_what_is_wanted() {
        let say = |min_commits, require_clean| GitCheck { min_commits, require_clean }.description();
        assert_eq!(say(1, false), "1 new commit with a net change is made");
        assert_eq!(say(2, true), "2 new commits with a net change are made, and nothing is left uncommitted");
        assert_eq!(say(0, true), "everything is committed");
    }
}
