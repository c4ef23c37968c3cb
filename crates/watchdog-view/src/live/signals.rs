//! Keys and signals on their way into the view, each read in a thread of its own.

use std::io;
use std::sync::mpsc::Sender;

use crossterm::event::{
    self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};
use rustix::process::Signal;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use super::input::LiveInput;

/// Reads keys until the terminal is gone or nobody wants them any more.
pub fn read_keys(to: Sender<LiveInput>) -> io::Result<()> {
    spawn_reader("keys", move || {
        loop {
            let input = match event::read() {
                Ok(event) => input_of(&event),
                // It hung up.
                Err(_) => Some(LiveInput::Ended(Signal::HUP.as_raw())),
            };
            let ended = matches!(input, Some(LiveInput::Ended(_)));
            if input.is_some_and(|input| to.send(input).is_err()) || ended {
                return;
            }
        }
    })
}

fn input_of(event: &Event) -> Option<LiveInput> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key_input(key),
        Event::Mouse(mouse) => Some(match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => LiveInput::Click(mouse.row),
            MouseEventKind::ScrollUp => LiveInput::Key(KeyCode::Up),
            MouseEventKind::ScrollDown => LiveInput::Key(KeyCode::Down),
            _ => return None,
        }),
        Event::Resize(columns, rows) => Some(LiveInput::Resized(*columns, *rows)),
        _ => None,
    }
}

fn key_input(key: &KeyEvent) -> Option<LiveInput> {
    use KeyCode::{
        BackTab, Backspace, Char, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Tab,
        Up,
    };
    let code = match (key.modifiers.contains(KeyModifiers::CONTROL), key.code) {
        (true, Char('c')) => return Some(LiveInput::Interrupted),
        (true, Char('z')) => return Some(LiveInput::Suspended),
        (true, Char('p')) => Up,
        (true, Char('n')) => Down,
        (true, Char('b')) => PageUp,
        (true, Char('f')) => PageDown,
        (false, BackTab) => Left,
        (false, Tab) => Right,
        (false, code @ (Char(_) | Up | Down | Left | Right | PageUp | PageDown | Home)) => code,
        (false, code @ (End | Enter | Esc | Backspace)) => code,
        _ => return None,
    };
    Some(LiveInput::Key(code))
}

/// Listens to the signals that end, stop and continue the process, from the moment that this returns.
pub fn read_signals(to: Sender<LiveInput>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT])?;
    let pass_on = move || {
        for signal in signals.forever() {
            let input = match signal {
                SIGTSTP => LiveInput::Suspended,
                SIGCONT => LiveInput::Continued,
                end => LiveInput::Ended(end),
            };
            if to.send(input).is_err() {
                return;
            }
        }
    };
    spawn_reader("signals", pass_on)
}

/// Begins a thread that ends with the view.
pub fn spawn_reader(name: &str, read: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = std::thread::Builder::new().name(name.into());
    thread.spawn(read).map(drop)
}
