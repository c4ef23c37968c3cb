//! A loop's state in the store: a new one, or that of an interrupted loop.

use std::sync::Arc;

use jiff::Timestamp;

use watchdog_core::decision::breaker::Breaker;
use watchdog_core::decision::iteration::record::{IterationRecord, KEPT};
use watchdog_core::decision::iteration::standing::LoopStanding;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_git as git;
use watchdog_git::{HistoryPoint, Worktree};
use watchdog_store::journal::event_id;
use watchdog_store::looped::LoopRecord;
use watchdog_store::{LocalStore, RecordType};

use super::request::LoopRequest;

/// Bytes of a feedback that are kept.
const FEEDBACK: usize = 16 * 1024;

/// The state of a loop, and the store that keeps it.
pub struct PersistedLoop {
    store: Arc<dyn LocalStore>,
    worktree_id: String,
    spec: String,
    /// The state, as it was read or begun.
    pub(super) record: LoopRecord,
    /// Whether this process resumes a loop of another one.
    pub resumed: bool,
}

impl PersistedLoop {
    /// The loop of a spec with this prompt and command line that is not over, or a new one from here. Its strikes count on either way,
    /// until its breaker is reset.
    pub fn open(
        store: &Arc<dyn LocalStore>,
        worktree: &Worktree,
        spec: &str,
        request: &LoopRequest,
        at: Timestamp,
    ) -> Result<Self, UnreadableFact> {
        let (worktree_id, recipe) = (worktree.worktree_id(), request.recipe());
        let is_same = |last: &LoopRecord| {
            is_of(worktree, last)
                && last
                    .recipe
                    .as_ref()
                    .is_none_or(|earlier| *earlier == recipe)
        };
        let last = LoopRecord::read_row(store.as_ref(), &worktree_id, spec)?.filter(is_same);
        // A strike of a loop counts in the breaker of its spec, too: without one there, a reset or a complete came since.
        let strikes = Breaker::read_or_default(store.as_ref(), &worktree_id, spec)?.strikes();
        let own_breaker = last
            .as_ref()
            .map(|last| last.breaker.clone())
            .filter(|_| strikes > 0)
            .unwrap_or_default();
        let unfinished_loop = last.filter(|last| last.over.is_none() && !request.restart);
        let resumed = unfinished_loop.is_some();
        let record = match unfinished_loop {
            Some(record) => record,
            None => begin_record(worktree, at)?,
        };
        let record = LoopRecord {
            recipe: Some(recipe),
            breaker: own_breaker,
            ..record
        };
        Ok(PersistedLoop {
            store: Arc::clone(store),
            worktree_id,
            spec: spec.to_owned(),
            record,
            resumed,
        })
    }

    /// The state.
    pub fn record(&self) -> &LoopRecord {
        &self.record
    }

    /// Returns the point at which the loop began.
    pub fn origin(&self) -> HistoryPoint {
        self.record.origin.clone().into()
    }

    /// Changes the state, and stores it.
    pub fn keep(&mut self, change: impl FnOnce(&mut LoopRecord)) -> Result<(), UnreadableFact> {
        change(&mut self.record);
        Ok(self
            .record
            .write_row(self.store.as_ref(), &self.worktree_id, &self.spec)?)
    }

    /// Adds a judged iteration.
    pub fn add_iteration(
        &mut self,
        standing: &LoopStanding,
        iteration: IterationRecord,
        verdict: &Verdict,
    ) -> Result<(), UnreadableFact> {
        self.keep(|record| {
            record.standing = standing.clone();
            record.under_way = None;
            record.feedback = verdict
                .feedback
                .as_deref()
                .map(|feedback| watchdog_facts::display::cut_text(feedback, FEEDBACK));
            record.records.push(iteration);
            let more = record.records.len().saturating_sub(KEPT);
            record.records.drain(..more);
        })
    }

    /// The stored part of the last verdict, for the next prompt of a loop that another process resumes.
    pub fn last_verdict(&self) -> Option<Verdict> {
        let last = self.record.records.last()?;
        let feedback = self.record.feedback.clone();
        // Resuming means that a person has decided; for the agent it is unfinished work.
        let reason = if last.reason == Reason::Interrupted {
            Reason::Unfinished
        } else {
            last.reason
        };
        Some(Verdict {
            feedback,
            ..Verdict::new(reason, last.message.clone())
        })
    }
}

/// Whether a loop was in this very repository, and not in one that was at the same path before.
fn is_of(worktree: &Worktree, loop_record: &LoopRecord) -> bool {
    let same = match (&loop_record.birth, worktree.birth()) {
        (Some(then), Some(now)) => *then == now,
        _ => true,
    };
    same && loop_record.origin.as_deref().is_none_or(|origin| {
        !matches!(
            worktree.resolve(origin),
            Err(git::Error::UnknownRevision { .. })
        )
    })
}

fn begin_record(worktree: &Worktree, at: Timestamp) -> Result<LoopRecord, UnreadableFact> {
    Ok(LoopRecord {
        origin: worktree.head()?.to_commit(),
        refs: worktree.ref_tips()?.into_iter().collect(),
        birth: worktree.birth(),
        ..LoopRecord::new_begun(event_id(at), at)
    })
}
