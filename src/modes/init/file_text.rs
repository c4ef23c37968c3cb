//! A chosen configuration as the text of `completion.json`, read again by watchdog's own parser before anybody writes it.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use watchdog_core::config::parse;

use super::foreign_file::ForeignSetting;
use super::proposed::{ChosenConfig, ProposedCriterion};

/// Deadline of a check: a first build may take longer than the default of five minutes.
const CHECK_SECONDS: u64 = 900;

/// The text of the file. What is empty is left out: an empty list of checks is worth a warning in every verdict.
///
/// # Errors
/// Where watchdog itself would refuse the text, or warn of it: a bug, and nothing to write.
pub fn file_text(chosen: &ChosenConfig) -> Result<String, String> {
    let text = render(chosen);
    match parse(&text, Path::new("completion.json")) {
        Ok(parsed) if parsed.notes.is_empty() => Ok(text),
        Ok(parsed) => Err(parsed.notes.join("; ")),
        Err(error) => Err(error.to_string()),
    }
}

fn render(chosen: &ChosenConfig) -> String {
    let mut blocks = vec!["\"version\": 1".to_owned()];
    if let Some(preset) = &chosen.agent {
        blocks.push(format!(
            "\"agent\": {{\"preset\": {}}}",
            quoted(preset.as_str())
        ));
    }
    blocks.extend(settings(chosen).into_iter().map(|(block, keys)| {
        let keys = keys
            .iter()
            .map(|(key, value)| format!("{}: {value}", quoted(key)));
        match block {
            "" => keys.collect::<Vec<_>>().join(",\n  "),
            block => format!(
                "{}: {{\n    {}\n  }}",
                quoted(block),
                keys.collect::<Vec<_>>().join(",\n    ")
            ),
        }
    }));
    if !chosen.guards.is_empty() {
        blocks.push(format!("\"guards\": {}", list(&chosen.guards)));
    }
    if !chosen.checks.is_empty() {
        let checks: Vec<String> = chosen
            .checks
            .iter()
            .map(|check| format!("    {}", criterion(check)))
            .collect();
        blocks.push(format!("\"checks\": [\n{}\n  ]", checks.join(",\n")));
    }
    format!("{{\n  {}\n}}\n", blocks.join(",\n  "))
}

/// A block with its keys in order; the one without a name is the top of the file.
type SettingsBlock = (&'static str, Vec<(String, Value)>);

/// The limits, and what other programs' files say in place of them and beside them.
fn settings(chosen: &ChosenConfig) -> Vec<SettingsBlock> {
    let limits = chosen.limits;
    let usual = [
        ForeignSetting::new("limits", "max_iterations", limits.max_iterations),
        ForeignSetting::new(
            "limits",
            "session_timeout_seconds",
            limits.session_timeout_seconds,
        ),
        ForeignSetting::new(
            "limits",
            "idle_timeout_seconds",
            limits.idle_timeout_seconds,
        ),
    ];
    let mut blocks: Vec<SettingsBlock> = Vec::new();
    for setting in usual.iter().chain(&chosen.settings) {
        let at = blocks
            .iter()
            .position(|(name, _)| *name == setting.block)
            .unwrap_or_else(|| {
                blocks.push((setting.block, Vec::new()));
                blocks.len() - 1
            });
        let keys = &mut blocks[at].1;
        match keys.iter_mut().find(|(key, _)| *key == setting.key) {
            Some((_, value)) => value.clone_from(&setting.value),
            None => keys.push((setting.key.clone(), setting.value.clone())),
        }
    }
    blocks
}

fn criterion(criterion: &ProposedCriterion) -> String {
    match criterion {
        ProposedCriterion::Command { name, run, folder } => {
            let cwd = if folder.is_empty() {
                String::new()
            } else {
                format!(", \"cwd\": {}", quoted(folder))
            };
            format!(
                "{{\"type\": \"command\", \"name\": {}, \"run\": {}{cwd}, \"timeout_seconds\": {CHECK_SECONDS}}}",
                quoted(name),
                quoted(run)
            )
        }
        ProposedCriterion::FeatureList { path, freeze } => {
            let frozen = if *freeze { ", \"freeze\": true" } else { "" };
            format!(
                "{{\"type\": \"feature_list\", \"path\": {}{frozen}}}",
                quoted(path)
            )
        }
        ProposedCriterion::Plan { path, done } => {
            let mut text = format!("{{\"type\": \"plan\", \"path\": {}", quoted(path));
            if !done.is_empty() {
                let _ = write!(text, ", \"done\": {}", list(done));
            }
            text + "}"
        }
        ProposedCriterion::Foreign { entry, .. } => entry.to_string(),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn list(texts: &[String]) -> String {
    format!(
        "[{}]",
        texts
            .iter()
            .map(|text| quoted(text))
            .collect::<Vec<_>>()
            .join(", ")
    )
}

#[cfg(test)]
mod tests {
    use watchdog_core::config::settings::{CheckSpec, ConfigSettings};

    use super::super::facts::ProjectFacts;
    use super::super::proposal::proposal;
    use super::super::proposed::ConfigProposal;
    use super::*;
    use watchdog_core::config::settings::PresetName;

    fn read(text: &str) -> ConfigSettings {
        parse(text, Path::new("completion.json")).unwrap().settings
    }

    #[test]
    fn a_file_for_nothing_found_is_small_and_says_nothing_of_checks() {
        let text = file_text(&proposal(&ProjectFacts::default()).preselected()).unwrap();
        assert_eq!(
            text,
            "{\n  \"version\": 1,\n  \"limits\": {\n    \"max_iterations\": 10,\n    \"session_timeout_seconds\": 7200,\n    \"idle_timeout_seconds\": 1800\n  }\n}\n"
        );
    }

    #[test]
    fn every_kind_of_criterion_is_read_as_it_was_meant_whatever_its_words() {
        let odd = "a \"quoted\" \\ line\nand ünicode".to_owned();
        let empty: ConfigProposal = proposal(&ProjectFacts::default());
        let chosen = ChosenConfig {
            checks: vec![
                ProposedCriterion::Command {
                    name: odd.clone(),
                    run: odd.clone(),
                    folder: odd.clone(),
                },
                ProposedCriterion::FeatureList {
                    path: "feature_list.json".into(),
                    freeze: true,
                },
                ProposedCriterion::Plan {
                    path: "plan.json".into(),
                    done: vec!["completed".into(), odd.clone()],
                },
                ProposedCriterion::Plan {
                    path: "tasks.md".into(),
                    done: Vec::new(),
                },
            ],
            guards: vec![".github/workflows/**".into(), "tests/**".into()],
            agent: Some(PresetName::CODEX),
            ..empty.preselected()
        };
        let settings = read(&file_text(&chosen).unwrap());
        assert_eq!(settings.agent.preset, PresetName::CODEX);
        assert_eq!(settings.guards, chosen.guards);
        assert_eq!(settings.commands(), [format!("check {odd}: {odd}")]);
        assert_eq!(settings.checks.len(), 4);
        assert!(matches!(&settings.checks[0], CheckSpec::Single { name, .. } if *name == odd));
    }

    #[test]
    fn what_the_parser_refuses_is_never_text_to_write() {
        let empty = proposal(&ProjectFacts::default()).preselected();
        let chosen = ChosenConfig {
            guards: vec!["a[".into()],
            ..empty
        };
        assert!(file_text(&chosen).unwrap_err().contains("guards[0]"));
    }
}
