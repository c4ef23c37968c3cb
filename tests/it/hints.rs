//! Commands that messages tell a person to type: pasted into a shell that stands elsewhere, each works on the worktree that it was said of.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::json;
use watchdog_facts::shell_line::end_of_command;

use crate::support::{Repo, TestEnv, fill_line, wait_until};

/// What a careless shell line, and a careless table, gets wrong.
const NAME: &str = "o'neil & 日本 $HOME";

const PATIENCE: Duration = Duration::from_secs(60);

/// A place where `watchdog` can be typed.
fn place() -> TestEnv {
    let env = TestEnv::new();
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    env
}

/// What a command said to a person, on both streams.
fn said(repo: &Repo<'_>, args: &[&str]) -> String {
    let out = repo.watchdog_command(args).run();
    format!("{}\n{}", out.stdout, out.stderr)
}

/// The commands in a text: from a program's name to what cannot belong to its line any more.
fn commands(text: &str) -> Vec<String> {
    let starts = regex::Regex::new(
        r"(?m)(?:^|[ `])((?:watchdog|git) (?:-C|--state-dir) |git config |rm /|rm '|chmod )",
    )
    .expect("a pattern");
    let found = starts.captures_iter(text).filter_map(|found| found.get(1));
    found
        .map(|found| {
            text[found.start()..][..end_of_command(&text[found.start()..])]
                .trim()
                .to_owned()
        })
        .collect()
}

/// No message names a command that is about a worktree, and does not say which.
#[track_caller]
fn assert_none_is_bare(text: &str) {
    let bare = regex::Regex::new(
        "(?:with:|type:|next:|then:|see:|with|see|type|run) [`']?\
         (?:git (?:fsck|log|reset|switch|merge|worktree|ls-files)\
         |watchdog (?:snapshot|check|run|loop|trust|untrust|rescue|breaker|task|doctor|init|forget))",
    );
    let found: Vec<&str> = bare
        .expect("a pattern")
        .find_iter(text)
        .map(|found| found.as_str())
        .collect();
    assert!(found.is_empty(), "{found:?} name no worktree:\n{text}");
}

/// Types every command of a text into a shell at `/`, with what a person would put in place of the words in capitals.
#[track_caller]
fn assert_all_work(env: &TestEnv, text: &str, least: usize) -> Vec<String> {
    assert_none_is_bare(text);
    let found = commands(text);
    assert!(
        found.len() >= least,
        "{} commands, where {least} are expected:\n{text}",
        found.len()
    );
    for command in &found {
        let folder = tempfile::tempdir_in(env.root()).expect("the scratch folder takes folders");
        let there = folder.path().join("there").display().to_string();
        let words = [
            ("ID --to", "latest --to"),
            ("FOLDER", &there),
            ("DIR", &there),
            ("NAME", "kept"),
            ("CMD", "true"),
        ];
        let typed = words.iter().fold(command.clone(), |line, (word, value)| {
            line.replace(word, value)
        });
        let out = env.command("sh", Path::new("/")).args(["-c", &typed]).run();
        let shown = format!("{typed}\n{out}\n\nsaid in:\n{text}");
        assert!(
            ![Some(2), Some(127), Some(128), Some(129)].contains(&out.code),
            "{shown}"
        );
        assert!(
            !out.stderr.contains("not in a git repository")
                && !out.stderr.contains("cannot change to"),
            "{shown}"
        );
    }
    found
}

fn untrusted(repo: &Repo<'_>) {
    let config =
        json!({"version": 1, "checks": [{"type": "command", "name": "tests", "run": "false"}]});
    repo.write("completion.json", config.to_string());
    repo.commit_all("criteria");
}

fn trusted(repo: &Repo<'_>, breaker_limit: u32) {
    let config = json!({
        "version": 1, "breaker": {"limit": breaker_limit},
        "checks": [{"type": "command", "name": "tests", "run": "test -e done"}]
    });
    repo.write("completion.json", config.to_string());
    repo.commit_all("criteria");
    repo.watchdog_command(&["trust"]).run().expect(0);
}

#[test]
fn messages_without_records_name_the_recording_command() {
    let env = place();
    let repo = env.repo_named(NAME);
    for args in [
        &["status"][..],
        &["check"],
        &["check", "--spec", "it's"],
        &["evaluate"],
        &["rescue", "show", "none"],
        &["rescue", "show", "latest"],
    ] {
        // What the one before recorded is forgotten.
        let forgotten = repo.watchdog_command(&["forget", "--yes"]).run();
        assert_eq!(forgotten.code, Some(0), "{forgotten}");
        let text = match args {
            ["evaluate"] => {
                let out = repo.watchdog_command(args).stdin("{\"schema\": 1}").run();
                out.json()["message"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            }
            args => said(&repo, args),
        };
        assert_all_work(&env, &text, 1);
    }
}

#[test]
fn untrusted_criteria_name_the_trusting_command() {
    let env = place();
    let repo = env.repo_named(NAME);
    untrusted(&repo);
    repo.watchdog_command(&["snapshot"]).run().expect(0);
    repo.write("work.txt", "done\n");
    repo.commit_all("work");
    let texts = [
        &["check", "--no-probe"][..],
        &["doctor"],
        &["loop", "--dry-run", "--", "true"],
        &["run", "--no-probe", "--", "true"],
    ]
    .map(|args| said(&repo, args));
    let hook = repo.watchdog_command(&["hook", "session-start"]);
    let input = json!({"session_id": "s", "cwd": repo.path(), "hook_event_name": "SessionStart", "source": "startup", "transcript_path": "/none"});
    let hook = hook.stdin(input.to_string()).run().json()["systemMessage"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    for text in texts.iter().chain([&hook]) {
        let found = commands(text);
        assert!(
            found.iter().any(|command| command.ends_with(" trust")),
            "{found:?}\n{text}"
        );
    }
    assert_none_is_bare(&hook);
    // The session that the hook began is this one, and a session trusts nothing.
    fs::remove_dir_all(env.state()).unwrap();
    fs::create_dir(env.state()).unwrap();
    for text in &texts {
        assert_all_work(&env, text, 1);
    }
    assert!(
        !said(&repo, &["doctor"]).contains("not trusted"),
        "typing it is enough"
    );
}

#[test]
fn changed_criteria_name_the_accepting_command() {
    let env = place();
    let repo = env.repo_named(NAME);
    trusted(&repo, 3);
    repo.watchdog_command(&["snapshot"]).run().expect(0);
    repo.write(
        "completion.json",
        json!({"version": 1, "checks": [{"type": "always"}]}).to_string(),
    );
    let changed = said(&repo, &["check", "--no-probe"]);
    fs::remove_file(repo.path().join("completion.json")).unwrap();
    let removed = said(&repo, &["check", "--no-probe"]);
    assert!(
        commands(&removed)
            .iter()
            .any(|command| command.ends_with(" untrust")),
        "{removed}"
    );
    repo.write(
        "completion.json",
        json!({"version": 1, "checks": [{"type": "always"}]}).to_string(),
    );
    assert_all_work(&env, &changed, 1);
    assert_all_work(&env, &removed, 1);
}

#[test]
fn open_breaker_names_the_closing_command() {
    let env = place();
    let repo = env.repo_named(NAME);
    trusted(&repo, 1);
    repo.watchdog_command(&["run", "--spec", "it's", "--", "true"])
        .run()
        .expect(10);
    let refused = said(&repo, &["run", "--spec", "it's", "--", "true"]);
    assert!(refused.contains("breaker_open"), "{refused}");
    let found = assert_all_work(&env, &refused, 1);
    assert!(
        found.iter().any(|command| command.ends_with(" reset")),
        "{found:?}"
    );
    assert!(
        said(&repo, &["breaker", "--spec", "it's"]).contains("closed"),
        "typing it is enough"
    );
}

#[test]
fn snapshotted_work_is_named_with_the_restoring_command() {
    let env = place();
    let repo = env.repo_named(NAME);
    trusted(&repo, 3);
    let cut_short = said(
        &repo,
        &fill_line(
            "run --no-rescue --no-probe -- sh -c {}",
            &["echo half > half.txt; kill -9 $$"],
        ),
    );
    assert!(repo.snapshots().len() == 1, "{cut_short}");
    repo.git(&["stash", "-u", "-q"]);
    let texts = [
        &["forget"][..],
        &["forget", "--dry-run", "--snapshots"],
        &["rescue", "restore", "latest", "--branch", "kept one"],
        &["rescue", "restore", "latest", "--branch", "kept"],
    ]
    .map(|args| said(&repo, args));
    assert!(texts[3].contains("switch"), "{}", texts[3]);
    // What is forgotten is not looked at any more.
    for text in [&cut_short, &texts[3], &texts[1], &texts[0]] {
        assert_all_work(&env, text, usize::from(!text.contains("half-done")));
    }
}

#[test]
fn overwritten_files_are_named_with_the_restoring_command() {
    let env = place();
    let repo = env.repo_named(NAME);
    repo.write("mine.txt", "mine\n");
    let text = said(
        &repo,
        &fill_line(
            "run --no-probe -- sh -c {}",
            &["echo theirs > mine.txt; git commit -q --allow-empty -m x"],
        ),
    );
    let found = assert_all_work(&env, &text, 2);
    assert!(
        found.iter().any(|command| command.contains("rescue list")),
        "{found:?}\n{text}"
    );
}

#[test]
fn doctor_names_commands_that_mend_its_findings() {
    let env = place();
    let repo = env.repo_named(NAME);
    let settings = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/gone/watchdog hook stop", "timeout": 60}]}]}});
    repo.write(".claude/settings.json", settings.to_string());
    let mut killed = repo
        .watchdog_command(&["run", "--", "sh", "-c", "echo up; sleep 300"])
        .spawn();
    wait_until("the session runs", PATIENCE, || {
        killed.stdout_so_far().contains("up")
    });
    killed.signal(Signal::KILL);
    wait_until("it is gone", PATIENCE, || killed.ended());
    let lock = repo.path().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    fs::File::options()
        .write(true)
        .open(&lock)
        .unwrap()
        .set_modified(SystemTime::now() - Duration::from_secs(600))
        .unwrap();
    let text = said(&repo, &["doctor"]);
    let found = assert_all_work(&env, &text, 4);
    for wanted in ["hook install", "doctor --fix", " init", "rm "] {
        assert!(
            found.iter().any(|command| command.contains(wanted)),
            "{wanted}: {found:#?}\n{text}"
        );
    }
    assert!(!lock.exists(), "typing it is enough");
}

#[test]
fn tasks_are_named_with_commands_that_find_them() {
    let env = place();
    let repo = env.repo_named(NAME);
    repo.write(
        ".watchdog/tasks/it's one.md",
        "---\nid: T1\ntitle: first\ncompletion:\n  verify: \"true\"\n---\nDo it.\n",
    );
    repo.commit_all("a task");
    let untrusted = said(&repo, &["task", "show", "T1"]);
    let texts = [
        &["task", "show", "none"][..],
        &["task", "run", "none", "--", "true"],
        &["task", "run", "T1", "--", "true"],
    ];
    let texts = texts.map(|args| said(&repo, args));
    for text in [&untrusted, &texts[0], &texts[1], &texts[2]] {
        assert_all_work(&env, text, 1);
    }
    assert!(
        !said(&repo, &["task", "show", "T1"]).contains("untrusted"),
        "typing it is enough"
    );
    for status in ["in_progress", "complete"] {
        let _ = said(&repo, &["task", "set", "T1", status, "--reason", "by hand"]);
    }
}

#[test]
fn a_first_configuration_names_what_to_type_next() {
    let env = place();
    let repo = env.repo_named(NAME);
    repo.write("Makefile", "test:\n\ttrue\n");
    let first = said(&repo, &["init", "--yes"]);
    assert!(first.contains("next: watchdog -C "), "{first}");
    let again = said(&repo, &["init", "--yes"]);
    assert_all_work(&env, &first, 2);
    assert_all_work(&env, &again, 1);
}

#[test]
fn git_and_usage_errors_name_working_commands() {
    let env = place();
    let repo = env.repo_named(NAME);
    for args in [
        &["check", "--baseline", "no-such"][..],
        &["schema", "verdict", "--resolved"],
        &["report"],
    ] {
        let text = said(&repo, args);
        assert_none_is_bare(&text);
        assert_all_work(&env, &text, usize::from(args[0] != "report"));
    }
    let object = repo.git(&["rev-parse", "HEAD^{tree}"]);
    repo.watchdog_command(&["snapshot"]).run().expect(0);
    let broken = repo
        .path()
        .join(".git/objects")
        .join(&object[..2])
        .join(&object[2..]);
    fs::remove_file(broken).unwrap();
    let text = said(&repo, &["check", "--no-probe"]);
    let found = commands(&text);
    assert!(
        found
            .iter()
            .all(|command| command.starts_with("git -C ") || command.starts_with("watchdog -C ")),
        "{found:?}\n{text}"
    );
    assert_none_is_bare(&text);
}

#[test]
fn hint_repeats_a_flagged_state_directory_only() {
    let env = place();
    let repo = env.repo_named(NAME);
    untrusted(&repo);
    let state = env.root().join("another state").display().to_string();
    let text = said(&repo, &["--state-dir", &state, "doctor"]);
    let found = assert_all_work(&env, &text, 1);
    assert!(
        found
            .iter()
            .any(|command| command.ends_with(&format!("--state-dir '{state}' trust"))),
        "{found:?}"
    );
    assert!(
        !said(&repo, &["--state-dir", &state, "doctor"]).contains("not trusted"),
        "typing it is enough"
    );
    let by_environment = said(&repo, &["doctor"]);
    assert!(
        by_environment.contains("not trusted") && !by_environment.contains("--state-dir"),
        "{by_environment}"
    );
}

#[test]
fn unprintable_path_still_gives_a_working_command() {
    let env = place();
    let repo = env.repo_named("tab\there\x1b[2J");
    untrusted(&repo);
    let text = said(&repo, &["doctor"]);
    let found = commands(&text);
    let trust = found
        .iter()
        .find(|command| command.ends_with(" trust"))
        .unwrap_or_else(|| panic!("{text}"));
    assert!(
        !trust.contains(char::is_control) && trust.contains("printf"),
        "{trust:?}"
    );
    assert_all_work(&env, trust, 0);
    let out = env
        .command("sh", Path::new("/"))
        .args(["-c", trust])
        .run()
        .expect(0);
    assert!(out.stdout.contains("trusted"), "{out}");
}

/// Files whose commands are about no worktree, or are no hint: each with its reason.
const PLACELESS: &[(&str, &str)] = &[
    (
        "crates/watchdog-git/src/snapshot/record.rs",
        "the message of a commit, which may be read in another clone",
    ),
    (
        "crates/watchdog-git/src/snapshot/take.rs",
        "the names of a snapshot's parts",
    ),
    (
        "crates/watchdog-core/src/checks/git.rs",
        "feedback for the agent, which works in the worktree",
    ),
    (
        "src/cli/commands/demo.rs",
        "about a repository that the reader has yet to choose",
    ),
    (
        "crates/watchdog-judge/src/modes/doctor/cron_findings.rs",
        "what a line of a crontab calls",
    ),
    (
        "crates/watchdog-judge/src/modes/rescue_now.rs",
        "why a snapshot was taken",
    ),
    (
        "crates/watchdog-judge/src/modes/work/pool.rs",
        "the name of what runs",
    ),
];

#[test]
fn every_command_in_messages_names_its_worktree() {
    let literal = regex::Regex::new(r#""(?:[^"\\]|\\.)*""#).unwrap();
    let hint = regex::Regex::new(
        "(?:^|[^`[:word:]-])(?:watchdog (?:snapshot|check|run|loop|trust|untrust|rescue|breaker|task|doctor|init|forget|hook)\
         |git (?:fsck|log|reset|switch|merge|worktree|ls-files|commit-graph|for-each-ref|diff))(?: |$|[';,])",
    )
    .unwrap();
    // The name of a command alone, as in a lock.
    let name = regex::Regex::new(r"^watchdog [a-z]+( [a-z]+)?$").unwrap();
    let mut bare = Vec::new();
    for source in crate::source_files::sources(&["src", "crates"]) {
        let helps = ["src/cli/args", "src/cli/help.rs", "src/cli/examples.rs"]
            .iter()
            .any(|help| source.name.starts_with(help));
        if helps
            || source.name.contains("/tests/")
            || PLACELESS.iter().any(|(file, _)| source.name == *file)
        {
            continue;
        }
        for found in literal.find_iter(&source.shipped) {
            let text = found.as_str().trim_matches('"');
            if hint.is_match(text) && !name.is_match(text) {
                bare.push(format!("{}: {text}", source.name));
            }
        }
    }
    assert!(
        bare.is_empty(),
        "use WorktreeCommands:\n{}",
        bare.join("\n")
    );
}
