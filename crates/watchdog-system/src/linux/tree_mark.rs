//! A mark that a process cannot shed by clearing its environment: the soft limit on the size of its POSIX message queues.
//!
//! Limits are inherited through fork, exec, setsid and `env -i`, any process may read those of its own user, and this one is a number that
//! next to no program reads or changes. Each tree gets one that is a little below the hard limit. It distinguishes trees of one process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// There are this many marks at most; a hard limit must leave room for them.
const MARKS: u64 = 65_521;

/// Calls `start` so that the started process carries the mark of tree `id`; returns the mark, if the limit has room for one.
/// Meanwhile processes of other threads get it, too: the mark alone is no proof for the caller.
pub fn start_with_mark<T>(salt: u64, id: u64, start: impl FnOnce() -> T) -> (Option<u64>, T) {
    let before = getrlimit(Resource::Msgqueue);
    let tree_mark = mark_below(before.maximum, salt, id);
    let is_set = tree_mark.is_some_and(|tree_mark| {
        setrlimit(
            Resource::Msgqueue,
            Rlimit {
                current: Some(tree_mark),
                maximum: before.maximum,
            },
        )
        .is_ok()
    });
    let started = start();
    if is_set {
        // The soft limit was this high before, so it may be again.
        let _ = setrlimit(Resource::Msgqueue, before);
    }
    (tree_mark.filter(|_| is_set), started)
}

fn mark_below(ceiling: Option<u64>, salt: u64, id: u64) -> Option<u64> {
    let ceiling = ceiling.unwrap_or(1 << 40);
    let offset = 1 + salt.wrapping_add(id) % MARKS;
    // Less than a tenth is taken off: programs that do use message queues will hardly notice.
    (ceiling >= MARKS * 10).then(|| ceiling - offset)
}

/// The mark of a process; `None` if it is gone or has no such limit.
pub fn mark_of(pid: u32) -> Option<u64> {
    soft_limit(&std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?)
}

fn soft_limit(limits: &str) -> Option<u64> {
    limits.lines().find_map(|line| {
        line.strip_prefix("Max msgqueue size")?
            .split_ascii_whitespace()
            .next()?
            .parse()
            .ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_trees_have_distinct_marks_below_limit() {
        let marks: std::collections::HashSet<u64> = (0..1000)
            .filter_map(|id| mark_below(Some(819_200), u64::MAX - 5, id))
            .collect();
        assert_eq!(marks.len(), 1000);
        assert!(
            marks
                .iter()
                .all(|tree_mark| (700_000..819_200).contains(tree_mark))
        );
        assert_eq!(mark_below(Some(0), 1, 1), None, "no room");
        assert!(mark_below(None, 1, 1).is_some());
    }

    #[test]
    fn the_limit_is_read_from_among_the_others() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \nMax pending signals       96000                96000                signals   \nMax msgqueue size         819100               819200               bytes     \n";
        assert_eq!(soft_limit(text), Some(819_100));
        assert_eq!(
            soft_limit("Max msgqueue size         unlimited            unlimited            bytes"),
            None
        );
        assert!(mark_of(std::process::id()).is_some());
    }
}
