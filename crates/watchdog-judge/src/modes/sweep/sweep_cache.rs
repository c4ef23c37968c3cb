//! Reuses the verdict of an earlier sweep if all its inputs are unchanged: the files of the worktree and of its git directory, watchdog's
//! records, the options, and the user's configuration. It reuses nothing else: the answers of agents, the results of checks and
//! the state of breakers are always read again.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use watchdog_core::decision::breaker::BreakerState;

use super::report::SweepRequest;
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::FILE;
use crate::judge::judgement_run::JudgementRun;
use crate::wire::verdict_json::{Judgement, VerdictView, as_json};
use watchdog_facts::evidence::{UnreadableFact, WarningCode};
use watchdog_facts::verdict::Reason;
use watchdog_git::{FingerprintScope, FoundWorktree, StatFingerprints, TABLES};
use watchdog_store::engine::RowRevision;
use watchdog_store::sweep_cache::{self, SweepCacheEntry};
use watchdog_store::{LocalStore, StoreError, short_hash};
use watchdog_system::lock_mutex;

/// How many verdicts are written in one transaction.
const TOGETHER: usize = 128;

/// The verdicts of earlier sweeps.
pub struct SweepCache {
    store: Arc<dyn LocalStore>,
    /// A fingerprint of the options that all worktrees share.
    inputs: String,
    asks_nobody: bool,
    /// Files that decide about every worktree alike: which configuration is trusted, or the one that was named.
    everywhere: Vec<PathBuf>,
    /// The recorded rows of each worktree with their revisions, when the sweep began.
    rows: HashMap<String, String>,
    revisions: HashMap<String, RowRevision>,
    waiting: Mutex<Vec<(String, SweepCacheEntry)>>,
}

impl SweepCache {
    /// Reads what there is, for one sweep.
    pub fn open(
        store: Arc<dyn LocalStore>,
        around: &CommandEnv,
        request: &SweepRequest,
    ) -> Result<Self, UnreadableFact> {
        let asks_nobody = request.overrides.no_probe || request.max_probes_total == 0;
        let words = (
            env!("CARGO_PKG_VERSION"),
            &request.overrides,
            asks_nobody,
            &around.config,
            &around.trusted,
        );
        let mut everywhere = vec![around.state.trust()];
        everywhere.extend(around.config.clone());
        Ok(SweepCache {
            inputs: short_hash(&format!("{words:?}")),
            asks_nobody,
            everywhere,
            rows: sweep_cache::rows_of_worktrees(store.as_ref())?,
            revisions: sweep_cache::list_cached_worktrees(store.as_ref())?,
            store,
            waiting: Mutex::default(),
        })
    }

    /// The verdict of an earlier sweep, if none of its inputs changed. Call it under the worktree's lock.
    pub fn recall(&self, worktree: &FoundWorktree, id: &str) -> Option<VerdictView> {
        self.revisions.get(id)?;
        // An unreadable entry costs a scan.
        let last = sweep_cache::read_verdict(self.store.as_ref(), id).ok()??;
        if last.inputs != self.inputs_of(id)? {
            return None;
        }
        // A dropped snapshot must be taken again; a packed one costs a scan. The fingerprints include refs in tables.
        let is_there = |name: &str| {
            [name, TABLES]
                .iter()
                .any(|file| worktree.common_dir.join(file).exists())
        };
        if last.snapshot.is_some_and(|name| !is_there(&name)) {
            return None;
        }
        let more = self.beside(worktree);
        let stamp = StatFingerprints::from_text(&last.paths).stamp(
            FingerprintScope {
                worktree,
                more: &more,
            },
            now().into(),
        )?;
        if stamp != last.stamp {
            return None;
        }
        // It was reached then, and took no time now.
        last.verdict.is_object().then(|| VerdictView {
            unchanged_since: Some(last.at),
            duration_ms: 0,
            ..VerdictView::read(&last.verdict)
        })
    }

    /// Keeps a verdict for the next sweep, if it may be used again. `begun` is before anything was read for it.
    pub fn keep(
        &self,
        found_worktree: &FoundWorktree,
        judgement_run: &JudgementRun,
        (judgement, is_untouched): (&Judgement, bool),
        begun: Timestamp,
    ) -> Result<(), StoreError> {
        let Some(entry) = self.entry(
            found_worktree,
            judgement_run,
            (judgement, is_untouched),
            begun,
        ) else {
            return Ok(());
        };
        let mut waiting = lock_mutex(&self.waiting);
        waiting.push((judgement_run.input().worktree_id.clone(), entry));
        if waiting.len() < TOGETHER {
            return Ok(());
        }
        let due = std::mem::take(&mut *waiting);
        drop(waiting);
        sweep_cache::store_entries(self.store.as_ref(), &due)
    }

    /// Writes what still waits.
    pub fn finish(&self) -> Result<(), StoreError> {
        let due = std::mem::take(&mut *lock_mutex(&self.waiting));
        if due.is_empty() {
            Ok(())
        } else {
            sweep_cache::store_entries(self.store.as_ref(), &due)
        }
    }

    /// Deletes the cached verdict of a worktree that is gone.
    pub fn forget(&self, id: &str) {
        if let Some(rev) = self.revisions.get(id) {
            // The row is small and does no harm.
            let _ = sweep_cache::forget_entry(self.store.as_ref(), id, *rev);
        }
    }

    fn entry(
        &self,
        found_worktree: &FoundWorktree,
        judgement_run: &JudgementRun,
        (judgement, is_untouched): (&Judgement, bool),
        begun: Timestamp,
    ) -> Option<SweepCacheEntry> {
        let verdict = &judgement.verdict;
        let rests_on_git = match verdict.reason {
            Reason::NewCommits => true,
            // No probe was sent, and this sweep sends none.
            Reason::Unfinished => self.asks_nobody,
            _ => false,
        };
        let closed = judgement
            .breaker
            .as_ref()
            .is_some_and(|breaker| breaker.state == BreakerState::Closed && breaker.strikes == 0);
        let written = !verdict.degraded.iter().any(|note| {
            matches!(
                note.code,
                WarningCode::StoreUnwritable | WarningCode::JournalUnwritable
            )
        });
        let plain = judgement_run.input().settings.checks.is_empty()
            && verdict.probes.is_empty()
            && verdict.rescue_commits == 0;
        if !(rests_on_git && closed && written && plain && verdict.changes.is_some()) {
            return None;
        }
        let fingerprints = judgement_run.executor.stat_fingerprints()?;
        let snapshot = verdict.snapshot.clone();
        let more = self.beside(found_worktree);
        let stamp = fingerprints.stamp(
            FingerprintScope {
                worktree: found_worktree,
                more: &more,
            },
            begun.into(),
        )?;
        let inputs = self.inputs_of(&judgement_run.input().worktree_id)?;
        let verdict = as_json(VerdictView {
            untouched: is_untouched,
            ..judgement.to_view()
        });
        Some(SweepCacheEntry {
            inputs,
            paths: fingerprints.to_text(),
            stamp,
            snapshot,
            at: begun,
            verdict,
        })
    }

    fn beside(&self, found_worktree: &FoundWorktree) -> Vec<PathBuf> {
        let mut more = self.everywhere.clone();
        more.push(found_worktree.root.join(FILE));
        more
    }

    fn inputs_of(&self, id: &str) -> Option<String> {
        Some(short_hash(&format!(
            "{} {}",
            self.inputs,
            self.rows.get(id)?
        )))
    }
}
