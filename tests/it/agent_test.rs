//! `watchdog agent test` on bad days: a program that is missing, that is another one, that never stops printing, a signal, and no room.
//! Nothing of a scene may be left, neither a process nor a folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Run, TestEnv};

fn program(env: &TestEnv, script: &str) -> String {
    let path = env.write("programs/agent", format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .expect("a script can be made a program");
    path.display().to_string()
}

/// `watchdog agent test codex` with this program in the place of Codex.
fn test(env: &TestEnv, program: &str, more: &[&str]) -> Run {
    let args: Vec<&str> = ["agent", "test", "codex", "--program", program]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    env.watchdog_command(&env.root(), &args)
        .timeout(Duration::from_secs(120))
}

fn assert_nothing_left(env: &TestEnv) {
    let left: Vec<_> = fs::read_dir(env.root().join("tmp"))
        .expect("a folder for temporary files")
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
    env.assert_nothing_left();
}

#[test]
fn missing_program_is_named_with_the_program_option() {
    let env = TestEnv::new();
    let out = test(&env, "/no/such/codex", &[]).run().expect(15);
    out.assert_told(&["cannot run '/no/such/codex'", "--program PATH"]);
    assert_nothing_left(&env);
}

#[test]
fn program_without_model_calls_stops_after_first_scene() {
    for script in ["exit 0", "echo '{]'; echo nonsense >&2; exit 3"] {
        let env = TestEnv::new();
        let out = test(&env, &program(&env, script), &[]).run().expect(12);
        assert!(
            out.stdout.starts_with("FAILED  commit") && out.stdout.contains("no request from"),
            "{out}"
        );
        out.assert_printed(&["15 not played, because the first one reached no model API"]);
        assert!(
            !out.stdout.contains("\"baseline\""),
            "the verdict's JSON is for programs\n{out}"
        );
        let json = test(&env, &program(&env, script), &["--json", "--scene", "term"])
            .run()
            .expect(12)
            .json();
        assert_eq!(
            (&json["failed"], &json["scenes"][0]["outcome"]),
            (&1.into(), &Value::from("failed")),
            "{json}"
        );
        assert_nothing_left(&env);
    }
}

#[test]
fn signal_ends_a_flooding_scene_without_leftovers() {
    for (signal, code, more) in [
        (Signal::INT, 130, &[][..]),
        (Signal::TERM, 143, &["--json"]),
    ] {
        let env = TestEnv::new();
        let begun = env.root().join("begun");
        let script = format!("echo x >> {}; exec yes", begun.display());
        let running = test(&env, &program(&env, &script), more).spawn();
        let begin = Instant::now();
        while !begun.exists() {
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "the program never began"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        running.signal(signal);
        let out = running.wait().expect(code);
        match more {
            [] => out.assert_told(&["interrupted after 0 of 16 scenes"]),
            _ => assert_eq!(out.json()["scenes"][0]["outcome"], "interrupted", "{out}"),
        }
        assert_eq!(
            fs::read_to_string(&begun)
                .expect("it began")
                .lines()
                .count(),
            1,
            "no further scene\n{out}"
        );
        assert_nothing_left(&env);
    }
}

#[test]
fn missing_scene_folder_is_a_failure_naming_it() {
    let mut env = TestEnv::new();
    env.set("TMPDIR", env.root().join("nowhere").into_os_string());
    let out = test(&env, &program(&env, "exit 0"), &["--scene", "commit"])
        .run()
        .expect(12);
    out.assert_printed(&["expected: a scratch folder in ", "nowhere"]);
    assert!(out.stdout.contains("No such file or directory"), "{out}");
    assert_nothing_left(&env);
}
