//! What a command was told from outside: paths, environment, and whom to tell its story. Read once, at the edge.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use crate::agent::transcript::ClaudeHome;
use watchdog_store::StateDir;

use crate::notify::delivery::NotificationWorker;

/// Takes one line of the story, for a person. The text may hold anything: whoever shows it escapes it.
pub type OnProgress = Arc<dyn Fn(&str) + Send + Sync>;

/// What a command was told from outside.
#[derive(Clone)]
pub struct CommandEnv {
    /// A path in the worktree.
    pub worktree: PathBuf,
    /// The configuration that the user named; naming it means trusting it.
    pub config: Option<PathBuf>,
    /// Where watchdog keeps its own state.
    pub state: StateDir,
    /// Fingerprints that the environment trusts (`WATCHDOG_TRUST`).
    pub trusted: Option<String>,
    /// The agent's program, where it is not the preset's usual one.
    pub agent_program: Option<OsString>,
    /// Where Claude Code keeps its transcripts.
    pub claude_home: ClaudeHome,
    /// Whom to tell.
    pub narrate: OnProgress,
    /// Delivers notifications beside the work.
    pub notifications: NotificationWorker,
}

impl CommandEnv {
    /// Tells one line.
    pub fn tell(&self, text: &str) {
        (self.narrate)(text);
    }
}
