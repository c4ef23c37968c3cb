//! Who is asked about refs in tables: the git program, which another room runs for this one.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The word of `extensions.refStorage` for what is served.
pub(crate) const REFTABLE: &str = "reftable";

/// What a git process said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitAnswer {
    /// Its exit code; `None` where a signal or the deadline ended it.
    pub code: Option<i32>,
    /// All of its output.
    pub stdout: Vec<u8>,
    /// What it complained.
    pub stderr: String,
}

/// Runs the git program: this room starts no process itself.
pub trait GitRunner: Send + Sync {
    /// Runs `git` with these arguments in `folder`.
    ///
    /// # Errors
    /// Why it could not be run, or not heard to its end.
    fn run(&self, folder: &Path, args: &[&str], stdin: &[u8]) -> Result<GitAnswer, String>;
}

/// The git that was named, and the folder for copies of refs.
pub(super) struct GitServer {
    pub(super) git: Box<dyn GitRunner>,
    pub(super) scratch: PathBuf,
}

static SERVER: OnceLock<GitServer> = OnceLock::new();

/// Says once for the process who runs git, and in which folder copies of refs are kept while they are looked at.
/// Until then such repositories are refused. Only the first word counts.
pub fn serve_with(git: impl GitRunner + 'static, scratch: PathBuf) {
    // A second one would serve the same git.
    let _ = SERVER.set(GitServer { git: Box::new(git), scratch });
}

/// Whether there is somebody to ask.
pub(crate) fn is_served() -> bool {
    SERVER.get().is_some()
}

/// Whom to ask, where there is somebody.
pub(super) fn server() -> Option<&'static GitServer> {
    SERVER.get()
}
