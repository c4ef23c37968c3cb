//! Work that was judged complete and did not reach the remote: it is judged again, as it is now, before anybody pays for a session.

use std::sync::Arc;

use super::task::ClaimedWork;
use crate::clock::now;
use crate::judge::admission::PreparedJudgement;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::EffectiveConfig;
use crate::judge::judgement_input::{JudgementInput, Overrides};
use crate::judge::judgement_run::ObservedSession;
use crate::judge::open_worktree::OpenWorktree;
use crate::judge::signals::SignalState;
use crate::judge::spawn_io::spawn_io;
use crate::session::recorded;
use crate::wire::verdict_json::Judgement;
use watchdog_core::config::task_file::TaskStatus;
use watchdog_facts::verdict::{Reason, Status};
use watchdog_git::HistoryPoint;

impl ClaimedWork {
    /// The judgement of work that only its push was missing; `None` = a session is needed. Nobody is asked, and nothing is committed.
    pub(super) async fn judged_again(&self, around: &CommandEnv, effective: &EffectiveConfig, signals: &SignalState) -> Option<Judgement> {
        let record = &self.entry.record;
        let may_be_unpushed = [Reason::GitError, Reason::Disputed].map(Reason::as_str).contains(&self.was_because.as_deref()?);
        let head = record.head.clone().filter(|_| may_be_unpushed && self.was == TaskStatus::Review)?;
        let overrides = Overrides { no_probe: true, no_rescue: true, ..self.options.overrides.clone() };
        let (around, effective, signals, id) = (around.clone(), effective.clone(), signals.clone(), self.options.id.clone());
        let judgement = spawn_io(move || {
            let open = OpenWorktree::open(&around).ok()?;
            if open.worktree.head().ok()? != HistoryPoint::Commit(head) {
                return None;
            }
            let _lock = open.lock(&around, "watchdog task", false).ok()?;
            let recorded = recorded(&open.store, &open.worktree_id, Some(&id)).ok()??;
            let store = Arc::clone(&open.store);
            let input = JudgementInput::new(open, recorded, true, effective, overrides);
            Some(PreparedJudgement::new(&around, input, store, now()).judge_here(ObservedSession::default(), &signals))
        })
        .await?;
        (judgement.verdict.status() == Status::Complete).then_some(judgement)
    }
}
