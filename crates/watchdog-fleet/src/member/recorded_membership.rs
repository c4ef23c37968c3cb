//! The fleet as the state directory records it: where the tasks of a shared repository are, and the remote that they travel over.

use std::sync::Arc;

use crate::FleetTasks;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_store::StateDir;
use watchdog_store::task_store::{OpenTaskStores, TaskStore};

use super::fleet_findings;
use super::fleet_setting::{FleetSetting, FleetSettingError};
use super::shared_repository::shared_repository;
use crate::wire::fleet_json::SharedRepository;
use watchdog_judge::judge::doctor_finding::Findings;
use watchdog_judge::judge::fleet_membership::FleetMembership;
use watchdog_judge::tasks::task_source::{SourcedTasks, TaskSource};

/// Reads the fleet from the state directory, anew for each call.
pub struct RecordedMembership;

/// A repository that is shared, and the fleet that shares it.
fn find_shared(
    state: &StateDir,
    repository_id: &str,
) -> Result<Option<(FleetSetting, SharedRepository)>, FleetSettingError> {
    let Some(setting) = FleetSetting::from_state_dir(state)? else {
        return Ok(None);
    };
    Ok(shared_repository(state, repository_id)?.map(|shared| (setting, shared)))
}

impl FleetMembership for RecordedMembership {
    fn find_shared_tasks(
        &self,
        state: &StateDir,
        task_stores: &OpenTaskStores,
        repository_id: &str,
    ) -> Result<Option<SourcedTasks>, UnreadableFact> {
        let Some((setting, shared)) = find_shared(state, repository_id)? else {
            return Ok(None);
        };
        let address = setting.server.secret_address();
        let name = [address.as_str(), &setting.name, &shared.id].join("\n");
        let tasks = task_stores.get(&name, || {
            let server = setting.server()?.needing_its_format();
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

    fn find_shared_remote(
        &self,
        state: &StateDir,
        repository_id: &str,
    ) -> Result<Option<(String, String)>, UnreadableFact> {
        Ok(find_shared(state, repository_id)?.map(|(_, shared)| (shared.remote, shared.url)))
    }

    fn examine_fleet(&self, findings: &mut Findings, state: &StateDir) {
        fleet_findings::examine_fleet(findings, state);
    }
}
