//! Work of a session that HEAD lacks, or has in another form: on other branches, on remotes, in the stash, on no ref any more. Pure.

use serde::{Deserialize, Serialize};

use super::display::{escape_to_one_line, plural};
use super::shell_line::shell_word;

/// Commits of a session that lie beside HEAD.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkBeside {
    /// The branch that they were made on, without `refs/heads/`; `None` where HEAD was detached, or no log has them.
    pub branch: Option<String>,
    /// The newest of them.
    pub commit: String,
    /// How many they are, counted up to 1,000.
    pub commits: u64,
    /// The first line of the newest one's message.
    pub subject: String,
    /// Their state.
    pub state: BesideState,
    /// `merge`, `squash` or `rebase` where they are merged; `reset` where their branch went back behind them.
    pub by: Option<String>,
    /// The branch or remote-tracking branch that has them; for those of a submodule with its name.
    pub on: Option<String>,
}

/// The state of such commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BesideState {
    /// A remote-tracking branch has them.
    Pushed,
    /// HEAD or an older branch has them, or their content.
    Merged,
    /// Only a local branch or worktree of the session has them.
    Unpushed,
    /// No branch has them; watchdog's ref keeps them.
    Deleted,
    /// They are a new entry of the stash.
    Stashed,
}

impl WorkBeside {
    /// Whether it reached its place: a remote, or another branch.
    pub fn is_settled(&self) -> bool {
        matches!(self.state, BesideState::Pushed | BesideState::Merged)
    }

    /// Its place, for a person.
    pub fn describe(&self) -> String {
        let count = plural(self.commits, "commit");
        let on = escape_to_one_line(self.on.as_deref().unwrap_or_default());
        let short = self.commit.get(..12).unwrap_or(&self.commit);
        let branch = match &self.branch {
            Some(branch) => format!("branch {}", escape_to_one_line(branch)),
            None => format!("'{}'", escape_to_one_line(&self.subject)),
        };
        match self.state {
            BesideState::Pushed => format!("{branch}: {count}, pushed to {on}"),
            BesideState::Merged => {
                let by = self.by.as_deref().unwrap_or("merge");
                format!("{branch}: {count}, merged into {on} by {by}")
            }
            BesideState::Unpushed => format!("{branch}: {count} on {on}, not pushed"),
            // A submodule keeps its own.
            BesideState::Deleted if !on.is_empty() => {
                format!("{branch}: {count} on no branch of {on} (commit {short})")
            }
            BesideState::Deleted => {
                format!("{branch}: {count} on no branch (keep with: git branch NAME {short})")
            }
            BesideState::Stashed => {
                let subject = escape_to_one_line(&self.subject);
                let (inner, git) = match on.split_once("submodule ") {
                    Some((_, path)) => (
                        format!(" of submodule {path}"),
                        format!("git -C {}", shell_word(path)),
                    ),
                    None => (String::new(), "git".to_owned()),
                };
                format!("stash entry '{subject}'{inner} (take it with: {git} stash apply {short})")
            }
        }
    }
}
