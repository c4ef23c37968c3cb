//! The logs of sessions: where they are, how long they are kept, and which files count as logs.
//!
//! Names of logs are in records, which an agent under the same user could write: a log is opened only where it is a regular file in the
//! folder of logs, without following links.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use watchdog_system::read_entries;

/// The newest logs of a worktree, kept however large they are.
const KEPT: usize = 20;
/// Bytes of all logs of a worktree: beyond them, only the newest are kept.
const KEPT_BYTES: u64 = 1 << 30;
/// Days for which a log is kept.
const KEPT_DAYS: i64 = 30;
/// Files that one expiry looks at.
const FILES_READ: usize = 20_000;

/// How the file of a log is called, as an instant.
const NAME: &str = "%Y%m%dT%H%M%S%.3fZ";

/// A log of a session, as its file is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLog {
    /// Its name without the ending, such as `20260304T050607.123Z`.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// When the session began, by the name.
    pub began: Option<Timestamp>,
    /// Bytes, those of its parts included.
    pub size: u64,
}

/// The log file of a session that begins: below `logs`, by worktree and start, so that names sort by time. Removes old ones first.
/// If that fails, writing the log will fail and report the cause.
pub fn log_path(logs: &Path, worktree_id: &str, started: Timestamp) -> PathBuf {
    let folder = logs.join(worktree_id);
    if DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .is_ok()
    {
        let mut bytes = 0_u64;
        // Logs that cannot be listed are not removed.
        for (at, log) in logs_of(logs, worktree_id)
            .unwrap_or_default()
            .into_iter()
            .enumerate()
        {
            bytes = bytes.saturating_add(log.size);
            let is_old = log.began.is_some_and(|began| began < days_before(started));
            if is_old || (at + 1 >= KEPT && bytes > KEPT_BYTES) {
                remove_log(&log.path);
            }
        }
    }
    folder.join(format!("{}.log", started.strftime(NAME)))
}

/// The logs of a worktree, the newest first.
///
/// # Errors
/// Fails if its folder is there and cannot be read.
pub fn logs_of(logs: &Path, worktree_id: &str) -> io::Result<Vec<SessionLog>> {
    let entries = read_entries(&logs.join(worktree_id), FILES_READ)?;
    let mut logs_found: Vec<SessionLog> = entries
        .iter()
        .filter_map(|entry| session_log(&entry.path()))
        .collect();
    logs_found.sort_by(|a, b| b.id.cmp(&a.id));
    Ok(logs_found)
}

fn session_log(path: &Path) -> Option<SessionLog> {
    let id = path.file_name()?.to_str()?.strip_suffix(".log")?.to_owned();
    let about = fs::symlink_metadata(path)
        .ok()
        .filter(fs::Metadata::is_file)?;
    let began = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S%.fZ", &id)
        .ok()
        .and_then(|at| at.to_zoned(jiff::tz::TimeZone::UTC).ok());
    let parts =
        [1, 2].map(|part| fs::symlink_metadata(part_of(path, part)).map_or(0, |about| about.len()));
    Some(SessionLog {
        began: began.map(|at| at.timestamp()),
        size: about.len() + parts[0] + parts[1],
        path: path.to_owned(),
        id,
    })
}

/// A part of a log, beside it while its session runs.
pub(super) fn part_of(log: &Path, part: u8) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(format!(".{part}"));
    PathBuf::from(name)
}

/// Opens a log for reading: a regular file in the folder of a worktree below `logs`, and nothing that a link leads to.
///
/// # Errors
/// Fails if it is not there or cannot be read; with `InvalidInput` if it is something else.
pub fn open_log(logs: &Path, path: &Path) -> io::Result<File> {
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why.to_owned());
    let not_in_folder = || refused("it is not in the folder of session logs");
    let folder = fs::canonicalize(path.parent().ok_or_else(not_in_folder)?)?;
    if folder.parent() != Some(fs::canonicalize(logs)?.as_path()) {
        return Err(not_in_folder());
    }
    let path = folder.join(path.file_name().ok_or_else(not_in_folder)?);
    if fs::symlink_metadata(&path)?.is_symlink() {
        return Err(refused("it is a link"));
    }
    open_regular(&path)
}

/// Opens a regular file for reading, and no link; never waits for the writer of a pipe.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    Ok(file)
}

/// Removes the logs of all worktrees that are older than 30 days by their last write, and folders that become empty; never one of `running`.
/// Returns how many. A log that cannot be removed is tried again the next time.
pub fn expire_logs(logs: &Path, at: Timestamp, running: &HashSet<PathBuf>) -> usize {
    let before = days_before(at);
    let mut files_left = FILES_READ;
    let mut removed = 0;
    for folder in fs::read_dir(logs).into_iter().flatten().flatten() {
        if files_left == 0 {
            break;
        }
        if !folder.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        for entry in fs::read_dir(folder.path())
            .into_iter()
            .flatten()
            .flatten()
            .take(files_left)
        {
            files_left -= 1;
            let path = entry.path();
            let written = entry
                .metadata()
                .ok()
                .filter(fs::Metadata::is_file)
                .and_then(|about| about.modified().ok());
            let is_old = written
                .and_then(|at| Timestamp::try_from(at).ok())
                .is_some_and(|at| at < before);
            if is_old
                && !running.iter().any(|log| is_of(&path, log))
                && fs::remove_file(&path).is_ok()
            {
                removed += 1;
            }
        }
        // Fails where something is in it.
        let _ = fs::remove_dir(folder.path());
    }
    removed
}

/// Whether a file is a log or one of its parts.
fn is_of(path: &Path, log: &Path) -> bool {
    path == log || [1, 2].iter().any(|part| path == part_of(log, *part))
}

fn remove_log(log: &Path) {
    // The next session tries again to remove such a log.
    let _ = fs::remove_file(log);
    for part in [1, 2] {
        let _ = fs::remove_file(part_of(log, part));
    }
}

fn days_before(at: Timestamp) -> Timestamp {
    at.checked_sub(SignedDuration::from_hours(24 * KEPT_DAYS))
        .unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, SystemTime};

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("an instant")
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }

    #[test]
    fn new_log_expires_logs_over_thirty_days() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let logs = scratch.path();
        for name in [
            "20260201T000000.000Z.log",
            "20260220T000000.000Z.log",
            "20260201T000000.000Z.log.1",
            "notes",
        ] {
            write(&logs.join("w").join(name), "x");
        }
        let path = log_path(logs, "w", at("2026-03-04T05:06:07.123Z"));
        assert_eq!(path, logs.join("w/20260304T050607.123Z.log"));
        let remaining_logs: Vec<SessionLog> = logs_of(logs, "w").unwrap();
        assert_eq!(
            remaining_logs
                .iter()
                .map(|log| (log.id.as_str(), log.size))
                .collect::<Vec<_>>(),
            [("20260220T000000.000Z", 1)]
        );
        assert_eq!(remaining_logs[0].began, Some(at("2026-02-20T00:00:00Z")));
        assert!(
            logs.join("w/notes").exists() && !logs.join("w/20260201T000000.000Z.log.1").exists()
        );
    }

    #[test]
    fn the_folder_of_logs_is_its_owners_alone() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let log = log_path(scratch.path(), "0123", Timestamp::UNIX_EPOCH);
        let mode = fs::metadata(log.parent().expect("a folder"))
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn oversized_logs_keep_only_the_newest() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let logs = scratch.path();
        for n in 10..40 {
            let path = logs.join("w").join(format!("20260304T0501{n}.000Z.log"));
            write(&path, "");
            // Holes take no room.
            File::options()
                .write(true)
                .open(&path)
                .and_then(|file| file.set_len(60 << 20))
                .expect("it grows");
        }
        log_path(logs, "w", at("2026-03-04T05:06:07Z"));
        assert_eq!(
            logs_of(logs, "w").unwrap().len(),
            KEPT - 1,
            "with the new one they are as many as are kept"
        );
    }

    #[test]
    fn old_logs_expire_except_of_running_sessions() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let logs = scratch.path();
        let old = SystemTime::now() - Duration::from_secs(31 * 86_400);
        for name in [
            "gone/a.log",
            "gone/a.log.1",
            "w/b.log",
            "w/b.log.2",
            "w/c.log",
        ] {
            write(&logs.join(name), "x");
            File::options()
                .write(true)
                .open(logs.join(name))
                .and_then(|file| file.set_modified(old))
                .expect("times can be set");
        }
        write(&logs.join("w/new.log"), "x");
        let running = HashSet::from([logs.join("w/b.log")]);
        assert_eq!(expire_logs(logs, Timestamp::now(), &running), 3);
        assert!(!logs.join("gone").exists() && !logs.join("w/c.log").exists());
        assert!(
            ["w/b.log", "w/b.log.2", "w/new.log"]
                .iter()
                .all(|name| logs.join(name).exists())
        );
    }

    #[test]
    fn log_is_regular_file_in_log_folder() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let logs = scratch.path().join("logs");
        write(&logs.join("w/a.log"), "x");
        write(&scratch.path().join("secret/s"), "s");
        std::os::unix::fs::symlink(scratch.path().join("secret/s"), logs.join("w/link.log"))
            .expect("a link can be made");
        std::os::unix::fs::symlink(scratch.path().join("secret"), logs.join("x"))
            .expect("a link can be made");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            logs.join("w/pipe.log"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .expect("a pipe");
        assert!(open_log(&logs, &logs.join("w/a.log")).is_ok());
        for path in [
            "w/link.log",
            "x/s",
            "w/pipe.log",
            "../secret/s",
            "w/../../secret/s",
            "w",
        ] {
            let error = open_log(&logs, &logs.join(path)).expect_err(path);
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{path}: {error}");
        }
        assert_eq!(
            open_log(&logs, &logs.join("w/none.log"))
                .expect_err("none")
                .kind(),
            io::ErrorKind::NotFound
        );
    }
}
