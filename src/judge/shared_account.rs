//! The account of agents that this machine shares with others: whom a usage limit belongs to, whom one holds that another machine met, and
//! what was met here. Only the records of this machine are read: nobody waits for a server.

use std::ffi::OsString;

use jiff::Timestamp;
use watchdog_core::config::settings::AgentSettings;
use watchdog_store::account::{self, AccountLimit};
use watchdog_store::account_share::{self, HeldShare, LEAST_SHARE};
use watchdog_store::{LocalStore, StoreError};

use super::command_env::CommandEnv;
use crate::agent::recognition::{NamedAgents, agents_in_command, known_agents, single_program};
use crate::clock::now;

/// Whom the limit of a session belongs to that a command line starts: the agent that it names, else its one program. `None` where it names
/// several. What the session prints or runs later does not count: it could name another.
pub fn agent_of_command(command_env: &CommandEnv, argv: &[OsString]) -> Option<String> {
    match agents_in_command(argv, &known_agents(&command_env.presets)) {
        NamedAgents::One(agent) => Some(agent),
        NamedAgents::Several(_) => None,
        NamedAgents::None => single_program(argv),
    }
}

/// Whom the limit of a question belongs to.
pub fn agent_of_question(agent: &AgentSettings) -> Option<String> {
    match &agent.probe {
        Some(argv) => single_program(&argv.iter().map(OsString::from).collect::<Vec<_>>()),
        None => Some(agent.preset.as_str().to_owned()),
    }
}

/// The limit that another machine of the account met and that holds this agent now. Records that cannot be read hold nobody.
pub fn held(store: &dyn LocalStore, agent: Option<&str>) -> Option<AccountLimit> {
    account::of(store).ok()??.holds(agent?, now())
}

/// Whether a limit of another machine, or a budget without a share left, keeps this agent from being asked.
pub fn is_held(store: &dyn LocalStore, agent: &AgentSettings) -> bool {
    let is_spent = || {
        account_share::of(store)
            .is_ok_and(|share| share.is_some_and(|share| share.free_usd(now()) < LEAST_SHARE))
    };
    held(store, agent_of_question(agent).as_deref()).is_some() || is_spent()
}

/// A limit was met here: the other machines of the account are told of it later. One whose end was not told is shared with nobody.
pub fn limit_met(store: &dyn LocalStore, agent: Option<&str>, until: Option<Timestamp>) {
    if let Some((agent, until)) = agent.zip(until) {
        // One that cannot be written down holds this machine all the same; the others will meet it themselves.
        let _ = account::limit_met(store, agent, until, now());
    }
}

/// What a question takes of the day's budget before it is asked.
const QUESTION: f64 = 0.005;

/// Why a question may not be asked, and when it may be again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionRefusal {
    /// In words.
    pub why: String,
    /// When it may be asked, where that is known.
    pub retry_at: Option<Timestamp>,
}

/// Takes a part of the account's budget for a question; `None` where the account has none. Only what this machine drew before counts.
///
/// # Errors
/// Why it may not be asked.
pub fn hold_for_question(store: &dyn LocalStore) -> Result<Option<HeldShare>, QuestionRefusal> {
    let unreadable = |error: StoreError| QuestionRefusal {
        why: format!("the account's budget cannot be read: {error}"),
        retry_at: None,
    };
    let Some(share) = account_share::of(store).map_err(unreadable)? else {
        return Ok(None);
    };
    let held = account_share::hold(store, share.most_usd * QUESTION, now()).map_err(unreadable)?;
    if held.as_ref().is_some_and(|held| held.usd < LEAST_SHARE) {
        let gone = share
            .unreached
            .map(|why| format!(" (the fleet's server is gone: {why})"))
            .unwrap_or_default();
        let why = format!(
            "this machine has no share left of the budget of the account '{}'{gone}; see: watchdog fleet account",
            share.account
        );
        return Err(QuestionRefusal {
            why,
            retry_at: share.ends_at.filter(|end| now() < *end),
        });
    }
    Ok(held)
}

/// The question ended and cost so much, as far as its agent told it.
pub fn question_ended(store: &dyn LocalStore, held: Option<&HeldShare>, cost_usd: Option<f64>) {
    let cost = cost_usd.filter(|cost| cost.is_finite()).unwrap_or(0.0);
    if let Some(held) = held {
        // What cannot be written down counts as spent.
        let _ = account_share::settle(store, held, cost);
    }
}

/// What a person is told of such a limit.
pub fn in_words(limit: &AccountLimit) -> String {
    let AccountLimit {
        agent,
        until,
        machine,
    } = limit;
    format!(
        "{agent} met its limit on {machine}, which shares the account, and is held until {until:.0} (watchdog fleet account --clear-limit)"
    )
}
