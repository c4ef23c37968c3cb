//! Watches a session for silence, in a thread of its own, while another waits for its end. `decision::silence` judges the signals.
//!
//! It reads output, transcript and processes often, and the files only once all of these have been silent for long enough: the files' own
//! times say since when nothing changed.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::oneshot;

use crate::watch::{LastChange, last_change};
use watchdog_agent::stream::StreamTap;
use watchdog_agent::transcript::{self, ClaudeHome};
use watchdog_core::decision::silence::{
    LivenessSignals, PersonWait, SilenceVerdict, judge_silence, may_wait_for_person,
};
use watchdog_process::session_meter::{CpuUse, ProcessSample, SessionMeter};

use crate::clock::now;
use watchdog_agent::transcript_read::{TranscriptTail, unanswered_calls};

/// The shortest and the longest time between two readings.
const SAMPLES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Processor time is measured over this length of time, or over the limit where that is shorter.
const STRETCH: Duration = Duration::from_secs(60);
/// Reading files may take one part in so many of the time.
const COST: u32 = 50;

/// A session to watch.
pub struct WatchedSession {
    /// Its output and its processes.
    pub meter: SessionMeter,
    /// Reads its output.
    pub tap: StreamTap,
    /// Reads its transcript, for a person.
    pub tail: Option<TranscriptTail>,
    /// How long it may be silent; `None` = no limit.
    pub limit: Option<Duration>,
    /// Its work tree.
    pub root: PathBuf,
    /// Its git directory.
    pub git_dir: PathBuf,
    /// watchdog's own paths in the work tree.
    pub except: Vec<PathBuf>,
    /// The home of its transcript.
    pub home: ClaudeHome,
    /// Whether it may still get input, so that no result is its last.
    pub may_get_input: bool,
    /// Whether a person can answer its questions.
    pub can_answer: bool,
}

/// Why a session is to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SilenceCause {
    /// It fell silent for this long.
    Idle(Duration),
    /// It reported its final result and did not end.
    Finished(Duration),
}

/// The thread. Dropped, it stops watching.
pub struct SilenceWatch {
    begin: Sender<WatchedSession>,
    end: oneshot::Receiver<SilenceCause>,
}

impl SilenceWatch {
    /// Makes the thread, before there is a session.
    ///
    /// # Errors
    /// Fails if no thread can be had.
    pub fn prepare() -> io::Result<Self> {
        let (begin, begun) = channel::<WatchedSession>();
        let (tell, end) = oneshot::channel();
        std::thread::Builder::new()
            .name("silence".into())
            .spawn(move || {
                if let Ok(session) = begun.recv()
                    && let Some(end) = watch_for_silence(session, &begun)
                {
                    // Without a receiver the session has ended by itself.
                    let _ = tell.send(end);
                }
            })?;
        Ok(SilenceWatch { begin, end })
    }

    /// Begins to watch a session that has just started.
    pub fn begin(&self, session: WatchedSession) {
        let _ = self.begin.send(session);
    }

    /// Completes when the session is to be ended; otherwise never.
    pub async fn falls_silent(&mut self) -> SilenceCause {
        match (&mut self.end).await {
            Ok(end) => end,
            Err(_) => std::future::pending().await,
        }
    }
}

fn watch_for_silence(
    session: WatchedSession,
    stopped: &Receiver<WatchedSession>,
) -> Option<SilenceCause> {
    let pause = session
        .limit
        .map_or(SAMPLES.1, |limit| (limit / 40).clamp(SAMPLES.0, SAMPLES.1));
    let mut state = WatchState::new(session, pause);
    while matches!(stopped.recv_timeout(pause), Err(RecvTimeoutError::Timeout)) {
        if let Some(end) = state.sample() {
            return Some(end);
        }
    }
    None
}

struct WatchState {
    session: WatchedSession,
    begun: (Instant, Timestamp),
    /// The time that was really watched: where this process or the session was stopped, or the machine suspended, that time is no silence.
    watched: Duration,
    /// How long the session was stopped: it counts as silence after four times the limit.
    stood: Duration,
    last_sample: Instant,
    pause: Duration,
    signals: LivenessSignals,
    output: u64,
    transcript: Option<(PathBuf, u64)>,
    processor: CpuUse,
    files: Option<LastChange>,
    next_costly: Duration,
}

impl WatchState {
    fn new(session: WatchedSession, pause: Duration) -> Self {
        let at = Instant::now();
        let stretch = session
            .limit
            .map_or(STRETCH, |limit| limit.clamp(SAMPLES.0, STRETCH));
        let transcript = transcript_of(&session, None);
        WatchState {
            begun: (at, now()),
            stood: Duration::ZERO,
            watched: Duration::ZERO,
            last_sample: at,
            pause,
            signals: LivenessSignals {
                transcript: transcript.as_ref().map(|_| Duration::ZERO),
                ..LivenessSignals::default()
            },
            output: 0,
            transcript,
            processor: CpuUse::over(stretch),
            files: None,
            next_costly: Duration::ZERO,
            session,
        }
    }

    fn sample(&mut self) -> Option<SilenceCause> {
        let at = Instant::now();
        let since_sample =
            at.saturating_duration_since(std::mem::replace(&mut self.last_sample, at));
        if self.session.meter.is_paused() {
            self.stood += since_sample;
            // A session could stop itself for ever.
            if self
                .session
                .limit
                .is_none_or(|limit| self.stood < limit * 4)
            {
                return None;
            }
        }
        self.watched += since_sample.min(self.pause * 2 + SAMPLES.0);
        let view = self.session.tap.view();
        if !view.structured
            && let Some(tail) = &mut self.session.tail
        {
            self.session.tap.show_transcript(tail.read_on());
        }
        let output = self.session.meter.output();
        if std::mem::replace(&mut self.output, output) != output {
            self.signals.output = self.watched;
        }
        let transcript = transcript_of(&self.session, view.session_id.as_deref());
        if transcript.is_some() && transcript != self.transcript {
            (self.signals.transcript, self.transcript) = (Some(self.watched), transcript);
        }
        let processes = self.session.meter.processes();
        if let Some(sample) = processes {
            let works = self.processor.works(at, sample.used);
            let before = self.signals.processor.unwrap_or_default();
            self.signals.processor = Some(if works { self.watched } else { before });
        }
        self.signals.waits = PersonWait::No;
        self.signals.finished =
            view.finished && !self.session.may_get_input && !self.began_something(processes);
        if matches!(self.judge_silence(), SilenceVerdict::Alive { .. })
            || self.watched < self.next_costly
        {
            return None;
        }
        self.scan_files();
        let calls = if view.structured {
            view.calls
        } else {
            unanswered_calls(self.transcript.as_ref().map(|(path, _)| path.as_path()))
        };
        let runs = self.began_something(processes);
        if calls.iter().any(|tool| may_wait_for_person(tool, runs)) {
            self.signals.waits = PersonWait::ForPerson {
                can_answer: self.session.can_answer,
            };
        }
        match self.judge_silence() {
            SilenceVerdict::Fallen { quiet } => Some(SilenceCause::Idle(quiet)),
            SilenceVerdict::Finished { quiet } => Some(SilenceCause::Finished(quiet)),
            SilenceVerdict::Waiting { .. } => {
                self.next_costly = self
                    .next_costly
                    .max(self.watched + self.session.limit.unwrap_or_default() / 8);
                None
            }
            SilenceVerdict::Alive { .. } => None,
        }
    }

    fn judge_silence(&self) -> SilenceVerdict {
        judge_silence(self.watched, self.session.limit, &self.signals)
    }

    /// Whether a process of the session may have started after its last output: the time between two samples is unknown.
    fn began_something(&self, processes: Option<ProcessSample>) -> bool {
        let last_output_at = self
            .signals
            .output
            .max(self.signals.transcript.unwrap_or_default());
        let ago = self.watched.saturating_sub(last_output_at);
        processes
            .and_then(|sample| sample.youngest)
            .is_some_and(|youngest| youngest < ago + self.pause)
    }

    fn scan_files(&mut self) {
        let begun = Instant::now();
        let newest = last_change(
            &self.session.root,
            &self.session.git_dir,
            &self.session.except,
        );
        self.next_costly = self.watched + begun.elapsed() * COST;
        let Some(change) = newest else { return };
        let same = self
            .files
            .replace(change)
            .is_some_and(|before| before.mark == change.mark);
        if same && self.signals.files.is_some() {
            return;
        }
        self.signals.files = Some(match self.age(&change) {
            Some(age) => self.watched.saturating_sub(age),
            // A time in the future only shows that the clock changed.
            None => self.watched,
        });
    }

    /// How long ago that was, by a clock that was not set since the session began.
    fn age(&self, change: &LastChange) -> Option<Duration> {
        let at = now();
        let changed = Timestamp::try_from(change.at).ok()?;
        let age = Duration::try_from(at.duration_since(changed)).ok()?;
        let by_wall = Duration::try_from(at.duration_since(self.begun.1)).unwrap_or_default();
        Some(age.saturating_sub(by_wall.saturating_sub(self.begun.0.elapsed())))
    }
}

/// The transcript of the session, or the latest of its folder, and how long it is.
fn transcript_of(session: &WatchedSession, id: Option<&str>) -> Option<(PathBuf, u64)> {
    let (root, home) = (&session.root, &session.home);
    id.and_then(|id| transcript::find_session(root, home, id))
        .or_else(|| transcript::latest_session(root, home))
        .map(|file| (file.path, file.size))
}
