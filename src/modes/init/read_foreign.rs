//! Looks for the files of other programs: agents' descriptions, Ralph's settings and plan, the file of spec-workflow-runner, folders of
//! tasks. Reads regular files inside of the worktree alone, follows no link, and runs nothing.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use serde_json::{Map, Value};

use watchdog_core::config::MAX_BYTES;
use watchdog_facts::display::plural;

use super::file_words::boxes;
use super::foreign_file::{ForeignCriterion, ForeignFile, ForeignSetting};
use super::plain_form::plain_form;
use super::ralph_settings::{RalphIssue, ralph_settings};
use crate::tasks::folder;
use watchdog_system::open_regular_file;

/// Agents and specs that are looked at.
const MOST: usize = 50;
/// The folder with one folder for each agent.
const AGENTS: &str = ".agent";
/// Ralph's folder and settings.
const RALPH: &str = ".ralph";
const RALPH_SETTINGS: &str = ".ralphrc";
/// The file of spec-workflow-runner.
const RUNNER: &str = "config.json";
/// Where tasks are, besides the folders that are read without being named.
const TASKS: &str = "tasks";

/// What other programs left here, by path. What cannot be used is named in `unusable`.
pub fn foreign_files(root: &Path, unusable: &mut Vec<String>) -> Vec<ForeignFile> {
    let mut reader = ForeignReader { root, unusable };
    let mut found = reader.agents();
    found.extend(reader.ralph());
    found.extend(reader.runner());
    found.extend(reader.tasks());
    found
}

/// The checklists of specs below the folder that spec-workflow-runner names, by path.
pub fn runner_spec_lists(root: &Path) -> Vec<String> {
    let named_in_file = read_inside(root, RUNNER)
        .ok()
        .flatten()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let folder_name = |key: &str, usual: &str| {
        let named = named_in_file
            .as_ref()
            .and_then(|file| file.get(key)?.as_str())
            .unwrap_or(usual);
        Some(named.to_owned()).filter(|name| is_plain(name))
    };
    let names = (
        folder_name("spec_workflow_dir_name", ".spec-workflow"),
        folder_name("specs_subdir", "specs"),
        folder_name("tasks_filename", "tasks.md"),
    );
    let (Some(top), Some(specs), Some(list)) = names else {
        return Vec::new();
    };
    let folder = format!("{top}/{specs}");
    folders(root, &folder)
        .into_iter()
        .map(|name| format!("{folder}/{name}/{list}"))
        .filter(|path| is_file_inside(root, path))
        .collect()
}

struct ForeignReader<'a> {
    root: &'a Path,
    unusable: &'a mut Vec<String>,
}

impl ForeignReader<'_> {
    fn text(&mut self, path: &str) -> Option<String> {
        read_inside(self.root, path).unwrap_or_else(|why| {
            self.unusable.push(format!("{path} is not used, as {why}"));
            None
        })
    }

    /// Agents' descriptions. Which of several agents works here nobody can tell, so that all are offered then.
    fn agents(&mut self) -> Vec<ForeignFile> {
        let paths = folders(self.root, AGENTS)
            .into_iter()
            .map(|name| format!("{AGENTS}/{name}/agent.json"));
        let mut found: Vec<ForeignFile> = paths.filter_map(|path| self.lowered(&path)).collect();
        let several = found.len() > 1;
        found
            .iter_mut()
            .flat_map(|file| &mut file.criteria)
            .for_each(|criterion| criterion.chosen &= !several);
        if several {
            // A limit of one agent is none of another.
            found.iter_mut().for_each(|file| file.settings.clear());
        }
        found
    }

    fn lowered(&mut self, path: &str) -> Option<ForeignFile> {
        let text = self.text(path)?;
        match plain_form(path, &text) {
            Ok(found) => Some(found),
            Err(why) => {
                self.unusable.push(format!(
                    "{path} is not taken over: {}",
                    why.replace('\n', "; ")
                ));
                None
            }
        }
    }

    /// Ralph's settings, and the plan that they name.
    fn ralph(&mut self) -> Option<ForeignFile> {
        let text = self.text(RALPH_SETTINGS);
        let said = ralph_settings(text.as_deref().unwrap_or_default());
        let plan = format!("{RALPH}/{}", said.fix_plan);
        let criterion = self.text(&plan).filter(|text| boxes(text).0 > 0).map(|text| {
            let (all, open) = boxes(&text);
            let sections = said.optional_sections.iter().cloned().map(Value::from).collect();
            let keys = [("type", Value::from("plan")), ("path", plan.clone().into()), ("optional_sections", Value::Array(sections))];
            ForeignCriterion {
                entry: Value::Object(Map::from_iter(keys.map(|(key, value)| (key.to_owned(), value)))),
                meaning: format!("plan {plan}: every step done but those of optional sections ({all} steps, {open} open)"),
                chosen: open > 0,
            }
        });
        let seconds = |minutes: u64| minutes * 60;
        let settings: Vec<ForeignSetting> = [
            said.session_minutes
                .map(|n| ForeignSetting::new("limits", "session_timeout_seconds", seconds(n))),
            said.breaker_limit
                .map(|n| ForeignSetting::new("breaker", "limit", n)),
            said.max_loops
                .map(|n| ForeignSetting::new("limits", "max_iterations", n)),
            said.pause_seconds()
                .map(|n| ForeignSetting::new("limits", "cooldown_seconds", n)),
            said.breaker_minutes
                .map(|n| ForeignSetting::new("breaker", "cooldown_seconds", seconds(n))),
        ]
        .into_iter()
        .flatten()
        .collect();
        if text.is_none() && criterion.is_none() {
            return None;
        }
        let notes = said.notes();
        let path = if text.is_some() {
            RALPH_SETTINGS.to_owned()
        } else {
            plan
        };
        Some(ForeignFile {
            path,
            criteria: criterion
                .into_iter()
                .chain(said.issue.map(issue_criterion))
                .collect(),
            settings,
            notes,
        })
    }

    /// The file of spec-workflow-runner, which is one where it says where its specs are.
    fn runner(&mut self) -> Option<ForeignFile> {
        let text = read_inside(self.root, RUNNER).ok().flatten()?;
        let keys = [
            "\"spec_workflow_dir_name\"",
            "\"specs_subdir\"",
            "\"tasks_filename\"",
        ];
        if keys.iter().filter(|key| text.contains(**key)).count() < 2 {
            return None;
        }
        self.lowered(RUNNER)
    }

    /// A folder of tasks that watchdog would not look into by itself.
    fn tasks(&mut self) -> Option<ForeignFile> {
        let read_without_a_word = [folder::OWN, folder::OTHER]
            .iter()
            .any(|path| self.root.join(path).is_dir());
        let named = self
            .text("tanuki.yaml")
            .and_then(|text| tasks_dir(&text))
            .unwrap_or_else(|| TASKS.to_owned());
        if read_without_a_word
            || fs::symlink_metadata(self.root.join(&named)).is_ok_and(|found| !found.is_dir())
        {
            return None;
        }
        let found = folder::read(self.root, &named)
            .ok()
            .filter(|found| !found.tasks.is_empty())?;
        let mut notes = vec![format!(
            "{}; `watchdog trust {named}` allows the commands of tasks",
            plural(found.tasks.len() as u64, "task")
        )];
        notes.extend(found.problems.iter().take(3).map(ToString::to_string));
        Some(ForeignFile {
            path: named.clone(),
            settings: vec![ForeignSetting::new("tasks", "dir", named)],
            notes,
            ..ForeignFile::default()
        })
    }
}

/// Offered only: Ralph closes the issue itself when it ends, and an agent that nobody tells so leaves it open.
fn issue_criterion(issue: RalphIssue) -> ForeignCriterion {
    let whose = issue
        .repo
        .as_ref()
        .map(|repo| format!(" of {repo}"))
        .unwrap_or_default();
    let mut entry = Map::from_iter([
        ("type".to_owned(), Value::from("issue")),
        ("number".to_owned(), issue.number.into()),
    ]);
    entry.extend(issue.repo.map(|repo| ("repo".to_owned(), repo.into())));
    ForeignCriterion {
        entry: Value::Object(entry),
        meaning: format!("issue #{}{whose} is closed", issue.number),
        chosen: false,
    }
}

/// The folder that a `tanuki.yaml` names.
fn tasks_dir(text: &str) -> Option<String> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix("tasks_dir:"))?;
    let value = value
        .split(" #")
        .next()
        .unwrap_or_default()
        .trim()
        .trim_matches(['"', '\''])
        .trim_end_matches('/');
    let inside = !value.is_empty() && !value.starts_with('/') && value.split('/').all(is_plain);
    inside.then(|| value.to_owned())
}

/// Whether it is the name of one file or folder that a person can read.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name != ".."
        && name != "."
        && !name.contains(['/', '\\'])
        && !name.contains(char::is_control)
}

/// The names of the folders in a folder that is no link, sorted.
fn folders(root: &Path, path: &str) -> Vec<String> {
    let folder = root.join(path);
    if !leads_inside(root, &folder) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of_folder = |entry: fs::DirEntry| {
        entry
            .file_type()
            .is_ok_and(|kind| kind.is_dir())
            .then(|| entry.file_name().into_string().ok())
    };
    let mut names: Vec<String> = entries
        .filter_map(of_folder)
        .flatten()
        .filter(|name| is_plain(name))
        .collect();
    names.sort();
    names.truncate(MOST);
    names
}

fn leads_inside(root: &Path, path: &Path) -> bool {
    matches!((root.canonicalize(), path.canonicalize()), (Ok(root), Ok(path)) if path.starts_with(&root))
}

fn is_file_inside(root: &Path, path: &str) -> bool {
    let file = root.join(path);
    fs::symlink_metadata(&file).is_ok_and(|found| found.is_file()) && leads_inside(root, &file)
}

/// The text of a regular file inside of the worktree; `None` where nothing is there.
///
/// # Errors
/// Why what is there is not used.
fn read_inside(root: &Path, path: &str) -> Result<Option<String>, String> {
    let file = root.join(path);
    let Ok(found) = fs::symlink_metadata(&file) else {
        return Ok(None);
    };
    if found.is_symlink() {
        return Err("it is a link".into());
    }
    if !found.is_file() {
        return Err("it is not a regular file".into());
    }
    if !leads_inside(root, &file) {
        return Err("it leads out of the worktree".into());
    }
    if found.len() > MAX_BYTES as u64 {
        return Err(format!(
            "it is {} bytes long, and at most {MAX_BYTES} are read",
            found.len()
        ));
    }
    let mut bytes = Vec::new();
    let read = open_regular_file(&file)
        .and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("it cannot be read: {error}"))?;
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| "it is not UTF-8 text".into())
}

#[cfg(test)]
#[path = "read_foreign_tests.rs"]
mod tests;
