//! The common input of every call, and the event loop that it runs in.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_judge::judge::command_env::{CommandEnv, ProgressCallback};
use watchdog_judge::judge::refusal::Refusal;
use watchdog_judge::judge::serving_git::serve_refs;
use watchdog_judge::judge::signals::SignalState;
use watchdog_store::StateDir;

/// How long the end of a call waits for notifications to be delivered; the next one tries again.
const DELIVERY: Duration = Duration::from_secs(3);

/// The common input of every call.
#[derive(Clone)]
pub(super) struct CallOptions {
    pub(super) worktree: PathBuf,
    pub(super) config: Option<PathBuf>,
    pub(super) state_dir: Option<PathBuf>,
    pub(super) agent_program: Option<OsString>,
    pub(super) narrate: ProgressCallback,
}

impl CallOptions {
    pub(super) fn new(worktree: PathBuf) -> Self {
        CallOptions {
            worktree,
            config: None,
            state_dir: None,
            agent_program: None,
            narrate: Arc::new(|_| {}),
        }
    }

    /// The same as for the command line, from the same environment.
    pub(super) fn command_env(&self) -> Result<CommandEnv, Refusal> {
        let variable = |name: &str| std::env::var_os(name);
        let flag = self
            .state_dir
            .clone()
            .or_else(|| variable("WATCHDOG_STATE_DIR").map(Into::into));
        let state = StateDir::resolve(
            flag,
            variable("XDG_STATE_HOME").map(Into::into),
            variable("HOME").map(Into::into),
        )?;
        serve_refs(&state);
        Ok(CommandEnv {
            config: self.config.clone(),
            agent_program: self.agent_program.clone(),
            narrate: Arc::clone(&self.narrate),
            trusted: std::env::var("WATCHDOG_TRUST").ok(),
            ..CommandEnv::new(self.worktree.clone(), state)
        })
    }

    /// Runs something to its end, deaf to signals: those are the host's.
    pub(super) fn block_on<T>(
        &self,
        work: impl AsyncFnOnce(&CommandEnv, &mut SignalState) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let command_env = self.command_env()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| UnreadableFact {
                kind: FaultKind::Store,
                why: format!("failed to start the event loop: {error}"),
                hint: None,
            })?;
        let done = runtime.block_on(async { work(&command_env, &mut SignalState::none()).await });
        // A thread that still reads output which a survivor holds open must not keep us.
        runtime.shutdown_timeout(Duration::from_millis(100));
        command_env.notifications.finish(DELIVERY);
        done
    }
}
