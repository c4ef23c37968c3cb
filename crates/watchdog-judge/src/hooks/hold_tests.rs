//! The tables of when an agent is held and when it is let go.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::hooks::{HookDialect, judge_criteria};
use watchdog_core::config::settings::ConfigSettings;
use watchdog_core::decision::machine::{ChecksResult, MachineSetup};
use watchdog_facts::evidence::{CheckOutcome, CriteriaChanged};

fn judged(outcome: CheckOutcome, feedback: &str) -> StopFacts {
    judged_with(outcome, feedback, Evidence::Verified, Evidence::Claimed)
}

/// The machine's verdict for these results of checks.
fn judged_with(
    outcome: CheckOutcome,
    feedback: &str,
    evidence: Evidence,
    require_evidence: Evidence,
) -> StopFacts {
    let setup = MachineSetup {
        has_checks: true,
        require_evidence,
        ..MachineSetup::from_settings(&ConfigSettings::default())
    };
    let judge = || ChecksResult {
        outcome,
        evidence,
        feedback: feedback.into(),
        results: Vec::new(),
        all_passed_before: false,
        notes: Vec::new(),
    };
    judge_criteria(setup, judge, || Ok(CriteriaChanged::default())).0
}

fn held(times: u32) -> HoldStreak {
    HoldStreak {
        times: Some(times),
        most: 7,
    }
}

fn answer(holding: HoldPoint, facts: &StopFacts, held: HoldStreak) -> Value {
    decide_hold(holding, facts, held)
        .reply
        .to_json(HookDialect::Claude)
}

#[test]
fn unmet_checks_hold_the_agent_with_feedback() {
    let facts = judged(CheckOutcome::Unmet, "write the tests");
    assert_eq!(
        answer(HoldPoint::Stop, &facts, held(0)),
        json!({"decision": "block", "reason": "write the tests"})
    );
    let denied = answer(HoldPoint::Output, &facts, held(0));
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(
        denied["hookSpecificOutput"]["permissionDecisionReason"],
        "write the tests"
    );
    let told = answer(HoldPoint::OutputTaken { finish: true }, &facts, held(0));
    assert_eq!(
        told["hookSpecificOutput"]["additionalContext"],
        "Tasks incomplete: write the tests. Please complete the remaining tasks, then call StructuredOutput again with your final output."
    );
    assert_eq!(told.get("continue"), None, "the session goes on");
}

#[test]
fn an_agent_is_never_held_without_a_word() {
    for feedback in ["", "  \n"] {
        assert_eq!(
            answer(
                HoldPoint::Stop,
                &judged(CheckOutcome::Unmet, feedback),
                held(0)
            )["reason"],
            "Tasks are incomplete"
        );
    }
}

#[test]
fn a_pass_needs_no_words() {
    let facts = judged(CheckOutcome::Pass, "");
    assert_eq!(answer(HoldPoint::Stop, &facts, held(3)), json!({}));
    assert_eq!(answer(HoldPoint::Output, &facts, held(3)), json!({}));
    assert_eq!(
        answer(HoldPoint::OutputTaken { finish: true }, &facts, held(3)),
        json!({"continue": false})
    );
    assert_eq!(
        answer(HoldPoint::OutputTaken { finish: false }, &facts, held(3)),
        json!({})
    );
    assert_eq!(
        decide_hold(HoldPoint::Stop, &facts, held(3)).counted,
        HoldCountChange::Over
    );
    assert_eq!(
        answer(HoldPoint::Stop, &StopFacts::Nothing, held(0)),
        json!({})
    );
    assert_eq!(
        answer(
            HoldPoint::OutputTaken { finish: true },
            &StopFacts::Nothing,
            held(0)
        ),
        json!({"continue": false})
    );
}

#[test]
fn hold_cap_releases_agent_as_stopped_never_complete() {
    for holding in [HoldPoint::Stop, HoldPoint::Output] {
        let facts = judged(CheckOutcome::Unmet, "write the tests");
        assert_eq!(
            decide_hold(holding, &facts, held(6)).counted,
            HoldCountChange::OneMore
        );
        let decision = decide_hold(holding, &facts, held(7));
        assert_eq!(decision.reason, Some(Reason::BudgetExhausted));
        assert_eq!(decision.counted, HoldCountChange::Same);
        assert_eq!(
            decision.reply.to_json(HookDialect::Claude),
            json!({"systemMessage": "watchdog: stopped (budget_exhausted): the agent was held 7 times in a row and is let go; \
                   the work is not complete: write the tests"})
        );
        let never = decide_hold(
            holding,
            &facts,
            HoldStreak {
                times: Some(0),
                most: 0,
            },
        );
        assert!(never.message.contains("max_stop_blocks is 0"), "{never:?}");
        assert_eq!(never.reason, Some(Reason::ChecksUnmet));
    }
}

#[test]
fn unreadable_hold_count_never_holds_the_agent() {
    let decision = decide_hold(
        HoldPoint::Stop,
        &judged(CheckOutcome::Unmet, "x"),
        HoldStreak {
            times: None,
            most: 7,
        },
    );
    assert_eq!(decision.reply.act, HookAction::Nothing);
    assert!(decision.reply.message.is_some_and(|told| told.contains("error (store_error)") && told.contains("not met: x")));
}

#[test]
fn agent_released_without_proof_gets_a_message() {
    let limit = StopFacts::Limit(StopReason {
        reason: Reason::DeadlineExceeded,
        why: "the deadline has passed".into(),
    });
    for (facts, start) in [
        (
            StopFacts::Failed {
                why: "git is broken".into(),
            },
            "watchdog: could not judge, so the agent was not held: git is broken",
        ),
        (
            StopFacts::Untrusted {
                allow_with: "watchdog trust".into(),
            },
            "watchdog: review (untrusted): completion.json is not trusted",
        ),
        (
            limit,
            "watchdog: stopped (deadline_exceeded): the deadline has passed; the work was not judged",
        ),
        (StopFacts::NoCriteria, "watchdog: review (no_criteria): "),
        (
            StopFacts::Background {
                tasks: vec!["a".into(), "b".into(), "c".into(), "d".into()],
            },
            "watchdog: waiting (background_work): 4 tasks still run in the background (a, b, c and 1 more)",
        ),
        (
            judged(CheckOutcome::Waiting, "CI runs"),
            "watchdog: waiting (background_work): a check waits, so the agent was not held: CI runs",
        ),
        (
            judged(CheckOutcome::Unrunnable, "no npm"),
            "watchdog: failed (verify_unrunnable): a check could not run",
        ),
        (
            judged(CheckOutcome::Failed, "odd"),
            "watchdog: review (verify_failed): a check ran without a result",
        ),
        (
            judged(CheckOutcome::TimedOut, "late"),
            "watchdog: review (verify_timeout): a check did not end in time",
        ),
    ] {
        for holding in [
            HoldPoint::Stop,
            HoldPoint::Output,
            HoldPoint::OutputTaken { finish: true },
        ] {
            let answer = answer(holding, &facts, held(0));
            let object = answer.as_object().expect("an object");
            assert_eq!(object.len(), 1, "{facts:?}: {answer}");
            assert!(
                answer["systemMessage"]
                    .as_str()
                    .is_some_and(|told| told.starts_with(start)),
                "{facts:?}: {answer}"
            );
        }
    }
}

#[test]
fn weak_evidence_is_for_review() {
    let facts = judged_with(
        CheckOutcome::Pass,
        "",
        Evidence::Claimed,
        Evidence::Verified,
    );
    let decision = decide_hold(HoldPoint::Stop, &facts, held(2));
    assert_eq!(
        (decision.reason, decision.counted),
        (Some(Reason::Disputed), HoldCountChange::Over)
    );
    assert!(
        decision.message.contains("'claimed'") && decision.message.contains("'verified'"),
        "{}",
        decision.message
    );
}

fn grounds() -> impl Strategy<Value = StopFacts> {
    let word = "[a-z \n.]{0,20}";
    prop_oneof![
        word.prop_map(|why| StopFacts::Failed { why }),
        Just(StopFacts::Nothing),
        Just(StopFacts::NoCriteria),
        word.prop_map(|allow_with| StopFacts::Untrusted { allow_with }),
        word.prop_map(|why| StopFacts::Limit(StopReason {
            reason: Reason::BudgetExhausted,
            why
        })),
        prop::collection::vec(word, 1..5).prop_map(|tasks| StopFacts::Background { tasks }),
        (prop::sample::select(CheckOutcome::ALL.to_vec()), word)
            .prop_map(|(outcome, feedback)| judged(outcome, &feedback)),
    ]
}

proptest! {
    #[test]
    fn only_unmet_checks_hold_within_the_cap(
        facts in grounds(), times in prop::option::of(0u32..20), most in 0u32..10, kind in 0u8..2
    ) {
        let holding = if kind == 0 { HoldPoint::Stop } else { HoldPoint::Output };
        let decision = decide_hold(holding, &facts, HoldStreak { times, most });
        let unmet = matches!(facts, StopFacts::Unmet { .. });
        let may = unmet && times.is_some_and(|times| times < most);
        prop_assert_eq!(decision.reply.act != HookAction::Nothing, may);
        prop_assert_eq!(decision.counted == HoldCountChange::OneMore, may);
        let passes = matches!(facts, StopFacts::Nothing | StopFacts::Passed);
        prop_assert_eq!(decision.reply.message.is_some(), !may && !passes);
        let complete = decision.reason.is_some_and(|reason| reason.status().as_str() == "complete");
        prop_assert!(!complete || passes, "{:?} is no success", facts);
    }
}

#[test]
fn changed_guards_are_told_and_hold_nobody() {
    let facts = StopFacts::CriteriaChanged {
        guarded: "tests/a.rs".into(),
    };
    for holding in [
        HoldPoint::Stop,
        HoldPoint::Output,
        HoldPoint::OutputTaken { finish: true },
    ] {
        let decision = decide_hold(holding, &facts, held(3));
        let told = "watchdog: review (criteria_changed): guarded files changed since the anchor: tests/a.rs; a person must look at them";
        assert_eq!(
            decision.reply.to_json(HookDialect::Claude),
            json!({"systemMessage": told})
        );
        assert_eq!(decision.counted, HoldCountChange::Over);
    }
}
