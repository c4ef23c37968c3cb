//! `watchdog doctor`: says what is wrong and how to mend it, and mends what is safe.
//!
//! Reading order: [`DoctorFinding`] (what there is to say), `diagnose` (the round), one file for each thing that is looked at, `mend`.

mod agent_survey;
mod config_findings;
mod cron_findings;
mod diagnose;
mod git_findings;
mod hook_findings;
mod mend;
mod state_findings;

pub use crate::judge::doctor_finding::DoctorFinding;
pub use agent_survey::AgentLogin;
pub use diagnose::{DoctorRequest, run_diagnosis};
pub use mend::fix;
