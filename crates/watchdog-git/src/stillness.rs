//! Whether the work stands still: the state of HEAD and the index, the change times of uncommitted files, and git's own lock files.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use gix::bstr::ByteSlice as _;
use sha2::{Digest as _, Sha256};

use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::path_text::unescape_path;
use watchdog_facts::display::to_hex;

impl Worktree {
    /// A hash of HEAD, its branch and the entries of the index. Refreshed stat data leaves it equal.
    ///
    /// # Errors
    /// When HEAD or the index cannot be read.
    pub fn index_state(&self) -> Result<String, Error> {
        let mut hash = Sha256::new();
        hash.update(format!("{:?} {:?}", self.head()?, self.branch()));
        let index = self.index().context("read the index")?;
        for entry in index.entries() {
            hash.update(entry.path(&index).as_bytes());
            hash.update([0, u8::try_from(entry.stage_raw()).unwrap_or(u8::MAX)]);
            hash.update(entry.id.as_bytes());
            hash.update(entry.mode.bits().to_le_bytes());
        }
        Ok(to_hex(&hash.finalize()[..16]))
    }

    /// The newest change time of these paths, of the index, and of what says where HEAD is. A path that is gone counts by the folder that it
    /// was in.
    pub fn newest_change(&self, paths: &[String]) -> Option<SystemTime> {
        let of_git = ["index", "HEAD", "logs/HEAD"].map(|name| self.git_dir().join(name));
        let branch = self
            .branch()
            .map(|branch| self.common_dir().join("refs/heads").join(branch));
        let of_git = of_git
            .into_iter()
            .chain(branch)
            .filter_map(|path| changed_at(&path));
        let uncommitted = paths.iter().filter_map(|path| {
            let path = self
                .root()
                .join(gix::path::from_bstr(unescape_path(path).as_bstr()).ok()?);
            path.ancestors()
                .take_while(|above| above.starts_with(self.root()))
                .find_map(changed_at)
        });
        of_git.chain(uncommitted).max()
    }

    /// The youngest lock file of git in this worktree, or of its branch, with its age; `None` where there is none.
    pub fn youngest_lock(&self) -> Option<(PathBuf, Duration)> {
        let is_lock = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "lock");
        let own: Vec<PathBuf> = match fs::read_dir(self.git_dir()) {
            Ok(entries) => entries
                .flatten()
                .map(|entry| entry.path())
                .filter(is_lock)
                .collect(),
            // A lock in a folder that cannot be read is no older than the folder's last change.
            Err(_) => vec![self.git_dir().to_owned()],
        };
        let branch = self.branch().map(|branch| {
            self.common_dir()
                .join("refs/heads")
                .join(format!("{branch}.lock"))
        });
        let packed = self.common_dir().join("packed-refs.lock");
        let aged = |path: PathBuf| {
            let written = fs::symlink_metadata(&path).ok()?.modified().ok()?;
            // Any program may set this time to one that never comes.
            let age = written
                .elapsed()
                .ok()
                .or_else(|| changed_at(&path)?.elapsed().ok())
                .unwrap_or_default();
            Some((path, age))
        };
        own.into_iter()
            .chain(branch)
            .chain([packed])
            .filter_map(aged)
            .min_by_key(|(_, age)| *age)
    }
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    let about = fs::symlink_metadata(path).ok()?;
    let nanos = u32::try_from(about.ctime_nsec()).unwrap_or_default();
    Some(SystemTime::UNIX_EPOCH + Duration::new(u64::try_from(about.ctime()).ok()?, nanos))
}
