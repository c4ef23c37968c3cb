//! `watchdog init`: a table of projects, a real terminal, and places that cannot be written.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Repo, TestEnv, assert_parts, keys};

/// A stand-in for a program in `PATH`, which is never called unless a check runs.
fn install(env: &TestEnv, name: &str, script: &str) {
    env.install_script(name, format!("#!/bin/sh\n{script}\n"));
}

/// The project of a Makefile whose tests pass.
fn with_make<'env>(env: &'env TestEnv, name: &str) -> Repo<'env> {
    let repo = env.repo_named(name);
    repo.write("Makefile", "test:\n\t@echo tested\n");
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

/// What the proposed checks run and where, or what they read.
fn checks(out: &Value) -> Vec<String> {
    let list = out["proposed"]["checks"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let shown = |check: &Value| {
        let word = check["run"]
            .as_str()
            .or(check["path"].as_str())
            .expect("a command or a list");
        let folder = check["cwd"].as_str().map(|folder| format!(" @ {folder}"));
        word.to_owned() + &folder.unwrap_or_default()
    };
    list.iter().map(shown).collect()
}

fn make_pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::from(0o600), 0).unwrap();
}

/// The files of a project, apart by a space and each with its text after `=`, and its checks: a
/// command, with the folder that it runs in after ` @ `, or the path of a list. `~` stands for a
/// space, JEST for a package with a test script.
const PROJECTS: &str = r##"NOTES.md=x ->
Cargo.toml=[package] src/lib.rs=#[test] -> cargo test
Cargo.toml=[package] src/lib.rs=#[rstest] -> cargo test
Cargo.toml=[package] src/lib.rs=#[cfg(test)] -> cargo build
Cargo.toml=[workspace] a/Cargo.toml=[package] a/a.rs=#[test] -> cargo test --workspace
Cargo.toml=what ->
package.json=JEST -> npm test
package.json=JEST package-lock.json={} -> npm test
package.json=JEST pnpm-lock.yaml= -> pnpm test
package.json=JEST yarn.lock= -> yarn test
package.json=JEST bun.lock= -> bun run test
package.json={"packageManager":"pnpm@9","scripts":{"test":"jest"}} -> pnpm test
package.json={"scripts":{"test":"echo~no~test~specified"}} ->
package.json={"scripts":{"test":"jest~--watch"}} ->
package.json={"scripts":{"test":"~"}} ->
pnpm-workspace.yaml= a/package.json=JEST -> pnpm -r test
yarn.lock= package.json={} a/package.json=JEST -> yarn test @ a
pyproject.toml=[tool.pytest.ini_options] -> pytest
setup.cfg=[tool:pytest] -> pytest
pytest.ini= -> pytest
requirements-dev.txt=pytest -> pytest
test_a.py= -> pytest
tests/unit/test_a.py= uv.lock= -> uv run pytest
pyproject.toml=pytest poetry.lock= -> poetry run pytest
pyproject.toml=pytest .venv/bin/pytest= -> .venv/bin/pytest
pyproject.toml=[project] uv.lock= ->
tox.ini=[testenv] test_a.py= -> tox
tox.ini=[testenv] test_a.py= uv.lock= -> uv run pytest
noxfile.py=def~tests(session): test_a.py= -> nox -s tests
go.mod=module a_test.go=package -> go test ./...
go.mod=module -> go build ./...
go.mod=module Makefile=test: -> go build ./...; make test
go.mod=module a_test.go= Makefile=test: -> go test ./...
Makefile=test:~build -> make test
Makefile=all~check: -> make check
Makefile=test~:=~1 ->
Makefile=URL~=~test: ->
justfile=@test~mode='a'~*args: -> just test
justfile=test~name: ->
justfile=bench~test: ->
pom.xml= -> mvn -q test
pom.xml= mvnw= -> ./mvnw -q test
build.gradle.kts= -> gradle test
settings.gradle= gradlew= -> ./gradlew test
CMakeLists.txt=enable_testing() -> CTEST
CMakeLists.txt=project(x) -> cmake -B build && cmake --build build
Gemfile=rspec -> bundle exec rspec
.rspec= -> rspec
Rakefile=test Gemfile= -> bundle exec rake test
Rakefile=test -> rake test
Rakefile= bin/rails= -> bin/rails test
composer.json={"scripts":{"test":["phpunit"]}} -> composer test
phpunit.xml.dist= -> vendor/bin/phpunit
composer.json={"require-dev":{"phpunit/phpunit":"10"}} tests/ATest.php= -> vendor/bin/phpunit tests
composer.json={"require-dev":{"pestphp/pest":"2"}} phpunit.xml= -> vendor/bin/pest
a.sln= a/a.csproj=Microsoft.NET.Test.Sdk -> dotnet test
a.fsproj= -> dotnet build
mix.exs= test/a_test.exs= -> mix test
mix.exs= -> mix compile
Package.swift=.testTarget( -> swift test
Package.swift=.target( -> swift build
Cargo.toml=[package] a.rs=#[test] package.json=JEST -> cargo test; npm test
go/go.mod=m go/a_test.go= web/package.json=JEST -> go test ./... @ go; npm test @ web
a/b/c/go.mod=m a/b/c/a_test.go= -> go test ./... @ a/b/c
a/b/c/d/go.mod=m docs/go.mod=m target/go.mod=m .x/go.mod=m ->
Makefile=test: a/go.mod=m a/a_test.go= -> make test
feature_list.json=[{"name":"a","passes":false}] -> feature_list.json
prd.json={"userStories":[{"passes":true}]} ->
plan.json={"steps":[{"title":"a","status":"todo"}]} -> plan.json
plan.json=[{"title":"a","status":"completed"}] ->
tasks.md=-~[~]~one -> tasks.md
TODO.md=-~[~]~one ->
tasks.md=-~[x]~one fix_plan.md=prose feature_list.json=[] plan.json=[] ->
specs/001-a/tasks.md=-~[~]~one specs/002-b/tasks.md=-~[~]~two -> specs/001-a/tasks.md
"##;
const CTEST: &str =
    "cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure";

#[test]
fn each_project_gets_the_checks_it_has() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.git(&["switch", "-q", "-c", "001-a"]);
    for row in PROJECTS.lines() {
        let (files, expected) = row.split_once(" ->").expect("files and checks");
        repo.git(&["clean", "-qfdx"]);
        for file in files.split(' ') {
            let (path, text) = file.split_once('=').expect("a file and its text");
            let text = text.replace("JEST", r#"{"scripts": {"test": "jest"}}"#);
            repo.write(path, text.replace('~', " ") + "\n");
        }
        let out = proposed(&repo);
        let expected = expected.trim().replace("CTEST", CTEST);
        assert_eq!(checks(&out).join("; "), expected, "{row}: {out}");
        let is_null = out["proposed"].is_null();
        assert_eq!(is_null, expected.is_empty(), "no empty list: {out}");
        assert!(!repo.has("completion.json"), "{row}");
    }
    let records = env.state().join("watchdog.db");
    assert!(!records.exists(), "a dry run leaves no record");
}

#[test]
fn foreign_folders_get_no_check() {
    let env = TestEnv::new();
    let repo = env.repo();
    for folder in ["own", "piped", "scratch", "vendor/x", "tests/fixture"] {
        repo.write(&format!("{folder}/Makefile"), "test:\n\ttrue\n");
    }
    repo.write(".gitignore", "scratch/\n");
    make_pipe(&repo.path().join("piped/.gitignore"));
    symlink("own", repo.path().join("link")).unwrap();
    let other = env.repo_named("other");
    other.write("Makefile", "test:\n");
    other.commit_all("other");
    let allowed = "protocol.file.allow=always";
    repo.git_line("-c {} submodule --quiet add ../other sub", &[allowed]);
    repo.git(&["clone", "-q", "../other", "nested"]);
    assert_eq!(
        checks(&proposed(&repo)),
        ["make test @ own", "make test @ piped"]
    );
}

#[test]
fn notes_say_what_is_left_out() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("package.json", "\0{{{ nonsense \u{1b}[31m");
    repo.write(
        "web/package.json",
        json!({"scripts": {"test": "jest --watch"}}).to_string(),
    );
    repo.write("feature_list.json", "{\"features\": 7}");
    repo.write("prd.json", "[{\"passes\": false}]");
    repo.write("TODO.md", "- [ ] a wish\n");
    repo.write("tests/a.sh", "true\n");
    let large = fs::File::create(repo.path().join("Makefile")).unwrap();
    std::io::Write::write_all(&mut &large, b"test:\n\ttrue\n").unwrap();
    large.set_len(100 << 20).unwrap();
    make_pipe(&repo.path().join("justfile"));
    for number in 0..14 {
        repo.write(&format!("go{number}/go.mod"), "module x\n");
        repo.write(&format!("go{number}/a_test.go"), "package x\n");
    }
    for (path, text) in [
        (".agent/writer/agent.json", "{}"),
        (".ralphrc", "CB_NO_PROGRESS_THRESHOLD=$(touch ran)\n"),
        (".ralph/fix_plan.md", "- [ ] a\n"),
        ("config.json", "{\"specs_subdir\": \"specs\"}"),
        ("tanuki.yaml", "tasks_dir: tasks\n"),
    ] {
        repo.write(path, text);
    }
    let out = proposed(&repo);
    assert_eq!(checks(&out), ["make test", "prd.json"], "{out}");
    let told = out["notes"].to_string() + &out["offered"].to_string();
    for words in [
        "package.json is not used, as it is no valid JSON",
        "the script test of web/package.json is not used",
        "feature_list.json is not used",
        "prd.json is in no commit",
        "plan TODO.md",
        "guard tests/**",
        "check go test ./... in go0: go test ./... (go0/go.mod; `make test` in a folder above",
        "2 more checks of folders below",
        "found .agent/writer/agent.json: its verdict is not taken over; use --config, or see http",
        "found config.json: its limits are not taken over",
        "found .ralphrc: its limits are not taken over; see limits and breaker in http",
        "found .ralph/fix_plan.md: its steps are no check yet",
        "found tanuki.yaml: its folder of tasks is not taken over",
    ] {
        assert!(told.contains(words), "{words} is missing: {told}");
    }
    assert!(!repo.has("ran"), "a file of the shell is not run");
    let shown = repo.watchdog(&["init", "--dry-run"]).expect(0).to_string();
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn without_a_check_a_line_to_paste() {
    let env = TestEnv::new();
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let repo = env.repo_named("it's here");
    let out = repo.watchdog(&["init", "--yes", "--json"]).expect(0).json();
    let nothing = [&out["written"], &out["trusted"], &out["proposed"]];
    assert_eq!(nothing, [&Value::Null; 3], "{out}");
    let shown = repo.watchdog(&["init"]).expect(0).stdout;
    let line = shown.lines().last().unwrap_or_default();
    assert!(shown.contains("nothing is written"), "{shown}");
    assert_eq!(out["next"], line, "{shown}");
    assert!(!repo.has("completion.json"), "{shown}");
    let typed = line.replace("YOUR TESTS", "true");
    let shell = env.command("sh", Path::new("/")).args(["-c", &typed]);
    shell.run().expect(0);
    let tried = repo.watchdog(&["init", "--try", "--json"]).expect(0).json();
    assert_eq!(tried["tried"][0]["outcome"], "pass", "trusted: {tried}");
}

#[test]
fn a_check_of_a_folder_below_runs_there() {
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
    assert_eq!(out["tried"][0]["outcome"], "pass", "{out}");
    assert!(repo.has("api/tried"));
    let unknown = repo
        .watchdog(&["init", "--yes", "--try", "tests in apy"])
        .expect(2);
    assert!(unknown.stderr.contains("did you mean"), "{unknown}");
    assert!(!repo.has("completion.json"));
    fs::remove_file(repo.path().join("cli/justfile")).unwrap();
    repo.commit_all("chore: one program");
    repo.watchdog(&["init", "--yes"]).expect(0);
    let work = "echo x > x; git add x; git commit -qm 'feat: x'";
    let judged = repo
        .watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", work])
        .expect(0);
    judged.assert_verdict(
        "complete/checks_passed",
        json!({"/checks/0/name": "tests in api"}),
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
    let make = with_make(&env, "make");
    make.write(".github/workflows/ci.yml", "on: push\n");
    make.write("tests/a.sh", "true\n");
    let session = format!("echo y > tests/b.sh; git add tests; {work}");
    let passed = |codes| ("complete/checks_passed".to_owned(), codes);
    // A test that nothing runs shows nothing.
    let expected = [passed(json!(["tests_unknown"])), passed(json!([]))];
    assert_eq!(warnings(&make, &session), expected);
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
    let unmet = ("incomplete/checks_unmet".to_owned(), json!([]));
    assert_eq!(warnings(&lists, work), [unmet.clone(), unmet]);
}

#[test]
fn the_command_to_type_next_works() {
    let mut env = TestEnv::new();
    env.set("OUT", env.root().join("said"));
    install(
        &env,
        "claude",
        "case \"$*\" in *allowedTools*) printf '%s|' \"$@\" > \"$OUT\" ;; esac",
    );
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let repo = with_make(&env, "it's here");
    repo.write("PROMPT.md", "do it");
    repo.commit_all("the prompt");
    let output = env.root().join("said");
    let run = |cwd: &Path, args: &[&str]| {
        let shown = env.watchdog(cwd, args).expect(0).stdout;
        let next = shown
            .lines()
            .last()
            .unwrap_or_default()
            .strip_prefix("next: ")
            .expect("next");
        let typed = format!("{next} </dev/null");
        let _judged = env.command("sh", Path::new("/")).args(["-c", &typed]).run();
        (
            next.to_owned(),
            fs::read_to_string(&output).expect("the agent wrote it"),
        )
    };
    let here = repo.path().display().to_string().replace('\'', r"'\''");
    let expected = format!(
        "watchdog -C '{here}' run -- claude -p \"$(cat '{here}/PROMPT.md')\" --allowedTools Bash \
         Edit Write"
    );
    let (next, said) = run(repo.path(), &["init"]);
    assert_eq!(next, expected);
    assert_eq!(said, "-p|do it|--allowedTools|Bash|Edit|Write|");
    fs::remove_file(&output).unwrap();
    let (next, said) = run(
        &env.root(),
        &["-C", "it's here", "init", "--force", "--yes"],
    );
    assert_eq!(next, expected);
    assert!(said.starts_with("-p|do it|"), "{said}");
    let listed = env.watchdog(&env.root(), &["trust", "--list"]).expect(0);
    assert!(listed.stdout.contains("completion.json"), "{listed}");
}

#[test]
fn a_run_of_no_test_is_no_pass() {
    let env = TestEnv::new();
    let repo = with_make(&env, "repo");
    let ran = env.root().join("ran");
    repo.write("Makefile", format!("test:\n\t@echo x >> {}\n\t@echo 'running 0 tests'; echo 'test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'\n", ran.display()));
    repo.watchdog(&["init", "--yes"]).expect(0);
    assert!(!ran.exists(), "nothing runs without a word");
    let line = ["init", "--yes", "--force", "--try", "--json"];
    let tried = repo.watchdog(&line).expect(0).json()["tried"][0].clone();
    assert_eq!(
        [&tried["name"], &tried["outcome"]],
        ["tests", "unmet"],
        "{tried}"
    );
    assert_parts(&tried["feedback"].to_string(), &["ran no test"]);
    repo.write("Makefile", "test:\n\t@exit 7\n");
    let told = repo.watchdog(&line[..4]).expect(0).stderr;
    assert_parts(&told, &["unmet: `make test` ended with exit 2"]);
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
    told.assert_printed(&[
        "  proof: reruns prove a pass",
        "other worktrees have it once it is merged there",
    ]);
}

#[test]
fn a_terminal_writes_what_was_chosen() {
    let env = TestEnv::new();
    install(&env, "claude", "true");
    install(&env, "codex", "true");
    let repo = with_make(&env, "repo");
    repo.write("TODO.md", "- [ ] a wish\n");
    repo.write("tests/a.sh", "true\n");
    let mut asked = repo.watchdog_command(&["init"]).at_terminal();
    asked
        .wait_for("What does done mean here?")
        .wait_for("guard tests/**");
    // make test stays, the wishes are chosen as well, and so is the guard below them.
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
        ["make test", "TODO.md"]
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
fn signal_ends_a_terminal_check_and_watchdog() {
    let env = TestEnv::new();
    let repo = with_make(&env, "repo");
    let begun = env.root().join("begun");
    repo.write(
        "Makefile",
        format!("test:\n\t@touch {}; sleep 300\n", begun.display()),
    );
    let running = repo.watchdog_spawn(&["init", "--yes", "--try"]);
    crate::support::wait_until("the check runs", std::time::Duration::from_secs(60), || {
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
fn a_link_is_never_written_through() {
    let env = TestEnv::new();
    let repo = with_make(&env, "repo");
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
    let nowhere = env.root().join("nowhere");
    symlink(&nowhere, repo.path().join("completion.json")).unwrap();
    repo.watchdog(&["init"]).expect(2);
    assert!(!nowhere.exists());
    fs::remove_file(repo.path().join("completion.json")).unwrap();
    fs::create_dir(repo.path().join("completion.json")).unwrap();
    repo.watchdog(&["init", "--force"]).expect(2);
    fs::remove_dir(repo.path().join("completion.json")).unwrap();
    repo.watchdog(&["init"]).expect(0);
    repo.watchdog(&["init"]).expect(2).assert_told(&["--force"]);
    assert_eq!(repo.status(), "?? completion.json", "no draft is left");
}

#[test]
fn unwritable_place_is_explained_by_init() {
    let env = TestEnv::new();
    let out = env.watchdog(&env.root(), &["init"]).expect(16);
    out.assert_told(&["not", "repository"]);
    let repo = with_make(&env, "repo");
    let name = repo.path().to_str().unwrap();
    let read_only = format!(
        "mount --bind '{name}' '{name}' && mount -o remount,bind,ro '{name}' && cd '{name}' && exec \"$@\""
    );
    let unshare = env
        .command("unshare", &env.root())
        .args(["-rm", "sh", "-c", &read_only, "sh"]);
    let out = unshare
        .args([env!("CARGO_BIN_EXE_watchdog"), "init"])
        .run()
        .expect(16);
    out.assert_told(&["failed to write", "Read-only", "--dry-run"]);
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
fn cron_line_is_printed_with_its_missing_programs() {
    let env = TestEnv::new();
    let repo = env.repo();
    let people = repo.watchdog(&["init", "--cron"]).expect(0).stdout;
    let note = people.lines().last().unwrap_or_default();
    assert!(
        note.starts_with("# claude is not in PATH") && note.contains("--agent-program"),
        "{people}"
    );
    install(&env, "claude", "true");
    let read_notes = || {
        repo.watchdog(&["init", "--cron", "--json"])
            .expect(0)
            .json()["notes"]
            .clone()
    };
    let notes = read_notes().to_string();
    assert!(
        notes.starts_with("[\"claude is not in cron's own PATH"),
        "{notes}"
    );
    repo.write(
        "completion.json",
        json!({"agent": {"probe": ["sh", "ask.sh"]}}).to_string(),
    );
    repo.watchdog(&["trust"]).expect(0);
    assert_eq!(read_notes(), json!([]), "cron has a shell");
}
