//! Reads the facts for the claims of an agent's last words: git's, and the calls of its transcript.

use std::path::Path;
use std::time::Duration;

use watchdog_agent::claim_facts::{WorkFacts, weigh_claim};
use watchdog_agent::session_history::SessionHistory;
use watchdog_agent::transcript;
use watchdog_agent::work_claims::{StatedClaim, read_work_claims};
use watchdog_core::decision::beside_claim::dispute_claims;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::verdict::Verdict;
use watchdog_facts::work_claim::WeighedClaim;
use watchdog_process::ProgramRun;

use super::executor::ActionExecutor;
use super::judgement_input::JudgementInput;
use super::session_work;

/// The longest wait for GitHub.
const PATIENCE: Duration = Duration::from_secs(5);

/// Each claim with the fact that decides.
pub fn weigh_claims(
    input: &JudgementInput,
    claims: Vec<StatedClaim>,
    history: &SessionHistory,
) -> Result<Vec<WeighedClaim>, UnreadableFact> {
    let worktree = input.worktree();
    let commits = worktree.session_commits(&input.baseline, &input.evidence)?;
    let work = session_work::read_uncommitted(&worktree, &input.work)?;
    let facts = WorkFacts {
        root: &input.root,
        commits: &commits,
        is_at_baseline: worktree.head()? == input.baseline,
        changes: &work.changes,
        unpushed: worktree.read_remote_state()?.count_ahead(),
        history,
        exists: &|path| path.symlink_metadata().is_ok(),
        has_pull_request: &|subject| find_pull_request(&input.root, subject),
    };
    let weigh = |read: StatedClaim| {
        let (state, fact) = weigh_claim(&read, &facts);
        WeighedClaim {
            claim: read.claim.as_str().to_owned(),
            state,
            fact,
            quote: read.quote,
        }
    };
    Ok(claims.into_iter().map(weigh).collect())
}

/// Whether GitHub has a pull request, by `gh`; `None` without it, its login or the network.
fn find_pull_request(root: &Path, subject: &str) -> Option<bool> {
    let mut view = ProgramRun::new(["gh", "pr", "view", subject, "--json", "number"], root);
    view.deadline = PATIENCE;
    let answer = view.run().ok()?;
    let stderr = String::from_utf8_lossy(&answer.stderr.bytes);
    let is_refused = stderr.contains("Could not resolve to a PullRequest");
    (answer.exit.success() || is_refused).then_some(!is_refused)
}

impl ActionExecutor {
    /// Names the claims of the last words. A verdict that rests on such words alone is disputed by a contradicted one.
    pub fn settle_claims(&self, mut verdict: Verdict) -> Verdict {
        let words = self.context.output.as_deref().unwrap_or_default();
        let claims = read_work_claims(words);
        if claims.is_empty() || self.input.recorded_at.is_none() || self.input.overrides.once {
            return verdict;
        }
        let folder = self.input.session_folder(self.store.as_ref());
        let transcript = self
            .session_id
            .as_deref()
            .and_then(|id| transcript::find_session(folder, &self.command_env.claude_home, id));
        let path = transcript.as_ref().map(|transcript| &*transcript.path);
        let history = SessionHistory::read_from(path, folder);
        match weigh_claims(&self.input, claims, &history) {
            Ok(claims) => verdict.claims = claims,
            Err(unread) => {
                let why = unread.why;
                verdict.message = format!(
                    "{}; its last words were not compared: {why}",
                    verdict.message
                );
            }
        }
        dispute_claims(verdict)
    }
}
