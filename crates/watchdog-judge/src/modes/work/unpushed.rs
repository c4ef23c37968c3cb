//! Work that may be complete already: its push is missing, or its worker stopped before it could say so. It is judged as it is now, before
//! anybody pays for a session.

use std::sync::Arc;

use super::task::ClaimedWork;
use crate::clock::now;
use crate::judge::admission::PreparedJudgement;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::EffectiveConfig;
use crate::judge::judgement_input::{JudgementInput, Overrides};
use crate::judge::judgement_run::ObservedSession;
use crate::judge::live_session::RunningSession;
use crate::judge::open_worktree::OpenWorktree;
use crate::judge::signals::SignalState;
use crate::judge::spawn_io::spawn_io;
use crate::session::RecordedBaseline;
use crate::tasks::task_board::LEASE_ENDED;
use crate::wire::verdict_json::Judgement;
use watchdog_core::config::task_file::TaskStatus;
use watchdog_facts::verdict::{Reason, Status};
use watchdog_git::HistoryPoint;

impl ClaimedWork {
    /// The judgement of work that an earlier worker may have completed; `None` = a session is
    /// needed. It sends no question, and makes no commit.
    pub(super) async fn judged_again(
        &self,
        around: &CommandEnv,
        effective: &EffectiveConfig,
        travels: bool,
        signals: &SignalState,
    ) -> Option<Judgement> {
        let earlier = self.earlier_work(!effective.settings.checks.is_empty(), travels)?;
        let overrides = Overrides {
            no_probe: true,
            no_rescue: true,
            ..self.options.overrides.clone()
        };
        let (around, effective, signals, id) = (
            around.clone(),
            effective.clone(),
            signals.clone(),
            self.options.id.clone(),
        );
        let judgement = spawn_io(move || {
            let open = OpenWorktree::open(&around).ok()?;
            let HistoryPoint::Commit(head) = open.worktree.head().ok()? else {
                return None;
            };
            let _lock = open.lock(&around, "watchdog task", false).ok()?;
            let (recorded, is_known) = match earlier {
                EarlierWork::Unpushed(commit) if commit == head => {
                    (open.recorded_baseline(Some(&id)).ok()??, true)
                }
                EarlierWork::Abandoned(baseline)
                    if is_judgeable(&around, &open, &id, (&baseline, &head))? =>
                {
                    (
                        RecordedBaseline::made_up(id, HistoryPoint::Commit(baseline), now()),
                        false,
                    )
                }
                EarlierWork::Unpushed(_) | EarlierWork::Abandoned(_) => return None,
            };
            let store = Arc::clone(&open.store);
            let input = JudgementInput::new(open, recorded, is_known, effective, overrides);
            Some(
                PreparedJudgement::new(&around, input, store, now())
                    .judge_here(ObservedSession::default(), &signals),
            )
        })
        .await?;
        (judgement.verdict.status() == Status::Complete).then_some(judgement)
    }

    /// The work of an earlier worker. A worker that stopped without a word may have met the checks,
    /// on whatever machine it was: its commits count for the task. Without checks only a session
    /// can tell.
    fn earlier_work(&self, has_checks: bool, travels: bool) -> Option<EarlierWork> {
        let (record, because) = (&self.entry.record, self.was_because.as_deref()?);
        match self.was {
            TaskStatus::Review
                if travels
                    && [Reason::GitError, Reason::Disputed]
                        .map(Reason::as_str)
                        .contains(&because) =>
            {
                record.head.clone().map(EarlierWork::Unpushed)
            }
            TaskStatus::Pending if has_checks && because == LEASE_ENDED => record
                .baseline
                .clone()
                .filter(|commit| !commit.is_empty())
                .map(EarlierWork::Abandoned),
            _ => None,
        }
    }
}

/// The work that an earlier worker left.
enum EarlierWork {
    /// This commit was judged complete, and only its push is missing.
    Unpushed(String),
    /// Commits after this one, and no word of what they came to.
    Abandoned(String),
}

/// Whether HEAD has work after the baseline, all of it committed and no session at it; `None` where that cannot be read.
fn is_judgeable(
    around: &CommandEnv,
    open: &OpenWorktree,
    id: &str,
    (baseline, head): (&str, &str),
) -> Option<bool> {
    let running = RunningSession::find_running(around, open, Some(id)).ok()?;
    let changes = open.worktree.changes().ok()?;
    let is_settled = running.is_none() && !changes.any() && changes.operation.is_none();
    Some(is_settled && baseline != head && open.worktree.is_ancestor(baseline, head))
}
