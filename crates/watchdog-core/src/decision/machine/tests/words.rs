//! What a verdict says besides its reason: counts, changes, feedback, messages of one line.

use crate::config::settings::OnNoCriteria;
use crate::decision::machine::{
    CheckMachine, ChecksResult, ConfigTrust, MachineAction, MachineEvent, SurvivorFacts,
};
use watchdog_facts::evidence::{
    Changes, CheckOutcome, Degradation, GitOperation, LeftOutReason, ProbeOutcome, ProcessExit,
    Reply, ReplyStatus, SessionEnd, WarningCode,
};
use watchdog_facts::verdict::Evidence;

use super::world::*;

fn message(world: World) -> String {
    world.run().verdict.message
}

#[test]
fn verdict_names_made_and_remaining_work() {
    assert_eq!(
        message(World::committed()),
        "1 commit made since the baseline; no checks are configured, so nothing judged what they do"
    );
    assert_eq!(
        message(World::committed().set(|setup| setup.on_no_criteria = OnNoCriteria::Review)),
        "1 commit made since the baseline, but no criteria are configured"
    );
    assert_eq!(
        message(
            World::committed().set(|setup| setup.trust = ConfigTrust::Untrusted {
                allow_with: "watchdog trust".into()
            })
        ),
        "1 commit made since the baseline, but completion.json is not trusted, so its criteria were not judged; read it, then type: \
         watchdog trust"
    );
    assert_eq!(
        message(
            World::committed()
                .after(Edit)
                .set(|setup| (setup.read_leftovers, setup.no_probe) = (true, true))
        ),
        "1 commit made since the baseline; no checks are configured, so nothing judged what they do; 1 file left uncommitted; everything is kept, restore it with: watchdog rescue restore 1"
    );
    assert_eq!(
        message(World::dirty().says(complete()).rescue(Commits(2))),
        "the agent says that everything is done; 2 commits made by rescue"
    );
    assert_eq!(
        message(World::dirty().says(complete()).no_rescue()),
        "uncommitted work is left; rescue may not commit here; everything is kept, restore it with: watchdog rescue restore 2"
    );
    assert_eq!(
        message(World::dirty().says(complete()).rescue(Fails)),
        "uncommitted work is left; rescue failed: exit code 1; everything is kept, restore it with: watchdog rescue restore 2"
    );
    let in_part = World::dirty()
        .says(complete())
        .rescue(CommitsThenFails)
        .run()
        .verdict;
    assert_eq!(
        in_part.message,
        "1 commit made by rescue; rescue failed: exit code 1; everything is kept, restore it with: watchdog rescue restore 2"
    );
    assert_eq!(
        in_part.commits.map(|commits| commits.new_commits),
        Some(1),
        "read after the rescue"
    );
    assert_eq!(
        message(World::dirty().says(complete()).unreadable(Kind::Rescue, 1)),
        "uncommitted work is left; rescue failed: cannot read the Rescue; everything is kept, restore it with: watchdog rescue restore 2"
    );
    let elsewhere = World::dirty()
        .says(complete())
        .rescue(Elsewhere(1))
        .run()
        .verdict;
    assert_eq!(
        elsewhere.message,
        "1 commit made by rescue here; the work is on the branch 'watchdog/rescue/auth' instead: git commit ended with exit code 1: \
         lint: no; everything is kept, restore it with: watchdog rescue restore 2"
    );
    assert_eq!(
        (elsewhere.rescue_branch.as_deref(), elsewhere.rescue_commits),
        (Some("watchdog/rescue/auth"), 1)
    );
    assert_eq!(
        elsewhere.commits.map(|commits| commits.new_commits),
        Some(1),
        "read after the rescue"
    );
    assert_eq!(
        message(World::clean().says(working())),
        "3 probes spent, and no commit came"
    );
    assert_eq!(
        message(World::clean().asks_at_most(0)),
        "no new commit, and no probe is allowed"
    );
}

#[test]
fn verdict_reports_fate_of_work_and_cause() {
    let claims = || World::dirty().says(complete());
    let kept = "; everything is kept, restore it with: watchdog rescue restore";
    assert_eq!(
        message(claims().rescue(CommitsNothing)),
        format!("uncommitted work is left; rescue had nothing that it could commit{kept} 2")
    );
    assert_eq!(
        message(claims().rescue(LeavesOut(&[LeftOutReason::Secret, LeftOutReason::Excluded]))),
        format!(
            "the agent says that everything is done; git shows no work of this session; 2 files left uncommitted on purpose{kept} 2"
        )
    );
    assert_eq!(
        message(claims().rescue(Loses)),
        format!(
            "after the rescue lib.rs is neither in HEAD nor in the work tree as it was before{kept} 2"
        )
    );
    for (count, named) in [(3, "1.rs, 2.rs, 3.rs"), (5, "1.rs, 2.rs, 3.rs and 2 more")] {
        assert_eq!(
            message(claims().rescue(LosesMany(count))),
            format!(
                "after the rescue {named} are neither in HEAD nor in the work tree as they were before{kept} 2"
            )
        );
    }
    assert_eq!(
        message(World::dirty().says(gives_up()).rescue(Fails)),
        format!("the agent says that it should not go on; rescue failed: exit code 1{kept} 2")
    );
    let not_its_own = World {
        inherited: 2,
        since_end: 1,
        ..World::committed()
    }
    .run()
    .verdict;
    assert_eq!(
        (not_its_own.inherited, not_its_own.changed_since_end),
        (0, 0),
        "nobody looked at what is uncommitted"
    );
    let seen = World {
        inherited: 2,
        since_end: 1,
        ..World::clean().says(complete())
    }
    .run()
    .verdict;
    assert_eq!(
        (seen.inherited, seen.changed_since_end),
        (2, 1),
        "files of before the session, and of after its end"
    );
}

#[test]
fn verdict_carries_every_fact_and_action() {
    let unmet = Always(CheckOutcome::Unmet);
    let verdict = World::dirty()
        .says(complete())
        .rescue(LeavesOut(&[LeftOutReason::Secret]))
        .checks(unmet)
        .run()
        .verdict;
    assert_eq!(
        (
            verdict.probes_used,
            verdict.probes_left,
            verdict.probes.len(),
            verdict.probe_usage.requests
        ),
        (1, 2, 1, 1)
    );
    assert_eq!(
        verdict.commits.and_then(|commits| commits.head).as_deref(),
        Some("0")
    );
    assert_eq!(verdict.changes.map(|changes| changes.work), Some(2));
    assert_eq!(
        verdict.snapshot.as_deref(),
        Some("refs/watchdog/rescue/2"),
        "the last one holds all"
    );
    assert_eq!(
        verdict
            .left_out
            .iter()
            .map(|left| left.path.as_str())
            .collect::<Vec<_>>(),
        ["secret.txt"]
    );
    assert_eq!(
        verdict
            .checks
            .iter()
            .map(|check| (check.name.as_str(), check.outcome))
            .collect::<Vec<_>>(),
        [("tests", CheckOutcome::Unmet)]
    );
}

#[test]
fn half_done_operation_names_its_first_conflicts() {
    let half_done = |operation, conflicts: u32| {
        let mut world = World::clean();
        world.commits.operation = operation;
        world.commits.conflicts = (0..conflicts).map(|n| format!("{n}.rs")).collect();
        let verdict = world.run().verdict;
        (verdict.message, verdict.feedback.unwrap_or_default())
    };
    let ends = "; nothing is complete before it is finished or aborted";
    let (message, feedback) = half_done(Some(GitOperation::Rebase), 0);
    assert_eq!(message, format!("a rebase is in progress{ends}"));
    assert_eq!(
        feedback,
        "Finish or abort the rebase that is in progress, then go on."
    );
    let (message, feedback) = half_done(Some(GitOperation::ApplyMailbox), 5);
    assert_eq!(
        message,
        format!("an am is in progress (conflicts in 0.rs, 1.rs, 2.rs, 3.rs, 4.rs){ends}")
    );
    assert_eq!(
        feedback,
        "Finish or abort the am that is in progress (conflicts in 0.rs, 1.rs, 2.rs, 3.rs, 4.rs), then go on."
    );
    let (message, feedback) = half_done(None, 7);
    assert_eq!(
        message,
        format!("there are conflicts in 0.rs, 1.rs, 2.rs, 3.rs, 4.rs and 2 more{ends}")
    );
    assert_eq!(
        feedback,
        "Resolve the conflicts in 0.rs, 1.rs, 2.rs, 3.rs, 4.rs and 2 more, and commit."
    );
}

#[test]
fn probe_wording_uses_the_latest_facts() {
    let world = World::dirty().session(SessionEnd::Ended {
        exit: ProcessExit::Code(0),
    });
    let holding = vec!["cargo (process 7)".to_string()];
    let mut machine = CheckMachine::new(world.set(|setup| setup.survivors = holding.clone()).setup);
    let _ = machine.step(MachineEvent::Start);
    assert_eq!(
        (machine.commits(), machine.changes(), machine.survivors()),
        (None, None, &holding[..])
    );
    let commits = World::clean().commits;
    let _ = machine.step(MachineEvent::Commits(Ok(commits.clone())));
    let changes = Changes {
        unstaged: 2,
        work: 2,
        ..Changes::default()
    };
    let _ = machine.step(MachineEvent::Changes(Ok(changes.clone())));
    assert_eq!(
        (machine.commits(), machine.changes()),
        (Some(&commits), Some(&changes))
    );
    let waits = machine.step(MachineEvent::Snapshot(Ok(Some(
        "refs/watchdog/rescue/1".into(),
    ))));
    assert!(matches!(waits, MachineAction::Wait(_)), "{waits:?}");
    let _ = machine.step(MachineEvent::WaitOver);
    let _ = machine.step(MachineEvent::Survivors(SurvivorFacts {
        session_over: true,
        ..SurvivorFacts::default()
    }));
    assert!(machine.survivors().is_empty(), "they have ended");
}

#[test]
fn changes_of_another_head_are_dropped() {
    let rescued = World::dirty().says(complete()).run().verdict;
    assert_eq!((rescued.rescue_commits, rescued.changes), (1, None));
    let landed = World::dirty()
        .says(working())
        .during(Wait(1), Commit)
        .run()
        .verdict;
    assert_eq!(
        (landed.changes, landed.message.as_str()),
        (
            None,
            "1 commit made since the baseline; no checks are configured, so nothing judged what they do"
        )
    );
    let limited = World::dirty().says(usage_limit()).run().verdict;
    assert_eq!(
        limited.changes.map(|changes| changes.unstaged),
        None,
        "what was uncommitted is rescued"
    );
}

#[test]
fn feedback_of_incomplete_is_never_blank() {
    let blank = ProbeOutcome::Reply(Reply {
        next_action: Some("  ".into()),
        ..Reply::bare(ReplyStatus::Working)
    });
    let once = |reply| World::clean().says(reply).looks_once().run().verdict;
    assert_eq!(
        once(blank).feedback.as_deref(),
        Some("Finish the work and commit it.")
    );
    let told = ProbeOutcome::Reply(Reply {
        next_action: Some("write tests".into()),
        ..Reply::bare(ReplyStatus::Working)
    });
    assert_eq!(once(told).feedback.as_deref(), Some("write tests"));

    let unmet = |world: World| world.checks(Always(CheckOutcome::Unmet));
    let asked = |reply| {
        unmet(World::clean())
            .says(reply)
            .looks_once()
            .run()
            .verdict
            .feedback
    };
    assert_eq!(
        asked(working()).as_deref(),
        Some("Finish the work and commit it.\ntests fail")
    );
    assert_eq!(
        asked(garbage()).as_deref(),
        Some("tests fail"),
        "the next call asks again, and what is missing is known"
    );
    let late = unmet(World::dirty())
        .session(SessionEnd::TimedOut {
            after: std::time::Duration::from_secs(60),
        })
        .run()
        .verdict
        .feedback;
    assert_eq!(
        late.as_deref(),
        Some(
            "The session was ended by its timeout. Go on from where it stopped, and commit.\ntests fail"
        )
    );

    let mut machine = CheckMachine::new(World::committed().checks(NeedClean).setup);
    let _ = machine.step(MachineEvent::Start);
    let _ = machine.step(MachineEvent::Commits(Ok(World::committed().commits)));
    let outcome = CheckOutcome::Unmet;
    let silent = ChecksResult {
        outcome,
        evidence: Evidence::None,
        feedback: "\n".into(),
        results: Vec::new(),
        all_passed_before: false,
        notes: Vec::new(),
    };
    let MachineAction::Conclude(verdict) = machine.step(MachineEvent::Checks(silent)) else {
        panic!("it ends")
    };
    assert_eq!(
        verdict.feedback.as_deref(),
        Some("A configured check is not met.")
    );
}

#[test]
fn a_message_is_one_line_of_bounded_length() {
    let why = format!("{}\nsecond line", "x".repeat(1000));
    for outcome in [
        ProbeOutcome::NotInstalled { why: why.clone() },
        ProbeOutcome::NotLoggedIn { why: why.clone() },
        ProbeOutcome::RateLimited {
            why: why.clone(),
            retry_at: None,
        },
        ProbeOutcome::Failed { why: why.clone() },
        ProbeOutcome::Reply(Reply {
            message: why,
            should_continue: Some(false),
            ..Reply::bare(ReplyStatus::Waiting)
        }),
    ] {
        let message = message(World::clean().says(outcome));
        assert!(!message.contains('\n') && message.len() < 400, "{message}");
    }
}

#[test]
fn dispute_states_its_number_of_answers() {
    assert_eq!(
        message(World::clean().says(contradiction())),
        "the agent contradicts what is known (2 answers): it says complete and that 1 tasks are pending"
    );
    assert_eq!(
        message(World {
            first_answer_stands: true,
            ..World::clean().says(contradiction())
        }),
        "the agent contradicts what is known (1 answer): it says complete and that 1 tasks are pending"
    );
    assert_eq!(
        message(World::clean().says(claims_a_commit()).asks_at_most(1)),
        "the agent contradicts what is known (1 answer): it says that it made 1 commits, and git shows none since the baseline"
    );
}

#[test]
fn once_says_what_is_left_to_ask() {
    let once = |max_probes| {
        message(World::clean().says(waiting()).set(|setup| {
            setup.once = true;
            setup.completion.max_probes = max_probes;
        }))
    };
    assert_eq!(
        once(3),
        "the agent waits for work that runs elsewhere; 2 probes left"
    );
    assert_eq!(
        once(2),
        "the agent waits for work that runs elsewhere; 1 probe left"
    );
}

#[test]
fn what_weakens_the_facts_is_passed_on_once() {
    let note = |code| Degradation {
        code,
        detail: "detail".into(),
    };
    let mut world = World::dirty().says(complete()).rescue(CommitsThenFails);
    world.commits.degraded = vec![note(WarningCode::HistoryRewritten)];
    let verdict = world
        .set(|setup| {
            setup.notes = vec![
                note(WarningCode::CriteriaChanged),
                note(WarningCode::HistoryRewritten),
            ]
        })
        .run()
        .verdict;
    let codes: Vec<&str> = verdict
        .degraded
        .iter()
        .map(|note| note.code.as_str())
        .collect();
    assert_eq!(
        codes,
        ["criteria_changed", "history_rewritten", "rescue_failed"]
    );
    let failed = World::dirty().says(complete()).rescue(Fails).run().verdict;
    assert_eq!(
        failed.degraded,
        [],
        "the message says that the rescue failed"
    );
    let overwritten = |world: World| {
        World {
            changes_note: Some(WarningCode::InheritedOverwritten),
            ..world
        }
        .run()
        .verdict
    };
    let once = [noted_as(WarningCode::InheritedOverwritten)];
    assert_eq!(
        overwritten(World::dirty().replies([working(), complete()])).degraded,
        once,
        "although it was read several times"
    );
    let rescued = overwritten(World::dirty().says(complete()));
    assert_eq!(
        (rescued.changes, rescued.degraded.as_slice()),
        (None, &once[..]),
        "a rescue does not replace what was overwritten"
    );
}
