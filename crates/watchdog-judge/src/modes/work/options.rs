//! The order that an agent gets with a task.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::judge::judgement_input::Overrides;
use crate::modes::iterate::LoopAgent;
use watchdog_process::{MirrorTarget, SessionTerms};

/// A task for an agent.
#[derive(Debug, Clone)]
pub struct TaskRunOptions {
    /// The task.
    pub id: String,
    /// The agent's name.
    pub agent: String,
    /// The checkout that it works in.
    pub checkout: TaskCheckout,
    /// The agent, and those that take over at a limit, in their order.
    pub agents: Vec<LoopAgent>,
    /// How long the lease of the task lasts without renewal.
    pub lease: Duration,
    /// How long a push of finished work is tried again while the remote is away.
    pub push_retry: Duration,
    /// Whether the status is also kept in the task's file.
    pub write_back: bool,
    /// After this many iterations without progress the task goes to review; 0 = never.
    pub no_progress: u32,
    /// A usage limit that lasts longer is not waited for.
    pub max_wait: Duration,
    /// When a session is ended. An idle timeout of zero is no limit.
    pub terms: SessionTerms,
    /// Values for placeholders in the text of the task, by name; without any, the text is no template.
    pub vars: BTreeMap<String, String>,
    /// The target that shows the sessions' output.
    pub mirror: MirrorTarget,
    /// Further options of the command line.
    pub overrides: Overrides,
}

/// The checkout that a task is worked on in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskCheckout {
    /// In the worktree that the command is about, on the branch that is there.
    Here,
    /// In a linked worktree of the agent's own, on the branch of the task. This folder, or one beside it where it holds unsaved work.
    Own(PathBuf),
}
