//! Presets: what watchdog knows of an agent's program, as data. Each agent has one file, built in
//! or the user's own.
//!
//! [`definition`] is the form of a file and reads it, `template` fills its argument vectors in, [`catalog`] finds the file of a name and
//! [`capability`] names what an agent can do. [`question`] is the command of a question, [`own_home`] the home that one may need; a session's command is in `session_command`. [`refusal`] names
//! the option that allows a tool.

pub mod capability;
pub mod catalog;
pub mod definition;
pub mod own_home;
mod problem;
pub mod question;
pub mod refusal;
pub(super) mod template;
pub mod verdict_basis;

pub use capability::AgentCapability;
pub use catalog::PresetCatalog;
pub use definition::AgentPreset;
pub use problem::PresetProblem;
