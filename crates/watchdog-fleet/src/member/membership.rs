//! Joining a fleet and leaving it. The server is tried and told first; then the setting is kept here.

use crate::connection_settings::ConnectionSettings;
use crate::machines::{FleetSurvey, add_machine, remove_machine, survey_server};
use crate::table_format::require_own_format;
use crate::{FleetError, FleetServer};
use watchdog_judge::clock::now;
use watchdog_store::journal::event_id;
use watchdog_store::{StateDir, account, copied, open_store};

use super::account_limits::share_account;
use super::fleet_setting::{FleetSetting, FleetSettingError};
use super::mirror::remove_mirror;
use super::shared_repository::forget_shared_repositories;

/// Lets this machine join under a name, and keeps the setting. Without `account` that of an earlier setting for the same fleet stays.
///
/// # Errors
/// Fails if the server cannot be used as a worker, another machine has the name, or the setting
/// cannot be kept. The setting is not kept then.
pub fn join_fleet(
    state: &StateDir,
    settings: ConnectionSettings,
    name: &str,
    account: Option<&str>,
) -> Result<(FleetSetting, FleetSurvey), FleetSettingError> {
    let server = FleetServer::new(settings.clone())?;
    let server_survey = survey_server(&server)?;
    require_own_format(server_survey.format, &settings)?;
    if server_survey.is_read_only {
        return Err(FleetError::ReadOnly {
            doing: "join the fleet",
            server: settings.server(),
        }
        .into());
    }
    if !server_survey.missing_rights.is_empty() {
        let why = format!("it lacks {}", server_survey.missing_rights.join(", "));
        return Err(FleetError::NoRight {
            doing: "join the fleet",
            user: settings.user,
            why,
        }
        .into());
    }
    // A setting that cannot be read is replaced; its name on the server is then another machine's.
    let before = FleetSetting::from_state_dir(state).unwrap_or_default();
    let machine_id = before
        .as_ref()
        .map(|before| before.machine_id.clone())
        .or_else(|| FleetSetting::left_machine_id(state));
    let machine_id = machine_id.unwrap_or_else(|| event_id(now()));
    add_machine(&server, name, &machine_id)?;
    let mut setting = FleetSetting {
        name: name.to_owned(),
        machine_id,
        server: settings,
        account: account.map(str::to_owned),
    };
    let renewed = before
        .as_ref()
        .filter(|before| before.fleet() == setting.fleet());
    setting.account = setting.account.or_else(|| renewed?.account.clone());
    state.ensure()?;
    let local = open_store(state)?;
    if let Some(before) = before.filter(|before| before.fleet() != setting.fleet()) {
        copied::forget_fleet(local.as_ref(), &before.fleet())?;
        // The known limits of that fleet's account do not apply to one of this.
        account::share_account(local.as_ref(), None)?;
    }
    // Events from before it joined stay its own.
    copied::begin_copying(local.as_ref(), &setting.fleet())?;
    setting.keep(state)?;
    account::share_account(local.as_ref(), setting.account.as_deref())?;
    // Its limits are known before anything is spent.
    share_account(
        local.as_ref(),
        &setting.server()?.needing_its_format(),
        &setting.name,
    )?;
    Ok((setting, server_survey))
}

/// A fleet that was left.
#[derive(Debug)]
pub struct LeftFleet {
    /// The setting that was forgotten.
    pub setting: FleetSetting,
    /// Why the server still lists this machine; `None` where it does not.
    pub still_listed: Option<FleetError>,
}

/// Takes this machine out and forgets the setting, even where the server cannot be reached; `None` where it is in no fleet.
///
/// # Errors
/// Fails if the setting cannot be read or removed.
pub fn leave_fleet(state: &StateDir) -> Result<Option<LeftFleet>, FleetSettingError> {
    let Some(setting) = FleetSetting::from_state_dir(state)? else {
        return Ok(None);
    };
    let still_listed = setting
        .server()
        .and_then(|server| remove_machine(&server, &setting.machine_id))
        .err();
    FleetSetting::forget(state)?;
    // A server that still lists this machine gives its name to this state alone.
    FleetSetting::keep_left_machine_id(
        state,
        still_listed
            .is_some()
            .then_some(setting.machine_id.as_str()),
    )?;
    forget_shared_repositories(state)?;
    let local = open_store(state)?;
    // Waiting events stay here, also if this machine joins again.
    copied::forget_fleet(local.as_ref(), &setting.fleet())?;
    account::share_account(local.as_ref(), None)?;
    remove_mirror(&state.fleet_mirror())?;
    Ok(Some(LeftFleet {
        setting,
        still_listed,
    }))
}
