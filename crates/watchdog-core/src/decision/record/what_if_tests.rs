//! What each change makes of the facts, and where it leads. A change that finds nothing to change is none.

use std::time::Duration;

use crate::sample_facts::{command_result, probe};
use watchdog_facts::evidence::{
    ActivityFacts, CheckResult, Commits, GitOperation, OutcomeBeforeWork,
};

use super::*;
use crate::config::settings::ConfigSettings;
use crate::decision::machine::{ChecksResult, MachineSetup, SurvivorFacts};

fn record(setup: MachineSetup, events: impl IntoIterator<Item = MachineEvent>) -> JudgementRecord {
    let mut record = JudgementRecord::new(setup);
    events.into_iter().for_each(|event| record.add(1, event));
    record
}

fn setup() -> MachineSetup {
    MachineSetup::from_settings(&ConfigSettings::default())
}

/// The record after a change; `None` where it changes nothing.
fn changed(word: &str, mut record: JudgementRecord) -> Option<JudgementRecord> {
    let change = CHANGES
        .iter()
        .find(|change| change.word == word)
        .expect("there is such a change");
    let before = record.clone();
    (change.change)(&mut record);
    (record != before).then_some(record)
}

fn assert_becomes(word: &str, before: MachineEvent, after: Option<MachineEvent>) {
    assert_eq!(
        changed(word, record(setup(), [before])),
        after.map(|after| record(setup(), [after])),
        "{word}"
    );
}

fn asked(outcome: ProbeOutcome) -> MachineEvent {
    MachineEvent::Probe(probe(outcome, 1))
}

fn judged(outcome: CheckOutcome) -> ChecksResult {
    let evidence = if outcome == CheckOutcome::Pass {
        Evidence::Verified
    } else {
        Evidence::None
    };
    let feedback = if outcome == CheckOutcome::Pass {
        ""
    } else {
        "a check is not met"
    };
    let result = CheckResult {
        before: OutcomeBeforeWork::Failed,
        ..command_result("tests", outcome)
    };
    ChecksResult {
        outcome,
        evidence,
        feedback: feedback.into(),
        results: vec![result],
        all_passed_before: false,
        notes: Vec::new(),
    }
}

fn commits(made_here: u64, imported: u64, rescued: u64) -> Commits {
    let net_change = made_here + rescued > 0;
    Commits {
        new_commits: made_here + imported + rescued,
        made_here,
        imported,
        rescued,
        net_change,
        ..Commits::default()
    }
}

#[test]
fn changed_commits_are_counted_as_git_would() {
    let made = |commits| MachineEvent::Commits(Ok(commits));
    for (before, after) in [
        (commits(0, 0, 0), Some(commits(1, 0, 0))),
        (commits(0, 2, 3), Some(commits(1, 2, 3))),
        (
            Commits {
                net_change: false,
                ..commits(2, 0, 0)
            },
            Some(commits(3, 0, 0)),
        ),
        (
            Commits {
                new_commits: 9,
                ..commits(0, 2, 3)
            },
            Some(Commits {
                new_commits: 9,
                ..commits(1, 2, 3)
            }),
        ),
        (commits(1, 0, 0), None),
    ] {
        assert_becomes("commit_made", made(before), after.map(made));
    }
    for (before, after) in [
        (commits(2, 0, 0), Some(commits(0, 0, 0))),
        (
            commits(2, 2, 0),
            Some(Commits {
                net_change: false,
                ..commits(0, 2, 0)
            }),
        ),
        (commits(2, 2, 3), Some(commits(0, 2, 3))),
        (commits(0, 2, 3), None),
    ] {
        assert_becomes("no_commit", made(before), after.map(made));
    }
    let changes = |changes| MachineEvent::Changes(Ok(changes));
    let others = Changes {
        untracked: 5,
        inherited: 3,
        since_end: 2,
        ..Changes::default()
    };
    let dirty = Changes {
        unstaged: 1,
        untracked: 5,
        work: 1,
        work_paths: vec!["a".into()],
        paths: vec!["a".into()],
        ..others.clone()
    };
    assert_becomes(
        "nothing_uncommitted",
        changes(dirty.clone()),
        Some(changes(others.clone())),
    );
    assert_becomes(
        "nothing_uncommitted",
        changes(Changes {
            unstaged: 7,
            ..others.clone()
        }),
        None,
    );
    let both = |commits, held| record(setup(), [made(commits), changes(held)]);
    let everything = changed(
        "everything_committed",
        both(commits(0, 0, 0), dirty.clone()),
    );
    assert_eq!(everything, Some(both(commits(1, 0, 0), others.clone())));
    assert_eq!(
        changed("everything_committed", both(commits(1, 0, 0), dirty)),
        None,
        "a commit was made already"
    );
    assert_eq!(
        changed("everything_committed", both(commits(0, 0, 0), others)),
        None,
        "nothing was left"
    );
}

#[test]
fn changed_checks_replies_and_rescues_are_complete() {
    let checks = |outcome| MachineEvent::Checks(judged(outcome));
    for (before, passed, unmet) in [
        (CheckOutcome::Pass, None, Some(CheckOutcome::Unmet)),
        (CheckOutcome::Unmet, Some(CheckOutcome::Pass), None),
        (
            CheckOutcome::TimedOut,
            Some(CheckOutcome::Pass),
            Some(CheckOutcome::Unmet),
        ),
    ] {
        assert_becomes("checks_pass", checks(before), passed.map(checks));
        assert_becomes("checks_unmet", checks(before), unmet.map(checks));
    }
    let bare = |status| asked(ProbeOutcome::Reply(Reply::bare(status)));
    let (complete, working) = (bare(ReplyStatus::Complete), bare(ReplyStatus::Working));
    let disputed = asked(ProbeOutcome::Reply(Reply {
        agents_active: Some(true),
        ..Reply::bare(ReplyStatus::Complete)
    }));
    for (before, is_complete, is_working) in [
        (&complete, true, false),
        (&working, false, true),
        (&disputed, false, false),
        (&asked(ProbeOutcome::TimedOut), false, false),
    ] {
        assert_becomes(
            "reply_complete",
            before.clone(),
            (!is_complete).then(|| complete.clone()),
        );
        assert_becomes(
            "reply_working",
            before.clone(),
            (!is_working).then(|| working.clone()),
        );
    }
    let rescued = |commits, failed: Option<&str>| {
        MachineEvent::Rescue(Ok(RescueOutcome {
            commits,
            failed: failed.map(str::to_owned),
            ..RescueOutcome::default()
        }))
    };
    for before in [
        rescued(0, None),
        rescued(0, Some("no")),
        rescued(2, Some("no")),
    ] {
        assert_becomes("rescue_commits", before, Some(rescued(1, None)));
    }
    assert_becomes("rescue_commits", rescued(2, None), None);
}

#[test]
fn changed_operations_and_guarded_files_become_clear() {
    let half_done = Commits {
        operation: Some(GitOperation::Rebase),
        conflicts: vec!["a".into()],
        ..commits(1, 0, 0)
    };
    assert_becomes(
        "operation_finished",
        MachineEvent::Commits(Ok(half_done)),
        Some(MachineEvent::Commits(Ok(commits(1, 0, 0)))),
    );
    let paused = Changes {
        operation: Some(GitOperation::Rebase),
        staged: 1,
        ..Changes::default()
    };
    let free = Changes {
        staged: 1,
        ..Changes::default()
    };
    assert_becomes(
        "operation_finished",
        MachineEvent::Changes(Ok(paused)),
        Some(MachineEvent::Changes(Ok(free))),
    );
    let running = |holding: &[&str]| {
        let holding = holding.iter().map(ToString::to_string).collect();
        MachineEvent::Survivors(SurvivorFacts {
            holding,
            session_over: true,
            released: None,
        })
    };
    assert_becomes("nothing_runs", running(&["cargo"]), Some(running(&[])));
    assert_becomes("nothing_runs", running(&[]), None);
    let criteria = |guarded: &[&str]| {
        let guarded: Vec<String> = guarded.iter().map(ToString::to_string).collect();
        MachineEvent::Criteria(Ok(CriteriaChanged {
            guarded_total: guarded.len(),
            guarded,
            ..CriteriaChanged::default()
        }))
    };
    assert_becomes("guards_unchanged", criteria(&["t.rs"]), Some(criteria(&[])));
    assert_becomes("guards_unchanged", criteria(&[]), None);
}

#[test]
fn each_differing_setting_is_a_single_change() {
    type Change = fn(&mut MachineSetup);
    let rows: [(&str, Change, Change); 11] = [
        ("rescue_allowed", |setup| setup.no_rescue = true, |_| {}),
        (
            "rescue_allowed",
            |setup| setup.rescue_mode = RescueMode::Off,
            |setup| setup.rescue_mode = RescueMode::Single,
        ),
        (
            "rescue_allowed",
            |setup| setup.rescue_mode = RescueMode::Snapshot,
            |setup| setup.rescue_mode = RescueMode::Single,
        ),
        (
            "nothing_runs",
            |setup| setup.survivors = vec!["cargo".into()],
            |_| {},
        ),
        (
            "session_ended_itself",
            |setup| {
                setup.session = Some(SessionEnd::Idle {
                    after: Duration::from_secs(9),
                })
            },
            |setup| {
                setup.session = Some(SessionEnd::Ended {
                    exit: ProcessExit::Code(0),
                })
            },
        ),
        (
            "trusted",
            |setup| {
                setup.trust = ConfigTrust::Untrusted {
                    allow_with: "watchdog trust".into(),
                }
            },
            |_| {},
        ),
        (
            "weaker_evidence",
            |setup| setup.require_evidence = Evidence::Verified,
            |_| {},
        ),
        (
            "no_criteria_by_git",
            |setup| setup.on_no_criteria = OnNoCriteria::Review,
            |_| {},
        ),
        (
            "first_nothing_to_do",
            |setup| setup.earlier.nothing_to_do_streak = 1,
            |_| {},
        ),
        (
            "first_nothing_to_do",
            |setup| setup.earlier.nothing_to_do_streak = 2,
            |_| {},
        ),
        ("probing_allowed", |setup| setup.no_probe = true, |_| {}),
    ];
    for (word, before, after) in rows {
        let usual = || MachineSetup {
            rescue_mode: RescueMode::Plan,
            require_evidence: Evidence::None,
            ..setup()
        };
        let of = |change: Change| {
            let mut setup = usual();
            change(&mut setup);
            record(setup, [])
        };
        assert_eq!(changed(word, of(before)), Some(of(after)), "{word}");
        assert_eq!(changed(word, of(after)), None, "{word} is so already");
    }
    let ended = MachineSetup {
        session: Some(SessionEnd::Ended {
            exit: ProcessExit::Code(1),
        }),
        ..setup()
    };
    assert_eq!(changed("session_ended_itself", record(ended, [])), None);
}

/// Where each change leads, one line each.
fn leads(record: &JudgementRecord) -> Vec<String> {
    let end = |end| match end {
        ChangedEnd::Verdict {
            reason,
            evidence: Evidence::None,
        } => reason.as_str().to_owned(),
        ChangedEnd::Verdict { reason, evidence } => {
            format!("{} {}", reason.as_str(), evidence.as_str())
        }
        ChangedEnd::NotRecorded { fact } => format!("reads {fact}"),
    };
    what_if(record)
        .into_iter()
        .map(|(change, to)| format!("{}: {}", change.word, end(to)))
        .collect()
}

#[test]
fn streak_end_and_failed_rescue_name_effective_changes() {
    let mut third = setup();
    (
        third.completion.max_probes,
        third.earlier.nothing_to_do_streak,
    ) = (1, 2);
    let complete = || asked(ProbeOutcome::Reply(Reply::bare(ReplyStatus::Complete)));
    let none = || MachineEvent::Commits(Ok(Commits::default()));
    let clean = MachineEvent::Changes(Ok(Changes::default()));
    let quiet = MachineEvent::Activity(ActivityFacts {
        worktree: Some(false),
        processes: None,
        transcript: None,
    });
    assert_eq!(
        leads(&record(third, [none(), clean, complete(), none()])),
        [
            "commit_made: new_commits committed",
            "reply_working: reads pause",
            "first_nothing_to_do: nothing_to_do claimed"
        ]
    );
    let dirty = MachineEvent::Changes(Ok(Changes {
        unstaged: 1,
        work: 1,
        ..Changes::default()
    }));
    let kept = MachineEvent::Snapshot(Ok(Some("refs/watchdog/rescue/1".into())));
    let failed = MachineEvent::Rescue(Ok(RescueOutcome {
        failed: Some("no".into()),
        ..RescueOutcome::default()
    }));
    assert_eq!(
        leads(&record(
            setup(),
            [none(), dirty, kept, complete(), none(), failed, quiet]
        )),
        [
            "commit_made: new_commits committed",
            "nothing_uncommitted: nothing_to_do claimed",
            "everything_committed: new_commits committed",
            "reply_working: reads pause",
            "rescue_commits: rescued claimed",
        ]
    );
}

#[test]
fn unmet_checks_say_a_pass_would_decide() {
    let settled = MachineSetup {
        has_checks: true,
        no_probe: true,
        ..setup()
    };
    let none = MachineEvent::Commits(Ok(Commits::default()));
    let clean = MachineEvent::Changes(Ok(Changes::default()));
    let of = |outcome| {
        record(
            settled.clone(),
            [
                none.clone(),
                MachineEvent::Checks(judged(outcome)),
                clean.clone(),
            ],
        )
    };
    assert_eq!(
        leads(&of(CheckOutcome::Unmet)),
        [
            "commit_made: checks_unmet",
            "checks_pass: checks_passed verified",
            "probing_allowed: reads reply"
        ]
    );
    assert_eq!(leads(&of(CheckOutcome::Pass)), ["checks_unmet: unfinished"]);
}
