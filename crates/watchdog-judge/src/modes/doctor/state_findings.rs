//! Looks at watchdog's own state: its directory, rights, room, lock files, and notifications that wait.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use rustix::fs::{Access, access};

use crate::clock::now;
use crate::judge::doctor_finding::{FindingState, Findings, SafeMend};
use watchdog_facts::display::plural;
use watchdog_facts::evidence::WarningCode;
use watchdog_facts::page_address;
use watchdog_facts::shell_line::{WorktreeCommands, shell_path};
use watchdog_git::{KeptBaseline, Worktree, is_absent};
use watchdog_process::still_runs;
use watchdog_store::{
    GONE, LocalStore, RecordType, STORE_FORMAT, StateDir, baseline::BaselineRecord,
    damaged_databases, lock, open_store_to_read, outbox, rebuilt,
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
pub(super) fn examine_state(
    findings: &mut Findings,
    state: &StateDir,
    worktree: Option<&Worktree>,
    commands: &WorktreeCommands,
) {
    // Opening the records closes the directory, so rights come first.
    let open = open_to_others(state);
    let store = match state.ensure().and_then(|()| open_store_to_read(state)) {
        Ok(store) => store,
        Err(error) => {
            let mend = commands.name_worktree(&error.hint());
            return findings.wrong("state", error.to_string(), mend);
        }
    };
    let (unwritable, notes): (Vec<_>, Vec<_>) = store
        .notes()
        .into_iter()
        // As long as it is put aside it has a finding of its own.
        .filter(|note| note.code != WarningCode::StoreDamaged)
        .partition(|note| note.code == WarningCode::JournalUnwritable);
    match unwritable.into_iter().next_back() {
        None => findings.ok(
            "state",
            format!("{} (format {STORE_FORMAT})", state.root().display()),
        ),
        Some(note) => findings.wrong(
            "state",
            note.detail,
            "make it writable for you, or name another with --state-dir",
        ),
    }
    for note in notes {
        let mend = concat!("see ", page_address!("verdict.md#warnings"));
        findings.note("state", note.detail, mend);
    }
    examine_lost_records(findings, state, store.as_ref(), worktree, commands);
    if let Some(first) = open.first() {
        let count = plural(open.len() as u64, "path");
        findings.wrong(
            "permissions",
            format!("{count} open to other users, such as {}", first.display()),
            format!("chmod -R go-rwx {}", shell_path(state.root())),
        );
        findings.mended_by(SafeMend::Close(open));
    }
    for folder in [state.locks(), state.logs(), state.trust()] {
        if folder.is_dir() {
            examine_rights(findings, "state", &folder);
        }
    }
    examine_room(
        findings,
        state.root(),
        "free some space there, or name another directory with --state-dir",
    );
    examine_left_locks(findings, state, commands);
    examine_outbox(findings, store.as_ref(), commands, now());
}

/// Looks for a damaged database that was put aside, until the records of this repository were brought back from git. A baseline that git has
/// and no record names is wrong: no check can count from it.
fn examine_lost_records(
    findings: &mut Findings,
    state: &StateDir,
    store: &dyn LocalStore,
    worktree: Option<&Worktree>,
    commands: &WorktreeCommands,
) {
    let damaged = match damaged_databases(state) {
        Ok(damaged) => damaged.into_iter().next_back(),
        Err(error) => {
            let detail = format!(
                "cannot tell whether a damaged database was put aside: cannot list {}: {error}",
                state.root().display()
            );
            return findings.wrong("records", detail, "make it readable for you");
        }
    };
    let Some(damaged) = damaged else { return };
    let detail = format!(
        "a damaged database was put aside as {}, with {GONE}",
        damaged.display()
    );
    let Some(worktree) = worktree else {
        let mend = "type `watchdog doctor --rebuild` in each repository that was watched";
        return findings.note("records", detail, mend);
    };
    let name = damaged.file_name().unwrap_or_default().to_string_lossy();
    if rebuilt::is_rebuilt(store, &worktree.repository_id(), &name).unwrap_or(false) {
        return;
    }
    let has_row = |kept_baseline: &KeptBaseline| {
        BaselineRecord::read_row(store, &kept_baseline.worktree_id, &kept_baseline.spec)
            .is_ok_and(|row| row.is_some())
    };
    let is_whole = worktree
        .kept_baselines()
        .is_ok_and(|baselines| baselines.iter().all(has_row));
    let state = match is_whole {
        true => FindingState::Note,
        false => FindingState::Wrong,
    };
    findings.add(
        state,
        "records",
        detail,
        commands.watchdog("doctor --rebuild"),
    );
}

/// Lists the files of watchdog's own that others may read or write.
fn open_to_others(state: &StateDir) -> Vec<PathBuf> {
    let mut open = Vec::new();
    // Without records the directory may serve others, too.
    if is_absent(&state.database()) {
        return open;
    }
    let is_open = |path: &PathBuf| {
        fs::symlink_metadata(path)
            .is_ok_and(|meta| !meta.is_symlink() && meta.permissions().mode() & 0o077 != 0)
    };
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    let is_of_database = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("watchdog.db")
    };
    let mut folders = vec![state.locks(), state.logs(), state.trust()];
    let all = std::iter::once(state.root().to_owned()).chain(folders.clone());
    let all = all.chain(entries(state.root()).filter(is_of_database));
    open.extend(all.filter(&is_open));
    let mut counted = 0;
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            counted += 1;
            if counted > MOST_FILES {
                return open;
            }
            match fs::symlink_metadata(&path) {
                // Folders below are behind those above.
                Ok(meta) if meta.is_dir() => folders.push(path),
                _ => open.extend(Some(path).filter(&is_open)),
            }
        }
    }
    open
}

/// Looks whether this user can use a folder.
pub(super) fn examine_rights(findings: &mut Findings, what: &'static str, folder: &Path) {
    let wanted = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    if let Err(error) = access(folder, wanted) {
        let error = std::io::Error::from(error);
        findings.wrong(
            what,
            format!("cannot read and write {}: {error}", folder.display()),
            "give this user access to it",
        );
    }
}

/// Looks for too little room on the disk of a folder.
pub(super) fn examine_room(findings: &mut Findings, root: &Path, mend: &str) {
    let Ok(disk) = rustix::fs::statvfs(root) else {
        return;
    };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let state = match free {
        0..TOO_LITTLE => FindingState::Wrong,
        TOO_LITTLE..LITTLE => FindingState::Note,
        LITTLE.. => return,
    };
    let root = root.display();
    findings.add(
        state,
        "room",
        format!("{} MiB are left on the disk of {root}", free >> 20),
        mend,
    );
}

/// Looks for locks of the dead. The kernel frees a lock whose holder dies, so what is left of it does no harm.
fn examine_left_locks(findings: &mut Findings, state: &StateDir, commands: &WorktreeCommands) {
    let mut holders = match lock::named_holders(state) {
        Ok(holders) => holders,
        Err(error) => {
            let detail = format!("cannot list {}: {error}", state.locks().display());
            return findings.wrong("locks", detail, "make it readable for you");
        }
    };
    holders.retain(|(_, holder)| !still_runs(holder.pid, holder.since));
    let Some((_, holder)) = holders.first() else {
        return;
    };
    let count = plural(holders.len() as u64, "lock file");
    let detail = format!(
        "{count} left by watchdogs that died, such as '{}' (process {}) of {:.0}",
        holder.command, holder.pid, holder.since
    );
    findings.note("locks", detail, commands.watchdog("doctor --fix"));
    let paths = holders.into_iter().map(|(path, _)| path).collect();
    findings.mended_by(SafeMend::RemoveLocks(paths));
}

/// Looks at notifications that wait.
fn examine_outbox(
    findings: &mut Findings,
    store: &dyn LocalStore,
    commands: &WorktreeCommands,
    at: Timestamp,
) {
    let waiting = outbox::list_waiting_notices(store).unwrap_or_default();
    let times = waiting.iter().map(|(_, notice)| &notice.event["at"]);
    let times = times.filter_map(|time| time.as_str()?.parse::<Timestamp>().ok());
    let Some(since) = times.min() else { return };
    let tried = waiting.iter().map(|(_, notice)| notice.attempts).max();
    let detail = format!(
        "{} undelivered since {since:.0}, tried {} times at most",
        plural(waiting.len() as u64, "notification"),
        tried.unwrap_or(0)
    );
    let is_stuck = waiting.len() >= outbox::FULL || at.duration_since(since) > STUCK;
    let state = match is_stuck {
        true => FindingState::Wrong,
        false => FindingState::Note,
    };
    let mend = commands.watchdog_anywhere("events --all --kind notify");
    findings.add(state, "notifications", detail, mend);
}
