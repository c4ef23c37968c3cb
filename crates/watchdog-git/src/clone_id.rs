//! The id of a clone: a file in the git directory that no clone copies. It tells a clone from another one at the same place.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::baseline::HistoryPoint;
use super::discover::pointed_to;
use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::shared_modes::SharedModes;
use watchdog_system::{is_missing, read_regular_file};

/// The folder of watchdog in a git directory.
const FOLDER: &str = "watchdog";
/// The file in it.
const FILE: &str = "id";
/// An id has so many hexadecimal digits.
const DIGITS: usize = 32;

impl Worktree {
    /// The id of this clone; `None` where watchdog wrote none.
    ///
    /// # Errors
    /// If the file is there and cannot be read: then the clone is unknown, and not another one.
    pub fn clone_id(&self) -> Result<Option<String>, Error> {
        let path = self.clone_id_path();
        let doing = || format!("read {}", path.display());
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(file) => fs::File::from(file),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
                return Ok(None);
            }
            Err(error) => return Err(Error::read_error(doing(), error)),
        };
        let mut text = Vec::new();
        if file.metadata().with_context(doing)?.is_file() {
            file.take(DIGITS as u64 + 2)
                .read_to_end(&mut text)
                .with_context(doing)?;
        }
        let id = String::from_utf8_lossy(text.trim_ascii()).into_owned();
        Ok((id.len() == DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id))
    }

    /// The id of this clone, made where it has none.
    ///
    /// # Errors
    /// If the git directory cannot be written.
    pub fn ensure_clone_id(&self) -> Result<String, Error> {
        if let Some(id) = self.clone_id()? {
            return Ok(id);
        }
        let path = self.clone_id_path();
        let doing = || format!("write {}", path.display());
        write_id(&path, || self.clone_id().is_ok_and(|id| id.is_some())).with_context(doing)?;
        SharedModes::for_repository(&self.repo).adjust_path(&path, self.common_dir());
        self.clone_id()?
            .ok_or_else(|| Error::read_failure(doing(), "another program writes it"))
    }

    /// Removes the id. It may be gone already.
    ///
    /// # Errors
    /// If the git directory cannot be written.
    pub fn remove_clone_id(&self) -> Result<(), Error> {
        let path = self.clone_id_path();
        match fs::remove_file(&path) {
            Err(error) if !is_missing(&error) => Err(Error::read_error(
                format!("remove {}", path.display()),
                error,
            )),
            _ => {
                // A folder with files of others stays.
                let _ = fs::remove_dir(self.common_dir().join(FOLDER));
                Ok(())
            }
        }
    }

    /// Whether this clone has no such commit, and can be read: its HEAD is there, or unborn.
    ///
    /// # Errors
    /// If HEAD cannot be read.
    pub fn lacks_commit(&self, commit: &str) -> Result<bool, Error> {
        if self.has_commit(commit) {
            return Ok(false);
        }
        Ok(match self.head()? {
            HistoryPoint::Unborn => true,
            HistoryPoint::Commit(head) => self.has_commit(&head),
        })
    }

    /// Whether the top folder still belongs to the git directory that was opened, and is not the work tree of another repository by now.
    pub fn has_its_folder(&self) -> bool {
        let dot_git = self.root().join(".git");
        let Ok(about) = fs::metadata(&dot_git) else {
            return true;
        };
        let target = match about.is_file() {
            true => read_regular_file(&dot_git, 1 << 20)
                .ok()
                .and_then(|text| pointed_to(&text, &dot_git)),
            false => Some(dot_git),
        };
        target
            .and_then(|target| fs::canonicalize(target).ok())
            .is_some_and(|target| target == self.git_dir)
    }

    fn clone_id_path(&self) -> PathBuf {
        self.common_dir().join(FOLDER).join(FILE)
    }
}

/// Writes a new id aside and links it: of several programs and threads at once the first one names the clone, and all read its id.
fn write_id(path: &Path, is_named: impl Fn() -> bool) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let random = || RandomState::new().hash_one(std::time::SystemTime::now());
    let id = format!("{:016x}{:016x}", random(), random());
    let aside = folder.join(format!("tmp_{FILE}_{id}"));
    let mut file = fs::File::create_new(&aside)?;
    file.write_all(format!("{id}\n").as_bytes())?;
    file.sync_all()?;
    let placed = match fs::hard_link(&aside, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && is_named() => Ok(()),
        // The file there holds no id.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => fs::rename(&aside, path),
        linked => linked,
    };
    let _ = fs::remove_file(&aside);
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_of_two_writers_names_the_clone() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join(FOLDER).join(FILE);
        let read = || fs::read_to_string(&path).expect("an id");
        // Both saw that there is no id.
        write_id(&path, || false).expect("the first one writes");
        let first_id = read();
        write_id(&path, || true).expect("the second one keeps it");
        assert_eq!(read(), first_id);
        // Another text is no id.
        fs::write(&path, "nonsense").expect("our own file");
        write_id(&path, || false).expect("it is replaced");
        assert_eq!(read().trim_ascii_end().len(), DIGITS);
        assert_eq!(
            fs::read_dir(folder.path().join(FOLDER))
                .expect("our own folder")
                .count(),
            1,
            "no file stays aside"
        );
    }
}
