//! The machines of a fleet beside this one: which are there, and which should have been heard of and were not. Pure.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use super::PathFilter;
use super::overview::{RecordsOf, ShownSpecs, StatusOverview, StatusRow, gather_from_records};
use watchdog_judge::wire::status_json::{FleetOverviewJson, SeenMachineJson};
use watchdog_store::looped::LoopRecord;
use watchdog_store::seen_machines::SeenMachine;
use watchdog_store::{LocalStore, StoreError};

/// A loop sends a heartbeat each 30 s: so long without one, and its machine is gone, or the way to the server.
const SILENT_LOOP: Duration = Duration::from_secs(90);
/// `watchdog run` sends none, and what a timer copies comes now and then.
const SILENT_SESSION: Duration = Duration::from_secs(15 * 60);

/// The fleet that was looked at.
#[derive(Debug, Clone)]
pub struct FleetOverview {
    /// This machine's name.
    pub this: String,
    /// Its server.
    pub server: String,
    /// When the server was read last; `None` = never.
    pub read_at: Option<Timestamp>,
    /// Why it could not be read now.
    pub away: Option<String>,
    /// Only machines of these names are shown; empty stands for all.
    pub only: Vec<String>,
    /// The machines that joined.
    pub machines: Vec<SeenMachine>,
    /// The names of those that are silent.
    pub silent: Vec<String>,
}

/// The other machine that a row is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowMachine {
    /// Its name.
    pub name: String,
    /// The top folder of the worktree there.
    pub folder: PathBuf,
    /// Whether a loop runs, as far as that was shared.
    pub loops: bool,
    /// For how long nothing was heard of the machine although something ran there.
    pub silent: Option<Duration>,
}

impl RowMachine {
    /// Of a worktree with a name and a folder among those of all machines.
    pub(super) fn from_id(id: &str, worktree: &Path, looped: Option<&LoopRecord>) -> Self {
        let name = machine_of(id).to_owned();
        let text = worktree.to_string_lossy();
        let folder = text
            .strip_prefix(&format!("{name}:"))
            .unwrap_or(&text)
            .to_owned();
        RowMachine {
            name,
            folder: folder.into(),
            loops: looped.is_some_and(|looped| looped.under_way.is_none()),
            silent: None,
        }
    }
}

/// The machine in the name of a worktree among those of all machines.
pub(super) fn machine_of(id: &str) -> &str {
    id.split_once(':').map_or(id, |(machine, _)| machine)
}

impl StatusOverview {
    /// Adds the worktrees of the other machines of a fleet, as the copies in `store` tell of them.
    ///
    /// # Errors
    /// When the store cannot be read. An unreadable row is a note.
    pub fn add_others(
        &mut self,
        store: &dyn LocalStore,
        mut overview: FleetOverview,
        specs: ShownSpecs,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut others = gather_from_records(
            store,
            RecordsOf::Others(&overview),
            &PathFilter::default(),
            specs,
            now,
        )?;
        overview.find_the_silent(&mut others.rows);
        self.rows.append(&mut others.rows);
        self.notes.append(&mut others.notes);
        self.rows.sort_by_cached_key(StatusRow::order);
        self.fleet = Some(overview);
        Ok(())
    }
}

impl StatusRow {
    /// For how long its machine has said nothing although this runs there.
    pub fn silent(&self) -> Option<Duration> {
        self.machine
            .as_ref()
            .filter(|_| self.runs())
            .and_then(|machine| machine.silent)
    }

    /// Its top folder, on the machine that it is on.
    pub fn folder(&self) -> &Path {
        self.machine
            .as_ref()
            .map_or(&self.worktree, |machine| &machine.folder)
    }
}

impl FleetOverview {
    /// Whether worktrees of this name are shown: those of this machine are read from its own records, and those of one that left are not
    /// looked after any more.
    pub(super) fn shows(&self, id: &str) -> bool {
        let machine = machine_of(id);
        machine != self.this
            && self.has(machine)
            && self
                .machines
                .iter()
                .any(|fleet_machine| fleet_machine.name == machine)
    }

    /// Whether a machine is meant.
    pub fn has(&self, machine: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == machine)
    }

    /// Finds the machines that were at work and were not heard of since, and says so in their rows.
    pub(super) fn find_the_silent(&mut self, rows: &mut [StatusRow]) {
        for machine in &self.machines {
            let is_on_it = |row: &StatusRow| {
                row.machine
                    .as_ref()
                    .is_some_and(|on| on.name == machine.name)
            };
            let mut at_work = rows.iter().filter(|row| is_on_it(row) && row.runs());
            let bound = if at_work.clone().any(StatusRow::loops) {
                SILENT_LOOP
            } else {
                SILENT_SESSION
            };
            let silent = Duration::from_secs(machine.silent_seconds);
            if silent <= bound || at_work.next().is_none() {
                continue;
            }
            self.silent.push(machine.name.clone());
            rows.iter_mut()
                .filter(|row| is_on_it(row))
                .filter_map(|row| row.machine.as_mut())
                .for_each(|on| on.silent = Some(silent));
        }
    }

    pub(super) fn as_fields(&self) -> FleetOverviewJson<'_> {
        FleetOverviewJson {
            this: &self.this,
            server: &self.server,
            read_at: self.read_at,
            away: self.away.as_deref(),
            machines: (self.machines.iter())
                .map(|machine| SeenMachineJson {
                    seen: machine,
                    is_this: machine.name == self.this,
                    is_silent: self.silent.contains(&machine.name),
                })
                .collect(),
        }
    }
}
