//! SQLite as the store that machines could share: rows, leases, and the stream of events.

use super::*;
use crate::records::figures;

/// After so many further events they are added to the figures, by the append that has the last of them: a report has to count few by itself.
const FOLDED_EACH: i64 = 1_000;

impl SqliteStore {
    /// Writes values if each finds what it expects, in a transaction that `begin` begins.
    pub(super) fn swap_all(
        &self,
        writes: &[(RowKey, ExpectedRevision, Vec<u8>)],
        begin: impl Fn(&mut Connection) -> rusqlite::Result<Transaction<'_>>,
    ) -> Result<SwapOutcome, StoreError> {
        let is_unknown = Cell::new(false);
        let written = self.with("write a row", |connection| {
            is_unknown.set(false);
            let tx = begin(connection)?;
            let mut last = RowRevision(0);
            for (key, expect, value) in writes {
                let expected = match expect {
                    ExpectedRevision::Absent => None,
                    ExpectedRevision::Rev(rev) => Some(*rev),
                };
                if current_rev(&tx, key)? != expected {
                    return Ok(SwapOutcome::Conflict);
                }
                last = RowRevision(next_number(&tx)?);
                tx.prepare_cached(
                    "INSERT OR REPLACE INTO record (key, rev, value) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![key.as_str(), last.0, value])?;
            }
            commit_transaction(tx, &is_unknown).map(|()| SwapOutcome::Ok(last))
        });
        resolve_swap_outcome(written, &is_unknown)
    }
}

impl SharedStore for SqliteStore {
    fn now(&self) -> Result<EngineTime, StoreError> {
        Ok(boot_time().at)
    }

    fn get(&self, key: &RowKey) -> Result<Option<(RowRevision, Vec<u8>)>, StoreError> {
        self.with("read a row", |connection| {
            connection
                .prepare_cached("SELECT rev, value FROM record WHERE key = ?1")?
                .query_row([key.as_str()], |row| {
                    Ok((RowRevision(row.get(0)?), row.get(1)?))
                })
                .optional()
        })
    }

    fn cas_all(
        &self,
        writes: &[(RowKey, ExpectedRevision, Vec<u8>)],
    ) -> Result<SwapOutcome, StoreError> {
        self.swap_all(writes, begin_durable_transaction)
    }

    fn delete(&self, key: &RowKey, expect: RowRevision) -> Result<SwapOutcome, StoreError> {
        let is_unknown = Cell::new(false);
        let deleted = self.with("delete a row", |connection| {
            is_unknown.set(false);
            let tx = begin_durable_transaction(connection)?;
            let deleted = tx
                .prepare_cached("DELETE FROM record WHERE key = ?1 AND rev = ?2")?
                .execute(params![key.as_str(), expect.0])?;
            commit_transaction(tx, &is_unknown).map(|()| {
                if deleted == 0 {
                    SwapOutcome::Conflict
                } else {
                    SwapOutcome::Ok(expect)
                }
            })
        });
        resolve_swap_outcome(deleted, &is_unknown)
    }

    fn list(
        &self,
        prefix: &str,
        after: Option<&RowKey>,
        n: usize,
    ) -> Result<Vec<StoredRow>, StoreError> {
        // Keys are printable ASCII, so DEL sorts behind all that begin with the prefix.
        let end = format!("{prefix}\u{7f}");
        let after = after.map_or("", RowKey::as_str);
        self.with("list rows", |connection| {
            connection
                .prepare_cached("SELECT key, rev, value FROM record WHERE key >= ?1 AND key < ?2 AND key > ?3 ORDER BY key LIMIT ?4")?
                .query_map(params![prefix, end, after, to_sql_limit(n)], |row| {
                    Ok(StoredRow { key: RowKey::from_stored(read_lossy_text(row, 0)?), rev: RowRevision(row.get(1)?), value: row.get(2)? })
                })?
                .collect()
        })
    }

    fn acquire(
        &self,
        key: &RowKey,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        self.with("take a lease", |connection| {
            let tx = begin_durable_transaction(connection)?;
            let now = boot_time();
            let taken = tx.prepare_cached("SELECT 1 FROM lease WHERE key = ?1 AND boot = ?2 AND until > ?3")?.exists(params![
                key.as_str(),
                now.boot,
                now.at.0
            ])?;
            if taken {
                return Ok(None);
            }
            let lease = Lease { key: key.clone(), holder: holder.to_string(), fence: next_number(&tx)?, until: add_ttl(now.at, ttl) };
            tx.prepare_cached("INSERT OR REPLACE INTO lease (key, holder, fence, boot, until) VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![key.as_str(), holder, lease.fence, now.boot, lease.until.0])?;
            tx.commit()?;
            Ok(Some(lease))
        })
    }

    fn renew(&self, lease: &Lease, ttl: Duration) -> Result<LeaseRenewal, StoreError> {
        self.with("renew a lease", |connection| {
            let tx = begin_durable_transaction(connection)?;
            if !is_lease_valid(&tx, lease)? {
                return Ok(LeaseRenewal::Lost);
            }
            let until = add_ttl(boot_time().at, ttl);
            tx.prepare_cached("UPDATE lease SET until = ?2 WHERE key = ?1")?
                .execute(params![lease.key.as_str(), until.0])?;
            tx.commit()?;
            Ok(LeaseRenewal::Held(Lease {
                until,
                ..lease.clone()
            }))
        })
    }

    fn release(&self, lease: &Lease) -> Result<bool, StoreError> {
        self.with("release a lease", |connection| {
            let tx = begin_durable_transaction(connection)?;
            if !is_lease_valid(&tx, lease)? {
                return Ok(false);
            }
            tx.prepare_cached("DELETE FROM lease WHERE key = ?1")?
                .execute([lease.key.as_str()])?;
            tx.commit()?;
            Ok(true)
        })
    }

    fn append(
        &self,
        events: &[NewEvent],
        guard: Option<&Lease>,
    ) -> Result<AppendOutcome, StoreError> {
        let (outcome, is_due) = self.with("write the journal", |connection| {
            let tx = begin_journal_transaction(connection)?;
            if let Some(lease) = guard
                && !is_lease_valid(&tx, lease)?
            {
                return Ok((AppendOutcome::Fenced, false));
            }
            let mut is_due = false;
            for event in events {
                let written = tx
                    .prepare_cached(
                        "INSERT INTO event (id, at, worktree, spec, kind, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO NOTHING",
                    )?
                    .execute(params![
                        event.id,
                        event.at.as_microsecond(),
                        event.worktree,
                        event.spec,
                        event.kind,
                        packed_data(&event.data)
                    ])?;
                is_due |= written > 0 && tx.last_insert_rowid() % FOLDED_EACH == 0;
            }
            tx.commit()?;
            Ok((AppendOutcome::Done, is_due))
        })?;
        if is_due {
            // The next fold or a report makes up for one that failed or that another process
            // overtook. The events are written.
            let at_most = events.len() + 2 * usize::try_from(FOLDED_EACH).unwrap_or_default();
            let _counted = figures::fold_events(self, at_most);
        }
        Ok(outcome)
    }

    fn read_events(
        &self,
        after: EventCursor,
        n: usize,
    ) -> Result<(Vec<StoredEvent>, EventCursor), StoreError> {
        let rows: Vec<(i64, StoredEvent)> = self.with("read the journal", |connection| {
            let rows: rusqlite::Result<Vec<_>> = connection
                .prepare_cached("SELECT seq, id, at, worktree, spec, kind, data FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2")?
                .query_map(params![after.0, to_sql_limit(n)], read_event)?
                .collect();
            Ok(put_together(connection, rows?))
        })?;
        let cursor = rows.last().map_or(after, |(seq, _)| EventCursor(*seq));
        Ok((rows.into_iter().map(|(_, event)| event).collect(), cursor))
    }
}
