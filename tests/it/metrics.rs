//! Metrics for Prometheus: the file of `status --prometheus`, judged by Prometheus' own promtool.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use crate::support::{TestEnv, wait_until};

const SOON: Duration = Duration::from_secs(60);

/// Has promtool look for what is wrong with these metrics, lints included.
#[track_caller]
fn assert_promtool_takes(env: &TestEnv, text: &str) {
    let promtool = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/promtool/bin/promtool");
    assert!(
        promtool.exists(),
        "promtool is missing: scripts/test --install-only installs it"
    );
    let out = env
        .command(&promtool, &env.root())
        .args(["check", "metrics"])
        .stdin(text)
        .run()
        .expect(0);
    assert_eq!(
        (out.stdout.as_str(), out.stderr.as_str()),
        ("", ""),
        "{text}"
    );
}

/// The value of a sample, by its whole name with labels.
fn value(text: &str, name: &str) -> Option<f64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

fn promfile(env: &TestEnv) -> (PathBuf, String) {
    let folder = env.root().join("textfile");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("watchdog.prom");
    let text = path.display().to_string();
    (path, text)
}

#[test]
fn metrics_satisfy_promtool_and_match_the_status() {
    let env = TestEnv::new();
    let (done, odd) = (
        env.repo_named("done"),
        env.repo_named("it's \"odd\" \\ 日本\u{1b}"),
    );
    let runs = env.repo_named("runs");
    for repo in [&done, &odd] {
        repo.watchdog(&["snapshot", "--spec", "a \"spec\""])
            .expect(0);
    }
    done.write("new.txt", "new");
    done.commit_all("feat: new");
    done.watchdog(&["check", "--no-probe"]).expect(0);
    odd.write(
        "completion.json",
        r#"{"checks": [{"type": "command", "name": "t", "run": "true"}]}"#,
    );
    odd.commit_all("feat: criteria");
    odd.watchdog(&["check", "--no-probe"]).expect(12);
    let session = runs.watchdog_spawn(&["run", "--", "sleep", "600"]);
    wait_until("the session is recorded", SOON, || {
        env.watchdog(&env.root(), &["status", "--only", "running"])
            .stdout
            .contains("session")
    });

    let (path, name) = promfile(&env);
    let out = env
        .watchdog(&env.root(), &["status", "--prometheus", &name])
        .expect(0);
    assert!(
        out.stdout.is_empty()
            && out.stderr.contains("wrote ")
            && out.stderr.contains(" samples to "),
        "{out}"
    );
    let text = fs::read_to_string(&path).unwrap();
    assert_promtool_takes(&env, &text);
    assert_eq!(
        value(&text, "watchdog_worktrees{status=\"complete\"}"),
        Some(1.0),
        "{text}"
    );
    assert_eq!(
        value(&text, "watchdog_worktrees{status=\"review\"}"),
        Some(1.0),
        "{text}"
    );
    assert_eq!(
        value(
            &text,
            "watchdog_verdicts_total{status=\"review\",reason=\"untrusted\"}"
        ),
        Some(1.0),
        "{text}"
    );
    assert_eq!(
        value(&text, "watchdog_sessions_started_total"),
        Some(1.0),
        "{text}"
    );
    let of = format!(
        "{{worktree=\"{}\",spec=\"a \\\"spec\\\"\"}}",
        done.path().display()
    );
    assert_eq!(
        value(&text, &format!("watchdog_needs_person{of}")),
        Some(0.0),
        "{text}"
    );
    assert!(
        value(
            &text,
            &format!("watchdog_last_judgement_timestamp_seconds{of}")
        )
        .is_some_and(|at| at > 1.7e9),
        "{text}"
    );
    let live = format!(
        "watchdog_session_live{{worktree=\"{}\",spec=\"main\",state=\"running\"}}",
        runs.path().display()
    );
    assert_eq!(value(&text, &live), Some(1.0), "{text}");
    assert!(
        !text.contains('\u{1b}') && !text.contains("watchdog_cost_dollars_total"),
        "what no session told is absent\n{text}"
    );
    session.signal(Signal::TERM);
    let ended = session.wait();
    assert!(
        ended.code.is_some_and(|code| code != 0),
        "it was interrupted\n{ended}"
    );

    let piped = env
        .watchdog(&env.root(), &["status", "--prometheus", "-", "-q"])
        .expect(0)
        .stdout;
    assert_promtool_takes(&env, &piped);
}

#[test]
fn a_state_without_records_has_metrics_too() {
    let env = TestEnv::new();
    let text = env
        .watchdog(&env.root(), &["status", "--prometheus", "-"])
        .expect(0)
        .stdout;
    assert_promtool_takes(&env, &text);
    assert_eq!(
        value(&text, "watchdog_worktrees{status=\"complete\"}"),
        Some(0.0),
        "{text}"
    );
}

#[test]
fn metrics_file_is_readable_and_leaves_no_others() {
    let env = TestEnv::new();
    env.repo().watchdog(&["snapshot"]).expect(0);
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let (path, name) = promfile(&env);
    for _ in 0..2 {
        let script = format!("umask 077; exec watchdog status -q --prometheus '{name}'");
        env.command("sh", &env.root())
            .args(["-c", &script])
            .run()
            .expect(0);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o644
        );
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
    let out = env
        .watchdog(&env.root(), &["status", "--prometheus", "textfile"])
        .expect(16);
    out.assert_told(&["cannot write metrics to textfile"]);
}

/// A small disk of its own; needs root, as the tests of this project have everywhere.
struct SmallDisk(PathBuf);

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn full_disk_keeps_the_old_metrics_file() {
    let env = TestEnv::new();
    for n in 0..40 {
        env.repo_named(&format!("repo {n}"))
            .watchdog(&["snapshot"])
            .expect(0);
    }
    let (path, name) = promfile(&env);
    let folder = path.parent().unwrap().to_owned();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(&folder)
        .stderr(Stdio::null())
        .status();
    assert!(
        mount.is_ok_and(|done| done.success()),
        "cannot mount a scratch disk: this test needs root and the right to mount"
    );
    let _disk = SmallDisk(folder.clone());
    fs::write(&path, "watchdog_old 1\n").unwrap();
    let mut filler = fs::File::create(folder.join("filler")).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    let out = env
        .watchdog(&env.root(), &["status", "--prometheus", &name])
        .expect(16);
    out.assert_told(&[
        "cannot write metrics to ",
        "what was there before is there still",
    ]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "watchdog_old 1\n");
    assert_eq!(
        fs::read_dir(&folder).unwrap().count(),
        2,
        "no draft is left"
    );
}
