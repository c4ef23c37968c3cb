//! The reruns of one check: which is wanted next, and which of them counts.
//!
//! Each outcome has its control in the same place. One without it is unknown: a scratch checkout may lack what the suite needs.

use watchdog_facts::evidence::OutcomeBeforeWork;
use watchdog_facts::proof::{CheckProof, RerunOutcome};

use super::canary::CanaryTest;
use super::inner_tests::ChangedInnerTest;
use super::proof::ProvenPass;
use super::proof_worth::ProofWorth;
use super::suite_runs::{RerunTree, SuiteRun, SuiteRunner};
use crate::config::settings::CommandCriterion;

/// The reruns of one check, and what they have shown.
pub(super) struct Reruns<'a> {
    pub(super) criterion: &'a CommandCriterion,
    pub(super) runner: &'a dyn SuiteRunner,
    /// Whether the runner names the tests that fail.
    pub(super) names_tests: bool,
    pub(super) before: OutcomeBeforeWork,
    /// The failures that the pass may have.
    pub(super) excused: &'a [String],
    /// The tests that fail as they were.
    pub(super) failing: Vec<String>,
    pub(super) was_red: bool,
    /// Whether the judged tree passes in a scratch checkout, once that is known.
    pub(super) passes_here: Option<bool>,
    pub(super) why: Option<String>,
    /// The suites that ran, each once.
    pub(super) runs: Vec<(RerunTree, SuiteRun)>,
}

impl Reruns<'_> {
    pub(super) fn run(&mut self) -> (RerunOutcome, RerunOutcome) {
        let old_tests = self.try_old_tests();
        // No failure says anything in a place where not even the judged tree passes.
        if old_tests == RerunOutcome::Unknown && !self.passes_here() {
            return (RerunOutcome::Unknown, RerunOutcome::Unknown);
        }
        let new_tests = self.try_new_tests();
        let needs_begin = old_tests == RerunOutcome::Fail
            || (old_tests == RerunOutcome::Pass && new_tests == RerunOutcome::Unknown);
        if needs_begin {
            let begin = self.try_begin();
            self.was_red = if self.failing.is_empty() {
                self.before == OutcomeBeforeWork::Failed
            } else {
                self.failing.iter().any(|name| begin.failing.contains(name))
            };
            // A server may have run the worktree in place of the checkout, and so with the old tests.
            if old_tests == RerunOutcome::Pass && begin.outcome == RerunOutcome::Pass {
                self.before = OutcomeBeforeWork::Passed;
            }
        }
        (old_tests, new_tests)
    }

    /// A test inside of a file of code cannot be taken as it was: whether it holds is unknown.
    pub(super) fn run_beside(
        &mut self,
        inner: &[ChangedInnerTest],
        has_files: bool,
    ) -> (RerunOutcome, RerunOutcome) {
        let (old_tests, new_tests) = if has_files {
            self.run()
        } else {
            (RerunOutcome::Unknown, RerunOutcome::Unknown)
        };
        let names = inner.iter().take(CheckProof::LISTED);
        let names: Vec<String> = names
            .map(|test| format!("`{}` of {}", test.name, test.file))
            .collect();
        self.why = Some(format!("not as it was: {}", names.join(", ")));
        match old_tests {
            RerunOutcome::Fail => (old_tests, new_tests),
            RerunOutcome::Pass | RerunOutcome::Unknown | RerunOutcome::NotRun => {
                (RerunOutcome::Unknown, new_tests)
            }
        }
    }

    /// The tests that fail as they were, with their places, as many as a sentence names.
    pub(super) fn name_failing(&self) -> Vec<String> {
        let named = self.failing.iter().enumerate().map(|(n, test)| {
            let places = (n < 2).then(|| self.runner.find_places(self.criterion, test, true));
            match places {
                Some((Some(before), Some(now))) => format!("`{test}` ({before}, now {now})"),
                Some((Some(before), None)) => format!("`{test}` ({before}, gone now)"),
                Some((None, _)) | None => format!("`{test}`"),
            }
        });
        named.collect()
    }

    pub(super) fn run_anew(&self, tree: RerunTree, again: bool) -> SuiteRun {
        let run = self.runner.run_suite(self.criterion, tree, again);
        let mut run = run.excusing(self.excused);
        run.failing.retain(|name| !self.excused.contains(name));
        run
    }

    pub(super) fn run_once(&mut self, tree: RerunTree) -> SuiteRun {
        if let Some((_, run)) = self.runs.iter().find(|(of, _)| *of == tree) {
            return run.clone();
        }
        let run = self.run_anew(tree, false);
        self.runs.push((tree, run.clone()));
        if self.why.is_none() {
            self.why.clone_from(&run.why);
        }
        run
    }

    fn passes_here(&mut self) -> bool {
        if let Some(passes) = self.passes_here {
            return passes;
        }
        let run = self.run_once(RerunTree::Judged);
        let passes = run.outcome == RerunOutcome::Pass;
        if run.outcome == RerunOutcome::Fail {
            let test = run.failing.first().map(|test| format!(": {test} fails"));
            let fault = "the suite does not pass in a scratch checkout";
            self.why = Some(fault.to_owned() + &test.unwrap_or_default());
        }
        self.passes_here = Some(passes);
        passes
    }

    /// A pass verifies the work where the suite could have failed: it did when the work began, or it does with a test that must fail.
    pub(super) fn confirm(mut self, worth: ProofWorth, mut proof: CheckProof) -> ProvenPass {
        let is_begun = match worth {
            ProofWorth::Verified => true,
            ProofWorth::Unproven => {
                self.before == OutcomeBeforeWork::Failed
                    || self.run_once(RerunTree::Begin).outcome == RerunOutcome::Fail
            }
            ProofWorth::AtMost(..) | ProofWorth::Weakened(_) => false,
        };
        let mut worth = worth;
        if is_begun {
            if self.names_tests {
                proof.canary = self.try_canary(&mut proof.weakened);
                if proof.canary == RerunOutcome::Unknown {
                    let why = "the suite shows no test that must fail, by its name or its count";
                    self.why.get_or_insert_with(|| why.to_owned());
                }
            }
            worth = match proof.canary {
                RerunOutcome::Pass => {
                    ProofWorth::Weakened("the suite passes with a test that must fail".to_owned())
                }
                RerunOutcome::Fail if worth == ProofWorth::Verified => worth,
                RerunOutcome::Fail | RerunOutcome::Unknown | RerunOutcome::NotRun => {
                    if self.before == OutcomeBeforeWork::Unknown {
                        self.try_begin();
                    }
                    if self.before == OutcomeBeforeWork::Failed {
                        ProofWorth::Verified
                    } else if worth == ProofWorth::Verified {
                        ProofWorth::unknown_canary()
                    } else {
                        worth
                    }
                }
            };
        } else if worth == ProofWorth::Unproven {
            self.try_begin();
        }
        proof.why = self.why;
        let mut runs = self.runs.iter();
        let as_it_was = runs
            .find(|(tree, _)| *tree == RerunTree::OldTests)
            .filter(|_| proof.old_tests == RerunOutcome::Pass)
            .filter(|_| self.runner.reverts_scripts(self.criterion))
            .map(|(_, run)| run.tests);
        ProvenPass {
            proof,
            worth,
            before: self.before,
            as_it_was,
            hidden: None,
        }
    }

    /// Tests that must fail: those that pass are tried again alone, and count where they fail on the tree of the begin.
    fn try_canary(&mut self, passing: &mut Vec<String>) -> RerunOutcome {
        let run = |tree, tests: &[CanaryTest]| {
            let mut canary = self.runner.run_canary(self.criterion, tree, tests)?;
            canary.run = canary.run.excusing(self.excused);
            Ok::<_, String>(canary)
        };
        let all = CanaryTest::ALL;
        let first = match run(RerunTree::Judged, &all) {
            Ok(first) => first,
            Err(why) => {
                self.why.get_or_insert(why);
                return RerunOutcome::Unknown;
            }
        };
        if let Some(why) = &first.run.why {
            self.why.get_or_insert_with(|| why.clone());
        }
        let failed = first.list_failed(&all, 0);
        if first.fails_alone(&all) {
            self.passes_here = Some(true);
        }
        let missing: Vec<CanaryTest> = (all.into_iter())
            .filter(|test| !failed.contains(test))
            .collect();
        if missing.is_empty() {
            return RerunOutcome::Fail;
        }
        let is_partial = missing.len() < all.len();
        let alone = if is_partial {
            run(RerunTree::Judged, &missing)
        } else {
            Ok(first)
        };
        let Some(alone) = (alone.ok()).filter(|alone| alone.run.outcome == RerunOutcome::Pass)
        else {
            return if is_partial {
                RerunOutcome::Fail
            } else {
                RerunOutcome::Unknown
            };
        };
        let control = run(RerunTree::Begin, &missing).is_ok_and(|control| {
            // A runner that names no test: those that failed anyway when the work began are taken off.
            let begin = control
                .run
                .failing
                .is_empty()
                .then(|| self.run_once(RerunTree::Begin));
            let red = begin
                .and_then(|begin| begin.tests)
                .map_or(0, |tests| tests.failed);
            !control.list_failed(&missing, red).is_empty()
        });
        if control {
            passing.push(alone.path);
            RerunOutcome::Pass
        } else if is_partial {
            RerunOutcome::Fail
        } else {
            RerunOutcome::Unknown
        }
    }

    /// Whether green tests failed and went with a name that the code has no more. Its message alone could be the work's own.
    fn are_dropped(&mut self, run: &SuiteRun) -> bool {
        let Some(name) = &run.missing_name else {
            return false;
        };
        let (before, now) = self.runner.find_places(self.criterion, name, false);
        if before.is_none() || now.is_some() || run.failing.is_empty() {
            return false;
        }
        let begin = self.try_begin();
        run.failing.iter().all(|test| {
            let is_gone = || (self.runner.find_places(self.criterion, test, true).1).is_none();
            // unittest's name for a file that does not load.
            test.contains("_FailedTest") || (!begin.failing.contains(test) && is_gone())
        })
    }

    /// A failure counts where the judged tree passes in the same place, and where it repeats.
    fn try_old_tests(&mut self) -> RerunOutcome {
        let run = self.run_once(RerunTree::OldTests);
        if run.outcome != RerunOutcome::Fail {
            return run.outcome;
        }
        // The first tests of a project take nothing away.
        if run.ran_no_test() && self.try_begin().ran_no_test() {
            return RerunOutcome::Pass;
        }
        if !run.has_failed_test(self.names_tests) || self.are_dropped(&run) {
            self.why = Some("the tests as they were do not build or load on this work".to_owned());
            return RerunOutcome::Unknown;
        }
        if !self.passes_here() {
            return RerunOutcome::Unknown;
        }
        let again = self.run_anew(RerunTree::OldTests, true);
        let is_named = !run.failing.is_empty();
        let (repeated, flaky): (Vec<String>, Vec<String>) = run
            .failing
            .into_iter()
            .partition(|name| again.failing.contains(name));
        let is_repeated =
            again.outcome == RerunOutcome::Fail && (!is_named || !repeated.is_empty());
        if !flaky.is_empty() || !is_repeated {
            let names = flaky.join(", ");
            self.why = Some(format!(
                "a failure with the old tests did not repeat: {names}"
            ));
        }
        if is_repeated {
            self.failing = repeated;
            RerunOutcome::Fail
        } else {
            RerunOutcome::Pass
        }
    }

    /// A pass counts where the suite fails once the code is empty; a failure to build or load, where the suite ran when the work began.
    fn try_new_tests(&mut self) -> RerunOutcome {
        let run = self.run_once(RerunTree::NewTests);
        let is_shown = match run.outcome {
            RerunOutcome::Pass => {
                let fails = self.run_once(RerunTree::WithoutCode).outcome == RerunOutcome::Fail;
                if !fails {
                    let why = "the suite passes without the changed code, too";
                    self.why.get_or_insert_with(|| why.to_owned());
                }
                fails
            }
            // A test that fails in any scratch checkout says nothing of the work.
            RerunOutcome::Fail => {
                let is_failed_test = run.has_failed_test(self.names_tests) || {
                    let begin = self.try_begin();
                    begin.outcome == RerunOutcome::Pass
                        || begin.has_failed_test(self.names_tests)
                        || begin.ran_no_test()
                };
                if !is_failed_test {
                    let why = "without the work no failed test is named: the suite may not build there, or is quiet";
                    self.why.get_or_insert_with(|| why.to_owned());
                }
                is_failed_test && self.passes_here()
            }
            RerunOutcome::Unknown | RerunOutcome::NotRun => false,
        };
        if is_shown {
            run.outcome
        } else {
            RerunOutcome::Unknown
        }
    }

    /// The begin; a failure there counts where the judged tree passes in the same place.
    pub(super) fn try_begin(&mut self) -> SuiteRun {
        let run = self.run_once(RerunTree::Begin);
        if self.before == OutcomeBeforeWork::Unknown {
            self.before = match run.outcome {
                RerunOutcome::Pass => OutcomeBeforeWork::Passed,
                RerunOutcome::Fail if self.passes_here() => OutcomeBeforeWork::Failed,
                RerunOutcome::Fail | RerunOutcome::Unknown | RerunOutcome::NotRun => {
                    OutcomeBeforeWork::Unknown
                }
            };
        }
        run
    }
}
