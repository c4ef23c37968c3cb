//! Waits for a git that holds a lock, and says who left one behind. Only those of our own killed git are removed.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use watchdog_git::Worktree;
use watchdog_system::{NamedProcess, find_holder, read_all};

/// The first pause between two checks; it doubles each time.
const FIRST: Duration = Duration::from_millis(20);
/// The longest pause between two checks.
const LONGEST: Duration = Duration::from_secs(1);
/// The age from which a lock without an owner counts as stale. A git that ends removes its lock at once, and a git that
/// starts is visible: this is for invisible owners, such as another machine on the same disk.
const STALE: Duration = Duration::from_secs(10);

/// Waits until the lock file `lock` is gone, at most until `deadline`. `root` is the work tree of the index.
///
/// # Errors
/// The owner of the lock, or the age of a stale one, for a person.
pub(super) fn wait_for_lock(lock: &Path, root: &Path, deadline: Instant) -> Result<(), String> {
    let begun = Instant::now();
    let mut pause = FIRST;
    let mut unowned: Option<(u64, SystemTime)> = None;
    loop {
        let Some((inode, since)) = inode_and_time(lock)? else {
            return Ok(());
        };
        let holder = find_lock_holder(lock, root);
        match &holder {
            Some(_) => unowned = None,
            None => {
                let age = since.elapsed().unwrap_or_default().max(begun.elapsed());
                // Checked twice, as its owner may have started between the check of the file and that of the processes.
                if unowned == Some((inode, since)) && age >= STALE && shows_owners() {
                    return Err(describe_stale_lock(lock, since));
                }
                unowned = Some((inode, since));
            }
        }
        let time_left = deadline.saturating_duration_since(Instant::now());
        if time_left.is_zero() {
            return Err(describe_held_lock(lock, since, holder, begun.elapsed()));
        }
        if pause == FIRST {
            tracing::info!(target: "watchdog::rescue", path = %lock.display(), "waiting for a lock of git");
        }
        std::thread::sleep(pause.min(time_left));
        pause = (pause * 2).min(LONGEST);
    }
}

/// Removes the locks of the index, of HEAD and of its branch that our own git left, which began at `begun` and was killed: nobody else could
/// take them while it held them. A lock that a living git holds stays.
pub(super) fn remove_killed_locks(worktree: &Worktree, begun: Timestamp) {
    let names_lock = |name: &str| {
        ["index.lock", "HEAD.lock"].contains(&name)
            || name.starts_with("next-index-") && name.ends_with(".lock")
    };
    let entries = fs::read_dir(worktree.git_dir()).into_iter().flatten();
    let mut locks: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    locks.retain(|lock| names_lock(&name_of(lock)));
    // git holds both at once; without the first, another git may have taken the second.
    if locks.iter().any(|lock| lock.ends_with("HEAD.lock"))
        && let Some(branch) = worktree.branch()
    {
        locks.push(
            worktree
                .common_dir()
                .join(format!("refs/heads/{branch}.lock")),
        );
    }
    for lock in locks {
        let is_ours = matches!(inode_and_time(&lock), Ok(Some((_, since))) if Timestamp::try_from(since).is_ok_and(|since| since >= begun))
            && find_lock_holder(&lock, worktree.root()).is_none();
        if is_ours && shows_owners() {
            // One that stays is named by whoever meets it.
            let _ = fs::remove_file(lock);
        }
    }
}

/// The lock's identity and when it was made; `None` where there is none.
fn inode_and_time(lock: &Path) -> Result<Option<(u64, SystemTime)>, String> {
    match lock.symlink_metadata() {
        Ok(metadata) => Ok(Some((
            metadata.ino(),
            metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        ))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("failed to look at {}: {error}", lock.display())),
    }
}

/// The lock file that git complained about, where it did.
pub(super) fn named_in(complaint: &str) -> Option<PathBuf> {
    let (_, rest) = complaint.split_once("Unable to create '")?;
    let (path, rest) = rest.split_once("': ")?;
    (path.ends_with(".lock") && rest.starts_with("File exists")).then(|| path.into())
}

/// Finds the process that has `lock` open; else a git that runs in `root`, as git closes the file while hooks and
/// editors run. Returns `None` if there is none, or the system does not show it.
fn find_lock_holder(lock: &Path, root: &Path) -> Option<NamedProcess> {
    find_holder(lock, root, |name| name == "git" || name.starts_with("git-"))
}

/// Whether the system shows processes: elsewhere nobody seen is nobody gone.
fn shows_owners() -> bool {
    read_all().is_ok()
}

/// Describes, for a person, the process that has the lock file `lock` of the work tree `root`;
/// `None` if the system shows no such process.
pub fn lock_owner(lock: &Path, root: &Path) -> Option<String> {
    find_lock_holder(lock, root).map(|NamedProcess { pid, name }| format!("{name} (process {pid})"))
}

fn format_time(since: SystemTime) -> String {
    Timestamp::try_from(since)
        .map_or_else(|_| "an unknown time".to_owned(), |at| format!("{at:.0}"))
}

fn describe_held_lock(
    lock: &Path,
    since: SystemTime,
    holder: Option<NamedProcess>,
    waited: Duration,
) -> String {
    let by = match holder {
        Some(NamedProcess { pid, name }) => format!("{name} (process {pid})"),
        None => "a process that cannot be seen".to_owned(),
    };
    let seconds = waited.as_secs_f64().round();
    format!(
        "{} is held by {by} since {}, and was waited for {seconds} s ({})",
        name_of(lock),
        format_time(since),
        lock.display()
    )
}

fn describe_stale_lock(lock: &Path, since: SystemTime) -> String {
    let name = name_of(lock);
    format!(
        "stale lock {name} since {}; its owner is gone. If no git process is running, remove {}",
        format_time(since),
        lock.display()
    )
}

/// The name alone comes first, as messages are cut where they are long.
fn name_of(lock: &Path) -> std::borrow::Cow<'_, str> {
    lock.file_name().unwrap_or_default().to_string_lossy()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon(millis: u64) -> Instant {
        Instant::now() + Duration::from_millis(millis)
    }

    fn aged(age: Duration) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().canonicalize().unwrap().join("index.lock");
        let file = std::fs::File::create(&lock).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        (folder, lock)
    }

    #[test]
    fn no_lock_is_no_wait() {
        assert_eq!(
            wait_for_lock(
                Path::new("/nowhere/index.lock"),
                Path::new("/nowhere"),
                soon(0)
            ),
            Ok(())
        );
    }

    #[test]
    fn open_lock_is_held_at_any_age() {
        let (folder, lock) = aged(Duration::from_secs(86_400));
        let _open = std::fs::File::open(&lock).unwrap();
        let why = wait_for_lock(&lock, folder.path(), soon(100)).unwrap_err();
        let owner = if shows_owners() {
            format!("(process {})", std::process::id())
        } else {
            "a process that cannot be seen".to_owned()
        };
        assert!(
            why.contains(&owner) && why.contains("waited for 0 s"),
            "{why}"
        );
        assert!(lock.exists());
    }

    #[test]
    fn old_ownerless_lock_is_stale_and_stays() {
        let (folder, lock) = aged(Duration::from_secs(86_400));
        let begun = Instant::now();
        let why = wait_for_lock(
            &lock,
            folder.path(),
            soon(if shows_owners() { 60_000 } else { 100 }),
        )
        .unwrap_err();
        match shows_owners() {
            true => assert!(
                why.contains("its owner is gone")
                    && why.contains(&format!("remove {}", lock.display())),
                "{why}"
            ),
            false => assert!(why.contains("a process that cannot be seen"), "{why}"),
        }
        assert!(lock.exists() && begun.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn young_ownerless_lock_is_awaited() {
        let (folder, lock) = aged(Duration::ZERO);
        let why = wait_for_lock(&lock, folder.path(), soon(100)).unwrap_err();
        assert!(why.contains("a process that cannot be seen"), "{why}");
    }

    #[test]
    fn unreadable_lock_does_not_count_as_absent() {
        let (folder, file) = aged(Duration::ZERO);
        let why = wait_for_lock(&file.join("index.lock"), folder.path(), soon(0)).unwrap_err();
        assert!(
            why.starts_with("failed to look at ") && why.contains("index.lock"),
            "{why}"
        );
    }

    #[test]
    fn lock_is_reported_with_its_time() {
        let (folder, lock) = aged(Duration::ZERO);
        let file = std::fs::File::options().write(true).open(&lock).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(86_400))
            .unwrap();
        let why_held = wait_for_lock(&lock, folder.path(), soon(0)).unwrap_err();
        drop(file);
        let stale = wait_for_lock(
            &lock,
            folder.path(),
            soon(if shows_owners() { 60_000 } else { 100 }),
        )
        .unwrap_err();
        for why in [why_held, stale] {
            assert!(why.contains(" since 1970-01-02T00:00:00Z"), "{why}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the test plays a git that runs a hook"
    )]
    fn a_git_at_work_in_the_folder_owns_a_lock_that_nobody_has_open() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, lock) = aged(Duration::ZERO);
        let programs = tempfile::tempdir().unwrap();
        for (name, owns) in [
            ("git", true),
            ("git-commit", true),
            ("gitk", false),
            ("sh", false),
        ] {
            let program = programs.path().join(name);
            std::fs::write(&program, "#!/bin/sh\nread end\n").unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            let mut command = std::process::Command::new(&program);
            let mut running = command
                .current_dir(folder.path())
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let owner = lock_owner(&lock, folder.path().canonicalize().unwrap().as_path());
            // Without its input it ends.
            running.wait().unwrap();
            assert_eq!(
                owner,
                (owns && shows_owners()).then(|| format!("{name} (process {})", running.id()))
            );
        }
    }

    #[test]
    fn git_names_the_lock() {
        let complaint = "git add ended with exit code 128\nfatal: Unable to create '/a b/.git/index.lock': File exists.\n\nAnother git process";
        assert_eq!(named_in(complaint), Some("/a b/.git/index.lock".into()));
        let head =
            "fatal: cannot lock ref 'HEAD': Unable to create '/r/.git/HEAD.lock': File exists.";
        assert_eq!(named_in(head), Some("/r/.git/HEAD.lock".into()));
        for message in [
            "fatal: Unable to create '/r/.git/index.lock': Permission denied",
            "lint: no",
            "Unable to create '/r/x': File exists",
        ] {
            assert_eq!(named_in(message), None, "{message}");
        }
    }
}
