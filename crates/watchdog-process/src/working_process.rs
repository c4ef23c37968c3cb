//! Reads this user's processes with their command lines and the folders that they work in, but for this process and those below it.

use std::collections::HashSet;
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

/// Reads them once; empty where the system shows no processes.
pub fn read_working_processes() -> Vec<WorkingProcess> {
    let table = watchdog_system::read_all().unwrap_or_default();
    let mut own = HashSet::from([std::process::id()]);
    // A child may stand before its parent, once pids came round.
    while let Some(row) = table
        .iter()
        .find(|row| own.contains(&row.parent) && !own.contains(&row.pid))
    {
        own.insert(row.pid);
    }
    let others = table
        .into_iter()
        .filter(|row| !row.dead && !own.contains(&row.pid));
    let read = others.filter_map(|row| {
        let folder = watchdog_system::folder_of(row.pid)?;
        Some(WorkingProcess {
            pid: row.pid,
            parent: row.parent,
            argv: watchdog_system::command_line(row.pid, BYTES)?,
            folder,
        })
    });
    read.collect()
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
        let processes = read_working_processes();
        let shows = watchdog_system::folder_of(std::process::id()).is_some();
        assert!(
            processes
                .iter()
                .all(|process| process.pid != child.pid() && process.pid != std::process::id())
        );
        let parent = watchdog_system::read_one(std::process::id()).map(|row| row.parent);
        assert_eq!(
            processes.iter().any(|process| Some(process.pid) == parent),
            shows,
            "its test runner is of the same user"
        );
        drop(child);
    }
}
