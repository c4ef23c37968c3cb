//! Opens a worktree so that reading it runs no program that the repository itself names.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gix::error::ResultExt as _;
use gix::sec::Trust;

use super::config_fault::{
    WHOSE, ask_for_fault, check_config, find_config_fault, new_words_fault, to_one_line,
};
use super::discover::dot_git;
use super::error::{Error, ReadContext as _};
use super::file_state::{StatStamp, is_absent, version_of};
use super::harden;
use super::reftable::ServedWorktree;
use super::worktrees::git_dirs;
use watchdog_facts::shell_line::shell_path;
use watchdog_system::{ask_git, read_git_settings};

/// How many bytes of objects are kept in memory. A judgement reads the commits and trees at both
/// ends of a range several times.
const OBJECT_CACHE: usize = 1 << 20;

/// An opened worktree: one git work tree, main or linked.
pub struct Worktree {
    pub(super) repo: gix::Repository,
    /// How many filter drivers of the repository's own configuration are ignored.
    pub(super) ignored_filters: usize,
    /// Whether `repo` was opened for a sibling: its cached index is the sibling's.
    pub(super) from_sibling: bool,
    pub(super) root: PathBuf,
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
    /// The git server for refs that gix cannot read.
    pub(super) served: Option<ServedWorktree>,
    /// The index that was read last where `repo` is a sibling's, with the version of its file: a judgement needs it twice.
    pub(super) read_index: RefCell<Option<(StatStamp, gix::worktree::Index)>>,
}

/// Has the process stand in the nearest folder that is there, where its own is gone: gix reads nothing from one that a session removed.
#[expect(
    clippy::disallowed_methods,
    reason = "a folder that is gone serves no thread of the process"
)]
pub fn leave_gone_folder(folder: &Path) {
    if std::env::current_dir().is_err() {
        folder
            .ancestors()
            .any(|near| std::env::set_current_dir(near).is_ok());
    }
}

impl Worktree {
    /// Opens the worktree that `path` lies in, as `git -C path` would find it.
    ///
    /// Ignores environment variables that redirect git (`GIT_DIR`, `GIT_INDEX_FILE` and their like),
    /// so that the answer is the same inside a hook. Never runs programs that the repository's own
    /// configuration names.
    ///
    /// # Errors
    /// [`Error::NotARepository`], [`Error::Bare`], [`Error::ForeignOwner`] (unless git, or without one
    /// the user's `safe.directory`, allows it), [`Error::Setting`], or [`Error::Read`] for a damaged or unknown layout.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_at(&dot_git(path)?, path)
    }

    /// Opens the worktree of a `.git` entry that was already found. `named` names it in errors.
    pub(super) fn open_at(dot_git: &Path, named: &Path) -> Result<Self, Error> {
        Self::open_parts(dot_git, Some(named))
    }

    /// Opens a git directory for its refs and commits alone, whether or not its work tree is there.
    pub(super) fn open_git_dir(git_dir: &Path) -> Result<Self, Error> {
        Self::open_parts(git_dir, None)
    }

    fn open_parts(dot_git: &Path, named: Option<&Path>) -> Result<Self, Error> {
        let doing = || format!("open the repository at {}", dot_git.display());
        // A `.git` file of a session can name the root of the system.
        let top = dot_git.parent().unwrap_or(dot_git);
        leave_gone_folder(top);
        let setting_fault = match git_dirs(dot_git) {
            Ok((git_dir, common_dir)) => check_config(top, &git_dir, &common_dir)?,
            Err(_) => None,
        };
        let setting_fault = setting_fault.filter(|_| named.is_some());
        let folder = named.map_or(dot_git, |_| top);
        let settings = read_git_settings(folder, |name| std::env::var_os(name))
            .map_err(|words| new_words_fault(&words, folder))?;
        if let Some(fault) = harden::is_user_file_a_folder()
            .then(|| ask_for_fault(folder))
            .flatten()
        {
            return Err(fault);
        }
        let mut repo =
            gix::open_opts(dot_git, harden::build_open_options(&settings)).map_err(|error| {
                ask_for_fault(folder).unwrap_or_else(|| Error::read_error(doing(), error))
            })?;
        if setting_fault.is_some() {
            repo.set_workdir(top.to_owned()).with_context(doing)?;
        }
        let owned = [folder, dot_git, repo.git_dir()].map(Trust::from_path_ownership);
        if owned.iter().any(|trust| !matches!(trust, Ok(Trust::Full))) {
            // gix does not hear each file of settings.
            let refusal = match ask_git(folder, &WHOSE) {
                Some(answer) => answer.err().map(|words| new_words_fault(&words, folder)),
                None => (repo.git_dir_trust() != Trust::Full).then(|| Error::ForeignOwner {
                    path: folder.to_owned(),
                }),
            };
            if let Some(refusal) = refusal {
                return Err(refusal);
            }
            // gix would heed the repository's settings in part.
            let mut config = repo.config_snapshot_mut();
            for id in config.section_ids().collect::<Vec<_>>() {
                if let Some(mut section) = config.section_mut_by_id(id) {
                    section.set_trust(Trust::Full);
                }
            }
            (config.commit()).with_context(doing)?;
        }
        let storage = harden::find_ref_storage(&repo)?;
        let workdir = match named {
            Some(named) => repo.workdir().ok_or_else(|| Error::Bare {
                path: named.to_owned(),
            })?,
            None => dot_git,
        };
        let real = |path: &Path| {
            fs::canonicalize(path).with_context(|| format!("find {}", path.display()))
        };
        let (root, git_dir, common_dir) = (
            real(workdir)?,
            real(repo.git_dir())?,
            real(repo.common_dir())?,
        );
        let ignored_filters = harden::drop_local_programs(&mut repo).with_context(doing)?;
        repo.object_cache_size_if_unset(OBJECT_CACHE);
        let served = match storage {
            harden::RefStorage::Files => None,
            harden::RefStorage::Reftable => {
                let served = ServedWorktree::begin(&git_dir, &common_dir)?;
                repo.refs = served.store(&repo);
                Some(served)
            }
        };
        Ok(Worktree {
            repo,
            ignored_filters,
            from_sibling: false,
            root,
            git_dir,
            common_dir,
            served,
            read_index: RefCell::default(),
        })
    }

    /// The top folder of the work tree, absolute and with symlinks resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The git directory of this worktree, which holds its HEAD and index. Absolute, symlinks resolved.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git directory that all worktrees of the repository share. Absolute, symlinks resolved.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The fault with which git does not work here now. The facts are read without the setting.
    pub fn config_fault(&self) -> Option<Error> {
        find_config_fault(&self.root, &self.git_dir, &self.common_dir)
    }

    /// Sees to it that the repository was opened for this very worktree; to be called before anything but a ref of watchdog's is written.
    ///
    /// # Errors
    /// As [`Worktree::open`].
    pub fn to_owned_repo(&mut self) -> Result<(), Error> {
        if self.from_sibling {
            *self = Worktree::open(&self.root)?;
        }
        Ok(())
    }

    /// The index as it is on disk.
    pub(super) fn index(&self) -> Result<gix::worktree::Index, Error> {
        self.decode_index().map_err(|error| {
            let args = ["-c", "core.fsmonitor=false", "ls-files", "--", ".git"];
            match ask_git(&self.root, &args) {
                // A file that this user may not read is no damage.
                Some(Err(words)) if !words.contains("Permission denied") => {
                    let file = shell_path(&self.git_dir.join("index"));
                    let root = shell_path(&self.root);
                    let words = to_one_line(&words);
                    Error::Setting {
                        why: format!("git cannot read the index of {root}: {words}"),
                        mend: format!("mv {file} {file}.damaged && git -C {root} reset"),
                    }
                }
                _ => Error::read_error(format!("read the index of {}", self.root.display()), error),
            }
        })
    }

    fn decode_index(&self) -> gix::Result<gix::worktree::Index> {
        let path = self.git_dir.join("index");
        // gix takes an index that the system does not show for none, and every file for one that git does not know.
        match path.symlink_metadata() {
            // A link that leads nowhere is not the same as no index.
            Ok(about) if about.is_symlink() => {
                path.metadata().or_error()?;
            }
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).or_error();
            }
            Ok(_) | Err(_) => {}
        }
        if !self.from_sibling {
            return self.repo.index_or_empty();
        }
        let begun = SystemTime::now();
        let version = version_of(&path).ok().flatten();
        if let Some((read, index)) = &*self.read_index.borrow()
            && version.as_ref() == Some(read)
        {
            return Ok(index.clone());
        }
        let hash = self.repo.object_hash();
        let skip = self
            .repo
            .config_snapshot()
            .boolean("index.skipHash")
            .unwrap_or(false);
        // Reading is not worth a thread where so many are small.
        let options = gix::index::decode::Options {
            thread_limit: Some(1),
            ..Default::default()
        };
        let file = match gix::index::File::at(&path, hash, skip, options) {
            Err(_) if is_absent(&path) => {
                gix::index::File::from_state(gix::index::State::new(hash), path)
            }
            read => read?,
        };
        let index = gix::worktree::Index::new(gix::fs::FileSnapshot::new(file));
        // An index as young as this reading may change again without a new time.
        *self.read_index.borrow_mut() = version
            .filter(|version| version.is_older_than(begun))
            .map(|version| (version, index.clone()));
        Ok(index)
    }
}
