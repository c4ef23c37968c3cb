//! git's settings in the environment (`GIT_CONFIG_COUNT`, and `GIT_CONFIG_PARAMETERS` of `git -c`) with the files that they
//! include, without those that run a program or lead to another repository. git itself lists them.

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs git with these arguments in a folder, with all settings of the environment: its output, or its own words where it refuses;
/// `None` where it cannot be run.
pub type GitQuestion = fn(&Path, &[&str]) -> Option<Result<Vec<u8>, String>>;

static GIT: OnceLock<GitQuestion> = OnceLock::new();

static WITHIN_SESSION: AtomicBool = AtomicBool::new(false);

/// Last words of keys that name a program, or another place to work in.
const REFUSED_NAMES: &[&str] = &[
    "alternaterefscommand",
    "askpass",
    "bare",
    "clean",
    "cmd",
    "command",
    "defaultkeycommand",
    "difffilter",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "gitproxy",
    "helper",
    "hookspath",
    "packobjectshook",
    "pager",
    "process",
    "program",
    "receivepack",
    "repositoryformatversion",
    "smudge",
    "sshcommand",
    "templatedir",
    "textconv",
    "update",
    "uploadpack",
    "usereplacerefs",
    "vcs",
    "worktree",
];

/// Sections of which each key does.
const REFUSED_SECTIONS: &[&str] = &[
    "alias",
    "extensions",
    "filter",
    "hook",
    "include",
    "includeif",
    "pager",
    "protocol",
];

/// Sets for this process how git is asked about its configuration: this crate starts no process.
pub fn ask_git_with(question: GitQuestion) {
    // A second one would ask the same git.
    let _ = GIT.set(question);
}

/// Asks git about its configuration in a folder; see [`GitQuestion`].
pub fn ask_git(folder: &Path, args: &[&str]) -> Option<Result<Vec<u8>, String>> {
    GIT.get().and_then(|question| question(folder, args))
}

/// Heeds from now on only settings that can hide no work: the caller's environment is that of a session.
pub fn distrust_git_settings() {
    WITHIN_SESSION.store(true, Ordering::Relaxed);
}

/// The settings that count in a folder, by key and value, in git's order; `env` reads a variable.
///
/// # Errors
/// git's own words where it would refuse them all.
pub fn read_git_settings(
    folder: &Path,
    env: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<(String, String)>, String> {
    let is_set = |name| env(name).is_some_and(|value| !value.is_empty());
    if !["GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"]
        .into_iter()
        .any(is_set)
    {
        return Ok(Vec::new());
    }
    let args = ["config", "--list", "-z", "--show-scope"];
    let listed = ask_git(folder, &args).unwrap_or_else(|| Ok(Vec::new()))?;
    let within_session = WITHIN_SESSION.load(Ordering::Relaxed);
    let text = String::from_utf8_lossy(&listed);
    let mut words = text.split('\0');
    let mut settings = Vec::new();
    while let (Some(scope), Some(setting)) = (words.next(), words.next()) {
        let (key, value) = setting.split_once('\n').unwrap_or((setting, "true"));
        let counts = is_harmless(key) && (!within_session || is_personal(key));
        if scope == "command" && counts {
            settings.push((key.to_owned(), value.to_owned()));
        }
    }
    Ok(settings)
}

fn is_personal(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let personal = ["safe.directory", "user.", "author.", "committer."];
    personal.iter().any(|start| key.starts_with(start))
}

fn is_harmless(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let section = key.split('.').next().unwrap_or_default();
    let name = key.rsplit('.').next().unwrap_or_default();
    !REFUSED_SECTIONS.contains(&section) && !REFUSED_NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_other_places_are_refused() {
        for key in [
            "core.fsmonitor",
            "core.hooksPath",
            "core.bare",
            "core.worktree",
            "filter.a.clean",
            "diff.a.textconv",
            "merge.a.driver",
            "credential.https://a.b.helper",
            "alias.x",
            "include.path",
            "gpg.ssh.program",
            "sequence.editor",
            "extensions.worktreeConfig",
        ] {
            assert!(!is_harmless(key), "{key}");
        }
        for key in [
            "safe.directory",
            "user.name",
            "core.excludesFile",
            "url.https://a.b.insteadOf",
        ] {
            assert!(is_harmless(key), "{key}");
        }
    }
}
