//! Says which uncommitted files no snapshot has, because this user may not read them.

use watchdog_facts::display::plural;
use watchdog_git::Snapshot;

/// The number of paths that are named.
const NAMED: usize = 3;

/// The sentence for the start of a session; `None` where all could be read.
pub fn denied_sentence(snapshot: &Snapshot) -> Option<String> {
    sentence(&snapshot.denied().collect::<Vec<_>>())
}

fn sentence(denied: &[&str]) -> Option<String> {
    let named: Vec<String> = denied.iter().take(NAMED).map(|path| format!("'{path}'")).collect();
    let more = if denied.len() > NAMED { format!(" and {} more", denied.len() - NAMED) } else { String::new() };
    let (files, them) = (plural(denied.len() as u64, "path"), if denied.len() == 1 { "it" } else { "them" });
    (!denied.is_empty())
        .then(|| format!("{files} cannot be read (permission denied), so no snapshot has {them}: {}{more}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_nobody_may_read_are_counted_and_the_first_three_named() {
        let said = |denied: &[&str]| sentence(denied).unwrap_or_default();
        assert_eq!(said(&[]), "");
        assert_eq!(said(&["a"]), "1 path cannot be read (permission denied), so no snapshot has it: 'a'");
        assert_eq!(
            said(&["a", "b", "c", "d"]),
            "4 paths cannot be read (permission denied), so no snapshot has them: 'a', 'b', 'c' and 1 more"
        );
    }
}
