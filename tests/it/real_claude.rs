//! The whole judge around the real Claude Code CLI: sessions that commit, forget, wait and stall.
//!
//! The model behind it is scripted; everything else (argument parsing, transcripts, tools, exit codes) is the CLI's.
//! What can go wrong with the question itself is in `real_claude_probe`.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Claude, CommandOutput, Repo, Rule, config_asking, fill_line, wait_until};

/// A session whose output tells its id.
pub const STREAMING: &[&str] = &[
    "--",
    "claude",
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--allowedTools",
    "Bash",
    "--",
    "MAIN TASK",
];

/// A session that prints nothing but its last words.
const PLAIN: &[&str] = &[
    "--",
    "claude",
    "-p",
    "--allowedTools",
    "Bash",
    "--",
    "MAIN TASK",
];

/// `watchdog run` with these options around a session.
pub fn run<'a>(options: &[&'a str], session: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--json"], options, session].concat()
}

/// A configuration that asks Claude Code; probes follow each other quickly.
pub fn config(claude: &Claude, more: Value) -> String {
    let path: PathBuf = config_asking(&claude.env, json!({"preset": "claude"}), more);
    path.to_string_lossy().into_owned()
}

/// The model's answer to the main task: one command line, then some words.
pub fn session_that_runs(command: &str) -> [Rule; 2] {
    [
        Rule::bash(command)
            .when_offered("Bash")
            .when_last_user("MAIN TASK"),
        Rule::text("I stop here.").when_offered("Bash"),
    ]
}

/// Judges a session whose time ends, by the option `limit`, while it is at work.
///
/// On a busy machine the CLI may still be starting by then: such a session is played again, with three times as long.
pub fn cut_off<R: IntoIterator<Item = Rule>>(
    limit: &str,
    rules: impl Fn() -> R,
    at_work: impl Fn(&Claude) -> bool,
    judge: impl Fn(&Repo, CommandOutput),
) {
    let mut seconds = 6;
    loop {
        let claude = Claude::answering(rules());
        let repo = claude.env.repo();
        let config = config(&claude, json!({}));
        let out = repo.watchdog(&run(
            &fill_line(
                "--config {} {} {} --grace 2s",
                &[&config, limit, &format!("{seconds}s")],
            ),
            STREAMING,
        ));
        claude.env.assert_nothing_left();
        if at_work(&claude) {
            return judge(&repo, out);
        }
        assert!(seconds < 50, "the session did not get to its work\n{out}");
        seconds *= 3;
    }
}

/// The model's answer to every probe.
pub fn probes_say(status: &str) -> Rule {
    Rule::tool("StructuredOutput", reply(status))
        .when_offered("StructuredOutput")
        .always()
}

/// A whole reply with one word that matters.
pub fn reply(status: &str) -> Value {
    json!({
        "status": status, "message": "scripted", "agents_active": false, "agents_details": [], "tasks_completed": [],
        "tasks_pending": [], "commits_made": 0, "should_continue": true, "next_action": "none",
    })
}

/// Whether the session's command line has run as far as it hangs.
fn in_its_tool_call(claude: &Claude) -> bool {
    claude.env.home().join("started").exists()
}

#[test]
fn committing_session_completes_without_a_question() {
    let claude = Claude::answering(session_that_runs(
        "echo x > f.txt && git add f.txt && git commit -qm 'work: f'",
    ));
    let repo = claude.env.repo();
    let config = config(&claude, json!({}));
    let out = repo
        .watchdog(&run(&["--config", &config], STREAMING))
        .expect(0);
    out.assert_verdict(
        "complete/new_commits",
        json!({
            "evidence": "committed", "new_commits": 1, "probes_used": 0,
            "/commits/0/subject": "work: f",
        }),
    );
    assert_eq!(
        claude.api.messages().len(),
        2,
        "the session's own two requests and no probe"
    );
    claude.env.assert_nothing_left();
}

#[test]
fn uncommitted_session_is_asked_and_rescued() {
    let rules = session_that_runs("echo x > f.txt && mkdir d && echo y > d/g.txt && git add f.txt");
    let claude = Claude::answering(rules.into_iter().chain([probes_say("complete")]));
    let repo = claude.env.repo();
    let baseline = repo.head();
    let config = config(&claude, json!({}));
    let out = repo.watchdog(&run(&["--config", &config], PLAIN)).expect(0);
    let json = out.json();
    assert_eq!(out.verdict(), "complete/rescued");
    assert_eq!(
        (&json["rescued"], &json["probes_used"], &json["evidence"]),
        (&json!(true), &json!(1), &json!("claimed")),
        "{out}"
    );
    assert_eq!(repo.subjects_since(&baseline).len(), 1);
    assert_eq!(repo.file_in("HEAD", "f.txt").as_deref(), Some("x\n"));
    assert_eq!(repo.file_in("HEAD", "d/g.txt").as_deref(), Some("y\n"));
    assert_eq!(repo.status(), "");
    assert_eq!(repo.snapshots().len(), 1, "{out}");
}

#[test]
fn late_background_work_cuts_the_wait_short() {
    let late = "(setsid sh -c 'while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done; echo x > late.txt; git add late.txt; \
                git commit -qm late' >/dev/null 2>&1 </dev/null &) ; echo started";
    let claude = Claude::answering(
        session_that_runs(late)
            .into_iter()
            .chain([probes_say("waiting")]),
    );
    let repo = claude.env.repo();
    let config = config(
        &claude,
        json!({"completion_check": {"probe_interval_seconds": 600}}),
    );
    let watchdog = repo.watchdog_command(&run(
        &["--config", &config, "--child-wait", "200ms"],
        STREAMING,
    ));
    let running = watchdog.timeout(Duration::from_secs(120)).spawn();
    let probed = || {
        claude
            .api
            .messages()
            .iter()
            .filter(|asked| asked.tools().contains(&"StructuredOutput"))
            .count()
    };
    // The shell runs, and most of the time a sleep of its own.
    let waits = [
        " still runs: looking again in 600 s",
        " and 1 more still run: looking again in 600 s",
    ];
    wait_until("it waits", Duration::from_secs(60), || {
        waits
            .iter()
            .any(|words| running.stderr_so_far().contains(words))
    });
    claude.env.write("home/go", "");
    let out = running.wait().expect(0);
    assert_eq!(out.verdict(), "complete/new_commits");
    assert_eq!(
        (&out.json()["probes_used"], probed()),
        (&json!(0), 0),
        "nobody is asked while it runs: {out}"
    );
    assert_eq!(out.json()["commits"][0]["subject"], "late");
    claude.env.assert_nothing_left();
}

#[test]
fn usage_limit_in_session_output_is_believed() {
    for session in [PLAIN, STREAMING] {
        let limit = Rule::error(429, "You've hit your session limit · resets 5am (UTC)")
            .header("x-should-retry", "false");
        let claude = Claude::answering([
            Rule::bash("echo half > half.txt")
                .when_offered("Bash")
                .when_last_user("MAIN TASK"),
            limit.when_offered("Bash").always(),
            probes_say("complete"),
        ]);
        let repo = claude.env.repo();
        let config = config(&claude, json!({}));
        let out = repo
            .watchdog(&run(&["--config", &config], session))
            .expect(11);
        assert_eq!(out.verdict(), "waiting/rate_limited");
        let retry_at = out.json()["retry_at"]
            .as_str()
            .unwrap_or_default()
            .to_string();
        assert!(retry_at.contains("T05:00:00"), "{out}");
        assert!(
            claude
                .api
                .messages()
                .iter()
                .all(|asked| asked.tools().contains(&"Bash")),
            "a probe would have met the same limit"
        );
        assert!(repo.has("half.txt"));
        assert_eq!(
            repo.snapshots().len(),
            1,
            "the unfinished work is kept\n{out}"
        );
    }
}

#[test]
fn cut_off_tool_call_leaves_no_process() {
    let hang = "touch \"$HOME/started\"; (setsid sh -c 'trap \"\" TERM; setsid tail -f /dev/null & tail -f /dev/null' >/dev/null 2>&1 &) ; \
                tail -f /dev/null";
    cut_off(
        "--timeout",
        || session_that_runs(hang),
        in_its_tool_call,
        |_, out| {
            let out = out.expect(13);
            out.assert_verdict("timeout/session_timeout", json!({"probes_used": 0}));
        },
    );
}

#[test]
fn ending_watchdog_takes_the_session_tree_along() {
    use rustix::process::Signal;
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let hang = "echo half > half.txt; (setsid tail -f /dev/null >/dev/null 2>&1 &) ; touch \"$HOME/started\"; tail -f /dev/null";
        let claude = Claude::answering(session_that_runs(hang));
        let repo = claude.env.repo();
        let config = config(&claude, json!({}));
        let running = repo
            .watchdog_command(&run(&["--config", &config, "--grace", "2s"], STREAMING))
            .spawn();
        let started = claude.env.home().join("started");
        wait_until(
            "the session is in its tool call",
            Duration::from_secs(60),
            || started.exists(),
        );
        running.signal(signal);
        let out = running.wait().expect(14);
        assert_eq!(out.verdict(), "stopped/interrupted");
        let kept = repo
            .snapshots()
            .iter()
            .any(|snapshot| repo.file_in(snapshot, "half.txt").is_some());
        assert!(
            kept || repo.file_in("HEAD", "half.txt").is_some(),
            "the unfinished work is kept\n{out}"
        );
        claude.env.assert_nothing_left();
    }
}

#[test]
fn session_under_another_name_is_in_its_list() {
    let claude = Claude::answering([
        Rule::text("done")
            .when_last_user("MAIN TASK")
            .delay(Duration::from_secs(8)),
        Rule::text("ok").always(),
    ]);
    let repo = claude.env.repo();
    // Its process shows another name: only its own list shows that it is an agent.
    let program = claude.env.root().join("bin").join("claude");
    claude
        .env
        .install("worker", &program.canonicalize().unwrap());
    repo.watchdog(&["snapshot"]).expect(0);
    let prompt = json!({"type": "user", "message": {"role": "user", "content": "MAIN TASK"}});
    let script = format!(
        "(echo '{prompt}'; exec sleep 600) | worker -p --input-format stream-json --output-format stream-json --verbose"
    );
    let session = claude
        .env
        .command("sh", repo.path())
        .args(["-c", &script])
        .spawn();
    for words in ["works in this worktree", "is idle since"] {
        wait_until(words, Duration::from_secs(60), || {
            let row = repo
                .watchdog(&["check", "--once", "--no-probe", "--json", "-q"])
                .json();
            row["reason"] == "session_active" && row["message"].as_str().unwrap().contains(words)
        });
    }
    drop(session);
}
