//! Records where a session begins: HEAD and the tips of all refs, in the store and, for the commit itself, in a ref.

use std::sync::Arc;

use jiff::Timestamp;

use crate::decision::evidence::{Degraded, Unreadable};
use crate::git::{KnownRefs, Point, Worktree};
use crate::store::baseline::{BaselineRecord, BaselineRefs};
use crate::store::{Store, baseline, refs};

/// A recorded baseline with the name of the work.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The name of the work.
    pub spec: String,
    /// Where it began.
    pub point: Point,
    /// The tips of all refs at that moment.
    pub refs: KnownRefs,
    /// When it was recorded.
    pub at: Timestamp,
    /// What weakens the record.
    pub notes: Vec<Degraded>,
}

/// Records HEAD as the baseline of a spec (by default the branch's name).
pub fn record(store: &dyn Store, worktree: &Worktree, spec: Option<&str>, now: Timestamp) -> Result<Recorded, Unreadable> {
    let spec = spec.map_or_else(|| worktree.default_spec(), str::to_owned);
    let point = worktree.head()?;
    let tips = worktree.ref_tips()?;
    let mut notes = Vec::new();
    let commit = match &point {
        Point::Unborn => None,
        Point::Commit(commit) => {
            // The ref keeps the commit from garbage collection. Without it the baseline still holds, so a repository
            // that cannot be written is told about and not refused.
            if let Err(error) = worktree.keep_baseline(&spec, commit) {
                notes.push(Degraded { code: "baseline_ref_unwritten", detail: error.to_string() });
            }
            Some(commit.clone())
        }
    };
    let kept = refs::keep(store, tips.clone(), now)?;
    let record = BaselineRecord { commit, branch: worktree.branch(), refs: kept, at: now, worktree: worktree.root().to_owned() };
    baseline::record(store, &worktree.worktree_id(), &spec, &record)?;
    Ok(Recorded { spec, point, refs: tips.into(), at: now, notes })
}

/// The recorded baseline of a spec; without one named, the latest of the worktree.
pub fn recorded(store: &Arc<dyn Store>, worktree_id: &str, spec: Option<&str>) -> Result<Option<Recorded>, Unreadable> {
    let found = match spec {
        Some(spec) => baseline::of(store.as_ref(), worktree_id, spec)?.map(|record| (spec.to_owned(), record)),
        None => baseline::latest(store.as_ref(), worktree_id)?,
    };
    Ok(found.map(|(spec, record)| Recorded {
        spec,
        point: record.commit.map_or(Point::Unborn, Point::Commit),
        refs: known(store, record.refs),
        at: record.at,
        notes: Vec::new(),
    }))
}

fn known(store: &Arc<dyn Store>, recorded: BaselineRefs) -> KnownRefs {
    match recorded {
        BaselineRefs::Here(tips) => tips.into(),
        kept @ BaselineRefs::Kept(_) => {
            let store = Arc::clone(store);
            KnownRefs::later(move || refs::of(store.as_ref(), &kept).map_err(|error| error.to_string()))
        }
    }
}
