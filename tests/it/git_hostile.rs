//! Repositories that try to run programs while they are looked at, and faults that need a process of
//! their own to be met: another user, another environment.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use watchdog_git::{HistoryPoint, Worktree};

use crate::support::fill_line;
use crate::support::lone_repo::{Repo, hermetic};

/// Where the trap leaves its mark.
struct Trap {
    marker: std::path::PathBuf,
    script: String,
}

impl Trap {
    fn new(repo: &Repo) -> Self {
        let folder = repo.root().parent().unwrap();
        let (marker, script) = (folder.join("marker"), folder.join("trap"));
        fs::write(
            &script,
            format!("#!/bin/sh\ntouch '{}'\ncat\n", marker.display()),
        )
        .unwrap();
        fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        Trap {
            marker,
            script: script.to_str().unwrap().to_string(),
        }
    }

    /// Whether it ran since the last time.
    fn sprung(&self) -> bool {
        fs::remove_file(&self.marker).is_ok()
    }
}

/// Everything that looks.
fn look(repo: &Repo) {
    let worktree = Worktree::open(repo.root()).unwrap();
    let baseline = worktree.resolve("HEAD~1").unwrap();
    worktree
        .commits_since(&baseline, Some(&worktree.ref_tips().unwrap().into()))
        .unwrap();
    worktree.changes().unwrap();
    let _ = worktree.operation();
}

#[test]
fn ref_to_a_malformed_tag_is_no_commit() {
    let repo = Repo::init();
    repo.commit("one");
    repo.write("bytes", "nonsense");
    let id = repo.git(&["hash-object", "-t", "tag", "--literally", "-w", "bytes"]);
    repo.write(".git/refs/tags/bad", &id);
    let worktree = Worktree::open(repo.root()).unwrap();
    worktree.resolve("refs/tags/bad").unwrap_err();
    repo.commit("two");
    look(&repo);
}

#[test]
fn reading_a_repository_never_runs_its_programs() {
    type Arm = fn(&Repo, &Trap);
    let traps: [(&str, Arm); 7] = [
        ("filter.clean", |repo, trap| {
            repo.git(&["config", "filter.evil.clean", &trap.script]);
            repo.write(".gitattributes", "* filter=evil\n");
        }),
        ("filter.process", |repo, trap| {
            repo.git(&["config", "filter.evil.process", &trap.script]);
            repo.write(".gitattributes", "* filter=evil\n");
        }),
        ("filter in an included file", |repo, trap| {
            repo.write(
                ".git/more",
                &format!(
                    "[filter \"evil\"]\n\tclean = {}\n\trequired = true\n",
                    trap.script
                ),
            );
            repo.git(&["config", "include.path", "more"]);
            repo.write(".git/info/attributes", "* filter=evil\n");
        }),
        ("filter in the worktree's configuration", |repo, trap| {
            repo.git(&["config", "extensions.worktreeConfig", "true"]);
            repo.git(&["config", "--worktree", "filter.evil.clean", &trap.script]);
            repo.write(".git/info/attributes", "* filter=evil\n");
        }),
        ("core.fsmonitor", |repo, trap| {
            drop(repo.git(&["config", "core.fsmonitor", &trap.script]))
        }),
        ("a hook", |repo, trap| {
            fs::create_dir_all(repo.path(".git/hooks")).unwrap();
            fs::copy(&trap.script, repo.path(".git/hooks/post-index-change")).unwrap();
        }),
        ("a filter of a submodule", |repo, trap| {
            repo.git(&["init", "-q", "sub"]);
            let sub = |args: &[&str]| repo.git(&[&["-C", "sub"], args].concat());
            repo.write("sub/file", "one\n");
            sub(&["add", "."]);
            sub(&["commit", "-q", "-m", "one"]);
            repo.git(&["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
            repo.git(&["commit", "-q", "-m", "sub"]);
            sub(&["config", "filter.evil.clean", &trap.script]);
            repo.write("sub/.git/info/attributes", "* filter=evil\n");
            repo.write("sub/file", "two\n");
        }),
    ];
    for (name, arm) in traps {
        let repo = Repo::init();
        repo.commit("one");
        repo.commit("two");
        let trap = Trap::new(&repo);
        arm(&repo, &trap);
        repo.write("one.txt", "eno\n"); // Same size, so that only the content tells.
        // A new time and the same content: git wants to note that in its index.
        let long_ago =
            std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        fs::File::open(repo.path("two.txt"))
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        trap.sprung();
        look(&repo);
        assert!(!trap.sprung(), "{name} ran");
        repo.try_git(&["status"]);
        assert!(
            trap.sprung(),
            "{name} is no trap: git itself did not run it"
        );
    }
}

#[test]
fn a_missing_object_is_never_fetched() {
    let repo = Repo::init();
    repo.commit("one");
    repo.commit("two");
    let trap = Trap::new(&repo);
    fs::write(
        &trap.script,
        format!("#!/bin/sh\ntouch '{}'\n", trap.marker.display()),
    )
    .unwrap(); // Answers nothing.
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", "ssh://host.invalid/x"),
        ("remote.origin.promisor", "true"),
        ("core.sshCommand", trap.script.as_str()),
    ] {
        repo.git(&["config", key, value]);
    }
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    repo.write("staged.txt", "x");
    repo.git(&["add", "staged.txt"]);
    fs::remove_file(repo.path(&format!(".git/objects/{}/{}", &tree[..2], &tree[2..]))).unwrap();
    let worktree = Worktree::open(repo.root()).unwrap();
    let commits = worktree.commits_since(&worktree.resolve("HEAD~1").unwrap(), None);
    assert!(
        commits.unwrap_err().to_string().contains(&tree),
        "what cannot be compared is unknown"
    );
    assert!(worktree.changes().unwrap_err().to_string().contains(&tree));
    assert!(
        worktree
            .commits_since(&HistoryPoint::Commit("1".repeat(40)), None)
            .is_err()
    );
    assert!(!trap.sprung(), "a fetch was tried");
    repo.try_git(&["status"]);
    assert!(trap.sprung(), "no trap: git itself did not fetch");
}

#[test]
fn skipped_filters_are_mentioned_if_relevant() {
    let repo = Repo::init();
    repo.commit("one");
    repo.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    let codes = |repo: &Repo| {
        Worktree::open(repo.root())
            .unwrap()
            .changes()
            .unwrap()
            .degraded
            .iter()
            .map(|d| d.code.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(&repo), [""; 0]);
    repo.write("one.txt", "eno\n");
    assert_eq!(codes(&repo), ["ignored_filters"]);
}

/// Not a test by itself: prints what is seen at `WATCHDOG_TEST_LOOK`, for tests that need another process.
#[test]
#[ignore = "run by other tests, in an environment of their making"]
fn look_from_a_process_of_its_own() {
    let Some(path) = std::env::var_os("WATCHDOG_TEST_LOOK") else {
        return;
    };
    watchdog_system::ask_git_with(watchdog_process::git_program::ask_git_config);
    match Worktree::open(path.as_ref()) {
        Err(error) => println!("\nsaw {error}"),
        Ok(worktree) => match worktree.changes() {
            Err(error) => println!("\nsaw {error}"),
            Ok(changes) => {
                let notes: Vec<String> = changes
                    .degraded
                    .iter()
                    .map(|note| format!("{}: {}", note.code, note.detail))
                    .collect();
                println!(
                    "\nsaw {} {} {:?} {notes:?}",
                    worktree.root().display(),
                    changes.total(),
                    changes.paths
                );
            }
        },
    }
}

/// What a process sees at the repository that `adjust` prepared.
fn seen_by(repo: &Repo, adjust: impl FnOnce(&mut Command)) -> String {
    // Another user may not be able to enter the build folder.
    let (here, program) = (
        std::env::current_exe().unwrap(),
        repo.root().parent().unwrap().join("looker"),
    );
    if !program.exists() {
        fs::hard_link(&here, &program)
            .or_else(|_| fs::copy(&here, &program).map(drop))
            .unwrap();
    }
    fs::set_permissions(
        repo.root().parent().unwrap(),
        PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let mut command = Command::new(program);
    hermetic(&mut command, repo.root().parent().unwrap());
    command.args(fill_line(
        "--exact git_hostile::look_from_a_process_of_its_own --ignored --nocapture",
        &[],
    ));
    command
        .env("WATCHDOG_TEST_LOOK", repo.root())
        .current_dir("/");
    adjust(&mut command);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .find_map(|line| line.strip_prefix("saw "))
        .unwrap_or_else(|| panic!("{output:?}"))
        .to_string()
}

#[test]
fn the_environment_of_a_hook_leads_nowhere_else() {
    let repo = Repo::init();
    repo.commit("one");
    let other = repo.at("other");
    repo.git(&["init", "-q", "../other"]);
    let saw = seen_by(&repo, |command| {
        for (name, value) in [
            ("GIT_DIR", other.path(".git")),
            ("GIT_WORK_TREE", other.root().to_owned()),
            ("GIT_INDEX_FILE", other.path(".git/index")),
            ("GIT_OBJECT_DIRECTORY", other.path(".git/objects")),
            ("GIT_COMMON_DIR", other.path(".git")),
            ("GIT_NAMESPACE", "x".into()),
            ("GIT_SHALLOW_FILE", other.path("none")),
            ("GIT_CONFIG_COUNT", "1".into()),
            ("GIT_CONFIG_KEY_0", "core.bare".into()),
            ("GIT_CONFIG_VALUE_0", "true".into()),
        ] {
            command.env(name, value);
        }
    });
    assert_eq!(saw, format!("{} 0 [] []", repo.root().display()));
}

#[test]
fn environment_settings_count_as_for_git() {
    let repo = Repo::init();
    repo.commit("one");
    repo.write("new.txt", "x");
    fs::write(repo.path(".git/more"), "new.txt\n").unwrap();
    let more = repo.path(".git/more").display().to_string();
    let ignored = format!("{} 0 [] []", repo.root().display());
    let include = repo.path(".git/include").display().to_string();
    let text = format!("[core]\n\texcludesFile = {more}\n\tbare = true\n[safe]\n\tdirectory = *\n");
    fs::write(&include, text).unwrap();
    let root = repo.root().display().to_string();
    let sees = |variables: &str| {
        let variables = variables
            .split(' ')
            .map(|pair| pair.split_once('=').unwrap());
        seen_by(&repo, |command| _ = command.envs(variables))
    };
    for variables in [
        format!("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.excludesFile GIT_CONFIG_VALUE_0={more}"),
        format!("GIT_CONFIG_PARAMETERS='core.excludesfile'='{more}'"),
        format!("GIT_CONFIG_PARAMETERS='include.path'='{include}'"),
        format!("GIT_CONFIG_PARAMETERS='includeIf.gitdir:{root}/.path'='{include}'"),
    ] {
        assert_eq!(sees(&variables), ignored, "{variables}");
    }
    assert!(sees("GIT_CONFIG_COUNT=x").contains("bogus count in GIT_CONFIG_COUNT"));
    if std::os::unix::fs::chown(repo.path(".git"), Some(12345), None).is_err() {
        return; // Only root can give files away.
    }
    std::os::unix::fs::chown(repo.root(), Some(12345), None).unwrap();
    for (is_safe, variables) in [
        (
            true,
            format!("GIT_CONFIG_PARAMETERS='safe.directory'='{root}'"),
        ),
        (
            true,
            format!("GIT_CONFIG_PARAMETERS='include.path'='{include}'"),
        ),
        (
            true,
            format!(
                "GIT_CONFIG_GLOBAL={more}.none GIT_CONFIG_SYSTEM={include} GIT_CONFIG_NOSYSTEM=0"
            ),
        ),
        (true, format!("GIT_CONFIG_GLOBAL={include}")),
        (
            false,
            format!("GIT_CONFIG_GLOBAL={include} GIT_CONFIG_PARAMETERS='safe.directory='"),
        ),
    ] {
        let is_refused = sees(&variables).contains("owned by another user");
        assert_eq!(is_refused, !is_safe, "{variables}");
    }
}

#[test]
fn current_directory_never_narrows_the_view() {
    let repo = Repo::init();
    repo.commit_file("sub/one", "x\n", "one");
    repo.write("staged.txt", "x");
    repo.git(&["add", "staged.txt"]);
    repo.write("new.txt", "x");
    let saw = seen_by(&repo, |command| {
        command
            .current_dir(repo.path("sub"))
            .env("GIT_PREFIX", "sub/");
    });
    assert_eq!(
        saw,
        format!(
            "{} 2 [\"new.txt\", \"staged.txt\"] []",
            repo.root().display()
        )
    );
}

#[test]
fn programs_behind_too_many_includes_are_refused() {
    for (includes, is_read) in [(62, true), (63, false)] {
        let repo = Repo::init();
        repo.commit("one");
        let config: String = (0..includes)
            .map(|n| format!("[include]\n\tpath = {n}\n"))
            .collect();
        for n in 0..includes {
            repo.write(
                &format!(".git/{n}"),
                if n == 0 {
                    "[filter \"x\"]\n\tsmudge = touch ran\n"
                } else {
                    ""
                },
            );
        }
        let own = fs::read_to_string(repo.path(".git/config")).unwrap();
        repo.write(".git/config", &format!("{own}{config}"));
        let overrides = Worktree::open(repo.root())
            .unwrap()
            .without_local_programs();
        let is_known = overrides
            .as_ref()
            .is_ok_and(|keys| keys.iter().any(|(key, _)| key == "filter.x.smudge"));
        assert_eq!(
            (overrides.is_ok(), is_known),
            (is_read, is_read),
            "{includes}: {overrides:?}"
        );
    }
}

#[test]
fn the_users_own_configuration_counts_wherever_it_is() {
    let repo = Repo::init();
    repo.commit("one");
    repo.write("x.log", "x");
    let folder = repo.root().parent().unwrap().to_owned();
    fs::write(folder.join("ignore"), "*.log\n").unwrap();
    let config = format!(
        "[core]\n\texcludesFile = {}\n",
        folder.join("ignore").display()
    );
    assert!(seen_by(&repo, |_| {}).contains(" 1 [\"x.log\"]"));
    fs::write(folder.join("elsewhere"), &config).unwrap();
    let moved = |name: &'static str| {
        seen_by(&repo, |command| {
            command
                .env(name, folder.join("elsewhere"))
                .env_remove("GIT_CONFIG_NOSYSTEM");
        })
    };
    assert!(moved("GIT_CONFIG_GLOBAL").contains(" 0 []"));
    assert!(moved("GIT_CONFIG_SYSTEM").contains(" 0 []"));
    fs::write(folder.join(".gitconfig"), &config).unwrap();
    assert!(
        seen_by(&repo, |command| {
            command.env_remove("GIT_CONFIG_GLOBAL");
        })
        .contains(" 0 []")
    );
}

/// Whether this process may become another user, which some tests need.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn unreadable_folder_is_named_and_hides_no_others() {
    if !is_root() {
        return;
    }
    let repo = Repo::init();
    repo.commit("one");
    repo.commit_file("closed/tracked.txt", "x\n", "two");
    repo.write("closed/new.txt", "x");
    repo.write("shut.txt", "x");
    repo.commit("three");
    repo.write("three.txt", "eerht\n");
    repo.write("open/new.txt", "x");
    let (user, nobody) = (Some(65534), 65534);
    for path in repo
        .git(&["ls-files", "-o", "-c"])
        .lines()
        .map(String::from)
        .chain(["", ".git", "closed", "open"].map(String::from))
    {
        std::os::unix::fs::chown(repo.path(&path), user, None).unwrap();
    }
    fs::set_permissions(repo.path("closed"), PermissionsExt::from_mode(0o000)).unwrap();
    fs::set_permissions(repo.path("three.txt"), PermissionsExt::from_mode(0o000)).unwrap();
    let saw = seen_by(&repo, |command| {
        command.uid(nobody).gid(nobody);
    });
    fs::set_permissions(repo.path("closed"), PermissionsExt::from_mode(0o755)).unwrap();
    for part in [
        "\"closed/tracked.txt\"",
        "\"open/new.txt\"",
        "\"shut.txt\"",
        "\"three.txt\"",
        "unreadable_path",
        "'closed' could not",
        "'three.txt' could not",
    ] {
        assert!(saw.contains(part), "{part} is not in: {saw}");
    }
}

#[test]
fn gate_is_off_however_it_was_switched() {
    let husky = ".husky/_";
    let rows = [
        ("", "git gc -q; git config core.hooksPath .git/hooks", ""),
        (
            "",
            "cp -r .git/hooks more; git config core.hooksPath more",
            "",
        ),
        ("", "git config core.hooksPath /dev/null", "hooks_path"),
        ("", "git config core.hooksPath ''", "hooks_path"),
        (
            "",
            "git config extensions.worktreeConfig true; git config --worktree core.hooksPath x",
            "hooks_path",
        ),
        (
            "",
            "git config -f .git/x core.hooksPath x; git config includeIf.onbranch:main.path x",
            "hooks_path",
        ),
        ("", "rm .git/hooks/pre-commit", "removed"),
        ("", "mv .git/hooks .git/h", "removed"),
        ("", "chmod -x .git/hooks/pre-commit", "not_executable"),
        ("", ": > .git/hooks/pre-commit", "emptied"),
        (
            "",
            "printf 'set -e\nexit 0\nmake\n' > .git/hooks/pre-commit",
            "emptied",
        ),
        ("", "ln -sf /bin/sh .git/hooks/pre-commit", "changed"),
        (
            "",
            "rm .git/hooks/pre-commit; mkfifo .git/hooks/pre-commit",
            "unreadable",
        ),
        (
            husky,
            "git add -f .husky; git commit -q -n -m x; rm .husky/_/pre-push",
            "",
        ),
        (husky, "git config --unset core.hooksPath", "hooks_path"),
        (husky, "rm .husky/pre-commit", "removed"),
        (husky, "echo exit 0 > .husky/pre-commit", "emptied"),
        (husky, "echo exit 0 > .husky/_/h", "changed"),
        ("", "echo exit 0 > tools/lint.sh", "changed"),
        ("", "rm tools/own.sh", "changed"),
        (husky, "echo '// nothing' > tools/types.js", "changed"),
        ("", "sed -i 's/node .*js/true/' package.json", "changed"),
        ("", "sed -i 's/sh tools/: tools/' Makefile", "changed"),
        (
            "",
            "echo more >> base.txt; echo 'more: base.txt' >> Makefile; sed -i s/1/2/ package.json",
            "",
        ),
    ];
    for (folder, session, expected) in rows {
        let repo = Repo::init();
        repo.commit_file("base.txt", "base\n", "base");
        repo.commit_file("tools/lint.sh", "grep -q x base.txt\n", "base");
        repo.commit_file("tools/own.sh", "#!/bin/sh\ngrep -q y base.txt\n", "base");
        repo.commit_file("tools/types.js", "process.exit(1)\n", "base");
        repo.commit_file(
            "Makefile",
            "test: lint\nlint:\n\t@sh tools/lint.sh\n",
            "base",
        );
        let package = r#"{"dependencies":{"a":"1"},"scripts":{"types":"node tools/types.js"}}"#;
        repo.commit_file("package.json", package, "base");
        let run = |line: &str| {
            let mut command = Command::new("sh");
            command.args(["-ec", line]).current_dir(repo.root());
            hermetic(&mut command, repo.root().parent().unwrap());
            assert!(command.status().unwrap().success(), "{line}");
        };
        let hook = match folder {
            "" => ".git/hooks/pre-commit",
            _ => ".husky/pre-commit",
        };
        run("mkdir -p .git/hooks .husky/_; touch .husky/_/h");
        repo.write(
            hook,
            "#!/bin/sh\nmake -s test\nnpm run types\n\"$(pwd)/tools/own.sh\"\n",
        );
        run(&format!("chmod +x {hook}"));
        if folder == husky {
            run(
                "for hook in pre-commit pre-push; do echo '. \"${0%/*}/h\"' > .husky/_/$hook; done",
            );
            run("chmod +x .husky/_/pre-*; git config core.hooksPath .husky/_");
        }
        let worktree = Worktree::open(repo.root()).unwrap();
        let recorded = worktree.read_gate_hooks();
        let names: Vec<_> = recorded.hooks.keys().collect();
        assert_eq!(names, ["pre-commit"], "{session}");
        run(session);
        // The same opened worktree: a session of `run` is judged by it.
        let gates_off = worktree.compare_gate_hooks(&recorded);
        let how: Vec<_> = gates_off.iter().map(|off| off.how.as_str()).collect();
        assert_eq!(how.join(" "), expected, "{session}: {gates_off:?}");
    }
}
