//! The front door for programs that judge by themselves: the same answers as the commands, and nothing of the host changed.

use std::process::Command;

use completion_watchdog::{
    CheckBuilder, EvaluateBuilder, Refusal, RescueBuilder, RescueReport, SessionContext,
    SnapshotBuilder,
};
use serde_json::json;

use crate::support::{Repo, TestEnv, assert_parts};

fn check(env: &TestEnv, repo: &Repo<'_>) -> CheckBuilder {
    CheckBuilder::new(repo.path())
        .state_dir(env.state())
        .no_probe()
}

fn is_subreaper() -> bool {
    rustix::process::child_subreaper()
        .expect("Linux tells it")
        .is_some()
}

#[test]
fn embedding_host_records_judges_and_rescues_like_commands() {
    let env = TestEnv::new();
    let repo = env.repo();
    let baseline = SnapshotBuilder::new(repo.path())
        .state_dir(env.state())
        .spec("auth")
        .run()
        .expect("it is recorded");
    assert_eq!(baseline.point.as_str(), repo.git(&["rev-parse", "HEAD"]));
    repo.write("a.txt", "work");
    let open = check(&env, &repo).run().expect("it is judged");
    assert_eq!((open.exit_code(), open.spec.as_deref()), (10, Some("auth")));
    let preview = RescueBuilder::new(repo.path())
        .state_dir(env.state())
        .dry_run()
        .run()
        .expect("it can be told");
    assert!(matches!(preview, RescueReport::Preview(preview) if preview.chosen == ["a.txt"]));
    let config = env.root().join("single.json");
    std::fs::write(&config, json!({"rescue": {"mode": "single"}}).to_string())
        .expect("it can be written");
    let rescued = RescueBuilder::new(repo.path())
        .state_dir(env.state())
        .config(&config)
        .run()
        .expect("it is rescued");
    assert!(matches!(rescued, RescueReport::Rescued { outcome, .. } if outcome.commits == 1));
    repo.write("b.txt", "more");
    repo.commit_all("more");
    let done = check(&env, &repo).run().expect("it is judged");
    assert_eq!(
        (done.verdict.status().as_str(), done.verdict.reason.as_str()),
        ("complete", "new_commits")
    );
    let by_command = repo
        .watchdog(&["check", "--no-probe", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        by_command["made_here"],
        done.to_json()["made_here"],
        "from the same records"
    );
}

#[test]
fn checks_use_the_session_context_of_the_host() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = env.root().join("signal.json");
    std::fs::write(
        &config,
        json!({"checks": [{"type": "signal", "text": "TASK_DONE"}]}).to_string(),
    )
    .expect("it can be written");
    for (said, code) in [("TASK_DONE", 0), ("still at it", 10)] {
        let context = SessionContext {
            output: Some(said.into()),
            ..SessionContext::default()
        };
        let judgement = EvaluateBuilder::new(repo.path(), context)
            .state_dir(env.state())
            .config(&config)
            .run()
            .expect("it is judged");
        assert_eq!(
            judgement.exit_code(),
            code,
            "{said}: {:?}",
            judgement.verdict
        );
    }
}

#[test]
fn unjudgeable_requests_are_refused_with_a_reason() {
    let env = TestEnv::new();
    let nowhere = CheckBuilder::new(env.root()).state_dir(env.state()).run();
    assert!(
        matches!(&nowhere, Err(Refusal::Unreadable(fact)) if fact.hint.is_some()),
        "{nowhere:?}"
    );
    let repo = env.repo();
    let unrecorded = check(&env, &repo).run().expect_err("nothing is recorded");
    assert_parts(&unrecorded.to_string(), &["no baseline is recorded"]);
}

#[test]
fn program_free_call_leaves_the_process_unchanged() {
    let env = TestEnv::new();
    let repo = env.repo();
    SnapshotBuilder::new(repo.path())
        .state_dir(env.state())
        .run()
        .expect("it is recorded");
    repo.write("a.txt", "work");
    repo.commit_all("work");
    // Tests that share a process with this one may have started a program before.
    let before = is_subreaper();
    let judgement = check(&env, &repo).run().expect("it is judged");
    assert_eq!(judgement.exit_code(), 0);
    assert_eq!(is_subreaper(), before, "no program was started");
    // A child of the host is the host's to wait for.
    let status = Command::new("true").status().expect("it is waited for");
    assert!(status.success());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let (path, state) = (repo.path().to_owned(), env.state());
    let beside = runtime.block_on(async {
        tokio::task::spawn_blocking(move || {
            CheckBuilder::new(path).state_dir(state).no_probe().run()
        })
        .await
    });
    assert_eq!(
        beside.expect("it ends").expect("it is judged").exit_code(),
        0
    );
}
