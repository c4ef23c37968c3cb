//! Tables and properties of the circuit breaker.

use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use super::{Breaker, BreakerAdmission, BreakerInput, BreakerState};
use crate::config::settings::BreakerSettings;
use watchdog_facts::verdict::{Reason, Verdict};

const COOLDOWN: i64 = 1800;

fn settings(limit: u32) -> BreakerSettings {
    BreakerSettings {
        limit,
        cooldown: Duration::from_secs(COOLDOWN as u64),
    }
}

/// The cooldown after so many strikes: doubled for each one beyond the limit, up to a day.
fn wait(strikes: u32, limit: u32) -> i64 {
    (0..strikes.saturating_sub(limit)).fold(COOLDOWN, |wait, _| (2 * wait).min(86_400))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).expect("a plain instant")
}

fn strike() -> BreakerInput {
    BreakerInput::Strike {
        why: "5 probes, no progress".into(),
    }
}

fn opened(limit: u32) -> Breaker {
    let mut breaker = Breaker::default();
    for _ in 0..limit {
        breaker.record(at(0), &settings(limit), strike());
    }
    breaker
}

fn state(breaker: &Breaker, second: i64) -> BreakerState {
    breaker.state(at(second), &settings(3)).state
}

/// One case: results in order, the streak after each, and the 1-based result after which it is open.
fn check(results: &[&str], streaks: &[u32], abort_at: Option<usize>) {
    let mut breaker = Breaker::default();
    let mut aborted = None;
    for (n, (result, streak)) in results.iter().zip(streaks).enumerate() {
        let outcome = match *result {
            "timeout" => strike(),
            "rescued" => BreakerInput::Complete,
            _ => BreakerInput::Neutral,
        };
        breaker.record(at(n as i64 * 60), &settings(3), outcome);
        assert_eq!(
            breaker.strikes(),
            *streak,
            "after result {} of {results:?}",
            n + 1
        );
        if aborted.is_none()
            && breaker.state(at(n as i64 * 60), &settings(3)).state == BreakerState::Open
        {
            aborted = Some(n + 1);
        }
    }
    assert_eq!(results.len(), streaks.len());
    assert_eq!(aborted, abort_at, "{results:?}");
}

#[test]
fn only_genuine_timeouts_count_and_the_third_opens() {
    check(
        &["timeout", "probe_error", "timeout", "timeout"],
        &[1, 1, 2, 3],
        Some(4),
    );
    check(&["timeout", "waiting", "timeout"], &[1, 1, 2], None);
    check(&["timeout", "timeout"], &[1, 2], None);
    check(&["timeout", "timeout", "rescued"], &[1, 2, 0], None);
    check(&["timeout", "timeout", "timeout"], &[1, 2, 3], Some(3));
}

#[test]
fn open_breaker_names_start_end_and_cause() {
    let mut breaker = opened(3);
    let view = breaker.state(at(10), &settings(3));
    assert_eq!(
        (view.state, view.strikes, view.limit),
        (BreakerState::Open, 3, Some(3))
    );
    assert_eq!(
        (view.since, view.open_until),
        (Some(at(0)), Some(at(COOLDOWN)))
    );
    assert_eq!(view.why.as_deref(), Some("5 probes, no progress"));
    let BreakerAdmission::Refused {
        until,
        since,
        strikes,
        trial_under_way,
        ..
    } = breaker.admit(at(10), &settings(3))
    else {
        panic!("an open breaker admitted work");
    };
    assert_eq!(
        (until, since, strikes, trial_under_way),
        (at(COOLDOWN), at(0), 3, false)
    );
}

#[test]
fn after_the_cooldown_exactly_one_trial_is_admitted() {
    let mut breaker = opened(3);
    assert_eq!(state(&breaker, COOLDOWN - 1), BreakerState::Open);
    assert_eq!(state(&breaker, COOLDOWN), BreakerState::HalfOpen);
    assert_eq!(
        breaker.admit(at(COOLDOWN), &settings(3)),
        BreakerAdmission::Trial
    );
    let BreakerAdmission::Refused {
        until,
        trial_under_way: true,
        ..
    } = breaker.admit(at(COOLDOWN + 5), &settings(3))
    else {
        panic!("a second trial was admitted beside the first");
    };
    assert_eq!(until, at(2 * COOLDOWN));
}

#[test]
fn trial_closes_or_reopens_unless_it_is_neutral() {
    let half_open = || {
        let mut breaker = opened(3);
        assert_eq!(
            breaker.admit(at(COOLDOWN), &settings(3)),
            BreakerAdmission::Trial
        );
        breaker
    };
    let mut breaker = half_open();
    breaker.record(at(COOLDOWN + 9), &settings(3), BreakerInput::Complete);
    assert_eq!(breaker, Breaker::default());

    let mut breaker = half_open();
    breaker.record(at(COOLDOWN + 9), &settings(3), strike());
    let view = breaker.state(at(COOLDOWN + 9), &settings(3));
    assert_eq!(
        (view.state, view.strikes, view.open_until),
        (BreakerState::Open, 4, Some(at(COOLDOWN + 9 + 2 * COOLDOWN)))
    );

    let mut breaker = half_open();
    breaker.record(at(COOLDOWN + 9), &settings(3), BreakerInput::Neutral);
    assert_eq!(state(&breaker, COOLDOWN + 9), BreakerState::HalfOpen);
    assert_eq!(
        breaker.admit(at(COOLDOWN + 9), &settings(3)),
        BreakerAdmission::Trial
    );
}

#[test]
fn cooldown_doubles_per_failed_trial_to_a_day() {
    let mut breaker = opened(3);
    let (mut now, mut waits) = (0, Vec::new());
    for _ in 0..8 {
        let until = breaker
            .state(at(now), &settings(3))
            .open_until
            .expect("it is open");
        waits.push((until.as_second() - at(now).as_second()) / COOLDOWN);
        now = until.as_second() - at(0).as_second();
        assert_eq!(
            breaker.admit(at(now), &settings(3)),
            BreakerAdmission::Trial
        );
        breaker.record(at(now), &settings(3), strike());
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 48, 48]);
}

#[test]
fn killed_trial_does_not_wedge_the_breaker() {
    let mut breaker = opened(3);
    assert_eq!(
        breaker.admit(at(COOLDOWN), &settings(3)),
        BreakerAdmission::Trial
    );
    assert_eq!(
        breaker.admit(at(2 * COOLDOWN), &settings(3)),
        BreakerAdmission::Trial,
        "its slot expires after another cooldown"
    );
    breaker.release_trial();
    assert_eq!(
        breaker.admit(at(2 * COOLDOWN + 1), &settings(3)),
        BreakerAdmission::Trial,
        "the lock's holder knows that it is gone"
    );
}

#[test]
fn clock_set_back_costs_at_most_one_cooldown() {
    let mut breaker = opened(3);
    let long_ago = -10 * 365 * 86_400;
    assert_eq!(
        breaker.state(at(long_ago), &settings(3)).open_until,
        Some(at(long_ago + COOLDOWN))
    );
    assert!(matches!(
        breaker.admit(at(long_ago), &settings(3)),
        BreakerAdmission::Refused { .. }
    ));
    assert_eq!(
        breaker.admit(at(long_ago + COOLDOWN), &settings(3)),
        BreakerAdmission::Trial
    );
    assert!(matches!(
        breaker.admit(at(2 * long_ago), &settings(3)),
        BreakerAdmission::Refused {
            trial_under_way: true,
            ..
        }
    ));
    assert_eq!(
        breaker.admit(at(2 * long_ago + COOLDOWN), &settings(3)),
        BreakerAdmission::Trial
    );
}

#[test]
fn limit_one_opens_immediately_and_zero_never() {
    assert_eq!(
        opened(1).state(at(0), &settings(1)).state,
        BreakerState::Open
    );
    let mut breaker = opened(3);
    assert_eq!(breaker.admit(at(1), &settings(0)), BreakerAdmission::Go);
    assert_eq!(
        breaker.state(at(1), &settings(0)).state,
        BreakerState::Closed
    );
    let mut breaker = Breaker::default();
    for _ in 0..100 {
        breaker.record(at(0), &settings(0), strike());
    }
    assert_eq!(
        (breaker.strikes(), breaker.admit(at(0), &settings(0))),
        (100, BreakerAdmission::Go)
    );
}

#[test]
fn each_state_has_its_own_word_in_json() {
    let words = [
        BreakerState::Closed,
        BreakerState::Open,
        BreakerState::HalfOpen,
    ]
    .map(BreakerState::as_str);
    assert_eq!(words, ["closed", "open", "half_open"]);
}

#[test]
fn verdict_closes_strikes_or_leaves_the_breaker() {
    let timeout = Verdict::new(
        Reason::MaxProbes,
        "5 probes, no progress; run it again later",
    );
    let complete = Verdict::new(Reason::NewCommits, "1 commit made since the baseline");
    assert_eq!(
        BreakerInput::from_verdict(&complete),
        BreakerInput::Complete
    );
    assert_eq!(
        BreakerInput::from_verdict(&timeout),
        BreakerInput::Neutral,
        "something moved"
    );
    let strike = Verdict {
        strike: true,
        ..timeout
    };
    assert_eq!(
        BreakerInput::from_verdict(&strike),
        BreakerInput::Strike {
            why: "5 probes, no progress".into()
        },
        "without the advice"
    );
}

#[derive(Debug, Clone)]
enum Step {
    Wait(i64),
    Admit,
    Strike,
    Complete,
    Neutral,
    Release,
}

/// The reference: a flat record of plain numbers, and rules written down a second time, from the contract.
#[derive(Debug, Default)]
struct Model {
    strikes: u32,
    opened_at: Option<i64>,
    trial_at: Option<i64>,
    half_open: bool,
}

impl Model {
    fn see(&mut self, now: i64, limit: u32) {
        self.opened_at = self.opened_at.map(|t| t.min(now));
        self.trial_at = self.trial_at.map(|t| t.min(now));
        if self
            .opened_at
            .is_some_and(|t| now - t >= wait(self.strikes, limit))
        {
            self.half_open = true;
        }
    }

    /// 0 = go, 1 = trial, 2 = refused.
    fn admit(&mut self, now: i64, limit: u32) -> u8 {
        self.see(now, limit);
        if self.opened_at.is_none() {
            return 0;
        }
        let slot_taken = self.trial_at.is_some_and(|t| now - t < COOLDOWN);
        if !self.half_open || slot_taken {
            return 2;
        }
        self.trial_at = Some(now);
        1
    }

    fn strike(&mut self, now: i64, limit: u32) {
        self.see(now, limit);
        self.strikes += 1;
        if self.half_open || (self.opened_at.is_none() && self.strikes >= limit) {
            *self = Model {
                strikes: self.strikes,
                opened_at: Some(now),
                trial_at: None,
                half_open: false,
            };
        }
    }
}

fn steps(backwards: bool) -> impl Strategy<Value = Vec<Step>> {
    let wait = if backwards {
        -4 * COOLDOWN..4 * COOLDOWN
    } else {
        0..2 * COOLDOWN
    };
    let step = prop_oneof![
        3 => wait.prop_map(Step::Wait),
        3 => Just(Step::Admit),
        4 => Just(Step::Strike),
        1 => Just(Step::Complete),
        2 => Just(Step::Neutral),
        1 => Just(Step::Release),
    ];
    prop::collection::vec(step, 0..60)
}

/// The property tests run 10,000 sequences each; they cost about a second together.
fn many() -> ProptestConfig {
    ProptestConfig {
        cases: 10_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(many())]

    #[test]
    fn every_sequence_agrees_with_the_reference(limit in 1u32..5, steps in steps(true)) {
        let settings = settings(limit);
        let (mut breaker, mut model, mut now) = (Breaker::default(), Model::default(), 0);
        for step in steps {
            match step {
                Step::Wait(seconds) => now += seconds,
                Step::Admit => {
                    let told = match breaker.admit(at(now), &settings) {
                        BreakerAdmission::Go => 0,
                        BreakerAdmission::Trial => 1,
                        BreakerAdmission::Refused { .. } => 2,
                    };
                    prop_assert_eq!(told, model.admit(now, limit));
                }
                Step::Strike => {
                    breaker.record(at(now), &settings, strike());
                    model.strike(now, limit);
                }
                Step::Complete => {
                    breaker.record(at(now), &settings, BreakerInput::Complete);
                    model = Model::default();
                }
                Step::Neutral => {
                    breaker.record(at(now), &settings, BreakerInput::Neutral);
                    model.see(now, limit);
                    model.trial_at = None;
                }
                Step::Release => {
                    breaker.release_trial();
                    model.trial_at = None;
                }
            }
            prop_assert_eq!(breaker.strikes(), model.strikes);
        }
    }

    #[test]
    fn breaker_opens_only_by_strikes_at_its_limit(limit in 1u32..5, steps in steps(false)) {
        let settings = settings(limit);
        let (mut breaker, mut now, mut since_complete) = (Breaker::default(), 0, 0);
        for step in steps {
            let before = breaker.clone();
            match step {
                Step::Wait(seconds) => now += seconds,
                Step::Admit => { let _ = breaker.admit(at(now), &settings); }
                Step::Release => breaker.release_trial(),
                Step::Neutral => breaker.record(at(now), &settings, BreakerInput::Neutral),
                Step::Complete => { breaker.record(at(now), &settings, BreakerInput::Complete); since_complete = 0; }
                Step::Strike => { breaker.record(at(now), &settings, strike()); since_complete += 1; }
            }
            prop_assert_eq!(breaker.strikes(), since_complete, "nothing but strikes and completions moves the count");
            let closed = |b: &Breaker| b.state(at(now), &settings).state == BreakerState::Closed;
            prop_assert_eq!(closed(&breaker), since_complete < limit, "from {:?}", before);
        }
    }

    #[test]
    fn breaker_admits_work_after_a_refusals_cooldown(limit in 0u32..5, steps in steps(true), jump in -9_000_000i64..9_000_000) {
        let settings = settings(limit);
        let (mut breaker, mut now) = (Breaker::default(), 0);
        for step in steps {
            match step {
                Step::Wait(seconds) => now += seconds,
                Step::Admit => { let _ = breaker.admit(at(now), &settings); }
                Step::Release => breaker.release_trial(),
                Step::Neutral => breaker.record(at(now), &settings, BreakerInput::Neutral),
                Step::Complete => breaker.record(at(now), &settings, BreakerInput::Complete),
                Step::Strike => breaker.record(at(now), &settings, strike()),
            }
        }
        now += jump;
        if let BreakerAdmission::Refused { until, .. } = breaker.admit(at(now), &settings) {
            prop_assert!(until > at(now) && until <= at(now + wait(breaker.strikes(), limit)));
            prop_assert!(matches!(breaker.admit(until, &settings), BreakerAdmission::Trial));
        }
    }

    #[test]
    fn no_instant_and_no_setting_makes_it_panic(
        instants in prop::collection::vec(prop_oneof![Just(Timestamp::MIN), Just(Timestamp::MAX), (-9i64..9).prop_map(at)], 1..20),
        limit in prop_oneof![Just(0), Just(1), Just(u32::MAX)],
        cooldown in prop_oneof![Just(Duration::ZERO), Just(Duration::MAX), Just(Duration::from_secs(1))],
    ) {
        let settings = BreakerSettings { limit, cooldown };
        let mut breaker = Breaker::Open { strikes: u32::MAX, since: Timestamp::MAX, why: String::new() };
        for now in instants {
            let _ = breaker.state(now, &settings);
            let _ = breaker.admit(now, &settings);
            breaker.record(now, &settings, strike());
        }
        prop_assert!(breaker.strikes() >= 1);
    }
}
