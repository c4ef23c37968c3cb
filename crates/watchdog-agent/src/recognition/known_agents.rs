//! The words by which agents are recognised: those of their presets.

use super::AgentWords;
use super::launched_program::base_name;
use crate::preset::{AgentPreset, PresetCatalog};
use crate::stream::StreamFormat;

/// Those of every agent that is built in, and then of the user's own. A file of the user's that cannot be read recognises nothing: who
/// names it hears of it.
pub fn known_agents(presets: &PresetCatalog) -> Vec<AgentWords> {
    let agent_presets = presets
        .words()
        .into_iter()
        .filter_map(|word| presets.of_word(&word).ok()?);
    agent_presets
        .map(|preset| AgentWords::from_preset(&preset))
        .collect()
}

impl AgentWords {
    fn from_preset(preset: &AgentPreset) -> Self {
        AgentWords {
            agent: preset.name.clone(),
            title: preset.title.clone(),
            dialect: match &preset.stream {
                Some(StreamFormat::Dialect(dialect)) => Some(dialect.as_str().to_owned()),
                Some(StreamFormat::Rules(_)) | None => None,
            },
            programs: vec![base_name(&preset.program).to_owned()],
            packages: preset.packages.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_name_identifies_every_built_in_agent() {
        let agent_words = known_agents(&PresetCatalog::default());
        assert_eq!(agent_words.len(), PresetCatalog::built_in().len());
        for words in &agent_words {
            let command = [words.programs[0].clone().into(), "x".into()];
            assert_eq!(
                super::super::agents_in_command(&command, &agent_words).one(),
                Some(words.agent.as_str())
            );
            assert!(words.dialect.is_some(), "{words:?}");
        }
    }
}
