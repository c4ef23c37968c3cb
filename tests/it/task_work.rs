//! `watchdog task run` and `task work`: tasks go to agents, one each, through crashes and stops, and nothing of theirs is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    Repo, Running, TestEnv, assert_parts, extended, fill_line, processes_with, wait_until,
};

/// How long something may take that happens by itself, on a machine with other things to do.
const SOON: Duration = Duration::from_secs(60);

/// A task's file, committed with the next commit.
fn put(repo: &Repo<'_>, id: &str, front: &str) {
    repo.write(
        &format!(".watchdog/tasks/{id}.md"),
        format!("---\nid: {id}\ntitle: About {id}\n{front}---\n\nDo {id} with {{{{braces}}}}.\n"),
    );
}

/// Quick loops that ask nobody.
fn config(env: &TestEnv, more: Value) -> String {
    let config = extended(
        json!({"version": 1, "limits": {"cooldown_seconds": 0}, "rescue": {"mode": "single"}, "completion_check": {"max_probes": 0}}),
        &more,
    );
    env.write("config/completion.json", config.to_string())
        .to_string_lossy()
        .into_owned()
}

/// An agent that plays this shell script in each session.
fn agent<'a>(options: &[&'a str], script: &'a str) -> Vec<&'a str> {
    [
        &["task"],
        options,
        &["--no-probe", "--child-wait", "0s", "--", "sh", "-c", script],
    ]
    .concat()
}

/// What an honest agent does.
const HONEST: &str =
    "echo done > $WATCHDOG_SPEC.txt && git add -A && git commit -qm \"feat: $WATCHDOG_SPEC\"";

fn tasks(repo: &Repo<'_>) -> Vec<Value> {
    repo.watchdog(&["task", "list", "--json"]).expect(0).json()["tasks"]
        .as_array()
        .expect("a list")
        .clone()
}

fn task(repo: &Repo<'_>, id: &str) -> Value {
    tasks(repo)
        .into_iter()
        .find(|task| task["id"] == id)
        .unwrap_or_else(|| panic!("no task {id}"))
}

fn waits_for_file(path: &Path) {
    wait_until(&path.display().to_string(), SOON, || path.exists());
}

fn spawn(repo: &Repo<'_>, args: &[&str]) -> Running {
    repo.watchdog_command(args)
        .timeout(Duration::from_secs(150))
        .spawn()
}

#[test]
fn task_runs_until_its_own_checks_pass() {
    let env = TestEnv::new();
    let repo = env.repo();
    put(
        &repo,
        "T1",
        "completion:\n  verify: test -f two.txt\n  max_iterations: 5\n",
    );
    repo.commit_all("a task");
    repo.watchdog(&["trust", ".watchdog/tasks"]).expect(0);
    let config = config(
        &env,
        json!({"checks": [{"type": "files", "paths": ["never.txt"]}]}),
    );
    let script = "cat >> ../prompts; if [ -e one.txt ]; then touch two.txt; echo 2 > two.txt; else echo 1 > one.txt; fi; git add -A; git commit -qm step";
    let out = repo
        .watchdog(&agent(
            &["run", "T1", "--json", "--config", &config],
            script,
        ))
        .expect(0);
    out.assert_verdict(
        "complete/checks_passed",
        json!({"/task/status": "complete", "spec": "T1", "iterations": 2}),
    );
    let prompts =
        fs::read_to_string(env.root().join("prompts")).expect("the agent was told something");
    assert_eq!(
        prompts.matches("Do T1 with {{braces}}.").count(),
        2,
        "{prompts}"
    );
    let after = task(&repo, "T1");
    assert_eq!(
        (&after["status"], &after["reason"], &after["attempts"]),
        (&json!("complete"), &json!("checks_passed"), &json!(1))
    );
    assert!(
        after["log"]
            .as_str()
            .is_some_and(|log| Path::new(log).is_file()),
        "{after}"
    );
    assert!(
        prompts.starts_with("About T1\n\nDo T1"),
        "the title leads the prompt: {prompts}"
    );
    let again = repo
        .watchdog(&agent(&["run", "T1", "--json"], "touch ../ran"))
        .expect(0);
    assert_eq!(again.verdict(), "complete/checks_passed");
    assert!(
        again.json()["message"]
            .as_str()
            .is_some_and(|message| message.starts_with("T1 is complete since ")),
        "{again}"
    );
    again.assert_values(json!({"/task/begun": false, "/task/status": "complete"}));
    assert!(!env.root().join("ran").exists(), "nothing was started");
    repo.watchdog(&["task", "set", "T1", "pending", "--reason", "once more"])
        .expect(0);
    let reopened = repo
        .watchdog(&agent(
            &["run", "T1", "--json"],
            "touch ../ran; echo 3 > three.txt; git add -A; git commit -qm three",
        ))
        .expect(0);
    reopened.assert_values(json!({"/task/begun": true}));
    assert!(env.root().join("ran").exists(), "{reopened}");
    env.assert_nothing_left();
}

#[test]
fn untrusted_or_waiting_task_starts_no_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    put(&repo, "T1", "completion: {verify: \"true\"}\n");
    put(&repo, "T2", "depends_on: [T1]\n");
    repo.commit_all("tasks");
    let out = repo
        .watchdog(&agent(&["run", "T1", "--json"], "touch ../ran"))
        .expect(12);
    assert_eq!(out.verdict(), "review/untrusted");
    assert!(
        out.json()["message"]
            .as_str()
            .is_some_and(|message| message.ends_with(" trust .watchdog/tasks/T1.md")),
        "{out}"
    );
    assert_eq!(
        repo.watchdog(&agent(&["run", "T2", "--json"], "touch ../ran"))
            .expect(11)
            .verdict(),
        "waiting/dependencies"
    );
    repo.watchdog(&agent(&["run", "NOPE", "--json"], "touch ../ran"))
        .expect(2);
    let out = repo
        .watchdog(&agent(&["work", "--json"], "touch ../ran"))
        .expect(12);
    assert_eq!(out.verdict(), "review/untrusted");
    assert!(!env.root().join("ran").exists());
    assert_eq!(
        (&task(&repo, "T1")["status"], &task(&repo, "T2")["status"]),
        (&json!("pending"), &json!("blocked"))
    );
}

#[test]
fn agent_cannot_complete_a_task_by_rewriting_it() {
    let env = TestEnv::new();
    let repo = env.repo();
    put(
        &repo,
        "T1",
        "completion: {verify: test -f wanted.txt, max_iterations: 2}\n",
    );
    repo.commit_all("a task");
    repo.watchdog(&["trust", ".watchdog/tasks/T1.md"]).expect(0);
    let config = config(&env, json!({}));
    let script = "printf -- '---\\nid: T1\\ntitle: easy\\nstatus: complete\\n---\\n' > .watchdog/tasks/T1.md; date +%N > n; git add -A; git commit -qm easy";
    let out = repo
        .watchdog(&agent(
            &["run", "T1", "--json", "--config", &config],
            script,
        ))
        .expect(12);
    assert_eq!(out.verdict(), "review/max_iterations");
    assert_eq!(task(&repo, "T1")["status"], "review");
    // Also not later, from the file that was committed meanwhile.
    let again = repo
        .watchdog(&agent(
            &["run", "T1", "--json", "--config", &config],
            script,
        ))
        .expect(12);
    assert_eq!(again.verdict(), "review/max_iterations");
    again.assert_has("degraded", "criteria_changed");
}

/// Six tasks: two roots, one after each, one after both of those, one after that.
fn six(repo: &Repo<'_>) {
    for (id, wanted) in [
        ("A1", ""),
        ("A2", ""),
        ("B1", "A1"),
        ("B2", "A2"),
        ("C", "B1, B2"),
        ("D", "C"),
    ] {
        put(repo, id, &format!("depends_on: [{wanted}]\n"));
    }
    repo.commit_all("six tasks");
}

#[track_caller]
fn assert_six_done(repo: &Repo<'_>, out: &Value) {
    for task in tasks(repo) {
        assert_eq!(task["status"], "complete", "{task}\n{out:#}");
    }
    let last = repo.git(&["ls-tree", "--name-only", "watchdog/D"]);
    for id in ["A1", "A2", "B1", "B2", "C", "D"] {
        assert!(
            last.lines().any(|name| name == format!("{id}.txt")),
            "what {id} made is in the branch of the last task: {last}"
        );
    }
    assert!(
        repo.git(&["status", "--porcelain"]).is_empty(),
        "the worktree of the tasks is as it was"
    );
    assert_eq!(repo.git(&["branch", "--show-current"]), "main");
}

#[test]
fn dependent_tasks_finish_in_order_despite_a_kill() {
    let env = TestEnv::new();
    let repo = env.repo();
    six(&repo);
    let config = config(&env, json!({}));
    let pid = env.root().join("pid");
    let script = format!(
        "if [ $WATCHDOG_SPEC = A2 ] && [ ! -e '{0}' ]; then echo half > half.txt; echo $$ > '{0}.new'; mv '{0}.new' '{0}'; exec sleep 60; fi; {HONEST}",
        pid.display()
    );
    let running = spawn(
        &repo,
        &agent(
            &["work", "--agents", "2", "--json", "--config", &config],
            &script,
        ),
    );
    waits_for_file(&pid);
    let session: i32 = fs::read_to_string(&pid)
        .expect("it is there")
        .trim()
        .parse()
        .expect("a number");
    let _ = rustix::process::kill_process(
        rustix::process::Pid::from_raw(session).expect("no zero"),
        Signal::KILL,
    );
    let out = running.wait().expect(0);
    assert_eq!(out.verdict(), "complete/checks_passed");
    assert_six_done(&repo, &out.json());
    assert!(
        repo.git(&["ls-tree", "--name-only", "watchdog/A2"])
            .contains("half.txt"),
        "what the killed session left is not lost"
    );
    let agents: std::collections::BTreeSet<String> = tasks(&repo)
        .iter()
        .map(|task| task["agent"].to_string())
        .collect();
    assert!(agents.len() == 2, "both agents worked: {agents:?}");
    env.assert_nothing_left();
}

#[test]
fn expired_lease_passes_the_task_of_killed_watchdogs() {
    let env = TestEnv::new();
    let repo = env.repo();
    six(&repo);
    let config = config(&env, json!({}));
    let (begun, go) = (env.root().join("begun"), env.root().join("go"));
    let script = format!(
        "if [ $WATCHDOG_SPEC = A2 ]; then touch '{}'; while [ ! -e '{}' ]; do sleep 0.1; done; fi; {HONEST}",
        begun.display(),
        go.display()
    );
    let args = agent(
        &fill_line("work --agents 1 --lease 2s --json --config {}", &[&config]),
        &script,
    );
    let first = spawn(&repo, &args);
    waits_for_file(&begun);
    let second = spawn(&repo, &args);
    // By then the first has written down which session is its own.
    wait_until("the second works", SOON, || {
        task(&repo, "B1")["status"] == "complete"
    });
    first.signal(Signal::KILL);
    let _killed = first.wait().expect(137);
    // The session of the killed one goes on by itself. Its successor waits for its end, and takes what it committed.
    wait_until("the second has taken it", SOON, || {
        task(&repo, "A2")["agent"] == "agent-2"
    });
    assert_eq!(task(&repo, "A2")["status"], "in_progress");
    fs::write(&go, "").expect("a file");
    let out = second.wait().expect(0);
    assert_six_done(&repo, &out.json());
    assert_eq!(task(&repo, "A2")["attempts"], 2);
    let events = repo
        .watchdog(&["events", "--kind", "pending", "--json"])
        .expect(0);
    assert!(
        events
            .stdout
            .lines()
            .any(|line| line.contains("lease_ended") && line.contains("A2")),
        "{events}"
    );
    env.assert_nothing_left();
}

#[test]
fn next_worker_takes_name_and_worktree_at_once() {
    let env = TestEnv::new();
    let repo = env.repo();
    put(&repo, "T1", "");
    repo.commit_all("a task");
    // A person's branch leaves no room for `watchdog/T1`.
    repo.git(&["branch", "watchdog"]);
    let config = config(&env, json!({"agents": [{"name": "be-1"}]}));
    let begun = env.root().join("begun");
    let script = format!(
        "if [ $WATCHDOG_SPEC = T1 ] && [ ! -e '{0}' ]; then touch '{0}'; exec sleep 60; fi; {HONEST}",
        begun.display()
    );
    let args = agent(&["work", "--json", "--config", &config], &script);
    let first = spawn(&repo, &args);
    waits_for_file(&begun);
    // Ctrl-C, and then an end by itself: each gives the name back.
    first.signal(Signal::INT);
    assert_eq!(first.wait().expect(14).verdict(), "stopped/interrupted");
    assert_eq!(
        repo.watchdog(&args).expect(0).verdict(),
        "complete/checks_passed"
    );
    repo.git(&["branch", "-D", "watchdog"]);
    repo.git(&["branch", "watchdog/T2/mine"]);
    put(&repo, "T2", "");
    repo.commit_all("another task");
    let out = repo.watchdog(&args).expect(0);
    assert_eq!(out.verdict(), "complete/checks_passed");
    let reason = "because the branch 'watchdog/T2/mine' is in the way";
    assert!(out.stderr.contains(reason), "{}", out.stderr);
    for id in ["T1", "T2"] {
        assert_eq!(task(&repo, id)["branch"], format!("watchdog-{id}"));
    }
    let worktrees = repo.git(&["worktree", "list", "--porcelain"]);
    assert_eq!(
        worktrees
            .lines()
            .filter(|line| line.starts_with("worktree "))
            .count(),
        2,
        "one is used again: {worktrees}"
    );
    env.assert_nothing_left();
}

#[test]
fn programs_of_the_repositorys_configuration_do_not_run() {
    let env = TestEnv::new();
    let repo = env.repo();
    put(&repo, "T1", "");
    put(&repo, "T2", "");
    put(&repo, "T3", "depends_on: [T1, T2]\n");
    repo.write(".gitattributes", "*.txt filter=evil merge=evil\n");
    repo.write("both.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    repo.commit_all("tasks");
    let evil = env.write("evil.sh", "#!/bin/sh\necho \"$1\" >> \"$0.ran\"; cat\n");
    fs::set_permissions(&evil, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a program");
    // A condition that holds in the worktree of the task alone hides nothing.
    repo.write(
        ".git/hidden",
        format!(
            "[filter \"evil\"]\n\tsmudge = {0} smudge\n\tclean = {0} clean\n\trequired = true\n",
            evil.display()
        ),
    );
    repo.git(&["config", "includeIf.onbranch:watchdog/**.path", "hidden"]);
    for (key, name) in [
        ("merge.evil.driver", "merge"),
        ("core.sshCommand", "ssh"),
        ("gpg.program", "gpg"),
    ] {
        repo.git(&["config", key, &format!("{} {name}", evil.display())]);
    }
    // Two change the file, so that their work is merged for the third.
    let script = "git config --unset includeIf.onbranch:watchdog/**.path; case $WATCHDOG_SPEC in \
                  T1) sed -i 1s/^/T1/ both.txt;; T2) sed -i 9s/^/T2/ both.txt;; T3) cp both.txt merged; git add merged;; esac; \
                  git commit -qam feat; git config includeIf.onbranch:watchdog/**.path hidden";
    let config = config(&env, json!({}));
    let out = repo.watchdog(&agent(&["work", "--json", "--config", &config], script));
    let three = task(&repo, "T3");
    assert_eq!(three["status"], "complete", "{out}");
    let merged =
        fs::read_to_string(Path::new(three["worktree"].as_str().expect("a folder")).join("merged"))
            .expect("the work of both");
    assert!(merged.contains("T11") && merged.contains("T29"), "{merged}");
    let ran = fs::read_to_string(env.root().join("evil.sh.ran")).unwrap_or_default();
    assert_eq!(ran, "", "{out}");
}

#[test]
fn two_workers_never_hold_one_task() {
    let env = TestEnv::new();
    let repo = env.repo();
    let ids: Vec<String> = (10..22).map(|n| format!("T{n}")).collect();
    ids.iter().for_each(|id| put(&repo, id, ""));
    repo.commit_all("twelve tasks");
    let config = config(&env, json!({}));
    let script = format!(
        "echo $WATCHDOG_SPEC >> '{}'; {HONEST}",
        env.root().join("runs").display()
    );
    let args = agent(
        &["work", "--agents", "2", "--json", "--config", &config],
        &script,
    );
    let crews: Vec<Running> = (0..3).map(|_| spawn(&repo, &args)).collect();
    crews
        .into_iter()
        .for_each(|pool| drop(pool.wait().expect(0)));
    let runs = fs::read_to_string(env.root().join("runs")).expect("they ran");
    let mut ran: Vec<&str> = runs.lines().collect();
    ran.sort_unstable();
    assert_eq!(ran, ids, "each once");
}

#[test]
fn unsaved_work_never_hinders_another_task() {
    let env = TestEnv::new();
    let repo = env.repo();
    put(
        &repo,
        "T1",
        "checks: [{type: files, paths: [wanted.txt]}]\ncompletion: {max_iterations: 1}\npriority: high\n",
    );
    put(&repo, "T2", "");
    put(&repo, "T3", "");
    repo.commit_all("tasks");
    let config = config(&env, json!({"rescue": {"mode": "snapshot"}}));
    let script = format!(
        "if [ $WATCHDOG_SPEC = T1 ]; then echo precious > precious.txt; exit; fi; {HONEST}"
    );
    let out = repo
        .watchdog(&agent(&["work", "--json", "--config", &config], &script))
        .expect(12);
    let (one, two, three) = (task(&repo, "T1"), task(&repo, "T2"), task(&repo, "T3"));
    assert_eq!(
        (&one["status"], &two["status"], &three["status"]),
        (&json!("review"), &json!("complete"), &json!("complete")),
        "{out}"
    );
    let left = PathBuf::from(one["worktree"].as_str().expect("a folder"));
    assert_eq!(
        fs::read_to_string(left.join("precious.txt")).expect("it is there"),
        "precious\n"
    );
    assert_ne!(one["worktree"], two["worktree"]);
    assert_eq!(
        two["worktree"], three["worktree"],
        "a clean worktree is used again"
    );
    assert!(
        left.starts_with(env.state()),
        "no worktree is made in anybody's own: {}",
        left.display()
    );
}

#[test]
fn signal_returns_tasks_for_the_next_start() {
    let env = TestEnv::new();
    let repo = env.repo();
    six(&repo);
    let config = config(&env, json!({}));
    let begun = env.root().join("begun");
    let script = format!(
        "if [ ! -e '{0}' ]; then touch '{0}'; echo half > half.txt; sleep 60; fi; {HONEST}",
        begun.display()
    );
    let args = agent(
        &["work", "--json", "--write-back", "--config", &config],
        &script,
    );
    let running = spawn(&repo, &args);
    waits_for_file(&begun);
    running.signal(Signal::INT);
    let out = running.wait().expect(14);
    assert_eq!(out.verdict(), "stopped/interrupted");
    assert_eq!(task(&repo, "A1")["status"], "pending");
    env.assert_nothing_left();
    repo.git(&["checkout", "-q", "--", ".watchdog"]);
    let out = spawn(&repo, &args).wait().expect(0);
    assert_eq!(out.verdict(), "complete/checks_passed");
    for id in ["A1", "D"] {
        let text = fs::read_to_string(repo.path().join(format!(".watchdog/tasks/{id}.md")))
            .expect("a file");
        assert!(text.contains("\nstatus: complete\n---\n"), "{text}");
    }
}

#[test]
fn conflicting_dependencies_need_a_person() {
    let env = TestEnv::new();
    let repo = env.repo();
    put(&repo, "A", "");
    put(&repo, "B", "");
    put(&repo, "C", "depends_on: [A, B]\n");
    repo.commit_all("tasks");
    let config = config(&env, json!({}));
    let script =
        "echo $WATCHDOG_SPEC > same.txt; git add -A; git commit -qm \"feat: $WATCHDOG_SPEC\"";
    let out = repo
        .watchdog(&agent(&["work", "--json", "--config", &config], script))
        .expect(12);
    let both = task(&repo, "C");
    assert_eq!(both["status"], "review", "{out}");
    assert_parts(
        both["message"].as_str().unwrap(),
        &["does not merge into watchdog/C"],
    );
    let root = PathBuf::from(
        both["message"]
            .as_str()
            .and_then(|message| message.split(" in ").nth(1)?.split(", then").next())
            .expect("a folder"),
    );
    assert!(
        env.command("git", &root)
            .args(["status", "--porcelain"])
            .run()
            .expect(0)
            .stdout
            .is_empty(),
        "no half merged tree is left"
    );
}

#[test]
fn configured_agents_take_tasks_of_their_role() {
    let env = TestEnv::new();
    let repo = env.repo();
    put(&repo, "front", "role: frontend\n");
    put(&repo, "back", "role: backend\n");
    put(&repo, "ops", "role: ops\n");
    repo.commit_all("tasks");
    let script = env
        .write(
            "agent.sh",
            format!("test \"$1\" = told || exit 9\n{HONEST}\n"),
        )
        .to_string_lossy()
        .into_owned();
    let entry = |name: &str, role: &str| json!({"name": name, "role": role, "command": ["sh", script, "told"], "worktree": format!("../{name}")});
    let config = config(
        &env,
        json!({"agents": [entry("be-1", "backend"), entry("fe-1", "frontend")]}),
    );
    let plan = repo
        .watchdog(&["task", "work", "--dry-run", "--config", &config])
        .expect(0);
    plan.assert_printed(&["ready: back, for be-1", "ready: ops, for nobody"]);
    let out = repo
        .watchdog(&["task", "work", "--json", "--no-probe", "--config", &config])
        .expect(11);
    assert_eq!(out.verdict(), "waiting/dependencies", "{out}");
    for (id, name) in [("back", "be-1"), ("front", "fe-1")] {
        let task = task(&repo, id);
        assert_eq!(
            (&task["status"], &task["agent"], &task["branch"]),
            (
                &json!("complete"),
                &json!(name),
                &json!(format!("watchdog/{id}"))
            )
        );
        assert!(env.root().join(name).join(format!("{id}.txt")).is_file());
    }
    assert_eq!(task(&repo, "ops")["status"], "pending");
}

#[test]
fn without_a_first_commit_no_task_is_touched() {
    let env = TestEnv::new();
    let repo = env.unborn_repo("unborn");
    put(&repo, "T1", "");
    let out = repo
        .watchdog(&agent(&["work", "--json"], HONEST))
        .expect(16);
    out.assert_has("message", "no commit yet");
    assert_eq!(task(&repo, "T1")["status"], "pending");
}

#[test]
fn unstartable_agent_leaves_its_tasks_pending() {
    let env = TestEnv::new();
    let repo = env.repo();
    six(&repo);
    let out = repo
        .watchdog_line("task work --json --no-probe -- no-such-agent", &[])
        .expect(14);
    assert_eq!(out.verdict(), "stopped/agent_stopped");
    assert!(
        tasks(&repo)
            .iter()
            .all(|task| ["pending", "blocked"].contains(&task["status"].as_str().expect("a word"))),
        "{out}"
    );
}

#[test]
fn task_processes_are_recognised_by_their_spec() {
    // What the tests with the real CLI end processes by. All processes are looked at, so that no other test has this name.
    let env = TestEnv::new();
    let repo = env.repo();
    put(&repo, "recognised", "");
    repo.commit_all("a task");
    let begun = env.root().join("begun");
    let script = format!("touch '{}'; sleep 60", begun.display());
    let running = spawn(
        &repo,
        &agent(&["run", "recognised", "--grace", "1s"], &script),
    );
    waits_for_file(&begun);
    assert!(!processes_with("WATCHDOG_SPEC", "recognised").is_empty());
    running.signal(Signal::TERM);
    let _out = running.wait().expect(14);
    assert!(processes_with("WATCHDOG_SPEC", "recognised").is_empty());
    assert_eq!(task(&repo, "recognised")["status"], "pending");
}
