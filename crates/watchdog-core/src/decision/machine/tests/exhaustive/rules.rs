//! The rules of the contract about a judgement, each as an invariant over what happened so far and what the machine does next. The number
//! is that of the rule in the contract; `tree` is its decision tree.

use crate::config::settings::{OnNoCriteria, RescueMode};
use crate::decision::machine::{ConfigTrust, CriteriaFilesRole, MachineAction};
use crate::decision::session_life::SessionLife;
use watchdog_facts::evidence::{CheckOutcome, SessionEnd, WarningCode};
use watchdog_facts::verdict::{Evidence, Reason, Status, Verdict};

use super::event_ledger::{AnswerSeen, RescueSeen};
use super::situation::Situation;
use super::{earned_reasons, principles, strike_rules};

/// One rule as an invariant.
pub(super) struct ContractRule {
    pub(super) name: &'static str,
    pub(super) holds: fn(&Situation<'_>) -> bool,
}

macro_rules! rules {
    ($($name:literal: $holds:expr;)*) => { &[$(ContractRule { name: $name, holds: $holds }),*] };
}

pub(super) const RULES: &[ContractRule] = rules! {
    "principle 1: no end without the rescue that the contract wants": principles::rescued_before_the_end;
    "principle 2: complete rests on facts that were read, and since anything could change them": principles::complete_on_read_facts;
    "1: a fact that cannot be read ends it as its error": unreadable_is_an_error;
    "1: a snapshot that failed lets nothing run, and completes only commits beside which no work is left": failed_snapshot_holds;
    "1: nothing is taken for done on guarded files that cannot be read": |it| {
        !it.completes() || it.setup.criteria_files != CriteriaFilesRole::Guarded || matches!(it.ledger.guarded, Some(Some(_)))
    };
    "2: a check without a result is no pass": no_result_is_no_pass;
    "2: where no check counts, none is judged, passed or unmet": |it| {
        let judges = matches!(it.next, MachineAction::JudgeChecks);
        let by_checks = |reason| matches!(reason, Reason::ChecksPassed | Reason::ChecksUnmet);
        it.has_checks() || !judges && it.ends(|verdict| !by_checks(verdict.reason) && verdict.checks.is_empty())
    };
    "2: a spent limit is no success": limit_is_no_success;
    "2: what is unmet is said where more is wanted": unmet_is_said;
    "3: evidence is what showed it": |it| it.ends(|verdict| verdict.evidence == shown(it, verdict));
    "3: evidence that is too weak is for a person": |it| it.ends(|verdict| {
        verdict.status() != Status::Complete || verdict.evidence >= it.setup.require_evidence
    });
    "4: a strike is a genuine timeout, or a session that came to nothing": strike_rules::strike_is_earned;
    "4: what is no strike says why, and a strike does not": |it| {
        it.ends(|verdict| verdict.strike == verdict.not_a_strike_because.is_none())
    };
    "4: the third session in a row that ends as it began is for a person": strike_rules::third_is_for_a_person;
    "5: what disturbs runs only on work that is in a snapshot": |it| {
        let disturbs = match it.next {
            MachineAction::JudgeChecks => it.setup.checks_run_programs,
            MachineAction::Ask { .. } | MachineAction::Rescue => true,
            _ => false,
        };
        let kept = it.setup.rescue_mode == RescueMode::Off || !it.ledger.unsecured;
        !disturbs || it.ledger.fresh && kept
    };
    "5: nothing waits beside work that is in no snapshot": |it| {
        !matches!(it.next, MachineAction::Wait(_)) || it.setup.rescue_mode == RescueMode::Off || !it.ledger.unsecured
    };
    "5: who wants no snapshot gets none": |it| {
        !matches!(it.next, MachineAction::TakeSnapshot) || it.setup.rescue_mode != RescueMode::Off
    };
    "6: a rescue completes nothing": |it| it.ends(|verdict| {
        let by_others = match verdict.reason {
            Reason::ChecksPassed => it.ledger.judged_as(CheckOutcome::Pass),
            Reason::Rescued | Reason::NothingToDo => it.ledger.claims(),
            _ => it.ledger.own(),
        };
        verdict.status() != Status::Complete || by_others
    });
    "6: a rescue that failed is for a person": failed_rescue_is_for_a_person;
    "6: a rescue commits only work, where it may, and nothing half done": |it| {
        !matches!(it.next, MachineAction::Rescue) || it.may_commit() && !it.half_done() && it.ledger.work_left()
    };
    "7: nothing is complete beside guarded files that changed": |it| {
        it.setup.criteria_files != CriteriaFilesRole::Guarded || !it.completes() || it.ledger.guarded == Some(Some(0))
    };
    "7: a file that is not trusted completes nothing": |it| !it.completes() || it.setup.trust == ConfigTrust::Settled;
    "8: no more questions than rounds, and none where nobody may be asked": |it| match it.next {
        MachineAction::Ask { number, .. } => {
            let counted = *number == it.rounds_used() + 1 && it.rounds_left() > 0;
            counted && !it.setup.no_probe && it.setup.unasked.is_none() && !it.only_criteria() && (!it.setup.once || it.ledger.asked < 2)
        }
        MachineAction::Wait(_) => !it.setup.once,
        _ => true,
    };
    "8: no question that could bring nothing else": |it| !it.asks() || question_is_open(it);
    "8: a pause comes before the next question, unless it is about a contradiction": |it| {
        !it.asks() || it.ledger.asked == 0 || it.ledger.paused || it.ledger.disputed
    };
    "8: what is spent is counted": |it| it.ends(|verdict| {
        let rounds = verdict.probes_used == it.rounds_used() && verdict.probes_left == it.rounds_left();
        rounds && verdict.probes.len() == it.ledger.asked as usize
    });
    "9: nobody is asked while the session's processes hold it": |it| !it.asks() || !it.ledger.holding;
    "9: an answer in doubt completes nothing": |it| it.ends(|verdict| {
        !matches!(verdict.reason, Reason::Rescued | Reason::NothingToDo) || it.ledger.claims()
    });
    "10: checks that passed before the work complete nothing by themselves": |it| it.ends(|verdict| {
        let credited = it.ledger.own() || it.only_criteria();
        verdict.reason != Reason::ChecksPassed || credited || it.ledger.judged.is_some_and(|judged| !judged.passed_before)
    });
    "11: a session that may live is not asked": |it| !it.asks() || !it.may_live();
    "11: a busy session is not judged": |it| {
        let judges = !matches!(it.next, MachineAction::Conclude(_) | MachineAction::ReadCriteria);
        !(it.may_live() && matches!(it.setup.life, SessionLife::Busy { .. }) && judges) || it.ledger.interrupted
    };
    "tree 0: nothing half done completes, is asked about or judged": half_done_holds;
    "tree 1: own commits decide before anybody is asked, with checks where there are some": |it| {
        let left = it.setup.read_leftovers && it.ledger.work_left();
        !it.asks() || !it.ledger.own() || left && !it.has_checks()
    };
    "tree: each reason is earned": earned_reasons::reason_is_earned;
    "tree: incomplete says what is missing": |it| it.ends(|verdict| {
        let said = verdict.feedback.as_ref().is_some_and(|text| !text.trim().is_empty());
        verdict.status() != Status::Incomplete || said
    });
    "tree: a message is one line": |it| it.ends(|verdict| !verdict.message.trim().is_empty() && !verdict.message.contains('\n'));
    "tree: who has no criteria may ask for a person": |it| {
        !it.completes() || it.setup.has_checks || it.setup.on_no_criteria == OnNoCriteria::Git
    };
    "tree: a verdict tells what was read and made": |it| it.ends(|verdict| {
        let same = verdict.commits.is_some() == it.ledger.commits.is_some();
        same && verdict.rescue_commits == it.ledger.rescue_commits && verdict.checks.is_empty() == it.ledger.judged.is_none()
    });
    "tree: a signal ends it, and nothing that disturbs follows": |it| {
        let quiet = match it.next {
            MachineAction::ReadCommits | MachineAction::ReadChanges | MachineAction::TakeSnapshot => true,
            MachineAction::Conclude(verdict) => verdict.reason == Reason::Interrupted && !verdict.strike,
            _ => false,
        };
        !it.ledger.interrupted || quiet
    };
};

fn unreadable_is_an_error(it: &Situation<'_>) -> bool {
    match (it.ledger.unreadable, it.verdict()) {
        (Some(reason), Some(verdict)) if !it.ledger.interrupted => {
            verdict.reason == reason && verdict.status() == Status::Error
        }
        (Some(_), None) if !it.ledger.interrupted => false,
        _ => true,
    }
}

fn failed_snapshot_holds(it: &Situation<'_>) -> bool {
    if it.ledger.just_failed
        && !matches!(
            it.next,
            MachineAction::Conclude(_) | MachineAction::ReadCriteria
        )
    {
        return false;
    }
    let said = |verdict: &Verdict| {
        verdict
            .degraded
            .iter()
            .any(|note| note.code == WarningCode::SnapshotFailed)
    };
    it.ends(|verdict| match verdict.status() {
        _ if !it.ledger.snapshot_failed => true,
        Status::Error => true,
        Status::Complete => {
            verdict.reason == Reason::NewCommits && !it.ledger.work_left() && said(verdict)
        }
        _ => !verdict.strike && said(verdict) && verdict.snapshot.is_none(),
    })
}

fn no_result_is_no_pass(it: &Situation<'_>) -> bool {
    let wanted = [
        (CheckOutcome::Unrunnable, Reason::VerifyUnrunnable),
        (CheckOutcome::Failed, Reason::VerifyFailed),
        (CheckOutcome::TimedOut, Reason::VerifyTimeout),
        (CheckOutcome::Waiting, Reason::BackgroundWork),
    ];
    let without = wanted
        .into_iter()
        .find(|(outcome, _)| it.ledger.judged_as(*outcome))
        .map(|(_, reason)| reason);
    let passed = it.ends(|verdict| {
        verdict.reason != Reason::ChecksPassed || it.ledger.judged_as(CheckOutcome::Pass)
    });
    let named = |verdict: &Verdict, reason: Reason| {
        verdict.reason == reason || verdict.reason == Reason::Interrupted
    };
    passed
        && without.is_none_or(|reason| {
            it.ledger.interrupted || it.verdict().is_none_or(|verdict| named(verdict, reason))
        })
}

fn unmet_is_said(it: &Situation<'_>) -> bool {
    let said = |verdict: &Verdict| {
        let feedback = verdict.feedback.as_deref().unwrap_or_default();
        let unmet = verdict
            .checks
            .iter()
            .filter(|check| check.outcome == CheckOutcome::Unmet);
        unmet
            .map(|check| check.feedback.trim())
            .all(|missing| feedback.contains(missing))
    };
    // What is half done comes first, and says what to do first.
    let wanted = |verdict: &Verdict| {
        verdict.status() == Status::Incomplete && verdict.reason != Reason::OperationInProgress
            || verdict.reason == Reason::ProbeError
    };
    it.ends(|verdict| !wanted(verdict) || said(verdict))
}

fn limit_is_no_success(it: &Situation<'_>) -> bool {
    let disturbs = matches!(
        it.next,
        MachineAction::Ask { .. } | MachineAction::JudgeChecks
    );
    let limited = match &it.setup.session {
        Some(SessionEnd::OverLimit { stop }) => stop.reason,
        Some(SessionEnd::RateLimited { .. }) => Reason::RateLimited,
        _ => return true,
    };
    let by_limit = |verdict: &Verdict| {
        let reason = verdict.reason;
        reason == limited
            || reason == Reason::Interrupted
            || reason == Reason::RescueIncomplete
            || verdict.status() == Status::Error
    };
    it.only_criteria() || !disturbs && it.ends(by_limit)
}

/// What the facts show, as the contract orders it.
fn shown(it: &Situation<'_>, verdict: &Verdict) -> Evidence {
    match verdict.reason {
        Reason::NewCommits => Evidence::Committed,
        Reason::Rescued | Reason::NothingToDo => Evidence::Claimed,
        Reason::ChecksPassed => {
            let judged = it.ledger.judged;
            let mut evidence = judged.map_or(Evidence::None, |judged| judged.evidence);
            if judged.is_some_and(|judged| judged.passed_before) {
                evidence = evidence.min(if it.ledger.own() {
                    Evidence::Committed
                } else {
                    Evidence::None
                });
            }
            if it.ledger.left_out && judged.is_some_and(|judged| judged.in_worktree) {
                evidence = evidence.min(Evidence::Committed);
            }
            evidence
        }
        _ => Evidence::None,
    }
}

fn failed_rescue_is_for_a_person(it: &Situation<'_>) -> bool {
    let Some(rescue) = it.ledger.rescue else {
        return true;
    };
    it.ends(|verdict| {
        let ended = verdict.reason == Reason::Interrupted || verdict.status() == Status::Error;
        match rescue {
            RescueSeen::Lost | RescueSeen::Elsewhere => {
                ended || verdict.reason == Reason::RescueIncomplete
            }
            RescueSeen::Failed | RescueSeen::CommittedThenFailed => {
                verdict.status() != Status::Complete && verdict.status() != Status::Timeout
            }
            RescueSeen::Committed
            | RescueSeen::Nothing
            | RescueSeen::HeldBack
            | RescueSeen::LeftOutOnPurpose => true,
        }
    })
}

/// Whether an answer could still change anything.
fn question_is_open(it: &Situation<'_>) -> bool {
    let ledger = it.ledger;
    let decided = match &it.setup.session {
        Some(SessionEnd::Ended { .. }) | None => false,
        // Only while what it left running may still end.
        Some(SessionEnd::CutShort { .. }) => it.setup.survivors.is_empty() || ledger.waits == 0,
        Some(_) => true,
    };
    let over_and_unmet = ledger.session_over && it.unmet();
    let over_and_answered = ledger.session_over
        && matches!(ledger.answer, Some(AnswerSeen::Working))
        && !ledger.disputed;
    !decided
        && !over_and_unmet
        && !over_and_answered
        && !ledger.asking_ended
        && ledger.disputes < 2
        && !ledger.claims()
}

fn half_done_holds(it: &Situation<'_>) -> bool {
    let ledger = it.ledger;
    // A limit comes first, and a rescue that was under way says how it ended.
    let limited = matches!(
        it.setup.session,
        Some(SessionEnd::OverLimit { .. } | SessionEnd::RateLimited { .. })
    );
    if !it.half_done() || limited || ledger.interrupted {
        return true;
    }
    let disturbs = matches!(
        it.next,
        MachineAction::Ask { .. } | MachineAction::JudgeChecks | MachineAction::Rescue
    );
    !disturbs
        && it.ends(|verdict| {
            let failed = verdict.reason == Reason::RescueIncomplete && ledger.rescue.is_some();
            verdict.reason == Reason::OperationInProgress
                || verdict.status() == Status::Error
                || failed
        })
}
