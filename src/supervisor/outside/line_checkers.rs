//! Checkers that stay: programs that judge line by line, each started once.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::agent::{Answer, Cancel, LineProgram, StartError};
use crate::checks::Exchange;
use crate::decision::display::bounded;

/// Programs that stay, by what was started and where. They end with the last owner.
#[derive(Default)]
pub struct LineCheckers {
    running: Mutex<HashMap<(Vec<OsString>, PathBuf), Slot>>,
}

/// Where one program is while nobody talks to it; empty where it does not run.
type Slot = Arc<Mutex<Option<LineProgram>>>;

impl LineCheckers {
    /// Gives a line to the program and waits for its answer; the program is started where it does not run. Questions to one program wait
    /// for each other.
    pub(super) fn exchange(
        &self,
        argv: Vec<OsString>,
        folder: PathBuf,
        env: &BTreeMap<OsString, Option<OsString>>,
        (line, timeout, cancel): (&str, std::time::Duration, &Cancel),
    ) -> Exchange {
        let slot = {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.entry((argv.clone(), folder.clone())).or_default().clone()
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let mut program = match slot.take() {
            Some(program) => program,
            None => match LineProgram::start(&argv, folder, env) {
                Ok(program) => program,
                Err(StartError::NotRunnable { program, why }) => return Exchange::Unrunnable { why: format!("{program}: {why}") },
                Err(error @ StartError::Shortage { .. }) => return Exchange::Failed { why: error.to_string() },
                Err(error @ StartError::System { .. }) => {
                    return Exchange::Unrunnable { why: error.to_string() };
                }
            },
        };
        match program.exchange(line, timeout, cancel) {
            Answer::Line(line) => {
                *slot = Some(program);
                Exchange::Line(line)
            }
            Answer::TimedOut | Answer::Cancelled => Exchange::TimedOut,
            Answer::TooLong => Exchange::Failed { why: "it answered with a line that is too long to be an answer".into() },
            Answer::Ended { exit, stderr } => {
                let how = exit.map_or_else(|| "it ended".to_owned(), |exit| format!("it ended with {exit}"));
                let said = stderr.lines().last().map(|last| format!(": {}", bounded(last, 500))).unwrap_or_default();
                let why = format!("{how} instead of answering{said}");
                match exit {
                    Some(crate::decision::evidence::Exit::Code(126 | 127)) => Exchange::Unrunnable { why },
                    _ => Exchange::Failed { why },
                }
            }
        }
    }
}
