//! A judgement from a verdict: adds the worktree and the work that it is about, and masks secrets. Why no judgement began: every mode
//! returns this one type for that.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::command_env::CommandEnv;
use super::judgement_input::JudgementInput;
use super::machine_log;
use crate::clock::measure_since;
use crate::wire::verdict_json::Judgement;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::refused_tool::ToolRefusals;
use watchdog_facts::secret_shapes::mask_secrets;
use watchdog_facts::verdict::Verdict;
use watchdog_git as git;
use watchdog_store::StoreError;

/// Masks the secrets that programs and agents printed into a verdict: it is shown, recorded, sent to others, and part of the next prompt.
fn masked(mut verdict: Verdict) -> Verdict {
    let mask_text = |text: &mut String| {
        if let Cow::Owned(masked) = mask_secrets(text) {
            *text = masked;
        }
    };
    mask_text(&mut verdict.message);
    verdict.feedback.iter_mut().for_each(mask_text);
    verdict
        .degraded
        .iter_mut()
        .for_each(|note| mask_text(&mut note.detail));
    verdict.helpers.iter_mut().for_each(mask_text);
    verdict
}

/// A verdict with its metadata.
pub fn about(
    command_env: &CommandEnv,
    input: Option<&JudgementInput>,
    verdict: Verdict,
    begun: Timestamp,
) -> Judgement {
    let verdict = masked(verdict);
    machine_log::log_verdict(&verdict, measure_since(begun));
    let (worktree, branch) = match input {
        Some(input) => {
            let worktree = input.worktree();
            (worktree.root().to_owned(), worktree.branch())
        }
        None => (command_env.worktree.clone(), None),
    };
    Judgement {
        spec: input.map(|input| input.spec.clone()),
        branch,
        baseline: input.map(|input| input.baseline.as_str().to_owned()),
        duration: measure_since(begun),
        ..bare_judgement(&worktree, verdict)
    }
}

/// A verdict on a worktree of which no more is known.
pub fn bare_judgement(worktree: &Path, verdict: Verdict) -> Judgement {
    Judgement {
        verdict,
        worktree: worktree.display().to_string(),
        spec: None,
        branch: None,
        baseline: None,
        breaker: None,
        log: None,
        session: None,
        survivors: Vec::new(),
        refused: ToolRefusals::default(),
        looped: None,
        duration: Duration::ZERO,
    }
}

/// Why nothing was judged.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// A fact that must come first could not be read.
    Unreadable(UnreadableFact),
    /// Something decides without reading the work: a lock, a live session, an operation that is half done.
    Verdict(Box<Verdict>),
    /// The same about an input whose spec and baseline are known; it may be in the journal already.
    Judgement(Box<Judgement>),
}

impl Refusal {
    /// The verdict behind it.
    pub fn into_verdict(self) -> Verdict {
        match self {
            Refusal::Unreadable(unreadable) => Verdict::unreadable(unreadable),
            Refusal::Verdict(verdict) => *verdict,
            Refusal::Judgement(judgement) => judgement.verdict,
        }
    }

    /// The judgement to return.
    pub fn into_judgement(self, command_env: &CommandEnv, begun: Timestamp) -> Judgement {
        match self {
            Refusal::Judgement(judgement) => *judgement,
            Refusal::Unreadable(unreadable) => about(
                command_env,
                None,
                Verdict::unreadable(unreadable.with_commands(&command_env.commands_here())),
                begun,
            ),
            Refusal::Verdict(verdict) => about(command_env, None, *verdict, begun),
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Unreadable(unreadable) => write!(f, "{unreadable}"),
            Refusal::Verdict(verdict) => {
                write!(f, "{}: {}", verdict.reason.as_str(), verdict.message)
            }
            Refusal::Judgement(judgement) => write!(
                f,
                "{}: {}",
                judgement.verdict.reason.as_str(),
                judgement.verdict.message
            ),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<UnreadableFact> for Refusal {
    fn from(unreadable: UnreadableFact) -> Self {
        Refusal::Unreadable(unreadable)
    }
}

impl From<git::Error> for Refusal {
    fn from(error: git::Error) -> Self {
        Refusal::Unreadable(error.into())
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Refusal::Unreadable(error.into())
    }
}

impl From<Verdict> for Refusal {
    fn from(verdict: Verdict) -> Self {
        Refusal::Verdict(Box::new(verdict))
    }
}
