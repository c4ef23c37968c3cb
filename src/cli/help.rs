//! The help that people read: commands in groups, own options before global ones, `-h` on one screen, everything else in `--help`.
//!
//! The definition that reads the command line stays as it is; this arranges it for reading. A call that only works never comes here.

use std::fmt::Write as _;

use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory as _};

use super::args::Cli;
use super::failure::CommandFailure;
use super::result_output;
use watchdog_core::config::nearest_hint;
use watchdog_facts::page_address;

/// The commands that a newcomer needs, in the order of need: `watchdog` alone and `--help` show these.
const FIRST: [(&str, &[&str]); 1] = [(
    "Commands",
    &[
        "on", "run", "loop", "check", "status", "explain", "rescue", "init", "doctor", "sweep",
        "demo", "help",
    ],
)];

/// All commands, for `watchdog help all`. Two that belong together may share a line.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Judge",
        &[
            "check", "snapshot", "sweep", "watch", "evaluate", "probe", "breaker",
        ],
    ),
    ("Work", &["run", "loop", "task, fleet", "hook, mcp"]),
    ("Rescue", &["rescue"]),
    ("Look", &["status", "events, logs", "explain", "report"]),
    (
        "Set up",
        &[
            "demo",
            "on, off",
            "init",
            "doctor",
            "trust, untrust",
            "forget",
            "agent, notify",
            "completions",
            "man, schema",
            "help",
        ],
    ),
];

/// Options that only `--help` shows: each is right as it is for nearly everybody.
const RARE: &[&str] = &[
    "agent-program",
    "child-wait",
    "cooldown",
    "end-survivors",
    "fallback",
    "from-session",
    "grace",
    "hook-timeout",
    "lease",
    "max-parallel-probes",
    "max-total-tokens",
    "max-turns",
    "max-wait",
    "max-wall",
    "no-cache",
    "no-end-survivors",
    "no-progress",
    "poll",
    "poll-only",
    "probe-interval",
    "probe-timeout",
    "prompts",
    "restart",
    "rev",
    "show-output",
    "var",
    "within",
    "without-snapshot",
];

/// The shared help lines of two commands.
const TOGETHER: [(&str, &str); 6] = [
    (
        "on, off",
        "Install the hooks of every agent that is here, or take them out",
    ),
    (
        "agent, notify",
        "Show the agents that watchdog knows, or send a test notice",
    ),
    (
        "events, logs",
        "Show what watchdog saw and decided, or the output of a session",
    ),
    (
        "task, fleet",
        "Run a queue of tasks, or let several machines share a server",
    ),
    (
        "trust, untrust",
        "Trust a configuration file at its current content, or no more",
    ),
    ("man, schema", "Print the manual pages, or a JSON Schema"),
];

const BELOW: &str = "\
Start here:
  watchdog demo                              the whole flow, with no agent
  watchdog run -- claude -p \"...\"            one session, judged
All commands: watchdog help all. Options for every command: watchdog --help.
Exit codes: watchdog help exit-codes";

const EXIT_CODES: &str = concat!(
    "\
Exit codes of check, run, loop, evaluate and task run: the status of the verdict.

   0  complete     the work is done
  10  incomplete   more work is wanted: start the next session with the feedback
  11  waiting      work runs elsewhere, or cannot run yet: look again with check, at retry_at where it is known
  12  review       a person must decide
  13  timeout      every probe was spent, and nothing came
  14  stopped      a limit, the breaker or a signal ended it
  15  failed       trying again cannot help, such as where the agent's program is missing
  16  error        the question could not be answered; never taken for complete

   2  wrong usage, or a configuration file that cannot be read
  70  a bug in watchdog
 128+n  ended by signal n, such as 130 by Ctrl-C and 143 by TERM

sweep exits with 0, or the highest of review, timeout, stopped, failed and error among its worktrees.
hook always exits with 0 and answers in JSON. status, events, logs, report and the other commands exit with 0 when they did what they
were asked, else with the code of the reason. The reasons behind each status:
",
    page_address!("verdict.md"),
    "\n"
);

/// The whole command line, arranged for people.
pub fn build_arranged_command() -> Command {
    let whole = arrange_command(Cli::command());
    let groups = render_groups(&whole, &FIRST);
    let head = whole.get_styles().get_usage();
    let template = format!(
        "{{about-with-newline}}\n{head}Usage:{head:#} {{usage}}\n\n{groups}\n{{options}}{{after-help}}"
    );
    whole
        .help_template(StyledStr::from(template))
        .after_help(BELOW)
        .mut_args(|arg| arg.hide_short_help(true))
}

fn arrange_command(command: Command) -> Command {
    command
        .mut_args(explain_argument)
        .mut_subcommands(arrange_command)
}

/// An option as people read it: its variable, and everything rare, in the long help alone.
fn explain_argument(arg: Arg) -> Arg {
    let rare = arg.is_global_set() || arg.get_long().is_some_and(|long| RARE.contains(&long));
    let Some(variable) = arg
        .get_env()
        .map(|name| name.to_string_lossy().into_owned())
    else {
        return arg.hide_short_help(rare);
    };
    let help = arg
        .get_long_help()
        .or(arg.get_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    arg.hide_short_help(rare)
        .hide_env(true)
        .long_help(format!("{help} [env: {variable}]"))
}

fn render_groups(whole: &Command, groups: &[(&str, &[&str])]) -> String {
    let (head, name) = (
        whole.get_styles().get_header(),
        whole.get_styles().get_literal(),
    );
    let mut text = String::new();
    for (group, commands) in groups {
        let _ = writeln!(text, "{head}{group}:{head:#}");
        for command in *commands {
            let both = TOGETHER
                .iter()
                .find(|(names, _)| names == command)
                .map(|(_, about)| (*about).to_owned());
            let alone = || {
                whole
                    .find_subcommand(command)
                    .and_then(Command::get_about)
                    .map(ToString::to_string)
            };
            let about = both.or_else(alone).unwrap_or_default();
            let _ = writeln!(text, "  {name}{command:14}{name:#}  {about}");
        }
    }
    text
}

/// `watchdog help TOPIC`.
pub fn run_help_command(topic: &[String]) -> Result<u8, CommandFailure> {
    if topic == ["exit-codes"] {
        return Ok(print_text(EXIT_CODES));
    }
    if topic == ["all"] {
        return Ok(print_text(&render_groups(
            &arrange_command(Cli::command()),
            &GROUPS,
        )));
    }
    let mut whole = build_arranged_command();
    whole.build();
    let mut command = &mut whole;
    for (depth, word) in topic.iter().enumerate() {
        let command_names: Vec<String> = command
            .get_subcommands()
            .map(|sub| sub.get_name().to_owned())
            .collect();
        if !command_names.contains(word) {
            let more = if depth == 0 {
                vec!["all".to_owned(), "exit-codes".to_owned()]
            } else {
                Vec::new()
            };
            let near = nearest_hint(word, command_names.iter().chain(&more).map(String::as_str));
            return Err(CommandFailure::usage(format!(
                "there is no help about '{}'{near}",
                topic[..=depth].join(" ")
            )));
        }
        command = command
            .find_subcommand_mut(word)
            .expect("it is one of them");
    }
    Ok(print_text(&command.render_long_help().ansi().to_string()))
}

/// The short help, for whoever called no command where nothing is watched.
pub fn render_short_help() -> String {
    build_arranged_command().render_help().ansi().to_string()
}

fn print_text(text: &str) -> u8 {
    // A reader that went away (a pager that was quit) is no fault of ours.
    let _ = result_output::write_result(&mut anstream::stdout().lock(), text.as_bytes());
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(command: &Command, visit: &mut impl FnMut(&Command)) {
        visit(command);
        command.get_subcommands().for_each(|sub| each(sub, visit));
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, commands)| commands.iter().flat_map(|names| names.split(", ")))
            .collect();
        grouped.sort_unstable();
        let whole = Cli::command();
        let mut all: Vec<&str> = whole.get_subcommands().map(Command::get_name).collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn first_help_shows_at_most_twelve_commands() {
        let [(_, first)] = FIRST;
        assert!(first.len() <= 12);
        let whole = Cli::command();
        assert!(
            first
                .iter()
                .all(|name| whole.find_subcommand(name).is_some())
        );
    }

    #[test]
    fn every_rare_option_is_one_of_some_command() {
        let mut long_options = Vec::new();
        each(&Cli::command(), &mut |command| {
            long_options.extend(
                command
                    .get_arguments()
                    .filter_map(Arg::get_long)
                    .map(str::to_owned),
            )
        });
        let gone: Vec<&&str> = RARE
            .iter()
            .filter(|rare| !long_options.iter().any(|long| long == **rare))
            .collect();
        assert!(gone.is_empty(), "{gone:?}");
    }

    #[test]
    fn short_help_of_every_command_fits_the_screen() {
        let mut whole = build_arranged_command().term_width(80);
        whole.build();
        let mut long = Vec::new();
        let root = whole.clone().render_help().to_string().lines().count();
        each(&whole, &mut |command| {
            let lines = command
                .clone()
                .term_width(80)
                .render_help()
                .to_string()
                .lines()
                .count();
            if command.get_name() != "watchdog" && lines > 32 {
                long.push((command.get_name().to_owned(), lines));
            }
        });
        assert!(long.is_empty() && root <= 27, "{root} {long:?}");
    }

    #[test]
    fn global_options_come_last_with_variables_in_help() {
        let mut whole = build_arranged_command();
        whole.build();
        let check = whole.find_subcommand_mut("check").expect("it is there");
        let (short, long) = (
            check.render_help().to_string(),
            check.render_long_help().to_string(),
        );
        assert!(
            !short.contains("--state-dir") && !short.contains("[env:"),
            "{short}"
        );
        let (own, global) = (
            long.find("--no-probe").expect("its own"),
            long.find("Global options:").expect("a heading"),
        );
        assert!(
            own < global && long.find("--state-dir").is_some_and(|at| at > global),
            "{long}"
        );
        assert!(
            long.contains("[env: WATCHDOG_SPEC]") && long.contains("Examples:"),
            "{long}"
        );
    }

    #[test]
    fn examples_are_lines_of_eighty_columns() {
        let mut wide = Vec::new();
        each(&Cli::command(), &mut |command| {
            let below = command
                .get_after_long_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            wide.extend(
                below
                    .lines()
                    .filter(|line| line.starts_with("  ") && line.chars().count() > 80)
                    .map(str::to_owned),
            );
        });
        assert!(wide.is_empty(), "{wide:#?}");
    }
}
