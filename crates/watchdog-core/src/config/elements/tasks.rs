//! `tasks`: where task files are.

use super::super::key_kinds::INSIDE_PATH;
use super::super::key_table::{KeyBlock, keys, no_rules};
use super::super::settings::{ConfigSettings, TaskSettings};

pub(in super::super) static BLOCK: KeyBlock<TaskSettings> = KeyBlock {
    name: "tasks",
    defaults: || ConfigSettings::default().tasks,
    keys: keys! { TaskSettings;
        "dir" => dir: INSIDE_PATH, "the folder of task files, inside the worktree";
    },
    rules: no_rules,
};

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, reads};

    #[test]
    fn tasks_stay_inside_the_worktree() {
        assert_eq!(reads("{}").tasks.dir, ".watchdog/tasks");
        assert_eq!(reads(r#"{"tasks": {"dir": "todo"}}"#).tasks.dir, "todo");
        fails(
            r#"{"tasks": {"dir": "../todo"}}"#,
            "tasks.dir: must be a path inside the worktree: it leads out of the worktree",
        );
        fails(
            r#"{"tasks": {"dir": "/todo"}}"#,
            "tasks.dir: must be a path inside the worktree: it is not relative",
        );
    }
}
