//! The worktree that a command is about, with its store and its lock.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;
use watchdog_facts::evidence::{Degradation, UnreadableFact, WarningCode};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_git::{self as git, Worktree, new_words_fault};
use watchdog_process::git_program::{format_last_lines, new_git_run};
use watchdog_store::engine::NewEvent;
use watchdog_store::journal::new_event;
use watchdog_store::lock::{LockAttempt, LockHolder, WorktreeLock};
use watchdog_store::{
    LocalStore, StateDir, StoreError, StoreNotes, open_store, open_store_to_read,
};

use super::command_env::CommandEnv;
use super::refusal::Refusal;
use crate::clock::now;
use crate::session::{RecordedBaseline, describe_removed_repository, read_recorded_baseline};

/// The command name that a watch writes into a lock.
pub const WATCH: &str = "watchdog watch";

/// How long a command waits for a watch to release a worktree.
const PATIENCE_WITH_WATCH: Duration = Duration::from_millis(500);

/// How long git may take to say whether it works.
const PATIENCE_WITH_GIT: Duration = Duration::from_secs(10);

/// An opened worktree with its store.
pub struct OpenWorktree {
    /// The worktree.
    pub worktree: Worktree,
    /// Its stable name in the store.
    pub worktree_id: String,
    /// watchdog's records.
    pub store: Arc<dyn LocalStore>,
    /// Faults of the store.
    pub notes: StoreNotes,
    /// Commands for a person to type about it.
    pub commands: WorktreeCommands,
}

impl OpenWorktree {
    /// The recorded baseline of a spec; without one named, the latest.
    pub fn recorded_baseline(
        &self,
        spec: Option<&str>,
    ) -> Result<Option<RecordedBaseline>, UnreadableFact> {
        read_recorded_baseline(&self.store, &self.worktree_id, spec)
    }

    /// The spec of a recorded baseline, or else the one that the worktree has by default.
    pub fn spec_or_default(&self, recorded: Option<&RecordedBaseline>) -> String {
        recorded.map_or_else(
            || self.worktree.default_spec(),
            |recorded| recorded.spec.clone(),
        )
    }

    /// Writes an event of this moment into the journal.
    pub fn note_event(
        &self,
        at: Timestamp,
        spec: Option<&str>,
        kind: &str,
        data: Value,
    ) -> Result<(), StoreError> {
        self.append_event(new_event(at, &self.worktree_id, spec, kind, data))
    }

    /// The same with an event that is there already.
    pub fn append_event(&self, event: NewEvent) -> Result<(), StoreError> {
        // This append has no guarding lease, so it cannot be fenced.
        self.store.append(&[event], None).map(drop)
    }

    /// Opens the worktree, then the store.
    pub fn open(command_env: &CommandEnv) -> Result<Self, UnreadableFact> {
        let opened = command_env.open_worktree();
        let worktree = opened.map_err(|error| name_removed(command_env, error.into()))?;
        OpenWorktree::open_by(command_env, worktree, open_store)
    }

    /// The same for a command that only reads, also where the state directory takes no writes.
    pub fn open_to_read(command_env: &CommandEnv) -> Result<Self, UnreadableFact> {
        let opened = Worktree::open(&command_env.worktree);
        let worktree = opened.map_err(|error| name_removed(command_env, error.into()))?;
        OpenWorktree::open_by(command_env, worktree, open_store_to_read)
    }

    fn open_by(
        command_env: &CommandEnv,
        worktree: Worktree,
        open: impl FnOnce(&StateDir) -> Result<Arc<dyn LocalStore>, StoreError>,
    ) -> Result<Self, UnreadableFact> {
        command_env.state.ensure()?;
        let store = open(&command_env.state)?;
        let notes = store.notes();
        Ok(OpenWorktree {
            notes,
            ..OpenWorktree::with_store(command_env, worktree, &store)
        })
    }

    /// A worktree that is open already, with a store that is.
    pub fn with_store(
        command_env: &CommandEnv,
        worktree: Worktree,
        store: &Arc<dyn LocalStore>,
    ) -> Self {
        OpenWorktree {
            worktree_id: worktree.worktree_id(),
            commands: command_env.commands(worktree.root()),
            worktree,
            store: Arc::clone(store),
            notes: StoreNotes::default(),
        }
    }

    /// The top folder.
    pub fn root(&self) -> &Path {
        self.worktree.root()
    }

    /// Takes the worktree's lock; refuses while another process holds it.
    pub fn lock(
        &self,
        command_env: &CommandEnv,
        command: &str,
        session_active: bool,
    ) -> Result<WorktreeLock, Refusal> {
        let begun = Instant::now();
        loop {
            let holder = LockHolder {
                session_active,
                ..LockHolder::of_this_process(command, now())
            };
            match WorktreeLock::try_acquire(&command_env.state, &self.worktree_id, holder)? {
                LockAttempt::Held(lock) => return Ok(lock),
                // A watch that judges a commit is done in some milliseconds, and must not keep away who comes right after it.
                LockAttempt::Busy(Some(holder))
                    if holder.command == WATCH && begun.elapsed() < PATIENCE_WITH_WATCH =>
                {
                    std::thread::sleep(Duration::from_millis(10));
                }
                LockAttempt::Busy(holder) => {
                    return Err(build_locked_verdict(holder).into());
                }
            }
        }
    }
}

/// Says first that the repository is gone in which a baseline was recorded, where one was.
fn name_removed(command_env: &CommandEnv, mut fact: UnreadableFact) -> UnreadableFact {
    let store = open_store_to_read(&command_env.state).ok();
    let removed = store
        .and_then(|store| describe_removed_repository(store.as_ref(), &command_env.worktree, None));
    if let Some(removed) = removed {
        fact.why = format!("{removed}; {}", fact.why);
    }
    fact
}

/// The fault with which git does not work in a worktree now, for a verdict whose facts were read without it.
pub fn unusable_note(fault: git::Error) -> Degradation {
    let hint = fault.hint();
    let detail = format!("git does not work here: {fault}; {hint}").replace(git::NO_SNAPSHOT, "");
    Degradation::new(WarningCode::GitUnusable, detail)
}

/// Refuses a session where git does not work: an agent could do nothing with it, and would spend its tokens on that.
///
/// # Errors
/// The fault, in git's own words unless a setting is known to be it.
pub fn require_usable_git(worktree: &Worktree) -> Result<(), git::Error> {
    if let Some(fault) = worktree.config_fault() {
        return Err(fault);
    }
    let (root, args) = (worktree.root(), ["rev-parse", "--show-toplevel"]);
    match new_git_run(root, &args, &[], true, PATIENCE_WITH_GIT).run() {
        Ok(finished) if !finished.exit.success() && !finished.timed_out => {
            Err(new_words_fault(&format_last_lines(&finished), root))
        }
        // The end of a session says that git cannot be run, if it needs one.
        _ => Ok(()),
    }
}

/// The verdict on a worktree whose lock another process holds: its session runs, or another watchdog judges it.
pub fn build_locked_verdict(holder: Option<LockHolder>) -> Verdict {
    match holder {
        Some(holder) if holder.session_active => Verdict::new(
            Reason::SessionActive,
            format!(
                "a session runs in this worktree since {:.0}, under '{}' (process {})",
                holder.since, holder.command, holder.pid
            ),
        ),
        Some(holder) => Verdict::new(
            Reason::Locked,
            format!(
                "'{}' (process {}) works on this worktree since {:.0}",
                holder.command, holder.pid, holder.since
            ),
        ),
        None => Verdict::new(Reason::Locked, "another watchdog works on this worktree"),
    }
}
