//! Sharing a repository with a fleet: the id that is the same on every machine, and whose word it takes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::support::TestEnv;

#[test]
fn repository_is_shared_by_command_under_its_remote() {
    let env = TestEnv::new();
    let repo = env.repo();
    let address = "https://me:hush-hush@Git.Example:8443/team/app.git";
    repo.git(&["remote", "add", "origin", address]);
    let alone = repo.watchdog(&["fleet", "join", "--repository"]).expect(2);
    alone.assert_told(&["in no fleet", "watchdog fleet join URL"]);
    let database = env.fleet();
    let joined = repo
        .watchdog_line(
            "fleet join {} --name a",
            &[&database.full_address("worker")],
        )
        .expect(0);
    joined.assert_told(&["as git.example/team/app: watchdog fleet join --repository"]);
    assert!(
        !env.state().join("fleet-repositories.json").exists(),
        "nobody said yes"
    );
    let shared = repo
        .watchdog(&["fleet", "join", "--repository", "--json"])
        .expect(0);
    shared.assert_values(json!({"repository": {"id": "git.example/team/app", "remote": "origin"}}));
    let file = env.state().join("fleet-repositories.json");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(
        fs::read_to_string(&file).unwrap().contains(address),
        "the address is kept as it was"
    );
    let status = env
        .watchdog(&env.root(), &["fleet", "status", "--json"])
        .expect(0)
        .json();
    let address = "https://Git.Example:8443/team/app.git";
    assert_eq!(
        status["repositories"],
        json!([{"id": "git.example/team/app", "remote": "origin", "address": address}])
    );
    let shown = env
        .watchdog(&env.root(), &["fleet", "status"])
        .expect(0)
        .stdout;
    assert!(
        shown.contains("shares    git.example/team/app over origin") && !shown.contains("hush"),
        "{shown}"
    );
    repo.watchdog(&["fleet", "leave"]).expect(0);
    assert!(!file.exists());
}

#[test]
fn path_remote_needs_a_name_for_sharing() {
    let env = TestEnv::new();
    let repo = env.repo();
    let database = env.fleet();
    repo.watchdog_line(
        "fleet join {} --name a",
        &[&database.full_address("worker")],
    )
    .expect(0);
    let none = repo.watchdog(&["fleet", "join", "--repository"]).expect(2);
    assert!(none.stderr.contains("no remote 'origin'"), "{none}");
    repo.git(&["init", "-q", "--bare", "../there.git"]);
    repo.git(&["remote", "add", "origin", "../there.git"]);
    let unnamed = repo.watchdog(&["fleet", "join", "--repository"]).expect(2);
    unnamed.assert_told(&["proposes no id", "--repository ID"]);
    let named = repo
        .watchdog(&["fleet", "join", "--repository", "team/app", "--json"])
        .expect(0)
        .json();
    assert_eq!(named["repository"]["id"], "team/app");
    let kept = |of: &str| {
        fs::read_to_string(env.state().join("fleet-repositories.json"))
            .unwrap()
            .contains(of)
    };
    assert!(
        kept(
            &repo
                .path()
                .parent()
                .unwrap()
                .join("there.git")
                .display()
                .to_string()
        ),
        "a path is kept from the root"
    );
    repo.git(&["remote", "add", "up", "https://h.example/team/app"]);
    repo.git_line(
        "config url.https://mirror.example/.insteadOf https://h.example/",
        &[],
    );
    let renamed = repo
        .watchdog(&["fleet", "join", "--repository", "--remote", "up", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        renamed["repository"],
        json!({"id": "h.example/team/app", "remote": "up"}),
        "{renamed}"
    );
    assert!(
        kept("https://mirror.example/team/app") && !kept("there.git"),
        "one word for each repository"
    );
}

#[test]
fn sharing_from_inside_of_a_session_is_refused() {
    let mut env = TestEnv::new();
    env.set("WATCHDOG", env!("CARGO_BIN_EXE_watchdog"));
    let repo = env.repo();
    repo.git(&["remote", "add", "origin", "https://h.example/team/app"]);
    let database = env.fleet();
    repo.watchdog_line(
        "fleet join {} --name a",
        &[&database.full_address("worker")],
    )
    .expect(0);
    let script = "$WATCHDOG fleet join --repository > said 2>&1; echo $? >> said";
    repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", script]);
    let said = fs::read_to_string(repo.path().join("said")).unwrap();
    assert!(
        said.contains("--from-session") && !env.state().join("fleet-repositories.json").exists(),
        "{said}"
    );
}
