//! The tables of the fleet: made, migrated forward, and refused where a newer program made them.

use tokio_postgres::types::Type;

use crate::call_deadlines::INIT_DEADLINE;
use crate::fleet_error::FleetError;
use crate::server::{FleetServer, Repeat};
use crate::table_format::format_of;

pub use crate::table_format::FLEET_FORMAT;

/// Each step brings the tables from the format before to its own; what was released is never edited.
const STEPS: &[(i32, &str)] = &[
    (1, include_str!("schema/001.sql")),
    (2, include_str!("schema/002.sql")),
    (3, include_str!("schema/003.sql")),
    (4, include_str!("schema/004.sql")),
    (5, include_str!("schema/005.sql")),
    (6, include_str!("schema/006.sql")),
    (7, include_str!("schema/007.sql")),
];

/// The rights of a role that works and owns nothing; `{worker}` stands for it.
const WORKER_RIGHTS: &str = include_str!("schema/worker_rights.sql");

/// The outcome of making the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationOutcome {
    /// The format before; `None` where there were no tables.
    pub from: Option<i32>,
    /// The format now.
    pub to: i32,
    /// The role that was granted the rights of a worker; `None` where there is no such role.
    pub worker: Option<String>,
}

/// Makes the tables, or migrates them forward, and grants `worker` its rights where there is such a role: all in one transaction, under a
/// lock, so that two at once, or one that is cut short, leave nothing half done.
///
/// # Errors
/// Fails if a newer program made the tables, the role may not make them, or the server cannot be
/// used.
pub fn migrate_tables(server: &FleetServer, worker: &str) -> Result<MigrationOutcome, FleetError> {
    let done = server.call_within(
        INIT_DEADLINE,
        "make the fleet's tables",
        Repeat::Safe,
        async |call| {
            let mark = call.before_commit();
            let tx = call.client.transaction().await?;
            // This statement waits for another process that makes the tables now, longer than a
            // statement may take otherwise.
            tx.batch_execute(&format!(
                "SET LOCAL statement_timeout = {}",
                INIT_DEADLINE.as_millis()
            ))
            .await?;
            // A server that waits for the lock notices only so that its client was interrupted.
            tx.batch_execute("SET LOCAL client_connection_check_interval = 1000")
                .await?;
            tx.query_typed("SELECT pg_advisory_xact_lock(8317712, 1)", &[])
                .await?;
            let from = format_of(tx.client()).await?;
            if from.is_some_and(|database_format| database_format > FLEET_FORMAT) {
                return Ok(Err(from.unwrap_or_default()));
            }
            for (version, sql) in STEPS.iter().filter(|(version, _)| {
                from.is_none_or(|database_format| database_format < *version)
            }) {
                tx.batch_execute(sql).await?;
                tx.query_typed(
                    "INSERT INTO watchdog.format (version, program) VALUES ($1, $2)",
                    &[
                        (version, Type::INT4),
                        (&env!("CARGO_PKG_VERSION"), Type::TEXT),
                    ],
                )
                .await?;
            }
            let role_row = tx
                .query_typed_opt(
                    "SELECT quote_ident(rolname) FROM pg_roles WHERE rolname = $1",
                    &[(&worker, Type::TEXT)],
                )
                .await?;
            let is_there = role_row.is_some();
            if let Some(row) = role_row {
                tx.batch_execute(&WORKER_RIGHTS.replace("{worker}", row.try_get(0)?))
                    .await?;
            }
            mark.committing();
            tx.commit().await?;
            Ok(Ok(MigrationOutcome {
                from,
                to: FLEET_FORMAT,
                worker: is_there.then(|| worker.to_owned()),
            }))
        },
    )?;
    done.map_err(|database_format| FleetError::NewerSchema {
        found: database_format,
        newest_format: FLEET_FORMAT,
    })
}

/// Returns the SQL that a database administrator would run instead of [`migrate_tables`]: two roles, the
/// tables made by the one, and the rights of the other.
pub fn as_sql(database: &str, worker: &str) -> String {
    let (database, worker) = (quote_identifier(database), quote_identifier(worker));
    let mut text = format!(
        "-- Run as a role that may make roles, in the database {database}. Passwords: \\password watchdog_owner, \\password {worker}
CREATE ROLE watchdog_owner LOGIN;
CREATE ROLE {worker} LOGIN;
-- For a pooler in transaction mode, through which no program can say it by itself.
ALTER ROLE {worker} SET statement_timeout = '10s';
ALTER ROLE {worker} SET idle_in_transaction_session_timeout = '30s';
GRANT CONNECT ON DATABASE {database} TO watchdog_owner, {worker};
GRANT CREATE ON DATABASE {database} TO watchdog_owner;
-- So that whoever runs this may act as the owner below.
GRANT watchdog_owner TO CURRENT_USER;

BEGIN;
SET LOCAL ROLE watchdog_owner;
"
    );
    for (version, sql) in STEPS {
        text.push_str(sql);
        text.push_str(&format!(
            "INSERT INTO watchdog.format (version, program) VALUES ({version}, '{}');\n",
            env!("CARGO_PKG_VERSION")
        ));
    }
    text.push_str(&WORKER_RIGHTS.replace("{worker}", &worker));
    text.push_str("COMMIT;\n");
    text
}

/// A name as SQL has it, as `quote_ident` writes it.
fn quote_identifier(name: &str) -> String {
    let plain = |c: char| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit();
    if name.starts_with(|c: char| c == '_' || c.is_ascii_lowercase()) && name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migration_steps_reach_current_format_without_gaps() {
        assert_eq!(
            STEPS
                .iter()
                .map(|(version, _)| *version)
                .collect::<Vec<_>>(),
            (1..=FLEET_FORMAT).collect::<Vec<_>>()
        );
    }

    #[test]
    fn names_cannot_escape_the_printed_sql() {
        let sql = as_sql("my db", "w\"; DROP TABLE x; --");
        assert!(
            sql.contains("ON DATABASE \"my db\"")
                && sql.contains("TO \"w\"\"; DROP TABLE x; --\";"),
            "{sql}"
        );
        assert!(!sql.contains("{worker}"), "every place is filled");
    }
}
