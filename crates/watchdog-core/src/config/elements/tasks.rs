//! `tasks`: where task files are.

use super::super::reader::{ConfigNode, put};
use super::super::settings::TaskSettings;

pub(in super::super) const KEYS: &[&str] = &["dir"];

pub(in super::super) fn read(node: &ConfigNode<'_>, into: &mut TaskSettings) {
    let Some(section) = node.section(KEYS) else { return };
    put(&mut into.dir, section.get("dir").and_then(|n| n.inside_path()));
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, reads};

    #[test]
    fn tasks_stay_inside_the_worktree() {
        assert_eq!(reads("{}").tasks.dir, ".watchdog/tasks");
        assert_eq!(reads(r#"{"tasks": {"dir": "todo"}}"#).tasks.dir, "todo");
        fails(r#"{"tasks": {"dir": "../todo"}}"#, "tasks.dir: must be a path inside the worktree: it leads out of the worktree");
        fails(r#"{"tasks": {"dir": "/todo"}}"#, "tasks.dir: must be a path inside the worktree: it is not relative");
    }
}
