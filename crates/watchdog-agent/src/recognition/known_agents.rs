//! The words by which agents are recognised: those of their presets.

use std::ffi::OsString;

use super::AgentWords;
use super::launched_program::base_name;
use crate::preset::{AgentPreset, PresetCatalog};
use crate::stream::StreamFormat;

/// Those of every agent that is built in, and then of the user's own.
pub fn known_agents(presets: &PresetCatalog) -> Vec<AgentWords> {
    agents_where(presets, |_| true)
}

/// Those that these command lines can name: the program and the packages of an agent that is built in have its name in theirs.
pub fn agents_named_in<'a>(
    presets: &PresetCatalog,
    command_lines: impl Iterator<Item = &'a OsString>,
) -> Vec<AgentWords> {
    // A shell takes quotes and continued lines out of a name.
    let unquoted = |word: &OsString| {
        let word = word.to_string_lossy().replace("\\\n", "");
        word.replace(['"', '\'', '\\'], "")
    };
    let words: Vec<String> = command_lines.map(unquoted).collect();
    agents_where(presets, |name| words.iter().any(|word| word.contains(name)))
}

fn agents_where(presets: &PresetCatalog, counts: impl Fn(&str) -> bool) -> Vec<AgentWords> {
    let presets = presets.presets_where(counts);
    presets
        .iter()
        .map(AsRef::as_ref)
        .map(AgentWords::from_preset)
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

    #[test]
    fn command_line_has_words_of_its_agents_alone() {
        let presets = PresetCatalog::default();
        let agents_in = |word: &str| agents_named_in(&presets, [word.into()].iter());
        for agent_words in known_agents(&presets) {
            for word in agent_words.programs.iter().chain(&agent_words.packages) {
                let (begin, rest_of_word) = word.split_at(1);
                let listed = agents_in(&format!("/bin/{begin}\\\n'{rest_of_word}'"));
                assert!(listed.contains(&agent_words), "{word}");
            }
        }
        assert_eq!(agents_in("make check"), []);
    }
}
