//! Renews a lease while its task is worked on.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use watchdog_store::{SharedStore, StoreError};

/// A lease that is renewed in the background until this is dropped.
pub struct RenewedLease {
    beating: JoinHandle<()>,
    lost: watch::Receiver<bool>,
}

impl RenewedLease {
    /// Calls `renew` three times in each `ttl`; one that answers `false`, or cannot answer for a whole `ttl`, means that the lease is lost.
    pub fn start(
        store: Arc<dyn SharedStore>,
        ttl: Duration,
        renew: impl Fn(&dyn SharedStore, Duration) -> Result<bool, StoreError> + Send + Sync + 'static,
    ) -> Self {
        let (sender, lost) = watch::channel(false);
        let renew = Arc::new(renew);
        let beating = tokio::spawn(async move {
            let mut stands_until = Instant::now() + ttl;
            loop {
                tokio::time::sleep(ttl / 3).await;
                let (store, renew) = (Arc::clone(&store), Arc::clone(&renew));
                let renewed_at = Instant::now();
                let answer = tokio::task::spawn_blocking(move || renew(store.as_ref(), ttl)).await;
                match answer {
                    Ok(Ok(true)) => stands_until = renewed_at + ttl,
                    Ok(Ok(false)) => break,
                    // Retries a store that is busy, or a disk that is full for a moment, while the lease can still be valid.
                    Ok(Err(_)) | Err(_) if Instant::now() < stands_until => {}
                    Ok(Err(_)) | Err(_) => break,
                }
            }
            let _ = sender.send(true);
        });
        RenewedLease { beating, lost }
    }

    /// Whether it is lost by now.
    pub fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }

    /// Completes when it is lost; never, where it is released in time.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + 'static {
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
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::super::lease::*;
    use watchdog_store::{StateDir, open_store};

    fn store() -> (tempfile::TempDir, Arc<dyn SharedStore>) {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let state = StateDir::resolve(Some(scratch.path().join("state")), None, None).expect("a folder");
        state.ensure().expect("it can be made");
        let store = open_store(&state).expect("a store");
        (scratch, store)
    }

    #[tokio::test]
    async fn a_lease_that_somebody_else_has_is_told_as_lost() {
        let (_scratch, store) = store();
        let renewals = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&renewals);
        let kept = RenewedLease::start(store, Duration::from_millis(30), move |_, _| Ok(count.fetch_add(1, Ordering::Relaxed) < 2));
        assert!(!kept.is_lost());
        kept.lost().await;
        assert!(kept.is_lost());
        assert_eq!(renewals.load(Ordering::Relaxed), 3, "twice it stood");
    }

    #[tokio::test]
    async fn a_store_that_cannot_answer_for_a_whole_lease_loses_it() {
        let (_scratch, store) = store();
        let bad = || StoreError::BadRecord { what: "lease".into(), why: "test".into() };
        let kept = RenewedLease::start(store, Duration::from_millis(30), move |_, _| Err(bad()));
        kept.lost().await;
        assert!(kept.is_lost());
    }
}
