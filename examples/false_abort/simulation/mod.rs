//! False aborts in virtual time: the same scripted sessions, judged by three policies.
//!
//! Ours is the product's own decision machine and breaker, driven by [`ours`] through a scripted world. No real time passes,
//! no process runs, and everything follows from the seed.

pub mod chance;
pub mod original;
pub mod ours;
pub mod policy;
pub mod rates;
pub mod script;
pub mod tally;
pub mod world;
