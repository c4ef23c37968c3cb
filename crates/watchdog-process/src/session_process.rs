//! The process of a session: shown as it runs, logged, waited for with its children, ended when it must.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::builder::{self, LaunchPlan, StartedProcess, StdinSource};
use super::cancel::CancelFlag;
use super::drain::{OutputDrain, OutputSink, OutputStream};
use super::log_file::{LogFile, LogLimits};
use super::mirror::{MirrorTarget, TerminalCover};
use super::output::OutputTail;
use super::process_tree::{ProcessTree, SurvivingProcess, TreeWaitOutcome};
use super::program::StartError;
use super::session_meter::SessionMeter;
use super::spared_programs::SparedPrograms;
use watchdog_facts::evidence::ProcessExit;

/// How long the last output of an ended session is waited for when time is over. Only a reader that is stuck in our stdout takes so long.
const HURRY: Duration = Duration::from_millis(800);

/// Reads a session's stdout, while it runs.
pub trait OutputReader: std::fmt::Debug + Send + Sync {
    /// Takes the next bytes. Called in the thread that empties the pipe: a slow reader makes the session wait.
    fn push(&self, bytes: &[u8]);
}

/// A session to start.
#[derive(Debug, Clone)]
pub struct SessionLaunch {
    /// The program and its arguments; the first is looked up in `PATH`, or is a path from `cwd`.
    pub argv: Vec<OsString>,
    /// The folder that it runs in.
    pub cwd: PathBuf,
    /// Variables to set (`Some`) or to remove (`None`).
    pub env: BTreeMap<OsString, Option<OsString>>,
    /// The source of its stdin.
    pub stdin: StdinSource,
    /// The log of its output: at most 50 MiB, the middle is left out, and secrets once it ended.
    /// A log that cannot be written does not keep the session from running.
    pub log: Option<PathBuf>,
    /// Bytes that are kept of the end of its output.
    pub keep_tail: usize,
    /// The target for its output.
    pub mirror: MirrorTarget,
    /// Lines of our own on the same terminal.
    pub cover: Option<Arc<dyn TerminalCover>>,
    /// The reader of its stdout while it runs.
    pub tap: Option<Arc<dyn OutputReader>>,
    /// The programs that it may leave running: they do none of its work.
    pub spared: SparedPrograms,
}

/// When a session is ended, and what becomes of the processes that outlive it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionTerms {
    /// When it is ended, from its start; `None` = no limit, or that of the configuration.
    pub timeout: Option<Duration>,
    /// How long it may be silent; `None` = no limit, or that of the configuration.
    pub idle_timeout: Option<Duration>,
    /// Between TERM and KILL.
    pub grace: Duration,
    /// How long processes that outlive its normal end are waited for.
    pub child_wait: Duration,
    /// Whether those that outlive even that are ended. Otherwise they are reported only.
    pub end_survivors: bool,
}

impl Default for SessionTerms {
    /// No limits; five seconds for the end and for processes that outlive it.
    fn default() -> Self {
        SessionTerms {
            timeout: None,
            idle_timeout: None,
            grace: Duration::from_secs(5),
            child_wait: Duration::from_secs(5),
            end_survivors: false,
        }
    }
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a session may have been cut short, or have left processes behind"]
pub struct SessionOutcome {
    /// Its own exit, also after it was ended; none if nothing could end it.
    pub exit: Option<ProcessExit>,
    /// Whether it ran into the deadline and was ended for that.
    pub timed_out: bool,
    /// Whether the wait was cancelled, and what ran was ended for that.
    pub cancelled: bool,
    /// Wall time from its start, children included.
    pub duration: Duration,
    /// How long it stood still within that, for it was stopped.
    pub paused: Duration,
    /// The end of its stdout.
    pub tail_stdout: Vec<u8>,
    /// The end of its stdout and stderr, as they came.
    pub tail: Vec<u8>,
    /// The log, if one was written.
    pub log: Option<PathBuf>,
    /// Whether something is missing in the middle or at the end of the log.
    pub log_truncated: bool,
    /// Why the log is missing or not whole, if it could not be written.
    pub log_note: Option<String>,
    /// Its processes that still run.
    pub survivors: Vec<SurvivingProcess>,
    /// The processes that outlived its normal end and were ended.
    pub ended_survivors: Vec<SurvivingProcess>,
    /// How long its children were waited for after its own end.
    pub waited_for_children: Duration,
}

/// A session that runs. Dropped without [`wait`](Self::wait), its tree is ended, with half a second between TERM and KILL.
pub struct SessionProcess {
    tree: ProcessTree,
    drain: OutputDrain<OutputCapture>,
    begin: Instant,
}

impl SessionLaunch {
    /// A session that reads nothing, shows its output, and keeps the last 256 KiB.
    pub fn new(
        argv: impl IntoIterator<Item = impl Into<OsString>>,
        cwd: impl Into<PathBuf>,
    ) -> Self {
        SessionLaunch {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: cwd.into(),
            env: BTreeMap::new(),
            stdin: StdinSource::Inherit,
            log: None,
            keep_tail: 256 << 10,
            mirror: MirrorTarget::Through,
            cover: None,
            tap: None,
            spared: SparedPrograms::default(),
        }
    }
}

impl SessionProcess {
    /// Starts a session. Its output is read and shown from now on, whether or not a thread waits for it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(spec: &SessionLaunch) -> Result<SessionProcess, StartError> {
        let begin = Instant::now();
        let plan = LaunchPlan {
            argv: &spec.argv,
            cwd: &spec.cwd,
            env: &spec.env,
            stdin: spec.stdin.clone(),
            mounted: None,
        };
        let take_output = |stdout, stderr| {
            OutputDrain::start(
                stdout,
                stderr,
                OutputCapture::new(spec),
                spec.mirror.ends(spec.cover.as_ref()),
            )
        };
        let StartedProcess {
            mut tree,
            output: drain,
            ..
        } = builder::start_process(plan, take_output).inspect_err(|_| {
            // A session that failed to start needs no log.
            if let Some(log) = spec
                .log
                .as_ref()
                .filter(|log| log.metadata().is_ok_and(|about| about.len() == 0))
            {
                let _ = std::fs::remove_file(log);
            }
        })?;
        tree.spare(spec.spared.clone());
        Ok(SessionProcess { tree, drain, begin })
    }

    /// The pid of its leader.
    pub fn pid(&self) -> u32 {
        self.tree.pid()
    }

    /// Measures it while a thread waits for its end.
    pub fn meter(&self) -> SessionMeter {
        SessionMeter::new((self.tree.id(), self.tree.leader()), self.drain.progress())
    }

    /// Waits for its end.
    ///
    /// Its timeout counts from its start, on a clock that stops during a suspend but not while this process is stopped.
    /// When it passes, or `cancel` is raised, the complete tree is ended: TERM, `grace`, KILL. After a normal end it waits for processes
    /// that outlive the leader, within `child_wait` and the timeout; they may continue to write, later without display and log.
    pub fn wait(mut self, terms: &SessionTerms, cancel: &CancelFlag) -> SessionOutcome {
        let grace = terms.grace;
        let until = terms
            .timeout
            .and_then(|timeout| self.begin.checked_add(timeout));
        let over = || until.is_some_and(|until| until <= Instant::now());
        let wake = self.tree.wait(until, cancel);
        let mut waited_for_children = Duration::ZERO;
        let mut survivors = match wake {
            TreeWaitOutcome::Ended => {
                let (left, waited) = self.wait_for_children(terms.child_wait, over, cancel);
                waited_for_children = waited;
                left
            }
            TreeWaitOutcome::Deadline | TreeWaitOutcome::Cancelled => self.tree.end(grace, cancel),
        };
        let cancelled =
            wake == TreeWaitOutcome::Cancelled || (!survivors.is_empty() && cancel.is_cancelled());
        let mut ended_survivors = Vec::new();
        if wake == TreeWaitOutcome::Ended
            && !survivors.is_empty()
            && (cancelled || terms.end_survivors)
        {
            ended_survivors = std::mem::replace(&mut survivors, self.tree.end(grace, cancel));
            ended_survivors.retain(|ended| !survivors.contains(ended));
        }
        let no_time = || wake != TreeWaitOutcome::Ended || over() || cancel.is_cancelled();
        self.drain.settle(no_time);
        if no_time() {
            // The reader of our output may be slow: the rest, a pipe full at most, is only kept and logged.
            self.drain.hurry();
            let begin = Instant::now();
            self.drain.settle(|| begin.elapsed() > HURRY);
        }
        let exit = self.tree.finish();
        let record = self.drain.finish().unwrap_or_default().finish();
        SessionOutcome {
            exit,
            timed_out: wake == TreeWaitOutcome::Deadline,
            cancelled,
            duration: self.begin.elapsed(),
            paused: self.tree.pause_time(),
            tail_stdout: record.stdout,
            tail: record.both,
            log: record.log,
            log_truncated: record.log_truncated,
            log_note: record.log_note,
            survivors,
            ended_survivors,
            waited_for_children,
        }
    }

    fn wait_for_children(
        &self,
        child_wait: Duration,
        over: impl Fn() -> bool,
        cancel: &CancelFlag,
    ) -> (Vec<SurvivingProcess>, Duration) {
        let begin = Instant::now();
        let mut pause = Duration::from_millis(10);
        let mut survivors = self.tree.survivors();
        if survivors.is_empty() {
            return (survivors, Duration::ZERO);
        }
        while !survivors.is_empty()
            && begin.elapsed() < child_wait
            && !over()
            && !cancel.is_cancelled()
        {
            std::thread::sleep(pause.min(child_wait.saturating_sub(begin.elapsed())));
            pause = (pause * 2).min(super::process_tree::TICK);
            survivors = self.tree.survivors();
        }
        (survivors, begin.elapsed())
    }
}

impl std::fmt::Debug for SessionProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("tree", &self.tree)
            .finish_non_exhaustive()
    }
}

/// The kept parts of the output.
#[derive(Default)]
struct OutputCapture {
    stdout: OutputTail,
    both: OutputTail,
    tap: Option<Arc<dyn OutputReader>>,
    log: Option<LogFile>,
    path: Option<PathBuf>,
    log_note: Option<String>,
}

/// The same, closed.
struct FinishedCapture {
    stdout: Vec<u8>,
    both: Vec<u8>,
    log: Option<PathBuf>,
    log_truncated: bool,
    log_note: Option<String>,
}

impl OutputCapture {
    fn new(spec: &SessionLaunch) -> Self {
        let mut record = OutputCapture {
            stdout: OutputTail::new(spec.keep_tail),
            both: OutputTail::new(spec.keep_tail),
            tap: spec.tap.clone(),
            ..OutputCapture::default()
        };
        if let Some(path) = &spec.log {
            match LogFile::create(path, LogLimits::default()) {
                Ok(log) => (record.log, record.path) = (Some(log), Some(path.clone())),
                Err(error) => {
                    record.log_note = Some(format!(
                        "the session is not logged: cannot create {}: {error}",
                        path.display()
                    ))
                }
            }
        }
        record
    }

    fn finish(self) -> FinishedCapture {
        let logged = self.log.map(LogFile::finish);
        let log_truncated = logged
            .as_ref()
            .is_some_and(|logged| logged.dropped > 0 || logged.fault.is_some());
        FinishedCapture {
            stdout: self.stdout.into_bytes(),
            both: self.both.into_bytes(),
            log: self.path,
            log_truncated,
            log_note: logged.and_then(|logged| logged.fault).or(self.log_note),
        }
    }
}

impl OutputSink for OutputCapture {
    fn keep(&mut self, from: OutputStream, bytes: &[u8]) {
        if from == OutputStream::Stdout {
            self.stdout.push(bytes);
            if let Some(tap) = &self.tap {
                tap.push(bytes);
            }
        }
        self.both.push(bytes);
        if let Some(log) = &mut self.log {
            log.write(bytes);
        }
    }
}
