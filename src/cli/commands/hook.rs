//! `watchdog hook`: the agent's command hooks, answered in JSON with exit 0 whatever happens; and the settings that name them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::args_global::GlobalArgs;
use crate::cli::args_hook::{HookArgs, HookCommand, InstallArgs, SettingsArgs};
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::display::{escape_for_display, escape_to_one_line, plural};
use watchdog_facts::shell_line::shell_word;
use watchdog_git::{Worktree, worktrees_of};
use watchdog_judge::hooks::settings_file::{SettingsFile, SettingsFileError};
use watchdog_judge::hooks::{
    HeldAgents, HookDialect, HookEntries, HookEvent, HookReply, find_hook_switch, hook_text,
    line_diff,
};
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::modes::hook::{HookHost, HookRequest, answer_hook};
use watchdog_judge::wire::setup_json::hook_settings_json;
use watchdog_process::calling_program;
use watchdog_store::take_unread_notes;

use super::runtime::in_runtime;

/// Answers a hook, or edits the settings.
pub fn run_hook_command(
    global: &GlobalArgs,
    around: impl FnOnce() -> Result<CommandEnv, CommandFailure>,
    terminal: &CommandTerminal,
    args: HookArgs,
) -> Result<u8, CommandFailure> {
    match &args.command {
        HookCommand::Install(install) => {
            let command_env = around()?;
            let dialect = install.settings.agent;
            if install.subagents && !dialect.holds_subagents() {
                return Err(CommandFailure::usage(format!(
                    "{}'s sub-agents cannot be held",
                    dialect.title()
                ))
                .hint("leave --subagents out: the agent itself is held"));
            }
            let worktree = command_env.open_worktree().ok();
            let is_shared = worktree
                .as_ref()
                .is_some_and(|worktree| is_shared(worktree, dialect));
            let program = choose_hook_program(install.settings.user || !is_shared)?;
            let holds = HeldAgents {
                subagents: install.subagents,
                all_sessions: install.all_sessions,
            };
            let wanted = HookEntries::usual(dialect, &program, check_hook_timeout(install)?, holds);
            let code = edit_settings(&command_env, terminal, install.settings, &wanted, &program)?;
            if !terminal.json {
                tell_where_hooks_hold(terminal, install.settings, worktree.as_ref(), is_shared);
                tell_second_hooks(terminal, install.settings, worktree.as_ref(), &program);
            }
            Ok(code)
        }
        HookCommand::Uninstall(uninstall) => {
            let command_env = around()?;
            edit_settings(
                &command_env,
                terminal,
                uninstall.settings,
                &HookEntries::none(uninstall.settings.agent),
                &choose_hook_program(true)?,
            )
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

/// The answer to a hook that could not be answered.
pub fn reply_with_failure(why: &str) -> HookReply {
    HookReply::tell(format!(
        "watchdog: could not judge, so the agent was not held: {why}"
    ))
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

fn check_hook_timeout(install: &InstallArgs) -> Result<Duration, CommandFailure> {
    let seconds = install.hook_timeout.as_secs();
    if (5..=86_400).contains(&seconds) {
        Ok(Duration::from_secs(seconds))
    } else {
        Err(CommandFailure::usage(
            "--hook-timeout must be from 5 s to one day",
        ))
    }
}

/// Whether the settings of the project are in its commits, for other worktrees and machines.
pub(super) fn is_shared(worktree: &Worktree, dialect: HookDialect) -> bool {
    worktree.head_has(dialect.project_file()).unwrap_or(false)
}

/// Says which worktrees the hooks are for, and what switches them off.
fn tell_where_hooks_hold(
    terminal: &CommandTerminal,
    which: SettingsArgs,
    worktree: Option<&Worktree>,
    is_shared: bool,
) {
    let listed = worktree.map(|worktree| worktrees_of(worktree.common_dir()).len());
    let others = listed.unwrap_or(1).saturating_sub(1) as u64;
    terminal.line(&match (which.user, is_shared) {
        (true, _) => "they hold in every project of this user".to_owned(),
        (_, true) => {
            "they hold in each worktree that has this commit, where the agent finds watchdog"
                .to_owned()
        }
        _ if others == 0 => "they hold in this worktree; --user holds everywhere".to_owned(),
        _ => format!(
            "they hold in this worktree alone, not in {}; --user holds everywhere",
            plural(others, "other worktree")
        ),
    });
    if let Some(switch) = find_switch(which, worktree) {
        terminal.complain(&format!("watchdog: {switch}"));
    }
}

/// Names other settings of the agent that have hooks of watchdog, so that each event can be answered twice.
fn tell_second_hooks(
    terminal: &CommandTerminal,
    which: SettingsArgs,
    worktree: Option<&Worktree>,
    program: &str,
) {
    let agent = which.agent;
    let projects = worktree.into_iter().flat_map(|worktree| {
        let names = agent.project_files().into_iter();
        names.map(|name| worktree.root().join(name))
    });
    let own = find_settings_file(which, worktree);
    let others = projects.chain(agent.user_file(|name| std::env::var_os(name)));
    for file in others.filter(|file| Some(file) != own.as_ref()) {
        let text = SettingsFile::from_path(&file)
            .ok()
            .and_then(|file| file.text);
        if text.is_some_and(|text| hook_text::has_own_hooks(agent, &text, program)) {
            terminal.complain(&format!(
                "watchdog: {} has hooks of watchdog, too, and the agent may run both; keep them in one file",
                escape_to_one_line(&file.display().to_string())
            ));
        }
    }
}

/// The file that the hooks stand in.
fn find_settings_file(which: SettingsArgs, worktree: Option<&Worktree>) -> Option<PathBuf> {
    match which.user {
        true => which.agent.user_file(|name| std::env::var_os(name)),
        false => worktree.map(|worktree| worktree.root().join(which.agent.project_file())),
    }
}

/// The words for what keeps the agent from these hooks here.
fn find_switch(which: SettingsArgs, worktree: Option<&Worktree>) -> Option<String> {
    let (agent, root) = (which.agent, worktree.map(Worktree::root));
    let user_file = agent.user_file(|name| std::env::var_os(name));
    let text = find_settings_file(which, worktree)
        .and_then(|file| SettingsFile::from_path(&file).ok()?.text);
    if let Some(fault) = text.and_then(|text| hook_text::find_reading_fault(agent, &text)) {
        return Some(format!("no hook of that file runs: {fault}"));
    }
    let switch = find_hook_switch(agent, root, user_file.as_deref(), which.user)?;
    let (setting, file) = (&switch.setting, switch.file.display());
    let words = format!(
        "{} here: {setting} in {file}; {}",
        switch.effect, switch.mend
    );
    Some(escape_to_one_line(&words))
}

/// How the hooks call this program. Settings in commits are for other machines too, so there its plain name is used where that leads
/// here; others name this very file, which an agent finds by any `PATH`.
pub(super) fn choose_hook_program(whole_path: bool) -> Result<String, CommandFailure> {
    let own = std::env::current_exe().map_err(|error| {
        CommandFailure::usage(format!("failed to find this program's own file: {error}"))
    })?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&path)
        .map(|folder| folder.join("watchdog"))
        .find(|file| file.is_file());
    let same = |file: &Path| file.canonicalize().ok() == own.canonicalize().ok();
    if !whole_path && named.as_deref().is_some_and(same) {
        return Ok("watchdog".into());
    }
    // A link in PATH outlives an upgrade; what it leads to may not.
    let file: PathBuf = named
        .filter(|file| same(file) && file.is_absolute())
        .unwrap_or(own);
    let text = file.to_str().ok_or_else(|| {
        CommandFailure::usage(format!(
            "{} is not UTF-8, which settings cannot hold",
            file.display()
        ))
    })?;
    Ok(shell_word(text))
}

fn edit_settings(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    which: SettingsArgs,
    wanted: &HookEntries,
    program: &str,
) -> Result<u8, CommandFailure> {
    let path = settings_path(command_env, which)?;
    let file = SettingsFile::from_path(&path).map_err(refuse_settings_file)?;
    let before = file.text.as_deref().unwrap_or_default();
    let edited = hook_text::edit_hooks(before, wanted, program).map_err(|error| {
        CommandFailure::configuration(format!("{} was not changed: {error}", file.path.display()))
            .hint("repair it, then try again; nothing was written")
    })?;
    let text = file.text_after(&edited);
    let changed = text != before;
    let name = file.path.display().to_string();
    if changed && !which.dry_run {
        file.replace(text).map_err(refuse_settings_file)?;
        if !which.user
            && let Ok(worktree) = command_env.open_worktree()
        {
            super::init::note_own_file(command_env, &worktree, which.agent.project_file());
        }
    }
    let needs = which
        .agent
        .what_it_needs(!which.user)
        .filter(|_| !wanted.is_empty());
    if terminal.json {
        let diff = line_diff::format_unified_diff(before, text, &name);
        let worktree = Worktree::open(&command_env.worktree).ok();
        let switched_off = find_switch(which, worktree.as_ref());
        terminal.value(&hook_settings_json(
            which.agent.as_str(),
            &name,
            changed,
            which.dry_run,
            &edited.others,
            (needs, switched_off.as_deref()),
            &diff,
        ));
        return Ok(0);
    }
    match (changed, which.dry_run) {
        (false, _) => terminal.line(&format!(
            "nothing to change in {}",
            escape_to_one_line(&name)
        )),
        (true, true) => terminal.line(
            escape_for_display(&line_diff::format_unified_diff(before, text, &name)).trim_end(),
        ),
        (true, false) if text.is_empty() => {
            terminal.line(&format!("removed {}", escape_to_one_line(&name)))
        }
        (true, false) => terminal.line(&format!(
            "changed {}; sessions that start from now on use it",
            escape_to_one_line(&name)
        )),
    }
    if let Some(needs) = needs {
        terminal.line(needs);
    }
    let beside = match wanted.is_empty() {
        true => "",
        false => ", and runs beside the new ones",
    };
    for handwritten in &edited.others {
        terminal.complain(&format!(
            "watchdog: left as it is, because it was written by hand{beside}: {}",
            escape_to_one_line(handwritten)
        ));
    }
    Ok(0)
}

fn settings_path(command_env: &CommandEnv, which: SettingsArgs) -> Result<PathBuf, CommandFailure> {
    let worktree = match which.user {
        true => None,
        false => Some(command_env.open_worktree().map_err(|error| {
            CommandFailure::from(error)
                .hint("go to the project, name it with -C, or choose your own settings with --user")
        })?),
    };
    find_settings_file(which, worktree.as_ref()).ok_or_else(|| {
        CommandFailure::usage("there is no home folder, so there are no settings of a user")
            .hint("set HOME")
    })
}

fn refuse_settings_file(error: SettingsFileError) -> CommandFailure {
    CommandFailure::configuration(error.to_string()).hint("nothing was written")
}
