//! The hour, and the pauses between attempts that failed.

pub mod pauses;
mod wall;

pub use wall::{now, since};
