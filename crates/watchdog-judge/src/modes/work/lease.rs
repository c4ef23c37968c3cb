//! Renews a lease while its task is worked on, and knows until when it surely stands.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::boot_clock::BootMoment;
use watchdog_store::StoreError;
use watchdog_system::lock_mutex;

/// How often to look at the clock, which goes on while this machine sleeps or this process is stopped.
const CLOCK_CHECK: Duration = Duration::from_secs(1);

/// A lease that is renewed in the background until this is dropped.
pub struct RenewedLease {
    beating: JoinHandle<()>,
    shared: Arc<LeaseState>,
    lost: watch::Receiver<bool>,
}

struct LeaseState {
    /// Until then it surely stands.
    until: Mutex<BootMoment>,
    /// The store says that it has ended.
    ended: AtomicBool,
}

impl LeaseState {
    fn until(&self) -> BootMoment {
        *lock_mutex(&self.until)
    }

    fn is_lost(&self) -> bool {
        self.ended.load(Ordering::SeqCst) || self.until().is_past()
    }
}

impl RenewedLease {
    /// Calls `renew` three times in each `ttl`; one that answers `false`, or cannot answer for a whole `ttl`, means that the lease is lost.
    /// `requested_at` is a moment before the lease was asked for: by the clock of whoever gave it, it ends no earlier than `ttl` after that.
    pub fn start(
        requested_at: BootMoment,
        ttl: Duration,
        renew: impl Fn(Duration) -> Result<bool, StoreError> + Send + Sync + 'static,
    ) -> Self {
        let (sender, lost) = watch::channel(false);
        let renew = Arc::new(renew);
        let shared = Arc::new(LeaseState {
            until: Mutex::new(requested_at.after(ttl)),
            ended: AtomicBool::new(false),
        });
        let state = Arc::clone(&shared);
        let beating = tokio::spawn(async move {
            while !state.is_lost() {
                // Once it cannot be proven any more, nothing waits for an answer.
                let due = BootMoment::now().after(ttl / 3);
                while !due.is_past() && !state.is_lost() {
                    tokio::time::sleep(due.remaining().min(CLOCK_CHECK)).await;
                }
                let sent = BootMoment::now();
                let renew = Arc::clone(&renew);
                let mut answer = tokio::task::spawn_blocking(move || renew(ttl));
                let answer = loop {
                    tokio::select! {
                        answer = &mut answer => break Some(answer),
                        () = tokio::time::sleep(state.until().remaining().min(CLOCK_CHECK)) => {}
                    }
                    if state.is_lost() {
                        break None;
                    }
                };
                match answer {
                    Some(Ok(Ok(true))) if !state.is_lost() => {
                        *lock_mutex(&state.until) = sent.after(ttl)
                    }
                    Some(Ok(Ok(false))) => state.ended.store(true, Ordering::SeqCst),
                    // Retries a store that is busy, or a disk that is full for a moment, while the lease can still be valid.
                    _ => {}
                }
            }
            state.ended.store(true, Ordering::SeqCst);
            let _ = sender.send(true);
        });
        RenewedLease {
            beating,
            shared,
            lost,
        }
    }

    /// Whether it is lost, or cannot be proven to stand, by now.
    pub fn is_lost(&self) -> bool {
        self.shared.is_lost()
    }

    /// Completes when it is lost; never, where it is released in time.
    pub fn wait_until_lost(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut lost = self.lost.clone();
        async move {
            if lost.wait_for(|lost| *lost).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Drop for RenewedLease {
    fn drop(&mut self) {
        self.beating.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::super::lease::*;

    const TTL: Duration = Duration::from_millis(300);

    #[tokio::test]
    async fn lease_taken_by_another_is_reported_lost() {
        let renewals = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&renewals);
        let long = Duration::from_secs(3);
        let lease = RenewedLease::start(BootMoment::now(), long, move |_| {
            Ok(count.fetch_add(1, Ordering::Relaxed) < 1)
        });
        assert!(!lease.is_lost());
        lease.wait_until_lost().await;
        assert!(lease.is_lost());
        assert_eq!(renewals.load(Ordering::Relaxed), 2, "once it stood");
    }

    #[tokio::test]
    async fn store_failing_for_whole_lease_loses_it() {
        let bad = || StoreError::BadRecord {
            what: "lease".into(),
            why: "test".into(),
        };
        let lease = RenewedLease::start(BootMoment::now(), TTL, move |_| Err(bad()));
        lease.wait_until_lost().await;
        assert!(lease.is_lost());
    }

    #[tokio::test]
    async fn unresponsive_store_loses_lease_at_possible_expiry() {
        let (keep, waits) = std::sync::mpsc::channel::<()>();
        let waits = Mutex::new(waits);
        let begun = BootMoment::now();
        let lease = RenewedLease::start(begun, TTL, move |_| {
            let _ = waits.lock().expect("no panic").recv();
            Ok(true)
        });
        lease.wait_until_lost().await;
        assert!(begun.after(TTL).is_past() && lease.is_lost());
        drop(keep);
    }

    #[tokio::test]
    async fn lease_requested_too_long_ago_starts_lost() {
        let asked = BootMoment::now();
        std::thread::sleep(Duration::from_millis(20));
        let lease = RenewedLease::start(asked, Duration::from_millis(10), |_| Ok(true));
        assert!(
            lease.is_lost(),
            "no answer that comes later makes it stand again"
        );
        lease.wait_until_lost().await;
    }
}
