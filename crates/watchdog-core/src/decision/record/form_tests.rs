//! What stands in a record, and what is read back from it: other versions read it, so that the form of each fact stays.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use watchdog_facts::evidence::{
    ActivityFacts, Changes, CheckOutcome, CheckResult, Commits, CriteriaChanged, Degradation,
    LeftOut, LeftOutReason, OutcomeBeforeWork, ProbeOutcome, Reply, ReplyStatus, WarningCode,
};
use watchdog_facts::verdict::{Evidence, ProbeUsage};

use super::*;
use crate::config::settings::ConfigSettings;
use crate::decision::machine::{ChecksResult, MachineSetup, SurvivorFacts};

fn record(events: impl IntoIterator<Item = MachineEvent>) -> JudgementRecord {
    let mut record = JudgementRecord::new(MachineSetup::from_settings(&ConfigSettings::default()));
    events.into_iter().for_each(|event| record.add(0, event));
    record
}

fn question(outcome: ProbeOutcome) -> ProbeRecord {
    ProbeRecord {
        at: Timestamp::UNIX_EPOCH,
        duration: Duration::from_millis(1500),
        outcome,
        disputed: Some("it made no commit".into()),
        session_id: Some("s1".into()),
        usage: ProbeUsage {
            requests: 2,
            input_tokens: Some(30),
            output_tokens: Some(4),
            cost_usd: Some(0.5),
        },
        withheld: true,
    }
}

fn reply() -> Reply {
    Reply {
        message: "two tests are red".into(),
        agents_active: Some(false),
        agents_details: vec!["one agent".into()],
        tasks_completed: vec!["login".into()],
        tasks_pending: vec!["logout".into()],
        commits_made: Some(2),
        should_continue: Some(true),
        next_action: Some("mend them".into()),
        doubt: Some("of the second".into()),
        ..Reply::bare(ReplyStatus::Working)
    }
}

fn rescue() -> RescueOutcome {
    RescueOutcome {
        commits: 1,
        made: vec!["c1".into()],
        left_out: vec![LeftOut {
            path: "k.pem".into(),
            why: LeftOutReason::Secret,
        }],
        ..RescueOutcome::default()
    }
}

fn judged(results: Vec<CheckResult>) -> ChecksResult {
    ChecksResult {
        outcome: CheckOutcome::Pass,
        evidence: Evidence::Verified,
        feedback: String::new(),
        results,
        all_passed_before: false,
        notes: Vec::new(),
    }
}

fn passed() -> CheckResult {
    CheckResult {
        name: "tests".into(),
        kind: "command".into(),
        outcome: CheckOutcome::Pass,
        evidence: Evidence::Verified,
        feedback: String::new(),
        duration: Duration::ZERO,
        cached: false,
        before: OutcomeBeforeWork::Failed,
        tests: None,
        tree: None,
    }
}

fn left_running() -> SurvivorFacts {
    SurvivorFacts {
        holding: vec!["cargo".into()],
        session_over: false,
        released: None,
    }
}

#[test]
fn each_event_has_its_written_form_and_is_read_back_from_it() {
    let changes = Changes {
        unstaged: 2,
        work: 1,
        paths: vec!["a".into(), "b".into()],
        work_paths: vec!["b".into()],
        ..Changes::default()
    };
    let all_its_own = Changes {
        unstaged: 1,
        work: 1,
        paths: vec!["a".into()],
        work_paths: vec!["a".into()],
        ..Changes::default()
    };
    let limited = ProbeOutcome::RateLimited {
        why: "limit".into(),
        retry_at: Some(Timestamp::UNIX_EPOCH),
    };
    let notes = (0..20)
        .map(|n| Degradation {
            code: WarningCode::TestsDeleted,
            detail: n.to_string(),
        })
        .collect();
    let written_notes: Vec<Value> = (0..20)
        .map(|n| json!(["tests_deleted", n.to_string()]))
        .collect();
    let at = "1970-01-01T00:00:00Z";
    for (event, written) in [
        (MachineEvent::Start, json!(["b"])),
        (
            MachineEvent::Commits(Ok(Commits {
                new_commits: 1,
                made_here: 1,
                net_change: true,
                ..Commits::default()
            })),
            json!(["c", [null, 1, 1, true]]),
        ),
        (
            MachineEvent::Changes(Ok(all_its_own)),
            json!(["u", [1, ["a"], null, 1]]),
        ),
        (
            MachineEvent::Changes(Ok(changes)),
            json!([
                "u",
                [1, ["a", "b"], null, 2, null, null, null, null, null, ["b"]]
            ]),
        ),
        (
            MachineEvent::Snapshot(Ok(Some("refs/1".into()))),
            json!(["s", "refs/1"]),
        ),
        (MachineEvent::Snapshot(Ok(None)), json!(["s"])),
        (
            MachineEvent::Checks(judged(Vec::new())),
            json!(["k", ["pass", "verified"]]),
        ),
        (
            MachineEvent::Checks(judged(vec![passed()])),
            json!([
                "k",
                [
                    "pass",
                    "verified",
                    null,
                    null,
                    [[
                        "tests", "command", "pass", "verified", null, null, null, "failed"
                    ]]
                ]
            ]),
        ),
        (
            MachineEvent::Checks(ChecksResult {
                notes,
                ..judged(Vec::new())
            }),
            json!(["k", ["pass", "verified", null, null, null, written_notes]]),
        ),
        (
            MachineEvent::Probe(question(limited)),
            json!([
                "p",
                [
                    at,
                    1500,
                    "rate_limited",
                    "limit",
                    at,
                    "it made no commit",
                    "s1",
                    2,
                    30,
                    4,
                    0.5,
                    true
                ]
            ]),
        ),
        (
            MachineEvent::Rescue(Ok(rescue())),
            json!(["r", [1, ["c1"], null, null, null, [["k.pem", "secret"]]]]),
        ),
        (MachineEvent::WaitOver, json!(["w"])),
        (
            MachineEvent::Survivors(left_running()),
            json!(["l", [["cargo"]]]),
        ),
        (
            MachineEvent::Activity(ActivityFacts {
                worktree: None,
                processes: Some(false),
                transcript: None,
            }),
            json!(["a", [null, false]]),
        ),
        (
            MachineEvent::Criteria(Ok(CriteriaChanged::default())),
            json!(["g", []]),
        ),
        (MachineEvent::Interrupt, json!(["i"])),
    ] {
        let record = record([event]);
        let mut step = written.as_array().expect("a list").clone();
        step.insert(0, Value::Null);
        assert_eq!(write(&record), json!([1, {}, [step]]), "{record:?}");
        assert_eq!(read_record(&write(&record)), Ok(record));
    }
}

#[test]
fn a_fact_that_is_read_again_and_is_the_same_is_written_once() {
    let commits = |made_here| {
        MachineEvent::Commits(Ok(Commits {
            new_commits: made_here,
            made_here,
            ..Commits::default()
        }))
    };
    let (none, one) = (json!([null, "c", []]), json!([null, "c", [null, 1, 1]]));
    let (again, wait) = (json!([null, "c", "="]), json!([null, "w"]));
    let events = [
        commits(0),
        MachineEvent::WaitOver,
        commits(0),
        MachineEvent::WaitOver,
        commits(1),
        commits(1),
        commits(0),
    ];
    let record = record(events);
    assert_eq!(
        write(&record),
        json!([1, {}, [none, wait, again, wait, one, again, none]])
    );
    assert_eq!(read_record(&write(&record)), Ok(record));
}

#[test]
fn an_event_that_was_lost_stays_lost_and_the_others_are_as_they_were() {
    let mut record = record([MachineEvent::WaitOver, MachineEvent::Interrupt]);
    record.steps[0].event = None;
    record.steps[0].after_ms = 70;
    (record.beside, record.overruled) = (vec!["lib/a".into()], true);
    assert_eq!(
        write(&record),
        json!([1, {}, [[70, "?"], [null, "i"]], ["lib/a"], true])
    );
    assert_eq!(read_record(&write(&record)), Ok(record));
}

#[test]
fn a_question_and_a_rescue_come_back_from_their_events() {
    for outcome in [
        ProbeOutcome::Reply(reply()),
        ProbeOutcome::Empty,
        ProbeOutcome::Failed {
            why: "no network".into(),
        },
    ] {
        let record = question(outcome);
        assert_eq!(read_probe(&write_probe(&record)), Some(record));
    }
    assert_eq!(read_rescue(&write_rescue(&rescue())), Some(rescue()));
    for other in [json!({}), json!(["x", 1, "a word of a later version"])] {
        assert_eq!(read_probe(&other), None, "{other}");
    }
    for other in [
        json!({}),
        json!([
            1,
            [],
            null,
            [],
            null,
            [["k.pem", "a word of a later version"]]
        ]),
    ] {
        assert_eq!(read_rescue(&other), None, "{other}");
    }
}

#[test]
fn a_record_of_another_edition_or_without_a_setup_is_refused_in_words() {
    for (value, words) in [
        (
            json!([2, {}, []]),
            "its facts are written in form 2, and this watchdog reads form 1",
        ),
        (json!(["1", {}, []]), "it holds no recorded facts"),
        (json!([]), "it holds no recorded facts"),
        (json!("cut"), "it holds no recorded facts"),
        (json!([1]), "the setup of its judgement cannot be read"),
        (
            json!([1, {"g": "a word of a later version"}]),
            "the setup of its judgement cannot be read",
        ),
    ] {
        assert_eq!(read_record(&value), Err(words.to_owned()), "{value}");
    }
}
