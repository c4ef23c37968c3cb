//! CRITERIA. One file per type of check, one trait, groups that combine them.
//!
//! Reading order: [`check`](CompletionCheck) (what a check is), `capabilities` (all that a check may do to the outside) and `answers`
//! (what it gets),//! one file per type, `registry` (from configuration to checks), `group` (how they combine and what is surfaced).
//! Checks do no IO of their own and know no clock.

mod always;
mod answers;
mod capabilities;
mod check;
mod command;
mod feedback;
mod files;
mod git;
mod group;
mod not_yet;
mod registry;

#[cfg(test)]
mod tests;

pub use always::Always;
pub use answers::{
    BoundedText, Captured, CommandOutput, CommandRequest, CommandRun, Exchange, FoundFile, JudgeAnswer, JudgeRequest, Pushed, Touched,
};
pub use capabilities::Capabilities;
pub use check::{CheckContext, CompletionCheck, Judgement};
pub use command::CommandCheck;
pub use files::FilesCheck;
pub use git::GitCheck;
pub use group::{CheckTree, Cost, GroupOutcome, describe, evaluate};
pub use not_yet::NotYet;
pub use registry::{Registry, build};
