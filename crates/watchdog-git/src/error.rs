//! Why git's data could not be read, and what helps.

use std::path::PathBuf;

use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_facts::shell_line::shell_path;
use watchdog_facts::shortage::shortage_in;

/// Why a worktree could not be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No git repository at or above the path.
    #[error("{path} is not in a git repository")]
    NotARepository {
        /// Start of the search for a repository.
        path: PathBuf,
    },
    /// A work tree that is the user's home folder, or the root of the file system, and that nobody named.
    #[error("the repository around this folder is {path}, a whole home and no project")]
    HomeFolder {
        /// Its top folder.
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
    /// A configuration, an index or a `.git` with which git does not work.
    #[error("{why}")]
    Setting {
        /// The key or git's own words, the file, and the reason.
        why: String,
        /// The command that mends it.
        mend: String,
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
        /// The failed action, as a verb with its object: "read HEAD".
        doing: String,
        /// gix's or the operating system's error.
        why: String,
    },
}

impl Error {
    /// A failure to read, with what was being done and why it failed.
    pub(crate) fn read_failure(doing: impl Into<String>, why: impl Into<String>) -> Self {
        Error::Read {
            doing: doing.into(),
            why: why.into(),
        }
    }

    /// Wraps a failure of gix with what was being done, causes included.
    pub fn read_error(doing: impl Into<String>, source: impl std::error::Error) -> Self {
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
        Error::read_failure(doing, why)
    }
}

impl Error {
    /// The remedy, with commands in backquotes where the worktree is still to be named in them.
    pub fn hint(&self) -> String {
        match self {
            Error::NotARepository { .. } => {
                "run watchdog inside a git work tree, or name one with -C PATH".into()
            }
            Error::HomeFolder { path } => format!(
                "make the project a repository (git init), or say that the whole folder is meant: --worktree {}",
                shell_path(path)
            ),
            Error::Bare { .. } => "name one of its work trees with -C PATH".into(),
            Error::ForeignOwner { path } => {
                format!(
                    "run watchdog as the owner, or allow it with: git config --global --add safe.directory {}",
                    shell_path(path)
                )
            }
            Error::Setting { mend, .. } => format!("type: {mend}"),
            Error::UnknownRevision { .. } => "see `git log --oneline --all`".into(),
            Error::Read { why, .. } => shortage_in(why)
                .map_or_else(|| remedy_for(why), |shortage| shortage.helps)
                .into(),
        }
    }
}

impl From<Error> for UnreadableFact {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::NotARepository { .. } | Error::Bare { .. } | Error::HomeFolder { .. } => {
                FaultKind::NotARepository
            }
            _ => FaultKind::Git,
        };
        UnreadableFact {
            kind,
            why: error.to_string(),
            hint: Some(error.hint()),
        }
    }
}

/// The remedy for unreadable or unwritable git data; faults of the disk and its permissions are no damage.
fn remedy_for(why: &str) -> &'static str {
    match why {
        _ if ["No space left on device", "Disk quota exceeded"]
            .iter()
            .any(|full| why.contains(full)) =>
        {
            "make room on that disk"
        }
        _ if ["Permission denied", "Read-only file system"]
            .iter()
            .any(|shut| why.contains(shut)) =>
        {
            "give this user access to it"
        }
        _ if why.contains("Input/output error") => "see the system's log for that disk",
        _ => "see `git fsck`",
    }
}

/// Tells with a failure of gix or the system what was being done.
pub(crate) trait ReadContext<T>: Sized {
    /// As [`Error::read_error`], with a text that is made for a failure alone.
    fn with_context<S: Into<String>>(self, doing: impl FnOnce() -> S) -> Result<T, Error>;

    /// The same with a text that is there.
    fn context(self, doing: impl Into<String>) -> Result<T, Error> {
        self.with_context(|| doing)
    }
}

impl<T, E: std::error::Error> ReadContext<T> for Result<T, E> {
    fn with_context<S: Into<String>>(self, doing: impl FnOnce() -> S) -> Result<T, Error> {
        self.map_err(|error| Error::read_error(doing(), error))
    }
}
