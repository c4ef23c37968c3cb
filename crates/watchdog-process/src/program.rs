//! The one way to run a program to its end with bounded output and a deadline.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::Signal;

use super::builder::{self, LaunchPlan, StartedProcess, StdinSource, describe_shortage};
use super::call_log::{ProgramCall, ProgramPurpose};
use super::cancel::CancelFlag;
use super::drain::{OutputDrain, OutputSink, OutputStream};
use super::output::HeadTail;
use super::process_tree::{SurvivingProcess, TreeWaitOutcome};
use watchdog_facts::evidence::ProcessExit;

/// A program to run, with everything that it inherits.
#[derive(Debug, Clone)]
pub struct ProgramRun {
    /// The program and its arguments; the first is looked up in `PATH`.
    pub argv: Vec<OsString>,
    /// The folder that it runs in.
    pub cwd: PathBuf,
    /// Variables to set (`Some`) or to remove (`None`).
    pub env: BTreeMap<OsString, Option<OsString>>,
    /// Its stdin; then end of file.
    pub stdin: Vec<u8>,
    /// When its whole process tree is ended.
    pub deadline: Duration,
    /// Between TERM and KILL.
    pub grace: Duration,
    /// Bytes of each stream that are kept: the head and the tail of it.
    pub keep: usize,
    /// Its purpose, for the log.
    pub purpose: ProgramPurpose,
    /// A folder, and the path in whose place it and its children see it: in a mount namespace, where `cwd` is looked up, too.
    pub mounted: Option<(PathBuf, PathBuf)>,
}

/// Output of which at most a bounded part was kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BoundedOutput {
    /// The kept bytes.
    pub bytes: Vec<u8>,
    /// How many bytes were dropped.
    pub dropped: u64,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedProgram {
    /// Its exit.
    pub exit: ProcessExit,
    /// Whether its deadline passed.
    pub timed_out: bool,
    /// Its stdout.
    pub stdout: BoundedOutput,
    /// Its stderr.
    pub stderr: BoundedOutput,
    /// Wall time.
    pub duration: Duration,
}

/// Why a program could not be started or waited for.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It is not in `PATH`, or not where it was said to be, or may not be executed.
    #[error("cannot run '{program}': {why}")]
    NotRunnable {
        /// The name or path that was to be run.
        program: String,
        /// The operating system's error, in words for a person.
        why: String,
    },
    /// The system has no room for it now: no process, thread, memory or file descriptor is left. Trying again may help.
    #[error("failed to run '{program}': {source}")]
    Shortage {
        /// The name or path that was to be run.
        program: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The system refused.
    #[error("failed to run '{program}': {source}")]
    System {
        /// The name or path that was to be run.
        program: String,
        /// The operating system's error.
        source: std::io::Error,
    },
}

/// The treatment of processes that a program leaves running when it ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SurvivorRule {
    /// Let them run: a compiler cache, git's own maintenance.
    #[default]
    Leave,
    /// End them as at a deadline: TERM, grace period, KILL.
    End,
}

impl StartError {
    /// The system has no thread for watchdog itself, which must be there before a program is.
    pub fn no_thread(source: io::Error) -> Self {
        StartError::short("a thread of watchdog itself".into(), source)
    }

    /// Whether this system cannot show a program a folder in the place of another.
    pub fn is_not_mounted(&self) -> bool {
        let refusal = Some(watchdog_system::NOT_MOUNTED.raw_os_error());
        matches!(self, StartError::System { source, .. } if source.raw_os_error() == refusal)
    }

    pub(super) fn short(program: String, source: io::Error) -> Self {
        let what = source
            .raw_os_error()
            .map(Errno::from_raw_os_error)
            .and_then(describe_shortage);
        let source = what.map_or_else(
            || io::Error::from(source.kind()),
            |what| io::Error::new(source.kind(), format!("{source}: {what}")),
        );
        StartError::Shortage { program, source }
    }
}

impl ProgramRun {
    /// A program with the usual limits: no input, a minute of time, five seconds of grace, 1 MiB kept of each stream.
    pub fn new(
        argv: impl IntoIterator<Item = impl Into<OsString>>,
        cwd: impl Into<PathBuf>,
    ) -> Self {
        ProgramRun {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: cwd.into(),
            env: BTreeMap::new(),
            stdin: Vec::new(),
            deadline: Duration::from_secs(60),
            grace: Duration::from_secs(5),
            keep: 1 << 20,
            purpose: ProgramPurpose::default(),
            mounted: None,
        }
    }

    /// Runs it to its end, or to its deadline, at which its whole tree is ended.
    ///
    /// It inherits the environment without the variables that redirect git ([`REDIRECTING_VARIABLES`](super::builder::REDIRECTING_VARIABLES)),
    /// and leads a process group of its own. Output beyond `keep` is dropped from the middle. Does not wait for daemons that it leaves
    /// behind, even if they hold its output. The deadline counts on a clock that stops during a suspend.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn run(&self) -> Result<FinishedProgram, StartError> {
        self.run_cancellable(&CancelFlag::new())
    }

    /// As [`run`](Self::run), and ends the tree when `cancel` is raised. The caller can check `cancel` for that.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn run_cancellable(&self, cancel: &CancelFlag) -> Result<FinishedProgram, StartError> {
        self.run_with(cancel, SurvivorRule::Leave)
            .map(|(finished, _)| finished)
    }

    /// As [`run_cancellable`](Self::run_cancellable), with a choice about what outlives its normal end; returns what still runs.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn run_with(
        &self,
        cancel: &CancelFlag,
        leftovers: SurvivorRule,
    ) -> Result<(FinishedProgram, Vec<SurvivingProcess>), StartError> {
        let begin = Instant::now();
        let ended = self.run_from(begin, cancel, leftovers);
        let how = ended
            .as_ref()
            .map(|(finished, _)| (finished.exit, finished.timed_out));
        ProgramCall {
            argv: &self.argv,
            cwd: &self.cwd,
            duration: begin.elapsed(),
            ended: how,
        }
        .log(self.purpose);
        ended
    }

    fn run_from(
        &self,
        begin: Instant,
        cancel: &CancelFlag,
        leftovers: SurvivorRule,
    ) -> Result<(FinishedProgram, Vec<SurvivingProcess>), StartError> {
        let stdin = if self.stdin.is_empty() {
            StdinSource::Null
        } else {
            StdinSource::Bytes(self.stdin.clone())
        };
        let plan = LaunchPlan {
            argv: &self.argv,
            cwd: &self.cwd,
            env: &self.env,
            stdin,
            mounted: self.mounted.as_ref(),
        };
        let drain = |stdout, stderr| {
            OutputDrain::start(stdout, stderr, HeadTailPair::new(self.keep), [None, None])
        };
        let StartedProcess {
            mut tree,
            output: mut drain,
            ..
        } = builder::start_process(plan, drain)?;

        let wake = tree.wait(begin.checked_add(self.deadline), cancel);
        let mut survivors = if wake == TreeWaitOutcome::Ended {
            Vec::new()
        } else {
            tree.end(self.grace, cancel)
        };
        if wake == TreeWaitOutcome::Ended
            && leftovers == SurvivorRule::End
            && !tree.survivors().is_empty()
        {
            survivors = tree.end(self.grace, cancel);
        }
        drain.settle(|| false);
        if wake == TreeWaitOutcome::Ended && leftovers == SurvivorRule::Leave {
            survivors = tree.survivors();
        }
        // A leader that survives KILL is stuck in the kernel; that signal will end it.
        let exit = tree
            .finish()
            .unwrap_or(ProcessExit::Signal(Signal::KILL.as_raw()));
        let output = drain.finish().unwrap_or_else(|| HeadTailPair::new(0));
        let finished = FinishedProgram {
            exit,
            timed_out: wake == TreeWaitOutcome::Deadline,
            stdout: output.stdout.into_kept(),
            stderr: output.stderr.into_kept(),
            duration: begin.elapsed(),
        };
        Ok((finished, survivors))
    }
}

struct HeadTailPair {
    stdout: HeadTail,
    stderr: HeadTail,
}

impl HeadTailPair {
    fn new(keep: usize) -> Self {
        HeadTailPair {
            stdout: HeadTail::new(keep),
            stderr: HeadTail::new(keep),
        }
    }
}

impl OutputSink for HeadTailPair {
    fn keep(&mut self, from: OutputStream, bytes: &[u8]) {
        match from {
            OutputStream::Stdout => self.stdout.push(bytes),
            OutputStream::Stderr => self.stderr.push(bytes),
        }
    }
}
