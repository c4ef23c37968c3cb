//! Which queue the tasks of a repository are in: that of the fleet where a person shared the repository, else that of this machine.

use std::sync::Arc;

use crate::judge::command_env::CommandEnv;
use crate::tasks::task_source::{SourcedTasks, TaskSource};
use watchdog_facts::evidence::UnreadableFact;
use watchdog_store::LocalStore;
use watchdog_store::task_store::LocalTasks;

/// The tasks of a repository, and the words for their place. Connects to nothing.
///
/// # Errors
/// Fails if the setting of a fleet cannot be read: another queue than the shared one is never used
/// in its place.
pub fn choose_queue(
    command_env: &CommandEnv,
    local: &Arc<dyn LocalStore>,
    repository_id: &str,
) -> Result<SourcedTasks, UnreadableFact> {
    if let Some(shared) = shared_queue(command_env, repository_id)? {
        return Ok(shared);
    }
    let store: Arc<dyn LocalStore> = Arc::clone(local);
    Ok((
        Arc::new(LocalTasks::new(store, repository_id)),
        TaskSource::Here,
    ))
}

#[cfg(feature = "fleet")]
fn shared_queue(
    command_env: &CommandEnv,
    repository_id: &str,
) -> Result<Option<SourcedTasks>, UnreadableFact> {
    Ok(crate::modes::fleet::fleet_queue(
        command_env,
        repository_id,
    )?)
}

/// This build is in no fleet. A repository that a person shared from this machine has its tasks there all the same: to work on them here, too,
/// would do them twice.
#[cfg(not(feature = "fleet"))]
fn shared_queue(
    command_env: &CommandEnv,
    repository_id: &str,
) -> Result<Option<SourcedTasks>, UnreadableFact> {
    let path = command_env.state.fleet_repositories();
    let unusable = |why: String, hint: &str| UnreadableFact {
        kind: watchdog_facts::evidence::FaultKind::Store,
        why,
        hint: Some(hint.to_owned()),
    };
    match std::fs::read_to_string(&path) {
        Ok(text) if text.contains(repository_id) => Err(unusable(
            "the tasks of this repository are in a fleet's queue, and this watchdog was built without the fleet".into(),
            "use one that was built with --features fleet, or have that one leave: watchdog fleet leave",
        )),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(unusable(format!("cannot use {}: {error}", path.display()), "see who may read it"))
        }
        _ => Ok(None),
    }
}
