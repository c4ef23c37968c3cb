//! Holds the claims of an agent's last words against the facts. Pure: the caller reads git.
//!
//! A claim is contradicted only by a fact that excludes it; a fact that merely does not show it leaves it unproved.

use std::path::Path;

use watchdog_facts::display::plural;
use watchdog_facts::evidence::{Changes, Commits};

use super::session_history::{CommandEnd, LaterChange, SessionHistory};
use super::work_claims::WorkClaim;

/// The state of a claim beside the facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimState {
    /// A fact bears it out, and none speaks against it.
    Held,
    /// A fact excludes it.
    Contradicted,
    /// No fact decides.
    Unproved,
}
use ClaimState::{Contradicted, Held, Unproved};

/// The facts about a session's work.
pub struct WorkFacts<'a> {
    /// The top folder of the worktree.
    pub root: &'a Path,
    /// The commits since the baseline.
    pub commits: &'a Commits,
    /// Whether HEAD is the baseline.
    pub is_at_baseline: bool,
    /// The uncommitted files, with the session's own counted.
    pub changes: &'a Changes,
    /// How many commits of HEAD no remote-tracking branch has; `None` where there is no such branch.
    pub unpushed: Option<u64>,
    /// The calls of the session.
    pub history: &'a SessionHistory,
    /// Whether commits since the baseline changed a path, or that cannot be read.
    pub is_committed: &'a dyn Fn(&str) -> bool,
}

/// The state of a claim, with the fact that decides: a sentence without an end.
pub fn weigh_claim(claim: WorkClaim, facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let (state, fact) = match claim {
        WorkClaim::Committed => weigh_commit(facts),
        WorkClaim::Pushed => weigh_push(facts),
        WorkClaim::TestsPassed => weigh_run(claim, "test", facts),
        WorkClaim::BuildPassed => weigh_run(claim, "build", facts),
        WorkClaim::LintPassed => weigh_run(claim, "lint", facts),
    };
    // Calls that are not seen may have made any claim true.
    let is_open = facts.history.is_partial && state == Contradicted;
    (if is_open { Unproved } else { state }, fact)
}

impl WorkFacts<'_> {
    /// Whether the session itself put HEAD where it is: a person may move it at any time.
    fn is_own_head(&self) -> bool {
        match self.history.find_last_commit() {
            None => self.is_at_baseline,
            Some((_, id)) => id.is_some_and(|id| {
                self.commits
                    .head
                    .as_ref()
                    .is_some_and(|head| head.starts_with(&id))
            }),
        }
    }
}

fn weigh_commit(facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let Some(fact) = facts.changes.not_committed(facts.commits) else {
        return (Held, String::new());
    };
    let last_commit = facts.history.find_last_commit().map(|(place, _)| place);
    // A change may be a person's, unless the session wrote the path and did not commit it.
    let is_own = |path: &&String| {
        let written = facts.history.find_last_write(&facts.root.join(path));
        written.is_some_and(|place| Some(place) > last_commit || !(facts.is_committed)(path))
    };
    let own: Vec<String> = facts
        .changes
        .work_paths
        .iter()
        .filter(is_own)
        .cloned()
        .collect();
    let own = Changes {
        work: own.len() as u64,
        work_paths: own,
        ..Changes::default()
    };
    match own.not_committed(facts.commits) {
        Some(fact) if facts.is_own_head() => (Contradicted, fact),
        _ => (Unproved, fact),
    }
}

fn weigh_push(facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let ahead = match facts.unpushed {
        Some(0) => return (Held, String::new()),
        Some(ahead) => ahead,
        None => return (Unproved, "there is no remote-tracking branch".to_owned()),
    };
    let fact = format!(
        "no remote-tracking branch has {} of HEAD",
        plural(ahead, "commit")
    );
    let own_commit = facts
        .history
        .find_last_commit()
        .filter(|_| facts.is_own_head());
    let is_unpushed = own_commit.is_some_and(|(place, _)| !facts.history.may_push_after(place));
    (if is_unpushed { Contradicted } else { Unproved }, fact)
}

fn weigh_run(claim: WorkClaim, thing: &str, facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let runs = facts.history.list_runs(claim, facts.root);
    let last = format!("the last {thing} command");
    let Some((line, end, later)) = runs.first() else {
        return (Unproved, format!("the transcript shows no {thing} command"));
    };
    // Another suite may have passed since the last edit.
    let mut since_edit = runs
        .iter()
        .filter(|(_, _, later)| *later < LaterChange::Edit);
    let all_failed = since_edit.all(|(_, end, _)| matches!(end, CommandEnd::Failed(_)));
    match (end, later) {
        (CommandEnd::Unclear(why), _) => (Unproved, format!("{last} shows no result: {why}")),
        (_, LaterChange::Edit) => (Unproved, format!("{last} ran before the last edit")),
        (CommandEnd::Passed, _) => (Held, String::new()),
        (CommandEnd::Failed(code), LaterChange::Absent) if all_failed => (
            Contradicted,
            format!("{last}, '{line}', failed (exit code {code}), and nothing was edited since"),
        ),
        _ => (Unproved, format!("{last} failed, others did not")),
    }
}

#[cfg(test)]
#[path = "claim_facts_tests.rs"]
mod tests;
