//! What is called: each command of watchdog that looks at work, keeps it or brings it back.

use std::fs;

use serde_json::json;

use super::ground::InjectionGround;
use crate::support::{CommandOutput, fill_line};

/// The work is done when `done.txt` is there; the check that looks throws away what is not committed.
pub const CONFIG: &str = r#"{"version": 1, "rescue": {"mode": "single"}, "completion_check": {"max_probes": 0},
  "limits": {"cooldown_seconds": 0, "max_iterations": 2},
  "checks": [{"type": "command", "name": "done", "run": "git clean -qfdx -e done.txt -e x.ign; git checkout -q -f .; test -e done.txt"}]}"#;

/// Commits decide.
pub const PLAIN_CONFIG: &str = r#"{"version": 1, "rescue": {"mode": "single"}, "completion_check": {"max_probes": 0}, "limits": {"cooldown_seconds": 0}}"#;

/// A session that throws away what it found, does its work and commits it.
const SESSION: &str = "git reset -q --hard; git clean -qfdx; od -An -N8 -tx1 /dev/urandom >done.txt; git add done.txt; git commit -qm 'feat: done'";

/// What a loop says that waits until its session has room.
pub const NO_ROOM: &str = "no room for the session: going on at";

/// A command in a repository with uncommitted work of every kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scene {
    Run,
    Check,
    Loop,
    Task,
    Sweep,
    Watch,
    HookStop,
    Snapshot,
    Rescue,
    RestoreHere,
    RestoreFolder,
    RestoreWorktree,
    Rebuild,
    /// A command that only reads, by its words.
    Read(&'static str),
}

/// The commands that only read, and those that write records of their own alone.
pub const READS: &[&str] = &[
    "status",
    "status --prometheus -",
    "report",
    "events",
    "explain",
    "logs",
    "logs --list",
    "rescue list",
    "rescue show latest",
    "breaker",
    "task list",
    "trust --list",
    "forget --dry-run",
    "snapshot",
    "check --no-probe",
    "rescue --dry-run",
    "sweep --no-probe",
];

pub const SCENES: &[Scene] = &[
    Scene::Run,
    Scene::Check,
    Scene::Loop,
    Scene::Task,
    Scene::Sweep,
    Scene::Watch,
    Scene::HookStop,
    Scene::Snapshot,
    Scene::Rescue,
    Scene::RestoreHere,
    Scene::RestoreFolder,
    Scene::RestoreWorktree,
    Scene::Rebuild,
];

impl Scene {
    /// As the command line names it.
    pub fn name(self) -> &'static str {
        match self {
            Scene::Run => "run",
            Scene::Check => "check",
            Scene::Loop => "loop",
            Scene::Task => "task run",
            Scene::Sweep => "sweep",
            Scene::Watch => "watch",
            Scene::HookStop => "hook stop",
            Scene::Snapshot => "snapshot",
            Scene::Rescue => "rescue",
            Scene::RestoreHere => "rescue restore",
            Scene::RestoreFolder => "rescue restore --to",
            Scene::RestoreWorktree => "rescue restore --worktree",
            Scene::Rebuild => "doctor --rebuild",
            Scene::Read(words) => words,
        }
    }

    /// Whether its exit code is a verdict.
    pub fn judges(self) -> bool {
        matches!(self, Scene::Run | Scene::Check | Scene::Loop | Scene::Task)
    }

    /// What has to be there before it is called, beside the uncommitted work.
    pub fn prepare(self, ground: &InjectionGround) {
        let call = |args: &[&str]| ground.env.watchdog(&ground.repo(), args).expect(0);
        match self {
            Scene::Run | Scene::Loop | Scene::Task | Scene::Snapshot | Scene::Rescue => {}
            Scene::Watch => drop(call(&["snapshot"])),
            Scene::Read(_) => {
                keep(ground);
                drop(call(&fill_line(
                    "run --no-probe -q --config {} -- sh -c {}",
                    &[
                        &ground
                            .env
                            .root()
                            .join("config/plain.json")
                            .to_string_lossy(),
                        SESSION,
                    ],
                )));
            }
            Scene::Check | Scene::Sweep => {
                // Its own work, and what it forgot to commit.
                drop(call(&["snapshot", "--adopt"]));
                commit_done(ground);
            }
            Scene::HookStop => {
                let began = json!({"session_id": "s", "source": "startup", "cwd": ground.repo(), "hook_event_name": "SessionStart"});
                let args = ["hook", "session-start"];
                let _began = ground
                    .env
                    .watchdog_command(&ground.repo(), &args)
                    .stdin(began.to_string())
                    .run()
                    .expect(0);
                commit_done(ground);
            }
            Scene::RestoreHere | Scene::RestoreFolder | Scene::RestoreWorktree => {
                keep(ground);
                ground.git(&["reset", "-q", "--hard"]).expect(0);
                ground.git(&["clean", "-qfdx"]).expect(0);
            }
            Scene::Rebuild => {
                drop(call(&["snapshot"]));
                keep(ground);
                for entry in fs::read_dir(ground.env.state()).expect("it is there") {
                    let path = entry.expect("it is there").path();
                    if path.is_file() {
                        fs::remove_file(path).expect("it is ours");
                    }
                }
            }
        }
    }

    /// Its arguments.
    pub fn args(self, ground: &InjectionGround) -> Vec<String> {
        let path = |name: &str| ground.env.root().join(name).to_string_lossy().into_owned();
        let (config, plain, target) = (
            path("config/completion.json"),
            path("config/plain.json"),
            path("target"),
        );
        let session = ["--", "sh", "-c", SESSION];
        let quick = ["--no-probe", "--child-wait", "0s", "--grace", "1s"];
        let words: Vec<&str> = match self {
            Scene::Run => [&["run", "--json", "--config", &plain], &quick[..], &session].concat(),
            Scene::Loop => [
                &["loop", "--json", "--config", &config, "--cooldown", "0s"],
                &quick[..],
                &session,
            ]
            .concat(),
            Scene::Task => [
                &["task", "run", "T1", "--json", "--config", &config],
                &quick[..],
                &session,
            ]
            .concat(),
            Scene::Check => vec!["check", "--json", "--no-probe", "--config", &config],
            Scene::Sweep => vec!["sweep", "--json", "--no-probe", "--config", &plain],
            Scene::Watch => vec!["watch", "--json", "--no-probe", "--config", &plain],
            Scene::HookStop => vec!["hook", "stop", "--within", "20s", "--config", &config],
            Scene::Snapshot => vec!["snapshot", "--json"],
            Scene::Rescue => vec!["rescue", "--json", "--config", &plain],
            Scene::RestoreHere => vec!["rescue", "restore", "latest", "--json"],
            Scene::RestoreFolder => vec!["rescue", "restore", "latest", "--json", "--to", &target],
            Scene::RestoreWorktree => vec![
                "rescue",
                "restore",
                "latest",
                "--json",
                "--worktree",
                &target,
            ],
            Scene::Rebuild => vec!["doctor", "--rebuild", "--json"],
            Scene::Read(words) => words.split_whitespace().collect(),
        };
        words.into_iter().map(str::to_owned).collect()
    }

    /// What it reads.
    pub fn stdin(self, ground: &InjectionGround) -> String {
        if self != Scene::HookStop {
            return String::new();
        }
        json!({"session_id": "s", "prompt_id": "p", "hook_event_name": "Stop", "stop_hook_active": false, "cwd": ground.repo(),
               "last_assistant_message": "done", "background_tasks": []})
        .to_string()
    }

    /// Whether it says that all is well: complete, kept, brought back.
    pub fn says_well(self, out: &CommandOutput) -> bool {
        match self {
            Scene::HookStop => out.code == Some(0) && out.stdout.trim() == "{}",
            // It is ended by Ctrl-C; what it judged stands in its lines.
            Scene::Watch => out.stdout.contains("\"status\":\"complete\""),
            // Its code is that of a person's needs; a row says what is complete.
            Scene::Sweep => out.stdout.contains("\"status\":\"complete\""),
            _ => out.code == Some(0),
        }
    }
}

/// A commit of the work that is wanted, beside what is uncommitted.
fn commit_done(ground: &InjectionGround) {
    fs::write(ground.repo().join("done.txt"), "done\n").expect("the work tree takes files");
    ground.git(&["add", "done.txt"]).expect(0);
    ground
        .git(&["commit", "-q", "-m", "feat: done", "--", "done.txt"])
        .expect(0);
}

/// A snapshot of the work.
fn keep(ground: &InjectionGround) {
    // The verdict is beside the point.
    let kept = ground.env.watchdog(
        &ground.repo(),
        &["check", "--baseline", "HEAD", "--no-probe", "--no-rescue"],
    );
    assert!(
        !ground
            .git(&["for-each-ref", "refs/watchdog/rescue"])
            .expect(0)
            .stdout
            .is_empty(),
        "{kept}"
    );
}
