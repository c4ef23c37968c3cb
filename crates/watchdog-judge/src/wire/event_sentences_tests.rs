//! What each kind of event says.

use serde_json::json;

use super::*;
use watchdog_store::journal::new_event;

fn said(kind: &str, data: Value) -> String {
    let clock = |at: Timestamp| format!("[{at}]");
    describe_event(
        &new_event(Timestamp::UNIX_EPOCH, "w", Some("s"), kind, data),
        &clock,
    )
}

#[test]
fn each_kind_has_a_sentence() {
    let hex = "0123456789abcdef0123456789abcdef01234567";
    let usage = json!({"turns": 12, "input_tokens": 40_000, "output_tokens": 123, "cost_usd": 0.314, "wall_seconds": 300});
    for (kind, data, sentence) in [
        (
            "baseline",
            json!({"baseline": hex}),
            "a baseline was recorded at 0123456789",
        ),
        (
            "baseline",
            json!({"baseline": "unborn"}),
            "a baseline was recorded, before the first commit",
        ),
        (
            "session_started",
            json!({"pid": 7, "argv": ["claude", "-p", "do it"]}),
            "a session started (process 7): claude -p do it",
        ),
        (
            "session_started",
            json!({"pid": null, "by": "hook", "inner": true}),
            "a session started, inside of another one, as its hook says",
        ),
        (
            "session_ended",
            json!({"end": "exit 0", "survivors": 2, "usage": usage}),
            "the session ended: exit 0, after 5 min, 12 turns, 40123 tokens, $0.31, 2 of its processes still running",
        ),
        (
            "session_ended",
            json!({"end": "silent", "survivors": 0, "usage": {"cost_usd": null}}),
            "the session ended: silent",
        ),
        (
            "session_ended",
            json!({"end": null, "by": "hook"}),
            "a session ended, as its hook says",
        ),
        (
            "commits",
            json!({"new_commits": 0, "made_here": 0}),
            "no new commit",
        ),
        (
            "commits",
            json!({"new_commits": 3, "made_here": 2, "net_change": true}),
            "3 new commits, 2 made here",
        ),
        (
            "commits",
            json!({"new_commits": 1, "made_here": 1, "net_change": false}),
            "1 new commit, 1 made here, and nothing differs by them",
        ),
        (
            "changes",
            json!({"staged": 1, "unstaged": 0, "untracked": 2, "conflicted": 0}),
            "3 uncommitted changes: 1 staged, 2 untracked",
        ),
        (
            "changes",
            json!({"staged": 0, "unstaged": 0}),
            "nothing is uncommitted",
        ),
        (
            "snapshot",
            json!({"ref": "refs/watchdog/rescue/s/2026-1"}),
            "uncommitted work is kept in snapshot 2026-1",
        ),
        (
            "probe",
            json!({"outcome": "reply", "reply": {"status": "waiting", "message": "CI"}}),
            "the agent was asked, and answered waiting: CI",
        ),
        (
            "probe",
            json!({"outcome": "rate_limited", "reply": null, "retry_at": "2026-03-04T05:06:07Z"}),
            "the agent was asked, without an answer: rate limited; again at [2026-03-04T05:06:07Z]",
        ),
        (
            "check",
            json!({"name": "tests", "outcome": "unmet"}),
            "check 'tests' is not met",
        ),
        (
            "rescue",
            json!({"commits": 2, "branch": "b", "lost": [], "left_out": [{}]}),
            "the rescue made 2 commits, on branch b; 1 path left out",
        ),
        (
            "rescue",
            json!({"commits": 0, "failed": "no room", "lost": ["a"]}),
            "the rescue failed: no room; 1 path could not be proved to be safe",
        ),
        (
            "restore",
            json!({"snapshot": "2026-1"}),
            "snapshot 2026-1 was brought back",
        ),
        (
            "dropped",
            json!({"ref": "refs/watchdog/rescue/s/2026-1"}),
            "a person dropped snapshot 2026-1",
        ),
        (
            "expired",
            json!({"count": 2, "older_than_days": 30}),
            "2 snapshots older than 30 days were deleted",
        ),
        (
            "verdict",
            json!({"status": "review", "reason": "untrusted", "message": "no"}),
            "review (untrusted): no",
        ),
        (
            "breaker",
            json!({"state": "half_open", "strikes": 3, "limit": 3, "why": "silent"}),
            "the breaker is half-open: 3 of 3 strikes; silent",
        ),
        ("interrupted", json!({}), "a signal ended watchdog"),
        (
            "trust",
            json!({"path": "completion.json", "hash": "f", "command": "watchdog trust"}),
            "a person trusted completion.json",
        ),
        (
            "trust",
            json!({"path": "completion.json", "revoked": 1}),
            "a person revoked the trust in completion.json",
        ),
        (
            "trust",
            json!({"from_session": "s", "refused": true, "command": "watchdog trust"}),
            "watchdog trust from inside of the session of 's' was refused",
        ),
        (
            "trust",
            json!({"accepted": hex, "spec": "s"}),
            "a person accepted the criteria of 0123456789 for 's'",
        ),
        (
            "criteria_changed",
            json!({"guarded": ["a", "b", "c"], "guarded_total": 3, "named": ["d"]}),
            "files that say what done means changed since the anchor: a, b, c and 1 more",
        ),
        ("degraded", json!({"why": "no room"}), "warning: no room"),
        (
            "assigned",
            json!({"task": "T1", "agent": "claude"}),
            "task T1 was given to claude",
        ),
        ("started", json!({"task": "T1"}), "work on task T1 began"),
        (
            "started",
            json!({"loop": "l", "resumed": false, "max_iterations": 9}),
            "a loop started, at most 9 iterations",
        ),
        (
            "started",
            json!({"loop": "l", "resumed": true}),
            "the loop was resumed",
        ),
        (
            "iteration",
            json!({"iteration": 3, "status": "incomplete", "reason": "checks_unmet", "message": "m", "duration_ms": 7_300_000}),
            "iteration 3 ended after 2.0 h: incomplete (checks_unmet): m",
        ),
        (
            "agent_changed",
            json!({"from": "claude", "to": "codex", "why": "usage_limit", "until": "2026-03-04T05:06:07Z"}),
            "codex takes over from claude (usage limit), until [2026-03-04T05:06:07Z]",
        ),
        (
            "complete",
            json!({"task": "T1", "reason": "checks_passed"}),
            "task T1 is complete: checks_passed",
        ),
        (
            "complete",
            json!({"loop": "l", "reason": "checks_passed", "message": "m", "iterations": 1}),
            "the loop ended after 1 iteration with complete (checks_passed): m",
        ),
        ("review", json!({"task": "T1"}), "task T1 needs a person"),
        (
            "failed",
            json!({"task": "T1", "reason": "no way"}),
            "task T1 failed: no way",
        ),
        (
            "blocked",
            json!({"task": "T1", "reason": "T0"}),
            "task T1 is blocked: T0",
        ),
        ("pending", json!({"task": "T1"}), "task T1 is pending again"),
        (
            "limit",
            json!({"pause": "usage_limit", "until": "2026-03-04T05:06:07Z"}),
            "the loop pauses until [2026-03-04T05:06:07Z] (usage limit)",
        ),
        (
            "limit",
            json!({"reason": "budget_exhausted", "why": "$5"}),
            "a limit was met, budget exhausted: $5",
        ),
        (
            "limit",
            json!({"loop": "l", "reason": "deadline_exceeded", "iterations": 2}),
            "the loop ended after 2 iterations with a limit (deadline_exceeded)",
        ),
        (
            "notify",
            json!({"kind": "verdict", "to": "desktop", "delivered": true}),
            "desktop was told of the event 'verdict'",
        ),
        (
            "notify",
            json!({"kind": "verdict", "to": "desktop", "delivered": false, "attempts": 2, "why": "no bus"}),
            "desktop could not be told of the event 'verdict' after 2 attempts: no bus",
        ),
        (
            "hook",
            json!({"event": "stop", "answer": "held", "held": 0, "most": 3, "message": "watchdog: incomplete (checks_unmet): x"}),
            "hook stop held the agent (held 0 times before, at most 3): incomplete (checks_unmet): x",
        ),
        (
            "hook",
            json!({"event": "stop", "answer": "let_go", "message": ""}),
            "hook stop let the agent go",
        ),
    ] {
        assert_eq!(said(kind, data), sentence, "{kind}");
    }
}

#[test]
fn every_kind_has_sentence_keeping_unknown_data() {
    for kind in kind::ALL {
        assert!(
            !said(kind, json!(null)).is_empty(),
            "{kind}: data that is none"
        );
        assert!(
            !said(
                kind,
                json!({"pid": "no", "argv": 7, "commits": "x", "usage": []})
            )
            .is_empty(),
            "{kind}: data of another shape"
        );
    }
    assert_eq!(
        said("of_a_later_version", json!({"a": 1})),
        "of a later version: {\"a\":1}"
    );
    assert_eq!(
        said("verdict", json!({"status": 7})),
        "verdict: {\"status\":7}"
    );
    let long = "x".repeat(100_000);
    assert!(said("degraded", json!({ "why": long })).len() < 2 * TEXT);
}
