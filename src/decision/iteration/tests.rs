//! Tables and properties of the loop's state machine, and of the verdicts that it ends with.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::ending::{is_over, verdict};
use super::next::{Action, End, Event, Length, Loop, Outcome, PauseFor, Policy};
use super::standing::Standing;
use crate::config::settings::{Limits, Settings};
use crate::decision::evidence::Degraded;
use crate::decision::termination::Spent;
use crate::decision::verdict::{Reason, Status, Verdict};

const HOUR: Duration = Duration::from_secs(3600);

fn now() -> Timestamp {
    "2030-01-31T18:00:00Z".parse().expect("an instant")
}

fn after(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

fn limits() -> Limits {
    Limits { max_iterations: 5, cooldown: Duration::ZERO, ..Settings::default().limits }
}

fn looping(limits: Limits) -> Loop {
    Loop::new(Policy { limits, no_progress: 3, max_wait: 6 * HOUR }, Standing { work: Some("at first".into()), ..Standing::default() })
}

fn judged(reason: Reason, work: &str) -> Outcome {
    Outcome {
        reason,
        retry_at: None,
        crash: None,
        overloaded: false,
        breaker_open: false,
        work: Some(work.into()),
        spent: Spent::default(),
    }
}

fn step(looped: &mut Loop, outcome: Outcome) -> Action {
    looped.step(now(), Duration::ZERO, Event::Judged(Box::new(outcome)))
}

/// Takes the loop through verdicts, each with other work than the one before.
fn through(looped: &mut Loop, reasons: &[Reason]) -> Action {
    let mut action = looped.step(now(), Duration::ZERO, Event::Begin);
    for (i, reason) in reasons.iter().enumerate() {
        assert_eq!(action, Action::Iterate { number: u32::try_from(i).unwrap() + 1 });
        action = step(looped, judged(*reason, &format!("work {i}")));
    }
    action
}

fn pause(action: Action) -> (Length, PauseFor) {
    match action {
        Action::Pause { length, why } => (length, why),
        other => panic!("no pause: {other:?}"),
    }
}

fn stopped(action: &Action) -> Option<Reason> {
    match action {
        Action::End(End::Stop(stop)) => Some(stop.reason),
        _ => None,
    }
}

#[test]
fn each_verdict_ends_the_loop_or_goes_on() {
    for reason in Reason::ALL {
        let action = through(&mut looping(limits()), &[*reason]);
        let expected = match reason.status() {
            Status::Incomplete | Status::Timeout => Action::Iterate { number: 2 },
            Status::Waiting if [Reason::RateLimited, Reason::BackgroundWork].contains(reason) => {
                assert!(matches!(action, Action::Pause { .. }), "{reason:?}");
                continue;
            }
            _ => Action::End(End::Verdict),
        };
        assert_eq!(action, expected, "{reason:?}");
    }
}

#[test]
fn done_at_the_third_iteration_is_done_also_where_three_are_all() {
    let course = [Reason::ChecksUnmet, Reason::ChecksUnmet, Reason::ChecksPassed];
    assert_eq!(through(&mut looping(limits()), &course), Action::End(End::Verdict));
    assert_eq!(through(&mut looping(Limits { max_iterations: 3, ..limits() }), &course), Action::End(End::Verdict));
}

#[test]
fn the_cap_is_reached_after_the_last_iteration_and_no_success() {
    let mut looped = looping(Limits { max_iterations: 2, ..limits() });
    assert_eq!(stopped(&through(&mut looped, &[Reason::ChecksUnmet, Reason::Working])), Some(Reason::MaxIterations));
    assert_eq!(looped.standing().finished, 2);
}

#[test]
fn the_same_uncommitted_work_for_the_third_time_ends_it_before_the_fourth_session() {
    let mut looped = looping(Limits { max_iterations: 1000, ..limits() });
    assert_eq!(looped.step(now(), Duration::ZERO, Event::Begin), Action::Iterate { number: 1 });
    assert_eq!(step(&mut looped, judged(Reason::ChecksUnmet, "the diff")), Action::Iterate { number: 2 });
    assert_eq!(step(&mut looped, judged(Reason::ChecksUnmet, "the diff")), Action::Iterate { number: 3 });
    assert_eq!(step(&mut looped, judged(Reason::ChecksUnmet, "the diff")), Action::End(End::NoProgress { iterations: 3 }));
}

#[test]
fn sessions_that_do_nothing_at_all_are_no_progress_either_and_work_in_between_is() {
    let mut looped = looping(limits());
    for (work, goes_on) in [("at first", true), ("at first", true), ("other", true), ("other", true), ("other", false)] {
        let action = step(&mut looped, judged(Reason::Working, work));
        assert_eq!(matches!(action, Action::Iterate { .. }), goes_on, "{work}: {action:?}");
    }
}

#[test]
fn work_that_could_not_be_read_is_never_the_same() {
    let mut looped = looping(Limits { max_iterations: 100, ..limits() });
    for number in 2..20 {
        let action = step(&mut looped, Outcome { work: None, ..judged(Reason::Working, "") });
        assert_eq!(action, Action::Iterate { number });
    }
}

#[test]
fn a_usage_limit_is_waited_for_and_is_no_iteration() {
    let mut looped = looping(limits());
    let limit = |seconds: i64| Outcome { retry_at: Some(after(seconds)), ..judged(Reason::RateLimited, "at first") };
    assert_eq!(pause(step(&mut looped, limit(3600))), (Length::Until(after(3605)), PauseFor::UsageLimit));
    assert_eq!(looped.step(after(3605), HOUR, Event::PauseOver), Action::Iterate { number: 1 });
    assert_eq!(looped.standing().finished, 0);
    assert_eq!(step(&mut looped, limit(6 * 3600 + 60)), Action::End(End::LimitTooLong));
}

#[test]
fn a_usage_limit_that_does_not_tell_its_end_is_asked_again_at_growing_distances() {
    let mut looped = looping(limits());
    let limit = || judged(Reason::RateLimited, "at first");
    let waits: Vec<Length> = (0..3).map(|_| pause(step(&mut looped, limit())).0).collect();
    assert_eq!(waits, [300, 600, 1200].map(|seconds| Length::Until(after(seconds))));
    let past = Outcome { retry_at: Some(after(-60)), ..limit() };
    assert_eq!(pause(step(&mut looped, past)).0, Length::Until(after(2400)));
    let last = (0..20).map(|_| step(&mut looped, limit())).last();
    assert_eq!(last, Some(Action::End(End::WaitedInVain { waits: 20 })));
}

#[test]
fn nobody_waits_for_what_lies_behind_the_deadline() {
    let mut looped = looping(Limits { deadline: Some(after(1800)), ..limits() });
    let limit = Outcome { retry_at: Some(after(3600)), ..judged(Reason::RateLimited, "x") };
    assert_eq!(stopped(&step(&mut looped, limit)), Some(Reason::DeadlineExceeded));
    let mut slow = looping(Limits { deadline: Some(after(10)), cooldown: HOUR, ..limits() });
    assert_eq!(stopped(&step(&mut slow, judged(Reason::Working, "x"))), Some(Reason::DeadlineExceeded));
}

#[test]
fn a_spent_budget_never_reads_as_success() {
    for reason in [Reason::NewCommits, Reason::ChecksPassed, Reason::Working, Reason::RateLimited] {
        let mut looped = looping(Limits { max_cost_usd: Some(1.0), ..limits() });
        let outcome = Outcome { spent: Spent { cost_usd: 1.5, ..Spent::default() }, ..judged(reason, "x") };
        assert_eq!(stopped(&step(&mut looped, outcome)), Some(Reason::BudgetExhausted), "{reason:?}");
    }
    let mut looped = looping(Limits { max_wall: Some(HOUR), ..limits() });
    let late = looped.step(now(), HOUR, Event::Judged(Box::new(judged(Reason::NewCommits, "x"))));
    assert_eq!(stopped(&late), Some(Reason::BudgetExhausted), "the time of the whole loop counts");
}

#[test]
fn what_sessions_spend_adds_up() {
    let mut looped = looping(Limits { max_total_tokens: Some(100), max_iterations: 9, ..limits() });
    let outcome =
        |work: &str| Outcome { spent: Spent { tokens: 40, wall_seconds: 9.0, ..Spent::default() }, ..judged(Reason::Working, work) };
    assert_eq!(step(&mut looped, outcome("a")), Action::Iterate { number: 2 });
    assert_eq!(step(&mut looped, outcome("b")), Action::Iterate { number: 3 });
    assert!(looped.standing().spent.wall_seconds < 0.1, "the loop has its own clock");
    assert_eq!(stopped(&step(&mut looped, outcome("c"))), Some(Reason::BudgetExhausted));
}

#[test]
fn a_crash_is_an_iteration_and_the_next_one_comes_later_each_time() {
    let mut looped = looping(limits());
    let crash = |work: &str| Outcome { crash: Some("exit code 1".into()), ..judged(Reason::Working, work) };
    let attempt = |action| match pause(action) {
        (Length::Backoff { attempt, .. }, PauseFor::Crash) => attempt,
        other => panic!("{other:?}"),
    };
    assert_eq!(attempt(step(&mut looped, crash("a"))), 1);
    assert_eq!(attempt(step(&mut looped, crash("b"))), 2);
    assert_eq!(looped.standing().finished, 2);
    assert_eq!(step(&mut looped, judged(Reason::Working, "c")), Action::Iterate { number: 4 });
    assert_eq!(attempt(step(&mut looped, crash("d"))), 1);
    assert_eq!(stopped(&step(&mut looped, crash("e"))), Some(Reason::MaxIterations));
}

#[test]
fn a_session_that_only_met_an_overload_is_no_iteration_and_one_that_worked_is() {
    let mut looped = looping(limits());
    let overload = |work: &str| Outcome { overloaded: true, crash: Some("529".into()), ..judged(Reason::Working, work) };
    assert_eq!(pause(step(&mut looped, overload("at first"))).1, PauseFor::Overload);
    assert_eq!((looped.standing().finished, looped.standing().waits), (0, 1));
    assert_eq!(pause(step(&mut looped, overload("more"))).1, PauseFor::Crash);
    assert_eq!((looped.standing().finished, looped.standing().waits), (1, 0));
    let no_room = Outcome { reason: Reason::StoreError, ..overload("more") };
    assert_eq!(pause(step(&mut looped, no_room)).1, PauseFor::Overload, "a machine without room is waited for");
    assert_eq!(step(&mut looped, judged(Reason::StoreError, "more")), Action::End(End::Verdict));
}

#[test]
fn a_service_without_room_is_waited_for_as_long_as_a_usage_limit() {
    let mut looped = looping(limits());
    let overload = || Outcome { overloaded: true, crash: Some("529".into()), ..judged(Reason::Working, "at first") };
    for wait in 1..=72 {
        assert_eq!(pause(step(&mut looped, overload())).1, PauseFor::Overload, "wait {wait} of at most five minutes each");
    }
    assert_eq!(step(&mut looped, overload()), Action::End(End::WaitedInVain { waits: 72 }));
}

#[test]
fn background_work_is_looked_at_again_without_a_session() {
    let mut looped = looping(limits());
    assert_eq!(pause(step(&mut looped, judged(Reason::BackgroundWork, "x"))), (Length::Until(after(30)), PauseFor::BackgroundWork));
    assert_eq!(looped.step(after(30), HOUR, Event::PauseOver), Action::JudgeAgain);
    assert_eq!(pause(step(&mut looped, judged(Reason::BackgroundWork, "x"))).0, Length::Until(after(60)));
    assert_eq!(step(&mut looped, judged(Reason::NewCommits, "x")), Action::End(End::Verdict));
}

#[test]
fn an_open_breaker_ends_it_and_is_named_rather_than_the_lack_of_progress() {
    let mut looped = looping(limits());
    for number in 2..=3 {
        assert_eq!(step(&mut looped, judged(Reason::MaxProbes, "at first")), Action::Iterate { number });
    }
    let last = Outcome { breaker_open: true, ..judged(Reason::MaxProbes, "at first") };
    assert_eq!(step(&mut looped, last), Action::End(End::BreakerOpen));
}

#[test]
fn the_verdict_of_a_loop_keeps_the_facts_and_names_its_own_reason() {
    let unmet = Verdict { feedback: Some("write it".into()), ..Verdict::new(Reason::ChecksUnmet, "a check is not met") };
    let end = End::NoProgress { iterations: 3 };
    let found = verdict(&end, Some(unmet.clone()));
    assert_eq!((found.reason, found.feedback.as_deref()), (Reason::MaxIterations, Some("write it")));
    assert!(found.message.starts_with("no progress: 3 iterations in a row"), "{}", found.message);
    assert!(found.message.ends_with("the last verdict: a check is not met"), "{}", found.message);
    assert!(matches!(&found.degraded[..], [Degraded { code: "no_progress", .. }]));
    assert!(is_over(&end, &found));
    assert_eq!(verdict(&End::Verdict, Some(unmet.clone())), unmet);
    let limit = verdict(&End::LimitTooLong, Some(Verdict { retry_at: Some(now()), ..Verdict::new(Reason::RateLimited, "limit") }));
    assert_eq!((limit.reason, limit.retry_at), (Reason::RateLimited, Some(now())));
    assert!(!is_over(&End::LimitTooLong, &limit));
}

#[test]
fn what_was_cut_short_goes_on_and_what_was_decided_begins_anew() {
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
        assert_eq!(is_over(&End::Verdict, &Verdict::new(reason, "")), over, "{reason:?}");
    }
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let retry = prop::option::of((-100..100_000_i64).prop_map(after));
    (prop::sample::select(Reason::ALL.to_vec()), retry, any::<[bool; 3]>(), prop::option::of("[ab]"), 0..50_u64).prop_map(
        |(reason, retry_at, [crash, overloaded, breaker_open], work, tokens)| Outcome {
            reason,
            retry_at,
            crash: crash.then(|| "exit code 1".into()),
            overloaded,
            breaker_open: breaker_open && reason == Reason::MaxProbes,
            work,
            spent: Spent { tokens, ..Spent::default() },
        },
    )
}

proptest! {
    #[test]
    fn whatever_happens_a_loop_ends_within_its_limits(outcomes in prop::collection::vec(any_outcome(), 1..60), at_most in 1..6_u32) {
        let limits = Limits { max_iterations: at_most, max_total_tokens: Some(200), deadline: Some(after(50_000)), ..limits() };
        let mut looped = looping(limits);
        let (mut at, mut event, mut sessions, mut spent) = (now(), Event::Begin, 0_u32, 0_u64);
        let mut outcomes = outcomes.into_iter().cycle();
        loop {
            let action = looped.step(at, Duration::ZERO, event);
            match action {
                Action::Iterate { number } => {
                    prop_assert!(number <= at_most && at < after(50_000) && spent < 200);
                    sessions += 1;
                    let outcome = outcomes.next().unwrap();
                    spent += outcome.spent.tokens;
                    event = Event::Judged(Box::new(outcome));
                }
                Action::JudgeAgain => event = Event::Judged(Box::new(Outcome { spent: Spent::default(), ..outcomes.next().unwrap() })),
                Action::Pause { length, .. } => {
                    at = match length {
                        Length::For(length) => at + SignedDuration::try_from(length).unwrap(),
                        Length::Until(until) => until,
                        Length::Backoff { .. } => at + SignedDuration::from_secs(1),
                    };
                    event = Event::PauseOver;
                }
                Action::End(_) => break,
            }
            prop_assert!(sessions <= at_most * 21);
        }
    }
}
