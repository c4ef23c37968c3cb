//! Runs blocking work in a thread of its own, for the event loop to wait for. A panic there continues here.

use std::future::Future;

use tokio::task::{JoinError, spawn_blocking};

/// Begins `work` at once; the future waits for its end.
pub fn spawn_io<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = T> {
    let running = spawn_blocking(work);
    async { or_panic(running.await) }
}

/// The result of a thread; its panic continues here.
pub fn or_panic<T>(ended: Result<T, JoinError>) -> T {
    // Our tasks are never aborted before they end, so that an error is a panic.
    ended.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}

#[cfg(test)]
mod tests {
    use super::super::spawn_io::*;

    #[tokio::test]
    async fn thread_panic_reaches_the_waiting_task() {
        assert_eq!(spawn_io(|| 7).await, 7);
        let waiting = tokio::spawn(spawn_io(|| panic!("a bug")));
        let panic = waiting.await.expect_err("it panicked").into_panic();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"a bug"));
    }
}
