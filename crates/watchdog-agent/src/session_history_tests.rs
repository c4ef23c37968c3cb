//! Commands of a transcript and their ends.

use std::io::Write;

use serde_json::json;

use super::super::tool_calls::describe_last_call;
use super::*;

/// The transcript of Bash calls in `/w`: a command and its result; `!N` is an exit code, `edit` an edit, `agent` a sub-agent.
pub(crate) fn transcript_of(calls: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (at, (line, result)) in calls.iter().enumerate() {
        let (name, input) = match line.split_once(' ') {
            Some(("edit", path)) => ("Edit", json!({"file_path": path})),
            Some(("agent", task)) => ("Task", json!({"prompt": task})),
            _ => ("Bash", json!({"command": line})),
        };
        let (is_error, output) = match result.strip_prefix('!') {
            Some(code) => (true, format!("Exit code {}", code.replacen(' ', "\n", 1))),
            None => (false, (*result).to_owned()),
        };
        let id = format!("toolu_{at}");
        let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        let answer = json!({"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": output});
        for (kind, block) in [("assistant", call), ("user", answer)] {
            let event = json!({"type": kind, "cwd": "/w", "message": {"content": [block]}});
            text.push_str(&format!("{event}\n"));
        }
    }
    text
}

pub(crate) fn read_text(text: &str) -> SessionHistory {
    let mut file = tempfile::NamedTempFile::new().expect("a scratch file");
    file.write_all(text.as_bytes()).expect("it can be written");
    SessionHistory::read_from(Some(file.path()), Path::new("/w"))
}

fn find_end(line: &str, result: &str) -> Option<CommandEnd> {
    let history = read_text(&transcript_of(&[(line, result)]));
    assert!(!history.is_partial);
    let runs = history.list_runs(WorkClaim::TestsPassed, Path::new("/w"));
    let run = runs.iter().find(|(line, ..)| !line.is_empty());
    run.map(|(_, end, _)| *end)
}

#[test]
fn exit_code_counts_where_it_is_the_command_s() {
    use CommandEnd::{Failed, Passed};
    for (line, result, end) in [
        ("cargo test", "ok", Some(Passed)),
        ("cargo test 2>&1", "!101", Some(Failed(101))),
        ("cargo test > /dev/null", "!101", Some(Failed(101))),
        ("cd /w && CI=1 pytest -q", "!1", Some(Failed(1))),
        ("git status; pytest", "!1", Some(Failed(1))),
        ("cargo build && cargo test && echo OK", "ok", Some(Passed)),
        ("npm test", "!1", Some(Failed(1))),
        (
            "make test",
            "!2 make: *** [Makefile:2: test] Error 1",
            Some(Failed(2)),
        ),
        ("# don't stop\npytest", "!1", Some(Failed(1))),
        ("echo $V # it's\npytest -k 'a;b'", "!1", Some(Failed(1))),
        ("echo \"a\\\"b\" && pytest", "ok", Some(Passed)),
        ("cat > a.sh <<'EOF'\npytest\nit's\nEOF", "", None),
        ("cat <<-END > a\nx\n\tEND\npytest", "ok", Some(Passed)),
        ("python -c 'print(1 << 3)'\npytest", "ok", Some(Passed)),
        ("echo 1 << x\npytest", "ok", None),
        ("cat <<< word\npytest", "ok", Some(Passed)),
        ("git commit -m 'make; cargo test'", "", None),
        (
            "git commit -m \"$(cat <<'EOF'\nIt's \"pytest\"\npytest\nEOF\n)\"",
            "",
            None,
        ),
        ("echo \"pytest && x\"", "", None),
        ("cargo test --no-run", "", None),
    ] {
        assert_eq!(find_end(line, result), end, "{line}");
    }
    for (line, result) in [
        ("cargo test | tail -5", "ok"),
        ("pytest || true", "ok"),
        ("pytest; echo done", "ok"),
        ("cargo build && cargo test", "!101"),
        ("cargo test && git commit -m x", "!1"),
        ("cd /elsewhere && pytest", "!1"),
        ("cd sub && pytest", "!1"),
        ("pytest ../other", "!1"),
        ("make -C sub test", "!2"),
        (
            "make test",
            "!2 make: *** No rule to make target 'test'.  Stop.",
        ),
        ("make test", "!2 make: *** [Makefile:2: test] Error 127"),
        ("npm test", "!1 npm error Missing script: \"test\""),
        (
            "cargo test --test x",
            "!101 error: no test target named `x`",
        ),
        ("pytest", "!2"),
        ("pytest", "!4"),
        ("npm test --prefix web", "!1"),
        ("true || pytest", "ok"),
        ("(cd sub; pytest)", "!1"),
        ("x=$(pytest); pytest", "!1"),
        ("pytest", "!127"),
        ("pytest", "!5"),
        ("pytest 'a", "!1"),
    ] {
        let end = find_end(line, result);
        assert!(
            matches!(end, Some(CommandEnd::Unclear(_))),
            "{line}: {end:?}"
        );
    }
}

#[test]
fn document_without_an_end_makes_line_opaque() {
    // So many of them that each read to the end would take minutes.
    let text = "cat << EOF\n".repeat(200_000);
    assert!(split_line(&text).is_opaque, "what follows may be commands");
}

#[test]
fn unread_part_of_a_transcript_is_known() {
    let whole = transcript_of(&[("pytest", "ok")]);
    assert!(!read_text(&whole).is_partial);
    let noise = json!({"type": "user", "message": {"content": "not \"tool\""}});
    assert!(!read_text(&format!("{whole}{noise}\n")).is_partial);
    let cut = &whole[..whole.len() - 5];
    for text in [
        cut,
        &whole[3..],
        &whole.replace("\"content\":[", "\"content\":[}"),
    ] {
        assert!(read_text(text).is_partial, "{text}");
    }
    assert!(SessionHistory::read_from(None, Path::new("/w")).is_partial);
    assert!(SessionHistory::read_from(Some(Path::new("/nowhere")), Path::new("/w")).is_partial);
}

#[test]
fn lines_without_calls_add_none() {
    let noise = json!({"type": "user", "message": {"content": "x".repeat(1 << 20)}});
    let text = format!(
        "{}{}",
        transcript_of(&[("pytest", "ok")]),
        format!("{noise}\n").repeat(2)
    );
    assert_eq!(read_text(&text).calls.len(), 1);
}

/// The same session of each agent: an edit, a failing test, a read, and last words where its hooks do not tell them.
#[test]
fn transcript_of_each_agent_shows_the_last_test() {
    let texts: [(&str, Value, Option<&str>); 5] = [
        (
            "codex",
            json!([
                {"type": "response_item", "payload": {"type": "custom_tool_call", "call_id": "1", "name": "apply_patch",
                 "input": "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n*** End Patch"}},
                {"type": "response_item", "payload": {"type": "custom_tool_call_output", "call_id": "1", "output": "Success. Updated"}},
                {"type": "response_item", "payload": {"type": "function_call", "call_id": "2", "name": "exec_command",
                 "arguments": "{\"cmd\": \"pytest -q\"}"}},
                {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "2",
                 "output": "Wall time: 0.1\nProcess exited with code 1\nOutput:\nProcess exited with code 0\n1 failed"}},
            ]),
            None,
        ),
        (
            "gemini",
            json!([
                {"type": "gemini", "content": "I begin.", "toolCalls": [{"id": "1", "name": "write_file", "args": {"file_path": "/w/a.py"}, "status": "success",
                 "result": [{"functionResponse": {"response": {"output": "ok"}}}]}]},
                {"type": "gemini", "content": "", "toolCalls": [{"id": "2", "name": "run_shell_command", "args": {"command": "pytest -q"}, "status": "executing"}]},
                {"type": "gemini", "content": "", "toolCalls": [{"id": "2", "name": "run_shell_command", "args": {"command": "pytest -q"}, "status": "success",
                 "result": [{"functionResponse": {"response": {"output": "Output: 1 failed\nExit Code: 1\nProcess Group PGID: 9"}}}]}]},
                {"type": "gemini", "content": "All tests pass."},
            ]),
            Some("All tests pass."),
        ),
        (
            "qwen",
            json!([
                {"type": "assistant", "cwd": "/w", "message": {"parts": [{"functionCall": {"id": "1", "name": "edit", "args": {"file_path": "/w/a.py"}}}]}},
                {"type": "tool_result", "cwd": "/w", "message": {"parts": [{"functionResponse": {"id": "1", "response": {"output": "ok"}}}]},
                 "toolCallResult": {"status": "success"}},
                {"type": "assistant", "cwd": "/w", "message": {"parts": [{"functionCall": {"id": "2", "name": "run_shell_command", "args": {"command": "pytest -q"}}}]}},
                {"type": "tool_result", "cwd": "/w", "message": {"parts": [{"functionResponse": {"id": "2", "response": {"error": "1 failed"}}}]},
                 "toolCallResult": {"status": "error", "resultDisplay": {"exitCode": 1}}},
            ]),
            None,
        ),
        (
            "copilot",
            json!([
                {"type": "tool.execution_start", "data": {"toolCallId": "1", "toolName": "create", "arguments": {"path": "/w/a.py"}}},
                {"type": "tool.execution_complete", "data": {"toolCallId": "1", "success": true, "result": {"content": "ok"}}},
                {"type": "assistant.message", "data": {"content": "Now the tests."}},
                {"type": "tool.execution_start", "data": {"toolCallId": "2", "toolName": "bash", "arguments": {"command": "pytest -q"}}},
                {"type": "tool.execution_complete", "data": {"toolCallId": "2", "success": true, "shellExecution": {"exitCode": 1}, "result": {"content": "1 failed"}}},
                {"type": "assistant.message", "data": {"content": "All tests pass."}},
            ]),
            Some("All tests pass."),
        ),
        (
            "opencode, by its plugin",
            json!([{"toolCalls": [
                {"id": "1", "name": "write", "args": {"filePath": "/w/a.py"}, "status": "success"},
                {"id": "2", "name": "read", "args": {"filePath": "/w/a.py"}, "status": "success"},
                {"id": "3", "name": "bash", "args": {"command": "pytest -q"}, "status": "error",
                 "result": [{"functionResponse": {"response": {"output": "1 failed\nExit Code: 1"}}}]},
            ]}]),
            None,
        ),
    ];
    for (agent, events, words) in texts {
        let lines = events.as_array().expect("a list").iter();
        let calls = lines
            .clone()
            .filter_map(|event| describe_last_call(event, Path::new("/w")));
        let calls: Vec<String> = calls.collect();
        assert_eq!(calls.last().expect("a command"), "pytest -q", "{agent}");
        assert!(calls.len() == 1 || calls[0] == "edits a.py", "{calls:?}");
        let text: String = lines.map(|event| format!("{event}\n")).collect();
        let (history, root) = (read_text(&text), Path::new("/w"));
        let failed = "last test command 'pytest -q' failed (exit code 1)";
        assert_eq!(
            history.describe_test(None, root).as_deref(),
            Some(failed),
            "{agent}"
        );
        assert!(history.has_written(0, Path::new("/w/a.py")), "{agent}");
        assert_eq!(history.last_words.as_deref(), words, "{agent}");
        let runs = history.list_runs(WorkClaim::TestsPassed, root);
        assert_eq!(runs.len(), 1, "{agent}: each call is known: {runs:?}");
    }
}
