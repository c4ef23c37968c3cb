//! The whole program: reads the command line and the environment, does what they say, and returns the exit code.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use serde_json::json;

use crate::agent::transcript::ClaudeHome;
use crate::judge::command_env::CommandEnv;
use crate::judge::panicked::judged_without_room;
use crate::judge::serving_git::serve_refs;
use crate::notify::delivery::NotificationWorker;
use watchdog_facts::display::{escape_for_display, escape_to_one_line};
use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_facts::shortage::Shortage;
use watchdog_facts::verdict::Reason;
use watchdog_store::StateDir;

use super::args_global::GlobalArgs;
use super::command_line::{calls_a_hook, read};
use super::commands;
use super::failure::{BUG, CommandFailure, USAGE};
use super::logging::start_logging;
use super::result_output;
use super::scarcity;
use super::terminal::CommandTerminal;

/// The whole program: reads the command line, does what it says, and returns the exit code.
pub fn main() -> ExitCode {
    // Claude Code takes some exit codes of a hook for a refusal, so that a hook ends with 0, whatever goes wrong.
    let line: Vec<OsString> = std::env::args_os().collect();
    let in_a_hook = calls_a_hook(&line);
    let cli = match read(&line) {
        Ok(cli) => cli,
        Err(error) if in_a_hook && error.use_stderr() => {
            let _ = error.print();
            return answer_all_the_same("the command line of the hook is wrong; see what it wrote to stderr");
        }
        Err(error) => {
            // Help and version are results; a complaint about the command line goes to stderr.
            match error.print() {
                Err(why) if !error.use_stderr() => result_output::note(&why),
                _ => {}
            }
            return ended(u8::try_from(error.exit_code()).unwrap_or(USAGE));
        }
    };
    let terminal = CommandTerminal::new(&cli.global);
    if let Err(failure) = start_logging(&cli.global) {
        // A hook is answered all the same, without a log; its stdout is for the answer.
        if !in_a_hook {
            complain(&terminal, &failure);
            return ExitCode::from(failure.code);
        }
        terminal.complain(&format!("watchdog: {}", escape_for_display(&failure.message)));
    }
    scarcity::watch_panics();
    let judged = cli.command.as_ref().is_some_and(commands::judges_one_worktree).then(|| cli.global.clone());
    // A panic is a bug. It must not look like a verdict, nor end with the code that a shell gives to anything that fails.
    match catch_unwind(AssertUnwindSafe(|| commands::dispatch(cli, &terminal))) {
        // The host reads exit codes of a hook in its own way.
        Ok(Ok(code)) if in_a_hook => ExitCode::from(code),
        Ok(Ok(code)) => ended(code),
        Ok(Err(failure)) => {
            complain(&terminal, &failure);
            ExitCode::from(failure.code)
        }
        Err(_) if in_a_hook && let Some(shortage) = scarcity::seen() => {
            answer_all_the_same(&format!("the system has no further {}", shortage.of))
        }
        Err(_) if let Some(shortage) = scarcity::seen() => without_room(&terminal, judged.as_ref(), shortage),
        Err(_) if in_a_hook => answer_all_the_same("this is a bug in watchdog; please report it"),
        Err(_) => {
            terminal.complain("watchdog: this is a bug; please report it with the message above");
            if terminal.json {
                terminal
                    .value(&json!({"schema": 1, "status": "error", "reason": "bug", "complete": false, "message": "watchdog panicked"}));
            }
            ExitCode::from(BUG)
        }
    }
}

/// The exit code of a command, unless its result could not be written: whoever reads nothing must not take it for success.
fn ended(code: u8) -> ExitCode {
    use std::io::Write as _;
    let Some(failure) = result_output::failure() else { return ExitCode::from(code) };
    let hint = failure.hint.as_deref().map(|hint| format!("\n  {hint}")).unwrap_or_default();
    let _ = writeln!(anstream::stderr(), "watchdog: {}{hint}", failure.message);
    ExitCode::from(failure.code)
}

/// Ends a command that the system had no room to finish; a judgement with a verdict, in the journal too where that can be written.
fn without_room(terminal: &CommandTerminal, judged: Option<&GlobalArgs>, shortage: Shortage) -> ExitCode {
    let why = format!("the system has no further {}; commits and snapshots made so far are kept", shortage.of);
    let hint = format!("{}, then run watchdog check", shortage.helps);
    let failure = CommandFailure::new(Reason::StoreError, &why).hint(&hint);
    let around = judged.and_then(|global| command_env(global, terminal, None, NotificationWorker::default()).ok());
    let unreadable = UnreadableFact { kind: FaultKind::Store, why, hint: Some(hint) };
    // What is short may be short here, too.
    let judged = around.and_then(|around| catch_unwind(AssertUnwindSafe(|| judged_without_room(&around, unreadable))).ok());
    match judged {
        Some(judgement) => terminal.verdict(&judgement, false),
        None => complain(terminal, &failure),
    }
    ExitCode::from(failure.code)
}

fn answer_all_the_same(why: &str) -> ExitCode {
    use std::io::Write as _;
    // A host that went away needs no answer.
    let _ = writeln!(std::io::stdout(), "{}", commands::excuse(why).to_json());
    ExitCode::SUCCESS
}

fn complain(terminal: &CommandTerminal, failure: &CommandFailure) {
    terminal.complain(&format!("watchdog: {}", escape_for_display(&failure.message)));
    if let Some(hint) = &failure.hint {
        terminal.complain(&format!("  {}", escape_to_one_line(hint)));
    }
    if terminal.json {
        terminal.value(&failure.to_json());
    }
}

/// Reads the environment, once, into what the commands need.
pub(super) fn command_env(
    global: &GlobalArgs,
    terminal: &CommandTerminal,
    agent_program: Option<OsString>,
    notifications: NotificationWorker,
) -> Result<CommandEnv, CommandFailure> {
    let state = StateDir::resolve(
        global.state_dir.clone(),
        std::env::var_os("XDG_STATE_HOME").map(Into::into),
        std::env::var_os("HOME").map(Into::into),
    )?;
    serve_refs(&state);
    let worktree = match &global.worktree {
        Some(path) => path.clone(),
        None => std::env::current_dir().map_err(|error| {
            CommandFailure::new(watchdog_facts::verdict::Reason::NotARepository, format!("the current folder is gone: {error}"))
        })?,
    };
    Ok(CommandEnv {
        worktree,
        config: global.config.clone(),
        state,
        trusted: std::env::var("WATCHDOG_TRUST").ok(),
        agent_program,
        claude_home: ClaudeHome::from_env(),
        narrate: terminal.narrator(),
        notifications,
    })
}
