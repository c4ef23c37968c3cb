//! The tables of when an agent is held and when it is let go.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const OUTCOMES: [CheckOutcome; 6] = [
    CheckOutcome::Pass,
    CheckOutcome::Unmet,
    CheckOutcome::Waiting,
    CheckOutcome::Unrunnable,
    CheckOutcome::Failed,
    CheckOutcome::TimedOut,
];

fn judged(outcome: CheckOutcome, feedback: &str) -> Ground {
    Ground::Judged { outcome, evidence: Evidence::Verified, required: Evidence::Claimed, feedback: feedback.into() }
}

fn held(times: u32) -> Held {
    Held { times: Some(times), most: 7 }
}

fn answer(holding: Holding, ground: &Ground, held: Held) -> Value {
    decide(holding, ground, held).reply.to_json()
}

#[test]
fn checks_that_are_not_met_hold_the_agent_with_what_is_missing() {
    let ground = judged(CheckOutcome::Unmet, "write the tests");
    assert_eq!(answer(Holding::Stop, &ground, held(0)), json!({"decision": "block", "reason": "write the tests"}));
    let denied = answer(Holding::Output, &ground, held(0));
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(denied["hookSpecificOutput"]["permissionDecisionReason"], "write the tests");
    let told = answer(Holding::OutputTaken { finish: true }, &ground, held(0));
    assert_eq!(
        told["hookSpecificOutput"]["additionalContext"],
        "Tasks incomplete: write the tests. Please complete the remaining tasks, then call StructuredOutput again with your final output."
    );
    assert_eq!(told.get("continue"), None, "the session goes on");
}

#[test]
fn an_agent_is_never_held_without_a_word() {
    for feedback in ["", "  \n"] {
        assert_eq!(answer(Holding::Stop, &judged(CheckOutcome::Unmet, feedback), held(0))["reason"], "Tasks are incomplete");
    }
}

#[test]
fn a_pass_needs_no_words() {
    let ground = judged(CheckOutcome::Pass, "");
    assert_eq!(answer(Holding::Stop, &ground, held(3)), json!({}));
    assert_eq!(answer(Holding::Output, &ground, held(3)), json!({}));
    assert_eq!(answer(Holding::OutputTaken { finish: true }, &ground, held(3)), json!({"continue": false}));
    assert_eq!(answer(Holding::OutputTaken { finish: false }, &ground, held(3)), json!({}));
    assert_eq!(decide(Holding::Stop, &ground, held(3)).counted, Counted::Over);
    assert_eq!(answer(Holding::Stop, &Ground::Nothing, held(0)), json!({}));
    assert_eq!(answer(Holding::OutputTaken { finish: true }, &Ground::Nothing, held(0)), json!({"continue": false}));
}

#[test]
fn the_cap_lets_the_agent_go_and_calls_it_stopped_never_complete() {
    for holding in [Holding::Stop, Holding::Output] {
        let ground = judged(CheckOutcome::Unmet, "write the tests");
        assert_eq!(decide(holding, &ground, held(6)).counted, Counted::OneMore);
        let decision = decide(holding, &ground, held(7));
        assert_eq!(decision.reason, Some(Reason::BudgetExhausted));
        assert_eq!(decision.counted, Counted::Same);
        assert_eq!(
            decision.reply.to_json(),
            json!({"systemMessage": "watchdog: stopped (budget_exhausted): the agent was held 7 times in a row and is let go; \
                   the work is not complete: write the tests"})
        );
        let never = decide(holding, &ground, Held { times: Some(0), most: 0 });
        assert!(never.message.contains("max_stop_blocks is 0"), "{never:?}");
        assert_eq!(never.reason, Some(Reason::ChecksUnmet));
    }
}

#[test]
fn a_count_that_could_not_be_read_holds_nobody() {
    let decision = decide(Holding::Stop, &judged(CheckOutcome::Unmet, "x"), Held { times: None, most: 7 });
    assert_eq!(decision.reply.act, Act::Nothing);
    assert!(decision.reply.message.is_some_and(|told| told.contains("error (store_error)") && told.contains("not met: x")));
}

#[test]
fn whoever_is_let_go_with_the_work_not_shown_is_told_so() {
    let limit = Ground::Limit(Stop { reason: Reason::DeadlineExceeded, why: "the deadline has passed".into() });
    for (ground, start) in [
        (Ground::Failed { why: "git is broken".into() }, "watchdog: could not judge, so the agent was not held: git is broken"),
        (Ground::Untrusted { allow_with: "watchdog trust".into() }, "watchdog: review (untrusted): completion.json is not trusted"),
        (limit, "watchdog: stopped (deadline_exceeded): the deadline has passed; the work was not judged"),
        (Ground::NoCriteria, "watchdog: review (no_criteria): "),
        (
            Ground::Background { tasks: vec!["a".into(), "b".into(), "c".into(), "d".into()] },
            "watchdog: waiting (background_work): 4 tasks still run in the background (a, b, c, ...)",
        ),
        (
            judged(CheckOutcome::Waiting, "CI runs"),
            "watchdog: waiting (background_work): a check waits, so the agent was not held: CI runs",
        ),
        (judged(CheckOutcome::Unrunnable, "no npm"), "watchdog: failed (verify_unrunnable): a check cannot be run"),
        (judged(CheckOutcome::Failed, "odd"), "watchdog: review (verify_failed): a check could not tell"),
        (judged(CheckOutcome::TimedOut, "late"), "watchdog: review (verify_timeout): a check did not end in time"),
    ] {
        for holding in [Holding::Stop, Holding::Output, Holding::OutputTaken { finish: true }] {
            let answer = answer(holding, &ground, held(0));
            let object = answer.as_object().expect("an object");
            assert_eq!(object.len(), 1, "{ground:?}: {answer}");
            assert!(answer["systemMessage"].as_str().is_some_and(|told| told.starts_with(start)), "{ground:?}: {answer}");
        }
    }
}

#[test]
fn evidence_that_is_too_weak_is_for_a_person() {
    let ground =
        Ground::Judged { outcome: CheckOutcome::Pass, evidence: Evidence::Claimed, required: Evidence::Verified, feedback: String::new() };
    let decision = decide(Holding::Stop, &ground, held(2));
    assert_eq!((decision.reason, decision.counted), (Some(Reason::Disputed), Counted::Over));
    assert!(decision.message.contains("'claimed'") && decision.message.contains("'verified'"), "{}", decision.message);
}

fn grounds() -> impl Strategy<Value = Ground> {
    let word = "[a-z \n.]{0,20}";
    prop_oneof![
        word.prop_map(|why| Ground::Failed { why }),
        Just(Ground::Nothing),
        Just(Ground::NoCriteria),
        word.prop_map(|allow_with| Ground::Untrusted { allow_with }),
        word.prop_map(|why| Ground::Limit(Stop { reason: Reason::BudgetExhausted, why })),
        prop::collection::vec(word, 1..5).prop_map(|tasks| Ground::Background { tasks }),
        (prop::sample::select(OUTCOMES.to_vec()), word).prop_map(|(outcome, feedback)| judged(outcome, &feedback)),
    ]
}

proptest! {
    #[test]
    fn only_unmet_checks_hold_anybody_and_never_beyond_the_cap(
        ground in grounds(), times in prop::option::of(0u32..20), most in 0u32..10, kind in 0u8..2
    ) {
        let holding = if kind == 0 { Holding::Stop } else { Holding::Output };
        let decision = decide(holding, &ground, Held { times, most });
        let unmet = matches!(ground, Ground::Judged { outcome: CheckOutcome::Unmet, .. });
        let may = unmet && times.is_some_and(|times| times < most);
        prop_assert_eq!(decision.reply.act != Act::Nothing, may);
        prop_assert_eq!(decision.counted == Counted::OneMore, may);
        let passes = matches!(ground, Ground::Nothing | Ground::Judged { outcome: CheckOutcome::Pass, .. });
        prop_assert_eq!(decision.reply.message.is_some(), !may && !passes);
        let complete = decision.reason.is_some_and(|reason| reason.status().as_str() == "complete");
        prop_assert!(!complete || passes, "{:?} is no success", ground);
    }
}

#[test]
fn changed_guards_are_told_and_hold_nobody() {
    let ground = Ground::CriteriaChanged { guarded: "tests/a.rs".into() };
    for holding in [Holding::Stop, Holding::Output, Holding::OutputTaken { finish: true }] {
        let decision = decide(holding, &ground, held(3));
        let told = "watchdog: review (criteria_changed): guarded files changed since the anchor: tests/a.rs; a person must look at them";
        assert_eq!(decision.reply.to_json(), json!({"systemMessage": told}));
        assert_eq!(decision.counted, Counted::Over);
    }
}
