//! Records where a session begins: HEAD and the tips of all refs, in the store and, for the commit itself, in a ref.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;

use watchdog_facts::evidence::{Degradation, UnreadableFact, WarningCode};
use watchdog_facts::ref_list::RefList;
use watchdog_facts::session_work::{ContentIds, SessionEdgeFiles, drop_earlier_work};
use watchdog_git::{ContentAtBaseline, HistoryPoint, KnownRefs, UnclaimedNames, Worktree};
use watchdog_store::baseline::{BaselineRecord, BaselineRefs};
use watchdog_store::uncommitted::UncommittedRecord;
use watchdog_store::{LocalStore, RecordType, baseline, refs, session::SessionRecord, uncommitted};
use watchdog_system::lock_mutex;

/// A recorded baseline with the name of the work.
#[derive(Debug, Clone)]
pub struct RecordedBaseline {
    /// The name of the work.
    pub spec: String,
    /// The point at which it began.
    pub point: HistoryPoint,
    /// The tips of all refs at that moment.
    pub refs: KnownRefs,
    /// The commits that HEAD and those of submodules had left behind then.
    pub left_behind: Vec<String>,
    /// The committer of what git committed there then.
    pub committer: Option<String>,
    /// When it was recorded.
    pub at: Timestamp,
    /// When the spec's own baseline was recorded, also where another commit was named in its place.
    pub record_at: Option<Timestamp>,
    /// The uncommitted files then, and at the recorded end of the session.
    pub work: SessionEdgeFiles,
    /// The id of the clone that it was recorded in; `None` where that is unknown.
    pub clone_id: Option<String>,
    /// Faults of the record.
    pub notes: Vec<Degradation>,
}

impl RecordedBaseline {
    /// The content that was there then.
    pub fn content(&self) -> ContentAtBaseline {
        ContentAtBaseline {
            at: Some(self.at),
            inherited: self.work.inherited.clone(),
            left_behind: self.left_behind.clone(),
            stashes: self.work.stashes.clone(),
            committer: self.committer.clone(),
        }
    }

    /// A baseline without a record: the state when the session began is unknown.
    pub fn made_up(spec: String, point: HistoryPoint, at: Timestamp) -> Self {
        let (work, left_behind) = (SessionEdgeFiles::default(), Vec::new());
        RecordedBaseline {
            spec,
            point,
            refs: Vec::new().into(),
            left_behind,
            committer: None,
            at,
            record_at: None,
            work,
            clone_id: None,
            notes: Vec::new(),
        }
    }
}

/// The ownership of files that are uncommitted when a session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UncommittedRule {
    /// They are kept, but are not its work, except those that an earlier session of the spec left.
    #[default]
    Inherit,
    /// They are the spec's work: the session is to finish them.
    Adopt,
}

/// The spec of a new session: the named one; else that of the worktree's recorded baseline until its work is complete, even after a
/// switch of branches; else the branch's name.
pub fn spec_of_new_session(
    store: &dyn LocalStore,
    worktree: &Worktree,
    named: Option<&str>,
) -> Result<String, UnreadableFact> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let worktree_id = worktree.worktree_id();
    if let Some((spec, _)) = baseline::read_latest_baseline(store, &worktree_id)?
        && UncommittedRecord::read_row(store, &worktree_id, &spec)?
            .is_some_and(|record| !record.completed)
    {
        return Ok(spec);
    }
    Ok(worktree.default_spec())
}

/// Records HEAD as the baseline of a spec (by default [`spec_of_new_session`]), and the uncommitted files of this moment.
pub fn record_head_baseline(
    store: &dyn LocalStore,
    worktree: &Worktree,
    spec: Option<&str>,
    uncommitted: UncommittedRule,
    now: Timestamp,
) -> Result<RecordedBaseline, UnreadableFact> {
    let spec = spec_of_new_session(store, worktree, spec)?;
    let point = worktree.head()?;
    let tips: RefList = worktree.ref_tips()?.into_iter().collect();
    let mut notes = Vec::new();
    let commit = match &point {
        HistoryPoint::Unborn => None,
        HistoryPoint::Commit(commit) => {
            // The ref keeps the commit from garbage collection. Without it the baseline still holds, so a failure to write it
            // is a warning and no refusal.
            if let Err(error) = worktree.keep_baseline(&spec, commit) {
                notes.push(Degradation::new(WarningCode::BaselineRefUnwritten, error));
            }
            Some(commit.clone())
        }
    };
    let kept_refs = refs::keep_refs(store, tips.clone(), now)?;
    // A repository that cannot be written can be watched as well.
    let clone_id = worktree.ensure_clone_id().ok();
    let (mut left_behind, committer) = (worktree.left_behind()?, worktree.committer());
    let (in_submodules, failures) = worktree.keep_submodule_commits(None, now);
    left_behind.extend(in_submodules.into_iter().map(|commit| commit.id));
    notes.extend(
        failures
            .iter()
            .map(|error| Degradation::new(WarningCode::SubmodulesUnread, error)),
    );
    let (branch, root) = (worktree.branch(), worktree.root().to_owned());
    let record = BaselineRecord {
        commit,
        branch,
        refs: kept_refs,
        left_behind: left_behind.clone(),
        committer: committer.clone(),
        at: now,
        worktree: root,
        clone_id: clone_id.clone(),
        blocked: None,
    };
    let (work, paths) = record_uncommitted(store, worktree, &spec, uncommitted, now)?;
    // Without them today's rules count: a warning and no refusal.
    if let Some(commit) = record.commit.as_ref().filter(|_| {
        !notes
            .iter()
            .any(|note| note.code == WarningCode::BaselineRefUnwritten)
    }) && let Err(error) = worktree.keep_ignore_rules(commit, paths.iter().map(String::as_str))
    {
        notes.push(Degradation::new(WarningCode::BaselineRefUnwritten, error));
    }
    // Without these refs stash entries and commits are still told where they vanish.
    let stashes = work.stashes.as_deref().unwrap_or_default();
    if let Err(error) = worktree
        .keep_stashes(stashes, now)
        .and_then(|()| worktree.keep_branches(&tips, now))
    {
        notes.push(Degradation::new(WarningCode::BaselineRefUnwritten, error));
    }
    worktree.pack_own_refs();
    record.write_row(store, &worktree.worktree_id(), &spec)?;
    Ok(RecordedBaseline {
        spec,
        point,
        refs: tips.into(),
        left_behind,
        committer,
        at: now,
        record_at: Some(now),
        work,
        clone_id,
        notes,
    })
}

/// Records the uncommitted files as inherited, except those that an earlier session of the spec left since its last complete. Returns the
/// paths of all of them as well.
fn record_uncommitted(
    store: &dyn LocalStore,
    worktree: &Worktree,
    spec: &str,
    uncommitted: UncommittedRule,
    now: Timestamp,
) -> Result<(SessionEdgeFiles, Vec<String>), UnreadableFact> {
    let worktree_id = worktree.worktree_id();
    let (ids, ignored) = worktree.contents_at_begin()?;
    let paths = ids.keys().cloned().collect();
    let earlier = UncommittedRecord::read_row(store, &worktree_id, spec)?
        .filter(|earlier| !earlier.completed);
    // A session does not switch off for the next one what it switched off itself.
    let gates = Some(worktree.read_gate_hooks());
    let gates = match &earlier {
        Some(earlier) if earlier.work.gates_at_end == gates => earlier.work.gates.clone(),
        _ => gates,
    };
    let inherited = match uncommitted {
        UncommittedRule::Adopt => ContentIds::new(),
        UncommittedRule::Inherit => {
            let left_contents = match earlier {
                None => ContentIds::new(),
                Some(earlier) if earlier.work.end.is_some() => earlier.work.left_by_session(),
                // It has no recorded end, as after a crash: later changes count as its work.
                Some(earlier) => match SessionRecord::read_row(store, &worktree_id, spec)? {
                    Some(session) if session.started_at >= earlier.baseline_at => {
                        drop_earlier_work(ids.clone(), &earlier.work.inherited)
                    }
                    _ => ContentIds::new(),
                },
            };
            drop_earlier_work(ids, &left_contents)
        }
    };
    // Unread entries are unknown: none of them is said to be lost.
    let stashes = worktree.stash_commits().ok();
    let work = SessionEdgeFiles {
        inherited,
        stashed: worktree.stashed_contents(stashes.as_deref().unwrap_or_default()),
        stashes,
        gates,
        ignored,
        ..SessionEdgeFiles::default()
    };
    UncommittedRecord {
        baseline_at: now,
        work: work.clone(),
        completed: false,
    }
    .write_row(store, &worktree_id, spec)?;
    Ok((work, paths))
}

/// The record of uncommitted work with a baseline, and the files that watchdog itself wrote into the worktree.
fn work_recorded(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    at: Timestamp,
) -> Result<SessionEdgeFiles, UnreadableFact> {
    let uncommitted_row = UncommittedRecord::read_row(store, worktree_id, spec)?
        .filter(|record| record.baseline_at == at);
    Ok(uncommitted_row
        .map(|record| record.work)
        .unwrap_or_default())
}

/// The recorded baseline of a spec; without one named, the latest of the worktree.
pub fn read_recorded_baseline(
    store: &Arc<dyn LocalStore>,
    worktree_id: &str,
    spec: Option<&str>,
) -> Result<Option<RecordedBaseline>, UnreadableFact> {
    recorded_sharing(store, worktree_id, spec, &RecentRefs::default())
}

/// The same for many worktrees, one after the other: those whose baselines saw the same refs read them once.
///
/// # Errors
/// As [`read_recorded_baseline`].
pub fn recorded_sharing(
    store: &Arc<dyn LocalStore>,
    worktree_id: &str,
    spec: Option<&str>,
    recent: &RecentRefs,
) -> Result<Option<RecordedBaseline>, UnreadableFact> {
    let spec_and_record = match spec {
        Some(spec) => BaselineRecord::read_row(store.as_ref(), worktree_id, spec)?
            .map(|record| (spec.to_owned(), record)),
        None => baseline::read_latest_baseline(store.as_ref(), worktree_id)?,
    };
    let Some((spec, record)) = spec_and_record else {
        return Ok(None);
    };
    let mut work = work_recorded(store.as_ref(), worktree_id, &spec, record.at)?;
    for (path, id) in uncommitted::read_written_files(store.as_ref(), worktree_id)? {
        work.inherited.entry(path).or_insert(id);
    }
    Ok(Some(RecordedBaseline {
        spec,
        point: record.commit.into(),
        refs: recent.get_known_refs(store, record.refs),
        left_behind: record.left_behind,
        committer: record.committer,
        at: record.at,
        record_at: Some(record.at),
        work,
        clone_id: record.clone_id,
        notes: Vec::new(),
    }))
}

/// The refs of the baselines that were read last, under their name, which is a hash of them: another content has another name.
#[derive(Default)]
pub struct RecentRefs {
    kept: Mutex<VecDeque<(String, KnownRefs)>>,
    unclaimed: UnclaimedNames,
}

impl RecentRefs {
    /// How many are kept: each may hold thousands of refs, and the worktrees of one repository mostly share one.
    const MOST: usize = 4;

    fn get_known_refs(&self, store: &Arc<dyn LocalStore>, recorded: BaselineRefs) -> KnownRefs {
        let name = match recorded {
            BaselineRefs::Here(tips) => return KnownRefs::from(tips).sharing(&self.unclaimed),
            BaselineRefs::Kept(name) => name,
        };
        let mut recent = lock_mutex(&self.kept);
        if let Some((_, known)) = recent.iter().find(|(kept, _)| *kept == name) {
            return known.clone();
        }
        let (store, kept) = (Arc::clone(store), BaselineRefs::Kept(name.clone()));
        let known_refs = KnownRefs::later(move || {
            refs::read_refs(store.as_ref(), &kept).map_err(|error| error.to_string())
        })
        .sharing(&self.unclaimed);
        recent.truncate(Self::MOST - 1);
        recent.push_front((name, known_refs.clone()));
        known_refs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_shared_per_name_and_oldest_expire() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let state =
            watchdog_store::StateDir::resolve(Some(folder.path().join("state")), None, None)
                .expect("an absolute path");
        state.ensure().expect("a new folder");
        let store: Arc<dyn LocalStore> =
            watchdog_store::open_store(&state).expect("an empty store");
        let tips = |word: &str| {
            (0..100)
                .map(|n| (format!("refs/heads/{word}/{n}"), "1".repeat(40)))
                .collect::<RefList>()
        };
        let kept_refs = |word: &str| {
            refs::keep_refs(store.as_ref(), tips(word), Timestamp::UNIX_EPOCH).expect("a row")
        };
        let recent = RecentRefs::default();
        let first = |known_refs: &KnownRefs| {
            known_refs
                .tips()
                .expect("they are there")
                .iter()
                .next()
                .expect("many")
                .0
                .to_owned()
        };
        let a = recent.get_known_refs(&store, kept_refs("a"));
        assert_eq!(first(&a), "refs/heads/a/0");
        for word in ["b", "a", "c", "b"] {
            assert_eq!(
                first(&recent.get_known_refs(&store, kept_refs(word))),
                format!("refs/heads/{word}/0")
            );
        }
        assert_eq!(
            recent.kept.lock().expect("no holder panics").len(),
            3,
            "each is kept once"
        );
        for n in 0..2 * RecentRefs::MOST {
            recent.get_known_refs(&store, kept_refs(&format!("n{n}")));
        }
        assert_eq!(
            recent.kept.lock().expect("no holder panics").len(),
            RecentRefs::MOST
        );
        // A short list stays with its baseline, and has no name.
        let here = recent.get_known_refs(&store, BaselineRefs::Here(tips("here")));
        assert_eq!(first(&here), "refs/heads/here/0");
    }
}
