//! The arguments of `watchdog loop`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::args_judge::JudgeArgs;
use super::args_session::SessionArgs;
use super::preset_value::AgentNameParser;
use super::time_span::parse_duration;
use watchdog_core::decision::iteration::prompt::PLACEHOLDERS;

const AFTER_HELP: &str = "\
The prompt is on CMD's stdin, unless an argument asks for it as {prompt} or {prompt_file}; WATCHDOG_PROMPT_FILE names it as a file, too. \
From the second session on it also says what happened, what is not done yet, and what the checks said.

Placeholders in prompts: {{task}} {{criteria}} {{feedback}} {{remaining}} {{summaries}} {{iteration}} {{max_iterations}} {{budget}} \
{{last_end}} {{spec}} {{branch}} {{worktree}} {{baseline}} {{phase}}, and each NAME of --var; what stands between {{#feedback}} and {{/feedback}} is left out where there is none.

A loop that is cut short (a crash, Ctrl-C, a usage limit, a spent budget) goes on where it was when it is started again. `kill -USR1 PID` \
asks it to pause: it ends, in the same way, once its session has been judged.

  watchdog loop -p 'Add a logout button, and commit it'
  watchdog loop --prompt PROMPT.md --agent claude -- --allowedTools Bash Edit
  watchdog loop --prompt PROMPT.md --max-cost-usd 5 -- my-agent --yes
  watchdog loop --prompt PROMPT.md --agent claude --fallback codex
  watchdog loop --prompt ISSUE.md --var issue=7 --agent claude
  watchdog loop --prompt PROMPT.md --agent codex --dry-run";

/// Arguments of `watchdog loop`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct LoopArgs {
    /// What is to be done, as a text with placeholders; '-' reads stdin
    #[arg(long, value_name = "FILE")]
    pub prompt: Option<PathBuf>,
    /// What is to be done, as the text itself, with placeholders
    #[arg(short = 'p', value_name = "TEXT", conflicts_with = "prompt")]
    pub text: Option<String>,
    /// A folder with prompts of your own: initial.md for the first session, continuation.md for the others, continuation-PHASE.md for one in that phase
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<PathBuf>,
    /// Put VALUE in for {{NAME}} in the prompts; may be given several times
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = prompt_variable)]
    pub vars: Vec<(String, String)>,
    /// Start this agent; CMD is then further arguments for it
    #[arg(long, value_name = "AGENT", value_parser = AgentNameParser)]
    pub agent: Option<String>,
    /// At a limit of the agent let this one take over; repeat it for an order
    #[arg(long, value_name = "AGENT", value_parser = AgentNameParser)]
    pub fallback: Vec<String>,
    /// Go on in the same conversation in each session
    #[arg(long = "continue")]
    pub same_conversation: bool,
    /// Sessions at most [default: 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_iterations: Option<u32>,
    /// Pause between two sessions [default: 5s]
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub cooldown: Option<Duration>,
    /// Ask a person after N sessions in a row that left the work as it was; 0 never does
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub no_progress: u32,
    /// Wait for a usage limit only if it ends within this time; for an overloaded service, at most so long
    #[arg(long, value_name = "DUR", value_parser = parse_duration, default_value = "6h")]
    pub max_wait: Duration,
    /// Stop when the sessions together took so many turns of the agent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_turns: Option<u64>,
    /// Stop when they used so many tokens, read and written
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_total_tokens: Option<u64>,
    /// Stop when they cost so many US dollars
    #[arg(long, value_name = "USD", value_parser = parse_dollars)]
    pub max_cost_usd: Option<f64>,
    /// Stop after this time, pauses included
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub max_wall: Option<Duration>,
    /// Begin nothing after this instant, such as 2030-01-31T18:00:00Z
    #[arg(long, value_name = "INSTANT")]
    pub deadline: Option<jiff::Timestamp>,
    #[command(flatten)]
    pub judge: JudgeArgs,
    #[command(flatten)]
    pub uncommitted: super::args_session::UncommittedArgs,
    /// Begin anew, instead of going on with a loop that was cut short
    #[arg(long)]
    pub restart: bool,
    /// Show the next prompt and what would be started
    #[arg(long)]
    pub dry_run: bool,
    /// Show the sessions' output (on stderr); it is in their logs in any case
    #[arg(long)]
    pub show_output: bool,
    #[command(flatten)]
    pub session: SessionArgs,
    /// The session's program and arguments; with --agent, further arguments
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// A value for prompts, with its name.
pub fn prompt_variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("'{text}' has no value; write NAME=VALUE"))?;
    let word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    match () {
        () if !word => Err(format!(
            "'{name}' cannot be a name; letters, digits and '_' are allowed, and no digit at the beginning"
        )),
        () if PLACEHOLDERS.contains(&name) => Err(format!(
            "{{{{{name}}}}} is a placeholder of watchdog's own; choose another name"
        )),
        () => Ok((name.to_owned(), value.to_owned())),
    }
}

/// The values by name.
///
/// # Errors
/// Where a name is given twice.
pub fn variables_by_name(vars: &[(String, String)]) -> Result<BTreeMap<String, String>, String> {
    let mut by_name = BTreeMap::new();
    for (name, value) in vars {
        if by_name.insert(name.clone(), value.clone()).is_some() {
            return Err(format!("--var {name} is given twice; keep one"));
        }
    }
    Ok(by_name)
}

fn parse_dollars(text: &str) -> Result<f64, String> {
    let amount: f64 = text
        .trim_start_matches('$')
        .parse()
        .map_err(|_| format!("'{text}' is not an amount; write 2.50"))?;
    if amount.is_finite() && amount > 0.0 {
        Ok(amount)
    } else {
        Err("an amount above 0 is needed".into())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Cli, Command};

    fn read(line: &str) -> Result<LoopArgs, clap::Error> {
        Cli::try_parse_from(line.split(' ')).map(|cli| match cli.command {
            Some(Command::Loop(args)) => *args,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn program_agent_or_neither_may_be_named() {
        let configured = read("watchdog loop -p text").expect("a good line");
        assert_eq!(
            (
                configured.text.as_deref(),
                configured.agent,
                configured.command.len()
            ),
            (Some("text"), None, 0)
        );
        assert!(read("watchdog loop -p text --prompt p").is_err());
        let agent =
            read("watchdog loop --agent claude --prompt p -- --model opus").expect("a good line");
        assert_eq!(
            (agent.agent, agent.command.len()),
            (Some("claude".to_owned()), 2)
        );
        let program = read("watchdog loop my-agent --max-iterations 3").expect("a good line");
        assert_eq!(
            (program.max_iterations, program.command.len()),
            (None, 3),
            "what follows the program is its own"
        );
    }

    #[test]
    fn variable_name_differs_from_every_placeholder() {
        let vars = read("watchdog loop --var issue=7 --var url=http://x/?a=b a")
            .expect("a good line")
            .vars;
        assert_eq!(
            vars,
            [
                ("issue".into(), "7".into()),
                ("url".into(), "http://x/?a=b".into())
            ]
        );
        for wrong in ["issue", "1st=x", "=x", "a-b=x", "task=x", "phase=x"] {
            assert!(prompt_variable(wrong).is_err(), "{wrong}");
        }
        assert!(variables_by_name(&[("a".into(), "1".into()), ("a".into(), "2".into())]).is_err());
    }

    #[test]
    fn limits_are_amounts_above_nothing() {
        let read = |option: &str| read(&format!("watchdog loop {option} a"));
        assert_eq!(
            read("--max-cost-usd $2.50")
                .expect("an amount")
                .max_cost_usd,
            Some(2.5)
        );
        for wrong in [
            "--max-cost-usd 0",
            "--max-cost-usd NaN",
            "--max-iterations 0",
            "--max-turns -1",
            "--deadline tomorrow",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
