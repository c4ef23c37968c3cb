//! One look at many worktrees: each once, the bad ones beside the good ones, questions rationed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{CommandOutput, Step, TestEnv, assert_parts, fill_line, wait_until};

/// The rows by the names of their folders.
#[track_caller]
pub fn rows(output: &CommandOutput) -> BTreeMap<String, Value> {
    let row = |line: &str| {
        let row: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        (
            Path::new(row["worktree"].as_str().unwrap())
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned(),
            row,
        )
    };
    let lines: Vec<_> = output.stdout.lines().map(row).collect();
    let rows: BTreeMap<_, _> = lines.iter().cloned().collect();
    assert_eq!(
        rows.len(),
        lines.len(),
        "a worktree was judged twice\n{output}"
    );
    rows
}

/// `status/reason`, or why it was not judged.
pub fn word(row: &Value) -> String {
    match row["not_judged"].as_str() {
        Some(why) => why.to_string(),
        None => format!(
            "{}/{}",
            row["status"].as_str().unwrap_or("-"),
            row["reason"].as_str().unwrap_or("-")
        ),
    }
}

#[track_caller]
pub fn words(output: &CommandOutput) -> Vec<(String, String)> {
    rows(output)
        .into_iter()
        .map(|(name, row)| (name, word(&row)))
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(name, word)| (name.to_string(), word.to_string()))
        .collect()
}

#[test]
fn sweep_names_a_damaged_database() {
    let env = TestEnv::new();
    env.linked_worktrees(&["a"]);
    let database = env.state().join("watchdog.db");
    let connection = rusqlite::Connection::open(&database).expect("it is there");
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .expect("the log is moved");
    drop(connection);
    // Its tables, but not its head: it opens.
    let mut bytes = fs::read(&database).expect("it is there");
    bytes[8192..].fill(0xff);
    fs::write(&database, bytes).expect("it is ours");
    let out = env.watchdog(&env.root(), &["sweep", "--json", "--no-probe", "all"]);
    out.assert_told(&["was damaged", ".corrupt-"]);
}

#[test]
fn sweep_judges_each_worktree_once_without_false_alarm() {
    let env = TestEnv::new();
    let worktrees = env.linked_worktrees(&["committed", "dirty", "idle"]);
    worktrees[0].write("new", "1");
    worktrees[0].commit_all("feat: new");
    worktrees[0].write("left", "2");
    worktrees[1].write("draft", "3");
    let all = env.root().join("all");
    let swept = env
        .watchdog(
            &all,
            &["sweep", ".", "repo", "idle", "--no-probe", "--json", "-q"],
        )
        .expect(0);
    let expected = [
        ("committed", "complete/new_commits"),
        ("dirty", "incomplete/unfinished"),
        ("idle", "untouched"),
        ("repo", "no_baseline"),
    ];
    assert_eq!(words(&swept), pairs(&expected));
    let rows = rows(&swept);
    let (committed, nobodys) = (&rows["committed"], &rows["repo"]);
    assert_eq!(
        (&committed["made_here"], &committed["changes"]["untracked"]),
        (&json!(1), &json!(1)),
        "{swept}"
    );
    assert_parts(&committed["degraded"].to_string(), &["left_uncommitted"]);
    assert_eq!(
        (&nobodys["status"], &nobodys["complete"]),
        (&Value::Null, &json!(false))
    );
    assert_eq!(
        worktrees[0].snapshots().len(),
        2,
        "what was left uncommitted is kept, here and in the dirty one"
    );

    let table = env.watchdog(&all, &["sweep", "--no-probe"]).expect(0);
    let heads = table
        .stdout
        .lines()
        .next()
        .unwrap()
        .split_whitespace()
        .collect::<Vec<_>>();
    assert_eq!(
        heads,
        ["STATUS", "REASON", "COMMITS", "LEFT", "SPEC", "WORKTREE"]
    );
    assert_eq!(table.stdout.lines().count(), 5, "{table}");
    let first: Vec<&str> = table
        .stdout
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(
        first,
        ["incomplete", "complete", "-", "-"],
        "what goes on stands above what is done"
    );
    table.assert_told(&["4 worktrees: 1 complete, 1 incomplete, 1 no_baseline, 1 untouched"]);
    let only = env
        .watchdog(
            &all,
            &["sweep", "--no-probe", "--only", "complete,no_baseline"],
        )
        .expect(0);
    assert_eq!(only.stdout.lines().count(), 3, "{only}");
}

#[test]
fn broken_worktree_alarms_only_if_watched() {
    let env = TestEnv::new();
    let worktrees = env.linked_worktrees(&["corrupt", "fine", "foreign", "gone", "rebasing"]);
    let all = env.root().join("all");
    let unborn = env.unborn_repo("all/unborn");
    unborn.watchdog(&["snapshot"]).expect(0);
    worktrees[0].write("a", "1");
    worktrees[0].commit_all("feat: a");
    let lost = worktrees[0].head();
    fs::remove_file(all.join(format!("repo/.git/objects/{}/{}", &lost[..2], &lost[2..]))).unwrap();
    worktrees[1].write("b", "1");
    worktrees[1].commit_all("feat: b");
    chown(all.join("repo/.git/worktrees/foreign"), Some(12345), None)
        .expect("these tests run as root");
    fs::remove_dir_all(all.join("gone")).unwrap();
    worktrees[4].write("README.md", "ours\n");
    worktrees[4].commit_all("feat: ours");
    worktrees[4].git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
    worktrees[4].write("README.md", "theirs\n");
    worktrees[4].commit_all("feat: theirs");
    worktrees[4]
        .try_git(&["rebase", "-q", "rebasing"])
        .expect(1);
    env.write("all/nobodys/.git/HEAD", "garbage");
    env.write("all/nobodys/.git/config", "[core");
    env.repo_named("all/unread");
    env.write("all/unread/.git/config", "[core]\nbare = false\n[core");

    let swept = env
        .watchdog(&all, &["sweep", "--no-probe", "--json", "-q"])
        .expect(16);
    let expected = [
        ("corrupt", "error/git_error"),
        ("fine", "complete/new_commits"),
        ("foreign", "error/git_error"),
        ("gone", "gone"),
        ("nobodys", "no_baseline"),
        ("rebasing", "incomplete/operation_in_progress"),
        ("repo", "no_baseline"),
        ("unborn", "untouched"),
        ("unread", "no_baseline"),
    ];
    assert_eq!(words(&swept), pairs(&expected), "{swept}");
    let rows = rows(&swept);
    assert_parts(&rows["unread"].to_string(), &["bad config line 3 in file"]);
    assert_eq!(
        rows["rebasing"]["changes"]["operation"], "rebase",
        "{swept}"
    );
    assert_parts(
        rows["foreign"]["message"].as_str().unwrap(),
        &["owned by another user"],
    );

    let table = env
        .watchdog(&all, &["sweep", "--no-probe"])
        .expect(16)
        .stdout;
    let below = |name: &str| {
        let lines: Vec<&str> = table.lines().collect();
        let at = lines
            .iter()
            .position(|line| line.ends_with(name))
            .unwrap_or_else(|| panic!("no {name}\n{table}"));
        (at, lines[at + 1].to_owned(), lines[at + 2].to_owned())
    };
    let (at, why, command) = below("/corrupt");
    assert!(
        at < 4 && why.starts_with("  ") && command.contains(" -C ") && command.ends_with(" doctor"),
        "{table}"
    );
    assert!(
        table
            .lines()
            .last()
            .is_some_and(|line| line.contains("folder")),
        "what is gone comes last\n{table}"
    );

    let nowhere = env
        .watchdog(
            &all,
            &["sweep", "nowhere", "fine", "--no-probe", "--json", "-q"],
        )
        .expect(16);
    assert_eq!(
        word(&self::rows(&nowhere)["nowhere"]),
        "error/not_a_repository"
    );
}

#[test]
fn worktree_removed_during_its_probe_counts_as_gone() {
    let env = TestEnv::new();
    env.linked_worktrees(&["doomed", "fine"]);
    let root = env.root().join("all/doomed");
    let probe = env.write(
        "probe.sh",
        format!(
            "#!/bin/sh\ncase $PWD in */doomed) rm -rf {};; esac\n",
            root.display()
        ),
    );
    let config = crate::support::config_asking(&env, json!({"probe": ["sh", probe]}), json!({}));
    let swept = env
        .watchdog(
            &env.root().join("all"),
            &fill_line("--config {} sweep --json -q", &[config.to_str().unwrap()]),
        )
        .expect(16);
    let expected = [
        ("doomed", "gone"),
        ("fine", "error/probe_error"),
        ("repo", "no_baseline"),
    ];
    assert_eq!(words(&swept), pairs(&expected), "{swept}");
}

#[test]
fn rationed_questions_lose_no_work_and_are_told() {
    let env = TestEnv::new();
    let worktrees = env.linked_worktrees(&["a", "b", "c"]);
    let asked = env.root().join("asked");
    let working = Step::print_json(
        &json!({"status": "working", "message": "on it", "should_continue": true}),
    );
    let config = env.config_asking(
        &[Step::append(asked.to_str().unwrap(), "x"), working],
        json!({}),
    );
    worktrees
        .iter()
        .for_each(|worktree| worktree.write("draft", "1"));
    let all = env.root().join("all");
    let args = fill_line(
        "--config {} sweep --json -q --max-probes-total",
        &[config.to_str().unwrap()],
    );
    let swept = env.watchdog(&all, &[&args[..], &["2"]].concat()).expect(0);
    assert_eq!(fs::read_to_string(&asked).unwrap(), "xx", "{swept}");
    let rows = rows(&swept);
    let rationed: Vec<_> = rows
        .values()
        .filter(|row| row["degraded"].to_string().contains("probes_rationed"))
        .collect();
    assert_eq!(rationed.len(), 1, "{swept}");
    assert_eq!(
        (word(rationed[0]), &rationed[0]["probes_used"]),
        ("incomplete/unfinished".to_string(), &json!(0))
    );
    assert_eq!(
        worktrees[0].snapshots().len(),
        3,
        "work is kept whether somebody was asked or not"
    );

    env.watchdog(&all, &[&args[..], &["0"]].concat()).expect(0);
    assert_eq!(
        fs::read_to_string(&asked).unwrap(),
        "xx",
        "a ration of none asks nobody"
    );
}

#[test]
fn question_count_continues_across_sweeps() {
    let env = TestEnv::new();
    env.linked_worktrees(&["a"]);
    let working =
        Step::print_json(&json!({"status": "waiting", "message": "CI", "should_continue": true}));
    let config = env.config_asking(&[working], json!({}));
    let all = env.root().join("all");
    let args = fill_line("--config {} sweep --json -q", &[config.to_str().unwrap()]);
    for (round, expected, code) in [
        (1, "waiting/background_work", 0),
        (2, "waiting/background_work", 0),
        (3, "timeout/max_probes", 13),
    ] {
        let swept = env.watchdog(&all, &args).expect(code);
        assert_eq!(word(&rows(&swept)["a"]), expected, "round {round}\n{swept}");
    }
}

#[test]
fn untouched_worktree_is_no_error_and_asks_nobody() {
    let mut env = TestEnv::new();
    env.set("CLAUDE_CONFIG_DIR", env.root().join("claude"));
    let worktree = &env.linked_worktrees(&["a"])[0];
    let all = env.root().join("all");
    let sweep = || rows(&env.watchdog(&all, &["sweep", "--json", "-q"]))["a"].clone();
    for _ in 0..3 {
        let row = sweep();
        assert_eq!(
            (word(&row), &row["complete"]),
            ("untouched".to_owned(), &json!(false)),
            "{row}"
        );
    }
    let table = env.watchdog(&all, &["sweep"]).expect(0);
    assert!(
        table
            .stdout
            .lines()
            .any(|line| line.starts_with("-  ") && line.contains(" untouched ")),
        "{table}"
    );
    let status = env.watchdog(&all, &["status", "--json"]).expect(0).json();
    assert_eq!(
        status["worktrees"].as_array().map(Vec::len),
        Some(1),
        "{status:#}"
    );
    assert_eq!(status["worktrees"][0]["status"], Value::Null, "{status:#}");
    // A conversation is begun in it: then its agent is meant.
    let slug: String = worktree
        .path()
        .to_str()
        .unwrap()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let transcript = format!("claude/projects/{slug}/0a0a0a0a-0000-4000-8000-000000000001.jsonl");
    env.write(&transcript, "{}\n");
    assert_ne!(word(&sweep()), "untouched");
    fs::remove_file(env.root().join(&transcript)).unwrap();
    worktree.write("draft", "1");
    assert_ne!(word(&sweep()), "untouched");
}

#[test]
fn unmoved_worktree_repeats_its_verdict_until_changed() {
    let env = TestEnv::new();
    let worktree = &env.linked_worktrees(&["a"])[0];
    worktree.write("new", "1");
    worktree.write(".gitignore", "*.o\n");
    worktree.commit_all("feat: new");
    fs::create_dir(worktree.path().join("hollow")).unwrap();
    let sweep = || {
        rows(
            &env.watchdog(
                &env.root().join("all"),
                &["sweep", "--no-probe", "--json", "-q"],
            )
            .expect(0),
        )
        .remove("a")
        .unwrap()
    };
    // What was written a moment before a look could be written again without a trace, so the first ones keep nothing.
    let again = || {
        let mut last = Value::Null;
        wait_until("it is had again", Duration::from_secs(60), || {
            last = sweep();
            last["unchanged_since"].is_string()
        });
        last
    };
    let first = sweep();
    let mut same = again();
    assert_eq!(
        (word(&same), &same["commits"], &same["changes"]),
        (
            "complete/new_commits".into(),
            &first["commits"],
            &first["changes"]
        )
    );

    let rewrite = |name: &str, text: &str| {
        let file = worktree.path().join(name);
        let before = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, text).unwrap();
        fs::File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_modified(before)
            .unwrap();
    };
    type Change<'a> = (&'a str, &'a dyn Fn(), &'a str, u64);
    let changes: [Change<'_>; 6] = [
        (
            "a tracked file, of the same size and time",
            &|| rewrite("new", "2"),
            "complete/new_commits",
            1,
        ),
        (
            "an untracked file in a folder that was empty",
            &|| worktree.write("hollow/draft", "1"),
            "complete/new_commits",
            2,
        ),
        (
            "the same untracked file, of the same size and time",
            &|| rewrite("hollow/draft", "2"),
            "complete/new_commits",
            2,
        ),
        (
            "what is ignored",
            &|| worktree.write(".git-excluded.o", "1"),
            "complete/new_commits",
            2,
        ),
        (
            "the ignore file",
            &|| worktree.write(".gitignore", ""),
            "complete/new_commits",
            4,
        ),
        (
            "a commit",
            &|| drop(worktree.commit_all("feat: more")),
            "complete/new_commits",
            0,
        ),
    ];
    for (what, change, expected, left) in changes {
        change();
        let seen = sweep();
        assert_eq!(seen["unchanged_since"], Value::Null, "{what}: {seen}");
        let total: u64 = ["staged", "unstaged", "untracked"]
            .iter()
            .filter_map(|kind| seen["changes"][*kind].as_u64())
            .sum();
        assert_eq!(
            (word(&seen), total),
            (expected.to_string(), left),
            "{what}: {seen}"
        );
        same = again();
        assert_eq!(
            (word(&same), &same["changes"]),
            (expected.to_string(), &seen["changes"]),
            "{what}"
        );
    }
    worktree.watchdog(&["snapshot"]).expect(0);
    assert_eq!(word(&sweep()), "untouched", "the baseline");

    worktree.write("draft", "1");
    let snapshot = again()["rescue"]["snapshot"].as_str().unwrap().to_string();
    worktree.git(&["update-ref", "-d", &snapshot]);
    assert_eq!(
        sweep()["unchanged_since"],
        Value::Null,
        "work whose snapshot was dropped is kept again"
    );
    assert!(!worktree.snapshots().is_empty());
    let asking = env
        .watchdog(
            &env.root().join("all"),
            &["sweep", "--json", "-q", "--agent-program", "/nonexistent"],
        )
        .expect(15);
    assert_eq!(
        word(&rows(&asking)["a"]),
        "failed/agent_unrunnable",
        "what was left unasked is asked"
    );
}

#[test]
fn broken_git_file_is_one_error_per_worktree() {
    let env = TestEnv::new();
    env.linked_worktrees(&["garbage", "headless", "missing", "fine"]);
    let all = env.root().join("all");
    fs::write(all.join("garbage/.git"), "garbage").unwrap();
    fs::remove_file(all.join("missing/.git")).unwrap();
    fs::remove_file(env.root().join("all/repo/.git/worktrees/headless/HEAD")).unwrap();
    for folder in ["", "repo"] {
        let out = env.watchdog(&all.join(folder), &["sweep", "--no-probe", "--json", "-q"]);
        assert_eq!(out.code, Some(16), "{out}");
        let found: Vec<(String, String)> = out
            .stdout
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"))
            .map(|row| {
                (
                    row["worktree"]
                        .as_str()
                        .unwrap_or_default()
                        .rsplit('/')
                        .next()
                        .unwrap_or_default()
                        .to_owned(),
                    word(&row),
                )
            })
            .collect();
        for name in ["garbage", "headless", "missing"] {
            let of_it: Vec<&str> = found
                .iter()
                .filter(|(worktree, _)| worktree == name)
                .map(|(_, word)| word.as_str())
                .collect();
            assert_eq!(of_it, ["error/git_error"], "{name} below '{folder}'\n{out}");
        }
    }
    let alone = env.watchdog(
        &all.join("garbage"),
        &["sweep", "--no-probe", "--json", "-q"],
    );
    assert_eq!(alone.code, Some(16), "{alone}");
}
