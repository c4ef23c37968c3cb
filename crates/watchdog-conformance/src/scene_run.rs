//! Plays one scene with the real programs, and says what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::api_script::ApiScript;
use super::scene::{
    ConformanceScene, SceneFacts, SceneFault, SceneFindings, SceneStep, SessionStep,
};
use super::scene_agent::{SceneAgent, TASK};
use super::scene_stage::{SceneCommand, SceneStage};
use watchdog_process::{CancelFlag, StdinSource};

/// What came of a scene.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneResult {
    /// The scene.
    pub scene: &'static str,
    /// The answer.
    pub outcome: SceneOutcome,
    /// Wall time.
    pub duration: Duration,
    /// Whether the API saw a request.
    pub called_api: bool,
    /// The folder in which it played, where that was kept.
    pub kept: Option<PathBuf>,
}

/// The answer of a scene.
#[derive(Debug, Clone, PartialEq)]
pub enum SceneOutcome {
    /// The agent does what its preset says.
    Passed,
    /// The agent lacks a capability, and the verdict says so.
    Cannot(&'static str),
    /// Something is not as it must be; with the end of what the last command printed.
    Failed(Vec<SceneFault>, String),
    /// A signal ended it.
    Interrupted,
}

/// Plays a scene. A scene that could not be set up has failed, with the reason.
pub fn play(
    agent: &SceneAgent,
    scene: &ConformanceScene,
    keep: bool,
    cancel: &CancelFlag,
) -> SceneResult {
    let begin = Instant::now();
    let (outcome, kept, called_api) = match SceneStage::set(
        agent,
        ApiScript::new((scene.script)()),
        keep,
        cancel.clone(),
    ) {
        Ok(stage) => {
            let kept = keep.then(|| stage.folder().to_owned());
            let outcome = played(agent, scene, &stage)
                .unwrap_or_else(|error| failed_to("a scene that can be played", &error));
            (outcome, kept, !stage.api.requests().is_empty())
        }
        Err(error) => (
            failed_to(
                &format!("a scratch folder in {}", std::env::temp_dir().display()),
                &error,
            ),
            None,
            false,
        ),
    };
    let outcome = if cancel.is_cancelled() {
        SceneOutcome::Interrupted
    } else {
        outcome
    };
    SceneResult {
        scene: scene.name,
        outcome,
        duration: begin.elapsed(),
        called_api,
        kept,
    }
}

fn failed_to(what: &str, error: &io::Error) -> SceneOutcome {
    SceneOutcome::Failed(
        vec![SceneFault {
            expected: what.to_owned(),
            seen: error.to_string(),
        }],
        String::new(),
    )
}

fn played(
    agent: &SceneAgent,
    scene: &ConformanceScene,
    stage: &SceneStage,
) -> io::Result<SceneOutcome> {
    let config = stage.write("completion.json", &configuration(agent, scene))?;
    let prompt = stage.write("PROMPT.md", TASK)?;
    let mut facts = SceneFacts::default();
    let mut seen_before = 0;
    for step in scene.steps {
        let mut args: Vec<OsString> = vec!["--config".into(), config.clone().into()];
        let command = match step {
            SceneStep::Session(session) => {
                session_step(agent, stage, session, lacking(agent, scene).is_some(), args)?
            }
            SceneStep::Watchdog(words) => {
                args.extend(words.iter().map(Into::into));
                stage.watchdog(args, StdinSource::Null, &BTreeMap::new(), None)?
            }
            SceneStep::Loop(step) => {
                let unasked = if agent.is_probed() {
                    &[][..]
                } else {
                    step.unasked_options
                };
                args.extend([
                    "loop".into(),
                    "--agent".into(),
                    agent.preset.name.as_str().into(),
                    "--prompt".into(),
                    prompt.clone().into(),
                ]);
                args.extend(step.options.iter().chain(unasked).map(Into::into));
                args.push("--".into());
                args.extend(agent.local_api.session_args.iter().map(Into::into));
                stage.watchdog(args, StdinSource::Null, &BTreeMap::new(), None)?
            }
        };
        facts.commands.push(command);
        let requests = stage.api.requests();
        facts.requests.push(requests[seen_before..].to_vec());
        seen_before = requests.len();
        facts.conversations.push(stage.conversations(TASK));
    }
    facts.left = stage.left_running();
    facts.subjects = stage
        .git(&["log", "--format=%s"])?
        .output
        .lines()
        .map(str::to_owned)
        .collect();
    facts.status = stage.git(&["status", "--porcelain"])?.output;
    facts.files = files(stage)?;
    Ok(judged(agent, scene, &facts))
}

fn session_step(
    agent: &SceneAgent,
    stage: &SceneStage,
    session: &SessionStep,
    lacks: bool,
    mut args: Vec<OsString>,
) -> io::Result<SceneCommand> {
    let none = Vec::new();
    let refusal = agent.local_api.refusal.as_ref();
    let words = if session.refused {
        refusal.map_or(&none, |refusal| &refusal.args)
    } else {
        &agent.local_api.session_args
    };
    let command = agent
        .session(words, &stage.folder().join("PROMPT.md"))
        .map_err(io::Error::other)?;
    args.push("run".into());
    let options = if lacks && !session.lacking_options.is_empty() {
        session.lacking_options
    } else {
        session.options
    };
    args.extend(options.iter().map(Into::into));
    args.push("--".into());
    args.extend(command.argv);
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let mut env: BTreeMap<String, Option<String>> = command
        .env
        .into_iter()
        .map(|(name, value)| (text(name), Some(text(value))))
        .collect();
    if session.refused {
        env.extend(
            refusal
                .iter()
                .flat_map(|refusal| &refusal.env)
                .map(|(name, value)| (name.clone(), Some(value.clone()))),
        );
    }
    if session.without_key {
        env.extend(
            agent
                .local_api
                .key_variables
                .iter()
                .map(|name| (name.clone(), None)),
        );
    }
    stage.watchdog(args, command.stdin, &env, session.signal)
}

/// The configuration of a scene: its own members over those of every scene.
fn configuration(agent: &SceneAgent, scene: &ConformanceScene) -> String {
    let mut members: Map<String, Value> = serde_json::from_str(scene.config).unwrap_or_default();
    let block = |pairs: [(&str, Value); 2]| {
        Value::Object(
            pairs
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        )
    };
    members.insert(
        "agent".into(),
        block([
            ("preset", agent.preset.name.as_str().into()),
            ("model", Value::Null),
        ]),
    );
    members.insert(
        "completion_check".into(),
        block([
            ("max_probes", 2.into()),
            ("probe_interval_seconds", 0.into()),
        ]),
    );
    let limits: Map<String, Value> = [("cooldown_seconds".to_owned(), Value::from(0))]
        .into_iter()
        .collect();
    members.insert("limits".into(), limits.into());
    Value::Object(members).to_string()
}

fn files(stage: &SceneStage) -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(stage.repository())? {
        found.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(found)
}

/// What the scene needs and the agent cannot do.
fn lacking(agent: &SceneAgent, scene: &ConformanceScene) -> Option<&'static str> {
    scene
        .needs
        .filter(|needed| !agent.capabilities.contains(needed))
}

fn judged(agent: &SceneAgent, scene: &ConformanceScene, facts: &SceneFacts) -> SceneOutcome {
    let lacking = lacking(agent, scene);
    let mut found = SceneFindings::default();
    match lacking {
        None => (scene.judge)(facts, &mut found),
        Some(_) => (scene.lacks)(facts, &mut found),
    }
    if found.faults.is_empty() {
        return lacking.map_or(SceneOutcome::Passed, SceneOutcome::Cannot);
    }
    if facts.requests.iter().all(Vec::is_empty) {
        found.that(
            false,
            "a program that asks the scripted API",
            format!("no request from {}", agent.command.join(" ")),
        );
    }
    let output = facts
        .commands
        .last()
        .map(|command| tail(&command.output))
        .unwrap_or_default();
    SceneOutcome::Failed(found.faults, output)
}

/// The last lines of an output, without the verdict: its message is among the faults.
fn tail(output: &str) -> String {
    let is_json = |line: &&str| {
        line.starts_with('{') && serde_json::from_str::<Map<String, Value>>(line).is_ok()
    };
    let lines: Vec<&str> = output.lines().filter(|line| !is_json(line)).collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}
