//! The file in the state directory that says which repositories of this machine its fleet shares, each by a person's word.

use super::fleet_setting::{FleetSettingError, read_own_file, remove_own_file, unusable};
use crate::wire::fleet_json::{
    SharedRepositoryFields, read_shared_repositories, shared_repositories_text,
};
use watchdog_store::{StateDir, replace_private_file};

/// A repository that the fleet shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedRepository {
    /// Its name in the fleet, the same on every machine.
    pub id: String,
    /// The remote over which work travels, by its name here.
    pub remote: String,
    /// The address of that remote when the person shared it. It may hold a password.
    pub url: String,
}

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
        .find_map(|(local, shared)| (local == local_repository_id).then_some(shared)))
}

/// All of them, each with its local name.
///
/// # Errors
/// As [`shared_repository`].
pub fn shared_repositories(
    state: &StateDir,
) -> Result<Vec<(String, SharedRepository)>, FleetSettingError> {
    let path = state.fleet_repositories();
    let Some(text) = read_own_file(&path)? else {
        return Ok(Vec::new());
    };
    let fields = read_shared_repositories(&text).map_err(unusable(&path))?;
    Ok(fields
        .into_iter()
        .map(
            |SharedRepositoryFields {
                 local,
                 id,
                 remote,
                 url,
             }| (local, SharedRepository { id, remote, url }),
        )
        .collect())
}

/// Shares a repository from now on, in place of what was kept of it.
///
/// # Errors
/// Fails if the file cannot be read or written.
pub fn keep_shared_repository(
    state: &StateDir,
    local_repository_id: &str,
    shared: &SharedRepository,
) -> Result<(), FleetSettingError> {
    state.ensure()?;
    let mut all = shared_repositories(state)?;
    all.retain(|(local, _)| local != local_repository_id);
    all.push((local_repository_id.to_owned(), shared.clone()));
    let fields: Vec<_> = (all.into_iter())
        .map(
            |(local, SharedRepository { id, remote, url })| SharedRepositoryFields {
                local,
                id,
                remote,
                url,
            },
        )
        .collect();
    Ok(replace_private_file(
        &state.fleet_repositories(),
        shared_repositories_text(&fields).as_bytes(),
    )?)
}

/// Shares none any more; a file that is gone already is no fault.
///
/// # Errors
/// Fails if the file cannot be removed.
pub fn forget_shared_repositories(state: &StateDir) -> Result<(), FleetSettingError> {
    remove_own_file(&state.fleet_repositories())
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
        let shared = |id: &str| SharedRepository {
            id: id.into(),
            remote: "origin".into(),
            url: "https://u:p@h/x".into(),
        };
        keep_shared_repository(&state, "here", &shared("h/x")).expect("kept");
        keep_shared_repository(&state, "there", &shared("h/y")).expect("kept");
        keep_shared_repository(&state, "here", &shared("h/z")).expect("kept");
        assert_eq!(
            shared_repository(&state, "here").expect("read"),
            Some(shared("h/z"))
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
