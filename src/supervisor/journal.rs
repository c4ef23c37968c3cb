//! Writes down what was seen and decided. A journal that cannot be written never changes a verdict; it is noted beside it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::config::settings::NotifyRule;
use crate::decision::machine::Event;
use crate::store::engine::NewEvent;
use crate::store::journal::{event, kind};
use crate::store::{Store, StoreError};

use super::case::Case;
use super::courier::Courier;
use super::notices::Notices;
use super::surroundings::{Surroundings, now};
use super::verdict_json::probe_json;

/// The journal of one command. Looks are kept back and written with the next deed, so that a quick check costs one write.
pub struct Journal {
    store: Arc<dyn Store>,
    worktree_id: String,
    spec: String,
    told: Option<(Notices, Courier)>,
    waiting: Mutex<Vec<NewEvent>>,
    fault: Mutex<Option<String>>,
}

impl Journal {
    /// A journal for a worktree and spec.
    pub fn new(store: Arc<dyn Store>, worktree_id: &str, spec: &str) -> Self {
        Journal {
            store,
            worktree_id: worktree_id.into(),
            spec: spec.into(),
            told: None,
            waiting: Mutex::default(),
            fault: Mutex::default(),
        }
    }

    /// The journal of a case, which also tells those who want to be told; what earlier commands could not deliver is tried again.
    pub fn of(case: &Case, surroundings: &Surroundings, store: &Arc<dyn Store>) -> Arc<Self> {
        let root = case.worktree.lock().expect("no panic while it was held").root().to_owned();
        Journal::telling((&case.worktree_id, &case.spec), &root, &case.settings.notify, surroundings, store)
    }

    /// The same for a worktree and spec that there is no case of yet.
    pub fn telling(
        (worktree_id, spec): (&str, &str),
        root: &Path,
        notify: &[NotifyRule],
        surroundings: &Surroundings,
        store: &Arc<dyn Store>,
    ) -> Arc<Self> {
        let mut journal = Journal::new(Arc::clone(store), worktree_id, spec);
        let notices = Notices::new(notify.to_vec(), root);
        if !notices.is_empty() {
            surroundings.courier.wake(store);
            journal.told = Some((notices, surroundings.courier.clone()));
        }
        Arc::new(journal)
    }

    /// Notes something, to be written with the next [`Journal::write`].
    pub fn note(&self, kind: &str, data: Value) {
        let event = event(now(), &self.worktree_id, Some(&self.spec), kind, data);
        self.waiting.lock().expect("no panic while it was held").push(event);
    }

    /// Writes what was noted, and this.
    pub fn write(&self, kind: &str, data: Value) {
        self.note(kind, data);
        self.flush();
    }

    /// Writes what was noted.
    pub fn flush(&self) {
        let events = std::mem::take(&mut *self.waiting.lock().expect("no panic while it was held"));
        if events.is_empty() {
            return;
        }
        // First, so that nobody misses what the death of this process keeps out of the journal.
        if let Some((notices, courier)) = &self.told {
            match notices.offer(self.store.as_ref(), &events) {
                Ok(true) => courier.wake(&self.store),
                Ok(false) => {}
                Err(error) => self.faulty(&error),
            }
        }
        // Nothing guards this append, so it cannot be fenced.
        if let Err(error) = self.store.append(&events, None) {
            self.faulty(&error);
        }
    }

    fn faulty(&self, error: &StoreError) {
        self.fault.lock().expect("no panic while it was held").get_or_insert(error.to_string());
    }

    /// Why something could not be written, if anything could not.
    pub fn fault(&self) -> Option<String> {
        self.fault.lock().expect("no panic while it was held").clone()
    }
}

/// Notes what an event of the decision machine told.
pub fn observed(journal: &Journal, event: &Event) {
    match event {
        Event::Start | Event::WaitOver | Event::Activity(_) => {}
        Event::Commits(Ok(commits)) => journal.note(
            kind::COMMITS,
            json!({"head": commits.head, "new_commits": commits.new_commits, "made_here": commits.made_here,
                   "imported": commits.imported, "net_change": commits.net_change}),
        ),
        Event::Changes(Ok(changes)) => journal.note(
            kind::CHANGES,
            json!({"staged": changes.staged, "unstaged": changes.unstaged, "untracked": changes.untracked,
                   "conflicted": changes.conflicted}),
        ),
        Event::Snapshot(Ok(Some(name))) => journal.write(kind::SNAPSHOT, json!({"ref": name})),
        Event::Snapshot(Ok(None)) => {}
        Event::Commits(Err(unreadable))
        | Event::Changes(Err(unreadable))
        | Event::Snapshot(Err(unreadable))
        | Event::Rescue(Err(unreadable)) => {
            journal.note(kind::DEGRADED, json!({"why": unreadable.why}));
        }
        Event::Checks(judged) => {
            for check in &judged.results {
                journal.note(kind::CHECK, json!({"name": check.name, "type": check.kind, "outcome": check.outcome.as_str()}));
            }
        }
        Event::Probe(record) => journal.write(kind::PROBE, probe_json(record)),
        Event::Rescue(Ok(outcome)) => {
            let left_out = outcome.left_out.iter().map(|left| json!({"path": left.path, "why": left.why})).collect::<Vec<_>>();
            journal.write(
                kind::RESCUE,
                json!({"commits": outcome.commits, "branch": outcome.elsewhere, "failed": outcome.failed, "lost": outcome.lost, "left_out": left_out}),
            );
        }
        Event::Interrupt => journal.write(kind::INTERRUPTED, json!({})),
    }
}
