//! Real outputs of test runners, with the expected figures. The runners themselves printed those of cargo, nextest, pytest, unittest, go,
//! node, jest, vitest, mocha, rspec and ctest; those of surefire, gradle and dotnet are from their documentation and issue
//! threads.

use super::super::answers::{CapturedStream, CommandOutput};
use super::read_reports;
use watchdog_facts::evidence::TestCounts;

fn output(stdout: &str) -> CommandOutput {
    CommandOutput {
        stdout: CapturedStream::whole(stdout),
        stderr: CapturedStream::default(),
    }
}

#[track_caller]
fn counts(name: &str, text: &str, ran: u64, failed: u64, skipped: u64) {
    let run =
        read_reports(&output(text)).unwrap_or_else(|| panic!("{name}: not recognised in {text}"));
    assert_eq!(
        run.counts,
        Some(TestCounts {
            ran,
            failed,
            skipped
        }),
        "{name}: {text}"
    );
}

#[track_caller]
fn fails(name: &str, text: &str, test: &str, message: &str) {
    let failure = read_reports(&output(text))
        .and_then(|run| run.failure)
        .unwrap_or_else(|| panic!("{name}: no failure in {text}"));
    assert_eq!(
        (failure.name.as_str(), failure.message.as_str()),
        (test, message),
        "{name}"
    );
}

const CARGO: &str = "\nrunning 3 tests\ntest tests::bad ... FAILED\ntest tests::ok ... ok\ntest tests::later ... ignored\n\nfailures:\n\n\
    ---- tests::bad stdout ----\n\nthread 'tests::bad' (4711) panicked at src/lib.rs:7:9:\nassertion `left == right` failed\n  left: 1\n \
    right: 2\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\nfailures:\n    tests::bad\n\n\
    test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";

const CARGO_NONE: &str = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.00s\n\n";

const NEXTEST: &str = "    Starting 71 tests across 1 binary (626 tests skipped)\n        FAIL [   1.192s] (54/71) crate machine::tests::once\n  \
    stdout ---\n\n    thread 'machine::tests::once' panicked at src/once.rs:179:9:\n    assertion failed: x\n────────────\n     Summary [  \
    12.649s] 71 tests run: 70 passed (1 slow), 1 failed, 626 skipped\n";

const PYTEST: &str = "test_a.py F.s                                                            [100%]\n\n=================================== \
    FAILURES ===================================\n\ntest_a.py:4: AssertionError\n=========================== short test summary info \
    ============================\nFAILED test_a.py::T::test_bad - AssertionError: 1 != 2 : numbers differ\n==================== 1 failed, 1 \
    passed, 1 skipped in 0.08s ====================\n";

const PYTEST_COLOURED: &str = "\u{1b}[31mFAILED\u{1b}[0m test_a.py::\u{1b}[1mT::test_bad\u{1b}[0m - AssertionError: 1 != 2\n\
    \u{1b}[31m==================== \u{1b}[31m\u{1b}[1m1 failed\u{1b}[0m, \u{1b}[32m1 passed\u{1b}[0m, \u{1b}[33m1 skipped\u{1b}[0m\u{1b}[31m in \
    0.19s\u{1b}[0m\u{1b}[31m ====================\u{1b}[0m\n";

const UNITTEST: &str = "F.s\n======================================================================\nFAIL: test_bad (test_a.T.test_bad)\n\
    ----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"test_a.py\", line 4, \
    in test_bad\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2 : numbers differ\n\n\
    ----------------------------------------------------------------------\nRan 3 tests in 0.001s\n\nFAILED (failures=1, skipped=1)\n";

const GO: &str = "--- FAIL: TestBad (0.00s)\n    a_test.go:4: want 2, got 1\nFAIL\nFAIL\tex\t0.002s\n?   \tex/none\t[no test files]\nok  \tex/sub\t0.004s\nFAIL\n";

const GO_V: &str = "=== RUN   TestOk\n=== RUN   TestOk/sub\n--- PASS: TestOk (0.00s)\n    --- PASS: TestOk/sub (0.00s)\n=== RUN   TestBad\n    \
    a_test.go:4: want 2, got 1\n--- FAIL: TestBad (0.00s)\n=== RUN   TestSkip\n    a_test.go:5: later\n--- SKIP: TestSkip (0.00s)\nFAIL\n\
    FAIL\tex\t0.004s\n?   \tex/none\t[no test files]\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\nok  \tex/sub\t0.002s\nFAIL\n";

const GO_JSON: &str = r#"{"Time":"2026-11-22T10:09:24.56Z","Action":"output","Package":"ex/none","Output":"?   \tex/none\t[no test files]\n"}
{"Time":"2026-11-22T10:09:24.56Z","Action":"skip","Package":"ex/none","Elapsed":0}
{"Time":"2026-11-22T10:09:24.71Z","Action":"run","Package":"ex/sub","Test":"TestB"}
{"Time":"2026-11-22T10:09:24.71Z","Action":"output","Package":"ex/sub","Test":"TestB","Output":"--- PASS: TestB (0.00s)\n"}
{"Time":"2026-11-22T10:09:24.71Z","Action":"pass","Package":"ex/sub","Test":"TestB","Elapsed":0}
{"Time":"2026-11-22T10:09:24.71Z","Action":"pass","Package":"ex/sub","Elapsed":0.003}
"#;

const GO_NONE: &str = "ok  \tex\t0.004s [no tests to run]\n?   \tex/none\t[no test files]\nok  \tex/sub\t(cached) [no tests to run]\n";

const NODE_TAP: &str = "TAP version 13\n# Subtest: ok\nok 1 - ok\n  ---\n  duration_ms: 3.85\n  ...\n# Subtest: bad\nnot ok 2 - bad\n  ---\n  \
    duration_ms: 1.22\n  location: 'a.test.js:2:20'\n  failureType: 'testCodeFailure'\n  error: '1 == 2'\n  code: 'ERR_ASSERTION'\n  ...\n\
    ok 3 - sk # SKIP\n1..3\n# tests 5\n# suites 1\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 1\n# duration_ms 225.77\n";

const NODE_SPEC: &str = "✔ ok (1.391891ms)\n✖ bad (1.212965ms)\n  AssertionError [ERR_ASSERTION]: 1 == 2\nℹ tests 3\nℹ suites 0\nℹ pass 1\n\
    ℹ fail 1\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0\nℹ duration_ms 232.59\n\n✖ failing tests:\n\ntest at a.test.js:2:20\n✖ bad \
    (1.212965ms)\n  AssertionError [ERR_ASSERTION]: 1 == 2\n      at TestContext.<anonymous> (a.test.js:2:38)\n";

const JEST: &str = "FAIL src/a.test.js\n  ● sums › adds\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 3\n    \
    Received: 2\n\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 1 skipped, 2 todo, 3 passed, 7 total\nSnapshots:   0 \
    total\nTime:        0.5 s\n";

const VITEST: &str = " FAIL  src/a.test.ts > sums > adds\nAssertionError: expected 2 to be 3 // Object.is equality\n\n Test Files  1 failed \
    | 1 passed (2)\n      Tests  1 failed | 3 passed | 1 skipped | 1 todo (6)\n   Start at  10:00:00\n";

const MOCHA: &str = "  sums\n    ✔ is there\n    1) adds\n\n\n  3 passing (8ms)\n  1 pending\n  1 failing\n\n  1) sums\n       adds:\n\n      \
    AssertionError [ERR_ASSERTION]: 2 == 3\n      + expected - actual\n";

const RSPEC: &str = "Failures:\n\n  1) Sum adds\n     Failure/Error: expect(1 + 1).to eq(3)\n\n       expected: 3\n            got: 2\n\n\
    Finished in 0.01 seconds (files took 0.1 seconds to load)\n5 examples, 1 failure, 1 pending\n\nFailed examples:\n\nrspec \
    ./spec/sum_spec.rb:4 # Sum adds\n";

const SUREFIRE: &str = "[INFO] Running ex.FooTest\n[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1, Time elapsed: 0.05 s <<< FAILURE! \
    - in ex.FooTest\n[INFO] Results:\n[INFO] \n[ERROR] Failures: \n[ERROR]   FooTest.adds:12 expected:<3> but was:<2>\n[INFO] \n[ERROR] Tests \
    run: 3, Failures: 1, Errors: 0, Skipped: 1\n[INFO] \n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n";

const GRADLE: &str = "> Task :app:compileTestJava\n> Task :app:test FAILED\n\nFooTest > adds() FAILED\n    org.opentest4j.AssertionFailedError: \
    expected: <3> but was: <2>\n        at FooTest.java:12\n\n5 tests completed, 1 failed, 1 skipped\n\nFAILURE: Build failed with an exception.\n";

const CTEST: &str = "    Start 1: adds\n1/3 Test #1: adds .............................   Passed    0.00 sec\n2/3 Test #2: subtracts \
    ........................***Failed    0.00 sec\n3/3 Test #3: later ............................***Skipped   0.00 sec\n\n67% tests passed, 1 \
    tests failed out of 3\n\nTotal Test time (real) =   0.01 sec\n\nThe following tests did not run:\n\t  3 - later (Skipped)\n\nThe following \
    tests FAILED:\n\t  2 - subtracts (Failed)\nErrors while running CTest\n";

const DOTNET: &str = "  Failed Ex.SumTests.Adds [12 ms]\n  Error Message:\n   Assert.Equal() Failure: Values differ\nExpected: 3\n\
    Failed!  - Failed:     1, Passed:     3, Skipped:     1, Total:     5, Duration: 24 ms - Ex.Tests.dll (net8.0)\n";

#[test]
fn the_figures_of_every_runner_are_read() {
    for (name, text, (ran, failed, skipped)) in [
        ("cargo", CARGO, (2, 1, 1)),
        ("pytest", PYTEST, (2, 1, 1)),
        ("pytest in colours", PYTEST_COLOURED, (2, 1, 1)),
        ("pytest -q", "1 passed, 2 deselected in 0.03s\n", (1, 0, 0)),
        (
            "pytest of long",
            "3 passed, 2 warnings, 1 xfailed, 1 error in 75.10s (0:01:15)\n",
            (5, 1, 0),
        ),
        (
            "pytest of all kinds",
            "2 failed, 3 passed, 1 xfailed, 2 xpassed, 3 errors in 1.00s\n",
            (11, 5, 0),
        ),
        (
            "pytest of one error",
            "2 failed, 1 error in 1.00s\n",
            (3, 3, 0),
        ),
        (
            "cargo bench",
            "running 3 tests\ntest result: ok. 1 passed; 0 failed; 0 ignored; 2 measured; 0 filtered out\n",
            (3, 0, 0),
        ),
        ("nextest", NEXTEST, (71, 1, 626)),
        (
            "nextest cut short",
            "     Summary [   0.1s] 3/9 tests run: 1 passed, 1 failed, 1 timed out, 2 skipped\n",
            (3, 2, 2),
        ),
        ("unittest", UNITTEST, (2, 1, 1)),
        (
            "unittest of errors",
            "Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=2, skipped=1)\n",
            (4, 3, 1),
        ),
        ("go -v", GO_V, (4, 1, 1)),
        (
            "go -v of a program that logs",
            &format!("{{\"level\":\"info\"}}\n{GO_V}\"Action\":\n"),
            (4, 1, 1),
        ),
        ("go -json", GO_JSON, (1, 0, 0)),
        ("node", NODE_TAP, (3, 1, 2)),
        ("node's spec", NODE_SPEC, (2, 1, 1)),
        ("jest", JEST, (4, 1, 3)),
        ("vitest", VITEST, (4, 1, 2)),
        (
            "vitest of expected failures",
            "      Tests  1 failed | 2 passed | 1 expected fail (4)\n",
            (4, 1, 0),
        ),
        ("mocha", MOCHA, (4, 1, 1)),
        ("rspec", RSPEC, (4, 1, 1)),
        (
            "rspec outside",
            "0 examples, 0 failures, 1 error occurred outside of examples\n",
            (0, 1, 0),
        ),
        ("surefire", SUREFIRE, (4, 1, 1)),
        ("gradle", GRADLE, (4, 1, 1)),
        (
            "gradle with a logger",
            "> Task :test\nSUCCESS: Executed 7 tests in 1.2s (2 skipped)\n",
            (5, 0, 2),
        ),
        (
            "surefire of errors",
            "[ERROR] Tests run: 7, Failures: 1, Errors: 2, Skipped: 0\n",
            (7, 3, 0),
        ),
        ("ctest", CTEST, (2, 1, 1)),
        (
            "ctest of disabled ones",
            &format!(
                "4/5 Test #4: off ..............................***Not Run (Disabled)   0.00 sec\n{CTEST}"
            ),
            (2, 1, 2),
        ),
        ("dotnet", DOTNET, (4, 1, 1)),
        (
            "dotnet's new logger",
            "Test summary: total: 4, failed: 0, succeeded: 3, skipped: 1, duration: 1.2s\n",
            (3, 0, 1),
        ),
        // Printed by deno 2.9 itself; those of the following runners are from documentation and issue threads.
        (
            "deno",
            "FAILED | 2 passed (1 step) | 1 failed | 1 ignored (40ms)\n",
            (3, 1, 1),
        ),
        (
            "bun",
            " 3 pass\n 1 skip\n 2 fail\n 800 expect() calls\nRan 6 tests across 3 files. [1.23s]\n",
            (5, 2, 1),
        ),
        (
            "playwright",
            "Running 6 tests using 2 workers\n  1 failed\n    a.spec.ts:3:1 › bad\n  1 flaky\n  1 skipped\n  3 passed (1.2s)\n",
            (5, 1, 1),
        ),
        ("phpunit", "OK (3 tests, 5 assertions)\n", (3, 0, 0)),
        (
            "phpunit's failures",
            "FAILURES!\nTests: 5, Assertions: 4, Failures: 1, Skipped: 1.\n",
            (4, 1, 1),
        ),
        (
            "minitest",
            "4 runs, 5 assertions, 1 failures, 1 errors, 1 skips\n",
            (3, 2, 1),
        ),
        (
            "mix",
            "1 doctest, 4 tests, 1 failure, 1 excluded\n",
            (4, 1, 1),
        ),
        (
            "mix --only",
            "All tests have been excluded.\n\n3 tests, 0 failures, 3 excluded\n",
            (0, 0, 3),
        ),
        (
            "mix of 1.19",
            "5 tests, 1 failure, 1 skipped (3 excluded)\n",
            (4, 1, 4),
        ),
        (
            "pest",
            "\n  Tests:    1 failed, 1 todo, 3 passed (5 assertions)\n  Duration: 0.11s\n",
            (4, 1, 1),
        ),
        (
            "swift",
            "\t Executed 2 tests, with 0 failures (0 unexpected) in 0.1 (0.1) seconds\n\t Executed 3 tests, with 1 test skipped and 1 failure (0 unexpected) \
             in 0.1 (0.1) seconds\n✔ Test run with 0 tests passed after 0.001 seconds.\n",
            (2, 1, 1),
        ),
        (
            "tox",
            "1 passed in 0.01s\n  py39: SKIP (0.00 seconds)\n  py: OK (0.2 seconds)\n",
            (1, 0, 0),
        ),
        (
            "dotnet's old one",
            "Total tests: 4\n     Passed: 3\n    Skipped: 1\n Total time: 0.7 Seconds\n",
            (3, 0, 1),
        ),
    ] {
        counts(name, text, ran, failed, skipped);
    }
}

#[test]
fn empty_test_run_is_recognised() {
    for (name, text) in [
        ("cargo", CARGO_NONE),
        (
            "cargo, ignored ones only",
            "running 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
        ),
        (
            "nextest",
            "     Summary [   0.000s] 0 tests run: 0 passed\n",
        ),
        (
            "pytest",
            "============================ no tests ran in 0.02s =============================\n",
        ),
        (
            "pytest -k",
            "============================ 3 deselected in 0.21s =============================\n",
        ),
        (
            "unittest",
            "\n----------------------------------------------------------------------\nRan 0 tests in 0.000s\n\nOK\n",
        ),
        (
            "unittest of 3.12",
            "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n",
        ),
        ("go", GO_NONE),
        ("go without files", "?   \tex/none\t[no test files]\n"),
        (
            "node",
            "TAP version 13\n1..0\n# tests 0\n# suites 0\n# pass 0\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n",
        ),
        ("jest", "No tests found, exiting with code 0\n"),
        ("jest's total", "Tests:       0 total\n"),
        ("vitest", "No test files found, exiting with code 0\n"),
        ("vitest's total", "      Tests  no tests\n"),
        ("mocha", "\n\n  0 passing (1ms)\n\n"),
        ("rspec", "0 examples, 0 failures\n"),
        ("surefire", "[INFO] No tests to run.\n"),
        ("surefire skipped", "[INFO] Tests are skipped.\n"),
        (
            "gradle",
            "> Task :compileTestJava NO-SOURCE\n> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n",
        ),
        ("ctest", "Test project build\nNo tests were found!!!\n"),
        // Printed by deno 2.9, npm 10 and make 4.3 themselves; the others are from documentation, tests and issue threads.
        (
            "deno",
            "running 0 tests from ./empty_test.ts\n\nok | 0 passed | 0 failed (7ms)\n",
        ),
        (
            "deno --filter",
            "\nok | 0 passed | 0 failed | 4 filtered out (11ms)\n",
        ),
        ("make", "make: Nothing to be done for 'test'.\n"),
        ("make of a folder", "make: 'tests' is up to date.\n"),
        ("gmake", "gmake: Nothing to be done for 'test'.\n"),
        (
            "make beneath make",
            "make: Entering directory '/x/a'\n/usr/bin/make[1]: 'test' is up to date.\n",
        ),
        (
            "make in German",
            "make: Für das Ziel „test“ ist nichts zu tun.\n",
        ),
        (
            "make in French",
            "make: Rien à faire pour «\u{a0}check\u{a0}».\n",
        ),
        ("make in Chinese", "make: 对“test”无需做任何事。\n"),
        ("pest", "\n   INFO  No tests found.\n\n"),
        ("mix, all excluded", "All tests have been excluded.\n"),
        ("task", "task: Task \"test\" is up to date\n"),
        (
            "sbt",
            "[info] No tests to run for Test / testOnly\n[success] Total time: 1 s\n",
        ),
        (
            "leiningen",
            "Ran 0 tests containing 0 assertions.\n0 failures, 0 errors.\n",
        ),
        (
            "bazel",
            "INFO: No test targets were found, yet testing was requested\n",
        ),
        ("flutter", "No tests ran.\n"),
        (
            "prove",
            "Files=0, Tests=0,  0 wallclock secs\nResult: NOTESTS\n",
        ),
        (
            "karma",
            "Chrome Headless: Executed 0 of 0 SUCCESS (0.003 secs / 0 secs)\n",
        ),
        ("cucumber", "0 scenarios\n0 steps\n0m00.000s\n"),
        (
            "bun",
            "bun test v1.3.3\n\n 0 pass\n 0 fail\nRan 0 tests across 1 file. [8.00ms]\n",
        ),
        ("bun without files", "bun test v1.3.3\nNo tests found!\n"),
        ("playwright", "Error: No tests found\n"),
        (
            "playwright's total",
            "\nRunning 0 tests using 0 workers\n\n",
        ),
        (
            "phpunit",
            "PHPUnit 11.5.2 by Sebastian Bergmann and contributors.\n\nNo tests executed!\n",
        ),
        (
            "minitest",
            "Run options: --seed 1\n\n0 runs, 0 assertions, 0 failures, 0 errors, 0 skips\n",
        ),
        (
            "test-unit",
            "0 tests, 0 assertions, 0 failures, 0 errors, 0 pendings, 0 omissions, 0 notifications\n",
        ),
        ("mix", "There are no tests to run\n"),
        (
            "swift",
            "\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 (0.000) seconds\n✔ Test run with 0 tests in 0 suites passed after 0.001 seconds.\n",
        ),
        (
            "swift --filter",
            "warning: No matching test cases were run\n",
        ),
        (
            "tox",
            "  py39: SKIP (0.00 seconds)\n  py310: SKIP (0.01 seconds)\n  congratulations :) (0.05 seconds)\n",
        ),
        (
            "tox 3",
            "SKIPPED:  py39: InterpreterNotFound: python3.9\n  congratulations :)\n",
        ),
        (
            "turbo",
            "• Running test in 7 packages\n\nWARNING  No tasks were executed as part of this run.\n\n Tasks:    0 successful, 0 total\n",
        ),
        ("nx", "\n NX   No tasks were run\n\n"),
        (
            "pnpm -r",
            "None of the selected packages has a \"test\" script\n",
        ),
        (
            "pnpm --filter",
            "No projects matched the filters in \"/w\"\n",
        ),
        (
            "dotnet",
            "No test is available in Ex.Tests.dll. Make sure that test discoverer & executors are registered.\n",
        ),
    ] {
        counts(name, text, 0, 0, 0);
    }
}

#[test]
fn runs_add_up_and_ignore_results_tests_print() {
    counts("workspace", &format!("{CARGO}{CARGO_NONE}{CARGO}"), 4, 2, 2);
    counts("two runners", &format!("{CARGO}{PYTEST}"), 4, 2, 2);
    let faked = "running 1 test\ntest result: ok. 99 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\ntest a ... ok\n\n\
        test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    counts("a test that prints a result", faked, 1, 0, 0);
    let streams = CommandOutput {
        stdout: CapturedStream::whole(CARGO),
        stderr: CapturedStream::whole(UNITTEST),
    };
    assert_eq!(
        read_reports(&streams).unwrap().counts,
        Some(TestCounts {
            ran: 4,
            failed: 2,
            skipped: 2
        })
    );
}

#[test]
fn uncounted_run_is_unknown_and_other_output_ignored() {
    for uncounted in [
        GO,
        "ok  \tex/sub\t(cached)\n",
        "> Task :test\n\nBUILD SUCCESSFUL in 3s\n",
        "> Task :test UP-TO-DATE\n",
    ] {
        assert_eq!(
            read_reports(&output(uncounted)).unwrap().counts,
            None,
            "{uncounted}"
        );
    }
    let gap = CapturedStream {
        head: CARGO.into(),
        dropped: 10,
        tail: CARGO.into(),
    };
    assert_eq!(
        read_reports(&CommandOutput {
            stdout: gap,
            stderr: CapturedStream::default()
        })
        .unwrap()
        .counts,
        None
    );
    for none in [
        "",
        "12 passed",
        "all is well\n0 failures\n",
        "Tests: none",
        "test result: ok. 5 passed",
        "Compiling a v0.1\nFinished",
        "5 tests completed",
        "make: Nothing to be done for 'all'.\n",
        "make: Entering directory '/x/tests'\nmake: Leaving directory '/x/tests'\n",
        "make: *** [Makefile:2: 'test'] Error 1\n",
        "[info] No tests to run for a / Test\n[info] Passed: Total 5, Failed 0, Errors 0, Passed 5\n",
        "No tests ran.\n00:01 +3: All tests passed!\n",
        "sh run.sh\nall good\nmake[1]: Nothing to be done for 'test'.\n",
        "  py: OK (0.01 seconds)\n",
        "OK (fine)",
        "# pass 3\n# fail 0\n",
    ] {
        assert_eq!(read_reports(&output(none)), None, "{none}");
    }
    counts(
        "nonsense",
        "99999999999999999999999 passed in 0.1s\n",
        0,
        0,
        0,
    );
    let huge = format!(
        "{0} failed, {0} passed in 0.1s\n{0} passed in 0.1s\n",
        u64::MAX / 2
    );
    assert!(read_reports(&output(&huge)).is_some());
}

#[test]
fn first_failing_test_is_named_with_message() {
    for (name, text, test, message) in [
        (
            "cargo",
            CARGO,
            "tests::bad",
            "src/lib.rs:7:9: assertion `left == right` failed",
        ),
        (
            "nextest",
            NEXTEST,
            "crate machine::tests::once",
            "src/once.rs:179:9: assertion failed: x",
        ),
        (
            "pytest",
            PYTEST,
            "test_a.py::T::test_bad",
            "AssertionError: 1 != 2 : numbers differ",
        ),
        (
            "unittest",
            UNITTEST,
            "test_bad (test_a.T.test_bad)",
            "AssertionError: 1 != 2 : numbers differ",
        ),
        ("go", GO, "TestBad", "a_test.go:4: want 2, got 1"),
        ("go -v", GO_V, "TestBad", "a_test.go:4: want 2, got 1"),
        ("node", NODE_TAP, "bad", "1 == 2"),
        (
            "node's spec",
            NODE_SPEC,
            "bad",
            "AssertionError [ERR_ASSERTION]: 1 == 2",
        ),
        (
            "jest",
            JEST,
            "sums › adds",
            "expect(received).toBe(expected) // Object.is equality",
        ),
        (
            "vitest",
            VITEST,
            "src/a.test.ts > sums > adds",
            "AssertionError: expected 2 to be 3 // Object.is equality",
        ),
        (
            "mocha",
            MOCHA,
            "sums adds",
            "AssertionError [ERR_ASSERTION]: 2 == 3",
        ),
        (
            "rspec",
            RSPEC,
            "Sum adds (./spec/sum_spec.rb:4)",
            "expected: 3",
        ),
        (
            "surefire",
            SUREFIRE,
            "FooTest.adds:12",
            "expected:<3> but was:<2>",
        ),
        (
            "gradle",
            GRADLE,
            "FooTest > adds()",
            "org.opentest4j.AssertionFailedError: expected: <3> but was: <2>",
        ),
        ("ctest", CTEST, "subtracts", "Failed"),
        (
            "dotnet",
            DOTNET,
            "Ex.SumTests.Adds",
            "Assert.Equal() Failure: Values differ",
        ),
    ] {
        fails(name, text, test, message);
    }
}

#[test]
fn nested_test_is_named_instead_of_suite() {
    let nested = "▶ sums\n  ✖ adds (1.2ms)\n✖ sums (2.1ms)\nℹ tests 1\nℹ pass 0\nℹ fail 1\n\n✖ failing tests:\n\ntest at a.test.js:2:20\n\
        ✖ adds (1.2ms)\n  Error: boom\n";
    fails("node's spec", nested, "adds", "Error: boom");
}

#[test]
fn failure_message_is_searched_near_test_name() {
    let below = |lines: usize| {
        format!(
            " FAIL  a.test.ts > adds\n{}Error: boom\n      Tests  1 failed (1)\n",
            "\n".repeat(lines)
        )
    };
    fails(
        "the last line that is near",
        &below(39),
        "a.test.ts > adds",
        "Error: boom",
    );
    fails("one that is not", &below(40), "a.test.ts > adds", "");
    let panicked = |below: &str| {
        format!(
            "running 1 test\ntest t ... FAILED\n\n---- t stdout ----\nthread 't' panicked at src/lib.rs:7:9:\n{below}\n\n\
             test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n"
        )
    };
    fails(
        "a panic with words",
        &panicked("boom"),
        "t",
        "src/lib.rs:7:9: boom",
    );
    for silent in [
        "",
        "  ",
        "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
    ] {
        fails(
            "a panic without words",
            &panicked(silent),
            "t",
            "src/lib.rs:7:9",
        );
    }
}

/// Whole runs, each with a test that passes, one that fails and one that is skipped or still to be written.
#[test]
fn whole_runs_as_they_were_printed_are_read() {
    let jest = include_str!("../../../../../tests/it/fixtures/runners/jest.txt");
    let vitest = include_str!("../../../../../tests/it/fixtures/runners/vitest.txt");
    let mocha = include_str!("../../../../../tests/it/fixtures/runners/mocha.txt");
    let rspec = include_str!("../../../../../tests/it/fixtures/runners/rspec.txt");
    let ctest = include_str!("../../../../../tests/it/fixtures/runners/ctest.txt");
    for (name, text, (ran, failed, skipped), (test, message)) in [
        (
            "jest 30",
            jest,
            (3, 2, 2),
            (
                "fails here",
                "expect(received).toBe(expected) // Object.is equality",
            ),
        ),
        (
            "vitest 3 in colours",
            vitest,
            (2, 1, 2),
            (
                "a.test.ts > fails here",
                "AssertionError: expected 2 to be 3 // Object.is equality",
            ),
        ),
        ("mocha 12", mocha, (3, 2, 1), ("fails here", "Error: boom")),
        (
            "rspec 3.12",
            rspec,
            (2, 1, 1),
            ("A fails here (./a_spec.rb:3)", "expected: 3"),
        ),
        ("ctest 3.25", ctest, (2, 1, 1), ("bad", "Failed")),
    ] {
        counts(name, text, ran, failed, skipped);
        fails(name, text, test, message);
    }
}
