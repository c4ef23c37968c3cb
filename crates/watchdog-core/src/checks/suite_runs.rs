//! A suite on a tree: how it ended, and the access to the system that runs it there.

use watchdog_facts::evidence::{ReadFact, TestCounts};
use watchdog_facts::proof::RerunOutcome;

use super::canary::CanaryTest;
use super::inner_tests::{InnerTests, TestIdentity};
use crate::config::settings::{CommandCriterion, CommandLine};
use watchdog_facts::patterns::FixedPattern;

/// A tree that a suite is tried on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RerunTree {
    /// The judged one: HEAD with the session's work.
    Judged,
    /// That of where the work began.
    Begin,
    /// The judged one, with the judging files as they were when the work began.
    OldTests,
    /// That of where the work began, with the judging files as they are.
    NewTests,
    /// The same, and every other file that the session changed is empty.
    WithoutCode,
    /// New tests inside of files of code, in this code.
    InnerTests(CodeBase),
}

/// The code of a tree, as far as the session changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeBase {
    /// That of where the work began.
    Begin,
    /// No code.
    Empty,
    /// The judged one.
    Judged,
}

/// The words for a name that is gone, of languages that look for each as they run.
static MISSING_NAME: FixedPattern = FixedPattern::new(concat!(
    r"(?:has no attribute|cannot import name|[Nn]ame|uninitialized constant (?:\w+::)*|undefined (?:local variable or )?method)",
    r"\s*[`'‘]?(\w+)|(\w+)\)? is not (?:defined|a function|a constructor)"
));

/// The name that a suite's first failure misses.
pub(super) fn find_missing_name(feedback: &str) -> Option<String> {
    let name = MISSING_NAME.captures(feedback)?;
    let name = name.get(1).or(name.get(2))?;
    Some(name.as_str().to_owned())
}

/// How a suite ended on a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SuiteRun {
    /// Its outcome, before any control.
    pub outcome: RerunOutcome,
    /// The tests that failed, as the runner names them, sorted.
    pub failing: Vec<String>,
    /// Whether these are all that failed.
    pub names_all: bool,
    /// The test counts of its runner.
    pub tests: Option<TestCounts>,
    /// Why there is no outcome, for a person.
    pub why: Option<String>,
    /// The name that its first failure misses.
    pub missing_name: Option<String>,
}

impl SuiteRun {
    /// A run without an outcome.
    pub fn unknown(why: impl Into<String>) -> Self {
        SuiteRun {
            outcome: RerunOutcome::Unknown,
            why: Some(why.into()),
            ..SuiteRun::default()
        }
    }

    /// The same, and a pass where all failures are among these.
    pub(super) fn excusing(mut self, names: &[String]) -> Self {
        let is_excused = self.names_all
            && !self.failing.is_empty()
            && self.failing.iter().all(|name| names.contains(name));
        if self.outcome == RerunOutcome::Fail && is_excused {
            self.outcome = RerunOutcome::Pass;
        }
        self
    }

    /// Whether a known runner found no test.
    pub(super) fn ran_no_test(&self) -> bool {
        self.tests
            .is_some_and(|tests| tests.ran == 0 && tests.failed == 0)
    }

    /// Whether tests ran and failed, and not the build.
    pub(super) fn has_failed_test(&self, names_tests: bool) -> bool {
        let has_passed = self.tests.is_some_and(|tests| tests.ran > tests.failed);
        self.outcome == RerunOutcome::Fail
            && (!names_tests || !self.failing.is_empty() || has_passed)
    }
}

/// The system access of a proof.
pub trait SuiteRunner {
    /// Whether anything may be run: in a hook there is no time for it.
    fn may_try(&self) -> bool;

    /// The judging files that the spec's work changed since it began, sorted.
    fn changed_judging_files(&self, criterion: &CommandCriterion) -> ReadFact<Vec<String>>;

    /// Whether all changed files that the command line names or its runner reads are judging files.
    fn reverts_scripts(&self, criterion: &CommandCriterion) -> bool;

    /// The tests inside of files of code that the spec's work changed or added.
    fn changed_inner_tests(
        &self,
        criterion: &CommandCriterion,
        identity: TestIdentity,
    ) -> ReadFact<InnerTests>;

    /// The first line with a name of a test in the judging files that the spec's work changed, or with one of the code in its other
    /// files: before, and now.
    fn find_places(
        &self,
        criterion: &CommandCriterion,
        name: &str,
        in_tests: bool,
    ) -> (Option<String>, Option<String>);

    /// Runs the check on a tree. The same rerun gives its first outcome, unless it is to be run `again`.
    fn run_suite(&self, criterion: &CommandCriterion, tree: RerunTree, again: bool) -> SuiteRun;

    /// Runs a hidden check of this check on the judged tree, always anew: its exit alone counts, and its output goes nowhere.
    fn run_hidden(&self, criterion: &CommandCriterion, line: &CommandLine) -> SuiteRun;

    /// How it ended when the work began, with each failure that repeats, where the session can have written nothing that the run reads. The
    /// error says why that is unknown.
    fn find_begin_failures(&self, criterion: &CommandCriterion) -> Result<SuiteRun, String>;

    /// Runs the check on the judged tree, or on that of the begin, with tests that must fail. The error says why there are none.
    fn run_canary(
        &self,
        criterion: &CommandCriterion,
        tree: RerunTree,
        tests: &[CanaryTest],
    ) -> Result<CanaryRun, String>;
}

/// How a suite ended with tests that must fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanaryRun {
    /// All of it.
    pub run: SuiteRun,
    /// The file with these tests.
    pub path: String,
    /// In the name of each of them.
    pub mark: String,
}

impl CanaryRun {
    /// Those of the tests that failed: by name, or all of them where the runner only counts, beside `red` tests.
    pub(super) fn list_failed(&self, tests: &[CanaryTest], red: u64) -> Vec<CanaryTest> {
        if self.run.outcome != RerunOutcome::Fail {
            return Vec::new();
        }
        let is_counted = self.run.failing.is_empty()
            && (self.run.tests).is_some_and(|counts| counts.failed >= red + tests.len() as u64);
        let has_failed = |test: &CanaryTest| {
            let mut names = self.run.failing.iter();
            is_counted
                || names.any(|name| name.contains(&self.mark) && name.contains(test.as_str()))
        };
        tests.iter().copied().filter(has_failed).collect()
    }

    /// Whether no other test failed.
    pub(super) fn fails_alone(&self, tests: &[CanaryTest]) -> bool {
        let count = tests.len() as u64;
        self.list_failed(tests, 0).len() as u64 == count
            && (self.run.tests).is_some_and(|counts| counts.failed == count)
    }
}
