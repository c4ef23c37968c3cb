//! The event loop of one command.

use std::time::Duration;

use crate::agent::headroom::look_for_room;
use crate::cli::failure::Failure;
use crate::decision::verdict::Reason;
use crate::supervisor::Signals;

/// Runs something in a runtime of one thread, with signals listened to from the first moment.
pub fn in_runtime<T>(work: impl AsyncFnOnce(&mut Signals) -> T) -> Result<T, Failure> {
    let failed = |error: std::io::Error| Failure::new(Reason::StoreError, format!("failed to start the event loop: {error}"));
    look_for_room().map_err(|why| Failure::new(Reason::StoreError, format!("nothing is begun: {why}")).hint(why.hint()))?;
    // A thread that is there once stays: where no further one can be had, work waits for it instead of failing.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().thread_keep_alive(Duration::MAX).build().map_err(failed)?;
    let done = runtime.block_on(async {
        let _ = tokio::task::spawn_blocking(|| ()).await;
        let mut signals = Signals::listen().map_err(failed)?;
        Ok::<_, Failure>(work(&mut signals).await)
    })?;
    // A thread that still reads output which a survivor holds open must not keep us.
    runtime.shutdown_timeout(Duration::from_millis(100));
    Ok(done)
}
