//! What watchdog left of worktrees as JSON: the output of `watchdog forget --json`.

use serde::Serialize;

/// The leftovers, and whether they were removed.
#[derive(Serialize)]
pub struct LeftoverList<'a> {
    /// Whether it was removed.
    pub removed: bool,
    /// Whether every worktree of the repository is meant.
    pub all: bool,
    /// The worktrees that are meant.
    pub worktrees: Vec<LeftWorktree<'a>>,
    /// The removed entries, by kind.
    pub entries: Vec<LeftEntry>,
    /// The entries that stay: the word for why, and how many.
    #[serde(rename = "kept")]
    pub keep_counts: Vec<KeptEntry>,
    /// The things that could not be looked at, for a person.
    pub notes: &'a [String],
}

/// A worktree that is meant.
#[derive(Serialize)]
pub struct LeftWorktree<'a> {
    /// Its name in the records.
    pub id: &'a str,
    /// Its top folder, where it is known.
    #[serde(rename = "worktree")]
    pub root: Option<String>,
    /// Whether that folder is gone.
    pub gone: bool,
}

/// The leftovers of a kind.
#[derive(Serialize)]
pub struct LeftEntry {
    /// The word for the kind.
    pub kind: &'static str,
    /// How many.
    pub count: u64,
    /// Their size, where it is known.
    pub bytes: Option<u64>,
}

/// What stays of one kind.
#[derive(Serialize)]
pub struct KeptEntry {
    /// The word for why.
    pub kind: &'static str,
    /// How many.
    pub count: u64,
}
