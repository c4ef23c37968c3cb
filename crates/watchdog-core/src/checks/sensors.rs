//! The sensors of `limits.sensors`: programs that may ask for a halt at each judgement.

use std::time::Duration;

use serde_json::Value;

use crate::config::settings::{CommandLine, Limits};
use watchdog_facts::context::SessionContext;
use watchdog_facts::evidence::{Degradation, ProcessExit, StopReason, WarningCode};
use watchdog_facts::verdict::Reason;

use super::answers::{CommandRequest, CommandRun};
use super::capabilities::Capabilities;
use super::context_writer::context_to_json;
use super::feedback::{cut_feedback, one_line};

/// A sensor that takes longer is ended.
const DEADLINE: Duration = Duration::from_secs(60);

/// Runs the sensors, one after the other, until one asks for a halt. A sensor without a usable answer halts nothing, and is named.
pub fn read_sensors(
    limits: &Limits,
    capabilities: &dyn Capabilities,
    session: &SessionContext,
) -> (Option<StopReason>, Vec<Degradation>) {
    let mut notes = Vec::new();
    for argv in &limits.sensors {
        let name = cut_feedback(one_line(&argv.join(" ")), 200);
        match read_sensor(argv, capabilities, session) {
            Ok(None) => {}
            Ok(Some(why)) => {
                let why = format!("a halt was asked for by `{name}`: {why}");
                return (
                    Some(StopReason {
                        reason: Reason::Halted,
                        why,
                    }),
                    notes,
                );
            }
            Err(why) => notes.push(Degradation::new(
                WarningCode::SensorUnread,
                format!("the sensor `{name}` gave no answer: {why}"),
            )),
        }
    }
    (None, notes)
}

/// Why a sensor asks for a halt; `None` where it does not.
fn read_sensor(
    argv: &[String],
    capabilities: &dyn Capabilities,
    session: &SessionContext,
) -> Result<Option<String>, String> {
    let line = CommandLine::Argv(argv.to_vec());
    let context = context_to_json(session).to_string();
    let request = CommandRequest {
        stdin: context.as_bytes(),
        may_be_typescript: true,
        ..CommandRequest::new(&line, DEADLINE)
    };
    let output = match capabilities.run_command(&request) {
        CommandRun::Finished {
            exit: ProcessExit::Code(0),
            output,
        } if output.stdout.dropped == 0 => output,
        CommandRun::Finished {
            exit: ProcessExit::Code(0),
            ..
        } => return Err("it wrote too much".into()),
        CommandRun::Finished { exit, .. } => return Err(format!("it ended with {exit}")),
        CommandRun::Unrunnable { why } | CommandRun::HeadroomError { why } => {
            return Err(one_line(&why));
        }
        CommandRun::TimedOut { .. } => {
            return Err(format!(
                "it took longer than {} seconds",
                DEADLINE.as_secs()
            ));
        }
    };
    let text = String::from_utf8_lossy(&output.stdout.stretches().concat())
        .trim()
        .to_owned();
    let answer: Value = serde_json::from_str(&text).map_err(|_| {
        format!(
            "it answered with no JSON: {}",
            cut_feedback(one_line(&text), 200)
        )
    })?;
    match answer["halt"].as_bool() {
        Some(true) => Ok(Some(cut_feedback(
            one_line(answer["reason"].as_str().unwrap_or("it gave no reason")),
            500,
        ))),
        Some(false) => Ok(None),
        None => Err("its answer has no `halt` that is true or false".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::answers::{CapturedStream, CommandOutput};
    use super::super::tests::Fake;
    use super::*;
    use crate::config::settings::ConfigSettings;

    fn finished(code: i32, stdout: &str) -> CommandRun {
        let output = CommandOutput {
            stdout: CapturedStream::whole(stdout),
            ..CommandOutput::default()
        };
        CommandRun::Finished {
            exit: ProcessExit::Code(code),
            output,
        }
    }

    #[test]
    fn only_a_plain_answer_halts() {
        for (run, halts, unread) in [
            (
                finished(0, r#"{"halt": true, "reason": "disk is nearly full"}"#),
                true,
                false,
            ),
            (finished(0, r#"{"halt": true}"#), true, false),
            (
                finished(0, r#"{"halt": false, "reason": "fine"}"#),
                false,
                false,
            ),
            (finished(0, r#"{"halt": "yes"}"#), false, true),
            (finished(0, "halt"), false, true),
            (finished(1, r#"{"halt": true}"#), false, true),
            (
                CommandRun::Unrunnable {
                    why: "not found".into(),
                },
                false,
                true,
            ),
        ] {
            let fake = Fake {
                runs: vec![("watch disk", run.clone())],
                ..Fake::default()
            };
            let limits = Limits {
                sensors: vec![vec!["watch".into(), "disk".into()]],
                ..ConfigSettings::default().limits
            };
            let (halt, notes) = read_sensors(&limits, &fake, &SessionContext::default());
            assert_eq!(
                halt.map(|stop| stop.reason),
                halts.then_some(Reason::Halted),
                "{run:?}"
            );
            assert_eq!(
                notes.iter().map(|note| note.code).collect::<Vec<_>>(),
                Vec::from_iter(unread.then_some(WarningCode::SensorUnread)),
                "{run:?}"
            );
        }
    }

    #[test]
    fn first_halt_names_its_sensor_and_reason() {
        let runs = vec![
            ("a", finished(0, r#"{"halt": false}"#)),
            ("b", finished(0, r#"{"halt": true, "reason": "too warm"}"#)),
        ];
        let fake = Fake {
            runs,
            ..Fake::default()
        };
        let limits = Limits {
            sensors: ["a", "b", "c"].map(|name| vec![name.into()]).into(),
            ..ConfigSettings::default().limits
        };
        let (halt, _) = read_sensors(&limits, &fake, &SessionContext::default());
        assert_eq!(
            halt.map(|stop| stop.why).as_deref(),
            Some("a halt was asked for by `b`: too warm")
        );
    }
}
