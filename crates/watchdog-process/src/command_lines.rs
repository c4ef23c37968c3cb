//! Reads the command lines of a session's processes, in bounded time. A process can write there what it wants, so nothing rests on them
//! but a guess at what runs.

use std::ffi::OsString;

use watchdog_system::ProcessRow;

use super::tree_registry;

/// The most processes whose command lines are read: the oldest, as what starts a session's agent is among its first.
const PROCESSES: usize = 64;
/// The most bytes of a command line.
pub(super) const BYTES: u64 = 16 << 10;

/// The command line of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessCommandLine {
    /// Its pid.
    pub pid: u32,
    /// The process that it is a child of.
    pub parent: u32,
    /// Its arguments, the program first; cut after 16 KiB.
    pub argv: Vec<OsString>,
}

/// Reads the command lines of one session.
#[derive(Debug, Clone, Copy)]
pub struct CommandLineReader(SessionProcesses);

#[derive(Debug, Clone, Copy)]
enum SessionProcesses {
    /// The tree that this process started under this number.
    Tree(u64),
    /// This process, and all below it.
    Below(u32),
}

impl CommandLineReader {
    /// Of a session that another process started: this one and those below it.
    pub fn below(leader: u32) -> Self {
        CommandLineReader(SessionProcesses::Below(leader))
    }

    pub(super) fn of_tree(tree: u64) -> Self {
        CommandLineReader(SessionProcesses::Tree(tree))
    }

    /// Reads them once, the oldest process first. Empty where the system does not show them, or none runs.
    pub fn read_all(&self) -> Vec<ProcessCommandLine> {
        let mut rows = match self.0 {
            SessionProcesses::Tree(tree) => tree_registry::list_living(tree).unwrap_or_default(),
            SessionProcesses::Below(leader) => rows_below(leader).unwrap_or_default(),
        };
        rows.sort_by_key(|row| (row.started, row.pid));
        let line = |row: &ProcessRow| {
            Some(ProcessCommandLine {
                pid: row.pid,
                parent: row.parent,
                argv: watchdog_system::command_line(row.pid, BYTES)?,
            })
        };
        rows.iter().take(PROCESSES).filter_map(line).collect()
    }
}

/// The living processes below `leader`, itself included; `None` where the system does not show them.
pub(super) fn rows_below(leader: u32) -> Option<Vec<ProcessRow>> {
    let mut rows = watchdog_system::read_below(leader, &[])?;
    rows.retain(|row| !row.dead);
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_read_with_its_arguments() {
        let lines = CommandLineReader::below(std::process::id()).read_all();
        match watchdog_system::read_all() {
            Ok(_) => assert_eq!(lines[0].argv, std::env::args_os().collect::<Vec<_>>()),
            Err(_) => assert_eq!(lines, [], "the system shows no process"),
        }
        assert_eq!(CommandLineReader::below(u32::MAX).read_all(), []);
    }
}
