//! The sentences of each end: what a person and the next session read.

use std::time::Duration;

use watchdog_facts::evidence::{
    CheckOutcome, LeftOutReason, ProbeOutcome, ProcessExit, Reply, ReplyStatus, SessionEnd,
    WarningCode,
};
use watchdog_facts::verdict::{Evidence, Reason, Verdict};

use super::world::*;

fn verdict(world: World) -> Verdict {
    world.run().verdict
}

/// Message and feedback.
fn words(world: World) -> (String, String) {
    let verdict = verdict(world);
    (verdict.message, verdict.feedback.unwrap_or_default())
}

#[test]
fn commits_name_the_bad_end_of_session() {
    let why = || "529: overloaded\nsecond line".to_string();
    let after = Duration::from_secs(60);
    for (end, named) in [
        (
            SessionEnd::TimedOut { after },
            "the session was ended by its timeout",
        ),
        (
            SessionEnd::Idle { after },
            "the session fell silent and was ended",
        ),
        (
            SessionEnd::LeftWork {
                exit: ProcessExit::Code(0),
                what: "cargo test".into(),
            },
            "the session left work running: cargo test",
        ),
        (
            SessionEnd::Unrunnable { why: why() },
            "the agent cannot go on: 529: overloaded",
        ),
        (
            SessionEnd::CutShort {
                exit: ProcessExit::Code(1),
                why: why(),
            },
            "the session was cut short: 529: overloaded",
        ),
    ] {
        let (message, _) = words(World::committed().session(end));
        assert_eq!(
            message,
            format!(
                "1 commit made since the baseline; no checks are configured, so nothing judged what they do; {named}"
            )
        );
    }
}

#[test]
fn pass_reports_findings_and_weakens_beside_uncommitted_files() {
    let passed = World::clean().checks(Always(CheckOutcome::Pass));
    assert_eq!(
        words(World {
            finding: "12 tests ran\nall of them",
            ..passed.clone()
        })
        .0,
        "every check passed (12 tests ran)"
    );
    assert_eq!(words(passed).0, "every check passed");
    let dirty = || World::dirty().checks(Always(CheckOutcome::Pass));
    assert_eq!(
        words(dirty().rescue(Commits(2))).0,
        "every check passed; 2 commits made by rescue"
    );
    assert_eq!(
        words(dirty().no_rescue()).0,
        "every check passed; 2 files left uncommitted; everything is kept, restore it with: watchdog rescue restore 1"
    );
    let left: &[LeftOutReason] = &[
        LeftOutReason::Secret,
        LeftOutReason::Excluded,
        LeftOutReason::NestedRepository,
        LeftOutReason::TooLarge,
        LeftOutReason::Unreadable,
    ];
    let beside = |count: usize| {
        verdict(
            World::dirty()
                .checks(Always(CheckOutcome::Pass))
                .rescue(LeavesOut(&left[..count])),
        )
    };
    assert_eq!(beside(0).evidence, Evidence::Verified);
    for (count, named) in [
        (3, "secret.txt, excluded.txt, nested_repository.txt"),
        (
            5,
            "secret.txt, excluded.txt, nested_repository.txt and 2 more",
        ),
    ] {
        let verdict = beside(count);
        let note = verdict
            .degraded
            .iter()
            .find(|note| note.code == WarningCode::JudgedWithUncommitted)
            .expect("it is said");
        assert_eq!(
            note.detail,
            format!("the checks passed beside files that are in no commit: {named}")
        );
        assert_eq!(
            verdict.evidence,
            Evidence::Committed,
            "a pass may depend on them"
        );
    }
    let world = World::dirty()
        .checks(Always(CheckOutcome::Pass))
        .rescue(LeavesOut(left));
    let apart = verdict(World {
        in_scratch: true,
        ..world
    });
    assert_eq!(
        (apart.evidence, apart.degraded),
        (Evidence::Verified, Vec::new()),
        "a scratch checkout had none of them"
    );
}

#[test]
fn what_a_passed_check_says_is_no_feedback() {
    let passed = || World {
        finding: "12 tests ran",
        ..World::clean().checks(PassedBefore)
    };
    let unasked = verdict(passed().no_probe());
    assert_eq!(
        unasked.feedback.as_deref(),
        Some("No new commit was made. Finish the work and commit it.")
    );
    let limited = verdict(passed().says(usage_limit()));
    assert_eq!(
        (limited.reason, limited.feedback),
        (Reason::RateLimited, None)
    );
    let left = passed().session(SessionEnd::LeftWork {
        exit: ProcessExit::Code(0),
        what: "cargo test".into(),
    });
    let left = verdict(left);
    assert_eq!((left.reason, left.feedback), (Reason::BackgroundWork, None));
}

#[test]
fn failed_check_names_its_lack_and_keeps_feedback() {
    for (outcome, reason, what) in [
        (
            CheckOutcome::Unrunnable,
            Reason::VerifyUnrunnable,
            "a check could not run",
        ),
        (
            CheckOutcome::TimedOut,
            Reason::VerifyTimeout,
            "a check did not end in time",
        ),
        (
            CheckOutcome::Waiting,
            Reason::BackgroundWork,
            "a check waits",
        ),
        (
            CheckOutcome::Failed,
            Reason::VerifyFailed,
            "a check ran without a result",
        ),
    ] {
        let verdict = verdict(World::clean().checks(Always(outcome)));
        assert_eq!(
            (verdict.reason, verdict.message),
            (reason, format!("{what}: tests fail"))
        );
        assert_eq!(verdict.feedback.as_deref(), Some("tests fail"));
    }
}

#[test]
fn skipped_probe_is_named_with_next_feedback() {
    let unasked = |world: World| words(world.no_probe());
    let (message, feedback) = unasked(World::clean());
    assert_eq!(
        (message.as_str(), feedback.as_str()),
        (
            "no new commit, and the agent was not asked",
            "No new commit was made. Finish the work and commit it."
        )
    );
    let (message, feedback) = unasked(World::dirty());
    assert_eq!(
        message,
        "no new commit, and the agent was not asked; everything is kept, restore it with: watchdog rescue restore 1"
    );
    assert_eq!(feedback, "Finish the work and commit it.", "work is there");
    let left = verdict(
        World::committed()
            .after(Edit)
            .set(|setup| (setup.read_leftovers, setup.no_probe) = (true, true)),
    );
    let note = left
        .degraded
        .iter()
        .find(|note| note.code == WarningCode::LeftUncommitted)
        .expect("it is said");
    assert_eq!(note.detail, "1 file of the session's work left uncommitted");
}

#[test]
fn finished_session_hands_open_tasks_to_next() {
    let over = |reply: Reply| {
        words(
            World::clean()
                .replies([ProbeOutcome::Reply(reply)])
                .session_over(),
        )
    };
    let working = || Reply::bare(ReplyStatus::Working);
    let (message, feedback) = over(Reply {
        message: "half way".into(),
        ..working()
    });
    assert_eq!(
        message,
        "the agent does not say that the work is done: half way"
    );
    assert!(
        feedback.ends_with("Finish the work and commit it."),
        "{feedback}"
    );
    let (_, feedback) = over(Reply {
        tasks_pending: vec!["tests\nall".into(), "docs".into()],
        next_action: Some("go".into()),
        ..working()
    });
    assert!(
        feedback.ends_with("Not done yet: tests; docs. Finish this, and commit."),
        "{feedback}"
    );
    let (_, feedback) = over(Reply {
        next_action: Some("write the tests".into()),
        ..working()
    });
    assert!(feedback.ends_with("write the tests"), "{feedback}");
    let (_, feedback) = over(Reply {
        next_action: Some("None.".into()),
        ..working()
    });
    assert!(
        feedback.ends_with("Finish the work and commit it."),
        "a word for nothing is no action: {feedback}"
    );
}

#[test]
fn what_a_configuration_refuses_says_what_it_requires() {
    let weak = verdict(World::committed().set(|setup| setup.require_evidence = Evidence::Verified));
    assert_eq!(weak.reason, Reason::Disputed);
    assert_eq!(
        weak.message,
        "1 commit made since the baseline; no checks are configured, so nothing judged what they do, but its evidence is 'committed' and \
         the configuration requires 'verified'"
    );
    let third = verdict(
        World::clean()
            .says(complete())
            .set(|setup| setup.earlier.nothing_to_do_streak = 2),
    );
    assert_eq!(
        third.message,
        "the agent says 3 times in a row that nothing is to be done, and git shows nothing"
    );
}

#[test]
fn interrupt_and_failed_probe_report_known_facts() {
    assert_eq!(
        words(World {
            interrupt_at: Some(1),
            ..World::committed()
        })
        .0,
        "interrupted; 1 commit made here so far"
    );
    let unread = World {
        interrupt_at: Some(1),
        ..World::committed()
    }
    .unreadable(Kind::Commits, 1)
    .unreadable(Kind::Commits, 2);
    assert_eq!(
        words(unread).0,
        "interrupted; the commits could not be read"
    );
    assert_eq!(
        words(World::clean().says(garbage())).0,
        "the last probe failed (unreadable): no JSON in it"
    );
    let missing = ProbeOutcome::NotInstalled {
        why: "no program".into(),
    };
    assert_eq!(
        words(World::dirty().replies([missing])).0,
        "the agent cannot be run: no program; 1 commit made by rescue"
    );
    let none = |outcome: ProbeOutcome| {
        verdict(
            World::clean()
                .checks(Always(CheckOutcome::Unmet))
                .says(outcome),
        )
    };
    let limited = none(usage_limit());
    assert_eq!(
        (limited.message.as_str(), limited.retry_at),
        (
            "a check is not met: tests fail; the agent met a usage limit: limit reached",
            Some(reset())
        )
    );
    let world = World::clean()
        .checks(Always(CheckOutcome::Unmet))
        .says(usage_limit());
    let held_back = verdict(World {
        withholds: true,
        ..world
    });
    assert_eq!(
        (
            held_back.message.as_str(),
            held_back.retry_at,
            held_back.reason
        ),
        (
            "a check is not met: tests fail; the agent was not asked: limit reached",
            Some(reset()),
            Reason::ChecksUnmet
        )
    );
    let held_back = verdict(World {
        withholds: true,
        ..World::clean().says(usage_limit())
    });
    assert_eq!(
        (
            held_back.message.as_str(),
            held_back.retry_at,
            held_back.reason
        ),
        (
            "the agent was not asked: limit reached",
            Some(reset()),
            Reason::RateLimited
        )
    );
    let missing = none(ProbeOutcome::NotInstalled {
        why: "no such program".into(),
    });
    assert_eq!(
        (missing.message.as_str(), missing.retry_at),
        (
            "a check is not met: tests fail; the agent cannot be run: no such program",
            None
        )
    );
}
