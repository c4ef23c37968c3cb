//! What the events of a work come to: its baseline, session, loop and breaker as they are shown of another machine.

use serde_json::{Value, json};
use watchdog_store::journal::new_event;

use super::*;

fn work(events: &[(&str, Value)]) -> MirroredWork {
    let mut work = MirroredWork::default();
    for (second, (kind, data)) in events.iter().enumerate() {
        let at = Timestamp::from_second(i64::try_from(second).unwrap()).unwrap();
        let mut data = data.clone();
        data["folder"] = json!("/work/shop");
        work.take("build-2", &new_event(at, "3f0c", Some("auth"), kind, data));
    }
    work
}

#[test]
fn baseline_names_machine_and_folder_verdict_names_branch() {
    let found = work(&[
        ("baseline", json!({"baseline": "abc"})),
        (
            "verdict",
            json!({"branch": "spec/auth", "reason": "max_probes"}),
        ),
    ]);
    let baseline = found.baseline.unwrap();
    assert_eq!(
        (baseline.commit.as_deref(), baseline.branch.as_deref()),
        (Some("abc"), Some("spec/auth"))
    );
    assert_eq!(baseline.worktree, PathBuf::from("build-2:/work/shop"));
    let unheard = work(&[(
        "verdict",
        json!({"baseline": "unborn", "reason": "max_probes"}),
    )]);
    assert_eq!(
        unheard.baseline.unwrap().commit,
        None,
        "a machine that joined after its baseline has a row as well"
    );
}

#[test]
fn session_lasts_until_its_end_or_final_verdict() {
    let runs = |events: &[(&str, Value)]| {
        work(events)
            .session
            .is_some_and(|session| session.ended_at.is_none())
    };
    let begun = ("session_started", json!({"agent": "claude"}));
    for (then, expected) in [
        (("probe", json!({})), true),
        (("session_ended", json!({"end": "exit 0"})), false),
        (
            ("session_ended", json!({"end": "exit 0", "inner": true})),
            true,
        ),
        (("verdict", json!({"reason": "session_active"})), true),
        (("verdict", json!({"reason": "new_commits"})), false),
    ] {
        assert_eq!(runs(&[begun.clone(), then.clone()]), expected, "{then:?}");
    }
    assert!(!runs(&[("session_started", json!({"inner": true}))]));
}

#[test]
fn loop_starts_is_interrupted_resumes_and_ends() {
    let started = |resumed: bool| {
        (
            "started",
            json!({"loop": "l", "max_iterations": 9, "resumed": resumed}),
        )
    };
    let iteration = ("iteration", json!({"iteration": 2, "agent": "codex"}));
    let looped = |events: &[(&str, Value)]| work(events).looped.unwrap();
    let running = looped(&[started(false), iteration.clone()]);
    assert_eq!(
        (
            running.iteration(),
            running.at_most,
            running.under_way,
            running.over
        ),
        (2, Some(9), None, None)
    );
    let cut = looped(&[
        started(false),
        iteration.clone(),
        ("interrupted", json!({})),
    ]);
    assert!(cut.under_way.is_some() && cut.over.is_none());
    let resumed = looped(&[
        started(false),
        iteration.clone(),
        ("interrupted", json!({})),
        started(true),
    ]);
    assert_eq!((resumed.iteration(), resumed.under_way), (2, None));
    let paused = looped(&[
        started(false),
        (
            "limit",
            json!({"pause": "usage_limit", "until": "2026-03-04T05:06:07Z"}),
        ),
    ]);
    assert_eq!(paused.over, None, "a pause is no end");
    let over = looped(&[
        started(false),
        ("complete", json!({"loop": "l", "reason": "checks_passed"})),
    ]);
    assert_eq!(over.over, Some(Reason::ChecksPassed));
    assert_eq!(
        work(&[("started", json!({"task": "t"}))]).looped,
        None,
        "a task is no loop"
    );
}

#[test]
fn open_breaker_says_its_reason_is_unshared() {
    let found = work(&[(
        "breaker",
        json!({"state": "open", "strikes": 3, "since": "2026-03-04T05:06:07Z"}),
    )])
    .breaker;
    let since = "2026-03-04T05:06:07Z".parse().unwrap();
    assert_eq!(
        found,
        Some(Breaker::Open {
            strikes: 3,
            since,
            why: "not shared".into()
        })
    );
}
