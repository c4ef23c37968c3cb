//! How checks combine: all, any, first, at any depth; in which order they run, when they stop, and what is surfaced.

use std::time::Duration;

use crate::config::settings::{CheckOrder, Mode, Settings};
use crate::decision::evidence::{Before, CheckOutcome, CheckResult};
use crate::decision::verdict::Evidence;

use super::check::{CheckContext, CompletionCheck, Judgement};
use super::feedback::{MAX_CHARS, bounded};
use super::registry::Registry;
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
        /// What it costs to ask it.
        cost: Cost,
        /// The check itself.
        check: Box<dyn CompletionCheck>,
    },
}

/// What it costs to ask a check. Ordered as [`CheckOrder::CheapFirst`] asks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cost {
    /// Reads files or git.
    Cheap,
    /// Runs a program or asks a model.
    Dear,
    /// Costs nothing and shows nothing. Asked last, so that where one of several suffices, one that shows something wins.
    Vacuous,
}

/// What the configured checks came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the outcome decides whether the work is complete"]
pub struct GroupOutcome {
    /// The outcome of the whole.
    pub outcome: CheckOutcome,
    /// Strength of a pass: the weakest of what was needed for `all`, the winner's for `any` and `first`. [`Evidence::None`] otherwise.
    pub evidence: Evidence,
    /// Every single check that was asked, in the order of the configuration.
    pub results: Vec<CheckResult>,
    /// What is missing, for the agent; empty on a pass and never empty otherwise.
    pub feedback: String,
    /// Which one passed, where the mode is `first`.
    pub winner: Option<String>,
}

/// What a part of the tree came to.
struct Part {
    outcome: CheckOutcome,
    evidence: Evidence,
    results: Vec<CheckResult>,
    feedback: String,
    winner: Option<String>,
}

/// Judges the configured checks. Without any, the outcome is unmet: what to do then is not for the checks to say.
pub fn evaluate(settings: &Settings, context: &CheckContext<'_>) -> GroupOutcome {
    Registry::default().evaluate(settings, context)
}

/// What done means, for the agent's prompt: one line per check, groups indented. Empty without checks.
pub fn describe(settings: &Settings) -> String {
    Registry::default().describe(settings)
}

impl Registry {
    /// As [`evaluate`], with the registered types.
    pub fn evaluate(&self, settings: &Settings, context: &CheckContext<'_>) -> GroupOutcome {
        self.tree(settings).evaluate(settings.order, context)
    }

    /// As [`describe`], with the registered types.
    pub fn describe(&self, settings: &Settings) -> String {
        if settings.checks.is_empty() {
            return String::new();
        }
        let mut lines = Vec::new();
        self.tree(settings).describe(0, &mut lines);
        lines.join("\n")
    }

    fn tree(&self, settings: &Settings) -> CheckTree {
        CheckTree::Group { mode: settings.mode, members: settings.checks.iter().map(|check| self.build(check)).collect() }
    }
}

impl CheckTree {
    /// Judges the whole tree.
    pub fn evaluate(&self, order: CheckOrder, context: &CheckContext<'_>) -> GroupOutcome {
        let Part { outcome, evidence, results, feedback, winner } = self.judge(order, context);
        GroupOutcome { outcome, evidence, results, feedback, winner }
    }

    /// Adds its lines to a description.
    fn describe(&self, depth: usize, lines: &mut Vec<String>) {
        let indent = "  ".repeat(depth);
        match self {
            CheckTree::Single { name, kind, check, .. } => {
                let title = if name == kind { String::new() } else { format!("{}: ", super::feedback::one_line(name)) };
                lines.push(format!("{indent}- {title}{}", check.description()));
            }
            CheckTree::Group { mode, members } => {
                let bullet = if depth == 0 { String::new() } else { format!("{indent}- ") };
                let which = match mode {
                    Mode::All => "all of these:",
                    Mode::Any | Mode::First => "one of these:",
                };
                lines.push(format!("{bullet}{which}"));
                members.iter().for_each(|member| member.describe(depth + 1, lines));
            }
        }
    }

    fn cost(&self) -> Cost {
        match self {
            CheckTree::Single { cost, .. } => *cost,
            CheckTree::Group { members, .. } => members.iter().map(CheckTree::cost).max().unwrap_or(Cost::Cheap),
        }
    }

    fn judge(&self, order: CheckOrder, context: &CheckContext<'_>) -> Part {
        match self {
            CheckTree::Single { name, kind, check, .. } => {
                let began = context.capabilities.clock();
                let judgement = check.check(context);
                let duration = context.capabilities.clock().saturating_sub(began);
                let result = result(name, kind, check.as_ref(), &judgement, duration);
                Part {
                    outcome: judgement.outcome(),
                    evidence: judgement.evidence(),
                    feedback: result.feedback.clone(),
                    results: vec![result],
                    winner: Some(name.clone()),
                }
            }
            CheckTree::Group { members, .. } if members.is_empty() => Part {
                outcome: CheckOutcome::Unmet,
                evidence: Evidence::None,
                results: Vec::new(),
                feedback: "no checks are configured, and an empty list is never complete".into(),
                winner: None,
            },
            CheckTree::Group { mode: Mode::All, members } => all(members, order, context),
            CheckTree::Group { mode: mode @ (Mode::Any | Mode::First), members } => any(*mode, members, order, context),
        }
    }
}

/// Stops at the first that is not complete, and is what that one is. Where everything is asked nevertheless, the feedback is everybody's.
fn all(members: &[CheckTree], order: CheckOrder, context: &CheckContext<'_>) -> Part {
    let sequence = sequence(Mode::All, members, order);
    let mut parts: Vec<Option<Part>> = members.iter().map(|_| None).collect();
    let stops = |part: &Part| part.outcome != CheckOutcome::Pass && !context.every;
    // Where the order is given, one may rest on what another did. Cheap ones are over before a thread has begun.
    let dear = match order {
        CheckOrder::CheapFirst if context.at_once > 1 => sequence.partition_point(|n| members[*n].cost() == Cost::Cheap),
        CheckOrder::CheapFirst | CheckOrder::Given => sequence.len(),
    };
    let (alone, together) = if sequence.len() - dear > 1 { sequence.split_at(dear) } else { (sequence.as_slice(), &[][..]) };
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
        let inside = CheckContext { at_once: 1, ..*context };
        let judged = side_by_side(together.len(), context.at_once, |n| members[together[n]].judge(order, &inside), stops);
        judged.into_iter().enumerate().for_each(|(n, part)| parts[together[n]] = part);
    }
    let missing = |part: &Part| part.outcome != CheckOutcome::Pass;
    let first = sequence.iter().find_map(|&n| parts[n].as_ref().filter(|part| missing(part)));
    let (outcome, evidence, feedback) = match first {
        Some(first) if context.every => {
            let words: Vec<String> = parts.iter().flatten().filter(|part| missing(part)).map(|part| part.feedback.clone()).collect();
            (first.outcome, first.evidence, joined(&words))
        }
        Some(first) => (first.outcome, first.evidence, first.feedback.clone()),
        None => {
            let weakest = parts.iter().flatten().map(|part| part.evidence).fold(Evidence::Verified, Evidence::min);
            (CheckOutcome::Pass, weakest, String::new())
        }
    };
    Part { outcome, evidence, results: results(parts), feedback, winner: None }
}

/// Stops at the first that is complete. Where none is, the gravest outcome is surfaced, so that a check that could not run is not
/// mistaken for work that is missing; the feedback is everybody's, in the order of the configuration.
///
/// They are never asked side by side: one that passes makes the others needless.
fn any(mode: Mode, members: &[CheckTree], order: CheckOrder, context: &CheckContext<'_>) -> Part {
    let mut gravest = CheckOutcome::Unmet;
    let mut parts: Vec<Option<Part>> = members.iter().map(|_| None).collect();
    for n in sequence(mode, members, order) {
        let mut part = members[n].judge(order, context);
        if part.outcome == CheckOutcome::Pass {
            let winner = part.winner.take().or_else(|| Some(format!("group {}", n + 1))).filter(|_| mode == Mode::First);
            let (outcome, evidence, feedback) = (part.outcome, part.evidence, part.feedback.clone());
            parts[n] = Some(part);
            return Part { outcome, evidence, results: results(parts), feedback, winner };
        }
        if gravity(part.outcome) > gravity(gravest) {
            gravest = part.outcome;
        }
        parts[n] = Some(part);
    }
    let words: Vec<String> = parts.iter().flatten().map(|part| part.feedback.clone()).collect();
    Part { outcome: gravest, evidence: Evidence::None, results: results(parts), feedback: joined(&words), winner: None }
}

/// Those of everybody who was asked, in the order of the configuration.
fn results(parts: Vec<Option<Part>>) -> Vec<CheckResult> {
    parts.into_iter().flatten().flat_map(|part| part.results).collect()
}

/// In which order the members are asked. `first` keeps the order of the configuration: it is the user's order of preference.
fn sequence(mode: Mode, members: &[CheckTree], order: CheckOrder) -> Vec<usize> {
    let mut sequence: Vec<usize> = (0..members.len()).collect();
    if order == CheckOrder::CheapFirst && mode != Mode::First {
        sequence.sort_by_key(|n| members[*n].cost());
    }
    sequence
}

/// How grave an outcome is that is no pass.
fn gravity(outcome: CheckOutcome) -> u8 {
    match outcome {
        CheckOutcome::Pass | CheckOutcome::Unmet => 0,
        CheckOutcome::Waiting => 1,
        CheckOutcome::TimedOut => 2,
        CheckOutcome::Failed => 3,
        CheckOutcome::Unrunnable => 4,
    }
}

/// One sentence after the other; where one has several lines, each on lines of its own.
fn joined(words: &[String]) -> String {
    let separator = if words.iter().any(|words| words.contains('\n')) { "\n" } else { " " };
    bounded(words.join(separator), 2 * MAX_CHARS)
}

fn result(name: &str, kind: &str, check: &dyn CompletionCheck, judgement: &Judgement, duration: Duration) -> CheckResult {
    let outcome = judgement.outcome();
    let mut feedback = bounded(judgement.feedback().to_owned(), MAX_CHARS + MAX_CHARS / 4);
    if outcome != CheckOutcome::Pass && feedback.trim().is_empty() {
        // An agent that is told to go on must be told why.
        feedback = format!("not met: {}", check.description());
    }
    let cached = matches!(judgement, Judgement::PassedBefore { .. });
    CheckResult {
        name: name.to_owned(),
        kind: kind.to_owned(),
        outcome,
        evidence: judgement.evidence(),
        feedback,
        duration,
        cached,
        before: Before::Unknown,
        tests: None,
    }
}
