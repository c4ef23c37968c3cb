//! Commands of a transcript and their ends.

use std::path::Path;

use serde_json::{Value, json};

use super::*;

/// A history of Bash calls in `/w`: a command and its result; `!N` is an exit code, `edit` an edit.
pub(crate) fn history_of(calls: &[(&str, &str)]) -> SessionHistory {
    let mut history = SessionHistory::default();
    for (at, (line, result)) in calls.iter().enumerate() {
        let (name, input) = match line.strip_prefix("edit ") {
            Some(path) => ("Edit", json!({"file_path": path})),
            None => ("Bash", json!({"command": line})),
        };
        let push = |history: &mut SessionHistory, event: Value| {
            history.push_line(event.to_string().as_bytes())
        };
        let id = format!("toolu_{at}");
        let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        push(
            &mut history,
            json!({"type": "assistant", "cwd": "/w", "message": {"content": [call]}}),
        );
        let (is_error, text) = match result.strip_prefix('!') {
            Some(code) => (true, format!("Exit code {code}\nFAILED")),
            None => (false, (*result).to_owned()),
        };
        let answer = json!({"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": text});
        push(
            &mut history,
            json!({"type": "user", "message": {"content": [answer]}}),
        );
    }
    history
}

fn find_end(calls: &[(&str, &str)], claim: WorkClaim) -> Option<CommandEnd> {
    let run = history_of(calls).find_last_run(claim, Path::new("/w"))?;
    Some(run.end)
}

#[test]
fn exit_code_counts_where_it_is_the_command_s() {
    use CommandEnd::{Failed, Passed};
    for (line, result, end) in [
        ("cargo test", "ok", Some(Passed)),
        ("cargo test 2>&1", "!101", Some(Failed(101))),
        ("cd /w && CI=1 pytest -q", "!1", Some(Failed(1))),
        ("cargo build && cargo test && echo OK", "ok", Some(Passed)),
        ("npm test", "!1", Some(Failed(1))),
        ("git status; pytest", "ok", Some(Passed)),
        ("cat > a.sh <<'EOF'\npytest\nEOF", "", None),
        ("git commit -m 'make; cargo test'", "", None),
        ("echo \"pytest && x\"", "", None),
        ("cargo test --no-run", "", None),
    ] {
        assert_eq!(
            find_end(&[(line, result)], WorkClaim::TestsPassed),
            end,
            "{line}"
        );
    }
    for (line, result) in [
        ("cargo test | tail -5", "ok"),
        ("pytest || true", "ok"),
        ("pytest; echo done", "ok"),
        ("cargo build && cargo test", "!101"),
        ("cargo test && git commit -m x", "!1"),
        ("cd /elsewhere && pytest", "!1"),
        ("true || pytest", "ok"),
        ("pytest", "!127"),
        ("pytest", "!5"),
    ] {
        let end = find_end(&[(line, result)], WorkClaim::TestsPassed);
        assert!(
            matches!(end, Some(CommandEnd::Unclear(_))),
            "{line}: {end:?}"
        );
    }
}

#[test]
fn push_ends_as_git_says() {
    for (line, result, end) in [
        (
            "git push 2>&1 | tail -3",
            " ! [rejected] main -> main (fetch first)\nerror: failed",
            CommandEnd::Failed(1),
        ),
        (
            "git add -A && git commit -m x && git -C /w push",
            "   a..b  main -> main",
            CommandEnd::Passed,
        ),
        ("git push", "!1", CommandEnd::Failed(1)),
    ] {
        assert_eq!(
            find_end(&[(line, result)], WorkClaim::Pushed),
            Some(end),
            "{line}"
        );
    }
}

#[test]
fn long_transcript_is_read_from_its_end() {
    let file = tempfile::NamedTempFile::new().expect("a scratch file");
    let noise = json!({"type": "user", "message": {"content": "x".repeat(1 << 20)}}).to_string();
    let call = json!({"type": "assistant", "cwd": "/w", "message": {"content": [
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "pytest"}}]}});
    let text = format!("{}{call}\n", format!("{noise}\n").repeat(50));
    std::fs::write(file.path(), text).expect("it can be written");
    let began = std::time::Instant::now();
    let history = SessionHistory::read_from(file.path()).expect("it can be read");
    assert!(history.is_part && history.calls.len() == 1);
    assert!(began.elapsed().as_secs() < 2, "only the end is read");
}
