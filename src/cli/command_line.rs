//! Reads the command line with the definition of the one command that it names.
//!
//! To define all commands takes as long as to read a commit, and nearly every call needs one of them. Whatever this one definition
//! does not take (a mistake, a question for help) is read again with the whole, which alone speaks to people.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{Args as _, Command as Definition, FromArgMatches as _};

use super::args::{CheckArgs, Cli, ProbeArgs, RunArgs, SnapshotArgs};
use super::args_global::GlobalArgs;
use super::args_hook::{EventArgs, PostToolUseArgs, StopArgs};
use super::args_loop::LoopArgs;
use super::args_report::ReportArgs;
use super::args_rescue::RescueArgs;
use super::args_status::StatusArgs;
use super::args_sweep::SweepArgs;
use super::commands::evaluate::EvaluateArgs;
use super::help::build_arranged_command;
use super::version;
use watchdog_core::config::nearest_word;

/// Reads the words of a command line, the program's name first.
pub fn parse_command_line(line: &[OsString]) -> Result<Cli, clap::Error> {
    if line.len() == 2 && (line[1] == "--version" || line[1] == "-V") {
        // Packages and scripts ask this often, and no command needs to be defined for it.
        let alone = Definition::new("watchdog").version(version::format_short_version());
        return Err(alone
            .try_get_matches_from(line)
            .expect_err("the answer to this is an error of its own kind"));
    }
    let words = leading_words(line);
    if let Some(command) =
        define_single_command(&words.iter().map(String::as_str).collect::<Vec<_>>())
    {
        let whole = GlobalArgs::augment_args(Definition::new("watchdog")).subcommand(command);
        if let Ok(cli) = whole
            .try_get_matches_from(line)
            .and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches))
        {
            return Ok(cli);
        }
    }
    parse_whole_definition(line).map_err(suggesting_the_nearest)
}

/// Reads with the whole definition, arranged for people.
fn parse_whole_definition(line: &[OsString]) -> Result<Cli, clap::Error> {
    let mut matches = build_arranged_command().try_get_matches_from(line)?;
    Cli::from_arg_matches_mut(&mut matches)
}

/// Of several commands that are like the word that was typed, the error names the nearest alone.
fn suggesting_the_nearest(mut error: clap::Error) -> clap::Error {
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => return error,
    };
    if let Some(ContextValue::Strings(like)) = error.get(ContextKind::SuggestedSubcommand)
        && let Some((nearest, _)) = nearest_word(&word, like.iter().map(String::as_str))
    {
        let nearest = vec![nearest.to_owned()];
        error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(nearest),
        );
    }
    error
}

/// Whether a command line calls a hook of the agent, however wrong the rest of it is: such a call must never look like a refusal.
pub fn calls_a_hook(line: &[OsString]) -> bool {
    let words = leading_words(line);
    words.first().is_some_and(|word| word == "hook")
        && !words
            .get(1)
            .is_some_and(|word| ["install", "uninstall", "help"].contains(&word.as_str()))
}

/// The first two words that are neither flags nor values of global ones: the command, and what it is to do.
fn leading_words(line: &[OsString]) -> Vec<String> {
    const WITH_VALUE: &[&str] = &[
        "-C",
        "--worktree",
        "--config",
        "--state-dir",
        "--color",
        "--log-format",
    ];
    let mut words = line.iter().skip(1).map(|word| word.to_string_lossy());
    let mut leading = Vec::new();
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&&*word) {
            words.next();
        } else if !word.starts_with('-') {
            leading.push(word.into_owned());
            if leading.len() == 2 {
                break;
            }
        }
    }
    leading
}

/// Defines a single command, without the words that explain it: the commands that programs call
/// often.
fn define_single_command(words: &[&str]) -> Option<Definition> {
    let command = match words {
        ["check", ..] => CheckArgs::augment_args(Definition::new("check")),
        ["snapshot", ..] => SnapshotArgs::augment_args(Definition::new("snapshot")),
        ["evaluate", ..] => EvaluateArgs::augment_args(Definition::new("evaluate")),
        ["probe", ..] => ProbeArgs::augment_args(Definition::new("probe")),
        ["run", ..] => RunArgs::augment_args(Definition::new("run")),
        ["loop", ..] => LoopArgs::augment_args(Definition::new("loop")),
        ["sweep", ..] => SweepArgs::augment_args(Definition::new("sweep")),
        ["rescue", ..] => RescueArgs::augment_args(Definition::new("rescue")),
        ["report", ..] => ReportArgs::augment_args(Definition::new("report")),
        ["status", ..] => StatusArgs::augment_args(Definition::new("status")),
        ["hook", event] => Definition::new("hook").subcommand(match *event {
            "stop" => StopArgs::augment_args(Definition::new("stop")),
            "subagent-stop" => StopArgs::augment_args(Definition::new("subagent-stop")),
            "pre-tool-use" => EventArgs::augment_args(Definition::new("pre-tool-use")),
            "post-tool-use" => PostToolUseArgs::augment_args(Definition::new("post-tool-use")),
            "session-start" => EventArgs::augment_args(Definition::new("session-start")),
            "session-end" => EventArgs::augment_args(Definition::new("session-end")),
            _ => return None,
        }),
        _ => return None,
    };
    Some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn hook_call_is_recognised_despite_invalid_arguments() {
        for (line, hook) in [
            ("watchdog hook stop", true),
            ("watchdog hook stop --nonsense", true),
            ("watchdog hook dance", true),
            ("watchdog hook", true),
            ("watchdog -C hook check", false),
            ("watchdog --state-dir /s -v hook --x session-end", true),
            ("watchdog --log-format json hook stop", true),
            ("watchdog hook install --nonsense", false),
            ("watchdog hook uninstall", false),
            ("watchdog run -- hook stop", false),
            ("watchdog check hook", false),
            ("watchdog", false),
        ] {
            assert_eq!(calls_a_hook(&words(line)), hook, "{line}");
        }
    }

    #[test]
    fn short_and_full_definition_give_same_version() {
        for flag in ["--version", "-V"] {
            let short =
                parse_command_line(&words(&format!("watchdog {flag}"))).expect_err("no command");
            let long = parse_whole_definition(&words(&format!("watchdog {flag}")))
                .expect_err("no command");
            assert_eq!(short.kind(), clap::error::ErrorKind::DisplayVersion);
            assert_eq!(
                (short.to_string(), short.exit_code()),
                (long.to_string(), 0)
            );
        }
    }

    #[test]
    fn lone_command_accepts_the_same_words() {
        let mut all = <Cli as clap::CommandFactory>::command();
        all.build();
        let arguments = |command: &Definition| {
            let mut ids: Vec<String> = command
                .get_arguments()
                .map(|arg| format!("{arg:?}"))
                .filter(|arg| !arg.contains("\"help\""))
                .collect();
            ids.sort();
            ids
        };
        let mut compared = 0;
        for sub in all.get_subcommands() {
            let of_hook = sub
                .get_subcommands()
                .map(|event| vec![sub.get_name(), event.get_name()]);
            for path in std::iter::once(vec![sub.get_name()]).chain(of_hook) {
                let Some(alone) = define_single_command(&path) else {
                    continue;
                };
                let mut whole =
                    GlobalArgs::augment_args(Definition::new("watchdog")).subcommand(alone);
                whole.build();
                let (mut mine, mut theirs) = (&whole, &all);
                for name in &path {
                    mine = mine
                        .find_subcommand(name)
                        .unwrap_or_else(|| panic!("{path:?} is defined under another name"));
                    theirs = theirs.find_subcommand(name).expect("it came from there");
                }
                assert_eq!(arguments(mine), arguments(theirs), "{path:?}");
                compared += 1;
            }
        }
        assert_eq!(
            compared, 20,
            "every command that is defined alone is one of all"
        );
    }

    #[test]
    fn short_definition_parses_like_the_full_one() {
        for line in [
            "watchdog check --baseline HEAD~1 --spec s --no-probe --json",
            "watchdog -C check check -vv --color never",
            "watchdog --log-format json check -v",
            "watchdog --state-dir=/s --json check --once --pid 7",
            "watchdog check snapshot",
            "watchdog check --nonsense",
            "watchdog check --help",
            "watchdog check -V",
            "watchdog --version check",
            "watchdog -- check",
            "watchdog snapshot --spec s -q",
            "watchdog evaluate --context - --all",
            "watchdog probe --parse FILE",
            "watchdog run --timeout 1h -- claude -p check",
            "watchdog run",
            "watchdog loop --max-iterations 3 --agent claude -- --allowedTools Bash",
            "watchdog sweep a b --jobs 2",
            "watchdog report a b --since 2026-03-04",
            "watchdog report --since yesterday",
            "watchdog status a --only review,running --json",
            "watchdog hook stop --hold --within 5s",
            "watchdog -q hook --json session-end",
            "watchdog hook session-start extra",
            "watchdog hook",
            "watchdog hook install --user",
            "watchdog breaker reset",
            "watchdog help check",
            "watchdog",
        ] {
            let line = words(line);
            let outcome_text = |cli: Result<Cli, clap::Error>| {
                cli.map(|cli| format!("{cli:?}"))
                    .map_err(|error| error.to_string())
            };
            assert_eq!(
                outcome_text(parse_command_line(&line)),
                outcome_text(parse_whole_definition(&line)),
                "{line:?}"
            );
        }
    }
}
