//! All tests against real repositories, processes and files: one binary.

mod support {
    //! What the tests stand on.
    pub mod repo;
}

/// What is uncommitted, against git's own answer.
mod git_changes;
/// Counts on random histories, against git's own.
mod git_counts;
/// The commits since a baseline.
mod git_history;
/// Repositories that try to run programs while they are looked at.
mod git_hostile;
/// Which repositories open, and how the others are refused.
mod git_open;
/// The commits since a baseline that is no longer part of HEAD's history.
mod git_rewritten;
