//! Queries GitHub for checks, through its command line `gh`: returns one JSON object, or the reason why there is none.

use std::time::Duration;

use serde_json::Value;

use crate::config::settings::CommandLine;
use watchdog_facts::evidence::ProcessExit;

use super::answers::{CommandRequest, CommandRun};
use super::check::{CheckContext, CheckJudgement};
use super::feedback::{one_line, take_last_lines};

/// Gets an object from `gh`. The error is the check's own judgement: only GitHub's own words count as its answer.
pub(super) fn query_github(
    context: &CheckContext<'_>,
    args: &[&str],
    timeout: Duration,
) -> Result<Value, CheckJudgement> {
    let argv = ["gh"]
        .iter()
        .chain(args)
        .map(|word| (*word).to_owned())
        .collect();
    let line = CommandLine::Argv(argv);
    let failed = |why: String| {
        Err(CheckJudgement::Failed {
            why: format!("GitHub could not be asked: {why}"),
        })
    };
    match context
        .capabilities
        .run_command(&CommandRequest::new(&line, timeout))
    {
        CommandRun::Unrunnable { why } => Err(CheckJudgement::Unrunnable {
            why: format!(
                "GitHub is asked through its command line, which cannot be run: {}; then type: gh auth login",
                one_line(&why)
            ),
        }),
        CommandRun::HeadroomError { why } => failed(one_line(&why)),
        CommandRun::TimedOut { .. } => Err(CheckJudgement::TimedOut {
            why: format!("GitHub did not answer within {} seconds", timeout.as_secs()),
        }),
        CommandRun::Finished {
            exit: ProcessExit::Code(0),
            output,
        } => {
            let stdout = output.stdout.stretches().concat();
            match serde_json::from_slice::<Value>(stdout.trim_ascii()) {
                Ok(Value::Object(found)) if output.stdout.dropped == 0 => Ok(Value::Object(found)),
                Ok(_) | Err(_) => failed(format!("`{line}` printed no JSON object")),
            }
        }
        CommandRun::Finished { exit, output } => {
            let stderr = output
                .stderr
                .stretches()
                .last()
                .map(|bytes| take_last_lines(bytes, 1))
                .unwrap_or_default();
            let hint = if exit == ProcessExit::Code(4) {
                "; type: gh auth login"
            } else {
                ""
            };
            failed(format!("`{line}` ended with {exit}: {stderr}{hint}"))
        }
    }
}

/// Whether a state is this one, exactly as `gh` writes it.
pub(super) fn state_is(answer: &Value, wanted: &str) -> Result<bool, CheckJudgement> {
    match answer.get("state").and_then(Value::as_str) {
        Some(state) => Ok(state == wanted),
        None => Err(CheckJudgement::Failed {
            why: "GitHub could not be asked: its answer has no `state`".into(),
        }),
    }
}
