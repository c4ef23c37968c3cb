//! One process of a machine draws of an account's budget at a time: two that told the server of the same overspending at once would each
//! take it as settled, and the machine would spend it again.

use std::fs::{File, TryLockError};
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::StoreError;
use crate::file::open_private;
use crate::state_dir::StateDir;

/// The right to draw, until it is dropped or this process ends.
#[derive(Debug)]
#[must_use = "others draw when this is dropped"]
pub struct DrawLock(File);

impl DrawLock {
    /// Waits for whoever draws, for no longer than `patience`.
    ///
    /// # Errors
    /// Where another process draws for longer than that, or the lock's file cannot be opened.
    pub fn wait(state: &StateDir, patience: Duration) -> Result<Self, StoreError> {
        let path = state.locks().join("account.draw");
        let file = open_private(&path)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(DrawLock(file)),
                // A file system without locks: to draw twice is better than to draw nothing.
                Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Interrupted => {
                    return Ok(DrawLock(file));
                }
                Err(_) if begun.elapsed() >= patience => {
                    return Err(StoreError::Busy {
                        path,
                        seconds: patience.as_secs(),
                    });
                }
                Err(_) => sleep(Duration::from_millis(2)),
            }
        }
    }
}

impl Drop for DrawLock {
    fn drop(&mut self) {
        // A child that was just forked may still have its copy of the descriptor.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_draws_at_a_time_and_the_next_when_it_has_drawn() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::resolve(Some(dir.path().join("state")), None, None).unwrap();
        state.ensure().unwrap();
        let first = DrawLock::wait(&state, Duration::ZERO).unwrap();
        assert!(matches!(
            DrawLock::wait(&state, Duration::ZERO),
            Err(StoreError::Busy { .. })
        ));
        drop(first);
        drop(DrawLock::wait(&state, Duration::ZERO).unwrap());
    }
}
