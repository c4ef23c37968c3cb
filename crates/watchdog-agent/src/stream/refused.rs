//! The words by which a sandbox says that it refused a command to its agent.

use watchdog_facts::refused_tool::RefusalCause;

/// Why a command of a sandboxed agent failed, where its output says that it could not write.
pub(super) fn read_only_cause(output: &str) -> Option<RefusalCause> {
    let mut lines = output
        .lines()
        .rev()
        .map(str::trim_end)
        .filter(|line| line.ends_with("Read-only file system"));
    let git =
        |line: &str| line.contains("/.git/") || line.contains("'.git/") || line.contains(".lock'");
    let first = lines.next()?;
    let is_git = git(first) || lines.any(git);
    Some(if is_git {
        RefusalCause::ReadOnlyGit
    } else {
        RefusalCause::ReadOnly
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_write_names_the_read_only_place() {
        for (output, cause) in [
            (
                "fatal: Unable to create '/w/.git/index.lock': Read-only file system\n",
                Some(RefusalCause::ReadOnlyGit),
            ),
            (
                "fatal: Unable to create '/r/.git/worktrees/a/index.lock': Read-only file system",
                Some(RefusalCause::ReadOnlyGit),
            ),
            (
                "/bin/bash: line 1: f.txt: Read-only file system\n",
                Some(RefusalCause::ReadOnly),
            ),
            ("the docs say: a Read-only file system is one that\n", None),
            ("ok\n", None),
            ("", None),
        ] {
            assert_eq!(read_only_cause(output), cause, "{output}");
        }
    }
}
