//! Snapshots of so much work that they are written as one pack, beside git itself: what git says of the pack, what a garbage collection, a
//! full disk or a kill -9 leaves of it.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs by themselves"
)]

mod beside_git;
mod content;
mod faults;
mod large_files;
mod repository;
