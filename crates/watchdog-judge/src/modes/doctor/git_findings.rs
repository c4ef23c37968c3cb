//! Looks at git: the program, the worktree, and locks that a git left behind.

use std::path::Path;
use std::time::Duration;

use super::agent_survey::{ProgramVersion, version_of};
use super::state_findings::{examine_rights, examine_room};
use crate::judge::doctor_finding::Findings;
use crate::judge::open_worktree::require_usable_git;
use crate::rescue::lock_owner;
use crate::session::{
    describe_lost_baseline, describe_other_clone, is_another_clone, is_same_clone,
};
use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::shell_line::{WorktreeCommands, shell_path};
use watchdog_git::{Error, Worktree, new_words_fault};
use watchdog_store::{LocalStore, StateDir, baseline, open_store};
use watchdog_system::ask_git;

/// The first git that serves repositories in the reftable format.
const SERVES_TABLES: (u64, u64) = (2, 45);
/// A lock without a holder is left behind at this age.
const STALE: Duration = Duration::from_secs(10);

/// Looks at the program.
pub(super) fn examine_git(findings: &mut Findings) {
    match version_of("git".as_ref(), Path::new("/")) {
        ProgramVersion::Known(text)
            if parse_git_version(&text).is_some_and(|version| version < SERVES_TABLES) =>
        {
            let mend = "repositories in the reftable format need git 2.45 or later";
            findings.note("git", text, mend);
        }
        ProgramVersion::Known(text) => findings.ok("git", text),
        ProgramVersion::Failed(why) => match ask_git("/".as_ref(), &["--version"]) {
            Some(Err(words)) => {
                let fault = new_words_fault(&words, "/".as_ref());
                findings.wrong("git", fault.to_string(), fault.hint());
            }
            _ => findings.wrong("git", why, "install git"),
        },
        ProgramVersion::Missing(why) => {
            let detail = format!(
                "{why}; it is needed for rescue commits and for repositories in the reftable format"
            );
            findings.wrong("git", detail, "install git");
        }
    }
}

/// `git version 2.47.3` as 2 and 47.
fn parse_git_version(text: &str) -> Option<(u64, u64)> {
    let mut parts = text
        .split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?
        .split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Looks at the worktree as it could be opened. Elsewhere than in a repository nothing is wrong.
pub(super) fn examine_worktree(
    findings: &mut Findings,
    opened: &Result<Worktree, Error>,
    commands: &WorktreeCommands,
) {
    match opened {
        Ok(worktree) => {
            let usable = require_usable_git(worktree).and_then(|()| worktree.half_done());
            match usable {
                Ok(_) => findings.ok("worktree", worktree.root().display().to_string()),
                Err(fault) => findings.wrong("worktree", fault.to_string(), fault.hint()),
            }
        }
        Err(error @ Error::HomeFolder { .. }) => {
            findings.note("worktree", error.to_string(), error.hint());
        }
        Err(error @ (Error::NotARepository { .. } | Error::Bare { .. })) => findings.note(
            "worktree",
            error.to_string(),
            "go to a worktree, or name one with -C, to have it looked at, too",
        ),
        Err(error) => {
            let mend = commands.name_worktree(&error.hint());
            findings.wrong("worktree", error.to_string(), mend);
        }
    }
}

/// Looks for another clone at the place of the recorded one, or a baseline that its clone lost. If
/// the records cannot be read, the findings about the state say so.
pub(super) fn examine_clone(
    findings: &mut Findings,
    state: &StateDir,
    worktree: &Worktree,
    commands: &WorktreeCommands,
) {
    let Ok(store) = open_store(state) else { return };
    match describe_clone(store.as_ref(), worktree) {
        Ok(None) => {}
        Ok(Some(detail)) => findings.wrong("clone", detail, commands.watchdog("snapshot")),
        Err(unreadable) => findings.wrong("clone", unreadable.why, commands.git("fsck")),
    }
}

/// How the clone differs from the one in which the latest baseline was recorded, if it does.
fn describe_clone(
    store: &dyn LocalStore,
    worktree: &Worktree,
) -> Result<Option<String>, UnreadableFact> {
    let Some((spec, _)) = baseline::read_latest_baseline(store, &worktree.worktree_id())? else {
        return Ok(None);
    };
    if is_another_clone(store, worktree)? || !is_same_clone(store, worktree, &spec)? {
        return Ok(Some(describe_other_clone(store, worktree)));
    }
    describe_lost_baseline(store, worktree)
}

/// Looks whether snapshots and commits can be written: the rights of the repository's folders, and the room on its disk.
pub(super) fn examine_repository(findings: &mut Findings, worktree: &Worktree) {
    let common = worktree.common_dir();
    examine_rights(findings, "repository", worktree.git_dir());
    for folder in ["objects", "refs"] {
        examine_rights(findings, "repository", &common.join(folder));
    }
    // Watchdog's own refs are not there before the first baseline. A folder that cannot be looked
    // at lies below one that is named.
    for folder in [
        "refs/watchdog",
        "refs/watchdog/rescue",
        "refs/watchdog/baseline",
    ] {
        let folder = common.join(folder);
        if folder.is_dir() {
            examine_rights(findings, "repository", &folder);
        }
    }
    examine_room(findings, common, "free some space there");
}

/// Looks at locks of git. They are named and never removed: only a person knows that no git works there.
pub(super) fn examine_git_locks(findings: &mut Findings, worktree: &Worktree) {
    let own = ["index.lock", "HEAD.lock"].map(|name| worktree.git_dir().join(name));
    let shared = ["packed-refs.lock", "config.lock"].map(|name| worktree.common_dir().join(name));
    for lock in own.iter().chain(&shared) {
        let Ok(about) = lock.symlink_metadata() else {
            continue;
        };
        let age = about.modified().ok().and_then(|since| since.elapsed().ok());
        let age = age.unwrap_or_default();
        let aged = format!("{} is {} s old", lock.display(), age.as_secs());
        match lock_owner(lock, worktree.root()) {
            Some(owner) => findings.note(
                "git lock",
                format!("{aged}, held by {owner}"),
                "wait for it",
            ),
            None if age < STALE => findings.note("git lock", aged, "look again in a moment"),
            None => findings.wrong(
                "git lock",
                format!("{aged}, and nobody holds it"),
                format!("if no git works there: rm {}", shell_path(lock)),
            ),
        }
    }
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
            assert_eq!(parse_git_version(text), expected, "{text}");
        }
    }
}
