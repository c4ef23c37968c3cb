//! Stories about whose work it is: files that were there before a session, that it left, that came after it, and operations of git that
//! are half done.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    CommandOutput, Repo, Step, TestEnv, WallClock, assert_parts, fill_line, wait_until,
};

fn says(status: &str) -> Step {
    Step::print_json(
        &json!({"status": status, "message": "scripted", "tasks_pending": if status == "complete" { json!([]) } else { json!(["the rest"]) }}),
    )
}

/// A configuration outside of the repository, whose agent answers the same to every question and keeps count of them.
fn asking(env: &TestEnv, answer: Step, more: &Value) -> String {
    let mut under = json!({"completion_check": {"probe_interval_seconds": 0}});
    for (key, value) in more.as_object().into_iter().flatten() {
        under[key] = value.clone();
    }
    let steps = [
        Step::keep_prompt(&env.root().join("prompts")),
        Step::probe(&[&[answer]]),
    ];
    env.config_asking(&steps, under)
        .to_string_lossy()
        .into_owned()
}

fn questions(env: &TestEnv) -> usize {
    fs::read_to_string(env.root().join("prompts"))
        .unwrap_or_default()
        .matches("\n-- end\n")
        .count()
}

#[track_caller]
fn run(repo: &Repo<'_>, config: &str, more: &[&str], steps: &[&str]) -> CommandOutput {
    let base = ["run", "--json", "--config", config];
    repo.watchdog(&[&base[..], more, &["--"], steps].concat())
}

#[test]
fn files_before_the_session_are_not_its_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("notes.txt", "mine\n");
    let out = repo
        .watchdog(&["run", "--json", "--max-probes", "0", "--", "true"])
        .expect(13);
    assert_eq!(out.verdict(), "timeout/max_probes");
    out.assert_values(json!({"inherited": 1, "rescued": false, "strike": true}));
    assert_eq!(repo.status(), "?? notes.txt");
    assert_eq!(repo.snapshots().len(), 1, "it is kept");
}

#[test]
fn claim_beside_inherited_files_completes_without_rescue() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("PROMPT.md", "do it\n");
    let config = asking(&env, says("complete"), &json!({}));
    let out = run(&repo, &config, &[], &["true"]).expect(0);
    out.assert_verdict(
        "complete/nothing_to_do",
        json!({"evidence": "claimed", "rescued": false}),
    );
    assert_eq!(repo.status(), "?? PROMPT.md");
}

#[test]
fn committed_inherited_file_needs_the_agent_reply() {
    let commit = ["sh", "-c", "git add mine.txt; git commit -q -m done"];
    for asked in [false, true] {
        let env = TestEnv::new();
        let repo = env.repo();
        repo.write("mine.txt", "mine\n");
        let config = asking(&env, says("complete"), &json!({}));
        let out = run(
            &repo,
            &config,
            if asked { &[] } else { &["--no-probe"] },
            &commit,
        )
        .expect(if asked { 0 } else { 10 });
        out.assert_values(json!({"brought": 1, "made_here": 1}));
        out.assert_has("message", "'mine.txt' (uncommitted before the session)");
        assert_eq!(questions(&env), usize::from(asked), "{out}");
        if asked {
            out.assert_verdict("complete/nothing_to_do", json!({"evidence": "claimed"}));
        } else {
            out.assert_values(json!({"status": "incomplete", "complete": false}));
        }
    }
}

#[test]
fn commits_after_the_end_are_named() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = repo
        .watchdog_line(
            "run --json --no-probe -- sh -c {}",
            &["echo own > own; git add own; git commit -q -m own"],
        )
        .expect(0);
    assert!(!out.stdout.contains("committed_since_end"), "{out}");
    // A minute later by its own word.
    let late = "echo late > late; git add late; GIT_COMMITTER_DATE=\"@$(($(date +%s) + 60)) +0000\" git commit -q -m late";
    repo.env_command("sh", &["-c", late]).run().expect(0);
    let out = repo.watchdog(&["check", "--json", "--no-probe"]).expect(0);
    assert_eq!(out.verdict(), "complete/new_commits");
    out.assert_has("degraded", "committed_since_end");
    out.assert_has("message", "1 commit made after the session ended at ");
}

#[test]
fn stash_of_the_user_is_kept_and_inherited() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = asking(&env, says("complete"), &json!({}));
    let cleared = "git stash clear; git reflog expire --expire=now --all; git gc -q --prune=now";
    for message in ["two\n\nlines", "it's mine"] {
        repo.git(&["stash", "clear"]);
        repo.write("mine.txt", "mine\n");
        repo.git(&["stash", "push", "-q", "-u", "-m", message]);
        let entries = repo.git(&["stash", "list", "--format=%H %gs"]);
        let out = run(&repo, &config, &[], &["sh", "-c", cleared]).expect(0);
        let note = out.json()["notes"][0].clone();
        assert_eq!(note["code"], "stash_lost", "{out}");
        let command = note["detail"]
            .as_str()
            .and_then(|detail| detail.split_once("with: "));
        let restored = std::process::Command::new("sh")
            .args(["-c", command.unwrap().1])
            .status();
        assert!(restored.unwrap().success(), "{note}");
        assert_eq!(repo.git(&["stash", "list", "--format=%H %gs"]), entries);
    }
    // It is nobody's work where it was, in this session and the next.
    for session in ["git stash pop -q", "true"] {
        let out = run(
            &repo,
            &config,
            &["--max-probes", "1"],
            &["sh", "-c", session],
        );
        out.assert_values(json!({"inherited": 1, "rescued": false}));
    }
    std::fs::remove_file(repo.path().join("mine.txt")).unwrap();
    let own = "echo work > work; git stash push -q -u";
    let out = run(&repo, &config, &[], &["sh", "-c", own]).expect(12);
    assert_eq!(
        (out.verdict().as_str(), &out.json()["strike"]),
        ("review/disputed", &json!(false)),
        "{out}"
    );
    assert_eq!(out.json()["elsewhere"][0]["state"], "stashed", "{out}");
}

#[test]
fn pushed_work_is_no_nothing_to_do() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = asking(&env, says("complete"), &json!({}));
    repo.git(&["init", "-q", "--bare", "../origin.git"]);
    repo.git(&["remote", "add", "origin", "../origin.git"]);
    let session =
        "git switch -q -c x; echo x > x; git add x; git commit -q -m x; git push -q origin x
        git switch -q -; git branch -q -D x";
    let out = run(&repo, &config, &[], &["sh", "-c", session]).expect(0);
    out.assert_verdict("complete/new_commits", json!({"evidence": "claimed"}));
    out.assert_has("message", "pushed to origin/x");
}

#[test]
fn adopted_file_in_a_commit_is_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("mine.txt", "mine\n");
    let commit = ["sh", "-c", "git add mine.txt; git commit -q -m done"];
    let out = repo
        .watchdog(
            &[
                &["run", "--json", "--no-probe", "--adopt", "--"][..],
                &commit,
            ]
            .concat(),
        )
        .expect(0);
    out.assert_verdict("complete/new_commits", json!({"brought": 0}));
}

#[test]
fn the_file_that_init_writes_is_nobodys_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("Makefile", "test:\n\tfalse\n");
    repo.commit_all("chore: make");
    repo.watchdog(&["snapshot"]).expect(0);
    repo.watchdog(&["init"]).expect(0);
    let out = repo
        .watchdog(&["check", "--json", "--max-probes", "0"])
        .expect(10);
    out.assert_verdict("incomplete/checks_unmet", json!({"inherited": 1}));
    assert_eq!(repo.status().as_str(), "?? completion.json", "{out}");
    let again = repo
        .watchdog(&["run", "--json", "--max-probes", "0", "--", "true"])
        .expect(10);
    again.assert_verdict("incomplete/checks_unmet", json!({"inherited": 1}));
}

#[test]
fn rescue_takes_only_the_files_of_the_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("mine.txt", "mine\n");
    repo.write("README.md", "half an idea of mine\n");
    let config = asking(
        &env,
        says("complete"),
        &json!({"rescue": {"mode": "single"}}),
    );
    let out = run(&repo, &config, &[], &["sh", "-c", "echo made > made.txt"]).expect(0);
    out.assert_verdict(
        "complete/rescued",
        json!({"evidence": "claimed", "inherited": 2}),
    );
    assert_eq!(repo.file_in("HEAD", "made.txt").as_deref(), Some("made\n"));
    assert_eq!(repo.file_in("HEAD", "mine.txt"), None);
    assert_ne!(
        repo.file_in("HEAD", "README.md").as_deref(),
        Some("half an idea of mine\n")
    );
    assert_eq!(repo.status(), " M README.md\n?? mine.txt");
}

#[test]
fn adopted_files_are_the_sessions_to_finish() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("half.txt", "half\n");
    let config = asking(
        &env,
        says("complete"),
        &json!({"rescue": {"mode": "single"}}),
    );
    let out = run(&repo, &config, &["--adopt"], &["true"]).expect(0);
    out.assert_verdict("complete/rescued", json!({"inherited": 0}));
    assert_eq!(repo.file_in("HEAD", "half.txt").as_deref(), Some("half\n"));
}

#[test]
fn inherited_file_changed_in_session_becomes_its_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("shared.txt", "mine\n");
    repo.write("gone.txt", "mine too\n");
    let config = asking(
        &env,
        says("complete"),
        &json!({"rescue": {"mode": "single"}}),
    );
    let out = run(
        &repo,
        &config,
        &[],
        &["sh", "-c", "echo more >> shared.txt; rm gone.txt"],
    )
    .expect(0);
    assert_eq!(out.verdict(), "complete/rescued");
    assert_eq!(
        repo.file_in("HEAD", "shared.txt").as_deref(),
        Some("mine\nmore\n")
    );
    out.assert_has("degraded", "inherited_overwritten");
}

#[test]
fn leftovers_of_earlier_sessions_belong_to_the_spec() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = asking(
        &env,
        says("complete"),
        &json!({"rescue": {"mode": "single"}}),
    );
    let first = run(
        &repo,
        &config,
        &["--no-rescue", "--max-probes", "0"],
        &["sh", "-c", "echo half > half.txt"],
    );
    assert_ne!(first.json()["complete"], json!(true), "{first}");
    assert_eq!(repo.status(), "?? half.txt");
    repo.write("mine.txt", "a person wrote this in between\n");
    let second = run(&repo, &config, &[], &["true"]).expect(0);
    second.assert_verdict("complete/rescued", json!({"inherited": 1}));
    assert_eq!(
        (
            repo.file_in("HEAD", "half.txt").as_deref(),
            repo.status().as_str()
        ),
        (Some("half\n"), "?? mine.txt")
    );
}

#[test]
fn what_changes_after_the_end_is_nobodys() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = asking(
        &env,
        says("complete"),
        &json!({"rescue": {"mode": "single"}}),
    );
    run(
        &repo,
        &config,
        &["--no-rescue", "--max-probes", "0"],
        &["sh", "-c", "echo made > made.txt"],
    );
    repo.write("later.txt", "a person wrote this afterwards\n");
    let out = repo
        .watchdog(&["check", "--json", "--config", &config])
        .expect(0);
    out.assert_verdict("complete/rescued", json!({"changed_since_end": 1}));
    assert_eq!(
        (
            repo.file_in("HEAD", "made.txt").as_deref(),
            repo.status().as_str()
        ),
        (Some("made\n"), "?? later.txt")
    );
}

#[test]
fn droppings_alone_complete_nothing() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = repo.watchdog_line(
        "run --json --max-probes 0 -- sh -c {}",
        &["echo x > .DS_Store; mkdir .claude; echo {} > .claude/settings.local.json"],
    );
    out.assert_verdict("timeout/max_probes", json!({"rescued": false}));
}

#[test]
fn links_in_place_of_ignored_folders_are_droppings() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(".gitignore", "node_modules/\n**/.venv/\n");
    repo.commit_all("rules");
    repo.write(".git/info/exclude", "vendor/\n");
    let links = "mkdir -p app/web docs; ln -s ../shared node_modules; ln -s /opt/venv app/web/.venv; ln -s docs vendor; \
                 ln -s ../../other app/cache; ln -s node_modules/react react";
    let out = repo.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", links]);
    assert_eq!(out.verdict(), "incomplete/unfinished", "{out}");
    assert_eq!(&out.json()["changes"]["untracked"], &json!(5), "{out}");
    assert_eq!(out.json()["rescued"], json!(false), "{out}");
    let name = |paths: &[&str]| -> Vec<Value> {
        let left_out = paths
            .iter()
            .map(|path| json!({"path": path, "why": "excluded"}));
        left_out.collect()
    };
    let droppings = name(&fill_line(
        "app/cache app/web/.venv node_modules react vendor",
        &[],
    ));
    assert_eq!(out.json()["rescue"]["left_out"], json!(droppings), "{out}");
    let work = "git add node_modules; ln -s web app/link; ln -s $PWD/app/web app/within; echo work > work.txt";
    let out = repo.watchdog(&["run", "--json", "--max-probes", "0", "--", "sh", "-c", work]);
    assert_eq!(out.json()["rescued"], json!(true), "{out}");
    assert_eq!(
        repo.git(&["diff", "--name-only", "HEAD~1", "HEAD"]),
        "app/link\napp/within\nwork.txt"
    );
    repo.write("more.txt", "more\n");
    let out = repo.watchdog(&["rescue", "--dry-run", "--json"]).expect(0);
    assert_eq!(out.json()["would_commit"], json!(["more.txt"]), "{out}");
    // In place of a folder of HEAD a link is work: the folder's files are gone.
    repo.write("shared/one", "1\n");
    repo.commit_all("shared");
    let replace = "rm -r shared; ln -s ../elsewhere shared";
    let out = repo.watchdog_line("run --json --max-probes 0 -- sh -c {}", &[replace]);
    let names = repo.git(&["diff", "--name-only", "HEAD~1", "HEAD"]);
    assert_eq!(names, "shared\nshared/one", "{out}");
    let commit = "git add node_modules; git commit -qm link";
    let out = repo.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", commit]);
    assert_eq!(out.json()["net_change"], json!(false), "{out}");
    let beside = "mkdir lib; ln -s /opt/venv lib/.venv; ln -s ../../other app/out; echo w > w.txt; git add lib app/out w.txt; git commit -qm w";
    let out = repo.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", beside]);
    assert_eq!(out.verdict(), "complete/new_commits", "{out}");
    assert_parts(
        &out.json()["notes"].to_string(),
        &["link_committed", "rm --cached -- app/out lib/.venv\""],
    );
}

#[test]
fn unjudged_commits_are_told_as_such() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = repo
        .watchdog_line(
            "run --json -- sh -c {}",
            &["echo a > a.txt; git add a.txt; git commit -qm 'feat: a'"],
        )
        .expect(0);
    out.assert_verdict("complete/new_commits", json!({"evidence": "committed"}));
    let message = out.json()["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert_parts(
        &message,
        &["no checks are configured, so nothing judged what they do"],
    );
}

#[test]
fn answers_of_working_and_a_rescue_complete_nothing() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = asking(
        &env,
        says("working"),
        &json!({"rescue": {"mode": "single"}}),
    );
    let baseline = repo.head();
    repo.write("a.txt", "a");
    let out = repo
        .watchdog_line(
            "check --json --baseline {} --config {}",
            &[&baseline, &config],
        )
        .expect(10);
    out.assert_verdict(
        "incomplete/unfinished",
        json!({"rescued": true, "probes_used": 3}),
    );
    let later = repo
        .watchdog_line(
            "check --json --baseline {} --config {} --no-probe",
            &[&baseline, &config],
        )
        .expect(10);
    assert_eq!(
        later.verdict(),
        "incomplete/unfinished",
        "the rescue's commit is no work of the session at a later look either"
    );
}

#[test]
fn finished_working_session_is_asked_once() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = asking(
        &env,
        says("working"),
        &json!({"rescue": {"mode": "single"}}),
    );
    let out = run(&repo, &config, &[], &["sh", "-c", "echo a > a.txt"]).expect(10);
    assert_eq!(out.verdict(), "incomplete/unfinished", "{out}");
    assert_eq!(questions(&env), 1, "{out}");
    out.assert_values(json!({"rescued": true}));
    out.assert_has("feedback", "the rest");
}

#[test]
fn finished_session_with_unmet_checks_is_not_asked() {
    let env = TestEnv::new();
    let repo = env.repo();
    let checks = json!({"rescue": {"mode": "single"}, "checks": [{"type": "command", "name": "tests", "run": "false"}]});
    let config = asking(&env, says("complete"), &checks);
    let out = run(&repo, &config, &[], &["sh", "-c", "echo a > a.txt"]).expect(10);
    assert_eq!(out.verdict(), "incomplete/checks_unmet", "{out}");
    assert_eq!(questions(&env), 0, "{out}");
    out.assert_values(json!({"rescued": true}));
    assert_eq!(repo.status().as_str(), "");
}

#[test]
fn third_fruitless_session_needs_a_person() {
    let env = TestEnv::new();
    let repo = env.repo();
    let checks = json!({"breaker": {"limit": 9}, "checks": [{"type": "command", "name": "tests", "run": "false"}]});
    let config = asking(&env, says("complete"), &checks);
    for _ in 0..2 {
        let out = run(&repo, &config, &[], &["true"]).expect(10);
        out.assert_verdict("incomplete/checks_unmet", json!({"strike": true}));
    }
    let third = run(&repo, &config, &[], &["true"]).expect(12);
    assert_eq!(third.verdict(), "review/max_iterations");
    third.assert_has("degraded", "no_progress");
}

#[test]
fn sessions_that_come_to_nothing_open_the_breaker() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = asking(&env, says("working"), &json!({}));
    for _ in 0..3 {
        let out = run(&repo, &config, &[], &["true"]).expect(10);
        out.assert_verdict("incomplete/unfinished", json!({"strike": true}));
    }
    assert_eq!(
        run(&repo, &config, &[], &["true"]).expect(14).verdict(),
        "stopped/breaker_open"
    );
    // The breaker of one spec holds up no other, and a person resets it.
    run(&repo, &config, &["--spec", "other"], &["true"]).expect(10);
    repo.watchdog(&["breaker", "reset"]).expect(0);
    run(&repo, &config, &[], &["true"]).expect(10);
}

fn conflicting(repo: &Repo<'_>) {
    repo.write("a.txt", "a\n");
    repo.commit_all("feat: a");
    repo.git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
    repo.write("a.txt", "other\n");
    repo.commit_all("feat: other");
    repo.git(&["checkout", "-q", "-"]);
}

#[test]
fn conflicted_merge_is_never_complete() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = asking(&env, says("complete"), &json!({}));
    conflicting(&repo);
    let out = run(
        &repo,
        &config,
        &[],
        &[
            "sh",
            "-c",
            "echo b > b.txt; git add b.txt; git commit -qm 'feat: b'; git merge -q other || true",
        ],
    )
    .expect(10);
    assert_eq!(out.verdict(), "incomplete/operation_in_progress", "{out}");
    assert_eq!(questions(&env), 0, "{out}");
    let feedback = out.json()["feedback"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert_parts(&feedback, &["merge", "a.txt"]);
    assert_eq!(out.json()["rescued"], json!(false));
}

#[test]
fn merge_under_way_prevents_sessions_unless_handed_over() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = asking(&env, says("complete"), &json!({}));
    conflicting(&repo);
    assert_ne!(repo.try_git(&["merge", "-q", "other"]).code, Some(0));
    let touched = env.root().join("started");
    let touch = touched.to_string_lossy().into_owned();
    let out = run(&repo, &config, &[], &["touch", &touch]).expect(12);
    assert_eq!(out.verdict(), "review/disputed", "{out}");
    assert!(!touched.exists(), "{out}");
    out.assert_has("message", "merge");
    assert_eq!(
        repo.git(&["for-each-ref", "refs/watchdog"]),
        "",
        "what did not begin is not recorded"
    );
    let handed = run(
        &repo,
        &config,
        &["--adopt"],
        &[
            "sh",
            "-c",
            "echo both > a.txt; git add a.txt; git commit -qm 'merge: both'",
        ],
    )
    .expect(0);
    assert_eq!(handed.verdict(), "complete/new_commits");
}

#[test]
fn failed_initial_snapshot_prevents_the_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("mine.txt", "mine\n");
    // Refs cannot be made below a file.
    fs::create_dir_all(repo.path().join(".git/refs/watchdog")).unwrap();
    fs::write(repo.path().join(".git/refs/watchdog/rescue"), "in the way").unwrap();
    let touched = env.root().join("started");
    let touch = touched.to_string_lossy().into_owned();
    let out = repo
        .watchdog(&["run", "--json", "--", "touch", &touch])
        .expect(16);
    assert_eq!(out.verdict(), "error/snapshot_failed", "{out}");
    assert!(!touched.exists(), "{out}");
    out.assert_has("message", "--without-snapshot");
    assert!(!out.stderr.contains("during the session"), "{out}");
    repo.watchdog_line(
        "run --json --max-probes 0 --without-snapshot -- touch {}",
        &[&touch],
    );
    assert!(touched.exists(), "the user's own word counts");
}

#[test]
fn running_session_processes_prevent_any_question() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = asking(&env, says("complete"), &json!({}));
    let over = env.root().join("over");
    let agent = env.fake_agent("leaves-a-daemon", &[Step::daemon(&[Step::wait_for(&over)])]);
    let out = run(
        &repo,
        &config,
        &["--child-wait", "0s"],
        &[&agent[0], &agent[1]],
    )
    .expect(11);
    out.assert_verdict("waiting/background_work", json!({"probes_used": 0}));
    out.assert_has("message", "still runs: ");
    let again = repo
        .watchdog(&["check", "--json", "--once", "--config", &config])
        .expect(11);
    again.assert_verdict("waiting/background_work", json!({"probes_used": 0}));
    fs::write(&over, "").unwrap();
    wait_until("it has ended", Duration::from_secs(60), || {
        env.processes_left().is_empty()
    });
    let out = repo
        .watchdog(&["check", "--json", "--config", &config])
        .expect(0);
    out.assert_verdict("complete/nothing_to_do", json!({"probes_used": 1}));
}

#[test]
fn busy_leftover_process_holds_the_verdict() {
    for (what, verdict, code) in [
        ("sleep 1000", "complete/nothing_to_do", 0),
        ("while :; do :; done", "waiting/background_work", 11),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        let config = asking(
            &env,
            says("complete"),
            &json!({"limits": {"background_seconds": 100_000}}),
        );
        let leave = format!("({what}) >/dev/null 2>&1 &");
        let out = run(
            &repo,
            &config,
            &["--child-wait", "0s"],
            &["sh", "-c", &leave],
        )
        .expect(11);
        assert_eq!(out.verdict(), "waiting/background_work", "{out}");
        let clock = WallClock::new(&env);
        clock.be_ahead_by(Duration::from_secs(3600));
        let out = clock
            .read_by(repo.watchdog_command(&["check", "--json", "--config", &config]))
            .run()
            .expect(code);
        let released = out.json()["degraded"].to_string().contains("survivors");
        assert_eq!(
            (out.verdict().as_str(), released),
            (verdict, code == 0),
            "{what}: {out}"
        );
    }
}
