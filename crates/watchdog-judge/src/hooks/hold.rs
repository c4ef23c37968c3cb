//! Decides whether the agent may stop. Facts in, answer out; nothing here reads files or processes.
//!
//! The machine judges the criteria ([`super::stop_criteria`]). This module turns its verdict into an answer, by the rules that only hooks
//! have: the agent is held in one case alone, if the criteria are not met, and a limited number of times in a row. Every other result,
//! watchdog's own failures included, releases it, and the answer tells the user why.

use watchdog_facts::display::{name_first, plural};
use watchdog_facts::evidence::StopReason;
use watchdog_facts::verdict::{Evidence, Reason};

use super::input::HookEvent;
use super::reply::{HookAction, HookReply};

/// How a hook holds the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldPoint {
    /// It may not stop.
    Stop,
    /// Its structured output is refused.
    Output,
    /// Its structured output was accepted; it can only get a message.
    OutputTaken {
        /// Whether the session is ended where nothing is missing.
        finish: bool,
    },
}

/// The facts behind the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum StopFacts {
    /// watchdog could not judge; `why` is for a person.
    Failed {
        /// The obstacle, from a judgement that ended in `error`.
        why: String,
    },
    /// There is nothing to judge: no criteria.
    Nothing,
    /// No criteria, and the configuration asks for a person then.
    NoCriteria,
    /// The configuration is there, and does not count.
    Untrusted {
        /// A whole `watchdog trust` command line.
        allow_with: String,
    },
    /// A budget is spent or the deadline has passed.
    Limit(StopReason),
    /// Something still runs in the background; in a few words each.
    Background {
        /// An entry for each running task.
        tasks: Vec<String>,
    },
    /// Every check passed, and guarded files changed; names them.
    CriteriaChanged {
        /// The changed paths, joined in one line.
        guarded: String,
    },
    /// Every check passed, and that shows less than the configuration requires.
    TooWeak {
        /// The weakest of the checks that passed.
        evidence: Evidence,
        /// The least that the configuration accepts.
        required: Evidence,
    },
    /// Every check passed.
    Passed,
    /// The checks are not met; holds the feedback for the agent.
    Unmet {
        /// The joined feedback of the checks.
        feedback: String,
    },
    /// The checks could not be judged; holds the machine's reason, and more for a person.
    Undecided {
        /// The reason of the verdict.
        reason: Reason,
        /// The joined feedback of the checks.
        feedback: String,
    },
}

/// How often this session was held in a row already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldStreak {
    /// So often; `None` where it could not be read.
    pub times: Option<u32>,
    /// And no more often than this.
    pub most: u32,
}

/// The effect on the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldCountChange {
    /// It stays.
    Same,
    /// It grows by one.
    OneMore,
    /// The row is over.
    Over,
}

/// The answer, and the facts to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookDecision {
    /// For the host.
    pub reply: HookReply,
    /// The result in the words of the contract; `None` without a judgement.
    pub reason: Option<Reason>,
    /// The same in a sentence, for a person; empty with nothing to say.
    pub message: String,
    /// The effect on the count.
    pub counted: HoldCountChange,
}

/// The words for an unmet check that has none of its own.
const NO_WORDS: &str = "Tasks are incomplete";

/// Decides.
pub fn decide_hold(holding: HoldPoint, facts: &StopFacts, streak: HoldStreak) -> HookDecision {
    match facts {
        StopFacts::Nothing => HookDecision {
            reply: build_release_reply(holding, None),
            reason: None,
            message: String::new(),
            counted: HoldCountChange::Same,
        },
        StopFacts::Failed { why } => release_without_proof(
            None,
            format!("could not judge, so the agent was not held: {why}"),
        ),
        StopFacts::NoCriteria => release_without_proof(
            Some(Reason::NoCriteria),
            "no criteria are configured; a person must decide whether the work is done",
        ),
        StopFacts::Untrusted { allow_with } => release_without_proof(
            Some(Reason::Untrusted),
            format!(
                "completion.json is not trusted, so its checks did not run; read it, then allow it with: {allow_with}"
            ),
        ),
        StopFacts::Limit(stop) => release_without_proof(
            Some(stop.reason),
            format!(
                "{}; the work was not judged, and the agent may stop",
                stop.why
            ),
        ),
        StopFacts::Background { tasks } => release_without_proof(
            Some(Reason::BackgroundWork),
            describe_background_tasks(tasks),
        ),
        StopFacts::CriteriaChanged { guarded } => HookDecision {
            counted: HoldCountChange::Over,
            ..release_without_proof(
                Some(Reason::CriteriaChanged),
                format!(
                    "guarded files changed since the anchor: {guarded}; a person must look at them"
                ),
            )
        },
        StopFacts::TooWeak { evidence, required } => HookDecision {
            counted: HoldCountChange::Over,
            ..release_without_proof(
                Some(Reason::Disputed),
                format!(
                    "every check passed, but the evidence is '{}' and the configuration requires '{}'; a person must look",
                    evidence.as_str(),
                    required.as_str()
                ),
            )
        },
        StopFacts::Passed => HookDecision {
            reply: build_release_reply(holding, None),
            reason: Some(Reason::ChecksPassed),
            message: "every check passed".into(),
            counted: HoldCountChange::Over,
        },
        StopFacts::Unmet { feedback } => decide_unmet(holding, feedback, streak),
        StopFacts::Undecided { reason, feedback } => {
            let what = match reason {
                Reason::BackgroundWork => "a check waits",
                Reason::VerifyUnrunnable => "a check could not run",
                Reason::VerifyTimeout => "a check did not end in time",
                _ => "a check ran without a result",
            };
            release_without_proof(
                Some(*reason),
                format!(
                    "{what}, so the agent was not held: {}",
                    trim_feedback(feedback)
                ),
            )
        }
    }
}

/// The checks are not met: held, unless it was held too often already.
fn decide_unmet(holding: HoldPoint, feedback: &str, streak: HoldStreak) -> HookDecision {
    let feedback = trim_feedback(feedback);
    let message = format!("the checks are not met: {feedback}");
    let hold = |act| HookDecision {
        reply: HookReply { act, message: None },
        reason: Some(Reason::ChecksUnmet),
        message: message.clone(),
        counted: HoldCountChange::OneMore,
    };
    match (holding, streak.times) {
        // A message is all that is possible, so it cannot hold an agent without end.
        (HoldPoint::OutputTaken { .. }, _) => {
            let advice = format!(
                "Tasks incomplete: {}{}Please complete the remaining tasks, then call StructuredOutput again with your final output.",
                feedback.trim_end_matches('.'),
                if feedback.contains('\n') { "\n" } else { ". " }
            );
            HookDecision {
                counted: HoldCountChange::Same,
                ..hold(HookAction::Inform {
                    event: HookEvent::PostToolUse,
                    context: advice,
                })
            }
        }
        (HoldPoint::Stop | HoldPoint::Output, None) => release_without_proof(
            Some(Reason::StoreError),
            format!(
                "the agent was not held, because the hold counter could not be read or saved; {message}"
            ),
        ),
        (HoldPoint::Stop | HoldPoint::Output, Some(_)) if streak.most == 0 => {
            release_without_proof(
                Some(Reason::ChecksUnmet),
                format!("{message}; limits.max_stop_blocks is 0, so the agent was not held"),
            )
        }
        (HoldPoint::Stop | HoldPoint::Output, Some(times)) if times >= streak.most => {
            release_without_proof(
                Some(Reason::BudgetExhausted),
                format!(
                    "the agent was held {} in a row and is let go; the work is not complete: {feedback}",
                    plural(times.into(), "time")
                ),
            )
        }
        (HoldPoint::Stop, Some(_)) => hold(HookAction::Block {
            reason: feedback.to_owned(),
        }),
        (HoldPoint::Output, Some(_)) => hold(HookAction::Deny {
            reason: feedback.to_owned(),
        }),
    }
}

/// Releases the agent without proof of completion, and tells the user.
fn release_without_proof(reason: Option<Reason>, message: impl Into<String>) -> HookDecision {
    let message = message.into();
    let status = reason
        .map(|reason| format!("{} ({}): ", reason.status().as_str(), reason.as_str()))
        .unwrap_or_default();
    HookDecision {
        reply: HookReply::tell(format!("watchdog: {status}{message}")),
        reason,
        message,
        counted: HoldCountChange::Same,
    }
}

/// An answer that lets the agent go because nothing is missing.
fn build_release_reply(holding: HoldPoint, message: Option<String>) -> HookReply {
    let act = if holding == (HoldPoint::OutputTaken { finish: true }) {
        HookAction::Finish
    } else {
        HookAction::Nothing
    };
    HookReply { act, message }
}

fn describe_background_tasks(tasks: &[String]) -> String {
    let verb = if tasks.len() == 1 {
        "still runs"
    } else {
        "still run"
    };
    format!(
        "{} {verb} in the background ({}); the checks are judged when the agent stops again",
        plural(tasks.len() as u64, "task"),
        name_first(tasks, 3)
    )
}

fn trim_feedback(feedback: &str) -> &str {
    let feedback = feedback.trim();
    if feedback.is_empty() {
        NO_WORDS
    } else {
        feedback
    }
}

#[cfg(test)]
#[path = "hold_tests.rs"]
mod tests;
