//! A session's word beside work that HEAD lacks: of its helpers, inside of submodules, on other refs, in the stash.

use watchdog_facts::display::{escape_to_one_line, plural};
use watchdog_facts::evidence::{BesideState, WorkBeside};
use watchdog_facts::verdict::{Evidence, Reason, Status, Verdict};
use watchdog_facts::work_claim::ClaimState;

/// How many of them a message names.
const NAMED: usize = 3;

/// A bare `complete` of the agent is disputed if helpers have unmerged or uncommitted work, submodules have changes of the session, or
/// work of it lies on no remote and no older branch: a person decides. One beside work that did reach its place is no "nothing to do".
/// A verdict that is not complete names the submodules in its feedback.
pub fn dispute_beside(
    mut verdict: Verdict,
    mut helpers: Vec<String>,
    submodules: &[String],
) -> Verdict {
    let beside = verdict.commits.iter().flat_map(|commits| &commits.beside);
    helpers.retain(|line| !beside.clone().any(|work| is_merged_branch(work, line)));
    let is_left = |work: &WorkBeside| {
        let short = work.commit.get(..12).unwrap_or(&work.commit);
        submodules.iter().any(|line| line.contains(short))
    };
    let beside: Vec<&WorkBeside> = beside
        .filter(|work| !is_named(work, &helpers) && !is_left(work))
        .collect();
    // A commit that was taken back may be in what the rescue committed.
    let is_open = |work: &WorkBeside| {
        !work.is_settled() && (work.by.is_none() || verdict.reason == Reason::NothingToDo)
    };
    let is_taken_back = |work: &&&WorkBeside| {
        work.state == BesideState::Deleted && work.by.is_some() && verdict.rescue_commits == 0
    };
    let (open, settled): (Vec<_>, Vec<_>) = beside.into_iter().partition(|work| is_open(work));
    let describe = |work: &&WorkBeside| work.describe();
    let open: Vec<String> = open.iter().map(describe).collect();
    let reached: Vec<String> = settled
        .iter()
        .filter(|work| {
            work.by.is_none() || is_taken_back(work) || verdict.reason == Reason::NothingToDo
        })
        .map(describe)
        .collect();
    let all: Vec<&String> = (helpers.iter().chain(submodules).chain(&open)).collect();
    if rests_on_the_word(&verdict) && !all.is_empty() {
        let named = join_names(&all);
        let why = format!("the agent says complete, beside work that HEAD lacks: {named}");
        let advice = format!("commit and merge it, or remove what is not needed: {named}");
        dispute(&mut verdict, why, advice);
    } else if verdict.reason == Reason::NothingToDo && !reached.is_empty() {
        verdict.reason = Reason::NewCommits;
        verdict.message = format!(
            "the agent says that everything is done; its work lies beside HEAD: {}",
            join_names(&reached)
        );
    } else {
        let beside: Vec<String> = open.into_iter().chain(reached).collect();
        if !beside.is_empty() {
            verdict.add_clause(&format!("beside HEAD: {}", join_names(&beside)));
        }
        if verdict.status() != Status::Complete && !submodules.is_empty() {
            let listed = join_names(submodules);
            verdict.feedback = Some(verdict.feedback.map_or_else(
                || listed.clone(),
                |feedback| format!("{feedback}\n{listed}"),
            ));
        }
    }
    verdict.helpers = helpers;
    verdict
}

/// Disputes a `complete` on the agent's word alone where its last words are contradicted; other verdicts only name them.
pub fn dispute_claims(mut verdict: Verdict) -> Verdict {
    let claims = verdict.claims.iter();
    let named: Vec<String> = claims
        .filter(|claim| claim.state == ClaimState::Contradicted)
        .map(|claim| format!("\"{}\": {}", claim.quote, claim.fact))
        .collect();
    let named = named.join("; ");
    if named.is_empty() {
        return verdict;
    }
    if rests_on_the_word(&verdict) {
        let why = format!("the agent says complete, and its last words are contradicted: {named}");
        dispute(
            &mut verdict,
            why,
            format!("do it, or correct what you said: {named}"),
        );
    } else {
        verdict.add_clause(&format!("contradicted: {named}"));
    }
    verdict
}

/// A person decides where a session reported that it cannot go on. A verdict that says as little, or that work still runs, only names it.
pub fn dispute_blocked(mut verdict: Verdict, text: &str) -> Verdict {
    verdict.message = format!(
        "the session reports that it is blocked: {}; {}",
        escape_to_one_line(text),
        verdict.message
    );
    if matches!(
        verdict.status(),
        Status::Complete | Status::Incomplete | Status::Timeout
    ) {
        verdict.reason = Reason::Disputed;
        verdict.evidence = Evidence::None;
        verdict.strike = false;
        verdict.not_a_strike_because = Some(Reason::Disputed.status().as_str());
    }
    verdict
}

fn rests_on_the_word(verdict: &Verdict) -> bool {
    matches!(verdict.reason, Reason::NothingToDo | Reason::Rescued)
}

fn dispute(verdict: &mut Verdict, why: String, advice: String) {
    verdict.reason = Reason::Disputed;
    verdict.evidence = Evidence::None;
    (verdict.message, verdict.feedback) = (why, Some(advice));
    verdict.not_a_strike_because = Some(Reason::Disputed.status().as_str());
}

/// Whether a helper's line is about a branch of which a remote has all commits in another form.
fn is_merged_branch(work: &WorkBeside, line: &str) -> bool {
    let branch = (work.branch.as_ref()).filter(|_| work.state == BesideState::Merged);
    branch.is_some_and(|branch| {
        let count = plural(work.commits, "unmerged commit");
        line == format!("branch {}: {count}", escape_to_one_line(branch))
    })
}

/// Whether a helper's line names this branch.
fn is_named(work: &WorkBeside, helpers: &[String]) -> bool {
    let on = work
        .on
        .as_ref()
        .filter(|_| work.state == BesideState::Unpushed);
    on.is_some_and(|on| {
        let on = escape_to_one_line(on);
        (helpers.iter()).any(|line| {
            line.starts_with(&format!("branch {on}:"))
                || line.starts_with(&format!("worktree {on}:"))
        })
    })
}

/// The first of these, and how many more there are.
pub fn join_names(all: &[impl AsRef<str>]) -> String {
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let named: Vec<&str> = all.iter().take(NAMED).map(AsRef::as_ref).collect();
    format!("{}{more}", named.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_facts::evidence::Commits;

    #[test]
    fn blocked_session_is_for_a_person() {
        for (reason, expected) in [
            (Reason::ChecksPassed, Reason::Disputed),
            (Reason::Unfinished, Reason::Disputed),
            (Reason::SessionTimeout, Reason::Disputed),
            (Reason::CriteriaChanged, Reason::CriteriaChanged),
            (Reason::SessionActive, Reason::SessionActive),
            (Reason::GitError, Reason::GitError),
        ] {
            let judged = dispute_blocked(Verdict::new(reason, "m"), "a\nb");
            assert_eq!((judged.reason, judged.strike), (expected, false));
            let message = "the session reports that it is blocked: a\\nb; m";
            assert_eq!(judged.message, message);
        }
    }

    #[test]
    fn bare_complete_beside_unmerged_work_is_disputed() {
        let lines = |count: usize| {
            (0..count)
                .map(|n| format!("branch {n}"))
                .collect::<Vec<_>>()
        };
        for (reason, helpers, submodules, expected) in [
            (Reason::NothingToDo, 1, 0, Reason::Disputed),
            (Reason::Rescued, 5, 0, Reason::Disputed),
            (Reason::NothingToDo, 0, 1, Reason::Disputed),
            (Reason::NothingToDo, 0, 0, Reason::NothingToDo),
            (Reason::NewCommits, 1, 1, Reason::NewCommits),
            (Reason::ChecksPassed, 1, 1, Reason::ChecksPassed),
            (Reason::Unfinished, 0, 1, Reason::Unfinished),
        ] {
            let verdict = dispute_beside(
                Verdict::new(reason, "done"),
                lines(helpers),
                &lines(submodules),
            );
            assert_eq!((verdict.reason, verdict.helpers.len()), (expected, helpers));
            assert_eq!(
                verdict.feedback.is_some(),
                matches!(expected, Reason::Disputed | Reason::Unfinished)
            );
        }
        use BesideState::{Deleted, Merged, Pushed, Stashed, Unpushed};
        for (reason, state, by, expected) in [
            (Reason::NothingToDo, Pushed, None, Reason::NewCommits),
            (
                Reason::NothingToDo,
                Merged,
                Some("merge"),
                Reason::NewCommits,
            ),
            (Reason::NothingToDo, Unpushed, None, Reason::Disputed),
            (
                Reason::NothingToDo,
                Deleted,
                Some("reset"),
                Reason::Disputed,
            ),
            (Reason::NothingToDo, Stashed, None, Reason::Disputed),
            (Reason::Rescued, Deleted, None, Reason::Disputed),
            (Reason::Rescued, Deleted, Some("reset"), Reason::Rescued),
            (Reason::Rescued, Pushed, None, Reason::Rescued),
            (Reason::NewCommits, Deleted, None, Reason::NewCommits),
            (
                Reason::NewCommits,
                Deleted,
                Some("reset"),
                Reason::NewCommits,
            ),
            (Reason::Unfinished, Pushed, None, Reason::Unfinished),
        ] {
            let work = WorkBeside {
                branch: Some("agent/x".to_owned()),
                commit: "1".repeat(40),
                commits: 2,
                subject: "work".to_owned(),
                state,
                by: by.map(str::to_owned),
                on: Some("b".to_owned()),
            };
            let commits = Commits {
                beside: vec![work.clone()],
                ..Commits::default()
            };
            let verdict = Verdict {
                commits: Some(commits),
                evidence: Evidence::Claimed,
                rescue_commits: u64::from(reason == Reason::Rescued),
                ..Verdict::new(reason, "done")
            };
            let judged = dispute_beside(verdict.clone(), Vec::new(), &[]);
            assert_eq!(judged.reason, expected, "{reason:?} {state:?}");
            assert!(judged.evidence <= Evidence::Claimed);
            let is_shown = judged.message.contains(&work.describe());
            assert_eq!(is_shown, by != Some("reset") || reason != Reason::Rescued);
            if state == Merged {
                let line = |count: u64| {
                    vec![format!(
                        "branch agent/x: {}",
                        plural(count, "unmerged commit")
                    )]
                };
                let reasons =
                    [2, 3].map(|count| dispute_beside(verdict.clone(), line(count), &[]).reason);
                assert_eq!(reasons, [Reason::NewCommits, Reason::Disputed]);
            }
            if state == Unpushed {
                let judged =
                    dispute_beside(verdict, vec!["branch b: 1 unmerged commit".to_owned()], &[]);
                assert!(!judged.message.contains("agent/x"), "{}", judged.message);
            }
        }
        let disputed = dispute_beside(Verdict::new(Reason::NothingToDo, "done"), lines(5), &[]);
        assert!(
            disputed
                .message
                .ends_with("branch 0; branch 1; branch 2; and 2 more"),
            "{}",
            disputed.message
        );
    }
}
