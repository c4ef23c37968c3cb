//! The decision tree, read backwards: the facts without which no verdict may have its reason, in the order of the tree's last step.

use crate::config::settings::OnNoCriteria;
use crate::decision::machine::{ConfigTrust, CriteriaFilesRole, JudgementScope};
use watchdog_facts::evidence::{CheckOutcome, SessionEnd, WarningCode};
use watchdog_facts::verdict::{Evidence, Reason, Status, Verdict};

use super::event_ledger::{AnswerSeen, RescueSeen};
use super::situation::Situation;

pub(super) fn reason_is_earned(it: &Situation<'_>) -> bool {
    it.verdict().is_none_or(|verdict| earned(it, verdict))
}

fn earned(it: &Situation<'_>, verdict: &Verdict) -> bool {
    let (setup, ledger) = (it.setup, it.ledger);
    let answered = |answers: &[AnswerSeen]| {
        ledger
            .answer
            .is_some_and(|answer| answers.contains(&answer))
            && !ledger.disputed
    };
    let met = !it.unmet();
    let passed_before = ledger.judged_as(CheckOutcome::Pass);
    match verdict.reason {
        Reason::NewCommits => {
            let nobody_answers =
                ledger.answered == 0 && (it.rounds_left() == 0 || ledger.asking_ended);
            let left = setup.read_leftovers
                && ledger.work_left()
                && ledger.rescue != Some(RescueSeen::LeftOutOnPurpose);
            let claimed = ledger.claims();
            ledger.own()
                && met
                && (!left
                    || setup.no_probe
                    || setup.unasked.is_some()
                    || nobody_answers
                    || claimed && !ledger.work_left())
        }
        Reason::Rescued => {
            ledger.claims()
                && ledger.rescue == Some(RescueSeen::Committed)
                && (!it.has_checks() || passed_before)
        }
        Reason::NothingToDo => nothing_to_do(it) && setup.earlier.nothing_to_do_streak < 2,
        Reason::RepeatedNothingToDo => nothing_to_do(it) && setup.earlier.nothing_to_do_streak >= 2,
        Reason::ChecksPassed => {
            passed_before && !ledger.judged.is_some_and(|judged| judged.weakened)
        }
        Reason::TestsWeakened => {
            passed_before && ledger.judged.is_some_and(|judged| judged.weakened)
        }
        Reason::ChecksUnmet => it.unmet() && ledger.rescue != Some(RescueSeen::Lost),
        Reason::Unfinished => unfinished(it),
        Reason::Working => setup.once && !ledger.session_over && answered(&[AnswerSeen::Working]),
        Reason::OperationInProgress => it.half_done(),
        Reason::BackgroundWork => {
            let waits = setup.once && answered(&[AnswerSeen::Waiting]);
            let left_work = matches!(setup.session, Some(SessionEnd::LeftWork { .. }));
            ledger.judged_as(CheckOutcome::Waiting) || ledger.holding || waits || left_work
        }
        Reason::RateLimited => {
            let session = matches!(setup.session, Some(SessionEnd::RateLimited { .. }));
            session
                || ledger.answer == Some(AnswerSeen::Limit)
                    && met
                    && ledger.rescue != Some(RescueSeen::Failed)
        }
        Reason::AgentUnrunnable => {
            let session = matches!(
                setup.session,
                Some(
                    SessionEnd::Unrunnable { .. }
                        | SessionEnd::NotStarted {
                            shortage: false,
                            ..
                        }
                )
            );
            session
                || ledger.answer == Some(AnswerSeen::CannotRun)
                    && met
                    && ledger.rescue != Some(RescueSeen::Failed)
        }
        Reason::NoCriteria => {
            let nothing_decides = setup.scope
                == (JudgementScope::Criteria {
                    baseline_known: false,
                });
            !it.has_checks() && (nothing_decides || setup.on_no_criteria == OnNoCriteria::Review)
        }
        Reason::MaxIterations => {
            let has = |code| verdict.degraded.iter().any(|note| note.code == code);
            let refused = has(WarningCode::ToolsRefused)
                && ledger.commits.is_some_and(|commits| !commits.any_new)
                && !ledger.work_left();
            refused || has(WarningCode::NoProgress)
        }
        Reason::VerifyUnrunnable => ledger.judged_as(CheckOutcome::Unrunnable),
        Reason::VerifyFailed => ledger.judged_as(CheckOutcome::Failed),
        Reason::VerifyTimeout => ledger.judged_as(CheckOutcome::TimedOut),
        Reason::Disputed => {
            let twice = ledger.disputes >= 2;
            let last = ledger.disputes > 0 && (it.rounds_left() == 0 || ledger.asking_ended);
            twice
                || last
                || setup.require_evidence > Evidence::Claimed
                || setup.require_evidence > Evidence::None && passed_before
        }
        Reason::CriteriaChanged => matches!(ledger.guarded, Some(Some(changed)) if changed > 0),
        Reason::Untrusted => setup.trust != ConfigTrust::Settled,
        Reason::RescueIncomplete => match ledger.rescue {
            Some(RescueSeen::Committed | RescueSeen::LeftOutOnPurpose | RescueSeen::HeldBack) => {
                false
            }
            Some(RescueSeen::Nothing) => ledger.claims(),
            Some(_) => true,
            None => ledger.claims() && ledger.work_left(),
        },
        Reason::MaxProbes => {
            let spent = it.rounds_left() == 0 || ledger.asking_ended;
            let silent = it.rounds_used() > 0 && ledger.answered == 0;
            let held = ledger.rescue_commits > 0
                || ledger.own() && (ledger.work_left() || ledger.answered == 0);
            spent && met && !silent && !held && ledger.activity.is_some()
        }
        Reason::SessionTimeout => {
            matches!(setup.session, Some(SessionEnd::TimedOut { .. })) && nothing_at_all(it)
        }
        Reason::SessionIdle => {
            matches!(setup.session, Some(SessionEnd::Idle { .. })) && nothing_at_all(it)
        }
        Reason::BudgetExhausted | Reason::DeadlineExceeded | Reason::Halted => {
            matches!(&setup.session, Some(SessionEnd::OverLimit { stop }) if stop.reason == verdict.reason)
        }
        Reason::AgentStopped => answered(&[AnswerSeen::Stops]),
        Reason::Interrupted => ledger.interrupted,
        Reason::ProbeError => {
            let silent = ledger.answered == 0 || setup.once;
            it.rounds_used() > 0 && silent && (met || setup.once) && (!ledger.own() || setup.once)
        }
        Reason::NoBaseline
        | Reason::GitError
        | Reason::NotARepository
        | Reason::ConfigError
        | Reason::StoreError
        | Reason::SnapshotFailed => unread(it, verdict),
        Reason::SessionActive => {
            it.may_live() || ledger.claims() && met && ledger.rescue == Some(RescueSeen::HeldBack)
        }
        Reason::Locked | Reason::Dependencies | Reason::BreakerOpen => false,
    }
}

fn nothing_to_do(it: &Situation<'_>) -> bool {
    let on_purpose = it.ledger.rescue == Some(RescueSeen::LeftOutOnPurpose);
    it.ledger.claims() && !it.ledger.own() && !it.unmet() && (!it.ledger.work_left() || on_purpose)
}

fn nothing_at_all(it: &Situation<'_>) -> bool {
    it.ledger.rescue_commits == 0 && !it.ledger.work_left()
}

/// More work is wanted, and nothing stronger holds.
fn unfinished(it: &Situation<'_>) -> bool {
    let (setup, ledger) = (it.setup, it.ledger);
    let nobody_asked = (setup.no_probe || setup.unasked.is_some() || it.only_criteria())
        && (it.unmet() || !ledger.own());
    let cut = matches!(
        setup.session,
        Some(SessionEnd::TimedOut { .. } | SessionEnd::Idle { .. } | SessionEnd::CutShort { .. })
    );
    let over =
        ledger.session_over && ledger.answer == Some(AnswerSeen::Working) && !ledger.disputed;
    // Work was rescued, or commits stand beside work that is left, and nobody claimed it done.
    let heard = ledger.answered > 0 || it.rounds_used() == 0;
    let not_done = heard
        && !ledger.claims()
        && (ledger.rescue_commits > 0 || ledger.own() && ledger.work_left());
    nobody_asked || cut && !ledger.claims() || over && !it.unmet() || not_done && !it.unmet()
}

/// An error names what could not be read, or why no session could begin.
fn unread(it: &Situation<'_>, verdict: &Verdict) -> bool {
    let not_begun = match &it.setup.session {
        Some(SessionEnd::NotStarted { shortage: true, .. }) => verdict.reason == Reason::StoreError,
        Some(SessionEnd::NotKept { .. }) => verdict.reason == Reason::SnapshotFailed,
        _ => false,
    };
    let guarded =
        it.setup.criteria_files == CriteriaFilesRole::Guarded && it.ledger.guarded == Some(None);
    let snapshot = it.ledger.just_failed && verdict.status() == Status::Error;
    not_begun || guarded || snapshot || it.ledger.unreadable == Some(verdict.reason)
}
