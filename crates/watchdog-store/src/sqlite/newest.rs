//! The newest events of some kinds, for many worktrees at once.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::{put_together, read_data, read_event, to_sql_limit};
use crate::engine::{StoredEvent, WantedKind};

/// How many of the newest events one pass reads for each requested worktree: with many active worktrees, their events alternate.
const FOR_EACH: usize = 4;
/// More than so many are never read in one pass.
const PASS: usize = 8_192;

/// As [`crate::Store::newest_of`] says. Only the found events are read whole.
pub(super) fn newest_of(
    connection: &mut Connection,
    of: &[(String, String)],
    kinds: &[WantedKind<'_>],
    within: usize,
) -> rusqlite::Result<Vec<Option<StoredEvent>>> {
    let tx = connection.transaction()?;
    let mut sequences = in_one_pass(&tx, of, kinds)?;
    let mut missed: BTreeMap<&str, HashMap<&str, usize>> = BTreeMap::new();
    for (index, (worktree, spec)) in of
        .iter()
        .enumerate()
        .filter(|(index, _)| sequences[*index].is_none())
    {
        let _first = missed.entry(worktree).or_default().insert(spec, index);
    }
    for (worktree, specs) in missed {
        in_worktree(&tx, worktree, specs, kinds, within, &mut sequences)?;
    }
    let mut events: Vec<Option<StoredEvent>> = vec![None; of.len()];
    let mut places: Vec<(i64, usize)> = sequences
        .into_iter()
        .enumerate()
        .filter_map(|(index, seq)| Some((seq?, index)))
        .collect();
    // In the order of the file.
    places.sort_unstable();
    let mut read = tx.prepare_cached(
        "SELECT seq, id, at, worktree, spec, kind, data FROM event WHERE seq = ?1",
    )?;
    for (seq, index) in places {
        let row = read.query_row([seq], read_event).optional()?;
        events[index] = put_together(&tx, row.into_iter().collect())
            .pop()
            .map(|(_, event)| event);
    }
    Ok(events)
}

fn in_one_pass(
    tx: &Transaction<'_>,
    of: &[(String, String)],
    kinds: &[WantedKind<'_>],
) -> rusqlite::Result<Vec<Option<i64>>> {
    let mut sequences = vec![None; of.len()];
    let wanted: HashMap<(&str, &str), usize> = of
        .iter()
        .enumerate()
        .map(|(at, (tree, spec))| ((&**tree, &**spec), at))
        .collect();
    let mut missing = wanted.len();
    let mut read = tx.prepare_cached(
        "SELECT seq, kind, spec, data, worktree FROM event ORDER BY seq DESC LIMIT ?1",
    )?;
    let mut rows = read.query([to_sql_limit(of.len().saturating_mul(FOR_EACH).min(PASS))])?;
    while missing > 0
        && let Some(row) = rows.next()?
    {
        let Some(spec) = is_one_of(row, kinds)? else {
            continue;
        };
        if let Some(index) = wanted.get(&(read_plain_text(row, 4)?, spec))
            && sequences[*index].is_none()
        {
            sequences[*index] = Some(row.get(0)?);
            missing -= 1;
        }
    }
    Ok(sequences)
}

/// The events of these specs of one worktree, each in the place that its number names.
fn in_worktree(
    tx: &Transaction<'_>,
    worktree: &str,
    mut specs: HashMap<&str, usize>,
    kinds: &[WantedKind<'_>],
    within: usize,
    sequences: &mut [Option<i64>],
) -> rusqlite::Result<()> {
    let mut read = tx.prepare_cached(
        "SELECT seq, kind, spec, data FROM event WHERE worktree = ?1 ORDER BY seq DESC LIMIT ?2",
    )?;
    let mut rows = read.query(params![worktree, to_sql_limit(within)])?;
    while !specs.is_empty()
        && let Some(row) = rows.next()?
    {
        if let Some(index) = is_one_of(row, kinds)?.and_then(|spec| specs.remove(spec)) {
            sequences[index] = Some(row.get(0)?);
        }
    }
    Ok(())
}

/// The spec of an event that is of one of these kinds. Its data, of which some is large, is read only where a kind asks for that.
fn is_one_of<'row>(
    row: &'row Row<'_>,
    kinds: &[WantedKind<'_>],
) -> rusqlite::Result<Option<&'row str>> {
    let kind = read_plain_text(row, 1)?;
    let Some(wanted) = kinds.iter().find(|wanted| wanted.kind == kind) else {
        return Ok(None);
    };
    if let Some(member) = wanted.with_text
        && !read_data(row.get_ref(3)?)[member].is_string()
    {
        return Ok(None);
    }
    Ok(row
        .get_ref(2)?
        .as_bytes_or_null()?
        .and_then(|bytes| std::str::from_utf8(bytes).ok()))
}

/// Text that is only compared with ours: garbled text from a damaged disk never equals it.
fn read_plain_text<'row>(row: &'row Row<'_>, index: usize) -> rusqlite::Result<&'row str> {
    Ok(std::str::from_utf8(row.get_ref(index)?.as_bytes()?).unwrap_or_default())
}
