//! `watchdog init`: real projects, a real terminal, and places where nothing good can be written.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Repo, TestEnv, keys};

/// A stand-in for a program in `PATH`, which is never called unless a check runs.
fn install(env: &TestEnv, name: &str, script: &str) {
    let path = env.write(
        &format!("programs/{name}"),
        format!("#!/bin/sh\n{script}\n"),
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    env.install(name, &path);
}

/// The project of a Makefile whose tests pass.
fn with_make<'env>(env: &'env TestEnv, name: &str) -> Repo<'env> {
    let repo = env.repo_named(name);
    repo.write("Makefile", "test:\n\t@echo tested\nlint:\n\t@true\n");
    repo.commit_all("make");
    repo
}

#[track_caller]
fn proposed(repo: &Repo<'_>) -> Value {
    let out = repo
        .watchdog(&["init", "--dry-run", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (&out["written"], &out["trusted"]),
        (&Value::Null, &Value::Null)
    );
    out
}

/// What the proposed checks run or read.
fn checks(out: &Value) -> Vec<String> {
    let list = out["proposed"]["checks"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    list.iter()
        .map(|check| {
            check["run"]
                .as_str()
                .or(check["path"].as_str())
                .expect("a command or a list")
                .to_owned()
        })
        .collect()
}

/// A project's name, its files, and what the checks run or read.
type ProjectCase<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);

#[test]
fn each_kind_of_project_gets_checks_that_it_has() {
    let env = TestEnv::new();
    let package = |test: &str| json!({"scripts": {"test": test}}).to_string();
    let vitest = package("vitest run");
    let cases: &[ProjectCase<'_>] = &[
        ("nothing", &[], &[]),
        (
            "cargo",
            &[
                ("Cargo.toml", "[package]\nname = \"x\"\n"),
                ("src/lib.rs", "#[test]\nfn a() {}\n"),
            ],
            &["cargo test"],
        ),
        (
            "cargo-untested",
            &[
                ("Cargo.toml", "[package]\nname = \"x\"\n"),
                ("src/lib.rs", "fn a() {}\n"),
            ],
            &["cargo build"],
        ),
        (
            "workspace",
            &[
                ("Cargo.toml", "[workspace]\n"),
                ("a/tests/a.rs", "#[test]\nfn a() {}\n"),
            ],
            &["cargo test --workspace"],
        ),
        (
            "npm",
            &[("package.json", &vitest), ("package-lock.json", "{}")],
            &["npm test"],
        ),
        (
            "pnpm",
            &[("package.json", &vitest), ("pnpm-lock.yaml", "")],
            &["pnpm test"],
        ),
        (
            "yarn",
            &[("package.json", &vitest), ("yarn.lock", "")],
            &["yarn test"],
        ),
        (
            "bun",
            &[("package.json", &vitest), ("bun.lock", "")],
            &["bun run test"],
        ),
        (
            "placeholder",
            &[(
                "package.json",
                &package("echo \"Error: no test specified\" && exit 1"),
            )],
            &[],
        ),
        (
            "pytest",
            &[
                ("pyproject.toml", "[tool.pytest.ini_options]\n"),
                ("test_a.py", ""),
            ],
            &["pytest"],
        ),
        (
            "uv",
            &[
                ("pyproject.toml", "dev = [\"pytest\"]\n"),
                ("uv.lock", ""),
                ("tests/test_a.py", ""),
            ],
            &["uv run pytest"],
        ),
        (
            "tox",
            &[
                ("tox.ini", "[testenv]\ncommands = pytest\n"),
                ("tests/test_a.py", ""),
            ],
            &["tox"],
        ),
        (
            "tox-in-pyproject",
            &[("pyproject.toml", "[tool.tox]\n")],
            &["tox"],
        ),
        (
            "nox",
            &[
                (
                    "noxfile.py",
                    "import nox\n@nox.session\ndef tests(session): ...\n",
                ),
                ("test_a.py", ""),
            ],
            &["nox -s tests"],
        ),
        (
            "go",
            &[("go.mod", "module x\n"), ("a_test.go", "package x\n")],
            &["go test ./..."],
        ),
        (
            "make",
            &[("Makefile", "test: build\n\ttrue\n")],
            &["make test"],
        ),
        (
            "make-without",
            &[("Makefile", "test := 1\nall:\n\ttrue\n")],
            &[],
        ),
        ("just", &[("justfile", "test:\n  true\n")], &["just test"]),
        (
            "features",
            &[(
                "feature_list.json",
                "[{\"name\": \"a\", \"passes\": false}]",
            )],
            &["feature_list.json"],
        ),
        (
            "tasks",
            &[("tasks.md", "- [ ] one\n- [x] two\n")],
            &["tasks.md"],
        ),
        (
            "spec",
            &[
                ("specs/001-a/tasks.md", "- [ ] one\n"),
                ("specs/000-z/tasks.md", "- [x] done\n"),
            ],
            &["specs/001-a/tasks.md"],
        ),
        (
            "plan",
            &[(
                "plan.json",
                "{\"steps\": [{\"title\": \"a\", \"status\": \"todo\"}]}",
            )],
            &["plan.json"],
        ),
        (
            "empty-lists",
            &[
                ("feature_list.json", "[]"),
                ("tasks.md", "# none\n"),
                ("plan.json", "{\"steps\": []}"),
            ],
            &[],
        ),
    ];
    for (name, files, expected) in cases {
        let repo = env.repo_named(name);
        files
            .iter()
            .chain(&[("NOTES.md", "of everything")])
            .for_each(|(path, text)| repo.write(path, text));
        repo.commit_all("feat: the project");
        let out = proposed(&repo);
        assert_eq!(checks(&out), *expected, "{name}: {out}");
        assert!(!repo.has("completion.json"), "{name}");
    }
    assert!(
        !env.state().join("watchdog.db").exists(),
        "a dry run leaves no record"
    );
}

#[test]
fn build_files_in_folders_below_get_checks_that_run_there_and_what_is_not_the_projects_own_gets_none()
 {
    let env = TestEnv::new();
    let repo = env.repo();
    let package = json!({"scripts": {"test": "vitest run"}}).to_string();
    let crate_of = |folder: &str| {
        repo.write(&format!("{folder}/Cargo.toml"), "[package]\nname = \"x\"\n");
        repo.write(&format!("{folder}/src/lib.rs"), "#[test]\nfn a() {}\n");
    };
    [
        "backend",
        "target/x",
        "vendor/x",
        ".hidden",
        "scratch",
        "a/b/c/deep",
        "tests/fixture",
        "piped",
    ]
    .into_iter()
    .for_each(crate_of);
    ["web", "web/node_modules/x", "web/packages/one"]
        .into_iter()
        .for_each(|folder| repo.write(&format!("{folder}/package.json"), &package));
    repo.write("web/pnpm-workspace.yaml", "packages:\n  - packages/*\n");
    repo.write(".gitignore", "scratch/\n/target\n");
    let pipe = repo.path().join("piped/.gitignore");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from(0o600),
        0,
    )
    .unwrap();
    symlink("backend", repo.path().join("link")).unwrap();
    let other = env.repo_named("other");
    other.write("Cargo.toml", "[package]\nname = \"x\"\n");
    other.commit_all("other");
    repo.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../other",
        "sub",
    ]);
    repo.git(&["clone", "-q", "../other", "nested"]);
    let out = proposed(&repo);
    let list = out["proposed"]["checks"]
        .as_array()
        .expect("checks")
        .clone();
    let shown: Vec<String> = list
        .iter()
        .map(|check| {
            [&check["name"], &check["run"], &check["cwd"]]
                .map(|text| text.as_str().unwrap_or("-"))
                .join("|")
        })
        .collect();
    let expected = [
        "tests in backend|cargo test|backend",
        "tests in piped|cargo test|piped",
        "tests in web|pnpm test|web",
    ];
    assert_eq!(shown, expected, "{out}");
}

#[test]
fn a_check_of_a_folder_below_runs_there_when_it_is_tried_by_name_and_in_a_verdict() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(
        "api/Makefile",
        "test:\n\t@test -f only-here && touch tried\n",
    );
    repo.write("api/only-here", "");
    repo.write("cli/justfile", "test:\n  false\n");
    repo.write(".gitignore", "tried\n");
    repo.commit_all("feat: two programs");
    let out = repo
        .watchdog(&["init", "--dry-run", "--try", "tests in api", "--json"])
        .expect(0)
        .json();
    assert_eq!(out["tried"].as_array().map(Vec::len), Some(1), "{out}");
    assert_eq!(
        (&out["tried"][0]["name"], &out["tried"][0]["outcome"]),
        (&json!("tests in api"), &json!("pass")),
        "{out}"
    );
    assert!(repo.has("api/tried"));
    let unknown = repo
        .watchdog(&["init", "--yes", "--try", "tests in apy"])
        .expect(2);
    assert!(
        unknown.stderr.contains("did you mean") && unknown.stderr.contains("tests in api"),
        "{unknown}"
    );
    assert!(!repo.has("completion.json"));
    fs::remove_file(repo.path().join("cli/justfile")).unwrap();
    repo.commit_all("chore: one program");
    repo.watchdog(&["init", "--yes"]).expect(0);
    let judged = repo
        .watchdog(&[
            "run",
            "--json",
            "--no-probe",
            "--",
            "sh",
            "-c",
            "echo x > x; git add x; git commit -qm 'feat: x'",
        ])
        .expect(0);
    assert_eq!(
        (
            judged.verdict().as_str(),
            &judged.json()["checks"][0]["name"]
        ),
        ("complete/checks_passed", &json!("tests in api")),
        "{judged}"
    );
}

/// What a verdict warns of, of a session that does its work and of a look after it.
fn warnings(repo: &Repo<'_>, session: &str) -> Vec<(String, Value)> {
    repo.watchdog(&["init"]).expect(0);
    repo.commit_all("chore: watch");
    let runs = [
        &["run", "--json", "--no-probe", "--", "sh", "-c", session][..],
        &["check", "--json", "--no-probe"],
    ];
    runs.iter()
        .map(|line| repo.watchdog(line))
        .map(|out| (out.verdict(), out.json()["degraded"].clone()))
        .collect()
}

#[test]
fn no_verdict_warns_of_what_init_wrote() {
    let env = TestEnv::new();
    let work = "echo x > work.txt; git add work.txt; git commit -qm 'feat: work'";
    let bare = env.repo_named("bare");
    assert_eq!(
        warnings(&bare, work),
        [
            ("complete/new_commits".into(), json!([])),
            ("complete/new_commits".into(), json!([]))
        ]
    );
    let make = with_make(&env, "make");
    make.write(".github/workflows/ci.yml", "on: push\n");
    make.write("tests/a.sh", "true\n");
    let session = format!("echo y > tests/b.sh; git add tests; {work}");
    assert_eq!(
        warnings(&make, &session),
        [
            ("complete/checks_passed".into(), json!([])),
            ("complete/checks_passed".into(), json!([]))
        ]
    );
    let text = fs::read_to_string(make.path().join("completion.json")).unwrap();
    assert!(!text.contains("guards"), "{text}");
    let untouched = with_make(&env, "untouched");
    untouched.write(".github/workflows/ci.yml", "on: push\n");
    untouched.watchdog(&["init"]).expect(0);
    let out = untouched
        .watchdog_command(&["evaluate", "--json"])
        .stdin("{\"schema\": 1}")
        .run()
        .expect(0);
    assert_eq!(
        out.json()["degraded"],
        json!([]),
        "without a baseline, too: {out}"
    );
    let lists = env.repo_named("lists");
    lists.write(
        "feature_list.json",
        "[{\"name\": \"a\", \"passes\": false}]",
    );
    lists.write("tasks.md", "- [ ] one\n");
    lists.commit_all("lists");
    for (verdict, degraded) in warnings(&lists, work) {
        assert_eq!(
            (verdict.as_str(), &degraded),
            ("incomplete/checks_unmet", &json!([]))
        );
    }
}

#[test]
fn a_written_file_is_trusted_and_the_command_to_type_next_works_as_it_stands() {
    let mut env = TestEnv::new();
    env.set("OUT", env.root().join("said"));
    install(
        &env,
        "claude",
        "case \"$*\" in *allowedTools*) printf '%s|' \"$@\" > \"$OUT\" ;; esac",
    );
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let repo = env.repo_named("it's here");
    repo.write("PROMPT.md", "do it");
    repo.commit_all("the prompt");
    let run = |cwd: &Path, args: &[&str]| {
        let out = env.watchdog(cwd, args).expect(0).stdout;
        let next = out
            .lines()
            .find_map(|line| line.strip_prefix("next: "))
            .unwrap_or_else(|| panic!("{out}"))
            .to_owned();
        let ran = env
            .command("sh", Path::new("/"))
            .args(["-c", &format!("{next} </dev/null")])
            .run();
        (
            next,
            fs::read_to_string(env.root().join("said"))
                .unwrap_or_else(|error| panic!("{error}\n{ran}")),
        )
    };
    let (next, said) = run(repo.path(), &["init"]);
    let here = format!(
        "'{}'",
        repo.path().display().to_string().replace('\'', r"'\''")
    );
    let prompt = here.replacen("here'", "here/PROMPT.md'", 1);
    assert_eq!(
        next,
        format!(
            "watchdog -C {here} run -- claude -p \"$(cat {prompt})\" --allowedTools Bash Edit Write"
        )
    );
    assert_eq!(said, "-p|do it|--allowedTools|Bash|Edit|Write|");
    fs::remove_file(env.root().join("said")).unwrap();
    let (next, said) = run(
        &env.root(),
        &["-C", "it's here", "init", "--force", "--yes"],
    );
    assert!(
        next.starts_with(&format!("watchdog -C {here} run -- claude -p")),
        "{next}"
    );
    assert!(said.starts_with("-p|do it|"), "{said}");
    let listed = env
        .watchdog(&env.root(), &["trust", "--list"])
        .expect(0)
        .stdout;
    assert!(listed.contains("completion.json"), "{listed}");
}

#[test]
fn a_check_runs_with_try_alone_and_one_that_runs_no_test_does_not_pass() {
    let env = TestEnv::new();
    let repo = with_make(&env, "repo");
    let ran = env.root().join("ran");
    repo.write("Makefile", format!("test:\n\t@echo x >> {}\n\t@echo 'running 0 tests'; echo 'test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'\n", ran.display()));
    repo.watchdog(&["init", "--yes"]).expect(0);
    assert!(!ran.exists(), "nothing runs without a word");
    let out = repo
        .watchdog(&["init", "--yes", "--force", "--try", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (&out["tried"][0]["name"], &out["tried"][0]["outcome"]),
        (&json!("tests"), &json!("unmet")),
        "{out}"
    );
    assert!(
        out["tried"][0]["feedback"]
            .as_str()
            .is_some_and(|why| why.contains("ran no test")),
        "{out}"
    );
    repo.write("Makefile", "test:\n\t@exit 7\n");
    let told = repo
        .watchdog(&["init", "--yes", "--force", "--try"])
        .expect(0);
    assert!(
        told.stderr.contains("unmet: `make test` ended with exit 2") && told.stderr.contains(" s)"),
        "{told}"
    );
    repo.write("Makefile", "test:\n\t@true\n");
    let told = repo.watchdog(&["init", "--dry-run", "--try"]).expect(0);
    assert!(
        told.stderr.contains("passes (") && told.stdout.starts_with("{\n"),
        "{told}"
    );
}

#[test]
fn try_runs_the_trusted_file_that_is_there() {
    let env = TestEnv::new();
    let repo = with_make(&env, "repo");
    repo.watchdog(&["init", "--yes"]).expect(0);
    repo.write("Makefile", "test:\n\t@exit 7\n");
    let text = fs::read_to_string(repo.path().join("completion.json")).expect("it was written");
    let out = repo.watchdog(&["init", "--try", "--json"]).expect(0).json();
    assert_eq!(
        (&out["tried"][0]["outcome"], &out["written"]),
        (&json!("unmet"), &Value::Null),
        "{out}"
    );
    assert_eq!(
        fs::read_to_string(repo.path().join("completion.json")).expect("it is there"),
        text,
        "nothing is written"
    );
    repo.write("completion.json", text.replace("make test", "touch ran"));
    let refused = repo.watchdog(&["init", "--try"]).expect(2);
    assert!(
        refused.stderr.contains("not trusted")
            && refused.stderr.contains(" trust")
            && !repo.has("ran"),
        "{refused}"
    );
}

#[test]
fn init_says_when_other_worktrees_have_the_file() {
    let env = TestEnv::new();
    let repo = with_make(&env, "repo");
    let told = repo.watchdog(&["init", "--yes"]).expect(0);
    assert!(!told.stdout.contains("other worktrees"), "{told}");
    repo.git(&["worktree", "add", "-q", "../side"]);
    let told = repo.watchdog(&["init", "--yes", "--force"]).expect(0);
    assert!(
        told.stdout.contains(
            "other worktrees of this repository have it once it is committed and merged there"
        ),
        "{told}"
    );
}

#[test]
fn a_terminal_asks_by_arrow_keys_and_writes_what_was_chosen() {
    let env = TestEnv::new();
    install(&env, "claude", "true");
    install(&env, "codex", "true");
    let repo = with_make(&env, "repo");
    repo.write("tests/a.sh", "true\n");
    let mut asked = repo.watchdog_command(&["init"]).at_terminal();
    asked
        .wait_for("What does done mean here?")
        .wait_for("guard tests/**");
    // make test stays, make lint is chosen as well, and so is the guard below it.
    asked.press(&[
        keys::DOWN,
        keys::SPACE,
        keys::DOWN,
        keys::SPACE,
        keys::ENTER,
    ]);
    asked
        .wait_for("Which agent")
        .press(&[keys::DOWN, keys::ENTER]);
    asked
        .wait_for("Run `make test` now")
        .press(&["y", keys::ENTER]);
    asked
        .wait_for("passes (")
        .wait_for("Run `make lint` now")
        .press(&[keys::ENTER]);
    asked
        .wait_for("Write completion.json")
        .press(&[keys::ENTER]);
    let (code, shown) = asked.wait();
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains(&format!(
            "next: watchdog -C {} run -- codex exec",
            repo.path().display()
        )),
        "{shown}"
    );
    let written: Value =
        serde_json::from_str(&fs::read_to_string(repo.path().join("completion.json")).unwrap())
            .unwrap();
    assert_eq!(
        (&written["guards"], &written["agent"]["preset"]),
        (&json!(["tests/**"]), &json!("codex"))
    );
    assert_eq!(
        checks(&json!({"proposed": written})),
        ["make test", "make lint"]
    );
    let trusted = repo.watchdog(&["doctor", "--json"]).json();
    assert!(!trusted.to_string().contains("not trusted"), "{trusted}");
}

#[test]
fn ctrl_c_at_any_question_writes_nothing() {
    let env = TestEnv::new();
    install(&env, "claude", "true");
    install(&env, "codex", "true");
    let repo = with_make(&env, "repo");
    let questions = [
        "What does done mean",
        "Which agent",
        "Run `make test` now",
        "Write completion.json",
    ];
    for (stopped, _) in questions.iter().enumerate() {
        for stop in [keys::CTRL_C, keys::ESCAPE] {
            let mut asked = repo.watchdog_command(&["init"]).at_terminal();
            for question in &questions[..stopped] {
                asked.wait_for(question).press(&[keys::ENTER]);
            }
            asked.wait_for(questions[stopped]).press(&[stop]);
            let (code, shown) = asked.wait();
            assert_eq!(code, 130, "{shown}");
            assert!(
                shown.contains("nothing was written") && shown.ends_with("\u{1b}[?25h")
                    || shown.contains("\u{1b}[?25h"),
                "{shown:?}"
            );
            assert!(!repo.has("completion.json"), "{shown}");
        }
    }
    let mut asked = repo.watchdog_command(&["init"]).at_terminal();
    for question in &questions[..3] {
        asked.wait_for(question).press(&[keys::ENTER]);
    }
    asked.wait_for(questions[3]).press(&["n", keys::ENTER]);
    let (code, shown) = asked.wait();
    assert!(
        code == 0 && shown.contains("nothing was written") && !repo.has("completion.json"),
        "{shown}"
    );
}

#[test]
fn a_check_that_runs_at_a_terminal_ends_with_a_signal_to_watchdog() {
    let env = TestEnv::new();
    let repo = with_make(&env, "repo");
    let begun = env.root().join("begun");
    repo.write(
        "Makefile",
        format!("test:\n\t@touch {}; sleep 300\n", begun.display()),
    );
    let running = repo.watchdog_spawn(&["init", "--yes", "--try"]);
    crate::support::wait_until("the check runs", std::time::Duration::from_secs(30), || {
        begun.exists()
    });
    running.signal(rustix::process::Signal::INT);
    let out = running.wait().expect(130);
    assert!(
        out.stderr.contains("nothing was written") && !repo.has("completion.json"),
        "{out}"
    );
    env.assert_nothing_left();
}

#[test]
fn nonsense_in_a_project_is_told_and_stops_nobody() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("package.json", "\0{{{ nonsense \u{1b}[31m");
    repo.write("Cargo.toml", "= what\n");
    repo.write("feature_list.json", "{\"features\": 7}");
    let large = fs::File::create(repo.path().join("Makefile")).unwrap();
    std::io::Write::write_all(&mut &large, b"test:\n\ttrue\n").unwrap();
    large.set_len(100 << 20).unwrap();
    let pipe = repo.path().join("justfile");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from(0o600),
        0,
    )
    .unwrap();
    let out = proposed(&repo);
    assert_eq!(checks(&out), ["make test"], "{out}");
    let notes = out["notes"].to_string();
    for name in [
        "package.json is not used",
        "Cargo.toml is not used",
        "feature_list.json is not used",
    ] {
        assert!(notes.contains(name), "{name}: {notes}");
    }
    let told = repo.watchdog(&["init", "--dry-run"]).expect(0);
    assert!(
        !told.stderr.contains('\u{1b}') && !told.stdout.contains('\u{1b}'),
        "{told}"
    );
}

#[test]
fn what_is_in_the_place_of_the_file_is_never_written_through() {
    let env = TestEnv::new();
    let repo = env.repo();
    let victim = env.write("victim", "precious");
    symlink(&victim, repo.path().join("completion.json")).unwrap();
    for line in [
        &["init"][..],
        &["init", "--force"],
        &["init", "--yes", "--force"],
    ] {
        let out = repo.watchdog(line).expect(2);
        assert!(out.stderr.contains("not a regular file"), "{out}");
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    fs::remove_file(repo.path().join("completion.json")).unwrap();
    symlink(
        env.root().join("nowhere"),
        repo.path().join("completion.json"),
    )
    .unwrap();
    repo.watchdog(&["init"]).expect(2);
    assert!(!env.root().join("nowhere").exists());
    fs::remove_file(repo.path().join("completion.json")).unwrap();
    fs::create_dir(repo.path().join("completion.json")).unwrap();
    repo.watchdog(&["init", "--force"]).expect(2);
    fs::remove_dir(repo.path().join("completion.json")).unwrap();
    repo.watchdog(&["init"]).expect(0);
    assert!(
        repo.watchdog(&["init"])
            .expect(2)
            .stderr
            .contains("--force")
    );
    assert_eq!(repo.status(), "?? completion.json", "no draft is left");
}

#[test]
fn without_a_repository_or_a_place_to_write_nothing_is_asked_and_the_error_says_why() {
    let env = TestEnv::new();
    let out = env.watchdog(&env.root(), &["init"]).expect(16);
    assert!(
        out.stderr.contains("not") && out.stderr.contains("repository"),
        "{out}"
    );
    let repo = env.repo();
    let name = repo.path().to_str().unwrap();
    let read_only = format!(
        "mount --bind '{name}' '{name}' && mount -o remount,bind,ro '{name}' && cd '{name}' && exec \"$@\""
    );
    let inside = [
        "-rm",
        "sh",
        "-c",
        &read_only,
        "sh",
        env!("CARGO_BIN_EXE_watchdog"),
        "init",
    ];
    let out = env
        .command("unshare", &env.root())
        .args(inside)
        .run()
        .expect(16);
    assert!(
        out.stderr.contains("failed to write")
            && out.stderr.contains("Read-only")
            && out.stderr.contains("--dry-run"),
        "{out}"
    );
}

#[test]
fn a_session_is_refused_but_may_look() {
    let mut env = TestEnv::new();
    env.set("WATCHDOG", env!("CARGO_BIN_EXE_watchdog"));
    let repo = env.repo();
    let script = "for words in init 'init --yes' 'init --yes --try' 'init --dry-run'; do $WATCHDOG $words >/dev/null 2>&1; echo $? >> ../codes; done";
    let _judged = repo.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", script]);
    assert_eq!(
        fs::read_to_string(env.root().join("codes")).unwrap(),
        "2\n2\n2\n0\n"
    );
    assert!(!repo.has("completion.json"));
}

#[test]
fn cron_is_printed_with_what_it_will_not_find() {
    let env = TestEnv::new();
    let repo = env.repo();
    let people = repo.watchdog(&["init", "--cron"]).expect(0).stdout;
    let note = people.lines().last().unwrap_or_default();
    assert!(
        note.starts_with("# claude is not in PATH") && note.contains("--agent-program"),
        "{people}"
    );
    install(&env, "claude", "true");
    let notes = |repo: &Repo<'_>| {
        repo.watchdog(&["init", "--cron", "--json"])
            .expect(0)
            .json()["notes"]
            .clone()
    };
    assert!(
        notes(&repo)[0]
            .as_str()
            .is_some_and(|note| note.starts_with("claude is not in cron's own PATH")),
        "{}",
        notes(&repo)
    );
    repo.write(
        "completion.json",
        json!({"agent": {"probe": ["sh", "ask.sh"]}}).to_string(),
    );
    repo.watchdog(&["trust"]).expect(0);
    assert_eq!(notes(&repo), json!([]), "cron has a shell");
}
