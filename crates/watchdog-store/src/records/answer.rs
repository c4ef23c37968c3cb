//! The agent's last answer about a spec, with the state it describes. The answer is valid while that state is unchanged.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use crate::engine::LocalStore;
use crate::error::StoreError;
use watchdog_facts::evidence::{ProbeOutcome, Reply, ReplyStatus};

/// An answer as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingAnswer {
    /// A fingerprint of everything that the answer was about: HEAD, changes, transcript, session, criteria.
    pub state: String,
    /// The first answer about this state.
    pub since: Timestamp,
    /// The last one.
    pub at: Timestamp,
    /// How many probes repeated the question without any change of state.
    pub pauses: u32,
    /// The answer, or why there was none.
    pub outcome: ProbeOutcome,
    /// The id of the session that answered, where it is known.
    pub session_id: Option<String>,
    /// The word of the verdict that it led to.
    pub reason: String,
    /// Whether that was the last word on the question.
    pub last_word: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct AnswerV1 {
    state: String,
    since: Timestamp,
    at: Timestamp,
    pauses: u32,
    outcome: String,
    why: Option<String>,
    retry_at: Option<Timestamp>,
    reply: Option<ReplyV1>,
    session_id: Option<String>,
    reason: String,
    last_word: bool,
}

#[derive(Serialize, Deserialize)]
struct ReplyV1 {
    status: String,
    message: String,
    agents_active: Option<bool>,
    agents_details: Vec<String>,
    tasks_completed: Vec<String>,
    tasks_pending: Vec<String>,
    commits_made: Option<u64>,
    should_continue: Option<bool>,
    next_action: Option<String>,
    doubt: Option<String>,
}

impl ReplyV1 {
    fn from_reply(reply: &Reply) -> Self {
        ReplyV1 {
            status: reply.status.as_str().to_owned(),
            message: reply.message.clone(),
            agents_active: reply.agents_active,
            agents_details: reply.agents_details.clone(),
            tasks_completed: reply.tasks_completed.clone(),
            tasks_pending: reply.tasks_pending.clone(),
            commits_made: reply.commits_made,
            should_continue: reply.should_continue,
            next_action: reply.next_action.clone(),
            doubt: reply.doubt.clone(),
        }
    }

    fn reply(self) -> Result<Reply, String> {
        let all = [
            ReplyStatus::Complete,
            ReplyStatus::Waiting,
            ReplyStatus::Working,
        ];
        let status = all
            .into_iter()
            .find(|status| status.as_str() == self.status)
            .ok_or_else(|| format!("no status '{}'", self.status))?;
        Ok(Reply {
            status,
            message: self.message,
            agents_active: self.agents_active,
            agents_details: self.agents_details,
            tasks_completed: self.tasks_completed,
            tasks_pending: self.tasks_pending,
            commits_made: self.commits_made,
            should_continue: self.should_continue,
            next_action: self.next_action,
            doubt: self.doubt,
        })
    }
}

impl RecordType for StandingAnswer {
    type Disk = AnswerV1;
    const VERSION: u64 = 1;
    const KIND: &'static str = "answer";

    fn to_disk(&self) -> AnswerV1 {
        let (reply, retry_at) = match &self.outcome {
            ProbeOutcome::Reply(reply) => (Some(ReplyV1::from_reply(reply)), None),
            ProbeOutcome::RateLimited { retry_at, .. } => (None, *retry_at),
            _ => (None, None),
        };
        AnswerV1 {
            state: self.state.clone(),
            since: self.since,
            at: self.at,
            pauses: self.pauses,
            outcome: self.outcome.as_str().to_owned(),
            why: self.outcome.why().map(str::to_owned),
            retry_at,
            reply,
            session_id: self.session_id.clone(),
            reason: self.reason.clone(),
            last_word: self.last_word,
        }
    }

    fn from_disk(disk: AnswerV1) -> Result<Self, String> {
        let reply = disk.reply.map(|reply| reply.reply()).transpose()?;
        let outcome = ProbeOutcome::outcome_for_word(
            &disk.outcome,
            disk.why.unwrap_or_default(),
            disk.retry_at,
            reply,
        )
        .ok_or_else(|| format!("no outcome '{}', or a reply without its text", disk.outcome))?;
        Ok(StandingAnswer {
            state: disk.state,
            since: disk.since,
            at: disk.at,
            pauses: disk.pauses,
            outcome,
            session_id: disk.session_id,
            reason: disk.reason,
            last_word: disk.last_word,
        })
    }
}

/// Records an answer in place of the former one.
pub fn record(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    answer: &StandingAnswer,
) -> Result<(), StoreError> {
    row::overwrite(
        store,
        &row::key::<StandingAnswer>(worktree_id, spec),
        answer,
    )
}

/// The last answer about a spec, if any is recorded.
pub fn read_answer(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
) -> Result<Option<StandingAnswer>, StoreError> {
    row::load(store, &row::key::<StandingAnswer>(worktree_id, spec))
}

/// Forgets it.
pub fn forget(store: &dyn LocalStore, worktree_id: &str, spec: &str) -> Result<(), StoreError> {
    row::remove::<StandingAnswer>(store, &row::key::<StandingAnswer>(worktree_id, spec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_survives_the_disk() {
        let why = || "why".to_string();
        let at = Timestamp::from_second(1_800_000_000).expect("an instant");
        let reply = Reply {
            doubt: Some(why()),
            tasks_pending: vec!["a".into()],
            ..Reply::bare(ReplyStatus::Complete)
        };
        for outcome in [
            ProbeOutcome::Reply(reply),
            ProbeOutcome::Unreadable { why: why() },
            ProbeOutcome::Empty,
            ProbeOutcome::TimedOut,
            ProbeOutcome::NoConversation { why: why() },
            ProbeOutcome::NotInstalled { why: why() },
            ProbeOutcome::NotLoggedIn { why: why() },
            ProbeOutcome::Overloaded { why: why() },
            ProbeOutcome::RateLimited {
                why: why(),
                retry_at: Some(at),
            },
            ProbeOutcome::Failed { why: why() },
        ] {
            let record = StandingAnswer {
                state: "s".into(),
                since: at,
                at,
                pauses: 2,
                outcome,
                session_id: Some("id".into()),
                reason: "working".into(),
                last_word: false,
            };
            assert_eq!(StandingAnswer::from_disk(record.to_disk()), Ok(record));
        }
    }
}
