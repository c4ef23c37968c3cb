//! The options of a watch.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::judge::judgement_input::Overrides;
use crate::wire::verdict_json::Judgement;

/// The options of a watch.
#[derive(Clone)]
pub struct WatchRequest {
    /// Repositories, and folders to search for them.
    pub paths: Vec<PathBuf>,
    /// The overrides for each judgement.
    pub overrides: Overrides,
    /// Whether to probe the agent also where no session ended.
    pub probe: bool,
    /// Watch work trees too, and judge uncommitted changes that were left alone for so long.
    pub quiet_for: Option<Duration>,
    /// How often to scan where the system allows no watch.
    pub poll: Duration,
    /// Only scan every so often.
    pub poll_only: bool,
    /// How many judgements at the same time.
    pub jobs: usize,
    /// Called with each judgement; `false` ends the watch, as the output is closed.
    pub on_row: Arc<dyn Fn(&Judgement) -> bool>,
    /// Whether the output is still open, asked from time to time between judgements.
    pub has_readers: Arc<dyn Fn() -> bool>,
}
