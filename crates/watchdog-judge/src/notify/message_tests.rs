//! What a person reads of events, as tables.

use serde_json::json;

use super::*;

fn verdict(path: &str, spec: &str, reason: &str, message: &str) -> Value {
    let status = Reason::ALL
        .iter()
        .find(|known| known.as_str() == reason)
        .map_or("?", |known| known.status().as_str());
    json!({"id": "i", "kind": "verdict", "spec": spec, "path": path, "data": {"status": status, "reason": reason, "message": message}})
}

fn about(events: &[Value]) -> NoticeMessage {
    NoticeMessage::about(
        &events.iter().collect::<Vec<_>>(),
        &WorktreeCommands::default(),
    )
}

#[test]
fn verdict_notice_has_status_cause_place_and_command() {
    let mut event = verdict("/a b", "fix", "rescue_incomplete", "2 files are left");
    event["data"]["feedback"] = json!("\n 2 files are left\n  first\nsecond");
    event["data"]["changes"] = json!({"staged": 1, "untracked": 1});
    event["data"]["retry_at"] = json!("2026-03-04T05:06:07.123456789Z");
    let message = about(&[event]);
    assert_eq!(
        message.title,
        "watchdog: fix in a b: review (rescue_incomplete)"
    );
    assert_eq!(
        message.text,
        "2 files are left\nfeedback: first\n2 changes uncommitted\nlook again at 2026-03-04T05:06:07Z\nin /a b"
    );
    assert_eq!(message.command, "watchdog -C '/a b' rescue --spec fix");
    assert!(message.needs_person);
}

#[test]
fn every_reason_has_command_naming_the_worktree() {
    for reason in Reason::ALL {
        let message = about(&[verdict("/w", "s", reason.as_str(), "m")]);
        assert!(message.command.contains(" -C /w "), "{}", message.command);
        assert_eq!(message.needs_person, reason.status().exit_code() >= 12);
    }
}

#[test]
fn other_events_have_their_own_command() {
    let event =
        |kind: &str, data: Value| json!({"kind": kind, "spec": "s", "path": "/w", "data": data});
    for (event, title, text, command) in [
        (
            event(
                "breaker",
                json!({"state": "open", "strikes": 3, "limit": 3, "open_until": "2026-03-04T05:06:07.5Z", "why": "timeout"}),
            ),
            "watchdog: s in w: breaker open",
            "3 of 3 strikes; one trial is let through at 2026-03-04T05:06:07Z; last strike: timeout\nin /w",
            "watchdog -C /w breaker reset --spec s",
        ),
        (
            event("failed", json!({"task": "T 2", "reason": "no way"})),
            "watchdog: s in w: failed",
            "no way\nin /w",
            "watchdog -C /w task show 'T 2'",
        ),
        (
            event("session_started", json!({"pid": 7})),
            "watchdog: s in w: session started",
            "in /w",
            "watchdog -C /w status",
        ),
        (
            event("of a later version", json!(null)),
            "watchdog: s in w: of a later version",
            "in /w",
            "watchdog -C /w status",
        ),
        (json!(null), "watchdog: : ", "", "watchdog status"),
    ] {
        let message = about(&[event]);
        assert_eq!(
            (&*message.title, &*message.text, &*message.command),
            (title, text, command)
        );
    }
    let mut done = verdict("/w", "s", "new_commits", "1 commit");
    (done["data"]["baseline"], done["data"]["head"]) =
        (json!("a".repeat(40)), json!("b".repeat(40)));
    assert_eq!(
        about(&[done]).command,
        "git -C /w log --stat aaaaaaaaaaaa..bbbbbbbbbbbb"
    );
}

#[test]
fn harmful_characters_are_escaped_or_dropped() {
    let message = about(&[verdict(
        "/w\n; rm x",
        "s\u{1b}[2J",
        "disputed",
        "a\u{202e}b\r\nc",
    )]);
    assert_eq!(
        message.title,
        "watchdog: s\\x1b[2J in w\\n; rm x: review (disputed)"
    );
    assert_eq!(message.text, "a\\u{202e}b\\r\\nc\nin /w\\n; rm x");
    assert_eq!(message.command, "watchdog status");
    assert_eq!(
        about(&[verdict("/it's", "$(x)", "max_probes", "")]).command,
        r"watchdog -C '/it'\''s' check --spec '$(x)'"
    );
}

#[test]
fn digest_begins_with_events_needing_attention() {
    let events = [
        verdict("/w/a", "a", "new_commits", "1 commit"),
        verdict("/w/b", "b", "untrusted", "not trusted"),
        verdict("/w/c", "c", "git_error", "no HEAD"),
        verdict("/w/d", "d", "untrusted", "not trusted"),
    ];
    let message = about(&events);
    assert_eq!(
        message.title,
        "watchdog: 4 worktrees: 1 error, 2 review, 1 complete"
    );
    let lines = [
        "- c: error (git_error): no HEAD",
        "- b: review (untrusted): not trusted",
        "- d: review (untrusted): not trusted",
        "- a: complete (new_commits): 1 commit",
    ];
    assert_eq!(message.text.lines().collect::<Vec<_>>(), lines);
    assert_eq!(
        (&*message.command, &*message.value("spec")),
        ("watchdog status", "c")
    );
}

#[test]
fn events_of_same_work_keep_title_and_command() {
    let breaker = json!({"kind": "breaker", "spec": "a", "path": "/w", "data": {"state": "open", "strikes": 3, "limit": 3}});
    let message = about(&[verdict("/w", "a", "max_probes", "nothing came"), breaker]);
    assert_eq!(message.title, "watchdog: a in w: breaker open");
    assert_eq!(
        message.text,
        "- a in w: breaker open: 3 of 3 strikes\n- a in w: timeout (max_probes): nothing came"
    );
    assert_eq!(message.command, "watchdog -C /w breaker reset --spec a");
}

#[test]
fn huge_digest_and_sentence_stay_short() {
    let long = "x\u{7}".repeat(50_000);
    let events: Vec<Value> = (0..300)
        .map(|n| verdict(&format!("/w/{n}"), "s", "disputed", &long))
        .collect();
    let message = about(&events);
    assert_eq!(
        (message.title.as_str(), message.text.lines().count()),
        ("watchdog: 300 worktrees: 300 review", 21)
    );
    assert!(
        message.text.len() < 21 * 260 && message.text.ends_with("and 280 more"),
        "{}",
        message.text.len()
    );
    assert!(about(&events[..1]).text.len() < 4000);
}
