//! Real outputs of test runners, with the expected figures. The runners themselves printed those of cargo, nextest, pytest, unittest, go,
//! node, jest, vitest, mocha, rspec and ctest; those of surefire, gradle and dotnet are from their documentation and issue
//! threads.

use super::super::answers::{CapturedStream, CommandOutput};
use super::{find_unnamed_failure, read_reports};
use watchdog_facts::evidence::{ProcessExit, TestCounts};

fn wrap_stdout(stdout: &str) -> CommandOutput {
    CommandOutput {
        stdout: CapturedStream::whole(stdout),
        stderr: CapturedStream::default(),
    }
}

#[track_caller]
fn check_counts(name: &str, text: &str, ran: u64, failed: u64, skipped: u64) {
    let run = read_reports(&wrap_stdout(text))
        .unwrap_or_else(|| panic!("{name}: not recognised in {text}"));
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
fn check_failure(name: &str, text: &str, test: &str, message: &str) {
    let failure = read_reports(&wrap_stdout(text))
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
        ("cargo without tests", CARGO_NONE, (0, 0, 0)),
        ("go without tests", GO_NONE, (0, 0, 0)),
        ("pytest", PYTEST, (2, 1, 1)),
        ("pytest in colours", PYTEST_COLOURED, (2, 1, 1)),
        ("nextest", NEXTEST, (71, 1, 626)),
        ("unittest", UNITTEST, (2, 1, 1)),
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
        ("mocha", MOCHA, (4, 1, 1)),
        ("rspec", RSPEC, (4, 1, 1)),
        ("surefire", SUREFIRE, (4, 1, 1)),
        ("gradle", GRADLE, (4, 1, 1)),
        ("ctest", CTEST, (2, 1, 1)),
        (
            "ctest of disabled ones",
            &format!(
                "4/5 Test #4: off ..............................***Not Run (Disabled)   0.00 sec\n{CTEST}"
            ),
            (2, 1, 2),
        ),
        ("dotnet", DOTNET, (4, 1, 1)),
    ] {
        check_counts(name, text, ran, failed, skipped);
    }
}

/// Each sample has a line with its name and figures; a line that begins with three signs says where the next ones are from.
#[test]
fn closing_lines_of_samples_are_counted() {
    let all = include_str!("../../../../../tests/it/fixtures/runners/closing_lines.txt");
    let mut samples: Vec<(&str, String)> = Vec::new();
    for line in all.lines().filter(|line| !line.starts_with("%%%")) {
        match (line.strip_prefix("%% "), samples.last_mut()) {
            (Some(title), _) => samples.push((title, String::new())),
            (None, Some((_, text))) => *text += &format!("{line}\n"),
            (None, None) => panic!("a sample without a title: {line}"),
        }
    }
    for (title, text) in samples {
        let (name, figures) = title.rsplit_once(": ").expect(title);
        let figures = figures
            .split(' ')
            .map(|figure| figure.parse().expect(title));
        let [ran, failed, skipped] = figures.collect::<Vec<u64>>().try_into().expect(title);
        check_counts(name, &text, ran, failed, skipped);
    }
}

#[test]
fn runs_add_up_and_ignore_results_tests_print() {
    check_counts("workspace", &format!("{CARGO}{CARGO_NONE}{CARGO}"), 4, 2, 2);
    check_counts("two runners", &format!("{CARGO}{PYTEST}"), 4, 2, 2);
    let faked = "running 1 test\ntest result: ok. 99 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\ntest a ... ok\n\n\
        test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    check_counts("a test that prints a result", faked, 1, 0, 0);
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
            read_reports(&wrap_stdout(uncounted)).unwrap().counts,
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
        "  py: OK (0.25=setup[0.20]+cmd[0.05] seconds)\n",
        "OK (fine)",
        "1..5\n",
        "  2 skipped\n  3 pending\n  1 test todo\n",
        "> echo \"Error: no test specified\"\nError: no test specified\n3 tests passed\n",
        "▮▮▮▮ a:test (no op, 818ee617)\n▮▮▮▮ b:test (12ms, 5e1c)\n",
        "==[ NO OP: 1 operation ]==\n==[ SUCCESS: 1 operation ]==\n",
        "nox > Session a skipped: no.\nnox > Session b was successful.\n",
        "# pass 3\n# fail 0\n",
    ] {
        assert_eq!(read_reports(&wrap_stdout(none)), None, "{none}");
    }
    check_counts(
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
    assert!(read_reports(&wrap_stdout(&huge)).is_some());
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
        check_failure(name, text, test, message);
    }
}

#[test]
fn nested_test_is_named_instead_of_suite() {
    let nested = "▶ sums\n  ✖ adds (1.2ms)\n✖ sums (2.1ms)\nℹ tests 1\nℹ pass 0\nℹ fail 1\nℹ cancelled 0\n\n✖ failing tests:\n\ntest at a.test.js:2:20\n\
        ✖ adds (1.2ms)\n  Error: boom\n";
    check_failure("node's spec", nested, "adds", "Error: boom");
}

#[test]
fn failure_message_is_searched_near_test_name() {
    let below = |lines: usize| {
        format!(
            " FAIL  a.test.ts > adds\n{}Error: boom\n      Tests  1 failed (1)\n",
            "\n".repeat(lines)
        )
    };
    check_failure(
        "the last line that is near",
        &below(39),
        "a.test.ts > adds",
        "Error: boom",
    );
    check_failure("one that is not", &below(40), "a.test.ts > adds", "");
    let panicked = |below: &str| {
        format!(
            "running 1 test\ntest t ... FAILED\n\n---- t stdout ----\nthread 't' panicked at src/lib.rs:7:9:\n{below}\n\n\
             test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n"
        )
    };
    check_failure(
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
        check_failure(
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
        check_counts(name, text, ran, failed, skipped);
        check_failure(name, text, test, message);
    }
}

#[test]
fn every_failed_test_is_named() {
    for (name, text, failing) in [
        (
            "minitest",
            "  1) Failure:\nTextTest#test_empty [test/text_test.rb:10]:\nExpected: \"untitled\"\n  Actual: \"\"\n\n  2) Skipped:\nTextTest#test_later [test/text_test.rb:12]:\nlater\n\n  \
             3) Error:\nTextTest#test_raised:\nRuntimeError: must fail\n\n4 runs, 2 assertions, 1 failures, 1 errors, 1 skips\n",
            &["TextTest#test_empty", "TextTest#test_raised"][..],
        ),
        (
            "phpunit",
            "There was 1 error:\n\n1) TextTest::testRaised\nException: must fail\n\n--\n\nThere was 1 failure:\n\n1) TextTest::testEmpty with data set #0 ('')\n\
             Failed asserting.\n\n--\n\nThere was 1 risky test:\n\n1) TextTest::testRisky\nNo assertions.\n\nERRORS!\nTests: 4, Assertions: 2, Errors: 1, Failures: 1, Risky: 1.\n",
            &[
                "TextTest::testEmpty with data set #0 ('')",
                "TextTest::testRaised",
            ],
        ),
        (
            "surefire",
            "[ERROR] Tests run: 3, Failures: 1, Errors: 1, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! - in TextTest\n[ERROR] empty(TextTest)  Time elapsed: 0.02 s  <<< FAILURE!\n\
             [ERROR] TextTest.raised -- Time elapsed: 0.01 s <<< ERROR!\n[ERROR] Tests run: 3, Failures: 1, Errors: 1, Skipped: 0\n",
            &["TextTest.raised", "empty(TextTest)"],
        ),
        (
            "mocha",
            "\n\n  1 passing (5ms)\n  2 failing\n\n  1) text\n       of none\n         is named:\n     Error: a:\n      at x\n\n  2) is lower:\n     Error\n",
            &["is lower", "text of none is named"],
        ),
        (
            "unittest",
            "FAIL: test_a (t.T.test_a) [first] (i=1)\nFAIL: test_a (t.T.test_a) [last]\nFAIL: test_b (t.T.test_b) (i=1)\n\nRan 2 tests in 0.001s\n\nFAILED (failures=3)\n",
            &[
                "test_a (t.T.test_a) [first] (i=1)",
                "test_a (t.T.test_a) [last]",
                "test_b (t.T.test_b) (i=1)",
            ],
        ),
        (
            "pytest",
            "SUBFAILED[first] (i=1) t.py::T::test_a - assert 0\nSUBFAIL t.py::T::test_b - assert 0\nFAILED t.py::T::test_a - contains 1 failed subtest\n3 failed in 0.01s\n",
            &[
                "SUBFAIL t.py::T::test_b",
                "SUBFAILED[first] (i=1) t.py::T::test_a",
                "t.py::T::test_a",
            ],
        ),
    ] {
        let run = read_reports(&wrap_stdout(text)).unwrap_or_else(|| panic!("{name}: not read"));
        assert_eq!(run.failing, failing, "{name}");
    }
}

#[test]
fn failures_are_whole_by_line_end_and_names() {
    let pytest_cut = PYTEST.replace(
        "==================== 1 failed",
        "!!!!!!! stopping after 1 failures !!!!!!!\n==== 1 failed",
    );
    let pytest_case = PYTEST.replace("::test_bad - ", "::test_bad[a - b] - ");
    let pytest_error = PYTEST.replace("1 failed,", "1 failed, 1 error,");
    let class = UNITTEST.replace(
        "FAIL: test_bad (test_a.T.test_bad)",
        "ERROR: setUpClass (test_a.T)",
    );
    let success = UNITTEST.replace("skipped=1", "unexpected successes=1");
    let nextest_cut = NEXTEST.replace("71 tests run", "71/90 tests run");
    let cargo_abort = CARGO.replace("running 3 tests", "running 4 tests");
    let cargo_twice = CARGO.replace("tests::ok ... ok", "tests::bad ... ok");
    let go_build = GO_V.replace(
        "?   \tex/none\t[no test files]",
        "FAIL\tex/none [build failed]",
    );
    let go_exit = GO_V.replace("?   \tex/none\t[no test files]", "FAIL\tex/none\t0.1s");
    let go_panic = GO_V.replace("=== RUN   TestSkip", "panic: nil");
    for (line, code, text, is_whole) in [
        ("pytest -q", 1, PYTEST, true),
        ("cd a && pytest", 1, PYTEST, true),
        ("pytest -q", 2, PYTEST, false),
        ("pytest -qx", 1, PYTEST, false),
        ("pytest --maxfail=1", 1, PYTEST, false),
        ("pytest; true", 1, PYTEST, false),
        ("make && pytest", 1, PYTEST, false),
        ("npm test", 1, PYTEST, false),
        ("pytest", 1, &pytest_cut, false),
        ("pytest", 1, &pytest_case, false),
        ("pytest", 1, &pytest_error, false),
        ("python3 -m unittest", 1, UNITTEST, true),
        ("python3 -m unittest -f", 1, UNITTEST, false),
        ("python3 -m unittest", 1, &class, false),
        ("python3 -m unittest", 1, &success, false),
        ("cargo nextest run", 100, NEXTEST, true),
        ("cargo nextest run", 101, NEXTEST, false),
        ("cargo nextest run", 100, &nextest_cut, false),
        ("cargo test --no-fail-fast", 101, CARGO, true),
        ("cargo test", 101, CARGO, false),
        ("cargo test --no-fail-fast", 101, &cargo_abort, false),
        ("cargo test --no-fail-fast", 101, &cargo_twice, false),
        ("go test -v ./...", 1, GO_V, true),
        ("go test ./...", 1, GO, false),
        ("go test -v ./...", 1, &go_build, false),
        ("go test -v ./...", 1, &go_exit, false),
        ("go test -v ./...", 1, &go_panic, false),
        ("node --test", 1, NODE_TAP, true),
        ("node --test", 1, NODE_SPEC, true),
        ("npx jest", 1, JEST, false),
    ] {
        let run = read_reports(&wrap_stdout(text)).expect("it is recognised");
        let unnamed = (run.gap.map(str::to_owned)).or_else(|| {
            find_unnamed_failure(line, ProcessExit::Code(code), (&run.failing, run.counts))
        });
        assert_eq!(
            unnamed.is_none(),
            is_whole,
            "{line} {code}: {unnamed:?} {text}"
        );
    }
}
