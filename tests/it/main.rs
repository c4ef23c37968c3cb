//! Tests against real git, real processes and the built program.

mod support;

/// Snapshots of uncommitted work: complete, harmless, restorable.
mod snapshot;
