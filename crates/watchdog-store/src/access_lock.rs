//! The lock before the database: shared for users, exclusive for whoever creates it or puts a damaged one aside.
//!
//! It is a lock on a file that is never deleted; the kernel releases it when its holder dies. Every use of the database takes it first, so
//! that no process renames a damaged file while another writes to it.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::StoreError;
use super::file::open_private;
use super::lock_patience::{PATIENCE, goes_on};

/// The byte that [`AccessLock::say_left_in_order`] writes.
const LEFT_IN_ORDER: &[u8; 1] = b"+";

/// The access lock of one database.
#[derive(Debug)]
pub(super) struct AccessLock {
    file: Arc<File>,
}

/// The shared lock; released when dropped.
#[must_use = "the gate closes when this is dropped"]
pub(super) struct AccessGuard(Arc<File>);

impl Drop for AccessGuard {
    fn drop(&mut self) {
        // Closing the file frees the lock as well, so a refusal here cannot keep others out for longer than this process lives.
        let _ = self.0.unlock();
    }
}

impl AccessLock {
    /// The access lock with the lock file at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(AccessLock {
            file: Arc::new(open_private(path)?),
        })
    }

    /// The same where the file is there and may only be read.
    pub(crate) fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        Ok(AccessLock {
            file: Arc::new(File::open(path).map_err(|e| StoreError::io("open", path, &e))?),
        })
    }

    /// Waits until no process holds the lock exclusively. `database` is named in the error.
    pub(crate) fn lock_shared(&self, database: &Path) -> Result<AccessGuard, StoreError> {
        self.wait(database, File::try_lock_shared)
            .map(|()| AccessGuard(self.file.clone()))
    }

    /// Waits until no other process uses the database.
    pub(crate) fn alone(&self, database: &Path) -> Result<AccessGuard, StoreError> {
        self.wait(database, File::try_lock)
            .map(|()| AccessGuard(self.file.clone()))
    }

    /// Takes the lock exclusively if no other process uses the database.
    pub(crate) fn try_alone(&self) -> Option<AccessGuard> {
        self.file
            .try_lock()
            .is_ok()
            .then(|| AccessGuard(self.file.clone()))
    }

    /// Holds the shared lock until this is dropped or used otherwise.
    pub(crate) fn stay(&self, database: &Path) -> Result<(), StoreError> {
        self.wait(database, File::try_lock_shared)
    }

    /// Records in the lock file whether its last holder ended in good order. This hint survives the death of processes, not that of the
    /// machine, so it need not be durable; one that cannot be written counts as "not in good order".
    pub(crate) fn say_left_in_order(&self, in_order: bool) {
        let _ = self
            .file
            .write_all_at(if in_order { LEFT_IN_ORDER } else { b"-" }, 0);
    }

    /// Whether the last holder ended in good order.
    pub(crate) fn was_left_in_order(&self) -> bool {
        let mut word = [0; LEFT_IN_ORDER.len()];
        self.file
            .read_exact_at(&mut word, 0)
            .is_ok_and(|()| &word == LEFT_IN_ORDER)
    }

    fn wait(
        &self,
        database: &Path,
        lock: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<(), StoreError> {
        let started = Instant::now();
        loop {
            match lock(&self.file) {
                Ok(()) => return Ok(()),
                // A file system without locks, such as some network ones: the database's own locks must do.
                Err(TryLockError::Error(e)) if e.kind() != io::ErrorKind::Interrupted => {
                    return Ok(());
                }
                Err(_) if !goes_on(started) => {
                    return Err(StoreError::Busy {
                        path: database.to_owned(),
                        seconds: PATIENCE.as_secs(),
                    });
                }
                Err(_) => sleep(Duration::from_millis(2)),
            }
        }
    }
}
