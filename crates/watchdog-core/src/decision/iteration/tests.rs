//! Tables and properties of the loop's state machine.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::next::{
    IterationOutcome, LoopAction, LoopEnd, LoopEvent, LoopMachine, LoopPolicy, PauseLength,
    PauseReason,
};
use super::standing::LoopStanding;
use crate::config::settings::{ConfigSettings, Limits};
use crate::decision::termination::SpentUsage;
use watchdog_facts::verdict::{Reason, Status};

const HOUR: Duration = Duration::from_secs(3600);

fn now() -> Timestamp {
    "2030-01-31T18:00:00Z".parse().expect("an instant")
}

fn after(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

fn limits() -> Limits {
    Limits {
        max_iterations: 5,
        cooldown: Duration::ZERO,
        ..ConfigSettings::default().limits
    }
}

fn looping(limits: Limits) -> LoopMachine {
    LoopMachine::new(
        LoopPolicy {
            limits,
            no_progress: 3,
            max_wait: 6 * HOUR,
            agents: Vec::new(),
        },
        LoopStanding {
            work: Some("at first".into()),
            ..LoopStanding::default()
        },
    )
}

fn judged(reason: Reason, work: &str) -> IterationOutcome {
    IterationOutcome {
        reason,
        retry_at: None,
        of_agent: true,
        unasked: false,
        crash: None,
        overloaded: false,
        breaker_open: false,
        work: Some(work.into()),
        spent: SpentUsage::default(),
    }
}

fn step(looped: &mut LoopMachine, outcome: IterationOutcome) -> LoopAction {
    looped.step(now(), Duration::ZERO, LoopEvent::Judged(Box::new(outcome)))
}

/// Takes the loop through verdicts, each with other work than the one before.
fn through(looped: &mut LoopMachine, reasons: &[Reason]) -> LoopAction {
    let mut action = looped.step(now(), Duration::ZERO, LoopEvent::Begin);
    for (i, reason) in reasons.iter().enumerate() {
        assert_eq!(
            action,
            LoopAction::Iterate {
                number: u32::try_from(i).unwrap() + 1
            }
        );
        action = step(looped, judged(*reason, &format!("work {i}")));
    }
    action
}

fn pause(action: LoopAction) -> (PauseLength, PauseReason) {
    match action {
        LoopAction::Pause { length, why } => (length, why),
        other => panic!("no pause: {other:?}"),
    }
}

fn stopped(action: &LoopAction) -> Option<Reason> {
    match action {
        LoopAction::End(LoopEnd::Stop(stop)) => Some(stop.reason),
        _ => None,
    }
}

#[test]
fn each_verdict_ends_the_loop_or_goes_on() {
    for reason in Reason::ALL {
        let action = through(&mut looping(limits()), &[*reason]);
        let expected = match reason.status() {
            Status::Incomplete | Status::Timeout => LoopAction::Iterate { number: 2 },
            Status::Waiting if [Reason::RateLimited, Reason::BackgroundWork].contains(reason) => {
                assert!(matches!(action, LoopAction::Pause { .. }), "{reason:?}");
                continue;
            }
            _ => LoopAction::End(LoopEnd::Verdict),
        };
        assert_eq!(action, expected, "{reason:?}");
    }
}

#[test]
fn completion_at_iteration_cap_is_still_complete() {
    let course = [
        Reason::ChecksUnmet,
        Reason::ChecksUnmet,
        Reason::ChecksPassed,
    ];
    assert_eq!(
        through(&mut looping(limits()), &course),
        LoopAction::End(LoopEnd::Verdict)
    );
    assert_eq!(
        through(
            &mut looping(Limits {
                max_iterations: 3,
                ..limits()
            }),
            &course
        ),
        LoopAction::End(LoopEnd::Verdict)
    );
}

#[test]
fn cap_is_reached_after_last_iteration_without_success() {
    let mut looped = looping(Limits {
        max_iterations: 2,
        ..limits()
    });
    assert_eq!(
        stopped(&through(
            &mut looped,
            &[Reason::ChecksUnmet, Reason::Unfinished]
        )),
        Some(Reason::MaxIterations)
    );
    assert_eq!(looped.standing().finished, 2);
}

#[test]
fn third_repeat_of_uncommitted_work_ends_the_loop() {
    let mut looped = looping(Limits {
        max_iterations: 1000,
        ..limits()
    });
    assert_eq!(
        looped.step(now(), Duration::ZERO, LoopEvent::Begin),
        LoopAction::Iterate { number: 1 }
    );
    assert_eq!(
        step(&mut looped, judged(Reason::ChecksUnmet, "the diff")),
        LoopAction::Iterate { number: 2 }
    );
    assert_eq!(
        step(&mut looped, judged(Reason::ChecksUnmet, "the diff")),
        LoopAction::Iterate { number: 3 }
    );
    assert_eq!(
        step(&mut looped, judged(Reason::ChecksUnmet, "the diff")),
        LoopAction::End(LoopEnd::NoProgress { iterations: 3 })
    );
}

#[test]
fn idle_sessions_count_as_no_progress() {
    let mut looped = looping(limits());
    for (work, goes_on) in [
        ("at first", true),
        ("at first", true),
        ("other", true),
        ("other", true),
        ("other", false),
    ] {
        let action = step(&mut looped, judged(Reason::Unfinished, work));
        assert_eq!(
            matches!(action, LoopAction::Iterate { .. }),
            goes_on,
            "{work}: {action:?}"
        );
    }
}

#[test]
fn unreadable_work_never_counts_as_unchanged() {
    let mut looped = looping(Limits {
        max_iterations: 100,
        ..limits()
    });
    for number in 2..20 {
        let action = step(
            &mut looped,
            IterationOutcome {
                work: None,
                ..judged(Reason::Unfinished, "")
            },
        );
        assert_eq!(action, LoopAction::Iterate { number });
    }
}

#[test]
fn usage_limit_waits_without_counting_an_iteration() {
    let mut looped = looping(limits());
    let limit = |seconds: i64| IterationOutcome {
        retry_at: Some(after(seconds)),
        ..judged(Reason::RateLimited, "at first")
    };
    assert_eq!(
        pause(step(&mut looping(limits()), limit(-60))).0,
        PauseLength::Until(after(5)),
        "a limit that just ended is over"
    );
    assert_eq!(
        pause(step(&mut looped, limit(3600))),
        (PauseLength::Until(after(3605)), PauseReason::UsageLimit)
    );
    assert_eq!(
        looped.step(after(3605), HOUR, LoopEvent::PauseOver),
        LoopAction::Iterate { number: 1 }
    );
    assert_eq!(looped.standing().finished, 0);
    assert_eq!(
        pause(step(&mut looped, limit(6 * 3600))).0,
        PauseLength::Until(after(6 * 3600 + 5)),
        "as long as the longest wait"
    );
    assert_eq!(
        step(&mut looped, limit(6 * 3600 + 60)),
        LoopAction::End(LoopEnd::LimitTooLong)
    );
    let without_room = IterationOutcome {
        overloaded: true,
        ..limit(60)
    };
    assert_eq!(
        pause(step(&mut looped, without_room)),
        (PauseLength::Until(after(65)), PauseReason::UsageLimit),
        "the limit has an end"
    );
}

#[test]
fn limit_counts_neither_for_nor_against_progress() {
    let sessions = |work_at_the_limit: Option<&str>| {
        let mut looped = looping(limits());
        for number in 2..=3 {
            assert_eq!(
                step(&mut looped, judged(Reason::Unfinished, "at first")),
                LoopAction::Iterate { number }
            );
        }
        let limit = IterationOutcome {
            work: work_at_the_limit.map(Into::into),
            ..judged(Reason::RateLimited, "")
        };
        assert_eq!(pause(step(&mut looped, limit)).1, PauseReason::UsageLimit);
        step(&mut looped, judged(Reason::Unfinished, "at first"))
    };
    assert_eq!(
        sessions(Some("at first")),
        LoopAction::End(LoopEnd::NoProgress { iterations: 3 })
    );
    assert_eq!(
        sessions(None),
        LoopAction::End(LoopEnd::NoProgress { iterations: 3 }),
        "what could not be read is no progress"
    );
    assert_eq!(
        sessions(Some("other")),
        LoopAction::Iterate { number: 4 },
        "the session before the limit changed the work"
    );
}

#[test]
fn usage_limit_without_reset_is_retried_with_backoff() {
    let mut looped = looping(limits());
    let limit = || judged(Reason::RateLimited, "at first");
    let waits: Vec<PauseLength> = (0..3)
        .map(|_| pause(step(&mut looped, limit())).0)
        .collect();
    assert_eq!(
        waits,
        [300, 600, 1200].map(|seconds| PauseLength::Until(after(seconds)))
    );
    let past = |seconds: i64| IterationOutcome {
        retry_at: Some(after(seconds)),
        ..limit()
    };
    assert_eq!(
        pause(step(&mut looped, past(-60))).0,
        PauseLength::Until(after(2400))
    );
    assert_eq!(
        pause(step(&mut looped, past(0))).0,
        PauseLength::Until(after(4800)),
        "an end that is now is over"
    );
    for wait in 6..=20 {
        assert_eq!(
            pause(step(&mut looped, limit())).1,
            PauseReason::UsageLimit,
            "wait {wait}"
        );
    }
    assert_eq!(
        step(&mut looped, limit()),
        LoopAction::End(LoopEnd::WaitedInVain { waits: 20 })
    );
}

#[test]
fn limit_of_unknown_end_is_never_hammered() {
    for (max_wait, pauses) in [(0, 0), (5, 0), (300, 20), (400, 20)] {
        let policy = LoopPolicy {
            max_wait: Duration::from_secs(max_wait),
            ..looping(limits()).policy().clone()
        };
        let mut looped = LoopMachine::new(policy, LoopStanding::default());
        let lengths: Vec<PauseLength> = std::iter::from_fn(|| {
            match step(&mut looped, judged(Reason::RateLimited, "at first")) {
                LoopAction::Pause { length, .. } => Some(length),
                _ => None,
            }
        })
        .collect();
        assert_eq!(lengths.len(), pauses, "{max_wait}");
        let first = PauseLength::Until(after(300));
        assert!(lengths.first().is_none_or(|length| *length == first));
    }
}

#[test]
fn nobody_waits_for_what_lies_behind_the_deadline() {
    let mut looped = looping(Limits {
        deadline: Some(after(1800)),
        ..limits()
    });
    let limit = IterationOutcome {
        retry_at: Some(after(3600)),
        ..judged(Reason::RateLimited, "x")
    };
    assert_eq!(
        stopped(&step(&mut looped, limit)),
        Some(Reason::DeadlineExceeded)
    );
    let mut slow = looping(Limits {
        deadline: Some(after(10)),
        cooldown: HOUR,
        ..limits()
    });
    assert_eq!(
        stopped(&step(&mut slow, judged(Reason::Unfinished, "x"))),
        Some(Reason::DeadlineExceeded)
    );
    let why = |limits, waited: u64| {
        let limit = IterationOutcome {
            retry_at: Some(after(60)),
            ..judged(Reason::RateLimited, "x")
        };
        match looping(limits).step(
            now(),
            Duration::from_secs(waited),
            LoopEvent::Judged(Box::new(limit)),
        ) {
            LoopAction::End(LoopEnd::Stop(stop)) => stop.why,
            other => panic!("it goes on: {other:?}"),
        }
    };
    assert_eq!(
        why(
            Limits {
                deadline: Some(after(65)),
                ..limits()
            },
            0
        ),
        "the deadline 2030-01-31T18:01:05Z would pass during the pause until 2030-01-31T18:01:05Z (usage_limit)",
        "nothing begins at the deadline itself"
    );
    assert_eq!(
        why(
            Limits {
                max_wall: Some(Duration::from_secs(70)),
                ..limits()
            },
            10
        ),
        "the time budget of 70 s would be spent during the pause until 2030-01-31T18:01:05Z (usage_limit)"
    );
}

#[test]
fn each_pause_has_its_word() {
    for (reason, word) in [
        (PauseReason::Cooldown, "cooldown"),
        (PauseReason::UsageLimit, "usage_limit"),
        (PauseReason::Overload, "overload"),
        (PauseReason::Crash, "crash"),
        (PauseReason::BackgroundWork, "background_work"),
    ] {
        assert_eq!(reason.as_str(), word);
    }
}

#[test]
fn a_spent_budget_never_reads_as_success() {
    for reason in [
        Reason::NewCommits,
        Reason::ChecksPassed,
        Reason::Unfinished,
        Reason::RateLimited,
    ] {
        let mut looped = looping(Limits {
            max_cost_usd: Some(1.0),
            ..limits()
        });
        let outcome = IterationOutcome {
            spent: SpentUsage {
                cost_usd: 1.5,
                ..SpentUsage::default()
            },
            ..judged(reason, "x")
        };
        assert_eq!(
            stopped(&step(&mut looped, outcome)),
            Some(Reason::BudgetExhausted),
            "{reason:?}"
        );
    }
    let mut looped = looping(Limits {
        max_wall: Some(HOUR),
        ..limits()
    });
    let late = looped.step(
        now(),
        HOUR,
        LoopEvent::Judged(Box::new(judged(Reason::NewCommits, "x"))),
    );
    assert_eq!(
        stopped(&late),
        Some(Reason::BudgetExhausted),
        "the time of the whole loop counts"
    );
}

#[test]
fn what_sessions_spend_adds_up() {
    let mut looped = looping(Limits {
        max_total_tokens: Some(100),
        max_iterations: 9,
        ..limits()
    });
    let outcome = |work: &str| IterationOutcome {
        spent: SpentUsage {
            tokens: 40,
            wall_seconds: 9.0,
            ..SpentUsage::default()
        },
        ..judged(Reason::Unfinished, work)
    };
    assert_eq!(
        step(&mut looped, outcome("a")),
        LoopAction::Iterate { number: 2 }
    );
    assert_eq!(
        step(&mut looped, outcome("b")),
        LoopAction::Iterate { number: 3 }
    );
    assert!(
        looped.standing().spent.wall_seconds < 0.1,
        "the loop has its own clock"
    );
    assert_eq!(
        stopped(&step(&mut looped, outcome("c"))),
        Some(Reason::BudgetExhausted)
    );
}

#[test]
fn crash_counts_as_iteration_and_delays_the_next() {
    let mut looped = looping(limits());
    let crash = |work: &str| IterationOutcome {
        crash: Some("exit code 1".into()),
        ..judged(Reason::Unfinished, work)
    };
    let attempt = |action| match pause(action) {
        (PauseLength::Backoff { attempt, .. }, PauseReason::Crash) => attempt,
        other => panic!("{other:?}"),
    };
    assert_eq!(attempt(step(&mut looped, crash("a"))), 1);
    assert_eq!(attempt(step(&mut looped, crash("b"))), 2);
    assert_eq!(looped.standing().finished, 2);
    assert_eq!(
        step(&mut looped, judged(Reason::Unfinished, "c")),
        LoopAction::Iterate { number: 4 }
    );
    assert_eq!(attempt(step(&mut looped, crash("d"))), 1);
    assert_eq!(
        stopped(&step(&mut looped, crash("e"))),
        Some(Reason::MaxIterations)
    );
    let seconds = Duration::from_secs;
    let after_crash = |cooldown| {
        pause(step(
            &mut looping(Limits {
                cooldown: seconds(cooldown),
                ..limits()
            }),
            crash("a"),
        ))
    };
    assert_eq!(
        after_crash(299),
        (
            PauseLength::Backoff {
                attempt: 1,
                at_most: seconds(300)
            },
            PauseReason::Crash
        )
    );
    assert_eq!(
        after_crash(300),
        (PauseLength::For(seconds(300)), PauseReason::Cooldown),
        "the cooldown is as long as any backoff"
    );
}

#[test]
fn overloaded_session_counts_only_if_it_worked() {
    let mut looped = looping(limits());
    let overload = |work: &str| IterationOutcome {
        overloaded: true,
        crash: Some("529".into()),
        ..judged(Reason::Unfinished, work)
    };
    assert_eq!(
        pause(step(&mut looped, overload("at first"))).1,
        PauseReason::Overload
    );
    assert_eq!(
        (looped.standing().finished, looped.standing().waits),
        (0, 1)
    );
    assert_eq!(
        pause(step(&mut looped, overload("more"))).1,
        PauseReason::Crash
    );
    assert_eq!(
        (looped.standing().finished, looped.standing().waits),
        (1, 0)
    );
    let no_room = IterationOutcome {
        reason: Reason::StoreError,
        ..overload("more")
    };
    assert_eq!(
        pause(step(&mut looped, no_room)).1,
        PauseReason::Overload,
        "a machine without room is waited for"
    );
    assert_eq!(
        step(&mut looped, judged(Reason::StoreError, "more")),
        LoopAction::End(LoopEnd::Verdict)
    );
}

#[test]
fn overloaded_service_is_awaited_like_a_usage_limit() {
    let mut looped = looping(limits());
    let overload = || IterationOutcome {
        overloaded: true,
        crash: Some("529".into()),
        ..judged(Reason::Unfinished, "at first")
    };
    for wait in 1..=72 {
        assert_eq!(
            pause(step(&mut looped, overload())).1,
            PauseReason::Overload,
            "wait {wait} of at most five minutes each"
        );
    }
    assert_eq!(
        step(&mut looped, overload()),
        LoopAction::End(LoopEnd::OverloadTooLong)
    );
}

#[test]
fn overload_pauses_together_respect_the_longest_wait() {
    let overload = || {
        LoopEvent::Judged(Box::new(IterationOutcome {
            overloaded: true,
            ..judged(Reason::Unfinished, "at first")
        }))
    };
    let policy = |max_wait| LoopPolicy {
        limits: limits(),
        no_progress: 3,
        max_wait: Duration::from_secs(max_wait),
        agents: Vec::new(),
    };
    let standing = || LoopStanding {
        work: Some("at first".into()),
        ..LoopStanding::default()
    };
    let mut never = LoopMachine::new(policy(0), standing());
    assert_eq!(
        never.step(now(), Duration::ZERO, overload()),
        LoopAction::End(LoopEnd::OverloadTooLong)
    );
    let mut looped = LoopMachine::new(policy(400), standing());
    let mut waits = Vec::new();
    let mut at = 0;
    while let LoopAction::Pause {
        length: PauseLength::Backoff { at_most, .. },
        ..
    } = looped.step(after(at), Duration::ZERO, overload())
    {
        waits.push(at_most.as_secs());
        at += i64::try_from(at_most.as_secs()).expect("short");
        assert_eq!(
            looped.step(after(at), Duration::ZERO, LoopEvent::PauseOver),
            LoopAction::Iterate { number: 1 }
        );
    }
    assert_eq!(waits, [300, 100]);
    // An iteration that ended in between restarts the count.
    let worked = LoopEvent::Judged(Box::new(judged(Reason::Unfinished, "more")));
    assert_eq!(
        looped.step(after(at), Duration::ZERO, worked),
        LoopAction::Iterate { number: 2 }
    );
    let again = IterationOutcome {
        overloaded: true,
        ..judged(Reason::Unfinished, "more")
    };
    assert_eq!(
        pause(looped.step(
            after(at),
            Duration::ZERO,
            LoopEvent::Judged(Box::new(again))
        ))
        .1,
        PauseReason::Overload
    );
}

#[test]
fn pause_never_exceeds_time_budget_or_deadline() {
    let limit = |retry_at| {
        LoopEvent::Judged(Box::new(IterationOutcome {
            retry_at,
            ..judged(Reason::RateLimited, "at first")
        }))
    };
    let overload = || {
        LoopEvent::Judged(Box::new(IterationOutcome {
            overloaded: true,
            ..judged(Reason::Unfinished, "at first")
        }))
    };
    let seconds = Duration::from_secs;
    let wall = || Limits {
        max_wall: Some(seconds(100)),
        ..limits()
    };
    assert_eq!(
        stopped(&looping(wall()).step(now(), seconds(10), limit(None))),
        Some(Reason::BudgetExhausted)
    );
    assert_eq!(
        stopped(&looping(wall()).step(now(), seconds(10), limit(Some(after(120))))),
        Some(Reason::BudgetExhausted)
    );
    let short = looping(wall()).step(now(), seconds(10), limit(Some(after(60))));
    assert_eq!(
        pause(short),
        (PauseLength::Until(after(65)), PauseReason::UsageLimit),
        "it ends in time"
    );
    for (limits, reason) in [
        (wall(), Reason::BudgetExhausted),
        (
            Limits {
                deadline: Some(after(90)),
                ..limits()
            },
            Reason::DeadlineExceeded,
        ),
    ] {
        let mut looped = looping(limits);
        let (length, _) = pause(looped.step(now(), seconds(10), overload()));
        assert!(
            matches!(length, PauseLength::Backoff { at_most, .. } if at_most == seconds(90)),
            "{length:?}"
        );
        assert_eq!(
            stopped(&looped.step(after(90), seconds(100), LoopEvent::PauseOver)),
            Some(reason)
        );
    }
}

#[test]
fn background_work_is_rechecked_without_a_session() {
    let mut looped = looping(limits());
    assert_eq!(
        pause(step(&mut looped, judged(Reason::BackgroundWork, "x"))),
        (PauseLength::Until(after(30)), PauseReason::BackgroundWork)
    );
    assert_eq!(
        looped.step(after(30), HOUR, LoopEvent::PauseOver),
        LoopAction::JudgeAgain
    );
    assert_eq!(
        pause(step(&mut looped, judged(Reason::BackgroundWork, "x"))).0,
        PauseLength::Until(after(60))
    );
    assert_eq!(
        step(&mut looped, judged(Reason::NewCommits, "x")),
        LoopAction::End(LoopEnd::Verdict)
    );
    let until = |seconds: i64| {
        let outcome = IterationOutcome {
            retry_at: Some(after(seconds)),
            ..judged(Reason::BackgroundWork, "x")
        };
        pause(step(&mut looping(limits()), outcome)).0
    };
    assert_eq!(
        until(100),
        PauseLength::Until(after(100)),
        "it says itself when it ends"
    );
    assert_eq!(
        [until(0), until(-100)],
        [PauseLength::Until(after(30)); 2],
        "that time is over"
    );
}

#[test]
fn no_progress_speaks_before_the_breaker() {
    for (work, end) in [
        ("at first", LoopEnd::NoProgress { iterations: 3 }),
        ("more", LoopEnd::BreakerOpen),
    ] {
        let mut looped = looping(limits());
        for number in 2..=3 {
            assert_eq!(
                step(&mut looped, judged(Reason::MaxProbes, "at first")),
                LoopAction::Iterate { number }
            );
        }
        let last = IterationOutcome {
            breaker_open: true,
            ..judged(Reason::MaxProbes, work)
        };
        assert_eq!(step(&mut looped, last), LoopAction::End(end));
    }
}

fn any_outcome() -> impl Strategy<Value = IterationOutcome> {
    let retry = prop::option::of((-100..100_000_i64).prop_map(after));
    (
        prop::sample::select(Reason::ALL.to_vec()),
        retry,
        any::<[bool; 3]>(),
        prop::option::of("[ab]"),
        0..50_u64,
    )
        .prop_map(
            |(reason, retry_at, [crash, overloaded, breaker_open], work, tokens)| {
                IterationOutcome {
                    reason,
                    retry_at,
                    of_agent: true,
                    unasked: false,
                    crash: crash.then(|| "exit code 1".into()),
                    overloaded,
                    breaker_open: breaker_open && reason == Reason::MaxProbes,
                    work,
                    spent: SpentUsage {
                        tokens,
                        ..SpentUsage::default()
                    },
                }
            },
        )
}

proptest! {
    #[test]
    fn whatever_happens_a_loop_ends_within_its_limits(outcomes in prop::collection::vec(any_outcome(), 1..60), at_most in 1..6_u32) {
        let limits = Limits { max_iterations: at_most, max_total_tokens: Some(200), deadline: Some(after(50_000)), ..limits() };
        let mut looped = looping(limits);
        // Between two iterations that end lies at most one wait for each 300 s of `max_wait`: more than the 20 of any other kind.
        let between_two = 6 * 3600 / 300 + 1;
        let (mut at, mut event, mut sessions, mut spent) = (now(), LoopEvent::Begin, 0_u32, 0_u64);
        let mut outcomes = outcomes.into_iter().cycle();
        loop {
            let action = looped.step(at, Duration::ZERO, event);
            match action {
                LoopAction::Iterate { number } => {
                    prop_assert!(number <= at_most && at < after(50_000) && spent < 200);
                    sessions += 1;
                    let outcome = outcomes.next().unwrap();
                    spent += outcome.spent.tokens;
                    event = LoopEvent::Judged(Box::new(outcome));
                }
                LoopAction::JudgeAgain => event = LoopEvent::Judged(Box::new(IterationOutcome { spent: SpentUsage::default(), ..outcomes.next().unwrap() })),
                LoopAction::Pause { length, .. } => {
                    at = match length {
                        PauseLength::For(length) => at + SignedDuration::try_from(length).unwrap(),
                        PauseLength::Until(until) => until,
                        PauseLength::Backoff { .. } => at + SignedDuration::from_secs(1),
                    };
                    event = LoopEvent::PauseOver;
                }
                LoopAction::End(_) => break,
            }
            prop_assert!(sessions <= at_most * between_two);
        }
    }
}
