//! The progress of a spec's loop, so that a killed loop resumes where it stopped.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::RecordType;
use watchdog_core::decision::breaker::Breaker;
use watchdog_core::decision::iteration::record::IterationRecord;
use watchdog_core::decision::iteration::standing::LoopStanding;
use watchdog_facts::evidence::{Degradation, read_known_notes};
use watchdog_facts::ignored_files::LostFile;
use watchdog_facts::ref_list::RefList;
use watchdog_facts::verdict::Reason;

/// A loop as it is recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoopRecord {
    /// Unique, to distinguish a loop from the previous one.
    pub id: String,
    /// When it began.
    pub begun_at: Timestamp,
    /// The commit where it began: the criteria come from there; `None` = unborn.
    pub origin: Option<String>,
    /// The refs of that moment, each with the object that it named.
    pub refs: RefList,
    /// Its progress.
    #[serde(flatten)]
    pub standing: LoopStanding,
    /// The last iterations, oldest first.
    pub records: Vec<IterationRecord>,
    /// How many iterations it may have, as it was last started; `None` where that was not written down.
    pub at_most: Option<u32>,
    /// The iteration whose session was started and not judged yet, and when it was.
    pub under_way: Option<(u32, Timestamp)>,
    /// The feedback of the last verdict, for the agent.
    pub feedback: Option<String>,
    /// The agent's own name for its last session.
    pub session_id: Option<String>,
    /// The reason that ended it; `None` while it runs or may resume.
    pub over: Option<Reason>,
    /// Names the git directory that it works in; `None` where that was not written down.
    pub birth: Option<String>,
    /// The folder that its sessions run in, where that is not the top of the worktree.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::codec::optional_path_form"
    )]
    pub folder: Option<PathBuf>,
    /// A hash of its prompt and command line; `None` where that was not written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// Its own breaker: the strikes of its sessions, those of earlier loops with the same recipe included.
    #[serde(default, skip_serializing_if = "is_untouched")]
    pub breaker: Breaker,
    /// The notes of its iterations about what their sessions destroyed.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "read_known_notes"
    )]
    pub losses: Vec<Degradation>,
    /// The ignored files that are gone since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored_lost: Vec<LostFile>,
}

fn is_untouched(breaker: &Breaker) -> bool {
    *breaker == Breaker::default()
}

impl LoopRecord {
    /// A loop that begins, and of which nothing else is known.
    pub fn new_begun(id: impl Into<String>, begun_at: Timestamp) -> Self {
        LoopRecord {
            id: id.into(),
            begun_at,
            ..LoopRecord::default()
        }
    }

    /// The iteration that is under way, or else the last one that ended.
    pub fn iteration(&self) -> u32 {
        self.under_way
            .map_or(self.standing.finished, |(number, _)| number)
    }
}

impl RecordType for LoopRecord {
    const KIND: &'static str = "loop";
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::records::row;
    use watchdog_core::decision::iteration::agent_order::{AgentHold, AgentStanding, HoldReason};
    use watchdog_core::decision::termination::{SpentUsage, UnknownUsage};
    use watchdog_facts::evidence::WarningCode;
    use watchdog_facts::verdict::Verdict;

    #[test]
    fn a_loop_survives_being_written_and_read() {
        let now = Timestamp::UNIX_EPOCH;
        let verdict = Verdict::new(Reason::ChecksUnmet, "unmet");
        let looped = LoopRecord {
            folder: None,
            id: "1".into(),
            begun_at: now,
            origin: None,
            refs: RefList::from_iter([
                ("refs/heads/a", "b".repeat(40)),
                ("refs/heads/c", "d".repeat(40)),
            ]),
            standing: LoopStanding {
                finished: 2,
                spent: SpentUsage {
                    turns: 3,
                    tokens: 1 << 60,
                    cost_usd: 0.25,
                    wall_seconds: 1.5,
                    untold: UnknownUsage {
                        turns: false,
                        tokens: true,
                        cost: false,
                    },
                },
                work: Some("x".into()),
                unchanged: 1,
                crashes: 4,
                waits: 5,
                agents: vec![AgentStanding {
                    name: "a".into(),
                    hold: Some(AgentHold {
                        until: now,
                        why: HoldReason::Overload,
                    }),
                    misses: 1,
                    sessions: 2,
                    spent: SpentUsage {
                        cost_usd: 0.25,
                        ..SpentUsage::default()
                    },
                }],
                chosen: Some("b".into()),
                ran: Some("a".into()),
            },
            records: vec![
                IterationRecord::new(1, now, Duration::from_millis(7), &verdict)
                    .with_words(Some("w, phase: review"), &[])
                    .with_crash(Some("c")),
            ],
            at_most: Some(9),
            under_way: Some((3, now)),
            feedback: Some("f".into()),
            session_id: Some("s".into()),
            over: Some(Reason::ChecksPassed),
            birth: Some("1-2-3".into()),
            recipe: Some("r".into()),
            breaker: Breaker::Closed {
                strikes: 2,
                why: Some("spent".into()),
            },
            losses: vec![Degradation::new(WarningCode::StashLost, "an entry")],
            ignored_lost: vec![LostFile {
                path: "notes/p".into(),
                bytes: 2,
                snapshot: None,
            }],
        };
        let bytes = row::encode_row(&looped);
        let key = row::spec_key::<LoopRecord>("w", "s");
        assert_eq!(
            row::decode_row::<LoopRecord>(&key, &bytes).expect("a row"),
            looped
        );
    }
}
