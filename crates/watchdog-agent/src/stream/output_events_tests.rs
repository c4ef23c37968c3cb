//! Outputs of each program, and of none, read into what happened.

use proptest::prelude::*;
use serde_json::json;

use super::SessionEvent::{
    Called, Ended, Fault, Gap, Line, Message, Named, Refused, Retried, Returned, Said, SaidPart,
    TaskBegan, TaskEnded, Unread,
};
use super::*;

const ID: &str = "0a0a0a0a-0000-4000-8000-000000000001";

fn read(output: &str) -> Vec<SessionEvent> {
    let mut reader = OutputEvents::default();
    let mut found = reader.push(output.as_bytes());
    found.extend(reader.finish());
    found
}

/// Each event as a person would note it down.
fn noted(output: &str) -> Vec<String> {
    let of = |event| match event {
        Named { .. } => "named".into(),
        Said { text } => format!("said {text}"),
        SaidPart { text } => format!("more {text}"),
        Message { role, text } => format!("{role}: {text}"),
        Called { tool, input } => format!("{tool}({input})"),
        Returned {
            tool,
            content,
            is_error,
        } => {
            format!(
                "{} {}= {content}",
                tool.unwrap_or_default(),
                if is_error { "failed " } else { "" }
            )
        }
        Refused { tool } => format!("refused {tool}"),
        Retried { why } => format!("retried {why}"),
        TaskBegan { what } => format!("began {what}"),
        TaskEnded { what } => format!("ended {what}"),
        Fault { message } => format!("fault {message}"),
        Ended { how, error, usage } => format!("end {how} {error:?} {:?}", usage.turns),
        Line { text } => format!("| {text}"),
        Unread { what } => format!("unread {what}"),
        Gap { bytes } => format!("gap {bytes}"),
    };
    read(output).into_iter().map(of).collect()
}

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn claude(content: Value) -> Value {
    json!({"type": "assistant", "session_id": ID, "message": {"id": "m1", "role": "assistant", "model": "m", "content": content}})
}

#[test]
fn claude_code_is_read() {
    let output = lines(&[
        json!({"type": "system", "subtype": "init", "session_id": ID}),
        claude(
            json!([{"type": "text", "text": "Let me look."}, {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]),
        ),
        json!({"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "no", "is_error": true}]}}),
        json!({"type": "system", "subtype": "api_retry", "error": "overloaded", "error_status": 529}),
        json!({"type": "system", "subtype": "background_tasks_changed", "tasks": [{"task_id": "b", "description": "sleep"}]}),
        json!({"type": "system", "subtype": "background_tasks_changed", "tasks": []}),
        json!({"type": "a_kind_of_tomorrow", "payload": {"secret": 1}}),
        claude(json!([{"type": "text", "text": "All done."}])),
        json!({"type": "result", "subtype": "success", "session_id": ID, "num_turns": 2, "result": "All done.",
               "permission_denials": [{"tool_name": "Write"}]}),
    ]);
    let expected = [
        "named",
        "said Let me look.",
        "Bash(ls)",
        "Bash failed = no",
        "retried overloaded (529)",
        "began sleep",
        "ended sleep",
        "unread a_kind_of_tomorrow",
        "said All done.",
        "refused Write",
        "end success None Some(2)",
    ];
    assert_eq!(noted(&output), expected);
}

#[test]
fn codex_gemini_opencode_antigravity_and_copilot_are_read() {
    let codex = lines(&[
        json!({"type": "thread.started", "thread_id": ID}),
        json!({"type": "turn.started"}),
        json!({"type": "item.completed", "item": {"id": "1", "type": "command_execution", "command": "bash -lc ls", "aggregated_output": "a\n", "exit_code": 0}}),
        json!({"type": "item.completed", "item": {"id": "2", "type": "file_change", "changes": [{"path": "a.rs", "kind": "add"}]}}),
        json!({"type": "item.completed", "item": {"id": "3", "type": "agent_message", "text": "Done."}}),
        json!({"type": "error", "message": "Reconnecting... 1/5"}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}),
    ]);
    let expected = [
        "named",
        "command_execution(bash -lc ls)",
        "command_execution = a\n",
        "file_change(a.rs)",
        "said Done.",
        "retried 1/5",
        "end completed None Some(1)",
    ];
    assert_eq!(noted(&codex), expected);
    let gemini = lines(&[
        json!({"type": "init", "session_id": ID}),
        json!({"type": "message", "role": "user", "content": "fix it"}),
        json!({"type": "message", "role": "assistant", "content": "I ", "delta": true}),
        json!({"type": "message", "role": "assistant", "content": "will.", "delta": true}),
        json!({"type": "tool_use", "tool_name": "read_file", "tool_id": "r", "parameters": {"file_path": "a"}}),
        json!({"type": "tool_result", "tool_id": "r", "status": "success", "output": "x"}),
        json!({"type": "result", "status": "success", "stats": {"input_tokens": 1, "output_tokens": 1}}),
    ]);
    let expected = [
        "named",
        "user: fix it",
        "said I ",
        "more will.",
        "read_file(a)",
        "read_file = x",
        "end success None None",
    ];
    assert_eq!(noted(&gemini), expected);
    let opencode = lines(&[
        json!({"type": "step_start", "sessionID": "ses_1", "part": {}}),
        json!({"type": "tool_use", "sessionID": "ses_1", "part": {"tool": "bash", "callID": "c", "state": {"status": "completed", "input": {"command": "ls"}, "output": "a"}}}),
        json!({"type": "text", "sessionID": "ses_1", "part": {"id": "p", "text": "Done."}}),
        json!({"type": "step_finish", "sessionID": "ses_1", "part": {"reason": "stop"}}),
    ]);
    assert_eq!(
        noted(&opencode),
        [
            "bash(ls)",
            "bash = a",
            "said Done.",
            "end completed None Some(1)"
        ]
    );
    let antigravity = lines(&[
        json!({"event": "init", "conversation_id": ID, "init": {}}),
        json!({"event": "step_update", "step_update": {"step_type": "agent_response", "text_delta": "OK\n"}}),
        json!({"event": "result", "result": {"status": "ERROR", "error": "quota", "response": "OK\n", "num_turns": 1}}),
    ]);
    assert_eq!(
        noted(&antigravity),
        ["named", "said OK", "end error Some(\"quota\") Some(1)"]
    );
    let copilot = lines(&[
        json!({"type": "session.tools_updated", "data": {"model": "m"}, "timestamp": "t"}),
        json!({"type": "user.message", "data": {"content": "hi"}}),
        json!({"type": "tool.execution_start", "data": {"toolCallId": "c", "toolName": "bash", "arguments": {"command": "ls"}}}),
        json!({"type": "tool.execution_complete", "data": {"toolCallId": "c", "success": false, "error": {"message": "denied"}}}),
        json!({"type": "assistant.message", "data": {"content": "hello"}}),
        json!({"type": "result", "timestamp": "t", "sessionId": ID, "exitCode": 0}),
    ]);
    assert_eq!(
        noted(&copilot),
        [
            "user: hi",
            "bash(ls)",
            "bash failed = denied",
            "said hello",
            "named",
            "end success None None"
        ]
    );
}

#[test]
fn output_without_events_is_plain_lines() {
    let quoted = claude(json!([{"type": "text", "text": "x"}]));
    for (output, expected) in [
        ("one\n\n  two\n".to_owned(), vec!["| one", "| ", "|   two"]),
        ("\x1b[31mred\x1b[0m\rover\n".into(), vec!["| red", "| over"]),
        ("{\"a\": 1}\nend".into(), vec!["| {\"a\": 1}", "| end"]),
        (
            "{\n  \"a\": 1\n}\n".into(),
            vec!["| {", "|   \"a\": 1", "| }"],
        ),
        (
            "{\"a\": [1,\n{\"b\": 2}\nx\n".into(),
            vec!["| {\"a\": [1,", "| {\"b\": 2}", "| x"],
        ),
        ("half {\"a\"".into(), vec!["| half {\"a\""]),
        (String::new(), vec![]),
    ] {
        assert_eq!(noted(&output), expected, "{output:?}");
    }
    // Quoted in prose: text follows. At the end of an output: its result, behind what a script printed first.
    assert_eq!(
        noted(&format!("I saw\n{quoted}\nand more\n")),
        ["| I saw", &format!("| {quoted}"), "| and more"]
    );
    assert_eq!(
        noted(&format!("Building\n{quoted}\n")),
        ["| Building", "said x", "named"]
    );
}

#[test]
fn halves_of_a_cut_event_stay_hidden() {
    let event = claude(json!([{"type": "text", "text": "whole"}])).to_string();
    let (front, back) = event.split_at(60);
    let gap =
        format!("{event}\n{front}\n[watchdog: 1234 bytes are left out here]\n{back}\n{event}\n");
    assert_eq!(
        noted(&gap),
        [
            "said whole",
            "named",
            "unread half an event",
            "gap 1234",
            "unread half an event",
            "said whole"
        ]
    );
    // The other stream wrote in between.
    let mixed = format!("{event}\n{front}warning: slow\n{back}\nwarning: late\n");
    assert_eq!(
        noted(&mixed),
        [
            "said whole",
            "named",
            "unread half an event",
            "unread half an event",
            "| warning: late"
        ]
    );
    // Killed while it wrote.
    assert_eq!(
        noted(&format!("{event}\n{front}")),
        ["said whole", "named", "unread half an event"]
    );
}

#[test]
fn memory_stays_bounded_for_lines_and_documents() {
    let long = "x".repeat(10 << 20);
    let found = read(&format!("{long}\nnext\n"));
    assert!(
        matches!(&found[..], [Line { text }, Line { text: next }] if text.len() < 2 * LINE && text.ends_with("[...]") && next == "next")
    );
    let event = claude(json!([{"type": "text", "text": "y".repeat(10 << 20)}]));
    assert!(
        matches!(&read(&format!("{event}\n"))[..], [Said { text }, Named { .. }] | [Named { .. }, Said { text }] if text.len() < 200_000)
    );
    let huge = format!(
        "{event}\n{{\"type\":\"assistant\",\"a\":[{}0]}}\n",
        "0,".repeat(2 << 20)
    );
    assert!(matches!(&read(&huge)[..], [.., Unread { what }] if what.contains("too long")));
}

proptest! {
    #[test]
    fn any_bytes_read_alike_in_any_chunks(
        parts in prop::collection::vec(prop_oneof![
            Just(claude(json!([{"type": "text", "text": "a"}])).to_string().into_bytes()),
            Just(b"\n".to_vec()), Just(b"{\"a\":\"".to_vec()), Just(b"plain\n".to_vec()), Just(b"[{\"a\":1},{}]\n".to_vec()),
            prop::collection::vec(any::<u8>(), 0..20),
        ], 0..20),
        size in 1_usize..40,
    ) {
        let output = parts.concat();
        let mut reader = OutputEvents::default();
        let mut found: Vec<SessionEvent> = output.chunks(size).flat_map(|chunk| reader.push(chunk)).collect();
        found.extend(reader.finish());
        let mut whole = OutputEvents::default();
        let mut all = whole.push(&output);
        all.extend(whole.finish());
        prop_assert_eq!(found, all);
    }
}
