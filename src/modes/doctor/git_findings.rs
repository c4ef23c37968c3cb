//! Looks at git: the program, the worktree, and locks that a git left behind.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::finding::DoctorFinding;
use super::program_version::{ProgramVersion, version_of};
use super::state_findings::room;
use crate::rescue::lock_owner;
use crate::session::{
    describe_lost_baseline, describe_other_clone, is_another_clone, is_same_clone,
};
use rustix::fs::{Access, access};
use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::shell_line::{WorktreeCommands, shell_path};
use watchdog_git::{Error, Worktree};
use watchdog_store::{LocalStore, StateDir, baseline, open_store};

/// The first git that serves repositories in the reftable format.
const SERVES_TABLES: (u64, u64) = (2, 45);
/// A lock without a holder is left behind at this age.
const STALE: Duration = Duration::from_secs(10);

/// Looks at the program.
pub(super) fn git_finding() -> DoctorFinding {
    match version_of("git".as_ref(), Path::new("/")) {
        ProgramVersion::Known(text)
            if numbers(&text).is_some_and(|found| found < SERVES_TABLES) =>
        {
            DoctorFinding::note(
                "git",
                text,
                "repositories in the reftable format need git 2.45 or later",
            )
        }
        ProgramVersion::Known(text) => DoctorFinding::ok("git", text),
        ProgramVersion::Failed(why) => DoctorFinding::wrong("git", why, "install git"),
        ProgramVersion::Missing(why) => {
            let detail = format!(
                "{why}; it is needed for rescue commits and for repositories in the reftable format"
            );
            DoctorFinding::wrong("git", detail, "install git")
        }
    }
}

/// `git version 2.47.3` as 2 and 47.
fn numbers(text: &str) -> Option<(u64, u64)> {
    let mut parts = text
        .split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?
        .split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The worktree as it could be opened. Elsewhere than in a repository nothing is wrong.
pub(super) fn worktree_finding(
    opened: &Result<Worktree, Error>,
    commands: &WorktreeCommands,
) -> DoctorFinding {
    match opened {
        Ok(worktree) => DoctorFinding::ok("worktree", worktree.root().display().to_string()),
        Err(error @ (Error::NotARepository { .. } | Error::Bare { .. })) => DoctorFinding::note(
            "worktree",
            error.to_string(),
            "go to a worktree, or name one with -C, to have it looked at, too",
        ),
        Err(error) => DoctorFinding::wrong(
            "worktree",
            error.to_string(),
            commands.name_worktree(&error.hint()),
        ),
    }
}

/// Another clone at the place of the recorded one, or a baseline that its clone lost. Where the records cannot be read, the findings about the state say so.
pub(super) fn clone_finding(
    state: &StateDir,
    worktree: &Worktree,
    commands: &WorktreeCommands,
) -> Option<DoctorFinding> {
    let store = open_store(state).ok()?;
    let detail = match describe_clone(store.as_ref(), worktree) {
        Ok(detail) => detail?,
        Err(unreadable) => {
            return Some(DoctorFinding::wrong(
                "clone",
                unreadable.why,
                commands.git("fsck"),
            ));
        }
    };
    Some(DoctorFinding::wrong(
        "clone",
        detail,
        commands.watchdog("snapshot"),
    ))
}

/// How the clone differs from the one in which the latest baseline was recorded, if it does.
fn describe_clone(
    store: &dyn LocalStore,
    worktree: &Worktree,
) -> Result<Option<String>, UnreadableFact> {
    let Some((spec, _)) = baseline::latest(store, &worktree.worktree_id())? else {
        return Ok(None);
    };
    if is_another_clone(store, worktree)? || !is_same_clone(store, worktree, &spec)? {
        return Ok(Some(describe_other_clone(worktree).to_owned()));
    }
    describe_lost_baseline(store, worktree)
}

/// Whether snapshots and commits can be written: the rights of the repository's folders, and the room on its disk.
pub(super) fn repository_findings(worktree: &Worktree) -> Vec<DoctorFinding> {
    let common = worktree.common_dir();
    let own = [
        "refs/watchdog",
        "refs/watchdog/rescue",
        "refs/watchdog/baseline",
    ]
    .map(|folder| common.join(folder));
    let folders = [
        worktree.git_dir().to_owned(),
        common.join("objects"),
        common.join("refs"),
    ];
    let refusal = |folder: &PathBuf| {
        let error = access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).err()?;
        let detail = format!(
            "cannot read and write {}: {}",
            folder.display(),
            std::io::Error::from(error)
        );
        Some(DoctorFinding::wrong(
            "repository",
            detail,
            "give this user access to it",
        ))
    };
    // Watchdog's own refs are not there before the first baseline. One that cannot be looked at lies below one that is named.
    let own = own.iter().filter(|folder| folder.is_dir());
    folders
        .iter()
        .chain(own)
        .filter_map(refusal)
        .chain(room(common, "free some space there"))
        .collect()
}

/// Locks of git. They are named and never removed: only a person knows that no git works there.
pub(super) fn lock_findings(worktree: &Worktree) -> Vec<DoctorFinding> {
    let own = ["index.lock", "HEAD.lock"].map(|name| worktree.git_dir().join(name));
    let shared = ["packed-refs.lock", "config.lock"].map(|name| worktree.common_dir().join(name));
    own.iter()
        .chain(&shared)
        .filter_map(|lock| lock_finding(lock, worktree.root()))
        .collect()
}

fn lock_finding(lock: &Path, root: &Path) -> Option<DoctorFinding> {
    let found = lock.symlink_metadata().ok()?;
    let age = found
        .modified()
        .ok()
        .and_then(|since| since.elapsed().ok())
        .unwrap_or_default();
    let aged = format!("{} is {} s old", lock.display(), age.as_secs());
    let remove = format!("rm {}", shell_path(lock));
    Some(match lock_owner(lock, root) {
        Some(owner) => DoctorFinding::note(
            "git lock",
            format!("{aged}, held by {owner}"),
            "wait for it",
        ),
        None if age < STALE => DoctorFinding::note("git lock", aged, "look again in a moment"),
        None => DoctorFinding::wrong(
            "git lock",
            format!("{aged}, and nobody holds it"),
            format!("if no git works there: {remove}"),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_what_git_says() {
        for (text, expected) in [
            ("git version 2.47.3", Some((2, 47))),
            ("git version 2.39.5 (Apple Git-154)", Some((2, 39))),
            ("git version 2.45", Some((2, 45))),
            ("git", None),
            ("", None),
        ] {
            assert_eq!(numbers(text), expected, "{text}");
        }
    }
}
