//! `watchdog schema`: the JSON Schemas of what watchdog reads and prints, so that any language can check both.

use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_core::checks::resolve_judging_files;
use watchdog_core::config::{build_config_schema as config_schema, parse_bytes, to_json};
use watchdog_facts::display::escape_to_one_line;
use watchdog_git::Worktree;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::configuration::{
    FILE as CONFIGURATION_FILE, config_error_to_fact as bad_configuration, read_named,
};
use watchdog_judge::wire::explain_json::EXPLAIN_SCHEMA;

/// The JSON of `check`, `run`, `loop`, `sweep` and `evaluate` with `--json`.
const VERDICT: &str = include_str!("../../../docs/schema/verdict.json");
/// The input of `evaluate` and custom checks.
const CONTEXT: &str = include_str!("../../../docs/schema/context.json");

/// The JSON of `events --json` and of notifications.
const EVENT: &str = include_str!("../../../docs/schema/event.json");

/// The JSON of `report --json`.
const REPORT: &str = include_str!("../../../docs/schema/report.json");

/// The preset that `watchdog agent show` reads.
const PRESET: &str = include_str!("../../../docs/schema/preset.json");

/// Arguments of `watchdog schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Of what
    #[arg(value_enum)]
    pub of: SchemaSubject,
    /// Instead of the schema, print what this worktree's configuration comes to: every default filled in, every dialect lowered; notes on stderr tell the runners of its checks
    #[arg(long)]
    pub resolved: bool,
}

/// The documents that have a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaSubject {
    /// The output of check, run, loop, sweep and evaluate with --json
    Verdict,
    /// completion.json
    Config,
    /// The output of `events --json`, an event per line
    Event,
    /// The stdin of `evaluate` and custom checks
    Context,
    /// The output of `report --json`
    Report,
    /// The output of `explain --json`
    Explain,
    /// The file of an agent
    Preset,
}

/// Prints a schema, or the resolved configuration.
pub fn run_schema_command(
    around: impl FnOnce() -> Result<CommandEnv, CommandFailure>,
    terminal: &CommandTerminal,
    args: SchemaArgs,
) -> Result<u8, CommandFailure> {
    let text = match (args.of, args.resolved) {
        (SchemaSubject::Config, true) => {
            to_pretty_json(&resolve_configuration(&around()?, terminal)?)
        }
        (_, true) => {
            return Err(
                CommandFailure::usage("only a configuration can be resolved")
                    .hint("see `watchdog schema config --resolved`"),
            );
        }
        (SchemaSubject::Verdict, false) => VERDICT.to_owned(),
        (SchemaSubject::Config, false) => to_pretty_json(&config_schema()),
        (SchemaSubject::Event, false) => EVENT.to_owned(),
        (SchemaSubject::Context, false) => CONTEXT.to_owned(),
        (SchemaSubject::Report, false) => REPORT.to_owned(),
        (SchemaSubject::Preset, false) => PRESET.to_owned(),
        (SchemaSubject::Explain, false) => EXPLAIN_SCHEMA.to_owned(),
    };
    terminal.line(text.trim_end());
    Ok(0)
}

/// The configuration as it is written here and now, trusted or not: reading it runs nothing.
fn resolve_configuration(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
) -> Result<Value, CommandFailure> {
    let top = Worktree::open(&command_env.worktree).map(|worktree| worktree.root().to_owned());
    let top = top.unwrap_or_else(|_| command_env.worktree.clone());
    let path = command_env
        .config
        .clone()
        .unwrap_or_else(|| top.join(CONFIGURATION_FILE));
    match read_named(&path, &top) {
        Ok(bytes) => {
            let mut parsed =
                parse_bytes(&bytes, &path).map_err(|error| bad_configuration(&error))?;
            let judging = resolve_judging_files(&mut parsed.settings.checks);
            for note in parsed.notes.iter().chain(&judging) {
                terminal.complain(&format!("note: {}", escape_to_one_line(note)));
            }
            Ok(to_json(&parsed.settings))
        }
        Err(error)
            if error.kind() == std::io::ErrorKind::NotFound && command_env.config.is_none() =>
        {
            Ok(to_json(&Default::default()))
        }
        Err(error) => Err(CommandFailure::configuration(format!(
            "failed to read {}: {error}",
            path.display()
        ))),
    }
}

fn to_pretty_json(value: &Value) -> String {
    // A value that came from our own types has nothing that cannot be written.
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use watchdog_agent::preset::{AgentCapability, PresetCatalog};
    use watchdog_core::decision::termination::SpentUsage;
    use watchdog_facts::verdict::{Reason, Status, Verdict};
    use watchdog_judge::wire::verdict_json::{EndedLoop, Judgement};

    fn keys(value: &Value) -> BTreeSet<&str> {
        value
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect()
    }

    #[test]
    fn every_schema_is_a_schema() {
        let written = [VERDICT, CONTEXT, EVENT, REPORT, PRESET]
            .map(|text| serde_json::from_str(text).expect("JSON"));
        for schema in written.into_iter().chain([config_schema()]) {
            assert_eq!(
                schema["$schema"],
                "https://json-schema.org/draft/2020-12/schema"
            );
        }
    }

    #[test]
    fn preset_schema_names_and_allows_built_in_capabilities() {
        let schema: Value = serde_json::from_str(PRESET).expect("JSON");
        let words = &schema["properties"]["capabilities"]["items"]["enum"];
        assert_eq!(
            *words,
            json!(AgentCapability::ALL.map(AgentCapability::as_str))
        );
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/crates/watchdog-agent/src/preset/builtin"
        );
        let files = std::fs::read_dir(folder).expect("a folder").flatten();
        let texts: Vec<String> = files
            .map(|file| std::fs::read_to_string(file.path()).expect("a preset"))
            .collect();
        assert_eq!(texts.len(), PresetCatalog::built_in().len());
        for text in texts {
            let value: Value = serde_json::from_str(&text).expect("JSON");
            let problems: Vec<String> = validator
                .iter_errors(&value)
                .map(|error| error.to_string())
                .collect();
            assert!(problems.is_empty(), "{}: {problems:?}", value["name"]);
        }
    }

    fn ended_loop() -> EndedLoop {
        EndedLoop {
            iterations: 1,
            id: "a".into(),
            begun_at: jiff::Timestamp::UNIX_EPOCH,
            history: Vec::new(),
            spent: SpentUsage::default(),
            agents: Vec::new(),
            first_baseline: "unborn".into(),
            resumed: false,
            over: true,
        }
    }

    #[test]
    fn verdict_uses_keys_and_words_of_schema() {
        let schema: Value = serde_json::from_str(VERDICT).expect("JSON");
        let judgement = Judgement {
            verdict: Verdict::new(Reason::Working, "m"),
            worktree: "/w".into(),
            spec: None,
            branch: None,
            baseline: None,
            breaker: None,
            log: None,
            session: None,
            survivors: Vec::new(),
            refused: watchdog_facts::refused_tool::ToolRefusals::default(),
            looped: Some(ended_loop()),
            duration: Duration::ZERO,
        };
        assert_eq!(keys(&judgement.to_json()), keys(&schema["properties"]));
        for reason in Reason::ALL {
            let of =
                |pair: &&Value| pair["properties"]["status"]["const"] == reason.status().as_str();
            let pair = schema["oneOf"]
                .as_array()
                .expect("pairs")
                .iter()
                .find(of)
                .expect("each status has its reasons");
            let words = pair["properties"]["reason"]["enum"]
                .as_array()
                .expect("words");
            assert!(
                words.contains(&json!(reason.as_str())),
                "{}",
                reason.as_str()
            );
        }
        let words: usize = schema["oneOf"]
            .as_array()
            .expect("pairs")
            .iter()
            .map(|pair| {
                pair["properties"]["reason"]["enum"]
                    .as_array()
                    .map_or(0, Vec::len)
            })
            .sum();
        assert_eq!(words, Reason::ALL.len());
        assert_eq!(
            schema["properties"]["status"]["enum"][0],
            Status::Complete.as_str()
        );
    }
}
