//! Rule 4 of the contract: what a strike is, and what the third session is that ends as it began.

use crate::decision::machine::JudgementScope;
use watchdog_facts::evidence::{SessionEnd, WarningCode};
use watchdog_facts::verdict::{Reason, Status, Verdict};

use super::situation::Situation;

pub(super) fn strike_is_earned(it: &Situation<'_>) -> bool {
    it.verdict().is_none_or(|verdict| {
        verdict.strike == (genuine_timeout(it, verdict) || came_to_nothing(it, verdict))
    })
}

/// Every probe spent, at least one answered, and nothing moved.
fn genuine_timeout(it: &Situation<'_>, verdict: &Verdict) -> bool {
    let ledger = it.ledger;
    verdict.reason == Reason::MaxProbes
        && it.rounds_left() == 0
        && ledger.alive > 0
        && ledger.rescue_commits == 0
        && ledger.commits.is_some_and(|commits| !commits.any_new)
        && ledger.activity == Some(Some(false))
}

/// A session that watchdog ran, that left everything as it was, claimed nothing complete, and met no trouble.
fn came_to_nothing(it: &Situation<'_>, verdict: &Verdict) -> bool {
    let ledger = it.ledger;
    let has = |code| it.setup.notes.iter().any(|note| note.code == code);
    let ended = match &it.setup.session {
        Some(SessionEnd::Ended { .. } | SessionEnd::TimedOut { .. } | SessionEnd::Idle { .. }) => {
            true
        }
        Some(SessionEnd::CutShort { .. }) => has(WarningCode::EndUnconfirmed),
        _ => false,
    };
    let trouble = [
        WarningCode::SessionCutShort,
        WarningCode::SessionPaused,
        WarningCode::ToolsRefused,
        WarningCode::Overloaded,
    ]
    .into_iter()
    .any(has);
    let as_it_was = ledger
        .commits
        .is_some_and(|commits| !commits.any_new && !commits.rewritten)
        && ledger
            .changes
            .is_some_and(|changes| !changes.work && !changes.overwritten)
        && ledger.rescue_commits == 0;
    let by_the_tree = match verdict.reason {
        Reason::OperationInProgress => false,
        // What a third such session turned it into.
        Reason::MaxIterations => third(verdict),
        reason => matches!(reason.status(), Status::Incomplete | Status::Timeout),
    };
    let asked_in_vain = ledger.asking_ended;
    ended
        && by_the_tree
        && as_it_was
        && it.setup.scope == JudgementScope::Session
        && !ledger.holding
        && !asked_in_vain
        && !ledger.claimed
        && !trouble
}

fn third(verdict: &Verdict) -> bool {
    verdict
        .degraded
        .iter()
        .any(|note| note.code == WarningCode::NoProgress)
}

/// Two such sessions before it, under the same checks, and this one.
pub(super) fn third_is_for_a_person(it: &Situation<'_>) -> bool {
    let Some(verdict) = it.verdict() else {
        return true;
    };
    let counted = it.setup.no_progress_limit.is_some_and(|limit| {
        let same = it.setup.earlier.unmet == crate::decision::rounds::unmet_checks(&verdict.checks);
        limit
            <= if same {
                it.setup.earlier.fruitless + 1
            } else {
                1
            }
    });
    match verdict.reason {
        Reason::ChecksUnmet => !(verdict.strike && counted),
        Reason::MaxIterations if third(verdict) => verdict.strike && counted,
        _ => true,
    }
}
