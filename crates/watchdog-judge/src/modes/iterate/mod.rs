//! `watchdog loop`: runs sessions one after the other, and judges each, until the work is complete or a limit is reached.
//!
//! `request` holds the options, `looped` drives the state machine of [`watchdog_core::decision::iteration`], `session` runs one iteration,
//! `loop_state` stores the state of the loop, `pause` waits, `loop_agents` names the agents, `missing_agents` finds those that could not
//! take over, `next_prompt` makes the prompt of the next session, `view` is the interface to a terminal.

mod loop_agents;
mod loop_state;
mod looped;
mod missing_agents;
mod next_prompt;
mod pause;
mod plan;
mod request;
mod session;
mod view;

pub use loop_agents::{AgentSelection, LoopAgent};
pub use looped::run_loop;
pub use missing_agents::missing_fallbacks;
pub use plan::plan_loop;
pub use request::{LoopLimitOverrides, LoopRequest, PauseRequest};
pub use view::{LoopPhase, LoopStatus, LoopView, about_silence, why_in_words};
