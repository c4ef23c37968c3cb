//! Tools that a program refused to its agent: the option of that very program that allows them, and the words of a sandbox.

use super::dialect::StreamDialect;
use watchdog_facts::refused_tool::{RefusalCause, RefusedTool};

/// The option that allows what was refused, as it is typed; `None` where the program is not known.
pub fn allowing_option(dialect: Option<StreamDialect>, refused: &[RefusedTool]) -> Option<String> {
    let has = |cause| refused.iter().any(|tool: &RefusedTool| tool.cause == cause);
    if refused.is_empty() {
        return None;
    }
    Some(match dialect? {
        StreamDialect::Claude => {
            let tools: Vec<&str> = refused.iter().map(|refused| refused.tool.as_str()).collect();
            format!("--allowedTools {}", tools.join(" "))
        }
        StreamDialect::Codex if has(RefusalCause::ReadOnly) => "-c sandbox_mode=\"workspace-write\"".into(),
        StreamDialect::Codex => "-c sandbox_workspace_write.writable_roots=[\".git\"]".into(),
        StreamDialect::Gemini | StreamDialect::Qwen => "--approval-mode yolo".into(),
        StreamDialect::Opencode => "--auto, or OPENCODE_PERMISSION".into(),
        StreamDialect::Copilot => "--allow-all-tools".into(),
        StreamDialect::Antigravity => return None,
    })
}

/// Why a command of a sandboxed agent failed, where its output says that it could not write.
pub(super) fn read_only_cause(output: &str) -> Option<RefusalCause> {
    let mut lines = output.lines().rev().map(str::trim_end).filter(|line| line.ends_with("Read-only file system"));
    let git = |line: &str| line.contains("/.git/") || line.contains("'.git/") || line.contains(".lock'");
    let first = lines.next()?;
    let is_git = git(first) || lines.any(git);
    Some(if is_git { RefusalCause::ReadOnlyGit } else { RefusalCause::ReadOnly })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_could_not_write_names_what_was_read_only() {
        for (output, cause) in [
            ("fatal: Unable to create '/w/.git/index.lock': Read-only file system\n", Some(RefusalCause::ReadOnlyGit)),
            ("fatal: Unable to create '/r/.git/worktrees/a/index.lock': Read-only file system", Some(RefusalCause::ReadOnlyGit)),
            ("/bin/bash: line 1: f.txt: Read-only file system\n", Some(RefusalCause::ReadOnly)),
            ("the docs say: a Read-only file system is one that\n", None),
            ("ok\n", None),
            ("", None),
        ] {
            assert_eq!(read_only_cause(output), cause, "{output}");
        }
    }

    #[test]
    fn every_program_has_an_option_of_its_own() {
        let refused = |tool: &str, cause| [RefusedTool { tool: tool.into(), cause }];
        for (dialect, refused, option) in [
            (StreamDialect::Claude, refused("Bash", RefusalCause::Permission), "--allowedTools Bash"),
            (StreamDialect::Codex, refused("command_execution", RefusalCause::ReadOnly), "-c sandbox_mode=\"workspace-write\""),
            (
                StreamDialect::Codex,
                refused("command_execution", RefusalCause::ReadOnlyGit),
                "-c sandbox_workspace_write.writable_roots=[\".git\"]",
            ),
            (StreamDialect::Gemini, refused("run_shell_command", RefusalCause::NotOffered), "--approval-mode yolo"),
            (StreamDialect::Qwen, refused("run_shell_command", RefusalCause::Permission), "--approval-mode yolo"),
            (StreamDialect::Opencode, refused("bash", RefusalCause::Permission), "--auto, or OPENCODE_PERMISSION"),
            (StreamDialect::Copilot, refused("bash", RefusalCause::Permission), "--allow-all-tools"),
        ] {
            assert_eq!(allowing_option(Some(dialect), &refused).as_deref(), Some(option), "{dialect:?}");
        }
        assert_eq!(allowing_option(None, &refused("Bash", RefusalCause::Permission)), None);
        assert_eq!(allowing_option(Some(StreamDialect::Claude), &[]), None);
    }
}
