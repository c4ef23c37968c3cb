//! The progress of a spec's loop, so that a killed loop resumes where it stopped.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::breaker::BreakerV1;
use super::refs;
use super::row::{self, RecordType, RowsByWorktree};
use crate::engine::LocalStore;
use crate::error::StoreError;
use watchdog_core::decision::breaker::Breaker;
use watchdog_core::decision::iteration::agent_order::{AgentHold, AgentStanding, HoldReason};
use watchdog_core::decision::iteration::record::IterationRecord;
use watchdog_core::decision::iteration::standing::LoopStanding;
use watchdog_core::decision::termination::{SpentUsage, UnknownUsage};
use watchdog_facts::verdict::Reason;

/// A loop as it is recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopRecord {
    /// Unique, to distinguish a loop from the previous one.
    pub id: String,
    /// When it began.
    pub begun_at: Timestamp,
    /// The commit where it began: the criteria come from there; `None` = unborn.
    pub origin: Option<String>,
    /// The refs of that moment, each with the object that it named.
    pub refs: Vec<(String, String)>,
    /// Its progress.
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
    /// A hash of its prompt and command line; `None` where that was not written down.
    pub recipe: Option<String>,
    /// Its own breaker: the strikes of its sessions, those of earlier loops with the same recipe included.
    pub breaker: Breaker,
}

impl LoopRecord {
    /// A loop that begins, and of which nothing else is known.
    pub fn begun(id: impl Into<String>, begun_at: Timestamp) -> Self {
        LoopRecord {
            id: id.into(),
            begun_at,
            origin: None,
            refs: Vec::new(),
            standing: LoopStanding::default(),
            records: Vec::new(),
            at_most: None,
            under_way: None,
            feedback: None,
            session_id: None,
            over: None,
            birth: None,
            recipe: None,
            breaker: Breaker::default(),
        }
    }

    /// The iteration that is under way, or else the last one that ended.
    pub fn iteration(&self) -> u32 {
        self.under_way
            .map_or(self.standing.finished, |(number, _)| number)
    }
}

/// Refs are one text of `<object> <name>` lines, as in a baseline.
#[derive(Serialize, Deserialize)]
pub(super) struct LoopV1 {
    id: String,
    begun_at: Timestamp,
    origin: Option<String>,
    refs: String,
    finished: u32,
    work: Option<String>,
    unchanged: u32,
    crashes: u32,
    waits: u32,
    spent: SpentV1,
    records: Vec<IterationV1>,
    /// Not written down by the first watchdogs that had this version.
    #[serde(default)]
    at_most: Option<u32>,
    under_way: Option<(u32, Timestamp)>,
    feedback: Option<String>,
    session_id: Option<String>,
    over: Option<String>,
    #[serde(default)]
    birth: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recipe: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    breaker: Option<BreakerV1>,
    /// Of loops with several agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    agents: Vec<AgentStandingV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chosen: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ran: Option<String>,
}

/// An agent of a loop that has several.
#[derive(Serialize, Deserialize)]
struct AgentStandingV1 {
    name: String,
    hold: Option<(Timestamp, String)>,
    misses: u32,
    sessions: u32,
    spent: SpentV1,
}

/// Figures that were not told by every session are named in `untold`.
#[derive(Serialize, Deserialize)]
struct SpentV1 {
    turns: u64,
    tokens: u64,
    cost_usd: f64,
    wall_seconds: f64,
    untold: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct IterationV1 {
    number: u32,
    at: Timestamp,
    duration_ms: u64,
    reason: String,
    message: String,
    crash: Option<String>,
    commits: Option<u64>,
    subjects: Vec<String>,
    words: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    log: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
}

impl RecordType for LoopRecord {
    type Disk = LoopV1;
    const VERSION: u64 = 1;
    const KIND: &'static str = "loop";

    fn to_disk(&self) -> LoopV1 {
        let LoopStanding {
            finished,
            spent,
            work,
            unchanged,
            crashes,
            waits,
            agents,
            chosen,
            ran,
        } = self.standing.clone();
        LoopV1 {
            id: self.id.clone(),
            begun_at: self.begun_at,
            origin: self.origin.clone(),
            refs: refs::to_text(&self.refs),
            finished,
            work,
            unchanged,
            crashes,
            waits,
            spent: spent_to_disk(&spent),
            records: self.records.iter().map(record_to_disk).collect(),
            at_most: self.at_most,
            under_way: self.under_way,
            feedback: self.feedback.clone(),
            session_id: self.session_id.clone(),
            over: self.over.map(|reason| reason.as_str().to_owned()),
            birth: self.birth.clone(),
            recipe: self.recipe.clone(),
            breaker: (self.breaker != Breaker::default()).then(|| self.breaker.to_disk()),
            agents: agents.iter().map(agent_to_disk).collect(),
            chosen,
            ran,
        }
    }

    fn from_disk(disk: LoopV1) -> Result<Self, String> {
        Ok(LoopRecord {
            id: disk.id,
            begun_at: disk.begun_at,
            origin: disk.origin,
            refs: refs::from_text(&disk.refs)?,
            standing: LoopStanding {
                finished: disk.finished,
                spent: spent_from_disk(&disk.spent),
                work: disk.work,
                unchanged: disk.unchanged,
                crashes: disk.crashes,
                waits: disk.waits,
                agents: disk
                    .agents
                    .into_iter()
                    .map(agent_from_disk)
                    .collect::<Result<_, _>>()?,
                chosen: disk.chosen,
                ran: disk.ran,
            },
            records: disk
                .records
                .into_iter()
                .map(record_from_disk)
                .collect::<Result<_, _>>()?,
            at_most: disk.at_most,
            under_way: disk.under_way,
            feedback: disk.feedback,
            session_id: disk.session_id,
            over: disk.over.as_deref().map(reason).transpose()?,
            birth: disk.birth,
            recipe: disk.recipe,
            breaker: disk
                .breaker
                .map(Breaker::from_disk)
                .transpose()?
                .unwrap_or_default(),
        })
    }
}

fn spent_to_disk(spent: &SpentUsage) -> SpentV1 {
    let untold = [
        (spent.untold.turns, "turns"),
        (spent.untold.tokens, "tokens"),
        (spent.untold.cost, "cost"),
    ];
    SpentV1 {
        turns: spent.turns,
        tokens: spent.tokens,
        cost_usd: spent.cost_usd,
        wall_seconds: spent.wall_seconds,
        untold: untold
            .into_iter()
            .filter(|(untold, _)| *untold)
            .map(|(_, name)| name.to_owned())
            .collect(),
    }
}

fn spent_from_disk(disk: &SpentV1) -> SpentUsage {
    let untold = |name: &str| disk.untold.iter().any(|untold| untold == name);
    SpentUsage {
        turns: disk.turns,
        tokens: disk.tokens,
        cost_usd: disk.cost_usd,
        wall_seconds: disk.wall_seconds,
        untold: UnknownUsage {
            turns: untold("turns"),
            tokens: untold("tokens"),
            cost: untold("cost"),
        },
    }
}

fn agent_to_disk(agent: &AgentStanding) -> AgentStandingV1 {
    AgentStandingV1 {
        name: agent.name.clone(),
        hold: agent
            .hold
            .map(|hold| (hold.until, hold.why.as_str().to_owned())),
        misses: agent.misses,
        sessions: agent.sessions,
        spent: spent_to_disk(&agent.spent),
    }
}

fn agent_from_disk(disk: AgentStandingV1) -> Result<AgentStanding, String> {
    let hold = |(until, word): (Timestamp, String)| {
        let why = HoldReason::from_word(&word)
            .ok_or_else(|| format!("its reason '{word}' to hold an agent is not known"))?;
        Ok::<_, String>(AgentHold { until, why })
    };
    Ok(AgentStanding {
        name: disk.name,
        hold: disk.hold.map(hold).transpose()?,
        misses: disk.misses,
        sessions: disk.sessions,
        spent: spent_from_disk(&disk.spent),
    })
}

fn record_to_disk(record: &IterationRecord) -> IterationV1 {
    IterationV1 {
        number: record.number,
        at: record.at,
        duration_ms: u64::try_from(record.duration.as_millis()).unwrap_or(u64::MAX),
        reason: record.reason.as_str().to_owned(),
        message: record.message.clone(),
        crash: record.crash.clone(),
        commits: record.commits,
        subjects: record.subjects.clone(),
        words: record.words.clone(),
        phase: record.phase.clone(),
        log: record.log.clone(),
        agent: record.agent.clone(),
    }
}

fn record_from_disk(disk: IterationV1) -> Result<IterationRecord, String> {
    Ok(IterationRecord {
        number: disk.number,
        at: disk.at,
        duration: Duration::from_millis(disk.duration_ms),
        reason: reason(&disk.reason)?,
        message: disk.message,
        crash: disk.crash,
        commits: disk.commits,
        subjects: disk.subjects,
        words: disk.words,
        phase: disk.phase,
        log: disk.log,
        agent: disk.agent,
    })
}

fn reason(word: &str) -> Result<Reason, String> {
    Reason::from_word(word).ok_or_else(|| format!("its reason '{word}' is not known"))
}

/// Records the progress of a loop.
pub fn record(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    looped: &LoopRecord,
) -> Result<(), StoreError> {
    row::overwrite(store, &row::key::<LoopRecord>(worktree_id, spec), looped)
}

/// The last loop of a spec, if there was any.
pub fn read_loop(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
) -> Result<Option<LoopRecord>, StoreError> {
    row::load(store, &row::key::<LoopRecord>(worktree_id, spec))
}

/// Every recorded loop, of all worktrees and specs.
pub fn everywhere(store: &dyn LocalStore) -> Result<RowsByWorktree<LoopRecord>, StoreError> {
    row::everywhere(store)
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_facts::verdict::Verdict;

    #[test]
    fn a_loop_survives_being_written_and_read() {
        let now = Timestamp::UNIX_EPOCH;
        let verdict = Verdict::new(Reason::ChecksUnmet, "unmet");
        let looped = LoopRecord {
            id: "1".into(),
            begun_at: now,
            origin: None,
            refs: vec![
                ("refs/heads/a".into(), "b".repeat(40)),
                ("refs/heads/c".into(), "d".repeat(40)),
            ],
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
        };
        assert_eq!(LoopRecord::from_disk(looped.to_disk()), Ok(looped));
    }
}
