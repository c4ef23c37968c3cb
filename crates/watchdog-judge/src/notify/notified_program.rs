//! Runs a program that is told of an event, or that carries a message further.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::send_error::SendError;
use watchdog_facts::display::{cut_text, escape_to_one_line};
use watchdog_facts::evidence::ProcessExit;
use watchdog_facts::secret_shapes::mask_secrets;
use watchdog_process::{ProgramPurpose, ProgramRun, StartError};

/// So much of its complaint is told.
const COMPLAINT: usize = 300;

/// A program that must be done within the timeout.
pub fn notified_program(
    argv: impl IntoIterator<Item = impl Into<OsString>>,
    timeout: Duration,
) -> ProgramRun {
    ProgramRun {
        deadline: timeout,
        grace: Duration::from_secs(1),
        keep: 4096,
        purpose: ProgramPurpose::Notification,
        ..ProgramRun::new(argv, Path::new("/"))
    }
}

/// Runs it to its end; exit 0 means told.
///
/// # Errors
/// Fails if it cannot be run, ends otherwise, or takes too long.
pub fn run_notified(program: &ProgramRun) -> Result<(), SendError> {
    let finished = program.run().map_err(|error| SendError {
        not_runnable: matches!(error, StartError::NotRunnable { .. }),
        ..SendError::new(error.to_string())
    })?;
    if finished.timed_out {
        return Err(SendError::new(format!(
            "it still ran after {} s",
            program.deadline.as_secs()
        )));
    }
    match finished.exit {
        ProcessExit::Code(0) => Ok(()),
        exit => {
            let first_line = String::from_utf8_lossy(&finished.stderr.bytes)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            let complaint = escape_to_one_line(&cut_text(&mask_secrets(&first_line), COMPLAINT));
            Err(SendError::new(if complaint.is_empty() {
                format!("it ended with {exit}")
            } else {
                format!("it ended with {exit}: {complaint}")
            }))
        }
    }
}
