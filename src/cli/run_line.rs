//! Draws a line at the lower end of the terminal while a session of `watchdog run` runs: a clock,
//! the limit, and the session's last line.
//!
//! The session's own output passes above it, untouched: the line is erased before, and drawn again once the output has come to the end of a
//! line. A session that steers the terminal itself has it for itself from then on.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tracing::level_filters::LevelFilter;

use super::passed_output::PassedOutput;
use super::progress_text::{format_clock, progress_line};
use super::terminal_frame::TerminalFrame;
use crate::cli::terminal::CommandTerminal;
use watchdog_agent::stream::SessionView;
use watchdog_facts::display::escape_to_one_line;
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::ProgressCallback;
use watchdog_judge::modes::run::view::{RunPhase, RunView};
use watchdog_process::TerminalCover;

/// Between two drawings.
const TICK: Duration = Duration::from_millis(250);

/// The line, as long as this lives.
pub struct RunLine(Arc<DrawnLine>);

/// The line, for all who write to the terminal.
#[derive(Debug)]
struct DrawnLine {
    state: Mutex<LineState>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct LineState {
    phase: Option<RunPhase>,
    frame: TerminalFrame,
    /// The drawn text.
    text: String,
    passed: PassedOutput,
    over: bool,
}

impl RunLine {
    /// Begins, where stderr is a terminal that can be drawn on, and neither a program nor the log has it.
    pub fn start(terminal: &CommandTerminal) -> Option<Self> {
        if terminal.is_quiet()
            || terminal.json
            || LevelFilter::current() != LevelFilter::OFF
            || !TerminalFrame::can_be_drawn()
        {
            return None;
        }
        let line = Arc::new(DrawnLine {
            state: Mutex::default(),
            ended: Condvar::new(),
        });
        let drawing = Arc::clone(&line);
        std::thread::Builder::new()
            .name("line".into())
            .spawn(move || drawing.keep_drawing())
            .ok()?;
        Some(RunLine(line))
    }

    /// Returns the view that follows the run's phases.
    pub fn view(&self) -> Arc<dyn RunView> {
        Arc::clone(&self.0) as Arc<dyn RunView>
    }

    /// Tells the story above the line.
    pub fn narrator(&self, terminal: &CommandTerminal) -> ProgressCallback {
        let (line, tell) = (Arc::clone(&self.0), terminal.narrator());
        Arc::new(move |text: &str| {
            let mut state = line.state();
            state.erase();
            tell(text);
            state.draw(now());
        })
    }

    /// Has the line erased before the terminal stops us (Ctrl-Z). Must be called inside the runtime.
    pub fn vanish_when_stopped(&self) {
        let Ok(mut stops) = signal(SignalKind::from_raw(Signal::TSTP.as_raw())) else {
            return;
        };
        let line = Arc::clone(&self.0);
        tokio::spawn(async move {
            while stops.recv().await.is_some() {
                let mut state = line.state();
                state.erase();
                // No line is drawn meanwhile; all of this process stands still here until it is
                // continued.
                let _ = kill_process(getpid(), Signal::STOP);
                state.draw(now());
            }
        });
    }
}

impl Drop for RunLine {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.over = true;
        state.erase();
        drop(state);
        self.0.ended.notify_all();
    }
}

impl DrawnLine {
    fn state(&self) -> MutexGuard<'_, LineState> {
        // A line that panicked while it was drawn is drawn anew.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_drawing(&self) {
        let mut state = self.state();
        while !state.over {
            state.draw(now());
            state = self
                .ended
                .wait_timeout(state, TICK)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl TerminalCover for DrawnLine {
    fn pass(&self, bytes: &[u8], show: &mut dyn FnMut()) {
        let mut state = self.state();
        state.erase();
        show();
        state.passed.take(bytes);
    }
}

impl RunView for DrawnLine {
    fn show(&self, phase: RunPhase) {
        let mut state = self.state();
        state.phase = Some(phase);
        state.erase();
        state.draw(now());
    }
}

impl LineState {
    fn erase(&mut self) {
        self.frame.erase();
        self.text.clear();
    }

    fn draw(&mut self, at: Timestamp) {
        let Some(phase) = self
            .phase
            .as_ref()
            .filter(|_| !self.over && self.passed.leaves_room())
        else {
            return;
        };
        let text = render_phase(phase, at);
        if !TerminalFrame::may_be_drawn() {
            // Another process has the terminal now and draws on it: its lines are not ours to
            // touch.
            return;
        }
        if self.frame.is_drawn() && self.text == text {
            return;
        }
        self.frame.erase();
        self.frame.draw(std::slice::from_ref(&text));
        self.text = text;
    }
}

/// Returns the line to show. The line holds no terminal control sequence.
fn render_phase(phase: &RunPhase, at: Timestamp) -> String {
    match phase {
        RunPhase::Session { since, limit, tap } => {
            session_line(measure_elapsed(*since, at), *limit, &tap.view())
        }
        RunPhase::Judging(since) => {
            format!("{} · judging", format_clock(measure_elapsed(*since, at)))
        }
    }
}

fn measure_elapsed(since: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(since)).unwrap_or_default()
}

/// The clock, the limit, the tool that works, and the last line that was said.
fn session_line(elapsed: Duration, limit: Option<Duration>, session: &SessionView) -> String {
    let of = limit
        .map(|limit| format!(" of {}", format_clock(limit)))
        .unwrap_or_default();
    let tool = session.calls.last().map(String::as_str).unwrap_or_default();
    progress_line([
        format!("{}{of}", format_clock(elapsed)),
        escape_to_one_line(tool.trim()),
        escape_to_one_line(session.last_line.trim()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_shows_clock_limit_tool_and_output() {
        let view_of = |line: &str, calls: &[&str]| SessionView {
            last_line: line.into(),
            calls: calls.iter().map(|call| (*call).to_owned()).collect(),
            ..SessionView::default()
        };
        let (elapsed, limit) = (Duration::from_secs(723), Some(Duration::from_secs(1800)));
        for (limit, session, shown) in [
            (
                limit,
                view_of("editing src/main.rs", &[]),
                "12:03 of 30:00 · editing src/main.rs",
            ),
            (
                None,
                view_of("editing src/main.rs", &[]),
                "12:03 · editing src/main.rs",
            ),
            (
                None,
                view_of("now the tests", &["Read", "Bash"]),
                "12:03 · Bash · now the tests",
            ),
            (limit, view_of("  ", &[]), "12:03 of 30:00"),
            (
                None,
                view_of("\x1b[2Ja\rb", &["\x07"]),
                "12:03 · \\x07 · \\x1b[2Ja\\rb",
            ),
        ] {
            assert_eq!(session_line(elapsed, limit, &session), shown);
        }
    }
}
