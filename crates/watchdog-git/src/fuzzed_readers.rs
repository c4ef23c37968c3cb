//! Opens private readers to fuzz targets and comparisons with git.

use std::path::Path;

use super::error::Error;
use super::reflog::{self, ReflogEntry};

/// A movement of a ref, as its reflog has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedMovement {
    /// The object before it, in hexadecimal digits.
    pub old: String,
    /// The object after it.
    pub new: String,
    /// The meaning of its message.
    pub meaning: MovementMeaning,
    /// The names of what it came from.
    pub sources: Vec<String>,
}

/// The meaning of a movement's message, as far as credit depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovementMeaning {
    /// Whether the commit was made by it.
    pub makes: bool,
    /// All of it, for a message.
    pub words: String,
}

impl From<reflog::ReflogAction> for MovementMeaning {
    fn from(action: reflog::ReflogAction) -> Self {
        MovementMeaning {
            makes: action.makes(),
            words: format!("{action:?}"),
        }
    }
}

/// Parses this message of a reflog.
pub fn meaning_of(message: &str) -> MovementMeaning {
    reflog::parse_action(message).into()
}

/// The movements in the file of a reflog, oldest first.
///
/// # Errors
/// [`Error::Read`] where it cannot be read.
pub fn read_movements(file: &Path) -> Result<Vec<LoggedMovement>, Error> {
    movements_since(file, |_, _| false)
}

/// The same from the newest movement on of which `is_last` says so, given its old and its new object.
///
/// # Errors
/// As [`read_movements`].
pub fn movements_since(
    file: &Path,
    is_last: impl Fn(&str, &str) -> bool,
) -> Result<Vec<LoggedMovement>, Error> {
    let ids = |entry: &ReflogEntry| {
        (
            entry.old.to_hex().to_string(),
            entry.new.to_hex().to_string(),
        )
    };
    let tail = reflog::read_tail(file, |entry| {
        let (old, new) = ids(entry);
        is_last(&old, &new)
    })?;
    let movement = |entry: ReflogEntry| {
        let (old, new) = ids(&entry);
        LoggedMovement {
            old,
            new,
            meaning: entry.action.into(),
            sources: entry.sources,
        }
    };
    Ok(tail.entries.into_iter().map(movement).collect())
}

/// The content of an index with the checksum at its end that makes its reader look at it.
pub fn with_checksum(content: &[u8]) -> Vec<u8> {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(content);
    let checksum = hasher
        .try_finalize()
        .map(|id| id.as_slice().to_vec())
        .unwrap_or_default();
    [content, &checksum].concat()
}
