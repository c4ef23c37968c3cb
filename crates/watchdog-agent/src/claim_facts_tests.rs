//! The states of claims beside facts.

use std::path::Path;

use super::*;
use crate::session_history::tests::history_of;
use ClaimState::{Contradicted, Held, Unproved};
use WorkClaim::{
    Committed, FileWritten, LintPassed, NothingLeft, PullRequestOpened, Pushed, TestsPassed,
};

/// New commits, uncommitted paths of the session, unpushed commits.
type Git<'a> = (u64, &'a [&'a str], Option<u64>);

fn weigh(
    claim: WorkClaim,
    (new_commits, paths, unpushed): Git<'_>,
    calls: &[(&str, &str)],
) -> (ClaimState, String) {
    let commits = Commits {
        new_commits,
        ..Commits::default()
    };
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let changes = Changes {
        work: paths.len() as u64,
        work_paths: paths.clone(),
        paths,
        ..Changes::default()
    };
    let read = ReadClaim {
        claim,
        quote: String::new(),
        path: "src/b.rs".to_owned(),
    };
    let facts = WorkFacts {
        root: Path::new("/w"),
        commits: &commits,
        changes: &changes,
        unpushed,
        history: &history_of(calls),
        head_has: &|path| Some(path == "a.rs"),
        is_on_disk: &|_| false,
    };
    let weighed = weigh_claim(&read, &facts);
    (weighed.state, weighed.fact)
}

const CLEAN: Git<'_> = (1, &[], Some(0));

#[test]
fn commit_is_contradicted_by_own_uncommitted_work() {
    for (git, calls, state) in [
        (CLEAN, &[][..], Held),
        ((0, &["a.rs"][..], None), &[], Contradicted),
        ((0, &["new.rs"], None), &[], Contradicted),
        ((1, &["a.rs"], None), &[], Contradicted),
        (
            (1, &["new.rs"], None),
            &[("edit /w/new.rs", "")],
            Contradicted,
        ),
        ((1, &["report.xml"], None), &[("pytest", "ok")], Unproved),
        (
            (0, &["report.xml"], None),
            &[("git -C ../x commit -m x", "")],
            Unproved,
        ),
        (
            (0, &["new.rs"], None),
            &[("git commit -m x", "!1")],
            Contradicted,
        ),
    ] {
        assert_eq!(weigh(Committed, git, calls).0, state, "{git:?} {calls:?}");
    }
    let (_, fact) = weigh(Committed, (0, &["a.rs"], None), &[]);
    assert_eq!(fact, "HEAD is still the baseline; `a.rs` is not committed");
}

#[test]
fn push_is_contradicted_by_commits_without_a_remote() {
    let commit = ("git commit -m x", "");
    let pushed = ("git push", " a..b main -> main");
    for (git, calls, state) in [
        (CLEAN, &[][..], Held),
        ((1, &[][..], None), &[], Unproved),
        ((1, &[], Some(2)), &[], Contradicted),
        ((0, &[], Some(2)), &[], Unproved),
        ((1, &[], Some(1)), &[commit, pushed], Unproved),
        ((1, &[], Some(1)), &[pushed, commit], Contradicted),
        (
            (1, &[], Some(1)),
            &[commit, ("git push", "!1")],
            Contradicted,
        ),
    ] {
        assert_eq!(weigh(Pushed, git, calls).0, state, "{git:?} {calls:?}");
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
            &[failed, ("git add -A && git commit -m x", "")],
            Contradicted,
        ),
        (&[failed, ("edit /w/a.py", "")], Unproved),
        (&[failed, ("sed -i s/a/b/ a.py", "")], Unproved),
        (&[failed, ("echo x > a.py", "")], Unproved),
        (&[failed, ("pytest", "ok")], Held),
        (&[("pytest", "ok"), ("edit /w/a.py", "")], Unproved),
        (&[("pytest", "ok"), ("edit /w/a.py", "!1")], Held),
        (&[("pytest | tail -1", "ok")], Unproved),
    ] {
        assert_eq!(weigh(TestsPassed, CLEAN, calls).0, state, "{calls:?}");
    }
    assert_eq!(weigh(LintPassed, CLEAN, &[failed]).0, Unproved);
}

#[test]
fn other_claims_need_an_excluding_fact() {
    assert_eq!(weigh(PullRequestOpened, CLEAN, &[]).0, Unproved);
    assert_eq!(
        weigh(PullRequestOpened, CLEAN, &[("gh pr create --fill", "!1")]).0,
        Contradicted
    );
    assert_eq!(
        weigh(PullRequestOpened, CLEAN, &[("gh pr create --fill", "url")]).0,
        Held
    );
    assert_eq!(weigh(FileWritten, (0, &[], None), &[]).0, Contradicted);
    assert_eq!(
        weigh(FileWritten, (0, &["x/src/b.rs"], None), &[]).0,
        Unproved
    );
    assert_eq!(
        weigh(FileWritten, (0, &[], None), &[("echo > x/src/b.rs", "")]).0,
        Unproved
    );
    assert_eq!(weigh(NothingLeft, CLEAN, &[]).0, Held);
}
