//! Tests of reruns: which is wanted next, and which outcome has its control.

use std::cell::RefCell;
use std::time::Duration;

use crate::sample_facts::command_result;
use watchdog_facts::evidence::{
    CheckOutcome, CheckResult, FaultKind, OutcomeBeforeWork, ReadFact, TestCounts, UnreadableFact,
};
use watchdog_facts::proof::RerunOutcome;
use watchdog_facts::verdict::Evidence;

use super::baseline_failures::excuse_failures;
use super::canary::CanaryTest;
use super::inner_tests::{ChangedInnerTest, InnerTests, TestIdentity};
use super::proof::prove_pass;
use super::proof_worth::ProofWorth;
use super::suite_runs::{CanaryRun, CodeBase, RerunTree, SuiteRun, SuiteRunner};
use crate::config::settings::{CommandCriterion, CommandLine};

/// Ends each rerun as its row says; `-` is an unknown end, and names after `fail` or `gone` are those of tests.
struct TableRunner {
    ends: Vec<(RerunTree, &'static str)>,
    /// The ends with tests that must fail, by how many of them there are.
    canaries: Vec<(RerunTree, usize, &'static str)>,
    tried: RefCell<Vec<RerunTree>>,
    may_try: bool,
}

/// The end of a suite with both tests that must fail.
const BOTH_FAIL: (RerunTree, usize, &str) = (RerunTree::Judged, 2, "fail m_compared m_raised");

impl SuiteRunner for TableRunner {
    fn may_try(&self) -> bool {
        self.may_try
    }

    fn changed_judging_files(&self, criterion: &CommandCriterion) -> ReadFact<Vec<String>> {
        match criterion.tests_are.first().map(String::as_str) {
            Some("none") => Ok(Vec::new()),
            Some("unread") => Err(UnreadableFact::new(FaultKind::Git, "no tree")),
            _ => Ok(vec!["tests/a.py".to_owned()]),
        }
    }

    fn reverts_scripts(&self, _: &CommandCriterion) -> bool {
        true
    }

    fn changed_inner_tests(
        &self,
        criterion: &CommandCriterion,
        _identity: TestIdentity,
    ) -> ReadFact<InnerTests> {
        let list = |word: &str| {
            let has_test = criterion.tests_are.contains(&word.to_owned());
            let test = ChangedInnerTest {
                file: "src/lib.rs".to_owned(),
                name: "adds".to_owned(),
            };
            has_test.then_some(test).into_iter().collect()
        };
        Ok(InnerTests {
            changed: list("inner"),
            added: list("added"),
        })
    }

    fn find_places(
        &self,
        _: &CommandCriterion,
        name: &str,
        _: bool,
    ) -> (Option<String>, Option<String>) {
        (Some(format!("{name}:1")), None)
    }

    fn run_suite(&self, _: &CommandCriterion, tree: RerunTree, again: bool) -> SuiteRun {
        self.tried.borrow_mut().push(tree);
        let mut ends = self.ends.iter().filter(|(of, _)| *of == tree);
        let first = ends.next().expect("the rerun has an end").1;
        let end = if again {
            ends.next().map_or(first, |(_, end)| end)
        } else {
            first
        };
        read_end(end)
    }

    fn run_hidden(&self, _: &CommandCriterion, line: &CommandLine) -> SuiteRun {
        let line = line.to_string();
        let mut tried = self.tried.borrow_mut();
        let mut ends: Vec<&str> = line.split(',').skip(1).take(tried.len() + 1).collect();
        tried.push(RerunTree::Judged);
        read_end(ends.pop().expect("the hidden check has an end"))
    }

    fn find_begin_failures(&self, criterion: &CommandCriterion) -> Result<SuiteRun, String> {
        let tests = Some(count_tests(9));
        let run = self.run_suite(criterion, RerunTree::Begin, false);
        Ok(SuiteRun { tests, ..run })
    }

    fn run_canary(
        &self,
        _: &CommandCriterion,
        tree: RerunTree,
        tests: &[CanaryTest],
    ) -> Result<CanaryRun, String> {
        let mut canaries = self.canaries.iter();
        let canary = canaries.find(|(of, count, _)| (*of, *count) == (tree, tests.len()));
        let (.., end) = canary.ok_or("no form")?;
        let mut run = read_end(end);
        let failed = run.failing.len() as u64;
        run.tests = Some(TestCounts {
            ran: 9,
            failed,
            skipped: 0,
        });
        Ok(CanaryRun {
            run,
            path: "tests/m.py".to_owned(),
            mark: "m_".to_owned(),
        })
    }
}

fn read_end(end: &str) -> SuiteRun {
    let (word, names) = end.split_once(' ').unwrap_or((end, ""));
    SuiteRun {
        outcome: match word {
            "pass" | "counted" | "more" => RerunOutcome::Pass,
            "fail" | "gone" | "none" => RerunOutcome::Fail,
            _ => RerunOutcome::Unknown,
        },
        failing: names.split_whitespace().map(str::to_owned).collect(),
        names_all: true,
        tests: match word {
            "none" => Some(TestCounts::default()),
            "counted" => Some(count_tests(9)),
            "more" => Some(count_tests(10)),
            _ => None,
        },
        missing_name: (word == "gone").then(|| "mul".to_owned()),
        why: (word == "late").then(|| "late".to_owned()),
    }
}

fn count_tests(ran: u64) -> TestCounts {
    TestCounts {
        ran,
        ..TestCounts::default()
    }
}

fn pass(tests: Option<TestCounts>) -> CheckResult {
    CheckResult {
        duration: Duration::from_secs(1),
        tests,
        ..command_result("t", CheckOutcome::Pass)
    }
}

fn criterion() -> CommandCriterion {
    CommandCriterion::new(CommandLine::Shell("t".into()))
}

/// The outcomes, the number of reruns, and the weakened ones, with a runner that names tests.
fn prove(ends: &[(RerunTree, &'static str)]) -> String {
    let runner = TableRunner {
        ends: ends.to_vec(),
        canaries: vec![BOTH_FAIL],
        tried: RefCell::default(),
        may_try: true,
    };
    let counted = pass(Some(TestCounts::default()));
    let proven = prove_pass(&criterion(), &counted, &runner).expect("a test changed");
    let (old, new) = (proven.proof.old_tests, proven.proof.new_tests);
    let reruns = runner.tried.borrow().len();
    let has_unknown = [old, new].contains(&RerunOutcome::Unknown);
    assert!(!has_unknown || proven.proof.why.is_some(), "{ends:?}");
    format!(
        "{old:?} {new:?} {reruns} {}",
        proven.proof.weakened.join(",")
    )
}

#[test]
fn each_outcome_needs_its_control() {
    use RerunTree::{Begin, Judged, NewTests, OldTests, WithoutCode};
    for (ends, outcome) in [
        // The usual: three reruns.
        (
            vec![(OldTests, "pass"), (NewTests, "fail a"), (Judged, "pass")],
            "Pass Fail 3 ",
        ),
        // A test that passes in the worktree alone.
        (
            vec![
                (OldTests, "pass"),
                (NewTests, "fail a"),
                (Judged, "fail a"),
                (Begin, "pass"),
            ],
            "Pass Unknown 4 ",
        ),
        // The first tests of a project.
        (
            vec![
                (OldTests, "none"),
                (Begin, "none"),
                (NewTests, "fail a"),
                (Judged, "pass"),
            ],
            "Pass Fail 4 ",
        ),
        // New tests that do not load without the work, where the suite loaded.
        (
            vec![
                (OldTests, "pass"),
                (NewTests, "fail"),
                (Begin, "pass"),
                (Judged, "pass"),
            ],
            "Pass Fail 4 ",
        ),
        (
            vec![
                (OldTests, "pass"),
                (NewTests, "fail"),
                (Begin, "fail"),
                (Judged, "pass"),
            ],
            "Pass Unknown 4 ",
        ),
        // A pass without the work counts where the suite fails once the code is empty.
        (
            vec![
                (OldTests, "pass"),
                (NewTests, "pass"),
                (WithoutCode, "fail"),
            ],
            "Pass Pass 3 ",
        ),
        (
            vec![
                (OldTests, "pass"),
                (NewTests, "pass"),
                (WithoutCode, "pass"),
                (Begin, "pass"),
            ],
            "Pass Unknown 4 ",
        ),
        // A weakened test.
        (
            vec![
                (OldTests, "fail a b"),
                (Judged, "pass"),
                (NewTests, "pass"),
                (WithoutCode, "fail"),
                (Begin, "fail a"),
            ],
            "Fail Pass 6 a,b",
        ),
        // The first failure was another one each time: flaky.
        (
            vec![
                (OldTests, "fail a"),
                (OldTests, "pass"),
                (Judged, "pass"),
                (NewTests, "fail a"),
            ],
            "Pass Fail 4 ",
        ),
        // A test that uses a name which is gone.
        (
            vec![(OldTests, "fail"), (Judged, "pass"), (NewTests, "fail a")],
            "Unknown Fail 3 ",
        ),
        // A function that went with its green test, and one whose test was red.
        (
            vec![
                (OldTests, "gone a"),
                (Begin, "pass"),
                (Judged, "pass"),
                (NewTests, "fail a"),
            ],
            "Unknown Fail 4 ",
        ),
        (
            vec![
                (OldTests, "gone a"),
                (Begin, "fail a"),
                (Judged, "pass"),
                (NewTests, "fail a"),
            ],
            "Fail Fail 5 a",
        ),
        // The scratch checkout lacks something.
        (
            vec![(OldTests, "fail a"), (Judged, "fail a")],
            "Unknown Unknown 2 ",
        ),
    ] {
        assert_eq!(prove(&ends), outcome, "{ends:?}");
    }
}

#[test]
fn green_begin_outweighs_a_recorded_failure() {
    use RerunTree::{Begin, NewTests, OldTests, WithoutCode};
    let pass_at = |tree| (tree, "pass");
    let runner = TableRunner {
        ends: [OldTests, NewTests, WithoutCode, Begin]
            .map(pass_at)
            .to_vec(),
        canaries: Vec::new(),
        tried: RefCell::default(),
        may_try: true,
    };
    let passed = CheckResult {
        before: OutcomeBeforeWork::Failed,
        ..pass(Some(TestCounts::default()))
    };
    let proven = prove_pass(&criterion(), &passed, &runner).expect("a test changed");
    assert_eq!(proven.before, OutcomeBeforeWork::Passed);
    assert!(matches!(
        proven.worth,
        ProofWorth::AtMost(Evidence::Committed, ..)
    ));
}

#[test]
fn excused_failure_is_one_of_the_begin() {
    use RerunTree::{Begin, Judged};
    let counts = |ran| {
        Some(TestCounts {
            ran,
            failed: 1,
            skipped: 0,
        })
    };
    for (begin, here, ran, words) in [
        ("fail a b", "fail a", 9, ""),
        ("fail b", "fail a", 9, "a did not fail when the work began"),
        ("pass", "fail a", 9, "a did not fail when the work began"),
        (
            "fail a",
            "fail a",
            8,
            "8 tests ran, and 9 when the work began",
        ),
        (
            "fail a",
            "fail a b",
            9,
            "the suite fails in another way: a, b",
        ),
        ("fail a", "pass", 9, "the suite fails in another way"),
    ] {
        let runner = TableRunner {
            ends: vec![(Begin, begin), (Judged, here)],
            canaries: Vec::new(),
            tried: RefCell::default(),
            may_try: true,
        };
        let run = (&["a".to_owned()][..], counts(ran));
        let excused = excuse_failures(&criterion(), run, &runner);
        let why = excused.err().unwrap_or_default();
        assert!(
            why.contains(words) && why.is_empty() == words.is_empty(),
            "{begin} {here}: {why}"
        );
    }
}

#[test]
fn excused_failure_weakens_nothing_and_hides_nothing() {
    use RerunTree::{Begin, Judged, NewTests, OldTests, WithoutCode};
    for (old_tests, expected) in [("fail red", "Pass Pass "), ("fail a red", "Fail Pass a")] {
        let runner = TableRunner {
            ends: vec![
                (OldTests, old_tests),
                (Judged, "fail red"),
                (NewTests, "fail red"),
                (WithoutCode, "fail b red"),
                (Begin, "fail red"),
            ],
            canaries: Vec::new(),
            tried: RefCell::default(),
            may_try: true,
        };
        let result = CheckResult {
            before: OutcomeBeforeWork::Passed,
            baseline_failures: vec!["red".to_owned()],
            ..pass(Some(TestCounts::default()))
        };
        let proof = prove_pass(&criterion(), &result, &runner)
            .expect("a test changed")
            .proof;
        let (old, new) = (proof.old_tests, proof.new_tests);
        assert_eq!(
            format!("{old:?} {new:?} {}", proof.weakened.join(",")),
            expected
        );
    }
}

#[test]
fn new_test_inside_of_code_needs_its_controls() {
    use OutcomeBeforeWork::{Failed, Passed, Unknown};
    use RerunTree::{Begin, InnerTests as Put};
    let row = |end: &'static str, judged: &'static str, empty: &'static str| {
        let [begin, without, control] =
            [CodeBase::Begin, CodeBase::Empty, CodeBase::Judged].map(Put);
        vec![(begin, end), (without, empty), (control, judged)]
    };
    let criterion = |words: &[&str]| CommandCriterion {
        tests_are: words.iter().map(|word| (*word).to_owned()).collect(),
        ..criterion()
    };
    for (begin, ends, (ran, before), expected) in [
        (
            "counted",
            row("fail t::adds", "pass", "-"),
            (10, Passed),
            "Pass Fail Verified 4",
        ),
        (
            "counted",
            row("fail t::adds", "pass", "-"),
            (10, Unknown),
            "Pass Fail Verified 4",
        ),
        // It does not build without the work, or without what else its session changed.
        (
            "counted",
            row("fail", "pass", "-"),
            (10, Passed),
            "Pass Unknown AtMost 2",
        ),
        (
            "counted",
            row("more", "-", "fail"),
            (10, Passed),
            "Pass Pass AtMost 3",
        ),
        (
            "counted",
            row("more", "-", "pass"),
            (10, Passed),
            "Pass Unknown AtMost 3",
        ),
        (
            "counted",
            row("unknown", "-", "-"),
            (10, Passed),
            "Pass Unknown AtMost 2",
        ),
        // It was not run, fails by its lines, and an old test fails by those.
        (
            "counted",
            row("counted", "-", "fail"),
            (10, Passed),
            "Pass Unknown AtMost 2",
        ),
        (
            "counted",
            row("fail t::adds", "fail t::adds", "-"),
            (10, Passed),
            "Pass Unknown AtMost 3",
        ),
        (
            "counted",
            row("fail t::tidy", "pass", "-"),
            (10, Passed),
            "Pass Unknown AtMost 2",
        ),
        // As before: its file is no part of the build any more, the begin is not green, or has no counts.
        (
            "counted",
            row("fail t::adds", "pass", "-"),
            (9, Passed),
            "- 1",
        ),
        (
            "counted",
            row("fail t::adds", "pass", "-"),
            (9, Unknown),
            "NotRun NotRun Unproven 1",
        ),
        (
            "pass",
            row("fail t::adds", "pass", "-"),
            (10, Passed),
            "- 1",
        ),
        (
            "fail b",
            row("fail t::adds", "pass", "-"),
            (10, Passed),
            "- 1",
        ),
        (
            "counted",
            row("fail t::adds", "pass", "-"),
            (10, Failed),
            "NotRun NotRun Verified 0",
        ),
    ] {
        let prove = |words: &[&str], may_try| {
            let runner = TableRunner {
                ends: [
                    (Begin, begin),
                    (RerunTree::OldTests, "pass"),
                    (RerunTree::NewTests, "pass"),
                ]
                .into_iter()
                .chain([(RerunTree::WithoutCode, "fail")])
                .chain(ends.clone())
                .collect(),
                canaries: vec![BOTH_FAIL],
                tried: RefCell::default(),
                may_try,
            };
            let result = CheckResult {
                before,
                ..pass(Some(count_tests(ran)))
            };
            let proven = prove_pass(&criterion(words), &result, &runner);
            let reruns = runner.tried.borrow().len();
            let worth = proven.map_or("-".to_owned(), |proven| {
                let worth = format!("{:?}", proven.worth);
                let word = worth.split('(').next().unwrap_or_default();
                assert!(
                    !worth.contains("Committed"),
                    "it lowers no other check: {worth}"
                );
                let proof = proven.proof;
                format!("{:?} {:?} {word}", proof.old_tests, proof.new_tests)
            });
            format!("{worth} {reruns}")
        };
        assert_eq!(
            prove(&["none", "added"], true),
            expected,
            "{begin} {ends:?}"
        );
        assert_eq!(prove(&["none", "added"], false), "- 0");
        // Beside changed files of tests a failure counts, too.
        if expected.starts_with("Pass Fail") {
            assert_eq!(prove(&["files", "added"], true), "Pass Fail Verified 7");
        }
    }
}

#[test]
fn untried_pass_says_why() {
    let runner = |may_try| TableRunner {
        ends: Vec::new(),
        canaries: Vec::new(),
        tried: RefCell::default(),
        may_try,
    };
    let not_run = |criterion: &CommandCriterion, runner: &TableRunner| {
        let proven = prove_pass(criterion, &pass(None), runner).expect("a test changed");
        let outcomes = (proven.proof.old_tests, proven.proof.new_tests);
        (outcomes, proven.proof.why.unwrap_or_default())
    };
    let (none, unknown) = (RerunOutcome::NotRun, RerunOutcome::Unknown);
    assert_eq!(not_run(&criterion(), &runner(false)).0, (none, none));
    let off = CommandCriterion {
        proof: None,
        ..criterion()
    };
    assert_eq!(not_run(&off, &runner(true)).0, (none, none));
    let quick = CommandCriterion {
        proof_limit: Duration::ZERO,
        ..criterion()
    };
    let (outcomes, why) = not_run(&quick, &runner(true));
    assert_eq!(outcomes, (none, none));
    assert!(why.contains("proof_seconds"), "{why}");
    let with_globs = |word: &str| CommandCriterion {
        tests_are: vec![word.to_owned()],
        ..criterion()
    };
    let (outcomes, why) = not_run(&with_globs("unread"), &runner(true));
    assert_eq!((outcomes, why.as_str()), ((unknown, unknown), "no tree"));
    assert_eq!(
        prove_pass(&with_globs("none"), &pass(None), &runner(true)),
        None
    );
    let slow = CommandCriterion {
        proof_limit: Duration::ZERO,
        ..with_globs("none")
    };
    let counted = pass(Some(TestCounts::default()));
    let untried = prove_pass(&slow, &counted, &runner(true)).expect("a reason");
    assert!(
        matches!(&untried.worth, ProofWorth::AtMost(Evidence::Verified, _, why) if why.contains("proof_seconds")),
        "{untried:?}"
    );
    let inner = CommandCriterion {
        tests_are: vec!["none".to_owned(), "inner".to_owned()],
        ..criterion()
    };
    let (outcomes, why) = not_run(&inner, &runner(true));
    assert_eq!(outcomes, (unknown, unknown));
    assert_eq!(why, "not as it was: `adds` of src/lib.rs");
}

#[test]
fn suite_that_cannot_fail_verifies_nothing() {
    use OutcomeBeforeWork::{Failed, Passed, Unknown};
    use RerunTree::{Begin, Judged};
    let prove = |before,
                 ends: &[(RerunTree, &'static str)],
                 canaries: &[(RerunTree, usize, &'static str)]| {
        let runner = TableRunner {
            ends: ends.to_vec(),
            canaries: canaries.to_vec(),
            tried: RefCell::default(),
            may_try: true,
        };
        let criterion = CommandCriterion {
            tests_are: vec!["none".to_owned()],
            ..criterion()
        };
        let passed = CheckResult {
            before,
            ..pass(Some(TestCounts::default()))
        };
        prove_pass(&criterion, &passed, &runner).map_or("-".to_owned(), |proven| {
            let worth = format!("{:?}", proven.worth);
            let word = worth.split('(').next().unwrap_or_default();
            let reruns = runner.tried.borrow().len();
            let is_unknown = proven.proof.canary == RerunOutcome::Unknown;
            let why = proven.proof.why.as_deref();
            assert!(!is_unknown || why.is_some(), "{ends:?}");
            let is_late = canaries == [(Judged, 2, "late")];
            assert_eq!(why == Some("late"), is_late, "{canaries:?}");
            format!(
                "{word} {:?} {:?} {reruns}",
                proven.proof.canary, proven.before
            )
        })
    };
    for (before, ends, canaries, expected) in [
        // A check that passed before gives no evidence that could be forged.
        (Passed, &[][..], &[][..], "-"),
        (Unknown, &[(Begin, "pass")], &[], "Unproven NotRun Passed 1"),
        // The usual: one run of the begin, one with the tests that must fail.
        (
            Unknown,
            &[(Begin, "fail a")],
            &[BOTH_FAIL],
            "Verified Fail Failed 1",
        ),
        (Failed, &[], &[BOTH_FAIL], "Verified Fail Failed 0"),
        // Without a form for them, the judged tree is the control of the begin.
        (
            Unknown,
            &[(Begin, "fail a"), (Judged, "pass")],
            &[],
            "Verified Unknown Failed 2",
        ),
        (
            Unknown,
            &[(Begin, "fail a"), (Judged, "fail a")],
            &[],
            "Unproven Unknown Unknown 2",
        ),
        // All of them pass: put out of action, unless the command takes up no new file.
        (
            Failed,
            &[],
            &[
                (Judged, 2, "pass"),
                (Begin, 2, "fail a m_compared m_raised"),
            ],
            "Weakened Pass Failed 0",
        ),
        (
            Failed,
            &[],
            &[(Judged, 2, "pass"), (Begin, 2, "fail a")],
            "Verified Unknown Failed 0",
        ),
        (
            Failed,
            &[(Begin, "pass")],
            &[(Judged, 2, "pass"), (Begin, 2, "pass")],
            "Verified Unknown Failed 1",
        ),
        // The assertion alone was replaced.
        (
            Failed,
            &[],
            &[
                (Judged, 2, "fail m_raised"),
                (Judged, 1, "pass"),
                (Begin, 1, "fail m_compared"),
            ],
            "Weakened Pass Failed 0",
        ),
        // A runner that stops at the first failure.
        (
            Failed,
            &[],
            &[(Judged, 2, "fail m_raised"), (Judged, 1, "fail m_compared")],
            "Verified Fail Failed 0",
        ),
        // The place lacks something that the suite needs.
        (
            Failed,
            &[],
            &[(Judged, 2, "late")],
            "Verified Unknown Failed 0",
        ),
    ] {
        assert_eq!(
            prove(before, ends, canaries),
            expected,
            "{ends:?} {canaries:?}"
        );
    }
}

#[test]
fn failing_hidden_check_takes_verified_away() {
    use RerunTree::Judged;
    let prove = |line: &str, may_try, suite: &'static str, evidence| {
        let runner = TableRunner {
            ends: vec![(Judged, suite)],
            canaries: Vec::new(),
            tried: RefCell::default(),
            may_try,
        };
        let criterion = CommandCriterion {
            tests_are: vec!["none".into()],
            proof: Some([CommandLine::Shell(line.to_owned())].into()),
            ..criterion()
        };
        let result = CheckResult {
            evidence,
            ..pass(None)
        };
        let proven = prove_pass(&criterion, &result, &runner);
        proven.map(|proven| {
            let note = proven.proof.notes.first();
            let words = note.and_then(|note| note.strip_prefix("hidden check 1 (`h.sh`) "));
            let code = proven.hidden.expect("a note has a warning").as_str();
            format!("{code}: {}", words.expect("the note names the check"))
        })
    };
    let unknown = |why: &str| Some(format!("tests_unknown: could not be run: {why}"));
    let fails =
        Some("tests_unproved: fails on this work; run it in the worktree to see why".to_owned());
    let verified = Evidence::Verified;
    for (line, may_try, suite, evidence, note) in [
        ("A=1 /x/h.sh ,pass", true, "pass", verified, None),
        ("A=1 /x/h.sh ,fail", true, "pass", verified, fails),
        // It counts where it repeats, and where the check itself passes.
        ("A=1 /x/h.sh ,fail,pass", true, "pass", verified, None),
        (
            "A=1 /x/h.sh ,fail",
            true,
            "fail",
            verified,
            unknown("the check itself does not pass in a scratch checkout"),
        ),
        ("A=1 /x/h.sh ,-", true, "pass", verified, unknown("")),
        (
            "A=1 /x/h.sh ,fail",
            false,
            "pass",
            verified,
            unknown("hooks and sessions try nothing"),
        ),
        ("A=1 /x/h.sh ,fail", true, "pass", Evidence::Claimed, None),
    ] {
        assert_eq!(
            prove(line, may_try, suite, evidence),
            note,
            "{line} {suite}"
        );
    }
}
