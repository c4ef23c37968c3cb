//! Servers that are gone, closed, too new, read-only or somebody else's: each is an error that says what to do, within a deadline.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use watchdog_fleet::machines::survey_server;
use watchdog_fleet::migrations::{FLEET_FORMAT, MigrationOutcome, as_sql, migrate_tables};
use watchdog_fleet::{CALL_DEADLINE, FleetError};
use watchdog_store::engine::{ExpectedRevision, SwapOutcome};
use watchdog_store::{RowKey, SharedStore};

use crate::test_database::TestDatabase;
use crate::{server, store, with_tables};

/// What connecting to an address fails with.
#[track_caller]
fn refusal(address: &str) -> FleetError {
    let begun = Instant::now();
    let error = server(address)
        .and_then(|server| server.version())
        .unwrap_err();
    assert!(
        begun.elapsed() < CALL_DEADLINE + Duration::from_secs(20),
        "{address}: {:?}",
        begun.elapsed()
    );
    for secret in ["secret of", "secret%20of", "wrong one"] {
        assert!(
            !format!("{error} {error:?} {}", error.hint()).contains(secret),
            "{error}"
        );
    }
    error
}

#[test]
fn each_way_of_being_refused_has_a_name() {
    let database = TestDatabase::new();
    let good = database.full_address("owner");
    let port = format!(":{}/", database.port());
    assert!(
        server(&good)
            .unwrap()
            .version()
            .unwrap()
            .starts_with(char::is_numeric)
    );
    let error = refusal(&good.replace("secret%20of%20owner", "wrong%20one"));
    assert!(
        matches!(&error, FleetError::Login { user, .. } if user == "owner"),
        "{error}"
    );
    let error = refusal(&database.address("owner"));
    assert!(
        matches!(&error, FleetError::Login { why, .. } if why == "no password was given"),
        "{error}"
    );
    let error = refusal(&good.replace(&database.name, "elsewhere"));
    assert!(
        matches!(&error, FleetError::NoDatabase { database, .. } if database == "elsewhere"),
        "{error}"
    );
    // Taken, and closed again: nobody listens there.
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let error = refusal(&good.replace(&port, &format!(":{free}/")));
    assert!(matches!(&error, FleetError::Unreachable { .. }), "{error}");
    let error = refusal(&good.replace("localhost", "no-such-host.invalid"));
    assert!(matches!(&error, FleetError::Unreachable { .. }), "{error}");
}

#[test]
fn sslmode_means_what_libpq_means() {
    let database = TestDatabase::new();
    let good = database.full_address("owner");
    let reached = |address: &str| {
        server(address)
            .and_then(|server| server.version())
            .map(|_| ())
    };
    let other = good.replace(
        &database.authority().display().to_string(),
        &database.other_authority().display().to_string(),
    );
    let by_other_name = good.replace("localhost", "127.0.0.2");
    let without_roots = good.split("&sslrootcert").next().unwrap().to_owned();
    let mode = |address: &str, mode: &str| address.replace("verify-full", mode);
    for (address, is_let_in) in [
        (good.clone(), true),
        (by_other_name.clone(), false),
        (mode(&by_other_name, "verify-ca"), true),
        (mode(&by_other_name, "require"), true),
        (other.clone(), false),
        (mode(&other, "verify-ca"), false),
        (mode(&other, "require"), false),
        (mode(&other, "prefer"), true),
        (without_roots.clone(), false),
        (mode(&without_roots, "require"), true),
        (format!("{good}&channel_binding=require"), true),
        // The server lets `owner` in over TLS alone, and `plain` without alone.
        (mode(&good, "disable"), false),
        (mode(&database.full_address("plain"), "disable"), true),
    ] {
        match reached(&address) {
            Ok(()) => assert!(is_let_in, "{address} was let in"),
            Err(error) => assert!(
                !is_let_in && matches!(error, FleetError::Tls { .. }),
                "{address}: {error:?}"
            ),
        }
    }
}

#[test]
fn server_without_required_tls_gets_no_password() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 8];
        stream.read_exact(&mut asked).unwrap();
        stream.write_all(b"N").unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        rest
    });
    let error = refusal(&format!(
        "postgres://me:secret%20of%20mine@localhost:{port}/x?sslmode=require"
    ));
    assert!(
        matches!(&error, FleetError::Tls { why, .. } if why.contains("does not support TLS")),
        "{error:?}"
    );
    assert_eq!(
        heard.join().unwrap(),
        b"",
        "nothing but the question was sent"
    );
}

#[test]
fn silent_server_blocks_only_until_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let begun = Instant::now();
    let error = server(&format!(
        "postgres://me:p@localhost:{port}/x?sslmode=disable"
    ))
    .unwrap()
    .version()
    .unwrap_err();
    assert!(
        matches!(
            &error,
            FleetError::Late { .. } | FleetError::Unreachable { .. }
        ),
        "{error:?}"
    );
    assert!(begun.elapsed() < CALL_DEADLINE * 3, "{:?}", begun.elapsed());
    drop(listener);
}

#[test]
fn concurrent_migrations_create_the_tables_once() {
    let database = TestDatabase::new();
    let address = database.full_address("owner");
    let outcomes: Vec<MigrationOutcome> = thread::scope(|scope| {
        let begun: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| migrate_tables(&server(&address).unwrap(), "worker").unwrap()))
            .collect();
        begun.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(
        outcomes
            .iter()
            .filter(|outcome| outcome.from.is_none())
            .count(),
        1,
        "{outcomes:?}"
    );
    assert!(
        outcomes.iter().all(
            |outcome| outcome.to == FLEET_FORMAT && outcome.worker.as_deref() == Some("worker")
        )
    );
    assert_eq!(
        database.sql("SELECT count(*) FROM watchdog.format"),
        FLEET_FORMAT.to_string()
    );
}

#[test]
fn half_made_tables_are_rolled_back() {
    let database = TestDatabase::new();
    // The last step of making them fails, as when the connection is cut there.
    database.sql(
        "CREATE SCHEMA watchdog AUTHORIZATION owner; CREATE TABLE watchdog.machine (x int); ALTER TABLE watchdog.machine OWNER TO owner",
    );
    let error =
        migrate_tables(&server(&database.full_address("owner")).unwrap(), "worker").unwrap_err();
    assert!(matches!(&error, FleetError::Refused { .. }), "{error}");
    assert_eq!(
        survey_server(&server(&database.full_address("owner")).unwrap())
            .unwrap()
            .format,
        None
    );
    database.sql("DROP TABLE watchdog.machine");
    with_tables(&database);
}

#[test]
fn newer_tables_are_neither_migrated_nor_used() {
    let database = TestDatabase::new();
    let error = store(&database.full_address("worker")).now().unwrap_err();
    assert!(error.to_string().contains("holds no fleet"), "{error}");
    with_tables(&database);
    database.sql("INSERT INTO watchdog.format (version, program) VALUES (99, '9.9')");
    let error =
        migrate_tables(&server(&database.full_address("owner")).unwrap(), "worker").unwrap_err();
    assert!(
        matches!(error, FleetError::NewerSchema { found: 99, .. }),
        "{error}"
    );
    let error = store(&database.full_address("worker")).now().unwrap_err();
    assert!(
        error.to_string().contains("format 99") && error.hint().contains("newer watchdog"),
        "{error}"
    );
}

#[test]
fn role_without_create_rights_gets_an_error() {
    let database = TestDatabase::new();
    database.sql(&format!(
        "REVOKE CREATE ON DATABASE {} FROM PUBLIC",
        database.name
    ));
    let error =
        migrate_tables(&server(&database.full_address("nobody")).unwrap(), "worker").unwrap_err();
    assert!(
        matches!(&error, FleetError::NoRight { user, .. } if user == "nobody"),
        "{error}"
    );
}

#[test]
fn read_only_server_is_named_and_stays_readable() {
    let database = TestDatabase::new();
    with_tables(&database);
    database.sql(&format!(
        "ALTER DATABASE {} SET default_transaction_read_only = on",
        database.name
    ));
    let store = store(&database.full_address("worker"));
    let key = RowKey::new("test", &["a"]);
    assert_eq!(store.get(&key).unwrap(), None);
    let error = store.cas(&key, ExpectedRevision::Absent, b"1").unwrap_err();
    assert!(
        error.to_string().contains("read-only") && error.hint().contains("primary"),
        "{error}"
    );
    let error = migrate_tables(&server(&database.full_address("owner")).unwrap(), "worker");
    assert!(
        matches!(&error, Err(FleetError::ReadOnly { .. }) | Ok(_)),
        "{error:?}"
    );
}

#[test]
fn writable_host_is_chosen_among_several() {
    let database = TestDatabase::new();
    with_tables(&database);
    let port = database.port();
    let several = database.full_address("worker").replace(
        &format!("localhost:{port}"),
        &format!("127.0.0.1:{port},localhost:{port}"),
    );
    let key = RowKey::new("test", &["a"]);
    assert!(matches!(
        store(&several)
            .cas(&key, ExpectedRevision::Absent, b"1")
            .unwrap(),
        SwapOutcome::Ok(_)
    ));
    database.sql(&format!(
        "ALTER DATABASE {} SET default_transaction_read_only = on",
        database.name
    ));
    let error = store(&several).get(&key).unwrap_err();
    assert!(
        error.to_string().contains("read-only") && error.hint().contains("primary"),
        "{error}"
    );
    let dead = several.replacen(&format!("127.0.0.1:{port}"), "127.0.0.1:1", 1);
    database.sql(&format!(
        "BEGIN READ WRITE; ALTER DATABASE {} RESET default_transaction_read_only; COMMIT",
        database.name
    ));
    assert_eq!(
        store(&dead).get(&key).unwrap().unwrap().1,
        b"1",
        "the first of them is gone"
    );
}

#[test]
fn worker_role_has_only_its_needed_rights() {
    let database = TestDatabase::new();
    with_tables(&database);
    let as_worker = |sql: &str| database.sql(&format!("SET ROLE worker; {sql}"));
    assert_eq!(as_worker("SELECT count(*) FROM watchdog.record"), "0");
    for forbidden in [
        "DROP TABLE watchdog.record",
        "DROP SCHEMA watchdog CASCADE",
        "ALTER TABLE watchdog.record ADD COLUMN x int",
        "TRUNCATE watchdog.record",
        "CREATE TABLE watchdog.mine (x int)",
        "DELETE FROM watchdog.event",
        "UPDATE watchdog.event SET kind = 'x'",
        "DELETE FROM watchdog.lease",
        "INSERT INTO watchdog.format (version, program) VALUES (9, 'x')",
        "SELECT setval('watchdog.number', 1)",
        "CREATE FUNCTION watchdog.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ] {
        let guarded = format!(
            "SET ROLE worker; DO $$ BEGIN EXECUTE $q${forbidden}$q$; RAISE 'was let'; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$"
        );
        database.sql(&guarded);
    }
    let guarded = "SET ROLE nobody; DO $$ BEGIN PERFORM * FROM watchdog.record; RAISE 'was let'; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$";
    database.sql(guarded);
}

#[test]
fn printed_sql_makes_a_fleet_workers_can_use() {
    let database = TestDatabase::new();
    // Roles are the server's and not the database's: names of this test's own.
    let sql = as_sql(&database.name, "worker")
        .replace("watchdog_owner", &format!("{}_owner", database.name));
    database.sql(&sql.replace("CREATE ROLE worker LOGIN;", ""));
    let store = store(&database.full_address("worker"));
    assert!(matches!(
        store
            .cas(&RowKey::new("test", &["a"]), ExpectedRevision::Absent, b"1")
            .unwrap(),
        SwapOutcome::Ok(_)
    ));
    database.sql(&format!(
        "DROP SCHEMA watchdog CASCADE; DROP OWNED BY {0}_owner; DROP ROLE {0}_owner",
        database.name
    ));
}
