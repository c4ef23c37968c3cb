//! The newest events of some kinds, for many worktrees at once.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::{event, limit};
use crate::engine::StoredEvent;

/// How many of the newest events one pass reads for each requested worktree: with many active worktrees, their events alternate.
const FOR_EACH: usize = 4;
/// More than so many are never read in one pass.
const PASS: usize = 8_192;

/// As [`crate::Store::newest_of`] says. What an event holds is read for those that were found, and for no other.
pub(super) fn newest_of(
    connection: &mut Connection,
    of: &[(String, String)],
    kinds: &[&str],
    within: usize,
) -> rusqlite::Result<Vec<Option<StoredEvent>>> {
    let tx = connection.transaction()?;
    let mut found = in_one_pass(&tx, of, kinds)?;
    for ((worktree, spec), seq) in of.iter().zip(&mut found).filter(|(_, seq)| seq.is_none()) {
        *seq = in_worktree(&tx, worktree, spec, kinds, within)?;
    }
    let mut events: Vec<Option<StoredEvent>> = vec![None; of.len()];
    let mut places: Vec<(i64, usize)> = found.into_iter().enumerate().filter_map(|(index, seq)| Some((seq?, index))).collect();
    // In the order of the file.
    places.sort_unstable();
    let mut read = tx.prepare_cached("SELECT seq, id, at, worktree, spec, kind, data FROM event WHERE seq = ?1")?;
    for (seq, index) in places {
        events[index] = read.query_row([seq], event).optional()?.map(|(_, event)| event);
    }
    Ok(events)
}

fn in_one_pass(tx: &Transaction<'_>, of: &[(String, String)], kinds: &[&str]) -> rusqlite::Result<Vec<Option<i64>>> {
    let mut found = vec![None; of.len()];
    let wanted: HashMap<(&str, &str), usize> = of.iter().enumerate().map(|(at, (tree, spec))| ((&**tree, &**spec), at)).collect();
    let mut left = wanted.len();
    let mut read = tx.prepare_cached("SELECT seq, kind, spec, worktree FROM event ORDER BY seq DESC LIMIT ?1")?;
    let mut rows = read.query([limit(of.len().saturating_mul(FOR_EACH).min(PASS))])?;
    while left > 0
        && let Some(row) = rows.next()?
    {
        let Some(spec) = is_one_of(row, kinds)? else { continue };
        if let Some(index) = wanted.get(&(plain(row, 3)?, spec))
            && found[*index].is_none()
        {
            found[*index] = Some(row.get(0)?);
            left -= 1;
        }
    }
    Ok(found)
}

fn in_worktree(tx: &Transaction<'_>, worktree: &str, spec: &str, kinds: &[&str], within: usize) -> rusqlite::Result<Option<i64>> {
    let mut read = tx.prepare_cached("SELECT seq, kind, spec FROM event WHERE worktree = ?1 ORDER BY seq DESC LIMIT ?2")?;
    let mut rows = read.query(params![worktree, limit(within)])?;
    while let Some(row) = rows.next()? {
        if is_one_of(row, kinds)? == Some(spec) {
            return row.get(0).map(Some);
        }
    }
    Ok(None)
}

/// The spec of an event that is of one of these kinds.
fn is_one_of<'row>(row: &'row Row<'_>, kinds: &[&str]) -> rusqlite::Result<Option<&'row str>> {
    if !kinds.contains(&plain(row, 1)?) {
        return Ok(None);
    }
    Ok(row.get_ref(2)?.as_bytes_or_null()?.and_then(|bytes| std::str::from_utf8(bytes).ok()))
}

/// Text that is only compared with ours: garbled text from a damaged disk never equals it.
fn plain<'row>(row: &'row Row<'_>, index: usize) -> rusqlite::Result<&'row str> {
    Ok(std::str::from_utf8(row.get_ref(index)?.as_bytes()?).unwrap_or_default())
}
