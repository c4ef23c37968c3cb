//! Sharing a repository with the fleet: the id that its remote proposes, and the address that a person's word is kept with.

use std::time::Duration;

use watchdog_git::{Worktree, absolute_address, repository_id_of};
use watchdog_process::git_program::new_git_run;

/// How long git may take to read its configuration.
const DEADLINE: Duration = Duration::from_secs(30);

/// A remote over which a repository could be shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharingProposal {
    /// The id that it proposes; `None` where it says nothing that is the same on every machine, such as a path.
    pub id: Option<String>,
    /// The address that git pushes to at the moment. It may hold a password.
    pub url: String,
}

/// Proposes how to share a repository by its remote; `None` if it has no such remote.
///
/// The id is of the address as it is configured: `url.*.insteadOf` is a machine's own way to get there, so that two machines with different
/// ways would not agree. The address that is kept is the one with that way, as git pushes to it now.
pub fn sharing_proposal(worktree: &Worktree, remote: &str) -> Option<SharingProposal> {
    let configured = worktree.configured_address(remote)?;
    let output = new_git_run(
        worktree.root(),
        &["remote", "get-url", "--push", "--", remote],
        &[],
        true,
        DEADLINE,
    )
    .run()
    .ok()?;
    if !output.exit.success() {
        return None;
    }
    let printed = String::from_utf8(output.stdout.bytes).ok()?;
    let url = absolute_address(printed.lines().next()?, worktree.root());
    Some(SharingProposal {
        id: repository_id_of(&configured),
        url,
    })
}
