//! The logs of a worktree as JSON. See `docs/logs.md`.

use jiff::Timestamp;
use serde_json::{Value, json};

/// A log in a list, and what is known of its session.
#[derive(Debug, Clone)]
pub struct ListedLog {
    /// Its name.
    pub id: String,
    /// The name of the work.
    pub spec: Option<String>,
    /// When the session began.
    pub began: Option<Timestamp>,
    /// Bytes.
    pub size: u64,
    /// The status of the verdict, or `running`.
    pub end: Option<String>,
    /// The file.
    pub path: String,
}

/// The logs of a worktree.
pub fn logs_json(worktree: &str, logs: &[ListedLog]) -> Value {
    let of = |listed: &ListedLog| {
        let ListedLog {
            id,
            spec,
            began,
            size,
            end,
            path,
        } = listed;
        json!({"id": id, "spec": spec, "began_at": began.map(|at| at.to_string()), "size": size, "end": end, "path": path})
    };
    json!({"schema": 1, "worktree": worktree, "logs": logs.iter().map(of).collect::<Vec<_>>()})
}
