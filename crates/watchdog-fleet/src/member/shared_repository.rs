//! The repositories of this machine that its fleet shares, each by a person's word: the file in the state directory that lists them, and
//! the id and address that a remote proposes.

use std::time::Duration;

use super::fleet_setting::{FleetSettingError, read_own_file, remove_own_file, unusable};
use crate::wire::fleet_json::{
    SharedRepository, read_shared_repositories, shared_repositories_text,
};
use watchdog_git::{Worktree, absolute_address, repository_id_of};
use watchdog_process::git_program::new_git_run;
use watchdog_store::{StateDir, replace_private_file};

/// How long git may take to read its configuration.
const DEADLINE: Duration = Duration::from_secs(30);

/// Returns the repository of this machine as the fleet shares it; `None` if a person did not share
/// it. Connects to nothing.
///
/// # Errors
/// Fails if the file cannot be read, is open to others, or is not understood.
pub fn shared_repository(
    state: &StateDir,
    local_repository_id: &str,
) -> Result<Option<SharedRepository>, FleetSettingError> {
    Ok(shared_repositories(state)?
        .into_iter()
        .find(|shared| shared.local == local_repository_id))
}

/// All of them.
///
/// # Errors
/// As [`shared_repository`].
pub fn shared_repositories(state: &StateDir) -> Result<Vec<SharedRepository>, FleetSettingError> {
    let path = state.fleet_repositories();
    let Some(text) = read_own_file(&path)? else {
        return Ok(Vec::new());
    };
    read_shared_repositories(&text).map_err(unusable(&path))
}

/// Shares a repository from now on, in place of what was kept of it.
///
/// # Errors
/// Fails if the file cannot be read or written.
pub fn keep_shared_repository(
    state: &StateDir,
    shared: &SharedRepository,
) -> Result<(), FleetSettingError> {
    state.ensure()?;
    let mut all = shared_repositories(state)?;
    all.retain(|listed| listed.local != shared.local);
    all.push(shared.clone());
    Ok(replace_private_file(
        &state.fleet_repositories(),
        shared_repositories_text(&all).as_bytes(),
    )?)
}

/// Shares none any more; a file that is gone already is no fault.
///
/// # Errors
/// Fails if the file cannot be removed.
pub(super) fn forget_shared_repositories(state: &StateDir) -> Result<(), FleetSettingError> {
    remove_own_file(&state.fleet_repositories())
}

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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn shared_repository_is_private_until_it_is_forgotten() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let state =
            StateDir::resolve(Some(scratch.path().join("state")), None, None).expect("a folder");
        assert_eq!(shared_repository(&state, "here").expect("no file"), None);
        let shared = |local: &str, id: &str| SharedRepository {
            local: local.into(),
            id: id.into(),
            remote: "origin".into(),
            url: "https://u:p@h/x".into(),
        };
        keep_shared_repository(&state, &shared("here", "h/x")).expect("kept");
        keep_shared_repository(&state, &shared("there", "h/y")).expect("kept");
        keep_shared_repository(&state, &shared("here", "h/z")).expect("kept");
        assert_eq!(
            shared_repository(&state, "here").expect("read"),
            Some(shared("here", "h/z"))
        );
        assert_eq!(shared_repositories(&state).expect("read").len(), 2);
        let path = state.fleet_repositories();
        assert_eq!(
            fs::metadata(&path).expect("there").permissions().mode() & 0o777,
            0o600
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
        let error = shared_repository(&state, "here")
            .expect_err("others may read it")
            .to_string();
        assert!(
            error.contains("other users may read it") && !error.contains("u:p"),
            "{error}"
        );
        forget_shared_repositories(&state).expect("removed");
        forget_shared_repositories(&state).expect("gone already");
        assert_eq!(shared_repositories(&state).expect("no file"), []);
    }
}
