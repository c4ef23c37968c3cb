//! The file in the state directory that says which fleet this machine is in. It may hold a password, so it is its owner's alone.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::connection_settings::ConnectionSettings;
use crate::wire::fleet_json::{FleetSettingFields, fleet_setting_text, read_fleet_setting};
use crate::{FleetError, FleetServer};
use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_store::{StateDir, StoreError, replace_private_file};

/// Why there is no answer to which fleet this machine is in.
#[derive(Debug, thiserror::Error)]
pub enum FleetSettingError {
    /// The file cannot be used.
    #[error("cannot use {path}: {why}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The fault in it.
        why: String,
    },
    /// The server, or its address.
    #[error(transparent)]
    Server(#[from] FleetError),
    /// The state directory.
    #[error(transparent)]
    State(#[from] StoreError),
}

impl FleetSettingError {
    /// The remedy, for a person.
    pub fn hint(&self) -> String {
        match self {
            FleetSettingError::Unusable { .. } => {
                "join again with: watchdog fleet join URL --name NAME".into()
            }
            FleetSettingError::Server(error) => error.hint(),
            FleetSettingError::State(error) => error.hint(),
        }
    }
}

impl From<FleetSettingError> for UnreadableFact {
    fn from(error: FleetSettingError) -> Self {
        UnreadableFact {
            kind: FaultKind::Store,
            why: error.to_string(),
            hint: Some(error.hint()),
        }
    }
}

pub(super) fn unusable(path: &Path) -> impl Fn(String) -> FleetSettingError {
    move |why| FleetSettingError::Unusable {
        path: path.to_owned(),
        why,
    }
}

/// Reads a file that may hold a password; `None` where it is not there.
pub(super) fn read_own_file(path: &Path) -> Result<Option<String>, FleetSettingError> {
    let unusable = unusable(path);
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| unusable(error.to_string()))?,
    };
    let mode = fs::symlink_metadata(path)
        .map_err(|error| unusable(error.to_string()))?
        .mode()
        & 0o777;
    if mode & 0o077 != 0 {
        return Err(unusable(format!(
            "other users may read it (mode {mode:o}), and it may hold a password; change that password"
        )));
    }
    Ok(Some(text))
}

/// Removes a file; one that is gone already is no fault.
pub(super) fn remove_own_file(path: &Path) -> Result<(), FleetSettingError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(unusable(path)(error.to_string()))
        }
        _ => Ok(()),
    }
}

/// Which fleet this machine is in, and how its server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetSetting {
    /// Its name there.
    pub name: String,
    /// Names its state.
    pub machine_id: String,
    /// How the server is reached.
    pub server: ConnectionSettings,
    /// The account that it shares with other machines; `None` where its account is its own.
    pub account: Option<String>,
}

impl FleetSetting {
    /// The setting of a state directory; `None` where this machine is in no fleet. Connects to nothing.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is open to others, or is not understood.
    pub fn from_state_dir(state: &StateDir) -> Result<Option<Self>, FleetSettingError> {
        let path = state.fleet_setting();
        let Some(text) = read_own_file(&path)? else {
            return Ok(None);
        };
        let FleetSettingFields {
            name,
            machine_id,
            address,
            account,
        } = read_fleet_setting(&text).map_err(unusable(&path))?;
        // Everything is in the address, so that the environment of the moment changes nothing.
        let server = ConnectionSettings::from_address(&address, &|_| None)?;
        Ok(Some(FleetSetting {
            name,
            machine_id,
            server,
            account,
        }))
    }

    /// Keeps it.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn keep(&self, state: &StateDir) -> Result<(), FleetSettingError> {
        state.ensure()?;
        let address = self.server.secret_address();
        let FleetSetting {
            name,
            machine_id,
            account,
            ..
        } = self.clone();
        let fields = FleetSettingFields {
            name,
            machine_id,
            address,
            account,
        };
        Ok(replace_private_file(
            &state.fleet_setting(),
            fleet_setting_text(&fields).as_bytes(),
        )?)
    }

    /// Forgets it; one that is gone already is no fault.
    ///
    /// # Errors
    /// Fails if the file cannot be removed.
    pub fn forget(state: &StateDir) -> Result<(), FleetSettingError> {
        remove_own_file(&state.fleet_setting())
    }

    /// The id under which a server may still list this machine, which left it while it was away.
    pub fn left_machine_id(state: &StateDir) -> Option<String> {
        let text = fs::read_to_string(state.left_fleet_machine()).ok()?;
        Some(text.trim().to_owned()).filter(|id| !id.is_empty())
    }

    /// Keeps that id; with `None` there is none.
    ///
    /// # Errors
    /// Fails if the file cannot be written or removed.
    pub fn keep_left_machine_id(
        state: &StateDir,
        id: Option<&str>,
    ) -> Result<(), FleetSettingError> {
        let path = state.left_fleet_machine();
        match id.map(|id| replace_private_file(&path, format!("{id}\n").as_bytes())) {
            Some(written) => Ok(written?),
            None => remove_own_file(&path),
        }
    }

    /// Names the fleet among those that this machine was in: its server and database.
    pub fn fleet(&self) -> String {
        format!("{}/{}", self.server.server(), self.server.database)
    }

    /// The server, not connected to yet.
    ///
    /// # Errors
    /// Fails if the file of authorities cannot be read.
    pub fn server(&self) -> Result<FleetServer, FleetError> {
        FleetServer::new(self.server.clone())
    }
}
