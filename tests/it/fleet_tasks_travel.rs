//! The work on tasks of a fleet goes from machine to machine by git: real machines with homes of their own, a real server, a real remote.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::test_database::TestDatabase;
use crate::support::{Repo, TestEnv, wait_until};

/// What an honest agent does.
pub(crate) const HONEST: &str =
    "echo done > $WATCHDOG_SPEC.txt && git add -A && git commit -qm \"feat: $WATCHDOG_SPEC\"";

/// A fleet, and the remote of its repository.
pub(crate) struct Fleet {
    pub database: TestDatabase,
    pub remote: PathBuf,
}

impl Fleet {
    /// A remote with two tasks, of which the second one depends on the first.
    pub(crate) fn new(env: &TestEnv) -> Self {
        let database = env.fleet();
        let repo = env.repo();
        for (id, front) in [("T1", ""), ("T2", "depends_on: [T1]\n")] {
            repo.write(
                &format!(".watchdog/tasks/{id}.md"),
                format!("---\nid: {id}\ntitle: About {id}\n{front}---\n\nDo {id}.\n"),
            );
        }
        repo.commit_all("tasks");
        let remote = env.root().join("remote.git");
        repo.git_line(
            "init -q --bare -b main {}",
            &[&remote.display().to_string()],
        );
        repo.git(&["remote", "add", "origin", &remote.display().to_string()]);
        repo.git(&["push", "-q", "origin", "HEAD:main"]);
        Fleet { database, remote }
    }

    /// Lets a machine join that has a clone, or makes it one.
    pub(crate) fn machine<'env>(&self, env: &'env TestEnv, name: &str) -> Repo<'env> {
        let path = env.root().join("clone");
        assert!(
            env.command("git", &env.root())
                .args(["clone", "-q", &self.remote.display().to_string(), "clone"])
                .run()
                .code
                == Some(0)
        );
        let repo = Repo::new(env, path);
        let address = self.database.full_address("worker");
        repo.watchdog_line(
            "fleet join {} --name {} --repository team/app",
            &[&address, name],
        )
        .expect(0);
        repo
    }

    pub(crate) fn git(&self, env: &TestEnv, args: &[&str]) -> String {
        env.command("git", &self.remote)
            .args(args)
            .run()
            .expect(0)
            .stdout
            .trim()
            .to_owned()
    }

    pub(crate) fn hook(&self, script: &str) {
        let path = self.remote.join("hooks/pre-receive");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

pub(crate) fn config(env: &TestEnv) -> String {
    let config = json!({"version": 1, "limits": {"cooldown_seconds": 0}, "rescue": {"mode": "single"}, "completion_check": {"max_probes": 0}});
    env.write("config/completion.json", config.to_string())
        .to_string_lossy()
        .into_owned()
}

pub(crate) fn agent<'a>(options: &[&'a str], script: &'a str) -> Vec<&'a str> {
    [
        &["task"],
        options,
        &["--no-probe", "--child-wait", "0s", "--", "sh", "-c", script],
    ]
    .concat()
}

pub(crate) fn task(repo: &Repo<'_>, id: &str) -> Value {
    let listed = repo.watchdog(&["task", "list", "--json"]).expect(0).json();
    listed["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|task| task["id"] == id)
        .unwrap()
        .clone()
}

/// The first machine does T1, the second one T2 upon it.
fn goes_on_elsewhere(is_atomic: bool) {
    let (one, other) = (TestEnv::new(), TestEnv::new());
    let fleet = Fleet::new(&one);
    fleet.git(
        &one,
        &[
            "config",
            "receive.advertiseAtomic",
            if is_atomic { "true" } else { "false" },
        ],
    );
    let (first, second) = (fleet.machine(&one, "a"), fleet.machine(&other, "b"));
    let done = first
        .watchdog(&agent(
            &["run", "T1", "--json", "--config", &config(&one)],
            HONEST,
        ))
        .expect(0);
    let branch = task(&first, "T1")["branch"].as_str().unwrap().to_owned();
    assert_eq!(branch == "watchdog/T1", is_atomic, "{branch}");
    assert_eq!(
        fleet.git(&one, &["rev-parse", &branch]),
        first.head(),
        "what was judged is on the remote: {done}"
    );
    // What becomes of the branch afterwards is nobody's completed work.
    let work = first.head();
    second
        .watchdog(&agent(
            &["work", "--agents", "1", "--config", &config(&other)],
            HONEST,
        ))
        .expect(0);
    let last = task(&second, "T2");
    let head = fleet.git(&one, &["rev-parse", last["branch"].as_str().unwrap()]);
    assert_eq!(last["status"], "complete", "{last}");
    fleet.git(&one, &["merge-base", "--is-ancestor", &work, &head]);
    assert_eq!(
        fleet.git(&one, &["show", &format!("{head}:T2.txt")]),
        "done"
    );
    assert_eq!(task(&first, "T2")["status"], "complete", "one queue");
}

#[test]
fn task_resumes_on_the_work_of_another_machine() {
    goes_on_elsewhere(true);
}

#[test]
fn remote_without_atomic_push_gets_fenced_branches() {
    goes_on_elsewhere(false);
}

#[test]
fn refused_push_is_retried_before_the_task_completes() {
    let env = TestEnv::new();
    let fleet = Fleet::new(&env);
    let repo = fleet.machine(&env, "a");
    let (refuse, refused) = (env.root().join("refuse"), env.root().join("refused"));
    let path = |path: &Path| path.display().to_string();
    fleet.hook(&format!(
        "if mv '{}' '{}' 2>/dev/null; then echo no space left >&2; exit 1; fi",
        path(&refuse),
        path(&refused)
    ));
    let script = format!("touch '{}'; {HONEST}", path(&refuse));
    let out = repo
        .watchdog(&agent(&["run", "T1", "--config", &config(&env)], &script))
        .expect(0);
    assert!(
        refused.exists()
            && out.stderr.contains("no space left")
            && out.stderr.contains("tried again"),
        "{out}"
    );
    assert_eq!(fleet.git(&env, &["rev-parse", "watchdog/T1"]), repo.head());
    assert_eq!(task(&repo, "T1")["status"], "complete");
}

#[test]
fn superseded_task_work_never_completes_or_pushes() {
    let env = TestEnv::new();
    let fleet = Fleet::new(&env);
    let repo = fleet.machine(&env, "a");
    let script = format!(
        "{HONEST}; tree=$(git hash-object -t tree -w --stdin </dev/null); \
        mark=$(printf 'watchdog: fence of a task\\n\\ntask: T1\\nfence: 999999\\npush: 1\\n' | git commit-tree $tree); \
        git push -q --force origin $mark:refs/watchdog/fence/T1"
    );
    let base = repo.head();
    let out = repo
        .watchdog(&agent(
            &["run", "T1", "--json", "--config", &config(&env)],
            &script,
        ))
        .expect(12);
    out.assert_has("message", "taken over by another machine");
    assert_eq!(fleet.git(&env, &["rev-parse", "watchdog/T1"]), base);
    assert_eq!(task(&repo, "T1")["status"], "review");
    assert_ne!(repo.head(), base, "the work stays here");
}

#[test]
fn task_waits_while_its_remote_is_away() {
    let env = TestEnv::new();
    let fleet = Fleet::new(&env);
    let repo = fleet.machine(&env, "a");
    fs::rename(&fleet.remote, env.root().join("away")).unwrap();
    let out = repo
        .watchdog(&agent(
            &["run", "T1", "--json", "--config", &config(&env)],
            "touch ../begun",
        ))
        .expect(11);
    assert!(
        !env.root().join("begun").exists()
            && out.json()["message"]
                .as_str()
                .unwrap()
                .contains("cannot begin yet"),
        "{out}"
    );
    assert_eq!(task(&repo, "T1")["status"], "pending");
}

#[test]
fn session_that_redirects_git_completes_no_task() {
    let env = TestEnv::new();
    let fleet = Fleet::new(&env);
    let repo = fleet.machine(&env, "a");
    let other = env.root().join("other.git");
    repo.git(&["init", "-q", "--bare", &other.display().to_string()]);
    let (there, other_place) = (fleet.remote.display(), other.display());
    let script = format!("{HONEST}; git config --global url.{other_place}.insteadOf {there}");
    let out = repo
        .watchdog(&agent(
            &["run", "T1", "--json", "--config", &config(&env)],
            &script,
        ))
        .expect(12);
    out.assert_has("message", "another address");
    assert_eq!(task(&repo, "T1")["status"], "review");
    assert_eq!(
        env.command("git", &other)
            .args(["for-each-ref"])
            .run()
            .expect(0)
            .stdout,
        "",
        "nothing went there"
    );
}

#[test]
fn pushed_work_that_passes_completes_the_task() {
    let (one, other) = (TestEnv::new(), TestEnv::new());
    let fleet = Fleet::new(&one);
    let (first, second) = (fleet.machine(&one, "a"), fleet.machine(&other, "b"));
    let checked = |env: &TestEnv| {
        let config = json!({"version": 1, "limits": {"cooldown_seconds": 0}, "completion_check": {"max_probes": 0},
            "checks": [{"type": "files", "paths": ["T1.txt"]}]});
        env.write("config/completion.json", config.to_string())
            .to_string_lossy()
            .into_owned()
    };
    // The first machine dies once its work is on the remote, and before it can say so.
    let pid = one.root().join("pid");
    let hook = fleet.remote.join("hooks/post-receive");
    let kill = format!(
        "#!/bin/sh\nif git cat-file -e watchdog/T1:T1.txt; then kill -9 $(cat '{}'); fi\n",
        pid.display()
    );
    fs::write(&hook, kill).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let script = format!("echo $PPID > '{}'; {HONEST}", pid.display());
    let dies = first.watchdog(&agent(
        &["run", "T1", "--lease", "2s", "--config", &checked(&one)],
        &script,
    ));
    assert_eq!(dies.code, Some(137), "{dies}");
    fs::remove_file(&hook).unwrap();
    let work = fleet.git(&one, &["rev-parse", "watchdog/T1"]);
    wait_until("the lease has ended", Duration::from_secs(60), || {
        task(&second, "T1")["status"] == "pending"
    });

    let ran = other.root().join("ran");
    let script = format!("echo $WATCHDOG_SPEC >> '{}'; {HONEST}", ran.display());
    let out = second
        .watchdog(&agent(
            &["work", "--agents", "1", "--config", &checked(&other)],
            &script,
        ))
        .expect(0);
    assert_eq!(
        fs::read_to_string(&ran).unwrap(),
        "T2\n",
        "no session is paid for what is done: {out}"
    );
    let done = task(&second, "T1");
    assert_eq!(
        (&done["status"], &done["reason"]),
        (&json!("complete"), &json!("checks_passed")),
        "{done}"
    );
    assert_eq!(
        fleet.git(&one, &["rev-parse", "watchdog/T1"]),
        work,
        "it is on the remote as it was"
    );
}
