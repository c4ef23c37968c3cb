//! How the program ends: the exit code of a result, of a failure, and of a system without room.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use watchdog_facts::display::{escape_for_display, escape_to_one_line};
use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::shortage::Shortage;
use watchdog_judge::hooks::HookDialect;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::panicked::judged_without_room;
use watchdog_judge::modes::hook::reply_with_failure;

use super::failure::CommandFailure;
use super::result_output;
use super::terminal::CommandTerminal;

/// The exit code of a command, unless its result could not be written: whoever reads nothing must not take it for success.
pub fn finish_with_code(code: u8) -> ExitCode {
    use std::io::Write as _;
    let Some(failure) = result_output::get_write_failure() else {
        return ExitCode::from(code);
    };
    let hint = failure
        .hint
        .as_deref()
        .map(|hint| format!("\n  {hint}"))
        .unwrap_or_default();
    let _ = writeln!(anstream::stderr(), "watchdog: {}{hint}", failure.message);
    ExitCode::from(failure.code)
}

/// Ends a command that the system had no room to finish; a judgement with a verdict, in the journal too where that can be written.
pub fn without_room(
    terminal: &CommandTerminal,
    (around, judges): (Option<&CommandEnv>, bool),
    shortage: Shortage,
) -> ExitCode {
    let why = format!(
        "the system has no further {}; commits and snapshots made so far are kept",
        shortage.of
    );
    let again = around
        .map_or_else(WorktreeCommands::default, CommandEnv::commands_here)
        .watchdog("check");
    let hint = format!("{}, then type: {again}", shortage.helps);
    let failure = CommandFailure::store_failure(&why).hint(&hint);
    let unreadable = UnreadableFact {
        kind: FaultKind::Store,
        why,
        hint: Some(hint),
    };
    // The same resource may be short here, too.
    let judged = around.filter(|_| judges).and_then(|command_env| {
        catch_unwind(AssertUnwindSafe(|| {
            judged_without_room(command_env, unreadable)
        }))
        .ok()
    });
    match judged {
        Some(judgement) => terminal.verdict(&judgement, false),
        None => report_failure(terminal, &failure),
    }
    ExitCode::from(failure.code)
}

/// Answers a hook that could not judge: the agent may go on, and the user sees why.
pub fn answer_all_the_same(why: &str) -> ExitCode {
    use std::io::Write as _;
    // A host that went away needs no answer.
    let _ = writeln!(
        std::io::stdout(),
        "{}",
        reply_with_failure(why).to_json(HookDialect::Claude)
    );
    ExitCode::SUCCESS
}

/// Says what failed, why, and what to do; with `--json` as JSON, too.
pub fn report_failure(terminal: &CommandTerminal, failure: &CommandFailure) {
    terminal.complain(&format!(
        "watchdog: {}",
        escape_for_display(&failure.message)
    ));
    if let Some(hint) = &failure.hint {
        terminal.complain(&format!("  {}", escape_to_one_line(hint)));
    }
    if terminal.json {
        terminal.value(&failure.to_json());
    }
}
