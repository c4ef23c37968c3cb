//! `watchdog completions`: made from the command line's own definition, so that they cannot lag behind it. Also `watchdog complete`,
//! which the scripts call for the names that only the worktree knows.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use clap::Command;
use clap_complete::Shell;

use crate::cli::completed_value::{CandidateKind, CompletedValue};
use crate::cli::failure::CommandFailure;
use crate::cli::{help, result_output};
use watchdog_core::config::parse_bytes;
use watchdog_core::config::task_file::TASK_STATUSES;
use watchdog_facts::display::plural;
use watchdog_git::Worktree;
use watchdog_judge::judge::configuration::{FILE as CONFIGURATION_FILE, MAX_BYTES};
use watchdog_judge::judge::serving_git::serve_refs;
use watchdog_judge::modes::init::{list_runnable_commands, propose_config};
use watchdog_judge::session::logs_of;
use watchdog_judge::tasks::folder;
use watchdog_store::journal::kind;
use watchdog_store::{StateDir, open_store_to_read};
use watchdog_system::read_regular_file;
use watchdog_view::amounts::format_size;

/// A person waits for the candidates with a finger on the key; later ones are left out.
const PATIENCE: Duration = Duration::from_millis(500);

/// The function of the scripts that clap makes, in bash and in zsh.
const FUNCTION: &str = "_watchdog() {\n";

/// A value that fits, and what it is in a few words.
type Candidate = (String, String);

/// Prints shell completions.
pub fn run_completions_command(shell: Shell) -> Result<u8, CommandFailure> {
    // A reader that went away (a pager that was quit) is no fault of ours.
    let _ = result_output::write_result(
        &mut std::io::stdout().lock(),
        build_completion_script(shell).as_bytes(),
    );
    Ok(0)
}

/// The script of a shell; bash, zsh and fish also ask watchdog for names.
fn build_completion_script(shell: Shell) -> String {
    let mut made = Vec::new();
    clap_complete::generate(
        shell,
        &mut help::build_arranged_command(),
        "watchdog",
        &mut made,
    );
    let made = String::from_utf8_lossy(&made).into_owned();
    let asking_first = |values: &str| {
        made.replacen(
            FUNCTION,
            &format!("{values}\n{FUNCTION}    _watchdog_values && return 0\n"),
            1,
        )
    };
    match shell {
        Shell::Bash => asking_first(include_str!("../completions/values.bash")),
        Shell::Zsh => asking_first(include_str!("../completions/values.zsh")),
        Shell::Fish => made + include_str!("../completions/values.fish"),
        _ => made,
    }
}

/// The words of `watchdog complete -- WORD...`, the last of which is at the cursor. Only the scripts call it, so no help has it.
pub fn words_to_complete(line: &[OsString]) -> Option<&[OsString]> {
    match line {
        [_, command, separator, words @ ..] if command == "complete" && separator == "--" => {
            Some(words)
        }
        _ => None,
    }
}

/// Prints a candidate a line, behind a tab what it is. Fails where the word is none of [`CandidateKind`], so that the shell does as ever.
///
/// It says nothing of what cannot be read, and writes nothing: it reads git and files, and never opens the records.
pub fn print_candidates(words: &[OsString]) -> ExitCode {
    let words: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let Some(completed) = CompletedValue::at_the_end_of(&words) else {
        return ExitCode::FAILURE;
    };
    let begins = completed.list_begins.clone();
    let (sender, receiver) = mpsc::channel();
    let reading = std::thread::Builder::new()
        .spawn(move || sender.send(find_candidates(&completed).unwrap_or_default()));
    let proposals = reading
        .ok()
        .and_then(|_| receiver.recv_timeout(PATIENCE).ok())
        .unwrap_or_default();
    let lines: String = proposals
        .iter()
        .filter(|(value, _)| !value.is_empty() && !value.contains(char::is_control))
        .map(|(value, about)| {
            if about.is_empty() {
                format!("{begins}{value}\n")
            } else {
                format!("{begins}{value}\t{}\n", one_line(about))
            }
        })
        .collect();
    let _ = result_output::write_result(&mut std::io::stdout().lock(), lines.as_bytes());
    ExitCode::SUCCESS
}

fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn find_candidates(completed: &CompletedValue) -> Option<Vec<Candidate>> {
    match completed.kind {
        CandidateKind::HelpTopic => Some(commands_below(
            &completed.before,
            ("exit-codes", "What the exit codes mean"),
        )),
        CandidateKind::ManualPage => Some(commands_below(
            &completed.before,
            ("completion.json", "The keys of the configuration"),
        )),
        CandidateKind::TaskStatus => Some(
            TASK_STATUSES
                .iter()
                .map(|(word, _)| ((*word).to_owned(), String::new()))
                .collect(),
        ),
        CandidateKind::Spec => list_spec_candidates(&find_worktree(completed)?),
        CandidateKind::SpecOrLog => {
            let worktree = find_worktree(completed)?;
            let logs = find_state_dir(completed)
                .and_then(|state| logs_of(&state.logs(), &worktree.worktree_id()).ok())
                .unwrap_or_default();
            let logs = logs.into_iter().map(|log| (log.id, format_size(log.size)));
            Some(
                list_spec_candidates(&worktree)
                    .into_iter()
                    .flatten()
                    .chain(logs)
                    .collect(),
            )
        }
        CandidateKind::SpecOrVerdict => {
            let worktree = find_worktree(completed)?;
            let verdicts = find_state_dir(completed)
                .map(|state| verdicts_of(&state, &worktree.worktree_id()))
                .unwrap_or_default();
            Some(
                list_spec_candidates(&worktree)
                    .into_iter()
                    .flatten()
                    .chain(verdicts)
                    .collect(),
            )
        }
        CandidateKind::SnapshotSpec => {
            let mut specs: Vec<String> = find_worktree(completed)?
                .snapshots(None)
                .ok()?
                .into_iter()
                .map(|snapshot| snapshot.spec)
                .collect();
            specs.sort_unstable();
            specs.dedup();
            Some(
                specs
                    .into_iter()
                    .map(|spec| (spec, String::new()))
                    .collect(),
            )
        }
        CandidateKind::Snapshot => list_snapshot_candidates(&find_worktree(completed)?),
        CandidateKind::Task => {
            let worktree = find_worktree(completed)?;
            let config = completed
                .config
                .as_deref()
                .map(in_home)
                .or_else(|| from_env("WATCHDOG_CONFIG"));
            list_task_candidates(
                &worktree,
                &config.unwrap_or_else(|| worktree.root().join(CONFIGURATION_FILE)),
            )
        }
        CandidateKind::Check => Some(list_check_candidates(&find_worktree(completed)?)),
        CandidateKind::Listed => Some(completed.listed.clone()),
    }
}

/// The last verdicts of a worktree by the ids of their events, the newest first.
fn verdicts_of(state: &StateDir, worktree_id: &str) -> Vec<Candidate> {
    let events = || {
        let store = open_store_to_read(state).ok()?;
        let end = store.cursor_at(jiff::Timestamp::MAX).ok()?;
        Some(store.read_back(end, Some(worktree_id), 100).ok()?.0)
    };
    let verdicts = events()
        .into_iter()
        .flatten()
        .rev()
        .filter(|event| event.kind == kind::VERDICT)
        .take(10);
    verdicts
        .map(|event| {
            (
                event.id,
                event.data["reason"].as_str().unwrap_or_default().to_owned(),
            )
        })
        .collect()
}

fn from_env(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Finds watchdog's state directory, as the command would.
fn find_state_dir(completed: &CompletedValue) -> Option<StateDir> {
    let named = completed
        .state_dir
        .as_deref()
        .map(in_home)
        .or_else(|| from_env("WATCHDOG_STATE_DIR"));
    StateDir::resolve(named, from_env("XDG_STATE_HOME"), from_env("HOME")).ok()
}

/// The worktree of the line. If git alone reads its refs, this runs git; its answer is in the state
/// directory for a moment.
fn find_worktree(completed: &CompletedValue) -> Option<Worktree> {
    if let Some(state) = find_state_dir(completed) {
        serve_refs(&state);
    }
    let folder = completed
        .worktree
        .as_deref()
        .map(in_home)
        .or_else(|| from_env("WATCHDOG_WORKTREE"))
        .unwrap_or_else(|| ".".into());
    Worktree::open(&folder).ok()
}

/// The commands below one, and at the top one word more.
fn commands_below(path: &[String], more: (&str, &str)) -> Vec<Candidate> {
    let whole = help::build_arranged_command();
    let named = path
        .iter()
        .try_fold(&whole, |command, word| command.find_subcommand(word));
    let commands = named
        .into_iter()
        .flat_map(Command::get_subcommands)
        .filter(|command| !command.is_hide_set());
    let about = |command: &Command| {
        command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default()
    };
    let top = path
        .is_empty()
        .then(|| (more.0.to_owned(), more.1.to_owned()));
    commands
        .map(|command| (command.get_name().to_owned(), about(command)))
        .chain(top)
        .collect()
}

/// The commands that `watchdog init` would write, by the names of their checks.
fn list_check_candidates(worktree: &Worktree) -> Vec<Candidate> {
    let proposed = propose_config(worktree, std::env::var_os("PATH").as_deref());
    let text = proposed.file_text().ok().flatten().unwrap_or_default();
    let settings = parse_bytes(text.as_bytes(), Path::new(CONFIGURATION_FILE))
        .map(|parsed| parsed.settings)
        .unwrap_or_default();
    list_runnable_commands(&settings)
        .into_iter()
        .map(|(name, criterion)| (name.to_owned(), criterion.run.to_string()))
        .collect()
}

/// A path as the shell would expand it.
fn in_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.into(),
    }
}

fn list_spec_candidates(worktree: &Worktree) -> Option<Vec<Candidate>> {
    let (kept, id) = (worktree.kept_baselines().ok()?, worktree.worktree_id());
    let of_here = kept
        .into_iter()
        .filter(|baseline| baseline.worktree_id == id);
    Some(
        of_here
            .map(|baseline| (baseline.spec, format!("since {:.8}", baseline.commit)))
            .collect(),
    )
}

fn list_snapshot_candidates(worktree: &Worktree) -> Option<Vec<Candidate>> {
    let all_snapshots = worktree.snapshots(None).ok()?;
    let latest = (!all_snapshots.is_empty()).then(|| {
        (
            "latest".to_owned(),
            "the newest of this worktree".to_owned(),
        )
    });
    let of = all_snapshots.into_iter().map(|snapshot| {
        let about = format!(
            "{:.0}, spec '{}', {}",
            snapshot.at,
            snapshot.spec,
            plural(snapshot.files, "file")
        );
        (snapshot.id, about)
    });
    Some(latest.into_iter().chain(of).collect())
}

/// The tasks of the folder that a configuration names; to read its name runs nothing, so trust is not asked for.
fn list_task_candidates(worktree: &Worktree, config: &Path) -> Option<Vec<Candidate>> {
    let settings = read_regular_file(config, MAX_BYTES)
        .ok()
        .and_then(|bytes| parse_bytes(&bytes, config).ok())
        .map(|parsed| parsed.settings);
    let folder_tasks =
        folder::read_folder(worktree.root(), &settings.unwrap_or_default().tasks.dir).ok()?;
    Some(
        folder_tasks
            .tasks
            .into_iter()
            .map(|loaded| (loaded.task.id, loaded.task.title))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_ask_watchdog_before_they_answer_themselves() {
        for shell in [Shell::Bash, Shell::Zsh] {
            assert!(
                build_completion_script(shell)
                    .contains("_watchdog() {\n    _watchdog_values && return 0\n"),
                "{shell}"
            );
        }
    }
}
