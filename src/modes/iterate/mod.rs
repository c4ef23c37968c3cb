//! `watchdog loop`: runs sessions one after the other, and judges each, until the work is complete or a limit is reached.
//!
//! `request` holds the options, `looped` drives the state machine of [`watchdog_core::decision::iteration`], `session` runs one iteration,
//! `loop_state` stores the state of the loop, `pause` waits, `pause_request` is a person's,
//! `loop_agents` names the agents, `missing_agents` finds those that could not take over, `handed_over` hands the work from one to another, `described_prompt` asks a handler for prompts, `left_over` waits for the session of a killed watchdog, `view` is the
//! interface to a terminal.

mod described_prompt;
mod handed_over;
mod left_over;
mod loop_agents;
mod loop_messages;
mod loop_state;
mod looped;
mod missing_agents;
mod pause;
mod pause_request;
mod plan;
mod request;
mod session;
mod view;

pub use loop_agents::{AgentSelection, LoopAgent};
pub use loop_messages::about_silence;
pub use looped::run_loop;
pub use missing_agents::missing_fallbacks;
pub use pause_request::PauseRequest;
pub use plan::plan_loop;
pub use request::{LoopLimitOverrides, LoopRequest};
pub use view::{LoopPhase, LoopStatus, LoopView};
