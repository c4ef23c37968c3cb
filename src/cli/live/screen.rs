//! The modes of the terminal while the view has it: raw keys and the alternate screen, taken back however the view ends.

use std::io::{self, Write as _};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::{cursor, event, execute, terminal};
use ratatui::Terminal;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::crossterm_backend::CrosstermBackend;
use crate::cli::held_back;

/// Whether the terminal is in the view's modes.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The hook for panics is set once.
static HOOK: Once = Once::new();

/// The terminal, as long as the view has it.
pub struct LiveScreen {
    terminal: Terminal<CrosstermBackend>,
    mouse: bool,
}

impl LiveScreen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Where it does not take the modes.
    pub fn take(mouse: bool) -> io::Result<Self> {
        HOOK.call_once(|| {
            let usual = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if std::thread::current().name() == Some("main") {
                    // What the panic says must not stand on a screen that is about to vanish.
                    give_back();
                } else if TAKEN.load(Ordering::Relaxed) && held_back::keep(&info.to_string()) {
                    return;
                }
                usual(info);
            }));
        });
        enter(mouse)?;
        let terminal = Terminal::new(CrosstermBackend::new()).inspect_err(|_| give_back())?;
        Ok(LiveScreen { terminal, mouse })
    }

    /// Draws a frame; only what differs from the last one is written.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn draw(&mut self, draw: impl FnOnce(Rect, &mut Buffer)) -> io::Result<()> {
        self.terminal
            .draw(|frame| draw(frame.area(), frame.buffer_mut()))?;
        Ok(())
    }

    /// Takes the terminal again, after whoever had it in between, and forgets what was drawn.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn take_again(&mut self) -> io::Result<()> {
        enter(self.mouse)?;
        self.terminal.clear()
    }

    /// Gives the terminal back for a while.
    pub fn leave(&self) {
        give_back();
    }
}

impl Drop for LiveScreen {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter(mouse: bool) -> io::Result<()> {
    terminal::enable_raw_mode()?;
    TAKEN.store(true, Ordering::Relaxed);
    held_back::begin();
    let mut out = io::stdout();
    execute!(
        out,
        terminal::EnterAlternateScreen,
        cursor::Hide,
        terminal::Clear(terminal::ClearType::All)
    )
    .inspect_err(|_| give_back())?;
    if mouse {
        execute!(out, event::EnableMouseCapture).inspect_err(|_| give_back())?;
    }
    Ok(())
}

/// Takes everything back, once; then says what was held back. Nothing here may fail the end: a terminal that hung up is no fault of ours.
fn give_back() {
    if !TAKEN.swap(false, Ordering::Relaxed) {
        return;
    }
    let mut out = io::stdout();
    let _ = execute!(
        out,
        event::DisableMouseCapture,
        cursor::Show,
        terminal::LeaveAlternateScreen
    );
    let _ = out.flush();
    let _ = terminal::disable_raw_mode();
    for line in held_back::end() {
        let _ = writeln!(io::stderr(), "{line}");
    }
}
