//! A judgement that is recorded, written down, read back and run again is the same judgement.

use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use crate::config::settings::{ConfigSettings, OnNoCriteria, RescueMode};
use crate::decision::machine::{
    ChecksResult, ConfigTrust, MachineAction, MachineEvent, MachineSetup, SurvivorFacts,
};
use crate::decision::record::explanation::explain;
use crate::decision::record::run::{RunEnd, run};
use crate::decision::record::what_if::{ChangedEnd, what_if};
use crate::decision::record::{JudgementRecord, bound_verdict, form};
use watchdog_facts::evidence::{
    ActivityFacts, Changes, CheckOutcome, CheckResult, Commit, CommitOrigin, Commits,
    CriteriaChanged, Degradation, GitOperation, HeldRescue, LeftOut, LeftOutReason,
    OutcomeBeforeWork, RescueOutcome, SessionEnd, TestCounts, WarningCode,
};
use watchdog_facts::verdict::{Evidence, Reason, Verdict};

use super::facts::{facts, setup};
use super::properties::played;
use super::world::word;

fn recorded(
    setup: &MachineSetup,
    events: impl IntoIterator<Item = MachineEvent>,
) -> JudgementRecord {
    let mut record = JudgementRecord::new(setup.clone());
    events
        .into_iter()
        .enumerate()
        .for_each(|(at, event)| record.add(at as u64, event));
    record
}

fn written_and_read(record: &JudgementRecord) -> JudgementRecord {
    let text = form::write(record).to_string();
    form::read_record(&serde_json::from_str(&text).expect("it is JSON")).expect("it is read back")
}

/// No rule looks at the fingerprint of changes, so that it is not written down.
fn without_fingerprint(verdict: &Verdict) -> Verdict {
    let mut verdict = verdict.clone();
    verdict
        .changes
        .iter_mut()
        .for_each(|changes| changes.fingerprint = 0);
    verdict
}

fn concluded(record: &JudgementRecord) -> Verdict {
    match run(record).end {
        RunEnd::Concluded(verdict) => *verdict,
        RunEnd::NotRecorded { fact } => panic!("not recorded: {fact}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_record_that_is_read_back_and_run_gives_the_same_verdict(
        setup in setup(),
        facts in facts(),
        interrupted in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let (steps, _) = played(&setup, &facts, None);
        let at = interrupted.filter(|_| !steps.is_empty()).map(|at| at.index(steps.len()));
        let (steps, verdict) = played(&setup, &facts, at);
        let record = recorded(&setup, steps.into_iter().map(|(_, event)| event));
        let read = written_and_read(&record);
        prop_assert_eq!(without_fingerprint(&concluded(&read)), without_fingerprint(&verdict));
        // What is read back is written down the same way again.
        prop_assert_eq!(form::write(&read), form::write(&record));
    }

    #[test]
    fn every_judgement_is_explained_to_its_end_and_each_change_leads_elsewhere(setup in setup(), facts in facts()) {
        let (steps, verdict) = played(&setup, &facts, None);
        let record = recorded(&setup, steps.iter().map(|(_, event)| event.clone()));
        let explained = explain(&record);
        prop_assert_eq!(explained.steps.len(), steps.len() + 1);
        prop_assert!(explained.steps.iter().any(|step| !step.rules.is_empty()), "some rule decided {:?}", verdict.reason);
        prop_assert_eq!(explained.end.verdict().map(|verdict| verdict.reason), Some(verdict.reason));
        for (change, end) in what_if(&record) {
            let same = ChangedEnd::Verdict { reason: verdict.reason, evidence: verdict.evidence };
            prop_assert_ne!(end, same, "{}", change.word);
        }
    }

    #[test]
    fn a_step_that_was_lost_is_never_made_up(setup in setup(), facts in facts(), at in any::<prop::sample::Index>()) {
        let (steps, _) = played(&setup, &facts, None);
        prop_assume!(!steps.is_empty());
        let mut record = recorded(&setup, steps.iter().map(|(_, event)| event.clone()));
        let at = at.index(steps.len());
        record.steps[at].event = None;
        let ran = run(&record);
        // Either a reading of the same facts stands, as nothing was done in between, or the run ends where the fact is missing.
        match ran.end {
            RunEnd::NotRecorded { fact } => prop_assert!(!fact.is_empty()),
            RunEnd::Concluded(_) => prop_assert!(matches!(word(&steps[at].0), "commits" | "changes" | "snapshot" | "criteria")),
        }
    }
}

#[test]
fn long_lists_are_cut_and_totals_stay() {
    let setup = MachineSetup {
        rescue_mode: RescueMode::Off,
        ..MachineSetup::from_settings(&ConfigSettings::default())
    };
    let commits = Commits {
        new_commits: 700,
        made_here: 700,
        net_change: true,
        ..Commits::default()
    };
    let commits = Commits {
        listed: (0..100)
            .map(|n| watchdog_facts::evidence::Commit {
                id: format!("{n:040}"),
                subject: "long ".repeat(60),
                origin: watchdog_facts::evidence::CommitOrigin::MadeHere,
            })
            .collect(),
        ..commits
    };
    let paths: Vec<String> = (0..1000)
        .map(|n| format!("src/{}/{n}.rs", "deep/".repeat(60)))
        .collect();
    let changes = Changes {
        untracked: 1000,
        work: 1000,
        work_paths: paths.clone(),
        paths,
        ..Changes::default()
    };
    let record = recorded(
        &setup,
        [
            MachineEvent::Commits(Ok(commits)),
            MachineEvent::Changes(Ok(changes)),
        ],
    );
    let text = form::write(&record).to_string();
    assert!(text.len() < 4096, "{} bytes", text.len());
    let read = written_and_read(&record);
    let Some(MachineEvent::Commits(Ok(commits))) = &read.steps[0].event else {
        panic!("no commits")
    };
    assert_eq!((commits.new_commits, commits.listed.len()), (700, 5));
    let Some(MachineEvent::Changes(Ok(changes))) = &read.steps[1].event else {
        panic!("no changes")
    };
    assert_eq!(
        (changes.work, changes.paths.len(), changes.work_paths.len()),
        (1000, 10, 10)
    );
}

fn check_result(name: &str, outcome: CheckOutcome, feedback: &str) -> CheckResult {
    CheckResult {
        name: name.into(),
        kind: "command".into(),
        outcome,
        evidence: Evidence::Verified,
        feedback: feedback.into(),
        duration: Duration::from_millis(1500),
        cached: outcome == CheckOutcome::Pass,
        before: OutcomeBeforeWork::Failed,
        tests: (outcome == CheckOutcome::Unmet).then_some(TestCounts {
            ran: 12,
            failed: 2,
            skipped: 1,
        }),
        tree: Some("a scratch checkout".into()),
    }
}

#[test]
fn each_field_of_a_check_comes_back_from_its_record() {
    // The feedback of all is that of one check, its own, or none.
    for feedback in ["two tests fail", "tests: two tests fail", ""] {
        let judged = ChecksResult {
            outcome: CheckOutcome::Unmet,
            evidence: Evidence::Verified,
            feedback: feedback.into(),
            results: vec![
                check_result("lint", CheckOutcome::Pass, ""),
                check_result("tests", CheckOutcome::Unmet, "two tests fail"),
            ],
            all_passed_before: true,
            notes: vec![Degradation {
                code: WarningCode::TestsShrunk,
                detail: "12 tests, 14 before".into(),
            }],
        };
        let record = recorded(
            &MachineSetup::from_settings(&ConfigSettings::default()),
            [MachineEvent::Checks(judged.clone())],
        );
        assert_eq!(
            written_and_read(&record).steps[0].event,
            Some(MachineEvent::Checks(judged))
        );
    }
}

#[test]
fn each_fact_comes_back_whole_from_its_record() {
    let notes = || {
        vec![Degradation {
            code: WarningCode::NoReflog,
            detail: "none".into(),
        }]
    };
    let commit = |id: &str, origin| Commit {
        id: id.into(),
        subject: format!("of {id}"),
        origin,
    };
    let commits = Commits {
        head: Some("c".into()),
        new_commits: 3,
        made_here: 1,
        imported: 1,
        rescued: 1,
        net_change: true,
        brought: 2,
        operation: Some(GitOperation::CherryPick),
        conflicts: vec!["a.rs".into()],
        listed: vec![
            commit("c", CommitOrigin::MadeHere),
            commit("b", CommitOrigin::Imported),
            commit("a", CommitOrigin::Rescued),
        ],
        degraded: notes(),
    };
    let rescue = RescueOutcome {
        commits: 2,
        made: vec!["d".into(), "e".into()],
        failed: Some("exit code 1".into()),
        lost: vec!["lib.rs".into()],
        fallback_branch: Some("watchdog/rescue/auth".into()),
        left_out: vec![LeftOut {
            path: "k.pem".into(),
            why: LeftOutReason::Secret,
        }],
        warnings: notes(),
        held_back: Some(HeldRescue {
            why: "claude works".into(),
            retry_at: Some(Timestamp::UNIX_EPOCH),
        }),
    };
    let survivors = SurvivorFacts {
        holding: vec!["cargo (process 7)".into()],
        session_over: true,
        released: notes().pop(),
    };
    let events = [
        MachineEvent::Commits(Ok(commits)),
        MachineEvent::Rescue(Ok(rescue)),
        MachineEvent::Survivors(survivors),
        MachineEvent::Activity(ActivityFacts {
            worktree: Some(true),
            processes: Some(false),
            transcript: None,
        }),
        MachineEvent::Criteria(Ok(CriteriaChanged {
            guarded: vec!["t.rs".into()],
            guarded_total: 4,
            named: vec!["n.rs".into()],
        })),
    ];
    let record = recorded(
        &MachineSetup::from_settings(&ConfigSettings::default()),
        events.clone(),
    );
    let read: Vec<_> = written_and_read(&record)
        .steps
        .into_iter()
        .map(|step| step.event)
        .collect();
    assert_eq!(read, events.map(Some));
}

#[test]
fn a_list_that_was_cut_says_how_long_it_was() {
    let written = |count: usize| {
        let left_out = (0..count)
            .map(|n| LeftOut {
                path: format!("{n}.pem"),
                why: LeftOutReason::Secret,
            })
            .collect();
        let conflicts = (0..count).map(|n| format!("{n}.rs")).collect();
        let rescue = MachineEvent::Rescue(Ok(RescueOutcome {
            left_out,
            ..RescueOutcome::default()
        }));
        let commits = MachineEvent::Commits(Ok(Commits {
            conflicts,
            ..Commits::default()
        }));
        let text = |event| {
            form::write(&recorded(
                &MachineSetup::from_settings(&ConfigSettings::default()),
                [event],
            ))
            .to_string()
        };
        let checks = MachineEvent::Checks(ChecksResult {
            outcome: CheckOutcome::Unmet,
            evidence: Evidence::None,
            feedback: String::new(),
            results: (0..count)
                .map(|n| check_result(&n.to_string(), CheckOutcome::Unmet, ""))
                .collect(),
            all_passed_before: false,
            notes: Vec::new(),
        });
        [text(rescue), text(commits), text(checks)].map(|text| text.contains(&format!(",{count}]")))
    };
    assert_eq!(
        (written(10), written(11)),
        ([false; 3], [true, true, false])
    );
    assert_eq!(
        (written(40), written(41)),
        ([true, true, false], [true; 3]),
        "of checks more are kept"
    );
}

#[test]
fn what_a_person_must_look_at_is_not_cut_out_of_what_was_left_out() {
    let left = |n: usize, why| LeftOut {
        path: format!("{n}.bin"),
        why,
    };
    let mut left_out: Vec<LeftOut> = (0..30).map(|n| left(n, LeftOutReason::Secret)).collect();
    left_out.push(left(30, LeftOutReason::TooLarge));
    let bounded = bound_verdict(&Verdict {
        left_out,
        ..Verdict::new(Reason::RescueIncomplete, "m")
    })
    .left_out;
    assert_eq!(
        (bounded.len(), bounded[0].why),
        (10, LeftOutReason::TooLarge)
    );
}

#[test]
fn a_form_of_a_later_version_is_refused_in_words() {
    assert!(
        form::read_record(&serde_json::json!([2, {}, []]))
            .expect_err("it is refused")
            .contains("form 2")
    );
    assert!(
        form::read_record(&serde_json::json!({"status": "complete"}))
            .expect_err("it is refused")
            .contains("no recorded facts")
    );
    let lost =
        form::read_record(&serde_json::json!([1, {}, [[3, "x", 1]]])).expect("the rest is read");
    assert_eq!((lost.steps.len(), &lost.steps[0].event), (1, &None));
}

#[test]
fn an_action_is_only_answered_by_its_own_fact() {
    let setup = MachineSetup::from_settings(&ConfigSettings::default());
    let record = recorded(
        &setup,
        [
            MachineEvent::WaitOver,
            MachineEvent::Commits(Ok(Commits::default())),
        ],
    );
    let ran = run(&record);
    assert_eq!(
        ran.end,
        RunEnd::NotRecorded { fact: "commits" },
        "a fact from after a pause does not tell what was before it"
    );
    assert_eq!(ran.decisions[0].action, MachineAction::ReadCommits);
}

#[test]
fn what_would_have_changed_a_verdict_is_all_of_what_bears_on_it() {
    let leads = |change: fn(&mut MachineSetup), commits: Commits| {
        let mut setup = MachineSetup {
            no_probe: true,
            ..MachineSetup::from_settings(&ConfigSettings::default())
        };
        change(&mut setup);
        let record = recorded(
            &setup,
            [
                MachineEvent::Commits(Ok(commits)),
                MachineEvent::Changes(Ok(Changes::default())),
            ],
        );
        let ends = what_if(&record).into_iter().map(|(change, end)| match end {
            ChangedEnd::Verdict { reason, .. } => format!("{}: {}", change.word, reason.as_str()),
            ChangedEnd::NotRecorded { fact } => format!("{}: reads {fact}", change.word),
        });
        let mut lines = vec![concluded(&record).reason.as_str().to_string()];
        lines.extend(ends);
        lines.join("\n")
    };
    let made = || Commits {
        new_commits: 1,
        made_here: 1,
        net_change: true,
        ..Commits::default()
    };
    assert_eq!(
        leads(|_| {}, Commits::default()),
        "unfinished\ncommit_made: new_commits\nprobing_allowed: reads reply"
    );
    assert_eq!(
        leads(
            |setup| (setup.no_probe, setup.survivors, setup.once) =
                (false, vec!["cargo".into()], true),
            Commits::default()
        ),
        "background_work\ncommit_made: new_commits\nnothing_runs: reads reply"
    );
    let timed_out = |setup: &mut MachineSetup| {
        setup.session = Some(SessionEnd::TimedOut {
            after: Duration::from_secs(60),
        })
    };
    assert_eq!(
        leads(timed_out, Commits::default()),
        "session_timeout\ncommit_made: new_commits\nsession_ended_itself: unfinished"
    );
    assert_eq!(
        leads(
            |setup| setup.trust = ConfigTrust::Untrusted {
                allow_with: "watchdog trust".into()
            },
            made()
        ),
        "untrusted\nno_commit: unfinished\ntrusted: reads checks"
    );
    assert_eq!(
        leads(|setup| setup.on_no_criteria = OnNoCriteria::Review, made()),
        "no_criteria\nno_commit: unfinished\nno_criteria_by_git: new_commits"
    );
    assert_eq!(
        leads(|setup| setup.require_evidence = Evidence::Verified, made()),
        "disputed\nno_commit: unfinished\nweaker_evidence: new_commits"
    );
    assert_eq!(
        leads(
            |_| {},
            Commits {
                operation: Some(GitOperation::Merge),
                ..made()
            }
        ),
        "operation_in_progress\noperation_finished: new_commits"
    );
}
