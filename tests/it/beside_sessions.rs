//! Judgements and rescues beside sessions that live: nothing is committed beneath them, and only a known agent counts as alive.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    CommandOutput, Repo, Running, Step, TestEnv, assert_parts, fill_line, wait_until,
};
use crate::sweep::{rows, word};

const SOON: Duration = Duration::from_secs(60);
const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// A worktree whose agent says `complete` whenever it is asked.
struct Beside<'env> {
    env: &'env TestEnv,
    repo: Repo<'env>,
    config: String,
    questions: PathBuf,
}

impl<'env> Beside<'env> {
    fn new(env: &'env TestEnv, more: Value) -> Self {
        let questions = env.root().join("questions");
        fs::write(&questions, "").unwrap();
        let steps = [
            Step::append(questions.to_str().unwrap(), "x"),
            Step::print_json(&json!({"status": "complete", "message": "done"})),
        ];
        let config = env
            .config_asking(&steps, more)
            .to_string_lossy()
            .into_owned();
        env.install("claude", Path::new(env!("CARGO_BIN_EXE_fake-agent")));
        Beside {
            env,
            repo: env.repo(),
            config,
            questions,
        }
    }

    fn questions(&self) -> usize {
        fs::read_to_string(&self.questions).unwrap().len()
    }

    fn watchdog(&self, line: &[&str]) -> CommandOutput {
        self.repo
            .watchdog(&[&["--config", &self.config], line].concat())
    }

    fn sweep(&self) -> Value {
        rows(&self.watchdog(&["sweep", "--json", "-q"]).expect(0))["repo"].clone()
    }

    /// A program that runs in the worktree until the test ends it.
    fn start(&self, program: &str, steps: &[Step]) -> Running {
        let [_, script] = self.env.fake_agent(program, steps);
        self.env
            .command(program, self.repo.path())
            .args([script])
            .spawn()
    }

    fn hook(&self, event: &str, pid: u32) {
        let input = json!({"session_id": SESSION, "source": "startup", "cwd": self.repo.path()});
        let command = self
            .repo
            .watchdog_command(&["hook", event, "--within", "60s"])
            .env("CLAUDE_PID", pid.to_string());
        command
            .env("CLAUDE_CODE_SESSION_ID", SESSION)
            .stdin(input.to_string())
            .run()
            .expect(0);
    }

    /// The transcript of Claude Code's session, which ends with this line.
    fn transcript(&self, last: &Value) -> PathBuf {
        let slug: String = self
            .repo
            .path()
            .to_str()
            .unwrap()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        self.env.write(
            &format!("home/.claude/projects/{slug}/{SESSION}.jsonl"),
            format!("{last}\n"),
        )
    }

    fn rescues(&self, baseline: &str) -> usize {
        self.repo.subjects_since(baseline).len()
    }
}

fn quiet(seconds: u64) -> Value {
    json!({"rescue": {"quiet_seconds": seconds}})
}

#[test]
fn cron_commits_nothing_beneath_an_agent_by_hand() {
    let env = TestEnv::new();
    let work = Beside::new(
        &env,
        json!({"rescue": {"quiet_seconds": 15, "mode": "single"}, "completion_check": {"max_probes": 5}}),
    );
    work.repo.watchdog(&["snapshot"]).expect(0);
    let baseline = work.repo.head();
    let agent = work.start("claude", &[Step::hang()]);
    for number in 0..7 {
        work.repo.write("draft.txt", number.to_string());
        let row = work.sweep();
        assert_eq!(word(&row), "waiting/session_active", "{row}");
        assert_parts(row["message"].as_str().unwrap(), &["claude (process"]);
        assert_eq!((work.questions(), work.rescues(&baseline)), (0, 0));
    }
    drop(agent);
    work.repo.write("draft.txt", "its last words");
    // The end of a session that no hook reported is unknown: its complete counts, and the commit waits until the work stood still.
    let row = work.sweep();
    assert_eq!(
        (word(&row), work.questions()),
        ("waiting/session_active".into(), 1),
        "{row}"
    );
    assert!(
        row["retry_at"].is_string()
            && row["message"]
                .as_str()
                .unwrap()
                .contains("not committed yet"),
        "{row}"
    );
    assert_eq!(work.rescues(&baseline), 0);
    work.repo.write("draft.txt", "somebody goes on");
    let row = work.sweep();
    assert_eq!(
        (word(&row), work.questions()),
        ("waiting/session_active".into(), 2),
        "another state is another question: {row}"
    );
    work.repo.write("draft.txt", "and on");
    let row = work.sweep();
    assert_eq!(
        (word(&row), work.questions()),
        ("waiting/session_active".into(), 2),
        "work that moves on asks nobody: {row}"
    );
    assert_parts(
        row["message"].as_str().unwrap(),
        &["the work changes from look to look"],
    );
    let mut last = Value::Null;
    wait_until("the work stood still", SOON, || {
        last = work.sweep();
        word(&last) != "waiting/session_active"
    });
    assert_eq!(
        (word(&last), work.rescues(&baseline)),
        ("complete/rescued".into(), 1),
        "{last}"
    );
}

#[test]
fn a_check_beside_a_hooked_session_waits() {
    let env = TestEnv::new();
    let work = Beside::new(&env, quiet(600));
    let baseline = work.repo.head();
    let agent = env.command("sleep", &env.root()).args(["600"]).spawn();
    work.hook("session-start", agent.pid());
    work.repo.write("draft.txt", "half");
    for line in [
        &["check", "--json", "-q"][..],
        &["check", "--once", "--json", "-q"],
        &["check", "--no-probe", "--json", "-q"],
    ] {
        let out = work.watchdog(line).expect(11);
        assert_eq!(out.verdict(), "waiting/session_active", "{out}");
        out.assert_has("message", &format!("process {}", agent.pid()));
    }
    assert_eq!(word(&work.sweep()), "waiting/session_active");
    let out = work.watchdog(&["rescue", "--json"]).expect(11);
    assert!(
        out.json()["held_back"].is_string() && out.json()["snapshot"].is_string(),
        "{out}"
    );
    assert_eq!((work.questions(), work.rescues(&baseline)), (0, 0));
    let pid = agent.pid();
    drop(agent);
    let out = work.watchdog(&["check", "--json", "-q"]).expect(0);
    assert_eq!(
        (out.verdict().as_str(), work.rescues(&baseline)),
        ("complete/rescued", 1),
        "process {pid} is gone: {out}"
    );
}

#[test]
fn an_idle_session_is_judged_by_its_commits() {
    let env = TestEnv::new();
    let work = Beside::new(&env, quiet(600));
    work.repo.watchdog(&["snapshot"]).expect(0);
    let agent = work.start("claude", &[Step::hang()]);
    let end = |timestamp: &str| json!({"type": "assistant", "timestamp": timestamp, "message": {"content": [], "stop_reason": "end_turn"}});
    work.transcript(&end("2026-03-04T05:06:07Z"));
    work.repo.write("draft.txt", "half");
    for line in [
        &["check", "--json", "-q"][..],
        &["check", "--once", "--json", "-q"],
    ] {
        let out = work.watchdog(line).expect(11);
        assert_eq!(out.verdict(), "waiting/session_active", "{out}");
        let message = out.json()["message"].as_str().unwrap().to_owned();
        assert!(
            message.contains("is idle since 2026-03-04 05:06, 0 commits, 1 file not committed"),
            "{out}"
        );
    }
    let news = fill_line(
        "sweep -q --news --only review,timeout,stopped,failed,error",
        &[],
    );
    let shown = work.watchdog(&news).expect(0).stdout;
    assert_parts(&shown, &["session_active", "1 file not committed"]);
    assert_eq!(
        work.watchdog(&news).expect(0).stdout,
        "",
        "once for the same state"
    );
    assert_eq!(work.questions(), 0);
    work.repo.commit_all("feat: draft");
    assert_eq!(word(&work.sweep()), "complete/new_commits");
    work.transcript(&json!({"type": "user", "message": {"content": "go on"}}));
    assert_eq!(
        word(&work.sweep()),
        "waiting/session_active",
        "it works again"
    );
    drop(agent);
}

#[test]
fn session_in_its_agents_list_is_alive() {
    let env = TestEnv::new();
    let work = Beside::new(&env, quiet(600));
    work.repo.watchdog(&["snapshot"]).expect(0);
    // Neither its name nor its folder shows that it is an agent.
    let agent = env.command("sleep", &env.root()).args(["600"]).spawn();
    let now = jiff::Timestamp::now().as_millisecond();
    let list = |status: &str, cwd: &Path| {
        let entry =
            json!({"pid": agent.pid(), "cwd": cwd, "status": status, "statusUpdatedAt": now});
        let name = format!("home/.claude/sessions/{}.json", agent.pid());
        env.write(&name, entry.to_string());
    };
    work.repo.write("draft.txt", "half");
    for (status, words) in [
        ("busy", "works in this worktree"),
        ("waiting", "waits for a person since"),
        ("idle", "is idle since"),
    ] {
        list(status, work.repo.path());
        for row in [
            work.sweep(),
            work.watchdog(&["check", "--json", "-q"]).json(),
        ] {
            assert_eq!(word(&row), "waiting/session_active", "{status}: {row}");
            assert!(
                row["message"].as_str().unwrap().contains(words),
                "{status}: {row}"
            );
        }
    }
    assert_eq!(work.questions(), 0);
    list("busy", &env.root());
    let out = work.watchdog(&["check", "--json", "-q"]).expect(0);
    assert_eq!(
        out.verdict(),
        "complete/rescued",
        "it works elsewhere: {out}"
    );
    drop(agent);
}

#[test]
fn stop_hook_tells_that_a_session_is_idle() {
    let env = TestEnv::new();
    let work = Beside::new(&env, quiet(600));
    let agent = env.command("sleep", &env.root()).args(["600"]).spawn();
    work.hook("session-start", agent.pid());
    // The dialect of this transcript is unknown.
    work.transcript(&json!({"role": "model"}));
    assert_eq!(word(&work.sweep()), "waiting/session_active");
    work.hook("stop", agent.pid());
    work.repo.write("draft.txt", "half");
    let row = work.sweep();
    assert_eq!(word(&row), "waiting/session_active", "{row}");
    assert_parts(row["message"].as_str().unwrap(), &["is idle since"]);
    let transcript = work.transcript(&json!({"role": "user"}));
    let later = std::time::SystemTime::now() + Duration::from_secs(60);
    fs::File::options()
        .write(true)
        .open(transcript)
        .unwrap()
        .set_modified(later)
        .unwrap();
    let row = work.sweep();
    assert!(
        !row["message"].as_str().unwrap().contains("idle"),
        "it works again: {row}"
    );
    drop(agent);
}

#[test]
fn a_check_in_its_own_script_judges() {
    let mut env = TestEnv::new();
    env.set("WATCHDOG", env!("CARGO_BIN_EXE_watchdog"));
    let work = Beside::new(&env, quiet(600));
    let baseline = work.repo.head();
    let check = format!("$WATCHDOG --config {} check --json -q", work.config);
    let script = format!(
        "echo 1 > a; {check} > ../first.json; echo $? > ../first; git add a; git commit -qm 'feat: a'; {check} > ../second.json"
    );
    let run = fill_line("run --no-probe --json -q -- sh -c {}", &[&script]);
    let out = work.watchdog(&run).expect(0);
    let read = |name: &str| fs::read_to_string(env.root().join(name)).unwrap();
    let verdict = |name: &str| serde_json::from_str::<Value>(&read(name)).unwrap();
    assert_eq!(
        (read("first").trim(), &verdict("first.json")["reason"]),
        ("10", &json!("unfinished")),
        "{out}"
    );
    assert_eq!(
        (&verdict("second.json")["reason"], work.questions()),
        (&json!("new_commits"), 0)
    );
    assert_eq!(
        work.repo.subjects_since(&baseline),
        ["feat: a"],
        "from inside nothing is rescued"
    );
    let events = work
        .repo
        .watchdog(&["events", "--kind", "verdict", "--json"])
        .expect(0)
        .stdout;
    assert_eq!(
        events.lines().count(),
        1,
        "only the verdict of run is recorded: {events}"
    );
}

#[test]
fn a_shell_or_server_inside_is_not_alive() {
    let env = TestEnv::new();
    let work = Beside::new(&env, quiet(600));
    env.install("vim", Path::new(env!("CARGO_BIN_EXE_fake-agent")));
    work.repo.watchdog(&["snapshot"]).expect(0);
    let baseline = work.repo.head();
    let editor = work.start("vim", &[Step::hang()]);
    let server = env
        .command("sh", work.repo.path())
        .args(["-c", "sleep 600; claude"])
        .spawn();
    work.repo.write("draft.txt", "whole");
    let out = work.watchdog(&["check", "--json", "-q"]).expect(0);
    assert_eq!(out.verdict(), "complete/rescued", "{out}");
    assert_eq!(work.rescues(&baseline), 1, "{out}");
    drop((editor, server));
}

#[test]
fn run_holds_its_rescue_beside_another_agent() {
    let env = TestEnv::new();
    let work = Beside::new(&env, quiet(600));
    let baseline = work.repo.head();
    let agent = work.start("claude", &[Step::hang()]);
    let session = env.fake_agent("session", &[Step::write("a.txt", "1")]);
    let line = fill_line(
        "run --json -q -- {} {}",
        &[session[0].as_str(), session[1].as_str()],
    );
    let out = work.watchdog(&line).expect(11);
    assert_eq!(out.verdict(), "waiting/session_active", "{out}");
    assert_eq!(work.rescues(&baseline), 0, "{out}");
    assert!(
        out.stdout.contains("rescue_held_back") && out.json()["rescue"]["snapshot"].is_string(),
        "{out}"
    );
    drop(agent);
    let out = work.watchdog(&["check", "--json", "-q"]).expect(0);
    assert_eq!(out.verdict(), "complete/rescued", "{out}");
    assert_eq!(work.rescues(&baseline), 1, "{out}");
}
