//! Other worktrees of a repository beside a session: what is uncommitted there is kept before it, and named where it is gone after it.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Repo, TestEnv, assert_parts, fill_line};

/// The main checkout, a worktree for the session and one beside it, with uncommitted work in the first and the last.
pub fn three_worktrees(env: &TestEnv) -> [Repo<'_>; 3] {
    let main = env.repo();
    main.write("src/a", "one\n");
    main.commit_all("base");
    let linked = |name: &str| {
        main.git(&["worktree", "add", "-q", &format!("../{name}")]);
        Repo::new(env, env.root().join(name))
    };
    let (own, sibling) = (linked("own"), linked("sibling"));
    make_dirty(&main, &sibling);
    [main, own, sibling]
}

fn make_dirty(main: &Repo<'_>, sibling: &Repo<'_>) {
    main.write("src/a", "one\ntwo\n");
    main.write("src/new", "new\n");
    sibling.write("README.md", "theirs\n");
    sibling.write("notes", "notes\n");
}

pub fn run(own: &Repo<'_>, script: &str) -> Value {
    let work = format!("date +%s%N > work; git add work; git commit -q -m work; {script}");
    let line = ["run", "--json", "--no-probe", "--", "sh", "-c", &work];
    own.watchdog(&line).json()
}

#[test]
fn vanished_work_of_other_worktrees_is_named_and_restored() {
    let env = TestEnv::new();
    let [main, own, sibling] = three_worktrees(&env);
    let name = main.path().file_name().unwrap().to_str().unwrap();
    let gone = [
        ("git -C MAIN reset -q --hard", &main, "'src/a' ", "src/a"),
        (
            "git -C MAIN stash -q -u; git stash drop -q",
            &main,
            "'src/a', 'src/new' ",
            "src/new",
        ),
        (
            "rm -rf MAIN/src; git -C MAIN checkout -q .",
            &main,
            "'src/a', 'src/new' ",
            "src/new",
        ),
        (
            "git -C ../sibling checkout -q -f .",
            &sibling,
            "'README.md' ",
            "README.md",
        ),
        (
            "git worktree remove --force ../sibling",
            &sibling,
            "'README.md', 'notes' ",
            "notes",
        ),
        (
            "rm -rf ../sibling",
            &sibling,
            "'README.md', 'notes' ",
            "notes",
        ),
    ];
    for (script, harmed, paths, path) in gone {
        make_dirty(&main, &sibling);
        let before = fs::read(harmed.path().join(path)).unwrap();
        let verdict = run(&own, &script.replace("MAIN", &format!("../{name}")));
        let message = verdict["message"].as_str().unwrap();
        let expected = format!(
            "{} is gone since the session began: {paths}",
            harmed.path().display()
        );
        assert!(message.contains(&expected), "{script}: {verdict:#}");
        assert_eq!(verdict["degraded"], json!(["sibling_work_gone"]));
        let (_, command) = message.split_once("bring it back with: watchdog ").unwrap();
        let words: Vec<_> = command
            .split([' ', ')'])
            .take_while(|word| !word.ends_with(';'))
            .filter(|word| !word.is_empty())
            .collect();
        own.watchdog(&words).expect(0);
        assert_eq!(
            fs::read(harmed.path().join(path)).unwrap(),
            before,
            "{script}"
        );
    }
}

#[test]
fn unreadable_siblings_are_warned_about() {
    let env = TestEnv::new();
    let [main, own, _] = three_worktrees(&env);
    let name = main.path().file_name().unwrap().to_str().unwrap();
    // git of the session repairs what was in the way.
    let script = format!("rm ../{name}/.git/index; git -C ../{name} reset -q --hard");
    main.write(".git/index", "no index");
    let verdict = run(&own, &script);
    assert_eq!(
        verdict["degraded"],
        json!(["siblings_unread"]),
        "{verdict:#}"
    );
    let detail = verdict["notes"][0]["detail"].as_str().unwrap();
    assert!(
        detail.contains(&main.path().display().to_string()),
        "{detail}"
    );
    // A lock of git keeps nobody from reading.
    main.write("src/a", "one\ntwo\n");
    main.write(".git/index.lock", "");
    let script = format!("rm ../{name}/.git/index.lock; git -C ../{name} reset -q --hard");
    let verdict = run(&own, &script);
    assert_eq!(
        verdict["degraded"],
        json!(["sibling_work_gone"]),
        "{verdict:#}"
    );
}

#[test]
fn removed_worktrees_beyond_twenty_are_not_unseen() {
    let env = TestEnv::new();
    let [main, own, _] = three_worktrees(&env);
    let folder = |n: usize| env.root().join(format!("w{n:02}"));
    for n in 0..22 {
        let folder = folder(n);
        main.git_line("worktree add -q --detach {}", &[folder.to_str().unwrap()]);
    }
    fs::remove_dir_all(folder(21)).unwrap();
    let verdict = run(&own, "true");
    let detail = verdict["notes"][0]["detail"].as_str().unwrap();
    assert_eq!(detail.matches(env.root().to_str().unwrap()).count(), 3);
    let end = format!("'{}': watchdog looks at 20", folder(20).display());
    assert!(detail.contains(&end), "{detail}");
}

#[test]
fn work_that_is_elsewhere_or_edited_is_no_loss() {
    let env = TestEnv::new();
    let [main, own, sibling] = three_worktrees(&env);
    let name = main.path().file_name().unwrap().to_str().unwrap();
    let kept = || {
        main.git(&[
            "for-each-ref",
            "--format=%(refname)",
            "refs/watchdog/rescue",
        ])
    };
    run(&own, "true");
    let snapshots = kept();
    assert_eq!(snapshots.lines().count(), 2, "{snapshots}");
    let beside = |script: &str| run(&own, &script.replace("MAIN", &format!("../{name}")));
    for script in [
        "true",
        "echo more >> MAIN/src/a; mv MAIN/src/new MAIN/src/renamed",
        "git -C MAIN add -A; git -C MAIN commit -q -m theirs; git -C MAIN mv src/a src/moved; git -C MAIN commit -q -m moved",
        "git -C ../sibling switch -q -c aside; git -C ../sibling add -A; git -C ../sibling commit -q -m s; git -C ../sibling switch -q sibling",
        "git -C MAIN stash -q -u; git worktree move ../sibling ../elsewhere; git worktree move ../elsewhere ../sibling",
    ] {
        let verdict = beside(script);
        assert_eq!(verdict["degraded"], json!([]), "{script}: {verdict:#}");
        if script == "true" {
            assert_eq!(kept(), snapshots, "an unchanged state is kept once");
        }
        make_dirty(&main, &sibling);
    }
    // A session of its own there answers for it.
    let inner = format!(
        "cd ../{name} && {} run --no-probe -- git clean -q -f -d",
        env!("CARGO_BIN_EXE_watchdog")
    );
    let verdict = beside(&inner);
    assert_eq!(verdict["degraded"], json!([]), "{verdict:#}");
    assert_eq!(main.status(), "");
}

#[test]
fn hooks_keep_and_name_work_of_siblings() {
    let env = TestEnv::new();
    let [main, own, _] = three_worktrees(&env);
    let hook = |event: &str, words: &str| {
        let input = json!({"session_id": "s", "cwd": own.path(), "hook_event_name": words, "source": "startup"});
        let run = own.watchdog_command(&["hook", event]);
        run.stdin(input.to_string()).run().expect(0)
    };
    hook("session-start", "SessionStart");
    main.git(&["reset", "-q", "--hard"]);
    let named = format!(
        "{} is gone since the session began: 'src/a'",
        main.path().display()
    );
    let told = hook("session-end", "SessionEnd").stderr;
    assert!(told.contains(&named), "{told}");
    let verdict = own.watchdog(&["check", "--json", "--no-probe"]).json();
    assert!(
        verdict["message"].as_str().unwrap().contains(&named),
        "{verdict:#}"
    );
}

#[test]
fn work_around_a_submodule_is_named_and_restored() {
    let env = TestEnv::new();
    let (outer, inner) = (env.repo(), env.repo_named("inner"));
    outer.git_line(
        "-c protocol.file.allow=always submodule add -q {} sub",
        &[inner.path().to_str().unwrap()],
    );
    outer.commit_all("with a submodule");
    outer.write("notes", "notes\n");
    let own = Repo::new(&env, outer.path().join("sub"));
    let verdict = run(&own, "git -C .. clean -q -f -d");
    let message = verdict["message"].as_str().unwrap();
    let expected = format!(
        "{} is gone since the session began: 'notes' ",
        outer.path().display()
    );
    assert!(message.contains(&expected), "{verdict:#}");
    let (_, command) = message.split_once("bring it back with: watchdog ").unwrap();
    let words: Vec<_> = command.trim_end_matches(')').split(' ').collect();
    own.watchdog(&words).expect(0);
    assert_eq!(
        fs::read_to_string(outer.path().join("notes")).unwrap(),
        "notes\n"
    );
    let verdict = run(&outer, "cd sub; echo s >> README.md; git stash -q");
    let message = verdict["message"].as_str().unwrap();
    let (_, command) = message
        .split_once(" of submodule sub (take it with: ")
        .unwrap();
    let (command, _) = command.split_once(')').unwrap();
    outer.env_command("sh", &["-c", command]).run().expect(0);
    // The objects of a submodule go with its repository, also where another comes to its place.
    own.commit_all("unpushed");
    own.git(&["switch", "-q", "-c", "aside"]);
    let anew = "rm -r -f sub .git/modules/sub; git -c protocol.file.allow=always submodule -q update --init";
    let verdict = run(&outer, anew);
    let expected = "submodule sub is gone since the session began";
    assert!(
        verdict["message"].as_str().unwrap().contains(expected),
        "{verdict:#}"
    );
    let head = own.head();
    let verdict = run(&outer, "rm -r -f .git/modules/sub");
    let message = verdict["message"].as_str().unwrap();
    let expected = format!(
        "submodule sub is gone since the session began, with each commit that was nowhere else; it had '{} start'",
        &head[..12]
    );
    assert!(message.contains(&expected), "{verdict:#}");
}

#[test]
fn loop_names_losses_of_all_its_iterations() {
    let env = TestEnv::new();
    let [_, own, sibling] = three_worktrees(&env);
    let script =
        "git -C ../sibling clean -q -f -d; date +%s%N > work; git add work; git commit -q -m work";
    let checks =
        r#"{"limits": {"cooldown_seconds": 0}, "checks": [{"type": "git", "min_commits": 2}]}"#;
    let config = env.write("loop.json", checks);
    let line = fill_line(
        "--config {} loop --json --no-probe --max-iterations 2 -- sh -c {}",
        &[config.to_str().unwrap(), script],
    );
    let out = own.watchdog(&line);
    let verdict: Value = serde_json::from_str(out.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(verdict["iterations"], json!(2), "{verdict:#}");
    assert_eq!(
        verdict["degraded"],
        json!(["sibling_work_gone"]),
        "{verdict:#}"
    );
    let expected = format!("{} is gone", sibling.path().display());
    assert!(
        verdict["message"].as_str().unwrap().contains(&expected),
        "{verdict:#}"
    );
}

#[test]
fn lost_ignored_files_of_siblings_are_named() {
    let env = TestEnv::new();
    let [main, own, sibling] = three_worktrees(&env);
    let name = main.path().file_name().unwrap().to_str().unwrap();
    fs::write(main.path().join(".git/info/exclude"), "/hand/\n.env\n").unwrap();
    for (script, harmed) in [
        ("git -C MAIN clean -q -f -d -x", &main),
        ("git worktree remove --force ../sibling", &sibling),
    ] {
        harmed.write("hand/plan", "plan");
        harmed.write(".env", "KEY=1\n");
        let verdict = run(&own, &script.replace("MAIN", &format!("../{name}")));
        let message = verdict["message"].as_str().unwrap();
        let folder = harmed.path().display().to_string();
        let expected = format!("in {folder}, 2 ignored files from before the session are gone");
        assert!(
            message.contains(&expected) && message.contains("'hand/plan' (4 bytes)"),
            "{verdict:#}"
        );
        let (_, command) = message
            .split_once("bring 1 of them back with: watchdog ")
            .unwrap();
        let line = command.split([';', ')']).next().unwrap();
        own.watchdog(&line.split(' ').collect::<Vec<_>>()).expect(0);
        assert_eq!(
            fs::read_to_string(harmed.path().join(".env")).unwrap(),
            "KEY=1\n"
        );
    }
}

#[test]
fn sibling_without_repository_is_restored_beside_it() {
    let env = TestEnv::new();
    let [main, own, sibling] = three_worktrees(&env);
    let admin = main.path().join(".git/worktrees/sibling");
    let script = format!("rm -r -f {} ../sibling/*", admin.display());
    let verdict = run(&own, &script);
    let message = verdict["message"].as_str().unwrap();
    let (_, command) = message.split_once("bring it back with: watchdog ").unwrap();
    let line = command.split([';', ')']).next().unwrap();
    own.watchdog(&line.split(' ').collect::<Vec<_>>()).expect(0);
    let beside = sibling.path().with_file_name("sibling-restored");
    assert_eq!(fs::read_to_string(beside.join("notes")).unwrap(), "notes\n");
}

#[test]
fn home_folder_beside_keeps_tracked_files_alone() {
    let env = TestEnv::new();
    let home = Repo::new(&env, env.home());
    home.git(&["init", "-q"]);
    home.write(".profile", "one\n");
    home.git(&["add", ".profile"]);
    home.git(&["commit", "-q", "-m", "dotfiles"]);
    home.write(".profile", "two\n");
    home.write(".cache/big", "x".repeat(100_000));
    home.git_line(
        "worktree add -q {}",
        &[env.root().join("linked").to_str().unwrap()],
    );
    let own = Repo::new(&env, env.root().join("linked"));
    let verdict = run(&own, "git -C ~ checkout -q -f .");
    let message = verdict["message"].as_str().unwrap();
    assert_parts(message, &["is gone since the session began: '.profile' "]);
    let names = home.git(&["for-each-ref", "--format=%(refname)", "refs/watchdog"]);
    for name in names.lines() {
        let files = home.git(&["ls-tree", "-r", "--name-only", name]);
        assert!(!files.contains(".cache"), "{name}: {files}");
    }
}
