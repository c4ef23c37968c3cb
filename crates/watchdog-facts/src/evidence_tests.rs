//! Tests of facts: counts of changes, the words about work that is not committed, remedies, and ends of processes.

use std::path::Path;

use super::*;

#[test]
fn change_of_any_kind_counts_once() {
    let changes = |staged, unstaged, untracked, conflicted| Changes {
        staged,
        unstaged,
        untracked,
        conflicted,
        ..Changes::default()
    };
    for (changes, total) in [
        (changes(0, 0, 0, 0), 0),
        (changes(1, 0, 0, 0), 1),
        (changes(0, 1, 0, 0), 1),
        (changes(0, 0, 1, 0), 1),
        (changes(0, 0, 0, 1), 1),
        (changes(1, 2, 3, 4), 10),
    ] {
        assert_eq!(
            (changes.total(), changes.any()),
            (total, total > 0),
            "{changes:?}"
        );
    }
}

#[test]
fn brought_content_alone_completes_nothing() {
    for (made_here, net_change, brought, completes) in [
        (1, true, 0, true),
        (1, true, 2, false),
        (1, false, 0, false),
        (0, true, 0, false),
        (0, false, 0, false),
    ] {
        let commits = Commits {
            new_commits: 1,
            made_here,
            net_change,
            brought,
            ..Commits::default()
        };
        assert_eq!(commits.completes(), completes, "{commits:?}");
    }
}

#[test]
fn agent_learns_head_position_and_a_missing_path() {
    let changes = |work, paths: &[&str]| Changes {
        work,
        work_paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..Changes::default()
    };
    let commits = |new_commits, codes: &[WarningCode]| Commits {
        new_commits,
        degraded: codes
            .iter()
            .map(|code| Degradation {
                code: *code,
                detail: "x".into(),
            })
            .collect(),
        ..Commits::default()
    };
    for (changes, commits, words) in [
        (changes(0, &[]), commits(0, &[]), None),
        (changes(0, &["a"]), commits(0, &[]), None),
        (
            changes(1, &["a"]),
            commits(0, &[]),
            Some("HEAD is still the baseline; `a` is not committed"),
        ),
        (
            changes(2, &["a", "b"]),
            commits(0, &[]),
            Some("HEAD is still the baseline; `a` and 1 more path are not committed"),
        ),
        (
            changes(1001, &["a", "b"]),
            commits(1, &[]),
            Some("`a` and 1000 more paths are not committed"),
        ),
        (
            changes(1, &["a"]),
            commits(0, &[WarningCode::HistoryRewritten]),
            Some("`a` is not committed"),
        ),
        (
            changes(1, &["a"]),
            commits(1, &[WarningCode::HistoryRewritten]),
            Some("`a` is not committed"),
        ),
        (
            changes(1, &["a"]),
            commits(0, &[WarningCode::UnreadablePath]),
            Some("HEAD is still the baseline; `a` is not committed"),
        ),
    ] {
        assert_eq!(changes.not_committed(&commits).as_deref(), words);
    }
}

#[test]
fn remedy_names_worktree_and_absence_stays_absent() {
    let fault = |hint: Option<&str>| UnreadableFact {
        kind: FaultKind::Git,
        why: "git: no".into(),
        hint: hint.map(str::to_owned),
    };
    let commands = WorktreeCommands::at(Path::new("/w"));
    assert_eq!(
        fault(Some("see `git fsck`")).with_commands(&commands),
        fault(Some("see `git -C /w fsck`"))
    );
    assert_eq!(fault(None).with_commands(&commands), fault(None));
}

#[test]
fn only_a_process_that_returns_0_succeeded() {
    for (exit, success, words) in [
        (ProcessExit::Code(0), true, "exit code 0"),
        (ProcessExit::Code(1), false, "exit code 1"),
        (ProcessExit::Signal(9), false, "signal 9"),
    ] {
        assert_eq!(
            (exit.success(), exit.to_string().as_str()),
            (success, words)
        );
    }
}
