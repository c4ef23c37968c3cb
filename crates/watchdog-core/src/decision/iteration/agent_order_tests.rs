//! Tables and properties of the order of agents: who has the next session of a loop when limits are met.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::agent_order::{
    AgentChange, AgentChoice, AgentHold, AgentStanding, ChangeReason, HoldReason, RankedAgent,
    agent_change, choose_agent, standing_of,
};
use super::next::{
    IterationOutcome, LoopAction, LoopEnd, LoopEvent, LoopMachine, LoopPolicy, PauseLength,
    PauseReason,
};
use super::standing::LoopStanding;
use crate::config::settings::{ConfigSettings, Limits};
use crate::decision::termination::SpentUsage;
use watchdog_facts::verdict::Reason;

fn after(seconds: i64) -> Timestamp {
    let now: Timestamp = "2030-01-31T18:00:00Z".parse().expect("an instant");
    now + SignedDuration::from_secs(seconds)
}

fn ranked(names: &[&str]) -> Vec<RankedAgent> {
    names
        .iter()
        .map(|name| RankedAgent {
            name: (*name).to_owned(),
            max_cost_usd: None,
        })
        .collect()
}

fn held(name: &str, seconds: i64) -> AgentStanding {
    let hold = Some(AgentHold {
        until: after(seconds),
        why: HoldReason::UsageLimit,
    });
    AgentStanding {
        name: name.to_owned(),
        hold,
        ..AgentStanding::default()
    }
}

fn with(agents: Vec<RankedAgent>) -> LoopMachine {
    let limits = Limits {
        max_iterations: 50,
        cooldown: Duration::ZERO,
        ..ConfigSettings::default().limits
    };
    let policy = LoopPolicy {
        limits,
        no_progress: 0,
        max_wait: Duration::from_secs(6 * 3600),
        agents,
    };
    LoopMachine::new(
        policy,
        LoopStanding {
            work: Some("at first".into()),
            ..LoopStanding::default()
        },
    )
}

fn ended(reason: Reason, retry_at: Option<i64>) -> IterationOutcome {
    IterationOutcome {
        reason,
        retry_at: retry_at.map(after),
        of_agent: true,
        unasked: false,
        crash: None,
        overloaded: false,
        breaker_open: false,
        work: Some("at first".into()),
        spent: SpentUsage::default(),
    }
}

/// Begins the session that the machine asked for, and says whose it is.
fn begins(looped: &mut LoopMachine, action: &LoopAction) -> String {
    assert!(matches!(action, LoopAction::Iterate { .. }), "{action:?}");
    looped.session_begins();
    looped.standing().ran.clone().expect("an agent has it")
}

fn judged(looped: &mut LoopMachine, at: i64, outcome: IterationOutcome) -> LoopAction {
    looped.step(
        after(at),
        Duration::ZERO,
        LoopEvent::Judged(Box::new(outcome)),
    )
}

fn begun(looped: &mut LoopMachine) -> String {
    let action = looped.step(after(0), Duration::ZERO, LoopEvent::Begin);
    begins(looped, &action)
}

/// The pause for a usage limit that ends so many seconds after the begin.
fn limit_until(seconds: i64) -> LoopAction {
    LoopAction::Pause {
        length: PauseLength::Until(after(seconds)),
        why: PauseReason::UsageLimit,
    }
}

fn is_overload(action: &LoopAction) -> bool {
    matches!(
        action,
        LoopAction::Pause {
            why: PauseReason::Overload,
            ..
        }
    )
}

#[test]
fn first_unlimited_agent_runs_else_earliest_reset_waits() {
    let order = ranked(&["a", "b", "c"]);
    let hold = |seconds| {
        AgentChoice::Wait(AgentHold {
            until: after(seconds),
            why: HoldReason::UsageLimit,
        })
    };
    for (known, chosen) in [
        (vec![], AgentChoice::Agent(0)),
        (vec![held("a", 60)], AgentChoice::Agent(1)),
        (vec![held("b", 60)], AgentChoice::Agent(0)),
        (vec![held("a", 0)], AgentChoice::Agent(0)),
        (vec![held("a", 60), held("b", 60)], AgentChoice::Agent(2)),
        (vec![held("a", 90), held("b", 60), held("c", 70)], hold(60)),
        (vec![held("another", 60)], AgentChoice::Agent(0)),
    ] {
        assert_eq!(choose_agent(after(0), &order, &known), chosen, "{known:?}");
    }
    assert_eq!(choose_agent(after(0), &[], &[]), AgentChoice::Spent);
}

#[test]
fn agents_in_turn_at_limits_end_the_loop() {
    let mut looped = with(ranked(&["a", "b"]));
    begun(&mut looped);
    let mut sessions = 1;
    loop {
        // Each limit is over before the other agent's session is.
        let at = sessions * 60;
        match judged(&mut looped, at, ended(Reason::RateLimited, Some(at + 1))) {
            LoopAction::End(end) => {
                assert_eq!(end, LoopEnd::WaitedInVain { waits: 20 });
                break;
            }
            action => begins(&mut looped, &action),
        };
        sessions += 1;
    }
    assert_eq!(sessions, 41);
}

#[test]
fn agents_with_spent_budgets_get_no_session() {
    let order: Vec<RankedAgent> = ["a", "b"]
        .map(|name| RankedAgent {
            name: name.into(),
            max_cost_usd: Some(1.0),
        })
        .into_iter()
        .collect();
    let mut looped = with(order);
    let cost = |cost_usd| IterationOutcome {
        spent: SpentUsage {
            cost_usd,
            ..SpentUsage::default()
        },
        ..ended(Reason::Unfinished, None)
    };
    assert_eq!(begun(&mut looped), "a");
    let action = judged(&mut looped, 1, cost(0.5));
    assert_eq!(begins(&mut looped, &action), "a");
    let action = judged(&mut looped, 2, cost(0.5));
    assert_eq!(begins(&mut looped, &action), "b");
    let LoopAction::End(LoopEnd::AgentsSpent(stop)) = judged(&mut looped, 3, cost(2.0)) else {
        panic!("both are spent")
    };
    assert_eq!(stop.reason, Reason::BudgetExhausted);
    assert!(
        stop.why.starts_with("the budgets of a and b are spent"),
        "{}",
        stop.why
    );
    let of = |name: &str| {
        standing_of(&looped.standing().agents, name)
            .map(|agent| (agent.sessions, agent.spent.cost_usd))
    };
    assert_eq!(
        (of("a"), of("b")),
        (Some((2, 1.0)), Some((1, 2.0))),
        "each agent pays for its own sessions"
    );
    let mut alone = with(vec![RankedAgent {
        name: "a".into(),
        max_cost_usd: Some(1.0),
    }]);
    begun(&mut alone);
    let LoopAction::End(LoopEnd::AgentsSpent(stop)) = judged(&mut alone, 1, cost(2.0)) else {
        panic!("it is spent")
    };
    assert_eq!(stop.why, "the budget of a is spent (agents[].max_cost_usd)");
}

#[test]
fn only_agent_is_retried_after_its_limit() {
    let limit = || ended(Reason::RateLimited, Some(1000));
    let waits = limit_until(1005);
    let mut with_budget = with(vec![RankedAgent {
        name: "a".into(),
        max_cost_usd: Some(1.0),
    }]);
    begun(&mut with_budget);
    assert_eq!(judged(&mut with_budget, 10, limit()), waits);
    let mut alone = with(ranked(&["a"]));
    begun(&mut alone);
    assert_eq!(judged(&mut alone, 10, limit()), waits);
    assert_eq!(
        alone.standing().agents[0].hold,
        None,
        "nothing keeps the next start from asking it"
    );
    let standing = LoopStanding {
        agents: vec![held("a", 1000)],
        ..LoopStanding::default()
    };
    let mut again = LoopMachine::new(with(ranked(&["a"])).policy().clone(), standing);
    assert_eq!(begun(&mut again), "a");
}

#[test]
fn agent_budget_moves_work_on_until_all_spent() {
    let order = || {
        vec![
            RankedAgent {
                name: "a".into(),
                max_cost_usd: Some(1.0),
            },
            RankedAgent {
                name: "b".into(),
                max_cost_usd: None,
            },
        ]
    };
    let cut = |cost_usd| IterationOutcome {
        spent: SpentUsage {
            cost_usd,
            ..SpentUsage::default()
        },
        ..ended(Reason::BudgetExhausted, None)
    };
    let mut looped = with(order());
    begun(&mut looped);
    let action = judged(&mut looped, 1, cut(1.0));
    assert_eq!(begins(&mut looped, &action), "b");
    assert_eq!(
        judged(&mut looped, 2, cut(9.0)),
        LoopAction::End(LoopEnd::Verdict),
        "it has no budget of its own: the verdict is another's"
    );
    let mut looped = with(order());
    begun(&mut looped);
    assert_eq!(
        judged(&mut looped, 1, cut(0.5)),
        LoopAction::End(LoopEnd::Verdict),
        "its budget is not spent"
    );
}

#[test]
fn limit_moves_work_on_and_reset_returns_it() {
    let mut looped = with(ranked(&["a", "b"]));
    assert_eq!(begun(&mut looped), "a");
    let action = judged(&mut looped, 10, ended(Reason::RateLimited, Some(1000)));
    assert_eq!(
        action,
        LoopAction::Iterate { number: 1 },
        "a limit is no iteration"
    );
    assert_eq!(
        looped.standing().waits,
        0,
        "nor a wait, where the next agent takes over"
    );
    let until = Some(after(1005));
    let change = AgentChange {
        from: "a".into(),
        to: "b".into(),
        why: ChangeReason::Held(HoldReason::UsageLimit),
        until,
    };
    assert_eq!(looped.agent_change(after(10)), Some(change));
    assert_eq!(begins(&mut looped, &action), "b");
    assert_eq!(looped.agent_change(after(11)), None, "it has the session");
    let action = judged(&mut looped, 500, ended(Reason::Unfinished, None));
    assert_eq!(begins(&mut looped, &action), "b", "never before the reset");
    let action = judged(&mut looped, 1005, ended(Reason::Unfinished, None));
    assert_eq!(
        begins(&mut looped, &action),
        "a",
        "the preferred agent has it again"
    );
    assert_eq!(
        (looped.standing().finished, looped.standing().waits),
        (2, 0)
    );
}

#[test]
fn two_limits_wait_for_the_earlier_reset() {
    let mut looped = with(ranked(&["a", "b"]));
    begun(&mut looped);
    let action = judged(&mut looped, 10, ended(Reason::RateLimited, Some(9000)));
    begins(&mut looped, &action);
    let action = judged(&mut looped, 20, ended(Reason::RateLimited, Some(1000)));
    assert_eq!(action, limit_until(1005));
    let action = looped.step(after(1005), Duration::ZERO, LoopEvent::PauseOver);
    assert_eq!(begins(&mut looped, &action), "b", "its limit ended first");

    let mut looped = with(ranked(&["a", "b"]));
    begun(&mut looped);
    let action = judged(&mut looped, 10, ended(Reason::RateLimited, Some(1000)));
    begins(&mut looped, &action);
    let action = judged(&mut looped, 20, ended(Reason::RateLimited, Some(9000)));
    assert_eq!(action, limit_until(1005));
    assert_eq!(looped.standing().waits, 1);
    let action = looped.step(after(1005), Duration::ZERO, LoopEvent::PauseOver);
    assert_eq!(
        begins(&mut looped, &action),
        "a",
        "though it met its limit first"
    );
}

#[test]
fn loop_ends_when_every_limit_lasts_too_long() {
    for (second, too_long) in [(7 * 3600, true), (5 * 3600, false)] {
        let mut looped = with(ranked(&["a", "b"]));
        begun(&mut looped);
        let action = judged(&mut looped, 10, ended(Reason::RateLimited, Some(8 * 3600)));
        begins(&mut looped, &action);
        let action = judged(&mut looped, 20, ended(Reason::RateLimited, Some(second)));
        assert_eq!(
            action == LoopAction::End(LoopEnd::LimitTooLong),
            too_long,
            "{action:?}"
        );
    }
}

#[test]
fn resumed_loop_skips_the_limited_agent() {
    let mut looped = with(ranked(&["a", "b"]));
    begun(&mut looped);
    judged(&mut looped, 10, ended(Reason::RateLimited, Some(1000)));
    let policy = LoopPolicy {
        limits: ConfigSettings::default().limits,
        no_progress: 0,
        max_wait: Duration::from_secs(3600),
        agents: ranked(&["a", "b"]),
    };
    let mut again = LoopMachine::new(policy, looped.standing().clone());
    let action = again.step(after(60), Duration::ZERO, LoopEvent::Begin);
    assert_eq!(begins(&mut again, &action), "b");
}

#[test]
fn overload_moves_on_after_three_pauses() {
    let overload = || IterationOutcome {
        overloaded: true,
        crash: Some("529".into()),
        ..ended(Reason::Unfinished, None)
    };
    let mut looped = with(ranked(&["a", "b"]));
    begun(&mut looped);
    for pause in 1..=3 {
        let action = judged(&mut looped, 0, overload());
        assert!(is_overload(&action), "pause {pause}: {action:?}");
        let action = looped.step(after(0), Duration::ZERO, LoopEvent::PauseOver);
        assert_eq!(begins(&mut looped, &action), "a");
    }
    let action = judged(&mut looped, 100, overload());
    assert_eq!(begins(&mut looped, &action), "b");
    let action = judged(&mut looped, 1800, ended(Reason::Unfinished, None));
    assert_eq!(begins(&mut looped, &action), "b");
    let action = judged(&mut looped, 1900, ended(Reason::Unfinished, None));
    assert_eq!(
        begins(&mut looped, &action),
        "a",
        "half an hour later it is tried again"
    );

    let mut looped = with(ranked(&["a", "b"]));
    looped.held_by_account(&[("b".into(), after(5 * 3600))]);
    begun(&mut looped);
    for pause in 1..=5 {
        let action = judged(&mut looped, 0, overload());
        assert!(is_overload(&action), "b is held, pause {pause}: {action:?}");
        let action = looped.step(after(0), Duration::ZERO, LoopEvent::PauseOver);
        assert_eq!(begins(&mut looped, &action), "a");
    }

    let mut alone = with(ranked(&["a"]));
    begun(&mut alone);
    for _ in 0..20 {
        assert!(is_overload(&judged(&mut alone, 0, overload())));
    }
    let mut machine = with(ranked(&["a", "b"]));
    begun(&mut machine);
    for _ in 0..5 {
        let no_room = IterationOutcome {
            reason: Reason::StoreError,
            ..overload()
        };
        let action = judged(&mut machine, 0, no_room);
        assert!(
            matches!(action, LoopAction::Pause { .. }),
            "a machine without room has none for another agent: {action:?}"
        );
    }
}

#[test]
fn unrunnable_program_ends_loop_without_agent_change() {
    let mut looped = with(ranked(&["a", "b"]));
    begun(&mut looped);
    assert_eq!(
        judged(&mut looped, 1, ended(Reason::AgentUnrunnable, None)),
        LoopAction::End(LoopEnd::Verdict)
    );
}

#[test]
fn answering_programs_limit_changes_no_agent() {
    let mut looped = with(ranked(&["a", "b"]));
    begun(&mut looped);
    let action = judged(
        &mut looped,
        10,
        IterationOutcome {
            of_agent: false,
            ..ended(Reason::RateLimited, Some(1000))
        },
    );
    assert_eq!(action, limit_until(1005));
    let action = looped.step(after(1005), Duration::ZERO, LoopEvent::PauseOver);
    assert_eq!(begins(&mut looped, &action), "a");
}

#[test]
fn postponed_probe_waits_without_session_or_agent_change() {
    let mut looped = with(ranked(&["a", "b"]));
    begun(&mut looped);
    let unasked = |second: i64| IterationOutcome {
        unasked: true,
        ..ended(Reason::RateLimited, Some(second))
    };
    let action = judged(&mut looped, 10, unasked(40));
    assert_eq!(action, limit_until(40));
    assert_eq!(
        looped.step(after(40), Duration::ZERO, LoopEvent::PauseOver),
        LoopAction::JudgeAgain
    );
    let later = judged(&mut looped, 41, unasked(7200));
    assert_eq!(
        begins(&mut looped, &later),
        "b",
        "the limit of another machine"
    );
    let mut alone = with(ranked(&["a"]));
    begun(&mut alone);
    for wait in 1..=20 {
        let action = judged(&mut alone, wait * 60, unasked(wait * 60 + 30));
        assert!(
            matches!(action, LoopAction::Pause { .. }),
            "wait {wait}: {action:?}"
        );
    }
    assert_eq!(
        judged(&mut alone, 21 * 60, unasked(21 * 60 + 30)),
        LoopAction::End(LoopEnd::WaitedInVain { waits: 20 }),
        "not for ever"
    );
    let mut now = with(ranked(&["a"]));
    begun(&mut now);
    let action = judged(&mut now, 40, unasked(40));
    assert_eq!(action, limit_until(45), "that time is over");
}

#[test]
fn a_change_tells_why_and_until_when() {
    let order = ranked(&["a", "b"]);
    let told = |from: Option<&str>, to: &str, known: &[AgentStanding]| {
        agent_change(after(0), (from, Some(to)), &order, known)
    };
    assert_eq!(
        told(None, "a", &[]),
        None,
        "the first session changes nothing"
    );
    assert_eq!(told(Some("a"), "a", &[]), None);
    let change = |from: &str, to: &str, why, until| {
        Some(AgentChange {
            from: from.into(),
            to: to.into(),
            why,
            until,
        })
    };
    let limit = ChangeReason::Held(HoldReason::UsageLimit);
    assert_eq!(
        told(Some("a"), "b", &[held("a", 60)]),
        change("a", "b", limit, Some(after(60)))
    );
    assert_eq!(
        told(Some("b"), "a", &[held("a", -1)]),
        change("b", "a", ChangeReason::Reset, None)
    );
    assert_eq!(
        told(Some("b"), "a", &[held("b", 0)]),
        change("b", "a", ChangeReason::Reset, None),
        "a hold ends at its instant"
    );
    let spent = AgentStanding {
        spent: SpentUsage {
            cost_usd: 1.0,
            ..SpentUsage::default()
        },
        ..held("a", 60)
    };
    let order = [
        RankedAgent {
            name: "a".into(),
            max_cost_usd: Some(1.0),
        },
        RankedAgent {
            name: "b".into(),
            max_cost_usd: None,
        },
    ];
    let moved = agent_change(after(0), (Some("a"), Some("b")), &order, &[spent]);
    assert_eq!(
        moved,
        change("a", "b", ChangeReason::Budget, None),
        "the end of its limit would not bring it back"
    );
    assert_eq!(
        told(Some("gone"), "a", &[held("gone", 60)]),
        change("gone", "a", ChangeReason::Configured, None)
    );
}

#[test]
fn each_hold_and_change_reason_has_a_word() {
    for (why, word) in [
        (HoldReason::UsageLimit, "usage_limit"),
        (HoldReason::Overload, "overload"),
    ] {
        assert_eq!((why.as_str(), serde_json::json!(why)), (word, word.into()));
        assert_eq!(ChangeReason::Held(why).as_str(), word);
    }
    for (why, word) in [
        (ChangeReason::Budget, "budget"),
        (ChangeReason::Reset, "reset"),
        (ChangeReason::Configured, "configured"),
    ] {
        assert_eq!(why.as_str(), word);
    }
}

#[derive(Debug, Clone)]
enum Happening {
    Limit(Option<i64>),
    Overload,
    Works,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        prop::option::of(1..40_000_i64).prop_map(Happening::Limit),
        Just(Happening::Overload),
        Just(Happening::Works),
        Just(Happening::Works),
    ]
}

proptest! {
    #[test]
    fn named_agents_run_only_after_their_reset(
        happenings in prop::collection::vec(happening(), 1..80),
        count in 1..4_usize,
    ) {
        let names = &["a", "b", "c"][..count];
        let mut looped = with(ranked(names));
        let mut resets: std::collections::HashMap<String, Timestamp> = std::collections::HashMap::new();
        let (mut at, mut work) = (after(0), 0);
        let mut action = looped.step(at, Duration::ZERO, LoopEvent::Begin);
        for happened in happenings {
            while let LoopAction::Pause { length, .. } = action {
                at = match length {
                    PauseLength::For(length) => at + SignedDuration::try_from(length).expect("short"),
                    PauseLength::Until(until) => until.max(at),
                    PauseLength::Backoff { .. } => at + SignedDuration::from_secs(1),
                };
                action = looped.step(at, Duration::ZERO, LoopEvent::PauseOver);
            }
            if matches!(action, LoopAction::End(_)) {
                break;
            }
            let who = begins(&mut looped, &action);
            prop_assert!(names.contains(&who.as_str()), "{who} was never named");
            prop_assert!(resets.get(&who).is_none_or(|reset| *reset <= at), "{who} before its reset");
            let better = names.iter().take_while(|name| **name != who);
            for preferred in better {
                let standing = standing_of(&looped.standing().agents, preferred);
                prop_assert!(standing.and_then(|standing| standing.hold).is_some_and(|hold| hold.until > at), "{preferred} is free");
            }
            at += SignedDuration::from_secs(30);
            work += 1;
            let outcome = match happened {
                Happening::Limit(reset) => {
                    let retry_at = reset.map(|seconds| at + SignedDuration::from_secs(seconds));
                    if let Some(reset) = retry_at {
                        resets.insert(who.clone(), reset);
                    }
                    IterationOutcome { retry_at, ..ended(Reason::RateLimited, None) }
                }
                Happening::Overload => IterationOutcome { overloaded: true, ..ended(Reason::Unfinished, None) },
                Happening::Works => IterationOutcome { work: Some(work.to_string()), ..ended(Reason::Unfinished, None) },
            };
            action = looped.step(at, Duration::ZERO, LoopEvent::Judged(Box::new(outcome)));
        }
    }
}
