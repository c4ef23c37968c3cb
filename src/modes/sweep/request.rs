//! What a sweep is asked to do.

use std::path::PathBuf;
use std::sync::Arc;

use super::report::SweepRow;
use crate::judge::judgement_input::Overrides;

/// Hears of each worktree as soon as it is looked at: the row, how many were looked at, and of how many.
pub type OnRow = Arc<dyn Fn(&SweepRow, usize, usize) + Send + Sync>;

/// What to sweep.
#[derive(Clone)]
pub struct SweepRequest {
    /// Repositories, and folders to search for them.
    pub paths: Vec<PathBuf>,
    /// How many worktrees are looked at side by side.
    pub jobs: usize,
    /// How many agents are asked side by side.
    pub max_parallel_probes: usize,
    /// How many questions all worktrees together may cost.
    pub max_probes_total: u32,
    /// What the command line asks of each judgement; always one round.
    pub asked: Overrides,
    /// Who hears of each worktree.
    pub on_row: OnRow,
}
