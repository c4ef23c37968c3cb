//! Tells a shortage of the system from a bug: libraries panic where they get no thread.

use std::sync::OnceLock;

use watchdog_facts::shortage::{Shortage, shortage_in};

static SEEN: OnceLock<Shortage> = OnceLock::new();

/// Watches panics from now on. Those of a shortage, and what panics after it, are the log's: the command says in plain words what was short.
pub fn watch_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(shortage) = shortage_in(&panic.to_string()) {
            // The first one tells what began to be short.
            let _ = SEEN.set(shortage);
        }
        if get_shortage().is_some() {
            tracing::info!(target: "watchdog::decision", panic = %panic, "a library panicked for want of room");
        } else {
            usual(panic);
        }
    }));
}

/// Returns the shortage that a panic reported, if any.
pub fn get_shortage() -> Option<Shortage> {
    SEEN.get().copied()
}
