//! Opens a worktree so that looking at it runs nothing that the repository itself names.

use std::path::{Path, PathBuf};

use crate::decision::evidence::{FaultKind, Unreadable};

/// Why a worktree could not be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No git repository at or above the path.
    #[error("{path} is not in a git repository")]
    NotARepository { path: PathBuf },
    /// A repository without a work tree.
    #[error("{path} is a bare repository: there is no work tree to watch")]
    Bare { path: PathBuf },
    /// The repository belongs to another user.
    #[error("the repository at {path} is owned by another user")]
    ForeignOwner { path: PathBuf },
    /// A revision that names no commit.
    #[error("'{rev}' is not a known revision of this repository")]
    UnknownRevision { rev: String },
    /// Anything else that git's data refused.
    #[error("failed to {doing}: {why}")]
    Read { doing: String, why: String },
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

impl From<Error> for Unreadable {
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
            Error::Read { .. } => (FaultKind::Git, Some("see: git fsck".to_string())),
        };
        Unreadable { kind, why: error.to_string(), hint }
    }
}

/// An opened worktree: one git work tree, main or linked.
pub struct Worktree {
    pub(super) repo: gix::Repository,
    root: PathBuf,
}

impl Worktree {
    /// Opens the worktree that `path` lies in, as `git -C path` would find it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let (found, _trust) = gix::discover::upwards(path).map_err(|_| Error::NotARepository { path: path.to_owned() })?;
        let (git_dir, _) = found.into_repository_and_work_tree_directories();
        let mut permissions = gix::open::Permissions::all();
        permissions.env.git_prefix = gix::sec::Permission::Deny;
        permissions.env.objects = gix::sec::Permission::Deny;
        permissions.config.env = false;
        let options = gix::open::Options::default().permissions(permissions).config_overrides(["gitoxide.core.useNsec=true"]);
        let repo = gix::open_opts(git_dir, options).map_err(|e| Error::read("open the repository", e))?;
        let root = repo.workdir().ok_or_else(|| Error::Bare { path: path.to_owned() })?.to_owned();
        Ok(Worktree { repo, root })
    }

    /// The top folder of the work tree, absolute and with symlinks resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }
}
