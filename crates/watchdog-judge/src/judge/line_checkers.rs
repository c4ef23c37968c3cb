//! Keeps programs running that judge line by line, so that each starts once.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use watchdog_core::checks::LineOutcome;
use watchdog_facts::display::{cut_text, log_millis};
use watchdog_process::{CancelFlag, LineAnswer, LineProgram, StartError};
use watchdog_system::lock_mutex;

/// The running programs, by command line and folder. They end with the last owner.
#[derive(Default)]
pub struct LineCheckers {
    running: Mutex<HashMap<(Vec<OsString>, PathBuf), ProgramSlot>>,
}

/// Holds one program between two questions; empty where it does not run.
type ProgramSlot = Arc<Mutex<Option<LineProgram>>>;

impl LineCheckers {
    /// Gives a line to the program and waits for its answer; the program is started where it does not run. Questions to one program wait
    /// for each other.
    pub fn exchange(
        &self,
        argv: Vec<OsString>,
        folder: PathBuf,
        env: &BTreeMap<OsString, Option<OsString>>,
        (line, timeout, cancel): (&str, std::time::Duration, &CancelFlag),
    ) -> LineOutcome {
        let slot = {
            let mut running = lock_mutex(&self.running);
            running
                .entry((argv.clone(), folder.clone()))
                .or_default()
                .clone()
        };
        let mut slot = lock_mutex(&slot);
        let mut program = match slot.take() {
            Some(program) => program,
            None => match LineProgram::start(&argv, folder, env) {
                Ok(program) => program,
                Err(StartError::NotRunnable { program, why }) => {
                    return LineOutcome::Unrunnable {
                        why: format!("{program}: {why}"),
                    };
                }
                Err(error @ StartError::Shortage { .. }) => {
                    return LineOutcome::Failed {
                        why: error.to_string(),
                    };
                }
                Err(error @ StartError::System { .. }) => {
                    return LineOutcome::Unrunnable {
                        why: error.to_string(),
                    };
                }
            },
        };
        let begun = Instant::now();
        let answer = program.exchange(line, timeout, cancel);
        tracing::trace!(
            target: "watchdog::checks",
            program = %argv.first().map(|name| name.to_string_lossy()).unwrap_or_default(),
            duration_ms = log_millis(begun.elapsed()),
            "asked a program that stays"
        );
        match answer {
            LineAnswer::Line(line) => {
                *slot = Some(program);
                LineOutcome::Line(line)
            }
            LineAnswer::TimedOut | LineAnswer::Cancelled => LineOutcome::TimedOut,
            LineAnswer::TooLong => LineOutcome::Failed {
                why: "it answered with a line that is too long to be an answer".into(),
            },
            LineAnswer::Ended { exit, stderr } => {
                let how = exit.map_or_else(
                    || "it ended".to_owned(),
                    |exit| format!("it ended with {exit}"),
                );
                let last_line = stderr
                    .lines()
                    .last()
                    .map(|last| format!(": {}", cut_text(last, 500)))
                    .unwrap_or_default();
                let why = format!("{how} instead of answering{last_line}");
                match exit {
                    Some(watchdog_facts::evidence::ProcessExit::Code(126 | 127)) => {
                        LineOutcome::Unrunnable { why }
                    }
                    _ => LineOutcome::Failed { why },
                }
            }
        }
    }
}
