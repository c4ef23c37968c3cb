//! Opens a worktree so that looking at it runs nothing that the repository itself names.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;
use gix::error::ResultExt as _;
use gix::sec::Trust;
use sha2::{Digest, Sha256};

use super::harden;
use super::reftable::ServedWorktree;
use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_facts::shortage::told_by;

/// Why a worktree could not be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No git repository at or above the path.
    #[error("{path} is not in a git repository")]
    NotARepository {
        /// Where the search for a repository began.
        path: PathBuf,
    },
    /// A repository without a work tree.
    #[error("{path} is a bare repository: there is no work tree to watch")]
    Bare {
        /// The repository that was found.
        path: PathBuf,
    },
    /// The repository belongs to another user.
    #[error("the repository at {path} is owned by another user")]
    ForeignOwner {
        /// The repository that was found.
        path: PathBuf,
    },
    /// A revision that names no commit.
    #[error("'{rev}' is not a known revision of this repository")]
    UnknownRevision {
        /// As the caller gave it.
        rev: String,
    },
    /// Anything else that git's data refused.
    #[error("failed to {doing}: {why}")]
    Read {
        /// What failed, as a verb with its object: "read HEAD".
        doing: String,
        /// gix's or the operating system's error.
        why: String,
    },
}

impl Error {
    /// Wraps a failure of gix with what was being done, causes included.
    pub fn read(doing: impl Into<String>, source: impl std::error::Error) -> Self {
        let mut why = source.to_string();
        let mut cause = source.source();
        while let Some(next) = cause {
            let text = next.to_string();
            if !why.contains(&text) {
                why.push_str(": ");
                why.push_str(&text);
            }
            cause = next.source();
        }
        Error::Read { doing: doing.into(), why }
    }
}

impl From<Error> for UnreadableFact {
    fn from(error: Error) -> Self {
        let (kind, hint) = match &error {
            Error::NotARepository { .. } => {
                (FaultKind::NotARepository, Some("run watchdog inside a git work tree, or name one with -C PATH".to_string()))
            }
            Error::Bare { .. } => (FaultKind::NotARepository, Some("name one of its work trees with -C PATH".to_string())),
            Error::ForeignOwner { path } => (
                FaultKind::Git,
                Some(format!("run watchdog as the owner, or allow it with: git config --global --add safe.directory '{}'", path.display())),
            ),
            Error::UnknownRevision { .. } => (FaultKind::Git, Some("see: git log --oneline --all".to_string())),
            Error::Read { why, .. } => {
                let helps = told_by(why).map_or_else(|| remedy_for(why), |shortage| shortage.helps);
                (FaultKind::Git, Some(helps.to_string()))
            }
        };
        UnreadableFact { kind, why: error.to_string(), hint }
    }
}

/// What helps where git's data cannot be read or written; the disk and its permissions are no damage.
fn remedy_for(why: &str) -> &'static str {
    match why {
        _ if ["No space left on device", "Disk quota exceeded"].iter().any(|full| why.contains(full)) => "make room on that disk",
        _ if ["Permission denied", "Read-only file system"].iter().any(|shut| why.contains(shut)) => "give this user access to it",
        _ => "see: git fsck",
    }
}

/// How many bytes of objects are kept in memory. One judgement reads the commits and trees at both ends of a range several times.
const OBJECT_CACHE: usize = 1 << 20;

/// An opened worktree: one git work tree, main or linked.
pub struct Worktree {
    pub(super) repo: gix::Repository,
    /// How many filter drivers of the repository's own configuration are ignored.
    pub(super) ignored_filters: usize,
    /// Whether `repo` was opened for a sibling: what it remembers of an index is the sibling's.
    pub(super) from_sibling: bool,
    pub(super) root: PathBuf,
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
    /// Where git itself must be asked for refs.
    pub(super) served: Option<ServedWorktree>,
}

impl Worktree {
    /// Opens the worktree that `path` lies in, as `git -C path` would find it.
    ///
    /// Environment variables that move git elsewhere (`GIT_DIR`, `GIT_INDEX_FILE` and their like) are
    /// ignored, so that the answer is the same inside a hook. Programs that the repository's own
    /// configuration names are never run.
    ///
    /// # Errors
    /// [`Error::NotARepository`], [`Error::Bare`], [`Error::ForeignOwner`] (unless the user's or the
    /// system's `safe.directory` allows it), or [`Error::Read`] for a damaged or unknown layout.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_at(&super::discover::dot_git(path)?, path)
    }

    /// Opens the worktree of a `.git` entry that was already found. `asked` names it in errors.
    pub(super) fn open_at(dot_git: &Path, asked: &Path) -> Result<Self, Error> {
        let doing = || format!("open the repository at {}", dot_git.display());
        let mut repo = gix::open_opts(dot_git, harden::options()).map_err(|e| Error::read(doing(), e))?;
        if repo.git_dir_trust() != Trust::Full {
            return Err(Error::ForeignOwner { path: repo.workdir().unwrap_or(repo.git_dir()).to_owned() });
        }
        let storage = harden::refuse_unknown_layout(&repo)?;
        let Some(workdir) = repo.workdir() else {
            return Err(Error::Bare { path: asked.to_owned() });
        };
        let real = |path: &Path| fs::canonicalize(path).map_err(|e| Error::read(format!("find {}", path.display()), e));
        let (root, git_dir, common_dir) = (real(workdir)?, real(repo.git_dir())?, real(repo.common_dir())?);
        let ignored_filters = harden::drop_local_programs(&mut repo).map_err(|e| Error::read(doing(), e))?;
        repo.object_cache_size_if_unset(OBJECT_CACHE);
        let served = match storage {
            harden::RefStorage::Files => None,
            harden::RefStorage::Reftable => {
                let served = ServedWorktree::begin(&git_dir, &common_dir)?;
                repo.refs = served.store(&repo);
                Some(served)
            }
        };
        Ok(Worktree { repo, ignored_filters, from_sibling: false, root, git_dir, common_dir, served })
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

    /// Sees to it that the repository was opened for this very worktree; to be called before anything is written.
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
    pub(super) fn index(&self) -> gix::Result<gix::worktree::Index> {
        let path = self.git_dir.join("index");
        // A link that leads nowhere is not the same as no index.
        if path.is_symlink() {
            path.metadata().or_error()?;
        }
        if !self.from_sibling {
            return self.repo.index_or_empty();
        }
        let hash = self.repo.object_hash();
        let skip = self.repo.config_snapshot().boolean("index.skipHash").unwrap_or(false);
        // Reading is not worth a thread where so many are small.
        let options = gix::index::decode::Options { thread_limit: Some(1), ..Default::default() };
        let file = match gix::index::File::at(&path, hash, skip, options) {
            Err(_) if !path.exists() => gix::index::File::from_state(gix::index::State::new(hash), path),
            read => read?,
        };
        Ok(gix::worktree::Index::new(gix::fs::FileSnapshot::new(file)))
    }

    /// A short hexadecimal name of this worktree, the same in every process and every time.
    pub fn worktree_id(&self) -> String {
        super::worktrees::worktree_id(&self.git_dir, &self.common_dir)
    }

    /// A short hexadecimal name of the repository, the same in all of its worktrees.
    pub fn repository_id(&self) -> String {
        short_id(&[b"watchdog repository", self.common_dir.as_os_str().as_bytes()])
    }

    /// The short name of the branch that HEAD is on, also where it has no commit yet; `None` when detached.
    pub fn branch(&self) -> Option<String> {
        self.refresh().ok()?;
        // The name alone: where the branch is does not matter here.
        let head = self.repo.refs.try_find("HEAD").ok()??;
        let name = head.target.try_name()?;
        Some(name.shorten().to_str_lossy().into_owned())
    }

    /// The name of the work where nobody gave one: the branch, or `detached`.
    pub fn default_spec(&self) -> String {
        self.branch().unwrap_or_else(|| "detached".to_string())
    }
}

/// The first 16 hexadecimal digits of the SHA-256 over the parts, separated by NUL.
pub(super) fn short_id(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}
