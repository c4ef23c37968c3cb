//! The line below a session's output in a terminal: a clock, the limit, what was said last; and that it is in nobody's way.

use std::fs;
use std::time::Duration;

use regex::Regex;
use rustix::process::Signal;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::support::{AtTerminal, Repo, Run, TestEnv, is_stopped, screen, wait_until};

const XTERM: &str = "xterm-256color";
const PATIENCE: Duration = Duration::from_secs(60);

/// A session that says this, and goes on once the file `go` is there.
fn session(repo: &Repo<'_>, says: &str, options: &[&str]) -> Run {
    let script = format!(
        "{says}; while [ ! -e go ]; do sleep 0.02; done; echo $$ > done; git add done; git commit -q -m work"
    );
    let args = [
        &["run", "--no-probe"],
        options,
        &["--", "sh", "-c", &script],
    ]
    .concat();
    repo.watchdog_command(&args)
}

/// A line that begins with a clock.
fn clocks(lines: &[String]) -> Vec<&String> {
    let clock = Regex::new(r"^\d+:\d\d( of |$| · )").expect("a fixed pattern");
    lines.iter().filter(|line| clock.is_match(line)).collect()
}

/// Waits until the line stands at the lower end; returns the screen of that moment.
#[track_caller]
fn with_line(at: &AtTerminal, columns: u16, words: &str) -> Vec<String> {
    let mut seen = Vec::new();
    wait_until("the line is there", PATIENCE, || {
        seen = screen(&at.shown(), columns.into());
        clocks(&seen)
            .last()
            .is_some_and(|line| line.contains(words) && Some(*line) == seen.last())
    });
    seen
}

#[test]
fn run_line_stays_below_output_and_disappears() {
    let env = TestEnv::new();
    let repo = env.repo();
    let at =
        session(&repo, "echo reading the tests", &["--timeout", "30m"]).at_terminal_of(80, XTERM);
    let seen = with_line(&at, 80, "reading");
    let line = Regex::new(r"^0:\d\d of 30:00 · reading the tests$").unwrap();
    assert!(line.is_match(seen.last().unwrap()), "{seen:#?}");
    assert_eq!(
        seen[seen.len() - 2],
        "reading the tests",
        "what the session wrote stands as it is: {seen:#?}"
    );
    fs::write(repo.path().join("go"), "").unwrap();
    let (code, shown) = at.wait();
    let end = screen(&shown, 80);
    assert_eq!((code, clocks(&end).len()), (0, 0), "{end:#?}");
    assert!(
        end.iter().any(|line| line.starts_with("complete")),
        "{end:#?}"
    );
    let begin = end
        .iter()
        .position(|line| line == "reading the tests")
        .expect("it is above the verdict");
    assert!(
        end[begin + 1].starts_with("complete") || end[begin + 1].starts_with("watchdog: "),
        "no empty line is left: {end:#?}"
    );
}

#[test]
fn run_line_fits_narrow_terminals_without_steering_them() {
    let env = TestEnv::new();
    let repo = env.repo();
    let says = r"printf 'read\007ing 日本語日本語日本語日本語日本語日本語 to the very end of it\n'";
    let at = session(&repo, says, &[]).at_terminal_of(40, XTERM);
    let seen = with_line(&at, 40, "日本語");
    let line = seen.last().unwrap();
    assert!(
        line.ends_with('…') && (30..=37).contains(&line.width()),
        "{seen:#?}"
    );
    let drawn = at.shown();
    let drawn = &drawn[drawn.rfind("0:0").expect("it is there")..];
    let drawn = drawn.trim_end_matches("\x1b[0m");
    assert!(!drawn.contains(|c: char| c.is_control()), "{drawn:?}");
    // A terminal of another width is seen at the next line.
    at.resize(100);
    wait_until("it is as wide as there is room", PATIENCE, || {
        at.shown()
            .rfind("\r\x1b[J")
            .is_some_and(|from| at.shown()[from..].contains("very end of it"))
    });
    fs::write(repo.path().join("go"), "").unwrap();
    assert_eq!(at.wait().0, 0);
}

#[test]
fn machine_events_are_passed_on_and_explained() {
    let env = TestEnv::new();
    let repo = env.repo();
    let events = [
        r#"{"type":"system","subtype":"init","session_id":"s1","tools":[]}"#,
        r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I fix the parser"},{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"src/p.rs"}}]}}"#,
    ];
    env.write("events", format!("{}\n", events.join("\n")));
    let says = format!("cat '{}'", env.root().join("events").display());
    let at = session(&repo, &says, &[]).at_terminal_of(80, XTERM);
    let seen = with_line(&at, 80, "Edit src/p.rs · I fix the parser");
    assert!(
        seen.concat().contains(&events.concat()[..60]),
        "the events are shown, too: {seen:#?}"
    );
    fs::write(repo.path().join("go"), "").unwrap();
    let (_, shown) = at.wait();
    assert!(clocks(&screen(&shown, 80)).is_empty(), "{shown}");
}

#[test]
fn silent_session_is_shown_by_its_transcript() {
    let env = TestEnv::new();
    let repo = env.repo();
    let path = repo.path().to_str().unwrap();
    let slug = path.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let folder = format!("home/.claude/projects/{slug}");
    let event = |id: &str, content: Value| {
        let usage = json!({"input_tokens": 1200, "output_tokens": 34});
        let message = json!({"id": id, "role": "assistant", "content": [content], "usage": usage});
        format!("{}\n", json!({"type": "assistant", "message": message}))
    };
    let text = |words: &str| json!({"type": "text", "text": words});
    let call =
        json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cargo test"}});
    // That of an earlier session in this folder.
    let name = |last: u8| format!("{folder}/11111111-2222-4333-8444-55555555555{last}.jsonl");
    env.write(&name(1), event("m0", text("earlier")));
    let (one, two) = (event("m1", text("I test")), event("m2", call));
    let files = [(&*name(2), ""), ("one", &one), ("two", &two)];
    let [transcript, one, two] =
        files.map(|(name, text)| env.write(name, text).display().to_string());
    let says = format!(
        "rm '{transcript}'; sleep 0.2; cat '{one}' >'{transcript}'; while [ ! -e more ]; do sleep 0.02; done; cat '{two}' >>'{transcript}'"
    );
    let at = session(&repo, &says, &["--timeout", "30m"]).at_terminal_of(100, XTERM);
    with_line(&at, 100, "of 30:00 · 1.2k tokens · I test");
    fs::write(repo.path().join("more"), "").unwrap();
    with_line(
        &at,
        100,
        "of 30:00 · 2.4k tokens · Bash cargo test · I test",
    );
    fs::write(repo.path().join("go"), "").unwrap();
    assert_eq!(at.wait().0, 0);
}

#[test]
fn redirected_session_output_is_exactly_its_own() {
    let env = TestEnv::new();
    let repo = env.repo();
    let file = env.write("stdout", "");
    let says = r"printf 'one\n\033[31mtwo\033[0m\r\n\000\377 no end'";
    let at = session(&repo, says, &[])
        .stdout_to(&file)
        .at_terminal_of(80, XTERM);
    let seen = with_line(&at, 80, "no end");
    assert!(!seen.iter().any(|line| line == "one"), "{seen:#?}");
    fs::write(repo.path().join("go"), "").unwrap();
    let (code, shown) = at.wait();
    assert_eq!(
        fs::read(&file).unwrap(),
        b"one\n\x1b[31mtwo\x1b[0m\r\n\0\xff no end"
    );
    assert!(
        code == 0 && clocks(&screen(&shown, 80)).is_empty(),
        "{shown}"
    );
}

#[test]
fn run_line_spares_partial_lines_and_terminal_control() {
    let env = TestEnv::new();
    let repo = env.repo();
    for says in [r"printf 'Continue? [y/N] '", r"printf 'one\n\033[2Jtwo\n'"] {
        let at =
            session(&repo, &format!("{says}; sleep 1; touch go"), &[]).at_terminal_of(80, XTERM);
        let (_, shown) = at.wait();
        let words = if says.contains("Continue") {
            "Continue? [y/N] "
        } else {
            "two\r\n"
        };
        let after = &shown[shown.find(words).expect("it is passed on") + words.len()..];
        let until = after.find("complete").unwrap_or(after.len());
        assert!(
            !after[..until].contains(" · Continue") && !after[..until].contains(" · two"),
            "{after:?}"
        );
        fs::remove_file(repo.path().join("go")).unwrap();
        fs::write(repo.path().join("done"), "again").unwrap();
    }
}

#[test]
fn unwanted_or_invisible_run_line_is_not_drawn() {
    let env = TestEnv::new();
    let repo = env.repo();
    fs::write(repo.path().join("go"), "").unwrap();
    for (options, term) in [
        (&[][..], "dumb"),
        (&["--quiet"], XTERM),
        (&["--json"], XTERM),
        (&["-v"], XTERM),
    ] {
        let (_, shown) = session(&repo, "echo here; sleep 0.6", options)
            .at_terminal_of(80, term)
            .wait();
        assert!(
            shown.contains("here") && !shown.contains("\x1b[J") && !shown.contains(" · here"),
            "{options:?} {term}: {shown:?}"
        );
    }
    let piped = session(&repo, "echo here; sleep 0.6", &[])
        .env("TERM", XTERM)
        .run();
    assert!(
        !piped.stderr.contains('\x1b') && piped.stdout == "here\n",
        "{piped}"
    );
}

#[test]
fn stopping_hides_the_line_until_continued() {
    let env = TestEnv::new();
    let repo = env.repo();
    let at = session(&repo, "echo reading", &[]).at_terminal_of(80, XTERM);
    with_line(&at, 80, "reading");
    at.signal(Signal::TSTP);
    wait_until("it is stopped", PATIENCE, || is_stopped(at.pid()));
    wait_until("the line is gone", PATIENCE, || {
        clocks(&screen(&at.shown(), 80)).is_empty()
    });
    at.signal(Signal::CONT);
    with_line(&at, 80, "reading");
    at.signal(Signal::INT);
    let (code, shown) = at.wait();
    let end = screen(&shown, 80);
    assert!(code != 0 && clocks(&end).is_empty(), "{end:#?}");
}
