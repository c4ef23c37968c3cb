//! The interface of a check: one configured criterion of completion.

use std::sync::LazyLock;

use watchdog_facts::context::SessionContext;
use watchdog_facts::evidence::{CheckOutcome, CheckResult, Degradation, TestCounts};
use watchdog_facts::proof::RerunOutcome;
use watchdog_facts::verdict::Evidence;

use super::capabilities::Capabilities;
use super::feedback::one_line;
use super::proof::ProvenPass;
use super::suite_runs::{SuiteRun, find_missing_name};

/// A configured criterion of completion.
///
/// A check reads facts through the [`Capabilities`] of its context and decides whether its criterion is met. It does no IO of its own.
/// An unreadable fact gives [`CheckJudgement::Failed`], never a pass.
///
/// # Example
/// A criterion of one's own: the changelog must exist, and the agent must have committed.
/// ```
/// use watchdog_core::checks::{CheckContext, CompletionCheck, CheckJudgement};
/// use watchdog_facts::verdict::Evidence;
///
/// struct Changelog;
///
/// impl CompletionCheck for Changelog {
///     fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
///         let commits = match context.capabilities.commits() {
///             Ok(commits) => commits,
///             Err(unreadable) => return CheckJudgement::Failed { why: unreadable.why },
///         };
///         match context.capabilities.files("CHANGELOG.md") {
///             Err(error) => CheckJudgement::Failed { why: format!("cannot look for CHANGELOG.md: {error}") },
///             Ok(found) if found.is_empty() => CheckJudgement::Unmet { feedback: "write CHANGELOG.md".into() },
///             Ok(_) if !commits.completes() => CheckJudgement::Unmet { feedback: "commit the work".into() },
///             Ok(_) => CheckJudgement::Pass { evidence: Evidence::Verified },
///         }
///     }
///
///     fn description(&self) -> String {
///         "CHANGELOG.md is written and the work is committed".into()
///     }
/// }
/// ```
pub trait CompletionCheck: Send + Sync {
    /// Judges the criterion now.
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement;

    /// As [`check`](Self::check), with further facts: how many tests ran, and warnings about the judgement.
    fn judge(&self, context: &CheckContext<'_>) -> JudgedCheck {
        self.check(context).into()
    }

    /// Tries on mixed trees what a pass is worth; `None` where nothing asks for it.
    fn prove(&self, _result: &CheckResult, _context: &CheckContext<'_>) -> Option<ProvenPass> {
        None
    }

    /// The meaning of done, in one sentence without a final period, for the agent's prompt at the start of a session.
    fn description(&self) -> String;
}

/// The inputs of a check.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct CheckContext<'a> {
    /// The way to everything outside.
    pub capabilities: &'a dyn Capabilities,
    /// The session's context: the agent's texts, actions and usage.
    pub session: &'a SessionContext,
    /// Whether to run every check, so that the feedback names everything that is missing.
    pub every: bool,
    /// How many expensive checks may run at the same time.
    pub at_once: usize,
}

/// Stands for an unknown session.
static EMPTY_SESSION: LazyLock<SessionContext> = LazyLock::new(SessionContext::default);

impl<'a> CheckContext<'a> {
    /// A context with these capabilities, in which nothing is known of the session.
    pub fn new(capabilities: &'a dyn Capabilities) -> Self {
        CheckContext {
            capabilities,
            session: &EMPTY_SESSION,
            every: false,
            at_once: 1,
        }
    }

    /// The same with the session's context.
    pub fn with_session(self, session: &'a SessionContext) -> Self {
        CheckContext { session, ..self }
    }

    /// The same, but runs every check of a group `all`, also those behind one that is not met.
    pub fn asking_every(self, every: bool) -> Self {
        CheckContext { every, ..self }
    }

    /// The same with so many expensive checks at a time, at least one.
    pub fn side_by_side(self, at_once: usize) -> Self {
        CheckContext {
            at_once: at_once.max(1),
            ..self
        }
    }
}

/// A judgement, and further facts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a judgement that nobody looks at is a check that was not made"]
pub struct JudgedCheck {
    /// How the check judged.
    pub judgement: CheckJudgement,
    /// The test counts that its runner reports.
    pub tests: Option<TestCounts>,
    /// Whether a known runner showed that tests ran, and not how many.
    pub tests_uncounted: bool,
    /// The names of the tests that failed, sorted, as far as its runner tells them.
    pub failing: Vec<String>,
    /// Whether these are all that failed; a pass has failed tests where all of them failed when the work began.
    pub names_all: bool,
    /// The tree that it ran on, where that was a scratch checkout.
    pub tree: Option<String>,
    /// Warnings that weaken the judgement.
    pub notes: Vec<Degradation>,
    /// The evidence of a pass once a proof shows that the session weakened no test.
    pub proven: Evidence,
}

impl From<CheckJudgement> for JudgedCheck {
    fn from(judgement: CheckJudgement) -> Self {
        JudgedCheck {
            proven: judgement.evidence(),
            judgement,
            tests: None,
            tests_uncounted: false,
            failing: Vec::new(),
            names_all: false,
            tree: None,
            notes: Vec::new(),
        }
    }
}

impl JudgedCheck {
    /// How its suite ended, where it ran on a tree.
    pub fn as_suite_run(&self) -> SuiteRun {
        let outcome = match self.judgement.outcome() {
            CheckOutcome::Pass => RerunOutcome::Pass,
            CheckOutcome::Unmet => RerunOutcome::Fail,
            CheckOutcome::Waiting
            | CheckOutcome::Unrunnable
            | CheckOutcome::Failed
            | CheckOutcome::TimedOut => {
                return SuiteRun::unknown(one_line(self.judgement.feedback()));
            }
        };
        SuiteRun {
            outcome,
            failing: self.failing.clone(),
            names_all: self.names_all,
            tests: self.tests,
            why: None,
            missing_name: find_missing_name(self.judgement.feedback()),
        }
    }
}

/// How a check judged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a judgement that nobody looks at is a check that was not made"]
pub enum CheckJudgement {
    /// Met, and how strongly that is shown.
    Pass {
        /// Enters the verdict; the weakest of all checks counts.
        evidence: Evidence,
    },
    /// Met: the strength of its evidence, and the finding in one line.
    PassWith {
        /// Enters the verdict; the weakest of all checks counts.
        evidence: Evidence,
        /// For a person; never feedback to the agent.
        summary: String,
    },
    /// It was met before, and none of its inputs changed since.
    PassedBefore {
        /// That of the run which passed.
        evidence: Evidence,
    },
    /// Not met. The feedback tells the agent what is missing.
    Unmet {
        /// Sentences for the agent; they may quote output of programs.
        feedback: String,
    },
    /// Cannot be met yet, because of work that runs outside of the session.
    Waiting {
        /// The pending work, in sentences for the agent.
        feedback: String,
    },
    /// Could not be run at all.
    Unrunnable {
        /// The obstacle, for a person.
        why: String,
    },
    /// Ran without a result.
    Failed {
        /// The reason, for a person.
        why: String,
    },
    /// Its deadline passed.
    TimedOut {
        /// The unfinished work, for a person.
        why: String,
    },
}

impl CheckJudgement {
    /// The outcome without its words.
    pub fn outcome(&self) -> CheckOutcome {
        match self {
            CheckJudgement::Pass { .. }
            | CheckJudgement::PassWith { .. }
            | CheckJudgement::PassedBefore { .. } => CheckOutcome::Pass,
            CheckJudgement::Unmet { .. } => CheckOutcome::Unmet,
            CheckJudgement::Waiting { .. } => CheckOutcome::Waiting,
            CheckJudgement::Unrunnable { .. } => CheckOutcome::Unrunnable,
            CheckJudgement::Failed { .. } => CheckOutcome::Failed,
            CheckJudgement::TimedOut { .. } => CheckOutcome::TimedOut,
        }
    }

    /// The strength of a pass; [`Evidence::None`] for everything else.
    pub fn evidence(&self) -> Evidence {
        match self {
            CheckJudgement::Pass { evidence }
            | CheckJudgement::PassWith { evidence, .. }
            | CheckJudgement::PassedBefore { evidence } => *evidence,
            _ => Evidence::None,
        }
    }

    /// The missing work or the fault; on a pass the finding, if there is one.
    pub fn feedback(&self) -> &str {
        match self {
            CheckJudgement::Pass { .. } | CheckJudgement::PassedBefore { .. } => "",
            CheckJudgement::PassWith { summary: found, .. } => found,
            CheckJudgement::Unmet { feedback } | CheckJudgement::Waiting { feedback } => feedback,
            CheckJudgement::Unrunnable { why }
            | CheckJudgement::Failed { why }
            | CheckJudgement::TimedOut { why } => why,
        }
    }
}
