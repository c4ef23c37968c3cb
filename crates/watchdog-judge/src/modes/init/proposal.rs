//! A proposed configuration: what could be written, what is chosen, and the text of the file, read
//! again by watchdog's own parser before it is written.

use std::path::Path;

use serde_json::Value;
use watchdog_core::config::parse_config;
use watchdog_core::config::settings::PresetName;

/// Deadline of a check: a first build may take longer than the default of five minutes.
const CHECK_SECONDS: u64 = 900;
/// The limits of every first file.
const LIMITS: &str = "\"limits\": {
    \"max_iterations\": 10,
    \"session_timeout_seconds\": 7200,
    \"idle_timeout_seconds\": 1800
  }";

/// The possible content of a first configuration.
#[derive(Debug, Clone, Default)]
pub struct ConfigProposal {
    /// Checks, the best first, and guards.
    pub entries: Vec<ProposedEntry>,
    /// Agents that could be asked, the best first.
    pub agents: Vec<PresetName>,
    /// The agent that is asked; `None` leaves it to the default.
    pub agent: Option<PresetName>,
    /// Notes for a person.
    pub notes: Vec<String>,
    /// A file with a prompt.
    pub prompt: Option<&'static str>,
}

/// An entry that could be written.
#[derive(Debug, Clone, Default)]
pub struct ProposedEntry {
    /// Whether it is one of `guards`; else it is one of `checks`.
    pub is_guard: bool,
    /// Its JSON.
    pub text: String,
    /// Its text for a person.
    pub shown: String,
    /// The reason for it, or against it.
    pub why: String,
    /// Whether it is written.
    pub is_chosen: bool,
}

impl ProposedEntry {
    /// The entry and what speaks for it.
    pub fn line(&self) -> String {
        format!("{} ({})", self.shown, self.why)
    }

    /// A command that must succeed in a folder, a path from the root of the worktree.
    pub fn command(name: &str, run: &str, folder: &str) -> Self {
        let cwd = match folder {
            "" => String::new(),
            folder => format!(", \"cwd\": {}", quote_as_json(folder)),
        };
        ProposedEntry {
            text: format!(
                "{{\"type\": \"command\", \"name\": {}, \"run\": {}{cwd}, \
                 \"timeout_seconds\": {CHECK_SECONDS}}}",
                quote_as_json(name),
                quote_as_json(run)
            ),
            shown: format!("check {name}: {run}"),
            ..ProposedEntry::default()
        }
    }
}

impl ConfigProposal {
    /// The entries that are not written, for a person.
    pub fn offered_lines(&self) -> Vec<String> {
        let offered = self.entries.iter().filter(|entry| !entry.is_chosen);
        offered.map(ProposedEntry::line).collect()
    }

    /// The text of the file; `None` where no check and no guard is chosen. An empty list is left
    /// out: it is worth a warning in every verdict.
    ///
    /// # Errors
    /// Fails if watchdog itself would refuse the text, or warn of it: a bug, and no file to write.
    pub fn file_text(&self) -> Result<Option<String>, String> {
        let chosen = |is_guard: bool| -> Vec<&str> {
            let entries = self.entries.iter();
            entries
                .filter(|entry| entry.is_chosen && entry.is_guard == is_guard)
                .map(|entry| entry.text.as_str())
                .collect()
        };
        let (checks, guards) = (chosen(false), chosen(true));
        if checks.is_empty() && guards.is_empty() {
            return Ok(None);
        }
        let mut blocks = vec!["\"version\": 1".to_owned()];
        if let Some(preset) = &self.agent {
            blocks.push(format!(
                "\"agent\": {{\"preset\": {}}}",
                quote_as_json(preset.as_str())
            ));
        }
        blocks.push(LIMITS.to_owned());
        if !guards.is_empty() {
            blocks.push(format!("\"guards\": [{}]", guards.join(", ")));
        }
        if !checks.is_empty() {
            blocks.push(format!(
                "\"checks\": [\n    {}\n  ]",
                checks.join(",\n    ")
            ));
        }
        let text = format!("{{\n  {}\n}}\n", blocks.join(",\n  "));
        match parse_config(&text, Path::new("completion.json")) {
            Ok(parsed) if parsed.notes.is_empty() => Ok(Some(text)),
            Ok(parsed) => Err(parsed.notes.join("; ")),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A text as JSON.
pub fn quote_as_json(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use watchdog_core::config::settings::CheckSpec;

    use super::*;

    #[test]
    fn odd_names_are_read_as_written() {
        let odd = "a \"quoted\" \\ line\nand ünicode";
        let chosen = |entry: ProposedEntry| ProposedEntry {
            is_chosen: true,
            ..entry
        };
        let guard = |glob: &str| {
            chosen(ProposedEntry {
                is_guard: true,
                text: quote_as_json(glob),
                ..Default::default()
            })
        };
        let mut proposal = ConfigProposal {
            entries: vec![
                chosen(ProposedEntry::command(odd, odd, odd)),
                guard("tests/**"),
            ],
            agent: Some(PresetName::CODEX),
            ..ConfigProposal::default()
        };
        let text = proposal.file_text().unwrap().unwrap();
        let settings = parse_config(&text, Path::new("completion.json"))
            .unwrap()
            .settings;
        assert_eq!(settings.agent.preset, PresetName::CODEX);
        assert_eq!(settings.guards, ["tests/**"]);
        assert_eq!(settings.commands(), [format!("check {odd}: {odd}")]);
        assert!(matches!(&settings.checks[0], CheckSpec::Single { name, .. } if name == odd));
        proposal.entries.push(guard("a["));
        assert!(proposal.file_text().unwrap_err().contains("guards[1]"));
    }
}
