//! Errors of watchdog's own state, in words that say what happened, why, and what to do next.

use std::io;
use std::path::{Path, PathBuf};

use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_facts::shell_line::shell_path;

/// Why watchdog's own state could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No flag and no environment variable names the state directory.
    #[error(
        "no place for watchdog's state is known: neither XDG_STATE_HOME nor HOME is an absolute path"
    )]
    NoPlace,
    /// The path is taken by something that is not a directory.
    #[error("cannot use {path} for watchdog's state: it is not a directory")]
    NotADirectory {
        /// The path of the state directory.
        path: PathBuf,
    },
    /// The directory, or the link to it, belongs to another user.
    #[error(
        "cannot use {path} for watchdog's state: it belongs to user {owner}, not to you (user {user})"
    )]
    ForeignOwner {
        /// The state directory, or the link to it.
        path: PathBuf,
        /// User id of the owner.
        owner: u32,
        /// User id of this process.
        user: u32,
    },
    /// Others may write into the directory.
    #[error(
        "cannot use {path} for watchdog's state: other users may write into it (mode {mode:o})"
    )]
    OpenToOthers {
        /// The state directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file system is read-only, or permissions forbid writing.
    #[error("failed to {doing} {path}: {why}")]
    ReadOnly {
        /// The failed action, as a verb: "create".
        doing: &'static str,
        /// The file or folder that it concerns.
        path: PathBuf,
        /// The operating system's or the database's error.
        why: String,
    },
    /// The disk or a quota is full.
    #[error("failed to {doing} {path}: {why}")]
    Full {
        /// The failed action, as a verb: "create".
        doing: &'static str,
        /// The file or folder that it concerns.
        path: PathBuf,
        /// The operating system's or the database's error.
        why: String,
    },
    /// Any other refusal of the operating system.
    #[error("failed to {doing} {path}: {why}")]
    Io {
        /// The failed action, as a verb: "create".
        doing: &'static str,
        /// The file or folder that it concerns.
        path: PathBuf,
        /// The operating system's or the database's error.
        why: String,
    },
    /// Another process kept the database to itself for longer than we wait.
    #[error("{path} is in use by another process, and stayed so for {seconds} seconds")]
    Busy {
        /// The file of the database.
        path: PathBuf,
        /// How long this process waited.
        seconds: u64,
    },
    /// A later version of watchdog wrote it.
    #[error(
        "{path} has format {file_format}, and this watchdog knows formats up to {newest_format}"
    )]
    Newer {
        /// The file of the database.
        path: PathBuf,
        /// The format that the file names.
        file_format: i64,
        /// The newest format that this program reads.
        newest_format: i64,
    },
    /// The file is a database of some other program.
    #[error("{path} is a database, but not one of watchdog's")]
    Foreign {
        /// The file of the database.
        path: PathBuf,
    },
    /// The database is damaged and could not be put aside.
    #[error("{path} is damaged: {why}")]
    Damaged {
        /// The file of the database.
        path: PathBuf,
        /// The database's error, or why it could not be moved.
        why: String,
    },
    /// The database refused for a reason of its own.
    #[error("failed to {doing} in {path}: {why}")]
    Engine {
        /// The failed action, as a verb with its object.
        doing: &'static str,
        /// The file of the database.
        path: PathBuf,
        /// The database's error.
        why: String,
    },
    /// A row cannot be understood.
    #[error("the stored {what} cannot be read: {why}")]
    BadRecord {
        /// The kind of row, in words for a person.
        what: String,
        /// The reason that its bytes are refused.
        why: String,
    },
    /// A row was written by a later version of watchdog.
    #[error(
        "the stored {what} has format {row_format}, and this watchdog knows formats up to {newest_format}"
    )]
    NewerRecord {
        /// The kind of row, in words for a person.
        what: String,
        /// The format that the row names.
        row_format: u64,
        /// The newest format that this program reads.
        newest_format: u64,
    },
    /// Other processes changed the same row again and again.
    #[error("the stored {what} was changed by others {attempts} times while it was being updated")]
    Contended {
        /// The kind of row, in words for a person.
        what: String,
        /// How often the update was tried.
        attempts: u32,
    },
    /// The answer to a write was lost, and others wrote since: nobody can say whether it was done.
    #[error(
        "whether the stored {what} was changed is unknown: the answer was lost, and others changed it since"
    )]
    Unsure {
        /// The kind of row, in words for a person.
        what: String,
    },
    /// So much waits already that no more is taken.
    #[error("{count} {what} wait already, and no more are taken")]
    TooMany {
        /// The queued items, in the plural.
        what: &'static str,
        /// How long the queue is.
        count: usize,
    },
    /// The engine that machines share refused, or did not answer.
    #[error("{why}")]
    Shared {
        /// The failure, and why.
        why: String,
        /// The remedy, for a person.
        remedy: String,
    },
    /// Not a fingerprint.
    #[error("'{text}' is not a hash: expected 64 hexadecimal digits")]
    NotAHash {
        /// The text that was to be read as a fingerprint.
        text: String,
    },
}

impl StoreError {
    /// Sorts an error of the operating system by what the user can do about it.
    pub(super) fn io(doing: &'static str, path: &Path, source: &io::Error) -> Self {
        let path = path.to_owned();
        let why = source.to_string();
        match source.kind() {
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                StoreError::ReadOnly { doing, path, why }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                StoreError::Full { doing, path, why }
            }
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                StoreError::NotADirectory { path }
            }
            _ => StoreError::Io { doing, path, why },
        }
    }

    /// The remedy, for a person.
    pub fn hint(&self) -> String {
        let hint = "name another directory with --state-dir or WATCHDOG_STATE_DIR";
        match self {
            StoreError::NoPlace => hint.to_string(),
            StoreError::NotADirectory { path } => format!("move {} away, or {hint}", path.display()),
            StoreError::ForeignOwner { .. } => format!("run watchdog as that user, or {hint}"),
            StoreError::OpenToOthers { path, .. } => format!("close it with: chmod go-w {}; or {hint}", shell_path(path)),
            StoreError::ReadOnly { .. } => format!("make it writable for you, or {hint}"),
            StoreError::Full { .. } => format!("free some space on that disk, or of your quota there, or {hint}"),
            StoreError::Io { .. } => format!("see the system's log for that disk, or {hint}"),
            StoreError::Busy { path, .. } => format!("see who has it open: fuser -v {}", shell_path(path)),
            StoreError::Newer { .. } | StoreError::NewerRecord { .. } => {
                format!("use the newer watchdog that wrote it, or {hint}; nothing was changed")
            }
            StoreError::Foreign { .. } => format!("{hint}; nothing was changed"),
            StoreError::Damaged { path, .. } => format!("move {} away; what it held is rebuilt from git where it can be", path.display()),
            StoreError::Engine { .. } => format!("try again, or {hint}"),
            StoreError::BadRecord { .. } => {
                "record it anew: a baseline with `watchdog snapshot`, a breaker with `watchdog breaker reset`".to_string()
            }
            StoreError::Contended { .. } => "try again".to_string(),
            StoreError::Unsure { .. } => "look at what is recorded now, and try again where it is not as it should be".to_string(),
            StoreError::TooMany { .. } => "see why they are not delivered with `watchdog events --all --kind notify`".to_string(),
            StoreError::Shared { remedy, .. } => remedy.clone(),
            StoreError::NotAHash { .. } => "see `watchdog trust --list`".to_string(),
        }
    }
}

impl From<StoreError> for UnreadableFact {
    fn from(error: StoreError) -> Self {
        UnreadableFact {
            kind: FaultKind::Store,
            why: error.to_string(),
            hint: Some(error.hint()),
        }
    }
}
