//! The log: what each level shows, filters, both formats, what it never holds, and the page that lists it all.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, TestEnv, fill_line};

/// A repository with a baseline, a commit since, and an uncommitted file.
fn worked_in(env: &TestEnv) -> Repo<'_> {
    let repo = env.repo();
    repo.watchdog(&["snapshot", "--spec", "auth"]).expect(0);
    repo.write("new.txt", "new");
    repo.commit_all("feat: new");
    repo.write("left.txt", "left");
    repo
}

fn checks(env: &TestEnv, run: &str) -> String {
    let config = json!({"version": 1, "checks": [{"type": "command", "name": "tests", "run": run}], "rescue": {"mode": "single"}});
    env.write("checks.json", config.to_string())
        .to_str()
        .expect("UTF-8")
        .to_owned()
}

/// The lines of the log, without their times.
fn logged(out: &CommandOutput) -> Vec<String> {
    let time = Regex::new(r"^\d\d:\d\d:\d\d\.\d\d\d (?P<rest>(ERROR|WARN|INFO|DEBUG|TRACE) .*)$")
        .expect("a fixed pattern");
    out.stderr
        .lines()
        .filter_map(|line| Some(time.captures(line)?["rest"].to_owned()))
        .collect()
}

#[track_caller]
fn assert_logged(out: &CommandOutput, level: &str, target: &str, words: &[&str]) {
    let begin = format!("{level:<5} {target:<8} ");
    let found = logged(out)
        .iter()
        .any(|line| line.starts_with(&begin) && words.iter().all(|word| line.contains(word)));
    assert!(found, "no line '{begin}' with {words:?}\n{out}");
}

fn levels(out: &CommandOutput) -> BTreeSet<String> {
    logged(out)
        .iter()
        .filter_map(|line| line.split(' ').next().map(str::to_owned))
        .collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn without_a_flag_nothing_is_logged() {
    let env = TestEnv::new();
    let out = worked_in(&env).watchdog(&["check", "--no-probe"]).expect(0);
    assert_eq!((logged(&out).len(), out.stderr.as_str()), (0, ""), "{out}");
}

#[test]
fn each_further_v_logs_more_detail() {
    let env = TestEnv::new();
    let repo = worked_in(&env);
    let out = repo.watchdog(&["-v", "check", "--no-probe"]).expect(0);
    assert_eq!(levels(&out), set(&["INFO"]));
    assert_logged(
        &out,
        "INFO",
        "decision",
        &["decided what comes next action=read_commits"],
    );
    assert_logged(
        &out,
        "INFO",
        "decision",
        &[
            "gives a verdict status=complete reason=new_commits evidence=committed",
            " judgement{worktree=",
        ],
    );
    assert_logged(&out, "INFO", "decision", &["duration_ms=", "spec=auth}"]);

    let config = checks(&env, "true");
    let out = repo
        .watchdog(&["-vv", "check", "--config", &config])
        .expect(0);
    assert_eq!(levels(&out), set(&["INFO", "DEBUG"]));
    assert_logged(
        &out,
        "DEBUG",
        "git",
        &fill_line(
            "{} new_commits=1 made_here=1 net_change=true",
            &["read the commits"],
        ),
    );
    assert_logged(
        &out,
        "DEBUG",
        "git",
        &[
            "read what is uncommitted uncommitted=1",
            "untracked=1",
            "path=left.txt",
        ],
    );
    assert_logged(
        &out,
        "DEBUG",
        "checks",
        &["judged a check check=tests kind=command outcome=pass"],
    );
    assert_logged(
        &out,
        "DEBUG",
        "session",
        &["judges from this baseline", "recorded=true"],
    );
    assert_logged(&out, "DEBUG", "rescue", &["rescued into commits commits=1"]);

    repo.watchdog(&["snapshot", "--spec", "auth"]).expect(0);
    repo.write("second.txt", "second");
    repo.commit_all("feat: second");
    repo.write("more.txt", "more");
    let out = repo
        .watchdog(&["-vvv", "check", "--no-cache", "--config", &config])
        .expect(0);
    assert_logged(
        &out,
        "TRACE",
        "git",
        &[
            "called a program program=git",
            "commit --quiet",
            "cwd=",
            "exit=\"exit code 0\"",
            "duration_ms=",
        ],
    );
    assert_logged(
        &out,
        "TRACE",
        "checks",
        &[
            "called a program program=sh args=\"-c true\"",
            "duration_ms=",
        ],
    );
    assert_logged(
        &out,
        "TRACE",
        "git",
        &fill_line(
            "{} files=1 bytes=4 duration_ms=",
            &["took a snapshot snapshot=refs/watchdog/rescue/auth/"],
        ),
    );
    assert_logged(
        &out,
        "TRACE",
        "store",
        &[
            "called the store action=\"write the journal\"",
            "duration_ms=",
        ],
    );
    assert!(
        !out.stderr.contains("Left uncommitted by a session"),
        "messages of commits are not shown\n{out}"
    );
}

#[test]
fn session_log_span_omits_its_prompt() {
    let env = TestEnv::new();
    let repo = env.repo();
    let script = "echo SAID-ALOUD; echo x > x; git add x; git commit -qm x";
    let out = repo
        .watchdog_line(
            "-vvv run --no-probe --spec auth -- sh -c {} PROMPT-OF-MINE",
            &[script],
        )
        .expect(0);
    assert_logged(
        &out,
        "INFO",
        "session",
        &[
            "starts a session program=sh",
            "session{worktree=",
            "spec=auth}",
        ],
    );
    assert_logged(
        &out,
        "DEBUG",
        "session",
        &["the session ended end=\"exit code 0\"", "survivors=0"],
    );
    assert!(
        !out.stderr.contains("PROMPT-OF-MINE") && !out.stderr.contains("SAID-ALOUD"),
        "{out}"
    );
}

#[test]
fn log_variable_filters_and_the_flag_wins() {
    let env = TestEnv::new();
    let repo = worked_in(&env);
    let check = |filter: &str, args: &[&str]| {
        repo.watchdog_command(&[args, &["check", "--no-probe"]].concat())
            .env("WATCHDOG_LOG", filter)
            .run()
            .expect(0)
    };
    let targets = |out: &CommandOutput| -> BTreeSet<String> {
        logged(out)
            .iter()
            .filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned))
            .collect()
    };
    let out = check("watchdog::git=trace", &[]);
    assert_eq!(
        (targets(&out), levels(&out)),
        (set(&["git"]), set(&["DEBUG"]))
    );
    assert_logged(
        &out,
        "DEBUG",
        "git",
        &["read the commits", "judgement{worktree=", "spec=auth}"],
    );
    let out = check("watchdog::git=trace,info", &[]);
    assert_eq!(
        (targets(&out), levels(&out)),
        (set(&["decision", "git"]), set(&["DEBUG", "INFO"]))
    );
    assert_eq!(levels(&check("debug", &[])), set(&["DEBUG", "INFO"]));
    assert_eq!(levels(&check("debug", &["-v"])), set(&["INFO"]));
    assert_eq!(check("off", &[]).stderr, "");
    assert_eq!(check("", &[]).stderr, "");
}

#[test]
fn invalid_log_filter_is_refused_except_by_hooks() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = repo
        .watchdog_command(&["check"])
        .env("WATCHDOG_LOG", "watchdog::gti=debug")
        .run()
        .expect(2);
    for said in [
        "cannot read WATCHDOG_LOG='watchdog::gti=debug'",
        "did you mean `git`",
        "WATCHDOG_LOG=watchdog::git=trace,info",
    ] {
        assert!(out.stderr.contains(said), "{out}");
    }
    let hook = |filter: &str| {
        let input =
            json!({"hook_event_name": "SessionStart", "session_id": "s", "cwd": repo.path()});
        repo.watchdog_command(&["hook", "session-start"])
            .env("WATCHDOG_LOG", filter)
            .stdin(input.to_string())
            .run()
            .expect(0)
    };
    let out = hook("loud");
    out.assert_told(&["cannot read WATCHDOG_LOG='loud'"]);
    assert_eq!(out.stdout, hook("off").stdout, "its answer is the same");
    let out = hook("trace");
    assert_logged(&out, "TRACE", "store", &["called the store"]);
    assert!(serde_json::from_str::<Value>(&out.stdout).is_ok(), "{out}");
}

#[test]
fn json_log_leaves_stdout_to_the_verdict() {
    let env = TestEnv::new();
    let repo = worked_in(&env);
    let config = checks(&env, "true");
    let out = repo
        .watchdog_line(
            "-vvv -q --log-format json check --json --config {}",
            &[&config],
        )
        .expect(0);
    assert_eq!(out.verdict(), "complete/checks_passed");
    assert_eq!(out.stdout.lines().count(), 1, "{out}");
    let lines: Vec<Value> = out
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    for line in &lines {
        assert!(
            line["timestamp"]
                .as_str()
                .is_some_and(|at| at.parse::<jiff::Timestamp>().is_ok()),
            "{line}"
        );
        assert!(
            line["target"]
                .as_str()
                .is_some_and(|target| target.starts_with("watchdog::")),
            "{line}"
        );
        assert!(
            line["level"].is_string() && line["message"].is_string() && line["fields"].is_object(),
            "{line}"
        );
        assert!(line["span"].is_object() || line["span"].is_null(), "{line}");
    }
    let verdict = lines
        .iter()
        .find(|line| line["message"] == "gives a verdict")
        .expect("a decision");
    assert_eq!(verdict["fields"]["status"], "complete");
    assert_eq!(
        (&verdict["span"]["name"], &verdict["span"]["spec"]),
        (&json!("judgement"), &json!("auth"))
    );
    let call = lines
        .iter()
        .find(|line| line["target"] == "watchdog::checks" && line["level"] == "TRACE")
        .expect("a call");
    assert!(
        call["fields"]["duration_ms"].is_number() && call["fields"]["timed_out"] == false,
        "{call}"
    );
    let wrong = repo.watchdog(&["--log-format", "xml", "check"]).expect(2);
    wrong.assert_told(&["[possible values: text, json]"]);
}

#[test]
fn command_secrets_and_program_output_are_never_logged() {
    let env = TestEnv::new();
    let repo = worked_in(&env);
    let token = format!("{}{}", "ghp_", "aB3d".repeat(9));
    let config = checks(
        &env,
        &format!(
            "GH_TOKEN={token} PASSWORD=h0rse-staple echo said-by-the-check --api-key tr0ub4dor"
        ),
    );
    let out = repo
        .watchdog(&["-vvv", "check", "--config", &config])
        .expect(0);
    assert_logged(
        &out,
        "TRACE",
        "checks",
        &["GH_TOKEN=[secret: github-token] PASSWORD=[secret: password] echo"],
    );
    for secret in [token.as_str(), "h0rse-staple", "tr0ub4dor"] {
        assert!(!out.stderr.contains(secret), "{secret}\n{out}");
    }
    let quiet = checks(&env, "sh said.sh");
    repo.write("said.sh", "echo said-by-the-check");
    repo.commit_all("test: say");
    let out = repo
        .watchdog(&["-vvv", "check", "--config", &quiet])
        .expect(0);
    assert!(!out.stderr.contains("said-by-the-check"), "{out}");
}

#[test]
fn colours_are_as_the_flag_says() {
    let env = TestEnv::new();
    let repo = worked_in(&env);
    let check = |colour: &str| {
        repo.watchdog(&["-v", "--color", colour, "check", "--no-probe"])
            .expect(0)
            .stderr
    };
    assert!(
        check("always").contains("\u{1b}[32mINFO")
            && !check("never").contains('\u{1b}')
            && !check("auto").contains('\u{1b}')
    );
}

#[test]
fn broken_stderr_never_ends_or_slows_the_program() {
    let env = TestEnv::new();
    let repo = worked_in(&env);
    let watchdog = format!(
        "'{}' -vvv -q check --no-probe",
        env!("CARGO_BIN_EXE_watchdog")
    );
    let full = format!(
        "mkfifo ../full && exec 3<>../full && head -c 65536 /dev/zero >&3 && {watchdog} 2>&3"
    );
    let left = format!(
        "{{ {watchdog} 2>&3; echo $? >../code; }} 3>&1 >../out | :; cat ../out; exit $(cat ../code)"
    );
    for script in [full, format!("{watchdog} 2>&-"), left] {
        let out = repo
            .env_command("sh", &["-c", &script])
            .timeout(Duration::from_secs(30))
            .run()
            .expect(0);
        assert!(
            out.stdout.contains("complete (new_commits)"),
            "{script}\n{out}"
        );
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => sources(&path, found),
            path if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            _ => {}
        }
    }
}

#[test]
fn log_page_explains_every_target() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&top.join("src"), &mut files);
    sources(&top.join("crates"), &mut files);
    let call = Regex::new(
        r#"(?:tracing::(?:error|warn|info|debug|trace)(?:_span)?|\bcalled)!\(\s*(?:target: )?("watchdog::\w+"|\$target)?"#,
    )
    .expect("a fixed pattern");
    let mut targets: BTreeSet<String> = BTreeSet::new();
    for path in &files {
        let text = fs::read_to_string(path).expect("a source");
        for target in call.captures_iter(&text) {
            let target = target.get(1).map_or("", |target| target.as_str());
            assert_ne!(target, "", "{}: a log call names no target", path.display());
            targets.insert(target.trim_matches('"').to_owned());
        }
    }
    targets.remove("$target");
    assert!(targets.len() > 10, "{targets:?}");

    let page = fs::read_to_string(top.join("docs/logs.md")).expect("docs/logs.md");
    let (_, targets_of_page) = page.split_once("| target | about |").expect("the targets");
    let (targets_of_page, _) = targets_of_page.split_once("\n\n").expect("they end");
    let described = Regex::new(r"(?m)^\| `(\w+)` \|").expect("a fixed pattern");
    let described: BTreeSet<String> = described
        .captures_iter(targets_of_page)
        .map(|row| format!("watchdog::{}", &row[1]))
        .collect();
    assert_eq!(described, targets, "each target is explained");
    let filters = fs::read_to_string(top.join("src/cli/logging.rs")).expect("a source");
    let known = Regex::new(r"(?s)pub const TARGETS: \[&str; \d+\] =\s*\[(.*?)\];")
        .expect("a fixed pattern");
    let known = known
        .captures(&filters)
        .map(|list| list[1].to_owned())
        .unwrap_or_default();
    let known: BTreeSet<String> = known
        .split('"')
        .skip(1)
        .step_by(2)
        .map(|name| format!("watchdog::{name}"))
        .collect();
    assert_eq!(known, targets, "each target is known to filters");
}
