//! Says which uncommitted files no snapshot has, because this user may not read them, or because they are beyond a limit.

use watchdog_facts::display::plural;
use watchdog_git::Snapshot;

/// The number of paths that are named.
const NAMED: usize = 3;

/// The sentence about them; `None` where the snapshot has everything.
pub fn describe_gaps(snapshot: &Snapshot) -> Option<String> {
    let denied = sentence(
        &snapshot.denied_paths().collect::<Vec<_>>(),
        "path",
        "cannot be read (permission denied), so no snapshot has",
    );
    let beyond = sentence(
        &snapshot.over_limit().collect::<Vec<_>>(),
        "new file",
        "over rescue.max_snapshot_bytes, so no snapshot has",
    );
    denied
        .into_iter()
        .chain(beyond)
        .reduce(|first, more| format!("{first}; {more}"))
}

fn sentence(paths: &[&str], noun: &str, why: &str) -> Option<String> {
    let named: Vec<String> = paths
        .iter()
        .take(NAMED)
        .map(|path| format!("'{path}'"))
        .collect();
    let more = if paths.len() > NAMED {
        format!(" and {} more", paths.len() - NAMED)
    } else {
        String::new()
    };
    let (files, them) = (
        plural(paths.len() as u64, noun),
        if paths.len() == 1 { "it" } else { "them" },
    );
    (!paths.is_empty()).then(|| format!("{files} {why} {them}: {}{more}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_nobody_may_read_are_counted_and_the_first_three_named() {
        let describe = |denied: &[&str]| {
            sentence(
                denied,
                "path",
                "cannot be read (permission denied), so no snapshot has",
            )
            .unwrap_or_default()
        };
        assert_eq!(describe(&[]), "");
        assert_eq!(
            describe(&["a"]),
            "1 path cannot be read (permission denied), so no snapshot has it: 'a'"
        );
        assert_eq!(
            describe(&["a", "b", "c", "d"]),
            "4 paths cannot be read (permission denied), so no snapshot has them: 'a', 'b', 'c' and 1 more"
        );
    }
}
