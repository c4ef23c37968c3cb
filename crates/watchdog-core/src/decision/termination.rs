//! Decides when work has to end without being done: budgets and the deadline first, then halts, then the cap of iterations.
//!
//! A spent limit is never a success, whatever else is true; an unreported figure is neither zero nor spent.

use std::time::Duration;
use watchdog_facts::evidence::StopReason;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::config::settings::Limits;

use watchdog_facts::context::SessionUsage;
use watchdog_facts::display::plural;
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_facts::verdict::Reason;

/// The usage of one session or several: a lower bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SpentUsage {
    /// Turns of the agent.
    pub turns: u64,
    /// Tokens, read and written.
    pub tokens: u64,
    /// US dollars.
    pub cost_usd: f64,
    /// Seconds.
    pub wall_seconds: f64,
    /// The figures that some session did not report, so that the sum is only a part of them.
    pub untold: UnknownUsage,
}

/// Figures that were not told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<String>", from = "Vec<String>")]
pub struct UnknownUsage {
    /// Turns of the agent.
    pub turns: bool,
    /// Tokens.
    pub tokens: bool,
    /// Money.
    pub cost: bool,
}

impl From<UnknownUsage> for Vec<String> {
    fn from(untold: UnknownUsage) -> Self {
        let names = [
            (untold.turns, "turns"),
            (untold.tokens, "tokens"),
            (untold.cost, "cost"),
        ];
        let untold = names.into_iter().filter(|(untold, _)| *untold);
        untold.map(|(_, name)| name.to_owned()).collect()
    }
}

impl From<Vec<String>> for UnknownUsage {
    fn from(names: Vec<String>) -> Self {
        let names_one = |name: &str| names.iter().any(|untold| untold == name);
        UnknownUsage {
            turns: names_one("turns"),
            tokens: names_one("tokens"),
            cost: names_one("cost"),
        }
    }
}

impl SpentUsage {
    /// The usage of one session.
    pub fn from_usage(usage: &SessionUsage) -> Self {
        let tokens = match (usage.input_tokens, usage.output_tokens) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        };
        let cost = usage.cost_usd.filter(|cost| cost.is_finite());
        SpentUsage {
            turns: usage.turns.unwrap_or(0),
            tokens: tokens.unwrap_or(0),
            cost_usd: cost.unwrap_or(0.0).max(0.0),
            wall_seconds: usage
                .wall_seconds
                .filter(|seconds| seconds.is_finite())
                .unwrap_or(0.0)
                .max(0.0),
            untold: UnknownUsage {
                turns: usage.turns.is_none(),
                tokens: usage.input_tokens.is_none() || usage.output_tokens.is_none(),
                cost: cost.is_none(),
            },
        }
    }

    /// This and more.
    #[must_use]
    pub fn plus(self, more: SpentUsage) -> Self {
        SpentUsage {
            turns: self.turns.saturating_add(more.turns),
            tokens: self.tokens.saturating_add(more.tokens),
            cost_usd: self.cost_usd + more.cost_usd,
            wall_seconds: self.wall_seconds + more.wall_seconds,
            untold: UnknownUsage {
                turns: self.untold.turns || more.untold.turns,
                tokens: self.untold.tokens || more.untold.tokens,
                cost: self.untold.cost || more.untold.cost,
            },
        }
    }
}

/// The decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopDecision {
    /// No further probe or check.
    Stop(StopReason),
    /// The agent says that it is not done, so there is nothing to judge.
    GoOn,
    /// The checks decide.
    Judge,
}

/// Whether a budget or the deadline ends the work, whatever its results.
pub fn find_stop_reason(limits: &Limits, spent: &SpentUsage, now: Timestamp) -> Option<StopReason> {
    let exhausted = |why| {
        Some(StopReason {
            reason: Reason::BudgetExhausted,
            why,
        })
    };
    if let Some(most) = limits.max_turns.filter(|most| spent.turns >= *most) {
        return exhausted(format!(
            "the budget of {} is spent: {} were taken",
            plural(most, "turn"),
            spent.turns
        ));
    }
    if let Some(most) = limits.max_total_tokens.filter(|most| spent.tokens >= *most) {
        return exhausted(format!(
            "the budget of {} is spent: {} were used",
            plural(most, "token"),
            spent.tokens
        ));
    }
    if let Some(most) = limits.max_cost_usd.filter(|most| spent.cost_usd >= *most) {
        return exhausted(format!(
            "the budget of {} is spent: it cost {}",
            format_dollars(most),
            format_dollars(spent.cost_usd)
        ));
    }
    if let Some(most) = limits
        .max_wall
        .filter(|most| spent.wall_seconds >= most.as_secs_f64())
    {
        return exhausted(format!(
            "the time budget of {} is spent: {:.0} s passed",
            format_seconds(most),
            spent.wall_seconds
        ));
    }
    let passed = limits.deadline.filter(|deadline| now >= *deadline)?;
    Some(StopReason {
        reason: Reason::DeadlineExceeded,
        why: format!("the deadline has passed: {passed:.0}"),
    })
}

/// Whether anything more may begin after so many iterations that did not complete the work.
pub fn may_begin(
    limits: &Limits,
    spent: &SpentUsage,
    finished: u64,
    now: Timestamp,
) -> Option<StopReason> {
    find_stop_reason(limits, spent, now).or_else(|| {
        (finished >= u64::from(limits.max_iterations)).then(|| StopReason {
            reason: Reason::MaxIterations,
            why: format!(
                "the cap of {} is reached without completion",
                plural(limits.max_iterations.into(), "iteration")
            ),
        })
    })
}

/// The order in which an end is decided: budgets and the deadline, a halt that somebody asked for, the agent's claim, the checks.
pub fn decide_course(
    limits: &Limits,
    spent: &SpentUsage,
    now: Timestamp,
    halt: Option<StopReason>,
    claims_done: Option<bool>,
) -> LoopDecision {
    if let Some(stop) = find_stop_reason(limits, spent, now) {
        return LoopDecision::Stop(stop);
    }
    match (halt, claims_done) {
        (Some(stop), _) => LoopDecision::Stop(stop),
        (None, Some(false)) => LoopDecision::GoOn,
        (None, Some(true) | None) => LoopDecision::Judge,
    }
}

/// The limits that could not be held against anything, because what was spent was not told: for a person, once.
pub fn describe_unmeasured(limits: &Limits, spent: &SpentUsage) -> Option<Degradation> {
    let unmeasured: [(bool, bool, &str); 3] = [
        (limits.max_turns.is_some(), spent.untold.turns, "max_turns"),
        (
            limits.max_total_tokens.is_some(),
            spent.untold.tokens,
            "max_total_tokens",
        ),
        (
            limits.max_cost_usd.is_some(),
            spent.untold.cost,
            "max_cost_usd",
        ),
    ];
    let names: Vec<&str> = unmeasured
        .into_iter()
        .filter(|(set, untold, _)| *set && *untold)
        .map(|(_, _, name)| name)
        .collect();
    (!names.is_empty()).then(|| Degradation {
        code: WarningCode::BudgetUnknown,
        detail: format!(
            "the session's output did not tell all that {} limits",
            names.join(" and ")
        ),
    })
}

/// How long a session may still run before the time budget or the deadline ends it, and what that end is. `None`: neither is set.
pub fn time_left(
    limits: &Limits,
    spent: &SpentUsage,
    now: Timestamp,
) -> Option<(Duration, StopReason)> {
    let wall = limits.max_wall.map(|most| {
        let remaining = most.saturating_sub(
            Duration::try_from_secs_f64(spent.wall_seconds.max(0.0)).unwrap_or(Duration::MAX),
        );
        (
            remaining,
            StopReason {
                reason: Reason::BudgetExhausted,
                why: format!("the time budget of {} is spent", format_seconds(most)),
            },
        )
    });
    let deadline = limits.deadline.map(|deadline| {
        let remaining = Duration::try_from(deadline.duration_since(now)).unwrap_or_default();
        (
            remaining,
            StopReason {
                reason: Reason::DeadlineExceeded,
                why: format!("the deadline has passed: {deadline:.0}"),
            },
        )
    });
    [wall, deadline]
        .into_iter()
        .flatten()
        .min_by_key(|(left, _)| *left)
}

/// An amount above nothing, as every budget is: one below a cent is not shown as none.
fn format_dollars(amount: f64) -> String {
    if amount < 0.01 {
        format!("{amount:.6} USD")
    } else {
        format!("{amount:.2} USD")
    }
}

fn format_seconds(length: Duration) -> String {
    format!("{} s", length.as_secs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::settings::ConfigSettings;
    use watchdog_facts::verdict::Status;

    fn limits() -> Limits {
        ConfigSettings::default().limits
    }

    fn now() -> Timestamp {
        "2030-01-31T18:00:00Z".parse().expect("an instant")
    }

    fn halt() -> Option<StopReason> {
        Some(StopReason {
            reason: Reason::Halted,
            why: "g".into(),
        })
    }

    fn reason(stop: Option<StopReason>) -> Option<Reason> {
        stop.map(|stop| stop.reason)
    }

    #[test]
    fn budget_is_spent_once_it_is_reached() {
        let spent = SpentUsage {
            turns: 5,
            tokens: 10,
            cost_usd: 0.5,
            wall_seconds: 7.0,
            untold: UnknownUsage::default(),
        };
        for (name, at, above) in [
            (
                "turns",
                Limits {
                    max_turns: Some(5),
                    ..limits()
                },
                Limits {
                    max_turns: Some(6),
                    ..limits()
                },
            ),
            (
                "tokens",
                Limits {
                    max_total_tokens: Some(10),
                    ..limits()
                },
                Limits {
                    max_total_tokens: Some(11),
                    ..limits()
                },
            ),
            (
                "cost",
                Limits {
                    max_cost_usd: Some(0.5),
                    ..limits()
                },
                Limits {
                    max_cost_usd: Some(0.500_001),
                    ..limits()
                },
            ),
            (
                "time",
                Limits {
                    max_wall: Some(Duration::from_secs(7)),
                    ..limits()
                },
                Limits {
                    max_wall: Some(Duration::from_secs(8)),
                    ..limits()
                },
            ),
        ] {
            assert_eq!(
                reason(find_stop_reason(&at, &spent, now())),
                Some(Reason::BudgetExhausted),
                "{name}"
            );
            assert_eq!(find_stop_reason(&above, &spent, now()), None, "{name}");
        }
        let second = jiff::SignedDuration::from_secs(1);
        for (deadline, ends) in [
            (now() - second, true),
            (now(), true),
            (now() + second, false),
        ] {
            let limits = Limits {
                deadline: Some(deadline),
                ..limits()
            };
            assert_eq!(
                reason(find_stop_reason(&limits, &spent, now())),
                ends.then_some(Reason::DeadlineExceeded),
                "{deadline}"
            );
        }
    }

    #[test]
    fn spent_budget_is_named_with_its_usage() {
        let spent = SpentUsage {
            turns: 6,
            tokens: 11,
            cost_usd: 0.5,
            wall_seconds: 92.4,
            untold: UnknownUsage::default(),
        };
        let cost = |most, cost_usd| {
            (
                Limits {
                    max_cost_usd: Some(most),
                    ..limits()
                },
                SpentUsage { cost_usd, ..spent },
            )
        };
        for ((limits, spent), words) in [
            (
                (
                    Limits {
                        max_turns: Some(1),
                        ..limits()
                    },
                    spent,
                ),
                "the budget of 1 turn is spent: 6 were taken",
            ),
            (
                (
                    Limits {
                        max_total_tokens: Some(11),
                        ..limits()
                    },
                    spent,
                ),
                "the budget of 11 tokens is spent: 11 were used",
            ),
            (
                cost(0.25, 0.5),
                "the budget of 0.25 USD is spent: it cost 0.50 USD",
            ),
            (
                cost(0.01, 2.0),
                "the budget of 0.01 USD is spent: it cost 2.00 USD",
            ),
            (
                cost(0.0004, 0.009),
                "the budget of 0.000400 USD is spent: it cost 0.009000 USD",
            ),
            (
                (
                    Limits {
                        max_wall: Some(Duration::from_secs(90)),
                        ..limits()
                    },
                    spent,
                ),
                "the time budget of 90 s is spent: 92 s passed",
            ),
            (
                (
                    Limits {
                        deadline: Some(now()),
                        ..limits()
                    },
                    spent,
                ),
                "the deadline has passed: 2030-01-31T18:00:00Z",
            ),
        ] {
            assert_eq!(
                find_stop_reason(&limits, &spent, now())
                    .map(|stop| stop.why)
                    .as_deref(),
                Some(words)
            );
        }
    }

    #[test]
    fn session_usage_adds_up_and_keeps_gaps() {
        let session = SessionUsage {
            turns: Some(2),
            input_tokens: Some(30),
            output_tokens: Some(4),
            cost_usd: Some(0.5),
            wall_seconds: Some(3.0),
        };
        let spent_once = SpentUsage::from_usage(&session);
        assert_eq!(
            spent_once,
            SpentUsage {
                turns: 2,
                tokens: 34,
                cost_usd: 0.5,
                wall_seconds: 3.0,
                untold: UnknownUsage::default()
            }
        );
        let all = SpentUsage {
            turns: 4,
            tokens: 68,
            cost_usd: 1.0,
            wall_seconds: 6.0,
            ..SpentUsage::default()
        };
        assert_eq!(spent_once.plus(spent_once), all);
        let untold = |turns, tokens, cost| UnknownUsage {
            turns,
            tokens,
            cost,
        };
        for (gap, untold) in [
            (
                SessionUsage {
                    turns: None,
                    ..session
                },
                untold(true, false, false),
            ),
            (
                SessionUsage {
                    input_tokens: None,
                    ..session
                },
                untold(false, true, false),
            ),
            (
                SessionUsage {
                    output_tokens: None,
                    ..session
                },
                untold(false, true, false),
            ),
            (
                SessionUsage {
                    cost_usd: None,
                    ..session
                },
                untold(false, false, true),
            ),
        ] {
            let gap = SpentUsage::from_usage(&gap);
            assert_eq!(
                [gap, gap.plus(spent_once), spent_once.plus(gap)].map(|spent| spent.untold),
                [untold; 3]
            );
        }
    }

    #[test]
    fn tokens_read_and_written_count_together() {
        let spent = |input, output| {
            SpentUsage::from_usage(&SessionUsage {
                input_tokens: Some(input),
                output_tokens: Some(output),
                ..SessionUsage::default()
            })
        };
        let limits = Limits {
            max_total_tokens: Some(1000),
            ..limits()
        };
        assert_eq!(
            reason(find_stop_reason(&limits, &spent(500, 600), now())),
            Some(Reason::BudgetExhausted)
        );
        assert_eq!(find_stop_reason(&limits, &spent(50, 50), now()), None);
        assert_eq!(spent(u64::MAX, 1).tokens, u64::MAX);
    }

    #[test]
    fn budget_precedes_halt_claim_and_checks() {
        let limits = Limits {
            max_turns: Some(5),
            ..limits()
        };
        let (spent, fresh) = (
            SpentUsage {
                turns: 5,
                ..SpentUsage::default()
            },
            SpentUsage {
                turns: 4,
                ..SpentUsage::default()
            },
        );
        let reason = |next| match next {
            LoopDecision::Stop(stop) => Some(stop.reason),
            LoopDecision::GoOn | LoopDecision::Judge => None,
        };
        assert_eq!(
            reason(decide_course(&limits, &spent, now(), halt(), Some(true))),
            Some(Reason::BudgetExhausted)
        );
        assert_eq!(
            reason(decide_course(&limits, &fresh, now(), halt(), Some(true))),
            Some(Reason::Halted)
        );
        assert_eq!(
            decide_course(&limits, &fresh, now(), None, Some(true)),
            LoopDecision::Judge
        );
        assert_eq!(
            decide_course(&limits, &fresh, now(), None, None),
            LoopDecision::Judge
        );
        assert_eq!(
            decide_course(&limits, &fresh, now(), None, Some(false)),
            LoopDecision::GoOn
        );
    }

    #[test]
    fn iteration_cap_is_review_and_comes_last() {
        let limits = Limits {
            max_iterations: 3,
            max_turns: Some(5),
            ..limits()
        };
        assert_eq!(may_begin(&limits, &SpentUsage::default(), 2, now()), None);
        assert_eq!(
            reason(may_begin(&limits, &SpentUsage::default(), 3, now())),
            Some(Reason::MaxIterations)
        );
        let spent = SpentUsage {
            turns: 5,
            ..SpentUsage::default()
        };
        assert_eq!(
            reason(may_begin(&limits, &spent, 3, now())),
            Some(Reason::BudgetExhausted)
        );
    }

    #[test]
    fn unknown_usage_is_reported_instead_of_zero() {
        let limits = Limits {
            max_turns: Some(1),
            max_cost_usd: Some(0.1),
            ..limits()
        };
        let told = SpentUsage::from_usage(&SessionUsage {
            turns: Some(0),
            input_tokens: None,
            cost_usd: None,
            ..SessionUsage::default()
        });
        assert_eq!(find_stop_reason(&limits, &told, now()), None);
        let note = describe_unmeasured(&limits, &told).expect("the cost is not known");
        assert_eq!(
            (
                note.code.as_str(),
                note.detail.contains("max_cost_usd"),
                note.detail.contains("max_turns")
            ),
            ("budget_unknown", true, false)
        );
        assert_eq!(describe_unmeasured(&limits, &SpentUsage::default()), None);
        // A later session with a complete report does not make an earlier one known.
        let later = told.plus(SpentUsage {
            turns: 0,
            ..SpentUsage::default()
        });
        assert!(describe_unmeasured(&limits, &later).is_some());
        assert_eq!(describe_unmeasured(&self::limits(), &told), None);
        assert!(
            SpentUsage::from_usage(&SessionUsage {
                cost_usd: Some(f64::NAN),
                ..SessionUsage::default()
            })
            .untold
            .cost
        );
    }

    #[test]
    fn nearer_of_time_budget_and_deadline_ends_session() {
        let deadline = |seconds| Some(now() + jiff::SignedDuration::from_secs(seconds));
        let seconds_left = |limits: Limits, wall_seconds| {
            time_left(
                &limits,
                &SpentUsage {
                    wall_seconds,
                    ..SpentUsage::default()
                },
                now(),
            )
            .map(|(left, stop)| (left.as_secs(), stop.reason))
        };
        let ends = |limits: Limits| {
            time_left(&limits, &SpentUsage::default(), now()).map(|(_, stop)| stop.why)
        };
        let wall = Some(Duration::from_secs(100));
        assert_eq!(seconds_left(limits(), 0.0), None);
        assert_eq!(
            seconds_left(
                Limits {
                    max_wall: wall,
                    ..limits()
                },
                40.0
            ),
            Some((60, Reason::BudgetExhausted))
        );
        assert_eq!(
            seconds_left(
                Limits {
                    max_wall: wall,
                    deadline: deadline(50),
                    ..limits()
                },
                40.0
            ),
            Some((50, Reason::DeadlineExceeded))
        );
        assert_eq!(
            seconds_left(
                Limits {
                    max_wall: wall,
                    deadline: deadline(70),
                    ..limits()
                },
                140.0
            ),
            Some((0, Reason::BudgetExhausted))
        );
        assert_eq!(
            seconds_left(
                Limits {
                    deadline: deadline(-5),
                    ..limits()
                },
                0.0
            ),
            Some((0, Reason::DeadlineExceeded))
        );
        assert_eq!(
            ends(Limits {
                max_wall: wall,
                ..limits()
            })
            .as_deref(),
            Some("the time budget of 100 s is spent")
        );
    }

    fn any_limits() -> impl Strategy<Value = Limits> {
        let of = |most| prop::option::of(1_u64..most);
        (of(20), of(200), of(50), of(90), prop::option::of(-5_i64..5)).prop_map(
            |(turns, tokens, cents, wall, deadline)| Limits {
                max_turns: turns,
                max_total_tokens: tokens,
                max_cost_usd: cents.map(|cents| cents as f64 / 100.0),
                max_wall: wall.map(Duration::from_secs),
                deadline: deadline.map(|seconds| now() + jiff::SignedDuration::from_secs(seconds)),
                ..limits()
            },
        )
    }

    fn any_spent() -> impl Strategy<Value = SpentUsage> {
        (
            0_u64..25,
            0_u64..250,
            0_u32..70,
            0_u32..120,
            any::<[bool; 3]>(),
        )
            .prop_map(|(turns, tokens, cents, wall, untold)| SpentUsage {
                turns,
                tokens,
                cost_usd: f64::from(cents) / 100.0,
                wall_seconds: wall.into(),
                untold: UnknownUsage {
                    turns: untold[0],
                    tokens: untold[1],
                    cost: untold[2],
                },
            })
    }

    proptest! {
        #[test]
        fn who_spends_more_never_gets_further(limits in any_limits(), spent in any_spent(), more in any_spent(), finished in 0_u64..40, later in 0_i64..9) {
            let then = now() + jiff::SignedDuration::from_secs(later);
            let before = may_begin(&limits, &spent, finished, now());
            let after = may_begin(&limits, &spent.plus(more), finished + more.turns, then);
            prop_assert!(before.is_none() || after.is_some());
            for stop in [before, after].into_iter().flatten() {
                prop_assert!(stop.reason.status() != Status::Complete && !stop.why.is_empty());
            }
        }

        #[test]
        fn halt_or_claim_never_lifts_spent_budget(limits in any_limits(), spent in any_spent(), halt: bool, claims in any::<Option<bool>>()) {
            let stop = find_stop_reason(&limits, &spent, now());
            let next = decide_course(&limits, &spent, now(), self::halt().filter(|_| halt), claims);
            if let Some(stop) = stop {
                prop_assert_eq!(next, LoopDecision::Stop(stop));
            }
        }

        #[test]
        fn no_limit_is_never_reached(spent in any_spent()) {
            prop_assert_eq!(find_stop_reason(&limits(), &spent, now()), None);
        }
    }
}
