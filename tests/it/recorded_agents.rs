//! Recorded outputs of the real CLIs, one for each agent, scene and session, read again: what each says of its session, its end, its
//! tokens and its refused tools. `scripts/nightly agents` records them; the table is written by hand, from what each scene plays.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use watchdog_agent::stream::{SessionSummary, StreamReader, StreamTap};
use watchdog_facts::evidence::{ProcessExit, SessionEnd, WarningCode};
use watchdog_judge::session::EndedSession;
use watchdog_process::{OutputReader, SessionOutcome};

/// What each recorded session says.
///
/// - `exit`: the code of its program, or the signal that ended it.
/// - `end`: `well`; `failed`; `unconfirmed`, an exit code 0 without a last event; `limit`, and `limit+time` where it says when that ends;
///   `overload`; `login`, where its program cannot work; `left`, where a background command of it still runs.
/// - `tokens`: as many as the scripted API counted for its requests, 120 each; `-` where the program tells none. Claude Code counts 101
///   for the answer in whose tool call it is stopped.
/// - `id`: whether the session names itself; `id?`, and `word?` below, where that depends on the moment.
/// - `more`: tools that it was refused, and `background` where it left a command running.
const EXPECTED: &str = include_str!("fixtures/recorded_agents.txt");

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ExpectedSession {
    exit: ProcessExit,
    /// Exit, end, tokens, id, more: the words of the table.
    words: [String; 5],
}

fn table() -> BTreeMap<&'static str, ExpectedSession> {
    let rows = EXPECTED
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let row = |line: &'static str| {
        let mut words = line.split_whitespace();
        let name = words.next().expect("a row has a name");
        let mut word = || {
            words
                .next()
                .unwrap_or_else(|| panic!("{line}: five words after the name"))
                .to_owned()
        };
        let words = [word(), word(), word(), word(), word()];
        let exit = match words[0].strip_prefix("signal-") {
            Some(signal) => ProcessExit::Signal(signal.parse().expect("a number")),
            None => ProcessExit::Code(words[0].parse().expect("a number")),
        };
        (name, ExpectedSession { exit, words })
    };
    rows.map(row).collect()
}

/// The recordings by name (`codex-commit`), with their text and whether that is events.
fn recordings() -> BTreeMap<String, (String, bool)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents");
    let files = fs::read_dir(folder)
        .expect("the recordings are part of the repository")
        .flatten();
    let read = |path: &Path| {
        let name = path
            .file_stem()
            .expect("a file has a name")
            .to_string_lossy()
            .into_owned();
        let is_events = path.extension().is_some_and(|end| end == "jsonl");
        (
            name,
            (
                fs::read_to_string(path).expect("a recording is text"),
                is_events,
            ),
        )
    };
    files.map(|entry| read(&entry.path())).collect()
}

/// Reads it as a session's output, in chunks as they come from a pipe.
fn read(text: &str) -> SessionSummary {
    let mut reader = StreamReader::default();
    text.as_bytes()
        .chunks(1000)
        .for_each(|chunk| reader.push(chunk));
    reader.finish()
}

fn tokens(summary: &SessionSummary) -> Option<u64> {
    Some(summary.usage.input_tokens? + summary.usage.output_tokens?)
}

/// What came of the session's process. A text is what it said on stderr.
fn outcome(text: &str, is_events: bool, exit: ProcessExit) -> SessionOutcome {
    SessionOutcome {
        exit: Some(exit),
        timed_out: false,
        cancelled: false,
        duration: Duration::from_secs(1),
        paused: Duration::ZERO,
        tail_stdout: if is_events { text.into() } else { Vec::new() },
        tail: text.into(),
        log: None,
        log_truncated: false,
        log_note: None,
        survivors: Vec::new(),
        ended_survivors: Vec::new(),
        waited_for_children: Duration::ZERO,
    }
}

/// Whether a word of the table allows what a session says.
fn allows(word: &str, said: &str) -> bool {
    word == said
        || word
            .strip_suffix('?')
            .is_some_and(|word| said == word || said == "-")
}

fn end_word(ended: &EndedSession<'_>, summary: &SessionSummary) -> String {
    let noted = |code| ended.notes().iter().any(|note| note.code == code);
    match ended.end() {
        SessionEnd::RateLimited { retry_at, .. } => if retry_at.is_some() {
            "limit+time"
        } else {
            "limit"
        }
        .into(),
        SessionEnd::Unrunnable { .. } => "login".into(),
        SessionEnd::LeftWork { .. } => "left".into(),
        SessionEnd::CutShort { .. } if noted(WarningCode::Overloaded) => "overload".into(),
        SessionEnd::CutShort { .. } if noted(WarningCode::EndUnconfirmed) => "unconfirmed".into(),
        SessionEnd::Ended { exit } if exit.success() && summary.reports_success() => "well".into(),
        SessionEnd::Ended { exit } if !exit.success() => "failed".into(),
        other => format!("{other:?}").replace(' ', "+"),
    }
}

fn more(summary: &SessionSummary) -> String {
    let refused = summary
        .refused_tools
        .iter()
        .map(|refused| refused.tool.as_str());
    let background = summary.background_tasks.iter().map(|_| "background");
    let all: BTreeSet<&str> = refused.chain(background).collect();
    if all.is_empty() {
        "-".into()
    } else {
        all.into_iter().collect::<Vec<_>>().join(",")
    }
}

#[test]
fn every_recorded_session_says_what_its_scene_played() {
    let (expected, found) = (table(), recordings());
    let mut wrong = Vec::new();
    for name in expected.keys().filter(|name| !found.contains_key(**name)) {
        wrong.push(format!("{name}: a row without a recording"));
    }
    for (name, (text, is_events)) in &found {
        let row = expected.get(name.as_str());
        let summary = read(text);
        let exit = row.map_or(ProcessExit::Code(0), |row| row.exit);
        let outcome = outcome(text, *is_events, exit);
        let ended = EndedSession::new(&outcome, &summary, None, Timestamp::now());
        let exit = row.map_or("?".to_owned(), |row| row.words[0].clone());
        let counted = tokens(&summary).map_or("-".to_owned(), |tokens| tokens.to_string());
        let id = if summary.session_id.is_some() {
            "id"
        } else {
            "-"
        };
        let said = [
            exit,
            end_word(&ended, &summary),
            counted,
            id.to_owned(),
            more(&summary),
        ];
        if row.is_none_or(|row| {
            !row.words
                .iter()
                .zip(&said)
                .all(|(word, said)| allows(word, said))
        }) {
            let wanted = row.map_or("no row".to_owned(), |row| row.words.join(" "));
            wrong.push(format!(
                "{name}: expected {wanted}; it says {}",
                said.join(" ")
            ));
        }
        assert_eq!(summary.structured, *is_events, "{name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn resumed_conversation_keeps_id_and_own_tokens() {
    let found = recordings();
    for agent in ["claude", "codex", "gemini", "opencode", "qwen", "copilot"] {
        let own = (agent != "copilot").then_some(240);
        let text = |name: String| {
            found
                .get(&name)
                .map(|(text, _)| text.as_str())
                .unwrap_or_else(|| panic!("no recording {name}"))
        };
        let first = read(text(format!("{agent}-resume")));
        let id = first.session_id.expect("the first session has a name");
        let tap = StreamTap::default();
        tap.continues(
            first
                .session_tokens
                .map(|tokens| (id.clone(), tokens))
                .into_iter()
                .collect(),
        );
        tap.push(text(format!("{agent}-resume-2")).as_bytes());
        let second = tap.finish();
        assert_eq!(
            (second.session_id.as_deref(), tokens(&second)),
            (Some(id.as_str()), own),
            "{agent}"
        );
    }
}

#[test]
fn page_explains_each_scene_an_agent_lacks() {
    let page = include_str!("../../docs/reliability.md");
    let cells = |line: &str| {
        line.split('|')
            .map(|cell| cell.trim().trim_matches('`').to_owned())
            .collect::<Vec<_>>()
    };
    let table = page
        .split("<!-- scenes")
        .nth(1)
        .and_then(|rest| rest.split("<!-- end").next())
        .expect("the table of scenes");
    let mut rows = table
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(cells);
    let agents: Vec<String> = rows
        .next()
        .expect("a head")
        .iter()
        .map(|cell| cell.split(' ').next().unwrap_or_default().to_owned())
        .collect();
    let cannot: BTreeSet<(String, String)> = rows
        .flat_map(|row| {
            let of = |(at, cell): (usize, &String)| {
                (cell == "cannot").then(|| (agents[at].clone(), row[1].clone()))
            };
            row.iter().enumerate().filter_map(of).collect::<Vec<_>>()
        })
        .collect();
    let reasons = page
        .split("## Why `cannot`")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("the reasons");
    let explained: BTreeSet<(String, String)> = reasons
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(cells)
        .flat_map(|row| {
            row[2]
                .split(", ")
                .map(|scene| (row[1].clone(), scene.trim_matches('`').to_owned()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(cannot, explained);
    assert!(!cannot.is_empty(), "{table}");
}

#[test]
fn recordings_contain_no_keys_or_machine_paths() {
    for (name, (text, _)) in recordings() {
        let plain = text
            .replace("/scratch/home", "")
            .replace("/scratch/tmp", "");
        for found in [
            "scripted-api-key",
            "/root",
            "/tmp/",
            "/home/",
            "/work/",
            "/Users/",
        ] {
            assert!(!plain.contains(found), "{name}: {found}");
        }
    }
}
