//! Looks at watchdog's own state: its directory, rights, room, lock files, and notifications that wait.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use rustix::fs::{Access, access};

use super::finding::{DoctorFinding, SafeMend};
use crate::clock::now;
use watchdog_facts::display::plural;
use watchdog_facts::evidence::WarningCode;
use watchdog_facts::page_address;
use watchdog_facts::shell_line::{WorktreeCommands, shell_path};
use watchdog_git::{KeptBaseline, Worktree, is_absent};
use watchdog_process::still_runs;
use watchdog_store::{
    GONE, LocalStore, STORE_FORMAT, StateDir, baseline, damaged_databases, lock,
    open_store_to_read, outbox, rebuilt,
};

/// Less room than this, in bytes, is a fault.
const TOO_LITTLE: u64 = 64 << 20;
/// Less room than this, in bytes, is worth a note.
const LITTLE: u64 = 1 << 30;
/// Files that are counted at for their rights.
const MOST_FILES: usize = 20_000;
/// A notification that waits for longer is stuck.
const STUCK: SignedDuration = SignedDuration::from_hours(1);

/// Looks at the state directory and what is in it.
pub(super) fn state_findings(
    state: &StateDir,
    worktree: Option<&Worktree>,
    commands: &WorktreeCommands,
) -> Vec<DoctorFinding> {
    // Opening the records closes the directory, so rights come first.
    let open = open_to_others(state);
    let opened = state.ensure().and_then(|()| open_store_to_read(state));
    let store = match opened {
        Ok(store) => store,
        Err(error) => {
            return vec![DoctorFinding::wrong(
                "state",
                error.to_string(),
                commands.name_worktree(&error.hint()),
            )];
        }
    };
    let mut findings = vec![DoctorFinding::ok(
        "state",
        format!("{} (format {STORE_FORMAT})", state.root().display()),
    )];
    for note in store.notes() {
        match note.code {
            // As long as it is put aside it has a finding of its own.
            WarningCode::StoreDamaged => {}
            WarningCode::JournalUnwritable => {
                findings[0] = DoctorFinding::wrong(
                    "state",
                    note.detail,
                    "make it writable for you, or name another with --state-dir",
                );
            }
            _ => findings.push(DoctorFinding::note(
                "state",
                note.detail,
                concat!("see ", page_address!("verdict.md#warnings")),
            )),
        }
    }
    findings.extend(lost_records(state, store.as_ref(), worktree, commands));
    findings.extend(rights(state, open));
    findings.extend(closed_folders(state));
    findings.extend(room(
        state.root(),
        "free some space there, or name another directory with --state-dir",
    ));
    findings.extend(left_locks(state, commands));
    findings.extend(waiting_notices(store.as_ref(), commands, now()));
    findings
}

/// A damaged database that was put aside, until the records of this repository were brought back from git. A baseline that git has and no
/// record names is wrong: no check can count from it.
fn lost_records(
    state: &StateDir,
    store: &dyn LocalStore,
    worktree: Option<&Worktree>,
    commands: &WorktreeCommands,
) -> Option<DoctorFinding> {
    let damaged = match damaged_databases(state) {
        Ok(damaged) => damaged.into_iter().next_back()?,
        Err(error) => {
            let detail = format!(
                "cannot tell whether a damaged database was put aside: cannot list {}: {error}",
                state.root().display()
            );
            return Some(DoctorFinding::wrong(
                "records",
                detail,
                "make it readable for you",
            ));
        }
    };
    let detail = format!(
        "a damaged database was put aside as {}, with {GONE}",
        damaged.display()
    );
    let Some(worktree) = worktree else {
        return Some(DoctorFinding::note(
            "records",
            detail,
            "type `watchdog doctor --rebuild` in each repository that was watched",
        ));
    };
    let name = damaged.file_name().unwrap_or_default().to_string_lossy();
    if rebuilt::is_rebuilt(store, &worktree.repository_id(), &name).unwrap_or(false) {
        return None;
    }
    let has_row = |kept: &KeptBaseline| {
        baseline::read_baseline(store, &kept.worktree_id, &kept.spec).is_ok_and(|row| row.is_some())
    };
    let is_whole = worktree
        .kept_baselines()
        .is_ok_and(|kept| kept.iter().all(has_row));
    let mend = commands.watchdog("doctor --rebuild");
    Some(if is_whole {
        DoctorFinding::note("records", detail, mend)
    } else {
        DoctorFinding::wrong("records", detail, mend)
    })
}

/// What of watchdog's own others may read or write.
fn open_to_others(state: &StateDir) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // Without records the directory may serve others, too.
    if is_absent(&state.database()) {
        return found;
    }
    let is_open = |path: &Path| {
        fs::symlink_metadata(path)
            .is_ok_and(|meta| !meta.is_symlink() && meta.permissions().mode() & 0o077 != 0)
    };
    found.extend(Some(state.root().to_owned()).filter(|root| is_open(root)));
    let mut folders = vec![state.locks(), state.logs(), state.trust()];
    found.extend(folders.iter().filter(|folder| is_open(folder)).cloned());
    let of_database = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("watchdog.db"))
    };
    let entries = |folder: &Path| {
        fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect::<Vec<_>>()
    };
    found.extend(
        entries(state.root())
            .into_iter()
            .filter(of_database)
            .filter(|path| is_open(path)),
    );
    let mut counted = 0;
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            counted += 1;
            if counted > MOST_FILES {
                return found;
            }
            match fs::symlink_metadata(&path) {
                // Folders below are behind those above.
                Ok(meta) if meta.is_dir() => folders.push(path),
                _ => found.extend(Some(path).filter(|path| is_open(path))),
            }
        }
    }
    found
}

fn rights(state: &StateDir, open: Vec<PathBuf>) -> Option<DoctorFinding> {
    let first = open.first()?.display().to_string();
    let count = plural(open.len() as u64, "path");
    let mend = format!("chmod -R go-rwx {}", shell_path(state.root()));
    let detail = format!("{count} open to other users, such as {first}");
    Some(DoctorFinding::wrong("permissions", detail, mend).mended_by(SafeMend::Close(open)))
}

/// The folders of the state that this user cannot use.
fn closed_folders(state: &StateDir) -> Vec<DoctorFinding> {
    let refusal = |folder: PathBuf| {
        let error = access(
            &folder,
            Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK,
        )
        .err()?;
        let detail = format!(
            "cannot read and write {}: {}",
            folder.display(),
            std::io::Error::from(error)
        );
        Some(DoctorFinding::wrong(
            "state",
            detail,
            "give this user access to it",
        ))
    };
    [state.locks(), state.logs(), state.trust()]
        .into_iter()
        .filter(|folder| folder.is_dir())
        .filter_map(refusal)
        .collect()
}

/// Too little room on the disk of a folder.
pub(super) fn room(root: &Path, mend: &str) -> Option<DoctorFinding> {
    let disk = rustix::fs::statvfs(root).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let detail = format!(
        "{} MiB are left on the disk of {}",
        free >> 20,
        root.display()
    );
    match free {
        0..TOO_LITTLE => Some(DoctorFinding::wrong("room", detail, mend)),
        TOO_LITTLE..LITTLE => Some(DoctorFinding::note("room", detail, mend)),
        LITTLE.. => None,
    }
}

/// The kernel frees a lock whose holder dies, so what is left of it does no harm.
fn left_locks(state: &StateDir, commands: &WorktreeCommands) -> Option<DoctorFinding> {
    let holders = match lock::named_holders(state) {
        Ok(holders) => holders,
        Err(error) => {
            let detail = format!("cannot list {}: {error}", state.locks().display());
            return Some(DoctorFinding::wrong(
                "locks",
                detail,
                "make it readable for you",
            ));
        }
    };
    let dead_holders: Vec<_> = holders
        .into_iter()
        .filter(|(_, holder)| !still_runs(holder.pid, holder.since))
        .collect();
    let (_, holder) = dead_holders.first()?;
    let count = plural(dead_holders.len() as u64, "lock file");
    let detail = format!(
        "{count} left by watchdogs that died, such as '{}' (process {}) of {:.0}",
        holder.command, holder.pid, holder.since
    );
    let paths = dead_holders.into_iter().map(|(path, _)| path).collect();
    Some(
        DoctorFinding::note("locks", detail, commands.watchdog("doctor --fix"))
            .mended_by(SafeMend::RemoveLocks(paths)),
    )
}

fn waiting_notices(
    store: &dyn LocalStore,
    commands: &WorktreeCommands,
    at: Timestamp,
) -> Option<DoctorFinding> {
    let waiting = outbox::waiting(store).ok()?;
    let since = waiting
        .iter()
        .filter_map(|(_, notice)| notice.event["at"].as_str()?.parse::<Timestamp>().ok())
        .min()?;
    let tried = waiting
        .iter()
        .map(|(_, notice)| notice.attempts)
        .max()
        .unwrap_or(0);
    let detail = format!(
        "{} undelivered since {since:.0}, tried {tried} times at most",
        plural(waiting.len() as u64, "notification")
    );
    let mend = commands.watchdog_anywhere("events --all --kind notify");
    let stuck = waiting.len() >= outbox::FULL || at.duration_since(since) > STUCK;
    Some(if stuck {
        DoctorFinding::wrong("notifications", detail, mend)
    } else {
        DoctorFinding::note("notifications", detail, mend)
    })
}
