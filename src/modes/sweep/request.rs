//! The options of a sweep.

use std::path::PathBuf;
use std::sync::Arc;

use super::report::SweepRow;
use crate::judge::judgement_input::Overrides;

/// Called with each worktree as soon as it is judged: the row, how many are done, and of how many.
pub type SweepRowCallback = Arc<dyn Fn(&SweepRow, usize, usize) + Send + Sync>;

/// The options of a sweep.
#[derive(Clone)]
pub struct SweepRequest {
    /// Repositories, and folders to search for them.
    pub paths: Vec<PathBuf>,
    /// How many worktrees are judged side by side.
    pub jobs: usize,
    /// How many agents are probed side by side.
    pub max_parallel_probes: usize,
    /// The most questions for all worktrees together.
    pub max_probes_total: u32,
    /// The overrides for each judgement; always one round.
    pub overrides: Overrides,
    /// Called for each worktree.
    pub on_row: SweepRowCallback,
}
