//! `watchdog status --watch`, as a person uses it: in a real terminal, by keys, with real worktrees; and in a pipe.

use std::fs;
use std::time::Duration;

use regex::Regex;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    AtTerminal, Repo, TestEnv, fill_line, full_screen, is_stopped, keys, wait_until,
};

const XTERM: &str = "xterm-256color";
const PATIENCE: Duration = Duration::from_secs(60);
const TAB: &str = "\t";

/// The view at a terminal of so many columns and 40 rows.
struct LiveTerminal {
    at: AtTerminal,
    size: (usize, usize),
}

impl LiveTerminal {
    fn open(env: &TestEnv, columns: u16, args: &[&str]) -> Self {
        let run = env.watchdog_command(&env.root(), &[&["status", "--watch"], args].concat());
        LiveTerminal {
            at: run.at_terminal_of(columns, XTERM),
            size: (columns.into(), 40),
        }
    }

    fn lines(&self) -> Vec<String> {
        full_screen(&self.at.shown(), self.size).unwrap_or_default()
    }

    /// Waits until a line of the screen has all of these words; returns it.
    #[track_caller]
    fn line(&self, words: &[&str]) -> String {
        let mut found = None;
        let what = format!("a line has {words:?}");
        wait_until(&what, PATIENCE, || {
            found = self
                .lines()
                .into_iter()
                .find(|line| words.iter().all(|word| line.contains(word)));
            found.is_some()
        });
        found.unwrap_or_default()
    }

    /// Waits until no line has these words.
    #[track_caller]
    fn gone(&self, words: &str) {
        wait_until(&format!("{words:?} is gone"), PATIENCE, || {
            let lines = self.lines();
            !lines.is_empty() && !lines.iter().any(|line| line.contains(words))
        });
    }

    fn press(&mut self, keys: &[&str]) -> &mut Self {
        self.at.press(keys);
        self
    }

    /// Waits for its end, and that the terminal is as it was.
    #[track_caller]
    fn ended(self, code: i32) -> String {
        wait_until("the terminal is as it was", PATIENCE, || {
            let shown = self.at.shown();
            let (taken, left) = (shown.rfind("\x1b[?1049h"), shown.rfind("\x1b[?1049l"));
            taken < left
                && shown.rfind("\x1b[?25l") < shown.rfind("\x1b[?25h")
                && self.at.has_line_mode()
        });
        let (ended, shown) = self.at.wait();
        assert_eq!(ended, code, "{shown}");
        shown
    }
}

fn watched<'env>(env: &'env TestEnv, name: &str) -> Repo<'env> {
    let repo = env.repo_named(name);
    repo.watchdog(&["snapshot"]).expect(0);
    repo
}

fn verdicts(repo: &Repo<'_>) -> usize {
    repo.watchdog(&["events", "--kind", "verdict", "--json"])
        .expect(0)
        .stdout
        .lines()
        .count()
}

#[test]
fn live_view_lists_worktrees_and_restores_the_terminal() {
    let env = TestEnv::new();
    let (alpha, _beta) = (watched(&env, "alpha"), watched(&env, "beta"));
    alpha.write("new.txt", "new");
    alpha.commit_all("feat: new");
    alpha.watchdog(&["check", "--no-probe"]).expect(0);
    alpha.write("unsaved.txt", "unsaved");
    let mut live = LiveTerminal::open(&env, 80, &[]);
    live.line(&["complete", "alpha", " 1       1 "]);
    live.line(&["not judged", "beta", " 0       0 "]);
    live.line(&["2 worktrees"]);
    live.press(&["/", "alp"]);
    live.gone("/beta");
    live.press(&[keys::ENTER, keys::ENTER]);
    live.line(&["[1 timeline]"]);
    live.line(&["complete (new_commits)"]);
    live.press(&[TAB, TAB]);
    live.line(&["[3 verdict]"]);
    live.line(&["feat: new (made here)"]);
    live.press(&["5"]);
    live.line(&["no tasks in"]);
    live.press(&[keys::ESCAPE]);
    live.line(&["Esc shows all"]);
    live.press(&[keys::ESCAPE]);
    live.line(&["not judged", "beta"]);
    live.press(&["q"]);
    live.ended(0);
}

#[test]
fn live_action_happens_only_when_confirmed() {
    let env = TestEnv::new();
    let repo = watched(&env, "alpha");
    repo.write("new.txt", "new");
    repo.commit_all("feat: new");
    let mut live = LiveTerminal::open(&env, 100, &[]);
    live.line(&["not judged", "alpha"]);
    live.press(&["a"]);
    live.line(&["> 1 judge now"]);
    live.press(&[keys::ENTER]);
    live.line(&["judge now?"]);
    live.line(&["watchdog -C", "check --once --spec main"]);
    live.press(&[keys::ENTER, "n"]);
    live.gone("judge now?");
    live.press(&["a", keys::ENTER]);
    live.line(&["judge now?"]);
    live.press(&[keys::ESCAPE]);
    live.gone("judge now?");
    assert_eq!(verdicts(&repo), 0, "nothing was confirmed");
    live.press(&["a", keys::ENTER]);
    live.line(&["judge now?"]);
    live.press(&["y"]);
    live.line(&["judge now: exit code 0"]);
    live.line(&["complete (new_commits)"]);
    assert_eq!(verdicts(&repo), 1);
    live.press(&[keys::ESCAPE]);
    live.line(&["complete", "alpha"]);
    live.press(&[keys::CTRL_C]);
    live.ended(130);
}

#[test]
fn trust_shows_commands_and_refuses_a_changed_file() {
    let env = TestEnv::new();
    let repo = watched(&env, "alpha");
    let config = |run: &str| {
        format!(
            "{{\"version\": 1, \"checks\": [{{\"type\": \"command\", \"name\": \"t\", \"run\": \"{run}\"}}]}}"
        )
    };
    repo.write("completion.json", config("make all-of-it"));
    let mut live = LiveTerminal::open(&env, 100, &[]);
    let confirm = |live: &mut LiveTerminal| {
        live.line(&["not judged", "alpha"]);
        live.press(&["a", "3"]);
    };
    confirm(&mut live);
    live.line(&["make all-of-it"]);
    repo.write("completion.json", config("make something-else"));
    live.press(&["y"]);
    live.line(&["The file changed while you read it"]);
    live.press(&["q"]);
    live.gone("The file changed");
    assert_eq!(
        repo.watchdog(&["trust", "--list"]).expect(0).stdout,
        "nothing is trusted\n"
    );
    confirm(&mut live);
    live.line(&["make something-else"]);
    live.press(&["y"]);
    live.line(&["trust completion.json: exit code 0"]);
    repo.watchdog(&["trust", "--list"])
        .expect(0)
        .assert_printed(&["completion.json"]);
    live.at.signal(Signal::TERM);
    live.ended(143);
}

#[test]
fn running_session_is_seen_with_its_output() {
    let env = TestEnv::new();
    let repo = env.repo_named("alpha");
    let script = "echo reading the tests; while [ ! -e go ]; do sleep 0.05; done; echo work > w; git add w; git commit -q -m work";
    let run = repo.watchdog_spawn(&["run", "--no-probe", "--", "sh", "-c", script]);
    let mut live = LiveTerminal::open(&env, 120, &[]);
    let row = live.line(&["running", "alpha", "reading the tests"]);
    assert!(
        Regex::new(r"\d:\d\d ").expect("a pattern").is_match(&row),
        "{row}"
    );
    live.press(&[keys::ENTER, "2"]);
    live.line(&["[2 output]"]);
    wait_until("the output is shown", PATIENCE, || {
        live.lines().iter().any(|line| line == "reading the tests")
    });
    fs::write(repo.path().join("go"), "").expect("the worktree takes files");
    run.wait().expect(0);
    live.press(&[keys::ESCAPE]);
    live.line(&["complete", "alpha"]);
    live.press(&["q"]);
    live.ended(0);
}

#[test]
fn live_view_shows_and_restores_a_snapshot() {
    let env = TestEnv::new();
    let repo = watched(&env, "alpha");
    let _kept = repo.watchdog_line(
        "run --no-probe --no-rescue -- sh -c {}",
        &["echo half of it > half.txt"],
    );
    let mut live = LiveTerminal::open(&env, 120, &[]);
    live.line(&["alpha"]);
    live.press(&[keys::ENTER, "4"]);
    live.line(&["> ", "1 file"]);
    live.press(&[keys::ENTER]);
    live.line(&["+half of it"]);
    live.press(&["a"]);
    live.line(&["> 1 restore this snapshot"]);
    live.press(&[keys::ENTER]);
    live.line(&["on the new branch restored/"]);
    live.press(&["y"]);
    live.line(&["restore this snapshot: exit code 0"]);
    assert!(
        repo.git(&["branch", "--list", "restored/*"])
            .contains("restored/")
    );
    live.press(&[keys::ESCAPE, keys::CTRL_C]);
    live.ended(130);
}

#[test]
fn resized_view_is_redrawn_even_when_small() {
    let env = TestEnv::new();
    watched(&env, "alpha");
    let mut live = LiveTerminal::open(&env, 120, &[]);
    live.line(&["STATE", "SPEC", "LAST LINE"]);
    live.at.resize_to(40, 10);
    live.size = (40, 10);
    wait_until("it fits", PATIENCE, || {
        let lines = live.lines();
        lines
            .iter()
            .any(|line| line.contains("STATE") && !line.contains("COMMITS"))
            && lines[9].contains("Enter open")
    });
    live.line(&["not judged", "alpha"]);
    live.press(&["?"]);
    live.line(&["keys"]);
    live.press(&["q", "q"]);
    live.ended(0);
}

#[test]
fn suspended_view_returns_the_terminal_and_redraws() {
    let env = TestEnv::new();
    watched(&env, "alpha");
    let mut live = LiveTerminal::open(&env, 80, &[]);
    live.line(&["not judged", "alpha"]);
    live.press(&["\x1a"]);
    wait_until("it is stopped", PATIENCE, || is_stopped(live.at.pid()));
    wait_until("the screen is given back", PATIENCE, || {
        live.lines().is_empty() && live.at.has_line_mode()
    });
    live.at.signal(Signal::CONT);
    live.line(&["not judged", "alpha"]);
    live.at.signal(Signal::TSTP);
    wait_until("it is stopped", PATIENCE, || is_stopped(live.at.pid()));
    live.at.signal(Signal::CONT);
    live.line(&["not judged", "alpha"]);
    live.at.signal(Signal::HUP);
    live.ended(129);
}

#[test]
fn no_colour_is_words_and_signs_alone() {
    let env = TestEnv::new();
    watched(&env, "alpha");
    let colour = Regex::new(r"\x1b\[[0-9;]*m").expect("a pattern");
    let resets = ["\x1b[0m", "\x1b[m", "\x1b[39m", "\x1b[49m", "\x1b[59m"];
    for (vars, args, coloured) in [
        (None, &[][..], true),
        (Some("1"), &[][..], false),
        (None, &["--color", "never"][..], false),
    ] {
        let run = env.watchdog_command(&env.root(), &[&["status", "--watch"], args].concat());
        let run = vars.map_or_else(
            || env.watchdog_command(&env.root(), &[&["status", "--watch"], args].concat()),
            |value| run.env("NO_COLOR", value),
        );
        let mut live = LiveTerminal {
            at: run.at_terminal_of(80, XTERM),
            size: (80, 40),
        };
        live.line(&[">", "not judged", "alpha"]);
        live.press(&["q"]);
        let shown = live.ended(0);
        let styled: Vec<&str> = colour
            .find_iter(&shown)
            .map(|found| found.as_str())
            // These set back what was never set.
            .filter(|found| !resets.contains(found))
            .collect();
        assert_eq!(
            !styled.is_empty(),
            coloured,
            "{vars:?} {args:?}: {styled:?}"
        );
    }
}

#[test]
fn empty_view_hints_and_awaits_the_store() {
    let env = TestEnv::new();
    let mut live = LiveTerminal::open(&env, 80, &[]);
    live.line(&["No worktree has a recorded baseline"]);
    live.line(&["watchdog -C WORKTREE snapshot"]);
    let away = env.root().join("away");
    fs::rename(env.state(), &away).expect("it can be moved");
    fs::write(env.state(), "no folder").expect("a file takes its place");
    live.line(&["cannot read the records, trying again"]);
    fs::remove_file(env.state()).expect("it can be removed");
    fs::rename(&away, env.state()).expect("it can be moved back");
    live.gone("cannot read the records");
    watched(&env, "alpha");
    live.line(&["not judged", "alpha"]);
    live.press(&["q"]);
    live.ended(0);
}

#[test]
fn pipe_gets_a_line_per_worktree_and_change() {
    let env = TestEnv::new();
    let (alpha, _beta) = (watched(&env, "alpha"), watched(&env, "beta"));
    let run = env
        .watchdog_command(&env.root(), &["status", "--watch"])
        .timeout(PATIENCE)
        .spawn();
    wait_until("both are there", PATIENCE, || {
        run.stdout_so_far().lines().count() == 2
    });
    alpha.write("new.txt", "new");
    alpha.commit_all("feat: new");
    alpha.watchdog(&["check", "--no-probe"]).expect(0);
    let last = || {
        run.stdout_so_far()
            .lines()
            .last()
            .map(str::to_owned)
            .unwrap_or_default()
    };
    wait_until("the change is told", PATIENCE, || {
        last().contains("+ complete") && last().contains("/alpha [main]")
    });
    run.signal(Signal::INT);
    let out = run.wait().expect(130);
    assert!(
        !out.stdout.contains('\x1b') && !out.stderr.contains('\x1b'),
        "{out}"
    );
    let time = Regex::new(r"^\d\d:\d\d:\d\d  . ").expect("a pattern");
    assert!(out.stdout.lines().all(|line| time.is_match(line)), "{out}");
}

#[test]
fn json_watch_prints_changes_until_its_reader_leaves() {
    let env = TestEnv::new();
    let alpha = watched(&env, "alpha");
    let run = env
        .watchdog_command(&env.root(), &["status", "--watch", "--json"])
        .timeout(PATIENCE)
        .spawn();
    let objects = || {
        run.stdout_so_far()
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
            .collect::<Vec<_>>()
    };
    wait_until("it is there", PATIENCE, || objects().len() == 1);
    let _judged = alpha.watchdog(&["check", "--no-probe"]);
    wait_until("the change is told", PATIENCE, || objects().len() == 2);
    let told = objects();
    assert!(
        told.iter().all(|object| object["schema"] == 1
            && object["worktrees"]
                .as_array()
                .is_some_and(|rows| rows.len() == 1)),
        "{told:?}"
    );
    assert_eq!(
        (
            &told[0]["worktrees"][0]["judged_at"],
            &told[1]["worktrees"][0]["status"]
        ),
        (&Value::Null, &Value::from("incomplete"))
    );
    run.signal(Signal::TERM);
    run.wait().expect(143);
    let script = format!(
        "'{}' status --watch | head -n 1",
        env!("CARGO_BIN_EXE_watchdog")
    );
    let out = env
        .command("sh", &env.root())
        .args(["-c", &script])
        .timeout(PATIENCE)
        .run()
        .expect(0);
    assert_eq!(
        (out.stdout.lines().count(), out.stderr.as_str()),
        (1, ""),
        "{out}"
    );
}

#[test]
fn dumb_terminals_and_screen_readers_get_plain_lines() {
    let env = TestEnv::new();
    watched(&env, "alpha");
    for (args, term) in [
        (&["status", "--watch"][..], "dumb"),
        (&["status", "--watch", "--plain", "--color", "never"], XTERM),
    ] {
        let mut at = env
            .watchdog_command(&env.root(), args)
            .at_terminal_of(80, term);
        at.wait_for("not judged");
        at.signal(Signal::INT);
        let (code, shown) = at.wait();
        assert_eq!(code, 130, "{shown}");
        assert!(
            !shown.contains("\x1b[?") && !shown.contains("\x1b[2J") && !shown.contains("\x1b[H"),
            "{shown:?}"
        );
    }
}

#[test]
fn loop_stopped_from_the_view_can_be_resumed() {
    let env = TestEnv::new();
    let repo = env.repo_named("alpha");
    let args = fill_line(
        "loop --max-iterations 5 --no-probe --grace 0s -- sh -c {}",
        &["echo reading; sleep 600"],
    );
    let looped = repo.watchdog_command(&args).timeout(PATIENCE).spawn();
    let mut live = LiveTerminal::open(&env, 120, &[]);
    live.line(&["* loop 1/5", "alpha", "reading"]);
    live.press(&["a"]);
    live.line(&["> 1 pause the loop"]);
    live.line(&[&format!("kill -USR1 {}", looped.pid())]);
    live.press(&["j"]);
    live.line(&["> 2 end the loop"]);
    live.line(&[&format!("kill -TERM {}", looped.pid())]);
    live.press(&[keys::ENTER]);
    live.line(&["it resumes at iteration 1"]);
    live.press(&["y"]);
    live.line(&["end the loop: exit code 0"]);
    let ended = looped.wait();
    assert_ne!(ended.code, Some(0), "{ended}");
    live.press(&["q"]);
    live.gone("loop 1/5");
    live.press(&["q"]);
    live.ended(0);
}

#[test]
fn view_pauses_a_loop_after_its_session_verdict() {
    let env = TestEnv::new();
    let repo = env.repo_named("alpha");
    let go = env.root().join("go");
    let session = format!(
        "echo reading; until test -e '{}'; do sleep 0.1; done; echo 1 >> f; git add f; git commit -qm f",
        go.display()
    );
    env.write(
        "never.json",
        r#"{"checks": [{"type": "files", "paths": ["never"]}]}"#,
    );
    let config = env.root().join("never.json");
    let args = fill_line(
        "loop --config {} --no-probe -- sh -c {}",
        &[config.to_str().unwrap(), &session],
    );
    let looped = repo.watchdog_command(&args).timeout(PATIENCE).spawn();
    let mut live = LiveTerminal::open(&env, 120, &[]);
    live.line(&["* loop 1/", "alpha", "reading"]);
    live.press(&["a"]);
    live.line(&["> 1 pause the loop"]);
    live.press(&[keys::ENTER]);
    live.line(&["its session goes on and is judged"]);
    live.press(&["y"]);
    live.line(&["pause the loop: exit code 0"]);
    std::fs::write(&go, "").unwrap();
    let ended = looped.wait().expect(14);
    ended.assert_printed(&["paused between two iterations"]);
    live.press(&[keys::CTRL_C]);
    live.ended(130);
}

#[test]
fn mouse_option_lets_clicks_choose_and_open() {
    let env = TestEnv::new();
    let (_alpha, _beta) = (watched(&env, "alpha"), watched(&env, "beta"));
    let mut live = LiveTerminal::open(&env, 80, &["--mouse"]);
    live.line(&[">", "not judged"]);
    live.line(&["2 worktrees"]);
    wait_until("the second row is there", PATIENCE, || {
        live.lines()
            .get(3)
            .is_some_and(|line| line.contains("not judged"))
    });
    let click = "\x1b[<0;5;4M";
    live.press(&[click]);
    wait_until("the second row is chosen", PATIENCE, || {
        live.lines()
            .get(3)
            .is_some_and(|line| line.starts_with('>'))
    });
    live.press(&[click]);
    live.line(&["[1 timeline]"]);
    live.press(&[keys::CTRL_C]);
    let shown = live.ended(130);
    assert!(
        shown.rfind("\x1b[?1000h") < shown.rfind("\x1b[?1000l"),
        "clicks are the terminal's own again"
    );
}
