//! Task files: a new status changes one word, and the old status brings the old bytes back.

use std::path::Path;

use watchdog_core::config::task_file::{
    StatusPosition, TASK_STATUSES, has_front_matter, parse_task, why_no_id,
};
use watchdog_judge::tasks::write_back::with_status;

/// Reads an input as a task's file, and writes each status into it.
pub fn run(input: &[u8]) {
    let read = |bytes: &[u8]| parse_task(bytes, Path::new("t.md"));
    let task = match read(input) {
        Ok(task) => task,
        Err(error) => return assert!(!error.problems.is_empty(), "a refusal says why"),
    };
    assert!(has_front_matter(input));
    assert_eq!(why_no_id(&task.id), None);
    let _ = task.commands();
    for (_, status) in TASK_STATUSES {
        // Where it cannot be, a person is told, and the file stays: with_status reads again what it wrote.
        let Some(written) = with_status(input, &task, *status, Path::new("t.md")) else {
            continue;
        };
        let again = read(&written)
            .unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&written)));
        // A word in place of a word: the old one brings every byte back.
        if let (Some(before), StatusPosition::At(range)) = (task.status, &task.status_position)
            && !range.is_empty()
        {
            assert_eq!(
                with_status(&written, &again, before, Path::new("t.md")).as_deref(),
                Some(input),
                "{}",
                String::from_utf8_lossy(&written)
            );
        }
    }
}
