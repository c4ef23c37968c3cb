//! What watchdog left of worktrees as JSON: the output of `watchdog forget`.

use std::path::Path;

use serde_json::{Value, json};

/// What is left, and whether it was removed.
pub struct LeftoverList<'a> {
    /// Whether it was removed.
    pub removed: bool,
    /// Whether every worktree of the repository is meant.
    pub all: bool,
    /// The worktrees that are meant.
    pub worktrees: Vec<LeftWorktree<'a>>,
    /// What is removed, by kind.
    pub entries: Vec<LeftEntry>,
    /// What stays: the word for why, and how many.
    pub kept: Vec<(&'static str, u64)>,
    /// What could not be looked at, for a person.
    pub notes: &'a [String],
}

/// A worktree that is meant.
pub struct LeftWorktree<'a> {
    /// Its name in the records.
    pub id: &'a str,
    /// Its top folder, where it is known.
    pub root: Option<&'a Path>,
    /// Whether that folder is gone.
    pub gone: bool,
}

/// What there is of one kind.
pub struct LeftEntry {
    /// The word for the kind.
    pub kind: &'static str,
    /// How many.
    pub count: u64,
    /// Their size, where it is known.
    pub bytes: Option<u64>,
}

/// `watchdog forget --json`.
pub fn leftovers_json(list: &LeftoverList<'_>) -> Value {
    let worktree = |left: &LeftWorktree<'_>| json!({"id": left.id, "worktree": left.root.map(|root| root.display().to_string()), "gone": left.gone});
    let entry =
        |entry: &LeftEntry| json!({"kind": entry.kind, "count": entry.count, "bytes": entry.bytes});
    let kept = list
        .kept
        .iter()
        .map(|(kind, count)| json!({"kind": kind, "count": count}));
    json!({
        "schema": 1,
        "removed": list.removed,
        "all": list.all,
        "worktrees": list.worktrees.iter().map(worktree).collect::<Vec<_>>(),
        "entries": list.entries.iter().map(entry).collect::<Vec<_>>(),
        "kept": kept.collect::<Vec<_>>(),
        "notes": list.notes,
    })
}
