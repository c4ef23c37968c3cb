//! Where the anchor goes by a person's word in one worktree, and where it stays in spite of a session's.

use serde_json::json;
use watchdog_git::Worktree;
use watchdog_store::anchor::CriteriaAnchor;
use watchdog_store::session::SessionRecord;
use watchdog_store::{LocalStore, RecordType, StateDir, open_store};

use crate::support::watch::SOON;
use crate::support::{CommandOutput, Repo, TestEnv, wait_until};

fn store(env: &TestEnv) -> std::sync::Arc<dyn LocalStore> {
    open_store(&StateDir::resolve(Some(env.state()), None, None).unwrap()).unwrap()
}

fn anchor_of(env: &TestEnv, repo: &Repo<'_>, spec: &str) -> CriteriaAnchor {
    let id = Worktree::open(repo.path()).unwrap().worktree_id();
    CriteriaAnchor::read_row(store(env).as_ref(), &id, spec)
        .unwrap()
        .expect("it has an anchor")
}

fn criteria(wanted: &str) -> String {
    json!({
        "guards": ["tests/**"],
        "rescue": {"mode": "single"},
        "completion_check": {"max_probes": 0},
        "checks": [{"type": "files", "paths": [wanted]}],
    })
    .to_string()
}

fn run(repo: &Repo<'_>, script: &str) -> CommandOutput {
    repo.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", script])
}

#[test]
fn trust_moves_the_anchor_of_matching_worktrees_only() {
    let env = TestEnv::new();
    let main = env.repo();
    main.write("completion.json", criteria("old.txt"));
    main.commit_all("the criteria");
    main.watchdog(&["trust"]).expect(0);
    let linked = |name: &str| {
        main.git(&["worktree", "add", "-q", "-b", name, &format!("../{name}")]);
        Repo::new(&env, env.root().join(name))
    };
    let (same, other, stranger) = (linked("same"), linked("other"), env.repo_named("stranger"));
    stranger.write("completion.json", criteria("old.txt"));
    stranger.commit_all("the criteria");
    stranger.watchdog(&["trust"]).expect(0);
    for repo in [&main, &same, &other, &stranger] {
        run(repo, "true").expect(10);
    }
    let (old, new) = (criteria("old.txt"), criteria("new.txt"));
    for repo in [&main, &same, &stranger] {
        repo.write("completion.json", &new);
    }
    let file = |repo: &Repo<'_>, spec: &str| anchor_of(&env, repo, spec).file.unwrap_or_default();
    main.watchdog(&["trust"]).expect(0);
    assert_eq!(
        (file(&main, "main"), file(&same, "same")),
        (new.clone(), new.clone())
    );
    assert_eq!(
        (file(&other, "other"), file(&stranger, "main")),
        (old.clone(), old),
        "other bytes, and another repository"
    );
    // What that means: the new criteria judge where a person's word reached, the old ones elsewhere.
    let work = "echo new > new.txt; git add new.txt; git commit -qm new";
    assert_eq!(
        run(&same, work).expect(0).verdict(),
        "complete/checks_passed"
    );
    assert_eq!(
        run(&stranger, work).expect(10).verdict(),
        "incomplete/checks_unmet"
    );
    assert!(!run(&same, "true").stdout.contains("criteria_changed"));
    // Taken back in one worktree, it is taken back there.
    main.watchdog(&["untrust"]).expect(0);
    assert_eq!(file(&same, "same"), new);
}

#[test]
fn self_reached_complete_moves_no_anchor() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("tests/login.test", "test -f login.txt\n");
    repo.write("completion.json", criteria("login.txt"));
    let first = repo.commit_all("the criteria");
    repo.watchdog(&["trust"]).expect(0);
    repo.watchdog(&["snapshot"]).expect(0);
    assert_eq!(
        anchor_of(&env, &repo, "main").commit.as_deref(),
        Some(first.as_str())
    );
    // A session that only hooks tell of, so that nothing keeps it from calling watchdog itself.
    let (go, out) = (env.root().join("go"), env.root().join("out"));
    let script = "while [ ! -e \"$GO\" ]; do sleep 0.02; done; echo login > login.txt; git add login.txt; git commit -qm login; \
        \"$WATCHDOG\" check --json -q --no-probe > \"$OUT.json\"; echo $? > \"$OUT.code\"";
    // The shell has an agent's name: a recorded process that is no agent says nothing about who calls.
    let shell = env.root().join("claude");
    std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
    let agent = repo
        .env_command(shell.to_str().unwrap(), &["-c", script])
        .env("GO", &go)
        .env("OUT", &out)
        .env("WATCHDOG", env!("CARGO_BIN_EXE_watchdog"));
    let agent = agent.spawn();
    let id = Worktree::open(repo.path()).unwrap().worktree_id();
    let record = SessionRecord {
        pid: Some(agent.pid()),
        ..SessionRecord::began(jiff::Timestamp::now())
    };
    record.write_row(store(&env).as_ref(), &id, "main").unwrap();
    std::fs::write(go, "").unwrap();
    wait_until("the session judged itself", SOON, || {
        out.with_extension("code").exists()
    });
    let _ended = agent.wait().expect(0);
    let said = std::fs::read_to_string(out.with_extension("json")).unwrap();
    assert!(said.contains("\"reason\":\"checks_passed\""), "{said}");
    assert_eq!(
        anchor_of(&env, &repo, "main").commit.as_deref(),
        Some(first.as_str()),
        "its own word moves nothing"
    );
    // From outside, the very same verdict does.
    assert_eq!(
        repo.watchdog(&["check", "--json", "--no-probe"])
            .expect(0)
            .verdict(),
        "complete/checks_passed"
    );
    assert_eq!(anchor_of(&env, &repo, "main").commit, Some(repo.head()));
}
