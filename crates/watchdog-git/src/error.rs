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
        /// The failed action, as a verb with its object: "read HEAD".
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
        Error::Read {
            doing: doing.into(),
            why,
        }
    }
}

impl From<Error> for UnreadableFact {
    fn from(error: Error) -> Self {
        let (kind, hint) = match &error {
            Error::NotARepository { .. } => (
                FaultKind::NotARepository,
                Some("run watchdog inside a git work tree, or name one with -C PATH".to_string()),
            ),
            Error::Bare { .. } => (
                FaultKind::NotARepository,
                Some("name one of its work trees with -C PATH".to_string()),
            ),
            Error::ForeignOwner { path } => (
                FaultKind::Git,
                Some(format!(
                    "run watchdog as the owner, or allow it with: git config --global --add safe.directory {}",
                    shell_path(path)
                )),
            ),
            Error::UnknownRevision { .. } => (
                FaultKind::Git,
                Some("see `git log --oneline --all`".to_string()),
            ),
            Error::Read { why, .. } => {
                let helps =
                    shortage_in(why).map_or_else(|| remedy_for(why), |shortage| shortage.helps);
                (FaultKind::Git, Some(helps.to_string()))
            }
        };
        UnreadableFact {
            kind,
            why: error.to_string(),
            hint,
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
