//! Finds the folders of a project that have build files, and reads what each of them builds and tests.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use watchdog_facts::patterns::escapes_worktree;
use watchdog_git::OwnFolder;

use super::facts::{
    CargoProject, FolderBuild, NodeProject, NoxFile, PythonProject, ScriptRunner, TestPresence,
};
use super::file_words::{
    just_recipes, make_targets, nox_tests, pnpm_members, pytest_is_configured, toml_list,
    tox_is_configured,
};
use super::folder_reader::FolderReader;
use super::test_search::{TestLanguage, TestSearch};

/// How deep below the root build files are looked for.
const DEEPEST: usize = 3;
/// Folders with build files that are read.
const MOST_FOLDERS: usize = 100;
/// Folders whose build files are no projects of their own: tests, examples and documents.
const NO_PROJECTS: [&str; 14] = [
    "tests",
    "test",
    "spec",
    "__tests__",
    "fixtures",
    "__fixtures__",
    "testdata",
    "examples",
    "example",
    "samples",
    "templates",
    "docs",
    "doc",
    "benches",
];
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const JUSTFILES: [&str; 3] = ["justfile", "Justfile", ".justfile"];
/// What makes a folder below the root a project of Python.
const PYTHON: [&str; 8] = [
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "pytest.ini",
    "tox.ini",
    "tox.toml",
    "noxfile.py",
];

/// Reads the root, and the folders below it that have build files, the nearest first. Notes in `unusable` what is left out.
pub fn read_builds(
    root: &Path,
    folders: &[OwnFolder],
    unusable: &mut Vec<String>,
) -> Vec<FolderBuild> {
    let mut places: Vec<&OwnFolder> = folders
        .iter()
        .filter(|folder| folder.path.is_empty() || may_be_project(folder))
        .collect();
    if places.len() > MOST_FOLDERS {
        places.truncate(MOST_FOLDERS);
        unusable.push(format!(
            "more than {MOST_FOLDERS} folders have build files; only the nearest were looked at"
        ));
    }
    let with = |names: &[&str]| -> Vec<&str> {
        let has_one = |folder: &&&OwnFolder| names.iter().any(|name| has(folder, name));
        places
            .iter()
            .filter(has_one)
            .map(|folder| folder.path.as_str())
            .collect()
    };
    let (rust, go, python) = (with(&["Cargo.toml"]), with(&["go.mod"]), with(&PYTHON));
    let mut tests = TestSearch::new(root, folders);
    let read = |folder: &&OwnFolder| {
        let top = folder.path.as_str();
        let mut reader = FolderReader::new(root, top, unusable);
        let is_python = top.is_empty() || python.contains(&top);
        FolderBuild {
            folder: top.to_owned(),
            cargo: cargo(&mut reader, || tests.below(top, &rust, TestLanguage::Rust)),
            node: node(&mut reader),
            python: is_python
                .then(|| {
                    self::python(&mut reader, || {
                        tests.below(top, &python, TestLanguage::Python)
                    })
                })
                .flatten(),
            go: reader
                .has("go.mod")
                .then(|| tests.below(top, &go, TestLanguage::Go)),
            make: make_targets(&reader.first_text(&MAKEFILES)),
            just: just_recipes(&reader.first_text(&JUSTFILES)),
        }
    };
    places.iter().map(read).collect()
}

fn has(folder: &OwnFolder, name: &str) -> bool {
    folder
        .files
        .binary_search_by(|file| file.as_str().cmp(name))
        .is_ok()
}

fn may_be_project(folder: &OwnFolder) -> bool {
    let parts: Vec<&str> = folder.path.split('/').collect();
    let is_named = |names: &[&str]| names.iter().any(|name| has(folder, name));
    parts.len() <= DEEPEST
        && !parts.iter().any(|part| NO_PROJECTS.contains(part))
        && (is_named(&["Cargo.toml", "package.json", "pnpm-workspace.yaml", "go.mod"])
            || is_named(&PYTHON)
            || is_named(&MAKEFILES)
            || is_named(&JUSTFILES))
        // A name that no configuration could have.
        && escapes_worktree(&folder.path).is_none()
        && !folder.path.contains(char::is_control)
}

fn cargo(
    reader: &mut FolderReader<'_>,
    tests: impl FnOnce() -> TestPresence,
) -> Option<CargoProject> {
    let text = reader.text("Cargo.toml")?;
    let table = |name: &str| {
        text.lines()
            .map(str::trim)
            .any(|line| line == format!("[{name}]") || line.starts_with(&format!("[{name}.")))
    };
    let workspace = table("workspace");
    if !workspace && !table("package") {
        reader.leave_out("Cargo.toml", "it has neither a package nor a workspace");
        return None;
    }
    Some(CargoProject {
        workspace,
        excluded: toml_list(&text, "workspace", "exclude"),
        tests: tests(),
    })
}

fn node(reader: &mut FolderReader<'_>) -> Option<NodeProject> {
    let of_pnpm = reader
        .text("pnpm-workspace.yaml")
        .map(|text| pnpm_members(&text));
    let package = match reader.json("package.json") {
        Some(package) => package,
        None if of_pnpm.is_some() && !reader.has("package.json") => Value::Null,
        None => return None,
    };
    let scripts = match package.get("scripts") {
        Some(Value::Object(scripts)) => scripts
            .iter()
            .filter_map(|(name, run)| Some((name.clone(), run.as_str()?.to_owned())))
            .collect(),
        _ => BTreeMap::new(),
    };
    let workspaces = package.get("workspaces");
    let listed = workspaces
        .and_then(|found| found.get("packages"))
        .or(workspaces)
        .and_then(Value::as_array);
    let of_package = listed
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    let manager = if of_pnpm.is_some() {
        ScriptRunner::Pnpm
    } else {
        script_runner(reader, &package)
    };
    Some(NodeProject {
        scripts,
        manager,
        members: of_pnpm.unwrap_or(of_package),
    })
}

/// Told by the lock file, else by `packageManager`.
fn script_runner(reader: &FolderReader<'_>, package: &Value) -> ScriptRunner {
    let named = package
        .get("packageManager")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let (manager, version) = named.split_once('@').unwrap_or((named, ""));
    let yarn = if reader.has(".yarnrc.yml") || !version.is_empty() && !version.starts_with("1.") {
        ScriptRunner::Yarn
    } else {
        ScriptRunner::YarnClassic
    };
    let locks = [
        ("pnpm-lock.yaml", ScriptRunner::Pnpm),
        ("yarn.lock", yarn),
        ("bun.lock", ScriptRunner::Bun),
        ("bun.lockb", ScriptRunner::Bun),
        ("package-lock.json", ScriptRunner::Npm),
        ("npm-shrinkwrap.json", ScriptRunner::Npm),
    ];
    let by_lock = locks
        .iter()
        .find(|(name, _)| reader.has(name))
        .map(|(_, manager)| *manager);
    by_lock.unwrap_or(match manager {
        "pnpm" => ScriptRunner::Pnpm,
        "yarn" => yarn,
        "bun" => ScriptRunner::Bun,
        _ => ScriptRunner::Npm,
    })
}

fn python(
    reader: &mut FolderReader<'_>,
    tests: impl FnOnce() -> TestPresence,
) -> Option<PythonProject> {
    let mut pytest = ["pytest.ini", ".pytest.ini", "conftest.py"]
        .iter()
        .any(|name| reader.has(name));
    let mut tox = false;
    for name in [
        "pyproject.toml",
        "tox.ini",
        "tox.toml",
        "setup.cfg",
        "requirements.txt",
        "requirements-dev.txt",
        "dev-requirements.txt",
    ] {
        let text = reader.text(name);
        pytest |= text
            .as_ref()
            .is_some_and(|text| pytest_is_configured(name, text));
        tox |= text
            .as_ref()
            .is_some_and(|text| tox_is_configured(name, text));
    }
    let nox = reader.text("noxfile.py").map(|text| NoxFile {
        tests: nox_tests(&text),
    });
    let known = [
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "requirements.txt",
    ]
    .iter()
    .any(|name| reader.has(name));
    let tests = tests();
    if !known && !pytest && !tox && nox.is_none() && tests == TestPresence::NoneFound {
        return None;
    }
    let launcher = match () {
        () if reader.has("uv.lock") => "uv run",
        () if reader.has("poetry.lock") => "poetry run",
        () => "",
    };
    let own_pytest = [".venv/bin/pytest", "venv/bin/pytest"]
        .into_iter()
        .find(|path| reader.has(path));
    Some(PythonProject {
        pytest,
        tests,
        launcher,
        own_pytest,
        tox,
        nox,
    })
}
