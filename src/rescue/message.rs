//! The message of a rescue's commit. Pure.

use crate::git::{Snapshot, SnapshotKind, SnapshotPath};

/// How many files are listed.
const LISTED: usize = 50;
/// The longest scope that a subject line bears.
const SCOPE: usize = 40;

/// The message: a conventional subject, what is in it, and where the snapshot is.
pub(super) fn single(spec: &str, snapshot: &Snapshot, paths: &[&SnapshotPath]) -> String {
    let scope: String = spec.chars().map(|c| if c.is_alphanumeric() || "._/-".contains(c) { c } else { '-' }).take(SCOPE).collect();
    let scope = scope.trim_matches('-');
    let subject = if scope.is_empty() { "chore".to_owned() } else { format!("chore({scope})") };
    let mut out = format!("{subject}: rescue uncommitted work\n\nLeft uncommitted by a session, and committed as it was found:\n\n");
    for path in paths.iter().take(LISTED) {
        let did = match path.kind {
            SnapshotKind::Deleted => "deleted ",
            SnapshotKind::File | SnapshotKind::Submodule => "",
        };
        // A name with a line break must not become a line of its own, let alone a trailer.
        let name: String = path.text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        out.push_str(&format!("- {did}{name}\n"));
    }
    if paths.len() > LISTED {
        out.push_str(&format!("- and {} more\n", paths.len() - LISTED));
    }
    let spec: String = spec.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    out.push_str(&format!("\nWatchdog-Spec: {spec}\nWatchdog-Snapshot: {}\n", snapshot.name));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_conventional_and_cannot_be_forged() {
        let snapshot = Snapshot {
            name: "refs/watchdog/rescue/a/1-0".into(),
            commit: String::new(),
            tree: String::new(),
            parent: None,
            files: 0,
            bytes: 0,
            left_out: vec![],
            at: jiff::Timestamp::UNIX_EPOCH,
            reused: false,
        };
        let path = SnapshotPath {
            path: vec![],
            text: "a\nSigned-off-by: x".into(),
            kind: SnapshotKind::Deleted,
            bytes: 0,
            untracked: false,
            hidden: false,
            nested: false,
        };
        let message = single("spec/a b\n", &snapshot, &[&path]);
        assert_eq!(
            message,
            "chore(spec/a-b): rescue uncommitted work\n\nLeft uncommitted by a session, and committed as it was found:\n\n\
             - deleted a?Signed-off-by: x\n\nWatchdog-Spec: spec/a b \nWatchdog-Snapshot: refs/watchdog/rescue/a/1-0\n"
        );
        assert!(single("!!", &snapshot, &[]).starts_with("chore: rescue"));
    }
}
