//! Completions in the real shells: bash and zsh in a terminal, with the Tab key pressed; fish by its own `complete -C`.

use crate::support::{Repo, TestEnv};

/// Types a line into an interactive shell, presses Tab so often, and prints the line that the shell then has.
const TYPIST: &str = r#"
zmodload zsh/zpty
shell=$1 line=$2 tabs=$3
case $shell in
    bash)
        zpty -b it "bash --norc --noprofile -i"
        setup="PS1=; source <(watchdog completions bash); bind 'set enable-bracketed-paste off' 'TAB:menu-complete'"
        setup+="; bind -x '\"\\C-g\": printf \"<<%s>>\" \"\$READLINE_LINE\"'; echo RE''ADY"
        ;;
    zsh)
        zpty -b it "zsh -f -i"
        setup="PS1=; autoload -U compinit; compinit -d \"\$HOME/.zcompdump\" -u; source <(watchdog completions zsh); setopt menu_complete"
        setup+="; show() { print -rn -- \"<<\$BUFFER>>\" }; zle -N show; bindkey '^G' show; bindkey '^I' complete-word; zle-line-init() { print -rn RE''ADY }; zle -N zle-line-init"
        ;;
esac
zpty -w it "$setup"
zpty -r it out '*READY*'
zpty -wn it "$line"
repeat $tabs; do zpty -wn it $'\t'; done
zpty -wn it $'\a'
zpty -r it out '*<<*>>*'
out=${out##*<<}
print -rn -- "${out%%>>*}"
zpty -d it
"#;

fn typed(repo: &Repo<'_>, shell: &str, line: &str, tabs: u32) -> String {
    repo.env_command(
        "zsh",
        &["-f", "-c", TYPIST, "typist", shell, line, &tabs.to_string()],
    )
    .run()
    .expect(0)
    .stdout
    .trim_end()
    .to_owned()
}

fn offered_by_fish(repo: &Repo<'_>, line: &str) -> Vec<String> {
    let script = format!("watchdog completions fish | source; complete -C '{line}'");
    let out = repo
        .env_command("fish", &["--no-config", "-c", &script])
        .run()
        .expect(0);
    assert_eq!(out.stderr, "", "{line}");
    out.stdout
        .lines()
        .map(|line| line.split('\t').next().unwrap_or_default().to_owned())
        .collect()
}

/// A repository with specs, one snapshot and two tasks.
fn repository(env: &TestEnv) -> Repo<'_> {
    env.install(
        "watchdog",
        std::path::Path::new(env!("CARGO_BIN_EXE_watchdog")),
    );
    let repo = env.repo();
    for spec in ["alpha", "my spec", "it$5", "feat:log in"] {
        repo.watchdog(&["snapshot", "--spec", spec]).expect(0);
    }
    repo.write("work.txt", "kept\n");
    repo.watchdog(&["check", "--spec", "alpha", "--no-probe", "--no-rescue"])
        .expect(10);
    let events = repo.watchdog(&["events", "--json"]).expect(0).stdout;
    let event: serde_json::Value =
        serde_json::from_str(events.lines().next().expect("an event")).expect("JSON");
    let folder = env
        .state()
        .join("logs")
        .join(event["worktree"].as_str().expect("a worktree"));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    std::fs::write(folder.join("20260304T050607.000Z.log"), "hello\n")
        .expect("a file can be written");
    repo.write(
        ".watchdog/tasks/a.md",
        "---\nid: T1\ntitle: Log in\n---\nDo it.\n",
    );
    repo.write("Makefile", "test:\n\ttrue\n");
    repo.write(
        ".watchdog/tasks/b.md",
        "---\nid: T2\ntitle: Log out\n---\nDo it.\n",
    );
    repo
}

#[test]
fn bash_and_zsh_complete_what_the_worktree_knows() {
    let env = TestEnv::new();
    let repo = repository(&env);
    let id = repo
        .watchdog(&["rescue", "list", "--json"])
        .expect(0)
        .json()["snapshots"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    for shell in ["bash", "zsh"] {
        for (line, tabs, expected) in [
            ("watchdog check --spec al", 1, "watchdog check --spec alpha"),
            ("watchdog logs al", 1, "watchdog logs alpha"),
            (
                "watchdog logs --follow 2026",
                1,
                "watchdog logs --follow 20260304T050607.000Z",
            ),
            ("watchdog check --spec=al", 1, "watchdog check --spec=alpha"),
            (
                "watchdog check --spec my",
                1,
                "watchdog check --spec my\\ spec",
            ),
            (
                "watchdog check --spec 'my",
                1,
                "watchdog check --spec 'my spec'",
            ),
            (
                "watchdog check --spec it",
                1,
                "watchdog check --spec it\\$5",
            ),
            (
                "watchdog check --spec feat:l",
                1,
                "watchdog check --spec feat:log\\ in",
            ),
            (
                "watchdog check --spec=feat:l",
                1,
                "watchdog check --spec=feat:log\\ in",
            ),
            ("watchdog rescue show la", 1, "watchdog rescue show latest"),
            (
                "watchdog rescue show ",
                2,
                &format!("watchdog rescue show {id}"),
            ),
            (
                "watchdog rescue list --spec ",
                1,
                "watchdog rescue list --spec alpha",
            ),
            ("watchdog task run ", 1, "watchdog task run T1"),
            ("watchdog task run ", 2, "watchdog task run T2"),
            (
                "watchdog task list --status complete,pend",
                1,
                "watchdog task list --status complete,pending",
            ),
            ("watchdog init --try=te", 1, "watchdog init --try=tests"),
            // Neither files nor names of another worktree.
            (
                "watchdog -C .. check --spec ",
                1,
                "watchdog -C .. check --spec",
            ),
            ("watchdog check --spec wor", 1, "watchdog check --spec wor"),
            // What the shells knew before.
            ("watchdog stat", 1, "watchdog status"),
            ("watchdog trust wor", 1, "watchdog trust work.txt"),
        ] {
            // A completion gives up after half a second, which a busy machine may need.
            let mut tries = std::iter::repeat_with(|| typed(&repo, shell, line, tabs)).take(20);
            let mut last = String::new();
            let comes = tries.any(|typed| {
                last = typed;
                last == expected
            });
            assert!(comes, "{shell}: {line}: {last}, not {expected}");
        }
    }
}

#[test]
fn fish_completes_what_the_worktree_knows() {
    let env = TestEnv::new();
    let repo = repository(&env);
    let offered = |line: &str| offered_by_fish(&repo, line);
    assert_eq!(offered("watchdog check --spec a"), ["alpha"]);
    assert_eq!(
        offered("watchdog check --spec="),
        [
            "--spec=alpha",
            "--spec=feat:log in",
            "--spec=it$5",
            "--spec=my spec"
        ]
    );
    assert_eq!(offered("watchdog rescue show ").len(), 2);
    assert_eq!(offered("watchdog rescue show la"), ["latest"]);
    assert_eq!(offered("watchdog task run "), ["T1", "T2"]);
    assert_eq!(offered("watchdog task set T1 comp"), ["complete"]);
    assert_eq!(offered("watchdog task list --status pend"), ["pending"]);
    assert_eq!(offered("watchdog init --dry-run --try "), ["tests"]);
    assert_eq!(offered("watchdog help exi"), ["exit-codes"]);
    assert_eq!(offered("watchdog help rescue rest"), ["restore"]);
    assert_eq!(
        offered("watchdog man completion"),
        ["completions", "completion.json"]
    );
    assert_eq!(offered("watchdog --color ne"), ["never"]);
    assert_eq!(offered("watchdog events --kind verd"), ["verdict"]);
    assert_eq!(offered("watchdog status --only no"), ["not_judged"]);
    assert_eq!(offered("watchdog loop --agent cod"), ["codex"]);
    assert_eq!(offered("watchdog schema verd"), ["verdict"]);
    assert_eq!(
        offered("watchdog sweep --only no_baseline,go"),
        ["no_baseline,gone"]
    );
    assert!(offered("watchdog -C .. check --spec ").is_empty());
    assert!(offered("watchdog check --sp").contains(&"--spec".to_owned()));
    assert_eq!(offered("watchdog stat"), ["status"]);
}

#[test]
fn reftable_names_are_completed_through_git() {
    let env = TestEnv::new();
    env.install(
        "watchdog",
        std::path::Path::new(env!("CARGO_BIN_EXE_watchdog")),
    );
    let path = env.root().join("tables");
    std::fs::create_dir_all(&path).expect("the scratch folder takes folders");
    let repo = Repo::new(&env, path);
    repo.git(&["init", "-q", "-b", "main", "--ref-format=reftable"]);
    repo.write("README.md", "# a project\n");
    repo.commit_all("start");
    repo.watchdog(&["snapshot", "--spec", "alpha"]).expect(0);
    repo.write("work.txt", "kept\n");
    repo.watchdog(&["check", "--spec", "alpha", "--no-probe", "--no-rescue"])
        .expect(10);
    let offered = |words: &[&str]| {
        repo.watchdog(&[&["complete", "--", "watchdog"], words].concat())
            .expect(0)
            .stdout
    };
    assert!(offered(&["check", "--spec", ""]).starts_with("alpha\tsince "));
    assert!(offered(&["rescue", "list", "--spec", "a"]).starts_with("alpha"));
    assert_eq!(offered(&["rescue", "show", ""]).lines().count(), 2);
    assert_eq!(
        std::fs::read_dir(env.state().join("served"))
            .map(Iterator::count)
            .ok(),
        Some(0),
        "nothing of it stays"
    );
    assert_eq!(
        typed(&repo, "bash", "watchdog check --spec al", 1),
        "watchdog check --spec alpha"
    );
}

#[test]
fn completion_is_quiet_and_writes_no_files() {
    let mut env = TestEnv::new();
    let state = env.root().join("no-state");
    env.set("WATCHDOG_STATE_DIR", &state);
    let repo = env.repo();
    repo.write(".watchdog/tasks/bad.md", "---\nid: [\n---\n");
    for (folder, words) in [
        (env.root(), ["task", "run", ""]),
        (env.root(), ["check", "--spec", ""]),
        (repo.path().to_owned(), ["task", "run", ""]),
        (repo.path().to_owned(), ["rescue", "show", ""]),
        (repo.path().to_owned(), ["check", "--spec", ""]),
    ] {
        let out = env
            .watchdog_command(&folder, &["complete", "--", "watchdog"])
            .args(words)
            .run()
            .expect(0);
        assert_eq!(
            (out.stdout.as_str(), out.stderr.as_str()),
            ("", ""),
            "{words:?}"
        );
    }
    let other = env
        .watchdog(repo.path(), &["complete", "--", "watchdog", "check", ""])
        .expect(1);
    assert_eq!((other.stdout.as_str(), other.stderr.as_str()), ("", ""));
    assert!(!state.exists());
}
