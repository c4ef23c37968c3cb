//! Whether this machine is in a fleet, and what that means for its tasks and its doctor. The program hands it in, so that the judge knows
//! no server.

use super::doctor_finding::Findings;
use crate::tasks::task_source::SourcedTasks;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_store::StateDir;
use watchdog_store::task_store::OpenTaskStores;

/// The fleet that the machine of a state directory may be in.
pub trait FleetMembership: Send + Sync {
    /// Finds the tasks of a repository in the fleet, and the words for their place; `None` where this machine is in no fleet, or no person
    /// shared the repository. Connects to nothing.
    ///
    /// # Errors
    /// Fails if the setting or the shared repositories cannot be read.
    fn find_shared_tasks(
        &self,
        state: &StateDir,
        task_stores: &OpenTaskStores,
        repository_id: &str,
    ) -> Result<Option<SourcedTasks>, UnreadableFact>;

    /// Finds name and address of the remote that a person shared the repository over. Connects to nothing.
    ///
    /// # Errors
    /// As [`FleetMembership::find_shared_tasks`].
    fn find_shared_remote(
        &self,
        state: &StateDir,
        repository_id: &str,
    ) -> Result<Option<(String, String)>, UnreadableFact>;

    /// Looks at the fleet, where this machine is in one, and at the account of agents. Asks the server.
    fn examine_fleet(&self, findings: &mut Findings, state: &StateDir);
}
