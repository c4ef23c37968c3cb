//! The tasks of a board in the order of their urgency, and why one does not begin. Pure.

use watchdog_core::config::task_file::TaskStatus;
use watchdog_facts::display::{escape_to_one_line, shorten_text};
use watchdog_judge::tasks::task_board::{BoardTask, TaskBoard};

/// The most urgent first, as the queue has them, so that the list reads as what will happen.
pub fn in_order(board: &TaskBoard) -> Vec<&BoardTask> {
    let mut entries: Vec<&BoardTask> = board.entries().collect();
    entries.sort_by(|a, b| {
        let key = |entry: &BoardTask| {
            (
                entry.loaded.task.priority,
                entry.record.since,
                entry.id().to_owned(),
            )
        };
        key(a).cmp(&key(b))
    });
    entries
}

/// Why a task does not begin, or what became of it.
pub fn why_waiting(board: &TaskBoard, entry: &BoardTask) -> Option<String> {
    if entry.gone {
        return Some("its file is gone".to_owned());
    }
    let words = match entry.record.status {
        TaskStatus::Pending | TaskStatus::Blocked if !board.dependencies().is_met(entry.id()) => {
            format!(
                "waits for {}",
                board
                    .blockers(entry.id())
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        TaskStatus::Complete | TaskStatus::Pending => return None,
        _ => entry.record.message.clone()?,
    };
    Some(shorten_text(&escape_to_one_line(&words), 100))
}
