//! A judgement that is recorded, written down, read back and run again is the same judgement.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use crate::config::settings::{ConfigSettings, OnNoCriteria, RescueMode};
use crate::decision::machine::{ConfigTrust, MachineAction, MachineEvent, MachineSetup};
use crate::decision::record::explanation::explain_record;
use crate::decision::record::run::{RunEnd, run_record};
use crate::decision::record::what_if::{ChangedEnd, what_if};
use crate::decision::record::{JudgementRecord, bound_record, bound_verdict};
use watchdog_facts::evidence::{
    Changes, Commits, GitOperation, LeftOut, LeftOutReason, SessionEnd,
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
    let text = record.to_json().to_string();
    JudgementRecord::from_json(&serde_json::from_str(&text).expect("it is JSON"))
        .expect("it is read back")
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

fn without_fingerprints(mut record: JudgementRecord) -> JudgementRecord {
    let events = record
        .steps
        .iter_mut()
        .filter_map(|step| step.event.as_mut());
    for event in events {
        if let MachineEvent::Changes(Ok(changes)) = event {
            changes.fingerprint = 0;
        }
    }
    record
}

fn concluded(record: &JudgementRecord) -> Verdict {
    match run_record(record).end {
        RunEnd::Concluded(verdict) => *verdict,
        RunEnd::NotRecorded { fact } => panic!("not recorded: {fact}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn replayed_record_gives_the_same_verdict(
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
        prop_assert_eq!(read, without_fingerprints(bound_record(&record)));
    }

    #[test]
    fn every_judgement_is_explained_with_effective_changes(setup in setup(), facts in facts()) {
        let (steps, verdict) = played(&setup, &facts, None);
        let record = recorded(&setup, steps.iter().map(|(_, event)| event.clone()));
        let explained = explain_record(&record);
        prop_assert_eq!(explained.steps.len(), steps.len() + 1);
        prop_assert!(explained.steps.iter().any(|step| !step.rules.is_empty()), "some rule decided {:?}", verdict.reason);
        prop_assert_eq!(explained.end.verdict().map(|verdict| verdict.reason), Some(verdict.reason));
        for (change, end) in what_if(&record) {
            let same = ChangedEnd::Verdict { reason: verdict.reason, evidence: verdict.evidence };
            prop_assert_ne!(end, same, "{}", change.word);
        }
    }

    #[test]
    fn lost_step_is_never_invented(setup in setup(), facts in facts(), at in any::<prop::sample::Index>()) {
        let (steps, _) = played(&setup, &facts, None);
        prop_assume!(!steps.is_empty());
        let mut record = recorded(&setup, steps.iter().map(|(_, event)| event.clone()));
        let at = at.index(steps.len());
        record.steps[at].event = None;
        let ran = run_record(&record);
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
    let text = record.to_json().to_string();
    assert!(text.len() < 8192, "{} bytes", text.len());
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

#[test]
fn left_out_files_needing_review_survive_truncation() {
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
fn later_format_version_is_refused_in_words() {
    for (value, words) in [
        (
            json!({"form": 3}),
            "its facts are written in form 3, and this watchdog reads form 2",
        ),
        (
            json!({"form": 2}),
            "its facts cannot be read: missing field `setup`",
        ),
        (json!({"form": "2"}), "it holds no recorded facts"),
        (json!({"status": "complete"}), "it holds no recorded facts"),
        (json!("cut"), "it holds no recorded facts"),
    ] {
        assert_eq!(
            JudgementRecord::from_json(&value),
            Err(words.to_owned()),
            "{value}"
        );
    }
}

#[test]
fn facts_of_a_later_version_are_lost_alone() {
    let setup = MachineSetup::from_settings(&ConfigSettings::default());
    let mut later = recorded(&setup, [MachineEvent::WaitOver, MachineEvent::Interrupt]).to_json();
    later["steps"][0]["event"] = json!({"a_later_fact": 1});
    later["steps"][1]["a_later_member"] = json!(1);
    later["setup"]["notes"] = json!([{"code": "a_later_code", "detail": "d"}]);
    let mut expected = recorded(&setup, [MachineEvent::WaitOver, MachineEvent::Interrupt]);
    expected.steps[0].event = None;
    assert_eq!(JudgementRecord::from_json(&later), Ok(expected));
    later["setup"]["criteria_files"] = json!("a_later_word");
    let refusal = JudgementRecord::from_json(&later).expect_err("it decides");
    assert!(refusal.contains("a_later_word"), "{refusal}");
}

#[test]
fn action_accepts_only_its_own_fact() {
    let setup = MachineSetup::from_settings(&ConfigSettings::default());
    let record = recorded(
        &setup,
        [
            MachineEvent::WaitOver,
            MachineEvent::Commits(Ok(Commits::default())),
        ],
    );
    let ran = run_record(&record);
    assert_eq!(
        ran.end,
        RunEnd::NotRecorded { fact: "commits" },
        "a fact from after a pause does not tell what was before it"
    );
    assert_eq!(ran.decisions[0].action, MachineAction::ReadCommits);
}

#[test]
fn possible_changes_cover_every_relevant_setting() {
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
