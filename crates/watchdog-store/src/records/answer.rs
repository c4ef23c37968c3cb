//! The agent's last answer about a spec, with the state it describes. The answer is valid while that state is unchanged.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::RecordType;
use watchdog_facts::evidence::ProbeOutcome;

/// An answer as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(flatten)]
    pub outcome: ProbeOutcome,
    /// The id of the session that answered, where it is known.
    pub session_id: Option<String>,
    /// The word of the verdict that it led to.
    pub reason: String,
    /// Whether that was the last word on the question.
    pub last_word: bool,
}

impl RecordType for StandingAnswer {
    const KIND: &'static str = "answer";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::row;
    use watchdog_facts::evidence::{Reply, ReplyStatus};

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
            let key = row::spec_key::<StandingAnswer>("w", "s");
            let read: StandingAnswer =
                row::decode_row(&key, &row::encode_row(&record)).expect("a row");
            assert_eq!(read, record);
        }
    }
}
