//! Every sentence of an explanation: where a fact was read, what was found, what it ruled out, and what came next.

use std::time::Duration;

use crate::sample_facts::{command_result, probe};
use watchdog_facts::evidence::{
    ActivityFacts, Changes, CheckResult, Commits, CriteriaChanged, FaultKind, GitOperation,
    LeftOut, LeftOutReason, ProcessExit, Reply, ReplyStatus, RescueOutcome, StopReason,
    UnreadableFact,
};
use watchdog_facts::verdict::{Evidence, ProbeRecord, ProbeUsage, Reason, Verdict};

use super::*;
use crate::config::settings::ConfigSettings;
use crate::decision::machine::{ChecksResult, MachineSetup, SurvivorFacts};

fn setup() -> MachineSetup {
    MachineSetup::from_settings(&ConfigSettings::default())
}

/// Where an event was read, what was found, and below it each end that it ruled out.
fn told_with(setup: &MachineSetup, event: &MachineEvent) -> String {
    let out = ruled_out(setup, event)
        .into_iter()
        .map(|out| format!("\nnot {}: {}", out.what, out.because));
    format!(
        "{}\n{}{}",
        read_from(event),
        describe_event(event),
        out.collect::<String>()
    )
}

fn told(event: &MachineEvent) -> String {
    told_with(&setup(), event)
}

fn unreadable<T>() -> ReadFact<T> {
    Err(UnreadableFact {
        kind: FaultKind::Git,
        why: "no objects".into(),
        hint: None,
    })
}

fn assert_told(rows: impl IntoIterator<Item = (MachineEvent, &'static str)>) {
    for (event, expected) in rows {
        assert_eq!(told(&event), expected, "{event:?}");
    }
}

#[test]
fn explanation_names_commit_origin_and_lack_of_completion() {
    let commits = |made_here, imported, rescued| Commits {
        head: Some("0123456789abcdef".into()),
        new_commits: made_here + imported + rescued,
        made_here,
        imported,
        rescued,
        net_change: made_here > 0,
        ..Commits::default()
    };
    let read = |commits| MachineEvent::Commits(Ok(commits));
    let of = "git: HEAD, refs and reflogs\n";
    let checked = MachineSetup {
        has_checks: true,
        ..setup()
    };
    let half_done = "\nnot complete: an operation of git is half done, or paths are in conflict";
    for (commits, found, without_checks, with_checks) in [
        (
            Commits {
                head: None,
                ..commits(0, 0, 0)
            },
            "HEAD unborn; 0 commits since the baseline: 0 made here, 0 imported, 0 made by rescue",
            "\nnot new_commits: no commit was made since the baseline",
            "\nnot complete by commits: no commit was made since the baseline",
        ),
        (
            commits(1, 0, 0),
            "HEAD 0123456789; 1 commit since the baseline: 1 made here, 0 imported, 0 made by rescue",
            "",
            "\nnot new_commits: checks are configured, and decide in its place",
        ),
        (
            Commits {
                net_change: false,
                ..commits(1, 0, 0)
            },
            "HEAD 0123456789; 1 commit since the baseline: 1 made here, without a net change, 0 imported, 0 made by rescue",
            "\nnot new_commits: 1 commit made here, and nothing differs from the baseline",
            "\nnot complete by commits: 1 commit made here, and nothing differs from the baseline",
        ),
        (
            commits(0, 1, 2),
            "HEAD 0123456789; 3 commits since the baseline: 0 made here, 1 imported, 2 made by rescue",
            "\nnot new_commits: of the new commits none was made here (1 imported, 2 made by rescue)",
            "\nnot complete by commits: of the new commits none was made here (1 imported, 2 made by rescue)",
        ),
        (
            Commits {
                operation: Some(GitOperation::Merge),
                conflicts: vec!["a.rs".into()],
                ..commits(2, 0, 0)
            },
            "HEAD 0123456789; 2 commits since the baseline: 2 made here, 0 imported, 0 made by rescue; a merge is half done; paths are in \
             conflict",
            half_done,
            half_done,
        ),
    ] {
        let event = read(commits);
        assert_eq!(told(&event), format!("{of}{found}{without_checks}"));
        assert_eq!(
            told_with(&checked, &event),
            format!("{of}{found}{with_checks}")
        );
    }
}

#[test]
fn uncommitted_work_and_its_snapshot_are_explained() {
    let changes = |work| Changes {
        staged: 1,
        unstaged: 2,
        untracked: 3,
        conflicted: 4,
        work,
        ..Changes::default()
    };
    assert_told([
        (
            MachineEvent::Changes(Ok(Changes {
                inherited: 5,
                since_end: 1,
                ..changes(0)
            })),
            "git: the index and the work tree\n1 staged, 2 unstaged, 3 untracked, 4 in conflict; 0 files of the session's work; 5 there before \
             the session, 1 changed after its end\nnot rescued: none of the session's work is uncommitted",
        ),
        (
            MachineEvent::Changes(Ok(Changes {
                work_paths: vec!["src/a.rs".into(), "b".into()],
                ..changes(2)
            })),
            "git: the index and the work tree\n1 staged, 2 unstaged, 3 untracked, 4 in conflict; 2 files of the session's work\nnot \
             nothing_to_do: 2 files of the session's work uncommitted, such as src/a.rs",
        ),
        (
            MachineEvent::Snapshot(Ok(Some("refs/watchdog/rescue/7".into()))),
            "git: a snapshot ref in the repository\nkept in refs/watchdog/rescue/7",
        ),
        (
            MachineEvent::Snapshot(Ok(None)),
            "git: a snapshot ref in the repository\nnothing was uncommitted any more",
        ),
    ]);
}

fn check(name: &str, outcome: CheckOutcome, feedback: &str) -> CheckResult {
    CheckResult {
        feedback: feedback.into(),
        duration: Duration::from_millis(12),
        cached: outcome == CheckOutcome::Pass,
        ..command_result(name, outcome)
    }
}

fn judged(results: Vec<CheckResult>, all_passed_before: bool) -> MachineEvent {
    let outcome = results
        .iter()
        .map(|result| result.outcome)
        .find(|outcome| *outcome != CheckOutcome::Pass)
        .unwrap_or(CheckOutcome::Pass);
    let feedback = String::new();
    MachineEvent::Checks(ChecksResult {
        outcome,
        evidence: Evidence::Verified,
        feedback,
        results,
        all_passed_before,
        notes: Vec::new(),
    })
}

#[test]
fn explanation_lists_checks_with_first_unmet_line() {
    let lint = || check("lint", CheckOutcome::Pass, "no warning");
    let tests = |outcome| check("tests", outcome, "\n  two fail  \nmore");
    assert_told([
        (
            judged(vec![lint()], false),
            "the configured checks: command 'lint'\n'lint' pass after 12 ms, from an earlier pass\nnot checks_unmet: every check passed",
        ),
        (
            judged(vec![lint()], true),
            "the configured checks: command 'lint'\n'lint' pass after 12 ms, from an earlier pass\nnot checks_passed alone: every check passed \
             before the work began, too",
        ),
        (
            judged(
                vec![
                    lint(),
                    tests(CheckOutcome::Unmet),
                    check("docs", CheckOutcome::Unmet, ""),
                ],
                false,
            ),
            "the configured checks: command 'lint', command 'tests', command 'docs'\n'lint' pass after 12 ms, from an earlier pass; 'tests' \
             unmet (two fail) after 12 ms; 'docs' unmet after 12 ms\nnot checks_passed: check 'tests', 'docs' ended as unmet",
        ),
        (
            judged(
                (0..7)
                    .map(|n| check(&n.to_string(), CheckOutcome::TimedOut, ""))
                    .collect(),
                false,
            ),
            "the configured checks: command '0', command '1', command '2', command '3', command '4'\n'0' timed_out after 12 ms; '1' timed_out \
             after 12 ms; '2' timed_out after 12 ms; '3' timed_out after 12 ms; '4' timed_out after 12 ms; and 2 more\nnot checks_passed: \
             check '0', '1', '2', '3', '4' ended as timed_out",
        ),
    ]);
}

#[test]
fn probe_explanation_names_answerer_and_excluded_outcomes() {
    let bare = |status| ProbeOutcome::Reply(Reply::bare(status));
    let working = || {
        ProbeOutcome::Reply(Reply {
            message: "still\nwriting".into(),
            ..Reply::bare(ReplyStatus::Working)
        })
    };
    let pending = Reply {
        tasks_pending: vec!["docs".into(), "tests".into()],
        ..Reply::bare(ReplyStatus::Complete)
    };
    let limit = || ProbeOutcome::RateLimited {
        why: "5 h".into(),
        retry_at: None,
    };
    let stands = ProbeRecord {
        usage: ProbeUsage::default(),
        ..probe(bare(ReplyStatus::Waiting), 1)
    };
    let withheld = ProbeRecord {
        withheld: true,
        usage: ProbeUsage::default(),
        ..probe(limit(), 1)
    };
    assert_told(
        [
            (probe(bare(ReplyStatus::Complete), 1), "the agent's reply\ncomplete"),
            (
                ProbeRecord { session_id: Some("s-1".into()), ..probe(working(), 1) },
                "the agent's reply, session s-1\nworking: still writing\nnot complete: the agent answered working",
            ),
            (
                probe(ProbeOutcome::Reply(pending), 1),
                "the agent's reply\ncomplete\nnot complete: the reply is disputed: it says complete and that 2 tasks are pending",
            ),
            (stands, "the store: the agent's last answer, which still stands\nwaiting\nnot complete: the agent answered waiting"),
            (
                withheld,
                "the store: what keeps the question from being asked\nprobe failed (rate_limited): 5 h\nnot complete: no usable reply \
                 (rate_limited)",
            ),
            (probe(ProbeOutcome::TimedOut, 1), "the agent's reply\nprobe failed (timed_out)\nnot complete: no usable reply (timed_out)"),
        ]
        .map(|(record, expected)| (MachineEvent::Probe(record), expected)),
    );
}

#[test]
fn rescue_survivors_activity_and_criteria_are_explained() {
    let left_out = vec![LeftOut {
        path: "k.pem".into(),
        why: LeftOutReason::Secret,
    }];
    let whole = RescueOutcome {
        commits: 2,
        failed: Some("the hook said no".into()),
        fallback_branch: Some("watchdog/rescue/a".into()),
        left_out,
        ..RescueOutcome::default()
    };
    let seen = |worktree, processes, transcript| {
        MachineEvent::Activity(ActivityFacts {
            worktree,
            processes,
            transcript,
        })
    };
    let criteria = |guarded: &[&str], named: &[&str]| {
        let texts = |paths: &[&str]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        MachineEvent::Criteria(Ok(CriteriaChanged {
            guarded_total: guarded.len(),
            guarded: texts(guarded),
            named: texts(named),
            ..CriteriaChanged::default()
        }))
    };
    let life = "the work tree, the session's processes and the agent's transcript";
    let holding = SurvivorFacts {
        holding: vec!["cargo (7)".into(), "node (8)".into()],
        ..SurvivorFacts::default()
    };
    assert_told([
        (
            MachineEvent::Rescue(Ok(RescueOutcome {
                commits: 1,
                ..RescueOutcome::default()
            })),
            "the rescue, and git after it\n1 commit made",
        ),
        (
            MachineEvent::Rescue(Ok(whole)),
            "the rescue, and git after it\n2 commits made; on the branch watchdog/rescue/a; failed: the hook said no; 1 path left out\nnot \
             rescued: the rescue failed: the hook said no",
        ),
        (
            MachineEvent::Survivors(SurvivorFacts::default()),
            "the table of processes\nnothing of the session holds the verdict",
        ),
        (
            MachineEvent::Survivors(holding),
            "the table of processes\nstill runs: cargo (7), node (8)\nnot complete: cargo (7), node (8) still runs",
        ),
        (
            criteria(&[], &[]),
            "git: the files of the criteria, beside the anchor\nunchanged since the anchor",
        ),
        (
            criteria(&[], &["list.md"]),
            "git: the files of the criteria, beside the anchor\nchanged, and not guarded: list.md",
        ),
        (
            criteria(&["t.rs"], &["list.md"]),
            "git: the files of the criteria, beside the anchor\nguarded files changed: t.rs\nnot complete: guarded files changed: t.rs",
        ),
        (
            MachineEvent::WaitOver,
            "watchdog itself\nthe pause is over, or something moved",
        ),
        (MachineEvent::Interrupt, "watchdog itself\na signal came"),
    ]);
    for (event, found) in [
        (
            seen(None, None, None),
            "unknown\nnot strike: whether anything moved is unknown",
        ),
        (seen(Some(false), None, None), "none"),
        (
            seen(Some(false), Some(true), None),
            "activity in processes\nnot strike: activity in processes",
        ),
    ] {
        assert_eq!(told(&event), format!("{life}\n{found}"));
    }
}

#[test]
fn unreadable_fact_names_cause_and_excludes_complete() {
    for event in [
        MachineEvent::Commits(unreadable()),
        MachineEvent::Changes(unreadable()),
        MachineEvent::Snapshot(unreadable()),
        MachineEvent::Criteria(unreadable()),
        MachineEvent::Rescue(unreadable()),
    ] {
        let told = told(&event);
        assert!(
            told.ends_with(
                "\ncould not be read: no objects\nnot complete: it could not be read: no objects"
            ),
            "{told}"
        );
    }
}

#[test]
fn explanation_states_exactly_the_initial_settings() {
    type Change = fn(&mut MachineSetup);
    let rows: [(Change, &str); 8] = [
        (|_| {}, "no checks are configured; 5 probes at most"),
        (
            |setup| setup.has_checks = true,
            "checks are configured; 5 probes at most",
        ),
        (
            |setup| {
                (setup.has_checks, setup.trust) = (
                    true,
                    ConfigTrust::Untrusted {
                        allow_with: "watchdog trust".into(),
                    },
                )
            },
            "completion.json is not trusted and does not count; 5 probes at most",
        ),
        (
            |setup| {
                setup.scope = JudgementScope::Criteria {
                    baseline_known: true,
                }
            },
            "no checks are configured; only the criteria are judged; 5 probes at most",
        ),
        (
            |setup| {
                (setup.session, setup.session_over) = (
                    Some(SessionEnd::Ended {
                        exit: ProcessExit::Code(1),
                    }),
                    true,
                )
            },
            "no checks are configured; the session ended by itself (exit code 1); the session is known to be over; 5 probes at most",
        ),
        (
            |setup| setup.survivors = vec!["cargo".into(), "node".into()],
            "no checks are configured; of it still runs: cargo, node; 5 probes at most",
        ),
        (
            |setup| {
                (
                    setup.no_probe,
                    setup.no_rescue,
                    setup.once,
                    setup.completion.max_probes,
                ) = (true, true, true, 1)
            },
            "no checks are configured; --no-probe; --no-rescue; --once; 1 probe at most",
        ),
        (
            |setup| setup.earlier.rounds_used = 2,
            "no checks are configured; 5 probes at most; 2 of them spent by earlier calls",
        ),
    ];
    for (change, expected) in rows {
        let mut setup = setup();
        change(&mut setup);
        assert_eq!(setup_words(&JudgementRecord::new(setup)), expected);
    }
}

#[test]
fn each_session_end_has_its_own_words() {
    let (after, exit, why) = (Duration::from_secs(90), ProcessExit::Signal(9), || {
        "so it is".to_owned()
    });
    let stop = StopReason {
        reason: Reason::BudgetExhausted,
        why: why(),
    };
    for (end, expected) in [
        (SessionEnd::Ended { exit }, "ended by itself (signal 9)"),
        (
            SessionEnd::TimedOut { after },
            "was ended at its timeout of 90 s",
        ),
        (
            SessionEnd::Idle { after },
            "was ended after 90 s of silence",
        ),
        (
            SessionEnd::RateLimited {
                why: why(),
                retry_at: None,
            },
            "met a usage limit: so it is",
        ),
        (SessionEnd::OverLimit { stop }, "reached a limit: so it is"),
        (
            SessionEnd::LeftWork {
                exit,
                what: "a build".into(),
            },
            "left work running: a build",
        ),
        (
            SessionEnd::CutShort { exit, why: why() },
            "was cut short: so it is",
        ),
        (
            SessionEnd::Unrunnable { why: why() },
            "cannot go on: so it is",
        ),
        (
            SessionEnd::NotStarted {
                why: why(),
                shortage: true,
            },
            "was not started: so it is",
        ),
        (
            SessionEnd::NotKept { why: why() },
            "was not started: so it is",
        ),
    ] {
        assert_eq!(end_words(&end), expected);
    }
}

#[test]
fn each_action_says_what_comes_next() {
    let verdict = Box::new(Verdict::new(Reason::Unfinished, "m"));
    let backoff = ProbePause::Backoff {
        attempt: 2,
        at_most: Duration::from_secs(9),
    };
    for (action, expected) in [
        (MachineAction::ReadCommits, "read the commits"),
        (MachineAction::ReadChanges, "read what is uncommitted"),
        (MachineAction::TakeSnapshot, "keep it in a snapshot"),
        (MachineAction::JudgeChecks, "judge the checks"),
        (
            MachineAction::Ask {
                number: 2,
                contradiction: None,
            },
            "ask the agent (probe 2)",
        ),
        (
            MachineAction::Ask {
                number: 3,
                contradiction: Some("c".into()),
            },
            "ask the agent again, with the contradiction (probe 3)",
        ),
        (MachineAction::Rescue, "rescue the work into commits"),
        (
            MachineAction::Wait(ProbePause::Interval(Duration::from_millis(1500))),
            "wait 2 s",
        ),
        (MachineAction::Wait(backoff), "wait after 2 failed probes"),
        (
            MachineAction::ReadSurvivors,
            "look what of the session still runs",
        ),
        (MachineAction::ReadActivity, "look for signs of life"),
        (
            MachineAction::ReadCriteria,
            "look whether the criteria changed",
        ),
        (MachineAction::Conclude(verdict), "incomplete (unfinished)"),
    ] {
        assert_eq!(next_words(&action), expected);
    }
}

#[test]
fn explanation_lists_each_fact_with_its_time() {
    let mut record = JudgementRecord::new(MachineSetup {
        no_probe: true,
        ..setup()
    });
    record.add(7, MachineEvent::Commits(Ok(Commits::default())));
    record.add(9, MachineEvent::Changes(Ok(Changes::default())));
    let explained = explain_record(&record);
    let steps: Vec<_> = explained
        .steps
        .iter()
        .map(|step| {
            (
                step.after_ms,
                step.fact,
                step.then.as_str(),
                step.ruled_out.len(),
            )
        })
        .collect();
    assert_eq!(
        steps,
        [
            (0, "setup", "read the commits", 0),
            (7, "commits", "read what is uncommitted", 1),
            (9, "changes", "incomplete (unfinished)", 1)
        ]
    );
    assert_eq!(
        explained.steps[0].finding,
        "no checks are configured; --no-probe; 5 probes at most"
    );
    assert_eq!(
        explained.steps[0].read_from,
        "the command line, the configuration and the store"
    );
    assert_eq!(explained.steps[1].rules, [JudgementRule::NoProbeByOption]);
}
