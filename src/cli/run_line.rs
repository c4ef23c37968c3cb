//! Draws a line at the lower end of the terminal while a session of `watchdog run` runs: a clock,
//! the limit, what the agent does and what it spent.
//!
//! The session's own output passes above it, untouched: the line is erased before, and drawn again once the output has come to the end of a
//! line. A session that steers the terminal itself has it for itself from then on.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use super::passed_output::PassedOutput;
use super::progress_frame::ProgressFrame;
use crate::cli::terminal::CommandTerminal;
use watchdog_agent::stream::SessionView;
use watchdog_core::decision::termination::SpentUsage;
use watchdog_judge::judge::command_env::ProgressCallback;
use watchdog_judge::modes::run::view::{RunPhase, RunView};
use watchdog_process::TerminalCover;
use watchdog_system::lock_mutex;
use watchdog_view::progress_text::{
    format_clock, format_elapsed, format_spent, measure_elapsed, progress_line,
};

/// The phase of the run, and what it passed through to the terminal.
type LineState = Arc<Mutex<(Option<RunPhase>, PassedOutput)>>;

/// The line, until [`RunLine::end`].
#[derive(Debug)]
pub struct RunLine {
    frame: Arc<ProgressFrame>,
    state: LineState,
}

impl RunLine {
    /// Begins, where somebody wants to be told things and no program has the terminal.
    pub fn start(terminal: &CommandTerminal) -> Option<Arc<Self>> {
        let state = LineState::default();
        let shown = Arc::clone(&state);
        let lines = move |at| {
            let (phase, passed) = &*lock_mutex(&shown);
            let phase = phase.as_ref().filter(|_| passed.leaves_room());
            phase.iter().map(|phase| render_phase(phase, at)).collect()
        };
        let frame = (!terminal.json).then(|| ProgressFrame::start(terminal, lines));
        Some(Arc::new(RunLine {
            frame: frame.flatten()?,
            state,
        }))
    }

    /// Tells the story above the line.
    pub fn narrator(&self) -> ProgressCallback {
        self.frame.narrator()
    }

    /// Takes the line away, for the verdict.
    pub fn end(&self) {
        self.frame.end();
    }

    /// Has the line erased before the terminal stops us (Ctrl-Z). Must be called inside the runtime.
    pub fn vanish_when_stopped(&self) {
        let Ok(mut stops) = signal(SignalKind::from_raw(Signal::TSTP.as_raw())) else {
            return;
        };
        let frame = Arc::clone(&self.frame);
        tokio::spawn(async move {
            while stops.recv().await.is_some() {
                // No line is drawn meanwhile; all of this process stands still here until it is
                // continued.
                frame.above(|| {
                    let _ = kill_process(getpid(), Signal::STOP);
                });
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, (Option<RunPhase>, PassedOutput)> {
        lock_mutex(&self.state)
    }
}

impl TerminalCover for RunLine {
    fn pass(&self, bytes: &[u8], show: &mut dyn FnMut()) {
        self.frame.above(|| {
            show();
            self.lock().1.take(bytes);
        });
    }
}

impl RunView for RunLine {
    fn show(&self, phase: RunPhase) {
        self.lock().0 = Some(phase);
    }
}

/// Returns the line to show. The line holds no terminal control sequence.
fn render_phase(phase: &RunPhase, at: Timestamp) -> String {
    match phase {
        RunPhase::Session { since, limit, tap } => {
            session_line(measure_elapsed(*since, at), *limit, &tap.live_view())
        }
        RunPhase::Judging(since) => {
            format!("{} · judging", format_clock(measure_elapsed(*since, at)))
        }
    }
}

/// The clock, the limit, the figures, the tool that works, and the last line that was said.
fn session_line(elapsed: Duration, limit: Option<Duration>, session: &SessionView) -> String {
    let [cost, tokens] = format_spent(&SpentUsage::from_usage(&session.usage));
    let clock = format_elapsed(elapsed, limit);
    progress_line([clock, cost, tokens, session.describe_activity()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_facts::context::SessionUsage;

    #[test]
    fn line_shows_clock_limit_tool_and_output() {
        let view_of = |line: &str, call: &str| SessionView {
            last_line: line.into(),
            call: call.into(),
            usage: SessionUsage {
                cost_usd: (!call.is_empty()).then_some(0.5),
                ..SessionUsage::default()
            },
            ..SessionView::default()
        };
        let (elapsed, limit) = (Duration::from_secs(723), Some(Duration::from_secs(1800)));
        for (limit, session, shown) in [
            (
                limit,
                view_of("editing src/main.rs", ""),
                "12:03 of 30:00 · editing src/main.rs",
            ),
            (
                None,
                view_of("editing src/main.rs", ""),
                "12:03 · editing src/main.rs",
            ),
            (
                None,
                view_of("now the tests", "Bash cargo test"),
                "12:03 · $0.50 · Bash cargo test · now the tests",
            ),
            (limit, view_of("  ", ""), "12:03 of 30:00"),
            (
                None,
                view_of("\x1b[2Ja\rb", "\x07"),
                "12:03 · $0.50 · \\x07 · \\x1b[2Ja\\rb",
            ),
        ] {
            assert_eq!(session_line(elapsed, limit, &session), shown);
        }
    }
}
