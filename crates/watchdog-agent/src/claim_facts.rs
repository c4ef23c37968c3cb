//! Holds the claims of an agent's last words against the facts. Pure: the caller reads git.
//!
//! A claim is contradicted only by a fact that excludes it; a fact that merely does not show it leaves it unproved.

use std::path::Path;

use watchdog_facts::display::plural;
use watchdog_facts::evidence::{Changes, Commits};
use watchdog_facts::work_claim::{ClaimState, WeighedClaim, WorkClaim};

use super::session_history::{ClaimedRun, CommandEnd, SessionHistory};
use super::work_claims::ReadClaim;

/// So many uncommitted paths are looked at.
const PATHS: usize = 50;

/// The facts about a session's work.
pub struct WorkFacts<'a> {
    /// The top folder of the worktree.
    pub root: &'a Path,
    /// The commits since the baseline.
    pub commits: &'a Commits,
    /// The uncommitted files, with the session's own counted.
    pub changes: &'a Changes,
    /// How many commits of HEAD no remote-tracking branch has; `None` where there is no such branch.
    pub unpushed: Option<u64>,
    /// The calls of the session.
    pub history: &'a SessionHistory,
    /// Whether HEAD has a path; `None` where it cannot be read.
    pub head_has: &'a dyn Fn(&str) -> Option<bool>,
    /// Whether a path of the worktree exists.
    pub is_on_disk: &'a dyn Fn(&str) -> bool,
}

/// The state of a claim, with the fact that decides.
pub fn weigh_claim(read: &ReadClaim, facts: &WorkFacts<'_>) -> WeighedClaim {
    let (state, fact) = match read.claim {
        WorkClaim::Committed => weigh_commit(facts),
        WorkClaim::Pushed => weigh_push(facts),
        WorkClaim::TestsPassed | WorkClaim::BuildPassed | WorkClaim::LintPassed => {
            weigh_run(read.claim, facts)
        }
        WorkClaim::PullRequestOpened => weigh_pull_request(facts),
        WorkClaim::FileWritten => weigh_file(&read.path, facts),
        WorkClaim::NothingLeft if facts.commits.half_done() => (
            ClaimState::Contradicted,
            "a merge, rebase or another operation of git is unfinished".to_owned(),
        ),
        WorkClaim::NothingLeft => (
            ClaimState::Held,
            "no operation of git is unfinished".to_owned(),
        ),
    };
    WeighedClaim {
        claim: read.claim,
        state,
        fact,
    }
}

fn weigh_commit(facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let Some(fact) = facts.changes.not_committed(facts.commits) else {
        return (
            ClaimState::Held,
            "no work of the session is uncommitted".to_owned(),
        );
    };
    // Programs leave untracked files that are nobody's work: they count beside a commit only where the session edited them.
    let commits_seen = facts
        .history
        .find_last_run(WorkClaim::Committed, facts.root);
    let has_commit = facts.commits.new_commits > 0
        || facts.history.is_part
        || commits_seen.is_some_and(|run| !matches!(run.end, CommandEnd::Failed(_)));
    let mut paths = facts.changes.work_paths.iter().take(PATHS);
    let is_work = |path: &String| {
        (facts.head_has)(path) == Some(true) || facts.history.names_path(path, true)
    };
    if !has_commit || paths.any(is_work) {
        (ClaimState::Contradicted, fact)
    } else {
        (ClaimState::Unproved, fact)
    }
}

fn weigh_push(facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let ahead = match facts.unpushed {
        Some(0) => {
            return (
                ClaimState::Held,
                "a remote-tracking branch has HEAD".to_owned(),
            );
        }
        Some(ahead) => ahead,
        None => {
            return (
                ClaimState::Unproved,
                "there is no remote-tracking branch".to_owned(),
            );
        }
    };
    let fact = format!(
        "no remote-tracking branch has {} of HEAD",
        plural(ahead, "commit")
    );
    let find = |claim| facts.history.find_last_run(claim, facts.root);
    let last_commit = find(WorkClaim::Committed).map_or(0, |run| run.at);
    let may_have_pushed = find(WorkClaim::Pushed)
        .is_some_and(|run| run.at >= last_commit && !matches!(run.end, CommandEnd::Failed(_)));
    // Without a commit of this session in sight, its words may be about other work.
    let is_known = facts.commits.new_commits > 0 && !facts.history.is_part;
    if is_known && !may_have_pushed {
        (ClaimState::Contradicted, fact)
    } else {
        (ClaimState::Unproved, fact)
    }
}

fn weigh_run(claim: WorkClaim, facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let thing = match claim {
        WorkClaim::BuildPassed => "build",
        WorkClaim::LintPassed => "lint",
        _ => "test",
    };
    let Some(run) = facts.history.find_last_run(claim, facts.root) else {
        let fact = format!("the transcript shows no {thing} command");
        return (ClaimState::Unproved, fact);
    };
    let ClaimedRun {
        line,
        end,
        is_before_edit,
        may_be_stale,
        ..
    } = run;
    let last = format!("the last {thing} command, '{line}',");
    match end {
        CommandEnd::Unclear(why) => (
            ClaimState::Unproved,
            format!("{last} shows no result: {why}"),
        ),
        _ if is_before_edit => (
            ClaimState::Unproved,
            format!("{last} ran before the last edit"),
        ),
        CommandEnd::Passed => (ClaimState::Held, format!("{last} passed")),
        CommandEnd::Failed(code) if may_be_stale => (
            ClaimState::Unproved,
            format!("{last} failed (exit code {code}), and other commands followed"),
        ),
        CommandEnd::Failed(code) => (
            ClaimState::Contradicted,
            format!("{last} failed (exit code {code}), and nothing was edited since"),
        ),
    }
}

fn weigh_pull_request(facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let run = facts
        .history
        .find_last_run(WorkClaim::PullRequestOpened, facts.root);
    let state = |state, fact: &str| (state, fact.to_owned());
    match run.map(|run| (run.end, run.may_be_stale)) {
        Some((CommandEnd::Passed, _)) => {
            state(ClaimState::Held, "the command that opens it passed")
        }
        Some((CommandEnd::Failed(_), false)) => {
            state(ClaimState::Contradicted, "the command that opens it failed")
        }
        _ => state(
            ClaimState::Unproved,
            "the transcript shows no pull request that was opened",
        ),
    }
}

fn weigh_file(path: &str, facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let in_head = (facts.head_has)(path);
    if in_head == Some(true) || (facts.is_on_disk)(path) {
        return (ClaimState::Held, format!("{path} is there"));
    }
    let fact = format!("{path} is neither in HEAD nor in the work tree");
    // The name may be that of a file in another folder: a call or a changed path shows it.
    let may_lie_deeper = in_head.is_none()
        || facts.history.is_part
        || facts.history.names_path(path, false)
        || facts
            .changes
            .paths
            .iter()
            .any(|changed| changed.ends_with(path))
        || facts.commits.new_commits > 0;
    if may_lie_deeper {
        (ClaimState::Unproved, fact)
    } else {
        (ClaimState::Contradicted, fact)
    }
}

#[cfg(test)]
#[path = "claim_facts_tests.rs"]
mod tests;
