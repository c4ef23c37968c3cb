//! One look at one worktree: whether there is anything to judge, and the judgement, as `check --once` makes it.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use crate::decision::evidence::{FaultKind, Unreadable};
use crate::decision::verdict::Reason;
use crate::git::{Point, Worktree};
use crate::session::recorded;
use crate::store::Store;
use crate::store::journal::kind;
use crate::store::lock::{Acquired, Holder, WorktreeLock};
use crate::supervisor::case::Asked;
use crate::supervisor::check::{CheckRequest, check_place};
use crate::supervisor::place::{Place, WATCH};
use crate::supervisor::signals::Signals;
use crate::supervisor::surroundings::{Surroundings, now};
use crate::supervisor::verdict_json::Judgement;

/// Why a worktree is looked at; a later one is the stronger reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Changes in its work tree fell quiet.
    Quiet,
    /// Its HEAD may have moved.
    Head,
    /// A session ended.
    Ended,
}

/// A worktree to look at, with what was seen of it before.
pub struct Subject {
    /// Its name in the records.
    pub id: String,
    /// Its top folder.
    pub root: PathBuf,
    /// Why.
    pub cause: Cause,
    /// The commit that was last judged.
    pub seen: Option<Point>,
    /// The uncommitted changes that were last judged.
    pub fingerprint: Option<u64>,
}

/// What one look is given.
pub struct Task {
    /// What was told from outside, with the worktree's own folder.
    pub around: Surroundings,
    /// The records.
    pub store: Arc<dyn Store>,
    /// The worktree.
    pub subject: Subject,
    /// What is asked of the judgement.
    pub asked: Asked,
    /// What ends it early.
    pub signals: Signals,
}

/// What a look came to.
pub enum Looked {
    /// Nobody asked for this worktree to be watched: it has no baseline.
    Unwatched,
    /// Nothing is new.
    Same {
        /// Where HEAD is.
        head: Option<Point>,
    },
    /// Somebody else works on it.
    Busy,
    /// A judgement.
    Judged {
        /// Where HEAD was just before.
        head: Option<Point>,
        /// The uncommitted changes just before, where they were looked at.
        fingerprint: Option<u64>,
        /// The judgement.
        judgement: Box<Judgement>,
    },
    /// It could not even be looked at.
    Unreadable(Unreadable),
}

/// Looks, and judges where there is something new.
pub async fn look(task: Task) -> Looked {
    let Task { around, store, subject, asked, mut signals } = task;
    match prepare(&around, &store, &subject) {
        Ok(Prepared::Place(place, lock, head, fingerprint)) => {
            let request = CheckRequest { asked, ..CheckRequest::default() };
            let judgement = Box::new(check_place(&around, *place, &request, &mut signals, now()).await);
            drop(lock);
            Looked::Judged { head, fingerprint, judgement }
        }
        Ok(Prepared::Nothing(looked)) => looked,
        Err(unreadable) => Looked::Unreadable(unreadable),
    }
}

enum Prepared {
    Place(Box<Place>, WorktreeLock, Option<Point>, Option<u64>),
    Nothing(Looked),
}

fn prepare(around: &Surroundings, store: &Arc<dyn Store>, subject: &Subject) -> Result<Prepared, Unreadable> {
    let Some(recorded) = recorded(store, &subject.id, None)? else { return Ok(Prepared::Nothing(Looked::Unwatched)) };
    let worktree = Worktree::open(&subject.root)?;
    if worktree.worktree_id() != subject.id {
        let why = format!("another worktree is in the place of {}", subject.root.display());
        return Err(Unreadable { kind: FaultKind::NotARepository, why, hint: None });
    }
    // What HEAD names cannot be told everywhere; then every movement is judged.
    let head = worktree.head().ok();
    let before = subject.seen.as_ref().unwrap_or(&recorded.point);
    let moved = head.as_ref().is_none_or(|head| head != before);
    let mut fingerprint = None;
    let new = match subject.cause {
        Cause::Ended => true,
        Cause::Head => moved,
        Cause::Quiet => {
            let changes = worktree.changes()?;
            fingerprint = Some(changes.fingerprint);
            moved || (changes.any() && subject.fingerprint != fingerprint)
        }
    };
    if !new {
        return Ok(Prepared::Nothing(Looked::Same { head }));
    }
    // Only now: a look that comes to nothing is in nobody's way.
    let holder = Holder { pid: std::process::id(), command: WATCH.into(), since: now(), session_active: false, spec: None };
    let Acquired::Held(lock) = WorktreeLock::try_acquire(&around.state, &subject.id, holder)? else {
        return Ok(Prepared::Nothing(Looked::Busy));
    };
    if subject.cause != Cause::Quiet && was_judged(store.as_ref(), &subject.id, head.as_ref())? {
        return Ok(Prepared::Nothing(Looked::Same { head }));
    }
    let place = Place { worktree_id: subject.id.clone(), worktree, store: Arc::clone(store), notes: Vec::new() };
    Ok(Prepared::Place(Box::new(place), lock, head, fingerprint))
}

/// Whether the last that was written down about a worktree is a verdict on this very head. Whoever held the lock until now may have written
/// it, and nobody have read it yet.
fn was_judged(store: &dyn Store, id: &str, head: Option<&Point>) -> Result<bool, Unreadable> {
    let (events, _) = store.read_back(store.cursor_at(Timestamp::MAX)?, Some(id), 1)?;
    let busy = |reason: &str| [Reason::Locked, Reason::SessionActive].iter().any(|busy| reason == busy.as_str());
    Ok(events.last().is_some_and(|event| {
        let judged = event.kind == kind::VERDICT && !event.data["reason"].as_str().is_some_and(busy);
        judged && head.is_some_and(|head| event.data["head"].as_str() == Some(head.as_str()))
    }))
}
