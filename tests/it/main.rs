//! Tests against real git, real processes and the built program.

mod support;

/// Rescues: commits a person would keep, nothing lost, nothing leaked.
mod rescue;

/// Snapshots of uncommitted work: complete, harmless, restorable.
mod snapshot;
