//! The judge: has the decision machine ask its questions of the world, and settles what follows from its verdict.
//!
//! Reading order: [`open_worktree`] (the worktree, its records and its lock), [`configuration`] and [`judgement_input`] (what is to be judged),
//! [`judgement_run`] (the course of one judgement), [`waiting_pace`] (one action after the other) and [`executor`] (what is done for each),
//! [`admission`] and [`refusal`] (why nothing was judged).

pub mod admission;
pub mod asking;
pub mod capabilities;
pub mod command_env;
pub mod configuration;
pub mod criteria_files;
pub mod earlier_rounds;
pub mod executor;
pub mod expiry;
pub mod input_assembly;
pub mod journal;
pub mod judgement_about;
pub mod judgement_input;
pub mod judgement_run;
pub mod kept_elsewhere;
pub mod machine_log;
pub mod open_worktree;
pub mod origins;
pub mod panicked;
pub mod planner;
pub mod probe_history;
pub mod refusal;
pub mod serving_git;
pub mod session_context;
pub mod session_cost;
pub mod session_work;
pub mod settle_anchor;
pub mod signals;
pub mod spawn_io;
pub mod survivors;
pub mod undone;
pub mod waiting_pace;
