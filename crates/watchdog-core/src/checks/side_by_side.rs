//! Jobs side by side: a bounded number at a time, begun in their order.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How long the next job waits for the one before it although there is room for both. A job that ends sooner may make the next one
/// needless at no cost; a longer one delays nothing else.
const HEAD_START: Duration = Duration::from_millis(250);

/// Runs the jobs, at most `at_once` at a time. After one whose result is `enough` it starts no further job, and waits for those that run.
/// A job that did not start is `None`.
pub(super) fn side_by_side<T: Send>(
    count: usize,
    at_once: usize,
    job: impl Fn(usize) -> T + Sync,
    enough: impl Fn(&T) -> bool,
) -> Vec<Option<T>> {
    let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let span = tracing::Span::current();
    let job = &|n| span.in_scope(|| job(n));
    thread::scope(|scope| {
        let (sender, ended) = mpsc::channel();
        let (mut next, mut running, mut over) = (0, 0, false);
        loop {
            let begins = !over && next < count && running < at_once.max(1);
            if begins {
                let n = next;
                // A job that panics must report it, or its waiter would block.
                let run = move |sender: &mpsc::Sender<_>| {
                    sender.send((n, catch_unwind(AssertUnwindSafe(|| job(n)))))
                };
                let there = sender.clone();
                if thread::Builder::new()
                    .spawn_scoped(scope, move || run(&there))
                    .is_err()
                {
                    // No further thread may be had; the receiver is held here.
                    let _ = run(&sender);
                }
                next += 1;
                running += 1;
            } else if running == 0 {
                return;
            }
            let message = match begins && next < count && running < at_once {
                true => ended.recv_timeout(HEAD_START),
                false => ended.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok((n, Ok(result))) => {
                    running -= 1;
                    over |= enough(&result);
                    results[n] = Some(result);
                }
                Ok((_, Err(panicked))) => resume_unwind(panicked),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("one sender is held here"),
            }
        }
    });
    results
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Barrier, Mutex};

    use super::*;

    #[test]
    fn slow_jobs_run_in_parallel_within_capacity() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        // No job passes the barrier alone.
        let pairs = Barrier::new(2);
        let job = |n: usize| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            pairs.wait();
            running.fetch_sub(1, Ordering::SeqCst);
            n * 10
        };
        let results = side_by_side(4, 2, job, |_| false);
        assert_eq!(results, [Some(0), Some(10), Some(20), Some(30)]);
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn sufficient_quick_job_prevents_later_jobs() {
        let begun = Mutex::new(Vec::new());
        let job = |n: usize| {
            begun.lock().unwrap().push(n);
            n
        };
        assert_eq!(
            side_by_side(3, 3, job, |n| *n == 1),
            [Some(0), Some(1), None]
        );
        assert_eq!(*begun.lock().unwrap(), [0, 1]);
        assert_eq!(side_by_side(0, 3, job, |_| false), []);
        assert_eq!(
            side_by_side(2, 0, |n| n, |_| false),
            [Some(0), Some(1)],
            "no room at all would be no progress"
        );
    }

    #[test]
    fn a_panic_is_not_swallowed() {
        let result = catch_unwind(|| side_by_side(2, 2, |n| assert_ne!(n, 0, "a bug"), |_| false));
        assert!(result.is_err());
    }
}
