//! The options of a loop, and a person's request that it pauses between two iterations.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::loop_agents::AgentSelection;
use crate::judge::configuration::EffectiveConfig;
use crate::judge::judgement_input::Overrides;
use watchdog_core::config::settings::Limits;
use watchdog_core::decision::iteration::prompt::PromptSet;
use watchdog_core::decision::silence::USUAL_LIMIT;
use watchdog_process::{MirrorTarget, SessionTerms};
use watchdog_store::short_hash;

/// The sessions to repeat, and the limits.
#[derive(Debug, Clone)]
pub struct LoopRequest {
    /// The name of the work; by default the branch.
    pub spec: Option<String>,
    /// The agents, as they were named.
    pub agents: AgentSelection,
    /// Whether each session continues the conversation of the last one, instead of starting a new one.
    pub same_conversation: bool,
    /// The prompt of the sessions.
    pub prompts: PromptSet,
    /// Limits over those of the configuration.
    pub limits: LoopLimitOverrides,
    /// After so many iterations without a change of the work, watchdog asks for a person; 0 = never.
    pub no_progress: u32,
    /// The longest usage limit to wait for.
    pub max_wait: Duration,
    /// Whether to start a new loop instead of resuming an interrupted one.
    pub restart: bool,
    /// When a session is ended. An idle timeout of zero is no limit.
    pub terms: SessionTerms,
    /// The target that shows the sessions' output.
    pub mirror: MirrorTarget,
    /// Further options of the command line.
    pub overrides: Overrides,
    /// The criteria, where they do not come from a `completion.json`.
    pub effective: Option<EffectiveConfig>,
    /// A person's request to pause.
    pub pause: PauseRequest,
}

impl LoopRequest {
    /// A hash of the prompt and the command line: a loop with others is another loop. A queue that names the agent of each task may name
    /// another one for the same work.
    pub fn recipe(&self) -> String {
        let agents = match &self.agents {
            AgentSelection::Given(_) => String::new(),
            named => format!("{named:?}"),
        };
        short_hash(&format!(
            "{:?} {agents} {}",
            self.prompts, self.same_conversation
        ))
    }

    /// How long a session may be silent before watchdog ends it, given the configured limit; `None` = no limit. A loop runs unattended, so
    /// that it has a limit by default, too.
    pub fn idle_timeout(&self, configured: Option<Duration>) -> Option<Duration> {
        self.terms
            .idle_timeout
            .or(configured)
            .or(Some(USUAL_LIMIT))
            .filter(|limit| !limit.is_zero())
    }
}

/// Limits that the command line names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoopLimitOverrides {
    /// Iterations at most.
    pub max_iterations: Option<u32>,
    /// Pause between iterations.
    pub cooldown: Option<Duration>,
    /// The instant after which no session begins.
    pub deadline: Option<jiff::Timestamp>,
    /// Turns at most.
    pub max_turns: Option<u64>,
    /// Tokens at most.
    pub max_total_tokens: Option<u64>,
    /// US dollars at most.
    pub max_cost_usd: Option<f64>,
    /// Wall time of the loop at most.
    pub max_wall: Option<Duration>,
}

impl LoopLimitOverrides {
    /// The limits of the configuration, with those that were named in their place.
    #[must_use]
    pub fn over(&self, limits: &Limits) -> Limits {
        Limits {
            max_iterations: self.max_iterations.unwrap_or(limits.max_iterations),
            cooldown: self.cooldown.unwrap_or(limits.cooldown),
            max_stop_blocks: limits.max_stop_blocks,
            deadline: self.deadline.or(limits.deadline),
            max_turns: self.max_turns.or(limits.max_turns),
            max_total_tokens: self.max_total_tokens.or(limits.max_total_tokens),
            max_cost_usd: self.max_cost_usd.or(limits.max_cost_usd),
            max_wall: self.max_wall.or(limits.max_wall),
            session_timeout: limits.session_timeout,
            idle_timeout: limits.idle_timeout,
            background: limits.background,
            ignore_processes: limits.ignore_processes.clone(),
            sensors: limits.sensors.clone(),
        }
    }
}

/// Whether a pause was asked for.
#[derive(Debug, Clone)]
pub struct PauseRequest(watch::Receiver<bool>);

impl PauseRequest {
    /// Listens from now on to USR1. Must be called inside the runtime.
    ///
    /// # Errors
    /// When the system refuses to register the signal.
    pub fn listen() -> std::io::Result<Self> {
        let (sender, receiver) = watch::channel(false);
        let mut stream = signal(SignalKind::user_defined1())?;
        tokio::spawn(async move {
            while stream.recv().await.is_some() {
                sender.send_replace(true);
            }
        });
        Ok(PauseRequest(receiver))
    }

    /// One that never comes, for loops that others end.
    pub fn none() -> Self {
        PauseRequest(watch::channel(false).1)
    }

    /// Whether it came.
    pub fn came(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for it.
    pub async fn wait(&mut self) {
        if self.0.wait_for(|came| *came).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
