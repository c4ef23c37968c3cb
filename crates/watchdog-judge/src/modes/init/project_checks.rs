//! From the files of a worktree to a proposed configuration. Runs nothing and changes nothing.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use watchdog_core::config::settings::PresetName;
use watchdog_facts::evidence::CheckOutcome;
use watchdog_facts::page_address;
use watchdog_facts::patterns::escapes_worktree;
use watchdog_git::{OwnFolder, Worktree};
use watchdog_process::find_program;
use watchdog_system::read_entries;

use super::build_table::{
    BUILT_FOLDERS, BuildRow, FEATURE_LISTS, FOREIGN, GUARDED, NO_PROJECTS, PLANS, TASKS, WISHES,
    build_rows, has_word,
};
use super::first_run::judge_list;
use super::project_reader::{ProjectReader, is_inside};
use super::proposal::{ConfigProposal, ProposedEntry, quote_as_json};
use watchdog_agent::preset::PresetCatalog;

/// Entries of folders that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// How deep below the root build files are looked for.
const DEEPEST: usize = 3;
/// Checks of folders below the root that are proposed.
const MOST_BELOW: usize = 12;
/// Folders of other programs' files that are looked at.
const MOST_FOREIGN: usize = 20;
const PROMPTS: [&str; 4] = [
    "PROMPT.md",
    "prompt.md",
    ".ralph/PROMPT.md",
    "docs/PROMPT.md",
];

/// The search path of cron itself.
pub const CRON_PATH: &str = "/usr/bin:/bin";

/// Whether a program of this name can be run from one of these folders.
pub fn is_in_path(name: &str, search_path: &OsStr) -> bool {
    find_program(name, search_path).is_some()
}

/// Looks at the project of a worktree. `search_path` is the value of `PATH`.
pub fn propose_config(worktree: &Worktree, search_path: Option<&OsStr>) -> ConfigProposal {
    let root = worktree.root();
    let folders = worktree.own_folders(MOST_ENTRIES, &|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        !name.starts_with('.') && !has_word(BUILT_FOLDERS, name)
    });
    let mut reader = ProjectReader::new(worktree, &folders);
    let builds = find_builds(&mut reader);
    let is_program = |name: &str| search_path.is_some_and(|path| is_in_path(name, path));
    for check in builds.iter().filter(|check| check.against.is_none()) {
        let program = check.row.run.split(' ').next().unwrap_or_default();
        if !program.contains('/') && !is_program(program) {
            let run = check.row.run;
            reader.note(format!(
                "`{program}` is not in PATH here, and `{run}` needs it"
            ));
        }
    }
    let mut entries: Vec<ProposedEntry> = builds.iter().map(BuildCheck::entry).collect();
    entries.extend(propose_lists(&mut reader));
    entries.extend(propose_guards(root));
    name_foreign_files(&mut reader);
    let has_program = |preset: &PresetName| {
        PresetCatalog::built_in_named(preset.as_str())
            .is_some_and(|preset| is_program(&preset.program))
    };
    let agents: Vec<PresetName> = PresetName::BUILT_IN
        .into_iter()
        .filter(has_program)
        .collect();
    if agents.is_empty() {
        let note = "no agent was found in PATH: install one, or name one with agent.preset or \
                    agent.probe";
        reader.note(note.to_owned());
    }
    ConfigProposal {
        entries,
        agent: agents.first().cloned(),
        agents,
        notes: reader.notes,
        prompt: PROMPTS.into_iter().find(|path| root.join(path).is_file()),
    }
}

/// A line of the table that fits a folder.
struct BuildCheck {
    row: BuildRow,
    folder: String,
    name: String,
    why: String,
    /// Why it is offered only.
    against: Option<String>,
}

impl BuildCheck {
    fn entry(&self) -> ProposedEntry {
        let against = self.against.as_ref().map(|against| format!("; {against}"));
        ProposedEntry {
            why: format!("{}{}", self.why, against.unwrap_or_default()),
            is_chosen: self.against.is_none(),
            ..ProposedEntry::command(&self.name, self.row.run, &self.folder)
        }
    }
}

/// The checks of the root, then those of the folders below it.
fn find_builds(reader: &mut ProjectReader<'_>) -> Vec<BuildCheck> {
    let rows = build_rows();
    let mut checks: Vec<BuildCheck> = Vec::new();
    for folder in reader
        .folders
        .iter()
        .filter(|folder| may_be_project(&folder.path))
    {
        for rows in rows.chunk_by(|row, next| row.language == next.language) {
            checks.extend(check_folder(reader, folder, rows, &checks));
        }
    }
    let is_below = |check: &BuildCheck| !check.folder.is_empty();
    checks.sort_by_key(|check| is_below(check).then_some(check.against.is_some()));
    let at_root = checks.iter().filter(|check| !is_below(check)).count();
    if checks.len() > at_root + MOST_BELOW {
        let more = checks.len() - at_root - MOST_BELOW;
        reader.note(format!(
            "{more} more checks of folders below could be written by hand"
        ));
        checks.truncate(at_root + MOST_BELOW);
    }
    let names: Vec<String> = checks.iter().map(|check| check.name.clone()).collect();
    for check in &mut checks {
        if names.iter().filter(|name| **name == check.name).count() > 1 {
            check.name = name_in_folder(check.row.run, &check.folder);
        }
    }
    checks
}

/// The check of one language in a folder, unless a folder above has one.
fn check_folder(
    reader: &mut ProjectReader<'_>,
    folder: &OwnFolder,
    rows: &[BuildRow],
    before: &[BuildCheck],
) -> Option<BuildCheck> {
    let path = &folder.path;
    let mut above = before.iter().filter(|check| is_inside(path, &check.folder));
    let language = rows.first()?.language;
    if above.clone().any(|check| check.row.language == language) {
        return None;
    }
    let (row, why) = rows.iter().find_map(|row| {
        let file = reader.find_any(folder, row.files)?;
        let fits = row.besides.is_empty() || reader.find_any(folder, row.besides).is_some();
        fits.then_some((*row, file))
    })?;
    let against = if language == TASKS {
        let tests = above.find(|check| check.row.name == "tests");
        tests.map(|_| "the tests run already".to_owned())
    } else {
        let task = above.find(|check| check.row.language == TASKS && check.against.is_none());
        task.map(|task| format!("`{}` in a folder above may run it", task.row.run))
    };
    if row.name == "build" && against.is_none() {
        let run = row.run;
        reader.note(format!(
            "no test was found beside {why}, and a run of no test is no pass, so that `{run}` is \
             the check; add one that runs tests once there are some"
        ));
    }
    let word = if against.is_none() { row.name } else { row.run };
    let name = name_in_folder(word, path);
    Some(BuildCheck {
        row,
        folder: path.clone(),
        name,
        why,
        against,
    })
}

fn name_in_folder(word: &str, folder: &str) -> String {
    if folder.is_empty() {
        word.to_owned()
    } else {
        format!("{word} in {folder}")
    }
}

fn may_be_project(folder: &str) -> bool {
    let is_own = |part: &str| !has_word(NO_PROJECTS, part);
    folder.is_empty()
        || folder.split('/').count() <= DEEPEST
            && folder.split('/').all(is_own)
            // A name that no configuration could have.
            && escapes_worktree(folder).is_none()
            && !folder.contains(char::is_control)
}

/// Lists of work, as their own check reads them: with open entries they are written.
fn propose_lists(reader: &mut ProjectReader<'_>) -> Vec<ProposedEntry> {
    let worktree = reader.worktree;
    let at_root = reader
        .folders
        .first()
        .map(|root| root.files.as_slice())
        .unwrap_or_default();
    let branch = worktree.branch().unwrap_or_default();
    let mut entries = Vec::new();
    let features = FEATURE_LISTS.split(' ').map(|path| (path, "feature_list"));
    for (path, kind) in features.chain(PLANS.split(' ').map(|path| (path, "plan"))) {
        let path = path.replace("{branch}", &branch);
        // A file is listed once where case is ignored.
        let is_there = match path.contains('/') {
            true => worktree.root().join(&path).is_file(),
            false => at_root.contains(&path),
        };
        if !is_there {
            continue;
        }
        let is_json = path.ends_with(".json");
        let keys = format!("\"type\": \"{kind}\", \"path\": {}", quote_as_json(&path));
        let done = match (kind, is_json) {
            ("plan", true) => ", \"done\": [\"done\", \"completed\", \"complete\"]",
            _ => "",
        };
        let (outcome, feedback) = judge_list(worktree.root(), &format!("{{{keys}{done}}}"));
        let (freeze, shown) = match kind {
            "plan" => ("", "plan"),
            _ if worktree.head_has(&path).unwrap_or(false) => (", \"freeze\": true", "frozen list"),
            _ => ("", "list"),
        };
        let is_open =
            feedback.contains(" incomplete task(s) out of ") || feedback.contains(" do not pass: ");
        if is_open || outcome == CheckOutcome::Pass {
            entries.push(ProposedEntry {
                is_guard: false,
                text: format!("{{{keys}{done}{freeze}}}"),
                shown: format!("{shown} {path}: every entry done"),
                why: "its marks are the agent's word".into(),
                is_chosen: is_open && path != WISHES,
            });
        } else if is_json {
            reader.note(format!("{path} is not used: {feedback}"));
        }
        if is_open && shown == "list" {
            reader.note(format!(
                "{path} is in no commit, so it is not frozen: commit it, then add \"freeze\": \
                 true, and only passes may change"
            ));
        }
    }
    entries
}

/// Guards are offered only: they compare with a baseline, and `evaluate` without one would fail.
fn propose_guards(root: &Path) -> impl Iterator<Item = ProposedEntry> {
    let globs = GUARDED.split(' ').filter_map(|path| {
        let about = fs::metadata(root.join(path)).ok()?;
        Some(if about.is_dir() {
            format!("{path}/**")
        } else {
            path.to_owned()
        })
    });
    globs.map(|glob| ProposedEntry {
        is_guard: true,
        text: quote_as_json(&glob),
        shown: format!("guard {glob}"),
        why: "a session that changes it ends in review".into(),
        is_chosen: false,
    })
}

/// Names the files of other programs that say what done means, and where a person reads more.
fn name_foreign_files(reader: &mut ProjectReader<'_>) {
    let root = reader.worktree.root();
    let Some(top) = reader.folders.first() else {
        return;
    };
    for line in FOREIGN.lines() {
        let columns: Vec<&str> = line.split(" | ").collect();
        let [sign, advice, page] = columns[..] else {
            continue;
        };
        let paths: Vec<String> = match sign.split_once("/*/") {
            Some((folder, name)) => {
                let entries = read_entries(&root.join(folder), MOST_FOREIGN).unwrap_or_default();
                let names = entries
                    .iter()
                    .filter_map(|entry| entry.file_name().into_string().ok());
                let mut paths: Vec<String> = names
                    .map(|inner| format!("{folder}/{inner}/{name}"))
                    .collect();
                paths.retain(|path| root.join(path).is_file());
                paths.sort();
                paths
            }
            None => reader.find_any(top, sign).into_iter().collect(),
        };
        paths.iter().for_each(|path| {
            reader.note(format!(
                "found {path}: {advice} {}{page}",
                page_address!("")
            ))
        });
    }
}
