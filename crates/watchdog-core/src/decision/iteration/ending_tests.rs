//! Tables of the verdicts that a loop ends with, and of the ends after which the next start is a new loop.

use jiff::Timestamp;

use super::ending::{build_end_verdict, is_over};
use super::next::LoopEnd;
use watchdog_facts::evidence::{Degradation, StopReason, WarningCode};
use watchdog_facts::verdict::{Evidence, Reason, Verdict};

fn now() -> Timestamp {
    "2030-01-31T18:00:00Z".parse().expect("an instant")
}

#[test]
fn overlong_service_wait_ends_as_rate_limited() {
    let note = || Degradation {
        code: WarningCode::Overloaded,
        detail: "529".into(),
    };
    let working = Verdict {
        degraded: vec![note()],
        ..Verdict::new(Reason::Unfinished, "the session was cut short")
    };
    let ended = build_end_verdict(&LoopEnd::OverloadTooLong, Some(working));
    assert_eq!(
        (ended.reason, ended.degraded.len()),
        (Reason::RateLimited, 2)
    );
    assert!(
        ended.message.contains("--max-wait")
            && ended
                .message
                .ends_with("the last verdict: the session was cut short"),
        "{ended:?}"
    );
    assert!(!is_over(&LoopEnd::OverloadTooLong, &ended));
    let no_room = build_end_verdict(
        &LoopEnd::OverloadTooLong,
        Some(Verdict::new(Reason::StoreError, "no further process")),
    );
    assert_eq!(
        no_room.reason,
        Reason::StoreError,
        "a machine without room is no service"
    );
}

#[test]
fn loop_verdict_keeps_facts_with_own_reason() {
    let unmet = Verdict {
        feedback: Some("write it".into()),
        ..Verdict::new(Reason::ChecksUnmet, "a check is not met")
    };
    let end = LoopEnd::NoProgress { iterations: 3 };
    let found = build_end_verdict(&end, Some(unmet.clone()));
    assert_eq!(
        (found.reason, found.feedback.as_deref()),
        (Reason::MaxIterations, Some("write it"))
    );
    assert!(
        found
            .message
            .starts_with("no progress: 3 iterations in a row"),
        "{}",
        found.message
    );
    assert!(
        found
            .message
            .ends_with("the last verdict: a check is not met"),
        "{}",
        found.message
    );
    assert!(matches!(
        &found.degraded[..],
        [Degradation {
            code: WarningCode::NoProgress,
            ..
        }]
    ));
    assert!(is_over(&end, &found));
    assert_eq!(
        build_end_verdict(&LoopEnd::Verdict, Some(unmet.clone())),
        unmet
    );
    let limit = build_end_verdict(
        &LoopEnd::LimitTooLong,
        Some(Verdict {
            retry_at: Some(now()),
            ..Verdict::new(Reason::RateLimited, "limit")
        }),
    );
    assert_eq!(
        (limit.reason, limit.retry_at),
        (Reason::RateLimited, Some(now()))
    );
    assert!(!is_over(&LoopEnd::LimitTooLong, &limit));
}

#[test]
fn loop_ended_by_limit_is_no_success() {
    let stop = || StopReason {
        reason: Reason::BudgetExhausted,
        why: "the budget is spent".into(),
    };
    let done = Verdict {
        evidence: Evidence::Committed,
        retry_at: Some(now()),
        ..Verdict::new(Reason::NewCommits, "1 commit made since the baseline")
    };
    for (end, reason) in [
        (LoopEnd::Stop(stop()), Reason::BudgetExhausted),
        (LoopEnd::AgentsSpent(stop()), Reason::BudgetExhausted),
        (LoopEnd::BreakerOpen, Reason::BreakerOpen),
        (LoopEnd::NoProgress { iterations: 3 }, Reason::MaxIterations),
    ] {
        let ended = build_end_verdict(&end, Some(done.clone()));
        assert_eq!(
            (ended.reason, ended.evidence, ended.retry_at),
            (reason, Evidence::None, None),
            "{end:?}"
        );
        assert!(
            ended
                .message
                .ends_with("; the last verdict: 1 commit made since the baseline"),
            "{}",
            ended.message
        );
    }
    let waited = build_end_verdict(&LoopEnd::OverloadTooLong, Some(done));
    assert_eq!(
        (waited.reason, waited.evidence),
        (Reason::RateLimited, Evidence::None)
    );
}

#[test]
fn limit_in_last_verdict_is_not_repeated() {
    let end = LoopEnd::Stop(StopReason {
        reason: Reason::BudgetExhausted,
        why: "the budget is spent".into(),
    });
    let named = Verdict {
        retry_at: Some(now()),
        ..Verdict::new(Reason::BudgetExhausted, "5 turns were taken")
    };
    assert_eq!(build_end_verdict(&end, Some(named.clone())), named);
    let other = build_end_verdict(
        &end,
        Some(Verdict::new(Reason::ChecksUnmet, "a check is not met")),
    );
    assert_eq!(
        (other.reason, other.message.as_str()),
        (
            Reason::BudgetExhausted,
            "the budget is spent; the last verdict: a check is not met"
        )
    );
    let none = build_end_verdict(&end, None);
    assert_eq!(
        (none.reason, none.message.as_str()),
        (Reason::BudgetExhausted, "the budget is spent")
    );
}

#[test]
fn abandoned_wait_names_its_cause() {
    let reset = Some(jiff::Timestamp::UNIX_EPOCH);
    for (end, retry_at, code, detail) in [
        (
            LoopEnd::LimitTooLong,
            reset,
            WarningCode::LimitTooLong,
            "the usage limit lasts longer than --max-wait; start the loop again after it",
        ),
        (
            LoopEnd::LimitTooLong,
            None,
            WarningCode::LimitTooLong,
            "the end of the usage limit is not known, and the next pause is longer than --max-wait; start the loop again later",
        ),
        (
            LoopEnd::WaitedInVain { waits: 20 },
            reset,
            WarningCode::WaitedInVain,
            "gave up after 20 waits without progress; rerun the loop to continue",
        ),
    ] {
        let limited = || Verdict {
            retry_at,
            ..Verdict::new(Reason::RateLimited, "limit")
        };
        let note = Degradation::new(code, detail);
        let ended = build_end_verdict(&end, Some(limited()));
        assert_eq!(
            ended,
            Verdict {
                degraded: vec![note],
                ..limited()
            },
            "{end:?}"
        );
        assert!(!is_over(&end, &ended));
    }
}

#[test]
fn interrupted_loop_resumes_and_decided_loop_restarts() {
    for (reason, over) in [
        (Reason::ChecksPassed, true),
        (Reason::Disputed, true),
        (Reason::VerifyUnrunnable, true),
        (Reason::AgentUnrunnable, false),
        (Reason::AgentStopped, true),
        (Reason::Interrupted, false),
        (Reason::BudgetExhausted, false),
        (Reason::DeadlineExceeded, false),
        (Reason::BreakerOpen, false),
        (Reason::RateLimited, false),
        (Reason::GitError, false),
    ] {
        assert_eq!(
            is_over(&LoopEnd::Verdict, &Verdict::new(reason, "")),
            over,
            "{reason:?}"
        );
    }
}
