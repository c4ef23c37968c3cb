//! The usage limits of an account that several machines share: those met here are told to the server, and those of others are kept here, so
//! that whoever asks waits for no server.

use crate::accounts::{ReportedLimit, clear_limits, tell_limits};
use crate::{FleetError, FleetServer};
use jiff::SignedDuration;
use watchdog_store::account;
use watchdog_store::{LocalStore, StateDir, StoreError, open_store};

use super::account_standing::list_limits;
use super::fleet_setting::{FleetSetting, FleetSettingError};
use watchdog_judge::clock::now;

/// That nothing changed is written down this often.
const REFRESH_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// Tells the server of limits that this machine met and asks for those of the others, where this machine shares an account. A limit of this
/// machine's own holds what met it, as it does without a fleet, and is not read back.
///
/// # Errors
/// Fails if a store cannot be used; unsent limits wait.
pub(super) fn share_account(
    local: &dyn LocalStore,
    server: &FleetServer,
    machine: &str,
) -> Result<(), StoreError> {
    let Some(shared) = account::read_account(local)? else {
        return Ok(());
    };
    let at = now();
    let reported = |met: &account::MetLimit| ReportedLimit {
        agent: met.agent.clone(),
        until: met.until,
        age_ms: i64::try_from(at.duration_since(met.seen_at).as_millis()).unwrap_or(0),
    };
    tell_limits(
        server,
        &shared.name,
        machine,
        &shared.met.iter().map(reported).collect::<Vec<_>>(),
    )?;
    let mut limits = list_limits(server, &shared.name)?;
    limits.retain(|limit| limit.machine != machine);
    let at = now();
    // Clocks and the way there differ by a little each time; that is no news, and nothing is written for it.
    for limit in &mut limits {
        let near = |shared_limit: &&account::AccountLimit| {
            (&shared_limit.agent, &shared_limit.machine) == (&limit.agent, &limit.machine)
                && shared_limit.until.duration_since(limit.until).abs()
                    < SignedDuration::from_secs(2)
        };
        if let Some(shared_limit) = shared.limits.iter().find(near) {
            limit.until = shared_limit.until;
        }
    }
    let is_news = !shared.met.is_empty() || limits != shared.limits;
    if is_news
        || shared
            .refreshed_at
            .is_none_or(|last| at.duration_since(last) >= REFRESH_AFTER)
    {
        account::record_refresh(local, &shared.name, &shared.met, &limits, at)?;
    }
    Ok(())
}

/// This machine works on an account from now on, or on its own again; `None` where it is in no fleet.
///
/// # Errors
/// Fails if the setting or the records of this machine cannot be read or written.
pub fn use_account(
    state: &StateDir,
    name: Option<&str>,
) -> Result<Option<FleetSetting>, FleetSettingError> {
    let Some(setting) = FleetSetting::from_state_dir(state)? else {
        return Ok(None);
    };
    let setting = FleetSetting {
        account: name.map(str::to_owned),
        ..setting
    };
    let local = open_store(state)?;
    setting.keep(state)?;
    account::share_account(local.as_ref(), name)?;
    // Its limits are known before anything is spent, where the server answers.
    let _ = setting
        .server()
        .map(|server| share_account(local.as_ref(), &server.needing_its_format(), &setting.name));
    Ok(Some(setting))
}

/// The outcome of clearing limits.
#[derive(Debug)]
pub struct ClearedLimits {
    /// How many the server had in force.
    pub there: u64,
    /// Why the server was not told; this machine is held by them no longer all the same.
    pub unsent: Option<FleetError>,
}

/// Ends the limit of an agent, or every limit of an account, as a person says.
///
/// # Errors
/// Fails if the records of this machine cannot be read or written.
pub fn clear_account_limits(
    state: &StateDir,
    setting: &FleetSetting,
    name: &str,
    agent: Option<&str>,
) -> Result<ClearedLimits, FleetSettingError> {
    let cleared = setting
        .server()
        .and_then(|server| clear_limits(&server.needing_its_format(), name, agent));
    if setting.account.as_deref() == Some(name) {
        account::clear_limits(open_store(state)?.as_ref(), agent)?;
    }
    Ok(match cleared {
        Ok(there) => ClearedLimits {
            there,
            unsent: None,
        },
        Err(error) => ClearedLimits {
            there: 0,
            unsent: Some(error),
        },
    })
}
