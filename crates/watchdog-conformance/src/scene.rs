//! A scene: what the scripted model says, what is started, and what must be true afterwards. Values, and nothing that runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::PathBuf;

use serde_json::Value;

use super::api_script::ScriptRule;
use super::left_running::LeftProcess;
use super::model_request::ModelRequest;
use super::scene_stage::{SceneCommand, SceneSignal};

/// One scene.
#[derive(Debug, Clone, Copy)]
pub struct ConformanceScene {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in one line.
    pub shows: &'static str,
    /// What the model says.
    pub script: fn() -> Vec<ScriptRule>,
    /// Members of the configuration beside those of every scene, as JSON.
    pub config: &'static str,
    /// What is started, in this order.
    pub steps: &'static [SceneStep],
    /// What an agent must be able to do; without it `lacks` is judged in the place of `judge`.
    pub needs: Option<&'static str>,
    /// What must be true.
    pub judge: fn(&SceneFacts, &mut SceneFindings),
    /// What must be true of an agent that cannot do it: that the verdict says so.
    pub lacks: fn(&SceneFacts, &mut SceneFindings),
}

/// Something that a scene starts.
#[derive(Debug, Clone, Copy)]
pub enum SceneStep {
    /// `watchdog run OPTIONS -- AGENT …`
    Session(SessionStep),
    /// `watchdog WORDS`
    Watchdog(&'static [&'static str]),
    /// `watchdog loop --agent NAME OPTIONS -- …`
    Loop(LoopStep),
}

/// A loop of sessions under `watchdog loop`.
#[derive(Debug, Clone, Copy)]
pub struct LoopStep {
    /// Options of `watchdog loop`.
    pub options: &'static [&'static str],
    /// Further ones for an agent that cannot be asked between its sessions.
    pub unasked_options: &'static [&'static str],
}

/// A session under `watchdog run`.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionStep {
    /// Options of `watchdog run`.
    pub options: &'static [&'static str],
    /// The same for an agent that lacks what the scene needs; empty = the same ones.
    pub lacking_options: &'static [&'static str],
    /// Whether its tools are refused.
    pub refused: bool,
    /// Whether there is no key to log in with.
    pub without_key: bool,
    /// Whom a signal ends, and when.
    pub signal: Option<SceneSignal>,
}

/// What is known when all steps are done.
#[derive(Debug, Clone, Default)]
pub struct SceneFacts {
    /// What each step did.
    pub commands: Vec<SceneCommand>,
    /// The requests that the API saw during each step.
    pub requests: Vec<Vec<ModelRequest>>,
    /// The conversations in the agent's home after each step, with a fingerprint of each.
    pub conversations: Vec<BTreeMap<PathBuf, u64>>,
    /// What ran on after the last step.
    pub left: Vec<LeftProcess>,
    /// The subjects of the commits, newest first.
    pub subjects: Vec<String>,
    /// `git status --porcelain`.
    pub status: String,
    /// The files in the folder of the repository.
    pub files: BTreeSet<String>,
}

impl SceneFacts {
    /// The JSON of a step; null where it printed none.
    pub fn json(&self, step: usize) -> &Value {
        self.commands
            .get(step)
            .map_or(&Value::Null, |command| &command.json)
    }

    /// The verdict of a step, as `status/reason`.
    pub fn verdict(&self, step: usize) -> String {
        let json = self.json(step);
        match (json["status"].as_str(), json["reason"].as_str()) {
            (Some(status), Some(reason)) => format!("{status}/{reason}"),
            _ => "no verdict".to_owned(),
        }
    }

    /// The requests of a step that have this text anywhere.
    pub fn requests_with(&self, step: usize, text: &str) -> Vec<&ModelRequest> {
        self.requests
            .get(step)
            .into_iter()
            .flatten()
            .filter(|request| request.body.contains(text))
            .collect()
    }
}

/// What a judge of a scene found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SceneFindings {
    /// What is not as it must be.
    pub faults: Vec<SceneFault>,
}

/// Something that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SceneFault {
    /// What was expected.
    pub expected: String,
    /// What was seen.
    pub seen: String,
}

impl SceneFindings {
    /// Something must hold.
    pub fn that(&mut self, holds: bool, expected: impl Display, seen: impl Display) {
        if !holds {
            self.faults.push(SceneFault {
                expected: expected.to_string(),
                seen: seen.to_string(),
            });
        }
    }

    /// A verdict must be one of these, written `status/reason`.
    pub fn verdict(&mut self, facts: &SceneFacts, step: usize, expected: &[&str]) {
        let seen = facts.verdict(step);
        let message = facts.json(step)["message"].as_str().unwrap_or_default();
        self.that(
            expected.contains(&seen.as_str()),
            format!("the verdict {}", expected.join(" or ")),
            format!("{seen}: {message}"),
        );
    }

    /// A verdict must not say that the work is complete.
    pub fn not_complete(&mut self, facts: &SceneFacts, step: usize) {
        let seen = facts.verdict(step);
        self.that(
            seen != "no verdict" && !seen.starts_with("complete/"),
            "a verdict that is not complete",
            seen,
        );
    }

    /// No process of the scene may run any more.
    pub fn nothing_left(&mut self, facts: &SceneFacts) {
        let left: Vec<String> = facts
            .left
            .iter()
            .map(|process| format!("{} ({})", process.command, process.pid))
            .collect();
        self.that(
            left.is_empty(),
            "no process of the session left",
            left.join(", "),
        );
    }
}
