//! Tests against real git, real processes and the built program.

mod support;

/// Rescues: commits a person would keep, nothing lost, nothing leaked.
mod rescue;

/// Snapshots of uncommitted work: complete, harmless, restorable.
mod snapshot;

/// Snapshots where the repository, its neighbours or the file system work against them.
mod snapshot_hostile;

/// The way back: exact, and never over work that is in no commit.
mod snapshot_restore;

/// Random trees of random changes: every byte must come back.
mod snapshot_torture;
