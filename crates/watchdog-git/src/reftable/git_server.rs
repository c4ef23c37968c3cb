//! The interface to the git program that reads refs in tables; another room runs it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The value of `extensions.refStorage` that needs a git server.
pub(crate) const REFTABLE: &str = "reftable";

/// The output of a git process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitProcessOutput {
    /// Its exit code; `None` where a signal or the deadline ended it.
    pub code: Option<i32>,
    /// All of its output.
    pub stdout: Vec<u8>,
    /// Its messages.
    pub stderr: String,
}

/// Runs the git program: this room starts no process itself.
pub trait GitRunner: Send + Sync {
    /// Runs `git` with these arguments in `folder`.
    ///
    /// # Errors
    /// Why it could not be run, or not heard to its end.
    fn run(&self, folder: &Path, args: &[&str], stdin: &[u8]) -> Result<GitProcessOutput, String>;
}

/// The git that was named, and the folder for copies of refs.
pub(crate) struct ReftableGit {
    pub(crate) git: Box<dyn GitRunner>,
    pub(super) scratch: PathBuf,
}

static SERVER: OnceLock<ReftableGit> = OnceLock::new();

/// Sets for this process how to run git, and the folder for temporary copies of refs. Without this call such repositories are refused.
/// Only the first call counts.
pub fn serve_with(git: impl GitRunner + 'static, scratch: PathBuf) {
    // A second one would serve the same git.
    let _ = SERVER.set(ReftableGit {
        git: Box::new(git),
        scratch,
    });
}

/// Whether a git server is set.
pub(crate) fn is_served() -> bool {
    SERVER.get().is_some()
}

/// The git server, if it is set.
pub(crate) fn get_git_server() -> Option<&'static ReftableGit> {
    SERVER.get()
}
