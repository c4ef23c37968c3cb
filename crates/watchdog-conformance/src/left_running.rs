//! Finds and ends whatever a scene left running, by a variable that all of it inherits.

use rustix::process::{Pid, Signal, kill_process};
use watchdog_system::NamedProcess;

/// The variable that marks every process of a scene.
pub const MARK_VARIABLE: &str = "WATCHDOG_CONFORMANCE_SCENE";

/// A process of a scene.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftProcess {
    /// Its id.
    pub pid: i32,
    /// What it runs.
    pub command: String,
}

/// The processes that run and have this mark. Where the system shows no environments (macOS), none is found.
pub fn left_running(mark: &str) -> Vec<LeftProcess> {
    let marked = watchdog_system::with_variable(MARK_VARIABLE, mark).into_iter();
    marked
        .filter_map(|NamedProcess { pid, name }| {
            Some(LeftProcess {
                pid: i32::try_from(pid).ok()?,
                command: name,
            })
        })
        .collect()
}

/// Sends a signal to all of them.
pub fn signal_all(processes: &[LeftProcess], signal: Signal) {
    for pid in processes
        .iter()
        .filter_map(|process| Pid::from_raw(process.pid))
    {
        // It may have ended meanwhile.
        let _ = kill_process(pid, signal);
    }
}
