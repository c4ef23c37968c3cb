//! What a rescue would do, without doing it.

use crate::config::settings::{RescueMode, RescueSettings};
use crate::decision::evidence::LeftOut;
use crate::git::{Error, Snapshot, Worktree};

use super::selection::select;
use super::single::obstacle;

/// What a rescue would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// Paths that would be committed, in git's order.
    pub chosen: Vec<String>,
    /// Paths that would stay out, and why.
    pub left_out: Vec<LeftOut>,
    /// Why nothing would be committed at all.
    pub refused: Option<String>,
}

/// Says what a rescue of this snapshot would commit and what it would leave alone.
///
/// # Errors
/// When git's data cannot be read.
pub fn preview(worktree: &Worktree, settings: &RescueSettings, snapshot: &Snapshot) -> Result<Preview, Error> {
    let paths = worktree.snapshot_paths(&snapshot.commit)?;
    let selection = select(&paths, settings);
    let refused = match settings.mode {
        RescueMode::Snapshot | RescueMode::Off => Some("the rescue mode asks for no commit".to_string()),
        RescueMode::Command => Some("the rescue command decides".to_string()),
        RescueMode::Plan | RescueMode::Single => {
            let many =
                selection.too_many.map(|many| format!("{many} files are more than rescue.max_files ({}) allows", settings.max_files));
            obstacle(&worktree.commit_state()?, settings).or(many)
        }
    };
    let mut left_out = snapshot.left_out.clone();
    left_out.extend(selection.left_out);
    Ok(Preview { chosen: selection.commit.iter().map(|path| path.text.clone()).collect(), left_out, refused })
}
