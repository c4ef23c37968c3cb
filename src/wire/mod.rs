//! Every JSON shape of watchdog that leaves the program or goes into its journal. Inside the program these are plain values.

pub(crate) mod baseline_json;
pub(crate) mod breaker_json;
pub(crate) mod doctor_json;
pub mod event_json;
pub(crate) mod event_words;
pub(crate) mod failure_json;
pub(crate) mod figures_json;
pub(crate) mod forget_json;
pub(crate) mod hook_events;
pub(crate) mod judgement_events;
pub(crate) mod last_verdict;
pub(crate) mod log_event_json;
pub(crate) mod loop_json;
pub(crate) mod loop_plan_json;
pub(crate) mod notice_json;
pub(crate) mod probe_json;
pub(crate) mod rescue_json;
pub(crate) mod session_events;
pub(crate) mod setup_json;
pub(crate) mod snapshot_json;
pub(crate) mod status_json;
pub(crate) mod sweep_json;
pub(crate) mod task_json;
pub(crate) mod task_work_json;
pub(crate) mod trust_json;
pub(crate) mod verdict_json;
