//! `watchdog trust` and `watchdog untrust`: which configuration files may name commands, as their bytes are.

use std::path::{Path, PathBuf};

use crate::cli::args::{TrustArgs, UntrustArgs};
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;

use super::from_session::PrivilegedCommand;
use watchdog_agent::preset::{AgentPreset, PresetProblem};
use watchdog_core::config::task_file::parse_task;
use watchdog_core::config::{ConfigError, ConfigProblem, parse_bytes};
use watchdog_facts::display::{escape_for_display, escape_to_one_line};
use watchdog_git::{HistoryPoint, Worktree};
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::configuration::{
    FILE as CONFIGURATION_FILE, MAX_BYTES, config_error_to_fact as bad_configuration,
};
use watchdog_judge::judge::settle_anchor::criteria_trusted;
use watchdog_judge::modes::work::choose_queue;
use watchdog_judge::tasks;
use watchdog_judge::wire::trust_json::{
    PersonDeed, all_trusted_json, revoked_json, trusted_json, trusted_tasks_json,
};
use watchdog_store::open_store;
use watchdog_store::task::{PinnedFile, TaskRecord};
use watchdog_store::trust::{TrustGrant, TrustStore, fingerprint_config};
use watchdog_system::read_regular_file;

/// So many lines of a script are shown.
const SHOWN_LINES: usize = 60;

/// Allows a file as its bytes are now, and shows the commands that it names.
pub fn run_trust_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: TrustArgs,
) -> Result<u8, CommandFailure> {
    command_env.state.ensure()?;
    let store = TrustStore::new(&command_env.state);
    if args.list {
        return list_grants(terminal, &store);
    }
    let worktree = Worktree::open(&command_env.worktree)?;
    let records = open_store(&command_env.state)?;
    let worktree_id = worktree.worktree_id();
    let privileged = PrivilegedCommand {
        command: "watchdog trust",
        store: records.as_ref(),
        worktree_id: &worktree_id,
        from_session: args.from_session,
    };
    privileged.allow()?;
    let (path, relative) = resolve_trusted_file(&worktree, command_env, args.file)?;
    if path.is_dir() {
        return trust_tasks(
            command_env,
            terminal,
            (&worktree, &store),
            &path,
            args.rev.as_deref(),
        );
    }
    let bytes = bytes_of(&worktree, &path, &relative, args.rev.as_deref())?;
    let grant = grant_trust(&worktree, &store, &path, &relative, &bytes)?;
    move_anchors(command_env, &worktree, &relative, Some(&bytes))?;
    move_pin(command_env, &worktree, &relative, &bytes)?;
    privileged.note(&PersonDeed::Trusted {
        path: relative.display().to_string(),
        hash: &grant.hash,
    })?;
    if terminal.json {
        terminal.value(&trusted_json(&grant));
        return Ok(0);
    }
    terminal.line(&format!(
        "trusted: {} ({})",
        path.display(),
        &grant.hash[..16]
    ));
    for command in &grant.commands {
        terminal.line(&format!("  may run {}", escape_to_one_line(command)));
    }
    if grant.commands.is_empty() {
        terminal.line("  it names no commands");
    }
    show_default_script(terminal, &worktree, &path, &bytes);
    Ok(0)
}

fn bytes_of(
    worktree: &Worktree,
    path: &Path,
    relative: &Path,
    rev: Option<&str>,
) -> Result<Vec<u8>, CommandFailure> {
    match rev {
        None => read_regular_file(path, MAX_BYTES).map_err(|error| {
            CommandFailure::usage(format!("failed to read {}: {error}", path.display()))
        }),
        Some(rev) => at_revision(worktree, rev, relative),
    }
}

/// The criteria of a task that is known follow a person's word about its file.
fn move_pin(
    command_env: &CommandEnv,
    worktree: &Worktree,
    relative: &Path,
    bytes: &[u8],
) -> Result<(), CommandFailure> {
    let Some(parsed) = is_task(relative)
        .then(|| parse_task(bytes, relative).ok())
        .flatten()
    else {
        return Ok(());
    };
    let Ok(text) = String::from_utf8(bytes.to_vec()) else {
        return Ok(());
    };
    let (tasks, _) = choose_queue(
        command_env,
        &open_store(&command_env.state)?,
        &worktree.repository_id(),
    )?;
    let pinned = Some(PinnedFile {
        path: relative.to_string_lossy().into_owned(),
        text,
    });
    let depends_on = Some(parsed.depends_on);
    tasks.change(&parsed.id, &|stored| {
        stored.map(|record| TaskRecord {
            pinned: pinned.clone(),
            depends_on: depends_on.clone(),
            ..record.clone()
        })
    })?;
    Ok(())
}

/// A configuration has none of these keys at its top.
fn is_preset(path: &Path, bytes: &[u8]) -> bool {
    let named = path
        .file_name()
        .is_some_and(|name| name != CONFIGURATION_FILE);
    let keys = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(bytes);
    named && keys.is_ok_and(|keys| keys.contains_key("program") && keys.contains_key("session"))
}

fn is_task(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

/// A script that runs without being named is shown with what it says now.
fn show_default_script(terminal: &CommandTerminal, worktree: &Worktree, path: &Path, bytes: &[u8]) {
    let settings = if is_task(path) {
        None
    } else {
        parse_bytes(bytes, path).ok()
    };
    let Some(script) = settings.and_then(|parsed| parsed.settings.rescue.default_script()) else {
        return;
    };
    let file = worktree.root().join(script);
    let Some(text) = read_regular_file(&file, MAX_BYTES)
        .ok()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    else {
        return terminal.line(&format!(
            "  {script} is not there now; one that a session writes is not run"
        ));
    };
    terminal.line(&format!("  {script} says now:"));
    text.lines()
        .take(SHOWN_LINES)
        .for_each(|line| terminal.line(&format!("    {}", escape_to_one_line(line))));
    let more = text.lines().count().saturating_sub(SHOWN_LINES);
    if more > 0 {
        terminal.line(&format!("    ... ({more} more lines)"));
    }
}

/// The anchor that holds from session to session follows a person's word about the configuration of
/// a worktree.
pub(super) fn move_anchors(
    command_env: &CommandEnv,
    worktree: &Worktree,
    relative: &Path,
    trusted: Option<&[u8]>,
) -> Result<(), CommandFailure> {
    if relative != Path::new(CONFIGURATION_FILE) {
        return Ok(());
    }
    let store = open_store(&command_env.state)?;
    Ok(criteria_trusted(store.as_ref(), worktree, trusted)?)
}

/// Allows every task of a folder that names commands, as their bytes are now. Those that name none need no word.
fn trust_tasks(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    (worktree, store): (&Worktree, &TrustStore),
    folder: &Path,
    rev: Option<&str>,
) -> Result<u8, CommandFailure> {
    let relative = folder
        .strip_prefix(worktree.root())
        .unwrap_or(folder)
        .to_string_lossy()
        .into_owned();
    let read = tasks::folder::read_folder(worktree.root(), &relative);
    let folder_tasks = read.map_err(|error| {
        CommandFailure::usage(format!(
            "failed to read the tasks in {}: {error}",
            folder.display()
        ))
    })?;
    for problem in &folder_tasks.problems {
        terminal.complain(&format!(
            "watchdog: {}",
            escape_for_display(&problem.to_string())
        ));
    }
    let named: Vec<_> = folder_tasks
        .tasks
        .iter()
        .filter(|loaded| rev.is_some() || !loaded.task.commands().is_empty())
        .collect();
    let mut grants = Vec::new();
    for loaded in named {
        let bytes = bytes_of(worktree, &loaded.path, &loaded.relative, rev)?;
        grants.push(grant_trust(
            worktree,
            store,
            &loaded.path,
            &loaded.relative,
            &bytes,
        )?);
        move_pin(command_env, worktree, &loaded.relative, &bytes)?;
    }
    if terminal.json {
        terminal.value(&trusted_tasks_json(&grants));
        return Ok(0);
    }
    for grant in &grants {
        terminal.line(&format!(
            "trusted: {} ({})",
            escape_to_one_line(&grant.path.display().to_string()),
            &grant.hash[..16]
        ));
        grant.commands.iter().for_each(|command| {
            terminal.line(&format!("  may run {}", escape_to_one_line(command)))
        });
    }
    if grants.is_empty() {
        terminal.line("no task there names commands");
    }
    Ok(0)
}

/// The commands that a file names: a task's where it is markdown, an agent's where it is a preset, else a configuration's.
fn commands_in(path: &Path, bytes: &[u8]) -> Result<Vec<String>, ConfigError> {
    if is_task(path) {
        return Ok(parse_task(bytes, path)?.commands());
    }
    if is_preset(path, bytes) {
        let wrong = |problem: PresetProblem| ConfigError {
            origin: path.to_owned(),
            problems: vec![ConfigProblem {
                line: 1,
                column: 1,
                key: String::new(),
                message: problem.why,
            }],
            more: 0,
        };
        return AgentPreset::from_bytes(bytes, path)
            .map(|preset| preset.commands())
            .map_err(wrong);
    }
    Ok(parse_bytes(bytes, path)?.settings.commands())
}

/// Pins the fingerprint of a file's bytes: of a configuration, or of a task.
pub fn grant_trust(
    worktree: &Worktree,
    store: &TrustStore,
    path: &Path,
    relative: &Path,
    bytes: &[u8],
) -> Result<TrustGrant, CommandFailure> {
    let commands = commands_in(path, bytes)
        .map_err(|error| CommandFailure::from(bad_configuration(&error)))?;
    let grant = TrustGrant {
        hash: fingerprint_config(&worktree.repository_id(), relative, bytes),
        repository: worktree.common_dir().to_owned(),
        path: relative.to_owned(),
        at: now(),
        commands,
    };
    store.allow(&grant)?;
    Ok(grant)
}

/// Takes the trust in a file's present bytes back.
pub fn run_untrust_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: UntrustArgs,
) -> Result<u8, CommandFailure> {
    let worktree = Worktree::open(&command_env.worktree)?;
    command_env.state.ensure()?;
    let records = open_store(&command_env.state)?;
    let worktree_id = worktree.worktree_id();
    let privileged = PrivilegedCommand {
        command: "watchdog untrust",
        store: records.as_ref(),
        worktree_id: &worktree_id,
        from_session: args.from_session,
    };
    privileged.allow()?;
    let store = TrustStore::new(&command_env.state);
    let (path, relative) = resolve_trusted_file(&worktree, command_env, args.file)?;
    // Every grant for this path goes: whoever takes trust back does not mean one version of the file only.
    let grants = store.list()?;
    let mut revoked = 0;
    for grant in grants
        .iter()
        .filter(|grant| grant.path == relative && grant.repository == worktree.common_dir())
    {
        revoked += usize::from(store.revoke(&grant.hash)?);
    }
    move_anchors(command_env, &worktree, &relative, None)?;
    privileged.note(&PersonDeed::Revoked {
        path: relative.display().to_string(),
        revoked,
    })?;
    if terminal.json {
        terminal.value(&revoked_json(revoked));
    } else if revoked == 0 {
        terminal.line(&format!("{} was not trusted", path.display()));
    } else {
        terminal.line(&format!("no longer trusted: {}", path.display()));
    }
    Ok(0)
}

fn resolve_trusted_file(
    worktree: &Worktree,
    command_env: &CommandEnv,
    file: Option<PathBuf>,
) -> Result<(PathBuf, PathBuf), CommandFailure> {
    let Some(file) = file else {
        return Ok((
            worktree.root().join(CONFIGURATION_FILE),
            CONFIGURATION_FILE.into(),
        ));
    };
    let path = std::path::absolute(command_env.worktree.join(&file))
        .and_then(|path| path.canonicalize())
        .map_err(|error| {
            CommandFailure::usage(format!("failed to find {}: {error}", file.display()))
        })?;
    let relative = path
        .strip_prefix(worktree.root())
        .map_err(|_| {
            CommandFailure::usage(format!(
                "{} is not in the worktree {}",
                path.display(),
                worktree.root().display()
            ))
        })?
        .to_owned();
    Ok((path, relative))
}

fn at_revision(worktree: &Worktree, rev: &str, relative: &Path) -> Result<Vec<u8>, CommandFailure> {
    let missing =
        || CommandFailure::usage(format!("{} is not in revision '{rev}'", relative.display()));
    match worktree.resolve(rev)? {
        HistoryPoint::Unborn => Err(missing()),
        HistoryPoint::Commit(commit) => worktree
            .blob_at(&commit, &relative.to_string_lossy())?
            .ok_or_else(missing),
    }
}

fn list_grants(terminal: &CommandTerminal, store: &TrustStore) -> Result<u8, CommandFailure> {
    let grants = store.list()?;
    if terminal.json {
        terminal.value(&all_trusted_json(&grants));
        return Ok(0);
    }
    if grants.is_empty() {
        terminal.line("nothing is trusted");
    }
    for grant in &grants {
        terminal.line(&format!(
            "{}  {:.0}  {} in {}",
            &grant.hash[..16],
            grant.at,
            grant.path.display(),
            grant.repository.display()
        ));
    }
    Ok(0)
}
