//! The loop: decides the next step after each session. Pure; the mode `loop` performs it.
//!
//! [`standing`] is the progress of a loop, which the store keeps, [`next`] the state machine over it, [`ending`] the verdict at
//! its end, [`record`] the summary of an iteration, [`prompt`] the prompt of the next session.

pub mod ending;
pub mod next;
pub mod prompt;
pub mod record;
pub mod standing;

#[cfg(test)]
mod tests;
