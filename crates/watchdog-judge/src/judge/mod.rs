//! The judge: drives the decision machine with facts from outside, and acts on its verdict.
//!
//! Reading order: `open_worktree` (the worktree, its records and its lock), `configuration` and `judgement_input` (the input),
//! `judgement_run` (the course of one judgement), `driver` (one action after the other) and `executor` (its performance),
//! `admission` and `refusal` (why nothing was judged).

mod activity_signs;
pub(crate) mod admission;
pub mod agent_preset;
mod asking;
pub(crate) mod before_session;
pub(crate) mod capabilities;
pub mod command_env;
pub mod configuration;
pub(crate) mod criteria_files;
pub mod doctor_finding;
pub(crate) mod driver;
pub(crate) mod executor;
pub mod fleet_membership;
pub(crate) mod gates;
pub(crate) mod input_assembly;
pub(crate) mod journal;
pub mod judgement_input;
pub(crate) mod judgement_run;
pub mod line_checkers;
pub(crate) mod live_agents;
pub mod live_session;
pub(crate) mod lost_ignored;
pub(crate) mod machine_log;
mod open_breaker;
pub mod open_worktree;
pub(crate) mod origins;
pub mod panicked;
pub mod planner;
pub mod refusal;
pub(crate) mod rescue_gate;
pub mod seen_session;
pub mod serving_git;
pub mod session_agent;
mod session_context;
pub mod session_life;
pub(crate) mod session_work;
pub mod settle_anchor;
pub(crate) mod siblings;
pub(crate) mod sightings;
pub mod signals;
pub(crate) mod snapshots;
pub mod spawn_io;
pub(crate) mod weighed_claims;
