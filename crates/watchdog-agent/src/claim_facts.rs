//! Holds the claims of an agent's last words against the facts. Pure: the caller reads git.
//!
//! A claim is contradicted only by a fact that excludes it; a fact that merely does not show it leaves it unproved.

use std::path::Path;

use watchdog_facts::display::plural;
use watchdog_facts::evidence::{Changes, Commits};
use watchdog_facts::work_claim::ClaimState;

use super::session_history::{CommandEnd, SessionHistory};
use super::work_claims::{StatedClaim, WorkClaim};

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
    /// Whether a path exists.
    pub exists: &'a dyn Fn(&Path) -> bool,
    /// Whether GitHub has a pull request of this number or address; `None` where it does not say.
    pub has_pull_request: &'a dyn Fn(&str) -> Option<bool>,
}

/// The state of a claim, with the fact that decides: a sentence without an end.
pub fn weigh_claim(read: &StatedClaim, facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let (claim, subject) = (read.claim, read.subject.as_str());
    let (state, fact) = match claim {
        WorkClaim::Committed | WorkClaim::CleanTree => weigh_commit(claim, facts),
        WorkClaim::Pushed => weigh_push(facts),
        WorkClaim::TestsPassed => weigh_run(claim, "test", facts),
        WorkClaim::BuildPassed => weigh_run(claim, "build", facts),
        WorkClaim::LintPassed => weigh_run(claim, "lint", facts),
        // The answer needs no transcript.
        WorkClaim::PullRequest => return weigh_pull_request(subject, facts),
        WorkClaim::FileWritten => weigh_file(subject, facts),
        WorkClaim::NothingLeft => weigh_rest(facts),
    };
    // Calls that are not seen may have made any claim true.
    let is_open = facts.history.is_partial && state == Contradicted;
    (if is_open { Unproved } else { state }, fact)
}

fn weigh_commit(claim: WorkClaim, facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let Some(fact) = facts.changes.not_committed(facts.commits) else {
        return (Held, String::new());
    };
    // Beside a commit the claim may be about that one, and each leftover a person's, a program's or wanted.
    let last_commit = facts.history.find_last_commit().map(|(place, _)| place);
    let may_exclude =
        claim == WorkClaim::CleanTree || facts.is_at_baseline && last_commit.is_none();
    let place = last_commit.unwrap_or_default();
    let is_own = |path: &&String| facts.history.has_written(place, &facts.root.join(path));
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
        Some(fact) if may_exclude => (Contradicted, fact),
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
        "{} of HEAD {} on no remote-tracking branch",
        plural(ahead, "commit"),
        if ahead == 1 { "is" } else { "are" }
    );
    let head = facts.commits.head.as_deref().unwrap_or_default();
    let own_commit = facts.history.find_last_commit();
    // A person may move HEAD at any time.
    let is_unpushed = own_commit.is_some_and(|(place, id)| {
        id.is_some_and(|id| head.starts_with(&id)) && !facts.history.may_push_after(place)
    });
    (if is_unpushed { Contradicted } else { Unproved }, fact)
}

fn weigh_run(claim: WorkClaim, thing: &str, facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let runs = facts.history.list_runs(claim, facts.root);
    let last = format!("the last {thing} command");
    let Some((line, end, is_edited)) = runs.iter().find(|(line, ..)| !line.is_empty()) else {
        return (Unproved, format!("the transcript shows no {thing} command"));
    };
    // Another suite may have passed since the last edit.
    let mut since_edit = runs.iter().filter(|(.., is_edited)| !is_edited);
    let all_failed = since_edit.all(|(_, end, _)| matches!(end, CommandEnd::Failed(_)));
    match (end, is_edited) {
        (CommandEnd::Unclear(why), _) => (Unproved, format!("{last} shows no result: {why}")),
        (_, true) => (Unproved, format!("{last} ran before the last edit")),
        (CommandEnd::Passed, _) => (Held, String::new()),
        (CommandEnd::Failed(code), _) if all_failed => (
            Contradicted,
            format!("{last}, '{line}', failed (exit code {code}), and nothing was edited since"),
        ),
        _ => (Unproved, format!("{last} failed, others may have passed")),
    }
}

fn weigh_pull_request(subject: &str, facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let runs = facts.history.list_runs(WorkClaim::PullRequest, facts.root);
    let mut ends = runs.iter().filter(|(line, ..)| !line.is_empty());
    let is_opened = ends.any(|(_, end, _)| *end == CommandEnd::Passed);
    let answer = Some(subject).filter(|subject| !subject.is_empty());
    match answer.and_then(|subject| (facts.has_pull_request)(subject)) {
        Some(false) => (
            Contradicted,
            format!("GitHub has no pull request {subject}"),
        ),
        None if !is_opened => (Unproved, "no pull request is seen".to_owned()),
        _ => (Held, String::new()),
    }
}

fn weigh_file(path: &str, facts: &WorkFacts<'_>) -> (ClaimState, String) {
    let full = facts.root.join(path);
    let named = facts.history.list_written(path);
    if (facts.exists)(&full) || named.iter().any(|written| (facts.exists)(written)) {
        return (Held, String::new());
    }
    let state = match facts.history.may_have_written(path) {
        true => Unproved,
        false => Contradicted,
    };
    (state, format!("there is no {path}"))
}

fn weigh_rest(facts: &WorkFacts<'_>) -> (ClaimState, String) {
    if !facts.commits.half_done() {
        return (Held, String::new());
    }
    let runs = facts.history.list_runs(WorkClaim::NothingLeft, facts.root);
    let is_own = runs.iter().any(|(line, ..)| !line.is_empty());
    (
        if is_own { Contradicted } else { Unproved },
        "an operation of git is half done".to_owned(),
    )
}

#[cfg(test)]
#[path = "claim_facts_tests.rs"]
mod tests;
