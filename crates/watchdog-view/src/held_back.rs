//! Holds back messages of commands while the live view has the terminal, for the view to show.

use std::sync::Mutex;

use watchdog_system::lock_mutex;

/// The lines, while they are held back.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// From now on lines are held back.
pub fn begin_holding_back() {
    lock_mutex(&HELD).get_or_insert_default();
}

/// Keeps a text where it is held back, its colours left out; says whether it is.
pub fn hold_back_text(text: &str) -> bool {
    match lock_mutex(&HELD).as_mut() {
        Some(held_lines) => {
            held_lines.extend(
                anstream::adapter::strip_str(text)
                    .to_string()
                    .lines()
                    .map(str::to_owned),
            );
            true
        }
        None => false,
    }
}

/// The lines that were held back so far; further ones are held back, too.
pub fn take_held_lines() -> Vec<String> {
    lock_mutex(&HELD)
        .as_mut()
        .map(std::mem::take)
        .unwrap_or_default()
}

/// The lines that nobody took; nothing is held back any more.
pub fn end_holding_back() -> Vec<String> {
    lock_mutex(&HELD).take().unwrap_or_default()
}
