//! Keys and signals on their way into the view, each read in a thread of its own.

use std::io;
use std::sync::mpsc::Sender;

use crossterm::event::{
    self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};
use rustix::process::Signal;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use super::input::{LiveInput, LiveKey};

/// Reads keys until the terminal is gone or nobody wants them any more.
pub fn read_keys(to: Sender<LiveInput>) -> io::Result<()> {
    std::thread::Builder::new()
        .name("keys".into())
        .spawn(move || {
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
        })?;
    Ok(())
}

fn input_of(event: &Event) -> Option<LiveInput> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(LiveInput::Key(key_of(key)?)),
        Event::Mouse(mouse) => Some(LiveInput::Key(match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => LiveKey::Click(mouse.row),
            MouseEventKind::ScrollUp => LiveKey::Up,
            MouseEventKind::ScrollDown => LiveKey::Down,
            _ => return None,
        })),
        Event::Resize(columns, rows) => Some(LiveInput::Resized(*columns, *rows)),
        _ => None,
    }
}

fn key_of(key: &KeyEvent) -> Option<LiveKey> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(LiveKey::CtrlC),
            KeyCode::Char('z') => Some(LiveKey::CtrlZ),
            KeyCode::Char('p') => Some(LiveKey::Up),
            KeyCode::Char('n') => Some(LiveKey::Down),
            KeyCode::Char('b') => Some(LiveKey::PageUp),
            KeyCode::Char('f') => Some(LiveKey::PageDown),
            _ => None,
        };
    }
    Some(match key.code {
        KeyCode::Char(c) => LiveKey::Char(c),
        KeyCode::Up => LiveKey::Up,
        KeyCode::Down => LiveKey::Down,
        KeyCode::Left | KeyCode::BackTab => LiveKey::Left,
        KeyCode::Right | KeyCode::Tab => LiveKey::Right,
        KeyCode::PageUp => LiveKey::PageUp,
        KeyCode::PageDown => LiveKey::PageDown,
        KeyCode::Home => LiveKey::Home,
        KeyCode::End => LiveKey::End,
        KeyCode::Enter => LiveKey::Enter,
        KeyCode::Esc => LiveKey::Escape,
        KeyCode::Backspace => LiveKey::Backspace,
        _ => return None,
    })
}

/// Listens to the signals that end, stop and continue the process, from the moment that this returns.
pub fn read_signals(to: Sender<LiveInput>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT])?;
    let pass_on = move || {
        for signal in signals.forever() {
            let input = match signal {
                SIGTSTP => LiveInput::Key(LiveKey::CtrlZ),
                SIGCONT => LiveInput::Continued,
                end => LiveInput::Ended(end),
            };
            if to.send(input).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(pass_on)?;
    Ok(())
}
