//! Finds out how checks ended when the work began, without running anything twice: from earlier results on the same tree, and where nothing
//! was done since, from the present ones.

use watchdog_core::checks::{CheckDefinition, ResultBeforeWork};
use watchdog_facts::evidence::{CheckOutcome, OutcomeBeforeWork, TestCounts};
use watchdog_git::{HistoryPoint, Worktree};
use watchdog_store::before::{self, OutcomeRecord};
use watchdog_store::{LocalStore, check_cache};

use crate::clock::now;
use crate::judge::judgement_input::JudgementInput;
use crate::judge::session_work;
use crate::session::session_lives;

/// How a check ended that is judged now.
pub(super) struct CurrentOutcome<'a> {
    pub(super) definition: &'a CheckDefinition,
    pub(super) outcome: CheckOutcome,
    pub(super) tests: Option<TestCounts>,
}

/// The known results. A result that cannot be read or written counts as unknown.
pub(super) fn find(
    input: &JudgementInput,
    store: &dyn LocalStore,
    ended: &CurrentOutcome<'_>,
) -> ResultBeforeWork {
    if ended.definition.fails_without_work {
        return ResultBeforeWork {
            before: OutcomeBeforeWork::Failed,
            tests: None,
        };
    }
    if !ended.definition.of_worktree || input.origin.0 == HistoryPoint::unknown() {
        return ResultBeforeWork::default();
    }
    let (origin_tree, clean_tree, nothing_done, shows_all) = {
        let worktree = input.worktree();
        let Ok(origin_tree) = worktree.tree_at(&input.origin.0) else {
            return ResultBeforeWork::default();
        };
        let clean_tree = clean_tree(&worktree);
        let nothing_done = clean_tree.as_ref() == Some(&origin_tree)
            || has_no_work(input, &worktree, &origin_tree);
        let shows_all = worktree
            .hidden_entries()
            .is_ok_and(|hidden| hidden.is_none());
        (origin_tree, clean_tree, nothing_done, shows_all)
    };
    let Ok(record) = before::read_checks_before(store, &input.worktree_id, &input.spec) else {
        return ResultBeforeWork::default();
    };
    let check = check_cache::inputs(&[ended.definition.text.as_bytes()]);
    let now_on = |tree: &str| {
        let before = match ended.outcome {
            CheckOutcome::Pass => OutcomeBeforeWork::Passed,
            CheckOutcome::Unmet => OutcomeBeforeWork::Failed,
            _ => return None,
        };
        Some(OutcomeRecord {
            check: check.clone(),
            tree: tree.to_owned(),
            before,
            tests: ended.tests,
            at: now(),
        })
    };
    let begun = record.first_outcome(&check).cloned();
    // A result for this very tree since the session began is a result for this work: a later pass is new.
    let found_here = begun.as_ref().is_some_and(|mark| {
        mark.tree == origin_tree && input.recorded_at.is_some_and(|at| mark.at >= at)
    });
    let identical = now_on(&origin_tree).filter(|_| nothing_done && !found_here);
    let known = match (identical, begun.clone()) {
        (Some(mark), None) => Some(mark),
        (Some(mark), Some(_)) if mark.before == OutcomeBeforeWork::Passed => Some(mark),
        (_, Some(mark)) => Some(mark),
        (None, None) => record.outcome_on_tree(&check, &origin_tree).cloned(),
    };
    let seen = clean_tree.as_deref().and_then(now_on).filter(|mark| {
        let before = record.outcome_on_tree(&check, &mark.tree);
        before.is_none_or(|known| (known.before, known.tests) != (mark.before, mark.tests))
    });
    let begins = known.clone().filter(|mark| begun.as_ref() != Some(mark));
    // A session that runs, or that hid files from git, may have broken the check for this one look.
    let is_sound = || {
        shows_all
            && !input.overrides.from_inside
            && !session_lives(store, &input.worktree_id).unwrap_or(true)
    };
    if (seen.is_some() || begins.is_some()) && is_sound() {
        // An unsaved result is unknown to the next judgement.
        let _ = before::update(store, &input.worktree_id, &input.spec, |record| {
            begins.iter().for_each(|mark| record.begin(mark.clone()));
            seen.iter()
                .for_each(|mark| record.record_outcome(mark.clone()));
        });
    }
    known.map_or_else(ResultBeforeWork::default, |mark| ResultBeforeWork {
        before: mark.before,
        tests: mark.tests,
    })
}

/// Whether HEAD's tree is as it was, and everything uncommitted was there before or is not the session's.
fn has_no_work(input: &JudgementInput, worktree: &Worktree, origin_tree: &str) -> bool {
    let same = worktree
        .head()
        .and_then(|head| worktree.tree_at(&head))
        .is_ok_and(|tree| tree == origin_tree);
    same && session_work::read(worktree, &input.work)
        .is_ok_and(|found| !found.changes.work_left() && found.changes.operation.is_none())
}

/// HEAD's tree, where nothing of the session is uncommitted.
fn clean_tree(worktree: &Worktree) -> Option<String> {
    worktree.clean_tree().ok().flatten()
}
