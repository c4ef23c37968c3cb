//! What is known of a coding agent's work, and what is concluded from it: plain values without files, processes, clock or network.
//!
//! Reading order: [`evidence`] (what was read, and what could not be read), [`verdict`] (what is concluded), [`session_work`] (whose work
//! a change is), [`reply`] and [`context`] (what an agent says of itself), [`warning_code`] and [`shortage`] (what weakens a verdict),
//! [`left_out_reason`] (why a path was left alone), [`display`] and [`secret_shapes`] (how all of it is shown, without secrets).

#![warn(missing_docs, unreachable_pub)]

pub mod context;
pub mod display;
pub mod evidence;
pub mod left_out_reason;
pub mod patterns;
pub mod reply;
pub mod secret_shapes;
pub mod session_work;
pub mod shortage;
pub mod verdict;
pub mod warning_code;
mod word_table;
