//! A damaged database: put aside, never deleted at once, and named until git's refs gave back what they can.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::database_file::{
    COMPANIONS, ConnectionFault, DatabaseFile, OpenConnection, check_database, leave_log,
    read_identity, with_suffix,
};
use super::faults::is_damage;
use crate::clock::wall_micros;
use crate::error::StoreError;
use crate::state_dir::StateDir;
use watchdog_facts::evidence::WarningCode;

/// Damaged databases that are kept beside the living one.
const KEPT_DAMAGED: usize = 3;

/// The records that a damaged database takes with it.
pub const GONE: &str =
    "baselines, criteria, breakers, counts of probes, tasks, loops, figures and the journal";

/// The remedy, for a person.
const REBUILD: &str = "`watchdog doctor --rebuild` in each repository brings back the baselines and snapshots that git has";

/// The damaged databases that were put aside in a state directory, oldest first.
///
/// # Errors
/// If the directory cannot be read.
pub fn damaged_databases(state: &StateDir) -> io::Result<Vec<PathBuf>> {
    damaged_below(&state.database())
}

fn damaged_below(database: &Path) -> io::Result<Vec<PathBuf>> {
    let prefix = with_suffix(database, ".corrupt-");
    let is_ours = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.starts_with(&*prefix.to_string_lossy())
            && !COMPANIONS.iter().any(|companion| name.ends_with(companion))
    };
    let mut damaged = Vec::new();
    for entry in fs::read_dir(database.parent().unwrap_or(database))? {
        damaged.extend(Some(entry?.path()).filter(is_ours));
    }
    damaged.sort();
    Ok(damaged)
}

impl DatabaseFile {
    /// Renames a damaged database, so that a fresh one can be begun and the damaged one can still be studied.
    pub(super) fn put_aside(
        &mut self,
        connected: Option<OpenConnection>,
        why: &str,
    ) -> Result<(), StoreError> {
        let seen = connected.as_ref().map(|c| c.identity);
        if let Some(connected) = connected {
            leave_log(&connected.connection);
        }
        let guard = self.access_lock.alone(&self.database)?;
        let now = read_identity(&self.database)?;
        if now.is_none() || seen.is_some_and(|seen| now != Some(seen)) {
            return Ok(());
        }
        if seen.is_none() {
            // Another process may have repaired it while we waited for the lock.
            let checked = self.connection().and_then(|connection| {
                check_database(&connection).map_err(|error| self.explain(&connection, error.into()))
            });
            match checked {
                Ok(()) => return Ok(()),
                Err(ConnectionFault::Sqlite(error)) if is_damage(&error) => {}
                Err(ConnectionFault::Sqlite(error)) => return Err(self.open_failure(&error)),
                Err(ConnectionFault::Refused(error)) => return Err(error),
            }
        }
        let aside = self.name_for_damaged();
        fs::rename(&self.database, &aside)
            .map_err(|e| StoreError::io("put aside", &self.database, &e))?;
        self.move_companions(&aside)?;
        self.forget_old_damaged();
        drop(guard);
        let (database, aside) = (self.database.display(), aside.display());
        self.note(
            WarningCode::StoreDamaged,
            format!("{database} was damaged ({why}); it is kept as {aside}, and a fresh one was begun without {GONE}; {REBUILD}"),
        );
        Ok(())
    }

    pub(super) fn move_companions(&self, aside: &Path) -> Result<(), StoreError> {
        for suffix in COMPANIONS {
            let from = self.companion(suffix);
            match fs::rename(&from, with_suffix(aside, suffix)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StoreError::io("put aside", &from, &e));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn name_for_damaged(&self) -> PathBuf {
        let now = Timestamp::from_microsecond(wall_micros()).unwrap_or(Timestamp::UNIX_EPOCH);
        let stem = format!(".corrupt-{}", now.strftime("%Y%m%dT%H%M%S%.6fZ"));
        with_suffix(&self.database, &stem)
    }

    /// Keeps the newest few damaged databases, so that a failing disk is not filled up as well.
    fn forget_old_damaged(&self) {
        let Ok(damaged) = damaged_below(&self.database) else {
            return;
        };
        for path in damaged.iter().rev().skip(KEPT_DAMAGED) {
            for suffix in COMPANIONS.into_iter().chain([""]) {
                // A file that cannot be removed now is removed the next time.
                let _ = fs::remove_file(with_suffix(path, suffix));
            }
        }
    }
}
