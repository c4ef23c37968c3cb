//! Prompts with values and phases of the user's own, in loops and tasks.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::looped::{config, needs, prompts, sessions, started};
use crate::support::{Step, TestEnv, fill_line};

#[test]
fn prompt_values_are_never_read_as_templates() {
    let env = TestEnv::new();
    let repo = env.repo();
    let done = [Step::write("ok.txt", "ok"), Step::commit("feat: ok")];
    let agent = sessions(&env, &[&[], &done]);
    let task = env.write("TASK.md", "Fix issue {{issue}} for {{who}}.");
    let config = config(&env, needs("ok.txt"));
    let args = fill_line(
        "loop --json --config {} --prompt {}",
        &[&config, task.to_str().unwrap()],
    );
    let vars = fill_line(
        "--var {} --var who=Ada=B -- {} {}",
        &["issue=7 {{feedback}} {{nobody}}", &agent[0], &agent[1]],
    );
    repo.watchdog(&[&args[..], &vars].concat()).expect(0);
    let told = prompts(&env);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told.iter()
            .all(|prompt| prompt.contains("Fix issue 7 {{feedback}} {{nobody}} for Ada=B.")),
        "{told:?}"
    );
    let out = repo
        .watchdog(&[&args[..], &["--var", "issue=7", "--", &agent[0], &agent[1]]].concat())
        .expect(2);
    out.assert_told(&["TASK.md: line 1: unknown placeholder '{{who}}'"]);
    let out = repo
        .watchdog(&[&args[..], &["--var", "task=7", "--", &agent[0], &agent[1]]].concat())
        .expect(2);
    out.assert_told(&["{{task}} is a placeholder of watchdog's own"]);
    assert_eq!(started(&env), 2, "a mistake starts nothing");
}

#[test]
fn named_phase_chooses_the_next_prompt() {
    let env = TestEnv::new();
    let repo = env.repo();
    let says = |words: &str| {
        vec![Step::print(&format!(
            "{}\nPhase: {words}\n",
            "word ".repeat(100)
        ))]
    };
    let (first, second) = (says("processing"), says("review"));
    let done = [Step::write("ok.txt", "ok"), Step::commit("feat: ok")];
    let agent = sessions(&env, &[&first, &second, &done]);
    env.write("set/continuation.md", "any {{phase}}");
    env.write("set/continuation-review.md", "look at it, {{phase}}");
    let config = config(&env, needs("ok.txt"));
    let folder = env.root().join("set").to_string_lossy().into_owned();
    let args = fill_line(
        "loop --json --config {} --prompts {} --no-progress 0 -- {} {}",
        &[&config, &folder, &agent[0], &agent[1]],
    );
    repo.watchdog(&args).expect(0);
    assert_eq!(
        prompts(&env)[1..]
            .iter()
            .map(|prompt| prompt.trim())
            .collect::<Vec<_>>(),
        ["any processing", "look at it, review"]
    );
    env.write("set/continuation-reviews.md", "x");
    let out = repo.watchdog(&args).expect(2);
    out.assert_told(&["no phase is named 'reviews', did you mean 'review'?"]);
    assert_eq!(started(&env), 3, "a mistake starts nothing");
}

#[test]
fn phases_are_declared_by_prompts_or_criteria() {
    let env = TestEnv::new();
    let repo = env.repo();
    let says = |words: &str| vec![Step::print(&format!("{words}\n"))];
    let (first, second, third) = (
        says("Moving to deploy"),
        says("Phase: lunch"),
        says("phase: shipped"),
    );
    let agent = sessions(&env, &[&first, &second, &third]);
    env.write("set/continuation.md", "any {{phase}}");
    env.write("set/continuation-Deploy.md", "roll it out, {{phase}}");
    let config = config(
        &env,
        json!({"checks": [{"type": "phase", "final": "shipped"}]}),
    );
    let folder = env.root().join("set").to_string_lossy().into_owned();
    let set = fill_line(
        "--config {} --prompts {} --no-progress 0 --max-iterations 3 -- {} {}",
        &[&config, &folder, &agent[0], &agent[1]],
    );
    let out = repo.watchdog(&[&["loop", "--json"], &set[..]].concat());
    let told = prompts(&env);
    let told: Vec<_> = told.iter().skip(1).map(|prompt| prompt.trim()).collect();
    assert_eq!(
        told, ["roll it out, deploy"; 2],
        "a word that nothing declares is no phase: {out}"
    );
    for (name, why) in [
        ("a b", "an agent cannot name the phase 'a b'"),
        ("deploy", "the phase 'deploy' has two prompts"),
    ] {
        let file = env.write(&format!("set/continuation-{name}.md"), "x");
        let out = repo
            .watchdog(&[&["loop", "--json"], &set[..]].concat())
            .expect(2);
        assert!(out.stderr.contains(why), "{out}");
        fs::remove_file(file).expect("removed");
    }
}

#[test]
fn command_line_supplies_the_missing_agent_number() {
    let env = TestEnv::new();
    let repo = env.repo();
    let gh = env.write(
        "gh-script",
        "#!/bin/sh\necho \"$@\" >> ../gh-asked\necho '{\"state\": \"CLOSED\", \"labels\": []}'\n",
    );
    fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).expect("a program");
    env.install("gh", &gh);
    let verdict = r#"{"type": "poll:state", "config": {"resourceType": "github-issue"}}"#;
    let config = env.write(
        "agent.json",
        format!(r#"{{"name": "fixer", "runner": {{"verdict": {verdict}}}}}"#),
    );
    let config = config.to_string_lossy().into_owned();
    let named = ["--config", &config, "--json", "--no-probe"];
    let work = fill_line(
        "-- sh -c {}",
        &["echo ok > ok.txt; git add -A; git commit -qm ok"],
    );
    let out = repo
        .watchdog(&[&["run"], &named[..], &["--var", "issue=7"], &work].concat())
        .expect(0);
    assert_eq!(out.verdict(), "complete/checks_passed", "{out}");
    let out = repo.watchdog(&[&["check"], &named[..]].concat()).expect(2);
    assert_eq!(
        out.verdict(),
        "error/config_error",
        "no number is remembered, and none is guessed: {out}"
    );
    assert!(out.stdout.contains("--var issue=N"), "{out}");
    repo.watchdog(&[&["check"], &named[..], &["--var", "issue=7"]].concat())
        .expect(0);
    let prompt = env.write("PROMPT.md", "Fix issue {{issue}}.");
    let more = fill_line(
        "--prompt {} --var issue=8 -- sh -c {}",
        &[
            prompt.to_str().unwrap(),
            "cat > ../said; git commit -qm ok --allow-empty",
        ],
    );
    repo.watchdog(&[&["loop"], &named[..], &more].concat())
        .expect(0);
    let said = fs::read_to_string(env.root().join("said")).expect("the agent was told something");
    assert!(
        said.contains("Fix issue 8.") && said.contains("issue #8 is closed"),
        "the number is one of the criteria, too: {said}"
    );
    let asked = fs::read_to_string(env.root().join("gh-asked")).expect("it was asked");
    let lines = [7, 7, 8].map(|number| format!("issue view {number} --json state,labels\n"));
    assert_eq!(asked, lines.concat());
    for (value, why) in [
        ("isue=7", "did you mean `issue`?"),
        ("issue=x", "'x' is not a number from 1"),
        ("issue", "has no value"),
    ] {
        let out = repo
            .watchdog(&[&["check"], &named[..], &["--var", value]].concat())
            .expect(2);
        assert!(out.stderr.contains(why), "{out}");
    }
}

#[test]
fn task_text_takes_given_values() {
    let env = TestEnv::new();
    let repo = env.repo();
    let criteria = "completion:\n  verify: test -f ok.txt\n";
    repo.write(
        ".watchdog/tasks/T1.md",
        format!("---\nid: T1\ntitle: Fix {{{{issue}}}}\n{criteria}---\nFor {{{{who}}}}.\n"),
    );
    repo.commit_all("a task");
    repo.watchdog(&["trust", ".watchdog/tasks"]).expect(0);
    let config = config(&env, json!({}));
    let run = |vars: &[&str]| {
        let script = "cat >> ../said; echo ok > ok.txt; git add -A; git commit -qm ok";
        let args = [
            &["task", "run", "T1", "--json", "--config", &config],
            vars,
            &["--", "sh", "-c", script],
        ]
        .concat();
        repo.watchdog(&args)
    };
    let out = run(&["--var", "issue=7"]);
    out.assert_verdict("error/config_error", json!({"/task/begun": false}));
    assert!(
        out.stdout.contains("unknown placeholder '{{who}}'") && !env.root().join("said").exists(),
        "{out}"
    );
    run(&["--var", "issue=7", "--var", "who={{task}}"]).expect(0);
    let said = fs::read_to_string(env.root().join("said")).expect("the agent was told something");
    assert!(said.starts_with("Fix 7\n\nFor {{task}}."), "{said}");
}
