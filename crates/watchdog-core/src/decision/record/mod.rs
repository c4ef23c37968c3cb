//! The facts of one judgement, in the order in which it was read: the setup of the machine, and
//! each event that it got. From it a judgement can be explained ([`explanation`]), run again by the
//! rules of today ([`run`](mod@run)), and asked what would have changed it
//! ([`what_if`]).
//!
//! [`JudgementRecord::to_json`] writes it down, versioned, with bounded lists and texts (`bounds`).

mod bounds;
pub mod explanation;
mod judgement_record;
mod ruled_out;
pub mod run;
pub mod what_if;

pub use bounds::{
    CHECKS_LISTED, COMMITS_LISTED, LISTED, bound_changes, bound_check, bound_commits,
    bound_outcome, bound_probe, bound_record, bound_rescue, bound_verdict,
};
pub use judgement_record::{JudgementRecord, RecordedStep, fact_word};
