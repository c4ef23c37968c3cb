//! What a look at a project found, as plain values: all that a proposal is made of.

use std::collections::{BTreeMap, BTreeSet};

use watchdog_core::config::settings::Preset;

/// What a look at a project found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectFacts {
    /// A `Cargo.toml` at the root.
    pub cargo: Option<CargoProject>,
    /// A `package.json` at the root that could be read.
    pub node: Option<NodeProject>,
    /// A project of Python: its configuration, or files of tests.
    pub python: Option<PythonProject>,
    /// A `go.mod` at the root; whether the module has tests.
    pub go: Option<TestPresence>,
    /// The targets of the Makefile.
    pub make: BTreeSet<String>,
    /// The recipes of the justfile that need no argument.
    pub just: BTreeSet<String>,
    /// Globs of the files that a service for continuous integration reads.
    pub ci: Vec<String>,
    /// Folders of tests at the root.
    pub test_folders: Vec<String>,
    /// Lists of features, with `passes` for each.
    pub feature_lists: Vec<FoundList>,
    /// Markdown files with boxes.
    pub checklists: Vec<FoundList>,
    /// JSON plans with steps.
    pub plans: Vec<FoundList>,
    /// A file with a prompt.
    pub prompt: Option<String>,
    /// Agents in `PATH` that watchdog knows how to ask.
    pub agents: Vec<Preset>,
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

/// A project of Cargo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CargoProject {
    /// Whether it has members.
    pub workspace: bool,
    /// Whether it has tests.
    pub tests: TestPresence,
}

/// A project of Node.js.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeProject {
    /// `scripts` of package.json.
    pub scripts: BTreeMap<String, String>,
    /// Who runs them.
    pub manager: ScriptRunner,
}

/// Who runs the scripts of package.json, told by the lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScriptRunner {
    /// npm, also where no lock file says otherwise.
    #[default]
    Npm,
    /// pnpm.
    Pnpm,
    /// Yarn.
    Yarn,
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
