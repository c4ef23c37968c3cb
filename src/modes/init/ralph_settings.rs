//! What a `.ralphrc` says, without running it: it is a script of the shell, and only plain assignments of it are read. Pure.

/// Headings of a fix plan below which open boxes do not count, unless the file names others.
const OPTIONAL: [&str; 4] = ["Optional", "Future", "Future Enhancements", "Nice to Have"];

/// The settings that mean something to watchdog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RalphSettings {
    /// Wall time of one session, in minutes.
    pub session_minutes: Option<u64>,
    /// Sessions without progress that open its breaker.
    pub breaker_limit: Option<u64>,
    /// How long its breaker stays open, in minutes.
    pub breaker_minutes: Option<u64>,
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
        optional_sections: OPTIONAL.map(str::to_owned).to_vec(),
        fix_plan: "fix_plan.md".to_owned(),
        ignored: Vec::new(),
    };
    for line in text.lines() {
        let Some((name, value)) = assignment(line) else { continue };
        let number = |most: u64| value.as_deref().and_then(|value| value.parse::<u64>().ok()).filter(|n| (1..=most).contains(n));
        let taken = match (name, &value) {
            ("CLAUDE_TIMEOUT_MINUTES", _) => put(&mut found.session_minutes, number(100_000)),
            ("CB_NO_PROGRESS_THRESHOLD", _) => put(&mut found.breaker_limit, number(1000)),
            ("CB_COOLDOWN_MINUTES", _) => put(&mut found.breaker_minutes, number(100_000)),
            ("OPTIONAL_SECTIONS", Some(value)) => {
                found.optional_sections = value.split(',').map(str::trim).filter(|title| !title.is_empty()).map(str::to_owned).collect();
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

fn put(slot: &mut Option<u64>, value: Option<u64>) -> bool {
    *slot = value.or(*slot);
    value.is_some()
}

/// The name of a file in the folder itself.
fn is_plain_name(value: &str) -> bool {
    !value.is_empty() && !value.contains(['/', '\\']) && !value.chars().any(char::is_control) && value != ".." && value != "."
}

/// A line that sets a variable: its name, and its value where that is plain text.
fn assignment(line: &str) -> Option<(&str, Option<String>)> {
    let line = line.trim();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_ascii_digit());
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
        _ => value.split([' ', '\t', ';', '#']).next().unwrap_or_default(),
    };
    let text = match text.strip_prefix("${").and_then(|inner| inner.strip_suffix('}')) {
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
        assert_eq!((found.session_minutes, found.breaker_limit, found.breaker_minutes), (Some(15), Some(4), Some(30)));
        assert_eq!((found.optional_sections, found.fix_plan.as_str()), (vec!["Later".to_owned(), "Some day".to_owned()], "@fix_plan.md"));
        assert_eq!(found.ignored, ["MAX_CALLS_PER_HOUR"]);
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
            assert_eq!((found.session_minutes, found.ignored.as_slice()), (None, &["CLAUDE_TIMEOUT_MINUTES".to_owned()][..]), "{line}");
        }
        for line in ["FIX_PLAN_FILE=../../etc/passwd", "FIX_PLAN_FILE='..'", "FIX_PLAN_FILE=\"a\u{1b}[2J\""] {
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
