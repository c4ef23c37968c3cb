//! Combines checks: all, any, first, at any depth; decides the order in which they run, when they stop, and what is reported.

use std::time::Duration;

use crate::config::settings::{CheckOrder, ConfigSettings, Mode};
use watchdog_facts::display::plural;
use watchdog_facts::evidence::{
    CheckOutcome, CheckResult, Degradation, OutcomeBeforeWork, TestCounts, WarningCode,
};
use watchdog_facts::secret_shapes::mask_secrets;
use watchdog_facts::verdict::Evidence;

use super::answers::CheckDefinition;
use super::check::{CheckContext, CheckJudgement, CompletionCheck, JudgedCheck};
use super::feedback::{MAX_CHARS, cut_feedback, one_line};
use super::proof_worth::ProofWorth;
use super::registry::CheckRegistry;
use super::side_by_side::side_by_side;

/// A check, or several that combine.
pub enum CheckTree {
    /// Several that combine.
    Group {
        /// How they combine.
        mode: Mode,
        /// In the order of the configuration.
        members: Vec<CheckTree>,
    },
    /// A single one.
    Single {
        /// Its name in results.
        name: String,
        /// Its type word in results.
        kind: String,
        /// Its configuration as text, and whether it depends on the worktree alone.
        definition: CheckDefinition,
        /// The cost of running it.
        cost: CheckCost,
        /// The check itself.
        check: Box<dyn CompletionCheck>,
    },
}

/// The cost of running a check. Ordered as in [`CheckOrder::CheapFirst`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckCost {
    /// Reads files or git.
    Cheap,
    /// Runs a program or asks a model.
    Expensive,
    /// Costs nothing and shows nothing. Asked last, so that where one of several suffices, one that shows something wins.
    Vacuous,
}

/// The result of the configured checks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the outcome decides whether the work is complete"]
pub struct GroupOutcome {
    /// The outcome of the whole.
    pub outcome: CheckOutcome,
    /// Strength of a pass: the weakest of the required ones for `all`, the winner's for `any` and `first`. [`Evidence::None`] otherwise.
    pub evidence: Evidence,
    /// Every check that ran, in the order of the configuration.
    pub results: Vec<CheckResult>,
    /// The missing work, for the agent; empty on a pass and never empty otherwise.
    pub feedback: String,
    /// Which one passed, where the mode is `first`.
    pub winner: Option<String>,
    /// Whether all checks behind a pass passed already when the work began: it shows that nothing broke, and nothing else.
    pub all_passed_before: bool,
    /// Warnings that weaken a pass, such as lost tests.
    pub notes: Vec<Degradation>,
}

/// A result with what a proof of it needs.
struct EvaluatedCheck<'tree> {
    result: CheckResult,
    /// The check, where the outcome of the whole rests on it.
    check: Option<&'tree dyn CompletionCheck>,
    /// The evidence once a proof shows that the session weakened no test.
    proven: Evidence,
    /// The test counts of when the work began.
    begin_tests: Option<TestCounts>,
}

/// The result of a part of the tree.
struct SubtreeResult<'tree> {
    outcome: CheckOutcome,
    evidence: Evidence,
    results: Vec<EvaluatedCheck<'tree>>,
    feedback: String,
    winner: Option<String>,
    passed_before: bool,
    /// Whether a check behind the pass failed when the work began.
    failed_before: bool,
    /// Whether it consists of checks of the type `git`: that commits are new says nothing of what another check finds.
    is_git: bool,
    notes: Vec<Degradation>,
}

/// Judges the configured checks. Without any, the outcome is unmet: the caller decides about missing criteria.
pub fn evaluate_checks(settings: &ConfigSettings, context: &CheckContext<'_>) -> GroupOutcome {
    CheckRegistry::default().evaluate(settings, context)
}

/// The meaning of done, for the agent's prompt: one line per check, groups indented. Empty without checks.
pub fn describe_checks(settings: &ConfigSettings) -> String {
    CheckRegistry::default().describe(settings)
}

impl CheckRegistry {
    /// As [`evaluate_checks`], with the registered types.
    pub fn evaluate(&self, settings: &ConfigSettings, context: &CheckContext<'_>) -> GroupOutcome {
        self.tree(settings).evaluate(settings.order, context)
    }

    /// As [`describe_checks`], with the registered types.
    pub fn describe(&self, settings: &ConfigSettings) -> String {
        if settings.checks.is_empty() {
            return String::new();
        }
        let mut lines = Vec::new();
        self.tree(settings).describe(0, &mut lines);
        lines.join("\n")
    }

    fn tree(&self, settings: &ConfigSettings) -> CheckTree {
        CheckTree::Group {
            mode: settings.mode,
            members: settings
                .checks
                .iter()
                .map(|check| self.build(check))
                .collect(),
        }
    }
}

impl CheckTree {
    /// Judges the whole tree.
    pub fn evaluate(&self, order: CheckOrder, context: &CheckContext<'_>) -> GroupOutcome {
        let mut whole = self.judge(order, context);
        whole.prove(context);
        // Rule 10 of the contract: a pass verifies work only where it could have failed. Without a baseline there is no earlier state.
        let is_new = whole.failed_before || !context.capabilities.baseline_known();
        let evidence = if is_new {
            whole.evidence
        } else {
            whole.evidence.min(Evidence::Committed)
        };
        GroupOutcome {
            outcome: whole.outcome,
            evidence,
            results: whole
                .results
                .into_iter()
                .map(|evaluated| evaluated.result)
                .collect(),
            feedback: whole.feedback,
            winner: whole.winner,
            all_passed_before: whole.passed_before,
            notes: whole.notes,
        }
    }

    /// Adds its lines to a description.
    fn describe(&self, depth: usize, lines: &mut Vec<String>) {
        let indent = "  ".repeat(depth);
        match self {
            CheckTree::Single {
                name, kind, check, ..
            } => {
                let title = if name == kind {
                    String::new()
                } else {
                    format!("{}: ", super::feedback::one_line(name))
                };
                lines.push(format!("{indent}- {title}{}", check.description()));
            }
            CheckTree::Group { mode, members } => {
                let bullet = if depth == 0 {
                    String::new()
                } else {
                    format!("{indent}- ")
                };
                let which = match mode {
                    Mode::All => "all of these:",
                    Mode::Any | Mode::First => "one of these:",
                };
                lines.push(format!("{bullet}{which}"));
                members
                    .iter()
                    .for_each(|member| member.describe(depth + 1, lines));
            }
        }
    }

    fn cost(&self) -> CheckCost {
        match self {
            CheckTree::Single { cost, .. } => *cost,
            CheckTree::Group { members, .. } => members
                .iter()
                .map(CheckTree::cost)
                .max()
                .unwrap_or(CheckCost::Cheap),
        }
    }

    fn judge(&self, order: CheckOrder, context: &CheckContext<'_>) -> SubtreeResult<'_> {
        match self {
            CheckTree::Single {
                name,
                kind,
                definition,
                check,
                ..
            } => {
                let began = context.capabilities.clock();
                let head_before = context.capabilities.head();
                let judged = check.judge(context);
                let duration = context.capabilities.clock().saturating_sub(began);
                let mut result = build_check_result(name, kind, check.as_ref(), &judged, duration);
                let (mut notes, mut proven) = (judged.notes, judged.proven);
                let has_excused =
                    result.outcome == CheckOutcome::Pass && !judged.failing.is_empty();
                // Whoever repairs these failures later shows work.
                let suite_outcome = match has_excused {
                    true => CheckOutcome::Unmet,
                    false => result.outcome,
                };
                let begin = context
                    .capabilities
                    .at_begin(definition, suite_outcome, result.tests);
                result.before = begin.before;
                if has_excused {
                    // With these failures it passes on what was there, too.
                    result.before = OutcomeBeforeWork::Passed;
                    result.baseline_failures = judged.failing;
                }
                // Rule 15 of the contract: the check made a part of what it judged.
                if result.outcome == CheckOutcome::Pass
                    && context.capabilities.head() != head_before
                {
                    result.evidence = result.evidence.min(Evidence::Claimed);
                    proven = result.evidence;
                    let detail = format!("{}: HEAD moved while it ran", one_line(name));
                    notes.push(Degradation::new(WarningCode::CheckMovedHead, detail));
                }
                if result.outcome == CheckOutcome::Pass
                    && let Some(why) = describe_shrunk_suite(begin.tests, result.tests)
                {
                    result.evidence = result.evidence.min(Evidence::Claimed);
                    notes.push(Degradation::new(
                        WarningCode::TestsShrunk,
                        format!("{}: {why}", one_line(name)),
                    ));
                }
                SubtreeResult {
                    outcome: result.outcome,
                    evidence: result.evidence,
                    feedback: result.feedback.clone(),
                    passed_before: result.outcome == CheckOutcome::Pass
                        && result.before == OutcomeBeforeWork::Passed,
                    failed_before: result.outcome == CheckOutcome::Pass
                        && result.before == OutcomeBeforeWork::Failed,
                    is_git: kind == "git",
                    results: vec![EvaluatedCheck {
                        result,
                        check: Some(check.as_ref()),
                        proven,
                        begin_tests: begin.tests,
                    }],
                    winner: Some(name.clone()),
                    notes,
                }
            }
            CheckTree::Group { members, .. } if members.is_empty() => SubtreeResult {
                outcome: CheckOutcome::Unmet,
                evidence: Evidence::None,
                results: Vec::new(),
                feedback: "no checks are configured, and an empty list is never complete".into(),
                winner: None,
                passed_before: false,
                failed_before: false,
                is_git: false,
                notes: Vec::new(),
            },
            CheckTree::Group {
                mode: Mode::All,
                members,
            } => judge_all_members(members, order, context),
            CheckTree::Group {
                mode: mode @ (Mode::Any | Mode::First),
                members,
            } => judge_any_member(*mode, members, order, context),
        }
    }
}

impl SubtreeResult<'_> {
    /// Tries what each pass is worth, where the whole passes: a weakened test makes it no better than the check of it.
    fn prove(&mut self, context: &CheckContext<'_>) {
        if self.outcome != CheckOutcome::Pass {
            return;
        }
        let mut is_shown = false;
        let mut weakest = Evidence::Verified;
        for evaluated in &mut self.results {
            let EvaluatedCheck { result, check, .. } = evaluated;
            let Some(check) = check.filter(|_| result.outcome == CheckOutcome::Pass) else {
                continue;
            };
            let Some(proven) = check.prove(result, context) else {
                weakest = weakest.min(result.evidence);
                continue;
            };
            result.before = proven.before;
            if let Some(counts) = proven.as_it_was
                && describe_shrunk_suite(evaluated.begin_tests, counts).is_none()
            {
                result.evidence = evaluated.proven;
            }
            let mut reasons = Vec::new();
            match proven.worth {
                ProofWorth::Verified => is_shown = true,
                ProofWorth::Unproven => {}
                ProofWorth::AtMost(most, code, why) => {
                    result.evidence = result.evidence.min(most);
                    let cause = (proven.proof.why.as_ref())
                        .map_or(String::new(), |cause| format!(" ({cause})"));
                    reasons.push((code, why + &cause));
                }
                ProofWorth::Weakened(why) => {
                    result.evidence = Evidence::None;
                    result.feedback = why;
                }
            }
            if let Some(code) = proven.hidden {
                result.evidence = result.evidence.min(Evidence::Committed);
                reasons.push((code, proven.proof.notes.join("; ")));
            }
            for (code, why) in reasons {
                let detail = format!("{}: {why}", one_line(&result.name));
                self.notes.push(Degradation { code, detail });
                if !result.feedback.is_empty() {
                    result.feedback.push_str("; ");
                }
                result.feedback.push_str(&why);
            }
            weakest = weakest.min(result.evidence);
            result.proof = Some(proven.proof);
        }
        self.evidence = weakest;
        self.failed_before |= is_shown;
        let mut passes = (self.results.iter().map(|evaluated| &evaluated.result))
            .filter(|result| result.outcome == CheckOutcome::Pass);
        // New tests show the work of a suite that was green before it, too.
        self.passed_before = !is_shown
            && passes.all(|result| {
                let is_weakened =
                    (result.proof.as_ref()).is_some_and(|proof| !proof.weakened.is_empty());
                result.before == OutcomeBeforeWork::Passed && !is_weakened
            });
    }
}

/// Stops at the first check that is not complete, and takes its result. If every check runs, the feedback joins that of all.
fn judge_all_members<'tree>(
    members: &'tree [CheckTree],
    order: CheckOrder,
    context: &CheckContext<'_>,
) -> SubtreeResult<'tree> {
    let sequence = order_members(Mode::All, members, order);
    let mut parts: Vec<Option<SubtreeResult<'tree>>> = members.iter().map(|_| None).collect();
    let stops = |part: &SubtreeResult<'_>| part.outcome != CheckOutcome::Pass && !context.every;
    // In a given order, a check may depend on an earlier one. Cheap ones are over before a thread has begun.
    let expensive = match order {
        CheckOrder::CheapFirst if context.at_once > 1 => {
            sequence.partition_point(|n| members[*n].cost() == CheckCost::Cheap)
        }
        CheckOrder::CheapFirst | CheckOrder::Given => sequence.len(),
    };
    let (alone, together) = if sequence.len() - expensive > 1 {
        sequence.split_at(expensive)
    } else {
        (sequence.as_slice(), &[][..])
    };
    let mut stopped = false;
    for &n in alone {
        let part = members[n].judge(order, context);
        stopped = stops(&part);
        parts[n] = Some(part);
        if stopped {
            break;
        }
    }
    if !stopped {
        // Threads are bounded by this group: groups inside of it ask one after the other.
        let inside = CheckContext {
            at_once: 1,
            ..*context
        };
        let judged = side_by_side(
            together.len(),
            context.at_once,
            |n| members[together[n]].judge(order, &inside),
            stops,
        );
        judged
            .into_iter()
            .enumerate()
            .for_each(|(n, part)| parts[together[n]] = part);
    }
    let missing = |part: &SubtreeResult<'_>| part.outcome != CheckOutcome::Pass;
    let first = sequence
        .iter()
        .find_map(|&n| parts[n].as_ref().filter(|part| missing(part)));
    let (outcome, evidence, feedback) = match first {
        Some(first) if context.every => {
            let words: Vec<String> = parts
                .iter()
                .flatten()
                .filter(|part| missing(part))
                .map(|part| part.feedback.clone())
                .collect();
            (first.outcome, first.evidence, join_sentences(&words))
        }
        Some(first) => (first.outcome, first.evidence, first.feedback.clone()),
        None => {
            let weakest = parts
                .iter()
                .flatten()
                .map(|part| part.evidence)
                .fold(Evidence::Verified, Evidence::min);
            (CheckOutcome::Pass, weakest, String::new())
        }
    };
    let passed_before = parts.iter().flatten().all(|part| part.passed_before);
    let is_git = parts.iter().flatten().all(|part| part.is_git);
    let failed_before = parts
        .iter()
        .flatten()
        .any(|part| part.failed_before && (is_git || !part.is_git));
    let notes = collect_notes(&mut parts);
    SubtreeResult {
        outcome,
        evidence,
        results: collect_results(parts),
        feedback,
        winner: None,
        passed_before,
        failed_before,
        is_git,
        notes,
    }
}

/// Stops at the first that is complete. If none is, the gravest outcome is surfaced, so that a
/// check that could not run is not mistaken for work that is missing; the feedback is everybody's,
/// in the order of the configuration.
///
/// They are never asked side by side: one that passes makes the others needless.
fn judge_any_member<'tree>(
    mode: Mode,
    members: &'tree [CheckTree],
    order: CheckOrder,
    context: &CheckContext<'_>,
) -> SubtreeResult<'tree> {
    let mut parts: Vec<Option<SubtreeResult<'tree>>> = members.iter().map(|_| None).collect();
    for n in order_members(mode, members, order) {
        let mut part = members[n].judge(order, context);
        if part.outcome == CheckOutcome::Pass {
            let winner = part
                .winner
                .take()
                .or_else(|| Some(format!("group {}", n + 1)))
                .filter(|_| mode == Mode::First);
            let (outcome, evidence, feedback) =
                (part.outcome, part.evidence, part.feedback.clone());
            let (passed_before, failed_before, is_git) =
                (part.passed_before, part.failed_before, part.is_git);
            let notes = std::mem::take(&mut part.notes);
            let others = parts.iter_mut().flatten();
            others
                .flat_map(|part| &mut part.results)
                .for_each(|evaluated| evaluated.check = None);
            parts[n] = Some(part);
            return SubtreeResult {
                outcome,
                evidence,
                results: collect_results(parts),
                feedback,
                winner,
                passed_before,
                failed_before,
                is_git,
                notes,
            };
        }
        parts[n] = Some(part);
    }
    let gravest = parts
        .iter()
        .flatten()
        .map(|part| part.outcome)
        .max_by_key(|outcome| rank_outcome(*outcome))
        .unwrap_or(CheckOutcome::Unmet);
    let words: Vec<String> = parts
        .iter()
        .flatten()
        .map(|part| part.feedback.clone())
        .collect();
    let notes = collect_notes(&mut parts);
    SubtreeResult {
        outcome: gravest,
        evidence: Evidence::None,
        results: collect_results(parts),
        feedback: join_sentences(&words),
        winner: None,
        passed_before: false,
        failed_before: false,
        is_git: false,
        notes,
    }
}

/// Those of every check that ran.
fn collect_notes(parts: &mut [Option<SubtreeResult<'_>>]) -> Vec<Degradation> {
    parts
        .iter_mut()
        .flatten()
        .flat_map(|part| std::mem::take(&mut part.notes))
        .collect()
}

/// Those of every check that ran, in the order of the configuration.
fn collect_results<'tree>(parts: Vec<Option<SubtreeResult<'tree>>>) -> Vec<EvaluatedCheck<'tree>> {
    parts
        .into_iter()
        .flatten()
        .flat_map(|part| part.results)
        .collect()
}

/// The order in which the members run. `first` keeps the order of the configuration: it is the user's order of preference.
fn order_members(mode: Mode, members: &[CheckTree], order: CheckOrder) -> Vec<usize> {
    let mut sequence: Vec<usize> = (0..members.len()).collect();
    if order == CheckOrder::CheapFirst && mode != Mode::First {
        sequence.sort_by_key(|n| members[*n].cost());
    }
    sequence
}

/// How grave an outcome is that is no pass.
fn rank_outcome(outcome: CheckOutcome) -> u8 {
    match outcome {
        CheckOutcome::Pass | CheckOutcome::Unmet => 0,
        CheckOutcome::Waiting => 1,
        CheckOutcome::TimedOut => 2,
        CheckOutcome::Failed => 3,
        CheckOutcome::Unrunnable => 4,
    }
}

/// Joins sentences; where one has several lines, each on lines of its own.
fn join_sentences(words: &[String]) -> String {
    let several_lines = words.iter().any(|words| words.contains('\n'));
    let mut all = String::new();
    for sentence in words {
        all.push_str(match all.chars().last() {
            None => "",
            Some(_) if several_lines => "\n",
            Some('.' | '?' | '!') => " ",
            Some(_) => "; ",
        });
        all.push_str(sentence);
    }
    cut_feedback(all, 2 * MAX_CHARS)
}

/// How a suite is smaller than it was, where both counts are known: a pass then says less than it did.
fn describe_shrunk_suite(before: Option<TestCounts>, now: Option<TestCounts>) -> Option<String> {
    let (before, now) = (before?, now?);
    if now.ran < before.ran {
        return Some(format!(
            "{} ran, and {} did when the work began",
            plural(now.ran, "test"),
            before.ran
        ));
    }
    (now.skipped > before.skipped).then(|| {
        format!(
            "{} skipped, and {} were when the work began",
            plural(now.skipped, "test"),
            before.skipped
        )
    })
}

fn build_check_result(
    name: &str,
    kind: &str,
    check: &dyn CompletionCheck,
    judged: &JudgedCheck,
    duration: Duration,
) -> CheckResult {
    let judgement = &judged.judgement;
    let outcome = judgement.outcome();
    // The output of a program: its tokens stay here.
    let mut feedback = cut_feedback(
        mask_secrets(judgement.feedback()).into_owned(),
        MAX_CHARS + MAX_CHARS / 4,
    );
    if outcome != CheckOutcome::Pass && feedback.trim().is_empty() {
        // An agent that must continue needs a reason.
        feedback = format!("not met: {}", check.description());
    }
    let cached = matches!(judgement, CheckJudgement::PassedBefore { .. });
    CheckResult {
        name: name.to_owned(),
        kind: kind.to_owned(),
        outcome,
        evidence: judgement.evidence(),
        feedback,
        baseline_failures: Vec::new(),
        duration,
        cached,
        before: OutcomeBeforeWork::Unknown,
        proof: None,
        tests: judged.tests,
        tests_uncounted: judged.tests_uncounted,
        tree: judged.tree.clone(),
    }
}
