//! Tells a hook that put files right and then refused, so that a second commit is worth trying.

use std::collections::BTreeSet;

use super::request::RescueRequest;
use super::single::CommitGroup;
use watchdog_facts::secret_shapes::{self, LIMIT};
use watchdog_git::{Error, Worktree};

/// Whether files of the group have other content now than in the snapshot, and had not before the commit attempt: a hook
/// rewrote them. A hook that removed a file, or wrote a possible secret, fixed nothing.
///
/// # Errors
/// When git's data cannot be read.
pub(super) fn by_hooks(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    group: &CommitGroup<'_>,
    changed_before: &BTreeSet<String>,
) -> Result<bool, Error> {
    let entries = worktree.kept_entries(request.snapshot, &group.names())?;
    let mut fixed = false;
    for (path, kept) in group.paths.iter().zip(&entries) {
        if kept.untouched || changed_before.contains(&path.text) {
            continue;
        }
        let versions = worktree.versions_on_disk(&path.path, LIMIT)?;
        let Some(after) = versions.after.filter(|_| kept.content.is_some()) else {
            return Ok(false);
        };
        if secret_shapes::find_added_secret(versions.before.as_deref(), &after).is_some() {
            return Ok(false);
        }
        fixed = true;
    }
    Ok(fixed)
}

#[cfg(test)]
mod tests {
    use super::super::scratch_work::ScratchWork;
    use super::*;

    #[test]
    fn only_hook_rewrites_during_commit_are_fixes() {
        let token = format!("{}{}\n", "ghp_", "a".repeat(36));
        for (on_disk, changed_before, fixes) in [
            (Some("two\n"), false, false),
            (Some("put right\n"), false, true),
            (Some("put right\n"), true, false),
            (Some(token.as_str()), false, false),
            (None, false, false),
        ] {
            let work = ScratchWork::new();
            work.write("tracked", "two\n");
            let snapshot = work.snapshot();
            let paths = work.paths(&snapshot);
            let group = CommitGroup {
                message: "fix: x".into(),
                paths: paths.iter().collect(),
            };
            match on_disk {
                Some(text) => work.write("tracked", text),
                None => std::fs::remove_file(work.root().join("tracked")).unwrap(),
            }
            let before = changed_before
                .then(|| "tracked".to_owned())
                .into_iter()
                .collect();
            let is_fix = by_hooks(&work.open(), &work.request(&snapshot), &group, &before).unwrap();
            assert_eq!(
                is_fix, fixes,
                "{on_disk:?}, changed before: {changed_before}"
            );
        }
    }
}
