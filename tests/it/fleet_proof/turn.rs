//! Lets rounds that run at one time take turns: one is made ready, or comes to its end, while the other one keeps the processors busy. Two
//! at full speed take each other's leases away, and are slower than one after the other.

use std::fs::File;

use rustix::fs::{FlockOperation, flock};

/// The right to keep every processor busy; dropped, the next round has it. The file that it stands for is named by the environment
/// (scripts/nightly fleet); without one each round has it.
pub struct Turn(Option<File>);

impl Turn {
    /// Waits for it.
    pub fn wait() -> Self {
        let file = std::env::var_os("WATCHDOG_FLEET_TURN")
            .map(|path| File::create(path).expect("the file of turns"));
        if let Some(file) = &file {
            flock(file, FlockOperation::LockExclusive).expect("a lock that others give up");
        }
        Turn(file)
    }

    /// Gives it to the next round.
    pub fn pass_on(&mut self) {
        self.0 = None;
    }
}
