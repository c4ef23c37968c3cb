//! The type `git`: commits and the state of the worktree decide.

use std::io;

use globset::GlobSet;

use crate::config::settings::GitCriterion;
use watchdog_facts::evidence::{Changes, Commits, UnreadableFact};
use watchdog_facts::patterns::path_globs;
use watchdog_facts::verdict::Evidence;

use super::answers::{PushState, TouchedPaths};
use super::check::{CheckContext, CheckJudgement, CompletionCheck};
use super::feedback::{first_three, one_line};

/// A file is searched for marks of a conflict up to this size, in bytes.
const SEARCHED: u64 = 4 << 20;

/// So many bytes are searched in all.
const SEARCHED_IN_ALL: u64 = 512 << 20;

/// Met when git shows that every requirement holds.
#[derive(Debug, Clone)]
pub struct GitCheck {
    criterion: GitCriterion,
}

impl GitCheck {
    /// A check of this.
    pub fn new(criterion: GitCriterion) -> Self {
        GitCheck { criterion }
    }

    fn lacks_commits(&self, commits: &Commits) -> Option<String> {
        let made = commits.made_here;
        let min_commits = self.criterion.min_commits;
        if made < min_commits {
            let imported = match commits.imported {
                0 => String::new(),
                n => format!(" ({n} that came from elsewhere do not count)"),
            };
            let wanted = plural(min_commits, "new commit is", "new commits are");
            return Some(format!(
                "{wanted} wanted since the session began, and git shows {made}{imported}; commit the work"
            ));
        }
        if commits.brought > 0 {
            return Some("all new content of the new commits was there before the session; do the work itself, and commit it".to_owned());
        }
        let of = plural(made, "new commit leaves", "new commits leave");
        (!commits.net_change).then(|| format!("the {of} the tree as it was when the session began"))
    }

    fn is_unclean(changes: &Changes) -> Option<String> {
        if changes.work_left() {
            let names: Vec<&str> = changes.work_paths.iter().map(String::as_str).collect();
            // If not every path is listed, the sum of the kinds is the nearest thing to a count.
            let complete = !names.is_empty() && names.len() < Changes::LISTED;
            let count = if complete {
                names.len() as u64
            } else {
                changes.total()
            };
            let listed = if names.is_empty() {
                String::new()
            } else {
                format!(": {}", first_three(&names))
            };
            return Some(format!(
                "uncommitted changes ({}){listed}; commit the work",
                plural(count, "file", "files")
            ));
        }
        changes
            .operation
            .map(|operation| format!("a {} is half done; finish or abort it", operation.as_str()))
    }
}

fn plural(n: u64, singular: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { singular } else { many })
}

fn fail_as_unreadable(what: &str, error: &UnreadableFact) -> CheckJudgement {
    let hint = error
        .hint
        .as_ref()
        .map(|hint| format!("; {hint}"))
        .unwrap_or_default();
    CheckJudgement::Failed {
        why: format!("the {what} cannot be read: {}{hint}", error.why),
    }
}

/// The patterns as one, or why they are none.
fn build_globs(patterns: &[String]) -> Result<GlobSet, CheckJudgement> {
    let wrong = |(pattern, error): (String, _)| CheckJudgement::Unrunnable {
        why: format!("`{}` is not a valid glob: {error}", one_line(&pattern)),
    };
    path_globs(patterns).map_err(wrong)
}

/// Whether a file contains conflict markers: a beginning, a middle and an end, in this order.
fn has_conflict_markers(bytes: &[u8]) -> bool {
    let mut stage = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        stage = match stage {
            0 if line.starts_with(b"<<<<<<< ") => 1,
            1 if line == b"=======" => 2,
            2 if line.starts_with(b">>>>>>> ") || line == b">>>>>>>" => return true,
            other => other,
        };
    }
    false
}

impl GitCheck {
    /// How many commits were made here, if they are enough.
    fn commits(&self, context: &CheckContext<'_>) -> Result<u64, CheckJudgement> {
        let commits = context
            .capabilities
            .commits()
            .map_err(|error| fail_as_unreadable("commits", &error))?;
        let Some(lacks) = self.lacks_commits(&commits) else {
            return Ok(commits.made_here);
        };
        // Only a more precise message: unreadable files change nothing about the missing requirements.
        let fact = context
            .capabilities
            .changes()
            .ok()
            .and_then(|changes| changes.not_committed(&commits));
        Err(CheckJudgement::Unmet {
            feedback: fact.map_or_else(|| lacks.clone(), |fact| format!("{fact}; {lacks}")),
        })
    }

    fn clean(context: &CheckContext<'_>) -> Result<(), CheckJudgement> {
        let changes = context
            .capabilities
            .changes()
            .map_err(|error| fail_as_unreadable("uncommitted changes", &error))?;
        fail_if_unmet(Self::is_unclean(&changes))?;
        let hidden = context
            .capabilities
            .hidden_entries()
            .map_err(|error| fail_as_unreadable("hidden entries of the index", &error))?;
        fail_if_unmet(hidden.map(|(total, first)| {
            let entries = plural(total, "file is", "files are");
            let first = one_line(&first);
            format!("{entries} hidden from git by skip-worktree or assume-unchanged, `{first}` for one; show them again: git ls-files -v")
        }))
    }

    fn require_pushed(context: &CheckContext<'_>) -> Result<(), CheckJudgement> {
        let feedback = match context.capabilities.read_push_state().map_err(|error| fail_as_unreadable("remote-tracking branches", &error))? {
            PushState::Yes => return Ok(()),
            PushState::Unborn => "there is no commit yet that could be pushed; commit the work and push it".into(),
            PushState::NoRemote => "no branch of a remote is known here, so that nothing is pushed; add a remote and push the work".into(),
            PushState::No { ahead } => format!("{} not on any remote; push the work", plural(ahead, "commit is", "commits are")),
        };
        fail_if_unmet(Some(feedback))
    }

    fn check_protected(&self, context: &CheckContext<'_>) -> Result<(), CheckJudgement> {
        build_globs(&self.criterion.protected)?;
        let touched = context
            .capabilities
            .read_protected(&self.criterion.protected)
            .map_err(|error| fail_as_unreadable("changed paths", &error))?;
        if touched.total == 0 {
            return Ok(());
        }
        let feedback = format!(
            "protected paths changed since the anchor: {}; bring them back as they were",
            list_names(&touched)
        );
        fail_if_unmet(Some(feedback))
    }

    /// Looks for marks of a conflict in what changed, in files of so many bytes together.
    fn markers(context: &CheckContext<'_>, most: u64) -> Result<(), CheckJudgement> {
        let touched = context
            .capabilities
            .read_touched(&|_| true)
            .map_err(|error| fail_as_unreadable("changed paths", &error))?;
        let mut marked = Vec::new();
        let mut unknown = None;
        let mut read = 0;
        for path in &touched.paths {
            if read > most {
                unknown.get_or_insert(format!(
                    "there is too much to search for marks of a conflict, from `{}` on",
                    one_line(path)
                ));
                break;
            }
            match context.capabilities.read_file(path, SEARCHED) {
                Ok(Some(bytes)) => {
                    read += bytes.len() as u64;
                    if has_conflict_markers(&bytes) {
                        marked.push(path.clone());
                    }
                }
                Ok(None) => {}
                // A file of this size, a folder or a link to the outside has no conflict that a person resolves by hand.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::FileTooLarge | io::ErrorKind::InvalidInput
                    ) => {}
                Err(error) => {
                    unknown.get_or_insert(format!("`{}` cannot be read: {error}", one_line(path)));
                }
            }
        }
        if !marked.is_empty() {
            let marked_paths = TouchedPaths {
                total: marked.len() as u64,
                paths: marked,
            };
            return fail_if_unmet(Some(format!(
                "marks of a conflict are left in {}; resolve it",
                list_names(&marked_paths)
            )));
        }
        if touched.total > touched.paths.len() as u64 {
            unknown.get_or_insert(format!(
                "{} changed paths are too many to search for marks of a conflict",
                touched.total
            ));
        }
        unknown.map_or(Ok(()), |why| Err(CheckJudgement::Failed { why }))
    }

    /// Returns the findings if all criteria are met.
    fn judge(&self, context: &CheckContext<'_>) -> Result<Vec<String>, CheckJudgement> {
        let criterion = &self.criterion;
        let mut findings = Vec::new();
        // Forbidden changes come first: they make all other requirements worthless.
        if !criterion.protected.is_empty() {
            self.check_protected(context)?;
            findings.push("no protected path changed".to_owned());
        }
        if criterion.min_commits > 0 {
            findings.push(format!(
                "{} made here",
                plural(self.commits(context)?, "commit", "commits")
            ));
        }
        if criterion.no_conflict_markers {
            Self::markers(context, SEARCHED_IN_ALL)?;
            findings.push("no mark of a conflict".to_owned());
        }
        if criterion.require_clean {
            Self::clean(context)?;
            findings.push("nothing uncommitted".to_owned());
        }
        if criterion.require_pushed {
            Self::require_pushed(context)?;
            findings.push("all of it pushed".to_owned());
        }
        Ok(findings)
    }
}

fn fail_if_unmet(feedback: Option<String>) -> Result<(), CheckJudgement> {
    feedback.map_or(Ok(()), |feedback| Err(CheckJudgement::Unmet { feedback }))
}

/// The first names, and how many more there are in all.
fn list_names(touched: &TouchedPaths) -> String {
    let names: Vec<&str> = touched.paths.iter().map(String::as_str).collect();
    match touched.total {
        total if total > names.len() as u64 && names.len() >= 3 => {
            format!(
                "{}, ... ({} more)",
                names[..3]
                    .iter()
                    .map(|name| one_line(name))
                    .collect::<Vec<_>>()
                    .join(", "),
                total - 3
            )
        }
        _ => first_three(&names),
    }
}

impl CompletionCheck for GitCheck {
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
        // The configuration refuses a check that asks for nothing; made in code, it shows nothing.
        let evidence = if self.criterion.is_empty() {
            Evidence::None
        } else {
            Evidence::Verified
        };
        match self.judge(context) {
            Err(judgement) => judgement,
            Ok(findings) if findings.is_empty() => CheckJudgement::Pass { evidence },
            Ok(findings) => CheckJudgement::PassWith {
                evidence,
                summary: findings.join(", "),
            },
        }
    }

    fn description(&self) -> String {
        let criterion = &self.criterion;
        let mut parts = Vec::new();
        if criterion.min_commits > 0 {
            parts.push(plural(
                criterion.min_commits,
                "new commit with a net change is made",
                "new commits with a net change are made",
            ));
        }
        match (criterion.require_clean, criterion.min_commits) {
            (true, 0) => parts.push("everything is committed".into()),
            (true, _) => parts.push("nothing is left uncommitted".into()),
            (false, _) => {}
        }
        if criterion.require_pushed {
            parts.push("a remote has HEAD".into());
        }
        if criterion.no_conflict_markers {
            parts.push("no marks of a conflict are left in changed files".into());
        }
        if !criterion.protected.is_empty() {
            let paths: Vec<&str> = criterion.protected.iter().map(String::as_str).collect();
            parts.push(format!(
                "these paths are as they were: {}",
                first_three(&paths)
            ));
        }
        match parts.pop() {
            None => "nothing is asked of git".into(),
            Some(last) if parts.is_empty() => last,
            Some(last) => format!("{}, and {last}", parts.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Fake, broken};
    use super::*;
    use watchdog_facts::evidence::{CheckOutcome, GitOperation, ReadFact};

    #[track_caller]
    fn check(
        min_commits: u64,
        require_clean: bool,
        commits: ReadFact<Commits>,
        changes: ReadFact<Changes>,
        outcome: CheckOutcome,
        words: &str,
    ) {
        let fake = Fake {
            commits: Some(commits),
            changes: Some(changes),
            ..Fake::default()
        };
        let criterion = GitCriterion {
            min_commits,
            require_clean,
            ..GitCriterion::default()
        };
        let judgement = GitCheck::new(criterion).check(&CheckContext::new(&fake));
        assert_eq!(judgement.outcome(), outcome, "{judgement:?}");
        assert!(judgement.feedback().contains(words), "{judgement:?}");
    }

    fn commits(made_here: u64, imported: u64, net_change: bool) -> ReadFact<Commits> {
        Ok(Commits {
            made_here,
            imported,
            net_change,
            new_commits: made_here + imported,
            ..Commits::default()
        })
    }

    fn untracked(paths: &[&str]) -> ReadFact<Changes> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        Ok(Changes {
            untracked: paths.len() as u64,
            work: paths.len() as u64,
            work_paths: paths.clone(),
            paths,
            ..Changes::default()
        })
    }

    #[test]
    fn only_commits_made_here_that_change_something_count() {
        use CheckOutcome::{Failed, Pass, Unmet};
        let clean = || Ok(Changes::default());
        check(1, false, commits(1, 0, true), clean(), Pass, "");
        check(
            1,
            false,
            commits(0, 0, false),
            untracked(&["a.rs"]),
            Unmet,
            "HEAD is still the baseline; `a.rs` is not committed; 1 new commit",
        );
        check(
            2,
            false,
            commits(1, 0, true),
            untracked(&["a", "b"]),
            Unmet,
            "`a` and 1 more path are not committed; 2 new commits are",
        );
        check(
            1,
            false,
            commits(0, 0, false),
            Err(broken("x")),
            Unmet,
            "1 new commit is wanted",
        );
        check(
            2,
            false,
            commits(1, 0, true),
            clean(),
            Unmet,
            "2 new commits are wanted since the session began, and git shows 1; commit",
        );
        check(
            1,
            false,
            commits(0, 4, true),
            clean(),
            Unmet,
            "git shows 0 (4 that came from elsewhere do not count)",
        );
        check(
            1,
            false,
            commits(1, 0, false),
            clean(),
            Unmet,
            "the 1 new commit leaves the tree as it was",
        );
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
        check(
            1,
            true,
            done(),
            untracked(&["a", "b"]),
            Unmet,
            "uncommitted changes (2 files): a, b; commit the work",
        );
        check(
            0,
            true,
            done(),
            Ok(Changes {
                staged: 1,
                work: 1,
                ..Changes::default()
            }),
            Unmet,
            "uncommitted changes (1 file); commit the work",
        );
        check(
            0,
            true,
            done(),
            untracked(&["a", "b", "c", "d"]),
            Unmet,
            "(4 files): a, b, c, ... (1 more)",
        );
        let twice = Changes {
            staged: 1,
            unstaged: 1,
            work: 1,
            work_paths: vec!["a".into()],
            ..Changes::default()
        };
        check(
            0,
            true,
            done(),
            Ok(twice),
            Unmet,
            "uncommitted changes (1 file): a; commit the work",
        );
        let names: Vec<String> = (0..Changes::LISTED).map(|n| format!("f{n}")).collect();
        let many = |listed: usize| Changes {
            untracked: 5000,
            work: 5000,
            work_paths: names[..listed].to_vec(),
            ..Changes::default()
        };
        check(
            0,
            true,
            done(),
            Ok(many(Changes::LISTED)),
            Unmet,
            "uncommitted changes (5000 files): f0, f1, f2, ... (997 more)",
        );
        check(
            0,
            true,
            done(),
            Ok(many(Changes::LISTED - 1)),
            Unmet,
            "uncommitted changes (999 files): f0, f1, f2, ... (996 more)",
        );
        let rebase = Changes {
            operation: Some(GitOperation::Rebase),
            ..Changes::default()
        };
        check(1, true, done(), Ok(rebase), Unmet, "a rebase is half done");
        check(
            1,
            true,
            done(),
            Err(broken("index is unreadable")),
            Failed,
            "the uncommitted changes cannot be read: index is unreadable",
        );
        check(
            1,
            true,
            Err(broken("x")),
            Ok(Changes::default()),
            Failed,
            "the commits cannot be read",
        );
    }

    #[test]
    fn a_check_that_asks_for_nothing_shows_nothing() {
        let judgement = GitCheck::new(GitCriterion {
            min_commits: 0,
            ..GitCriterion::default()
        })
        .check(&CheckContext::new(&Fake::default()));
        assert_eq!(
            judgement,
            CheckJudgement::Pass {
                evidence: Evidence::None
            }
        );
    }

    #[test]
    fn the_description_says_what_is_wanted() {
        let say = |min_commits, require_clean| {
            GitCheck::new(GitCriterion {
                min_commits,
                require_clean,
                ..GitCriterion::default()
            })
            .description()
        };
        assert_eq!(say(1, false), "1 new commit with a net change is made");
        assert_eq!(
            say(2, true),
            "2 new commits with a net change are made, and nothing is left uncommitted"
        );
        assert_eq!(say(0, true), "everything is committed");
        assert_eq!(say(0, false), "nothing is asked of git");
        let all = GitCriterion {
            require_pushed: true,
            no_conflict_markers: true,
            protected: vec!["tests/**".into()],
            ..GitCriterion::default()
        };
        assert_eq!(
            GitCheck::new(all).description(),
            "1 new commit with a net change is made, a remote has HEAD, no marks of a conflict are left in changed files, and these paths are \
             as they were: tests/**"
        );
    }

    /// A check that asks for this alone.
    fn only(criterion: GitCriterion) -> GitCheck {
        GitCheck::new(GitCriterion {
            min_commits: 0,
            ..criterion
        })
    }

    #[test]
    fn a_remote_must_have_head() {
        use CheckOutcome::{Failed, Pass, Unmet};
        for (pushed, outcome, words) in [
            (Ok(PushState::Yes), Pass, ""),
            (
                Ok(PushState::No { ahead: 1 }),
                Unmet,
                "1 commit is not on any remote; push the work",
            ),
            (
                Ok(PushState::No { ahead: 2 }),
                Unmet,
                "2 commits are not on any remote",
            ),
            (
                Ok(PushState::NoRemote),
                Unmet,
                "no branch of a remote is known here",
            ),
            (Ok(PushState::Unborn), Unmet, "no commit yet"),
            (
                Err(broken("refs are damaged")),
                Failed,
                "the remote-tracking branches cannot be read: refs are damaged",
            ),
        ] {
            let fake = Fake {
                pushed: Some(pushed),
                ..Fake::default()
            };
            let judgement = only(GitCriterion {
                require_pushed: true,
                ..GitCriterion::default()
            })
            .check(&CheckContext::new(&fake));
            assert_eq!(judgement.outcome(), outcome, "{judgement:?}");
            assert!(judgement.feedback().contains(words), "{judgement:?}");
        }
    }

    #[test]
    fn protected_paths_are_as_they_were() {
        use CheckOutcome::{Failed, Pass, Unmet};
        for (touched, outcome, words) in [
            (Ok(vec!["src/a.rs"]), Pass, ""),
            (
                Ok(vec!["src/a.rs", "tests/x/y.rs"]),
                Unmet,
                "protected paths changed since the anchor: tests/x/y.rs; bring them back",
            ),
            (
                Ok(vec!["tests/1", "tests/2", "tests/3", "tests/4"]),
                Unmet,
                "tests/1, tests/2, tests/3, ... (1 more)",
            ),
            (
                Err(broken("the index is damaged")),
                Failed,
                "the changed paths cannot be read: the index is damaged",
            ),
        ] {
            let fake = Fake {
                touched: Some(touched),
                ..Fake::default()
            };
            let criterion = GitCriterion {
                protected: vec!["tests/**".into()],
                ..GitCriterion::default()
            };
            let judgement = only(criterion).check(&CheckContext::new(&fake));
            assert_eq!(judgement.outcome(), outcome, "{judgement:?}");
            assert!(judgement.feedback().contains(words), "{judgement:?}");
        }
    }

    #[test]
    fn invalid_protection_pattern_makes_the_check_unrunnable() {
        let criterion = GitCriterion {
            protected: vec!["tests/**".into(), "a[".into()],
            ..GitCriterion::default()
        };
        let fake = Fake {
            touched: Some(Ok(Vec::new())),
            ..Fake::default()
        };
        let judgement = only(criterion).check(&CheckContext::new(&fake));
        assert_eq!(
            judgement.outcome(),
            CheckOutcome::Unrunnable,
            "{judgement:?}"
        );
        assert!(
            judgement
                .feedback()
                .starts_with("`a[` is not a valid glob: "),
            "{judgement:?}"
        );
    }

    #[test]
    fn first_paths_are_named_and_further_ones_counted() {
        for (listed, total, words) in [
            (&["a"][..], 1, "a"),
            (&["a", "b", "c"], 3, "a, b, c"),
            (&["a", "b", "c", "d"], 4, "a, b, c, ... (1 more)"),
            (&["a", "b", "c"], 7, "a, b, c, ... (4 more)"),
            (&["a", "b", "c", "d"], 7, "a, b, c, ... (4 more)"),
            (&["a", "b"], 7, "a, b"),
        ] {
            let paths = listed.iter().map(|path| (*path).to_owned()).collect();
            assert_eq!(list_names(&TouchedPaths { total, paths }), words);
        }
    }

    #[test]
    fn marker_check_skips_unresolvable_files_without_hiding_others() {
        let conflict = "<<<<<<< a\n=======\n>>>>>>> b\n";
        let large = "x\n".repeat(3 << 20);
        let fake = |touched: Vec<&'static str>| Fake {
            touched: Some(Ok(touched)),
            contents: vec![
                ("large", large.clone()),
                ("marked", conflict.into()),
                ("half", conflict[..18].into()),
            ],
            unreadable: vec!["locked"],
            ..Fake::default()
        };
        let judge = |fake: &Fake, most| match GitCheck::markers(&CheckContext::new(fake), most) {
            Ok(()) => String::new(),
            Err(judgement) => judgement.feedback().to_owned(),
        };
        assert_eq!(
            judge(&fake(vec!["large", "half"]), SEARCHED_IN_ALL),
            "",
            "a large file has no conflict of hands"
        );
        assert_eq!(
            judge(&fake(vec!["half"; 3]), SEARCHED_IN_ALL),
            "",
            "small files are searched, however many"
        );
        assert_eq!(
            judge(&fake(vec!["locked"]), SEARCHED_IN_ALL),
            "`locked` cannot be read: permission denied"
        );
        assert_eq!(
            judge(&fake(vec!["locked", "marked"]), SEARCHED_IN_ALL),
            "marks of a conflict are left in marked; resolve it"
        );
        let unlisted = Fake {
            touched_unlisted: 9,
            ..fake(vec!["half"])
        };
        assert_eq!(
            judge(&unlisted, SEARCHED_IN_ALL),
            "10 changed paths are too many to search for marks of a conflict"
        );
        // The file that exceeds the bound is read; the one behind it is not.
        let three = || fake(vec!["half", "half", "marked"]);
        assert_eq!(
            judge(&three(), 35),
            "there is too much to search for marks of a conflict, from `marked` on"
        );
        assert_eq!(
            judge(&three(), 36),
            "marks of a conflict are left in marked; resolve it"
        );
        assert_eq!(
            judge(&three(), 17),
            "there is too much to search for marks of a conflict, from `half` on"
        );
    }

    #[test]
    fn no_conflict_is_left_in_what_changed() {
        use CheckOutcome::{Failed, Pass, Unmet};
        let conflict = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\nd\n";
        let judge = |text: &str| {
            let fake = Fake {
                touched: Some(Ok(vec!["gone", "x.rs"])),
                contents: vec![("x.rs", text.to_owned()), ("elsewhere", conflict.into())],
                unreadable: vec!["locked"],
                ..Fake::default()
            };
            only(GitCriterion {
                no_conflict_markers: true,
                ..GitCriterion::default()
            })
            .check(&CheckContext::new(&fake))
        };
        assert_eq!(
            judge(conflict).feedback(),
            "marks of a conflict are left in x.rs; resolve it"
        );
        assert_eq!(judge(&conflict.replace('\n', "\r\n")).outcome(), Unmet);
        assert_eq!(
            judge(&conflict.replace("=======", "||||||| base\nb0\n=======")).outcome(),
            Unmet
        );
        assert_eq!(
            judge("<<<<<<< a\n=======\n>>>>>>>\n").outcome(),
            Unmet,
            "an end without a name"
        );
        let half = [
            "<<<<<<< a\nx\n>>>>>>> b\n",
            "<<<<<<< a\n=======\nx\n",
            "<<<<<<< a\n======= x\n>>>>>>> b\n",
            "<<<<<<< a\n=======\n>>>>>>>x",
        ];
        assert!(
            half.iter().all(|text| judge(text).outcome() == Pass),
            "{half:?}"
        );
        for text in [
            "",
            "Title\n=======\ntext",
            "<<<<<<< HEAD\nonly",
            "=======\n>>>>>>> x\n<<<<<<< y",
            " <<<<<<< a\n=======\n>>>>>>> b",
        ] {
            assert_eq!(judge(text).outcome(), Pass, "{text}");
        }
        let fake = Fake {
            touched: Some(Ok(vec!["locked"])),
            unreadable: vec!["locked"],
            ..Fake::default()
        };
        let check = only(GitCriterion {
            no_conflict_markers: true,
            ..GitCriterion::default()
        });
        assert_eq!(check.check(&CheckContext::new(&fake)).outcome(), Failed);
    }
}
