//! The question that watchdog puts to the real Claude Code CLI: it can do no harm, asks the right session, and each
//! way in which it fails has its own name.

use std::time::Duration;

use serde_json::json;

use crate::real_claude::{STREAMING, config, probes_say, reply, run, session_that_runs};
use crate::support::{Claude, Rule, fill_line};

/// A conversation had by `claude` itself, for watchdog to ask about.
fn converse(claude: &Claude, repo: &crate::support::Repo<'_>) {
    claude
        .command(repo, &["-p", "--allowedTools", "Bash", "--", "MAIN TASK"])
        .run()
        .expect(0);
}

#[test]
fn probe_keeps_the_transcript_byte_for_byte() {
    let claude = Claude::answering(
        session_that_runs("echo x > f.txt")
            .into_iter()
            .chain([probes_say("complete")]),
    );
    let repo = claude.env.repo();
    converse(&claude, &repo);
    let before = claude.transcripts();
    assert_eq!(before.len(), 1);
    let config = config(&claude, json!({}));
    let out = repo
        .watchdog(&["check", "--json", "--baseline", "HEAD", "--config", &config])
        .expect(0);
    assert_eq!(out.verdict(), "complete/rescued");
    assert_eq!(claude.transcripts(), before);
    let probe = claude.api.messages().pop().expect("the probe");
    assert!(probe.mentions("MAIN TASK"), "it knows the conversation");
    probe.assert_harmless();
}

#[test]
fn probed_agent_cannot_run_tools() {
    let harm = "touch \"$HOME/harm\"; echo harm > harm.txt; git add -A; git commit -qm harm";
    let claude = Claude::answering([
        Rule::text("I did nothing.").when_offered("Bash"),
        Rule::bash(harm).when_offered("StructuredOutput"),
        Rule::tool("Write", json!({"file_path": "harm.txt", "content": "harm"}))
            .when_offered("StructuredOutput"),
        probes_say("complete"),
    ]);
    let repo = claude.env.repo();
    let baseline = repo.head();
    converse(&claude, &repo);
    let config = config(&claude, json!({}));
    let out = repo.watchdog(&["check", "--json", "--baseline", "HEAD", "--config", &config]);
    assert!(
        claude.api.messages().len() > 2,
        "the model was told that its tool call failed\n{out}"
    );
    assert!(!claude.env.home().join("harm").exists() && !repo.has("harm.txt"));
    assert_eq!((repo.head(), repo.status()), (baseline, String::new()));
    assert_eq!(out.verdict(), "complete/nothing_to_do");
}

#[test]
fn a_probe_fires_no_hook_of_the_project() {
    let claude = Claude::answering(
        session_that_runs("echo x > f.txt")
            .into_iter()
            .chain([probes_say("complete")]),
    );
    let repo = claude.env.repo();
    let hook =
        json!([{"hooks": [{"type": "command", "command": "echo fired >> \"$HOME/hooks\""}]}]);
    let hooks = json!({"hooks": {"Stop": hook, "SessionStart": hook, "UserPromptSubmit": hook, "SessionEnd": hook}});
    repo.write(".claude/settings.json", hooks.to_string());
    repo.commit_all("hooks");
    converse(&claude, &repo);
    let fired = || {
        std::fs::read_to_string(claude.env.home().join("hooks"))
            .unwrap_or_default()
            .lines()
            .count()
    };
    let before = fired();
    assert!(
        before >= 3,
        "the hooks fire in an ordinary session: {before}"
    );
    let config = config(&claude, json!({}));
    repo.watchdog(&["check", "--json", "--baseline", "HEAD", "--config", &config])
        .expect(0);
    assert_eq!(fired(), before);
}

#[test]
fn probe_resumes_the_seen_session_not_the_newest() {
    let claude = Claude::answering([
        Rule::text("first words")
            .when_last_user("MAIN TASK")
            .when_offered("Bash"),
        Rule::text("other words")
            .when_last_user("OTHER TASK")
            .when_offered("Bash"),
        probes_say("complete"),
    ]);
    let repo = claude.env.repo();
    let config = config(&claude, json!({}));
    let both = "claude -p --output-format stream-json --verbose -- 'MAIN TASK' </dev/null; claude -p -- 'OTHER TASK' </dev/null >/dev/null";
    let out = repo
        .watchdog(&run(&["--config", &config], &["--", "sh", "-c", both]))
        .expect(0);
    assert_eq!(out.verdict(), "complete/nothing_to_do");
    let asked = claude.api.messages();
    let probe = asked.last().expect("the probe");
    assert!(
        probe.mentions("first words") && !probe.mentions("other words"),
        "asked the wrong session\n{out}"
    );
    assert_eq!(asked.len(), 3, "{out}");
}

#[test]
fn usage_limit_in_a_probe_waits_for_reset() {
    let claude = Claude::answering([
        Rule::text("I did something.").when_offered("Bash"),
        Rule::error(429, "You've hit your session limit · resets 5am (UTC)")
            .header("retry-after", "3600")
            .always(),
    ]);
    let repo = claude.env.repo();
    converse(&claude, &repo);
    repo.write("half.txt", "half\n");
    let config = config(&claude, json!({}));
    let out = repo
        .watchdog(&["check", "--json", "--baseline", "HEAD", "--config", &config])
        .expect(11);
    out.assert_verdict(
        "waiting/rate_limited",
        json!({"/probes/0/outcome": "rate_limited", "strike": false}),
    );
    out.assert_has("retry_at", "T05:00:00");
    assert_eq!(
        claude.api.messages().len(),
        2,
        "a limit is met once, not again and again\n{out}"
    );
    assert!(repo.has("half.txt"));
    let probe = repo
        .watchdog(&["probe", "--json", "--config", &config])
        .expect(11)
        .json();
    assert_eq!(
        (&probe["outcome"], probe["retry_at"].is_string()),
        (&json!("rate_limited"), true),
        "{probe}"
    );
}

#[test]
fn an_overloaded_service_is_asked_again() {
    let claude = Claude::answering([
        Rule::text("I did something.").when_offered("Bash"),
        Rule::error(529, "Overloaded")
            .header("x-should-retry", "false")
            .when_offered("StructuredOutput")
            .times(2),
        probes_say("complete"),
    ]);
    let repo = claude.env.repo();
    converse(&claude, &repo);
    let config = config(
        &claude,
        json!({"completion_check": {"probe_interval_seconds": 0}}),
    );
    let out = repo
        .watchdog(&["check", "--json", "--baseline", "HEAD", "--config", &config])
        .expect(0);
    assert_eq!(out.verdict(), "complete/nothing_to_do");
    let outcomes: Vec<_> = out.json()["probes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|probe| probe["outcome"].clone())
        .collect();
    assert_eq!(outcomes.last(), Some(&json!("reply")), "{out}");
    assert!(
        outcomes
            .iter()
            .rev()
            .skip(1)
            .all(|outcome| outcome == "overloaded"),
        "{outcomes:?}\n{out}"
    );
}

#[test]
fn stalled_service_is_dropped_at_the_probe_deadline() {
    let stalled = Rule::tool("StructuredOutput", reply("complete"))
        .when_offered("StructuredOutput")
        .always()
        .stall(Duration::from_secs(600));
    let claude = Claude::answering([Rule::text("I did something.").when_offered("Bash"), stalled]);
    let repo = claude.env.repo();
    converse(&claude, &repo);
    let config = config(
        &claude,
        json!({"completion_check": {"max_probes": 1, "probe_timeout_seconds": 4}}),
    );
    let out = repo
        .watchdog(&["check", "--json", "--baseline", "HEAD", "--config", &config])
        .expect(16);
    assert_eq!(
        claude.api.messages().len(),
        2,
        "the question got as far as the service\n{out}"
    );
    assert_eq!(out.verdict(), "error/probe_error");
    assert_eq!(
        (&out.json()["probes"][0]["outcome"], &out.json()["strike"]),
        (&json!("timed_out"), &json!(false)),
        "{out}"
    );
    claude.env.assert_nothing_left();
}

#[test]
fn where_no_conversation_was_had_nothing_is_asked() {
    let claude = Claude::answering([probes_say("complete")]);
    let repo = claude.env.repo();
    let config = config(&claude, json!({}));
    let out = repo
        .watchdog(&["probe", "--json", "--config", &config])
        .expect(16);
    assert_eq!(out.json()["outcome"], "no_conversation", "{out}");
    assert_eq!(
        claude.api.requests().len(),
        0,
        "a fresh session would know nothing and cost tokens\n{out}"
    );
    assert_eq!(claude.transcripts().len(), 0);
}

#[test]
fn logged_out_agent_is_named_so() {
    let mut claude = Claude::answering([
        Rule::text("I did something.").when_offered("Bash"),
        probes_say("complete"),
    ]);
    claude.env.set("ANTHROPIC_API_KEY", "");
    let repo = claude.env.repo();
    let config = config(&claude, json!({"completion_check": {"max_probes": 1}}));
    let out = repo
        .watchdog(&run(&["--config", &config], STREAMING))
        .expect(15);
    assert_eq!(out.verdict(), "failed/agent_unrunnable");
    out.assert_has("message", "Not logged in");
    assert_eq!(
        out.json()["probes"].as_array().map(Vec::len),
        Some(0),
        "its session said so, so nobody is asked\n{out}"
    );
    assert_eq!(claude.api.messages().len(), 0);
}

#[test]
fn missing_agent_is_named_so() {
    let env = crate::support::TestEnv::new();
    let repo = env.repo();
    // Only an agent that is known is asked: this one is configured.
    let config = env.root().join("agent.json");
    std::fs::write(&config, r#"{"version": 1, "agent": {"preset": "claude"}}"#).unwrap();
    let check = fill_line(
        "check --json --config {} --baseline HEAD --probe-interval 0",
        &[config.to_str().unwrap()],
    );
    let out = repo.watchdog(&check).expect(15);
    assert_eq!(out.verdict(), "failed/agent_unrunnable");
    assert_eq!(out.json()["probes"][0]["outcome"], "not_installed", "{out}");
    let out = repo.watchdog(&["probe", "--json"]).expect(15);
    assert_eq!(out.json()["outcome"], "not_installed", "{out}");
}
