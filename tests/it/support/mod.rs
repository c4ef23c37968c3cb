//! What every end-to-end test stands on: a hermetic place to work in, real programs, and waiting for conditions.

mod agent_sdk;
mod api_rules;
mod at_terminal;
mod claude_cli;
mod command;
mod env;
mod fake_agent;
mod full_screen;
mod gate;
mod http_receiver;
pub mod lone_repo;
mod messages_api;
mod processes;
pub mod random_tree;
mod repo;
pub mod scratch_repo;
mod screen;
mod scripted_model;
#[path = "../../../crates/watchdog-fleet/tests/server/test_database.rs"]
#[expect(dead_code, reason = "the crate's own tests use the rest")]
pub mod test_database;
mod wait;
mod wall_clock;
pub mod watch;

pub use agent_sdk::AgentSdk;
pub use api_rules::Rule;
pub use at_terminal::{AtTerminal, keys};
pub use claude_cli::Claude;
pub use command::{CommandOutput, Run, Running, assert_parts};
pub use env::TestEnv;
pub use fake_agent::{Step, config_asking, extended};
pub use full_screen::full_screen;
pub use gate::Gate;
pub use http_receiver::{Receiver, Reply};
pub use messages_api::MessagesApi;
pub use processes::{is_stopped, peak_own_kib, with_variable as processes_with};
pub use repo::{Repo, fill_line};
pub use screen::screen;
pub use scripted_model::{SCRIPT, ScriptedModel};
pub use wait::{at_once, wait_for, wait_until};
pub use wall_clock::WallClock;
