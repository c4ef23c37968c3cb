//! A person's request that a loop pauses: it ends between two iterations, where the signals that end it would end its session.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Whether a pause was asked for.
#[derive(Debug, Clone)]
pub struct PauseRequest(watch::Receiver<bool>);

impl PauseRequest {
    /// Listens from now on to USR1. Must be called inside the runtime.
    ///
    /// # Errors
    /// When the system refuses to register the signal.
    pub fn listen() -> std::io::Result<Self> {
        let (sender, receiver) = watch::channel(false);
        let mut stream = signal(SignalKind::user_defined1())?;
        tokio::spawn(async move {
            while stream.recv().await.is_some() {
                sender.send_replace(true);
            }
        });
        Ok(PauseRequest(receiver))
    }

    /// One that never comes, for loops that others end.
    pub fn none() -> Self {
        PauseRequest(watch::channel(false).1)
    }

    /// Whether it came.
    pub fn came(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for it.
    pub async fn wait(&mut self) {
        if self.0.wait_for(|came| *came).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
