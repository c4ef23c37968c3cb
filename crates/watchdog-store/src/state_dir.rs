//! The directory of watchdog's state, which no other user may write to.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::file::create_private_dir;

/// Name of the database in the state directory.
const DATABASE: &str = "watchdog.db";

/// No file can be below a device, so that nothing is ever found or made here.
const UNPLACED_ROOT: &str = "/dev/null/watchdog";

/// The state directory: one per user, shared by every watchdog that this user runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    root: PathBuf,
    /// Whether the caller named it, and neither of the two variables leads to it.
    named: bool,
}

impl StateDir {
    /// Picks the directory: the flag, else `watchdog` under `XDG_STATE_HOME`, else `.local/state/watchdog` under `HOME`.
    ///
    /// The values come from the caller, so that this reads no environment. Relative values of the two variables count
    /// as not set, as the XDG specification asks; a relative flag is taken from the current directory.
    pub fn resolve(
        flag: Option<PathBuf>,
        xdg_state_home: Option<PathBuf>,
        home: Option<PathBuf>,
    ) -> Result<Self, StoreError> {
        let absolute = |path: Option<PathBuf>| path.filter(|p| p.is_absolute());
        let flag = flag.filter(|p| !p.as_os_str().is_empty());
        let named = flag.is_some();
        let root = if let Some(flag) = flag {
            std::path::absolute(&flag).map_err(|e| StoreError::io("find", &flag, &e))?
        } else if let Some(xdg) = absolute(xdg_state_home) {
            xdg.join("watchdog")
        } else if let Some(home) = absolute(home) {
            home.join(".local/state/watchdog")
        } else {
            return Err(StoreError::NoPlace);
        };
        Ok(StateDir { root, named })
    }

    /// A directory that holds nothing and cannot be made, for a command that looks at the rest where no place for one is known.
    pub fn without_directory() -> Self {
        StateDir {
            root: UNPLACED_ROOT.into(),
            named: false,
        }
    }

    /// The same directory, of which the environment of every later command knows.
    pub fn known_to_the_environment(self) -> Self {
        StateDir {
            named: false,
            ..self
        }
    }

    /// The directory, where a later command has to name it as well.
    pub fn explicit_dir(&self) -> Option<&Path> {
        self.named.then_some(self.root.as_path())
    }

    /// Creates what is missing (0700), and refuses a directory that others could write to or redirect.
    pub fn ensure(&self) -> Result<(), StoreError> {
        if self.root == Path::new(UNPLACED_ROOT) {
            return Err(StoreError::NoPlace);
        }
        let root = match read_owned_metadata(&self.root)? {
            Some(root) => root,
            None => {
                if let Some(parent) = self.root.parent() {
                    fs::create_dir_all(parent).map_err(|e| StoreError::io("create", parent, &e))?;
                }
                owned_anew(&self.root)?
            }
        };
        self.close_to_others(root.mode() & 0o7777)?;
        for dir in [self.locks(), self.logs(), self.trust()] {
            if read_owned_metadata(&dir)?.is_none() {
                owned_anew(&dir)?;
            }
        }
        Ok(())
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database file.
    pub fn database(&self) -> PathBuf {
        self.root.join(DATABASE)
    }

    /// The file that says which fleet this machine is in, and how its server is reached.
    pub fn fleet_setting(&self) -> PathBuf {
        self.root.join("fleet.json")
    }

    /// The file with the texts of settings before watchdog's hooks came in.
    pub fn hook_settings(&self) -> PathBuf {
        self.root.join("hook-settings.json")
    }

    /// The file with the id under which the server of a fleet that this machine left still lists it.
    pub fn left_fleet_machine(&self) -> PathBuf {
        self.root.join("fleet-left")
    }

    /// The file that says which repositories of this machine its fleet shares.
    pub fn fleet_repositories(&self) -> PathBuf {
        self.root.join("fleet-repositories.json")
    }

    /// The state that this machine read of its fleet: records like these, of all machines.
    #[must_use]
    pub fn fleet_mirror(&self) -> StateDir {
        StateDir {
            root: self.root.join("fleet-mirror"),
            named: self.named,
        }
    }

    /// The bundle of all refs of the clone with this id.
    pub fn bundle(&self, clone_id: &str) -> PathBuf {
        self.root.join("bundles").join(format!("{clone_id}.bundle"))
    }

    /// The folder of lock files.
    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// The folder of session logs.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The folder of prompts, one for each worktree.
    pub fn prompts(&self) -> PathBuf {
        self.root.join("prompts")
    }

    /// The prompt of a worktree's last session that was given one.
    pub fn prompt_file(&self, worktree_id: &str) -> PathBuf {
        self.prompts().join(format!("{worktree_id}.md"))
    }

    /// The folder of worktrees that agents get for tasks.
    pub fn task_worktrees(&self) -> PathBuf {
        self.root.join("worktrees")
    }

    /// The folder of copies of refs that git itself serves; each exists only while it is read.
    pub fn served_refs_dir(&self) -> PathBuf {
        self.root.join("served")
    }

    /// The folder of scratch checkouts, each there only while a check runs in it.
    pub fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// The folder of trusted fingerprints.
    pub fn trust(&self) -> PathBuf {
        self.root.join("trust")
    }

    /// Removes the rights of other users where the directory is plainly ours (new, or used by us before). Any other directory keeps its
    /// mode, because it may serve more than watchdog; it is refused where others may write.
    fn close_to_others(&self, mode: u32) -> Result<(), StoreError> {
        let read_error = |e: io::Error| StoreError::io("look at", &self.root, &e);
        if mode & 0o077 == 0 {
            return Ok(());
        }
        let ours = self.database().exists()
            || fs::read_dir(&self.root)
                .map_err(read_error)?
                .next()
                .is_none();
        if ours && mode & 0o1000 == 0 {
            return fs::set_permissions(&self.root, Permissions::from_mode(0o700))
                .map_err(|e| StoreError::io("set the permissions of", &self.root, &e));
        }
        if mode & 0o022 != 0 {
            Err(StoreError::OpenToOthers {
                path: self.root.clone(),
                mode,
            })
        } else {
            Ok(())
        }
    }
}

/// Checks a directory; `None` where nothing is there. Refuses what another user owns: the directory, or a link whose target could be
/// changed.
fn read_owned_metadata(dir: &Path) -> Result<Option<Metadata>, StoreError> {
    let read_error = |e: io::Error| StoreError::io("look at", dir, &e);
    let link = match fs::symlink_metadata(dir) {
        Ok(link) => link,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(read_error(e)),
    };
    let target = if link.is_symlink() {
        fs::metadata(dir).map_err(read_error)?
    } else {
        link.clone()
    };
    if !target.is_dir() {
        return Err(StoreError::NotADirectory {
            path: dir.to_owned(),
        });
    }
    let user = rustix::process::geteuid().as_raw();
    match [link.uid(), target.uid()]
        .into_iter()
        .find(|&owner| owner != user)
    {
        Some(owner) => Err(StoreError::ForeignOwner {
            path: dir.to_owned(),
            owner,
            user,
        }),
        None => Ok(Some(target)),
    }
}

/// Creates a directory, and checks it as [`owned`] does: another process may have been quicker.
fn owned_anew(dir: &Path) -> Result<Metadata, StoreError> {
    create_private_dir(dir)?;
    read_owned_metadata(dir)?
        .ok_or_else(|| StoreError::io("create", dir, &io::ErrorKind::NotFound.into()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn flag_precedes_absolute_xdg_and_home_variables() {
        let at = |flag: &str, xdg: &str, home: &str| {
            let some = |s: &str| (!s.is_empty()).then(|| PathBuf::from(s));
            StateDir::resolve(some(flag), some(xdg), some(home)).map(|d| d.root().to_owned())
        };
        assert_eq!(at("/f", "/x", "/h").unwrap(), Path::new("/f"));
        assert_eq!(at("", "/x", "/h").unwrap(), Path::new("/x/watchdog"));
        assert_eq!(
            at("", "rel", "/h").unwrap(),
            Path::new("/h/.local/state/watchdog")
        );
        assert!(at("here", "", "").unwrap().is_absolute());
        assert!(matches!(at("", "", "rel"), Err(StoreError::NoPlace)));
    }

    #[test]
    fn directory_is_created_private_and_idempotent() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::resolve(Some(tmp.path().join("a/b/state")), None, None).unwrap();
        dir.ensure().unwrap();
        dir.ensure().unwrap();
        for path in [dir.root().to_owned(), dir.locks(), dir.logs(), dir.trust()] {
            assert_eq!(mode(&path), 0o700, "{}", path.display());
        }
    }

    #[test]
    fn fresh_directory_is_tightened_and_shared_one_refused() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir {
            root: tmp.path().join("state"),
            named: false,
        };
        fs::create_dir(dir.root()).unwrap();
        fs::set_permissions(dir.root(), Permissions::from_mode(0o775)).unwrap();
        dir.ensure().unwrap();
        assert_eq!(mode(dir.root()), 0o700);

        let shared = StateDir {
            root: tmp.path().join("shared"),
            named: false,
        };
        fs::create_dir(shared.root()).unwrap();
        fs::write(shared.root().join("mail"), "of somebody").unwrap();
        fs::set_permissions(shared.root(), Permissions::from_mode(0o1777)).unwrap();
        let error = shared.ensure().unwrap_err();
        assert!(matches!(error, StoreError::OpenToOthers { .. }), "{error}");
        assert!(error.hint().contains("--state-dir"), "{}", error.hint());
        assert_eq!(mode(shared.root()), 0o1777);
    }

    #[test]
    fn file_in_its_place_is_reported_and_kept() {
        let tmp = tempfile::tempdir().unwrap();
        let file = tmp.path().join("state");
        fs::write(&file, "mine").unwrap();
        for root in [file.clone(), file.join("below")] {
            let error = StateDir { root, named: false }.ensure().unwrap_err();
            assert!(matches!(error, StoreError::NotADirectory { .. }), "{error}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    }

    #[test]
    fn ones_own_symlink_is_followed() {
        let tmp = tempfile::tempdir().unwrap();
        fs::create_dir(tmp.path().join("big-disk")).unwrap();
        symlink(tmp.path().join("big-disk"), tmp.path().join("state")).unwrap();
        let dir = StateDir {
            root: tmp.path().join("state"),
            named: false,
        };
        dir.ensure().unwrap();
        assert!(tmp.path().join("big-disk/locks").is_dir());
    }
}
