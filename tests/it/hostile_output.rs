//! What agents print is untrusted: floods cost constant memory and bounded disk, and no byte of it steers a terminal.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::support::{Running, Step, TestEnv, fill_line, peak_own_kib, wait_for};

/// The most memory that watchdog may ever hold, whatever is printed at it.
const MEMORY_KIB: u64 = 32 * 1024;

/// The most that a session's output may take on disk.
const DISK_BYTES: u64 = 96 << 20;

/// Waits for the end and returns the peak of its memory in KiB.
#[track_caller]
fn peak_until_the_end(running: &mut Running, timeout: Duration) -> u64 {
    let pid = running.pid();
    let mut peak = 0;
    let ended = wait_for(timeout, || {
        peak = peak.max(peak_own_kib(pid).unwrap_or(0));
        running.ended().then_some(())
    });
    assert!(
        ended.is_some(),
        "still runs after {timeout:?}\n{}",
        running.stderr_so_far()
    );
    assert!(peak > 0, "its memory was never seen");
    peak
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes_below(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// How much each flood prints, in GiB: `scripts/nightly flood` takes ten. A tenth of one shows what grows with the output, too: it is
/// above both bounds.
fn flood_gib() -> f64 {
    std::env::var("WATCHDOG_FLOOD_GIB").map_or(0.1, |text| {
        text.parse().expect("WATCHDOG_FLOOD_GIB is a number")
    })
}

/// A session that floods stdout and then commits.
fn flood_then_commit(what: &str, unit: &str) {
    let (bytes, deadline) = (
        (flood_gib() * f64::from(1 << 30)) as u64,
        Duration::from_secs_f64(120.0 * (1.0 + flood_gib())),
    );
    let env = TestEnv::new();
    let repo = env.repo();
    let agent = env.fake_agent(
        "flood",
        &[
            Step::flood(unit, bytes),
            Step::write("done.txt", "x"),
            Step::commit("done"),
        ],
    );
    let args = fill_line(
        "run --no-probe -- {} {}",
        &[agent[0].as_str(), agent[1].as_str()],
    );
    let mut running = repo
        .watchdog_command(&args)
        .discard_stdout()
        .timeout(deadline)
        .spawn();
    let peak = peak_until_the_end(&mut running, deadline);
    running.wait().expect(0);
    assert!(repo.has("done.txt"));
    println!(
        "flood:\n{:>10}  MiB at the peak, {} GiB of {what}",
        peak / 1024,
        flood_gib()
    );
    assert!(peak < MEMORY_KIB, "{} MiB", peak / 1024);
    let kept = bytes_below(&env.state()) + bytes_below(&env.root().join("tmp"));
    assert!(
        kept < DISK_BYTES,
        "{} MiB of output kept on disk",
        kept >> 20
    );
}

#[test]
fn output_flood_costs_constant_memory() {
    flood_then_commit(
        "lines",
        "a line of an agent that cannot stop talking about what it does\n",
    );
}

#[test]
fn endless_output_line_costs_constant_memory() {
    flood_then_commit("one line", "x");
}

#[test]
fn endless_json_object_costs_constant_memory() {
    flood_then_commit("one object", "{\"type\":\"assistant\",\"x\":[");
}

/// A probe that answers like this ends in time, in little memory, and is not taken for an answer.
fn probe_that_prints(steps: &[Step], deadline: Duration) {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = env.config_asking(
        steps,
        json!({"completion_check": {"max_probes": 1, "probe_timeout_seconds": 60}}),
    );
    let args = fill_line(
        "check --json --baseline HEAD --config {}",
        &[config.to_str().expect("UTF-8")],
    );
    let mut running = repo.watchdog_command(&args).timeout(deadline).spawn();
    let peak = peak_until_the_end(&mut running, deadline);
    let out = running.wait().expect(16);
    assert_eq!(out.verdict(), "error/probe_error");
    assert_eq!(out.json()["probes"][0]["outcome"], "unreadable", "{out}");
    assert!(peak < MEMORY_KIB, "{} MiB", peak / 1024);
    env.assert_nothing_left();
}

#[test]
fn flooding_probe_is_bounded_and_unanswered() {
    probe_that_prints(&[Step::flood("words ", 1 << 30)], Duration::from_secs(120));
}

#[test]
fn endlessly_nesting_probe_is_bounded_and_unanswered() {
    for unit in [
        "[",
        "{\"a\":",
        "{",
        "\"",
        "```json\n{",
        "{\"status\":{\"status\":",
    ] {
        probe_that_prints(&[Step::flood(unit, 16 << 20)], Duration::from_secs(60));
    }
}

/// Every way in which text takes hold of a terminal or turns itself round.
const STEERING: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]8;;file:///etc\u{1b}\\link\u{9b}31m\u{202e}desrever\u{2066}\u{200f}\r\u{8}\u{7f}";

#[track_caller]
fn assert_harmless(what: &str, text: &str) {
    let steers = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
    };
    let found: Vec<char> = text.chars().filter(|c| steers(*c)).collect();
    assert!(
        found.is_empty(),
        "{what} lets through {found:?}\n{}",
        text.escape_debug()
    );
}

#[test]
fn foreign_text_cannot_steer_terminal_or_json() {
    let env = TestEnv::new();
    let repo = env.repo();
    let baseline = repo.head();
    let named = format!("file {STEERING}.txt").replace(['/', '\0'], "_");
    let reply = json!({"status": "working", "message": STEERING, "agents_details": [STEERING], "tasks_pending": [STEERING], "next_action": STEERING});
    let probe = [
        Step::complain(STEERING),
        Step::print(STEERING),
        Step::print_json(&reply),
    ];
    let config = env.config_asking(
        &probe,
        json!({"completion_check": {"max_probes": 1}, "rescue": {"mode": "snapshot"}}),
    );
    let config = config.to_str().expect("UTF-8");
    repo.write(&named, "x");
    let check = |more: &[&str]| {
        repo.watchdog(
            &[
                &["check", "--baseline", &baseline, "--config", config, "-v"],
                more,
            ]
            .concat(),
        )
    };
    let asked = [check(&["--json"]), check(&["--color", "always"])];
    assert_eq!(
        asked[0].json()["probes"][0]["outcome"],
        "reply",
        "{}",
        asked[0]
    );
    repo.git(&["commit", "-q", "--allow-empty", "-m", STEERING]);
    repo.commit_all(&format!("named {STEERING}"));
    let branch = "work-\u{202e}x";
    repo.git(&["checkout", "-q", "-b", branch]);
    let committed = [check(&["--json"]), check(&["--color", "never"])];
    assert_eq!(committed[0].verdict(), "complete/new_commits");
    let events = [
        repo.watchdog(&["events"]),
        repo.watchdog(&["events", "--json"]),
        repo.watchdog(&["rescue", "list"]),
    ];
    // Colours are watchdog's own and are wanted where they were asked for; nothing else of the kind is.
    let colours = regex::Regex::new("\u{1b}\\[[0-9;]*m").expect("a fixed pattern");
    for out in asked.iter().chain(&committed).chain(&events) {
        assert_harmless("stderr", &colours.replace_all(&out.stderr, ""));
        assert_harmless("stdout", &colours.replace_all(&out.stdout, ""));
    }
}

#[test]
fn a_sessions_output_passes_through_untouched() {
    let env = TestEnv::new();
    let repo = env.repo();
    let agent = env.fake_agent(
        "talker",
        &[
            Step::print(STEERING),
            Step::complain("to stderr\n"),
            Step::write("a", "x"),
            Step::commit("a"),
        ],
    );
    let out = repo
        .watchdog(&["run", "--no-probe", "--", &agent[0], &agent[1]])
        .expect(0);
    assert!(
        out.stdout.contains(STEERING),
        "{}",
        out.stdout.escape_debug()
    );
    assert!(out.stderr.contains("to stderr\n"), "{out}");
}
