//! Only a known agent is asked; each verdict says how its session ended.

use serde_json::json;

use crate::support::TestEnv;

#[test]
fn session_without_an_agent_is_not_asked() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = repo
        .watchdog(&["run", "--json", "--", "sh", "-c", "echo hi > new.txt"])
        .expect(10);
    out.assert_verdict("incomplete/unfinished", json!({"rescued": true}));
    assert_eq!(repo.status().as_str(), "", "{out}");
    out.assert_has("message", "this session ran no agent that can be asked");
    let idle = repo.watchdog(&["run", "--json", "--", "true"]).expect(10);
    idle.assert_verdict("incomplete/unfinished", json!({"probes": []}));
    for judge in [&["sweep", "--json", "-q"][..], &["check", "--json"]] {
        let out = repo.watchdog(judge);
        assert!(
            out.stdout.contains("\"unfinished\"") && out.code.is_some_and(|code| code < 12),
            "{out}"
        );
    }
}

#[test]
fn verdict_says_how_the_session_ended() {
    let env = TestEnv::new();
    let repo = env.repo();
    for (script, exit_code, signal, clause) in [
        ("exit 3", json!(3), json!(null), "with exit code 3"),
        ("kill -9 $$", json!(null), json!(9), "by signal 9"),
    ] {
        for judge in [
            &["run", "--json", "--", "sh", "-c", script][..],
            &["check", "--json"],
        ] {
            let out = repo.watchdog(judge).expect(10);
            let ended = json!({"exit_code": exit_code, "signal": signal, "by": "itself"});
            assert_eq!(out.json()["session"]["ended"], ended, "{out}");
            out.assert_has("message", clause);
        }
    }
    let out = repo
        .watchdog_line("run --json --timeout 500ms --grace 200ms -- sleep 60", &[])
        .expect(13);
    assert_eq!(out.json()["session"]["ended"]["by"], "timeout", "{out}");
}
