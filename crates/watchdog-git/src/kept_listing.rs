//! Keeps a list of names with the versions of the folders and files that it was read from. It holds as long as those have not changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::error::Error;
use super::file_state::{StatStamp, is_remote, version_of};
use watchdog_system::is_missing;

/// The last lists of the names of branches and linked worktrees.
#[derive(Default)]
pub(super) struct NameListings {
    pub branches: LastListing<String>,
    pub worktrees: LastListing<PathBuf>,
}

/// How long a list may last that was long to read.
const LONGEST: Duration = Duration::from_secs(10);

/// A list of one repository, with the versions of what it was read from.
struct KeptListing<T> {
    common_dir: PathBuf,
    versions: Vec<(PathBuf, Option<StatStamp>)>,
    read_at: Instant,
    /// How long that took.
    read_in: Duration,
    entries: Arc<Vec<T>>,
}

/// The last list of one kind.
pub(super) struct LastListing<T>(Mutex<Option<KeptListing<T>>>);

impl<T> Default for LastListing<T> {
    fn default() -> Self {
        LastListing(Mutex::new(None))
    }
}

impl<T> LastListing<T> {
    /// The kept list where nothing that it was read from has changed; else a new one.
    pub(super) fn get_or_read(
        &self,
        common_dir: &Path,
        read: impl FnOnce(&mut NewListing<T>) -> Result<(), Error>,
    ) -> Result<Arc<Vec<T>>, Error> {
        self.of_at_most(Duration::MAX, common_dir, read)
    }

    /// The same, where the kept list is also no older than `age`, or than fifty times its reading, up to ten seconds: it depends on something whose
    /// change no version shows.
    pub(super) fn of_at_most(
        &self,
        age: Duration,
        common_dir: &Path,
        read: impl FnOnce(&mut NewListing<T>) -> Result<(), Error>,
    ) -> Result<Arc<Vec<T>>, Error> {
        // Held while the list is read: whoever else wants it would read the same.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listed) = last
            .as_ref()
            .and_then(|listing| listing.at_most(age, common_dir))
        {
            return Ok(listed);
        }
        *last = None;
        let (begun, read_at) = (SystemTime::now(), Instant::now());
        let mut listing = NewListing {
            begun,
            versions: Vec::new(),
            is_reliable: !is_remote(common_dir),
            entries: Vec::new(),
        };
        read(&mut listing)?;
        let listed = Arc::new(listing.entries);
        if listing.is_reliable {
            let names = Arc::clone(&listed);
            *last = Some(KeptListing {
                common_dir: common_dir.to_owned(),
                versions: listing.versions,
                read_at,
                read_in: read_at.elapsed(),
                entries: names,
            });
        }
        Ok(listed)
    }
}

#[cfg(test)]
impl<T> LastListing<T> {
    pub(super) fn is_kept(&self) -> bool {
        self.0.lock().expect("no holder panics").is_some()
    }
}

impl<T> KeptListing<T> {
    fn at_most(&self, age: Duration, common_dir: &Path) -> Option<Arc<Vec<T>>> {
        let is_young = self.read_at.elapsed() <= age.max(LONGEST.min(50 * self.read_in));
        let is_valid = is_young && self.common_dir == common_dir && self.is_current();
        is_valid.then(|| Arc::clone(&self.entries))
    }

    fn is_current(&self) -> bool {
        self.versions
            .iter()
            .all(|(path, version)| version_of(path).is_ok_and(|now| now == *version))
    }
}

/// A list that is being read.
pub(super) struct NewListing<T> {
    begun: SystemTime,
    versions: Vec<(PathBuf, Option<StatStamp>)>,
    /// Whether a change of what was read would show in its version.
    is_reliable: bool,
    /// The names so far.
    pub entries: Vec<T>,
}

impl<T> NewListing<T> {
    /// Notes the version of something, to be called before it is read.
    pub(super) fn reads(&mut self, path: &Path) {
        match version_of(path) {
            Ok(version) => {
                self.is_reliable &= version.is_none_or(|version| version.is_older_than(self.begun));
                self.versions.push((path.to_owned(), version));
            }
            Err(_) => self.is_reliable = false,
        }
    }

    /// Entries of a folder; empty if it does not exist.
    pub(super) fn entries(
        &mut self,
        folder: &Path,
    ) -> Result<impl Iterator<Item = std::io::Result<fs::DirEntry>> + use<T>, Error> {
        self.reads(folder);
        let entries = match fs::read_dir(folder) {
            Err(error) if is_missing(&error) => None,
            read => Some(read.map_err(|e| listing_failure(folder, e))?),
        };
        Ok(entries.into_iter().flatten())
    }
}

/// A folder that could not be listed.
pub(super) fn listing_failure(folder: &Path, error: std::io::Error) -> Error {
    Error::read_error(format!("list {}", folder.display()), error)
}
