//! Which queue the tasks of a repository are in: that of the fleet where a person shared the repository, else that of this machine.

use std::sync::Arc;

use crate::judge::command_env::CommandEnv;
use crate::tasks::task_source::{SourcedTasks, TaskSource};
use watchdog_facts::evidence::UnreadableFact;
use watchdog_store::task_store::LocalTasks;
use watchdog_store::{LocalStore, StateDir};

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
    let CommandEnv {
        state, task_stores, ..
    } = command_env;
    match &command_env.fleet {
        None => refuse_shared_repository(state, repository_id)?,
        Some(fleet) => {
            if let Some(shared) = fleet.find_shared_tasks(state, task_stores, repository_id)? {
                return Ok(shared);
            }
        }
    }
    let store: Arc<dyn LocalStore> = Arc::clone(local);
    Ok((
        Arc::new(LocalTasks::new(store, repository_id)),
        TaskSource::Here,
    ))
}

/// No fleet was handed in. A repository that a person shared from this machine has its tasks there all the same: to work on them here, too,
/// would do them twice.
fn refuse_shared_repository(state: &StateDir, repository_id: &str) -> Result<(), UnreadableFact> {
    let path = state.fleet_repositories();
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
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_repository_is_refused_without_the_fleet() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let state = StateDir::resolve(Some(scratch.path().join("state")), None, None);
        let env = CommandEnv::new(scratch.path().to_owned(), state.expect("a folder"));
        env.state.ensure().expect("its folder");
        let store = watchdog_store::open_store(&env.state).expect("a store");
        let source_of = |id| choose_queue(&env, &store, id).map(|(_, source)| source);
        std::fs::write(env.state.fleet_repositories(), "[\"mine\"]").expect("a list");
        assert_eq!(source_of("yours").expect("its own"), TaskSource::Here);
        let refused = source_of("mine").expect_err("it is shared");
        assert!(refused.why.contains("was built without the fleet"));
    }
}
