//! A system without room: no thread, no process, no memory to be had.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::panicked::judged_without_room;
use watchdog_store::StateDir;

use crate::support::{CommandOutput, Repo, Run, Step, TestEnv, fill_line, wait_until};

#[test]
fn missing_memory_or_threads_prevents_the_start() {
    let env = TestEnv::new();
    let repo = env.repo();
    for kilobytes in ["80000", "140000", "250000", "400000", "900000"] {
        let args = [
            "-c",
            "ulimit -v \"$1\"; shift; exec \"$@\"",
            "sh",
            kilobytes,
            env!("CARGO_BIN_EXE_watchdog"),
        ];
        let run = fill_line("run --json --max-probes 0 -- sh -c {}", &["touch begun"]);
        let out = env
            .command("sh", repo.path())
            .args(args)
            .args(run)
            .run()
            .expect(16);
        assert!(out.stderr.contains("ulimit -v"), "{out}");
        assert!(!repo.has("begun"), "{out}");
        assert!(!repo.has(".git/index.lock"), "{out}");
    }
}

/// Has its parent, which is watchdog, get no further process or thread from now on.
const NO_MORE_TASKS: &str = "prlimit --pid $PPID --nproc=1:4096";

/// watchdog as a user whose number of processes can be limited, which that of root cannot.
fn as_limited_user(env: &TestEnv, repo: &Repo<'_>, args: &[&str]) -> Run {
    let watchdog = env!("CARGO_BIN_EXE_watchdog");
    if !rustix::process::geteuid().is_root() {
        return env.command(watchdog, repo.path()).args(args);
    }
    // A number of its own for each test: the processes of one user are counted together.
    let user = (3_000_000 + std::process::id()).to_string();
    give_to(&env.root(), user.parse().expect("a number"));
    let may_read = [
        "--inh-caps=+dac_override",
        "--ambient-caps=+dac_override",
        "--clear-groups",
    ];
    env.command("setpriv", repo.path())
        .args([format!("--reuid={user}"), format!("--regid={user}")])
        .args(may_read)
        .args([watchdog])
        .args(args)
}

fn give_to(path: &Path, user: u32) {
    std::os::unix::fs::lchown(path, Some(user), Some(user)).expect("root may give files away");
    if path.is_dir() && !path.is_symlink() {
        for entry in std::fs::read_dir(path).expect("our own folder") {
            give_to(&entry.expect("our own folder").path(), user);
        }
    }
}

#[test]
fn session_without_room_to_start_is_an_error() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("mine", "uncommitted");
    let check = json!({"type": "command", "name": "c", "run": format!("{NO_MORE_TASKS}; false"), "must_fail_first": true});
    let config = env.write(
        "c.json",
        json!({"version": 1, "checks": [check]}).to_string(),
    );
    let run = fill_line(
        "--config {} run --json --",
        &[config.to_str().expect("UTF-8")],
    );
    let out = as_limited_user(&env, &repo, &[&run[..], &["touch", "begun"]].concat()).run();
    assert_eq!(out.verdict(), "error/store_error", "{out}");
    assert_eq!(out.code, Some(16), "{out}");
    for word in [
        "could not be started",
        "no further process or thread may be had",
        "ulimit -u",
    ] {
        assert!(
            out.json()["message"]
                .as_str()
                .is_some_and(|message| message.contains(word)),
            "{word}: {out}"
        );
    }
    assert!(!repo.has("begun"), "{out}");
    let again = as_limited_user(&env, &repo, &["run", "--json", "--", "no-such-agent"]).run();
    assert_eq!(again.verdict(), "failed/agent_unrunnable", "{again}");
    assert_eq!(again.code, Some(15), "{again}");
}

#[test]
fn loop_waits_for_room_for_its_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    let check = json!({"type": "command", "name": "c", "run": format!("{NO_MORE_TASKS}; false"), "must_fail_first": true});
    let config = env.write(
        "c.json",
        json!({"version": 1, "checks": [check]}).to_string(),
    );
    let looping = as_limited_user(
        &env,
        &repo,
        &fill_line(
            "--config {} loop -- touch begun",
            &[config.to_str().expect("UTF-8")],
        ),
    )
    .spawn();
    wait_until(
        "the loop tells of its pause",
        Duration::from_secs(60),
        || {
            looping
                .stderr_so_far()
                .contains("no room for the session: going on at")
        },
    );
    looping.signal(rustix::process::Signal::INT);
    let out = looping.wait();
    assert_eq!(out.code, Some(14), "{out}");
    assert!(!repo.has("begun"), "{out}");
}

/// The last verdict in the journal.
#[track_caller]
fn last_verdict(events: &CommandOutput) -> String {
    let events: Vec<serde_json::Value> = events
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let last = events
        .iter()
        .rev()
        .find(|event| event["kind"] == "verdict")
        .unwrap_or_else(|| panic!("no verdict: {events:#?}"));
    format!(
        "{}/{}",
        last["data"]["status"].as_str().unwrap_or_default(),
        last["data"]["reason"].as_str().unwrap_or_default()
    )
}

#[test]
fn process_shortage_ends_in_a_journalled_verdict() {
    let env = TestEnv::new();
    let repo = env.repo();
    // From so many files on, a look at them uses several threads.
    for n in 0..3_100 {
        repo.write(&format!("files/{}/{n}", n % 31), "content\n");
    }
    repo.commit_all("feat: files");
    let session = |script: &str| {
        as_limited_user(
            &env,
            &repo,
            &fill_line("run --json --max-probes 0 -- sh -c {}", &[script]),
        )
        .run()
    };
    // Room for a thread or two more than there are, so that some of those that a library begins are had and some are not.
    for more in 0..3 {
        let kept = || {
            as_limited_user(&env, &repo, &["rescue", "list", "--json"])
                .run()
                .json()["snapshots"]
                .as_array()
                .map(Vec::len)
        };
        let before = kept();
        let tasks = "tasks=$(ls -ld /proc/[0-9]*/task/[0-9]* 2>/dev/null | awk -v uid=$(id -u) '$3 == uid' | wc -l)";
        let out = session(&format!(
            "echo {more} >> work; {tasks}; prlimit --pid $PPID --nproc=$((tasks - 4 + {more})):65536"
        ));
        assert!(matches!(out.code, Some(10 | 12)), "{out}");
        assert_eq!(
            last_verdict(&as_limited_user(&env, &repo, &["events", "--json"]).run()),
            out.verdict(),
            "{out}"
        );
        assert!(
            kept() > before && !out.stderr.contains("this is a bug"),
            "{out}"
        );
    }
    let out = session(&format!("echo more work >> work; {NO_MORE_TASKS}"));
    assert_eq!(out.verdict(), "review/rescue_incomplete", "{out}");
    assert_eq!(out.code, Some(12), "{out}");
    for word in [
        "no further process or thread may be had",
        "ulimit -u",
        " rescue restore ",
    ] {
        assert!(
            out.json()["message"]
                .as_str()
                .is_some_and(|message| message.contains(word)),
            "{word}: {out}"
        );
    }
    assert_eq!(
        last_verdict(&as_limited_user(&env, &repo, &["events", "--json"]).run()),
        out.verdict(),
        "{out}"
    );
    assert!(!repo.has(".git/index.lock"), "{out}");
    // There is room again.
    let again = as_limited_user(&env, &repo, &["check", "--json", "--max-probes", "0"]).run();
    again.assert_verdict("incomplete/unfinished", json!({"rescued": true}));
}

#[test]
fn check_without_room_to_start_needs_a_person() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = env.write(
        "c.json",
        r#"{"version": 1, "checks": [{"type": "command", "name": "c", "run": "true"}]}"#,
    );
    let script =
        format!("echo work > work && git add work && git commit -qm work; {NO_MORE_TASKS}");
    let out = as_limited_user(
        &env,
        &repo,
        &fill_line(
            "--config {} run --json -- sh -c {}",
            &[config.to_str().expect("UTF-8"), &script],
        ),
    )
    .run();
    assert_eq!(out.verdict(), "review/verify_failed", "{out}");
    assert_eq!(out.code, Some(12), "{out}");
    out.assert_printed(&["no further process or thread may be had"]);
}

#[test]
fn memory_shortage_ends_in_a_journalled_verdict() {
    let env = TestEnv::new();
    let repo = env.repo();
    for mebibytes in [1, 60, 200, 1, 60, 200] {
        // Not before the threads that read its output have begun and its record is on the disk: one that is to run has the state R, one that
        // waits for a disk D. Looked at several times, as a thread may be between two of them.
        let begun = "for look in 1 2 3 4 5; do while grep -qsE ') [RD] ' /proc/$PPID/task/*/stat; do :; done; sleep 0.02; done";
        let script = format!(
            "echo work > work; {begun}; prlimit --pid $PPID --as={}",
            mebibytes << 20
        );
        let out = repo.watchdog_line("run --json --max-probes 0 -- sh -c {}", &[&script]);
        assert!(matches!(out.code, Some(12 | 16)), "{out}");
        out.assert_has("message", "ulimit -v");
        assert_eq!(
            last_verdict(&repo.watchdog(&["events", "--json"])),
            out.verdict(),
            "{out}"
        );
        assert!(repo.has("work") && !repo.has(".git/index.lock"), "{out}");
    }
    let again = repo
        .watchdog(&["check", "--json", "--max-probes", "0"])
        .expect(10);
    again.assert_verdict("incomplete/unfinished", json!({"rescued": true}));
}

#[test]
fn judgement_panicking_without_room_journals_a_verdict() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot", "--spec", "work"]).expect(0);
    let around = CommandEnv::new(
        repo.path().to_owned(),
        StateDir::resolve(Some(env.state()), None, None).expect("it was named"),
    );
    let why = "the system has no further thread or process".to_owned();
    let judgement = judged_without_room(
        &around,
        UnreadableFact {
            kind: FaultKind::Store,
            why,
            hint: Some("end some processes".into()),
        },
    );
    assert_eq!(
        (judgement.exit_code(), judgement.spec.as_deref()),
        (16, Some("work"))
    );
    assert_eq!(
        judgement.verdict.message,
        "the system has no further thread or process; end some processes"
    );
    assert_eq!(
        last_verdict(&repo.watchdog(&["events", "--json"])),
        "error/store_error"
    );
}

#[test]
fn failed_allocation_aborts_without_losing_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    let asked = env.root().join("asked");
    let config = env.config_asking(
        &[
            Step::append(asked.to_str().expect("UTF-8"), "x"),
            Step::hang(),
        ],
        json!({}),
    );
    let running = repo.spawn_line(
        "--config {} run --json -- sh -c {}",
        &[config.to_str().expect("UTF-8"), "echo work > work"],
    );
    wait_until("the agent is asked", Duration::from_secs(60), || {
        asked.exists()
    });
    // What the standard library does then; no system lets a test choose the allocation.
    running.signal(rustix::process::Signal::ABORT);
    let _ = running.wait().expect(134);
    assert_eq!(
        (
            repo.snapshots().len(),
            repo.has("work"),
            repo.has(".git/index.lock")
        ),
        (1, true, false)
    );
    let again = repo
        .watchdog(&["check", "--json", "--max-probes", "0"])
        .expect(10);
    again.assert_verdict("incomplete/unfinished", json!({"rescued": true}));
}
