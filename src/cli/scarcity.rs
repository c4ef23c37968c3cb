//! Tells a shortage of the system from a bug: libraries panic where they get no thread.

use std::sync::atomic::{AtomicBool, Ordering};

static SEEN: AtomicBool = AtomicBool::new(false);

/// What panics of a shortage say: the error of the system, in words or as its kind.
const WORDS: [&str; 4] = ["Resource temporarily unavailable", "WouldBlock", "Cannot allocate memory", "OutOfMemory"];

/// Watches panics from now on. They are shown as before.
pub fn watch_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if tells_of_a_shortage(&panic.to_string()) {
            SEEN.store(true, Ordering::Relaxed);
        }
        usual(panic);
    }));
}

/// Whether a panic told of a shortage.
pub fn was_seen() -> bool {
    SEEN.load(Ordering::Relaxed)
}

fn tells_of_a_shortage(panic: &str) -> bool {
    WORDS.iter().any(|word| panic.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_for_want_of_a_thread_is_no_bug() {
        for (panic, shortage) in [
            ("panicked at x:\nOS can't spawn worker thread: Resource temporarily unavailable (os error 11)", true),
            (r#"panicked at x:\nvalid name: Os { code: 11, kind: WouldBlock, message: "Resource temporarily unavailable" }"#, true),
            ("panicked at x:\nindex out of bounds", false),
        ] {
            assert_eq!(tells_of_a_shortage(panic), shortage, "{panic}");
        }
    }
}
