//! The modes of the terminal while the view has it: raw keys and the alternate screen, taken back however the view ends.

use std::io::{self, Write as _};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::{cursor, event, execute, queue, terminal};
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use rustix::termios::tcgetwinsize;

use super::draw::draw_view;
use super::model::LiveModel;
use crate::held_back;

/// Whether the terminal is in the view's modes.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The hook for panics is set once.
static HOOK: Once = Once::new();

/// The terminal, as long as the view has it.
pub struct LiveScreen {
    /// The cells that it shows.
    shown: Buffer,
    mouse: bool,
}

impl LiveScreen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Fails if it does not take the modes.
    pub fn take(mouse: bool) -> io::Result<Self> {
        HOOK.call_once(|| {
            let usual = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if std::thread::current().name() == Some("main") {
                    // The panic message must not stand on a screen that is about to vanish.
                    give_back();
                } else if TAKEN.load(Ordering::Relaxed)
                    && held_back::hold_back_text(&info.to_string())
                {
                    return;
                }
                usual(info);
            }));
        });
        enter_screen(mouse)?;
        let shown = Buffer::default();
        Ok(LiveScreen { shown, mouse })
    }

    /// Draws a frame in one piece; only what differs from the last one is written. Without ratatui's own `Terminal`, which asks the terminal where
    /// its cursor is while keys are read.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn draw(&mut self, model: &LiveModel) -> io::Result<()> {
        let area = Rect::from(Size::from(model.size));
        let mut frame = Vec::new();
        if self.shown.area != area {
            queue!(frame, terminal::Clear(terminal::ClearType::All))?;
            self.shown = Buffer::empty(area);
        }
        let mut cells = Buffer::empty(area);
        draw_view(model, area, &mut cells);
        CrosstermBackend::new(&mut frame).draw(self.shown.diff(&cells).into_iter())?;
        self.shown = cells;
        let mut out = io::stdout().lock();
        out.write_all(&frame)?;
        out.flush()
    }

    /// Takes the terminal again, after whoever had it in between, and forgets what was drawn.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn take_again(&mut self) -> io::Result<()> {
        self.shown = Buffer::default();
        enter_screen(self.mouse)
    }

    /// Gives the terminal back for a while.
    pub fn leave(&self) {
        give_back();
    }
}

/// The size of the terminal on stdout, in columns and rows. Asked of stdout itself, as the controlling terminal may be another.
pub fn terminal_size() -> (u16, u16) {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
        // It does not tell.
        _ => (80, 24),
    }
}

impl Drop for LiveScreen {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter_screen(mouse: bool) -> io::Result<()> {
    terminal::enable_raw_mode()?;
    TAKEN.store(true, Ordering::Relaxed);
    held_back::begin_holding_back();
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

/// Takes everything back, once; then says what was held back. Errors here must not fail the end: a
/// terminal that hung up is no fault of ours.
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
    for line in held_back::end_holding_back() {
        let _ = writeln!(io::stderr(), "{line}");
    }
}
