//! The loop: after each session, what comes next. Pure; the mode `loop` carries it out.
//!
//! [`standing`] is what a loop knows of itself and keeps in the store, [`next`] the state machine over it, [`ending`] the verdict that
//! a loop ends with, [`record`] what is remembered of an iteration, [`prompt`] what the next session is told.

pub mod ending;
pub mod next;
pub mod prompt;
pub mod record;
pub mod standing;

#[cfg(test)]
mod tests;
