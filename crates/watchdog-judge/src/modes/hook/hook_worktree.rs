//! The origin of a hook call: the request, the host's environment, the worktree of its session.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::hooks::{HookDialect, HookEvent, HookInput};
use crate::rescue::take_snapshot;
use watchdog_core::config::settings::{RescueMode, RescueSettings};
use watchdog_facts::evidence::UnreadableFact;
use watchdog_git::{Snapshot, Worktree, refuse_home_folder};
use watchdog_store::hook_session::{self, HookedAgent};
use watchdog_store::journal::snapshot_event;
use watchdog_store::{LocalStore, RecordType, open_store};

use crate::judge::command_env::CommandEnv;
use crate::judge::open_worktree::OpenWorktree;

/// A hook to be answered.
#[derive(Debug, Clone)]
pub struct HookRequest {
    /// The event, as the command line names it.
    pub event: HookEvent,
    /// Whose hook it is.
    pub dialect: HookDialect,
    /// When the answer is due.
    pub deadline: Duration,
    /// Whether sub-agents are held too.
    pub hold_subagents: bool,
    /// Whether every session is held, also one in which a person talks to the agent and that changed nothing.
    pub all_sessions: bool,
    /// Whether the session ends where its structured output was taken and nothing is missing.
    pub finish: bool,
    /// The name of the work; by default the spec that the session began with.
    pub spec: Option<String>,
    /// Whether the user named the worktree; otherwise it is the session's.
    pub worktree_named: bool,
    /// The host, from its environment variables.
    pub host: HookHost,
}

/// The host as its environment variables and its process describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookHost {
    /// The folder that the session was started in.
    pub project: Option<PathBuf>,
    /// The session that the other variables are about (`CLAUDE_CODE_SESSION_ID`).
    pub session_id: Option<String>,
    /// The host's process (`CLAUDE_PID`).
    pub pid: Option<u32>,
    /// Whether a person talks to the agent. A host that does not show it is taken for one without.
    pub has_person: bool,
    /// How often the host lets a stop hook hold the agent in a row.
    pub stop_blocks: u32,
    /// How many structured outputs the host lets fail (`MAX_STRUCTURED_OUTPUT_RETRIES`).
    pub output_retries: u32,
}

impl Default for HookHost {
    /// The defaults of Claude Code.
    fn default() -> Self {
        HookHost {
            project: None,
            session_id: None,
            pid: None,
            has_person: false,
            stop_blocks: HookDialect::Claude.stop_blocks().0,
            output_retries: 5,
        }
    }
}

/// The worktree that a hook is about.
pub struct HookWorktree {
    /// The worktree with watchdog's records.
    pub open: OpenWorktree,
    /// The record of the session; `None` where there is none.
    pub session: Option<HookedAgent>,
}

impl HookWorktree {
    /// Opens the records, then the worktree of the session.
    pub fn open(
        command_env: &CommandEnv,
        request: &HookRequest,
        input: &HookInput,
    ) -> Result<Self, UnreadableFact> {
        command_env.state.ensure()?;
        let store = open_store(&command_env.state)?;
        let notes = store.notes();
        let session = match &input.session_id {
            Some(id) => HookedAgent::read_row(store.as_ref(), id, hook_session::MAIN)?,
            None => None,
        };
        let folder = choose_folder(command_env, request, input, session.as_ref());
        let worktree = Worktree::open(&folder)?;
        let named = request.worktree_named.then_some(folder.as_path());
        refuse_home_folder(worktree.root(), named)?;
        let store: Arc<dyn LocalStore> = store;
        Ok(HookWorktree {
            open: OpenWorktree {
                notes,
                ..OpenWorktree::with_store(command_env, worktree, &store)
            },
            session,
        })
    }
}

/// The folder whose worktree is judged. An agent cannot choose another judge by changing its folder: the folder where a session began goes
/// before the present one, and the one that the user names before both.
pub fn choose_folder(
    command_env: &CommandEnv,
    request: &HookRequest,
    input: &HookInput,
    session: Option<&HookedAgent>,
) -> PathBuf {
    let there = |path: Option<&Path>| path.filter(|path| path.is_dir()).map(Path::to_owned);
    let (reported, began) = (
        there(input.cwd.as_deref()),
        session.map(|session| session.worktree.as_path()),
    );
    let project = there(request.host.project.as_deref());
    let chosen_folder = match request.event {
        _ if request.worktree_named => None,
        // A session that is resumed in another folder works there from now on.
        HookEvent::SessionStart => reported.or(project),
        HookEvent::WorktreeRemove => {
            let named = input.fields.get("worktree_path");
            there(named.and_then(|path| path.as_str()).map(Path::new)).or(reported)
        }
        // Around a worktree that is gone there may be another one.
        _ => (there(began).or(project).or(reported)).or(began.map(Path::to_owned)),
    };
    chosen_folder.unwrap_or_else(|| command_env.worktree.clone())
}

/// Takes a snapshot of the uncommitted files, and says so.
pub fn keep_work(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    (spec, at, why): (&str, Timestamp, &str),
    settings: &RescueSettings,
) -> Result<Option<Snapshot>, UnreadableFact> {
    if settings.mode == RescueMode::Off {
        return Ok(None);
    }
    let taken = take_snapshot(&open.worktree, (spec, at, why), settings)?;
    if let Some(new) = taken.as_ref().filter(|taken| !taken.reused) {
        note_snapshot(open, spec, new, at)?;
        command_env.tell(&format!("kept the uncommitted work in {}", new.name));
    }
    Ok(taken)
}

/// Writes a snapshot into the journal.
pub fn note_snapshot(
    open: &OpenWorktree,
    spec: &str,
    taken: &Snapshot,
    at: Timestamp,
) -> Result<(), UnreadableFact> {
    let (id, spec) = (&open.worktree_id, Some(spec));
    let event = snapshot_event(at, id, spec, &taken.name, &taken.commit);
    Ok(open.append_event(event)?)
}
