//! Why nothing was judged: the one way in which "it did not even begin" travels from wherever it is found to whoever answers.

use jiff::Timestamp;

use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::verdict::Verdict;
use watchdog_git as git;
use watchdog_store::{LocalStore, StoreError};

use super::command_env::CommandEnv;
use super::journal::CommandJournal;
use super::judgement_input::JudgementInput;
use super::judgement_run::{about, refused};
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

/// A case that is settled and not judged yet: what stops it now is told about it.
pub struct SettledCase<'a> {
    /// What the command was told.
    pub command_env: &'a CommandEnv,
    /// The case.
    pub case: &'a JudgementInput,
    /// watchdog's records.
    pub store: &'a dyn LocalStore,
    /// Where a refusal is written down.
    pub journal: &'a CommandJournal,
    /// When the command began.
    pub begun: Timestamp,
}

impl SettledCase<'_> {
    /// Asks the breaker and the trust whether work may begin.
    pub fn admit(&self) -> Result<(), Refusal> {
        self.unless(self.case.admit(self.store))
    }

    /// Goes on unless a verdict was found, or the look for one failed.
    pub fn unless(&self, found: Result<Option<Verdict>, UnreadableFact>) -> Result<(), Refusal> {
        match found {
            Ok(None) => Ok(()),
            Ok(Some(verdict)) => Err(self.refuse(verdict)),
            Err(unreadable) => Err(self.unreadable(unreadable)),
        }
    }

    /// Answers with this verdict, and writes it down.
    pub fn refuse(&self, verdict: Verdict) -> Refusal {
        Refusal::Judgement(Box::new(refused(self.command_env, self.case, self.store, self.journal, verdict, self.begun)))
    }

    /// Answers that this could not be read.
    pub fn unreadable(&self, unreadable: UnreadableFact) -> Refusal {
        self.instead(Verdict::unreadable(unreadable))
    }

    /// Answers with this verdict, of which the journal knows nothing.
    pub fn instead(&self, verdict: Verdict) -> Refusal {
        Refusal::Judgement(Box::new(about(self.command_env, Some(self.case), verdict, self.begun)))
    }
}
