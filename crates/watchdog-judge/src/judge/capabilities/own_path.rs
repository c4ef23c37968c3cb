//! Whether a scratch checkout may stand at the worktree's own path, which builds, caches and installed packages name; and what leads into the
//! worktree where it stands elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use watchdog_core::checks::{gate_files, list_possible_files, named_runner};
use watchdog_core::config::settings::CommandLine;
use watchdog_process::program_in_path;
use watchdog_system::read_regular_begin;

use super::copied_dependencies::plain_folder;

/// Programs that work outside of the checkout by its path: by a server, which sees the worktree itself, or in a folder of builds that may be
/// elsewhere, where the worktree's older files would then pass for built.
const ESCAPING: &str = "bazel bazelisk bloop buck2 cmake ctest ddev devcontainer dmypy docker dotnet gradle gradlew hatch lando meson mvnd \
                       nerdctl ninja nx pants podman sail sbt spring turbo vagrant watchman";

/// Programs whose environments lie elsewhere, by the path of the project.
const HOMES: &str = "pipenv poetry";

/// A program that asks watchman for changed files where it is installed.
const WATCHED: &str = "jest";

/// Programs that load no module of Python.
const NOT_PYTHON: &str = "bun cargo deno go node npm npx pnpm yarn";

/// Files in which commands stand.
const RECIPES: [&str; 4] = ["Makefile", "justfile", "package.json", "tox.ini"];

/// The most bytes that are read of a file.
const LONGEST: u64 = 64 << 10;

fn texts(line: &CommandLine) -> &[String] {
    match line {
        CommandLine::Shell(text) => std::slice::from_ref(text),
        CommandLine::Argv(argv) => argv,
    }
}

fn has_word(text: &str, list: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| list.split_whitespace().any(|listed| listed == word))
}

/// Whether a command in this folder may work outside of its checkout, by its words and those of the files that it may read.
pub(super) fn escapes_checkout(line: &CommandLine, folder: &Path) -> bool {
    let watched = program_in_path("watchman").map_or("", |_| WATCHED);
    let is_escaping = |text: String| {
        let installs = has_word(&text, HOMES) && has_word(&text, "install sync update");
        installs || has_word(&text, ESCAPING) || has_word(&text, watched)
    };
    let line = texts(line).join(" ");
    let is_separator = |c: char| c.is_whitespace() || "'\";|&()".contains(c);
    let names = line.split(is_separator).chain(RECIPES);
    let files = names.map(|name| read_begin(&folder.join(name)));
    files.chain([line.clone()]).any(is_escaping)
}

/// The begin of a regular file; empty where there is none.
fn read_begin(file: &Path) -> String {
    let text = read_regular_begin(file, LONGEST).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

/// A dependency that names the worktree itself, from where a run in another place would load its code.
pub(super) fn find_way_into(root: &Path, cwd: Option<&str>, line: &CommandLine) -> Option<String> {
    let folders = [root.to_owned(), root.join(plain_folder(cwd))];
    let below = |name| folders.each_ref().map(|folder| folder.join(name));
    let program = program_in_path("python3");
    let own = program.and_then(|program| Some(program.parent()?.parent()?.to_owned()));
    let environments = [below(".venv"), below("venv")]
        .concat()
        .into_iter()
        .chain(own);
    let installed = environments
        .filter(|_| !texts(line).iter().any(|text| has_word(text, NOT_PYTHON)))
        .flat_map(|environment| list(&environment.join("lib")))
        .flat_map(|version| list(&version.join("site-packages")));
    let packages = (below("node_modules").into_iter())
        .flat_map(|packages| list(&packages))
        .flat_map(|package| list(&package).into_iter().chain([package]));
    let way = installed
        .chain(packages)
        .find(|file| names_folder(file, root))?;
    Some(way.strip_prefix(root).unwrap_or(&way).display().to_string())
}

/// Why a session could have written what a command line runs: it names a path of the worktree, or a runner and nothing outside.
pub(super) fn refuse_own_files(
    root: &Path,
    cwd: Option<&str>,
    line: &CommandLine,
) -> Result<(), String> {
    let is_inside = |path: &String| {
        // A pattern such as `tests/...` names its folder.
        let path = root.join(path);
        let mut paths = path.ancestors().take_while(|path| *path != root);
        paths.any(|path| path.canonicalize().is_ok_and(|path| path.starts_with(root)))
    };
    if let Some(path) = list_possible_files(line, cwd).into_iter().find(is_inside) {
        return Err(format!("{path} is in the worktree"));
    }
    let text = texts(line).join(" ");
    let is_runner = !gate_files(line, cwd).is_empty() || named_runner(&text).is_some();
    let ends = |c: char| c.is_whitespace() || "='\"".contains(c);
    let mut words = text.split(ends).skip(1);
    let leads_out = |word: &str| word.starts_with(['/', '~', '$']) || word.starts_with("..");
    match is_runner && !words.any(leads_out) {
        true => Err("it names a runner and no path outside of the worktree".to_owned()),
        false => Ok(()),
    }
}

/// Whether a link leads into this folder, or a file with which an editable install names its code names it.
fn names_folder(file: &Path, root: &Path) -> bool {
    if let Ok(target) = fs::read_link(file) {
        return target.starts_with(root);
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_such = name.starts_with("__editable__")
        || [".pth", ".egg-link"]
            .into_iter()
            .any(|end| name.ends_with(end));
    is_such && read_begin(file).contains(&*root.to_string_lossy())
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_command_names_nothing_of_the_worktree() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        fs::create_dir(root.join("hid")).expect("ours");
        fs::write(root.join("hid/test_h.py"), "").expect("ours");
        let is_refused = |line: &str| {
            refuse_own_files(&root, None, &CommandLine::Shell(line.to_owned())).is_err()
        };
        for line in [
            "sh hid/test_h.py",
            "python3 -B -m unittest discover -s hid",
            "hid-check ./hid/...",
            "hid-check 'hid/*.py'",
            "make -s hidden",
            "cargo test hidden",
            "go test",
            &format!("sh {}/new.sh", root.join("hid").display()),
        ] {
            assert!(is_refused(line), "{line}");
        }
        for line in [
            "/srv/hidden.sh",
            "sh -eu /srv/hidden.sh",
            "hid-check",
            "pytest -q ../hidden",
            "make -f /srv/hidden.mk all",
            "cargo test --manifest-path=/srv/hidden/Cargo.toml",
        ] {
            assert!(!is_refused(line), "{line}");
        }
    }

    #[test]
    fn command_that_escapes_is_seen_behind_files() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("run.sh"), "set -e\npodman run app\n").expect("ours");
        let escapes_checkout =
            |line: &str| escapes_checkout(&CommandLine::Shell(line.to_owned()), folder.path());
        for line in [
            "docker-compose run app pytest",
            "./gradlew test",
            "cd x && sh ./run.sh",
            "poetry install && poetry run pytest",
        ] {
            assert!(escapes_checkout(line), "{line}");
        }
        for line in [
            "pytest -q",
            "cargo test",
            "poetry run pytest",
            "npm test",
            "make check",
            "go test ./...",
        ] {
            assert!(!escapes_checkout(line), "{line}");
        }
        fs::write(folder.path().join("Makefile"), "check:\n\tdocker run app\n").expect("ours");
        assert!(escapes_checkout("make check"));
    }
}
