//! Joining a fleet on a real server, as a person types it, and what goes wrong there.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use watchdog_fleet::migrations::FLEET_FORMAT;

use crate::support::test_database::TestDatabase;
use crate::support::{CommandOutput, TestEnv, assert_parts, fill_line, wait_until};

/// Runs a command outside of any repository; no password may be in what it says.
#[track_caller]
fn fleet(env: &TestEnv, args: &[&str]) -> CommandOutput {
    let out = env.watchdog(&env.root(), args);
    for text in [&out.stdout, &out.stderr] {
        assert!(
            !text.contains("secret of") && !text.contains("secret%20of"),
            "{text}"
        );
    }
    out
}

fn setting(env: &TestEnv) -> std::path::PathBuf {
    env.state().join("fleet.json")
}

fn made(env: &TestEnv) -> TestDatabase {
    let database = TestDatabase::new();
    fleet(
        env,
        &fill_line(
            "fleet init {} --worker worker",
            &[&database.full_address("owner")],
        ),
    )
    .expect(0);
    database
}

#[test]
fn machine_creates_joins_inspects_and_leaves_a_fleet() {
    let env = TestEnv::new();
    let database = TestDatabase::new();
    let made = fleet(
        &env,
        &fill_line(
            "fleet init {} --worker worker --json",
            &[&database.full_address("owner")],
        ),
    )
    .expect(0)
    .json();
    assert_eq!(
        (&made["from"], &made["format"], &made["worker"]),
        (&Value::Null, &json!(FLEET_FORMAT), &json!("worker")),
        "{made}"
    );
    let again = fleet(&env, &["fleet", "init", &database.full_address("owner")]).expect(0);
    again.assert_printed(&["nothing was changed", "--worker"]);
    assert_eq!(
        fleet(&env, &["fleet", "status", "--json"]).expect(0).json(),
        json!({"schema": 1, "joined": false})
    );
    let joined = fleet(
        &env,
        &fill_line(
            "fleet join {} --name build-1",
            &[&database.full_address("worker")],
        ),
    )
    .expect(0);
    joined.assert_printed(&["'build-1'", "TLS"]);
    assert_eq!(
        fs::metadata(setting(&env)).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let other = TestEnv::new();
    fleet(
        &other,
        &fill_line(
            "fleet join {} --name build-2",
            &[&database.full_address("worker")],
        ),
    )
    .expect(0);
    let found = fleet(&env, &["fleet", "status", "--json"]).expect(0).json();
    let machines: Vec<_> = found["machines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].clone(), one["this"].clone()))
        .collect();
    assert_eq!(
        machines,
        [
            (json!("build-1"), json!(true)),
            (json!("build-2"), json!(false))
        ],
        "{found}"
    );
    assert_eq!(
        (&found["tls"], &found["sslmode"], &found["read_only"]),
        (&json!(true), &json!("verify-full"), &json!(false))
    );
    assert_eq!(
        (&found["joined"], &found["machine"], &found["user"]),
        (&json!(true), &json!("build-1"), &json!("worker"))
    );
    let shown = fleet(&env, &["fleet", "status"]).expect(0).stdout;
    for wanted in [
        "PostgreSQL",
        "TLS (verify-full)",
        "build-1 (this one)",
        "build-2",
        "with the server's",
    ] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    let left = fleet(&env, &["fleet", "leave", "--json"]).expect(0).json();
    assert_eq!(
        (&left["joined"], &left["server_knows"]),
        (&json!(false), &json!(false))
    );
    assert!(!setting(&env).exists());
    assert_eq!(database.sql("SELECT name FROM watchdog.machine"), "build-2");
    fleet(&env, &["fleet", "leave"])
        .expect(0)
        .assert_printed(&["in no fleet"]);
}

#[test]
fn refused_join_tells_why_and_stores_no_setting() {
    let env = TestEnv::new();
    let database = made(&env);
    let good = database.full_address("worker");
    let other = TestEnv::new();
    fleet(&other, &["fleet", "join", &good, "--name", "taken"]).expect(0);
    let empty = TestDatabase::new();
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let refused = |address: &str, name: &str, code: i32, why: &str| {
        let out = fleet(&env, &["fleet", "join", address, "--name", name, "--json"]).expect(code);
        let said = out.json();
        assert!(
            said["message"].as_str().unwrap().contains(why) && said["hint"].is_string(),
            "{why}: {out}"
        );
        assert!(!setting(&env).exists(), "{why}");
    };
    refused("mysql://h/x", "a", 2, "postgres://");
    refused(&good, "taken", 2, "a machine 'taken' already");
    refused(
        &good.replace("secret%20of%20worker", "wrong"),
        "a",
        16,
        "refused user 'worker'",
    );
    refused(
        &database.address("worker"),
        "a",
        16,
        "no password was given",
    );
    refused(
        &good.replace(&format!(":{}/", database.port()), &format!(":{free}/")),
        "a",
        16,
        "cannot reach",
    );
    refused(
        &good.replace("localhost", "127.0.0.2"),
        "a",
        16,
        "no TLS with",
    );
    refused(
        &good.replace(&database.name, "elsewhere"),
        "a",
        16,
        "has no database 'elsewhere'",
    );
    refused(&empty.full_address("worker"), "a", 16, "holds no fleet");
    refused(
        &database.full_address("nobody"),
        "a",
        16,
        "lacks select on watchdog.record",
    );
    database.sql(&format!(
        "ALTER DATABASE {} SET default_transaction_read_only = on",
        database.name
    ));
    refused(&good, "a", 16, "read-only");
    database.sql(&format!(
        "BEGIN READ WRITE; ALTER DATABASE {} RESET default_transaction_read_only; COMMIT",
        database.name
    ));
    database.sql("INSERT INTO watchdog.format (version, program) VALUES (99, '9.9')");
    refused(&good, "a", 16, "format 99");
    let out = fleet(
        &env,
        &["fleet", "init", &database.full_address("owner"), "--json"],
    )
    .expect(16)
    .json();
    assert_parts(out["message"].as_str().unwrap(), &["format 99"]);
}

#[test]
fn only_an_environment_password_is_stored_with_settings() {
    let mut env = TestEnv::new();
    let database = made(&env);
    let join = |env: &TestEnv| {
        fleet(
            env,
            &["fleet", "join", &database.address("worker"), "--name", "a"],
        )
    };
    env.set("PGPASSWORD", "secret of worker");
    join(&env).expect(0);
    // What the environment says later changes nothing.
    env.set("PGPASSWORD", "another");
    env.set("PGSSLMODE", "disable");
    fleet(&env, &["fleet", "status"]).expect(0);
    env.set("PGPASSWORD", "");
    let file = env.write("pgpass", "*:*:*:worker:secret of worker\n");
    env.set("PGPASSFILE", file.clone().into_os_string());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let open = join(&env).expect(16);
    open.assert_told(&["other users may read it", "chmod 600"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    join(&env).expect(0);
    assert!(
        !fs::read_to_string(setting(&env))
            .unwrap()
            .contains("secret"),
        "the password is not copied"
    );
    fleet(&env, &["fleet", "status"]).expect(0);
    fs::set_permissions(setting(&env), fs::Permissions::from_mode(0o640)).unwrap();
    let open = fleet(&env, &["fleet", "status"]).expect(16);
    open.assert_told(&["other users may read it (mode 640)"]);
}

#[test]
fn leaving_without_the_server_warns_of_the_listing() {
    let env = TestEnv::new();
    let database = made(&env);
    fleet(
        &env,
        &fill_line(
            "fleet join {} --name a",
            &[&database.full_address("worker")],
        ),
    )
    .expect(0);
    database.sql("REVOKE ALL ON watchdog.machine FROM worker");
    let out = fleet(&env, &["fleet", "leave"]).expect(0);
    assert!(
        out.stderr.contains("still lists 'a'") && !setting(&env).exists(),
        "{out}"
    );
    // The name waits for this state alone.
    database.sql("GRANT ALL ON watchdog.machine TO worker");
    let other = TestEnv::new();
    fleet(
        &other,
        &fill_line(
            "fleet join {} --name a",
            &[&database.full_address("worker")],
        ),
    )
    .expect(2);
    fleet(
        &env,
        &fill_line(
            "fleet join {} --name a",
            &[&database.full_address("worker")],
        ),
    )
    .expect(0);
    fleet(&env, &["fleet", "leave"]).expect(0);
    fleet(
        &other,
        &fill_line(
            "fleet join {} --name a",
            &[&database.full_address("worker")],
        ),
    )
    .expect(0);
}

#[test]
fn interrupted_init_is_undone_and_can_be_repeated() {
    let env = TestEnv::new();
    let database = TestDatabase::new();
    thread::scope(|scope| {
        // Somebody else is making the tables, and takes long.
        let first =
            scope.spawn(|| database.sql("SELECT pg_advisory_lock(8317712, 1), pg_sleep(60)"));
        let waiting = |what: &str| {
            let found = database.sql(&format!(
                "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database \
                WHERE locktype = 'advisory' AND {what} AND d.datname = current_database()"
            ));
            found != "0"
        };
        wait_until("the lock is held", Duration::from_secs(60), || {
            waiting("granted")
        });
        let address = database.full_address("owner");
        let mut init = env.watchdog_spawn(&env.root(), &["fleet", "init", &address]);
        wait_until("init waits", Duration::from_secs(60), || {
            waiting("NOT granted")
        });
        init.signal(Signal::INT);
        wait_until("init ends", Duration::from_secs(60), || init.ended());
        drop(init);
        wait_until("its session ends", Duration::from_secs(60), || {
            !waiting("NOT granted")
        });
        assert_eq!(
            database.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'watchdog'"),
            "0"
        );
        database.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_advisory_lock%' AND datname = current_database()");
        let _ = first.join();
        fleet(&env, &["fleet", "init", &address]).expect(0);
    });
}

#[test]
fn machine_outside_any_fleet_makes_no_connection() {
    let mut env = TestEnv::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    env.set("PGHOST", "127.0.0.1");
    env.set("PGPORT", listener.local_addr().unwrap().port().to_string());
    let repo = env.repo();
    let baseline = repo.head();
    repo.write("a", "1");
    repo.commit_all("feat: a");
    repo.watchdog(&["check", "--baseline", &baseline]).expect(0);
    for words in [&["fleet", "status"][..], &["doctor"], &["status"]] {
        repo.watchdog(words);
    }
    assert!(listener.accept().is_err(), "somebody connected");
    assert!(!setting(&env).exists());
}

#[test]
fn doctor_checks_the_joined_fleet() {
    let env = TestEnv::new();
    let database = made(&env);
    fleet(
        &env,
        &fill_line(
            "fleet join {} --name a",
            &[&database.full_address("worker")],
        ),
    )
    .expect(0);
    let findings = || -> Vec<Value> {
        let out = fleet(&env, &["doctor", "--json"]).json();
        out["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|found| found["what"] == "fleet")
            .cloned()
            .collect()
    };
    let sound = findings();
    assert!(
        sound.len() == 1
            && sound[0]["ok"] == true
            && sound[0]["detail"].as_str().unwrap().contains("PostgreSQL"),
        "{sound:?}"
    );
    database.sql("REVOKE INSERT ON watchdog.event FROM worker");
    let lacking = findings();
    assert!(lacking.iter().any(|found| {
        found["state"] == "wrong"
            && found["detail"]
                .as_str()
                .unwrap()
                .contains("insert on watchdog.event")
    }));
    database.sql("DROP SCHEMA watchdog CASCADE");
    assert!(
        findings().iter().any(|found| found["state"] == "wrong"
            && found["detail"].as_str().unwrap().contains("no fleet"))
    );
}

#[test]
fn session_cannot_choose_the_fleet_of_its_machine() {
    let mut env = TestEnv::new();
    let database = made(&env);
    env.set("WATCHDOG", env!("CARGO_BIN_EXE_watchdog"));
    env.set("FLEET", database.full_address("worker"));
    let repo = env.repo();
    let script = "$WATCHDOG fleet join $FLEET --name mine 2>errors; echo $? > code";
    repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", script]);
    assert_eq!(fs::read_to_string(repo.path().join("code")).unwrap(), "2\n");
    assert_parts(
        &fs::read_to_string(repo.path().join("errors")).unwrap(),
        &["from inside of the session"],
    );
    assert!(!setting(&env).exists());
}

#[test]
fn administrator_sql_is_printed_without_a_server() {
    let env = TestEnv::new();
    let out = fleet(&env, &["fleet", "init", "--print-sql", "--worker", "hands"])
        .expect(0)
        .stdout;
    for wanted in [
        "CREATE ROLE watchdog_owner LOGIN",
        "CREATE ROLE hands LOGIN",
        "CREATE TABLE watchdog.lease",
        "ON DATABASE fleet",
    ] {
        assert!(out.contains(wanted), "{wanted}");
    }
    let named = fleet(
        &env,
        &["fleet", "init", "--print-sql", "postgres://u@h/My%20db"],
    )
    .expect(0)
    .stdout;
    assert!(named.contains("ON DATABASE \"My db\""), "{named}");
}
