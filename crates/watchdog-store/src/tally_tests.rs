//! Each event adds what it tells, and parts add up to the whole.

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::journal::new_event;

fn happened(hour: i64, worktree: &str, kind: &str, data: Value) -> StoredEvent {
    new_event(
        Timestamp::from_second(1_800_000_000 + hour * 3600).unwrap(),
        worktree,
        None,
        kind,
        data,
    )
}

#[test]
fn each_event_kind_adds_only_known_figures() {
    let usage = json!({"input_tokens": 100, "output_tokens": 5, "cost_usd": 0.25});
    for (kind, data, expected) in [
        (
            "session_started",
            json!({"pid": 1}),
            &[("sessions_started", 1)][..],
        ),
        ("session_started", json!({"by": "hook", "inner": true}), &[]),
        (
            "session_started",
            json!({"by": "hook", "inner": false}),
            &[("sessions_started", 1)],
        ),
        (
            "session_ended",
            json!({ "usage": usage }),
            &[
                ("sessions_ended", 1),
                ("input_tokens", 100),
                ("output_tokens", 5),
                ("tokens_told", 1),
                ("cost_micros", 250_000),
                ("cost_told", 1),
            ],
        ),
        (
            "session_ended",
            json!({"usage": {"input_tokens": 7, "output_tokens": null, "cost_usd": -1.0}}),
            &[("sessions_ended", 1)],
        ),
        (
            "session_ended",
            json!({"usage": {"cost_usd": 0.0}}),
            &[("sessions_ended", 1), ("cost_micros", 0), ("cost_told", 1)],
        ),
        (
            "session_ended",
            json!({"agent": "codex", "usage": {"input_tokens": 7, "output_tokens": 2}}),
            &[
                ("sessions_ended", 1),
                ("input_tokens", 7),
                ("output_tokens", 2),
                ("tokens_told", 1),
                ("agent/sessions_ended/codex", 1),
                ("agent/input_tokens/codex", 7),
                ("agent/output_tokens/codex", 2),
                ("agent/tokens_told/codex", 1),
            ],
        ),
        (
            "session_ended",
            json!({"agent": null}),
            &[("sessions_ended", 1), ("agent/sessions_ended/", 1)],
        ),
        ("session_ended", json!("nonsense"), &[("sessions_ended", 1)]),
        ("iteration", json!({}), &[("iterations", 1)]),
        (
            "verdict",
            json!({"reason": "new_commits"}),
            &[("verdict/new_commits", 1)],
        ),
        (
            "verdict",
            json!({"reason": "of a later version"}),
            &[("verdict/other", 1)],
        ),
        (
            "verdict",
            json!({"unreadable": "{"}),
            &[("verdict/other", 1)],
        ),
        (
            "probe",
            json!({"outcome": "timed_out"}),
            &[("probe/timed_out", 1)],
        ),
        (
            "verdict",
            json!({"reason": "working", "probe_usage": {"requests": 2, "input_tokens": 9, "output_tokens": 3, "cost_usd": 0.5}}),
            &[
                ("verdict/working", 1),
                ("questions", 2),
                ("question_input_tokens", 9),
                ("question_output_tokens", 3),
                ("question_tokens_told", 1),
                ("question_cost_micros", 500_000),
                ("question_cost_told", 1),
            ],
        ),
        ("probe", json!({"outcome": "x"}), &[("probe/other", 1)]),
        (
            "rescue",
            json!({"commits": 2, "failed": null}),
            &[("rescues", 1), ("rescue_commits", 2)],
        ),
        (
            "rescue",
            json!({"commits": 0, "failed": "why"}),
            &[("rescues", 1), ("rescues_failed", 1)],
        ),
        ("breaker", json!({"state": "open"}), &[("breaker_trips", 1)]),
        ("breaker", json!({"state": "closed"}), &[]),
        ("commits", json!({}), &[]),
        ("of a later version", json!({}), &[]),
    ] {
        let expected: Vec<(String, u64)> = expected
            .iter()
            .map(|(word, amount)| ((*word).to_owned(), *amount))
            .collect();
        assert_eq!(
            list_amounts(&happened(0, "w", kind, data.clone())),
            expected,
            "{kind} {data}"
        );
    }
}

#[test]
fn every_probe_outcome_has_its_own_figure() {
    use watchdog_facts::evidence::ProbeOutcome as P;
    let why = String::new;
    let all = [
        P::Unreadable { why: why() },
        P::Empty,
        P::TimedOut,
        P::NoConversation { why: why() },
        P::NotInstalled { why: why() },
        P::NotLoggedIn { why: why() },
        P::Overloaded { why: why() },
        P::RateLimited {
            why: why(),
            retry_at: None,
        },
        P::Failed { why: why() },
    ];
    assert!(
        all.iter()
            .all(|outcome| OUTCOMES.contains(&outcome.as_str()))
    );
}

#[test]
fn day_counts_worktrees_beyond_its_room() {
    let mut tally = JournalTally::default();
    for n in 0..WORKTREES + 20 {
        tally.add(&happened(0, &format!("w{n}"), "iteration", json!({})));
    }
    tally.add(&happened(0, "w0", "iteration", json!({})));
    let day = tally.days.values().next().unwrap();
    assert_eq!(
        (day.all.get_sum("iterations"), day.works.len()),
        (WORKTREES as u64 + 21, WORKTREES)
    );
    assert_eq!(day.works["w0"][""].get_sum("iterations"), 2);
}

#[test]
fn worktree_counts_specs_beyond_its_room() {
    let mut tally = JournalTally::default();
    let with_spec = |spec: String| StoredEvent {
        spec: Some(spec),
        ..happened(0, "w", "iteration", json!({}))
    };
    (0..SPECS + 20).for_each(|n| tally.add(&with_spec(format!("s{n}"))));
    let day = tally.days.values().next().unwrap();
    assert_eq!(
        (
            day.works["w"].len(),
            day.works["w"][""].get_sum("iterations")
        ),
        (SPECS + 1, 20)
    );
    let by_spec = day.works["w"].values();
    let in_all: u64 = by_spec.map(|own| own.get_sum("iterations")).sum();
    assert_eq!(in_all, SPECS as u64 + 20);
}

proptest! {
    #[test]
    fn sums_of_parts_equal_the_whole(
        hours in prop::collection::vec((0..100i64, 0..4u8, 0..5usize), 0..60),
        cut in 0..60usize,
    ) {
        let kinds = ["verdict", "probe", "iteration", "rescue", "commits"];
        let events: Vec<StoredEvent> =
            hours.iter().map(|(hour, tree, at)| happened(*hour, &format!("w{tree}"), kinds[*at], json!({"commits": 1, "reason": "rescued"}))).collect();
        let tallied = |part: &[StoredEvent]| part.iter().fold(JournalTally::default(), |mut tally, event| { tally.add(event); tally }).days;
        let plain = |sums: &CounterSums| sums.below("").filter(|(word, _)| !word.starts_with("judged") && *word != "looks")
            .filter(|(word, _)| *word != "completions" && !word.starts_with("no_strike")).map(|(word, sum)| (word.to_owned(), sum)).collect::<BTreeMap<_, _>>();
        let whole = tallied(&events);
        let (first, second) = events.split_at(cut.min(events.len()));
        let mut sums = CounterSums::default();
        for part in [first, second] {
            tallied(part).values().for_each(|day| sums.merge(&day.all));
        }
        let mut all = CounterSums::default();
        whole.values().for_each(|day| all.merge(&day.all));
        prop_assert_eq!(plain(&all), plain(&sums));
        let by_worktree = whole.values().flat_map(|day| day.works.values().flat_map(BTreeMap::values)).fold(CounterSums::default(), |mut sum, own| { sum.merge(own); sum });
        prop_assert_eq!(all, by_worktree);
    }
}

#[test]
fn sessions_are_summed_by_agent_without_inventing_prices() {
    let mut tally = JournalTally::default();
    let ends = |agent: Value, usage: Value| {
        happened(
            0,
            "w",
            "session_ended",
            json!({"agent": agent, "usage": usage}),
        )
    };
    tally.add(&ends(
        json!("claude"),
        json!({"input_tokens": 10, "output_tokens": 1, "cost_usd": 0.5}),
    ));
    tally.add(&ends(json!("claude"), json!({})));
    tally.add(&ends(
        json!("codex"),
        json!({"input_tokens": 30, "output_tokens": 3}),
    ));
    tally.add(&ends(Value::Null, json!({})));
    let sums = &tally.days.values().next().expect("a day").all;
    let shown: Vec<_> = (sums.by_agent().into_iter())
        .map(|of| {
            (
                of.agent,
                of.sessions,
                of.tokens,
                of.cost_usd,
                of.cost_reported_by,
            )
        })
        .collect();
    let expected = [
        ("claude".to_owned(), 2, Some((10, 1)), Some(0.5), 1),
        (String::new(), 1, None, None, 0),
        ("codex".to_owned(), 1, Some((30, 3)), None, 0),
    ];
    assert_eq!(shown, expected);
}
