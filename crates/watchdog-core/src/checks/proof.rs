//! What a pass is worth where the session changed what judges it, by its reruns on mixed trees.

use watchdog_facts::evidence::{CheckResult, OutcomeBeforeWork, ReadFact, TestCounts, WarningCode};
use watchdog_facts::proof::{CheckProof, RerunOutcome};
use watchdog_facts::verdict::Evidence;

use super::feedback::one_line;
use super::inner_tests::{ChangedInnerTest, InnerTests, TestIdentity};
use super::proof_reruns::Reruns;
use super::proof_worth::{ProofFacts, ProofWorth, weigh_proof};
use super::suite_runs::{CodeBase, RerunTree, SuiteRun, SuiteRunner};
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
    /// The warning about hidden checks that did not pass: the work is not verified.
    pub hidden: Option<WarningCode>,
}

/// Tries the suite of a check that passed, and hidden checks where that verifies the work; `None` where the session changed nothing that
/// judges it, and nothing is to be tried.
pub fn prove_pass(
    criterion: &CommandCriterion,
    result: &CheckResult,
    runner: &dyn SuiteRunner,
) -> Option<ProvenPass> {
    let proven = rerun_pass(criterion, result, runner);
    let may_verify = match &proven {
        Some(proven) => {
            use ProofWorth::{AtMost, Unproven, Verified};
            matches!(
                proven.worth,
                Verified | Unproven | AtMost(Evidence::Verified, ..)
            ) && (result.evidence == Evidence::Verified || proven.as_it_was.is_some())
        }
        None => result.evidence == Evidence::Verified,
    };
    let (notes, hidden) = match may_verify {
        true => try_hidden(criterion, runner),
        false => Default::default(),
    };
    if hidden.is_none() {
        return proven;
    }
    let mut proven = proven.unwrap_or_else(|| build_untried(result, ProofWorth::Unproven));
    (proven.proof.notes, proven.hidden) = (notes, hidden);
    Some(proven)
}

/// A pass that no rerun tried.
fn build_untried(result: &CheckResult, worth: ProofWorth) -> ProvenPass {
    ProvenPass {
        proof: CheckProof::default(),
        worth,
        before: result.before,
        as_it_was: None,
        hidden: None,
    }
}

/// The hidden checks that do not pass, and the warning about them. A failure counts where it repeats, and where the check itself passes in
/// the same place.
fn try_hidden(
    criterion: &CommandCriterion,
    runner: &dyn SuiteRunner,
) -> (Vec<String>, Option<WarningCode>) {
    let (mut notes, mut warning) = (Vec::new(), None);
    for (n, line) in criterion.proof.iter().flatten().enumerate() {
        let mut run = match runner.may_try() {
            true => runner.run_hidden(criterion, line),
            false => SuiteRun::unknown("hooks and sessions try nothing"),
        };
        if run.outcome == RerunOutcome::Fail {
            run = runner.run_hidden(criterion, line);
        }
        if run.outcome == RerunOutcome::Fail {
            let control = runner.run_suite(criterion, RerunTree::Judged, false);
            if control.outcome != RerunOutcome::Pass {
                let why = "the check itself does not pass in a scratch checkout";
                run = SuiteRun::unknown(control.why.unwrap_or_else(|| why.to_owned()));
            }
        }
        let (code, end) = match run.outcome {
            RerunOutcome::Pass => continue,
            RerunOutcome::Fail => (
                WarningCode::TestsUnproved,
                "fails on this work; run it in the worktree to see why".to_owned(),
            ),
            RerunOutcome::Unknown | RerunOutcome::NotRun => (
                WarningCode::TestsUnknown,
                format!(
                    "could not be run: {}",
                    one_line(&run.why.unwrap_or_default())
                ),
            ),
        };
        let line = line.to_string();
        let program = line.split_whitespace().find(|word| !word.contains('='));
        let program = program.and_then(|word| word.rsplit('/').next());
        let program = program.unwrap_or_default();
        notes.push(format!("hidden check {} (`{program}`) {end}", n + 1));
        if warning != Some(WarningCode::TestsUnproved) {
            warning = Some(code);
        }
    }
    (notes, warning)
}

fn rerun_pass(
    criterion: &CommandCriterion,
    result: &CheckResult,
    runner: &dyn SuiteRunner,
) -> Option<ProvenPass> {
    let read = || -> ReadFact<(Vec<String>, InnerTests)> {
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
    let seconds = criterion.proof_limit.as_secs();
    let slow =
        format!("the pass took longer than proof_seconds, {seconds}, so it was not tried again");
    let may_try = criterion.proof.is_some() && runner.may_try();
    let tries = may_try && !is_slow;
    let is_unchanged = files.is_empty() && inner.changed.is_empty() && unread.is_none();
    let (old_tests, mut new_tests) = if is_unchanged {
        (RerunOutcome::Pass, RerunOutcome::NotRun)
    } else if !tries {
        reruns.why = may_try.then(|| slow.clone()).or(reruns.why);
        (RerunOutcome::NotRun, RerunOutcome::NotRun)
    } else if unread.is_some() {
        (RerunOutcome::Unknown, RerunOutcome::Unknown)
    } else if inner.changed.is_empty() {
        reruns.run()
    } else {
        reruns.run_beside(&inner.changed, !files.is_empty())
    };
    let is_open = tries && old_tests == RerunOutcome::Pass && new_tests != RerunOutcome::Fail;
    if is_open
        && let Some(outcome) = reruns.try_added(&inner.added, result)
        && (is_unchanged || outcome == RerunOutcome::Fail)
    {
        new_tests = outcome;
    }
    if is_unchanged && new_tests == RerunOutcome::NotRun {
        let is_open = reruns.names_tests && result.before != OutcomeBeforeWork::Passed;
        if !may_try || !is_open {
            return None;
        }
        if !is_slow {
            return Some(reruns.confirm(ProofWorth::Unproven, CheckProof::default()));
        }
        let worth = ProofWorth::AtMost(Evidence::Verified, WarningCode::TestsUnknown, slow);
        return (result.before == OutcomeBeforeWork::Unknown).then(|| build_untried(result, worth));
    }
    let mut worth = weigh_proof(&ProofFacts {
        old_tests,
        new_tests,
        before: reruns.before,
        was_red: reruns.was_red,
        failing: &reruns.name_failing(),
        changes: criterion.test_changes,
    });
    // No test was taken away: beside other checks it is worth what it was without new ones.
    if is_unchanged && let ProofWorth::AtMost(most, ..) = &mut worth {
        *most = Evidence::Verified;
    }
    let mut weakened = match (&worth, reruns.failing.is_empty()) {
        (ProofWorth::Weakened(_), false) => reruns.failing.clone(),
        (ProofWorth::Weakened(_), true) => files.clone(),
        (ProofWorth::Verified | ProofWorth::Unproven | ProofWorth::AtMost(..), _) => Vec::new(),
    };
    let mut judging_files = files;
    let inner = inner.changed.into_iter().chain(inner.added);
    judging_files.extend(inner.map(|test| test.file));
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

impl Reruns<'_> {
    /// New tests inside of files of code, of a suite that was green before them; `None` where it is not seen that they ran.
    fn try_added(
        &mut self,
        added: &[ChangedInnerTest],
        result: &CheckResult,
    ) -> Option<RerunOutcome> {
        if added.is_empty() || self.before == OutcomeBeforeWork::Failed {
            return None;
        }
        let begin = self.try_begin();
        let least = begin.tests?.ran + added.len() as u64;
        // A file with tests may be no part of the build any more.
        if begin.outcome != RerunOutcome::Pass || result.tests?.ran < least {
            return None;
        }
        let run = self.run_once(RerunTree::InnerTests(CodeBase::Begin));
        let is_added = |name: &String| {
            let mut words = name.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.any(|word| added.iter().any(|test| test.name == word))
        };
        let is_counted = run.tests.is_some_and(|tests| tests.ran >= least);
        let is_new = |run: &SuiteRun| run.failing.iter().any(is_added);
        use RerunOutcome::{Fail, Pass};
        let (control, fault) = match run.outcome {
            Pass if is_counted => (
                Some((CodeBase::Empty, Fail)),
                "the suite passes without the changed code, too",
            ),
            Fail if is_new(&run) => (
                Some((CodeBase::Judged, Pass)),
                "the new tests depend on their lines",
            ),
            // That it does not build may have another cause than the work that is missing.
            Fail if run.failing.is_empty() => (None, "without the work, no test ran"),
            _ => (None, "without the work, other tests ran or failed"),
        };
        if let Some((base, outcome)) = control
            && self.run_once(RerunTree::InnerTests(base)).outcome == outcome
        {
            let repeats = || is_new(&self.run_anew(RerunTree::InnerTests(CodeBase::Begin), true));
            if run.outcome == Pass || repeats() {
                return Some(run.outcome);
            }
            self.why = Some("a new test does not fail each time".to_owned());
        }
        self.why.get_or_insert_with(|| fault.to_owned());
        Some(RerunOutcome::Unknown)
    }
}
