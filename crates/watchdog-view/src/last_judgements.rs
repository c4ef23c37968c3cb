//! The last judgement on each work, from the journal: a verdict, or what a hook of the agent decided. Tells "never" from "not known".

use std::collections::HashMap;

use watchdog_judge::wire::last_verdict::LastVerdict;
use watchdog_store::engine::WantedKind;
use watchdog_store::journal::kind;
use watchdog_store::{LocalStore, StoreError};

/// A judgement may lie behind so many newer events of its worktree: as many as the journal keeps, and a margin for those not pruned yet.
const HISTORY: usize = 110_000;

/// A worktree's id in the store, and a spec.
pub(super) type WorkKey = (String, String);

/// The judgements of a work in the journal.
#[derive(Debug, Default)]
pub(super) struct JudgedWork {
    /// The last judgement.
    pub(super) last: Option<LastVerdict>,
    /// The last verdict, where the last judgement is that of a hook: only verdicts tell the limit of a breaker.
    pub(super) verdict: Option<LastVerdict>,
    /// Whether the journal reaches back to the baseline or to a judgement; otherwise there may have been one that was pruned.
    pub(super) known: bool,
}

/// The last judgements on these works. The order of events decides, even if the clock was set back in between.
pub(super) fn last_judgements(
    store: &dyn LocalStore,
    of: &[WorkKey],
) -> Result<HashMap<WorkKey, JudgedWork>, StoreError> {
    const JUDGED: [WantedKind<'_>; 2] = [
        WantedKind::any(kind::VERDICT),
        WantedKind::with_text(kind::HOOK, "status"),
    ];
    const JUDGED_OR_BEGUN: [WantedKind<'_>; 3] =
        [JUDGED[0], JUDGED[1], WantedKind::any(kind::BASELINE)];
    let mut judged_works: HashMap<WorkKey, JudgedWork> = HashMap::with_capacity(of.len());
    let mut begun_anew = Vec::new();
    for (work, event) in of
        .iter()
        .zip(store.newest_of(of, &JUDGED_OR_BEGUN, HISTORY)?)
    {
        let Some(event) = event else { continue };
        let judged = judged_works.entry(work.clone()).or_default();
        judged.known = true;
        if event.kind == kind::BASELINE {
            begun_anew.push(work.clone());
        } else {
            judged.last = Some(LastVerdict::new(&event, true));
        }
    }
    for (work, event) in begun_anew
        .iter()
        .zip(store.newest_of(&begun_anew, &JUDGED, HISTORY)?)
    {
        if let (Some(event), Some(judged)) = (event, judged_works.get_mut(work)) {
            judged.last = Some(LastVerdict::new(&event, false));
        }
    }
    let is_by_hook = |work: &&WorkKey| {
        judged_works
            .get(*work)
            .and_then(|judged| judged.last.as_ref())
            .is_some_and(|verdict| verdict.is_by_hook)
    };
    let by_hook: Vec<WorkKey> = of.iter().filter(is_by_hook).cloned().collect();
    for (work, event) in by_hook
        .iter()
        .zip(store.newest_of(&by_hook, &JUDGED[..1], HISTORY)?)
    {
        if let (Some(event), Some(judged)) = (event, judged_works.get_mut(work)) {
            judged.verdict = Some(LastVerdict::new(&event, false));
        }
    }
    Ok(judged_works)
}
