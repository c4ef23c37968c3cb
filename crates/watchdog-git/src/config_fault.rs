//! Settings in a repository's own configuration with which git does not work, and the command that mends each.

use std::fs;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;
use gix::config::File;
use gix::config::file::Metadata;
use watchdog_facts::shell_line::shell_path;
use watchdog_system::read_regular_file;

use super::error::Error;

/// A larger file of settings is not looked at for its fault.
const LARGEST_CONFIG: u64 = 1 << 20;

/// Extensions of the repository format that we read right, or that change nothing we read.
const KNOWN_EXTENSIONS: &[&str] = &[
    "noop",
    "noop-v1",
    "preciousobjects",
    "partialclone",
    "worktreeconfig",
    "objectformat",
    "refstorage",
    "relativeworktrees",
];

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
        Ok(there) if root.starts_with(&there) => return Ok(None),
        Ok(there) if leads_to(&there.join(".git"), git_dir) => return Ok(None),
        Ok(_) => "is another folder",
    };
    let root = root.display();
    let why = format!("names {}, which {fault}, and not {root}", value);
    Ok(Some(file.new_fault("core.worktree", &why)))
}

/// Whether a `.git` is this git directory, or a file that names it.
fn leads_to(dot_git: &Path, git_dir: &Path) -> bool {
    let text = read_regular_file(dot_git, LARGEST_CONFIG).unwrap_or_default();
    let target = text
        .strip_prefix(b"gitdir: ")
        .map(|path| path.trim_ascii_end());
    let named_dir = target.and_then(|path| gix::path::from_bstr(path.as_bstr()).ok());
    let folder = dot_git.parent().unwrap_or(dot_git);
    let there = named_dir.map_or_else(|| dot_git.to_owned(), |path| folder.join(path));
    fs::canonicalize(there).is_ok_and(|there| there == git_dir)
}

/// A file of settings, without those that it includes.
struct ConfigFile {
    path: PathBuf,
    settings: File,
}

impl ConfigFile {
    /// Reads a file; `None` where there is none.
    fn read(path: PathBuf) -> Result<Option<Self>, Error> {
        let Ok(bytes) = read_regular_file(&path, LARGEST_CONFIG) else {
            return Ok(None);
        };
        if let Err(error) = gix::config::parse::Events::from_bytes(&bytes, None) {
            let line = error.line_number();
            return Err(Error::Config { path, line });
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
        // git heeds extensions of the newer format alone.
        let sections = self.settings.sections_by_name("extensions");
        let keys = sections.into_iter().flatten().flat_map(|section| {
            let keys = section
                .value_names()
                .map(|key| key.to_string().to_ascii_lowercase());
            keys.collect::<Vec<_>>()
        });
        for key in keys.filter(|_| version > 0) {
            if !KNOWN_EXTENSIONS.contains(&key.as_str()) {
                let why = "is an unknown extension; a newer watchdog may know it";
                return Err(self.new_fault(&format!("extensions.{key}"), why));
            }
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
