//! The hour, and the pauses between attempts that failed.

pub mod local_time;
pub mod pauses;
mod wall;

pub use wall::{local_now, measure_since, now};
