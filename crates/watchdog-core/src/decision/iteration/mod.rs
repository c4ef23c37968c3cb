//! The loop: decides the next step after each session. Pure; the mode `loop` performs it.
//!
//! [`standing`] is the progress of a loop, which the store keeps, [`next`] the state machine over it, [`ending`] the verdict at
//! its end, [`record`] the summary of an iteration, [`prompt`] the prompt of the next session, [`agent_order`] which agent has it, and
//! [`handover`] what that agent is told where another one had the last.

pub mod agent_order;
pub mod ending;
pub mod handover;
pub mod next;
pub mod prompt;
pub mod record;
pub mod standing;

#[cfg(test)]
mod agent_order_tests;
#[cfg(test)]
mod ending_tests;
#[cfg(test)]
mod tests;
