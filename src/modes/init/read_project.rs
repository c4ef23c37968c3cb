//! Looks at a project: its build files, its lists of work, and the programs in `PATH`. Runs nothing and changes nothing.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::agent::preset::PresetCatalog;
use watchdog_core::config::settings::PresetName;
use watchdog_git::{OwnFolder, Worktree};

use super::facts::{FolderBuild, FoundList, ProjectFacts};
use super::file_words::boxes;
use super::folder_reader::FolderReader;
use super::read_builds::read_builds;
use super::read_foreign::{foreign_files, runner_spec_lists};

/// Entries of folders that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// Folders of specs that are looked at.
const MOST_SPECS: usize = 100;
/// Folders that hold what others wrote, or what was built.
const FOREIGN: [&str; 8] = [
    "node_modules",
    "target",
    "vendor",
    "venv",
    "dist",
    "build",
    "third_party",
    "site-packages",
];
/// The folder that has one folder for each spec, with a checklist in it.
const SPECS: &str = "specs";
const SPEC_LIST: &str = "tasks.md";

/// Where cron itself looks for programs.
pub const CRON_PATH: &str = "/usr/bin:/bin";
/// Programs that a proposed check may call.
const PROGRAMS: [&str; 13] = [
    "cargo", "npm", "pnpm", "yarn", "bun", "pytest", "uv", "poetry", "tox", "nox", "go", "make",
    "just",
];
/// What services for continuous integration read: where it is there, and the glob of it.
const INTEGRATION: [(&str, &str); 11] = [
    (".github/workflows", ".github/workflows/**"),
    (".gitlab-ci.yml", ".gitlab-ci.yml"),
    (".circleci", ".circleci/**"),
    (".forgejo/workflows", ".forgejo/workflows/**"),
    (".gitea/workflows", ".gitea/workflows/**"),
    (".buildkite", ".buildkite/**"),
    (".woodpecker.yml", ".woodpecker.yml"),
    (".travis.yml", ".travis.yml"),
    ("azure-pipelines.yml", "azure-pipelines.yml"),
    ("bitbucket-pipelines.yml", "bitbucket-pipelines.yml"),
    ("Jenkinsfile", "Jenkinsfile"),
];
const TEST_FOLDERS: [&str; 5] = ["tests", "test", "spec", "__tests__", "e2e"];
const CHECKLISTS: [&str; 8] = [
    "tasks.md",
    "TASKS.md",
    "fix_plan.md",
    "@fix_plan.md",
    "IMPLEMENTATION_PLAN.md",
    "plan.md",
    "PLAN.md",
    "TODO.md",
];
const FEATURE_LISTS: [&str; 2] = ["feature_list.json", "prd.json"];
const PROMPTS: [&str; 4] = [
    "PROMPT.md",
    "prompt.md",
    ".ralph/PROMPT.md",
    "docs/PROMPT.md",
];

fn program_of(preset: &PresetName) -> Option<String> {
    PresetCatalog::built_in_named(preset.as_str()).map(|preset| preset.program.clone())
}

/// Looks at the project of a worktree. `search_path` is the value of `PATH`.
pub fn read_project(worktree: &Worktree, search_path: Option<&OsStr>) -> ProjectFacts {
    let root = worktree.root();
    let folders = worktree.own_folders(MOST_ENTRIES, &is_walked);
    let unread = |folder: &OwnFolder| {
        Some(format!(
            "failed to read ./{}: {}",
            folder.path,
            folder.unread.as_ref()?
        ))
    };
    let mut unusable: Vec<String> = folders.iter().filter_map(unread).collect();
    let builds = read_builds(root, &folders, &mut unusable);
    let test_folders = test_folders(&folders, &builds);
    let mut lists = ListReader(FolderReader::new(root, "", &mut unusable));
    let list = |found: FoundList| FoundList {
        committed: worktree.head_has(&found.path).unwrap_or(false),
        ..found
    };
    let feature_lists = FEATURE_LISTS
        .iter()
        .filter_map(|path| lists.feature_list(path).map(list))
        .collect();
    // `plan.md` and `PLAN.md` are one file where case is ignored.
    let at_root: BTreeSet<OsString> = fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    let exact = CHECKLISTS
        .iter()
        .filter(|path| at_root.contains(OsStr::new(path)));
    let checklists = exact
        .filter_map(|path| lists.checklist(path).map(list))
        .collect();
    let of_runner = runner_spec_lists(root);
    let spec_lists = spec_lists(&folders)
        .chain(of_runner)
        .filter_map(|path| lists.checklist(&path).map(list))
        .collect();
    let plans = ["plan.json"]
        .iter()
        .filter_map(|path| lists.plan(path).map(list))
        .collect();
    let is_program = |name: &&str| search_path.is_some_and(|path| is_in_path(name, path));
    let foreign = foreign_files(root, &mut unusable);
    ProjectFacts {
        foreign,
        builds,
        ci: INTEGRATION
            .iter()
            .filter(|(path, _)| root.join(path).exists())
            .map(|(_, glob)| (*glob).to_owned())
            .collect(),
        test_folders,
        feature_lists,
        checklists,
        spec_lists,
        plans,
        branch: worktree.branch(),
        prompt: PROMPTS
            .iter()
            .find(|path| root.join(path).is_file())
            .map(|path| (*path).to_owned()),
        agents: PresetName::BUILT_IN
            .into_iter()
            .filter(|preset| {
                program_of(preset).is_some_and(|program| is_program(&program.as_str()))
            })
            .collect(),
        programs: PROGRAMS
            .iter()
            .filter(|name| is_program(name))
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>(),
        unusable,
    }
}

/// Whether a folder is looked into: hidden ones and those of others are not.
fn is_walked(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    !name.starts_with('.') && !FOREIGN.contains(&name)
}

/// The folders of tests beside build files.
fn test_folders(folders: &[OwnFolder], builds: &[FolderBuild]) -> Vec<String> {
    let is_there = |path: &String| folders.iter().any(|folder| folder.path == *path);
    let beside = |build: &FolderBuild| {
        let top = build.folder.clone();
        TEST_FOLDERS.map(move |name| {
            if top.is_empty() {
                name.to_owned()
            } else {
                format!("{top}/{name}")
            }
        })
    };
    // Characters that a glob gives a meaning to are not worth a proposal.
    let is_plain = |path: &String| !path.contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
    builds
        .iter()
        .flat_map(beside)
        .filter(|path| is_plain(path) && is_there(path))
        .collect()
}

/// The paths of the checklists of specs, by name.
fn spec_lists(folders: &[OwnFolder]) -> impl Iterator<Item = String> + '_ {
    let is_spec = |folder: &&OwnFolder| {
        let name = folder
            .path
            .strip_prefix(SPECS)
            .and_then(|rest| rest.strip_prefix('/'));
        name.is_some_and(|name| !name.contains('/'))
            && !folder.path.contains(char::is_control)
            && folder.files.iter().any(|file| file == SPEC_LIST)
    };
    folders
        .iter()
        .filter(is_spec)
        .take(MOST_SPECS)
        .map(|folder| format!("{}/{SPEC_LIST}", folder.path))
}

/// Whether a program of this name can be run from one of these folders.
pub fn is_in_path(name: &str, search_path: &OsStr) -> bool {
    let runs = |file: &Path| {
        fs::metadata(file)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(search_path)
        .any(|folder| folder.is_absolute() && runs(&folder.join(name)))
}

/// Reads lists of work, by their paths from the root.
struct ListReader<'a>(FolderReader<'a>);

impl ListReader<'_> {
    fn feature_list(&mut self, name: &str) -> Option<FoundList> {
        let value = self.0.json(name)?;
        let lists = [
            "features",
            "userStories",
            "user_stories",
            "stories",
            "tasks",
            "items",
        ];
        let list = if value.is_object() {
            lists.iter().find_map(|key| value.get(key))
        } else {
            Some(&value)
        };
        let entries = list
            .and_then(Value::as_array)
            .filter(|list| !list.is_empty() && list.iter().all(Value::is_object));
        let Some(entries) = entries else {
            self.0
                .leave_out(name, "it is no list of features, or an empty one");
            return None;
        };
        let open = entries
            .iter()
            .filter(|entry| entry.get("passes") != Some(&Value::Bool(true)))
            .count();
        Some(FoundList {
            path: name.into(),
            entries: entries.len(),
            open,
            ..FoundList::default()
        })
    }

    fn checklist(&mut self, name: &str) -> Option<FoundList> {
        let (entries, open) = boxes(&self.0.text(name)?);
        (entries > 0).then(|| FoundList {
            path: name.into(),
            entries,
            open,
            ..FoundList::default()
        })
    }

    fn plan(&mut self, name: &str) -> Option<FoundList> {
        let value = self.0.json(name)?;
        let list = ["steps", "tasks", "todos"]
            .iter()
            .find_map(|key| value.get(key))
            .unwrap_or(&value);
        let Some(steps) = list.as_array().filter(|steps| {
            !steps.is_empty() && steps.iter().all(|step| step["status"].is_string())
        }) else {
            self.0.leave_out(name, "it has no steps with a status");
            return None;
        };
        let words: BTreeSet<&str> = steps
            .iter()
            .filter_map(|step| step["status"].as_str())
            .collect();
        let others: Vec<String> = ["completed", "complete"]
            .into_iter()
            .filter(|word| words.contains(word))
            .map(str::to_owned)
            .collect();
        let done = if others.is_empty() {
            Vec::new()
        } else {
            [vec!["done".to_owned()], others].concat()
        };
        let is_done = |word: &str| word == "done" || done.iter().any(|done| done == word);
        let open = steps
            .iter()
            .filter(|step| !step["status"].as_str().is_some_and(is_done))
            .count();
        Some(FoundList {
            path: name.into(),
            entries: steps.len(),
            open,
            done,
            ..FoundList::default()
        })
    }
}
