//! What is made up against each rule.

use crate::config::settings::{OnNoCriteria, RescueMode};
use crate::decision::machine::{
    ConfigTrust, CriteriaFilesRole, MachineAction, MachineEvent, ProbePause,
};
use crate::decision::rounds::unmet_checks;
use watchdog_facts::evidence::{
    ActivityFacts, CheckOutcome, Commits, CriteriaChanged, FaultKind, RescueOutcome,
};
use watchdog_facts::verdict::{Evidence, Reason};

use super::super::world::{contradiction, working};
use super::event_space::{judged, own, probe, quiet, rebasing, taken, unreadable, work};
use super::forged::{
    ForgedRow, asks, but, call, check, clean, commits, concludes, dirty, no_rounds, unmet,
    with_checks,
};

macro_rules! rows {
    ($($rule:literal, $setup:expr, [$($event:expr),* $(,)?], $forged:expr;)*) => {
        &[$(ForgedRow { rule: $rule, setup: || $setup, events: || vec![$($event),*], forged: $forged }),*]
    };
}

fn rescued_one() -> MachineEvent {
    MachineEvent::Rescue(Ok(RescueOutcome {
        commits: 1,
        ..RescueOutcome::default()
    }))
}

fn after_rescue() -> MachineEvent {
    commits(Commits {
        new_commits: 1,
        rescued: 1,
        net_change: true,
        head: Some("4".into()),
        ..Commits::default()
    })
}

fn guarded(changed: usize) -> MachineEvent {
    let guarded = vec!["tests/login.rs".to_string(); changed];
    MachineEvent::Criteria(Ok(CriteriaChanged {
        guarded,
        guarded_total: changed,
        ..CriteriaChanged::default()
    }))
}

fn still() -> MachineEvent {
    MachineEvent::Activity(ActivityFacts {
        worktree: Some(false),
        processes: None,
        transcript: Some(false),
    })
}

pub(super) const ROWS: &[ForgedRow] = rows! {
    "principle 1: no end without the rescue that the contract wants", no_rounds(), [commits(quiet()), dirty(), taken()],
        |_| concludes(Reason::MaxProbes, Evidence::None);
    "principle 1: no end without the rescue that the contract wants", check(),
        [commits(quiet()), clean(), probe(working()), commits(quiet())], |_| concludes(Reason::AgentStopped, Evidence::None);
    "principle 1: no end without the rescue that the contract wants", call("run", |setup| setup.has_checks = true),
        [commits(quiet()), unmet(), dirty(), taken()], |_| concludes(Reason::ChecksUnmet, Evidence::None);
    "principle 1: no end without the rescue that the contract wants",
        call("check after a recorded end", |setup| setup.completion.final_rescue_attempt = false),
        [commits(quiet()), clean(), probe(working()), commits(quiet()), dirty(), taken()], |_| concludes(Reason::Unfinished, Evidence::None);
    "principle 2: complete rests on facts that were read, and since anything could change them", check(), [],
        |_| concludes(Reason::NewCommits, Evidence::Committed);
    "principle 2: complete rests on facts that were read, and since anything could change them", call("run", |_| {}), [commits(own())],
        |_| concludes(Reason::NewCommits, Evidence::Committed);
    "principle 2: complete rests on facts that were read, and since anything could change them", with_checks(),
        [commits(quiet()), unmet(), clean(), probe(working()), commits(own())], |_| concludes(Reason::ChecksPassed, Evidence::Verified);
    "1: a fact that cannot be read ends it as its error", check(), [MachineEvent::Commits(unreadable(FaultKind::Git))],
        |_| MachineAction::ReadChanges;
    "1: a fact that cannot be read ends it as its error", check(), [commits(quiet()), MachineEvent::Changes(unreadable(FaultKind::Git))],
        |_| concludes(Reason::NothingToDo, Evidence::Claimed);
    "1: a snapshot that failed lets nothing run, and completes only commits beside which no work is left", check(),
        [commits(quiet()), dirty(), MachineEvent::Snapshot(unreadable(FaultKind::Snapshot))], |_| asks(1);
    "1: nothing is taken for done on guarded files that cannot be read",
        call("check", |setup| setup.criteria_files = CriteriaFilesRole::Guarded),
        [commits(own()), MachineEvent::Criteria(unreadable(FaultKind::Store))], |_| concludes(Reason::NewCommits, Evidence::Committed);
    "2: a check without a result is no pass", with_checks(),
        [commits(own()), MachineEvent::Checks(judged(CheckOutcome::TimedOut, Evidence::None, false, "after 300 s"))],
        |_| concludes(Reason::ChecksPassed, Evidence::Verified);
    "2: where no check counts, none is judged, passed or unmet", check(), [commits(own())], |_| MachineAction::JudgeChecks;
    "2: a spent limit is no success", call("run, budget", |_| {}), [commits(own())], |_| concludes(Reason::NewCommits, Evidence::Committed);
    "2: a spent limit is no success", call("run, usage limit", |_| {}), [commits(quiet())], |_| asks(1);
    "2: what is unmet is said where more is wanted", call("--no-probe", |setup| setup.has_checks = true),
        [commits(quiet()), unmet(), clean()], |action| but(action, |verdict| verdict.feedback = Some("Go on.".into()));
    "3: evidence is what showed it", check(), [commits(own())], |action| but(action, |verdict| verdict.evidence = Evidence::Verified);
    "3: evidence that is too weak is for a person", call("check", |setup| setup.require_evidence = Evidence::Verified), [commits(own())],
        |_| concludes(Reason::NewCommits, Evidence::Committed);
    "4: a strike is a genuine timeout, or a session that came to nothing", no_rounds(), [commits(quiet()), clean(), still()],
        |action| but(action, |verdict| verdict.strike = true);
    "4: a strike is a genuine timeout, or a session that came to nothing", call("run, timeout", |_| {}), [commits(quiet()), clean()],
        |action| but(action, |verdict| verdict.strike = false);
    "4: what is no strike says why, and a strike does not", check(), [commits(own())],
        |action| but(action, |verdict| verdict.not_a_strike_because = None);
    "4: the third session in a row that ends as it began is for a person",
        call("run", |setup| {
            setup.has_checks = true;
            (setup.no_progress_limit, setup.earlier.fruitless) = (Some(3), 2);
            setup.earlier.unmet = unmet_checks(&judged(CheckOutcome::Unmet, Evidence::None, false, "").results);
        }),
        [commits(quiet()), unmet(), clean()], |action| but(action, |verdict| verdict.reason = Reason::ChecksUnmet);
    "5: what disturbs runs only on work that is in a snapshot", check(), [commits(quiet()), dirty()], |_| asks(1);
    "5: what disturbs runs only on work that is in a snapshot", no_rounds(), [commits(quiet()), dirty()], |_| MachineAction::Rescue;
    "5: what disturbs runs only on work that is in a snapshot",
        call("check", |setup| (setup.has_checks, setup.checks_run_programs) = (true, true)), [commits(quiet()), dirty()],
        |_| MachineAction::JudgeChecks;
    "5: nothing waits beside work that is in no snapshot", call("check of processes that run on", |_| {}), [commits(quiet()), dirty()],
        |_| MachineAction::Wait(ProbePause::Interval(std::time::Duration::ZERO));
    "5: who wants no snapshot gets none", call("check", |setup| setup.rescue_mode = RescueMode::Off), [commits(quiet()), dirty()],
        |_| MachineAction::TakeSnapshot;
    "6: a rescue completes nothing", no_rounds(), [commits(quiet()), dirty(), taken(), rescued_one(), after_rescue()],
        |_| concludes(Reason::NewCommits, Evidence::Committed);
    "6: a rescue that failed is for a person", no_rounds(),
        [
            commits(quiet()),
            dirty(),
            taken(),
            MachineEvent::Rescue(Ok(RescueOutcome { commits: 1, lost: vec!["lib.rs".into()], ..RescueOutcome::default() })),
        ],
        |_| concludes(Reason::MaxProbes, Evidence::None);
    "6: a rescue commits only work, where it may, and nothing half done",
        call("check", |setup| (setup.completion.max_probes, setup.no_rescue) = (0, true)), [commits(quiet()), dirty(), taken()],
        |_| MachineAction::Rescue;
    "6: a rescue commits only work, where it may, and nothing half done", no_rounds(), [commits(rebasing()), dirty(), taken()],
        |_| MachineAction::Rescue;
    "7: nothing is complete beside guarded files that changed", call("check", |setup| setup.criteria_files = CriteriaFilesRole::Guarded),
        [commits(own()), guarded(1)], |_| concludes(Reason::NewCommits, Evidence::Committed);
    "7: a file that is not trusted completes nothing",
        call("check", |setup| setup.trust = ConfigTrust::Untrusted { allow_with: "watchdog trust".into() }), [commits(own())],
        |_| concludes(Reason::NewCommits, Evidence::Committed);
    "8: no more questions than rounds, and none where nobody may be asked", call("--no-probe", |_| {}), [commits(quiet()), clean()],
        |_| asks(1);
    "8: no more questions than rounds, and none where nobody may be asked", check(), [commits(quiet()), clean()], |_| asks(2);
    "8: no question that could bring nothing else", call("run", |setup| setup.has_checks = true), [commits(quiet()), unmet(), clean()],
        |_| asks(1);
    "8: a pause comes before the next question, unless it is about a contradiction",
        call("check", |setup| setup.completion.max_probes = 2), [commits(quiet()), clean(), probe(working()), commits(quiet())],
        |_| asks(2);
    "8: what is spent is counted", check(), [commits(own())], |action| but(action, |verdict| verdict.probes_used = 1);
    "9: nobody is asked while the session's processes hold it", call("check of processes that run on", |_| {}), [commits(quiet()), clean()],
        |_| asks(1);
    "9: an answer in doubt completes nothing", check(), [commits(quiet()), clean(), probe(contradiction()), commits(quiet())],
        |_| concludes(Reason::NothingToDo, Evidence::Claimed);
    "10: checks that passed before the work complete nothing by themselves", with_checks(),
        [commits(quiet()), MachineEvent::Checks(judged(CheckOutcome::Pass, Evidence::Verified, true, ""))],
        |_| concludes(Reason::ChecksPassed, Evidence::None);
    "11: a session that may live is not asked",
        call("--once, an idle session", |_| {}), [commits(quiet()), clean()], |_| asks(1);
    "11: a busy session is not judged", call("a busy session", |_| {}), [], |_| MachineAction::ReadCommits;
    "tree 0: nothing half done completes, is asked about or judged", check(), [commits(rebasing())],
        |_| concludes(Reason::NothingToDo, Evidence::Claimed);
    "tree 0: nothing half done completes, is asked about or judged", with_checks(), [commits(rebasing())], |_| MachineAction::JudgeChecks;
    "tree 1: own commits decide before anybody is asked, with checks where there are some", check(), [commits(own())], |_| asks(1);
    "tree 1: own commits decide before anybody is asked, with checks where there are some", with_checks(), [commits(own()), unmet()],
        |_| asks(1);
    "tree: each reason is earned", check(), [commits(own())], |_| concludes(Reason::ChecksPassed, Evidence::Verified);
    "tree: incomplete says what is missing", call("--no-probe", |_| {}), [commits(quiet()), clean()],
        |action| but(action, |verdict| verdict.feedback = Some(" \n".into()));
    "tree: a message is one line", check(), [commits(own())], |action| but(action, |verdict| verdict.message.push_str("\nand another"));
    "tree: who has no criteria may ask for a person", call("check", |setup| setup.on_no_criteria = OnNoCriteria::Review), [commits(own())],
        |_| concludes(Reason::NewCommits, Evidence::Committed);
    "tree: a verdict tells what was read and made", check(), [commits(own())], |action| but(action, |verdict| verdict.commits = None);
    "tree: a signal ends it, and nothing that disturbs follows", check(), [commits(quiet()), clean(), MachineEvent::Interrupt],
        |_| asks(1);
    "tree: a signal ends it, and nothing that disturbs follows", check(),
        [commits(quiet()), MachineEvent::Interrupt, commits(own()), MachineEvent::Changes(Ok(work())), taken()],
        |_| concludes(Reason::NewCommits, Evidence::Committed);
};
