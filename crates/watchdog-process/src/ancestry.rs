//! Whether this process runs inside of a session: by the processes above it, by the marks of the watchdogs that it runs under, and where it
//! left both, by its begin, its control group and the terminal that it lacks.

use std::fs::File;

use watchdog_system::{control_group, read_one};

use super::tree_registry::marking_watchdogs;

/// The maximum number of ancestors that are read.
const MOST: usize = 256;

/// The ancestors of this process.
#[derive(Debug, Clone, Default)]
pub struct ProcessAncestry {
    above: Vec<u32>,
    watchdogs: Vec<u32>,
}

impl ProcessAncestry {
    /// The ancestry of this process. Empty where the system does not show it.
    pub fn of_this_process() -> Self {
        let mut above = Vec::new();
        let mut at = std::process::id();
        while let Some(parent) = read_parent(at)
            .filter(|parent| *parent > 1 && !above.contains(parent) && above.len() < MOST)
        {
            above.push(parent);
            at = parent;
        }
        ProcessAncestry {
            above,
            watchdogs: marking_watchdogs(),
        }
    }

    /// Whether a process is an ancestor of this one.
    pub fn is_above(&self, pid: u32) -> bool {
        self.above.contains(&pid)
    }

    /// Whether a session's first process is an ancestor of this one, or was started by a watchdog whose mark this process carries. A
    /// watchdog takes the place of the session that it is about to start, and takes in the orphans of one that it runs (`is_ours`).
    pub fn is_inside(&self, session: u32, is_ours: bool) -> bool {
        // A session whose watchdog was killed may hang below a manager of the user's, which is above a person's shell as well.
        let is_watchdog = |pid: u32| {
            read_process_name(pid)
                .is_some_and(|program| Some(program) == read_process_name(std::process::id()))
        };
        let is_of = |pid: u32| {
            self.watchdogs.contains(&pid)
                || is_ours && self.above.contains(&pid) && is_watchdog(pid)
        };
        self.above.contains(&session)
            || self.watchdogs.contains(&session)
            || read_parent(session).is_some_and(is_of)
    }

    /// Whether this process may have left a session, as `setsid -f` and a second fork do it: no terminal of a person leads to it, it hangs
    /// below the system's first process or its manager of services, and it began after the session in the session's control group.
    pub fn may_have_left(&self, session: u32) -> bool {
        let own = std::process::id();
        let (Some(mut top), Some(begun)) =
            (read_one(own), read_one(session).map(|row| row.started))
        else {
            return false;
        };
        let has_terminal = top.session == own || self.above.contains(&top.session);
        if has_terminal && File::open("/dev/tty").is_ok() {
            return false;
        }
        while let Some(parent) =
            read_one(top.parent).filter(|parent| parent.pid > 1 && parent.name != "systemd")
        {
            top = parent;
        }
        // Without a parent it came from outside of the container.
        let began_after = top.parent > 0 && top.started >= begun;
        began_after && !self.is_above(session) && control_group(own) == control_group(session)
    }
}

fn read_parent(pid: u32) -> Option<u32> {
    read_one(pid).map(|row| row.parent)
}

fn read_process_name(pid: u32) -> Option<String> {
    read_one(pid).map(|row| row.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_process_is_ancestor_but_self_is_not() {
        let ancestry = ProcessAncestry::of_this_process();
        assert!(!ancestry.is_inside(std::process::id(), false));
        match read_parent(std::process::id()) {
            Some(parent) => {
                assert!(ancestry.is_inside(parent, false) && !ancestry.may_have_left(parent))
            }
            None => assert!(
                watchdog_system::read_all().is_err(),
                "every process has one, where the system shows processes"
            ),
        }
    }
}
