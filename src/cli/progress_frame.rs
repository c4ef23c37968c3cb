//! Lines of progress: in a terminal at its lower end, drawn anew as they change, below the story that scrolls by; else a part of that
//! story, now and then.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use tracing::level_filters::LevelFilter;

use super::terminal::CommandTerminal;
use super::terminal_frame::TerminalFrame;
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::ProgressCallback;
use watchdog_system::lock_mutex;

/// Between two drawings.
const TICK: Duration = Duration::from_millis(250);
/// The shortest and the longest time between two lines of the story.
const PAUSES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));

/// Returns the lines to show at a moment. The lines hold no terminal control sequence.
type LinesAt = Box<dyn Fn(Timestamp) -> Vec<String> + Send>;

/// The lines, until [`ProgressFrame::end`].
pub struct ProgressFrame {
    terminal: CommandTerminal,
    state: Mutex<FrameState>,
    /// Whether stderr is a terminal that neither a log nor another program has.
    draws: bool,
    ended: Condvar,
}

struct FrameState {
    lines: LinesAt,
    frame: TerminalFrame,
    /// The drawn lines.
    drawn: Vec<String>,
    over: bool,
}

impl ProgressFrame {
    /// Begins, where somebody wants to be told things.
    pub fn start(
        terminal: &CommandTerminal,
        lines: impl Fn(Timestamp) -> Vec<String> + Send + 'static,
    ) -> Option<Arc<Self>> {
        if terminal.is_quiet() {
            return None;
        }
        let state = FrameState {
            lines: Box::new(lines),
            frame: TerminalFrame::default(),
            drawn: Vec::new(),
            over: false,
        };
        let frame = Arc::new(ProgressFrame {
            terminal: *terminal,
            state: Mutex::new(state),
            draws: LevelFilter::current() == LevelFilter::OFF && TerminalFrame::can_be_drawn(),
            ended: Condvar::new(),
        });
        let drawing = Arc::clone(&frame);
        std::thread::Builder::new()
            .name("view".into())
            .spawn(move || drawing.keep_drawing())
            .ok()?;
        Some(frame)
    }

    /// Tells the story above the lines.
    pub fn narrator(self: &Arc<Self>) -> ProgressCallback {
        let frame = Arc::clone(self);
        let tell = self.terminal.narrator();
        Arc::new(move |text: &str| frame.above(|| tell(text)))
    }

    /// Writes something above the lines, which are drawn again at the next tick.
    pub fn above(&self, write: impl FnOnce()) {
        let mut state = self.state();
        state.erase();
        write();
    }

    /// Takes the lines away, for the result.
    pub fn end(&self) {
        let mut state = self.state();
        state.over = true;
        state.erase();
        drop(state);
        self.ended.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, FrameState> {
        // A frame that panicked while it was drawn is drawn anew.
        lock_mutex(&self.state)
    }

    fn keep_drawing(&self) {
        let mut state = self.state();
        let mut pause = if self.draws { TICK } else { PAUSES.0 };
        while !state.over {
            if self.draws {
                state.draw();
            }
            let waited = self.ended.wait_timeout(state, pause);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !self.draws && !state.over {
                let lines = (state.lines)(now()).join("\n").replace("\n  ", " · ");
                lines.lines().for_each(&*self.terminal.narrator());
                pause = PAUSES.1.min(pause * 2);
            }
        }
    }
}

impl fmt::Debug for ProgressFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressFrame")
    }
}

impl FrameState {
    fn draw(&mut self) {
        let lines = (self.lines)(now());
        // Another process may have the terminal now and draw on it: its lines are not ours to
        // touch.
        if lines != self.drawn && TerminalFrame::may_be_drawn() {
            self.erase();
            if !lines.is_empty() {
                self.frame.draw(&lines);
            }
            self.drawn = lines;
        }
    }

    fn erase(&mut self) {
        self.frame.erase();
        self.drawn.clear();
    }
}
