//! Why nothing was judged. Every mode returns this one type where a judgement did not begin.

use jiff::Timestamp;

use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::verdict::Verdict;
use watchdog_git as git;
use watchdog_store::StoreError;

use super::command_env::CommandEnv;
use super::judgement_about::about;
use crate::wire::verdict_json::Judgement;

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
