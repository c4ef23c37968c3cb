//! The entries that `watchdog hook install` writes into a settings file, and how it recognizes them.

use std::time::Duration;

use super::dialect::HookDialect;
use super::input::HookEvent;

/// How long before the host's patience ends our own does.
const MARGIN: Duration = Duration::from_secs(10);
/// The host's patience with a session's start, and with a snapshot.
const START: Duration = Duration::from_secs(15);
/// With its end, which the host ends sooner in any case, and with a turn.
const END: Duration = Duration::from_secs(5);

/// Our own deadline for it, where the host waits long enough for more than the usual one.
const OWN_END: &str = " --within 2s";

/// The agents that are held besides those of sessions that are headless, that watchdog runs, or that changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeldAgents {
    /// Their sub-agents.
    pub subagents: bool,
    /// The agents of all other sessions.
    pub all_sessions: bool,
}

/// The wanted entries of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEntries {
    /// Whose settings they are for.
    pub(super) dialect: HookDialect,
    pub(super) entries: Vec<HookEntry>,
}

/// A command hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HookEntry {
    pub event: HookEvent,
    /// The agent's name for the event.
    pub name: &'static str,
    /// Which tools it is for; `None` where the event knows none.
    pub matcher: Option<&'static str>,
    pub command: String,
    /// As the host counts.
    pub timeout: u64,
}

impl HookEntries {
    /// How long the host waits for a judgement where nobody says otherwise.
    pub const USUAL_PATIENCE: Duration = Duration::from_secs(600);

    /// Returns no entries, for `uninstall`.
    pub fn none(dialect: HookDialect) -> Self {
        HookEntries {
            dialect,
            entries: Vec::new(),
        }
    }

    /// The default entries. `program` is a shell word, `patience` the host's timeout for a judgement.
    pub fn usual(
        dialect: HookDialect,
        program: &str,
        patience: Duration,
        holds: HeldAgents,
    ) -> Self {
        let entry = |event, matcher, more: &str, patience| {
            let command = format!("{}{more}", command_line(program, dialect, event));
            let timeout = dialect.timeout(event, patience);
            dialect.event_name(event).map(|name| HookEntry {
                event,
                name,
                matcher,
                command,
                timeout,
            })
        };
        let judging = |event, matcher, more: &str| {
            entry(
                event,
                matcher,
                &format!("{more} --within {}s", own_deadline(patience).as_secs()),
                patience,
            )
        };
        let all = if holds.all_sessions {
            " --all-sessions"
        } else {
            ""
        };
        let wanted = [
            entry(HookEvent::SessionStart, None, "", START),
            entry(HookEvent::PromptSubmit, None, "", END),
            judging(HookEvent::PreToolUse, Some("StructuredOutput"), "")
                .filter(|_| dialect.gates_output()),
            entry(HookEvent::WorktreeRemove, Some("ExitWorktree"), "", START),
            entry(
                HookEvent::PostToolUse,
                Some(dialect.command_tool()),
                "",
                END,
            ),
            judging(HookEvent::Stop, None, all),
            judging(HookEvent::SubagentStop, None, &format!(" --hold{all}"))
                .filter(|_| holds.subagents && dialect.holds_subagents()),
            entry(
                HookEvent::SessionEnd,
                None,
                if dialect == HookDialect::Claude {
                    ""
                } else {
                    OWN_END
                },
                END,
            ),
        ];
        HookEntries {
            dialect,
            entries: wanted.into_iter().flatten().collect(),
        }
    }

    /// Our names of the default events of an agent.
    pub fn list_commands(dialect: HookDialect) -> Vec<&'static str> {
        let (patience, holds) = (Self::USUAL_PATIENCE, HeldAgents::default());
        let usual = Self::usual(dialect, "", patience, holds).entries;
        usual.iter().map(|entry| entry.event.command()).collect()
    }

    /// Whether none is wanted.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The command of an event.
    pub(super) fn command(&self, event: HookEvent) -> Option<&str> {
        self.entries
            .iter()
            .find(|entry| entry.event == event)
            .map(|entry| entry.command.as_str())
    }
}

/// When we answer, given when the host gives us up.
fn own_deadline(patience: Duration) -> Duration {
    patience.saturating_sub(MARGIN).max(patience / 2)
}

/// The command line of an event's hook.
fn command_line(program: &str, dialect: HookDialect, event: HookEvent) -> String {
    let agent = if dialect == HookDialect::Claude {
        String::new()
    } else {
        format!(" --agent {}", dialect.as_str())
    };
    format!("{program} hook {}{agent}", event.command())
}

/// The event of a command line of ours; `None` for other commands, and for more than a plain call of ours.
pub(super) fn parse_own_command(command: &str, program: &str) -> Option<HookEvent> {
    let words = split_words(command)?;
    let first = words.first()?;
    let named = first.rsplit('/').next() == Some("watchdog") || words_eq(program, first);
    let at = words
        .iter()
        .position(|word| word == "hook")
        .filter(|_| named)?;
    let event = words.get(at + 1)?;
    HookEvent::ALL
        .into_iter()
        .find(|hook_event| hook_event.command() == event)
}

/// A command line of ours, in parts.
pub(super) struct OwnCall {
    /// The called program.
    pub(super) program: String,
    /// The options behind the event.
    pub(super) options: Vec<String>,
    /// Whether it has no more words than those that are installed.
    pub(super) is_plain: bool,
}

/// The parts of a command line of ours.
pub(super) fn own_call(command: &str) -> Option<OwnCall> {
    let words = split_words(command)?;
    let at = words.iter().position(|word| word == "hook")?;
    let options: Vec<String> = words.get(at + 2..)?.to_vec();
    let is_our_option = |(n, word): (usize, &String)| {
        let value = n > 0 && ["--within", "--agent"].contains(&options[n - 1].as_str());
        ["--hold", "--all-sessions", "--within", "--agent"].contains(&word.as_str()) || value
    };
    let is_plain = at == 1 && options.iter().enumerate().all(is_our_option);
    Some(OwnCall {
        program: words.into_iter().next()?,
        options,
        is_plain,
    })
}

fn words_eq(program: &str, first: &str) -> bool {
    split_words(program).is_some_and(|words| words == [first])
}

/// The words of a plain command line; `None` where it holds what only a shell can make sense of.
fn split_words(line: &str) -> Option<Vec<String>> {
    let mut commands = split_commands(line, &|_| None).ok()?;
    (commands.len() == 1).then(|| commands.remove(0))
}

/// The words of each command of a line, with the values of variables.
///
/// # Errors
/// With the part that only a shell can make sense of.
pub fn split_commands(
    line: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Vec<String>>, String> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => {
                let next = chars.next().ok_or("\\")?;
                word.get_or_insert_default().push(next);
            }
            (_, '$') => {
                let in_braces = chars.next_if_eq(&'{').is_some();
                let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
                let name: String = std::iter::from_fn(|| chars.next_if(is_part)).collect();
                let is_closed = !in_braces || chars.next_if_eq(&'}').is_some();
                let value = variable(&name).filter(|_| is_closed);
                let value = value.ok_or_else(|| format!("${name}"))?;
                word.get_or_insert_default().push_str(&value);
            }
            (_, '`') => return Err("`".to_owned()),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '~') if word.is_none() && chars.peek() == Some(&'/') => {
                word = Some(variable("HOME").unwrap_or_else(|| "~".to_owned()));
            }
            (None, '\'' | '"') => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            (None, '#' | '*' | '?') => return Err(c.to_string()),
            (None, ';' | '|' | '&' | '<' | '>' | '(' | ')' | '\n') => {
                commands.last_mut().ok_or("")?.extend(word.take());
                commands.push(Vec::new());
            }
            (None, c) if c.is_whitespace() => commands.last_mut().ok_or("")?.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    commands.last_mut().ok_or("")?.extend(word);
    match quote {
        Some(quote) => Err(quote.to_string()),
        None => Ok(commands),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use watchdog_facts::shell_line::shell_word;

    use super::*;

    #[test]
    fn own_entries_are_recognised_under_any_path() {
        for (command, event) in [
            ("watchdog hook stop", Some(HookEvent::Stop)),
            (
                "/usr/local/bin/watchdog hook subagent-stop --hold --within 590s",
                Some(HookEvent::SubagentStop),
            ),
            (
                "'/home/a b/watchdog' hook session-end",
                Some(HookEvent::SessionEnd),
            ),
            (
                "\"/x/watchdog\" --state-dir /s hook pre-tool-use",
                Some(HookEvent::PreToolUse),
            ),
            (r"/my\ dir/watchdog hook stop", Some(HookEvent::Stop)),
            ("watchdog hook", None),
            ("watchdog hook dance", None),
            ("watchdog check", None),
            ("not-watchdog hook stop", None),
            ("watchdog-x hook stop", None),
            ("echo watchdog hook stop", None),
            ("watchdog hook stop || true", None),
            ("watchdog hook stop; rm x", None),
            ("watchdog hook stop > /tmp/$X", None),
            ("'watchdog hook stop", None),
            ("", None),
        ] {
            assert_eq!(parse_own_command(command, "watchdog"), event, "{command}");
        }
        assert_eq!(
            parse_own_command("/opt/wd hook stop", "/opt/wd"),
            Some(HookEvent::Stop)
        );
        assert_eq!(parse_own_command("/opt/wd hook stop", "watchdog"), None);
    }

    #[test]
    fn what_is_written_is_known_again() {
        for program in [
            "watchdog",
            "/a/watchdog",
            "/a b/it's/watchdog",
            "/o$dd/`x`/watchdog",
            "/tmp/\u{fc}n/watchdog",
        ] {
            let word = shell_word(program);
            for dialect in HookDialect::ALL {
                let holds = HeldAgents {
                    subagents: true,
                    all_sessions: true,
                };
                for entry in
                    HookEntries::usual(dialect, &word, Duration::from_secs(600), holds).entries
                {
                    assert_eq!(
                        parse_own_command(&entry.command, &word),
                        Some(entry.event),
                        "{}",
                        entry.command
                    );
                    assert!(
                        own_call(&entry.command).is_some_and(|call| call.is_plain),
                        "{}",
                        entry.command
                    );
                }
            }
        }
    }

    #[test]
    fn our_own_deadline_ends_before_the_hosts_patience() {
        for (patience, deadline) in [(600, 590), (60, 50), (15, 7), (2, 1)] {
            assert_eq!(
                own_deadline(Duration::from_secs(patience)).as_secs(),
                deadline
            );
        }
    }

    proptest! {
        #[test]
        fn a_quoted_word_is_one_word(text in "\\PC{1,20}") {
            prop_assert_eq!(split_words(&shell_word(&text)), Some(vec![text]));
        }

        #[test]
        fn any_command_line_can_be_examined(text in "\\PC{0,40}") {
            let _ = parse_own_command(&text, "watchdog");
        }
    }
}
