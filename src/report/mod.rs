//! What the records tell, gathered for people and programs. Reads what is recorded, and judges, asks and changes nothing.
//!
//! - [`overview`]: what is going on, worktree by worktree.
//! - [`figures`]: what a period came to, in figures.

mod below;
pub mod figures;
pub mod overview;

pub use below::PathFilter;
