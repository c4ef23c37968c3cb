//! Reports from the records, for people and programs. Only reads records: judges, probes and changes nothing.
//!
//! - [`overview`]: the present state, worktree by worktree.
//! - [`figures`]: the figures of a period.

mod below;
pub mod figures;
pub mod overview;

pub use below::PathFilter;
