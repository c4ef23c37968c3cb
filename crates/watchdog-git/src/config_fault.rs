//! Settings in a repository's own configuration with which git does not work, and the command that mends each.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;
use gix::config::File;
use gix::config::file::Metadata;
use watchdog_facts::shell_line::shell_path;
use watchdog_system::{ask_git, read_regular_file};

use super::discover::{inspect_dot_git, linked_git_dir};
use super::error::Error;
use super::file_state::is_own;

/// The largest file of settings that is read, in bytes.
const LARGEST_CONFIG: u64 = 16 << 20;

/// The question to which git answers where it can work with all settings, and trusts the owner.
pub(super) const WHOSE: [&str; 2] = ["rev-parse", "--git-dir"];

/// The question to which git answers where it can read all settings.
const LIST: [&str; 2] = ["config", "--list"];

/// Extensions of the repository formats that we read right, or that change nothing we read.
const OLDER_EXTENSIONS: [&str; 4] = ["noop", "preciousobjects", "partialclone", "worktreeconfig"];
const NEWER_EXTENSIONS: [&str; 4] = ["noop-v1", "objectformat", "refstorage", "relativeworktrees"];

/// The consequence of a file that cannot be parsed when a worktree is opened.
pub const NO_SNAPSHOT: &str = ", so no snapshot keeps the work here; its files stay as they are";

/// The fault in a repository's own configuration with which git does not work in the work tree `root`.
pub fn find_config_fault(root: &Path, git_dir: &Path, common_dir: &Path) -> Option<Error> {
    check_config(root, git_dir, common_dir).unwrap_or_else(Some)
}

/// Reads the settings by which git finds the work tree, as git does: without included files. `Err` is a fault with which the repository
/// cannot be read, `Ok` holds one that names a wrong work tree.
pub(super) fn check_config(
    root: &Path,
    git_dir: &Path,
    common_dir: &Path,
) -> Result<Option<Error>, Error> {
    let Some(shared) = ConfigFile::read(common_dir.join("config"))? else {
        return Ok(None);
    };
    shared.check_format()?;
    let has_own_files = matches!(
        shared.settings.boolean("extensions.worktreeConfig"),
        Ok(Some(true))
    );
    let own = match has_own_files {
        true => ConfigFile::read(git_dir.join("config.worktree"))?,
        false => None,
    };
    // git heeds these keys of the shared file in the main worktree alone, unless each worktree has a file of its own.
    let shared = (has_own_files || git_dir == common_dir).then_some(&shared);
    let file_with = |key: &str| {
        [own.as_ref(), shared]
            .into_iter()
            .flatten()
            .find(|file| file.settings.raw_value(key).is_ok())
    };
    if let Some(file) = file_with("core.bare") {
        // Without an index it never had a work tree: a bare repository beside its linked worktrees.
        let is_bare_by_intent = !common_dir.join("index").exists();
        let why = match file.settings.boolean("core.bare") {
            Ok(Some(true)) if git_dir != common_dir || !is_bare_by_intent => "true",
            Err(_) => "neither true nor false",
            _ => "",
        };
        if !why.is_empty() {
            let why = format!("is {why}, so git finds no work tree at {}", root.display());
            let fault = file.new_fault("core.bare", &why);
            let is_shared = git_dir != common_dir && shared.is_some_and(|s| s.path == file.path);
            return Ok(Some(match fault {
                // The repository stays bare, and this worktree is none.
                Error::Setting { why, .. } if is_shared && is_bare_by_intent => {
                    let own_file = shell_path(&git_dir.join("config.worktree"));
                    let mend = format!("git config --file {own_file} core.bare false");
                    Error::Setting { why, mend }
                }
                fault => fault,
            }));
        }
    }
    let Some(file) = file_with("core.worktree") else {
        return Ok(None);
    };
    let value = file.settings.string("core.worktree").unwrap_or_default();
    let named_root = git_dir.join(gix::path::from_bstr(value.as_bstr()).unwrap_or_default());
    let fault = match fs::canonicalize(&named_root) {
        Err(_) => "is not there",
        Ok(there) if there == root || leads_to(&there.join(".git"), git_dir) => return Ok(None),
        Ok(_) => "is another folder",
    };
    let root = root.display();
    let why = format!("names {}, which {fault}, and not {root}", value);
    Ok(Some(file.new_fault("core.worktree", &why)))
}

/// git's own words where it refuses to work in a folder; `None` where it works, or cannot be asked.
pub(super) fn ask_for_fault(folder: &Path) -> Option<Error> {
    let words = ask_git(folder, &WHOSE)?.err()?;
    Some(new_words_fault(&words, folder))
}

/// git's own words where it cannot read its settings, those of the user and of the environment too.
pub fn ask_for_broken_settings(folder: &Path) -> Option<Error> {
    let words = ask_git(folder, &LIST)?.err()?;
    Some(new_words_fault(&words, folder))
}

/// git's own words about a configuration with which it does not work in a folder, and the command that mends it.
pub fn new_words_fault(words: &str, folder: &Path) -> Error {
    if words.contains("dubious ownership") {
        return Error::ForeignOwner {
            path: folder.to_owned(),
        };
    }
    // git says so of a damaged one, too.
    if words.contains("not a git repository")
        && let Err(fault) = inspect_dot_git(&folder.join(".git"))
    {
        return fault;
    }
    let path_at = |path: &str| folder.join(path.trim_matches('\''));
    let after = |start| words.split_once(start).map(|(_, after): (_, &str)| after);
    let mut why = to_one_line(words);
    let mend = if words.contains("GIT_CONFIG_") || words.contains("command-line config") {
        "unset GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS".to_owned()
    } else if let Some(named) = after(" in file ") {
        let line = named.lines().next().unwrap_or_default();
        let path = [": ", " at line "]
            .iter()
            .fold(line, |path, end| path.split(end).next().unwrap_or(path));
        edit_command(&path_at(path))
    } else if let Some((path, reason)) =
        after("unable to access '").and_then(|named| named.split_once('\''))
    {
        mend_of_file(&path_at(path), reason.contains("Permission denied"))
    } else if let Some((path, key)) = find_origin(words, folder) {
        why = format!("{why} in {}", path.display());
        format!(
            "git -C / config --file {} --unset-all {key}",
            shell_path(&path)
        )
    } else {
        "git config --list --show-origin".to_owned()
    };
    Error::Setting { why, mend }
}

/// The file that sets the key which git names last, and that key.
fn find_origin<'a>(words: &'a str, folder: &Path) -> Option<(PathBuf, &'a str)> {
    let key = words.rsplit('\'').nth(1).filter(|key| key.contains('.'))?;
    let origin = ask_git(folder, &["config", "--show-origin", "--get", key])?.ok()?;
    let path = String::from_utf8_lossy(&origin)
        .strip_prefix("file:")?
        .split('\t')
        .next()?
        .to_owned();
    Some((folder.join(path), key))
}

/// Git's own words, as one line.
pub(super) fn to_one_line(words: &str) -> String {
    let mut lines: Vec<&str> = words.lines().map(str::trim).collect();
    lines.dedup();
    lines.join("; ")
}

/// git reads the settings of its user, too, before it opens the editor.
fn edit_command(path: &Path) -> String {
    let file = shell_path(path);
    match ask_git("/".as_ref(), &LIST) {
        Some(Err(_)) => format!("${{EDITOR:-vi}} {file}"),
        _ => format!("git -C / config --file {file} --edit"),
    }
}

/// The command after which git reads a file, or goes without it.
fn mend_of_file(path: &Path, is_closed: bool) -> String {
    let file = shell_path(path);
    let is_named = |name: &&str| std::env::var_os(name).is_some_and(|named| *path == *named);
    let names = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];
    if let Some(name) = names.into_iter().find(is_named) {
        return format!("unset {name}");
    }
    match is_closed {
        true if is_own(path) => format!("chmod u+r {file}"),
        true => format!("sudo chmod a+r {file}"),
        false => format!("mv {file} {file}.aside"),
    }
}

/// Whether a `.git` is this git directory, or a file that names it.
fn leads_to(dot_git: &Path, git_dir: &Path) -> bool {
    let there = linked_git_dir(dot_git).unwrap_or_else(|| dot_git.to_owned());
    fs::canonicalize(there).is_ok_and(|there| there == git_dir)
}

/// A file of settings, without those that it includes.
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    pub(super) settings: File,
}

impl ConfigFile {
    /// Reads a file; `None` where there is none.
    pub(super) fn read(path: PathBuf) -> Result<Option<Self>, Error> {
        let bytes = match read_regular_file(&path, LARGEST_CONFIG) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let why = format!("git cannot read {}: {error}", path.display());
                let mend = mend_of_file(&path, error.kind() == ErrorKind::PermissionDenied);
                return Err(Error::Setting { why, mend });
            }
        };
        if let Err(error) = gix::config::parse::Events::from_bytes(&bytes, None) {
            let (line, file) = (error.line_number(), path.display());
            return Err(Error::Setting {
                why: format!("bad config line {line} in file {file}{NO_SNAPSHOT}"),
                mend: edit_command(&path),
            });
        }
        let origin = Metadata::from(gix::config::Source::Local);
        let settings = File::from_bytes_no_includes(&bytes, origin, Default::default()).ok();
        Ok(settings.map(|settings| ConfigFile { path, settings }))
    }

    /// git refuses a repository of an unknown format, and so must we: an unreadable repository is not an empty one.
    fn check_format(&self) -> Result<(), Error> {
        const VERSION: &str = "core.repositoryformatversion";
        let version = match self.settings.integer(VERSION) {
            Ok(None) => 0,
            Ok(Some(version @ ..=1)) => version,
            _ => {
                let version = self.settings.string(VERSION).unwrap_or_default();
                return Err(self.new_fault(VERSION, &format!("is '{version}', not 0 or 1")));
            }
        };
        // git ignores unknown extensions of the older format.
        let sections = self.settings.sections_by_name("extensions");
        let keys = sections.into_iter().flatten().flat_map(|section| {
            let keys = section
                .value_names()
                .map(|key| key.to_string().to_ascii_lowercase());
            keys.collect::<Vec<_>>()
        });
        for key in keys {
            let is_newer = NEWER_EXTENSIONS.contains(&key.as_str());
            let why = match (
                version,
                is_newer || OLDER_EXTENSIONS.contains(&key.as_str()),
            ) {
                (0, _) if is_newer => "needs core.repositoryformatversion 1, so git refuses it",
                (1, false) => "is an unknown extension; a newer watchdog may know it",
                _ => continue,
            };
            return Err(self.new_fault(&format!("extensions.{key}"), why));
        }
        Ok(())
    }

    fn new_fault(&self, key: &str, why: &str) -> Error {
        let all = match self.settings.raw_values(key) {
            Ok(values) if values.len() > 1 => "-all",
            _ => "",
        };
        // With another fault git would not even begin inside of the repository.
        let start_folder = match key {
            "core.bare" if !why.contains("neither") => "",
            _ => " -C /",
        };
        let file = shell_path(&self.path);
        Error::Setting {
            why: format!("{key} in {} {why}", self.path.display()),
            mend: format!("git{start_folder} config --file {file} --unset{all} {key}"),
        }
    }
}
