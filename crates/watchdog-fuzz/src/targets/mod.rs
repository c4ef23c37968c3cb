//! The targets, each in a file of its own.

pub(crate) mod agent_streams;
pub(crate) mod configuration;
pub(crate) mod evaluate_context;
pub(crate) mod front_matter;
pub(crate) mod hook_input;
pub(crate) mod index;
pub(crate) mod packed_refs;
pub(crate) mod reflogs;
pub(crate) mod replies;
pub(crate) mod rescue_plans;
pub(crate) mod settings_edits;
pub(crate) mod transcripts;

mod scratch;
