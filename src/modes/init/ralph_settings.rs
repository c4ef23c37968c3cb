//! What a `.ralphrc` says, without running it: it is a script of the shell, and only plain assignments of it are read. Pure.

/// Headings of a fix plan below which open boxes do not count, unless the file names others.
const OPTIONAL: [&str; 4] = ["Optional", "Future", "Future Enhancements", "Nice to Have"];

/// Seconds in an hour.
const HOUR: u64 = 3600;
/// Names that a note lists at most.
const SHOWN: usize = 50;
/// Why a variable has no counterpart in a `completion.json`.
const WITHOUT_COUNTERPART: &[(&str, &str)] = &[
    (
        "MAX_TOKENS_PER_HOUR",
        "watchdog counts the tokens of a whole loop, not of an hour: limits.max_total_tokens",
    ),
    (
        "CB_SAME_ERROR_THRESHOLD",
        "the breaker counts sessions without progress, whatever they print",
    ),
    (
        "CB_OUTPUT_DECLINE_THRESHOLD",
        "the length of an output says nothing of the work",
    ),
    (
        "CB_AUTO_RESET",
        "the breaker lets one session try again after its cooldown",
    ),
    (
        "SESSION_CONTINUITY",
        "type `watchdog loop --continue` to go on in one conversation",
    ),
    ("SESSION_EXPIRY_HOURS", "a conversation ends with its loop"),
    (
        "ALLOWED_TOOLS",
        "the agent's own option: type it behind `--` of `watchdog loop`",
    ),
    (
        "CLAUDE_CODE_CMD",
        "name the program behind `--` of `watchdog loop`, or with --agent-program",
    ),
];

/// An issue of GitHub, with its repository where the file names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RalphIssue {
    /// Its number.
    pub number: u64,
    /// Its repository as `owner/name`; `None` = that of the worktree.
    pub repo: Option<String>,
}

/// The settings that mean something to watchdog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RalphSettings {
    /// Wall time of one session, in minutes.
    pub session_minutes: Option<u64>,
    /// Sessions without progress that open its breaker.
    pub breaker_limit: Option<u64>,
    /// How long its breaker stays open, in minutes.
    pub breaker_minutes: Option<u64>,
    /// Sessions at most, of other loops of this name.
    pub max_loops: Option<u64>,
    /// Sessions in an hour at most.
    pub hourly_sessions: Option<u64>,
    /// The issue that it works on.
    pub issue: Option<RalphIssue>,
    /// Headings below which open boxes do not count.
    pub optional_sections: Vec<String>,
    /// The fix plan, from the folder `.ralph`.
    pub fix_plan: String,
    /// Names of assignments that are not taken over, and those whose value only the shell could tell.
    pub ignored: Vec<String>,
}

/// Reads the file's text; an empty one is a project without the file.
pub fn ralph_settings(text: &str) -> RalphSettings {
    let mut found = RalphSettings {
        session_minutes: None,
        breaker_limit: None,
        breaker_minutes: None,
        max_loops: None,
        hourly_sessions: None,
        issue: None,
        optional_sections: OPTIONAL.map(str::to_owned).to_vec(),
        fix_plan: "fix_plan.md".to_owned(),
        ignored: Vec::new(),
    };
    for line in text.lines() {
        let Some((name, value)) = assignment(line) else {
            continue;
        };
        let number = |most: u64| {
            value
                .as_deref()
                .and_then(|value| value.parse::<u64>().ok())
                .filter(|n| (1..=most).contains(n))
        };
        let taken = match (name, &value) {
            ("CLAUDE_TIMEOUT_MINUTES", _) => put(&mut found.session_minutes, number(100_000)),
            ("CB_NO_PROGRESS_THRESHOLD", _) => put(&mut found.breaker_limit, number(1000)),
            ("CB_COOLDOWN_MINUTES", _) => put(&mut found.breaker_minutes, number(100_000)),
            ("MAX_LOOPS" | "MAX_ITERATIONS", _) => put(&mut found.max_loops, number(1_000_000)),
            ("MAX_CALLS_PER_HOUR", _) => put(&mut found.hourly_sessions, number(HOUR)),
            ("GITHUB_ISSUE", Some(value)) if issue(value).is_some() => {
                found.issue = issue(value);
                true
            }
            ("OPTIONAL_SECTIONS", Some(value)) => {
                found.optional_sections = value
                    .split(',')
                    .map(str::trim)
                    .filter(|title| !title.is_empty())
                    .map(str::to_owned)
                    .collect();
                true
            }
            ("FIX_PLAN_FILE", Some(value)) if is_plain_name(value) => {
                found.fix_plan.clone_from(value);
                true
            }
            _ => false,
        };
        if !taken && !found.ignored.iter().any(|known| known == name) {
            found.ignored.push(name.to_owned());
        }
    }
    found
}

impl RalphSettings {
    /// The pause between sessions, in seconds, with which no hour can have more of them than the file allows.
    pub fn pause_seconds(&self) -> Option<u64> {
        self.hourly_sessions.map(|sessions| HOUR.div_ceil(sessions))
    }

    /// What is not taken over, on as few lines as there are reasons.
    pub fn notes(&self) -> Vec<String> {
        let reason = |name: &str| {
            WITHOUT_COUNTERPART
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, why)| *why)
        };
        let mut notes: Vec<String> = self
            .hourly_sessions
            .zip(self.pause_seconds())
            .map(|(sessions, pause)| {
                format!("MAX_CALLS_PER_HOUR={sessions} becomes a pause of {pause} s between sessions, so that no hour has more of them")
            })
            .into_iter()
            .collect();
        notes.extend(
            self.ignored.iter().filter_map(|name| {
                reason(name).map(|why| format!("not taken over: {name}: {why}"))
            }),
        );
        let others: Vec<&str> = self
            .ignored
            .iter()
            .filter(|name| reason(name).is_none())
            .take(SHOWN)
            .map(String::as_str)
            .collect();
        if !others.is_empty() {
            notes.push(format!("not taken over: {}", others.join(", ")));
        }
        notes
    }
}

/// An issue as the other program reads it: `7`, `#7`, `owner/name#7`, or an address.
fn issue(value: &str) -> Option<RalphIssue> {
    let (repo, number) = match value.split_once("/issues/") {
        Some((address, number)) => (address.split_once("://")?.1.split_once('/')?.1, number),
        None => value.split_once('#').unwrap_or(("", value)),
    };
    let number = number
        .parse()
        .ok()
        .filter(|number| (1..=u64::from(u32::MAX)).contains(number))?;
    let part = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    match repo.split_once('/') {
        None if repo.is_empty() => Some(RalphIssue { number, repo: None }),
        Some((owner, name)) if part(owner) && part(name) && !owner.starts_with('-') => {
            Some(RalphIssue {
                number,
                repo: Some(repo.to_owned()),
            })
        }
        _ => None,
    }
}

fn put(slot: &mut Option<u64>, value: Option<u64>) -> bool {
    *slot = value.or(*slot);
    value.is_some()
}

/// The name of a file in the folder itself.
fn is_plain_name(value: &str) -> bool {
    !value.is_empty()
        && !value.contains(['/', '\\'])
        && !value.chars().any(char::is_control)
        && value != ".."
        && value != "."
}

/// A line that sets a variable: its name, and its value where that is plain text.
fn assignment(line: &str) -> Option<(&str, Option<String>)> {
    let line = line.trim();
    let (name, value) = line
        .strip_prefix("export ")
        .unwrap_or(line)
        .split_once('=')?;
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    is_name.then(|| (name, plain_value(value)))
}

/// The text of a value: quoted or not, or what stands in for a variable that is not set, `"${NAME:-text}"`.
fn plain_value(value: &str) -> Option<String> {
    let text = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let (text, rest) = value[1..].split_once(quote)?;
            let rest = rest.trim_start();
            (rest.is_empty() || rest.starts_with('#')).then_some(text)?
        }
        // Within a word `#` begins no comment.
        _ => value
            .split([' ', '\t', ';'])
            .next()
            .filter(|word| !word.starts_with('#'))
            .unwrap_or_default(),
    };
    let text = match text
        .strip_prefix("${")
        .and_then(|inner| inner.strip_suffix('}'))
    {
        Some(inner) if !value.starts_with('\'') => inner.split_once(":-")?.1,
        _ => text,
    };
    let is_plain = value.starts_with('\'') || !text.contains(['$', '`', '\\']);
    is_plain.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_assignments_are_read_in_every_form_that_such_files_have() {
        let text = "# CB_COOLDOWN_MINUTES=1\nexport CLAUDE_TIMEOUT_MINUTES=15\nCB_NO_PROGRESS_THRESHOLD=\"4\" # loops\n\
                    CB_COOLDOWN_MINUTES=\"${CB_COOLDOWN_MINUTES:-30}\"\nOPTIONAL_SECTIONS='Later, Some day'\nFIX_PLAN_FILE=\"@fix_plan.md\"\n\
                    MAX_CALLS_PER_HOUR=100\nif true; then\n";
        let found = ralph_settings(text);
        assert_eq!(
            (
                found.session_minutes,
                found.breaker_limit,
                found.breaker_minutes
            ),
            (Some(15), Some(4), Some(30))
        );
        assert_eq!(
            (found.optional_sections, found.fix_plan.as_str()),
            (
                vec!["Later".to_owned(), "Some day".to_owned()],
                "@fix_plan.md"
            )
        );
        assert_eq!((found.hourly_sessions, found.ignored.len()), (Some(100), 0));
    }

    #[test]
    fn a_limit_by_the_hour_is_a_pause_with_which_no_hour_can_have_more() {
        for sessions in [1, 7, 100, 3599, 3600] {
            let found = ralph_settings(&format!("MAX_CALLS_PER_HOUR={sessions}"));
            let pause = found.pause_seconds().expect("a pause");
            assert!(
                HOUR / pause <= sessions && pause >= 1,
                "{sessions} in an hour, {pause} s apart"
            );
        }
        assert_eq!(
            ralph_settings("MAX_CALLS_PER_HOUR=0").ignored,
            ["MAX_CALLS_PER_HOUR"],
            "0 is no limit there, and none here"
        );
    }

    #[test]
    fn an_issue_is_read_in_each_of_its_forms_and_in_no_other() {
        let found = |value: &str| {
            ralph_settings(&format!("GITHUB_ISSUE=\"{value}\""))
                .issue
                .map(|issue| (issue.number, issue.repo))
        };
        let other = || Some("o/n.x".to_owned());
        for (value, wanted) in [
            ("7", Some((7, None))),
            ("#7", Some((7, None))),
            ("o/n.x#7", Some((7, other()))),
            ("https://example.org/o/n.x/issues/7", Some((7, other()))),
            ("", None),
            ("0", None),
            ("a#7", None),
            ("-o/n#7", None),
            ("o/n/x#7", None),
            ("o/n;x#7", None),
            ("https://example.org/o/n/pull/7", None),
        ] {
            assert_eq!(found(value), wanted, "{value}");
        }
    }

    #[test]
    fn each_variable_without_a_counterpart_is_named_with_the_reason() {
        let notes = ralph_settings(
            "MAX_TOKENS_PER_HOUR=5\nALLOWED_TOOLS=\"Write\"\nPROJECT_NAME=x\nVERBOSE=true\n",
        )
        .notes();
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(
            notes[0].starts_with("not taken over: MAX_TOKENS_PER_HOUR: ")
                && notes[0].ends_with("limits.max_total_tokens"),
            "{notes:?}"
        );
        assert!(
            notes[1].contains("behind `--`") && notes[2] == "not taken over: PROJECT_NAME, VERBOSE",
            "{notes:?}"
        );
    }

    #[test]
    fn what_only_the_shell_could_tell_is_named_and_not_taken() {
        for line in [
            "CLAUDE_TIMEOUT_MINUTES=$(cat minutes)",
            "CLAUDE_TIMEOUT_MINUTES=`echo 5`",
            "CLAUDE_TIMEOUT_MINUTES=$OTHER",
            "CLAUDE_TIMEOUT_MINUTES=0",
            "CLAUDE_TIMEOUT_MINUTES=-5",
            "CLAUDE_TIMEOUT_MINUTES=99999999999999999999",
            "CLAUDE_TIMEOUT_MINUTES=\"15",
            "CLAUDE_TIMEOUT_MINUTES=",
        ] {
            let found = ralph_settings(line);
            assert_eq!(
                (found.session_minutes, found.ignored.as_slice()),
                (None, &["CLAUDE_TIMEOUT_MINUTES".to_owned()][..]),
                "{line}"
            );
        }
        for line in [
            "FIX_PLAN_FILE=../../etc/passwd",
            "FIX_PLAN_FILE='..'",
            "FIX_PLAN_FILE=\"a\u{1b}[2J\"",
        ] {
            assert_eq!(ralph_settings(line).fix_plan, "fix_plan.md", "{line}");
        }
        assert_eq!(ralph_settings("").optional_sections, OPTIONAL);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[A-Z_=\"'${}:\\-#;` \n0-9é]{0,60}") {
            let _ = ralph_settings(&text);
        }
    }
}
