//! The preview of a rescue: changes nothing.

use watchdog_core::config::settings::{RescueMode, RescueSettings};
use watchdog_facts::evidence::LeftOut;
use watchdog_git::{Error, Worktree};

use super::choice::choose_on_disk;
use super::single::{find_obstacle, find_protection};

/// The preview of a rescue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RescuePreview {
    /// Paths that would be committed, in git's order.
    pub chosen: Vec<String>,
    /// Paths that would stay out, and why.
    pub left_out: Vec<LeftOut>,
    /// Why nothing would be committed, or not on this branch.
    pub refused: Option<String>,
}

/// Lists the paths that a rescue would commit now and those that it would leave out. Writes nothing, not even a snapshot.
///
/// # Errors
/// When git's data cannot be read.
pub fn preview_rescue(
    worktree: &Worktree,
    settings: &RescueSettings,
) -> Result<RescuePreview, Error> {
    let uncommitted = worktree.read_uncommitted()?;
    let choice = choose_on_disk(worktree, settings, &uncommitted.paths)?;
    let refused = match settings.mode {
        RescueMode::Snapshot | RescueMode::Off => {
            Some("the rescue mode asks for no commit".to_string())
        }
        RescueMode::Command => Some("the rescue command decides".to_string()),
        RescueMode::Plan | RescueMode::Single => {
            let state = worktree.commit_state()?;
            let protected = find_protection(&state, settings)
                .map(|why| format!("{why}, so that they would go to a branch of their own"));
            find_obstacle(&state).or(choice.refused).or(protected)
        }
    };
    let mut left_out = uncommitted.left_out;
    left_out.extend(choice.left_out);
    Ok(RescuePreview {
        chosen: choice.commit.iter().map(|path| path.text.clone()).collect(),
        left_out,
        refused,
    })
}
