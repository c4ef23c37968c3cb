//! What can go wrong with watchdog's own state, in words that say what happened, why, and what to do next.

use std::io;
use std::path::{Path, PathBuf};

use watchdog_facts::evidence::{FaultKind, UnreadableFact};

/// Why watchdog's own state could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Neither a flag nor the environment says where the state lives.
    #[error("no place for watchdog's state is known: neither XDG_STATE_HOME nor HOME is an absolute path")]
    NoPlace,
    /// The path is taken by something that is not a directory.
    #[error("cannot use {path} for watchdog's state: it is not a directory")]
    NotADirectory { path: PathBuf },
    /// The directory, or the link to it, belongs to another user.
    #[error("cannot use {path} for watchdog's state: it belongs to user {owner}, not to you (user {user})")]
    ForeignOwner { path: PathBuf, owner: u32, user: u32 },
    /// Others may write into the directory.
    #[error("cannot use {path} for watchdog's state: other users may write into it (mode {mode:o})")]
    OpenToOthers { path: PathBuf, mode: u32 },
    /// The file system is read-only, or permissions forbid writing.
    #[error("failed to {doing} {path}: {why}")]
    ReadOnly { doing: &'static str, path: PathBuf, why: String },
    /// The disk or a quota is full.
    #[error("failed to {doing} {path}: {why}")]
    Full { doing: &'static str, path: PathBuf, why: String },
    /// Any other refusal of the operating system.
    #[error("failed to {doing} {path}: {why}")]
    Io { doing: &'static str, path: PathBuf, why: String },
    /// Another process kept the database to itself for longer than we wait.
    #[error("{path} is in use by another process, and stayed so for {seconds} seconds")]
    Busy { path: PathBuf, seconds: u64 },
    /// A later version of watchdog wrote it.
    #[error("{path} has format {found}, and this watchdog knows formats up to {known}")]
    Newer { path: PathBuf, found: i64, known: i64 },
    /// The file is a database of some other program.
    #[error("{path} is a database, but not one of watchdog's")]
    Foreign { path: PathBuf },
    /// The database is damaged and could not be put aside.
    #[error("{path} is damaged: {why}")]
    Damaged { path: PathBuf, why: String },
    /// The database refused for a reason of its own.
    #[error("failed to {doing} in {path}: {why}")]
    Engine { doing: &'static str, path: PathBuf, why: String },
    /// One row cannot be understood.
    #[error("the stored {what} cannot be read: {why}")]
    BadRecord { what: String, why: String },
    /// One row was written by a later version of watchdog.
    #[error("the stored {what} has format {found}, and this watchdog knows formats up to {known}")]
    NewerRecord { what: String, found: u64, known: u64 },
    /// Other processes changed the same row again and again.
    #[error("the stored {what} was changed by others {attempts} times while it was being updated")]
    Contended { what: String, attempts: u32 },
    /// So much waits already that no more is taken.
    #[error("{count} {what} wait already, and no more are taken")]
    TooMany { what: &'static str, count: usize },
    /// Not a fingerprint.
    #[error("'{text}' is not a hash: expected 64 hexadecimal digits")]
    NotAHash { text: String },
}

impl StoreError {
    /// Sorts an error of the operating system by what the user can do about it.
    pub(super) fn io(doing: &'static str, path: &Path, source: &io::Error) -> Self {
        let path = path.to_owned();
        let why = source.to_string();
        match source.kind() {
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => StoreError::ReadOnly { doing, path, why },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { doing, path, why },
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => StoreError::NotADirectory { path },
            _ => StoreError::Io { doing, path, why },
        }
    }

    /// What the person can do next.
    pub fn hint(&self) -> String {
        let hint = "name another directory with --state-dir or WATCHDOG_STATE_DIR";
        match self {
            StoreError::NoPlace => hint.to_string(),
            StoreError::NotADirectory { path } => format!("move {} away, or {hint}", path.display()),
            StoreError::ForeignOwner { .. } => format!("run watchdog as that user, or {hint}"),
            StoreError::OpenToOthers { path, .. } => format!("run: chmod go-w '{}'; or {hint}", path.display()),
            StoreError::ReadOnly { .. } => format!("make it writable for you, or {hint}"),
            StoreError::Full { .. } => format!("free some space on that disk, or {hint}"),
            StoreError::Io { .. } => format!("see the system's log for that disk, or {hint}"),
            StoreError::Busy { path, .. } => format!("see who has it open: fuser -v '{}'", path.display()),
            StoreError::Newer { .. } | StoreError::NewerRecord { .. } => {
                format!("use the newer watchdog that wrote it, or {hint}; nothing was changed")
            }
            StoreError::Foreign { .. } => format!("{hint}; nothing was changed"),
            StoreError::Damaged { path, .. } => format!("move {} away; what it held is rebuilt from git where it can be", path.display()),
            StoreError::Engine { .. } => format!("try again, or {hint}"),
            StoreError::BadRecord { .. } => "record it anew (watchdog snapshot, watchdog breaker reset)".to_string(),
            StoreError::Contended { .. } => "try again".to_string(),
            StoreError::TooMany { .. } => "see why they are not delivered: watchdog events --all --kind notify".to_string(),
            StoreError::NotAHash { .. } => "see: watchdog trust --list".to_string(),
        }
    }
}

impl From<StoreError> for UnreadableFact {
    fn from(error: StoreError) -> Self {
        UnreadableFact { kind: FaultKind::Store, why: error.to_string(), hint: Some(error.hint()) }
    }
}
