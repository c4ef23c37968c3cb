//! The agent that scenes try: its preset, the program that is run, and how that is pointed at the scripted API.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use watchdog_agent::local_api::LocalApi;
use watchdog_agent::preset::definition::AgentPreset;
use watchdog_agent::{ConversationChoice, SessionAgent, SessionCommand};
use watchdog_core::config::settings::PresetName;

/// The prompt of every session; the script knows the request by it.
pub const TASK: &str = "MAIN TASK";

/// The agent that scenes try.
#[derive(Debug, Clone)]
pub struct SceneAgent {
    /// Its preset.
    pub preset: Arc<AgentPreset>,
    /// What is run in the place of the preset's program: a program by its whole path, or a command line to which the arguments are added.
    pub command: Vec<String>,
    /// How it is pointed at the API.
    pub local_api: LocalApi,
    /// What its preset says that it can do, by name.
    pub capabilities: BTreeSet<&'static str>,
}

impl SceneAgent {
    /// Whether watchdog asks it about a session at all.
    pub fn is_probed(&self) -> bool {
        self.preset
            .question
            .as_ref()
            .is_some_and(|question| question.by_id.is_some())
    }

    /// The command of a session, as `watchdog loop --agent NAME -- ARGS` would start it.
    ///
    /// # Errors
    /// Where the preset has no such session.
    pub fn session(&self, args: &[String], prompt_file: &Path) -> Result<SessionCommand, String> {
        let name = PresetName::parse(&self.preset.name)
            .ok_or_else(|| format!("{} is no name of a preset", self.preset.name))?;
        let preset = Arc::clone(&self.preset);
        let agent = SessionAgent::Agent {
            name,
            preset,
            program: None,
            args: args.iter().map(Into::into).collect(),
        };
        agent
            .command(TASK, prompt_file, ConversationChoice::Fresh)
            .map_err(|error| error.to_string())
    }
}
