//! Loops of scripted sessions: what ends them, and what the next session is told.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, Step, TestEnv, assert_parts, fill_line, wait_until};

/// A configuration without pauses whose agent, when asked, says that all is done.
pub fn config(env: &TestEnv, more: Value) -> String {
    let asked = Step::append(&env.root().join("asked").to_string_lossy(), "x");
    let mut all = json!({"limits": {"cooldown_seconds": 0}});
    for (key, value) in more.as_object().expect("an object") {
        all[key] = value.clone();
    }
    let path = env.config_asking(
        &[
            asked,
            Step::print_json(&json!({"status": "complete", "message": "scripted"})),
        ],
        all,
    );
    path.to_string_lossy().into_owned()
}

/// How often the agent was asked for its state.
fn asked(env: &TestEnv) -> usize {
    fs::read(env.root().join("asked")).map_or(0, |marks| marks.len())
}

/// The check that a file is there.
pub fn needs(file: &str) -> Value {
    json!({"checks": [{"type": "command", "name": "there", "run": format!("test -f {file} || {{ echo '{file} is missing'; exit 1; }}")}]})
}

/// Steps that keep the prompt and count the session, then those of the iteration.
pub fn sessions(env: &TestEnv, by_number: &[&[Step]]) -> [String; 2] {
    let steps = [
        Step::append(&env.root().join("sessions").to_string_lossy(), "x"),
        Step::keep_prompt(&env.root().join("prompts")),
        Step::iteration(by_number),
    ];
    env.fake_agent("session", &steps)
}

/// How many sessions were started.
pub fn started(env: &TestEnv) -> usize {
    fs::read(env.root().join("sessions")).map_or(0, |marks| marks.len())
}

/// What each session was told.
pub fn prompts(env: &TestEnv) -> Vec<String> {
    let text = fs::read_to_string(env.root().join("prompts")).unwrap_or_default();
    text.split("\n-- end\n")
        .filter(|prompt| !prompt.trim().is_empty())
        .map(str::to_owned)
        .collect()
}

#[track_caller]
fn looped(repo: &Repo<'_>, config: &str, options: &[&str], agent: &[String; 2]) -> CommandOutput {
    repo.watchdog(
        &[
            &["loop", "--json", "--config", config],
            options,
            &["--", &agent[0], &agent[1]],
        ]
        .concat(),
    )
}

fn commit(file: &str) -> [Step; 2] {
    [
        Step::write(file, file),
        Step::commit(&format!("feat: {file}")),
    ]
}

#[test]
fn prompt_feedback_completes_a_loop_in_three_iterations() {
    let env = TestEnv::new();
    let repo = env.repo();
    let first = repo.head();
    let task = env.write("PROMPT.md", "Build the thing.");
    let agent = sessions(
        &env,
        &[
            &commit("a.txt"),
            &[
                &commit("b.txt")[..],
                &[Step::print("I am sure it is done.\n")],
            ]
            .concat(),
            &commit("ok.txt"),
        ],
    );
    let out = looped(
        &repo,
        &config(&env, needs("ok.txt")),
        &["--prompt", task.to_str().expect("UTF-8")],
        &agent,
    )
    .expect(0);
    let json = out.json();
    out.assert_verdict("complete/checks_passed", json!({"iterations": 3}));
    assert_eq!(started(&env), 3, "{out}");
    out.assert_values(json!({
        "/loop/first_baseline": first, "/loop/over": true, "evidence": "committed",
    }));
    assert_eq!(
        json["loop"]["history"].as_array().map(Vec::len),
        Some(3),
        "{out}"
    );
    assert_eq!(
        repo.subjects_since(&first),
        ["feat: ok.txt", "feat: b.txt", "feat: a.txt"]
    );
    let told = prompts(&env);
    assert!(
        told[0].starts_with("Build the thing.\n\nDone means:\nall of these:\n  - there: "),
        "{}",
        told[0]
    );
    assert!(!told[0].contains("missing\n"), "{}", told[0]);
    for part in [
        "Build the thing.",
        "iteration 3 of at most 30",
        "Iteration 2: I am sure it is done.",
        "(feat: b.txt)",
        "- there: unmet",
        "ok.txt is missing\n",
    ] {
        assert!(
            told[2].contains(part),
            "{part:?} is missing in\n{}",
            told[2]
        );
    }
    let kinds: Vec<String> = events(&repo)
        .into_iter()
        .map(|event| event["kind"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        kinds.iter().filter(|kind| *kind == "iteration").count(),
        3,
        "{kinds:?}"
    );
    assert!(
        kinds.contains(&"started".into()) && kinds.contains(&"complete".into()),
        "{kinds:?}"
    );
    env.assert_nothing_left();
}

fn events(repo: &Repo<'_>) -> Vec<Value> {
    let out = repo.watchdog(&["events", "--json", "-n", "500"]).expect(0);
    out.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("one object a line"))
        .collect()
}

/// The shape of a recorded incident: thirteen files written and staged anew by each session, said to be done, and never committed.
fn incident(env: &TestEnv) -> [String; 2] {
    let mut steps: Vec<Step> = (0..13)
        .map(|i| {
            Step::write(
                &format!("src/part{i}.go"),
                &format!("package part{i}\n").repeat(44),
            )
        })
        .collect();
    steps.extend([
        Step::git(&["add", "-A"]),
        Step::print("Everything is implemented; the pull request is ready.\n"),
    ]);
    sessions(env, &[&steps])
}

#[test]
fn repeated_uncommitted_work_ends_the_loop() {
    let env = TestEnv::new();
    let repo = env.repo();
    let agent = incident(&env);
    let config = config(&env, needs("../pull-request-is-open"));
    let out = looped(
        &repo,
        &config,
        &["--max-iterations", "167", "--no-rescue"],
        &agent,
    )
    .expect(12);
    let json = out.json();
    out.assert_verdict("review/max_iterations", json!({"iterations": 3}));
    assert_eq!(started(&env), 3, "{out}");
    assert!(
        json["message"]
            .as_str()
            .is_some_and(|message| message.starts_with("no progress: 3 iterations in a row")),
        "{out}"
    );
    out.assert_has("degraded", "no_progress");
    assert_eq!(repo.status().lines().count(), 13, "the work is still there");
    assert_eq!(
        repo.snapshots().len(),
        1,
        "one snapshot keeps it, as it never changed\n{out}"
    );
    let more = looped(
        &repo,
        &config,
        &["--max-iterations", "5", "--no-rescue", "--no-progress", "0"],
        &agent,
    )
    .expect(12);
    more.assert_values(json!({"iterations": 5}));
    assert_eq!(started(&env), 8, "{more}");
}

#[test]
fn repeatedly_rescued_work_ends_the_loop() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = looped(
        &repo,
        &config(&env, needs("../pull-request-is-open")),
        &["--max-iterations", "167"],
        &incident(&env),
    )
    .expect(12);
    assert_eq!(out.verdict(), "review/max_iterations", "{out}");
    assert_eq!(started(&env), 3, "{out}");
    out.assert_has("degraded", "no_progress");
    assert_eq!(
        (
            repo.status().as_str(),
            repo.file_in("HEAD", "src/part12.go").is_some()
        ),
        ("", true),
        "{out}"
    );
}

#[test]
fn criteria_weakened_in_a_session_never_govern_later() {
    let env = TestEnv::new();
    let repo = env.repo();
    let own = |checks: Value| {
        json!({"version": 1, "limits": {"cooldown_seconds": 0}, "checks": checks}).to_string()
    };
    repo.write(
        "completion.json",
        own(json!([{"type": "files", "paths": ["must.txt"]}])),
    );
    repo.commit_all("criteria");
    repo.watchdog(&["trust"]).expect(0);
    let weaken = [
        Step::write("completion.json", &own(json!([{"type": "always"}]))),
        Step::commit("chore: tidy"),
    ];
    let agent = sessions(&env, &[&weaken, &commit("x.txt"), &commit("y.txt")]);
    let out = repo
        .watchdog_line(
            "loop --json --no-probe --max-iterations 3 -- {} {}",
            &[&agent[0], &agent[1]],
        )
        .expect(12);
    assert_eq!(out.verdict(), "review/max_iterations", "{out}");
    assert_eq!(started(&env), 3, "{out}");
    out.assert_has("degraded", "criteria_changed");
    assert_parts(&prompts(&env)[2], &["must.txt"]);
}

#[test]
fn rescued_work_never_completes_the_next_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    let agent = sessions(
        &env,
        &[
            &[Step::write("half.txt", "half"), Step::hang()],
            &[Step::print("hm\n")],
            &commit("whole.txt"),
        ],
    );
    let out = looped(
        &repo,
        &config(&env, json!({})),
        &["--timeout", "6s", "--grace", "1s", "--no-probe"],
        &agent,
    )
    .expect(0);
    let json = out.json();
    let reasons: Vec<&Value> = json["loop"]["history"]
        .as_array()
        .expect("a history")
        .iter()
        .map(|one| &one["reason"])
        .collect();
    assert_eq!(
        reasons,
        [
            &json!("unfinished"),
            &json!("unfinished"),
            &json!("new_commits")
        ],
        "{out}"
    );
    assert_eq!(repo.file_in("HEAD", "half.txt").as_deref(), Some("half"));
    env.assert_nothing_left();
}

#[test]
fn crash_counts_as_iteration_without_a_probe() {
    let env = TestEnv::new();
    let repo = env.repo();
    let agent = sessions(
        &env,
        &[
            &[
                Step::write("a.txt", "a"),
                Step::complain("boom\n"),
                Step::exit(3),
            ],
            &commit("b.txt"),
        ],
    );
    let out = looped(&repo, &config(&env, json!({})), &[], &agent).expect(0);
    out.assert_verdict("complete/new_commits", json!({"iterations": 2}));
    out.assert_values(json!({"/loop/history/0/crash": "exit code 3"}));
    assert_eq!(asked(&env), 0, "{out}");
    assert_parts(&prompts(&env)[1], &["the session ended badly: exit code 3"]);
}

#[test]
fn awaited_usage_limit_is_no_iteration() {
    let env = TestEnv::new();
    let repo = env.repo();
    let reset = jiff::Timestamp::now().as_second() + 3;
    let limit = [
        Step::print(&format!("Claude AI usage limit reached|{reset}\n")),
        Step::exit(1),
    ];
    let limited = env.root().join("limited");
    // The first session meets the limit, the second one, of the same number, finds it lifted.
    let script = format!(
        "if [ -e {0} ]; then exec \"$1\" \"$3\"; else touch {0}; exec \"$1\" \"$2\"; fi",
        limited.display()
    );
    let (met, lifted) = (
        env.fake_agent("met", &limit),
        env.fake_agent("lifted", &commit("a.txt")),
    );
    let config = config(&env, json!({}));
    let args = fill_line(
        "loop --json --config {} -- sh -c {} sh {} {} {}",
        &[&config, &script, &met[0], &met[1], &lifted[1]],
    );
    let out = repo.watchdog(&args).expect(0);
    out.assert_verdict("complete/new_commits", json!({"iterations": 1}));
    out.assert_told(&["a usage limit was met: going on at "]);
    assert!(jiff::Timestamp::now().as_second() >= reset, "{out}");
}

#[test]
fn overlong_usage_limit_is_reported_as_waiting() {
    let env = TestEnv::new();
    let repo = env.repo();
    let reset = jiff::Timestamp::now().as_second() + 7200;
    let agent = sessions(
        &env,
        &[&[
            Step::print(&format!("Claude AI usage limit reached|{reset}\n")),
            Step::exit(1),
        ]],
    );
    let out = looped(
        &repo,
        &config(&env, json!({})),
        &["--max-wait", "1h"],
        &agent,
    )
    .expect(11);
    out.assert_verdict("waiting/rate_limited", json!({"/loop/over": false}));
    assert!(out.json()["retry_at"].is_string(), "{out}");
}

#[test]
fn total_budget_ends_a_loop_despite_good_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    let result = json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "done", "num_turns": 2, "total_cost_usd": 0.6,
        "session_id": "97d38b7d-137f-44c8-a906-ac97e99b783f", "usage": {"input_tokens": 100, "output_tokens": 20},
    });
    let paid = |file: &str| [&commit(file)[..], &[Step::print_json(&result)]].concat();
    let agent = sessions(&env, &[&paid("a.txt"), &paid("ok.txt")]);
    let out = looped(
        &repo,
        &config(&env, needs("ok.txt")),
        &["--max-cost-usd", "1"],
        &agent,
    )
    .expect(14);
    let json = out.json();
    out.assert_verdict("stopped/budget_exhausted", json!({"complete": false}));
    assert_eq!(started(&env), 2, "{out}");
    assert_eq!(json["loop"]["spent"]["cost_usd"], json!(1.2), "{out}");
    let again = looped(
        &repo,
        &config(&env, needs("ok.txt")),
        &["--max-cost-usd", "1"],
        &agent,
    )
    .expect(14);
    assert_eq!(
        (again.verdict().as_str(), started(&env)),
        ("stopped/budget_exhausted", 2),
        "a new start buys no new budget\n{again}"
    );
}

#[test]
fn closing_line_sums_up_the_loop() {
    let env = TestEnv::new();
    let repo = env.repo();
    let usage = Step::print_json(&json!({
        "type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "total_cost_usd": 0.5,
        "result": "so far", "usage": {"input_tokens": 700, "output_tokens": 50}
    }));
    let work = [&commit("a.txt")[..], &[usage]].concat();
    let [program, script] = sessions(&env, &[&work, &commit("b.txt")]);
    let config = config(&env, needs("ok.txt"));
    let line = fill_line(
        "loop --config {} --max-iterations 2 -- {} {}",
        &[&config, &program, &script],
    );
    let out = repo.watchdog(&line);
    let closing = (out.stdout.lines())
        .find(|line| line.starts_with("  loop: 2 sessions in "))
        .unwrap_or_else(|| panic!("{out}"));
    assert!(
        closing.ends_with(
            " · 2 commits · at least $0.50 · at least 750 tokens; the same command begins another"
        ),
        "{closing}"
    );
    let begin = out
        .stderr
        .find(" watchdog: iteration 1 of at most 2 begins");
    let stamp = &out.stderr[..begin.expect("it is told")];
    let stamp = stamp.lines().last().unwrap_or_default();
    assert!(stamp.parse::<jiff::Timestamp>().is_ok(), "{stamp}");
}

#[test]
fn the_cap_of_iterations_asks_a_person() {
    let env = TestEnv::new();
    let repo = env.repo();
    let agent = sessions(
        &env,
        &[&commit("a.txt"), &commit("b.txt"), &commit("c.txt")],
    );
    let out = looped(
        &repo,
        &config(&env, needs("never.txt")),
        &["--max-iterations", "2"],
        &agent,
    )
    .expect(12);
    assert_eq!(out.verdict(), "review/max_iterations", "{out}");
    assert_eq!(started(&env), 2, "{out}");
    let feedback = out.json()["feedback"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        feedback.contains("never.txt is missing"),
        "what the last check said is not lost\n{out}"
    );
}

#[test]
fn timeouts_open_the_breaker_and_end_the_loop() {
    let env = TestEnv::new();
    let repo = env.repo();
    let probe = env.fake_agent("alive", &[Step::print_json(&json!({"status": "working"}))]);
    let alive = json!({
        "agent": {"probe": probe}, "breaker": {"limit": 2, "cooldown_seconds": 600},
        "completion_check": {"max_probes": 1, "probe_interval_seconds": 0}, "limits": {"cooldown_seconds": 0},
    });
    let agent = sessions(&env, &[&[Step::print("thinking\n")]]);
    let out = looped(&repo, &config(&env, alive), &["--no-progress", "0"], &agent).expect(14);
    assert_eq!(out.verdict(), "stopped/breaker_open", "{out}");
    assert_eq!(started(&env), 2, "{out}");
    assert_eq!(&out.json()["breaker"]["state"], &json!("open"), "{out}");
    assert!(out.json()["retry_at"].is_string(), "{out}");
}

#[test]
fn dry_run_only_shows_prompt_and_plan() {
    let env = TestEnv::new();
    let repo = env.repo();
    let task = env.write("PROMPT.md", "Build it, no. {{iteration}}.");
    let task = task.to_str().expect("UTF-8");
    let config = config(&env, needs("ok.txt"));
    let args = fill_line(
        "loop --json --dry-run --config {} --prompt {} --agent claude --max-cost-usd 2 -- --model x",
        &[&config, task],
    );
    let json = repo.watchdog(&args).expect(0).json();
    assert!(
        json["prompt"]
            .as_str()
            .is_some_and(|prompt| prompt.starts_with("Build it, no. 1.\n\nDone means:")),
        "{json:#}"
    );
    let command = fill_line(
        "claude -p --output-format stream-json --verbose --permission-mode acceptEdits --model x",
        &[],
    );
    assert_eq!(
        (&json["command"], &json["iteration"]),
        (&json!(command), &json!(1)),
        "{json:#}"
    );
    assert_eq!(
        json["budget"],
        "30 of 30 iterations, 2.00 of 2.00 US dollars"
    );
    assert!(events(&repo).is_empty() && repo.snapshots().is_empty());
    let text = repo
        .watchdog_line(
            "loop --dry-run --config {} --prompt {} -- agent",
            &[&config, task],
        )
        .expect(0);
    text.assert_printed(&["begins with iteration 1", "--- prompt\nBuild it, no. 1."]);
}

#[test]
fn mistakes_are_told_before_anything_is_started() {
    let env = TestEnv::new();
    let repo = env.repo();
    let agent = sessions(&env, &[&[]]);
    let wrong = env.write("wrong.md", "Fix {{feedbck}}");
    let empty = env.write("empty.md", " \n");
    let folder = env.root().join("nothing-here");
    fs::create_dir(&folder).expect("a folder");
    for (options, said) in [
        (
            ["--prompt", wrong.to_str().expect("UTF-8")],
            "line 1: unknown placeholder '{{feedbck}}', did you mean `feedback`?",
        ),
        (["--prompt", empty.to_str().expect("UTF-8")], "it is empty"),
        (
            ["--prompt", "/no/such/file"],
            "failed to read the prompt /no/such/file",
        ),
        (
            ["--prompts", folder.to_str().expect("UTF-8")],
            "neither initial.md nor continuation.md",
        ),
        (["--deadline", "tomorrow"], "--deadline"),
    ] {
        let out = repo
            .watchdog(&["loop", options[0], options[1], "--", &agent[0], &agent[1]])
            .expect(2);
        assert!(out.stderr.contains(said), "{options:?}: {out}");
    }
    let out = repo.watchdog(&["loop", "--agent", "claude"]).expect(2);
    assert!(out.stderr.contains("--prompt FILE"), "{out}");
    assert_eq!(started(&env), 0);
    let outside = env
        .watchdog(&env.root(), &["loop", "--json", "--", &agent[0], &agent[1]])
        .expect(16);
    assert_eq!(outside.verdict(), "error/not_a_repository");
    let missing = repo
        .watchdog(&["loop", "--json", "--", "no-such-agent"])
        .expect(15);
    assert_eq!(missing.verdict(), "failed/agent_unrunnable", "{missing}");
}

#[test]
fn prompt_arrives_as_argument_or_file_on_request() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = config(&env, json!({}));
    let task = env.write("PROMPT.md", "Do it.");
    let script = "printf '%s' \"$1\" > ../argument; cp \"$2\" ../file; cp \"$WATCHDOG_PROMPT_FILE\" ../variable; cat > ../stdin; \
                  echo x > x.txt; git add x.txt; git commit -qm x";
    let args = fill_line(
        "loop --json --config {} --prompt {} -- sh -c {} sh {} {}",
        &[
            &config,
            task.to_str().expect("UTF-8"),
            script,
            "{prompt}",
            "{prompt_file}",
        ],
    );
    let out = repo.watchdog(&args).expect(0);
    let read = |name: &str| {
        fs::read_to_string(env.root().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}\n{out}"))
    };
    assert!(
        read("argument").starts_with("Do it.\n\nDone means:\n- the work is finished and committed"),
        "{}",
        read("argument")
    );
    assert_eq!(
        (read("file"), read("variable"), read("stdin")),
        (read("argument"), read("argument"), String::new())
    );
}

#[test]
fn loop_may_begin_on_an_unborn_branch() {
    let env = TestEnv::new();
    let repo = env.unborn_repo("unborn");
    let agent = sessions(&env, &[&[Step::print("hm\n")], &commit("a.txt")]);
    let out = looped(&repo, &config(&env, json!({})), &["--no-probe"], &agent).expect(0);
    out.assert_verdict(
        "complete/new_commits",
        json!({"/loop/first_baseline": "unborn"}),
    );
}

#[test]
fn awaited_overload_is_no_iteration() {
    let env = TestEnv::new();
    let repo = env.repo();
    let agent = sessions(
        &env,
        &[&[
            Step::print("API Error: Repeated 529 Overloaded errors. The API is at capacity\n"),
            Step::exit(1),
        ]],
    );
    let config = config(&env, json!({}));
    let running = repo.spawn_line(
        "loop --json --config {} -- {} {}",
        &[&config, &agent[0], &agent[1]],
    );
    wait_until("it waits", Duration::from_secs(60), || {
        running
            .stderr_so_far()
            .contains("no room for the session: going on at ")
    });
    running.signal(Signal::TERM);
    let out = running.wait().expect(14);
    out.assert_verdict("stopped/interrupted", json!({"iterations": 0}));
    assert_eq!(asked(&env), 0, "{out}");
}

#[test]
fn overload_is_awaited_no_longer_than_asked() {
    let env = TestEnv::new();
    let repo = env.repo();
    let agent = sessions(
        &env,
        &[&[
            Step::print("API Error: Repeated 529 Overloaded errors. The API is at capacity\n"),
            Step::exit(1),
        ]],
    );
    let out = looped(
        &repo,
        &config(&env, json!({})),
        &["--max-wait", "0s"],
        &agent,
    )
    .expect(11);
    out.assert_verdict("waiting/rate_limited", json!({"/loop/over": false}));
    assert_eq!(started(&env), 1, "{out}");
    assert_eq!(asked(&env), 0, "{out}");
    out.assert_has("degraded", "overload_too_long");
    let out = looped(
        &repo,
        &config(&env, json!({})),
        &["--max-wait", "2s"],
        &agent,
    )
    .expect(11);
    assert!(
        (3..9).contains(&started(&env)),
        "it goes on, tries again after its pause, and ends: {out}"
    );
}

#[test]
fn limit_of_unknown_end_ends_an_impatient_loop() {
    let env = TestEnv::new();
    let repo = env.repo();
    let limit = [
        Step::print("Claude AI usage limit reached\n"),
        Step::exit(1),
    ];
    let agent = sessions(&env, &[&limit]);
    let out = looped(
        &repo,
        &config(&env, json!({})),
        &["--max-wait", "5s"],
        &agent,
    )
    .expect(11);
    assert_eq!(out.verdict(), "waiting/rate_limited", "{out}");
    out.assert_has("degraded", "limit_too_long");
    out.assert_printed(&["start the loop again later"]);
    assert_eq!((started(&env), asked(&env)), (1, 0), "{out}");
}

#[test]
fn hopeless_failure_ends_loop_without_question() {
    for (words, exit, cause) in [
        (
            "Error: When using --print, --output-format=stream-json requires --verbose\n",
            1,
            "refuses its command line",
        ),
        (
            "Error loading config.toml: unknown variant `x`, expected one of `never`\nin `approval_policy`\n",
            1,
            "unknown variant `x`",
        ),
        (
            "ProviderModelNotFoundError: no such model\n",
            0,
            "its model cannot be used",
        ),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        let agent = sessions(&env, &[&[Step::complain(words), Step::exit(exit)]]);
        let out = looped(&repo, &config(&env, json!({})), &[], &agent).expect(15);
        assert_eq!(out.verdict(), "failed/agent_unrunnable", "{out}");
        let verdict = out.json();
        let message = verdict["message"].as_str().unwrap_or_default();
        assert!(message.contains(cause), "{out}");
        assert_eq!(verdict["strike"], false, "{out}");
        assert_eq!((started(&env), asked(&env)), (1, 0), "{out}");
    }
}

#[test]
fn pause_is_bounded_by_the_time_budget() {
    for words in [
        "Claude AI usage limit reached\n",
        "API Error: Repeated 529 Overloaded errors. The API is at capacity\n",
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        let agent = sessions(&env, &[&[Step::print(words), Step::exit(1)]]);
        let began = std::time::Instant::now();
        let out = looped(
            &repo,
            &config(&env, json!({})),
            &["--max-wall", "3s"],
            &agent,
        )
        .expect(14);
        assert_eq!(out.verdict(), "stopped/budget_exhausted", "{out}");
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{:?}",
            began.elapsed()
        );
    }
}

#[test]
fn untrusted_criteria_prevent_every_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("completion.json", needs("ok.txt").to_string());
    repo.commit_all("criteria");
    let agent = sessions(&env, &[&commit("ok.txt")]);
    let args = ["loop", "--json", "--no-probe", "--", &agent[0], &agent[1]];
    let out = repo.watchdog(&args).expect(12);
    assert_eq!(out.verdict(), "review/untrusted", "{out}");
    assert_eq!(started(&env), 0, "{out}");
    assert!(
        out.json()["message"].as_str().is_some_and(|message| message
            .contains("nothing was started")
            && message.ends_with(" trust")),
        "{out}"
    );
    let plan = repo
        .watchdog(&["loop", "--json", "--dry-run", "--", "x"])
        .expect(0)
        .json();
    assert!(
        plan["refused"]
            .as_str()
            .is_some_and(|why| why.ends_with(" trust")),
        "{plan:#}"
    );
    repo.watchdog(&["trust"]).expect(0);
    let out = repo.watchdog(&args).expect(0);
    assert_eq!(out.verdict(), "complete/checks_passed", "{out}");
    assert_eq!(started(&env), 1, "{out}");
}

#[test]
fn dry_run_during_a_rebase_tells_the_obstacle() {
    let env = TestEnv::new();
    let repo = env.repo();
    let commit = |text: &str| {
        repo.write("a.txt", text);
        repo.commit_all(text);
    };
    commit("start");
    repo.git(&["checkout", "-qb", "other"]);
    commit("theirs");
    repo.git(&["checkout", "-q", "main"]);
    commit("ours");
    assert_ne!(repo.try_git(&["rebase", "other"]).code, Some(0));
    let args = ["loop", "--json", "--no-probe", "--spec", "work"];
    let plan = |more: &[&str]| {
        repo.watchdog(&[&args[..], more, &["--dry-run", "--", "true"]].concat())
            .expect(0)
            .json()["refused"]
            .clone()
    };
    assert!(
        plan(&[])
            .as_str()
            .is_some_and(|why| why.starts_with("a rebase was in progress")),
        "{}",
        plan(&[])
    );
    assert_eq!(plan(&["--adopt"]), Value::Null, "the agent is to finish it");
    let out = repo
        .watchdog(&[&args[..], &["--", "true"]].concat())
        .expect(12);
    assert_eq!(out.json()["message"], plan(&[]), "and so it is");
}

#[test]
fn session_and_nested_checks_run_where_typed() {
    let env = TestEnv::new();
    let repo = env.repo();
    let script = "#!/bin/sh\npwd -P >> went; [ -e once ] || { touch once; exit; }\ntouch done; git add done; git commit -qm done\n";
    repo.write("packages/api/go.sh", script);
    repo.write("packages/api/judge.sh", "#!/bin/sh\ntest -e done\n");
    let checks = r#"{"limits": {"cooldown_seconds": 0}, "checks": [{"type": "command", "run": "test -e done"}, {"type": "custom", "run": ["./judge.sh"]}]}"#;
    repo.write("packages/api/completion.json", checks);
    for name in ["go.sh", "judge.sh"] {
        let path = repo.path().join("packages/api").join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    repo.write(
        ".watchdog/tasks/T1.md",
        "---\nid: T1\ntitle: go\n---\nGo.\n",
    );
    repo.commit_all("scripts");
    let api = repo.path().join("packages/api");
    let work = fill_line(
        "task work --agents 1 --config completion.json --no-probe --child-wait 0s -- ./go.sh",
        &[],
    );
    env.watchdog(&api, &work).expect(0);
    let worktrees = repo.git(&["worktree", "list", "--porcelain"]);
    let mut task_root = worktrees
        .lines()
        .filter_map(|line| line.strip_prefix("worktree "));
    let task_api = Path::new(task_root.next_back().unwrap()).join("packages/api");
    assert_ne!(task_api, api);
    let went = fs::read_to_string(task_api.join("went")).unwrap();
    assert_eq!(went.lines().next(), task_api.to_str());
    let nested = fill_line(
        "--config completion.json --no-probe --no-rescue -- ./go.sh",
        &[],
    );
    let looped = [&["loop", "--max-iterations", "3"][..], &nested].concat();
    env.watchdog(&api, &looped).expect(0);
    let went = fs::read_to_string(api.join("went")).unwrap();
    assert_eq!(went, format!("{0}\n{0}\n", api.display()));
    let named = ["-C", "packages/api", "run", "--no-probe", "--", "./go.sh"];
    repo.watchdog(&named);
    let went = fs::read_to_string(api.join("went")).unwrap();
    assert_eq!(went.lines().nth(2), api.to_str());
    let swept = ["--config", "completion.json", "sweep", ".", "--json"];
    let out = env.watchdog(&api, &swept);
    let mut rows = out
        .stdout
        .lines()
        .map(|row| serde_json::from_str(row).unwrap());
    let row: Value = rows.find(|row: &Value| row["spec"] == "main").unwrap();
    assert_eq!(row["status"], json!("complete"), "{row:#}");
    // The same folder in another worktree, and its own one below a worktree that lies inside of it.
    repo.git(&["worktree", "add", "-q", "inner/second"]);
    let second = Repo::new(&env, repo.path().join("inner/second"));
    second.watchdog(&["snapshot"]).expect(0);
    second.write("packages/api/more", "more\n");
    second.commit_all("more");
    for folder in [&api, &second.path().join("packages/api")] {
        let out = env.watchdog(folder, &swept);
        for spec in ["main", "second"] {
            let rows = out.stdout.lines().map(serde_json::from_str::<Value>);
            let row = (rows.flatten()).find(|row| row["spec"] == spec).unwrap();
            assert_eq!(row["status"], json!("complete"), "{row:#}");
        }
    }
    repo.git(&["worktree", "remove", "-f", "inner/second"]);
    repo.git(&["clean", "-q", "-f", "-d"]);
    let rescue = r#"{"rescue": {"mode": "command", "command": ["./go.sh"]}}"#;
    let outside = env.write("outside.json", rescue);
    let named = fill_line(
        "--config {} run --json -- touch ../../once",
        &[outside.to_str().unwrap()],
    );
    let verdict = env.watchdog(&api, &named).json();
    assert_eq!(verdict["rescue"]["commits"], json!(1), "{verdict:#}");
}

#[test]
fn session_may_remove_the_folder_typed_in() {
    let env = TestEnv::new();
    let repo = env.repo();
    let watchdog = env!("CARGO_BIN_EXE_watchdog");
    repo.write("packages/api/lib", "one\n");
    let checks = r#"{"checks": [{"type": "command", "run": "true"}]}"#;
    repo.write("packages/api/c.json", checks);
    repo.commit_all("packages");
    let api = repo.path().join("packages/api");
    let removes = ["--no-probe", "--", "sh", "-c", "cd ../..; rm -rf packages"];
    let nested = [
        &["run", "--json", "--no-rescue", "--config", "c.json"][..],
        &removes,
    ]
    .concat();
    let out = env.watchdog(&api, &nested).expect(15).json();
    assert_parts(&out["message"].to_string(), &["packages/api: No such file"]);
    repo.git(&["checkout", "-q", "packages"]);
    let out = env.watchdog(
        &api,
        &[&["run", "--json", "--no-rescue"][..], &removes].concat(),
    );
    assert_eq!(out.expect(10).json()["commits"], json!([]));
    repo.git(&["checkout", "-q", "packages"]);
    // A hook and a command in a folder that is gone.
    let from_gone = |line: &str| {
        repo.git(&["checkout", "-q", "packages"]);
        let line = format!("cd packages/api; rm -rf ../../packages; {line}");
        let out = env.command("sh", repo.path()).args(["-c", &line]).run();
        out.stdout
    };
    let stop = format!(
        r#"echo '{{"session_id": "s", "cwd": "{}"}}' | {watchdog} hook stop"#,
        api.display()
    );
    let answer = from_gone(&stop);
    assert!(
        answer.starts_with('{') && !answer.contains("could not judge"),
        "{answer}"
    );
    let told = from_gone(&format!("{watchdog} --json check"));
    assert!(told.contains("cd to one that is there"), "{told}");
    let root = repo.path().display();
    let told = from_gone(&format!("{watchdog} --json -C {root} check"));
    assert!(
        told.contains("incomplete") || told.contains("no_baseline"),
        "{told}"
    );
}
