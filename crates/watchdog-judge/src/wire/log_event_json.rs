//! The logs of a worktree as JSON. See `docs/logs.md`.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

/// A log in a list, and what is known of its session.
#[derive(Debug, Clone, Serialize)]
pub struct ListedLog {
    /// Its name.
    pub id: String,
    /// The name of the work.
    pub spec: Option<String>,
    /// When the session began.
    #[serde(rename = "began_at")]
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
    json!({"schema": 1, "worktree": worktree, "logs": logs})
}
