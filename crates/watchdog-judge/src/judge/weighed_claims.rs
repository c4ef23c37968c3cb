//! Reads the facts for the claims of an agent's last words: git's, and the calls of its transcript.

use std::path::Path;

use watchdog_agent::claim_facts::{ClaimState, WorkFacts, weigh_claim};
use watchdog_agent::session_history::SessionHistory;
use watchdog_agent::work_claims::WorkClaim;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_git::RemoteState;

use super::judgement_input::JudgementInput;
use super::session_work;

/// The words of each claim, its state, and the fact that decides.
pub fn weigh_claims(
    input: &JudgementInput,
    claims: Vec<(WorkClaim, String)>,
    transcript: Option<&Path>,
) -> Result<Vec<(String, ClaimState, String)>, UnreadableFact> {
    let worktree = input.worktree();
    let commits = worktree.session_commits(&input.baseline, &input.evidence)?;
    let work = session_work::read_uncommitted(&worktree, &input.work)?;
    let facts = WorkFacts {
        root: &input.root,
        commits: &commits,
        is_at_baseline: worktree.head()? == input.baseline,
        changes: &work.changes,
        unpushed: match worktree.read_remote_state()? {
            RemoteState::Yes => Some(0),
            RemoteState::No { ahead } => Some(ahead),
            RemoteState::NoRemote | RemoteState::Unborn => None,
        },
        history: &SessionHistory::read_from(transcript),
    };
    let weigh = |(claim, quote)| {
        let (state, fact) = weigh_claim(claim, &facts);
        (quote, state, fact)
    };
    Ok(claims.into_iter().map(weigh).collect())
}
