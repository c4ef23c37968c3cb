//! Scratch checkouts at the worktree's own path: an installed package, a cache or a script that names it must run the checkout's code.

use serde_json::json;

use crate::support::{CommandOutput, Repo, TestEnv};

const CALC: &str = "def add(a, b):\n    return a - b\n";
const TESTS: &str = "import unittest
from calc import add

class T(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 2), 4)
";
const FIX: &str = "sed -i 's/a - b/a + b/' src/calc.py";
const NEW_TEST: &str = "printf '\\n    def test_more(self):\\n        self.assertEqual(add(1, 2), 3)\\n' >> tests/test_calc.py";

/// A linked worktree inside of its main one, with a virtual environment that holds an editable install: a file that names the folder of the
/// code by its whole path.
fn installed<'env>(env: &'env TestEnv, name: &str, before: &str) -> Repo<'env> {
    let main = env.repo_named(name);
    main.write("src/calc.py", CALC);
    main.write("tests/__init__.py", "");
    main.write("tests/test_calc.py", TESTS);
    let run = format!("{before} .venv/bin/python -m unittest -q");
    let config =
        json!({"completion_check": {"max_probes": 0}, "checks": [{"type": "command", "run": run}]});
    main.write("completion.json", config.to_string());
    main.write(".gitignore", "__pycache__/\n.venv/\nlinked/\n");
    main.commit_all("the suite");
    main.git(&["worktree", "add", "-q", "linked"]);
    let repo = Repo::new(env, main.path().join("linked"));
    let create =
        "python3 -m venv --without-pip .venv && cd .venv/lib/python3*/site-packages && pwd";
    let created = repo.env_command("sh", &["-c", create]).run().expect(0);
    let code = repo.path().join("src").display().to_string();
    let packages = std::path::Path::new(created.stdout.trim()).join("__editable__.calc.pth");
    std::fs::write(packages, code + "\n").expect("the folder was just made");
    repo.watchdog(&["trust"]).expect(0);
    repo
}

fn run(repo: &Repo<'_>, script: &str) -> CommandOutput {
    let script = format!("{script}; git add -A; git commit -qm work");
    repo.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", &script])
}

/// Whether this machine has mount namespaces for this user.
fn has_namespaces(env: &TestEnv) -> bool {
    succeeds(env, "unshare -m true || unshare --map-current-user -m true")
}

fn succeeds(env: &TestEnv, probe: &str) -> bool {
    let probe = env.command("sh", &env.root()).args(["-c", probe]).run();
    probe.code == Some(0)
}

#[test]
fn editable_install_loads_code_of_the_checkout() {
    let mut env = TestEnv::new();
    // Code that is compiled of another tree has the same size and second.
    env.set("PYTHONPYCACHEPREFIX", env.root().join("compiled"));
    env.set("CARGO_TARGET_DIR", env.root().join("builds"));
    let env = env;
    let has_namespaces = has_namespaces(&env);
    let seen = env.root().join("seen");
    let look = format!(
        "{{ pwd; id -u; id -g; git rev-parse --git-dir 2>/dev/null; ls -a | grep -x .git; echo $CARGO_TARGET_DIR; }} > '{}'; ",
        seen.display()
    );
    for (name, script, expected) in [
        (
            "honest",
            format!("{FIX}; {NEW_TEST}"),
            "complete/checks_passed",
        ),
        (
            "weakened",
            "sed -i 's/2), 4/2), 0/' tests/test_calc.py".to_owned(),
            "review/tests_weakened",
        ),
    ] {
        let repo = installed(&env, name, &look);
        let out = run(&repo, &script);
        let verdict = out.json();
        let proof = &verdict["checks"][0]["proof"];
        if has_namespaces {
            assert_eq!(out.verdict(), expected, "{out}");
            let ids = repo
                .env_command("sh", &["-c", "pwd; id -u; id -g; echo $PWD/target"])
                .run();
            let last = std::fs::read_to_string(&seen).expect("the suite ran");
            assert_eq!(
                last, ids.stdout,
                "a checkout has no repository, nor one above it"
            );
            if name == "honest" {
                let worth = [
                    &verdict["evidence"],
                    &proof["old_tests"],
                    &proof["new_tests"],
                    &proof["canary"],
                ];
                assert_eq!(worth, ["verified", "pass", "fail", "fail"], "{out}");
            }
        } else {
            assert_ne!(verdict["evidence"], "verified", "{out}");
            assert_eq!(
                [&proof["old_tests"], &proof["new_tests"]],
                ["unknown"; 2],
                "{out}"
            );
        }
        assert_eq!(repo.status(), "", "{name}");
    }
}

#[test]
fn way_into_the_worktree_is_named_as_unknown() {
    let env = TestEnv::new();
    // A server would see the worktree at that path.
    let repo = installed(&env, "served", ": docker;");
    let out = run(&repo, &format!("{FIX}; {NEW_TEST}")).expect(0);
    let verdict = out.json();
    let proof = &verdict["checks"][0]["proof"];
    assert_eq!(verdict["evidence"], "claimed", "{out}");
    assert_eq!(
        [&proof["old_tests"], &proof["new_tests"]],
        ["unknown"; 2],
        "{out}"
    );
    let why = proof["why"].as_str().unwrap_or_default();
    assert!(
        why.contains("__editable__.calc.pth leads a scratch checkout into the worktree"),
        "{out}"
    );
}

#[test]
fn checkout_leaves_half_of_the_free_space() {
    let env = TestEnv::new();
    let place = env.state().join("scratch");
    std::fs::create_dir_all(&place).expect("the state directory is ours");
    let mount = format!("mount -t tmpfs -o size=512k small '{}'", place.display());
    // With a larger disk the same sessions are complete.
    let is_small = succeeds(&env, &format!("unshare -rm sh -c \"{mount}\""));
    for (name, file) in [("dependencies", ".venv/large"), ("tree", "large")] {
        let repo = installed(&env, name, "");
        repo.write(file, "x".repeat(300_000));
        let script = format!("{FIX}; {NEW_TEST}; git add -A; git commit -qm work");
        let mut line = vec![
            env!("CARGO_BIN_EXE_watchdog"),
            "run",
            "--json",
            "--no-probe",
            "--",
            "sh",
            "-c",
            &script,
        ];
        let mount = format!("{mount} && exec \"$@\"");
        if is_small {
            line.splice(0..0, ["unshare", "-rm", "sh", "-c", &mount, "sh"]);
        }
        let out = repo.env_command(line[0], &line[1..]).run().expect(0);
        let proof = &out.json()["checks"][0]["proof"];
        let why = proof["why"].as_str().unwrap_or_default();
        assert_eq!(
            why.contains("more than half of the free space"),
            is_small,
            "{out}"
        );
        assert!(!is_small || proof["new_tests"] == "unknown", "{out}");
    }
}

#[test]
fn timeout_ends_all_that_a_clean_check_began() {
    let mut env = TestEnv::new();
    env.set("CARGO_TARGET_DIR", env.root().join("builds"));
    let repo = env.repo();
    let seen = env.root().join("seen");
    let hang = format!(
        "pwd > '{0}'; echo $CARGO_TARGET_DIR >> '{0}'; setsid sleep 1000 & exec sleep 1000",
        seen.display()
    );
    let check = json!({"type": "command", "run": hang, "clean": true, "timeout_seconds": 4});
    repo.write(
        "completion.json",
        json!({"completion_check": {"max_probes": 0}, "checks": [check]}).to_string(),
    );
    repo.commit_all("the check");
    repo.watchdog(&["trust"]).expect(0);
    let out = run(&repo, "echo > work").expect(12);
    assert_eq!(out.verdict(), "review/verify_timeout", "{out}");
    let seen = std::fs::read_to_string(&seen).expect("it ran");
    let here = seen.lines().next().unwrap_or_default();
    assert_eq!(seen, format!("{here}\n\n"), "builds stay in it");
    let is_here = here == repo.path().to_string_lossy();
    assert_eq!(is_here, has_namespaces(&env), "{out}");
    env.assert_nothing_left();
}
