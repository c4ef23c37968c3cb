//! The agents that scenes can try: those whose preset says how they are pointed at the scripted API.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::scene_agent::SceneAgent;
use watchdog_agent::preset::catalog::PresetCatalog;
use watchdog_agent::preset::definition::AgentPreset;

/// The names of the built-in presets that can be tried.
pub fn known_agents() -> Vec<&'static str> {
    PresetCatalog::built_in()
        .filter(|preset| preset.local_api.is_some())
        .map(|preset| preset.name.as_str())
        .collect()
}

/// The agent of a preset; `None` where it does not say how it can be tried.
pub fn scene_agent(preset: Arc<AgentPreset>) -> Option<SceneAgent> {
    let local_api = preset.local_api.clone()?;
    let capabilities: BTreeSet<&'static str> = preset
        .capabilities
        .iter()
        .map(|capability| capability.as_str())
        .collect();
    Some(SceneAgent {
        preset,
        command: Vec::new(),
        local_api,
        capabilities,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_agent::local_api::LocalApiValues;

    #[test]
    fn every_agent_runs_in_its_scratch_home() {
        assert_eq!(
            known_agents(),
            ["claude", "codex", "gemini", "opencode", "qwen", "copilot"]
        );
        for preset in PresetCatalog::built_in().filter(|preset| preset.local_api.is_some()) {
            let agent = scene_agent(Arc::clone(preset)).unwrap();
            let values = LocalApiValues {
                url: "http://127.0.0.1:1",
                home: "/scratch/home",
            };
            assert!(
                agent
                    .local_api
                    .contents(values)
                    .iter()
                    .all(|(path, _)| path.starts_with("/scratch/home/")),
                "{}",
                preset.name
            );
            let told: Vec<String> = agent.local_api.variables(values).into_values().collect();
            let files: Vec<String> = agent
                .local_api
                .contents(values)
                .into_iter()
                .map(|(_, text)| text)
                .collect();
            assert!(
                told.iter()
                    .chain(&files)
                    .any(|text| text.contains("http://127.0.0.1:1")),
                "{}",
                preset.name
            );
        }
    }
}
