//! Asks a program for its version.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use watchdog_facts::display::cut_text;
use watchdog_process::{ProgramRun, StartError};

/// The longest version that is shown, in bytes.
const LONGEST: usize = 100;
/// How long a program may take to tell it.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a program says about its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramVersion {
    /// The first line of its words, short; empty where it says nothing.
    Known(String),
    /// It runs, and does not tell.
    Failed(String),
    /// It cannot be run.
    Missing(String),
}

/// Asks it, from `folder`: a program may be named by a path from there.
pub(super) fn version_of(program: &OsStr, folder: &Path) -> ProgramVersion {
    let mut command = ProgramRun::new([program, "--version".as_ref()], folder);
    command.deadline = PATIENCE;
    match command.run() {
        Ok(finished) if finished.exit.success() => ProgramVersion::Known(cut_text(
            String::from_utf8_lossy(&finished.stdout.bytes)
                .lines()
                .next()
                .unwrap_or_default()
                .trim(),
            LONGEST,
        )),
        Ok(finished) if finished.timed_out => ProgramVersion::Failed(format!(
            "{} --version did not answer in {} s",
            program.to_string_lossy(),
            PATIENCE.as_secs()
        )),
        Ok(finished) => ProgramVersion::Failed(format!(
            "{} --version ended with {}",
            program.to_string_lossy(),
            finished.exit
        )),
        Err(error @ StartError::NotRunnable { .. }) => ProgramVersion::Missing(error.to_string()),
        Err(error) => ProgramVersion::Failed(error.to_string()),
    }
}
