//! Looks at a project: the files at its root, a bounded walk for tests, and the programs in `PATH`. Runs nothing and changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use watchdog_core::config::settings::Preset;

use super::facts::{CargoProject, FoundList, NodeProject, ProjectFacts, PythonProject, ScriptRunner, TestPresence};
use super::file_text::preset_word;
use super::file_words::{boxes, just_recipes, make_targets, pytest_is_configured};
use super::test_search::FoundTests;

/// So much of a file is looked at, in bytes.
const MOST: u64 = 1 << 20;
/// A package.json or plan beyond this size, in bytes, is not read.
const MOST_JSON: u64 = 8 << 20;

/// Where cron itself looks for programs.
pub const CRON_PATH: &str = "/usr/bin:/bin";
/// Programs that a proposed check may call.
const PROGRAMS: [&str; 11] = ["cargo", "npm", "pnpm", "yarn", "bun", "pytest", "uv", "poetry", "go", "make", "just"];
const PRESETS: [Preset; 4] = [Preset::Claude, Preset::Codex, Preset::Gemini, Preset::Opencode];
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
const CHECKLISTS: [&str; 8] =
    ["tasks.md", "TASKS.md", "fix_plan.md", "@fix_plan.md", "IMPLEMENTATION_PLAN.md", "plan.md", "PLAN.md", "TODO.md"];
const FEATURE_LISTS: [&str; 2] = ["feature_list.json", "prd.json"];
const PROMPTS: [&str; 4] = ["PROMPT.md", "prompt.md", ".ralph/PROMPT.md", "docs/PROMPT.md"];

/// Looks at the project at `root`. `in_head` says whether HEAD has a path, `search_path` is the value of `PATH`.
pub fn read_project(root: &Path, in_head: impl Fn(&str) -> bool, search_path: Option<&OsStr>) -> ProjectFacts {
    let mut reader = ProjectReader { root, unusable: Vec::new() };
    let tests = FoundTests::below(root);
    let cargo = reader.cargo(&tests);
    let node = reader.node();
    let python = reader.python(&tests);
    let list = |found: Option<FoundList>| found.map(|list| FoundList { committed: in_head(&list.path), ..list });
    let feature_lists = FEATURE_LISTS.iter().filter_map(|path| list(reader.feature_list(path))).collect();
    let checklists = CHECKLISTS.iter().filter_map(|path| list(reader.checklist(path))).collect();
    let plans = ["plan.json"].iter().filter_map(|path| list(reader.plan(path))).collect();
    let there = |path: &&str| root.join(path).exists();
    let is_program = |name: &&str| search_path.is_some_and(|path| is_in_path(name, path));
    ProjectFacts {
        cargo,
        node,
        python,
        go: root.join("go.mod").is_file().then_some(tests.go),
        make: make_targets(&reader.first_text(&["GNUmakefile", "makefile", "Makefile"])),
        just: just_recipes(&reader.first_text(&["justfile", "Justfile", ".justfile"])),
        ci: INTEGRATION.iter().filter(|(path, _)| there(path)).map(|(_, glob)| (*glob).to_owned()).collect(),
        test_folders: TEST_FOLDERS.iter().filter(|name| root.join(name).is_dir()).map(|name| (*name).to_owned()).collect(),
        feature_lists,
        checklists,
        plans,
        prompt: PROMPTS.iter().find(|path| root.join(path).is_file()).map(|path| (*path).to_owned()),
        agents: PRESETS.into_iter().filter(|preset| is_program(&preset_word(*preset))).collect(),
        programs: PROGRAMS.iter().filter(|name| is_program(name)).map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(),
        unusable: reader.unusable,
    }
}

/// Whether a program of this name can be run from one of these folders.
pub fn is_in_path(name: &str, search_path: &OsStr) -> bool {
    let runs = |file: &Path| fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    std::env::split_paths(search_path).any(|folder| folder.is_absolute() && runs(&folder.join(name)))
}

struct ProjectReader<'a> {
    root: &'a Path,
    unusable: Vec<String>,
}

impl ProjectReader<'_> {
    /// The beginning of a file; `None` where there is none. A pipe or device in its place is none.
    fn bytes(&mut self, name: &str, most: u64) -> Option<Vec<u8>> {
        let path = self.root.join(name);
        match fs::metadata(&path) {
            Ok(found) if found.is_file() => {}
            _ => return None,
        }
        let mut bytes = Vec::new();
        match fs::File::open(&path).and_then(|file| file.take(most).read_to_end(&mut bytes)) {
            Ok(_) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                self.unusable.push(format!("failed to read {name}: {error}"));
                None
            }
        }
    }

    fn text(&mut self, name: &str) -> Option<String> {
        self.bytes(name, MOST).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn first_text(&mut self, names: &[&str]) -> String {
        names.iter().find_map(|name| self.text(name)).unwrap_or_default()
    }

    fn json(&mut self, name: &str) -> Option<Value> {
        let bytes = self.bytes(name, MOST_JSON)?;
        match serde_json::from_slice(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes)) {
            Ok(value) => Some(value),
            Err(error) => {
                self.unusable.push(format!("{name} is not used, as it is no valid JSON: {error}"));
                None
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.root.join(name).is_file()
    }

    fn cargo(&mut self, tests: &FoundTests) -> Option<CargoProject> {
        let text = self.text("Cargo.toml")?;
        let table =
            |name: &str| text.lines().map(str::trim).any(|line| line == format!("[{name}]") || line.starts_with(&format!("[{name}.")));
        let workspace = table("workspace");
        if !workspace && !table("package") {
            self.unusable.push("Cargo.toml is not used, as it has neither a package nor a workspace".into());
            return None;
        }
        Some(CargoProject { workspace, tests: tests.rust })
    }

    fn node(&mut self) -> Option<NodeProject> {
        let package = self.json("package.json")?;
        let scripts = match package.get("scripts") {
            Some(Value::Object(scripts)) => {
                scripts.iter().filter_map(|(name, run)| Some((name.clone(), run.as_str()?.to_owned()))).collect()
            }
            _ => BTreeMap::new(),
        };
        let locks = [
            ("pnpm-lock.yaml", ScriptRunner::Pnpm),
            ("yarn.lock", ScriptRunner::Yarn),
            ("bun.lock", ScriptRunner::Bun),
            ("bun.lockb", ScriptRunner::Bun),
            ("package-lock.json", ScriptRunner::Npm),
            ("npm-shrinkwrap.json", ScriptRunner::Npm),
        ];
        let by_lock = locks.iter().find(|(name, _)| self.has(name)).map(|(_, manager)| *manager);
        let named = || match package.get("packageManager")?.as_str()?.split('@').next()? {
            "pnpm" => Some(ScriptRunner::Pnpm),
            "yarn" => Some(ScriptRunner::Yarn),
            "bun" => Some(ScriptRunner::Bun),
            _ => None,
        };
        Some(NodeProject { scripts, manager: by_lock.or_else(named).unwrap_or_default() })
    }

    fn python(&mut self, tests: &FoundTests) -> Option<PythonProject> {
        let mut pytest = ["pytest.ini", ".pytest.ini", "conftest.py"].iter().any(|name| self.has(name));
        for name in ["pyproject.toml", "tox.ini", "setup.cfg", "requirements.txt", "requirements-dev.txt", "dev-requirements.txt"] {
            pytest |= self.text(name).is_some_and(|text| pytest_is_configured(name, &text));
        }
        let known = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"].iter().any(|name| self.has(name));
        if !known && !pytest && tests.python == TestPresence::NoneFound {
            return None;
        }
        let launcher = match () {
            () if self.has("uv.lock") => "uv run",
            () if self.has("poetry.lock") => "poetry run",
            () => "",
        };
        let own_pytest = [".venv/bin/pytest", "venv/bin/pytest"].into_iter().find(|path| self.has(path));
        Some(PythonProject { pytest, tests: tests.python, launcher, own_pytest })
    }

    fn feature_list(&mut self, name: &str) -> Option<FoundList> {
        let value = self.json(name)?;
        let lists = ["features", "userStories", "user_stories", "stories", "tasks", "items"];
        let list = if value.is_object() { lists.iter().find_map(|key| value.get(key)) } else { Some(&value) };
        let entries = list.and_then(Value::as_array).filter(|list| !list.is_empty() && list.iter().all(Value::is_object));
        let Some(entries) = entries else {
            self.unusable.push(format!("{name} is not used, as it is no list of features, or an empty one"));
            return None;
        };
        let open = entries.iter().filter(|entry| entry.get("passes") != Some(&Value::Bool(true))).count();
        Some(FoundList { path: name.into(), entries: entries.len(), open, ..FoundList::default() })
    }

    fn checklist(&mut self, name: &str) -> Option<FoundList> {
        // `plan.md` and `PLAN.md` are one file where case is ignored.
        let exact = fs::read_dir(self.root).ok()?.flatten().any(|entry| entry.file_name() == name);
        let (entries, open) = boxes(&self.text(name).filter(|_| exact)?);
        (entries > 0).then(|| FoundList { path: name.into(), entries, open, ..FoundList::default() })
    }

    fn plan(&mut self, name: &str) -> Option<FoundList> {
        let value = self.json(name)?;
        let list = ["steps", "tasks", "todos"].iter().find_map(|key| value.get(key)).unwrap_or(&value);
        let Some(steps) = list.as_array().filter(|steps| !steps.is_empty() && steps.iter().all(|step| step["status"].is_string())) else {
            self.unusable.push(format!("{name} is not used, as it has no steps with a status"));
            return None;
        };
        let words: BTreeSet<&str> = steps.iter().filter_map(|step| step["status"].as_str()).collect();
        let others: Vec<String> = ["completed", "complete"].into_iter().filter(|word| words.contains(word)).map(str::to_owned).collect();
        let done = if others.is_empty() { Vec::new() } else { [vec!["done".to_owned()], others].concat() };
        let is_done = |word: &str| word == "done" || done.iter().any(|done| done == word);
        let open = steps.iter().filter(|step| !step["status"].as_str().is_some_and(is_done)).count();
        Some(FoundList { path: name.into(), entries: steps.len(), open, done, ..FoundList::default() })
    }
}
