//! `watchdog init`: a first completion.json that fits the project, trusted because its author asked for it.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::cron::cron;
use super::from_session::PrivilegedCommand;
use super::init_choice::{choose, try_checks, unanswered};
use crate::cli::args::InitArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::prompts::{can_ask, confirm};
use crate::cli::terminal::CommandTerminal;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::{FILE as CONFIGURATION_FILE, MAX_BYTES};
use crate::modes::init::{
    ChosenConfig, ConfigProposal, ForeignSetting, ProjectFacts, ProposedTakeover, file_text,
    proposal, read_project,
};
use crate::wire::setup_json::{InitReport, init_json};
use crate::wire::trust_json::PersonDeed;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::shell_line::{WorktreeCommands, shell_path};
use watchdog_facts::verdict::Reason;
use watchdog_git::{Worktree, worktrees_of};
use watchdog_store::trust::{TrustStore, fingerprint};
use watchdog_store::{open_store, uncommitted};
use watchdog_system::read_regular_file;

/// Looks at the project, shows what fits it, writes the file and trusts it; with `--cron`, prints instead what has the system sweep.
pub fn init(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: InitArgs,
) -> Result<u8, CommandFailure> {
    if args.cron {
        return cron(command_env, terminal, &args.paths);
    }
    let worktree = Worktree::open(&command_env.worktree)?;
    let path = worktree.root().join(CONFIGURATION_FILE);
    let commands = command_env.commands(worktree.root());
    let is_there = fs::symlink_metadata(&path).is_ok_and(|about| about.is_file());
    if is_there && !args.dry_run && !args.force && !args.try_checks.is_empty() {
        return try_written(
            command_env,
            terminal,
            (&worktree, &path),
            &args.try_checks,
            &commands,
        );
    }
    if !args.dry_run {
        may_write(command_env, &worktree, &args)?;
        refuse_taken(&path, args.force, &commands)?;
    }
    let search_path = std::env::var_os("PATH");
    let facts = read_project(&worktree, search_path.as_deref());
    let proposed = proposal(&facts);
    let asks = !args.yes && !args.dry_run && !terminal.json && can_ask();
    let answered = if asks {
        choose(terminal, &proposed)
    } else {
        Ok(proposed.preselected())
    };
    let chosen = answered.map_err(unanswered)?;
    let next = next_command(&commands, worktree.root(), &facts, &chosen);
    let text = file_text(&chosen).map_err(|why| {
        let message =
            format!("nothing was written: watchdog itself would not read what it proposes: {why}");
        CommandFailure::new(Reason::ConfigError, message).hint("this is a bug; please report it")
    })?;
    if asks {
        terminal.line(text.trim_end());
    }
    let offered = offered(&proposed, &chosen);
    let tried = try_checks(terminal, worktree.root(), &text, asks, &args.try_checks)?;
    let report = InitReport {
        written: None,
        trusted: None,
        text: &text,
        // A person who was asked has seen both.
        offered: if asks { &[] } else { &offered },
        notes: if asks { &[] } else { &proposed.notes },
        tried: &tried,
        next: &next,
    };
    if args.dry_run {
        return Ok(show_dry_run(terminal, &report));
    }
    if asks
        && !confirm(&format!("Write {CONFIGURATION_FILE} and trust it?"), true)
            .map_err(unanswered)?
    {
        terminal.line("nothing was written");
        return Ok(0);
    }
    write_file(&path, &text, args.force, &commands)?;
    let hash = trust_own_file(command_env, &worktree, &path, &text, args.from_session)?;
    let name = path.display().to_string();
    let others = worktrees_of(worktree.common_dir()).len() > 1;
    show(
        terminal,
        &InitReport {
            written: Some(&name),
            trusted: Some(&hash),
            ..report
        },
        (&proposed, &chosen),
        (&commands, others),
    );
    Ok(0)
}

/// Runs the commands of the file that is there once each, where it is trusted. Writes nothing.
fn try_written(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    (worktree, path): (&Worktree, &Path),
    names: &[String],
    commands: &WorktreeCommands,
) -> Result<u8, CommandFailure> {
    let read = read_regular_file(path, MAX_BYTES)
        .and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
    let text = read.map_err(|error| {
        CommandFailure::new(
            Reason::ConfigError,
            format!("failed to read {}: {error}", path.display()),
        )
    })?;
    let hash = fingerprint(
        &worktree.repository_id(),
        CONFIGURATION_FILE.as_ref(),
        text.as_bytes(),
    );
    if !TrustStore::new(&command_env.state).is_trusted(&hash, command_env.trusted.as_deref())? {
        return Err(CommandFailure::usage(format!(
            "{} is there and is not trusted, so that no command of it runs",
            path.display()
        ))
        .hint(format!(
            "read it, then allow it with: {}",
            commands.watchdog("trust")
        )));
    }
    let tried = try_checks(terminal, worktree.root(), &text, false, names)?;
    let next = commands.watchdog("check");
    let report = InitReport {
        written: None,
        trusted: None,
        text: &text,
        offered: &[],
        notes: &[],
        tried: &tried,
        next: &next,
    };
    match terminal.json {
        true => terminal.value(&init_json(&report)),
        false => terminal.sentence(&format!(
            "{} is left as it is",
            escape_to_one_line(&path.display().to_string())
        )),
    }
    Ok(0)
}

/// Refuses to write from inside of a session.
fn may_write(
    command_env: &CommandEnv,
    worktree: &Worktree,
    args: &InitArgs,
) -> Result<(), CommandFailure> {
    command_env.state.ensure()?;
    let records = open_store(&command_env.state)?;
    let worktree_id = worktree.worktree_id();
    PrivilegedCommand {
        command: "watchdog init",
        store: records.as_ref(),
        worktree_id: &worktree_id,
        from_session: args.from_session,
    }
    .allow()
}

/// Refuses a place that is taken, before anybody is asked anything.
fn refuse_taken(
    path: &Path,
    force: bool,
    commands: &WorktreeCommands,
) -> Result<(), CommandFailure> {
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if found.is_symlink() || !found.is_file() {
        let message = format!(
            "{} is there already, and is not a regular file",
            path.display()
        );
        return Err(
            CommandFailure::usage(message).hint("remove it first; what it leads to is not touched")
        );
    }
    if !force {
        return Err(
            CommandFailure::usage(format!("{} is there already", path.display())).hint(format!(
                "replace it with --force, or allow it as it is with: {}",
                commands.watchdog("trust")
            )),
        );
    }
    Ok(())
}

/// Writes the file at once or not at all, and through no link.
fn write_file(
    path: &Path,
    text: &str,
    force: bool,
    commands: &WorktreeCommands,
) -> Result<(), CommandFailure> {
    // Without --force nothing that is there is written to, not even if it came a moment ago.
    let target = if force {
        path.with_extension(format!("json.watchdog-{}", std::process::id()))
    } else {
        path.to_owned()
    };
    let mut made = false;
    let mut write = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&target)?;
        made = true;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        if force {
            fs::rename(&target, path)
        } else {
            Ok(())
        }
    };
    write().map_err(|error| {
        if made {
            // The first error is the one that matters.
            let _ = fs::remove_file(&target);
        }
        failed_to_write(path, &error, commands)
    })
}

fn failed_to_write(path: &Path, error: &io::Error, commands: &WorktreeCommands) -> CommandFailure {
    CommandFailure::new(
        Reason::ConfigError,
        format!("failed to write {}: {error}", path.display()),
    )
    .hint(format!(
        "nothing was written; see what it would be with: {}",
        commands.watchdog("init --dry-run")
    ))
}

fn trust_own_file(
    command_env: &CommandEnv,
    worktree: &Worktree,
    path: &Path,
    text: &str,
    from_session: bool,
) -> Result<String, CommandFailure> {
    note_own_file(command_env, worktree, CONFIGURATION_FILE);
    let store = TrustStore::new(&command_env.state);
    let grant = super::trust::allow(
        worktree,
        &store,
        path,
        CONFIGURATION_FILE.as_ref(),
        text.as_bytes(),
    )?;
    super::trust::move_anchors(
        command_env,
        worktree,
        CONFIGURATION_FILE.as_ref(),
        Some(text.as_bytes()),
    )?;
    let records = open_store(&command_env.state)?;
    let worktree_id = worktree.worktree_id();
    PrivilegedCommand {
        command: "watchdog init",
        store: records.as_ref(),
        worktree_id: &worktree_id,
        from_session,
    }
    .note(&PersonDeed::Trusted {
        path: CONFIGURATION_FILE.as_ref(),
        hash: &grant.hash,
    })?;
    Ok(grant.hash)
}

/// Notes that watchdog wrote this file itself, so that it is nobody's work. Where that cannot be noted, it counts like any other file.
pub(super) fn note_own_file(command_env: &CommandEnv, worktree: &Worktree, path: &str) {
    let Ok(store) = open_store(&command_env.state) else {
        return;
    };
    let _ = uncommitted::wrote(
        store.as_ref(),
        &worktree.worktree_id(),
        path,
        &worktree.content_id(path),
    );
}

/// What could be chosen and was not, for a person.
fn offered(proposed: &ConfigProposal, chosen: &ChosenConfig) -> Vec<String> {
    let checks = proposed
        .checks
        .iter()
        .filter(|check| !chosen.checks.contains(&check.criterion));
    let guards = proposed
        .guards
        .iter()
        .filter(|guard| !chosen.guards.contains(&guard.glob));
    let checks = checks.map(|check| format!("{} ({})", check.criterion.shown(), check.why));
    let is_left = |setting: &ForeignSetting| !chosen.settings.contains(setting);
    let takeovers = proposed
        .takeovers
        .iter()
        .filter(|takeover| takeover.settings.iter().any(is_left))
        .map(ProposedTakeover::shown);
    checks
        .chain(guards.map(|guard| format!("guard {} ({})", guard.glob, guard.why)))
        .chain(takeovers)
        .collect()
}

fn show_dry_run(terminal: &CommandTerminal, report: &InitReport<'_>) -> u8 {
    if terminal.json {
        terminal.value(&init_json(report));
        return 0;
    }
    terminal.line(report.text.trim_end());
    report
        .offered
        .iter()
        .for_each(|line| terminal.tell(&format!("not in it: {}", escape_to_one_line(line))));
    report
        .notes
        .iter()
        .for_each(|note| terminal.tell(&format!("note: {}", escape_to_one_line(note))));
    0
}

fn show(
    terminal: &CommandTerminal,
    report: &InitReport<'_>,
    (proposed, chosen): (&ConfigProposal, &ChosenConfig),
    (commands, has_other_worktrees): (&WorktreeCommands, bool),
) {
    if terminal.json {
        return terminal.value(&init_json(report));
    }
    terminal.sentence(&format!(
        "wrote {}, and trusts it as it is",
        escape_to_one_line(report.written.unwrap_or_default())
    ));
    for criterion in &chosen.checks {
        let source = proposed
            .checks
            .iter()
            .find(|check| check.criterion == *criterion && check.is_foreign());
        let source = source
            .map(|check| format!(" ({})", check.why))
            .unwrap_or_default();
        terminal.line(&format!(
            "  {}{}",
            escape_to_one_line(&criterion.shown()),
            escape_to_one_line(&source)
        ));
    }
    for takeover in proposed.takeovers.iter().filter(|takeover| {
        takeover
            .settings
            .iter()
            .all(|setting| chosen.settings.contains(setting))
    }) {
        terminal.line(&format!("  {}", escape_to_one_line(&takeover.shown())));
    }
    for guard in &chosen.guards {
        terminal.line(&format!("  guard {}", escape_to_one_line(guard)));
    }
    let limit = |key: &str, usual: u64| {
        let named = chosen
            .settings
            .iter()
            .rev()
            .find(|setting| setting.block == "limits" && setting.key == key);
        named
            .and_then(|setting| setting.value.as_u64())
            .unwrap_or(usual)
    };
    let limits = chosen.limits;
    terminal.line(&format!(
        "  limits: {} iterations, {} for a session, {} min of silence",
        limit("max_iterations", limits.max_iterations.into()),
        hours(limit(
            "session_timeout_seconds",
            limits.session_timeout_seconds
        )),
        limit("idle_timeout_seconds", limits.idle_timeout_seconds).div_ceil(60)
    ));
    report
        .offered
        .iter()
        .for_each(|line| terminal.sentence(&format!("not in it: {}", escape_to_one_line(line))));
    report
        .notes
        .iter()
        .for_each(|note| terminal.sentence(&format!("note: {}", escape_to_one_line(note))));
    terminal.sentence(&format!(
        "edit it as you like and commit it; allow the new bytes with: {}",
        commands.watchdog("trust")
    ));
    if has_other_worktrees {
        terminal.sentence(
            "other worktrees of this repository have it once it is committed and merged there",
        );
    }
    terminal.sentence(&format!("next: {}", report.next));
}

/// Whole hours as such, anything else in minutes.
fn hours(seconds: u64) -> String {
    if seconds.is_multiple_of(3600) {
        format!("{} h", seconds / 3600)
    } else {
        format!("{} min", seconds.div_ceil(60))
    }
}

/// What to type next, ready to be pasted.
fn next_command(
    commands: &WorktreeCommands,
    root: &Path,
    facts: &ProjectFacts,
    chosen: &ChosenConfig,
) -> String {
    let Some(agent) = &chosen.agent else {
        return commands.watchdog("doctor");
    };
    let prompt = match &facts.prompt {
        Some(file) => format!("\"$(cat {})\"", shell_path(&root.join(file))),
        None => "\"Say here what is to be done\"".to_owned(),
    };
    let session = match agent.as_str() {
        "claude" => format!("claude -p {prompt} --allowedTools Bash Edit Write"),
        "codex" => format!("codex exec {prompt}"),
        "gemini" => format!("gemini -p {prompt}"),
        other => format!("{other} run {prompt}"),
    };
    commands.watchdog(&format!("run -- {session}"))
}
