//! The states of claims beside facts, and whole replies beside the facts of their session.

use std::path::Path;

use watchdog_facts::evidence::GitOperation;

use super::*;
use crate::session_history::tests::{read_text, transcript_of};
use WorkClaim::{
    BuildPassed, CleanTree, Committed, FileWritten, LintPassed, NothingLeft, PullRequest, Pushed,
    TestsPassed,
};

/// New commits, uncommitted paths of the session, unpushed commits.
type Git<'a> = (u64, &'a [&'a str], Option<u64>);
type Calls<'a> = &'a [(&'a str, &'a str)];

const CLEAN: Git<'_> = (1, &[], Some(0));
/// HEAD, as git prints it behind a commit.
const MADE: &str = "[main abc1234] work\n 1 file changed";

/// A git whose HEAD is abc1234.
fn weigh_beside(claim: WorkClaim, git: Git<'_>, history: &SessionHistory) -> ClaimState {
    weigh_read(&read_as(claim, ""), git, history)
}

fn read_as(claim: WorkClaim, subject: &str) -> StatedClaim {
    StatedClaim {
        claim,
        quote: String::new(),
        subject: subject.to_owned(),
    }
}

/// Files of the name `there.rs` exist, and pull requests up to number 9; of others above 90 GitHub says nothing. A merge is half done
/// beside 7 new commits.
fn weigh_read(read: &StatedClaim, git: Git<'_>, history: &SessionHistory) -> ClaimState {
    let (new_commits, paths, unpushed) = git;
    let commits = Commits {
        new_commits,
        head: Some("abc1234def".to_owned()),
        operation: (new_commits == 7).then_some(GitOperation::Merge),
        ..Commits::default()
    };
    let changes = Changes {
        work: paths.len() as u64,
        work_paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..Changes::default()
    };
    let facts = WorkFacts {
        root: Path::new("/w"),
        commits: &commits,
        is_at_baseline: new_commits == 0,
        changes: &changes,
        unpushed,
        history,
        exists: &|path| path.ends_with("there.rs"),
        has_pull_request: &|subject| {
            let number = subject.rsplit('/').next()?.parse::<u32>().ok()?;
            (number < 90).then_some(number < 10)
        },
    };
    weigh_claim(read, &facts).0
}

fn weigh(claim: WorkClaim, git: Git<'_>, calls: Calls<'_>) -> ClaimState {
    weigh_beside(claim, git, &read_text(&transcript_of(calls)))
}

const EDIT_A: (&str, &str) = ("edit /w/a.rs", "");
const EDIT_NEW: (&str, &str) = ("edit /w/new.rs", "");
const COMMIT: (&str, &str) = ("git commit -am x", MADE);

#[test]
fn commit_is_contradicted_by_own_uncommitted_work() {
    for (git, calls, state) in [
        (CLEAN, &[][..], Held),
        ((0, &["a.rs"][..], None), &[EDIT_A], Contradicted),
        ((0, &["new.rs"], None), &[EDIT_NEW], Contradicted),
        (
            (0, &["new.rs"], None),
            &[("echo x > new.rs", "")],
            Contradicted,
        ),
        (
            (0, &["new.rs"], None),
            &[EDIT_NEW, ("git commit -m x", "!1 hook failed")],
            Contradicted,
        ),
        // Beside a commit: drafts of an earlier turn, files left out, persons and programs.
        ((1, &["a.rs"], None), &[EDIT_A, COMMIT], Unproved),
        ((1, &["new.rs"], None), &[EDIT_NEW, COMMIT], Unproved),
        (
            (1, &["done.rs"], None),
            &[COMMIT, ("edit /w/done.rs", "")],
            Unproved,
        ),
        ((0, &["a.rs"], None), &[EDIT_A, COMMIT], Unproved),
        // A person's edits, a person's reset and amend, files of programs, a sub-agent, other folders.
        ((0, &["a.rs"], None), &[], Unproved),
        (
            (0, &["a.rs"], None),
            &[("git diff a.rs; cat a.rs", "")],
            Unproved,
        ),
        (
            (0, &["a.rs"], None),
            &[EDIT_A, ("git commit -am x", "[main 1111111] x")],
            Unproved,
        ),
        (
            (1, &["a.rs"], None),
            &[EDIT_A, ("git commit -qm x", "")],
            Unproved,
        ),
        ((1, &["a.rs"], None), &[EDIT_A], Unproved),
        (
            (1, &["report.xml"], None),
            &[("pytest --junitxml=report.xml", "ok"), COMMIT],
            Unproved,
        ),
        (
            (0, &["new.rs"], None),
            &[EDIT_NEW, ("git -C ../x commit -m x", "[main 2222222] x")],
            Unproved,
        ),
        (
            (0, &["new.rs"], None),
            &[("agent write new.rs", "")],
            Unproved,
        ),
        (
            (0, &["new.rs"], None),
            &[("edit /other/new.rs", "")],
            Unproved,
        ),
        (
            (0, &["new.rs"], None),
            &[("edit /w/sub/new.rs", "")],
            Unproved,
        ),
        (
            (0, &["new.rs"], None),
            &[("edit /w/new.rs", "!1")],
            Unproved,
        ),
    ] {
        assert_eq!(weigh(Committed, git, calls), state, "{git:?} {calls:?}");
    }
}

#[test]
fn push_is_contradicted_by_commits_without_a_remote() {
    let pushed = ("git push", " a..b main -> main");
    let rejected = (
        "git push 2>&1 | tail -3",
        " ! [rejected] main -> main (fetch first)",
    );
    for (git, calls, state) in [
        (CLEAN, &[][..], Held),
        ((1, &[][..], None), &[COMMIT], Unproved),
        ((1, &[], Some(2)), &[COMMIT], Contradicted),
        ((1, &[], Some(1)), &[pushed, COMMIT], Contradicted),
        ((1, &[], Some(1)), &[COMMIT, rejected], Contradicted),
        (
            (1, &[], Some(1)),
            &[(
                "git commit -am x && git push",
                "!128 [main abc1234] x\nfatal: no",
            )],
            Contradicted,
        ),
        ((0, &[], Some(2)), &[], Unproved),
        ((1, &[], Some(2)), &[], Unproved),
        (
            (2, &[], Some(1)),
            &[("git commit -am x", "[main 1111111] x")],
            Unproved,
        ),
        ((1, &[], Some(1)), &[COMMIT, pushed], Unproved),
        (
            (1, &[], Some(1)),
            &[COMMIT, ("git push -q || true", "")],
            Unproved,
        ),
        (
            (1, &[], Some(1)),
            &[COMMIT, ("agent push it", "")],
            Unproved,
        ),
        ((1, &[], Some(1)), &[COMMIT, ("./ship.sh", "")], Unproved),
        (
            (1, &[], Some(1)),
            &[COMMIT, ("cargo test && git log 2>&1", "")],
            Contradicted,
        ),
        (
            (1, &[], Some(1)),
            &[COMMIT, ("git push", "remote: error: a hook's word")],
            Unproved,
        ),
        (
            (1, &[], Some(1)),
            &[COMMIT, ("git push", "!1 error: failed to push")],
            Contradicted,
        ),
    ] {
        assert_eq!(weigh(Pushed, git, calls), state, "{git:?} {calls:?}");
    }
}

#[test]
fn run_is_contradicted_only_by_its_last_failure() {
    let failed = ("pytest", "!1");
    for (calls, state) in [
        (&[][..], Unproved),
        (&[("pytest", "ok")], Held),
        (&[failed], Contradicted),
        (
            &[EDIT_A, failed, ("git add -A && git commit -m x", "")],
            Contradicted,
        ),
        (&[failed, EDIT_A], Unproved),
        (&[EDIT_A, ("./check.sh", "ok"), failed], Unproved),
        (&[("./check.sh", "ok"), EDIT_A, failed], Contradicted),
        (&[("./check.sh; pytest", "!1")], Unproved),
        (&[failed, ("./check.sh", "ok")], Unproved),
        (&[("pytest 2>&1", "!1")], Contradicted),
        (&[("pytest", "!2"), failed], Unproved),
        (&[failed, ("sed -i s/a/b/ a.py", "")], Unproved),
        (&[failed, ("echo x > a.py", "")], Unproved),
        (&[failed, ("agent mend it", "")], Unproved),
        (&[failed, ("pytest", "ok")], Held),
        (&[("npm test", "ok"), failed], Unproved),
        (&[("npm test | tail -3", "ok"), failed], Unproved),
        (&[("npm test", "ok"), EDIT_A, failed], Contradicted),
        (&[("pytest", "ok"), EDIT_A], Unproved),
        (&[("pytest", "ok"), ("edit /w/a.py", "!1")], Held),
        (&[("pytest | tail -1", "ok")], Unproved),
    ] {
        assert_eq!(weigh(TestsPassed, CLEAN, calls), state, "{calls:?}");
    }
    assert_eq!(weigh(LintPassed, CLEAN, &[failed]), Unproved);
    assert_eq!(
        weigh(LintPassed, CLEAN, &[("cargo clippy", "!101")]),
        Contradicted
    );
    assert_eq!(
        weigh(BuildPassed, CLEAN, &[("npx tsc --noEmit", "!2")]),
        Unproved
    );
    assert_eq!(
        weigh(BuildPassed, CLEAN, &[("go build ./...", "!1")]),
        Contradicted
    );
}

#[test]
fn clean_tree_is_contradicted_by_later_work() {
    for (git, calls, state) in [
        (CLEAN, &[EDIT_A][..], Held),
        ((1, &["a.rs"][..], None), &[EDIT_A, COMMIT], Unproved),
        ((1, &["a.rs"], None), &[COMMIT, EDIT_A], Contradicted),
        ((1, &["a.rs"], None), &[EDIT_A], Contradicted),
        ((1, &["b.rs"], None), &[COMMIT, EDIT_A], Unproved),
    ] {
        assert_eq!(weigh(CleanTree, git, calls), state, "{git:?} {calls:?}");
    }
}

#[test]
fn missing_file_contradicts_where_no_call_names_it() {
    let weigh = |path: &str, calls: Calls<'_>| {
        let history = read_text(&transcript_of(calls));
        weigh_read(&read_as(FileWritten, path), CLEAN, &history)
    };
    for (path, calls, state) in [
        ("src/there.rs", &[][..], Held),
        ("src/gone.rs", &[], Contradicted),
        (
            "src/gone.rs",
            &[EDIT_A, COMMIT, ("pytest", "ok")],
            Contradicted,
        ),
        // In a folder below, removed again, by a script or a sub-agent.
        ("src/there.rs", &[("edit /w/web/src/there.rs", "")], Held),
        ("src/gone.rs", &[("edit /w/web/src/gone.rs", "")], Unproved),
        ("src/gone.rs", &[("cat src/gone.rs", "")], Unproved),
        ("src/gone.rs", &[("./make-it.sh", "")], Unproved),
        ("src/gone.rs", &[("agent write it", "")], Unproved),
    ] {
        assert_eq!(weigh(path, calls), state, "{path} {calls:?}");
    }
}

#[test]
fn pull_request_is_contradicted_by_github_alone() {
    let create = ("gh pr create --fill", "https://github.com/o/r/pull/12");
    let failed = ("gh pr create --fill", "!1 already exists");
    for (subject, calls, state) in [
        ("", &[][..], Unproved),
        ("", &[create], Held),
        ("", &[failed], Unproved),
        ("4", &[], Held),
        ("12", &[], Contradicted),
        ("https://github.com/o/r/pull/12", &[create], Contradicted),
        ("99", &[], Unproved),
        ("99", &[create], Held),
    ] {
        let history = read_text(&transcript_of(calls));
        let read = read_as(PullRequest, subject);
        assert_eq!(
            weigh_read(&read, CLEAN, &history),
            state,
            "{subject} {calls:?}"
        );
    }
}

#[test]
fn nothing_left_is_contradicted_by_own_half_done_merge() {
    let merge = ("git merge side", "!1 CONFLICT");
    for (commits, calls, state) in [
        (1, &[merge][..], Held),
        (7, &[], Unproved),
        (7, &[merge], Contradicted),
    ] {
        assert_eq!(weigh(NothingLeft, (commits, &[], None), calls), state);
    }
}

#[test]
fn partial_transcript_contradicts_nothing() {
    let text = transcript_of(&[EDIT_NEW]);
    let weigh = |text: &str| weigh_beside(Committed, (0, &["new.rs"], None), &read_text(text));
    assert_eq!(weigh(&text), Contradicted);
    for part in [
        format!("{{\"type\":\n{text}"),
        text[..text.len() - 2].to_owned(),
    ] {
        assert_eq!(weigh(&part), Unproved);
    }
}

#[path = "claim_replies_tests.rs"]
mod replies;
