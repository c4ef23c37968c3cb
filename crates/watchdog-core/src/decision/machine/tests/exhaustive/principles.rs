//! The first two principles: no work is lost, and nothing is complete on a fact that was not read.

use crate::decision::machine::JudgementScope;
use watchdog_facts::evidence::SessionEnd;
use watchdog_facts::verdict::{Reason, Verdict};

use super::event_ledger::AnswerSeen;
use super::situation::Situation;

pub(super) fn rescued_before_the_end(it: &Situation<'_>) -> bool {
    it.ends(|verdict| {
        let left = it.ledger.work_left() && it.ledger.rescue.is_none();
        !wants_rescue(it, verdict)
            || it.ledger.looked && !(left && it.may_commit() && !it.half_done())
    })
}

/// Whether the contract wants the work rescued before a verdict of this reason is given.
fn wants_rescue(it: &Situation<'_>, verdict: &Verdict) -> bool {
    let (setup, ledger) = (it.setup, it.ledger);
    let last = setup.completion.final_rescue_attempt;
    // The next call goes on with the next round.
    let goes_on = setup.once && it.rounds_left() > 0 && !ledger.session_over;
    let cut = matches!(
        setup.session,
        Some(SessionEnd::TimedOut { .. } | SessionEnd::Idle { .. })
    );
    let cut_short = cut || matches!(setup.session, Some(SessionEnd::CutShort { .. }));
    // A limit of the session itself is looked at before the work, and a login needs a person.
    let by_session = matches!(
        setup.session,
        Some(
            SessionEnd::RateLimited { .. }
                | SessionEnd::Unrunnable { .. }
                | SessionEnd::NotStarted { .. }
        )
    );
    // After the last round, or where asking ended, only the final rescue is left.
    let just_answered = ledger.asked > 0 && !ledger.paused && !ledger.asking_ended;
    let still_open = it.rounds_left() > 0 && !ledger.asking_ended;
    match verdict.reason {
        _ if it.only_criteria() => false,
        Reason::ChecksPassed
        | Reason::AgentStopped
        | Reason::SessionTimeout
        | Reason::SessionIdle => true,
        Reason::Rescued | Reason::NothingToDo | Reason::RepeatedNothingToDo => true,
        Reason::BudgetExhausted | Reason::DeadlineExceeded | Reason::Halted => true,
        // Beside own commits the next session goes on with what is left.
        Reason::ChecksUnmet if ledger.own() => cut,
        Reason::ChecksUnmet if setup.unasked.is_some() => {
            (ledger.session_over || !setup.once) && (last || still_open)
        }
        Reason::ChecksUnmet => {
            cut_short
                || ledger.claims()
                || last
                || ledger.session_over && (still_open || just_answered)
        }
        Reason::Working => false,
        Reason::Unfinished if setup.no_probe => cut,
        Reason::Unfinished if cut_short => true,
        Reason::Unfinished if setup.unasked.is_some() => {
            (ledger.session_over || !setup.once) && (last || still_open)
        }
        Reason::Unfinished => {
            let not_done =
                ledger.session_over && just_answered && ledger.answer == Some(AnswerSeen::Working);
            !goes_on && (last || not_done)
        }
        Reason::MaxProbes => last,
        Reason::ProbeError => last && !(setup.once && it.rounds_left() > 0),
        Reason::RateLimited | Reason::AgentUnrunnable => last && !by_session,
        _ => false,
    }
}

pub(super) fn complete_on_read_facts(it: &Situation<'_>) -> bool {
    let ledger = it.ledger;
    let no_baseline = it.setup.scope
        == (JudgementScope::Criteria {
            baseline_known: false,
        });
    it.ends(|verdict| {
        let commits = ledger.commits.is_some() || no_baseline;
        let changes = match verdict.reason {
            // Plain check looks no further than commits.
            Reason::NewCommits => it.only_criteria() || !it.setup.read_leftovers || ledger.looked,
            Reason::ChecksPassed => it.only_criteria() || ledger.looked,
            _ => ledger.looked,
        };
        let judged = verdict.reason != Reason::ChecksPassed || ledger.judged_here;
        !it.completes() || commits && changes && judged
    })
}
