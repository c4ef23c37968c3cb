//! Which agent has the next session of a loop: the first in the user's order that no limit holds and whose budget is not spent. Pure.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::decision::termination::SpentUsage;

/// An agent that the user named for the sessions of a loop, in the order in which they are preferred.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedAgent {
    /// Unique in the order.
    pub name: String,
    /// US dollars that its sessions of this loop may cost.
    pub max_cost_usd: Option<f64>,
}

/// A loop's knowledge of one of its agents. Survives the death of the process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentStanding {
    /// As in the order.
    pub name: String,
    /// Why it gets no session at present, and until when.
    pub hold: Option<AgentHold>,
    /// Its sessions in a row that a usage limit or an overload ended.
    pub misses: u32,
    /// Its sessions that began.
    pub sessions: u32,
    /// The usage of its sessions.
    pub spent: SpentUsage,
}

/// An agent gets no session until an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentHold {
    /// From this instant on it gets sessions again.
    pub until: Timestamp,
    /// The reason.
    pub why: HoldReason,
}

/// Why an agent gets no session for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldReason {
    /// It met a usage limit.
    UsageLimit,
    /// Its service had no room, after several pauses.
    Overload,
}

impl HoldReason {
    /// The word in records, events and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            HoldReason::UsageLimit => "usage_limit",
            HoldReason::Overload => "overload",
        }
    }
}

/// Which agent is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentChoice {
    /// The one at this position of the order.
    Agent(usize),
    /// No agent yet; this hold ends first.
    Wait(AgentHold),
    /// No agent: the budget of each is spent.
    Spent,
}

/// Chooses the agent of the next session. An agent that is held gets none before its hold ends, and one whose budget is spent gets none;
/// of the others the first in the order has it, so that a loop returns to the agent that the user prefers.
pub fn choose_agent(
    now: Timestamp,
    order: &[RankedAgent],
    standings: &[AgentStanding],
) -> AgentChoice {
    let mut first: Option<AgentHold> = None;
    for (index, agent) in order.iter().enumerate() {
        let standing = standing_of(standings, &agent.name);
        if is_spent(agent, standing) {
            continue;
        }
        match standing
            .and_then(|standing| standing.hold)
            .filter(|hold| now < hold.until)
        {
            None => return AgentChoice::Agent(index),
            Some(hold) => {
                first = Some(
                    first
                        .filter(|first| first.until <= hold.until)
                        .unwrap_or(hold),
                )
            }
        }
    }
    first.map_or(AgentChoice::Spent, AgentChoice::Wait)
}

/// Finds the standing of an agent by its name.
pub fn standing_of<'a>(standings: &'a [AgentStanding], name: &str) -> Option<&'a AgentStanding> {
    standings.iter().find(|standing| standing.name == name)
}

/// The same to be changed; an agent that is new gets an entry.
pub(super) fn standing_mut<'a>(
    standings: &'a mut Vec<AgentStanding>,
    name: &str,
) -> &'a mut AgentStanding {
    let index = standings
        .iter()
        .position(|standing| standing.name == name)
        .unwrap_or_else(|| {
            standings.push(AgentStanding {
                name: name.to_owned(),
                ..AgentStanding::default()
            });
            standings.len() - 1
        });
    &mut standings[index]
}

/// Whether the budget of an agent of this order is spent.
pub(super) fn budget_is_spent(
    order: &[RankedAgent],
    standings: &[AgentStanding],
    name: &str,
) -> bool {
    order
        .iter()
        .find(|agent| agent.name == name)
        .is_some_and(|agent| is_spent(agent, standing_of(standings, name)))
}

fn is_spent(agent: &RankedAgent, standing: Option<&AgentStanding>) -> bool {
    agent
        .max_cost_usd
        .zip(standing)
        .is_some_and(|(most, standing)| standing.spent.cost_usd >= most)
}

/// A change from one agent to another between two sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentChange {
    /// Agent of the last session.
    pub from: String,
    /// Agent of the next session.
    pub to: String,
    /// The reason.
    pub why: ChangeReason,
    /// When the former agent gets sessions again, where that is known.
    pub until: Option<Timestamp>,
}

/// Why another agent takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeReason {
    /// The former one is held.
    Held(HoldReason),
    /// The budget of the former one is spent.
    Budget,
    /// The next one is preferred, and is not held any more.
    Reset,
    /// The former one is not among the agents of the loop any more.
    Configured,
}

impl ChangeReason {
    /// The word in events and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeReason::Held(why) => why.as_str(),
            ChangeReason::Budget => "budget",
            ChangeReason::Reset => "reset",
            ChangeReason::Configured => "configured",
        }
    }
}

/// The change from the agent of the last session to that of the next one; `None` where it is the
/// same agent, or the first session.
pub fn agent_change(
    now: Timestamp,
    (from, to): (Option<&str>, Option<&str>),
    order: &[RankedAgent],
    standings: &[AgentStanding],
) -> Option<AgentChange> {
    let (from, to) = from.zip(to).filter(|(from, to)| from != to)?;
    let standing = standing_of(standings, from);
    let hold = standing
        .and_then(|standing| standing.hold)
        .filter(|hold| now < hold.until);
    let why = match (order.iter().find(|agent| agent.name == from), hold) {
        (None, _) => ChangeReason::Configured,
        (Some(agent), _) if is_spent(agent, standing) => ChangeReason::Budget,
        (Some(_), Some(hold)) => ChangeReason::Held(hold.why),
        (Some(_), None) => ChangeReason::Reset,
    };
    let until = hold
        .map(|hold| hold.until)
        .filter(|_| matches!(why, ChangeReason::Held(_)));
    Some(AgentChange {
        from: from.to_owned(),
        to: to.to_owned(),
        why,
        until,
    })
}
