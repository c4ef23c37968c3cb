//! Reads the facts for the claims of an agent's last words: git's, and the calls of its transcript.

use std::path::Path;

use watchdog_agent::claim_facts::{WorkFacts, weigh_claim};
use watchdog_agent::session_history::SessionHistory;
use watchdog_agent::work_claims::ReadClaim;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::work_claim::WeighedClaim;
use watchdog_git::RemoteState;

use super::judgement_input::JudgementInput;
use super::session_work;

/// The state of each claim. A transcript that cannot be read shows nothing.
pub fn weigh_claims(
    input: &JudgementInput,
    claims: Vec<ReadClaim>,
    transcript: Option<&Path>,
) -> Result<Vec<(ReadClaim, WeighedClaim)>, UnreadableFact> {
    let history = transcript.and_then(|path| SessionHistory::read_from(path).ok());
    let worktree = input.worktree();
    let commits = worktree.session_commits(&input.baseline, &input.evidence)?;
    let work = session_work::read_uncommitted(&worktree, &input.work)?;
    let unpushed = match worktree.read_remote_state()? {
        RemoteState::Yes => Some(0),
        RemoteState::No { ahead } => Some(ahead),
        RemoteState::NoRemote | RemoteState::Unborn => None,
    };
    let facts = WorkFacts {
        root: &input.root,
        commits: &commits,
        changes: &work.changes,
        unpushed,
        history: &history.unwrap_or_else(SessionHistory::unread),
        head_has: &|path| worktree.head_has(path).ok(),
        is_on_disk: &|path| std::fs::symlink_metadata(input.root.join(path)).is_ok(),
    };
    let weigh = |read: ReadClaim| {
        let weighed = weigh_claim(&read, &facts);
        (read, weighed)
    };
    Ok(claims.into_iter().map(weigh).collect())
}
