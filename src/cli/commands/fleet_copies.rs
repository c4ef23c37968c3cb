//! Loads the data of `status` and `report` with `--fleet`: the copies of all machines, as far as
//! the server can be read, and else as it was read last.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::cli::failure::{CommandFailure, exit_code};
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::display::{escape_to_one_line, plural};
use watchdog_fleet::member::{FleetMirror, FleetSetting, MirrorState};
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_store::{LocalStore, StoreError};
use watchdog_view::amounts::format_age;
use watchdog_view::fleet_overview::FleetOverview;
use watchdog_view::live::others_poll::OthersReader;
use watchdog_view::overview::{ShownSpecs, StatusOverview};

use super::fleet::NotedCopies;
use super::fleet_events::setting_of;

/// The copies of a fleet, and what is to be said of them.
pub(crate) struct FleetCopies {
    mirror: FleetMirror,
    setting: FleetSetting,
    /// Why the server could not be read now.
    away: Option<String>,
}

impl FleetCopies {
    /// Those of the fleet that this machine is in; nothing is read of the server yet.
    ///
    /// # Errors
    /// Fails if this machine is in none, or the mirror cannot be opened.
    pub(crate) fn open(command_env: &CommandEnv) -> Result<Self, CommandFailure> {
        let setting = setting_of(command_env)?;
        command_env.state.ensure()?;
        Ok(FleetCopies {
            mirror: FleetMirror::open(&command_env.state, &setting)?,
            setting,
            away: None,
        })
    }

    /// Reads on. `tell` is called once where there is much to read.
    ///
    /// # Errors
    /// Fails if the mirror cannot be used.
    pub(crate) fn read_on(&mut self, tell: impl FnOnce()) -> Result<(), CommandFailure> {
        self.away = match self.mirror.read_on(tell)? {
            MirrorState::Current => None,
            MirrorState::Busy => {
                Some("another watchdog of this machine reads the fleet at the moment".to_owned())
            }
            MirrorState::Away(error) => Some(error.to_string()),
        };
        Ok(())
    }

    /// The copies themselves.
    pub(crate) fn store(&self) -> Arc<dyn LocalStore> {
        Arc::clone(self.mirror.store())
    }

    /// The machines, and how current what is here is.
    pub(crate) fn overview(&self, only: &[String]) -> Result<FleetOverview, StoreError> {
        let seen = self.mirror.machines()?;
        Ok(FleetOverview {
            this: self.setting.name.clone(),
            server: self.setting.server.server(),
            read_at: seen.as_ref().map(|seen| seen.read_at),
            away: self.away.clone(),
            only: only.to_vec(),
            machines: seen.map(|seen| seen.machines).unwrap_or_default(),
            silent: Vec::new(),
        })
    }
}

/// Adds the worktrees of the other machines, and returns the exit code: that of a store that could not be read where the server is away.
pub fn add_others(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    local_overview: &mut StatusOverview,
    (specs, only): (ShownSpecs, &[String]),
) -> Result<u8, CommandFailure> {
    let copies = open_current_copies(command_env, terminal)?;
    let overview = copies.overview(only)?;
    if !overview.has(&overview.this) {
        local_overview.rows.clear();
    }
    let is_away = overview.away.is_some();
    local_overview.add_others(copies.store().as_ref(), overview, specs, now())?;
    Ok(exit_code(!is_away))
}

/// The store of the copies for a report, with what is to be noted, and the exit code.
pub fn copies_of(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
) -> Result<NotedCopies, CommandFailure> {
    let copies = open_current_copies(command_env, terminal)?;
    let overview = copies.overview(&[])?;
    let code = exit_code(overview.away.is_none());
    let mut notes: Vec<String> = away_note(&overview, now()).into_iter().collect();
    notes.push(
        "figures of what the machines share, from when each joined; commits that were looked at are not shared, so an abort may count as \
         held or undecided although work went on"
            .to_owned(),
    );
    Ok((copies.store(), notes, code))
}

fn open_current_copies(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
) -> Result<FleetCopies, CommandFailure> {
    let mut copies = FleetCopies::open(command_env)?;
    copies.read_on(|| {
        terminal
            .tell("watchdog: reading what happened on all machines; the next look has it at once")
    })?;
    Ok(copies)
}

/// Reads on and looks, each time that it is called.
pub fn read_others(
    command_env: &CommandEnv,
    only: &[String],
) -> Result<OthersReader, CommandFailure> {
    let mut copies = FleetCopies::open(command_env)?;
    let only = only.to_vec();
    Ok(Box::new(move || {
        copies.read_on(|| {}).map_err(|failure| failure.message)?;
        let overview = copies.overview(&only).map_err(|error| error.to_string())?;
        Ok((copies.store(), overview))
    }))
}

/// How old what is shown is, where the server could not be read.
pub(crate) fn away_note(overview: &FleetOverview, now: Timestamp) -> Option<String> {
    let why = overview.away.as_ref()?;
    Some(match overview.read_at {
        Some(at) => format!(
            "other machines are shown as they were {}, as the fleet could not be read: {why}",
            format_age(at, now)
        ),
        None => {
            format!("nothing is known of other machines, as the fleet could not be read: {why}")
        }
    })
}

/// The machines in words, for the end of a table.
pub(super) fn machine_lines(overview: &FleetOverview, now: Timestamp) -> Vec<String> {
    let meant = overview
        .machines
        .iter()
        .filter(|machine| overview.has(&machine.name));
    let mut lines: Vec<String> = meant
        .clone()
        .filter(|machine| machine.name != overview.this)
        .map(|machine| {
            let seen = format_age(
                now.checked_sub(Duration::from_secs(machine.silent_seconds))
                    .unwrap_or(now),
                now,
            );
            let silent = if overview.silent.contains(&machine.name) {
                ": silent, though it was at work"
            } else {
                ""
            };
            format!(
                "  {}: last seen {seen}{silent}",
                escape_to_one_line(&machine.name)
            )
        })
        .collect();
    lines.insert(
        0,
        format!(
            "{} of the fleet on {}; this one is {}",
            plural(meant.count() as u64, "machine"),
            overview.server,
            overview.this
        ),
    );
    lines
}
