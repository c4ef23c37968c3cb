//! Whether this process runs inside of a session: by the processes above it, and by the marks of the watchdogs that it runs under.

use super::tree_registry::marking_watchdogs;

/// The maximum number of ancestors that are read.
const MOST: usize = 256;

/// Where this process comes from.
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
        while let Some(parent) = parent(at).filter(|parent| *parent > 1 && !above.contains(parent) && above.len() < MOST) {
            above.push(parent);
            at = parent;
        }
        ProcessAncestry { above, watchdogs: marking_watchdogs() }
    }

    /// Whether a session's first process is an ancestor of this one, or was started by a watchdog whose mark this process carries. A
    /// watchdog takes the place of the session that it is about to start.
    pub fn is_inside(&self, session: u32) -> bool {
        self.above.contains(&session)
            || self.watchdogs.contains(&session)
            || parent(session).is_some_and(|parent| self.watchdogs.contains(&parent))
    }
}

fn parent(pid: u32) -> Option<u32> {
    watchdog_system::read_one(pid).map(|row| row.parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_above_is_an_ancestor_and_this_one_is_not() {
        let ancestry = ProcessAncestry::of_this_process();
        assert!(!ancestry.is_inside(std::process::id()));
        match parent(std::process::id()) {
            Some(parent) => assert!(ancestry.is_inside(parent)),
            None => assert!(watchdog_system::read_all().is_err(), "every process has one, where the system shows processes"),
        }
    }
}
