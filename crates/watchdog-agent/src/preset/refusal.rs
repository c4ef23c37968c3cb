//! The option of a program that allows what it refused to its agent, as the preset names it. Pure.

use serde::{Deserialize, Serialize};

use watchdog_facts::refused_tool::{RefusalCause, RefusedTool};

/// The option that allows tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusalAdvice {
    /// The option, as it is typed; `{tools}` stands for the names of the tools.
    pub option: String,
    /// The tools that it allows.
    pub allows: String,
    /// Options in its place, by the cause.
    #[serde(default, skip_serializing)]
    pub by_cause: OptionsByCause,
}

/// Options for single causes; `None` = the option for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OptionsByCause {
    /// The option for a missing permission.
    pub permission: Option<String>,
    /// The option if the program does not offer the tool in this mode.
    pub not_offered: Option<String>,
    /// The option if the sandbox forbids all writing.
    pub read_only: Option<String>,
    /// The option if the sandbox forbids writing to `.git`.
    pub read_only_git: Option<String>,
}

impl OptionsByCause {
    fn get_option(&self, cause: RefusalCause) -> Option<&str> {
        let option = match cause {
            RefusalCause::Permission => &self.permission,
            RefusalCause::NotOffered => &self.not_offered,
            RefusalCause::ReadOnly => &self.read_only,
            RefusalCause::ReadOnlyGit => &self.read_only_git,
        };
        option.as_deref()
    }
}

impl RefusalAdvice {
    /// The option that allows these tools, as it is typed; `None` where there are none.
    pub fn option_for(&self, refused: &[RefusedTool]) -> Option<String> {
        if refused.is_empty() {
            return None;
        }
        // A sandbox that lets nothing be written keeps `.git` as well: what opens it comes first.
        let causes = [
            RefusalCause::ReadOnly,
            RefusalCause::ReadOnlyGit,
            RefusalCause::NotOffered,
            RefusalCause::Permission,
        ];
        let has = |cause: &RefusalCause| refused.iter().any(|tool| tool.cause == *cause);
        let option = causes
            .into_iter()
            .filter(has)
            .find_map(|cause| self.by_cause.get_option(cause))
            .unwrap_or(&self.option);
        let tools: Vec<&str> = refused
            .iter()
            .map(|refused| refused.tool.as_str())
            .collect();
        Some(option.replace("{tools}", &tools.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalog::PresetCatalog;
    use watchdog_facts::refused_tool::{RefusalCause, RefusedTool};

    #[test]
    fn every_program_has_an_option_of_its_own() {
        for (agent, tool, cause, option) in [
            (
                "claude",
                "Bash",
                RefusalCause::Permission,
                "--allowedTools Bash",
            ),
            (
                "codex",
                "command_execution",
                RefusalCause::ReadOnly,
                "-c sandbox_mode=\"workspace-write\"",
            ),
            (
                "codex",
                "command_execution",
                RefusalCause::ReadOnlyGit,
                "-c 'sandbox_workspace_write.writable_roots=[\".git\"]'",
            ),
            (
                "gemini",
                "run_shell_command",
                RefusalCause::NotOffered,
                "--approval-mode yolo",
            ),
            (
                "qwen",
                "run_shell_command",
                RefusalCause::Permission,
                "--approval-mode yolo",
            ),
            (
                "opencode",
                "bash",
                RefusalCause::Permission,
                "OPENCODE_PERMISSION='{\"bash\":\"allow\"}'",
            ),
            (
                "copilot",
                "bash",
                RefusalCause::Permission,
                "--allow-all-tools",
            ),
        ] {
            let preset = PresetCatalog::built_in_named(agent).expect("it is built in");
            let advice = preset.refusals.as_ref().expect("it names one");
            let refused = [RefusedTool {
                tool: tool.into(),
                cause,
            }];
            assert_eq!(
                advice.option_for(&refused).as_deref(),
                Some(option),
                "{agent}"
            );
            assert_eq!(advice.option_for(&[]), None);
        }
    }

    #[test]
    fn name_option_lists_all_refused_tools() {
        let preset = PresetCatalog::built_in_named("claude").expect("it is built in");
        let refused = ["Bash", "WebFetch"].map(|tool| RefusedTool {
            tool: tool.into(),
            cause: RefusalCause::Permission,
        });
        let option = preset
            .refusals
            .as_ref()
            .and_then(|advice| advice.option_for(&refused));
        assert_eq!(option.as_deref(), Some("--allowedTools Bash WebFetch"));
    }
}
