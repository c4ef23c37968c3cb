//! The account of agents that this machine shares with others: whom a usage limit belongs to, whom one holds that another machine met, and
//! what was met here. Only the records of this machine are read: nobody waits for a server.

use std::ffi::OsString;

use jiff::Timestamp;
use watchdog_core::config::settings::AgentSettings;
use watchdog_store::LocalStore;
use watchdog_store::account::{self, AccountLimit};

use super::command_env::CommandEnv;
use crate::clock::now;
use watchdog_agent::recognition::{NamedAgents, agents_in_command, known_agents, single_program};

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
    account::read_account(store).ok()??.holds(agent?, now())
}

/// Whether a limit of another machine keeps this agent from being asked.
pub fn is_held(store: &dyn LocalStore, agent: &AgentSettings) -> bool {
    held(store, agent_of_question(agent).as_deref()).is_some()
}

/// A limit was met here: the other machines of the account are told of it later. One whose end was not told is shared with nobody.
pub fn limit_met(store: &dyn LocalStore, agent: Option<&str>, until: Option<Timestamp>) {
    if let Some((agent, until)) = agent.zip(until) {
        // One that cannot be written down holds this machine all the same; the others will meet it themselves.
        let _ = account::limit_met(store, agent, until, now());
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
