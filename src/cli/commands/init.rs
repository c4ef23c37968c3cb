//! `watchdog init`: a first completion.json that fits the project, trusted because its author asked for it.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::cron::run_cron_command;
use super::from_session::PrivilegedCommand;
use super::init_choice::{ask_choices, refuse_without_answer, try_checks};
use crate::cli::args::InitArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::prompts::{ask_confirmation, can_ask};
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::shell_line::{WorktreeCommands, shell_path};
use watchdog_facts::verdict::Reason;
use watchdog_git::{Worktree, worktrees_of};
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::configuration::{FILE as CONFIGURATION_FILE, MAX_BYTES};
use watchdog_judge::modes::init::{ConfigProposal, propose_config};
use watchdog_judge::wire::setup_json::InitReport;
use watchdog_judge::wire::trust_json::PersonDeed;
use watchdog_store::open_store;
use watchdog_store::trust::{TrustStore, fingerprint_config};
use watchdog_system::read_regular_file;

/// Looks at the project, shows what fits it, writes the file and trusts it; with `--cron`, prints
/// instead a crontab line and a timer.
pub fn run_init_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: InitArgs,
) -> Result<u8, CommandFailure> {
    if args.cron {
        return run_cron_command(command_env, terminal, &args.paths);
    }
    let worktree = command_env.open_worktree()?;
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
        command_env.state.ensure()?;
        as_privileged(command_env, &worktree, args.from_session, |command| {
            command.allow()
        })?;
        refuse_taken(&path, args.force, &commands)?;
    }
    let mut proposed = propose_config(&worktree, std::env::var_os("PATH").as_deref());
    let is_interactive = !args.yes && !args.dry_run && !terminal.json && can_ask();
    let text = choose_text(terminal, &mut proposed, is_interactive)?;
    let asks = is_interactive && text.is_some();
    let shown_text = text.as_deref().unwrap_or_default();
    if asks {
        terminal.line(shown_text.trim_end());
        // A person who was asked has seen both.
        proposed.notes.clear();
    }
    let offered = if asks {
        Vec::new()
    } else {
        proposed.offered_lines()
    };
    let tried = try_checks(
        terminal,
        worktree.root(),
        shown_text,
        asks,
        &args.try_checks,
    )?;
    let next = next_command(&commands, &path, &proposed, text.is_some());
    let mut report = InitReport {
        written: None,
        trusted: None,
        text: text.as_deref(),
        offered: &offered,
        notes: &proposed.notes,
        tried: &tried,
        next: &next,
    };
    let Some(text) = report.text.filter(|_| !args.dry_run) else {
        show_unwritten(terminal, &report);
        return Ok(0);
    };
    let question = format!("Write {CONFIGURATION_FILE} and trust it?");
    if asks && !ask_confirmation(&question, true).map_err(refuse_without_answer)? {
        terminal.line("nothing was written");
        return Ok(0);
    }
    write_file(&path, text, args.force, &commands)?;
    let hash = trust_own_file(command_env, &worktree, &path, text, args.from_session)?;
    let name = path.display().to_string();
    report.written = Some(&name);
    report.trusted = Some(&hash);
    let has_other_worktrees = worktrees_of(worktree.common_dir()).len() > 1;
    show_written(
        terminal,
        &report,
        &proposed,
        (&commands, has_other_worktrees),
    );
    Ok(0)
}

/// The text of the file, of what a person chose where one can be asked.
fn choose_text(
    terminal: &CommandTerminal,
    proposed: &mut ConfigProposal,
    is_interactive: bool,
) -> Result<Option<String>, CommandFailure> {
    if is_interactive && !proposed.entries.is_empty() {
        ask_choices(terminal, proposed).map_err(refuse_without_answer)?;
    }
    proposed.file_text().map_err(|why| {
        let message =
            format!("nothing was written: watchdog itself would not read what it proposes: {why}");
        CommandFailure::new(Reason::ConfigError, message).hint("this is a bug; please report it")
    })
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
    let hash = fingerprint_config(
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
        text: Some(&text),
        offered: &[],
        notes: &[],
        tried: &tried,
        next: &next,
    };
    match terminal.json {
        true => terminal.print_answer(&report),
        false => terminal.sentence(&format!(
            "{} is left as it is",
            escape_to_one_line(&path.display().to_string())
        )),
    }
    Ok(0)
}

/// Refuses a taken place before any question.
fn refuse_taken(
    path: &Path,
    force: bool,
    commands: &WorktreeCommands,
) -> Result<(), CommandFailure> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if metadata.is_symlink() || !metadata.is_file() {
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
    // Without --force no file is overwritten, not even a new one.
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
    command_env.note_own_file(worktree, CONFIGURATION_FILE);
    let store = TrustStore::new(&command_env.state);
    let grant = super::trust::grant_trust(
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
    let deed = PersonDeed::Trusted {
        path: CONFIGURATION_FILE.into(),
        hash: &grant.hash,
    };
    as_privileged(command_env, worktree, from_session, |command| {
        command.note(&deed)
    })?;
    Ok(grant.hash)
}

/// Looks in the records whether a watched session calls this, which may not move its own criteria.
fn as_privileged(
    command_env: &CommandEnv,
    worktree: &Worktree,
    from_session: bool,
    act: impl FnOnce(&PrivilegedCommand<'_>) -> Result<(), CommandFailure>,
) -> Result<(), CommandFailure> {
    let records = open_store(&command_env.state)?;
    let worktree_id = worktree.worktree_id();
    act(&PrivilegedCommand {
        command: "watchdog init",
        store: records.as_ref(),
        worktree_id: &worktree_id,
        from_session,
    })
}

/// Shows the file that would be written; where there is none, the line that makes one.
fn show_unwritten(terminal: &CommandTerminal, report: &InitReport<'_>) {
    if terminal.json {
        return terminal.print_answer(report);
    }
    if let Some(text) = report.text {
        terminal.line(text.trim_end());
    }
    for line in report.offered {
        terminal.tell(&format!("not in it: {}", escape_to_one_line(line)));
    }
    for note in report.notes {
        terminal.tell_note(note);
    }
    if report.text.is_none() {
        terminal.sentence(
            "nothing is written, as init has no check for this project: commits alone decide. \
             Name your tests in this line, and paste it:",
        );
        terminal.line(report.next);
    }
}

fn show_written(
    terminal: &CommandTerminal,
    report: &InitReport<'_>,
    proposed: &ConfigProposal,
    (commands, has_other_worktrees): (&WorktreeCommands, bool),
) {
    if terminal.json {
        return terminal.print_answer(report);
    }
    terminal.sentence(&format!(
        "wrote {}, and trusts it",
        escape_to_one_line(report.written.unwrap_or_default())
    ));
    for entry in proposed.entries.iter().filter(|entry| entry.is_chosen) {
        terminal.line(&format!("  {}", escape_to_one_line(&entry.shown)));
    }
    terminal.line("  limits: 10 iterations, 2 h for a session, 30 min of silence");
    terminal.line("  proof: reruns prove a pass");
    for line in report.offered {
        terminal.sentence(&format!("not in it: {}", escape_to_one_line(line)));
    }
    for note in report.notes {
        terminal.sentence(&format!("note: {}", escape_to_one_line(note)));
    }
    terminal.sentence(&format!(
        "edit and commit it; allow the new bytes with: {}",
        commands.watchdog("trust")
    ));
    if has_other_worktrees {
        terminal.sentence("other worktrees have it once it is merged there");
    }
    terminal.sentence(&format!("next: {}", report.next));
}

/// The command to type next, ready to be pasted: a session, or a first file where `init` has none.
fn next_command(
    commands: &WorktreeCommands,
    path: &Path,
    proposed: &ConfigProposal,
    has_text: bool,
) -> String {
    if !has_text {
        return format!(
            "echo '{{\"version\": 1, \"checks\": [{{\"type\": \"command\", \
             \"run\": \"YOUR TESTS\"}}]}}' > {} && {}",
            shell_path(path),
            commands.watchdog("trust")
        );
    }
    let Some(agent) = &proposed.agent else {
        return commands.watchdog("doctor");
    };
    let prompt = match &proposed.prompt {
        Some(file) => format!(
            "\"$(cat {})\"",
            shell_path(&path.with_file_name("").join(file))
        ),
        None => "\"Say here what is to be done\"".to_owned(),
    };
    let session = match agent.as_str() {
        "claude" => format!("claude -p {prompt} --allowedTools Bash Edit Write"),
        "codex" => format!("codex exec {prompt}"),
        "gemini" => format!("gemini -p {prompt}"),
        preset => format!("{preset} run {prompt}"),
    };
    commands.watchdog(&format!("run -- {session}"))
}
