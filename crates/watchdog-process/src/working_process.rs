//! Reads this user's processes with their command lines and the folders that they work in, but for this process and those below it.

use std::ffi::OsString;
use std::path::PathBuf;

use super::command_lines::BYTES;

/// A process of this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingProcess {
    /// Its pid.
    pub pid: u32,
    /// The process that it is a child of.
    pub parent: u32,
    /// Its arguments, the program first. A process can write there what it wants.
    pub argv: Vec<OsString>,
    /// The folder that it works in.
    pub folder: PathBuf,
}

/// Reads these processes and all above them, as far as they are this user's.
pub fn read_with_ancestors(pids: &[u32]) -> Vec<WorkingProcess> {
    let mut processes: Vec<WorkingProcess> = Vec::new();
    for pid in pids {
        let (mut at, mut chain) = (*pid, Vec::new());
        // Pids come again while processes are read one after the other.
        let is_new = |at, chain: &[WorkingProcess]| {
            let mut read = processes.iter().chain(chain);
            !read.any(|process| process.pid == at)
        };
        while at != std::process::id()
            && is_new(at, &chain)
            && let Some(process) = read_process(at)
        {
            at = process.parent;
            chain.push(process);
        }
        if at != std::process::id() {
            processes.extend(chain);
        }
    }
    processes
}

fn read_process(pid: u32) -> Option<WorkingProcess> {
    let row = watchdog_system::read_one(pid).filter(|row| !row.dead)?;
    Some(WorkingProcess {
        pid,
        parent: row.parent,
        argv: watchdog_system::command_line(pid, BYTES)?,
        folder: watchdog_system::folder_of(pid)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_children_are_excluded_and_parent_is_included() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let mut launch = crate::SessionLaunch::new(["sleep", "60"], scratch.path());
        launch.stdin = crate::StdinSource::Null;
        let child = crate::SessionProcess::start(&launch).expect("it starts");
        let parent = watchdog_system::read_one(std::process::id()).map(|row| row.parent);
        let pids = [child.pid(), std::process::id(), parent.unwrap_or_default()];
        let processes = read_with_ancestors(&pids);
        let folders = watchdog_system::list_working_folders();
        let shows = folders.iter().any(|(pid, _)| *pid == child.pid());
        assert!(
            processes
                .iter()
                .all(|process| process.pid != child.pid() && process.pid != std::process::id())
        );
        assert_eq!(
            processes.iter().any(|process| Some(process.pid) == parent),
            shows,
            "its test runner is of the same user"
        );
        drop(child);
    }
}
