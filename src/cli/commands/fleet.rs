//! `watchdog fleet`: makes the tables of a fleet, joins, leaves, and shows who is in it; and what other commands do with `--fleet`.

use crate::cli::args::EventsArgs;
use crate::cli::args_fleet::FleetArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use crate::judge::command_env::CommandEnv;

/// Does what the words after `fleet` say.
#[cfg(feature = "fleet")]
pub fn fleet(command_env: &CommandEnv, terminal: &CommandTerminal, args: FleetArgs) -> Result<u8, CommandFailure> {
    super::fleet_words::fleet(command_env, terminal, args)
}

/// Says that this build has none.
#[cfg(not(feature = "fleet"))]
pub fn fleet(_: &CommandEnv, _: &CommandTerminal, _: FleetArgs) -> Result<u8, CommandFailure> {
    Err(without_fleet())
}

#[cfg(not(feature = "fleet"))]
fn without_fleet() -> CommandFailure {
    CommandFailure::usage("this watchdog was built without the fleet").hint("build it with --features fleet")
}

/// Prints the events of all machines.
#[cfg(feature = "fleet")]
pub fn events(command_env: &CommandEnv, terminal: &CommandTerminal, args: EventsArgs) -> Result<u8, CommandFailure> {
    super::fleet_events::events(command_env, terminal, args)
}

/// Says that this build has none.
#[cfg(not(feature = "fleet"))]
pub fn events(_: &CommandEnv, _: &CommandTerminal, _: EventsArgs) -> Result<u8, CommandFailure> {
    Err(without_fleet())
}

/// Copies what happens to the fleet, if this machine is in one, until the value is dropped: for commands that stay.
#[cfg(feature = "fleet")]
pub fn copies(command_env: &CommandEnv) -> Option<crate::modes::fleet::CopyWorker> {
    crate::modes::fleet::begin_copies(command_env)
}

/// This build is in no fleet.
#[cfg(not(feature = "fleet"))]
pub fn copies(_: &CommandEnv) {}
