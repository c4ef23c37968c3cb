//! How long this process waits for whoever has the database. The first wait may take the whole
//! patience; where it was in vain, those after it are short, so that a command that writes five
//! rows does not wait five times for a lock that nobody frees.

use std::cell::Cell;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use watchdog_system::lock_mutex;

/// Longest wait for other processes. Busy disks were seen to need almost four seconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// The first wait after one that was in vain; each one that is in vain as well halves it. All of them together take twice as long.
const SHORT: Duration = Duration::from_millis(100);
/// So long after a wait in vain the whole patience is back, for commands that run for days.
const RECOVERY: Duration = Duration::from_secs(60);

/// The waits of one process that were in vain since it last got a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct VainWaits {
    /// When a wait used up the whole patience.
    since: Instant,
    /// How many short ones were in vain after it.
    short: u32,
}

/// Shared by all threads of this process.
static VAIN: Mutex<Option<VainWaits>> = Mutex::new(None);

thread_local! {
    /// When the wait in progress began.
    static BEGUN: Cell<Option<Instant>> = const { Cell::new(None) };
}

impl VainWaits {
    /// How long a wait may take at this moment.
    fn patience(vain: Option<VainWaits>, now: Instant) -> Duration {
        match vain {
            Some(vain) if now.saturating_duration_since(vain.since) < RECOVERY => {
                SHORT.checked_div(1 << vain.short.min(16)).unwrap_or(SHORT)
            }
            Some(_) | None => PATIENCE,
        }
    }

    /// The state after a wait in vain that ended now.
    fn after(vain: Option<VainWaits>, now: Instant) -> VainWaits {
        match vain {
            Some(vain) if now.saturating_duration_since(vain.since) < RECOVERY => VainWaits {
                short: vain.short.saturating_add(1),
                ..vain
            },
            Some(_) | None => VainWaits {
                since: now,
                short: 0,
            },
        }
    }
}

/// SQLite's question whether to try once more. Its own handler sleeps up to 100 ms at a time, and a process that is unlucky with that
/// starves behind those that are awake more often.
pub(crate) fn try_again(tries: i32) -> bool {
    const QUICK: i32 = 100;
    let now = Instant::now();
    if tries == 0 {
        BEGUN.set(Some(now));
    }
    if !goes_on(BEGUN.get().unwrap_or(now)) {
        return false;
    }
    // After a sleep there is always another try, however long the process stood still meanwhile.
    std::thread::sleep(if tries < QUICK {
        Duration::from_millis(1)
    } else {
        Duration::from_millis(5)
    });
    true
}

/// Whether a wait that began then goes on. Notes one that does not.
pub(crate) fn goes_on(begun: Instant) -> bool {
    let now = Instant::now();
    let mut vain = lock_mutex(&VAIN);
    let goes_on = now.saturating_duration_since(begun) < VainWaits::patience(*vain, now);
    if !goes_on {
        *vain = Some(VainWaits::after(*vain, now));
    }
    goes_on
}

/// Notes that this process got the right to write: whoever held it has freed it, and the next wait may take the whole patience.
pub(crate) fn got_it() {
    *lock_mutex(&VAIN) = None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_wait_uses_full_patience_later_waits_little() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(VainWaits::patience(None, at(0)), PATIENCE);
        let first = VainWaits::after(None, at(10));
        assert_eq!(
            first,
            VainWaits {
                since: at(10),
                short: 0
            }
        );
        let mut vain = Some(first);
        let mut together = Duration::ZERO;
        for _ in 0..5_000 {
            together += VainWaits::patience(vain, at(11));
            vain = Some(VainWaits::after(vain, at(11)));
        }
        assert_eq!(VainWaits::patience(Some(first), at(11)), SHORT);
        assert!(together < Duration::from_millis(250), "{together:?}");
        assert_eq!(
            vain.map(|vain| vain.since),
            Some(at(10)),
            "short waits put the recovery off for nobody"
        );
    }

    #[test]
    fn the_whole_patience_is_back_after_a_while() {
        let since = Instant::now();
        for short in [0, 1, 40, u32::MAX] {
            let vain = Some(VainWaits { since, short });
            assert!(
                VainWaits::patience(vain, since + RECOVERY - Duration::from_millis(1)) <= SHORT,
                "{short}"
            );
            assert_eq!(
                VainWaits::patience(vain, since + RECOVERY),
                PATIENCE,
                "{short}"
            );
            let again = since + RECOVERY + PATIENCE;
            assert_eq!(
                VainWaits::after(vain, again),
                VainWaits {
                    since: again,
                    short: 0
                },
                "{short}"
            );
        }
    }

    #[test]
    fn acquired_lock_restores_the_full_patience() {
        let long_ago = Instant::now()
            .checked_sub(PATIENCE)
            .expect("the machine runs for longer");
        assert!(!goes_on(long_ago), "the whole patience is used up");
        assert!(
            !goes_on(long_ago),
            "so is the short one, as for another thread that waited as long"
        );
        got_it();
        assert!(goes_on(Instant::now()));
        assert_eq!(*VAIN.lock().unwrap(), None);
    }
}
