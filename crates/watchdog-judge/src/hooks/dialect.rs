//! The agents whose hooks call watchdog: how each names its events, counts its timeouts, where it reads hooks, and what it holds. Pure.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::input::HookEvent;

/// An agent whose hooks watchdog answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HookDialect {
    /// Claude Code.
    #[default]
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
    /// GitHub Copilot CLI.
    Copilot,
    /// opencode, by a plugin that calls watchdog in Claude Code's form.
    Opencode,
}

/// The longest patience that Codex has with the end of a session; more is cut, with a complaint in its output.
const CODEX_END: u64 = 3;
/// From here on Qwen Code reads a timeout as milliseconds.
const QWEN_SECONDS: u64 = 1000;

impl HookDialect {
    /// All of them.
    pub const ALL: [HookDialect; 6] = [
        HookDialect::Claude,
        HookDialect::Codex,
        HookDialect::Gemini,
        HookDialect::Qwen,
        HookDialect::Copilot,
        HookDialect::Opencode,
    ];

    /// Its name on the command line, which is also that of its preset.
    pub fn as_str(self) -> &'static str {
        match self {
            HookDialect::Claude => "claude",
            HookDialect::Codex => "codex",
            HookDialect::Gemini => "gemini",
            HookDialect::Qwen => "qwen",
            HookDialect::Copilot => "copilot",
            HookDialect::Opencode => "opencode",
        }
    }

    /// The agent's name for a person.
    pub fn title(self) -> &'static str {
        match self {
            HookDialect::Claude => "Claude Code",
            HookDialect::Codex => "Codex",
            HookDialect::Gemini => "Gemini CLI",
            HookDialect::Qwen => "Qwen Code",
            HookDialect::Copilot => "Copilot CLI",
            HookDialect::Opencode => "opencode",
        }
    }

    /// The agent of this name.
    ///
    /// # Errors
    /// In a sentence, where its hooks are not known.
    pub fn from_name(name: &str) -> Result<Self, String> {
        HookDialect::ALL.into_iter().find(|dialect| dialect.as_str() == name).ok_or_else(|| {
            let names: Vec<&str> = HookDialect::ALL.map(HookDialect::as_str).to_vec();
            format!("no hooks of '{name}' are known (of {} they are); `watchdog loop` holds any agent", names.join(", "))
        })
    }

    /// The agent's name for an event, in its settings and in `hook_event_name`; `None` where it has no such event.
    pub fn event_name(self, event: HookEvent) -> Option<&'static str> {
        match (self, event) {
            (HookDialect::Gemini, HookEvent::Stop) => Some("AfterAgent"),
            (HookDialect::Gemini, HookEvent::PreToolUse) => Some("BeforeTool"),
            (HookDialect::Gemini, HookEvent::PostToolUse) => Some("AfterTool"),
            (HookDialect::Gemini, HookEvent::SubagentStop) => None,
            // Its own event of that name is for worktrees that a hook made, which it must remove itself.
            (HookDialect::Claude, HookEvent::WorktreeRemove) => Some("PreToolUse"),
            (HookDialect::Claude, event) => Some(event.as_str()),
            (_, HookEvent::WorktreeRemove | HookEvent::PromptSubmit) => None,
            (_, event) => Some(event.as_str()),
        }
    }

    /// Whether structured output is refused by a hook before it is given. Others ask at the stop as for any work.
    pub fn gates_output(self) -> bool {
        self == HookDialect::Claude
    }

    /// Whether its sub-agents can be held.
    pub fn holds_subagents(self) -> bool {
        self == HookDialect::Claude
    }

    /// Whether its transcripts have the form that checks of words and budgets read.
    pub fn has_known_transcript(self) -> bool {
        self == HookDialect::Claude
    }

    /// A timeout as its settings write it. Never more than the agent grants.
    pub fn timeout(self, event: HookEvent, patience: Duration) -> u64 {
        let seconds = patience.as_secs();
        match self {
            HookDialect::Codex if event == HookEvent::SessionEnd => seconds.min(CODEX_END),
            HookDialect::Gemini => seconds * 1000,
            HookDialect::Qwen if seconds >= QWEN_SECONDS => seconds * 1000,
            _ => seconds,
        }
    }

    /// The patience that a written timeout means.
    pub fn patience(self, timeout: u64) -> Duration {
        match self {
            HookDialect::Gemini => Duration::from_millis(timeout),
            HookDialect::Qwen if timeout >= QWEN_SECONDS => Duration::from_millis(timeout),
            _ => Duration::from_secs(timeout),
        }
    }

    /// The file of a project in which it reads hooks, from the project's root.
    pub fn project_file(self) -> &'static str {
        match self {
            HookDialect::Claude => ".claude/settings.json",
            HookDialect::Codex => ".codex/hooks.json",
            HookDialect::Gemini => ".gemini/settings.json",
            HookDialect::Qwen => ".qwen/settings.json",
            HookDialect::Copilot => ".github/copilot/settings.json",
            HookDialect::Opencode => ".opencode/plugin/watchdog.js",
        }
    }

    /// Every file of a project in which entries of ours may be.
    pub fn project_files(self) -> Vec<&'static str> {
        match self {
            HookDialect::Claude => vec![self.project_file(), ".claude/settings.local.json"],
            _ => vec![self.project_file()],
        }
    }

    /// The file of a person's own, given the environment; `None` without a home. An empty variable counts as absent.
    pub fn user_file(self, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let named = |name: &str| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let folder =
            |name: &str, usual: &str| named(name).or_else(|| Some(named("HOME")?.join(usual)));
        Some(match self {
            HookDialect::Claude => folder("CLAUDE_CONFIG_DIR", ".claude")?.join("settings.json"),
            HookDialect::Codex => folder("CODEX_HOME", ".codex")?.join("hooks.json"),
            HookDialect::Gemini => folder("GEMINI_CLI_HOME", "")?.join(".gemini/settings.json"),
            HookDialect::Qwen => folder("QWEN_HOME", ".qwen")?.join("settings.json"),
            HookDialect::Copilot => folder("COPILOT_HOME", ".copilot")?.join("settings.json"),
            HookDialect::Opencode => {
                folder("XDG_CONFIG_HOME", ".config")?.join("opencode/plugin/watchdog.js")
            }
        })
    }

    /// The files of a person's own, of every agent, given the environment.
    pub fn user_files(variable: impl Fn(&str) -> Option<OsString>) -> Vec<(HookDialect, PathBuf)> {
        HookDialect::ALL
            .into_iter()
            .filter_map(|dialect| Some((dialect, dialect.user_file(&variable)?)))
            .collect()
    }

    /// The variable with which it tells its hooks the folder that the session was started in.
    pub fn project_variable(self) -> Option<&'static str> {
        match self {
            HookDialect::Claude => Some("CLAUDE_PROJECT_DIR"),
            HookDialect::Gemini => Some("GEMINI_PROJECT_DIR"),
            HookDialect::Qwen => Some("QWEN_PROJECT_DIR"),
            HookDialect::Copilot => Some("COPILOT_PROJECT_DIR"),
            HookDialect::Codex | HookDialect::Opencode => None,
        }
    }

    /// How often in a row it lets a hook hold it, and the variable that changes this. The next hold has no effect any more.
    pub fn stop_blocks(self) -> (u32, Option<&'static str>) {
        match self {
            HookDialect::Claude => (8, Some("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP")),
            HookDialect::Qwen => (8, Some("QWEN_CODE_STOP_HOOK_BLOCK_CAP")),
            HookDialect::Copilot => (8, None),
            HookDialect::Gemini => (15, None),
            HookDialect::Codex | HookDialect::Opencode => (u32::MAX, None),
        }
    }

    /// Describes a person's further steps so that the agent runs the installed hooks; `of_project`
    /// = in the settings of a project.
    pub fn what_it_needs(self, of_project: bool) -> Option<&'static str> {
        match (self, of_project) {
            (HookDialect::Codex, false) => Some(
                "Codex runs them once you trusted them: start codex and choose /hooks (or run it with --dangerously-bypass-hook-trust)",
            ),
            (HookDialect::Codex, true) => Some(
                "Codex runs them in a project that you trust, once you trusted them: start codex there and choose /hooks (or run it with \
                 --trust --dangerously-bypass-hook-trust)",
            ),
            (HookDialect::Gemini, true) => Some(
                "Gemini CLI runs them in folders that you trust: /permissions trust, or GEMINI_CLI_TRUST_WORKSPACE=true",
            ),
            (HookDialect::Qwen, true) => Some(
                "Qwen Code runs them in every folder, or in those that you trust where its folder trust is on",
            ),
            (HookDialect::Copilot, true) => Some(
                "Copilot CLI runs them in folders that you trust (--trust-folder), as it does those of .claude/settings.json: have one of both",
            ),
            (HookDialect::Opencode, _) => Some(
                "opencode goes on by them in its own view and under serve; opencode run ends first: there `watchdog loop` holds it",
            ),
            _ => None,
        }
    }

    /// Whether this call of the agent has nobody to talk to, from its words. A call whose input is
    /// no terminal never has.
    pub fn is_headless(self, words: &[String], stdin_is_terminal: bool) -> bool {
        let has = |wanted: &[&str]| {
            words.iter().skip(1).any(|word| {
                wanted.iter().any(|option| {
                    word == option
                        || word
                            .strip_prefix(option)
                            .is_some_and(|after_option| after_option.starts_with('='))
                })
            })
        };
        !stdin_is_terminal
            || match self {
                HookDialect::Claude
                | HookDialect::Gemini
                | HookDialect::Qwen
                | HookDialect::Copilot => has(&["-p", "--print", "--prompt"]),
                HookDialect::Codex => has(&["exec", "e", "review"]),
                HookDialect::Opencode => has(&["run", "serve", "web"]),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_agent_names_select_a_hook_dialect() {
        for dialect in HookDialect::ALL {
            assert_eq!(HookDialect::from_name(dialect.as_str()), Ok(dialect));
        }
        let refused = HookDialect::from_name("amp").expect_err("it has no hooks that we know");
        assert!(
            refused.contains("'amp'")
                && refused.contains("qwen, copilot")
                && refused.contains("watchdog loop"),
            "{refused}"
        );
    }

    #[test]
    fn timeout_uses_the_agents_unit_and_round_trips() {
        let (stop, end) = (HookEvent::Stop, HookEvent::SessionEnd);
        for (dialect, event, seconds, written) in [
            (HookDialect::Claude, stop, 600, 600),
            (HookDialect::Codex, stop, 600, 600),
            (HookDialect::Codex, end, 5, 3),
            (HookDialect::Gemini, stop, 600, 600_000),
            (HookDialect::Gemini, end, 5, 5000),
            (HookDialect::Qwen, stop, 999, 999),
            (HookDialect::Qwen, stop, 1000, 1_000_000),
            (HookDialect::Copilot, stop, 600, 600),
        ] {
            let patience = Duration::from_secs(seconds);
            assert_eq!(
                dialect.timeout(event, patience),
                written,
                "{dialect:?} {seconds}"
            );
            if event == stop {
                assert_eq!(dialect.patience(written), patience, "{dialect:?} {seconds}");
            }
        }
    }

    #[test]
    fn each_agents_variable_locates_the_personal_hooks() {
        let home = |name: &str| (name == "HOME").then(|| OsString::from("/h"));
        let usual: Vec<String> = HookDialect::ALL
            .iter()
            .map(|dialect| {
                dialect
                    .user_file(home)
                    .expect("there is a home")
                    .display()
                    .to_string()
            })
            .collect();
        assert_eq!(
            usual,
            [
                "/h/.claude/settings.json",
                "/h/.codex/hooks.json",
                "/h/.gemini/settings.json",
                "/h/.qwen/settings.json",
                "/h/.copilot/settings.json",
                "/h/.config/opencode/plugin/watchdog.js"
            ]
        );
        for (dialect, variable, file) in [
            (HookDialect::Claude, "CLAUDE_CONFIG_DIR", "/x/settings.json"),
            (HookDialect::Codex, "CODEX_HOME", "/x/hooks.json"),
            (
                HookDialect::Gemini,
                "GEMINI_CLI_HOME",
                "/x/.gemini/settings.json",
            ),
            (HookDialect::Qwen, "QWEN_HOME", "/x/settings.json"),
            (HookDialect::Copilot, "COPILOT_HOME", "/x/settings.json"),
            (
                HookDialect::Opencode,
                "XDG_CONFIG_HOME",
                "/x/opencode/plugin/watchdog.js",
            ),
        ] {
            let set = |value: &'static str| {
                dialect.user_file(move |name| (name == variable).then(|| OsString::from(value)))
            };
            assert_eq!(set("/x"), Some(PathBuf::from(file)), "{dialect:?}");
            assert_eq!(
                set(""),
                None,
                "{dialect:?}: an empty variable names no folder, and there is no home"
            );
        }
    }

    #[test]
    fn call_is_headless_by_arguments_or_missing_terminal() {
        for (dialect, line, headless) in [
            (HookDialect::Codex, "codex exec --json -", true),
            (HookDialect::Codex, "codex", false),
            (HookDialect::Codex, "codex --model execution", false),
            (HookDialect::Gemini, "node gemini.js -p hello", true),
            (HookDialect::Gemini, "node gemini.js --prompt=hello", true),
            (
                HookDialect::Gemini,
                "node gemini.js --prompt-interactive hello",
                false,
            ),
            (HookDialect::Qwen, "node cli.js", false),
            (HookDialect::Copilot, "copilot -p hello", true),
            (HookDialect::Opencode, "opencode", false),
            (HookDialect::Opencode, "opencode serve", true),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(dialect.is_headless(&words, true), headless, "{line}");
            assert!(
                dialect.is_headless(&words, false),
                "{line}, with input from a program"
            );
        }
    }
}
