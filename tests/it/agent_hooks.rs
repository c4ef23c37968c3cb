//! `watchdog hook … --agent NAME`: the hooks of the agents beside Claude Code, in their own files and their own words.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Repo, TestEnv, assert_parts, at_once};

/// Each agent with the file of a project, the one of a person from the home folder, and its name for a stop.
const AGENTS: [(&str, &str, &str, &str); 4] = [
    ("codex", ".codex/hooks.json", ".codex/hooks.json", "Stop"),
    (
        "gemini",
        ".gemini/settings.json",
        ".gemini/settings.json",
        "AfterAgent",
    ),
    ("qwen", ".qwen/settings.json", ".qwen/settings.json", "Stop"),
    (
        "copilot",
        ".github/copilot/settings.json",
        ".copilot/settings.json",
        "Stop",
    ),
];

#[track_caller]
fn hook(repo: &Repo<'_>, event: &str, agent: &str, input: &Value) -> Value {
    let args = ["hook", event, "--agent", agent, "--within", "60s"];
    repo.watchdog_command(&args)
        .stdin(input.to_string())
        .run()
        .expect(0)
        .json()
}

fn trusted(env: &TestEnv) -> Repo<'_> {
    let repo = env.repo();
    repo.write(
        "completion.json",
        json!({"checks": [{"type": "files", "paths": ["done.txt"]}]}).to_string(),
    );
    repo.commit_all("chore: criteria");
    repo.watchdog(&["trust"]).expect(0);
    repo
}

#[test]
fn each_agent_gets_hook_answers_in_its_format() {
    for (agent, source, event, word) in [
        ("codex", "startup", "Stop", "block"),
        ("gemini", "startup", "AfterAgent", "deny"),
        ("qwen", "startup", "Stop", "block"),
        ("copilot", "new", "Stop", "block"),
        ("opencode", "startup", "Stop", "block"),
    ] {
        let env = TestEnv::new();
        let repo = trusted(&env);
        let began = repo.head();
        let start = json!({"session_id": "s", "hook_event_name": "SessionStart", "source": source, "cwd": repo.path()});
        let told = hook(&repo, "session-start", agent, &start);
        let nested = &told["hookSpecificOutput"]["additionalContext"];
        let context = if agent == "copilot" {
            &told["additionalContext"]
        } else {
            nested
        };
        assert!(
            context
                .as_str()
                .is_some_and(|text| text.contains("done.txt")),
            "{agent}: {told}"
        );
        let stop = |active: bool| json!({"session_id": "s", "hook_event_name": event, "stop_hook_active": active, "cwd": repo.path()});
        let held = hook(&repo, "stop", agent, &stop(false));
        assert_eq!(held["decision"], word, "{agent}: {held}");
        assert!(
            held["reason"]
                .as_str()
                .is_some_and(|reason| reason.contains("done.txt")),
            "{agent}: {held}"
        );
        repo.write("done.txt", "x");
        assert_eq!(
            hook(&repo, "stop", agent, &stop(true)),
            json!({}),
            "{agent}"
        );
        let end = json!({"session_id": "s", "hook_event_name": "SessionEnd", "reason": "other", "cwd": repo.path()});
        assert_eq!(
            hook(&repo, "session-end", agent, &end),
            json!({}),
            "{agent}"
        );
        let ended = repo
            .watchdog(&["events", "--kind", "session_ended", "--json"])
            .expect(0);
        assert!(
            ended.stdout.contains("\"session_id\":\"s\""),
            "{agent}: {ended}"
        );
        let baseline = repo
            .watchdog(&["check", "--no-probe", "--no-rescue", "--json"])
            .json()["baseline"]
            .clone();
        assert_eq!(
            baseline,
            began.as_str(),
            "{agent}: '{source}' is a session that starts"
        );
    }
}

#[test]
fn each_agent_hears_facts_in_its_format() {
    let gemini = "\nExit Code: 1\n";
    for (agent, event, tool, failed, outcome) in [
        (
            "codex",
            "UserPromptSubmit",
            "PostToolUse",
            json!({"tool_response": "1 failed"}),
            "ended unseen",
        ),
        (
            "gemini",
            "BeforeAgent",
            "AfterTool",
            json!({"tool_response": {"llmContent": gemini}}),
            "failed (exit code 1)",
        ),
        (
            "qwen",
            "UserPromptSubmit",
            "PostToolUse",
            json!({"tool_response": {"llmContent": "\nExit Code: 0\n"}}),
            "passed",
        ),
        (
            "copilot",
            "",
            "",
            json!({"tool_result": {"text_result_for_llm": "x\n<shellId: 0 completed with exit code 3>"}}),
            "failed (exit code 3)",
        ),
        (
            "opencode",
            "UserPromptSubmit",
            "PostToolUse",
            json!({"tool_response": {"llmContent": "\nExit Code: 1"}, "transcript": {"toolCalls": []}}),
            "failed (exit code 1)",
        ),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        let transcript = env.write("transcript.jsonl", "");
        let say = |event: &str, more: &Value| {
            let mut input = json!({"session_id": "s", "source": "startup", "cwd": repo.path(),
                "transcript_path": transcript});
            let input_fields = input.as_object_mut().expect("it is one");
            input_fields.extend(more.as_object().expect("it is one").clone());
            hook(&repo, event, agent, &input)
        };
        let heard = |answer: Value, event: &str| {
            let nested = &answer["hookSpecificOutput"];
            let context = if event.is_empty() { &answer } else { nested };
            let is_named = event.is_empty() || context["hookEventName"] == event;
            assert!(is_named, "{answer}");
            context["additionalContext"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        say("session-start", &json!({}));
        assert_eq!(
            say("prompt-submit", &json!({"prompt": "go"})),
            json!({}),
            "{agent}"
        );
        repo.write("a", "x");
        assert_eq!(
            say("prompt-submit", &json!({"prompt": ""})),
            json!({}),
            "{agent}: no prompt"
        );
        let line = heard(say("prompt-submit", &json!({"prompt": "go"})), event);
        let facts = "watchdog: 0 commits since the baseline; 1 file not committed";
        assert_eq!(line, facts, "{agent}");
        let mut call = json!({"tool_input": {"command": "pytest"}});
        let fields = failed.as_object().expect("it is one").clone();
        call.as_object_mut().expect("it is one").extend(fields);
        let line = heard(say("post-tool-use", &call), tool);
        let expected = format!("{facts}; last test command 'pytest' {outcome}");
        assert_eq!(line, expected, "{agent}");
    }
}

#[test]
fn copilot_words_count_once_its_stop_is_written() {
    let env = TestEnv::new();
    let repo = env.repo();
    let place = "home/.copilot/session-state/s/events.jsonl";
    let event = |kind: &str, second: u8, data: Value| {
        json!({"type": kind, "timestamp": format!("2026-11-30T04:00:0{second}.000Z"), "data": data})
            .to_string()
    };
    let words = json!({"content": "I created `src/gone.py`."});
    let lines = [
        event("assistant.message", 1, words),
        event("hook.start", 2, json!({"hookType": "agentStop"})),
    ];
    let say = |event: &str| {
        let input = json!({"session_id": "s", "source": "new", "cwd": repo.path(), "timestamp": "2026-11-30T04:00:02.000Z"});
        hook(&repo, event, "copilot", &input)
    };
    say("session-start");
    repo.write("a", "x");
    env.write(place, format!("{}\n", lines[0]));
    let quiet = json!({});
    assert_eq!(say("stop"), quiet, "these may be words of another turn");
    env.write(place, lines.join("\n"));
    let stop_answer = say("stop");
    assert_eq!(stop_answer["decision"], "block", "{stop_answer}");
}

#[test]
fn agents_are_held_only_as_often_as_supported() {
    let cases = [("qwen", 7), ("copilot", 7), ("gemini", 14), ("codex", 20)];
    at_once(cases, |(agent, held)| {
        let env = TestEnv::new();
        let repo = env.repo();
        repo.write(
            "completion.json",
            json!({"limits": {"max_stop_blocks": 20}, "checks": [{"type": "files", "paths": ["done.txt"]}]}).to_string(),
        );
        repo.commit_all("chore: criteria");
        repo.watchdog(&["trust"]).expect(0);
        let mut times = 0;
        loop {
            let input = json!({"session_id": "s", "turn_id": "t", "stop_hook_active": times > 0});
            let answer = hook(&repo, "stop", agent, &input);
            if answer.get("decision").is_none() {
                assert!(
                    answer["systemMessage"]
                        .as_str()
                        .is_some_and(|told| told.contains("not complete")),
                    "{agent}: {answer}"
                );
                break;
            }
            times += 1;
        }
        assert_eq!(times, held, "{agent}");
    });
}

#[test]
fn unknown_agent_is_referred_to_the_loop() {
    let env = TestEnv::new();
    let repo = trusted(&env);
    let refused = repo
        .watchdog(&["hook", "install", "--agent", "amp"])
        .expect(2);
    refused.assert_told(&["no hooks of 'amp' are known", "watchdog loop"]);
    let answer = hook(&repo, "stop", "amp", &json!({"session_id": "s"}));
    assert_parts(answer["systemMessage"].as_str().unwrap(), &["was not held"]);
    let refused = repo
        .watchdog(&["hook", "install", "--agent", "codex", "--subagents"])
        .expect(2);
    refused.assert_told(&["Codex's sub-agents cannot be held"]);
}

#[test]
fn each_agent_has_its_own_hook_file() {
    for (agent, project, user, stop) in AGENTS {
        let env = TestEnv::new();
        let repo = env.repo();
        let theirs = "// mine\n{\n  /* of mine */\n  \"novel\": {\"a\": [1, 2]},\n  \"hooks\": {\n    \"Notification\": []\n  }\n}\n";
        for (place, args) in [
            (repo.path().join(project), &[][..]),
            (env.home().join(user), &["--user"][..]),
        ] {
            fs::create_dir_all(place.parent().expect("it has a folder"))
                .expect("the scratch folder takes folders");
            fs::write(&place, theirs).expect("the scratch folder takes files");
            let call = |what: &str, more: &[&str]| {
                repo.watchdog(&[&["hook", what, "--agent", agent], args, more].concat())
            };
            let shown = call("install", &["--dry-run"]).expect(0);
            assert!(
                shown.stdout.contains(&format!("+    \"{stop}\": [")),
                "{agent}: {shown}"
            );
            assert_eq!(
                fs::read_to_string(&place).expect("it is there"),
                theirs,
                "{agent}: a dry run changes nothing"
            );
            call("install", &[]).expect(0);
            let installed = fs::read_to_string(&place).expect("it is there");
            assert!(
                installed
                    .starts_with("// mine\n{\n  /* of mine */\n  \"novel\": {\"a\": [1, 2]},\n"),
                "{agent}: {installed}"
            );
            assert!(
                installed.contains(&format!("hook stop --agent {agent} --within 590s")),
                "{agent}: {installed}"
            );
            assert!(
                !installed.contains("StructuredOutput"),
                "{agent}: that is a tool of Claude Code's\n{installed}"
            );
            let again = call("install", &["--json"]).expect(0).json();
            assert_eq!(
                (&again["changed"], &again["agent"]),
                (&json!(false), &json!(agent)),
                "{agent}: {again}"
            );
            call("uninstall", &[]).expect(0);
            assert_eq!(
                fs::read_to_string(&place).expect("it is there"),
                theirs,
                "{agent}: nothing of ours is left, and all of theirs"
            );
        }
        let other = repo
            .watchdog(&["hook", "uninstall", "--agent", agent, "--json"])
            .expect(0)
            .json();
        assert_eq!(other["changed"], false, "{agent}: {other}");
    }
}

#[test]
fn unsafe_hook_file_keeps_its_content() {
    for (agent, project, _, stop) in AGENTS {
        let env = TestEnv::new();
        let repo = env.repo();
        let place = repo.path().join(project);
        fs::create_dir_all(place.parent().expect("it has a folder"))
            .expect("the scratch folder takes folders");
        for broken in ["{\"hooks\": {},}", "{\"hooks\": []}", "["] {
            fs::write(&place, broken).expect("the scratch folder takes files");
            let refused = repo
                .watchdog(&["hook", "install", "--agent", agent])
                .expect(2);
            assert!(
                refused.stderr.contains("was not changed"),
                "{agent} {broken}: {refused}"
            );
            assert_eq!(
                fs::read_to_string(&place).expect("it is there"),
                broken,
                "{agent}"
            );
        }
        fs::remove_file(&place).expect("it is there");
        let dotfile = env.write("dotfiles/agent.json", "{}\n");
        symlink(&dotfile, &place).expect("the scratch folder takes links");
        repo.watchdog(&["hook", "install", "--agent", agent])
            .expect(0);
        assert!(
            fs::symlink_metadata(&place)
                .expect("it is there")
                .is_symlink(),
            "{agent}: the link stays"
        );
        assert!(
            fs::read_to_string(&dotfile)
                .expect("it is there")
                .contains(stop),
            "{agent}: what it leads to has them"
        );
        repo.watchdog(&["hook", "uninstall", "--agent", agent])
            .expect(0);
        assert_eq!(
            fs::read_to_string(&dotfile).expect("it is there"),
            "{}\n",
            "{agent}"
        );
    }
}

#[test]
fn opencode_plugin_installs_and_uninstalls_as_one_file() {
    let env = TestEnv::new();
    let repo = env.repo();
    let place = repo.path().join(".opencode/plugin/watchdog.js");
    let shown = repo
        .watchdog(&["hook", "install", "--agent", "opencode", "--dry-run"])
        .expect(0);
    assert!(
        shown.stdout.contains("+export const Watchdog") && !place.exists(),
        "{shown}"
    );
    let installed = repo
        .watchdog(&["hook", "install", "--agent", "opencode"])
        .expect(0);
    installed.assert_printed(&["`opencode run` ends at its first rest (`watchdog loop` holds it)"]);
    assert_parts(
        &fs::read_to_string(&place).expect("it is there"),
        &["hook stop --agent opencode --within 590s"],
    );
    let again = repo
        .watchdog(&["hook", "install", "--agent", "opencode"])
        .expect(0);
    assert!(again.stdout.contains("nothing to change"), "{again}");
    let removed = repo
        .watchdog(&["hook", "uninstall", "--agent", "opencode"])
        .expect(0);
    assert!(
        removed.stdout.contains("removed ") && !place.exists(),
        "{removed}"
    );

    fs::write(&place, "export const Mine = async () => ({});\n")
        .expect("the folder is still there");
    let refused = repo
        .watchdog(&["hook", "install", "--agent", "opencode"])
        .expect(2);
    refused.assert_told(&["watchdog did not write it"]);
    repo.watchdog(&["hook", "uninstall", "--agent", "opencode"])
        .expect(0);
    assert_eq!(
        fs::read_to_string(&place).expect("it stays"),
        "export const Mine = async () => ({});\n"
    );
}

#[test]
fn hook_install_tells_further_requirements_of_the_agent() {
    let env = TestEnv::new();
    let repo = env.repo();
    for (agent, args, told) in [
        ("codex", &["--user"][..], "once you trusted them"),
        ("codex", &[][..], "in a project that you trust"),
        ("gemini", &[][..], "GEMINI_CLI_TRUST_WORKSPACE=true"),
        ("qwen", &[][..], "folder trust"),
        ("copilot", &[][..], "--trust-folder"),
    ] {
        let out = repo
            .watchdog(&[&["hook", "install", "--agent", agent], args].concat())
            .expect(0);
        assert!(out.stdout.contains(told), "{agent}: {out}");
        let again = repo
            .watchdog(&[&["hook", "install", "--agent", agent, "--json"], args].concat())
            .expect(0)
            .json();
        assert!(
            again["needs"]
                .as_str()
                .is_some_and(|needs| needs.contains(told)),
            "{agent}: {again}"
        );
    }
}

#[test]
fn doctor_repairs_hooks_of_every_agent() {
    let env = TestEnv::new();
    let repo = env.repo();
    let agents = AGENTS
        .map(|(agent, project, ..)| (agent, project))
        .into_iter()
        .chain([("opencode", ".opencode/plugin/watchdog.js")]);
    for (agent, project) in agents {
        let lacks = "has no hook before it removes a worktree";
        let installed = repo.watchdog(&["hook", "install", "--agent", agent]);
        assert!(installed.stdout.contains(lacks), "{installed}");
        let place = repo.path().join(project);
        let found = repo.watchdog(&["doctor", "--json"]).json().to_string();
        let place_named = found.split_once(&format!("in {}; ", place.display()));
        assert!(
            place_named.is_some_and(|(_, lack)| lack.contains(lacks)),
            "{agent}: {found}"
        );
        let installed = fs::read_to_string(&place).expect("it is there");
        fs::write(
            &place,
            installed
                .replace("/watchdog ", "/gone/watchdog ")
                .replace("\"watchdog ", "\"/gone/watchdog "),
        )
        .expect("it is ours");
        let found = repo.watchdog(&["doctor", "--json"]).json().to_string();
        assert!(
            found.contains("/gone/watchdog, which is not there")
                && found.contains(&format!("hook install --agent {agent}")),
            "{agent}: {found}"
        );
        repo.watchdog(&["doctor", "--fix"]);
        assert_eq!(
            fs::read_to_string(&place).expect("it is there"),
            installed,
            "{agent}"
        );
    }
}

#[test]
fn forgetting_a_worktree_removes_all_agent_hooks() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    for agent in ["claude", "codex", "gemini", "qwen", "copilot", "opencode"] {
        repo.watchdog(&["hook", "install", "--agent", agent])
            .expect(0);
    }
    repo.watchdog(&["forget", "--yes"]).expect(0);
    for (_, project, ..) in AGENTS {
        assert!(
            !repo.path().join(project).exists(),
            "{project}: nothing else was in it"
        );
    }
    assert!(!repo.path().join(".opencode/plugin/watchdog.js").exists());
}

#[test]
fn unwritable_hook_place_is_told_and_left_alone() {
    for (agent, folder) in [
        ("codex", ".codex"),
        ("gemini", ".gemini"),
        ("qwen", ".qwen"),
        ("copilot", ".github"),
        ("opencode", ".opencode"),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        // As closed as another user's folder, also for root.
        repo.write(folder, "a file where the folder would be");
        let refused = repo
            .watchdog(&["hook", "install", "--agent", agent])
            .expect(2);
        assert!(
            refused.stderr.contains(folder) && refused.stderr.contains("nothing was written"),
            "{agent}: {refused}"
        );
        assert_eq!(
            fs::read_to_string(repo.path().join(folder)).expect("it is there"),
            "a file where the folder would be",
            "{agent}"
        );
    }
}
