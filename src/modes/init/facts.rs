//! What a look at a project found, as plain values: all that a proposal is made of.

use std::collections::{BTreeMap, BTreeSet};

use watchdog_core::config::settings::PresetName;

use super::foreign_file::ForeignFile;

/// What a look at a project found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectFacts {
    /// What builds and tests: at the root, and in folders below it, the nearest first.
    pub builds: Vec<FolderBuild>,
    /// Globs of the files that a service for continuous integration reads.
    pub ci: Vec<String>,
    /// Folders of tests, at the root and beside each build file below it.
    pub test_folders: Vec<String>,
    /// Lists of features, with `passes` for each.
    pub feature_lists: Vec<FoundList>,
    /// Markdown files with boxes.
    pub checklists: Vec<FoundList>,
    /// The checklists of specs, each in a folder of its own, by its path.
    pub spec_lists: Vec<FoundList>,
    /// Files of other programs that say what done means.
    pub foreign: Vec<ForeignFile>,
    /// JSON plans with steps.
    pub plans: Vec<FoundList>,
    /// The branch that HEAD is on.
    pub branch: Option<String>,
    /// A file with a prompt.
    pub prompt: Option<String>,
    /// Agents in `PATH` that watchdog knows how to ask.
    pub agents: Vec<PresetName>,
    /// Other programs in `PATH` that a check may call.
    pub programs: BTreeSet<String>,
    /// Names of files that are there and could not be used, each with the reason.
    pub unusable: Vec<String>,
}

/// Whether tests were found. A look has an end, so that `NoneFound` is no proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TestPresence {
    /// At least one.
    Found,
    /// None in the files that were looked at.
    #[default]
    NoneFound,
}

/// What builds and tests in one folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FolderBuild {
    /// From the root of the worktree, which is the empty path.
    pub folder: String,
    /// A `Cargo.toml` with a package or workspace.
    pub cargo: Option<CargoProject>,
    /// A `package.json` that could be read, or a workspace of pnpm.
    pub node: Option<NodeProject>,
    /// A project of Python: its configuration, or at the root files of tests.
    pub python: Option<PythonProject>,
    /// A `go.mod`; whether the module has tests.
    pub go: Option<TestPresence>,
    /// The targets of the Makefile.
    pub make: BTreeSet<String>,
    /// The recipes of the justfile that need no argument.
    pub just: BTreeSet<String>,
}

/// A project of Cargo.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CargoProject {
    /// Whether it has members.
    pub workspace: bool,
    /// The folders below it that are no members, from its own folder.
    pub excluded: Vec<String>,
    /// Whether it has tests of its own; those of a project in a folder below count there.
    pub tests: TestPresence,
}

/// A project of Node.js.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeProject {
    /// `scripts` of package.json.
    pub scripts: BTreeMap<String, String>,
    /// Who runs them.
    pub manager: ScriptRunner,
    /// The patterns of the folders that are members of its workspace; those that begin with `!` take members out.
    pub members: Vec<String>,
}

/// Who runs the scripts of package.json, told by the lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScriptRunner {
    /// npm, also where no lock file says otherwise.
    #[default]
    Npm,
    /// pnpm.
    Pnpm,
    /// Yarn 2 or later.
    Yarn,
    /// Yarn 1.
    YarnClassic,
    /// Bun.
    Bun,
}

/// A project of Python.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PythonProject {
    /// Whether pytest is configured or asked for.
    pub pytest: bool,
    /// Whether there are files of tests.
    pub tests: TestPresence,
    /// What the command begins with, such as `uv run`; empty where pytest is called by its name.
    pub launcher: &'static str,
    /// pytest in the project's own virtual environment, where it is there.
    pub own_pytest: Option<&'static str>,
    /// Whether tox is configured.
    pub tox: bool,
    /// A `noxfile.py`.
    pub nox: Option<NoxFile>,
}

/// A `noxfile.py`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NoxFile {
    /// The session that runs tests, by its name.
    pub tests: Option<String>,
}

/// A file that lists work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundList {
    /// From the root of the worktree.
    pub path: String,
    /// How many entries it has.
    pub entries: usize,
    /// How many of them are open.
    pub open: usize,
    /// Whether HEAD has the file.
    pub committed: bool,
    /// The words that mean done, where they are others than the usual one.
    pub done: Vec<String>,
}

/// Whether a folder is another one or lies in it. Both are paths from the root, which is the empty one.
pub fn is_inside(folder: &str, other: &str) -> bool {
    other.is_empty()
        || folder
            .strip_prefix(other)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
