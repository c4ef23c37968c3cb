//! The state that one call passes to the next with the same baseline: how many rounds are spent, and how often
//! in a row the answer was "nothing to do". The caller stores it; this module counts.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::machine::EarlierRounds;
use watchdog_facts::evidence::{
    Changes, CheckOutcome, CheckResult, Commits, ProbeOutcome, ReplyStatus,
};
use watchdog_facts::verdict::{ProbeRecord, Reason, Status, Verdict};

/// The effect of a verdict on the rounds that count toward `max_probes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoundsEffect {
    /// The question is still open and its probes were spent on it.
    CountOn,
    /// There was no probe, or no agent to answer it: the call does not count.
    Untouched,
    /// The question is answered; the next call starts at zero.
    BeginAnew,
}

/// The state for the next call with the same baseline, given this call's state and verdict.
pub fn update_rounds(earlier: EarlierRounds, verdict: &Verdict) -> EarlierRounds {
    let committed =
        verdict.rescue_commits > 0 || verdict.commits.as_ref().is_some_and(Commits::completes);
    let rounds = if committed {
        RoundsEffect::BeginAnew
    } else {
        classify_rounds_effect(verdict)
    };
    let streak = match verdict.reason {
        Reason::NothingToDo | Reason::RepeatedNothingToDo => {
            earlier.nothing_to_do_streak.saturating_add(1)
        }
        _ if rounds == RoundsEffect::BeginAnew => 0,
        _ => earlier.nothing_to_do_streak,
    };
    let counted = match rounds {
        RoundsEffect::CountOn => EarlierRounds {
            rounds_used: earlier
                .rounds_used
                .saturating_add(count_probes(verdict, |_| true)),
            answered: earlier
                .answered
                .saturating_add(count_probes(verdict, |record| {
                    matches!(record.outcome, ProbeOutcome::Reply(_))
                })),
            alive: earlier
                .alive
                .saturating_add(count_probes(verdict, said_alive)),
            ..earlier
        },
        RoundsEffect::Untouched => earlier,
        RoundsEffect::BeginAnew => EarlierRounds::default(),
    };
    let (fruitless, unmet) = count_fruitless_sessions(earlier, verdict);
    EarlierRounds {
        nothing_to_do_streak: streak,
        fruitless,
        unmet,
        ..counted
    }
}

/// The same after a look that saw the work move: it spends no round.
pub fn after_movement(earlier: EarlierRounds, verdict: &Verdict) -> EarlierRounds {
    let after = update_rounds(earlier, verdict);
    match after.rounds_used > earlier.rounds_used {
        true => EarlierRounds {
            rounds_used: earlier.rounds_used,
            answered: earlier.answered,
            alive: earlier.alive,
            ..after
        },
        false => after,
    }
}

/// How many sessions in a row changed nothing under the same unmet checks, and a hash of those.
fn count_fruitless_sessions(earlier: EarlierRounds, verdict: &Verdict) -> (u32, u64) {
    let unmet = unmet_checks(&verdict.checks);
    let moved = verdict.rescue_commits > 0
        || verdict
            .commits
            .as_ref()
            .is_some_and(|commits| commits.new_commits > 0)
        || verdict.changes.as_ref().is_some_and(Changes::work_left);
    match verdict.reason {
        Reason::ChecksUnmet if verdict.strike && unmet == earlier.unmet => {
            (earlier.fruitless.saturating_add(1), unmet)
        }
        Reason::ChecksUnmet if verdict.strike => (1, unmet),
        _ if moved
            || verdict.status() == Status::Complete
            || verdict.reason == Reason::MaxIterations =>
        {
            (0, 0)
        }
        _ => (earlier.fruitless, earlier.unmet),
    }
}

/// A hash of the unmet checks; 0 where all are met, or none was judged.
pub fn unmet_checks(results: &[CheckResult]) -> u64 {
    let mut unmet = results
        .iter()
        .filter(|check| check.outcome != CheckOutcome::Pass)
        .peekable();
    if unmet.peek().is_none() {
        return 0;
    }
    let mut hasher = DefaultHasher::new();
    unmet.for_each(|check| check.name.hash(&mut hasher));
    hasher.finish().max(1)
}

fn classify_rounds_effect(verdict: &Verdict) -> RoundsEffect {
    match verdict.reason {
        Reason::Working | Reason::BackgroundWork => RoundsEffect::CountOn,
        // Without a question no round was spent.
        Reason::Unfinished if verdict.probes.is_empty() => RoundsEffect::Untouched,
        // With no round left it was the last word on the question; counting on would never ask again.
        Reason::ProbeError if verdict.probes_left > 0 => RoundsEffect::CountOn,
        Reason::SessionActive
        | Reason::RateLimited
        | Reason::Locked
        | Reason::Dependencies
        | Reason::BreakerOpen
        | Reason::BudgetExhausted
        | Reason::DeadlineExceeded
        | Reason::Interrupted
        | Reason::NoBaseline
        | Reason::GitError
        | Reason::NotARepository
        | Reason::ConfigError
        | Reason::StoreError
        | Reason::SnapshotFailed
        | Reason::OperationInProgress => RoundsEffect::Untouched,
        Reason::NewCommits
        | Reason::Rescued
        | Reason::NothingToDo
        | Reason::ChecksPassed
        | Reason::ChecksUnmet
        | Reason::Unfinished
        | Reason::NoCriteria
        | Reason::MaxIterations
        | Reason::VerifyTimeout
        | Reason::VerifyFailed
        | Reason::RepeatedNothingToDo
        | Reason::Disputed
        | Reason::CriteriaChanged
        | Reason::TestsWeakened
        | Reason::Untrusted
        | Reason::RescueIncomplete
        | Reason::MaxProbes
        | Reason::SessionTimeout
        | Reason::SessionIdle
        | Reason::AgentStopped
        | Reason::VerifyUnrunnable
        | Reason::AgentUnrunnable
        | Reason::Halted
        | Reason::ProbeError => RoundsEffect::BeginAnew,
    }
}

fn count_probes(verdict: &Verdict, of: impl Fn(&ProbeRecord) -> bool) -> u32 {
    u32::try_from(verdict.probes.iter().filter(|record| of(record)).count()).unwrap_or(u32::MAX)
}

fn said_alive(record: &ProbeRecord) -> bool {
    match &record.outcome {
        ProbeOutcome::Reply(reply) => {
            matches!(reply.status, ReplyStatus::Waiting | ReplyStatus::Working)
        }
        _ => false,
    }
}
