//! `watchdog hook`: the agent's command hooks, answered in JSON with exit 0 whatever happens.

use std::time::Duration;

use crate::cli::args_global::GlobalArgs;
use crate::cli::args_hook::{HookArgs, HookCommand};
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_judge::hooks::{HookDialect, HookEvent, HookReply};
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::modes::hook::{HookHost, HookRequest, answer_hook, reply_with_failure};
use watchdog_process::calling_program;
use watchdog_store::take_unread_notes;

use super::hook_settings::{install_hooks, uninstall_hooks};
use super::runtime::in_runtime;

/// Answers a hook, or edits the settings.
pub fn run_hook_command(
    global: &GlobalArgs,
    around: impl FnOnce() -> Result<CommandEnv, CommandFailure>,
    terminal: &CommandTerminal,
    args: HookArgs,
) -> Result<u8, CommandFailure> {
    match &args.command {
        HookCommand::Install(install) => install_hooks(&around()?, terminal, install),
        HookCommand::Uninstall(uninstall) => {
            uninstall_hooks(&around()?, terminal, uninstall.settings)
        }
        command => {
            let dialect = command
                .event()
                .map_or(HookDialect::Claude, |(_, args)| args.agent);
            terminal.value(
                &handle_event(global, around, command)
                    .unwrap_or_else(|failure| reply_with_failure(&failure.message))
                    .to_json(dialect),
            );
            Ok(0)
        }
    }
}

fn handle_event(
    global: &GlobalArgs,
    around: impl FnOnce() -> Result<CommandEnv, CommandFailure>,
    command: &HookCommand,
) -> Result<HookReply, CommandFailure> {
    let (event, args) = command.event().expect("the settings were dealt with");
    let usual = match event {
        HookEvent::SessionStart => Duration::from_secs(10),
        // The host waits no longer than 1.5 s for the end of a session.
        HookEvent::SessionEnd => Duration::from_secs(1),
        // It waits 60 s for any other, where its settings do not say more.
        _ => Duration::from_secs(50),
    };
    let request = HookRequest {
        event,
        dialect: args.agent,
        deadline: args.within.unwrap_or(usual),
        hold_subagents: matches!(command, HookCommand::Stop(stop) | HookCommand::SubagentStop(stop) if stop.hold),
        all_sessions: matches!(command, HookCommand::Stop(stop) | HookCommand::SubagentStop(stop) if stop.all_sessions),
        finish: !matches!(command, HookCommand::PostToolUse(post) if post.no_stop),
        spec: args.spec.clone(),
        worktree_named: global.worktree.is_some(),
        host: read_hook_host(args.agent),
    };
    let command_env = around()?;
    let reply = in_runtime(async |signals| {
        answer_hook(&command_env, request, std::io::stdin(), signals).await
    })?;
    let unread = take_unread_notes()
        .into_iter()
        .map(|note| format!("watchdog: {}", note.detail));
    let lines: Vec<String> = reply.message.iter().cloned().chain(unread).collect();
    Ok(HookReply {
        message: (!lines.is_empty()).then(|| lines.join("\n")),
        ..reply
    })
}

/// Reads the host from its environment and process. A value that makes no sense is one that was not
/// told.
fn read_hook_host(dialect: HookDialect) -> HookHost {
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let number = |name: &str| text(name).and_then(|value| value.parse::<u32>().ok());
    let usual = HookHost::default();
    let (blocks, variable) = dialect.stop_blocks();
    let common = HookHost {
        project: dialect.project_variable().and_then(text).map(Into::into),
        stop_blocks: variable.and_then(number).unwrap_or(blocks),
        ..usual
    };
    if dialect != HookDialect::Claude {
        // Variables of Claude Code would be those of a session around this one.
        let caller = calling_program();
        return HookHost {
            has_person: caller.is_some_and(|caller_process| {
                !dialect.is_headless(&caller_process.words, caller_process.stdin_is_terminal)
            }),
            ..common
        };
    }
    let entrypoint = text("CLAUDE_CODE_ENTRYPOINT");
    HookHost {
        session_id: text("CLAUDE_CODE_SESSION_ID"),
        pid: number("CLAUDE_PID"),
        has_person: entrypoint.is_some_and(|entrypoint| {
            matches!(&*entrypoint, "cli" | "claude-vscode" | "claude-desktop")
        }),
        output_retries: number("MAX_STRUCTURED_OUTPUT_RETRIES").unwrap_or(common.output_retries),
        ..common
    }
}
