//! Why nothing was judged: the one way in which "it did not even begin" travels from wherever it is found to whoever answers.

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
    /// What must be known first could not be read.
    Unreadable(UnreadableFact),
    /// Something decides without looking at the work: a lock, a live session, an operation that is half done.
    Verdict(Box<Verdict>),
    /// The same about a case whose spec and baseline are known, and that may be in the journal already.
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

    /// The judgement to answer with.
    pub fn into_judgement(self, command_env: &CommandEnv, begun: Timestamp) -> Judgement {
        match self {
            Refusal::Judgement(judgement) => *judgement,
            other => about(command_env, None, other.into_verdict(), begun),
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Unreadable(unreadable) => write!(f, "{unreadable}"),
            Refusal::Verdict(verdict) => write!(f, "{}: {}", verdict.reason.as_str(), verdict.message),
            Refusal::Judgement(judgement) => write!(f, "{}: {}", judgement.verdict.reason.as_str(), judgement.verdict.message),
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
