//! Rows, leases and events on the server. Leases are judged by its clock alone.
//!
//! Each statement is its own transaction wherever that is enough: it then holds no lock while
//! waiting for the network.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};
use watchdog_store::engine::{
    AppendOutcome, EngineTime, EventCursor, ExpectedRevision, Lease, LeaseRenewal, NewEvent,
    RowRevision, StoredEvent, StoredRow, SwapOutcome,
};
use watchdog_store::{RowKey, SharedStore, StoreError};

use crate::fleet_error::FleetError;
use crate::server::{CallFailure, FleetServer, Repeat, SqlValue};

const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

const GET: &str = "SELECT rev, value FROM watchdog.record WHERE key = $1";

const INSERT: &str = "INSERT INTO watchdog.record (key, rev, value) VALUES ($1, nextval('watchdog.number'), $2) \
                      ON CONFLICT (key) DO NOTHING RETURNING rev";

const UPDATE: &str = "UPDATE watchdog.record SET rev = nextval('watchdog.number'), value = $2 WHERE key = $1 AND rev = $3 RETURNING rev";

const DELETE: &str = "DELETE FROM watchdog.record WHERE key = $1 AND rev = $2 RETURNING rev";

/// Keys are printable ASCII, so DEL sorts behind all that begin with the prefix.
const LIST: &str = "SELECT key, rev, value FROM watchdog.record WHERE key >= $1 AND key < $1 || chr(127) AND key > $2 ORDER BY key LIMIT $3";

/// The fence of a row that is there is drawn while that row is locked; see the table.
const ACQUIRE: &str = "INSERT INTO watchdog.lease AS held (key, holder, fence, until) \
     VALUES ($1, $2, nextval('watchdog.number'), clock_timestamp() + $3 * interval '1 millisecond') \
     ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, fence = nextval('watchdog.number'), \
         until = clock_timestamp() + $3 * interval '1 millisecond' \
     WHERE held.until <= clock_timestamp() \
     RETURNING fence, (extract(epoch FROM until) * 1000)::bigint";

const RENEW: &str = "UPDATE watchdog.lease SET until = clock_timestamp() + $4 * interval '1 millisecond' \
     WHERE key = $1 AND holder = $2 AND fence = $3 AND until > clock_timestamp() \
     RETURNING (extract(epoch FROM until) * 1000)::bigint";

const RELEASE: &str = "UPDATE watchdog.lease SET until = '-infinity' \
     WHERE key = $1 AND holder = $2 AND fence = $3 AND until > clock_timestamp() RETURNING fence";

/// The lock is had before a number is drawn and held until after the commit. The guarding lease
/// cannot change hands meanwhile. A single notification per batch wakes the followers; the lock
/// that it takes for the commit costs nothing where appends wait for each other already. Events
/// that
/// are there already may not have reached a standby yet, and a transaction that writes nothing does not wait for it: so it writes a message.
const APPEND: &str = "WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock(8317712, 2)), \
     guard AS MATERIALIZED (SELECT FROM turn), \
     written AS (INSERT INTO watchdog.event (id, at, machine, worktree, spec, kind, data) \
         SELECT e.id, e.at, $1, e.worktree, e.spec, e.kind, e.data::json FROM guard, \
         unnest($2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[]) \
             WITH ORDINALITY AS e (id, at, worktree, spec, kind, data, place) \
         ORDER BY e.place ON CONFLICT (at, id) DO NOTHING RETURNING 1) \
     SELECT (SELECT count(*) FROM guard), \
         CASE WHEN EXISTS (SELECT FROM written) THEN pg_notify('watchdog_event', '')::text \
             ELSE pg_logical_emit_message(true, 'watchdog', ''::text)::text END";

const READ: &str = "SELECT seq, id, at, worktree, spec, kind, data::text FROM watchdog.event WHERE seq > $1 ORDER BY seq LIMIT $2";

/// The shared store of a fleet's machines.
pub struct FleetStore {
    server: Arc<FleetServer>,
    machine: String,
    append_guarded: String,
}

impl FleetStore {
    /// The fleet's store as the machine of this name uses it. Sends no request yet.
    pub fn new(server: Arc<FleetServer>, machine: &str) -> Self {
        let guard = "guard AS MATERIALIZED (SELECT FROM turn)";
        let leased = "guard AS MATERIALIZED (SELECT FROM turn, watchdog.lease l WHERE l.key = $8 AND l.holder = $9 AND l.fence = $10 \
                      AND l.until > clock_timestamp() FOR SHARE OF l)";
        FleetStore {
            server,
            machine: machine.to_owned(),
            append_guarded: APPEND.replace(guard, leased),
        }
    }
}

fn to_swap_outcome(
    done: Result<Option<RowRevision>, CallFailure>,
) -> Result<SwapOutcome, StoreError> {
    match done {
        Ok(Some(rev)) => Ok(SwapOutcome::Ok(rev)),
        Ok(None) => Ok(SwapOutcome::Conflict),
        Err(CallFailure::Unknown(error)) => Ok(SwapOutcome::Unknown(error.into())),
        Err(CallFailure::Failed(error)) => Err(error.into()),
    }
}

fn to_store_result<T>(done: Result<T, CallFailure>) -> Result<T, StoreError> {
    done.map_err(|failure| FleetError::from(failure).into())
}

fn to_millis(ttl: Duration) -> f64 {
    // A century is long enough, and no overflow for the server.
    ttl.as_secs_f64().min(3.2e9) * 1000.0
}

fn to_sql_limit(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The event of a row: seq, id, at, worktree, spec, kind, data as text.
pub(crate) fn stored_event(row: &Row) -> Result<(i64, StoredEvent), Error> {
    let data: &str = row.try_get(6)?;
    let event = NewEvent {
        id: row.try_get(1)?,
        at: row.try_get(2)?,
        worktree: row.try_get(3)?,
        spec: row.try_get(4)?,
        kind: row.try_get(5)?,
        // The column takes nothing but JSON; numbers that serde cannot hold would be somebody else's.
        data: serde_json::from_str(data).unwrap_or_default(),
    };
    Ok((row.try_get(0)?, event))
}

impl SharedStore for FleetStore {
    fn now(&self) -> Result<EngineTime, StoreError> {
        to_store_result(
            self.server
                .call("read the clock", Repeat::Safe, async |call| {
                    call.client
                        .query_typed_one(NOW, &[])
                        .await?
                        .try_get(0)
                        .map(EngineTime)
                }),
        )
    }

    fn get(&self, key: &RowKey) -> Result<Option<(RowRevision, Vec<u8>)>, StoreError> {
        to_store_result(self.server.call("read a row", Repeat::Safe, async |call| {
            let row = call
                .client
                .query_typed_opt(GET, &[(&key.as_str(), Type::TEXT)])
                .await?;
            row.map(|row| Ok((RowRevision(row.try_get(0)?), row.try_get(1)?)))
                .transpose()
        }))
    }

    fn cas_all(
        &self,
        writes: &[(RowKey, ExpectedRevision, Vec<u8>)],
    ) -> Result<SwapOutcome, StoreError> {
        if let [(key, expect, value)] = writes {
            return to_swap_outcome(
                self.server
                    .call("write a row", Repeat::Never, async |call| {
                        let row = match expect {
                            ExpectedRevision::Absent => {
                                call.client
                                    .query_typed_opt(
                                        INSERT,
                                        &[(&key.as_str(), Type::TEXT), (value, Type::BYTEA)],
                                    )
                                    .await?
                            }
                            ExpectedRevision::Rev(rev) => {
                                let values: [SqlValue<'_>; 3] = [
                                    (&key.as_str(), Type::TEXT),
                                    (value, Type::BYTEA),
                                    (&rev.0, Type::INT8),
                                ];
                                call.client.query_typed_opt(UPDATE, &values).await?
                            }
                        };
                        row.map(|row| row.try_get(0).map(RowRevision)).transpose()
                    }),
            );
        }
        // Everybody locks in the same order, so that two that write the same rows do not wait for each other.
        let mut order: Vec<usize> = (0..writes.len()).collect();
        order.sort_by(|a, b| writes[*a].0.cmp(&writes[*b].0));
        to_swap_outcome(self.server.call("write rows", Repeat::Never, async |call| {
            let mark = call.before_commit();
            let tx = call.client.transaction().await?;
            let mut last = RowRevision(0);
            for index in &order {
                let (key, expect, value) = &writes[*index];
                let row = match expect {
                    ExpectedRevision::Absent => {
                        tx.query_typed_opt(
                            INSERT,
                            &[(&key.as_str(), Type::TEXT), (value, Type::BYTEA)],
                        )
                        .await?
                    }
                    ExpectedRevision::Rev(rev) => {
                        tx.query_typed_opt(
                            UPDATE,
                            &[
                                (&key.as_str(), Type::TEXT),
                                (value, Type::BYTEA),
                                (&rev.0, Type::INT8),
                            ],
                        )
                        .await?
                    }
                };
                let Some(row) = row else {
                    tx.rollback().await?;
                    return Ok(None);
                };
                if index + 1 == writes.len() {
                    last = RowRevision(row.try_get(0)?);
                }
            }
            mark.committing();
            tx.commit().await?;
            Ok(Some(last))
        }))
    }

    fn delete(&self, key: &RowKey, expect: RowRevision) -> Result<SwapOutcome, StoreError> {
        to_swap_outcome(
            self.server
                .call("delete a row", Repeat::Never, async |call| {
                    let row = call
                        .client
                        .query_typed_opt(
                            DELETE,
                            &[(&key.as_str(), Type::TEXT), (&expect.0, Type::INT8)],
                        )
                        .await?;
                    row.map(|row| row.try_get(0).map(RowRevision)).transpose()
                }),
        )
    }

    fn list(
        &self,
        prefix: &str,
        after: Option<&RowKey>,
        n: usize,
    ) -> Result<Vec<StoredRow>, StoreError> {
        let after = after.map_or("", RowKey::as_str);
        to_store_result(self.server.call("list rows", Repeat::Safe, async |call| {
            let rows = call
                .client
                .query_typed(
                    LIST,
                    &[
                        (&prefix, Type::TEXT),
                        (&after, Type::TEXT),
                        (&to_sql_limit(n), Type::INT8),
                    ],
                )
                .await?;
            rows.iter()
                .map(|row| {
                    Ok(StoredRow {
                        key: RowKey::from_stored(row.try_get(0)?),
                        rev: RowRevision(row.try_get(1)?),
                        value: row.try_get(2)?,
                    })
                })
                .collect()
        }))
    }

    fn acquire(
        &self,
        key: &RowKey,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        to_store_result(
            self.server
                .call("take a lease", Repeat::Never, async |call| {
                    let values: [SqlValue<'_>; 3] = [
                        (&key.as_str(), Type::TEXT),
                        (&holder, Type::TEXT),
                        (&to_millis(ttl), Type::FLOAT8),
                    ];
                    let row = call.client.query_typed_opt(ACQUIRE, &values).await?;
                    row.map(|row| {
                        Ok(Lease {
                            key: key.clone(),
                            holder: holder.to_owned(),
                            fence: row.try_get(0)?,
                            until: EngineTime(row.try_get(1)?),
                        })
                    })
                    .transpose()
                }),
        )
    }

    fn renew(&self, lease: &Lease, ttl: Duration) -> Result<LeaseRenewal, StoreError> {
        to_store_result(
            self.server
                .call("renew a lease", Repeat::Safe, async |call| {
                    let values: [SqlValue<'_>; 4] = [
                        (&lease.key.as_str(), Type::TEXT),
                        (&lease.holder, Type::TEXT),
                        (&lease.fence, Type::INT8),
                        (&to_millis(ttl), Type::FLOAT8),
                    ];
                    Ok(match call.client.query_typed_opt(RENEW, &values).await? {
                        Some(row) => LeaseRenewal::Held(Lease {
                            until: EngineTime(row.try_get(0)?),
                            ..lease.clone()
                        }),
                        None => LeaseRenewal::Lost,
                    })
                }),
        )
    }

    fn release(&self, lease: &Lease) -> Result<bool, StoreError> {
        to_store_result(
            self.server
                .call("release a lease", Repeat::Never, async |call| {
                    let values: [SqlValue<'_>; 3] = [
                        (&lease.key.as_str(), Type::TEXT),
                        (&lease.holder, Type::TEXT),
                        (&lease.fence, Type::INT8),
                    ];
                    Ok(call
                        .client
                        .query_typed_opt(RELEASE, &values)
                        .await?
                        .is_some())
                }),
        )
    }

    fn append(
        &self,
        events: &[NewEvent],
        guard: Option<&Lease>,
    ) -> Result<AppendOutcome, StoreError> {
        let ids: Vec<&str> = events.iter().map(|event| event.id.as_str()).collect();
        let times: Vec<Timestamp> = events.iter().map(|event| event.at).collect();
        let worktrees: Vec<&str> = events.iter().map(|event| event.worktree.as_str()).collect();
        let specs: Vec<Option<&str>> = events.iter().map(|event| event.spec.as_deref()).collect();
        let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        let data: Vec<String> = events.iter().map(|event| event.data.to_string()).collect();
        // Ids make it harmless to send it again, with a guard as well: a lease that was lost meanwhile says so.
        to_store_result(
            self.server
                .call("write the events", Repeat::Safe, async |call| {
                    let mut values: Vec<SqlValue<'_>> = vec![
                        (&self.machine, Type::TEXT),
                        (&ids, Type::TEXT_ARRAY),
                        (&times, Type::TIMESTAMPTZ_ARRAY),
                        (&worktrees, Type::TEXT_ARRAY),
                        (&specs, Type::TEXT_ARRAY),
                        (&kinds, Type::TEXT_ARRAY),
                        (&data, Type::TEXT_ARRAY),
                    ];
                    let key = guard.map(|lease| lease.key.as_str());
                    let sql = match (guard, &key) {
                        (Some(lease), Some(key)) => {
                            values.extend([
                                (key as _, Type::TEXT),
                                (&lease.holder as _, Type::TEXT),
                                (&lease.fence as _, Type::INT8),
                            ]);
                            self.append_guarded.as_str()
                        }
                        _ => APPEND,
                    };
                    let valid: i64 = call
                        .client
                        .query_typed_one(sql, &values)
                        .await?
                        .try_get(0)?;
                    Ok(if valid == 0 {
                        AppendOutcome::Fenced
                    } else {
                        AppendOutcome::Done
                    })
                }),
        )
    }

    fn read_events(
        &self,
        after: EventCursor,
        n: usize,
    ) -> Result<(Vec<StoredEvent>, EventCursor), StoreError> {
        let rows = to_store_result(self.server.call(
            "read the events",
            Repeat::Safe,
            async |call| {
                let rows = call
                    .client
                    .query_typed(
                        READ,
                        &[(&after.0, Type::INT8), (&to_sql_limit(n), Type::INT8)],
                    )
                    .await?;
                rows.iter().map(stored_event).collect::<Result<Vec<_>, _>>()
            },
        ))?;
        let cursor = rows.last().map_or(after, |(seq, _)| EventCursor(*seq));
        Ok((rows.into_iter().map(|(_, event)| event).collect(), cursor))
    }
}
