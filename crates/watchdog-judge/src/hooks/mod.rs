//! THE AGENT'S OWN HOOKS: the input of agents' command hooks, their answers, and the settings that install them.
//!
//! Reading order: [`dialect`] (whose hooks), [`input`] (words in), [`stop_criteria`] (the machine's verdict) and [`hold`] (may the agent stop?), [`claim_answer`] (without criteria: do git and its words agree?), all pure, [`reply`]
//! (words out), then `entry`, [`hook_text`] and [`settings_file`] for `watchdog hook install`. The mode `hook` gathers the facts.

pub mod claim_answer;
pub mod dialect;
pub mod hold;
pub mod hook_text;
pub mod input;
pub mod line_diff;
pub mod reply;
pub mod settings_file;
pub mod stop_criteria;

mod entry;
mod plugin_text;
mod session_input;
mod settings_text;
mod switched_off;

pub use claim_answer::decide_claims;
pub use dialect::HookDialect;
pub use entry::{HeldAgents, HookEntries, split_commands};
pub use hold::{HoldCountChange, HoldPoint, HoldStreak, HookDecision, StopFacts, decide_hold};
pub use input::{HookEvent, HookInput};
pub use reply::{HookAction, HookReply};
pub use session_input::build_context;
pub use stop_criteria::judge_criteria;
pub use switched_off::{HookSwitch, find_hook_switch};
