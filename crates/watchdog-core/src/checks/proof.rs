//! What a pass is worth where the session changed what judges it, by its reruns on mixed trees.

use watchdog_facts::evidence::{CheckResult, OutcomeBeforeWork, ReadFact, TestCounts};
use watchdog_facts::proof::{CheckProof, RerunOutcome};

use super::inner_tests::{ChangedInnerTest, TestIdentity};
use super::proof_reruns::Reruns;
use super::proof_worth::{ProofFacts, ProofWorth, weigh_proof};
use super::suite_runs::SuiteRunner;
use crate::config::settings::CommandCriterion;

/// A pass with its reruns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenPass {
    /// The reruns.
    pub proof: CheckProof,
    /// The worth of the pass.
    pub worth: ProofWorth,
    /// The outcome when the work began, as far as it is known by now.
    pub before: OutcomeBeforeWork,
    /// The test counts of a pass with all that judges as it was; `None` where that was not seen.
    pub as_it_was: Option<Option<TestCounts>>,
}

/// Tries the suite of a check that passed; `None` where the session changed nothing that judges it, and nothing is to be tried.
pub fn prove_pass(
    criterion: &CommandCriterion,
    result: &CheckResult,
    runner: &dyn SuiteRunner,
) -> Option<ProvenPass> {
    let read = || -> ReadFact<(Vec<String>, Vec<ChangedInnerTest>)> {
        let files = runner.changed_judging_files(criterion)?;
        Ok((
            files,
            runner.changed_inner_tests(criterion, TestIdentity::Source)?,
        ))
    };
    let ((files, inner), unread) = match read() {
        Ok(changes) => (changes, None),
        Err(unreadable) => (Default::default(), Some(unreadable.why)),
    };
    let mut reruns = Reruns {
        criterion,
        runner,
        names_tests: result.tests.is_some() || result.tests_uncounted,
        before: result.before,
        excused: &result.baseline_failures,
        failing: Vec::new(),
        was_red: false,
        passes_here: None,
        why: unread.clone(),
        runs: Vec::new(),
    };
    let is_slow = result.duration > criterion.proof_limit;
    let may_try = criterion.proof.is_some() && runner.may_try();
    if files.is_empty() && inner.is_empty() && unread.is_none() {
        let is_open = reruns.names_tests && reruns.before != OutcomeBeforeWork::Passed;
        return (may_try && is_open && !is_slow)
            .then(|| reruns.confirm(ProofWorth::Unproven, CheckProof::default()));
    }
    let (old_tests, new_tests) = if !may_try {
        (RerunOutcome::NotRun, RerunOutcome::NotRun)
    } else if is_slow {
        let seconds = criterion.proof_limit.as_secs();
        reruns.why = Some(format!(
            "the pass took longer than proof_seconds, {seconds}"
        ));
        (RerunOutcome::NotRun, RerunOutcome::NotRun)
    } else if unread.is_some() {
        (RerunOutcome::Unknown, RerunOutcome::Unknown)
    } else if inner.is_empty() {
        reruns.run()
    } else {
        reruns.run_beside(&inner, !files.is_empty())
    };
    let worth = weigh_proof(&ProofFacts {
        old_tests,
        new_tests,
        before: reruns.before,
        was_red: reruns.was_red,
        failing: &reruns.name_failing(),
        changes: criterion.test_changes,
    });
    let mut weakened = match (&worth, reruns.failing.is_empty()) {
        (ProofWorth::Weakened(_), false) => reruns.failing.clone(),
        (ProofWorth::Weakened(_), true) => files.clone(),
        (ProofWorth::Verified | ProofWorth::Unproven | ProofWorth::AtMost(..), _) => Vec::new(),
    };
    let mut judging_files = files;
    judging_files.extend(inner.into_iter().map(|test| test.file));
    judging_files.sort();
    judging_files.dedup();
    weakened.truncate(CheckProof::LISTED);
    judging_files.truncate(CheckProof::LISTED);
    let proof = CheckProof {
        old_tests,
        new_tests,
        judging_files,
        weakened,
        ..CheckProof::default()
    };
    Some(reruns.confirm(worth, proof))
}
