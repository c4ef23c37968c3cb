//! Every leaf of the decision tree, by `watchdog check` in a real repository with a scripted agent to ask.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, Step, TestEnv, fill_line, wait_for};

/// The agent's replies, by number of probe; the last one holds for all later ones.
type Replies<'a> = &'a [&'a [Step]];

/// A repository in which an agent can be asked.
struct Scene<'env> {
    repo: Repo<'env>,
    baseline: String,
    config: String,
    env: &'env TestEnv,
}

impl<'env> Scene<'env> {
    fn new(env: &'env TestEnv, replies: Replies<'_>, more: Value) -> Self {
        let repo = env.repo();
        let quick = json!({"completion_check": {"probe_interval_seconds": 0}});
        let steps = [
            Step::keep_prompt(&env.root().join("prompts")),
            Step::probe(replies),
        ];
        let config = env
            .config_asking(&steps, merged(quick, more))
            .to_string_lossy()
            .into_owned();
        Scene {
            baseline: repo.head(),
            repo,
            config,
            env,
        }
    }

    #[track_caller]
    fn check(&self, more: &[&str]) -> CommandOutput {
        let args = fill_line(
            "check --json --baseline {} --config {}",
            &[&self.baseline, &self.config],
        );
        self.repo.watchdog(&[&args, more].concat())
    }

    /// The questions that the agent was asked.
    fn prompts(&self) -> Vec<String> {
        let all = fs::read_to_string(self.env.root().join("prompts")).unwrap_or_default();
        let mut prompts: Vec<String> = all.split("\n-- end\n").map(str::to_string).collect();
        prompts.pop();
        prompts
    }

    /// Leaves work behind in every way: a changed file, a staged one, a new one.
    fn leave_work(&self) {
        self.repo.write("README.md", "changed\n");
        self.repo.write("staged.txt", "staged\n");
        self.repo.git(&["add", "staged.txt"]);
        self.repo.write("deep/new.txt", "new\n");
    }

    /// Whether all of that is in this commit.
    #[track_caller]
    fn work_is_in(&self, commit: &str) -> bool {
        [
            ("README.md", "changed\n"),
            ("staged.txt", "staged\n"),
            ("deep/new.txt", "new\n"),
        ]
        .iter()
        .all(|(name, text)| self.repo.file_in(commit, name).as_deref() == Some(text))
    }
}

fn merged(mut under: Value, over: Value) -> Value {
    for (key, value) in over.as_object().into_iter().flatten() {
        for (inner, value) in value.as_object().into_iter().flatten() {
            under[key][inner] = value.clone();
        }
    }
    under
}

fn says(status: &str) -> Step {
    Step::print_json(&json!({"status": status, "message": "scripted", "should_continue": true}))
}

#[track_caller]
fn assert_facts(out: &CommandOutput, facts: &[(&str, Value)]) {
    let json = out.json();
    for (key, value) in facts {
        assert_eq!(&json[*key], value, "{key}\n{out}");
    }
}

#[test]
fn commits_decide_before_anybody_is_asked() {
    let env = TestEnv::new();
    let scene = Scene::new(&env, &[&[says("working")]], json!({}));
    scene.repo.write("a.txt", "a");
    scene.repo.commit_all("feat: a");
    let out = scene.check(&[]).expect(0);
    assert_eq!(out.verdict(), "complete/new_commits");
    assert_facts(
        &out,
        &[
            ("new_commits", json!(1)),
            ("probes_used", json!(0)),
            ("evidence", json!("committed")),
            ("net_change", json!(true)),
        ],
    );
    assert!(scene.prompts().is_empty());
    assert_eq!(
        scene.check(&["--max-probes", "0"]).expect(0).verdict(),
        "complete/new_commits"
    );
}

#[test]
fn commits_without_a_net_change_complete_nothing() {
    for undo in [false, true] {
        let env = TestEnv::new();
        let scene = Scene::new(&env, &[&[says("working")]], json!({}));
        if undo {
            scene.repo.write("a.txt", "a");
            scene.repo.commit_all("feat: a");
            scene.repo.git(&["revert", "--no-edit", "HEAD"]);
        } else {
            scene
                .repo
                .git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
        }
        let out = scene.check(&["--no-probe"]).expect(10);
        assert_eq!(out.verdict(), "incomplete/unfinished");
        assert_facts(
            &out,
            &[
                ("new_commits", json!(if undo { 2 } else { 1 })),
                ("net_change", json!(false)),
            ],
        );
    }
}

#[test]
fn third_empty_complete_claim_needs_a_person() {
    let env = TestEnv::new();
    let scene = Scene::new(&env, &[&[says("complete")]], json!({}));
    for _ in 0..2 {
        let out = scene.check(&[]).expect(0);
        assert_eq!(out.verdict(), "complete/nothing_to_do");
        assert_facts(
            &out,
            &[
                ("evidence", json!("claimed")),
                ("probes_used", json!(1)),
                ("rescued", json!(false)),
                ("new_commits", json!(0)),
            ],
        );
    }
    assert_eq!(
        scene.check(&[]).expect(12).verdict(),
        "review/repeated_nothing_to_do"
    );
    assert_eq!(scene.prompts().len(), 3);
}

#[test]
fn complete_reply_with_uncommitted_work_is_rescued() {
    let env = TestEnv::new();
    let scene = Scene::new(&env, &[&[says("complete")]], json!({}));
    scene.leave_work();
    let out = scene.check(&[]).expect(0);
    assert_eq!(out.verdict(), "complete/rescued");
    assert_facts(
        &out,
        &[
            ("rescued", json!(true)),
            ("evidence", json!("claimed")),
            ("probes_used", json!(1)),
        ],
    );
    assert!(scene.work_is_in("HEAD") && scene.repo.status().is_empty());
    let snapshots = scene.repo.snapshots();
    assert!(
        snapshots.len() == 1 && scene.work_is_in(&snapshots[0]),
        "{snapshots:?}"
    );
    assert_eq!(out.json()["rescue"]["snapshot"], json!(snapshots[0]));
}

#[test]
fn failed_rescue_command_leaves_the_work_for_review() {
    let env = TestEnv::new();
    let scene = Scene::new(
        &env,
        &[&[says("complete")]],
        json!({"rescue": {"mode": "command", "command": ["sh", "-c", "exit 1"]}}),
    );
    scene.leave_work();
    let before = scene.repo.status();
    let out = scene.check(&[]).expect(12);
    assert_eq!(out.verdict(), "review/rescue_incomplete");
    assert_eq!(
        (scene.repo.head(), scene.repo.status()),
        (scene.baseline.clone(), before)
    );
    assert!(
        scene
            .repo
            .snapshots()
            .iter()
            .any(|snapshot| scene.work_is_in(snapshot))
    );
}

#[test]
fn rescue_command_discarding_work_is_detected_and_undone() {
    let env = TestEnv::new();
    let discard = "git reset -q --hard && git clean -fdq";
    let scene = Scene::new(
        &env,
        &[&[says("complete")]],
        json!({"rescue": {"mode": "command", "command": ["sh", "-c", discard]}}),
    );
    scene.leave_work();
    let out = scene.check(&[]).expect(12);
    assert_eq!(out.verdict(), "review/rescue_incomplete");
    out.assert_has("message", "rescue restore");
    let snapshot = scene
        .repo
        .snapshots()
        .into_iter()
        .find(|snapshot| scene.work_is_in(snapshot))
        .expect("a snapshot has it all");
    let id = snapshot
        .strip_prefix("refs/watchdog/rescue/")
        .expect("where snapshots are");
    scene.repo.watchdog(&["rescue", "restore", id]).expect(0);
    assert_eq!(
        fs::read_to_string(scene.repo.path().join("deep/new.txt")).expect("restored"),
        "new\n"
    );
    assert_eq!(
        fs::read_to_string(scene.repo.path().join("README.md")).expect("restored"),
        "changed\n"
    );
}

#[test]
fn a_rescue_command_that_commits_completes() {
    let env = TestEnv::new();
    let commit = "git add -A && git commit -qm \"rescue: $WATCHDOG_SPEC\" && git rev-parse --verify -q \"$WATCHDOG_SNAPSHOT\" >/dev/null";
    let scene = Scene::new(
        &env,
        &[&[says("complete")]],
        json!({"rescue": {"mode": "command", "command": ["sh", "-c", commit]}}),
    );
    scene.leave_work();
    let out = scene.check(&["--spec", "auth"]).expect(0);
    assert_eq!(out.verdict(), "complete/rescued");
    assert_eq!(scene.repo.subjects_since(&scene.baseline), ["rescue: auth"]);
}

#[test]
fn unfinished_agent_is_a_timeout_and_a_strike() {
    for status in ["working", "waiting"] {
        let env = TestEnv::new();
        let scene = Scene::new(&env, &[&[says(status)]], json!({}));
        let out = scene.check(&[]).expect(13);
        assert_eq!(out.verdict(), "timeout/max_probes");
        assert_facts(
            &out,
            &[
                ("probes_used", json!(3)),
                ("strike", json!(true)),
                ("not_a_strike_because", json!(null)),
            ],
        );
        assert_eq!(scene.prompts().len(), 3);
    }
}

#[test]
fn final_rescue_saves_the_unfinished_work() {
    let env = TestEnv::new();
    let scene = Scene::new(&env, &[&[says("working")]], json!({}));
    scene.leave_work();
    let out = scene.check(&[]).expect(10);
    assert_eq!(
        out.verdict(),
        "incomplete/unfinished",
        "nobody says that it is done"
    );
    assert_facts(
        &out,
        &[
            ("probes_used", json!(3)),
            ("strike", json!(false)),
            ("rescued", json!(true)),
        ],
    );
    assert!(scene.work_is_in("HEAD"));
}

#[test]
fn without_final_rescue_work_stays_and_is_snapshotted() {
    let env = TestEnv::new();
    let scene = Scene::new(
        &env,
        &[&[says("working")]],
        json!({"completion_check": {"final_rescue_attempt": false}}),
    );
    scene.leave_work();
    let before = scene.repo.status();
    assert_eq!(scene.check(&[]).expect(13).verdict(), "timeout/max_probes");
    assert_eq!(
        (scene.repo.head(), scene.repo.status()),
        (scene.baseline.clone(), before)
    );
}

#[test]
fn unreadable_replies_are_an_error_without_strike() {
    let env = TestEnv::new();
    let scene = Scene::new(
        &env,
        &[
            &[Step::print("All work is complete.")],
            &[],
            &[Step::complain("oops"), Step::exit(4)],
        ],
        json!({}),
    );
    let out = scene.check(&[]).expect(16);
    assert_eq!(out.verdict(), "error/probe_error");
    assert_facts(&out, &[("strike", json!(false)), ("probes_used", json!(3))]);
    let outcomes: Vec<Value> = out.json()["probes"]
        .as_array()
        .expect("three")
        .iter()
        .map(|probe| probe["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["unreadable", "empty", "failed"], "{out}");
}

#[test]
fn agent_that_declines_to_continue_is_stopped() {
    let stop = Step::print_json(
        &json!({"status": "waiting", "message": "blocked", "should_continue": false}),
    );
    for work in [false, true] {
        let env = TestEnv::new();
        let scene = Scene::new(&env, &[std::slice::from_ref(&stop)], json!({}));
        if work {
            scene.leave_work();
        }
        let out = scene.check(&[]);
        out.assert_verdict("stopped/agent_stopped", json!({"rescued": work}));
        assert_eq!((out.code, scene.prompts().len()), (Some(14), 1), "{out}");
    }
}

#[test]
fn without_probes_git_alone_decides() {
    let env = TestEnv::new();
    let scene = Scene::new(&env, &[&[says("complete")]], json!({}));
    let out = scene.check(&["--no-probe"]).expect(10);
    assert_eq!(out.verdict(), "incomplete/unfinished");
    assert!(
        out.json()["feedback"]
            .as_str()
            .is_some_and(|feedback| !feedback.is_empty()),
        "{out}"
    );
    let out = scene.check(&["--max-probes", "0"]);
    assert_ne!(out.code, Some(0), "{out}");
    assert_facts(
        &out,
        &[
            ("complete", json!(false)),
            ("strike", json!(false)),
            ("probes_used", json!(0)),
        ],
    );
    assert!(scene.prompts().is_empty());
}

#[test]
fn single_looks_share_one_probe_budget() {
    let env = TestEnv::new();
    let scene = Scene::new(&env, &[&[says("waiting")], &[says("working")]], json!({}));
    let first = scene.check(&["--once"]).expect(11);
    first.assert_verdict("waiting/background_work", json!({"probes_used": 1}));
    let second = scene.check(&["--once"]).expect(10);
    second.assert_verdict("incomplete/working", json!({"probes_used": 2}));
    let third = scene.check(&["--once"]).expect(13);
    third.assert_verdict("timeout/max_probes", json!({"probes_used": 3}));
    let anew = scene.check(&["--once"]);
    assert_eq!(
        anew.json()["probes_used"],
        1,
        "a verdict that ends it starts the count anew\n{anew}"
    );
}

#[test]
fn commit_during_a_probe_is_seen() {
    for last in [false, true] {
        let env = TestEnv::new();
        let commits = [
            Step::write("late.txt", "late"),
            Step::commit("late"),
            says("working"),
        ];
        let scene = Scene::new(
            &env,
            &[&commits],
            json!({"completion_check": {"max_probes": if last { 1 } else { 3 }}}),
        );
        let out = scene.check(&[]).expect(0);
        assert_eq!(out.verdict(), "complete/new_commits");
        assert_eq!(scene.prompts().len(), 1, "{out}");
    }
}

#[test]
fn commit_cuts_the_probe_interval_short() {
    let env = TestEnv::new();
    let go = env.root().join("go");
    let later = Step::child(&[
        Step::wait_for(&go),
        Step::write("late.txt", "late"),
        Step::commit("late"),
    ]);
    let scene = Scene::new(
        &env,
        &[&[says("waiting")]],
        json!({"completion_check": {"probe_interval_seconds": 900}}),
    );
    let [program, script] = env.fake_agent("later", &[later]);
    env.command(program, scene.repo.path())
        .args([script])
        .run()
        .expect(0);
    let args = fill_line(
        "check --json --baseline {} --config {}",
        &[&scene.baseline, &scene.config],
    );
    let running = scene.repo.watchdog_spawn(&args);
    let asked = wait_for(Duration::from_secs(60), || {
        (scene.prompts().len() == 1).then_some(Instant::now())
    })
    .expect("a question");
    env.write("go", "");
    assert_eq!(running.wait().expect(0).verdict(), "complete/new_commits");
    assert!(
        asked.elapsed() < Duration::from_secs(30),
        "{:?}",
        asked.elapsed()
    );
}

#[test]
fn refuted_claim_is_asked_about_once_more() {
    let boast =
        Step::print_json(&json!({"status": "complete", "message": "done", "commits_made": 3}));
    let env = TestEnv::new();
    let scene = Scene::new(
        &env,
        &[std::slice::from_ref(&boast), &[says("complete")]],
        json!({}),
    );
    let out = scene.check(&[]).expect(0);
    assert_eq!(out.verdict(), "complete/nothing_to_do");
    let prompts = scene.prompts();
    assert_eq!(prompts.len(), 2, "{out}");
    assert!(prompts[1].contains("commits"), "{}", prompts[1]);

    let env = TestEnv::new();
    let scene = Scene::new(&env, &[&[boast]], json!({}));
    assert_eq!(scene.check(&[]).expect(12).verdict(), "review/disputed");
}

#[test]
fn hanging_probe_ends_with_all_its_processes() {
    let hang = [
        Step::ignore("TERM"),
        Step::daemon(&[Step::ignore("TERM"), Step::hang()]),
        Step::child(&[Step::hang()]),
        Step::hang(),
    ];
    let env = TestEnv::new();
    let scene = Scene::new(
        &env,
        &[&hang],
        json!({"completion_check": {"max_probes": 1, "probe_timeout_seconds": 2}}),
    );
    let began = Instant::now();
    let out = scene.check(&[]).expect(16);
    assert_eq!(out.verdict(), "error/probe_error");
    assert_eq!(out.json()["probes"][0]["outcome"], "timed_out", "{out}");
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
    env.assert_nothing_left();
}

#[test]
fn probe_question_names_every_key_and_its_number() {
    let env = TestEnv::new();
    let number = env.root().join("number");
    let keep = [Step::keep_env("WATCHDOG_PROBE", &number), says("complete")];
    let scene = Scene::new(&env, &[&keep], json!({}));
    scene.check(&[]).expect(0);
    assert_eq!(fs::read_to_string(number).expect("kept"), "1");
    let prompt = scene.prompts().remove(0);
    for key in [
        "status",
        "message",
        "agents_active",
        "agents_details",
        "tasks_completed",
        "tasks_pending",
        "commits_made",
        "should_continue",
        "next_action",
    ] {
        assert!(prompt.contains(key), "{key} is not asked for:\n{prompt}");
    }
}
