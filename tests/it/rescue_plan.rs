//! Rescues by a plan: the agent says which files belong together, watchdog checks it and makes the commits.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::{Map, Value, json};
use watchdog_core::config::settings::{ConfigSettings, RescueSettings};
use watchdog_facts::evidence::RescueOutcome;
use watchdog_judge::rescue::{
    NO_OTHERS, PlanError, RescueRequest, preview_rescue, rescue_snapshot,
};

use crate::support::scratch_repo::ScratchRepo;
use crate::support::{Step, TestEnv, assert_parts, fill_line};

fn settings(change: impl FnOnce(&mut RescueSettings)) -> RescueSettings {
    let mut settings = ConfigSettings::default().rescue;
    settings.timeout = Duration::from_secs(30);
    change(&mut settings);
    settings
}

/// What came of a rescue, and what the agent was asked.
struct Planned {
    outcome: RescueOutcome,
    asked: Vec<String>,
}

/// Rescues with an agent that gives these answers in order.
fn planned(
    repo: &ScratchRepo,
    change: impl FnOnce(&mut RescueSettings),
    answers: &[Result<Value, PlanError>],
) -> Planned {
    let (settings, snapshot) = (settings(change), repo.snapshot());
    let asked = RefCell::new(Vec::new());
    let ask = |prompt: &str, attempt: u32| -> Result<Map<String, Value>, PlanError> {
        asked.borrow_mut().push(prompt.to_owned());
        assert_eq!(attempt as usize, asked.borrow().len());
        match answers
            .get(attempt as usize - 1)
            .expect("one question too many")
        {
            Ok(answer) => Ok(answer.as_object().expect("an object").clone()),
            Err(none) => Err(none.clone()),
        }
    };
    let outcome = rescue_snapshot(
        &repo.open(),
        &RescueRequest {
            settings: &settings,
            spec: "auth",
            snapshot: &snapshot,
            others: &NO_OTHERS,
        },
        Some(&ask),
    )
    .unwrap();
    Planned {
        outcome,
        asked: asked.into_inner(),
    }
}

fn two_changes() -> ScratchRepo {
    let repo = ScratchRepo::new();
    repo.write("src/login.rs", "fn login() {}\n");
    repo.write("docs/login.md", "# Login\n");
    repo
}

fn good() -> Value {
    json!({"commits": [
        {"subject": "feat(auth): add login", "body": "Users could not log in.", "files": ["src/login.rs"]},
        {"subject": "docs(auth): describe login", "files": ["docs/login.md"]}]})
}

fn subjects(repo: &ScratchRepo, range: &str) -> String {
    repo.git(["log", "--format=%s", range])
}

fn notes(outcome: &RescueOutcome) -> Vec<&str> {
    outcome
        .warnings
        .iter()
        .map(|note| note.code.as_str())
        .collect()
}

#[test]
fn plan_commits_follow_their_order_and_the_user() {
    let repo = two_changes();
    repo.write("tracked", "two\n");
    repo.git(["add", "tracked", "src/login.rs"]);
    let mut plan = good();
    plan["commits"][1]["files"] = json!(["docs/login.md", "tracked"]);
    let Planned { outcome, asked } = planned(&repo, |_| {}, &[Ok(plan)]);
    assert_eq!(
        outcome,
        RescueOutcome {
            commits: 2,
            made: outcome.made.clone(),
            ..RescueOutcome::default()
        }
    );
    assert_eq!(asked.len(), 1);
    assert_eq!(
        subjects(&repo, "-2"),
        "docs(auth): describe login\nfeat(auth): add login"
    );
    assert_eq!(
        repo.git(["show", "--format=%an|%b", "--name-only", "HEAD~1"]),
        "A Person|Users could not log in.\n\nWatchdog-Spec: auth\nWatchdog-Snapshot: refs/watchdog/rescue/auth/20260304T050607Z-0\n\n\nsrc/login.rs"
    );
    assert_eq!(repo.names_in("HEAD"), "docs/login.md\ntracked");
    assert_eq!(repo.git(["status", "--porcelain"]), "");
}

#[test]
fn plan_question_shows_work_and_hides_secrets() {
    let repo = two_changes();
    let secret = format!("{}{}", "ghp_", "a1B2".repeat(9));
    repo.write("config.toml", format!("token = \"{secret}\"\n"));
    repo.git(["add", "config.toml"]);
    repo.git(["commit", "-qm", "an old mistake"]);
    repo.write("config.toml", format!("token = \"{secret}\"\nport = 1\n"));
    repo.write(".env", "PASSWORD=hunter2\n");
    repo.write("tasks.md", format!("- [ ] rotate {secret}\n- [x] done\n"));
    let Planned { outcome, asked } = planned(
        &repo,
        |_| {},
        &[Err(PlanError::Unavailable {
            why: "enough".into(),
        })],
    );
    let asked = &asked[0];
    for part in [
        "- new: \"src/login.rs\"",
        "- changed: \"config.toml\"",
        "| +fn login() {}",
        "| +port = 1",
        "T1: \"rotate [secret: github-token]\"",
    ] {
        assert!(asked.contains(part), "{part}\n{asked}");
    }
    for part in [secret.as_str(), "hunter2", ".env"] {
        assert!(!asked.contains(part), "{part}\n{asked}");
    }
    assert_eq!(
        outcome
            .left_out
            .iter()
            .map(|left| (left.path.as_str(), left.why.as_str()))
            .collect::<Vec<_>>(),
        [(".env", "secret"), ("tasks.md", "secret")]
    );
}

#[test]
fn incompletely_printed_diff_is_not_shown() {
    let repo = two_changes();
    // More than is kept of an output: its middle is missing, and with it perhaps the begin of a secret.
    repo.write("long.txt", "a line of many\n".repeat(200_000));
    let asked = planned(
        &repo,
        |_| {},
        &[Err(PlanError::Unavailable {
            why: "enough".into(),
        })],
    )
    .asked;
    assert!(asked[0].contains("- new: \"long.txt\""), "{}", asked[0]);
    assert!(
        !asked[0].contains("a line of many") && !asked[0].contains("fn login"),
        "{}",
        asked[0]
    );
}

#[test]
fn faulty_plan_is_asked_once_more_naming_faults() {
    let repo = two_changes();
    let mut bad = good();
    bad["commits"][1]["files"] = json!(["docs/login.md", "src/login.rs"]);
    let Planned { outcome, asked } = planned(&repo, |_| {}, &[Ok(bad), Ok(good())]);
    assert_eq!((outcome.commits, notes(&outcome)), (2, vec![]));
    assert!(!asked[0].contains("cannot be used"));
    assert_parts(
        &asked[1],
        &["src/login.rs\\\" is in commit 1 and again in commit 2"],
    );
}

#[test]
fn two_faulty_plans_end_in_one_commit() {
    let repo = two_changes();
    let bad = json!({"commits": [{"subject": "feat: all", "files": ["src/login.rs"]}]});
    let Planned { outcome, asked } = planned(
        &repo,
        |_| {},
        &[
            Ok(bad),
            Err(PlanError::Unusable {
                why: "no JSON".into(),
            }),
        ],
    );
    assert_eq!(
        (outcome.commits, asked.len(), notes(&outcome)),
        (1, 2, vec!["plan_fallback"])
    );
    assert!(
        outcome.warnings[0].detail.ends_with("no JSON"),
        "{:?}",
        outcome.warnings
    );
    assert_eq!(
        subjects(&repo, "-1"),
        "chore(auth): rescue uncommitted work"
    );
    assert_eq!(repo.git(["status", "--porcelain"]), "");
}

#[test]
fn hopeless_plan_question_is_not_repeated() {
    let repo = two_changes();
    let Planned { outcome, asked } = planned(
        &repo,
        |_| {},
        &[Err(PlanError::Unavailable {
            why: "a usage limit".into(),
        })],
    );
    assert_eq!(
        (outcome.commits, asked.len(), notes(&outcome)),
        (1, 1, vec!["plan_fallback"])
    );
}

#[test]
fn single_file_or_protected_branch_needs_no_plan() {
    let repo = ScratchRepo::new();
    repo.write("tracked", "two\n");
    assert_eq!(
        (
            planned(&repo, |_| {}, &[]).outcome.commits,
            subjects(&repo, "-1").as_str()
        ),
        (1, "chore(auth): rescue uncommitted work")
    );
    let repo = two_changes();
    assert!(
        planned(&repo, |s| s.protect = vec!["main".into()], &[])
            .outcome
            .fallback_branch
            .is_some()
    );
}

#[test]
fn an_interrupted_question_commits_nothing() {
    let repo = two_changes();
    let Planned { outcome, .. } = planned(&repo, |_| {}, &[Err(PlanError::Interrupted)]);
    assert_eq!((outcome.commits, outcome.lost), (0, vec![]));
    assert!(outcome.failed.unwrap().contains("interrupted"));
    assert_eq!(
        repo.git(["status", "--porcelain", "-uall"]),
        "?? docs/login.md\n?? src/login.rs"
    );
}

#[test]
fn trailers_are_as_configured() {
    let repo = two_changes();
    planned(
        &repo,
        |s| s.trailers = vec!["Refs: {spec}".into()],
        &[Ok(good())],
    );
    assert_eq!(
        repo.git(["log", "-2", "--format=%(trailers:only,unfold)|"]),
        "Refs: auth\n|\nRefs: auth\n|"
    );
}

#[test]
fn only_fulfilled_boxes_are_ticked_in_a_commit() {
    let list = "# Tasks\r\n\n- [x] 1. start\n- [ ] 2. login \r\n- [ ]  3. logout\n\ttab\n";
    let repo = ScratchRepo::new();
    repo.write("specs/auth/tasks.md", list);
    repo.write("tasks.md", "- [ ] of somebody else\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "tasks"]);
    repo.write("src/login.rs", "fn login() {}\n");
    repo.write("docs/login.md", "# Login\n");
    let mut plan = good();
    plan["commits"][0]["tasks"] = json!(["2. login"]);
    let Planned { outcome, .. } = planned(&repo, |_| {}, &[Ok(plan)]);
    assert_eq!(
        (outcome.commits, notes(&outcome), &outcome.lost),
        (3, vec![], &vec![]),
        "{outcome:?}"
    );
    assert_eq!(
        repo.read("specs/auth/tasks.md"),
        list.replace("- [ ] 2.", "- [x] 2.")
    );
    assert_eq!(
        subjects(&repo, "-1"),
        "docs(tasks): tick 1 task that this work fulfils"
    );
    assert_eq!(repo.names_in("HEAD"), "specs/auth/tasks.md");
    assert_eq!(repo.git(["status", "--porcelain"]), "");
}

#[test]
fn uncommitted_task_list_is_committed_before_its_ticks() {
    let repo = two_changes();
    repo.write("tasks.md", "- [ ] login\n- [ ] logout\n");
    let mut plan = good();
    plan["commits"][0]["tasks"] = json!(["T1"]);
    plan["commits"][1]["files"] = json!(["docs/login.md", "tasks.md"]);
    let Planned { outcome, .. } = planned(&repo, |_| {}, &[Ok(plan)]);
    assert_eq!(
        (outcome.commits, notes(&outcome), &outcome.lost),
        (3, vec![], &vec![]),
        "{outcome:?}"
    );
    assert_eq!(
        repo.git(["diff", "--stat", "--format=", "HEAD~1", "HEAD"])
            .lines()
            .count(),
        2
    );
    assert_eq!(repo.read("tasks.md"), "- [x] login\n- [ ] logout\n");
}

#[test]
fn refused_or_foreign_list_keeps_its_boxes_open() {
    let repo = ScratchRepo::new();
    repo.write("tasks.md", "- [ ] login\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "tasks"]);
    repo.write("a", "a");
    repo.write("b", "b");
    repo.hook(
        "commit-msg",
        "grep -q '^docs(tasks)' \"$1\" && { echo 'no ticks'; exit 1; }; exit 0",
    );
    let plan = json!({"commits": [{"subject": "feat: all", "files": ["a", "b"], "tasks": ["T1"]}]});
    let Planned { outcome, .. } = planned(&repo, |_| {}, &[Ok(plan.clone())]);
    assert_eq!(
        (outcome.commits, notes(&outcome), &outcome.failed),
        (1, vec!["tasks_not_ticked"], &None),
        "{outcome:?}"
    );
    assert_eq!(
        (
            repo.read("tasks.md").as_str(),
            repo.git(["status", "--porcelain"]).as_str()
        ),
        ("- [ ] login\n", "")
    );

    let repo = ScratchRepo::new();
    repo.write(".git/info/exclude", "tasks.md\n");
    repo.write("tasks.md", "- [ ] login\n");
    repo.write("a", "a");
    repo.write("b", "b");
    let Planned { outcome, .. } = planned(&repo, |_| {}, &[Ok(plan)]);
    assert_eq!(
        (outcome.commits, notes(&outcome)),
        (1, vec!["tasks_not_ticked"]),
        "{outcome:?}"
    );
    assert_eq!(repo.read("tasks.md"), "- [ ] login\n");
}

#[test]
fn hook_refusing_one_plan_commit_keeps_the_others() {
    let repo = two_changes();
    repo.hook(
        "commit-msg",
        "grep -q '^docs' \"$1\" && { echo 'no docs'; exit 1; }; exit 0",
    );
    let Planned { outcome, .. } = planned(&repo, |_| {}, &[Ok(good())]);
    assert_eq!(
        (
            outcome.commits,
            outcome.fallback_branch.as_deref(),
            &outcome.lost
        ),
        (1, Some("watchdog/rescue/auth"), &vec![]),
        "{outcome:?}"
    );
    assert_eq!(subjects(&repo, "-1"), "feat(auth): add login");
    assert_eq!(
        subjects(&repo, "main..watchdog/rescue/auth"),
        "docs(auth): describe login"
    );
    assert_eq!(
        repo.git(["status", "--porcelain", "-uall"]),
        "?? docs/login.md"
    );
    // What waits on the branch is not asked about again.
    repo.write("tracked", "two\n");
    repo.git(["commit", "-qm", "x", "--no-verify", "tracked"]);
    repo.write("more.rs", "m");
    let mut again = good();
    again["commits"] = json!([{"subject": "docs: all", "files": ["docs/login.md", "more.rs"]}]);
    assert_eq!(
        planned(&repo, |_| {}, &[Ok(again)]).asked.len(),
        1,
        "it is other work by now"
    );
    assert_eq!(planned(&repo, |_| {}, &[]).asked.len(), 0);
}

#[test]
fn crash_between_plan_commits_leaves_work_to_rescue() {
    let repo = two_changes();
    // The first commit is made; then somebody takes the branch away from under the second.
    repo.hook(
        "post-commit",
        "[ -e ../once ] || { touch ../once; git switch -qc other; }",
    );
    let Planned { outcome, .. } = planned(&repo, |_| {}, &[Ok(good())]);
    assert!(
        outcome
            .failed
            .as_ref()
            .is_some_and(|why| why.contains("another branch was checked out")),
        "{outcome:?}"
    );
    assert_eq!(outcome.lost, Vec::<String>::new());
    repo.git(["switch", "-q", "main"]);
    assert_eq!(
        repo.git(["status", "--porcelain", "-uall"]),
        "?? docs/login.md"
    );
    assert_eq!(
        planned(&repo, |_| {}, &[]).outcome.commits,
        1,
        "one file is left, and nobody is asked about it"
    );
    assert_eq!(repo.git(["status", "--porcelain"]), "");
}

#[test]
fn hook_committing_everything_empties_the_second_commit() {
    let repo = two_changes();
    repo.hook("pre-commit", "git add -A");
    repo.write(".env", "TOKEN=1");
    let Planned { outcome, .. } = planned(&repo, |_| {}, &[Ok(good())]);
    assert_eq!(
        (outcome.commits, &outcome.lost),
        (1, &vec![]),
        "{outcome:?}"
    );
    // A secret in a commit is for a person, whoever put it there.
    assert!(
        outcome
            .failed
            .as_ref()
            .is_some_and(|why| why.contains("put a secret into .env")),
        "{outcome:?}"
    );
    assert_eq!(
        notes(&outcome),
        ["hooks_added_files"],
        "a person must know that it is in there"
    );
    assert_eq!(repo.git(["status", "--porcelain"]), "");
}

#[test]
fn secrets_are_recognised_by_file_content() {
    let repo = ScratchRepo::new();
    let secret = format!("{}{}", "AKIA", "J5QWERTYUIOPLKJH");
    repo.write("old.py", format!("key = '{secret}'\n"));
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "an old mistake"]);
    repo.write("old.py", format!("key = '{secret}'\nport = 1\n"));
    repo.write("new.py", format!("key = '{secret}'\n"));
    repo.write(
        "key.txt",
        format!(
            "-----BEGIN {}-----\n{}\n",
            "PRIVATE KEY",
            "MIIEvQ".repeat(12)
        ),
    );
    repo.write("code.rs", "fn main() {}\n");
    let snapshot = repo.snapshot();
    let looked = preview_rescue(&repo.open(), &settings(|_| {})).unwrap();
    assert_eq!(looked.chosen, ["code.rs", "old.py"]);
    let Planned { outcome, .. } = planned(
        &repo,
        |_| {},
        &[Err(PlanError::Unavailable { why: String::new() })],
    );
    assert_eq!(
        (outcome.commits, outcome.failed, outcome.lost),
        (1, None, vec![])
    );
    assert_eq!(outcome.left_out, looked.left_out);
    assert_eq!(repo.git(["status", "--porcelain"]), "?? key.txt\n?? new.py");
    let told: Vec<&str> = outcome
        .warnings
        .iter()
        .filter(|n| n.code.as_str() == "secret_content")
        .map(|note| note.detail.as_str())
        .collect();
    assert!(
        told[0].contains("key.txt")
            && told[0].contains("private-key")
            && told[1].contains("aws-access-key-id"),
        "{told:?}"
    );
    assert!(!told.concat().contains(&secret[4..]));
    assert_eq!(
        repo.git(["show", &format!("{}:new.py", snapshot.commit)]),
        format!("key = '{secret}'"),
        "the snapshot has it"
    );
}

/// A whole judgement with a program that answers both questions.
#[test]
fn variable_tells_one_program_probe_from_plan() {
    let env = TestEnv::new();
    let repo = env.repo();
    let plan = good();
    let answers = format!(
        "echo \"$WATCHDOG_QUESTION $WATCHDOG_PROBE\" >> \"$HOME/asked\"; case $WATCHDOG_QUESTION in plan) cat >> \"$HOME/prompt\"; echo '{plan}';; *) echo '{}';; esac",
        json!({"status": "complete"})
    );
    let agent = json!({"probe": ["sh", "-c", answers]});
    let config = crate::support::config_asking(&env, agent, json!({"rescue": {"mode": "plan"}}));
    repo.write("src/login.rs", "fn login() {}\n");
    repo.write("docs/login.md", "# Login\n");
    let out = repo
        .watchdog_line(
            "check --json --baseline HEAD --config {}",
            &[config.to_str().unwrap()],
        )
        .expect(0);
    assert_eq!(out.verdict(), "complete/rescued");
    assert_eq!(out.json()["rescue"]["commits"], 2, "{out}");
    assert_eq!(out.json()["degraded"], json!(["no_record"]), "{out}");
    assert_eq!(
        std::fs::read_to_string(env.home().join("asked")).unwrap(),
        "probe 1\nplan 1\n"
    );
    assert!(
        std::fs::read_to_string(env.home().join("prompt"))
            .unwrap()
            .starts_with("COMMIT PLAN")
    );
    assert_eq!(
        repo.git(&["log", "-2", "--format=%s"]),
        "docs(auth): describe login\nfeat(auth): add login"
    );
}

#[test]
fn probe_only_program_falls_back_to_one_commit() {
    let env = TestEnv::new();
    let repo = env.repo();
    let reply = json!({"status": "complete"});
    let config = env.config_asking(
        &[
            Step::keep_prompt(&env.root().join("prompts")),
            Step::print_json(&reply),
        ],
        json!({"rescue": {"mode": "plan"}}),
    );
    repo.write("a", "a");
    repo.write("b", "b");
    let out = repo
        .watchdog_line(
            "check --json --baseline HEAD --config {}",
            &[config.to_str().unwrap()],
        )
        .expect(0);
    out.assert_verdict(
        "complete/rescued",
        json!({"degraded": ["no_record", "plan_fallback"], "/rescue/commits": 1}),
    );
    let prompts = std::fs::read_to_string(env.root().join("prompts")).unwrap();
    assert_eq!(
        prompts.matches("\n-- end\n").count(),
        2,
        "one probe, one plan"
    );
}

#[test]
fn who_wants_nobody_asked_is_obeyed() {
    let env = TestEnv::new();
    let repo = env.repo();
    let touch = Step::write(&env.home().join("asked").to_string_lossy(), "x");
    let more = json!({"rescue": {"mode": "plan"}, "completion_check": {"max_probes": 0}});
    let config = env.config_asking(&[touch], more);
    repo.write("a", "a");
    repo.write("b", "b");
    let out = repo
        .watchdog_line(
            "check --json --baseline HEAD --config {}",
            &[config.to_str().unwrap()],
        )
        .expect(10);
    assert_eq!(
        (out.verdict().as_str(), &out.json()["rescued"]),
        ("incomplete/unfinished", &json!(true)),
        "nobody says that it is done"
    );
    assert!(!env.home().join("asked").exists(), "{out}");
}

#[test]
fn verdict_names_the_branch_with_the_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = env.config_asking(
        &[Step::print_json(&json!({"status": "complete"}))],
        json!({"rescue": {"mode": "plan", "protect": ["main"]}}),
    );
    let config = config.to_str().unwrap();
    repo.write("a", "a");
    repo.write("b", "b");
    let args = fill_line(
        "check --json --spec auth --baseline HEAD --config {}",
        &[config],
    );
    let out = repo.watchdog(&args).expect(12);
    let json = out.json();
    assert_eq!(out.verdict(), "review/rescue_incomplete");
    assert_eq!(
        (&json["rescue"]["branch"], &json["rescue"]["commits"]),
        (&json!("watchdog/rescue/auth"), &json!(0)),
        "{out}"
    );
    let message = json["message"].as_str().unwrap();
    for part in [
        "'watchdog/rescue/auth'",
        "protected by rescue.protect",
        "rescue restore",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(repo.status(), "?? a\n?? b");
    assert_eq!(
        repo.file_in("watchdog/rescue/auth", "a").as_deref(),
        Some("a")
    );
    let out = repo
        .watchdog(&["rescue", "--spec", "auth", "--config", config])
        .expect(12);
    out.assert_told(&["the work is on the branch watchdog/rescue/auth"]);
}

#[test]
fn signal_during_planning_commits_no_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    let reply = json!({"status": "complete"});
    let answers = format!(
        "case $WATCHDOG_QUESTION in plan) touch \"$HOME/asked\"; exec tail -f /dev/null;; *) echo '{reply}';; esac"
    );
    let config = crate::support::config_asking(
        &env,
        json!({"probe": ["sh", "-c", answers]}),
        json!({"rescue": {"mode": "plan"}}),
    );
    repo.write("a", "a");
    repo.write("b", "b");
    let running = repo.spawn_line(
        "check --json --baseline HEAD --config {}",
        &[config.to_str().unwrap()],
    );
    let asked = env.home().join("asked");
    crate::support::wait_until("the plan is asked for", Duration::from_secs(60), || {
        asked.exists()
    });
    running.signal(rustix::process::Signal::TERM);
    let out = running.wait().expect(14);
    assert_eq!(out.verdict(), "stopped/interrupted");
    assert_eq!(
        (repo.status().as_str(), repo.snapshots().is_empty()),
        ("?? a\n?? b", false),
        "{out}"
    );
    env.assert_nothing_left();
}
