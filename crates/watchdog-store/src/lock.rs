//! Lets one actor at a time work on a worktree: by a lock file that the kernel frees when its
//! holder dies, however it dies.
//!
//! Another process could lock a deleted file under its old name. So only its holder deletes a lock file, and whoever locks one checks that
//! the path still names it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::codec::file_name;
use super::error::StoreError;
use super::file::open_private;
use super::records::VersionedRow;
use super::state_dir::StateDir;

/// Longer holder lines than this are not read.
const LONGEST_LINE: u64 = 64 * 1024;

/// The holder of a worktree's lock, for processes that find it busy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    /// Its process.
    pub pid: u32,
    /// The command that it runs, for people: `watchdog run`.
    pub command: String,
    /// Since when it holds the lock.
    pub since: Timestamp,
    /// Whether a session of it runs right now; otherwise it only judges.
    pub session_active: bool,
    /// The spec that it works on.
    pub spec: Option<String>,
}

impl LockHolder {
    /// This process, for a command that only judges so far.
    pub fn of_this_process(command: &str, since: Timestamp) -> Self {
        LockHolder {
            pid: std::process::id(),
            command: command.to_owned(),
            since,
            session_active: false,
            spec: None,
        }
    }
}

/// How an attempt to take a lock ended.
#[must_use = "the worktree is only ours while the lock is held"]
#[derive(Debug)]
pub enum LockAttempt {
    /// This process holds it until it is dropped.
    Held(WorktreeLock),
    /// Another process holds it; `None` until that process has written its name.
    Busy(Option<LockHolder>),
}

/// The lock of one worktree. Freed when dropped, or by the kernel when this process ends.
///
/// Children do not inherit it: its descriptor is closed when they begin to run.
#[derive(Debug)]
#[must_use = "the lock is freed when this is dropped"]
pub struct WorktreeLock {
    file: File,
    path: PathBuf,
    holder: LockHolder,
    left_behind: Option<LockHolder>,
}

impl WorktreeLock {
    /// Takes the lock of a worktree if it is free; never waits.
    pub fn try_acquire(
        dir: &StateDir,
        worktree_id: &str,
        holder: LockHolder,
    ) -> Result<LockAttempt, StoreError> {
        let path = lock_file(dir, worktree_id);
        let mut file = open_private(&path)?;
        loop {
            match file.try_lock() {
                Ok(()) if is_named_by(&file, &path) => break,
                Ok(()) => file = open_private(&path)?,
                Err(TryLockError::WouldBlock) => return Ok(LockAttempt::Busy(find_holder(&path))),
                Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(e)) => return Err(StoreError::io("lock", &path, &e)),
            }
        }
        let left_behind = holder_in(&file);
        let lock = WorktreeLock {
            file,
            path,
            holder,
            left_behind,
        };
        // Saying who we are is a courtesy to others: on a full disk the lock holds all the same.
        let _ = lock.say();
        Ok(LockAttempt::Held(lock))
    }

    /// The one who held the lock before and died without freeing it, and so left work half done.
    pub fn left_behind(&self) -> Option<&LockHolder> {
        self.left_behind.as_ref()
    }

    /// Deletes the lock's file, and frees it.
    pub fn remove(self) -> Result<(), StoreError> {
        match fs::remove_file(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io("delete", &self.path, &e))
            }
            _ => Ok(()),
        }
    }

    /// Writes into the lock file whether a session runs under this lock.
    pub fn set_session_active(&mut self, active: bool) -> Result<(), StoreError> {
        self.holder.session_active = active;
        self.say()
            .map_err(|e| StoreError::io("write", &self.path, &e))
    }

    /// Writes the spec into the lock file, where it became known only under the lock.
    pub fn set_spec(&mut self, spec: &str) -> Result<(), StoreError> {
        self.holder.spec = Some(spec.to_string());
        self.say()
            .map_err(|e| StoreError::io("write", &self.path, &e))
    }

    fn say(&self) -> io::Result<()> {
        let row = VersionedRow {
            v: 1,
            record: &self.holder,
        };
        let mut line = serde_json::to_vec(&row).expect("a holder holds nothing that JSON cannot");
        line.push(b'\n');
        // Overwrites in place: a reader takes the first line, which is complete at any moment. The rest of a longer line behind it does no
        // harm, and truncating a file costs a file system more than all the rest of a lock.
        self.file.write_all_at(&line, 0)
    }
}

impl Drop for WorktreeLock {
    fn drop(&mut self) {
        // An empty first line says that its holder ended in order. If that fails, the next one only finds us left behind.
        let _ = self.file.write_all_at(b"\n", 0);
        // Closing alone would not do while a child that was just forked still has its copy of the descriptor.
        let _ = self.file.unlock();
    }
}

/// The holder that the lock's file names. Takes no lock, so that reading keeps no other process away; the holder may have died since, which
/// its process id shows.
pub fn named_holder(dir: &StateDir, worktree_id: &str) -> Option<LockHolder> {
    read_holder(&lock_file(dir, worktree_id))
}

/// The lock files that name a holder, with that holder. Takes no lock; a holder may have died since, which its process id shows.
///
/// # Errors
/// If the folder of locks cannot be read.
pub fn named_holders(dir: &StateDir) -> io::Result<Vec<(PathBuf, LockHolder)>> {
    let entries: Vec<fs::DirEntry> = fs::read_dir(dir.locks())?.collect::<io::Result<_>>()?;
    let locks = entries.iter().map(fs::DirEntry::path).filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "lock")
    });
    let mut holders: Vec<_> = locks
        .filter_map(|path| read_holder(&path).map(|holder| (path, holder)))
        .collect();
    holders.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(holders)
}

/// Deletes a lock file that a holder left behind; `false` where somebody holds it by now, or it is gone.
///
/// # Errors
/// If it cannot be opened or deleted.
pub fn remove_left(path: &Path) -> Result<bool, StoreError> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(false);
    }
    let file = open_private(path)?;
    if file.try_lock().is_err() || !is_named_by(&file, path) || holder_in(&file).is_none() {
        return Ok(false);
    }
    fs::remove_file(path)
        .map(|()| true)
        .map_err(|e| StoreError::io("delete", path, &e))
}

/// Whether an open file is the one that is there under its name now: its holder may have deleted it before we locked it.
fn is_named_by(file: &File, path: &Path) -> bool {
    let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let (opened, there) = (
        file.metadata().map(identity),
        fs::symlink_metadata(path).map(identity),
    );
    matches!((opened, there), (Ok(opened), Ok(there)) if opened == there)
}

fn lock_file(dir: &StateDir, worktree_id: &str) -> PathBuf {
    dir.locks().join(format!("{}.lock", file_name(worktree_id)))
}

/// The holder, given that somebody has the lock; waits a moment for one who is about to say so.
fn find_holder(path: &Path) -> Option<LockHolder> {
    for _ in 0..5 {
        if let Some(holder) = read_holder(path) {
            return Some(holder);
        }
        sleep(Duration::from_millis(1));
    }
    None
}

fn read_holder(path: &Path) -> Option<LockHolder> {
    holder_in(&File::open(path).ok()?)
}

/// The holder that a freshly opened file names.
fn holder_in(file: &File) -> Option<LockHolder> {
    let mut content = Vec::new();
    file.take(LONGEST_LINE).read_to_end(&mut content).ok()?;
    let line = content.split(|&byte| byte == b'\n').next()?;
    serde_json::from_slice(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir() -> (tempfile::TempDir, StateDir) {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::resolve(Some(tmp.path().join("state")), None, None).unwrap();
        dir.ensure().unwrap();
        (tmp, dir)
    }

    fn me(command: &str) -> LockHolder {
        LockHolder {
            pid: std::process::id(),
            command: command.into(),
            since: Timestamp::UNIX_EPOCH,
            session_active: false,
            spec: None,
        }
    }

    fn held(acquired: LockAttempt) -> WorktreeLock {
        match acquired {
            LockAttempt::Held(lock) => lock,
            LockAttempt::Busy(holder) => panic!("busy: {holder:?}"),
        }
    }

    #[test]
    fn stale_lock_is_removed_and_held_lock_stays() {
        let (_tmp, dir) = dir();
        let lock = held(WorktreeLock::try_acquire(&dir, "held", me("watchdog run")).unwrap());
        drop(held(
            WorktreeLock::try_acquire(&dir, "freed", me("watchdog run")).unwrap(),
        ));
        let left_lock = dir.locks().join("left.lock");
        fs::copy(&lock.path, &left_lock).unwrap();
        let named: Vec<PathBuf> = named_holders(&dir)
            .unwrap()
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        assert_eq!(named, [lock.path.clone(), left_lock.clone()]);
        assert!(!remove_left(&lock.path).unwrap() && lock.path.exists());
        assert!(remove_left(&left_lock).unwrap() && !left_lock.exists());
        assert!(!remove_left(&left_lock).unwrap());
    }

    #[test]
    fn second_locker_learns_holder_and_session_state() {
        let (_tmp, dir) = dir();
        let mut lock = held(
            WorktreeLock::try_acquire(&dir, "wt/ü", me("watchdog run, with a rather long line"))
                .unwrap(),
        );
        let told = || match WorktreeLock::try_acquire(&dir, "wt/ü", me("x")).unwrap() {
            LockAttempt::Busy(holder) => holder.unwrap(),
            LockAttempt::Held(_) => panic!("taken twice"),
        };
        assert_eq!(told(), me("watchdog run, with a rather long line"));
        lock.set_spec("auth").unwrap();
        lock.set_session_active(true).unwrap();
        assert!(told().session_active);
        lock.set_session_active(false).unwrap();
        assert_eq!(
            (told().session_active, told().spec.as_deref()),
            (false, Some("auth"))
        );
        drop(lock);
        assert_eq!(
            named_holder(&dir, "wt/ü"),
            None,
            "what a longer line left behind names nobody"
        );
        assert_eq!(
            held(WorktreeLock::try_acquire(&dir, "wt/ü", me("x")).unwrap()).left_behind(),
            None
        );
        assert_eq!(named_holder(&dir, "wt/ü"), None);
    }

    #[test]
    fn a_removed_lock_is_never_held_twice() {
        let (_tmp, dir) = dir();
        let lock = held(WorktreeLock::try_acquire(&dir, "wt", me("x")).unwrap());
        let opened_before = open_private(&lock_file(&dir, "wt")).unwrap();
        lock.remove().unwrap();
        assert!(!lock_file(&dir, "wt").exists());
        assert!(!is_named_by(&opened_before, &lock_file(&dir, "wt")));
        let _again = held(WorktreeLock::try_acquire(&dir, "wt", me("x")).unwrap());
        assert!(!is_named_by(&opened_before, &lock_file(&dir, "wt")));
        assert!(matches!(
            WorktreeLock::try_acquire(&dir, "wt", me("y")).unwrap(),
            LockAttempt::Busy(_)
        ));
    }

    #[test]
    fn concurrent_removal_and_locking_leave_one_holder() {
        let (_tmp, dir) = dir();
        let inside = std::sync::atomic::AtomicU32::new(0);
        let turns = || {
            for _ in 0..300 {
                if let LockAttempt::Held(lock) =
                    WorktreeLock::try_acquire(&dir, "wt", me("x")).unwrap()
                {
                    assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    lock.remove().unwrap();
                }
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(turns))));
    }

    #[test]
    fn worktrees_do_not_share_a_lock() {
        let (_tmp, dir) = dir();
        let _a = held(WorktreeLock::try_acquire(&dir, "a/b", me("x")).unwrap());
        let _b = held(WorktreeLock::try_acquire(&dir, "a_b", me("x")).unwrap());
    }

    #[test]
    fn garbage_in_lock_file_never_blocks_locking() {
        let (_tmp, dir) = dir();
        fs::write(dir.locks().join("wt.lock"), [0xff, 0, b'{', b'\n', 7]).unwrap();
        let lock = held(WorktreeLock::try_acquire(&dir, "wt", me("x")).unwrap());
        assert_eq!(lock.left_behind(), None);
    }
}
