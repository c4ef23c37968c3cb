//! Finds and ends whatever a scene left running, by a variable that all of it inherits.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

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
    let wanted = format!("{MARK_VARIABLE}={mark}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let path = entry.path();
        let Ok(environment) = fs::read(path.join("environ")) else { continue };
        if !environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()) {
            continue;
        }
        let words = fs::read(path.join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&words).replace('\0', " ").trim().to_owned();
        found.push(LeftProcess { pid, command });
    }
    found
}

/// Sends a signal to all of them.
pub fn signal_all(processes: &[LeftProcess], signal: Signal) {
    for pid in processes.iter().filter_map(|process| Pid::from_raw(process.pid)) {
        // It may have ended meanwhile.
        let _ = kill_process(pid, signal);
    }
}
