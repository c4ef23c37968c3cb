//! The agents whose hooks call watchdog: how each names its events, counts its timeouts, where it reads hooks, and what it holds. Most of it
//! is data, in `dialects.json`. Pure.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use serde::Deserialize;

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

/// The hooks of an agent.
#[derive(Deserialize)]
struct DialectRow {
    name: String,
    title: String,
    /// Its names for events by ours, where they are others than those of Claude Code; `null` where it has no such event.
    #[serde(default)]
    events: BTreeMap<String, Option<String>>,
    /// Its tool for commands.
    command_tool: String,
    /// Its lack of hooks, in words behind "has no hook".
    unheard: Option<String>,
    /// The transcript of a session, from the folder of the user's file, where its hooks do not name it.
    transcript: Option<String>,
    /// Whether the input of its stop has other words than the last ones, or none.
    #[serde(default)]
    hides_last_words: bool,
    /// The files of a project, from its root, the one that is written first.
    project_files: Vec<String>,
    /// The variable that names its folder, that folder below the home, and the file in it.
    user_file: (String, String, String),
    project_variable: Option<String>,
    stop_blocks: Option<u32>,
    stop_blocks_variable: Option<String>,
    /// The words of a call that has nobody to talk to.
    headless: Vec<String>,
    /// A person's further steps for hooks of a person, and of a project.
    needs: Option<String>,
    project_needs: Option<String>,
}

/// In the order of [`HookDialect::ALL`].
static ROWS: LazyLock<Vec<DialectRow>> =
    LazyLock::new(|| serde_json::from_str(include_str!("dialects.json")).expect("it is tested"));

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

    fn row(self) -> &'static DialectRow {
        &ROWS[self as usize]
    }

    /// Its name on the command line, which is also that of its preset.
    pub fn as_str(self) -> &'static str {
        &self.row().name
    }

    /// The agent's name for a person.
    pub fn title(self) -> &'static str {
        &self.row().title
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
        match self.row().events.get(event.command()) {
            Some(name) => name.as_deref(),
            // The event of that name is for worktrees that a hook made, which it must remove itself.
            None => Some(event.as_str()).filter(|_| event != HookEvent::WorktreeRemove),
        }
    }

    /// Its tool for commands.
    pub fn command_tool(self) -> &'static str {
        &self.row().command_tool
    }

    /// Says what it has no hook for.
    pub fn describe_unheard(self) -> Option<String> {
        let unheard = self.row().unheard.as_ref()?;
        Some(format!("{} has no hook {unheard}", self.title()))
    }

    /// The transcript of a session whose hooks do not name it, given the environment.
    pub fn find_transcript(
        self,
        id: &str,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Option<PathBuf> {
        let place = self.row().transcript.as_ref()?.replace("{}", id);
        Some(self.user_file(variable)?.with_file_name(place))
    }

    /// Whether the input of its stop has the last words alone. Gemini's has all words of the turn.
    pub fn tells_last_words(self) -> bool {
        !self.row().hides_last_words
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
        &self.row().project_files[0]
    }

    /// Every file of a project in which entries of ours may be.
    pub fn project_files(self) -> Vec<&'static str> {
        let files = self.row().project_files.iter();
        files.map(String::as_str).collect()
    }

    /// The file of a person's own, given the environment; `None` without a home. An empty variable counts as absent.
    pub fn user_file(self, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let named = |name: &str| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let (folder, usual, file) = &self.row().user_file;
        let folder = named(folder).or_else(|| Some(named("HOME")?.join(usual)));
        Some(folder?.join(file))
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
        self.row().project_variable.as_deref()
    }

    /// How often in a row it lets a hook hold it, and the variable that changes this. The next hold has no effect any more.
    pub fn stop_blocks(self) -> (u32, Option<&'static str>) {
        let row = self.row();
        let variable = row.stop_blocks_variable.as_deref();
        (row.stop_blocks.unwrap_or(u32::MAX), variable)
    }

    /// Describes a person's further steps so that the agent runs the installed hooks; `of_project`
    /// = in the settings of a project.
    pub fn what_it_needs(self, of_project: bool) -> Option<&'static str> {
        let row = self.row();
        let needs = if of_project {
            &row.project_needs
        } else {
            &row.needs
        };
        needs.as_deref()
    }

    /// Whether this call of the agent has nobody to talk to, from its words. A call whose input is
    /// no terminal never has.
    pub fn is_headless(self, words: &[String], stdin_is_terminal: bool) -> bool {
        let is_option = |word: &String| {
            let option = word.split('=').next().unwrap_or_default();
            self.row().headless.iter().any(|listed| listed == option)
        };
        !stdin_is_terminal || words.iter().skip(1).any(is_option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_agent_names_select_a_hook_dialect() {
        for dialect in HookDialect::ALL {
            assert_eq!(HookDialect::from_name(dialect.as_str()), Ok(dialect));
            assert_eq!(
                dialect
                    .describe_unheard()
                    .is_some_and(|words| words.contains("removes a worktree")),
                dialect.event_name(HookEvent::WorktreeRemove).is_none(),
                "{dialect:?}"
            );
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
