//! `watchdog mcp` by its protocol, over pipes: its tools, in each state of a repository, and its end.

use std::fs::File;
use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, Running, TestEnv, extended, fill_line, wait_until};

/// A client that greeted the server.
struct Client {
    server: Running,
    requests: File,
    asked: u64,
}

impl Client {
    /// Starts the server in a folder. It reads a named pipe, so that its input ends when the test says so.
    fn connect(env: &TestEnv, cwd: &std::path::Path, args: &[&str]) -> Self {
        let pipe = env.root().join("requests");
        let _ = std::fs::remove_file(&pipe);
        env.command("mkfifo", &env.root())
            .args([&pipe])
            .run()
            .expect(0);
        let pipe_name = pipe.to_str().expect("an ASCII path");
        let line = ["-c", "exec \"$@\" < \"$0\"", pipe_name];
        let watchdog = [env!("CARGO_BIN_EXE_watchdog")];
        let server = env
            .command("sh", cwd)
            .args([&line[..], &watchdog, args, &["mcp"]].concat())
            .spawn();
        let requests = File::options().write(true).open(&pipe);
        let mut client = Client {
            server,
            requests: requests.expect("the server opens it, too"),
            asked: 0,
        };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let greeted = client.ask("initialize", hello);
        assert_eq!(greeted["result"]["serverInfo"]["name"], "watchdog");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    fn send(&mut self, line: &str) {
        writeln!(self.requests, "{line}").expect("the server reads");
    }

    /// The answer to a request. Each line that the server prints is a message of the protocol.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        let mut answer = Value::Null;
        wait_until("the server answers", Duration::from_secs(120), || {
            let printed = self.server.stdout_so_far();
            let whole = printed.rsplit_once('\n').map_or("", |(lines, _)| lines);
            let mut messages = whole
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).expect("a message"));
            answer = messages
                .find(|message| message["id"] == id)
                .unwrap_or_default();
            !answer.is_null()
        });
        answer
    }

    /// What a tool says, and whether that is an error.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        (
            text.unwrap_or_else(|| panic!("{answer}")).to_owned(),
            result["isError"] == true,
        )
    }

    /// Checks the work, and returns status, reason and message.
    fn check(&mut self) -> [String; 3] {
        let (text, is_error) = self.call("check_work", json!({}));
        let verdict: Value = serde_json::from_str(&text).expect("a verdict");
        assert_eq!(is_error, verdict["status"] == "error", "{text}");
        ["status", "reason", "message"].map(|key| verdict[key].as_str().expect("a text").to_owned())
    }

    /// Leaves, as a client does.
    fn leave(self) -> CommandOutput {
        drop(self.requests);
        self.server.wait()
    }
}

fn begun(env: &TestEnv) -> Repo<'_> {
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo
}

fn with_a_check(env: &TestEnv) -> Repo<'_> {
    let repo = env.repo();
    repo.write(
        "completion.json",
        json!({"checks": [{"type": "files", "paths": ["done.txt"]}]}).to_string(),
    );
    repo.commit_all("criteria");
    repo.watchdog(&["trust"]).expect(0);
    repo.watchdog(&["snapshot"]).expect(0);
    repo
}

#[test]
fn tools_judge_without_a_record() {
    let env = TestEnv::new();
    let repo = begun(&env);
    let mut client = Client::connect(&env, repo.path(), &[]);
    let listed = client.ask("tools/list", json!({}));
    let names: Vec<&Value> = listed["result"]["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(names, ["check_work", "what_is_missing", "report_blocked"]);
    assert_eq!(client.check()[..2], ["incomplete", "unfinished"]);
    repo.write("work.txt", "x");
    let (missing, is_error) = client.call("what_is_missing", json!({}));
    assert!(missing.contains("work.txt") && !is_error, "{missing}");
    repo.commit_all("work");
    assert_eq!(client.check()[..2], ["complete", "new_commits"]);
    let (missing, _) = client.call("what_is_missing", json!({}));
    assert!(missing.starts_with("nothing is missing: "), "{missing}");
    assert_eq!(repo.subjects_since("HEAD~1"), ["work"], "no rescue");
    let events = repo.watchdog(&["events", "--kind", "verdict", "--json"]);
    assert_eq!(events.stdout, "", "no record");
    client.leave().expect(0);
}

#[test]
fn missing_is_the_feedback_of_checks() {
    let env = TestEnv::new();
    let repo = with_a_check(&env);
    // The global options hold for it as for every command.
    let mut client = Client::connect(&env, &env.root(), &["-C", "repo"]);
    let (missing, _) = client.call("what_is_missing", json!({}));
    assert!(missing.contains("missing files: done.txt"), "{missing}");
    assert!(!missing.contains("incomplete ("), "{missing}");
    repo.write("done.txt", "x");
    repo.commit_all("done");
    assert_eq!(client.check()[..2], ["complete", "checks_passed"]);
    client.leave().expect(0);
}

#[test]
fn without_a_baseline_commits_since_the_start_count() {
    let env = TestEnv::new();
    let repo = env.repo();
    let mut client = Client::connect(&env, repo.path(), &[]);
    assert_eq!(client.check()[0], "incomplete");
    repo.write("work.txt", "x");
    repo.commit_all("work");
    assert_eq!(client.check()[..2], ["complete", "new_commits"]);
    let (refused, is_error) = client.call("report_blocked", json!({"text": "no key"}));
    assert!(
        is_error && refused.contains("no baseline is recorded"),
        "{refused}"
    );
    client.leave().expect(0);
}

#[test]
fn failures_are_errors_of_the_tool() {
    let env = TestEnv::new();
    let repo = env.unborn_repo("unborn");
    std::fs::create_dir(env.root().join("plain")).expect("a scratch folder");
    for (folder, reason) in [("unborn", "no_baseline"), ("plain", "not_a_repository")] {
        let mut client = Client::connect(&env, &env.root().join(folder), &[]);
        assert_eq!(client.check()[..2], ["error", reason]);
        client.leave().expect(0);
    }
    repo.watchdog(&["snapshot"]).expect(0);
    let mut client = Client::connect(&env, repo.path(), &[]);
    // A line that is no message is passed over.
    client.send("garbage {");
    client.send("");
    assert_eq!(client.check()[0], "incomplete", "unborn");
    let (why, is_error) = client.call("report_blocked", json!({"text": " "}));
    assert!(is_error && why.contains("text is missing"), "{why}");
    let unknown = client.ask("tools/call", json!({"name": "commit"}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    client.server.signal(rustix::process::Signal::TERM);
    client.server.wait().expect(128 + 15);
}

#[test]
fn client_that_leaves_ends_its_checks() {
    let env = TestEnv::new();
    let repo = with_a_check(&env);
    let client = Client::connect(&env, repo.path(), &[]);
    client.leave().expect(0);
    let config = json!({"checks": [{"type": "command", "run": ["sh", "-c", "touch ../runs; exec tail -f /dev/null"]}]});
    let config = env.write("hangs.json", config.to_string());
    let config = config.to_str().expect("an ASCII path");
    let mut client = Client::connect(&env, repo.path(), &["--config", config]);
    client.send(r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"check_work"}}"#);
    let runs = env.root().join("runs");
    wait_until("its check runs", Duration::from_secs(60), || runs.exists());
    client.leave().expect(0);
    env.assert_nothing_left();
}

#[test]
fn blocked_session_is_review_until_it_is_answered() {
    let env = TestEnv::new();
    let repo = env.repo();
    let notify =
        json!({"notify": [{"on": ["review"], "command": ["sh", "-c", "cat >> ../notices"]}]});
    repo.write("completion.json", notify.to_string());
    repo.commit_all("criteria");
    repo.watchdog(&["trust"]).expect(0);
    let hook = |event: &str, more: Value| {
        let input = extended(
            json!({"session_id": "s", "cwd": repo.path(), "prompt": "go on"}),
            &more,
        );
        let run = repo.watchdog_command(&["hook", event]);
        run.stdin(input.to_string()).run().expect(0).json()
    };
    hook("session-start", json!({"source": "startup"}));
    let mut client = Client::connect(&env, repo.path(), &[]);
    repo.write("work.txt", "x");
    repo.commit_all("work");
    let (recorded, is_error) = client.call("report_blocked", json!({"text": "which\nkey?"}));
    assert!(recorded.starts_with("recorded") && !is_error, "{recorded}");
    let [status, reason, message] = client.check();
    assert_eq!([&*status, &*reason], ["review", "disputed"]);
    assert!(message.contains("is blocked: which\\nkey?"), "{message}");
    client.leave().expect(0);
    let notices = std::fs::read_to_string(env.root().join("notices")).expect("it was told");
    assert_eq!(notices.matches("is blocked: which").count(), 1, "{notices}");
    repo.write("more.txt", "x");
    let words = json!({"last_assistant_message": "All changes are committed."});
    assert_eq!(hook("stop", words), json!({}), "it may stop");
    let check = || {
        hook("session-end", json!({"reason": "other"}));
        repo.watchdog(&["check", "--no-probe", "--json"])
    };
    // Work in the background wakes the agent by a prompt, too.
    hook("prompt-submit", json!({"prompt": "<task-notification> x"}));
    let out = check();
    out.assert_verdict("review/disputed", json!({"strike": false}));
    out.assert_has("message", "is blocked: which");
    hook("session-start", json!({"source": "resume"}));
    hook("prompt-submit", json!({}));
    check().assert_verdict("complete/new_commits", json!({}));
}

#[test]
fn loop_ends_where_its_session_is_blocked() {
    let mut env = TestEnv::new();
    env.set("WATCHDOG", env!("CARGO_BIN_EXE_watchdog"));
    let repo = env.repo();
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "report_blocked", "arguments": {"text": "no access"}}}),
    ];
    let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
    let input = env.write("input", lines.join("\n") + "\n");
    let session = format!("$WATCHDOG mcp < {} > answers; rm answers", input.display());
    let args = fill_line("loop --json --max-iterations 3 -p x -- sh -c", &[]);
    let out = repo.watchdog(&[&args[..], &[&session]].concat());
    out.assert_verdict("review/disputed", json!({"strike": false}));
    out.assert_has("message", "is blocked: no access");
    // A new session is another one.
    let out = repo.watchdog(&["run", "--json", "--no-probe", "--", "true"]);
    out.assert_verdict("incomplete/unfinished", json!({}));
}
