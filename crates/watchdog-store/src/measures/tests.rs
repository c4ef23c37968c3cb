//! Stories of one spec, event by event, with what they come to; and that batches of any size come to the same.

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::engine::StoredEvent;
use crate::journal::new_event;
use crate::tally::{CounterSums, FiguresByDay, JournalTally};

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

fn happened(second: i64, kind: &str, data: Value) -> StoredEvent {
    new_event(
        Timestamp::from_second(1_800_000_000 + second).unwrap(),
        "w",
        Some("s"),
        kind,
        data,
    )
}

fn started(second: i64) -> StoredEvent {
    happened(second, "session_started", json!({"pid": 1}))
}

fn ended(second: i64, end: &str) -> StoredEvent {
    happened(
        second,
        "session_ended",
        json!({"end": end, "usage": {"wall_seconds": 60.4, "cost_usd": 0.5}}),
    )
}

fn commits(second: i64, made: u64) -> StoredEvent {
    happened(
        second,
        "commits",
        json!({"head": "c", "new_commits": made, "made_here": made}),
    )
}

fn verdict(second: i64, reason: &str, head: &str) -> StoredEvent {
    happened(
        second,
        "verdict",
        json!({"reason": reason, "head": head, "baseline": "b", "not_a_strike_because": "incomplete"}),
    )
}

fn tallied(events: &[StoredEvent]) -> FiguresByDay {
    let mut tally = JournalTally::default();
    events.iter().for_each(|event| tally.add(event));
    tally.days
}

fn sums(events: &[StoredEvent]) -> CounterSums {
    tallied(events)
        .values()
        .fold(CounterSums::default(), |mut sum, day| {
            sum.merge(&day.all);
            sum
        })
}

#[track_caller]
fn assert_sums(events: &[StoredEvent], expected: &[(&str, u64)]) {
    let sums = sums(events);
    for (word, amount) in expected {
        assert_eq!(sums.get_sum(word), *amount, "{word} of {sums:?}");
    }
}

/// A session from its start to its verdict.
fn session(second: i64, made: u64, reason: &str, head: &str) -> Vec<StoredEvent> {
    vec![
        started(second),
        ended(second + 60, "exit 0"),
        commits(second + 61, made),
        verdict(second + 62, reason, head),
    ]
}

#[test]
fn repeated_sweep_verdicts_do_not_outweigh_sessions() {
    let mut events = Vec::new();
    for n in 0..12 {
        events.extend(session(n * HOUR, n as u64, "new_commits", &format!("c{n}")));
        // A sweep each minute finds what it found before.
        events.extend(
            (2..60).map(|minute| verdict(n * HOUR + minute * 60, "new_commits", &format!("c{n}"))),
        );
        events.push(verdict(n * HOUR + HOUR - 1, "session_active", "x"));
    }
    assert_sums(
        &events,
        &[
            ("verdict/new_commits", 12 * 59),
            ("judged/session/new_commits", 12),
            ("judged/change/new_commits", 0),
            ("looks", 12 * 59),
            ("completions", 12),
        ],
    );
}

#[test]
fn each_verdict_counts_as_session_change_or_look() {
    let unchanged = |second| {
        happened(
            second,
            "verdict",
            json!({"reason": "working", "head": "z", "unchanged_since": "2026-01-01T00:00:00Z"}),
        )
    };
    for (events, session, change, looks) in [
        (vec![verdict(0, "working", "a")], 0, 1, 0),
        (
            vec![verdict(0, "working", "a"), verdict(9, "working", "a")],
            0,
            1,
            1,
        ),
        (
            vec![verdict(0, "working", "a"), verdict(9, "working", "b")],
            0,
            2,
            0,
        ),
        (vec![verdict(0, "working", "a"), unchanged(9)], 0, 1, 1),
        (
            vec![
                started(0),
                verdict(1, "session_active", "a"),
                ended(2, "exit 0"),
                verdict(3, "working", "a"),
            ],
            1,
            0,
            1,
        ),
        // The session left something running: the verdict after that judges it.
        (
            vec![
                started(0),
                ended(2, "exit 0"),
                verdict(3, "background_work", "a"),
                verdict(4, "new_commits", "a"),
            ],
            1,
            0,
            1,
        ),
        (vec![started(0), ended(2, "exit 0"), unchanged(3)], 1, 0, 0),
        // Nobody saw its end.
        (
            vec![
                started(0),
                verdict(3, "working", "a"),
                verdict(4, "working", "a"),
            ],
            1,
            0,
            1,
        ),
        (
            vec![
                started(0),
                verdict(3, "working", "a"),
                ended(4, "exit 0"),
                verdict(5, "working", "a"),
            ],
            1,
            0,
            1,
        ),
        // The same outcome of another session is another judgement.
        (
            [
                session(0, 0, "working", "a"),
                session(99, 0, "working", "a"),
            ]
            .concat(),
            2,
            0,
            0,
        ),
        (
            vec![
                happened(0, "session_ended", json!({"end": "not started"})),
                verdict(1, "store_error", "a"),
            ],
            0,
            1,
            0,
        ),
        (
            vec![
                happened(0, "session_started", json!({"inner": true})),
                verdict(1, "working", "a"),
            ],
            0,
            1,
            0,
        ),
    ] {
        let sums = sums(&events);
        let of = |beginning| sums.below(beginning).map(|(_, count)| count).sum::<u64>();
        let found = (
            of(measure::JUDGED_SESSION),
            of(measure::JUDGED_CHANGE),
            sums.get_sum(measure::LOOKS),
        );
        assert_eq!(found, (session, change, looks), "{events:?}");
    }
}

#[test]
fn abort_is_judged_by_later_events_or_undecided() {
    let aborted = || {
        [
            started(0),
            ended(60, "silent"),
            commits(61, 0),
            verdict(62, "session_idle", "a"),
        ]
        .to_vec()
    };
    let with = |later: &[StoredEvent]| [aborted(), later.to_vec()].concat();
    for (events, total, went_on, anew, held) in [
        (aborted(), 1, 0, 0, 0),
        (with(&[verdict(HOUR, "session_idle", "a")]), 1, 0, 0, 0),
        (with(&[commits(HOUR, 1)]), 1, 1, 0, 0),
        (with(&[commits(HOUR, 0)]), 1, 0, 0, 0),
        (with(&[verdict(HOUR, "nothing_to_do", "a")]), 1, 1, 0, 0),
        (
            with(&[happened(
                HOUR,
                "rescue",
                json!({"commits": 1, "failed": null}),
            )]),
            1,
            1,
            0,
            0,
        ),
        (
            with(&[happened(
                HOUR,
                "rescue",
                json!({"commits": 0, "failed": null}),
            )]),
            1,
            0,
            0,
            0,
        ),
        (with(&session(HOUR, 1, "new_commits", "b")), 1, 1, 1, 0),
        // Looks came for longer than the window, and no work.
        (
            with(&[
                verdict(DAY, "session_idle", "a"),
                verdict(8 * DAY, "session_idle", "a"),
            ]),
            1,
            0,
            0,
            1,
        ),
        (
            with(&[
                verdict(8 * DAY, "session_idle", "a"),
                commits(8 * DAY + 1, 1),
            ]),
            1,
            0,
            0,
            1,
        ),
        (with(&[commits(8 * DAY, 1)]), 1, 0, 0, 1),
    ] {
        let sums = sums(&events);
        let of = |beginning| sums.below(beginning).map(|(_, count)| count).sum::<u64>();
        let found = (
            of(measure::ABORTS),
            of(measure::WENT_ON),
            of(measure::WENT_ON_ANEW),
            of(measure::HELD),
        );
        assert_eq!(found, (total, went_on, anew, held), "{events:?}");
    }
    let days = tallied(&with(&[commits(2 * DAY, 1)]));
    assert_eq!(
        days.first_key_value()
            .unwrap()
            .1
            .all
            .get_sum("aborts_went_on/session_idle"),
        1,
        "on the day of the abort"
    );
}

#[test]
fn abort_counts_once_excluding_agent_and_person_ends() {
    let open = |second| happened(second, "breaker", json!({"state": "open"}));
    let ends =
        |second, reason: &str| happened(second, "limit", json!({"loop": "l", "reason": reason}));
    for (events, why) in [
        (
            vec![
                started(0),
                ended(1, "timed out"),
                verdict(2, "working", "a"),
            ],
            Some("session_timeout"),
        ),
        (
            vec![
                started(0),
                ended(1, "timed out"),
                verdict(2, "new_commits", "a"),
            ],
            None,
        ),
        (
            vec![
                started(0),
                ended(1, "exit 0"),
                verdict(2, "max_probes", "a"),
            ],
            Some("max_probes"),
        ),
        (
            vec![
                started(0),
                ended(1, "exit 0"),
                open(2),
                verdict(2, "max_probes", "a"),
            ],
            Some("breaker_open"),
        ),
        (
            vec![
                started(0),
                ended(1, "budget_exhausted"),
                verdict(2, "budget_exhausted", "a"),
                ends(3, "budget_exhausted"),
            ],
            Some("budget_exhausted"),
        ),
        (
            vec![
                started(0),
                ended(1, "exit 0"),
                verdict(2, "working", "a"),
                ends(3, "max_iterations"),
            ],
            Some("max_iterations"),
        ),
        (
            vec![
                started(0),
                ended(1, "exit 0"),
                verdict(2, "agent_stopped", "a"),
            ],
            None,
        ),
        (
            vec![
                started(0),
                ended(1, "exit 0"),
                verdict(2, "interrupted", "a"),
            ],
            None,
        ),
        (
            vec![
                happened(0, "breaker", json!({"state": "half_open"})),
                verdict(2, "breaker_open", "a"),
            ],
            None,
        ),
    ] {
        let sums = sums(&events);
        let found: Vec<(&str, u64)> = sums.below(measure::ABORTS).collect();
        assert_eq!(
            found,
            why.map(|why| (why, 1)).into_iter().collect::<Vec<_>>(),
            "{events:?}"
        );
    }
}

#[test]
fn old_commit_does_not_prove_continued_work() {
    let baseline = |second, of: &str| happened(second, "baseline", json!({"baseline": of}));
    let before = [vec![baseline(0, "b")], session(1, 2, "working", "a")].concat();
    let aborted = [
        before,
        vec![
            started(HOUR),
            ended(HOUR + 1, "silent"),
            commits(HOUR + 2, 2),
            verdict(HOUR + 3, "session_idle", "a"),
        ],
    ]
    .concat();
    let with = |later: &[StoredEvent]| {
        sums(&[aborted.clone(), later.to_vec()].concat()).get_sum("aborts_went_on/session_idle")
    };
    assert_eq!(
        with(&[baseline(2 * HOUR, "b"), commits(2 * HOUR, 2)]),
        0,
        "the same baseline is noted for each session"
    );
    assert_eq!(
        with(&[baseline(2 * HOUR, "other"), commits(2 * HOUR, 1)]),
        1
    );
    assert_eq!(with(&[commits(2 * HOUR, 3)]), 1);
}

#[test]
fn completion_sums_usage_only_if_fully_known() {
    let of = |events: &[StoredEvent]| -> Vec<CompletedSpec> {
        tallied(events)
            .into_values()
            .flat_map(|day| day.completed)
            .collect()
    };
    let spec = |sessions, seconds, cost_micros, questions| CompletedSpec {
        worktree: "w".into(),
        spec: "s".into(),
        sessions,
        seconds,
        cost_micros,
        questions,
    };
    let asked = happened(
        200,
        "verdict",
        json!({"reason": "working", "probe_usage": {"requests": 3}}),
    );
    let two = [
        session(0, 0, "working", "a"),
        vec![asked],
        session(300, 1, "new_commits", "b"),
    ]
    .concat();
    assert_eq!(of(&two), [spec(2, Some(120), Some(1_000_000), 3)]);
    let hooked = [
        started(0),
        happened(90, "session_ended", json!({"by": "hook"})),
        verdict(91, "new_commits", "a"),
        verdict(92, "new_commits", "a"),
        verdict(93, "new_commits", "b"),
    ];
    assert_eq!(
        of(&hooked),
        [spec(1, Some(90), None, 0)],
        "its time is that between its events, its cost is unknown"
    );
    assert_eq!(
        of(&[verdict(0, "new_commits", "a")]),
        [spec(0, None, None, 0)]
    );
}

#[test]
fn questions_strikes_checks_and_rescues_count_in_place() {
    let judged = happened(
        70,
        "verdict",
        json!({"reason": "max_probes", "strike": true, "not_a_strike_because": null, "probe_usage": {"requests": 2},
               "checks": [{"name": "tests", "outcome": "unmet"}, {"name": "lint", "outcome": "pass"}]}),
    );
    let looped = happened(0, "started", json!({"loop": "l"}));
    let mut events = vec![
        happened(
            0,
            "verdict",
            json!({"reason": "working", "not_a_strike_because": "unchanged", "probe_usage": {"requests": 7}}),
        ),
        looped,
        started(1),
        ended(60, "exit 0"),
        happened(
            61,
            "rescue",
            json!({"commits": 2, "failed": null, "lost": []}),
        ),
        happened(
            62,
            "rescue",
            json!({"commits": 2, "failed": null, "lost": ["a"]}),
        ),
        happened(63, "rescue", json!({"commits": 2, "failed": "why"})),
        judged,
        happened(71, "iteration", json!({})),
    ];
    events.push(happened(72, "iteration", json!({})));
    assert_sums(
        &events,
        &[
            ("questions_of/session", 2),
            ("questions_of/change", 7),
            ("question_verdicts", 2),
            ("iteration_questions", 2),
            ("timeouts", 1),
            ("strikes", 1),
            ("no_strike/unchanged", 1),
            ("no_strike/other", 0),
            ("unmet/tests", 1),
            ("unmet/lint", 0),
            ("rescues_kept", 1),
            ("session_seconds", 60),
            ("sessions_timed", 1),
        ],
    );
}

#[test]
fn names_of_checks_are_bounded() {
    let check =
        |n: usize| json!({"name": format!("{n} {}", "x".repeat(10_000)), "outcome": "unmet"});
    let checks: Vec<Value> = (0..CHECKS + 5).map(check).collect();
    let sums = sums(&[happened(
        0,
        "verdict",
        json!({ "reason": "checks_unmet", "checks": checks }),
    )]);
    assert_eq!(
        (
            sums.below(measure::UNMET).count(),
            sums.get_sum(measure::UNMET)
        ),
        (CHECKS + 1, 5)
    );
    assert!(sums.below(measure::UNMET).all(|(name, _)| name.len() <= 60));
}

fn any_event() -> impl Strategy<Value = (u8, u8, i64)> {
    (0..14u8, 0..3u8, 0..20i64)
}

fn told((kind, spec, days): (u8, u8, i64), n: i64) -> StoredEvent {
    let second = days * DAY + n;
    let made = match kind {
        0 | 1 => started(second),
        2 => ended(second, "silent"),
        3 => ended(second, "exit 0"),
        4 => commits(second, u64::from(spec)),
        5 => commits(second, 3),
        6 => verdict(second, "new_commits", "a"),
        7 => verdict(second, "session_idle", "a"),
        8 => verdict(second, "max_probes", "b"),
        9 => happened(second, "breaker", json!({"state": "open"})),
        10 => happened(second, "rescue", json!({"commits": 1})),
        11 => happened(second, "iteration", json!({})),
        12 => happened(
            second,
            "limit",
            json!({"loop": "l", "reason": "max_iterations"}),
        ),
        _ => happened(second, "baseline", json!({"baseline": spec.to_string()})),
    };
    StoredEvent {
        spec: Some(format!("s{spec}")),
        ..made
    }
}

proptest! {
    #[test]
    fn stored_state_continues_the_tally_unchanged(events in prop::collection::vec(any_event(), 0..80), cut in 0..80usize) {
        let events: Vec<StoredEvent> = events.into_iter().zip(0..).map(|(of, n)| told(of, n)).collect();
        let mut tally = JournalTally::default();
        for (n, event) in events.iter().enumerate() {
            if n == cut {
                for state in tally.works.values_mut() {
                    *state = serde_json::from_str(&serde_json::to_string(state).unwrap()).unwrap();
                }
            }
            tally.add(event);
        }
        prop_assert_eq!(&tally.days, &tallied(&events));
        let all = sums(&events);
        let of = |beginning: &str| all.below(beginning).map(|(_, count)| count).sum::<u64>();
        prop_assert!(of(measure::WENT_ON) + of(measure::HELD) <= of(measure::ABORTS), "{all:?}");
        prop_assert!(of(measure::WENT_ON_ANEW) <= of(measure::WENT_ON));
        prop_assert_eq!(of(measure::JUDGED) + all.get_sum(measure::LOOKS), all.verdicts());
        prop_assert!(of(measure::JUDGED_SESSION) <= events.iter().filter(|event| event.kind.starts_with("session_")).count() as u64);
        prop_assert!(all.get_sum(measure::TIMEOUTS) <= of(measure::JUDGED_SESSION));
    }
}
