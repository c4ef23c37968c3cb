//! `watchdog fleet`: makes the tables of a fleet, joins, leaves, and shows who is in it; and what other commands do with `--fleet`.

use std::sync::Arc;

use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_store::LocalStore;
use watchdog_view::fleet_overview::FleetOverview;

#[cfg(feature = "fleet")]
pub use super::{
    fleet_copies::{add_others, copies_of, read_others},
    fleet_events::print_fleet_events as run_fleet_events_command,
    fleet_words::run_fleet_command,
};

#[cfg(not(feature = "fleet"))]
use crate::cli::{
    args::EventsArgs, args_fleet::FleetArgs, failure::CommandFailure, terminal::CommandTerminal,
};
#[cfg(not(feature = "fleet"))]
use watchdog_view::{
    live::others_poll::OthersReader,
    overview::{ShownSpecs, StatusOverview},
};

/// Says that this build has none.
#[cfg(not(feature = "fleet"))]
pub fn run_fleet_command(
    _: &CommandEnv,
    _: &CommandTerminal,
    _: FleetArgs,
) -> Result<u8, CommandFailure> {
    Err(without_fleet())
}

#[cfg(not(feature = "fleet"))]
fn without_fleet() -> CommandFailure {
    CommandFailure::usage("this watchdog was built without the fleet")
        .hint("build it with --features fleet")
}

/// Says that this build has none.
#[cfg(not(feature = "fleet"))]
pub fn run_fleet_events_command(
    _: &CommandEnv,
    _: &CommandTerminal,
    _: EventsArgs,
) -> Result<u8, CommandFailure> {
    Err(without_fleet())
}

/// Says that this build has none.
#[cfg(not(feature = "fleet"))]
pub fn add_others(
    _: &CommandEnv,
    _: &CommandTerminal,
    _: &mut StatusOverview,
    _: (ShownSpecs, &[String]),
) -> Result<u8, CommandFailure> {
    Err(without_fleet())
}

/// The store of the copies of all machines, what is to be noted of them, and the exit code.
pub type NotedCopies = (Arc<dyn LocalStore>, Vec<String>, u8);

/// Says that this build has none.
#[cfg(not(feature = "fleet"))]
pub fn copies_of(_: &CommandEnv, _: &CommandTerminal) -> Result<NotedCopies, CommandFailure> {
    Err(without_fleet())
}

/// Says that this build has none.
#[cfg(not(feature = "fleet"))]
pub fn read_others(_: &CommandEnv, _: &[String]) -> Result<OthersReader, CommandFailure> {
    Err(without_fleet())
}

/// How old what is shown of other machines is, where the server is away.
pub fn age_note(overview: &FleetOverview) -> Option<String> {
    said_of(overview).0
}

/// Returns the notes below a table, and the age of its data.
#[cfg(feature = "fleet")]
pub fn said_of(overview: &FleetOverview) -> (Option<String>, Vec<String>) {
    let now = watchdog_judge::clock::now();
    (
        super::fleet_copies::away_note(overview, now),
        super::fleet_copies::machine_lines(overview, now),
    )
}

/// Nothing: this build looks at no fleet.
#[cfg(not(feature = "fleet"))]
pub fn said_of(_: &FleetOverview) -> (Option<String>, Vec<String>) {
    (None, Vec::new())
}

/// Copies what happens to the fleet, if this machine is in one, until the value is dropped: for commands that stay.
#[cfg(feature = "fleet")]
pub fn start_fleet_copies(command_env: &CommandEnv) -> Option<watchdog_fleet::member::CopyWorker> {
    watchdog_fleet::member::begin_copies(command_env)
}

/// None: this build is in no fleet.
#[cfg(not(feature = "fleet"))]
pub fn start_fleet_copies(_: &CommandEnv) -> Option<std::convert::Infallible> {
    None
}
