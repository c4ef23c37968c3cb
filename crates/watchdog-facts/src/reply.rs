//! The agent's answer about itself, and the outcomes of a probe. A claim, not a fact about the work.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::evidence::Commits;

/// The three words that an agent may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyStatus {
    /// It says that everything is done.
    Complete,
    /// It waits for work that runs outside of the session.
    Waiting,
    /// It says that it still works.
    Working,
}

impl ReplyStatus {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ReplyStatus::Complete => "complete",
            ReplyStatus::Waiting => "waiting",
            ReplyStatus::Working => "working",
        }
    }
}

/// The agent's answer about itself. A claim, not a fact about the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Whether it says that agents or background work still run; `None` = not said.
    pub agents_active: Option<bool>,
    /// Free text per active agent.
    pub agents_details: Vec<String>,
    /// How many commits it says it made; `None` = not said.
    pub commits_made: Option<u64>,
    /// Free text.
    pub message: String,
    /// Its next step.
    pub next_action: Option<String>,
    /// Whether it wants to continue; `None` = not answered, taken as yes.
    pub should_continue: Option<bool>,
    /// The one word that decides.
    pub status: ReplyStatus,
    /// The tasks that it claims to be done.
    pub tasks_completed: Vec<String>,
    /// The tasks that it names as pending.
    pub tasks_pending: Vec<String>,
    /// Why its words may not be taken at their word: two statuses, an example, a denial, or things named that git does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

impl Reply {
    /// A reply with a status and nothing else said.
    pub fn bare(status: ReplyStatus) -> Self {
        Reply {
            status,
            message: String::new(),
            agents_active: None,
            agents_details: Vec::new(),
            tasks_completed: Vec::new(),
            tasks_pending: Vec::new(),
            commits_made: None,
            should_continue: None,
            next_action: None,
            doubt: None,
        }
    }

    /// Why the reply contradicts itself, if it does.
    pub fn contradiction(&self) -> Option<String> {
        if self.doubt.is_some() {
            return self.doubt.clone();
        }
        if self.status != ReplyStatus::Complete {
            return None;
        }
        match (self.agents_active, self.tasks_pending.len()) {
            (Some(true), 0) => Some("it says complete and that agents are still active".into()),
            (Some(true), n) => Some(format!(
                "it says complete, that agents are still active, and that {n} tasks are pending"
            )),
            (_, 0) => None,
            (_, n) => Some(format!("it says complete and that {n} tasks are pending")),
        }
    }

    /// Why the reply contradicts git, given the commits since the baseline.
    pub fn contradicts(&self, commits: &Commits) -> Option<String> {
        let claimed = self.commits_made.unwrap_or(0);
        (self.status == ReplyStatus::Complete && claimed > 0 && commits.new_commits == 0).then(
            || {
                format!(
                    "it says that it made {claimed} commits, and git shows none since the baseline"
                )
            },
        )
    }
}

/// How one probe ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "OutcomeFields", try_from = "OutcomeFields")]
pub enum ProbeOutcome {
    /// A usable answer.
    Reply(Reply),
    /// Output without a usable answer in it.
    Unreadable {
        /// The defect of the output, for a person.
        why: String,
    },
    /// No output at all.
    Empty,
    /// Its deadline passed.
    TimedOut,
    /// The agent knows no session to resume, or answered from a fresh one.
    NoConversation {
        /// How the lost session was noticed, for a person.
        why: String,
    },
    /// The program is not there or cannot be executed.
    NotInstalled {
        /// The operating system's error, for a person.
        why: String,
    },
    /// The agent refuses until a person logs in, or pays.
    NotLoggedIn {
        /// The agent's words, for a person.
        why: String,
    },
    /// The service is overloaded or failed in passing.
    Overloaded {
        /// The agent's words, for a person.
        why: String,
    },
    /// A usage limit, with the instant of its reset where the text has it.
    RateLimited {
        /// The agent's words, for a person.
        why: String,
        /// When the limit resets; `None` where those words do not say it.
        retry_at: Option<Timestamp>,
    },
    /// It ended with an error that fits nothing above.
    Failed {
        /// The agent's error, for a person.
        why: String,
    },
}

/// An outcome in JSON: its word, and beside it what belongs to that.
#[derive(Serialize, Deserialize)]
struct OutcomeFields {
    outcome: String,
    reply: Option<Reply>,
    retry_at: Option<Timestamp>,
    why: Option<String>,
}

impl From<ProbeOutcome> for OutcomeFields {
    fn from(outcome: ProbeOutcome) -> Self {
        let (word, why) = (
            outcome.as_str().to_owned(),
            outcome.why().map(str::to_owned),
        );
        let (reply, retry_at) = match outcome {
            ProbeOutcome::Reply(reply) => (Some(reply), None),
            ProbeOutcome::RateLimited { retry_at, .. } => (None, retry_at),
            _ => (None, None),
        };
        OutcomeFields {
            outcome: word,
            reply,
            retry_at,
            why,
        }
    }
}

impl TryFrom<OutcomeFields> for ProbeOutcome {
    type Error = String;

    fn try_from(fields: OutcomeFields) -> Result<Self, String> {
        let why = fields.why.unwrap_or_default();
        Ok(match fields.outcome.as_str() {
            "reply" => ProbeOutcome::Reply(fields.reply.ok_or("a reply without its text")?),
            "unreadable" => ProbeOutcome::Unreadable { why },
            "empty" => ProbeOutcome::Empty,
            "timed_out" => ProbeOutcome::TimedOut,
            "no_conversation" => ProbeOutcome::NoConversation { why },
            "not_installed" => ProbeOutcome::NotInstalled { why },
            "not_logged_in" => ProbeOutcome::NotLoggedIn { why },
            "overloaded" => ProbeOutcome::Overloaded { why },
            "rate_limited" => ProbeOutcome::RateLimited {
                why,
                retry_at: fields.retry_at,
            },
            "failed" => ProbeOutcome::Failed { why },
            word => return Err(format!("no outcome '{word}'")),
        })
    }
}

impl ProbeOutcome {
    /// The word used in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            ProbeOutcome::Reply(_) => "reply",
            ProbeOutcome::Unreadable { .. } => "unreadable",
            ProbeOutcome::Empty => "empty",
            ProbeOutcome::TimedOut => "timed_out",
            ProbeOutcome::NoConversation { .. } => "no_conversation",
            ProbeOutcome::NotInstalled { .. } => "not_installed",
            ProbeOutcome::NotLoggedIn { .. } => "not_logged_in",
            ProbeOutcome::Overloaded { .. } => "overloaded",
            ProbeOutcome::RateLimited { .. } => "rate_limited",
            ProbeOutcome::Failed { .. } => "failed",
        }
    }

    /// That there was no answer, in words: `probe failed (timed_out)`.
    pub fn failure(&self) -> String {
        match self.why() {
            Some(why) => format!("probe failed ({}): {why}", self.as_str()),
            None => format!("probe failed ({})", self.as_str()),
        }
    }

    /// The explanation for a person, where the outcome carries one.
    pub fn why(&self) -> Option<&str> {
        match self {
            ProbeOutcome::Unreadable { why }
            | ProbeOutcome::NoConversation { why }
            | ProbeOutcome::NotInstalled { why }
            | ProbeOutcome::NotLoggedIn { why }
            | ProbeOutcome::Overloaded { why }
            | ProbeOutcome::RateLimited { why, .. }
            | ProbeOutcome::Failed { why } => Some(why),
            ProbeOutcome::Reply(_) | ProbeOutcome::Empty | ProbeOutcome::TimedOut => None,
        }
    }
}
