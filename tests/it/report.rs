//! `watchdog report`: what a period came to, in figures.

use serde_json::{Value, json};

use crate::support::{Repo, Step, TestEnv};

fn report(env: &TestEnv, args: &[&str]) -> Value {
    env.watchdog(&env.root(), &[&["report", "--json", "-q"], args].concat()).expect(0).json()
}

fn judged<'env>(env: &'env TestEnv, name: &str, sessions: usize) -> Repo<'env> {
    let repo = env.repo_named(name);
    for n in 0..sessions {
        let commit = format!("echo {n} > f{n}; git add -A; git commit -qm 'feat: {n}'");
        repo.watchdog(&["run", "--spec", "s", "--", "sh", "-c", &commit]).expect(0);
    }
    repo
}

#[test]
fn what_happened_is_counted_once_by_day_and_by_worktree() {
    let env = TestEnv::new();
    let (busy, _quiet) = (judged(&env, "all/busy", 3), judged(&env, "quiet", 1));
    busy.watchdog(&["check", "--no-probe", "--baseline", "HEAD"]).expect(10);
    let first = report(&env, &[]);
    assert_eq!(first["sessions"], json!({"started": 4, "ended": 4}), "{first}");
    assert_eq!(first["verdicts"]["by_status"], json!({"complete": 4, "incomplete": 1}), "{first}");
    assert_eq!(first["verdicts"]["by_reason"], json!({"new_commits": 4, "working": 1}));
    assert_eq!((&first["tokens"]["input"], &first["cost"]["usd"]), (&Value::Null, &Value::Null), "nobody told, so it is not zero");
    assert_eq!((&first["cost"]["told_by"], &first["cost"]["of"]), (&json!(0), &json!(4)));
    let paths: Vec<&str> = first["worktrees"].as_array().unwrap().iter().map(|own| own["worktree"].as_str().unwrap()).collect();
    assert_eq!(paths, [busy.path().to_str().unwrap(), env.root().join("quiet").to_str().unwrap()]);
    let sum = |key: &str| first["days"].as_array().unwrap().iter().map(|day| day["sessions"][key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("started"), &report(&env, &[])), (4, &first), "asking again changes nothing");

    assert_eq!(report(&env, &["all"])["verdicts"]["total"], 4);
    assert_eq!(report(&env, &["nowhere"])["verdicts"]["total"], 0);
    assert_eq!(report(&env, &["-C", "quiet"])["sessions"]["started"], 1);
    assert_eq!(report(&env, &["--since", "2096-03-04"])["sessions"]["started"], 0);
    busy.watchdog(&["check", "--baseline", "HEAD~1"]).expect(0);
    assert_eq!(report(&env, &["--since", "52w"])["verdicts"]["total"], 6);
}

#[test]
fn what_sessions_tell_of_tokens_and_money_is_summed_and_what_they_do_not_is_said() {
    let env = TestEnv::new();
    let repo = judged(&env, "repo", 1);
    let told = json!({"type": "result", "subtype": "success", "is_error": false, "result": "done", "session_id": "s", "num_turns": 2,
                      "total_cost_usd": 0.25, "usage": {"input_tokens": 1200, "output_tokens": 34}});
    let argv = env.fake_agent("agent", &[Step::print_json(&told)]);
    repo.watchdog(&[&["run", "--spec", "s", "--no-probe", "--"][..], &argv.each_ref().map(String::as_str)].concat()).expect(10);
    let found = report(&env, &[]);
    assert_eq!(found["cost"], json!({"usd": 0.25, "told_by": 1, "of": 2}), "{found}");
    assert_eq!(found["tokens"], json!({"input": 1200, "output": 34, "told_by": 1, "of": 2}), "{found}");
    let people = env.watchdog(&env.root(), &["report"]).expect(0);
    for line in ["tokens      1,200 in, 34 out (not told by 1 of 2 sessions)", "cost        $0.25 (not told by 1 of 2 sessions)"] {
        assert!(people.stdout.contains(line), "{people}");
    }
    assert!(people.stdout.contains("2 began, 2 ended") && people.stdout.contains("####"), "{people}");
}

#[test]
fn nothing_to_report_and_nonsense_are_told_with_what_to_do() {
    let env = TestEnv::new();
    let out = env.watchdog(&env.root(), &["report"]).expect(0);
    assert!(out.stdout.is_empty() && out.stderr.contains("watchdog events --all"), "{out}");
    let out = env.watchdog(&env.root(), &["report", "--since", "yesterday"]).expect(2);
    assert!(out.stderr.contains("write 7d, 4w or 2026-03-04"), "{out}");
    for since in ["0d", "99999999999d", "0001-01-01", "9999-12-01"] {
        assert_eq!(report(&env, &[&format!("--since={since}")])["verdicts"]["total"], 0, "{since}");
    }
}

#[test]
fn names_from_outside_cannot_steer_a_terminal() {
    let env = TestEnv::new();
    judged(&env, "re\u{1b}[31mpo", 1);
    for args in [&["report"][..], &["report", "--json"]] {
        let out = env.watchdog(&env.root(), args).expect(0);
        assert!(!out.stdout.contains('\u{1b}') && out.stdout.contains("re\\"), "{out}");
    }
}
