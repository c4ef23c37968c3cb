//! The exploration itself: a quick form over a few facts of each kind, and the long one over all of them, a part for each way to call the
//! judgement, by `scripts/nightly machine`.

use super::event_space::EventSpace;
use super::explorer::{ExplorationCount, explore};
use super::rules::RULES;
use super::setup_space::{CALLS, deep_setups, long_setups, quick_setups};

fn assert_rules_hold(count: &ExplorationCount) {
    let broken: Vec<String> = count
        .broken
        .iter()
        .map(|(rule, (first, times))| format!("{rule}\n{times} times, first:\n{first}"))
        .collect();
    assert!(
        broken.is_empty(),
        "{} rules are broken\n{}",
        broken.len(),
        broken.join("\n\n")
    );
}

/// `scripts/nightly machine` reads it.
fn print(count: &ExplorationCount) {
    println!("explored:");
    for (number, what) in [
        (u128::from(count.setups), "setups"),
        (u128::from(count.states), "states"),
        (u128::from(count.transitions), "transitions"),
        (u128::from(count.conclusions), "verdicts judged"),
        (count.sequences, "sequences"),
        (count.longest as u128, "events in the longest sequence"),
        (RULES.len() as u128, "rules"),
    ] {
        println!("  {number}  {what}");
    }
    println!("concluded:");
    count
        .reasons
        .iter()
        .for_each(|(reason, times)| println!("  {times}  {reason}"));
}

#[test]
fn every_rule_holds_in_every_explored_state() {
    let events = EventSpace::few();
    let mut count = ExplorationCount::default();
    for (setup, interrupts) in quick_setups() {
        explore(&setup, &events, interrupts, &mut count);
    }
    print(&count);
    assert_rules_hold(&count);
    assert!(
        count.states > 10_000 && count.reasons.len() > 25,
        "{count:?}"
    );
}

fn explore_call(name: &str) {
    let call = CALLS
        .iter()
        .find(|call| call.0 == name)
        .expect("a call of the list");
    let mut count = ExplorationCount::default();
    for (events, setups) in [
        (EventSpace::whole(), long_setups(call)),
        (EventSpace::few(), deep_setups(call)),
    ] {
        setups
            .iter()
            .for_each(|(setup, interrupts)| explore(setup, &events, *interrupts, &mut count));
    }
    print(&count);
    assert_rules_hold(&count);
}

macro_rules! long_parts {
    ($($test:ident: $call:literal;)*) => {
        const LONG_PARTS: &[&str] = &[$($call),*];

        $(#[test]
        #[ignore = "takes minutes: scripts/nightly machine"]
        fn $test() {
            explore_call($call);
        })*
    };
}

long_parts! {
    long_check: "check";
    long_check_over: "check after a recorded end";
    long_check_survivors: "check of processes that run on";
    long_once: "--once";
    long_once_over: "--once after a recorded end";
    long_busy: "a busy session";
    long_once_idle: "--once, an idle session";
    long_no_probe: "--no-probe";
    long_sweep_no_probe: "sweep --no-probe";
    long_run: "run";
    long_run_no_agent: "run without an agent";
    long_sweep_open_breaker: "sweep under an open breaker";
    long_run_survivors: "run with survivors";
    long_run_refused: "run, refused tools";
    long_run_cut_short: "run, cut short";
    long_run_unconfirmed: "run, cut short by nobody knows what";
    long_run_timeout: "run, timeout";
    long_run_idle: "run, idle";
    long_run_limit: "run, usage limit";
    long_run_budget: "run, budget";
    long_run_login: "run, no login";
    long_run_left_work: "run, work left running";
    long_run_not_started: "run, not started";
    long_run_no_room: "run, no room to start";
    long_run_not_kept: "run, not kept";
    long_criteria: "criteria with a baseline";
    long_criteria_alone: "criteria alone";
}

#[test]
fn every_judgement_call_has_a_long_part() {
    let calls: Vec<&str> = CALLS.iter().map(|call| call.0).collect();
    assert_eq!(LONG_PARTS, calls);
}
