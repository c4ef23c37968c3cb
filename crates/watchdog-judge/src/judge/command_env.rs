//! The environment of a command: paths, variables, and the receiver of its progress. Read once, where the command begins.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::session::SharedInside;
use watchdog_agent::preset::PresetCatalog;
use watchdog_agent::transcript::ClaudeHome;
use watchdog_core::config::CriteriaNumbers;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_git::{Worktree, named_git_dirs, refuse_home_folder};
use watchdog_store::task_store::OpenTaskStores;
use watchdog_store::uncommitted::record_written_file;
use watchdog_store::{StateDir, open_store};

use super::fleet_membership::FleetMembership;
use super::line_checkers::LineCheckers;
use super::live_agents::SharedAgents;
use crate::notify::delivery::NotificationWorker;

/// Receives one line of progress, for a person. The text is unescaped: the receiver escapes it.
pub type ProgressCallback = Arc<dyn Fn(&str) + Send + Sync>;

/// The environment of a command.
#[derive(Clone)]
pub struct CommandEnv {
    /// A path in the worktree.
    pub worktree: PathBuf,
    /// Whether the user named that path, so that it is meant even as the home folder.
    pub worktree_named: bool,
    /// The configuration that the user named; naming it means trusting it.
    pub config: Option<PathBuf>,
    /// The directory of watchdog's own state.
    pub state: StateDir,
    /// Numbers that the command line names for criteria that lack one.
    pub numbers: CriteriaNumbers,
    /// Fingerprints that the environment trusts (`WATCHDOG_TRUST`).
    pub trusted: Option<String>,
    /// The agent's program, where it is not the preset's usual one.
    pub agent_program: Option<OsString>,
    /// The presets that a name can mean.
    pub presets: PresetCatalog,
    /// The home of Claude Code, with its transcripts.
    pub claude_home: ClaudeHome,
    /// The receiver of progress messages.
    pub narrate: ProgressCallback,
    /// Delivers notifications in a thread of its own.
    pub notifications: NotificationWorker,
    /// The stores of tasks, as far as they were opened.
    pub task_stores: OpenTaskStores,
    /// The fleet of this machine; `None` where the program hands none in.
    pub fleet: Option<Arc<dyn FleetMembership>>,
    /// Whether this process is a part of a recorded session.
    pub inside: SharedInside,
    /// The agents at work on this machine.
    pub agents: SharedAgents,
    /// Programs that judge line by line, where they outlast one judgement: those of a loop.
    pub line_checkers: Option<Arc<LineCheckers>>,
}

impl CommandEnv {
    /// The environment of a command in `worktree`. It trusts no configuration and shows no progress.
    pub fn new(worktree: PathBuf, state: StateDir) -> Self {
        CommandEnv {
            worktree,
            worktree_named: true,
            config: None,
            state,
            numbers: CriteriaNumbers::default(),
            trusted: None,
            agent_program: None,
            presets: PresetCatalog::from_env(),
            claude_home: ClaudeHome::from_env(),
            narrate: Arc::new(|_| {}),
            notifications: NotificationWorker::default(),
            task_stores: Default::default(),
            fleet: None,
            inside: Default::default(),
            agents: Default::default(),
            line_checkers: None,
        }
    }

    /// Commands to type about a worktree.
    pub fn commands(&self, worktree: &Path) -> WorktreeCommands {
        WorktreeCommands::at(worktree).with_state_dir(self.state.explicit_dir())
    }

    /// Commands to type about the worktree of this command, before it is opened.
    pub fn commands_here(&self) -> WorktreeCommands {
        // Without a current folder the path stays as it is.
        self.commands(
            &std::path::absolute(&self.worktree).unwrap_or_else(|_| self.worktree.clone()),
        )
    }

    /// Opens the worktree around, unless it is a whole home that the user did not name: its files would be judged and copied.
    ///
    /// # Errors
    /// As [`Worktree::open`], and [`watchdog_git::Error::HomeFolder`].
    pub fn open_worktree(&self) -> Result<Worktree, watchdog_git::Error> {
        let worktree = Worktree::open(&self.worktree)?;
        let named = self.worktree_named.then_some(self.worktree.as_path());
        refuse_home_folder(worktree.root(), named)?;
        Ok(worktree)
    }

    /// The folder of the worktree `root` in which the command was typed, or that `-C` names; in another worktree of the same repository the
    /// one of the same path.
    pub fn typed_folder(&self, root: &Path) -> PathBuf {
        let find_folder = || {
            let typed = self.worktree.canonicalize().ok()?;
            let below = typed.strip_prefix(find_top(&typed, root)?).ok()?;
            let folder = root.join(below).canonicalize().ok()?;
            (folder.is_dir() && folder.starts_with(root)).then_some(folder)
        };
        find_folder().unwrap_or_else(|| root.to_owned())
    }

    /// Notes that watchdog itself wrote this file, which would else count as a session's work; it does where that cannot be noted.
    pub fn note_own_file(&self, worktree: &Worktree, path: &str) {
        if let Ok(store) = open_store(&self.state) {
            let id = worktree.content_id(path);
            let _ = record_written_file(store.as_ref(), &worktree.worktree_id(), path, &id);
        }
    }

    /// Shows one line of progress.
    pub fn tell(&self, text: &str) {
        (self.narrate)(text);
    }
}

/// The top of the worktree that `folder` lies in, where that is `root` or another worktree of its repository.
pub(super) fn find_top<'f>(folder: &'f Path, root: &'f Path) -> Option<&'f Path> {
    let find_common = |top: &Path| named_git_dirs(top).map(|(_, common_dir)| common_dir);
    let common_dir = find_common(root);
    (folder.ancestors())
        .find(|top| common_dir.is_some() && find_common(top) == common_dir)
        .or_else(|| folder.starts_with(root).then_some(root))
}
