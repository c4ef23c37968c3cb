//! The event loop of one command.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::cli::failure::CommandFailure;
use watchdog_judge::judge::signals::SignalState;
use watchdog_process::headroom::check_headroom;

/// Threads for work that blocks, beside those of a session: a judgement, a process that is waited for, a search, a lease that is renewed.
const THREADS: usize = 4;

/// Has all of them started now, so that none need be had in the midst of something. Each waits for the last, as one that is free would be used again.
async fn hold_threads() {
    let (all_there, waits) = std::sync::mpsc::channel::<()>();
    let waits = Arc::new(Mutex::new(waits));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let waits = Arc::clone(&waits);
            tokio::task::spawn_blocking(move || drop(waits.lock().map(|waits| waits.recv())))
        })
        .collect();
    drop(all_there);
    for thread in threads {
        // It waits for nothing but this.
        let _ = thread.await;
    }
}

/// Runs something in a runtime of one thread, with signals listened to from the first moment.
pub fn in_runtime<T>(work: impl AsyncFnOnce(&mut SignalState) -> T) -> Result<T, CommandFailure> {
    let failed = |error: std::io::Error| {
        CommandFailure::store_failure(format!("failed to start the event loop: {error}"))
    };
    check_headroom().map_err(|why| {
        CommandFailure::store_failure(format!("nothing is begun: {why}")).hint(why.hint())
    })?;
    // A thread that is there once stays: where no further one can be had, work waits for it instead of failing.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_keep_alive(Duration::MAX)
        .build()
        .map_err(failed)?;
    let done = runtime.block_on(async {
        hold_threads().await;
        let mut signals = SignalState::listen().map_err(failed)?;
        Ok::<_, CommandFailure>(work(&mut signals).await)
    })?;
    // A thread that still reads output which a survivor holds open must not keep us.
    runtime.shutdown_timeout(Duration::from_millis(100));
    Ok(done)
}
