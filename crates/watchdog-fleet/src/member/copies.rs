//! The copies of this machine to the fleet that it is in: which fleet, how it is reached, and what waits.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::machines::send_heartbeat;
use crate::{FleetServer, FleetStore};
use watchdog_process::{start_detached, started_by_a_watchdog};
use watchdog_store::{LocalStore, SharedStore, StateDir, StoreError, copied, open_store};

use super::account_limits::share_account;
use super::copy_worker::{CopyWorker, FleetLink};
use super::copying::{CopiedEvents, CopyIdentity, copy_events, count_waiting_events};
use super::fleet_setting::{FleetSetting, FleetSettingError};
use crate::wire::fleet_json::WaitingCopies;
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::CommandEnv;

/// Beyond this many, waiting events are not counted.
pub const COUNTED: usize = 10_000;

/// How long a process may live that sends what a command left.
const HANDED_OVER: Duration = Duration::from_secs(30);
/// Between two looks whether the last watchdog gave its right to copy back.
const BUSY: Duration = Duration::from_millis(250);
/// How many batches it sends before it looks at the clock.
const BATCHES: usize = 5;

/// The server of the fleet, as this machine.
struct JoinedFleet {
    server: Arc<FleetServer>,
    store: FleetStore,
    setting: FleetSetting,
}

impl JoinedFleet {
    fn new(setting: &FleetSetting) -> Result<Self, StoreError> {
        let server = Arc::new(setting.server()?.needing_its_format());
        let store = FleetStore::new(Arc::clone(&server), &setting.name);
        Ok(JoinedFleet {
            server,
            store,
            setting: setting.clone(),
        })
    }
}

impl FleetLink for JoinedFleet {
    fn store(&self) -> &dyn SharedStore {
        &self.store
    }

    fn heartbeat(&self) -> Result<(), StoreError> {
        Ok(send_heartbeat(
            &self.server,
            &self.setting.name,
            &self.setting.machine_id,
        )?)
    }

    fn share_account(&self, local: &dyn LocalStore) -> Result<(), StoreError> {
        share_account(local, &self.server, &self.setting.name)
    }
}

fn build_identity(setting: &FleetSetting) -> CopyIdentity {
    CopyIdentity {
        fleet: setting.fleet(),
        machine: setting.name.clone(),
    }
}

/// Begins to copy beside a command that stays; `None` where this machine is in no fleet. A setting that cannot be read is told, and nothing
/// waits for it.
pub fn begin_copies(command_env: &CommandEnv) -> Option<CopyWorker> {
    let setting = match FleetSetting::from_state_dir(&command_env.state) {
        Ok(setting) => setting?,
        Err(error) => {
            command_env.tell(&format!(
                "nothing is copied to the fleet: {error}; {}",
                error.hint()
            ));
            return None;
        }
    };
    let identity = build_identity(&setting);
    let connect = Box::new(move || Ok(Box::new(JoinedFleet::new(&setting)?) as Box<dyn FleetLink>));
    let state = command_env.state.clone();
    let open = {
        let state = state.clone();
        Arc::new(move || open_store(&state).ok())
    };
    let hand_over = Box::new(move || hand_over(&state));
    Some(CopyWorker::begin(
        open,
        identity,
        connect,
        Arc::clone(&command_env.narrate),
        hand_over,
    ))
}

/// Starts a `watchdog fleet sync` that goes on when this command ends. Under another watchdog it would count as what a session left running:
/// then the events wait.
fn hand_over(state: &StateDir) {
    if started_by_a_watchdog(std::process::id()) {
        return;
    }
    let started = std::env::current_exe().and_then(|program| {
        let words = ["fleet", "sync", "--handed-over"].map(OsString::from);
        let argv: Vec<OsString> = [
            program.into_os_string(),
            "--state-dir".into(),
            state.root().into(),
        ]
        .into_iter()
        .chain(words)
        .collect();
        start_detached(&argv, Path::new("/"))
    });
    if let Err(error) = started {
        tracing::debug!(target: "watchdog::fleet", why = %error, "cannot hand the copies over; they wait");
    }
}

/// Copies what a command left when it ended, for a bounded time. That the server takes nothing is said by the next command.
///
/// # Errors
/// Fails if the setting or a store cannot be used.
pub fn copy_handed_over(command_env: &CommandEnv) -> Result<(), FleetSettingError> {
    let Some(setting) = FleetSetting::from_state_dir(&command_env.state)? else {
        return Ok(());
    };
    let local = open_store(&command_env.state)?;
    let identity = build_identity(&setting);
    let until = Instant::now() + HANDED_OVER;
    let copy = || -> Result<(), StoreError> {
        let fleet = JoinedFleet::new(&setting)?;
        fleet.heartbeat()?;
        fleet.share_account(local.as_ref())?;
        while Instant::now() < until {
            match copy_events(local.as_ref(), fleet.store(), &identity, BATCHES)? {
                // A command that was ended in the middle of a copy has the right to it until that ends by itself.
                CopiedEvents { busy: true, .. } => std::thread::sleep(BUSY),
                CopiedEvents { read: 0, .. } => break,
                _ => {}
            }
        }
        Ok(())
    };
    copy().or_else(|error| {
        Ok(copied::failed_unseen(
            local.as_ref(),
            &identity.fleet,
            &error.to_string(),
            now(),
        )?)
    })
}

/// Copies everything that waits, now; `None` where this machine is in no fleet.
///
/// # Errors
/// Fails if the setting or a store cannot be used. Uncopied events wait.
pub fn copy_now(
    command_env: &CommandEnv,
) -> Result<Option<(FleetSetting, CopiedEvents)>, FleetSettingError> {
    let Some(setting) = FleetSetting::from_state_dir(&command_env.state)? else {
        return Ok(None);
    };
    let local = open_store(&command_env.state)?;
    let fleet = JoinedFleet::new(&setting)?;
    fleet.heartbeat()?;
    fleet.share_account(local.as_ref())?;
    let done = copy_events(
        local.as_ref(),
        fleet.store(),
        &build_identity(&setting),
        usize::MAX,
    )?;
    Ok(Some((setting, done)))
}

/// Counts the events that wait to be copied.
///
/// # Errors
/// Fails if the records of this machine cannot be read.
pub fn waiting_copies(
    command_env: &CommandEnv,
    setting: &FleetSetting,
) -> Result<WaitingCopies, StoreError> {
    let local = open_store(&command_env.state)?;
    let progress = copied::read_progress(local.as_ref(), &setting.fleet())?.unwrap_or_default();
    let events = count_waiting_events(local.as_ref(), &setting.fleet(), COUNTED)?;
    Ok(WaitingCopies {
        events,
        missed: progress.missed,
        failing_since: progress.failing_since,
    })
}
