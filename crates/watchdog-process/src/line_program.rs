//! A program that stays and answers line by line: a line in on its stdin, a line out on its stdout.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use os_pipe::PipeWriter;
use rustix::process::Signal;

use super::builder::{self, LaunchPlan, StartedProcess, StdinSource};
use super::cancel::CancelFlag;
use super::drain::{OutputDrain, OutputSink, OutputStream};
use super::output::OutputTail;
use super::plain_text::plain_text;
use super::process_tree::{ProcessTree, TICK, TreeWaitOutcome};
use super::program::StartError;
use watchdog_facts::evidence::ProcessExit;

/// A longer line is no answer, in bytes.
const LINE: usize = 4 << 20;
/// How many unrequested lines are kept.
const UNASKED: usize = 64;
/// How many bytes of stderr are kept.
const COMPLAINTS: usize = 8 << 10;
/// How long a program may take to end once its stdin is closed, and again after TERM.
const GRACE: Duration = Duration::from_millis(1500);

/// The result of a line exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineAnswer {
    /// The line that it answered, without its end. Replaces bytes that are not UTF-8.
    Line(String),
    /// It answered with a line that is too long to keep.
    TooLong,
    /// It ended, or closed its stdout, without an answer; with the end of its stderr.
    Ended {
        /// Absent if the operating system did not report it.
        exit: Option<ProcessExit>,
        /// The last bytes of its stderr, as text.
        stderr: String,
    },
    /// The time was over.
    TimedOut,
    /// The wait was cancelled.
    Cancelled,
}

/// A program that stays. Dropped, it is given the end of its input, then told to end, then killed with all that is below it.
pub struct LineProgram {
    tree: ProcessTree,
    /// Empty once its stdin is closed.
    stdin: Option<Sender<Vec<u8>>>,
    lines: Receiver<Option<Vec<u8>>>,
    drain: Option<OutputDrain<LineSplitter>>,
}

impl LineProgram {
    /// Starts a program in a folder, with variables set or removed (`None`).
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(
        argv: &[OsString],
        cwd: PathBuf,
        env: &BTreeMap<OsString, Option<OsString>>,
    ) -> Result<Self, StartError> {
        let (give, lines) = sync_channel(UNASKED);
        let keep = LineSplitter {
            open: Vec::new(),
            give: Some(give),
            stderr: OutputTail::new(COMPLAINTS),
        };
        let plan = LaunchPlan {
            argv,
            cwd: &cwd,
            env,
            stdin: StdinSource::Open,
            mounted: None,
        };
        let StartedProcess {
            tree,
            stdin,
            output: drain,
        } = builder::start_process(plan, |stdout, stderr| {
            OutputDrain::start(stdout, stderr, keep, [None, None])
        })?;
        let refused = |source| StartError::System {
            program: argv[0].to_string_lossy().into_owned(),
            source,
        };
        let stdin = stdin
            .ok_or_else(|| refused(std::io::Error::other("it was started without a stdin")))?;
        Ok(LineProgram {
            tree,
            stdin: Some(write_from_thread(stdin).map_err(refused)?),
            lines,
            drain: Some(drain),
        })
    }

    /// Gives it a line, which must hold no line break, and waits for the line that it answers with. Lines that it wrote unasked before are
    /// dropped. After anything but a line it is of no more use.
    pub fn exchange(&mut self, line: &str, timeout: Duration, cancel: &CancelFlag) -> LineAnswer {
        while self.lines.try_recv().is_ok() {}
        let until = Instant::now() + timeout;
        let given = self
            .stdin
            .as_ref()
            .is_some_and(|stdin| stdin.send(format!("{line}\n").into_bytes()).is_ok());
        if !given {
            return self.end_answer();
        }
        loop {
            let remaining = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(remaining.min(TICK)) {
                Ok(Some(line)) => {
                    return LineAnswer::Line(
                        String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(&line))
                            .into_owned(),
                    );
                }
                Ok(None) => return LineAnswer::TooLong,
                Err(RecvTimeoutError::Disconnected) => return self.end_answer(),
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => {
                    return LineAnswer::Cancelled;
                }
                Err(RecvTimeoutError::Timeout) if remaining.is_zero() => {
                    return LineAnswer::TimedOut;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            // Also tracks its descendants, as long as it is polled.
            if self.tree.wait(Some(Instant::now()), cancel) == TreeWaitOutcome::Ended {
                if let Some(drain) = &mut self.drain {
                    drain.settle(|| false);
                }
                return match self.lines.try_recv() {
                    Ok(Some(line)) => LineAnswer::Line(String::from_utf8_lossy(&line).into_owned()),
                    Ok(None) => LineAnswer::TooLong,
                    Err(_) => self.end_answer(),
                };
            }
        }
    }

    /// Ends it, and returns its outcome.
    fn end_answer(&mut self) -> LineAnswer {
        let exit = self.end();
        let output = self.drain.take().and_then(OutputDrain::finish);
        let stderr = output
            .map(|output| {
                plain_text(&output.stderr.into_bytes())
                    .text
                    .trim()
                    .to_owned()
            })
            .unwrap_or_default();
        LineAnswer::Ended { exit, stderr }
    }

    fn end(&mut self) -> Option<ProcessExit> {
        self.stdin = None;
        let never = CancelFlag::new();
        if self.tree.wait(Some(Instant::now() + GRACE), &never) != TreeWaitOutcome::Ended
            || !self.tree.survivors().is_empty()
        {
            self.tree.end(GRACE, &never);
        }
        if let Some(drain) = &mut self.drain {
            drain.settle(|| false);
        }
        Some(
            self.tree
                .finish()
                .unwrap_or(ProcessExit::Signal(Signal::KILL.as_raw())),
        )
    }
}

impl Drop for LineProgram {
    fn drop(&mut self) {
        if self.drain.is_some() {
            self.end();
        }
    }
}

/// Takes stdout apart into lines.
struct LineSplitter {
    open: Vec<u8>,
    /// Fails without a receiver.
    give: Option<SyncSender<Option<Vec<u8>>>>,
    stderr: OutputTail,
}

impl OutputSink for LineSplitter {
    fn keep(&mut self, from: OutputStream, bytes: &[u8]) {
        if from == OutputStream::Stderr {
            return self.stderr.push(bytes);
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = (LINE + 1).saturating_sub(self.open.len());
            self.open.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                let mut line = std::mem::take(&mut self.open);
                let whole = line.len() <= LINE;
                line.truncate(
                    line.len()
                        .saturating_sub(usize::from(line.ends_with(b"\n"))),
                );
                if let Some(give) = &self.give {
                    // Unrequested output beyond the bound is dropped.
                    let _ = give.try_send(whole.then_some(line));
                }
            }
        }
    }
}

/// Writes from a thread, so that a program that does not read blocks only that thread. It ends with the sender, or with the program's
/// stdin.
fn write_from_thread(mut end: PipeWriter) -> std::io::Result<Sender<Vec<u8>>> {
    let (give, take) = channel::<Vec<u8>>();
    std::thread::Builder::new()
        .name("stdin".into())
        .stack_size(64 << 10)
        .spawn(move || {
            for bytes in take {
                if end.write_all(&bytes).is_err() {
                    break;
                }
            }
        })?;
    Ok(give)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> LineProgram {
        LineProgram::start(
            &["sh".into(), "-c".into(), script.into()],
            "/".into(),
            &BTreeMap::new(),
        )
        .unwrap()
    }

    fn ask(program: &mut LineProgram, line: &str) -> LineAnswer {
        program.exchange(line, Duration::from_secs(20), &CancelFlag::new())
    }

    #[test]
    fn one_line_is_answered_by_one() {
        let mut program = shell(
            "n=0; echo unasked; while read -r line; do n=$((n+1)); printf '%s %s\\r\\n' $n \"$line\"; done",
        );
        // Output before the first request is not its answer, and is dropped.
        until(|| program.lines.try_recv().is_ok());
        assert_eq!(ask(&mut program, "a b"), LineAnswer::Line("1 a b".into()));
        assert_eq!(ask(&mut program, "é"), LineAnswer::Line("2 é".into()));
        let long = "x".repeat(1 << 20);
        assert_eq!(
            ask(&mut program, &long),
            LineAnswer::Line(format!("3 {long}"))
        );
    }

    fn until(mut holds: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn one_that_ends_says_why() {
        let mut program = shell("read -r line; echo sorry >&2; exit 3");
        assert_eq!(
            ask(&mut program, "x"),
            LineAnswer::Ended {
                exit: Some(ProcessExit::Code(3)),
                stderr: "sorry".into()
            }
        );
        let mut program = shell("read -r line; printf answered; echo; exit 0");
        assert_eq!(ask(&mut program, "x"), LineAnswer::Line("answered".into()));
        assert!(matches!(ask(&mut program, "x"), LineAnswer::Ended { .. }));
    }

    #[test]
    fn silent_program_times_out_as_requested() {
        let mut program = shell("trap '' TERM; while :; do sleep 1; done");
        let begun = Instant::now();
        assert_eq!(
            program.exchange(
                &"x".repeat(1 << 20),
                Duration::from_millis(300),
                &CancelFlag::new()
            ),
            LineAnswer::TimedOut
        );
        assert!(begun.elapsed() < Duration::from_secs(5));
        let cancelled = CancelFlag::new();
        cancelled.cancel();
        assert_eq!(
            program.exchange("x", Duration::from_secs(60), &cancelled),
            LineAnswer::Cancelled
        );
    }

    #[test]
    fn endless_line_is_too_long_in_bounded_memory() {
        let mut program = shell("read -r line; head -c 9000000 /dev/zero | tr '\\0' x; echo");
        assert_eq!(ask(&mut program, "x"), LineAnswer::TooLong);
    }

    #[test]
    fn what_is_not_there_cannot_be_started() {
        let started =
            LineProgram::start(&["/no/such/program".into()], "/".into(), &BTreeMap::new());
        assert!(matches!(started, Err(StartError::NotRunnable { .. })));
    }
}
