//! The queue of a repository that the fleet shares: where it is, and its tasks as this machine uses them.

use std::sync::Arc;

use watchdog_fleet::{FleetServer, FleetTasks};
use watchdog_store::task_store::TaskStore;

use super::fleet_setting::{FleetSetting, FleetSettingError};
use super::shared_repository::shared_repository;
use crate::judge::command_env::CommandEnv;
use crate::tasks::task_source::{SourcedTasks, TaskSource};

/// The tasks of a repository in the fleet, and the words for it; `None` where this machine is in no fleet, or no person shared the
/// repository. Connects to nothing.
///
/// # Errors
/// Fails if the setting or the shared queue cannot be read.
pub fn fleet_queue(
    command_env: &CommandEnv,
    local_repository_id: &str,
) -> Result<Option<SourcedTasks>, FleetSettingError> {
    let Some(setting) = FleetSetting::from_state_dir(&command_env.state)? else {
        return Ok(None);
    };
    let Some(shared) = shared_repository(&command_env.state, local_repository_id)? else {
        return Ok(None);
    };
    let address = setting.server.secret_address();
    let name = [address.as_str(), &setting.name, &shared.id].join("\n");
    let tasks = command_env.task_stores.get(&name, || {
        let server: FleetServer = setting.server()?.needing_its_format();
        Ok::<_, FleetSettingError>(Arc::new(FleetTasks::new(
            Arc::new(server),
            &setting.name,
            &shared.id,
        )) as Arc<dyn TaskStore>)
    })?;
    let source = TaskSource::Fleet {
        server: setting.server.server(),
        machine: setting.name,
        repository: shared.id,
    };
    Ok(Some((tasks, source)))
}
