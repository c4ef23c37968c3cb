//! Which verdict of the journal is meant: the last one of a worktree, that of a spec, or the one that an event belongs to. Works without the
//! worktree, as where it is gone: its folder stands in its verdicts.

use std::collections::HashMap;

use jiff::Timestamp;

use watchdog_store::engine::{EventCursor, StoredEvent};
use watchdog_store::journal::kind;
use watchdog_store::{LocalStore, StoreError};

/// How many events are read at a time.
const BATCH: usize = 500;
/// A prefix of an event's id has at least so many characters: those of its time.
const PREFIX: usize = 6;

/// Whose verdicts are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalScope {
    /// Of a worktree by its name in the store.
    Worktree(String),
    /// Of the worktree that was at this folder.
    Folder(String),
}

impl JournalScope {
    fn id(&self) -> Option<&str> {
        match self {
            JournalScope::Worktree(id) => Some(id),
            JournalScope::Folder(_) => None,
        }
    }

    fn has(&self, event: &StoredEvent) -> bool {
        match self {
            JournalScope::Worktree(id) => event.worktree == *id,
            JournalScope::Folder(folder) => event.data["worktree"].as_str() == Some(folder),
        }
    }
}

/// The result of the search.
#[derive(Debug, Clone, PartialEq)]
pub enum VerdictChoice {
    /// The verdict's event.
    Found(Box<StoredEvent>),
    /// The name fits no event.
    Missing,
    /// So many events begin like this.
    Ambiguous(usize),
}

/// Looks for the verdict that `named` means: `last` or `None`, a spec, or an event's id or the
/// beginning of one.
///
/// # Errors
/// Fails if the journal cannot be read.
pub fn choose_verdict(
    store: &dyn LocalStore,
    scope: &JournalScope,
    named: Option<&str>,
) -> Result<VerdictChoice, StoreError> {
    let named = named.filter(|name| *name != "last");
    let Some(name) = named else {
        return Ok(find_newest_verdict(store, scope, |_| true)?
            .map_or(VerdictChoice::Missing, |event| {
                VerdictChoice::Found(Box::new(event))
            }));
    };
    if let Some(event) =
        find_newest_verdict(store, scope, |event| event.spec.as_deref() == Some(name))?
    {
        return Ok(VerdictChoice::Found(Box::new(event)));
    }
    // A plain reading has the id of its verdict with a number.
    let id = name.split('.').next().unwrap_or(name);
    if id.len() < PREFIX {
        Ok(VerdictChoice::Missing)
    } else {
        by_event(store, id)
    }
}

fn each_back(
    store: &dyn LocalStore,
    worktree: Option<&str>,
    mut wanted: impl FnMut(StoredEvent) -> bool,
) -> Result<(), StoreError> {
    let mut end = store.cursor_at(Timestamp::MAX)?;
    loop {
        let (events, before) = store.read_back(end, worktree, BATCH)?;
        if events.is_empty()
            || events.into_iter().rev().any(&mut wanted)
            || before == EventCursor::START
        {
            return Ok(());
        }
        end = before;
    }
}

fn find_newest_verdict(
    store: &dyn LocalStore,
    scope: &JournalScope,
    fits: impl Fn(&StoredEvent) -> bool,
) -> Result<Option<StoredEvent>, StoreError> {
    let mut verdict = None;
    each_back(store, scope.id(), |event| {
        let wanted = event.kind == kind::VERDICT && scope.has(&event) && fits(&event);
        if wanted {
            verdict = Some(event);
        }
        wanted
    })?;
    Ok(verdict)
}

/// The verdict of the event whose id begins so: that event, or the next verdict about the same work after it.
fn by_event(store: &dyn LocalStore, beginning: &str) -> Result<VerdictChoice, StoreError> {
    let mut next: HashMap<(String, Option<String>), StoredEvent> = HashMap::new();
    let mut verdicts: Vec<StoredEvent> = Vec::new();
    let mut whole = None;
    each_back(store, None, |event| {
        let (fits, is_whole) = (event.id.starts_with(beginning), event.id == beginning);
        let work = (event.worktree.clone(), event.spec.clone());
        let is_verdict = event.kind == kind::VERDICT;
        if is_verdict {
            next.insert(work.clone(), event.clone());
        }
        if let Some(verdict) = next.get(&work).filter(|_| fits) {
            if !verdicts.iter().any(|earlier| earlier.id == verdict.id) {
                verdicts.push(verdict.clone());
            }
            if is_whole {
                whole = Some(verdict.clone());
            }
        }
        is_whole
    })?;
    Ok(match (whole, verdicts.len()) {
        (Some(verdict), _) => VerdictChoice::Found(Box::new(verdict)),
        (None, 0) => VerdictChoice::Missing,
        (None, 1) => VerdictChoice::Found(Box::new(verdicts.remove(0))),
        (None, more) => VerdictChoice::Ambiguous(more),
    })
}
