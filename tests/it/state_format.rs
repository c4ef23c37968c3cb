//! A store and a repository that an earlier build wrote, read by this one: `tests/fixtures/state_format_3` holds both, and what
//! that build printed of them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Run, TestEnv, WallClock, fill_line};

/// When the build that wrote it printed its answers, in Unix seconds.
const WRITTEN_AT: u64 = 1_795_873_339;
/// When it printed those of `asked.tar.gz`.
const ASKED_AT: u64 = 1_796_079_368;
const WATCHDOG: &str = env!("CARGO_BIN_EXE_watchdog");
/// Commands and the files of their answers.
const ANSWERS: [(&str, &[&str]); 8] = [
    ("breaker.json", &["breaker", "--json"]),
    ("events.json", &["events", "--json"]),
    ("explain.json", &["explain", "--json"]),
    ("report.json", &["report", "--json"]),
    ("rescue-list.json", &["rescue", "list", "--json"]),
    ("status.json", &["status", "--json"]),
    ("task-list.json", &["task", "list", "--json"]),
    ("check.json", &["check", "--no-probe", "--json"]),
];
/// Puts the folder where it was written, for one command alone: worktrees are known by their paths.
const UNPACK: &str = "mount -t tmpfs tmpfs /mnt && tar -C /mnt -xzf \"$1\" && shift && cd /mnt/kept/repo && exec \"$@\"";

#[test]
fn records_of_format_3_are_read() {
    let env = TestEnv::new();
    let clock = WallClock::new(&env);
    clock.stand_at(WRITTEN_AT);
    for (answer, args) in ANSWERS {
        let command = below_kept(&env, "kept.tar.gz", &[WATCHDOG]).args(args);
        let out = clock.read_by(command).run();
        let written = std::fs::read_to_string(fixture(answer)).expect("it is committed");
        assert_eq!(
            documents(&out.stdout),
            documents(&written),
            "{answer}\n{out}"
        );
    }
}

#[test]
fn questions_and_ends_of_format_3_are_read() {
    let env = TestEnv::new();
    let clock = WallClock::new(&env);
    clock.stand_at(ASKED_AT);
    for answer in ["events", "explain"] {
        let read = |script: &str| {
            let command = below_kept(&env, "asked.tar.gz", &["sh", "-c", script, WATCHDOG]);
            clock.read_by(command).run().expect(0).stdout
        };
        let written = documents(&read(&format!("cat ../answers/{answer}.json")));
        let script = match answer {
            "events" => "\"$0\" events --json -n 500 --kind verdict --kind probe --kind rescue",
            _ => "for id in $(cat ../answers/ids); do \"$0\" explain --json \"$id\"; done",
        };
        let today = read(script);
        assert_eq!(documents(&today), written, "{today}");
        assert!(written.len() >= 14, "{written:?}");
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/state_format_3")
        .join(name)
}

/// A command in the repository of a packed folder, where that was written.
fn below_kept(env: &TestEnv, packed: &str, command: &[&str]) -> Run {
    env.command("unshare", &env.root())
        .args(["-rm", "sh", "-c", UNPACK, "sh"])
        .args([fixture(packed).as_os_str()])
        .args(command)
        .env("WATCHDOG_STATE_DIR", "/mnt/kept/state")
}

/// The documents of an answer, without how long this run took, and without the facts of verdicts, whose form is versioned by itself:
/// `explain` shows that they were read.
fn documents(answer: &str) -> Vec<Value> {
    let is_json = |line: &&str| line.starts_with('{');
    let mut documents: Vec<Value> = answer
        .lines()
        .filter(is_json)
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    documents.iter_mut().for_each(forget_durations);
    documents
}

fn forget_durations(value: &mut Value) {
    match value {
        Value::Object(members) => {
            // The format of then had no member for claims, work beside HEAD and gates.
            let left_out = fill_line(
                "duration_ms record claims elsewhere gates_off ignored_lost",
                &[],
            );
            members.retain(|key, _| !left_out.contains(&key.as_str()));
            members.values_mut().for_each(forget_durations);
        }
        Value::Array(entries) => entries.iter_mut().for_each(forget_durations),
        _ => {}
    }
}
