//! Whatever state the fleet's server is in, each verdict is the one that a machine in no fleet gives.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::fleet_account::AccountFleet;
use crate::support::{TestEnv, fill_line};

/// The states that a server can be in.
const STATES: [&str; 5] = ["up", "down", "silent", "read-only", "full"];

/// Has an agent's work done, judged and rescued, and returns the verdicts.
fn verdicts(env: &TestEnv) -> Vec<(Option<i32>, String)> {
    let repo = env.repo_named("all/repo");
    let work = "echo done > f && git add -A && git commit -qm 'feat: f'";
    let mut found = Vec::new();
    let mut judged = |args: &[&str]| {
        let out = repo.watchdog(args);
        found.push((out.code, out.verdict()));
    };
    judged(&["run", "--json", "--no-probe", "--", "sh", "-c", work]);
    judged(&fill_line(
        "loop --json --no-probe -- sh -c {}",
        &["echo done > g && git add -A && git commit -qm 'feat: g'"],
    ));
    repo.write("left.txt", "left");
    judged(&["check", "--json", "--no-probe"]);
    repo.write("more.txt", "more");
    let config = env.write(
        "config/single.json",
        r#"{"version": 1, "rescue": {"mode": "single"}}"#,
    );
    let rescued = repo.watchdog(&["--config", &config.to_string_lossy(), "rescue", "--json"]);
    assert_eq!(repo.git(&["status", "--porcelain"]), "", "{rescued}");
    let swept = env.watchdog(
        &env.root().join("all"),
        &["sweep", "--json", "-q", "--no-probe"],
    );
    let of_sweep = crate::sweep::word(&crate::sweep::rows(&swept)["repo"]);
    found.extend([(rescued.code, "rescue".to_owned()), (swept.code, of_sweep)]);
    found
}

/// A machine that joined, whose server is then in this state.
fn machine(
    shared: &AccountFleet,
    name: &str,
    state: &str,
) -> (TestEnv, Option<thread::JoinHandle<Vec<TcpStream>>>) {
    let env = shared.machine(name, Some("team"));
    let elsewhere = |port: u16| {
        let path = env.state().join("fleet.json");
        let text = fs::read_to_string(&path).unwrap();
        let moved = text.replace(
            &format!(":{}/", shared.database.port()),
            &format!(":{port}/"),
        );
        assert_ne!(text, moved, "{text}");
        fs::write(&path, moved).unwrap();
    };
    let mut holder = None;
    match state {
        "down" => elsewhere(1),
        "silent" => {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            elsewhere(listener.local_addr().unwrap().port());
            // Accepts, and never says a word.
            holder = Some(thread::spawn(move || listener.incoming().map_while(Result::ok).collect()));
        }
        // Of this database alone: other tests have the role, too.
        "read-only" => drop(
            shared
                .database
                .sql("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$"),
        ),
        "full" => drop(shared.database.sql(
            "CREATE FUNCTION watchdog.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$; \
             CREATE TRIGGER full_disk BEFORE INSERT ON watchdog.event FOR EACH ROW EXECUTE FUNCTION watchdog.full_disk();",
        )),
        _ => {}
    }
    (env, holder)
}

#[test]
fn verdicts_are_independent_of_the_server_state() {
    let alone = verdicts(&TestEnv::new());
    assert!(
        alone
            .iter()
            .any(|(_, verdict)| verdict.starts_with("complete/")),
        "{alone:?}"
    );
    for state in STATES {
        let shared = AccountFleet::new();
        let (env, _silent) = machine(&shared, "build-1", state);
        assert_eq!(verdicts(&env), alone, "{state}");
    }
}
