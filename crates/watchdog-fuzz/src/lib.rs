//! Fuzz targets: each runs what reads input that others wrote, and checks what must hold for any input.
//!
//! [`TARGETS`] lists them. `tests/kept_corpus` runs each over its kept inputs and a fixed number of mutations of them, `by_coverage` is the
//! program of the long form. How to run one and how to add one: scripts/README.md.

mod fuzz_target;
mod target_list;
mod targets;

pub use fuzz_target::FuzzTarget;
pub use target_list::TARGETS;
