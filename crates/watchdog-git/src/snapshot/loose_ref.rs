//! Creates the ref of a snapshot as one file, atomically and without a lock.
//!
//! A transaction of gix locks `packed-refs` even for a new ref. A lock that a killed program left behind would block
//! every snapshot, and a watchdog that is killed at that moment would leave a lock that blocks the user's git. A new
//! name needs neither: the file is written under a temporary name and linked, which fails if the name exists.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gix::ObjectId;
use gix::date::parse::TimeBuf;
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit};
use gix::refs::{FullName, Target};
use jiff::Timestamp;

use super::record::build_signature;
use crate::shared_modes::SharedModes;

/// How often the folders of the ref and its content are created again: git removes empty folders when it deletes or packs refs, and, where
/// it prunes without a grace period (`gc --prune=now`), the content, too.
const ATTEMPTS: usize = 100;
/// The pause before a ref that another git has locked is tried again.
const LOCKED: Duration = Duration::from_millis(10);

/// Creates a ref, with a line in its log, by a transaction of gix.
pub(super) fn create_logged_ref(
    repo: &gix::Repository,
    name: FullName,
    commit: ObjectId,
    (message, at): (String, Timestamp),
) -> gix::Result<()> {
    let path = gix::path::from_bstr(name.as_bstr()).map_err(gix::Error::from_error)?;
    let (top, modes) = (repo.common_dir(), SharedModes::for_repository(repo));
    let files = [top.join(&path), top.join("logs").join(&path)];
    let edit = RefEdit {
        change: Change::Update {
            log: LogChange {
                message: message.into(),
                ..LogChange::default()
            },
            expected: PreviousValue::MustNotExist,
            new: Target::Object(commit),
        },
        name,
        deref: false,
    };
    let (who, mut time) = (build_signature(at), TimeBuf::default());
    repo.edit_references_as([edit], Some(who.to_ref(&mut time)))?;
    (files.iter()).for_each(|file| modes.adjust_path(file, top));
    Ok(())
}

/// Creates `name` and makes it durable; `false` where a file of that name is there.
///
/// The caller has looked whether the name is packed.
///
/// # Errors
/// When the file system refuses; [`ErrorKind::Unsupported`] where it cannot link files.
pub(super) fn create_loose_ref(
    repo: &gix::Repository,
    name: &str,
    commit: ObjectId,
) -> io::Result<bool> {
    let path = repo.common_dir().join(name);
    let content = format!("{commit}\n");
    let mut aside = RefLockFile::write(repo, content.as_bytes())?;
    let folder = path.parent().expect("a ref has a folder");
    let mut removed = io::Error::new(ErrorKind::NotFound, "its folder is removed again and again");
    for _ in 0..ATTEMPTS {
        match fs::create_dir_all(folder) {
            Ok(()) => {}
            // A folder on the way was there for the one call and gone for the next. If a file is in
            // its place, this is the error.
            Err(error)
                if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) =>
            {
                removed = error;
                continue;
            }
            Err(error) => return Err(error),
        }
        match fs::hard_link(&aside.0, &path) {
            Ok(()) => {
                drop(aside);
                SharedModes::for_repository(repo).adjust_path(&path, repo.common_dir());
                sync_ref(repo, path)?;
                return Ok(true);
            }
            Err(error) => match error.kind() {
                ErrorKind::AlreadyExists => return Ok(false),
                ErrorKind::NotFound if fs::symlink_metadata(&aside.0).is_err() => {
                    aside = RefLockFile::write(repo, content.as_bytes())?
                }
                ErrorKind::NotFound => {}
                ErrorKind::CrossesDevices | ErrorKind::PermissionDenied => {
                    return Err(io::Error::new(ErrorKind::Unsupported, error));
                }
                _ => return Err(error),
            },
        }
    }
    Err(removed)
}

/// Points `name`, which may be there, at a commit, and makes it durable: by the ref's own lock alone, as git does.
///
/// # Errors
/// When the file system refuses, or another git holds the lock for a second.
pub(crate) fn write_loose_ref(
    repo: &gix::Repository,
    name: &str,
    commit: ObjectId,
) -> io::Result<()> {
    let top = repo.common_dir();
    let (path, lock) = (top.join(name), top.join(format!("{name}.lock")));
    let mut refused = io::Error::from(ErrorKind::NotFound);
    for _ in 0..ATTEMPTS {
        // Its folder may be removed in between, as above; a folder in its place, if it is empty, too.
        let opened = fs::create_dir_all(path.parent().expect("a ref has a folder"))
            .and_then(|()| File::options().write(true).create_new(true).open(&lock));
        match opened {
            Ok(mut file) => {
                let written = file
                    .write_all(format!("{commit}\n").as_bytes())
                    .and_then(|()| file.sync_all());
                fs::remove_dir(&path).ok();
                let moved = written.and_then(|()| fs::rename(&lock, &path));
                if moved.is_err() {
                    fs::remove_file(&lock).ok();
                }
                moved?;
                SharedModes::for_repository(repo).adjust_path(&path, top);
                return sync_ref(repo, path);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                std::thread::sleep(LOCKED);
                refused = error;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => refused = error,
            Err(error) => return Err(error),
        }
    }
    Err(refused)
}

/// The content of a ref beside its place, removed in the end. git itself removes what a kill leaves: files of this name
/// in its folder of objects are taken for its own.
struct RefLockFile(PathBuf);

impl RefLockFile {
    fn write(repo: &gix::Repository, content: &[u8]) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = repo.objects.store_ref().path().to_owned();
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("tmp_ref_{}_{count}", std::process::id()));
            match File::options().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    let aside = RefLockFile(path);
                    file.write_all(content)?;
                    SharedModes::for_repository(repo).adjust_file(&file)?;
                    file.sync_all()?;
                    return Ok(aside);
                }
                // Left by a process of the same number that was killed.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for RefLockFile {
    fn drop(&mut self) {
        // At worst it waits for the next garbage collection.
        fs::remove_file(&self.0).ok();
    }
}

/// Makes a loose ref and the folders that lead to it survive a power cut.
pub(super) fn sync_ref(repo: &gix::Repository, mut path: PathBuf) -> io::Result<()> {
    let top = repo.common_dir();
    while path != top {
        match File::open(&path) {
            Ok(file) => file.sync_all()?,
            // Packed in between, by a git that makes its own work durable.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        if !path.pop() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    use super::*;

    fn repository() -> (tempfile::TempDir, gix::Repository, ObjectId) {
        let folder = tempfile::tempdir().expect("the system has room");
        let repo = gix::init_bare(folder.path()).expect("an empty folder becomes a repository");
        let id = repo
            .write_blob("content")
            .expect("the repository takes an object")
            .detach();
        (folder, repo, id)
    }

    #[test]
    fn ref_creation_survives_removal_of_empty_folders() {
        let (_folder, repo, id) = repository();
        let above = repo.common_dir().join("refs/watchdog");
        // Each removal spoils one attempt at most, so that a creation always comes through in the end.
        let removals_left = AtomicUsize::new(0);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    for folder in ["rescue/auth", "rescue"] {
                        if removals_left.load(Ordering::Relaxed) > 0
                            && fs::remove_dir(above.join(folder)).is_ok()
                        {
                            removals_left.fetch_sub(1, Ordering::Relaxed);
                        }
                    }
                }
            });
            let failed = (0..500).find_map(|n| {
                let name = format!("refs/watchdog/rescue/auth/{n}");
                removals_left.store(ATTEMPTS / 2, Ordering::Relaxed);
                let created = create_loose_ref(&repo, &name, id);
                removals_left.store(0, Ordering::Relaxed);
                fs::remove_file(repo.common_dir().join(&name)).ok();
                (!matches!(created, Ok(true))).then(|| format!("{name}: {created:?}"))
            });
            over.store(true, Ordering::Relaxed);
            assert_eq!(failed, None);
        });
    }

    #[test]
    fn ref_creation_survives_pruning_of_temporary_files() {
        let (_folder, repo, id) = repository();
        let objects = repo.objects.store_ref().path().to_owned();
        let removals_left = AtomicUsize::new(0);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    for entry in fs::read_dir(&objects)
                        .expect("the repository is ours")
                        .flatten()
                    {
                        let is_temporary =
                            entry.file_name().to_string_lossy().starts_with("tmp_ref_");
                        if is_temporary
                            && removals_left.load(Ordering::Relaxed) > 0
                            && fs::remove_file(entry.path()).is_ok()
                        {
                            removals_left.fetch_sub(1, Ordering::Relaxed);
                        }
                    }
                }
            });
            let failed = (0..50).find_map(|n| {
                removals_left.store(3, Ordering::Relaxed);
                let created =
                    create_loose_ref(&repo, &format!("refs/watchdog/rescue/auth/{n}"), id);
                removals_left.store(0, Ordering::Relaxed);
                (!matches!(created, Ok(true))).then(|| format!("{n}: {created:?}"))
            });
            over.store(true, Ordering::Relaxed);
            assert_eq!(failed, None);
        });
    }

    #[test]
    fn file_in_place_of_folder_is_the_error() {
        let (_folder, repo, id) = repository();
        fs::create_dir_all(repo.common_dir().join("refs/watchdog"))
            .expect("the repository is ours");
        fs::write(repo.common_dir().join("refs/watchdog/rescue"), "no folder")
            .expect("the repository is ours");
        let error = create_loose_ref(&repo, "refs/watchdog/rescue/auth/0", id)
            .expect_err("there is no place for it");
        assert!(
            matches!(
                error.kind(),
                ErrorKind::AlreadyExists | ErrorKind::NotADirectory
            ),
            "{error}"
        );
    }
}
