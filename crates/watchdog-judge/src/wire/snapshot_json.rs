//! Snapshots of work as JSON: the output of `watchdog rescue list`, `show`, `restore` and `drop`, and the events of the last two.

use serde_json::{Value, json};

use super::verdict_json::as_answer;
use watchdog_facts::evidence::LeftOut;
use watchdog_git::{
    FileDiff, RestoreResult, SnapshotDiff, SnapshotPathKind, SnapshotSizes, SnapshotSummary,
};

/// The most paths of a list.
pub(super) const LISTED: usize = 1000;

/// `watchdog rescue list --json`, with sizes where they were measured.
pub fn snapshots_json(snapshots: &[SnapshotSummary], sizes: Option<&SnapshotSizes>) -> Value {
    let mut value = json!({"schema": 1, "snapshots": snapshots});
    if let Some(sizes) = sizes {
        value["bytes"] = sizes.total.into();
        for (at, bytes) in sizes.alone.iter().enumerate() {
            value["snapshots"][at]["alone_bytes"] = (*bytes).into();
        }
    }
    value
}

/// `watchdog rescue show --json`: what a snapshot changes, without its patches where `stat` alone was asked for.
pub fn shown_snapshot_json(diff: &SnapshotDiff, stat: bool) -> Value {
    let mut value = as_answer(&diff.info);
    value["paths"] = diff.files.iter().map(file_json).collect();
    if !stat {
        value["patch"] = diff
            .files
            .iter()
            .filter_map(|file| file.patch.as_deref())
            .collect::<String>()
            .into();
        value["patch_cut"] = diff.cut.into();
    }
    value
}

fn file_json(file: &FileDiff) -> Value {
    let (added, removed) = file.lines.unzip();
    json!({
        "path": file.path,
        "change": change_word(file),
        "bytes": file.bytes,
        "added": added,
        "removed": removed,
        "private": file.private,
    })
}

/// How a file of a snapshot differs from the commit that it started from.
pub fn change_word(file: &FileDiff) -> &'static str {
    match file.kind {
        SnapshotPathKind::Deleted => "deleted",
        SnapshotPathKind::Submodule => "submodule",
        SnapshotPathKind::File if file.is_new => "new",
        SnapshotPathKind::File => "changed",
    }
}

/// `watchdog rescue restore --json`: the kind of destination and the destination to which a snapshot was brought back.
pub fn restored_json(id: &str, kind: &str, destination: &str, restored: &RestoreResult) -> Value {
    json!({
        "schema": 1,
        "restored": id,
        "to": kind,
        "where": destination,
        "files": restored.files,
        "left_out": list_first(&restored.left_out),
        "note": restored.note,
    })
}

/// A snapshot that was brought back, as an event has it.
pub fn restored_data(id: &str) -> Value {
    json!({"snapshot": id})
}

/// `watchdog rescue drop --json`.
pub fn dropped_json(dropped: &SnapshotSummary) -> Value {
    json!({"schema": 1, "dropped": dropped.id, "commit": dropped.commit})
}

/// The first of what was left out.
pub(super) fn list_first(left_out: &[LeftOut]) -> &[LeftOut] {
    &left_out[..left_out.len().min(LISTED)]
}
