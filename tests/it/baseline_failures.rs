//! Suites that were red when the work began: with `baseline_failures` the same failures, by name, hold no session.

use serde_json::{Value, json};

use crate::changed_tests::{FIX, python_suite, run, suite};
use crate::support::{CommandOutput, TestEnv};

/// A session that touches code and breaks nothing.
const HARMLESS: &str = "echo '# x' >> calc.py";
const BREAK_MUL: &str = "sed -i 's/a \\* b/a * b + 1/' calc.py";

fn allow() -> Value {
    json!({"baseline_failures": "allow"})
}

/// Verdict and evidence.
fn end(out: &CommandOutput) -> String {
    let evidence = &out.json()["evidence"];
    format!("{} {}", out.verdict(), evidence.as_str().unwrap_or("-"))
}

#[test]
fn failure_from_before_holds_no_session() {
    let env = TestEnv::new();
    let repo = python_suite(&env, "allowed", allow());
    let out = run(&repo, HARMLESS).expect(0);
    assert_eq!(end(&out), "complete/checks_passed committed", "{out}");
    let check = &out.json()["checks"][0];
    let name = "test_add (tests.test_calc.T.test_add)";
    assert_eq!(check["baseline_failures"], json!([name]), "{out}");
    assert_eq!(check["before"], "passed", "{out}");
    out.assert_has(
        "notes",
        &format!("1 test fails as when the work began: {name}"),
    );
    assert_eq!(repo.status(), "");
    // The repair of it is worth what it is without the word.
    let out = run(&repo, FIX).expect(0);
    assert_eq!(end(&out), "complete/checks_passed verified", "{out}");
    // Nobody did anything.
    let repo = python_suite(&env, "idle", allow());
    let out = run(&repo, "true");
    assert_ne!(out.json()["status"], "complete", "{out}");
}

#[test]
fn new_or_nameless_failure_holds_the_session() {
    let env = TestEnv::new();
    let skipped = "sed -i 's/    def test_mul/    @unittest.skip(\"x\")\\n&/' tests/test_calc.py";
    for (name, script, keys, words) in [
        ("refused", HARMLESS, json!({}), "test_add"),
        (
            "broken",
            BREAK_MUL,
            allow(),
            "test_mul (tests.test_calc.T.test_mul) did not fail when the work began",
        ),
        (
            "renamed",
            "sed -i 's/test_add/test_sum/' tests/test_calc.py",
            allow(),
            "test_sum",
        ),
        (
            "not loaded",
            "echo 'import nothing_there' >> calc.py",
            allow(),
            "it names 0 of 1 failures",
        ),
        (
            "new file not loaded",
            "echo 'import nothing_there' > tests/test_new.py",
            allow(),
            "it names 1 of 2 failures",
        ),
        (
            "ended",
            "sed -i '1iimport os; os._exit(1)' calc.py",
            allow(),
            "its closing lines are missing",
        ),
        (
            "taken away",
            "sed -i '/def test_mul/,$d' tests/test_calc.py",
            allow(),
            "1 test ran, and 2 when the work began",
        ),
        (
            "skipped",
            skipped,
            allow(),
            "1 test ran, and 2 when the work began",
        ),
        (
            "early",
            HARMLESS,
            json!({"baseline_failures": "allow", "run": "python3 -B -m unittest -qf"}),
            "leaves out tests",
        ),
        (
            "two commands",
            HARMLESS,
            json!({"baseline_failures": "allow", "run": "true; python3 -B -m unittest -q"}),
            "name one runner alone",
        ),
    ] {
        let repo = python_suite(&env, &name.replace(' ', "-"), keys);
        let out = run(&repo, script);
        assert_eq!(out.json()["status"], "incomplete", "{name}: {out}");
        out.assert_has("feedback", words);
        if name == "broken" {
            let accept = "snapshot --accept-criteria";
            out.assert_has("feedback", accept);
            let accept: Vec<&str> = accept.split(' ').collect();
            repo.watchdog(&accept).expect(0);
            let out = run(&repo, HARMLESS).expect(0);
            assert_eq!(end(&out), "complete/checks_passed committed", "{out}");
        }
    }
}

#[test]
fn weakened_test_beside_an_allowed_failure_is_held() {
    let env = TestEnv::new();
    let repo = python_suite(&env, "beside", allow());
    repo.write(
        "calc.py",
        "def add(a, b):\n    return a - b\n\ndef mul(a, b):\n    return a\n",
    );
    repo.commit_all("both are red");
    let out = run(
        &repo,
        "sed -i 's/3), 6/3), 2/' tests/test_calc.py; echo '# x' >> calc.py",
    );
    assert_eq!(out.verdict(), "review/tests_weakened", "{out}");
    out.assert_has("message", "test_mul");
}

#[test]
fn begin_is_read_from_nothing_that_the_session_wrote() {
    let env = TestEnv::new();
    let breaks = "mkdir -p .venv; echo 'raise ValueError' > .venv/broken.py";
    let test = "\n    def test_venv(self):\n        import runpy, os\n        if os.path.exists('.venv/broken.py'):\n            runpy.run_path('.venv/broken.py')\n";
    for (name, recorded) in [("after", false), ("before", true)] {
        let repo = python_suite(&env, name, allow());
        repo.write(".gitignore", "__pycache__/\n.venv/\n");
        let tests =
            std::fs::read_to_string(repo.path().join("tests/test_calc.py")).expect("it is there");
        repo.write("tests/test_calc.py", tests + test);
        repo.commit_all("a test that reads a dependency");
        let out = if recorded {
            run(&repo, &format!("{breaks}; {HARMLESS}"))
        } else {
            repo.watchdog(&["snapshot"]).expect(0);
            let script = format!("{breaks}; {HARMLESS}; git commit -qam work");
            repo.env_command("sh", &["-c", &script]).run().expect(0);
            repo.watchdog(&["check", "--json", "--no-probe"])
        };
        assert_eq!(out.json()["status"], "incomplete", "{name}: {out}");
        let words = if recorded {
            "test_venv (tests.test_calc.T.test_venv) did not fail"
        } else {
            ".venv changed since the work began"
        };
        out.assert_has("feedback", words);
    }
}

#[test]
fn flaky_failure_is_none_from_before() {
    let env = TestEnv::new();
    // It fails in the first run of all.
    let flaky = "import os, unittest\n\nclass F(unittest.TestCase):\n    def test_once(self):\n        mark = os.environ['HOME'] + '/ran'\n        seen = os.path.exists(mark)\n        open(mark, 'w').close()\n        self.assertTrue(seen and not os.path.exists('broken'))\n";
    let repo = python_suite(&env, "flaky", allow());
    repo.write("tests/test_flaky.py", flaky);
    repo.commit_all("a flaky test");
    let out = run(&repo, "touch broken");
    assert_eq!(out.json()["status"], "incomplete", "{out}");
    out.assert_has(
        "feedback",
        "test_once (tests.test_flaky.F.test_once) did not fail when the work began",
    );
}

#[test]
fn runners_that_name_tests_are_compared() {
    let env = TestEnv::new();
    let node = [
        (
            "calc.mjs",
            "export const add = (a, b) => a - b\nexport const mul = (a, b) => a * b\n",
        ),
        (
            "test/calc.test.mjs",
            "import { test, describe, it } from 'node:test'\nimport assert from 'node:assert'\nimport { add, mul } from '../calc.mjs'\ndescribe('sums', () => { it('adds', () => { assert.equal(add(2, 2), 4) }) })\ntest('muls', () => { assert.equal(mul(2, 3), 6) })\n",
        ),
    ];
    let go = [
        ("go.mod", "module calc\n\ngo 1.19\n"),
        (
            "calc.go",
            "package calc\n\nfunc Add(a, b int) int { return a - b }\n\nfunc Mul(a, b int) int { return a * b }\n",
        ),
        (
            "calc_test.go",
            "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 2) != 4 {\n\t\tt.Fatal(\"no sum\")\n\t}\n}\n\nfunc TestMul(t *testing.T) {\n\tif Mul(2, 3) != 6 {\n\t\tt.Fatal(\"no product\")\n\t}\n}\n",
        ),
    ];
    let cargo = [
        (
            "Cargo.toml",
            "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n",
        ),
        (
            "Cargo.lock",
            "version = 3\n\n[[package]]\nname = \"calc\"\nversion = \"0.1.0\"\n",
        ),
        (
            "src/lib.rs",
            "pub fn add(a: i32, b: i32) -> i32 { a - b }\npub fn mul(a: i32, b: i32) -> i32 { a * b }\n",
        ),
        (
            "tests/calc.rs",
            "#[test]\nfn adds() { assert_eq!(calc::add(2, 2), 4); }\n#[test]\nfn muls() { assert_eq!(calc::mul(2, 3), 6); }\n",
        ),
    ];
    // The environment of a test has neither on its path.
    let rustc = std::path::Path::new(env!("CARGO")).with_file_name("rustc");
    let cargo_test = format!(
        "CARGO_INCREMENTAL=0 RUSTC={} {} test --offline --no-fail-fast",
        rustc.display(),
        env!("CARGO")
    );
    for (name, files, command, code, failing) in [
        (
            "node",
            &node[..],
            "node --test",
            "calc.mjs",
            ["adds", "muls"],
        ),
        (
            "go",
            &go,
            "go test -v ./...",
            "calc.go",
            ["TestAdd", "TestMul"],
        ),
        ("cargo", &cargo, &cargo_test, "src/lib.rs", ["adds", "muls"]),
    ] {
        let keys = json!({"run": command, "baseline_failures": "allow"});
        let repo = suite(&env, name, files, keys);
        repo.write(".gitignore", "target/\n");
        repo.commit_all("ignored");
        let out = run(&repo, &format!("echo '// x' >> {code}")).expect(0);
        assert_eq!(
            end(&out),
            "complete/checks_passed committed",
            "{name}: {out}"
        );
        let [before, new] = failing;
        assert_eq!(
            out.json()["checks"][0]["baseline_failures"],
            json!([before]),
            "{name}: {out}"
        );
        let out = run(&repo, &format!("sed -i 's/a \\* b/a * b + 1/' {code}"));
        assert_eq!(out.json()["status"], "incomplete", "{name}: {out}");
        out.assert_has(
            "feedback",
            &format!("{new} did not fail when the work began"),
        );
    }
}
