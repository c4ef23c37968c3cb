//! Lines of progress at the lower end of the terminal that are drawn anew each second, below the story that scrolls by.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::terminal::CommandTerminal;
use super::terminal_frame::TerminalFrame;
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::ProgressCallback;

/// Between two drawings.
const TICK: Duration = Duration::from_secs(1);

/// Returns the lines to show at a moment. The lines hold no terminal control sequence.
type LinesAt = Box<dyn Fn(Timestamp) -> Vec<String> + Send>;

/// The lines, until [`ProgressFrame::end`].
pub struct ProgressFrame {
    terminal: CommandTerminal,
    state: Mutex<FrameState>,
    ended: Condvar,
}

struct FrameState {
    lines: LinesAt,
    frame: TerminalFrame,
    over: bool,
}

impl ProgressFrame {
    /// Begins, where stderr is a terminal that can be drawn on and somebody wants to be told things.
    pub fn start(
        terminal: &CommandTerminal,
        lines: impl Fn(Timestamp) -> Vec<String> + Send + 'static,
    ) -> Option<Arc<Self>> {
        if terminal.is_quiet() || !TerminalFrame::can_be_drawn() {
            return None;
        }
        let state = FrameState {
            lines: Box::new(lines),
            frame: TerminalFrame::default(),
            over: false,
        };
        let frame = Arc::new(ProgressFrame {
            terminal: *terminal,
            state: Mutex::new(state),
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

    /// Writes something above the lines.
    pub fn above(&self, write: impl FnOnce()) {
        let mut state = self.state();
        state.frame.erase();
        write();
        state.draw();
    }

    /// Draws what is new at once.
    pub fn refresh(&self) {
        let mut state = self.state();
        state.frame.erase();
        state.draw();
    }

    /// Takes the lines away, for the result.
    pub fn end(&self) {
        let mut state = self.state();
        state.over = true;
        state.frame.erase();
        drop(state);
        self.ended.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, FrameState> {
        // A frame that panicked while it was drawn is drawn anew.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_drawing(&self) {
        let mut state = self.state();
        while !state.over {
            state.frame.erase();
            state.draw();
            state = self
                .ended
                .wait_timeout(state, TICK)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl FrameState {
    fn draw(&mut self) {
        let lines = if self.over {
            Vec::new()
        } else {
            (self.lines)(now())
        };
        if !lines.is_empty() && TerminalFrame::may_be_drawn() {
            self.frame.draw(&lines);
        }
    }
}
