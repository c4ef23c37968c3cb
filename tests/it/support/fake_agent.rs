//! Scripts for the fake agent (`tests/fakes/agent.rs`, which documents the steps).

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::TestEnv;

/// The built fake agent.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_fake-agent");

/// An object with the keys of another one, which go before.
pub fn extended(mut object: Value, more: &Value) -> Value {
    let own = object.as_object_mut().expect("an object");
    own.extend(more.as_object().expect("an object").clone());
    object
}

/// One step of a script.
#[derive(Debug, Clone)]
pub struct Step(Value);

impl Step {
    /// Writes a file, relative to where the agent runs.
    pub fn write(path: &str, text: &str) -> Self {
        Step(json!({"write": {"path": path, "text": text}}))
    }

    /// Appends to a file.
    pub fn append(path: &str, text: &str) -> Self {
        Step(json!({"append": {"path": path, "text": text}}))
    }

    /// Commits everything.
    pub fn commit(message: &str) -> Self {
        Step(json!({"commit": message}))
    }

    /// Any git command.
    pub fn git(args: &[&str]) -> Self {
        Step(json!({"git": args}))
    }

    /// Prints to stdout.
    pub fn print(text: &str) -> Self {
        Step(json!({"print": text}))
    }

    /// Prints a JSON value, the reply of a probe for example.
    pub fn print_json(value: &Value) -> Self {
        Step(json!({"print": value.to_string()}))
    }

    /// Prints to stderr.
    pub fn complain(text: &str) -> Self {
        Step(json!({"complain": text}))
    }

    /// Prints the text until `bytes` are out.
    pub fn flood(text: &str, bytes: u64) -> Self {
        Step(json!({"flood": {"text": text, "bytes": bytes}}))
    }

    /// Goes on when the file exists.
    pub fn wait_for(path: &Path) -> Self {
        Step(json!({"wait_for": path}))
    }

    /// Appends its stdin to a file.
    pub fn keep_prompt(path: &Path) -> Self {
        Step(json!({"keep_prompt": path}))
    }

    /// Writes a variable's value to a file.
    pub fn keep_env(name: &str, path: &Path) -> Self {
        Step(json!({"keep_env": {"name": name, "path": path}}))
    }

    /// A child process that nobody waits for.
    pub fn child(steps: &[Step]) -> Self {
        Step(json!({"child": values(steps)}))
    }

    /// A process in its own session whose parent is gone.
    pub fn daemon(steps: &[Step]) -> Self {
        Step(json!({"daemon": values(steps)}))
    }

    /// Ignores TERM, INT or HUP from now on.
    pub fn ignore(signal: &str) -> Self {
        Step(json!({"ignore": signal}))
    }

    /// The steps for each number of probe; the last ones hold for all later ones.
    pub fn probe(by_number: &[&[Step]]) -> Self {
        Step(json!({"probe": by_number.iter().map(|steps| values(steps)).collect::<Vec<_>>()}))
    }

    /// The steps for each iteration of a loop; the last ones hold for all later ones.
    pub fn iteration(by_number: &[&[Step]]) -> Self {
        Step(json!({"iteration": by_number.iter().map(|steps| values(steps)).collect::<Vec<_>>()}))
    }

    /// Ends with a code.
    pub fn exit(code: i32) -> Self {
        Step(json!({"exit": code}))
    }

    /// Never goes on.
    pub fn hang() -> Self {
        Step(json!({"hang": true}))
    }
}

fn values(steps: &[Step]) -> Vec<Value> {
    steps.iter().map(|step| step.0.clone()).collect()
}

impl TestEnv {
    /// Writes a script and returns the command line that plays it.
    pub fn fake_agent(&self, name: &str, steps: &[Step]) -> [String; 2] {
        let script: PathBuf = self.write(
            &format!("scripts/{name}.json"),
            Value::from(values(steps)).to_string(),
        );
        [PROGRAM.to_string(), script.to_string_lossy().into_owned()]
    }

    /// Writes a configuration that asks a fake agent, to be named by `--config`. `more` is laid over it, key by key.
    pub fn config_asking(&self, probe: &[Step], more: Value) -> PathBuf {
        let argv = self.fake_agent("probe", probe);
        config_asking(self, json!({"probe": argv}), more)
    }
}

/// Writes a configuration with this `agent` block and quick probes; `more` is laid over it, key by key.
pub fn config_asking(env: &TestEnv, agent: Value, more: Value) -> PathBuf {
    let mut config = json!({
        "version": 1,
        "agent": agent,
        "completion_check": {"max_probes": 3, "probe_interval_seconds": 1, "probe_timeout_seconds": 20, "final_rescue_attempt": true},
        "rescue": {"mode": "single"},
    });
    lay_over(&mut config, &more);
    env.write("config/completion.json", config.to_string())
}

fn lay_over(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                lay_over(under.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}
