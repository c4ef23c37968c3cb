//! SQLite as the store of this machine: hints, and the journal read back, looked through and shortened.

use super::*;
use crate::engine::WantedKind;
use watchdog_system::lock_mutex;

impl LocalStore for SqliteStore {
    fn revisions(&self, prefix: &str) -> Result<Vec<(RowKey, RowRevision)>, StoreError> {
        let end = format!("{prefix}\u{7f}");
        self.with("list rows", |connection| {
            connection
                .prepare_cached(
                    "SELECT key, rev FROM record WHERE key >= ?1 AND key < ?2 ORDER BY key",
                )?
                .query_map(params![prefix, end], |row| {
                    Ok((
                        RowKey::from_stored(read_lossy_text(row, 0)?),
                        RowRevision(row.get(1)?),
                    ))
                })?
                .collect()
        })
    }

    fn keep_hints(&self, hints: &[(RowKey, Vec<u8>)]) -> Result<(), StoreError> {
        self.with("write rows", |connection| {
            let tx = begin_journal_transaction(connection)?;
            let last = next_numbers(&tx, hints.len())?;
            for ((key, value), rev) in hints.iter().rev().zip((0..=last).rev()) {
                tx.prepare_cached(
                    "INSERT OR REPLACE INTO record (key, rev, value) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![key.as_str(), rev, value])?;
            }
            tx.commit()
        })
    }

    fn cas_without_flush(
        &self,
        key: &RowKey,
        expect: ExpectedRevision,
        value: &[u8],
    ) -> Result<SwapOutcome, StoreError> {
        self.swap_all(
            &[(key.clone(), expect, value.to_vec())],
            begin_journal_transaction,
        )
    }

    fn cursor_at(&self, at: Timestamp) -> Result<EventCursor, StoreError> {
        self.with("read the journal", |connection| {
            // Left to itself, SQLite walks through the events in their order, all of a long journal where the time is a recent one.
            // A time that is kept to the microsecond must not look later than the event that happened then.
            let first: Option<i64> = connection
                .prepare_cached("SELECT min(seq) FROM event INDEXED BY event_at WHERE at >= ?1")?
                .query_row([at.as_microsecond()], |row| row.get(0))?;
            let after = match first {
                Some(first) => first - 1,
                None => connection
                    .prepare_cached("SELECT coalesce(max(seq), 0) FROM event")?
                    .query_row([], |row| row.get(0))?,
            };
            Ok(EventCursor(after))
        })
    }

    fn read_back(
        &self,
        end: EventCursor,
        worktree: Option<&str>,
        n: usize,
    ) -> Result<(Vec<StoredEvent>, EventCursor), StoreError> {
        const ALL: &str = "SELECT seq, id, at, worktree, spec, kind, data FROM event WHERE seq <= ?1 ORDER BY seq DESC LIMIT ?2";
        const OF_ONE: &str = "SELECT seq, id, at, worktree, spec, kind, data FROM event WHERE worktree = ?3 AND seq <= ?1 ORDER BY seq DESC LIMIT ?2";
        let mut rows: Vec<(i64, StoredEvent)> = self.with("read the journal", |connection| {
            let rows: rusqlite::Result<Vec<_>> = match worktree {
                None => connection
                    .prepare_cached(ALL)?
                    .query_map(params![end.0, to_sql_limit(n)], read_event)?
                    .collect(),
                Some(worktree) => connection
                    .prepare_cached(OF_ONE)?
                    .query_map(params![end.0, to_sql_limit(n), worktree], read_event)?
                    .collect(),
            };
            Ok(put_together(connection, rows?))
        })?;
        rows.reverse();
        let before = rows.first().map_or(end, |(seq, _)| EventCursor(seq - 1));
        Ok((rows.into_iter().map(|(_, event)| event).collect(), before))
    }

    fn newest_of(
        &self,
        of: &[(String, String)],
        kinds: &[WantedKind<'_>],
        within: usize,
    ) -> Result<Vec<Option<StoredEvent>>, StoreError> {
        self.with("read the journal", |connection| {
            newest::newest_of(connection, of, kinds, within)
        })
    }

    fn newest(&self, n: usize) -> Result<Vec<StoredEvent>, StoreError> {
        self.read_back(EventCursor::END, None, n)
            .map(|(events, _)| events)
    }

    fn prune(&self, retention: &EventRetention) -> Result<u64, StoreError> {
        const FIRST: &str =
            "DELETE FROM event WHERE seq IN (SELECT seq FROM event ORDER BY seq LIMIT ?1)";
        // The old events beyond the newest `at_least`, selected by their time without reading newer ones.
        const OLD: &str = "DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE at < ?1
            AND seq <= coalesce((SELECT seq FROM event ORDER BY seq DESC LIMIT 1 OFFSET ?2), -1) ORDER BY at LIMIT ?3)";
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let (at_most, at_least) = (
            number(retention.at_most),
            number(retention.at_least.min(retention.at_most)),
        );
        self.with("prune the journal", |connection| {
            // An event that a power cut restores is deleted the next time.
            let tx = begin_journal_transaction(connection)?;
            // Counts in the smallest index, and no further than one batch can take away.
            let far_enough = at_most.saturating_add(number(PRUNED_AT_ONCE));
            let count: i64 = tx
                .prepare_cached("SELECT count(*) FROM (SELECT 1 FROM event LIMIT ?1)")?
                .query_row([far_enough], |row| row.get(0))?;
            let too_many = (count - at_most).clamp(0, number(PRUNED_AT_ONCE));
            let mut forgotten = tx.prepare_cached(FIRST)?.execute([too_many])?;
            let remaining = number(PRUNED_AT_ONCE) - too_many;
            forgotten += tx.prepare_cached(OLD)?.execute(params![
                retention.older_than.as_microsecond(),
                at_least,
                remaining
            ])?;
            tx.commit()?;
            Ok(forgotten as u64)
        })
    }

    fn events_of(&self, worktree: &str) -> Result<(u64, u64), StoreError> {
        self.with("read the journal", |connection| {
            connection
                .prepare_cached("SELECT count(*), coalesce(sum(octet_length(data)), 0) FROM event WHERE worktree = ?1")?
                .query_row([worktree], |row| Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs())))
        })
    }

    fn remove_events(&self, worktree: &str) -> Result<u64, StoreError> {
        const OF_ONE: &str = "DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE worktree = ?1 ORDER BY seq LIMIT ?2)";
        self.with("remove events", |connection| {
            let tx = begin_durable_transaction(connection)?;
            let at_once = i64::try_from(PRUNED_AT_ONCE).unwrap_or(i64::MAX);
            let removed = tx
                .prepare_cached(OF_ONE)?
                .execute(params![worktree, at_once])?;
            tx.commit()?;
            Ok(removed as u64)
        })
    }

    fn notes(&self) -> StoreNotes {
        lock_mutex(&self.file).take_notes()
    }

    fn leave_log(&self) {
        lock_mutex(&self.file).leave_log();
    }
}
