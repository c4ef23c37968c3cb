//! One queue of tasks for several machines: each task once, through machines that die, stop for a while, or lose the server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use watchdog_git::Worktree;

use crate::support::test_database::TestDatabase;
use crate::support::{CommandOutput, Gate, Repo, Running, TestEnv, fill_line, wait_until};

/// How long something may take that happens by itself, on a machine with other things to do.
const SOON: Duration = Duration::from_secs(90);

/// What an honest agent does.
const HONEST: &str =
    "echo done > $WATCHDOG_SPEC.txt && git add -A && git commit -qm \"feat: $WATCHDOG_SPEC\"";

/// The server of a fleet, and a repository that its machines clone.
struct Fleet {
    env: TestEnv,
    database: TestDatabase,
}

impl Fleet {
    /// With these tasks, each an id and lines of its front matter.
    fn new(tasks: &[(&str, &str)]) -> Self {
        let env = TestEnv::new();
        let database = env.fleet();
        let repo = env.repo();
        for (id, front) in tasks {
            repo.write(
                &format!(".watchdog/tasks/{id}.md"),
                format!("---\nid: {id}\ntitle: About {id}\n{front}---\n\nDo {id}.\n"),
            );
        }
        repo.commit_all("tasks");
        let bare = env.root().join("bare.git");
        repo.git(&["clone", "-q", "--bare", ".", bare.to_str().expect("UTF-8")]);
        Fleet { env, database }
    }

    fn bare(&self) -> PathBuf {
        self.env.root().join("bare.git")
    }

    /// Everything that became of tasks, in order.
    fn steps(&self) -> Vec<(String, String, String)> {
        let said = self.database.sql("SELECT task, to_status, coalesce(machine, '-') FROM watchdog.task_step ORDER BY number");
        let word = |line: &str, n: usize| line.split('|').nth(n).expect("a column").to_owned();
        said.lines()
            .map(|line| (word(line, 0), word(line, 1), word(line, 2)))
            .collect()
    }

    fn status(&self, task: &str) -> String {
        self.database.sql(&format!(
            "SELECT status || ' ' || coalesce(machine, '-') FROM watchdog.task WHERE id = '{task}'"
        ))
    }

    fn waits_for(&self, task: &str, status: &str) {
        wait_until(&format!("{task} is {status}"), SOON, || {
            self.status(task) == status
        });
    }
}

/// A machine: a home, a state and a clone of its own.
struct Machine {
    env: TestEnv,
    gate: Gate,
}

impl Machine {
    fn join(fleet: &Fleet, name: &str) -> Self {
        let env = TestEnv::new();
        let clone = env.root().join("clone");
        let (bare, here) = (fleet.bare(), clone.to_str().expect("UTF-8").to_owned());
        env.command("git", &env.root())
            .args(["clone", "-q", bare.to_str().expect("UTF-8"), &here])
            .run()
            .expect(0);
        let gate = Gate::to(fleet.database.port());
        let address = fleet.database.address_by("worker", gate.port);
        env.watchdog(&env.root(), &["fleet", "join", &address, "--name", name])
            .expect(0);
        let machine = Machine { env, gate };
        machine.share(&bare.display().to_string());
        machine
    }

    /// As a person's word keeps it.
    fn share(&self, url: &str) {
        let local = Worktree::open(&self.path())
            .expect("the clone")
            .repository_id();
        let shared = json!({"local": local, "id": "host/tasks", "remote": "origin", "url": url});
        let path = self.env.state().join("fleet-repositories.json");
        fs::write(&path, json!({"v": 1, "repositories": [shared]}).to_string())
            .expect("the state takes a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
    }

    fn path(&self) -> PathBuf {
        self.env.root().join("clone")
    }

    fn repo(&self) -> Repo<'_> {
        Repo::new(&self.env, self.path())
    }

    fn watchdog(&self, args: &[&str]) -> CommandOutput {
        self.repo().watchdog(args)
    }

    /// Quick loops that ask nobody.
    fn config(&self, agents: Value) -> String {
        let (limits, probes) = (json!({"cooldown_seconds": 0}), json!({"max_probes": 0}));
        let config = json!({"version": 1, "limits": limits, "rescue": {"mode": "single"}, "completion_check": probes, "agents": agents});
        self.env
            .write("config.json", config.to_string())
            .to_string_lossy()
            .into_owned()
    }

    fn work(&self, lease: &str, script: &str) -> Running {
        self.work_as(json!([]), lease, script)
    }

    fn work_as(&self, agents: Value, lease: &str, script: &str) -> Running {
        let config = self.config(agents);
        let options = fill_line(
            "task work --json --config {} --lease {} --grace 1s",
            &[&config, lease],
        );
        let rest = ["--no-probe", "--child-wait", "0s", "--", "sh", "-c", script];
        self.repo()
            .watchdog_command(&[&options[..], &rest[..]].concat())
            .timeout(Duration::from_secs(240))
            .spawn()
    }

    /// A session that ends when this machine's file `go` is there, and then does its work.
    fn patient(&self) -> String {
        format!(
            "touch {0}/begun; while [ ! -e {0}/go ]; do sleep 0.05; done; {HONEST}",
            self.env.root().display()
        )
    }

    fn go(&self) {
        self.env.write("go", "");
    }

    fn has_begun(&self) {
        wait_until("its session began", SOON, || {
            self.env.root().join("begun").exists()
        });
    }
}

#[test]
fn machines_do_each_task_once_after_its_dependencies() {
    let waits: [(&str, &[&str]); 12] = [
        ("A1", &[]),
        ("A2", &[]),
        ("A3", &[]),
        ("A4", &[]),
        ("B1", &["A1"]),
        ("B2", &["A2", "A3"]),
        ("B3", &["A4"]),
        ("C1", &["B1", "B2"]),
        ("C2", &["B3"]),
        ("D1", &["C1", "C2"]),
        ("D2", &["A1"]),
        ("D3", &["D1", "D2"]),
    ];
    let fronts: Vec<String> = waits
        .iter()
        .map(|(_, wanted)| format!("depends_on: [{}]\n", wanted.join(", ")))
        .collect();
    let tasks: Vec<(&str, &str)> = waits
        .iter()
        .zip(&fronts)
        .map(|((id, _), front)| (*id, front.as_str()))
        .collect();
    let fleet = Fleet::new(&tasks);
    let (one, two) = (Machine::join(&fleet, "one"), Machine::join(&fleet, "two"));
    let running = [one.work("60s", HONEST), two.work("60s", HONEST)];
    for ended in running.map(Running::wait) {
        let out = ended.expect(0);
        assert_eq!(out.verdict(), "complete/checks_passed", "{out}");
        assert_eq!(
            out.stderr
                .matches("works on the queue of host/tasks in the fleet on localhost")
                .count(),
            1,
            "{out}"
        );
    }
    let steps = fleet.steps();
    let complete: Vec<&str> = steps
        .iter()
        .filter(|step| step.1 == "complete")
        .map(|step| step.0.as_str())
        .collect();
    assert_eq!(complete.len(), 12, "{steps:?}");
    for (id, wanted) in waits {
        assert_eq!(
            steps
                .iter()
                .filter(|step| step.0 == id && step.1 == "assigned")
                .count(),
            1,
            "{id}: {steps:?}"
        );
        let place = |id: &str| {
            complete
                .iter()
                .position(|done| *done == id)
                .expect("it is complete")
        };
        assert!(
            wanted.iter().all(|before| place(before) < place(id)),
            "{id}: {complete:?}"
        );
    }
    let listed = one.watchdog(&["task", "list", "--json"]).expect(0).json();
    assert!(
        listed["tasks"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|task| task["status"] == "complete"),
        "{listed}"
    );
}

#[test]
fn expired_lease_hands_the_task_over() {
    const LEASE: Duration = Duration::from_secs(6);
    let fleet = Fleet::new(&[("T1", "")]);
    let (one, two) = (Machine::join(&fleet, "one"), Machine::join(&fleet, "two"));
    let first = one.work("6s", &one.patient());
    one.has_begun();
    let second = two.work("6s", HONEST);
    first.signal(Signal::KILL);
    let killed = Instant::now();
    first.wait().expect(137);
    wait_until("the other has it", SOON, || {
        fleet.status("T1").ends_with(" two")
    });
    let late = killed.elapsed();
    assert!(
        late < LEASE + Duration::from_secs(5) + Duration::from_secs(10),
        "taken over after {late:?}"
    );
    assert_eq!(second.wait().expect(0).verdict(), "complete/checks_passed");
    let steps: Vec<(String, String)> = fleet
        .steps()
        .into_iter()
        .map(|(_, to, machine)| (to, machine))
        .collect();
    let of = |to: &str, machine: &str| (to.to_owned(), machine.to_owned());
    assert_eq!(
        steps[1..4],
        [
            of("assigned", "one"),
            of("in_progress", "one"),
            of("pending", "one")
        ],
        "{steps:?}"
    );
    assert_eq!(
        steps[4..],
        [
            of("assigned", "two"),
            of("in_progress", "two"),
            of("complete", "two")
        ],
        "{steps:?}"
    );
    one.go();
}

#[test]
fn machine_writes_no_more_after_its_lease() {
    let fleet = Fleet::new(&[("T1", "")]);
    let (one, two) = (Machine::join(&fleet, "one"), Machine::join(&fleet, "two"));
    let first = one.work("6s", &one.patient());
    one.has_begun();
    first.signal(Signal::STOP);
    assert_eq!(
        two.work("6s", HONEST).wait().expect(0).verdict(),
        "complete/checks_passed"
    );
    let before = fleet
        .database
        .sql("SELECT * FROM watchdog.task; SELECT * FROM watchdog.task_step ORDER BY number");
    one.go();
    first.signal(Signal::CONT);
    let late = first.wait();
    assert!(late.stderr.contains("the lease of T1 has ended"), "{late}");
    assert_eq!(
        fleet
            .database
            .sql("SELECT * FROM watchdog.task; SELECT * FROM watchdog.task_step ORDER BY number"),
        before
    );
    assert_eq!(fleet.status("T1"), "complete two");
}

#[test]
fn offline_session_end_is_written_on_timely_return() {
    let fleet = Fleet::new(&[("T1", ""), ("T2", "")]);
    let one = Machine::join(&fleet, "one");
    let running = one.work("120s", &one.patient());
    one.has_begun();
    one.gate.shut();
    wait_until("it is said", SOON, || {
        running
            .stderr_so_far()
            .contains("nothing new is taken until they can")
    });
    one.go();
    wait_until("the end waits for the server", SOON, || {
        running
            .stderr_so_far()
            .contains("is written while its lease stands")
    });
    one.gate.open();
    let out = running.wait().expect(0);
    assert_eq!(out.verdict(), "complete/checks_passed", "{out}");
    assert_eq!(fleet.status("T1").as_str(), "complete one", "{out}");
    for words in [
        "nothing new is taken until they can",
        "the queue can be read again",
    ] {
        assert_eq!(out.stderr.matches(words).count(), 1, "{words}: {out}");
    }
}

#[test]
fn session_with_unprovable_lease_ends_with_work_saved() {
    let fleet = Fleet::new(&[("T1", "")]);
    let one = Machine::join(&fleet, "one");
    let script = format!("echo half > half.txt; {}", one.patient());
    let running = one.work("6s", &script);
    one.has_begun();
    one.gate.shut();
    let out = running.wait().expect(16);
    assert_eq!(out.verdict(), "error/store_error", "{out}");
    out.assert_told(&["the lease of T1 has ended"]);
    out.assert_has("message", "localhost");
    assert!(one.env.processes_left().is_empty(), "its session was ended");
    let worktrees = one.repo().git(&["worktree", "list", "--porcelain"]);
    let mut folders = worktrees
        .lines()
        .filter_map(|line| line.strip_prefix("worktree "));
    assert!(
        folders.any(|folder| Path::new(folder).join("half.txt").exists()),
        "what the session left is not lost: {worktrees}"
    );
    assert_eq!(fleet.status("T1"), "in_progress one", "nothing was written");
}

#[test]
fn without_the_server_tasks_are_refused_with_reason() {
    let fleet = Fleet::new(&[("T1", "")]);
    let one = Machine::join(&fleet, "one");
    one.watchdog(&["task", "list"]).expect(0);
    one.gate.shut();
    let begun = Instant::now();
    for args in [
        &["task", "list"][..],
        &["task", "show", "T1"],
        &["task", "next"],
        &["task", "set", "T1", "blocked"],
    ] {
        let out = one.watchdog(args).expect(16);
        assert!(out.stderr.contains("localhost"), "{out}");
    }
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "each within its deadline"
    );
    let out = one.work("60s", "touch ../ran").wait().expect(16);
    assert_eq!(out.verdict(), "error/store_error", "{out}");
    assert_eq!(fleet.status("T1"), "pending -");
    assert!(!one.path().join("../ran").exists());
}

#[test]
fn machine_takes_only_allowed_tasks_of_its_agents() {
    let fleet = Fleet::new(&[
        ("T1", "completion: {verify: \"true\"}\n"),
        ("T2", "role: frontend\n"),
        ("T3", "role: backend\n"),
    ]);
    let (one, two) = (Machine::join(&fleet, "one"), Machine::join(&fleet, "two"));
    two.watchdog(&["trust", ".watchdog/tasks/T1.md"]).expect(0);
    let agent = |role: &str| json!([{"name": "a", "role": role}]);
    let out = one
        .work_as(agent("backend"), "60s", HONEST)
        .wait()
        .expect(12);
    assert_eq!(out.verdict(), "review/untrusted", "{out}");
    assert_eq!(out.stderr.matches("T1 was not begun").count(), 1, "{out}");
    assert_eq!(
        ["T1", "T2", "T3"].map(|id| fleet.status(id)),
        ["pending -", "pending -", "complete one"]
    );
    // Both machines call their agents alike.
    assert_eq!(
        two.work_as(agent("frontend"), "60s", HONEST)
            .wait()
            .expect(0)
            .verdict(),
        "complete/checks_passed"
    );
    assert_eq!(
        ["T1", "T2"].map(|id| fleet.status(id)),
        ["complete two", "complete two"]
    );
}

#[test]
fn unshared_repository_stays_out_of_the_fleet() {
    let fleet = Fleet::new(&[("T1", ""), ("T2", "depends_on: [T1]\n"), ("T3", "")]);
    let one = Machine::join(&fleet, "one");
    let shared = one.env.state().join("fleet-repositories.json");
    let kept = fs::read(&shared).expect("it is shared");
    fs::remove_file(&shared).expect("it is there");
    one.gate.shut();
    one.watchdog(&["task", "list"]).expect(0);
    one.watchdog(&["task", "set", "T3", "blocked", "--reason", "later"])
        .expect(0);
    one.watchdog(&["task", "set", "T1", "assigned"]).expect(0);
    one.watchdog(&["task", "set", "T1", "in_progress"])
        .expect(0);
    one.watchdog(&["task", "set", "T1", "complete", "--reason", "by hand"])
        .expect(0);
    one.gate.open();
    fs::write(&shared, kept).expect("the state takes a file");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o600)).expect("a mode");
    one.watchdog(&["task", "list"]).expect(0);
    assert_eq!(
        ["T1", "T2", "T3"].map(|id| fleet.status(id)),
        ["complete -", "pending -", "blocked -"]
    );
    let two = Machine::join(&fleet, "two");
    let listed = two.watchdog(&["task", "next"]).expect(0).stdout;
    assert_eq!(listed.trim(), "T2");
    two.watchdog(&["task", "set", "T1", "pending", "--reason", "reverted"])
        .expect(0);
    fleet.waits_for("T2", "blocked -");
}
