//! Waiting for conditions. Nothing in these tests sleeps for a fixed time and hopes.

use std::time::{Duration, Instant};

/// Polls until `look` finds something, and returns it; `None` once `timeout` has passed.
pub fn wait_for<T>(timeout: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + timeout;
    loop {
        let looks = Instant::now();
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        // A look that runs a command takes no more than a third of a processor from the processes that it waits for.
        std::thread::sleep((looks.elapsed() * 2).max(Duration::from_millis(5)));
    }
}

/// Polls until `condition` holds; fails the test, naming `what`, once `timeout` has passed.
#[track_caller]
pub fn wait_until(what: &str, timeout: Duration, mut condition: impl FnMut() -> bool) {
    let held = wait_for(timeout, || condition().then_some(()));
    assert!(held.is_some(), "still not so after {timeout:?}: {what}");
}

/// Plays cases beside each other, each in a thread of its own: the time that they wait passes once.
pub fn at_once<Case: Send>(cases: impl IntoIterator<Item = Case>, play: impl Fn(Case) + Sync) {
    std::thread::scope(|scope| {
        for case in cases {
            let play = &play;
            scope.spawn(move || play(case));
        }
    });
}
