//! The promise of the design, as a quick run of `examples/false_abort` shows it: good work is not aborted, and none is lost.

#[allow(
    dead_code,
    reason = "the example reports more than these tests look at"
)]
#[path = "../../examples/false_abort/simulation/mod.rs"]
mod simulation;

use simulation::policy::Policy;
use simulation::rates::Rates;
use simulation::tally::{Tally, play, quantile};

fn played(policy: Policy, rates: &Rates) -> Tally {
    play(policy, rates, 1, 10_000)
}

#[test]
fn good_work_is_aborted_in_under_one_percent() {
    let rates = Rates::read().unwrap();
    let [streak, ours] =
        [Policy::Streak, Policy::Ours].map(|policy| played(policy, &rates).false_percent());
    assert!(
        streak > 30.0 && ours < 1.0,
        "streak {streak} %, ours {ours} %"
    );
}

#[test]
fn work_survives_agents_that_discard_it() {
    let rates = Rates::read().unwrap();
    let [streak, original, ours] = Policy::ALL.map(|policy| played(policy, &rates));
    assert!(
        streak.lost > 0 && original.lost > 0,
        "the sessions must be such that work can be lost: {} {}",
        streak.lost,
        original.lost
    );
    assert_eq!(ours.lost, 0, "of {}", ours.work);
    assert!(ours.work > 10_000);
}

#[test]
fn stalls_stop_as_early_as_the_original_check() {
    let rates = Rates::read().unwrap();
    let [original, ours] =
        [Policy::Original, Policy::Ours].map(|policy| played(policy, &rates).stopped);
    assert!(
        ours.len() >= original.len() && ours.len() > 50,
        "{} of ours, {} of the original",
        ours.len(),
        original.len()
    );
    let (ours, original) = (
        quantile(&ours, 0.5).unwrap(),
        quantile(&original, 0.5).unwrap(),
    );
    assert!(ours <= original, "ours {ours} s, the original {original} s");
}

#[test]
fn sessions_average_less_than_half_a_question() {
    let asked = played(Policy::Ours, &Rates::read().unwrap()).probes_per_session();
    assert!(asked < 0.5, "{asked} questions per session");
}

/// The limits of the promise, so that nobody is surprised: a change of either is a change of the design, and of `docs/reliability.md`.
#[test]
fn documented_limits_of_the_promise_still_hold() {
    let rates = Rates::read().unwrap();
    let ours = played(Policy::Ours, &rates);
    assert!(
        !ours.hung.is_empty() && ours.capped == 0,
        "sessions that hang until their timeout come to nothing, and are strikes"
    );

    let mut unseen = rates;
    for change in [
        "background_minutes=20",
        "background_elsewhere=1",
        "waits_uncommitted=0",
    ] {
        unseen.set(change).unwrap();
    }
    let aborted = played(Policy::Ours, &unseen).false_percent();
    assert!(
        (1.0..5.0).contains(&aborted),
        "work that waits long for another machine looks like a stall: {aborted} %"
    );
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let rates = Rates::read().unwrap();
    assert_eq!(
        play(Policy::Ours, &rates, 7, 500),
        play(Policy::Ours, &rates, 7, 500)
    );
    assert_ne!(
        play(Policy::Ours, &rates, 7, 500),
        play(Policy::Ours, &rates, 8, 500)
    );
}

#[test]
fn doubled_rate_changes_alone_and_shares_stay_bounded() {
    let rates = Rates::read().unwrap();
    for name in Rates::NAMES {
        let doubled = rates.scaled(name, 2.0);
        let others = Rates::NAMES.iter().filter(|other| *other != name);
        assert!(doubled.value(name) > rates.value(name), "{name}");
        assert!(
            others
                .into_iter()
                .all(|other| doubled.value(other) == rates.value(other)),
            "{name}"
        );
        assert!(
            rates.value(name) >= 1.0 || doubled.value(name) <= 1.0,
            "{name}"
        );
    }
    assert!(Rates::read().unwrap().set("nothing=1").is_err());
}
