//! The check type `command`: a program decides.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::key_kinds::{
    COMMAND_LINE, FLAG, INSIDE_GLOB, INSIDE_PATH, KeyKind as _, ListOf, TEXT, ValueForm,
    filled_list_of, list_of, nullable, seconds, whole, word_of,
};
use super::super::key_table::{KeyBlock, keys, no_rules};
use super::super::nearest::format_nearest_hint;
use super::super::problem::quote_text;
use super::super::reader::ConfigNode;
use super::super::settings::{CheckKind, CommandCriterion, CommandLine, CommandSuccess};
use super::check_type::{CheckType, criterion_of};
use watchdog_facts::patterns::output_regex;
use watchdog_facts::proof::TestChanges;

/// The rules that take something after a colon, and those that do not.
const RULES: &[&str] = &["exit:0", "empty", "contains:", "regex:"];

impl CommandCriterion {
    /// A command with the defaults of everything else: five minutes, exit code 0, 20 lines.
    pub fn new(run: CommandLine) -> Self {
        CommandCriterion {
            run,
            cwd: None,
            timeout: Duration::from_secs(300),
            success: CommandSuccess::Exit(0),
            tail_lines: 20,
            junit: None,
            must_fail_first: false,
            clean: false,
            tests_are: Vec::new(),
            proof: Some(Box::default()),
            proof_limit: Duration::from_secs(120),
            test_changes: None,
            allows_begin_failures: false,
        }
    }
}

const SUCCESS: ValueForm<CommandSuccess> = ValueForm {
    read: read_success_rule,
    write: |rule| match rule {
        CommandSuccess::Exit(code) => format!("exit:{code}").into(),
        CommandSuccess::Empty => "empty".into(),
        CommandSuccess::Contains(text) => format!("contains:{text}").into(),
        CommandSuccess::Regex(pattern) => format!("regex:{pattern}").into(),
    },
    schema: || json!({"type": "string", "pattern": "^(exit:[0-9]{1,3}|empty|contains:.+|regex:.+)$"}),
    words: "rule",
};

/// Whether a pass is tried, and its hidden checks.
const PROOF: ValueForm<Option<Box<[CommandLine]>>> = ValueForm {
    read: |node| {
        if node.members().is_none() {
            let tries = node.word(&[("auto", true), ("off", false)])?;
            return Some(tries.then(Box::default));
        }
        let why = "they are what tries a pass";
        let hidden = node.section(&["hidden"])?.get_required("hidden", why)?;
        HIDDEN.read_value(&hidden).map(|lines| Some(lines.into()))
    },
    write: |hidden| match hidden {
        None => "off".into(),
        Some(lines) if lines.is_empty() => "auto".into(),
        Some(lines) => Value::from_iter([("hidden", HIDDEN.write(&lines.to_vec()))]),
    },
    schema: || {
        json!({"oneOf": [
            {"enum": ["auto", "off"]},
            {"type": "object", "additionalProperties": false, "required": ["hidden"], "properties": {"hidden": HIDDEN.schema()}}
        ]})
    },
    words: "`auto`, `off`, or `{\"hidden\": [commands]}`",
};

const HIDDEN: ListOf<ValueForm<CommandLine>> =
    filled_list_of(COMMAND_LINE, "name a command, or write `auto`");

/// The schema of this path has always been wider than its reader: it leaves to the program whether the path stays inside the worktree.
const REPORT_PATH: ValueForm<String> = ValueForm {
    schema: || json!({"type": "string"}),
    words: "path",
    read: INSIDE_PATH.read,
    ..TEXT
};

pub(super) static COMMAND: CheckType<CommandCriterion> = CheckType {
    doc: "A program decides.",
    block: KeyBlock {
        name: "command",
        defaults: || CommandCriterion::new(CommandLine::Argv(Vec::new())),
        keys: keys! { CommandCriterion;
            "run" => run: COMMAND_LINE, "a text is run by `sh -c`", mark_required("it is the command that decides");
            "cwd" => cwd: nullable(INSIDE_PATH), "the folder it runs in, inside the worktree; null is the root";
            "timeout_seconds" => timeout: seconds(1),
                "its deadline; then its whole process tree is ended, and the verdict is `review`/`verify_timeout`";
            "success" => success: SUCCESS, "what counts as met, see below";
            "tail_lines" => tail_lines: whole(0..=1000),
                "lines at the end of each stream that go into the feedback where no failing test is known";
            "junit" => junit: nullable(REPORT_PATH),
                "the JUnit XML file that it writes, inside the worktree; it must be written during the run";
            "must_fail_first" => must_fail_first: FLAG,
                "it runs when the work begins, in a scratch checkout of the baseline; a pass there starts no session";
            "clean" => clean: FLAG, "it runs in a scratch checkout of HEAD with the session's work, where nothing is that git ignores";
            "tests_are" => tests_are: list_of(INSIDE_GLOB), "its test files, below `cwd`; empty: by the names that runners know";
            "proof" => proof: PROOF, "whether a pass is tried in scratch checkouts, with [hidden checks](proof.md#hidden-checks)";
            "proof_seconds" => proof_limit: seconds(1), "the longest pass that is tried so";
            "test_changes" => test_changes: nullable(word_of(&[("expected", TestChanges::Expected), ("refused", TestChanges::Refused)])),
                "what an old test that fails on the work means: the task changes it, or nothing may";
            "baseline_failures" => allows_begin_failures: word_of(&[("refuse", false), ("allow", true)]),
                "whether it passes where [all that failed did before](proof.md#failures-that-were-there)";
        },
        rules: no_rules,
    },
    any_of: &[],
    wrap: CheckKind::Command,
    unwrap: criterion_of!(Command),
};

fn read_success_rule(node: &ConfigNode<'_>) -> Option<CommandSuccess> {
    let text = node.text()?;
    let (rule, argument) = text
        .split_once(':')
        .map_or((text.as_str(), None), |(rule, argument)| {
            (rule, Some(argument))
        });
    match (rule, argument) {
        ("exit", Some(code)) => match code.parse::<u8>() {
            Ok(126 | 127) => {
                node.wrong(
                    "126 and 127 say that a command could not be run; they are never a success",
                );
                None
            }
            Ok(code) => Some(CommandSuccess::Exit(code.into())),
            Err(_) => {
                node.wrong(format!(
                    "`exit:` takes an exit code from 0 to 255, found {}",
                    quote_text(code)
                ));
                None
            }
        },
        ("empty", None) => Some(CommandSuccess::Empty),
        ("contains" | "regex", Some("")) => {
            node.wrong("nothing follows the colon, and every output would be a success");
            None
        }
        ("contains", Some(wanted)) => Some(CommandSuccess::Contains(wanted.to_owned())),
        ("regex", Some(pattern)) => match output_regex(pattern) {
            Ok(regex) if regex.is_match("") => {
                node.wrong(format!("the regular expression {} matches an empty output, so it would always be a success", quote_text(pattern)));
                None
            }
            Ok(_) => Some(CommandSuccess::Regex(pattern.to_owned())),
            Err(error) => {
                node.wrong(format!(
                    "not a valid regular expression: {}",
                    last_line(&error.to_string())
                ));
                None
            }
        },
        _ => {
            node.wrong(format!(
                "unknown rule {}{}; it must be `exit:` with a code, `empty`, `contains:` with a text, or `regex:` with a pattern",
                quote_text(&text),
                format_nearest_hint(&text, RULES.iter().copied())
            ));
            None
        }
    }
}

/// regex explains its errors over several lines, the last of which names the mistake.
fn last_line(text: &str) -> &str {
    text.lines()
        .last()
        .unwrap_or(text)
        .trim_start_matches("error: ")
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, reads};
    use super::super::super::settings::{CheckKind, CheckSpec};
    use super::*;

    fn command(keys: &str) -> CommandCriterion {
        match reads(&format!(r#"{{"checks": [{{"type": "command", {keys}}}]}}"#))
            .checks
            .remove(0)
        {
            CheckSpec::Single {
                criterion: CheckKind::Command(command),
                ..
            } => command,
            other => panic!("{other:?}"),
        }
    }

    fn refuses(keys: &str, words: &str) {
        fails(
            &format!(r#"{{"checks": [{{"type": "command", {keys}}}]}}"#),
            words,
        );
    }

    #[test]
    fn a_command_needs_nothing_but_what_to_run() {
        let criterion = command(r#""run": "cargo test""#);
        assert_eq!(
            criterion,
            CommandCriterion::new(CommandLine::Shell("cargo test".into()))
        );
        assert_eq!(
            (criterion.timeout, criterion.success, criterion.tail_lines),
            (Duration::from_secs(300), CommandSuccess::Exit(0), 20)
        );
        assert_eq!(
            command(r#""run": ["a", "b c"]"#).run,
            CommandLine::Argv(vec!["a".into(), "b c".into()])
        );
    }

    #[test]
    fn every_key_is_read() {
        let criterion = command(
            r#""run": "x", "cwd": "web", "timeout_seconds": 9, "success": "exit:3", "tail_lines": 0"#,
        );
        assert_eq!(
            (criterion.cwd.as_deref(), criterion.timeout),
            (Some("web"), Duration::from_secs(9))
        );
        assert_eq!(
            (criterion.success, criterion.tail_lines),
            (CommandSuccess::Exit(3), 0)
        );
    }

    #[test]
    fn what_a_pass_must_prove_is_read() {
        let criterion = command(
            r#""run": "x", "junit": "target/junit.xml", "must_fail_first": true, "clean": true"#,
        );
        assert_eq!(
            (
                criterion.junit.as_deref(),
                criterion.must_fail_first,
                criterion.clean
            ),
            (Some("target/junit.xml"), true, true)
        );
        let without_report = command(r#""run": "x", "junit": null"#);
        assert_eq!(
            (
                without_report.junit.as_deref(),
                without_report.must_fail_first,
                without_report.clean
            ),
            (None, false, false)
        );
        refuses(
            r#""run": "x", "junit": "../out.xml""#,
            "checks[0].junit: must be a path inside the worktree",
        );
        refuses(r#""run": "x", "clean": "yes""#, "checks[0].clean");
        refuses(
            r#""run": "x", "must_fail": true"#,
            "did you mean `must_fail_first`?",
        );
    }

    #[test]
    fn success_rules_are_read() {
        let rule = |text: &str| command(&format!(r#""run": "x", "success": "{text}""#)).success;
        assert_eq!(rule("empty"), CommandSuccess::Empty);
        assert_eq!(
            rule("contains:a: b"),
            CommandSuccess::Contains("a: b".into())
        );
        assert_eq!(rule("regex:^ok$"), CommandSuccess::Regex("^ok$".into()));
    }

    #[test]
    fn empty_commands_and_bad_rules_are_named() {
        refuses(
            r#""name": "t""#,
            "checks[0].run: missing; it is the command that decides",
        );
        refuses(r#""run": "  ""#, "checks[0].run: must not be empty");
        refuses(
            r#""run": []"#,
            "checks[0].run: must name a program; the list is empty",
        );
        refuses(
            r#""run": 5"#,
            "checks[0].run: expected a command: a text for the shell, or a list",
        );
        refuses(
            r#""run": "x", "cwd": "../..""#,
            "checks[0].cwd: must be a path inside the worktree",
        );
        refuses(
            r#""run": "x", "timeout": 5"#,
            "checks[0].timeout: unknown key, did you mean `timeout_seconds`?",
        );
        refuses(
            r#""run": "x", "timeout_seconds": 0"#,
            "checks[0].timeout_seconds",
        );
        refuses(
            r#""run": "x", "success": "exit:256""#,
            "from 0 to 255, found \"256\"",
        );
        refuses(r#""run": "x", "success": "exit:127""#, "never a success");
        refuses(r#""run": "x", "success": "exit""#, "did you mean `exit:0`?");
        refuses(
            r#""run": "x", "success": "contains:""#,
            "every output would be a success",
        );
        refuses(
            r#""run": "x", "success": "regex:(""#,
            "not a valid regular expression: unclosed group",
        );
        refuses(
            r#""run": "x", "success": "regex:a*""#,
            "would always be a success",
        );
        refuses(
            r#""run": "x", "success": "contain:a""#,
            "unknown rule \"contain:a\", did you mean `contains:`?",
        );
    }
}
