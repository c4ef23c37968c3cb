//! Reports from the records, for people and programs. Only reads records: judges, probes and changes nothing.
//!
//! - [`attention`]: whether a worktree needs a person, why, and what to type.
//! - [`overview`]: the present state, worktree by worktree.
//! - [`figures`]: the figures of a period.

pub mod attention;
mod below;
pub mod figures;
pub mod overview;

pub use below::PathFilter;
