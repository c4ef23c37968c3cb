//! What makes a task complete is pinned when it is first seen: the agent of one task cannot make another one easier, or vanish.

use serde_json::json;

use crate::support::{CommandOutput, Repo, TestEnv};

fn put(repo: &Repo<'_>, id: &str, verify: &str) {
    repo.write(
        &format!(".watchdog/tasks/{id}.md"),
        format!(
            "---\nid: {id}\ntitle: About {id}\ncompletion:\n  verify: {verify}\n---\n\nDo {id}.\n"
        ),
    );
}

/// Two tasks that are committed, trusted and seen.
fn queue<'env>(env: &'env TestEnv, name: &str) -> Repo<'env> {
    let repo = env.repo_named(name);
    put(&repo, "T1", "test -f one.txt");
    put(&repo, "T2", "test -f two.txt");
    repo.write(
        "completion.json",
        json!({"limits": {"max_iterations": 1}, "completion_check": {"max_probes": 0}, "rescue": {"mode": "single"}}).to_string(),
    );
    repo.commit_all("the tasks");
    repo.watchdog(&["trust"]).expect(0);
    repo.watchdog(&["trust", ".watchdog/tasks"]).expect(0);
    repo.watchdog(&["task", "list"]).expect(0);
    repo
}

fn run(repo: &Repo<'_>, id: &str, script: &str) -> CommandOutput {
    repo.watchdog_line("task run {} --json --no-probe -- sh -c {}", &[id, script])
}

fn stripped(id: &str) -> String {
    format!(
        "printf -- '---\\nid: {id}\\ntitle: easy\\n---\\n\\nDo.\\n' > .watchdog/tasks/{id}.md; git add -A; git commit -qm easier"
    )
}

#[test]
fn agent_cannot_ease_the_tasks_of_others() {
    let env = TestEnv::new();
    let repo = queue(&env, "stripped");
    let first = run(&repo, "T1", &format!("touch one.txt; {}", stripped("T2")));
    assert_eq!(first.json()["status"], "complete", "{first}");
    let second = run(
        &repo,
        "T2",
        "echo x > junk.txt; git add junk.txt; git commit -qm junk",
    );
    assert_ne!(second.json()["status"], "complete", "{second}");
    assert!(second.stdout.contains("criteria_changed"), "{second}");
    let shown = repo.watchdog(&["task", "show", "T2", "--json"]).expect(0);
    assert_eq!(
        shown.json()["commands"].as_array().map(Vec::len),
        Some(1),
        "{shown}"
    );
    // A person's word about the file moves what is pinned.
    repo.watchdog(&["trust", ".watchdog/tasks/T2.md"]).expect(0);
    let shown = repo.watchdog(&["task", "show", "T2", "--json"]).expect(0);
    assert_eq!(shown.json()["commands"], json!([]), "{shown}");
}

#[test]
fn vanished_task_file_leaves_the_task_open() {
    let env = TestEnv::new();
    let repo = queue(&env, "deleted");
    let first = run(
        &repo,
        "T1",
        "touch one.txt; git rm -q .watchdog/tasks/T2.md; git add -A; git commit -qm 'one less'",
    );
    assert_eq!(first.json()["status"], "complete", "{first}");
    let listed = repo.watchdog(&["task", "list", "--json"]).expect(0).json();
    assert_eq!(
        (&listed["summary"]["total"], &listed["summary"]["complete"]),
        (&json!(2), &json!(1)),
        "{listed}"
    );
    assert_eq!(
        (&listed["tasks"][1]["id"], &listed["tasks"][1]["file_gone"]),
        (&json!("T2"), &json!(true)),
        "{listed}"
    );
    assert_eq!(repo.watchdog(&["task", "next"]).expect(0).stdout, "T2\n");
    repo.watchdog_line("task set T2 complete --reason {}", &["not wanted any more"])
        .expect(0);
    assert_eq!(
        repo.watchdog(&["task", "list", "--json"]).expect(0).json()["summary"]["total"],
        json!(1)
    );
}
