//! Sessions of each program in the shape of what it prints: how they end, what they were refused, what they spent.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::*;
use watchdog_facts::refused_tool::RefusalCause;

const ID: &str = "0a0a0a0a-0000-4000-8000-000000000001";
const OPENCODE_ID: &str = "ses_dfde5e0f2ffeKDNAhfAScDx7E4";

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn read(events: &[Value]) -> SessionSummary {
    let mut reader = StreamReader::default();
    reader.push(lines(events).as_bytes());
    reader.finish()
}

fn codex(rest: &[Value]) -> Vec<Value> {
    [
        &[
            json!({"type": "thread.started", "thread_id": ID}),
            json!({"type": "turn.started"}),
        ],
        rest,
    ]
    .concat()
}

fn gemini(rest: &[Value]) -> Vec<Value> {
    [
        &[json!({"type": "init", "session_id": ID, "model": "m"})],
        rest,
    ]
    .concat()
}

fn opencode(kind: &str, part: Value) -> Value {
    json!({"type": kind, "timestamp": 1, "sessionID": OPENCODE_ID, "part": part})
}

fn qwen(rest: &[Value]) -> Vec<Value> {
    [&[json!({"type": "system", "subtype": "init", "session_id": ID, "qwen_code_version": "0.24.4"})], rest].concat()
}

fn copilot(kind: &str, data: Value) -> Value {
    json!({"type": kind, "data": data, "id": "e", "timestamp": "2026-11-22T07:22:20.929Z", "parentId": "p"})
}

fn copilot_session(rest: &[Value], exit: u64) -> Vec<Value> {
    let result = json!({"type": "result", "timestamp": "t", "sessionId": ID, "exitCode": exit, "usage": {"premiumRequests": 0}});
    [
        &[copilot("session.tools_updated", json!({"model": "m"}))],
        rest,
        &[result],
    ]
    .concat()
}

fn refused(summary: &SessionSummary) -> Vec<(&str, RefusalCause)> {
    summary
        .refused_tools
        .iter()
        .map(|refused| (refused.tool.as_str(), refused.cause))
        .collect()
}

fn dialect_of_output(output: &[u8]) -> Option<StreamDialect> {
    let mut reader = StreamReader::default();
    reader.push(output);
    reader.finish().dialect
}

#[test]
fn opening_events_identify_the_dialect() {
    for (events, dialect) in [
        (
            vec![json!({"type": "system", "subtype": "init", "session_id": ID})],
            StreamDialect::Claude,
        ),
        (codex(&[]), StreamDialect::Codex),
        (gemini(&[]), StreamDialect::Gemini),
        (
            vec![opencode("step_start", json!({}))],
            StreamDialect::Opencode,
        ),
        (qwen(&[]), StreamDialect::Qwen),
        (copilot_session(&[], 0), StreamDialect::Copilot),
        (
            vec![json!({"event": "init", "conversation_id": ID, "init": {}})],
            StreamDialect::Antigravity,
        ),
    ] {
        assert_eq!(dialect_of_output(lines(&events).as_bytes()), Some(dialect));
        assert_eq!(
            serde_json::from_value::<StreamDialect>(json!(dialect.as_str())).expect("its name"),
            dialect
        );
    }
    // What a script printed before is not its program's.
    let before = opencode("reasoning", json!({}));
    assert_eq!(
        dialect_of_output(lines(&[&[before], &codex(&[])[..]].concat()).as_bytes()),
        Some(StreamDialect::Codex)
    );
    assert!(dialect_of_output(b"I ran codex and it printed\nnothing").is_none());
}

#[test]
fn success_needs_reported_end_without_error() {
    let finish = |reason: &str| {
        opencode(
            "step_finish",
            json!({"reason": reason, "tokens": {"input": 1, "output": 1}}),
        )
    };
    for (events, ended, error) in [
        (
            codex(&[json!({"type": "turn.completed", "usage": {}})]),
            Some("completed"),
            None,
        ),
        (
            codex(&[json!({"type": "turn.failed", "error": {"message": "no"}})]),
            Some("turn.failed"),
            Some("no"),
        ),
        (
            codex(&[
                json!({"type": "item.started", "item": {"id": "1", "type": "command_execution", "command": "x"}}),
            ]),
            None,
            None,
        ),
        (
            gemini(&[json!({"type": "result", "status": "success", "stats": {}})]),
            Some("success"),
            None,
        ),
        (
            gemini(&[
                json!({"type": "error", "severity": "error", "message": "The model returned an empty response"}),
                json!({"type": "result", "status": "error", "stats": {}}),
            ]),
            Some("error"),
            Some("The model returned an empty response"),
        ),
        (
            gemini(&[
                json!({"type": "error", "severity": "error", "message": "a hiccup"}),
                json!({"type": "result", "status": "success", "stats": {}}),
            ]),
            Some("success"),
            None,
        ),
        (
            gemini(&[
                json!({"type": "message", "role": "assistant", "content": "start", "delta": true}),
            ]),
            None,
            None,
        ),
        (
            vec![opencode("step_start", json!({})), finish("stop")],
            Some("completed"),
            None,
        ),
        (
            vec![opencode("step_start", json!({})), finish("tool-calls")],
            None,
            None,
        ),
        (
            vec![opencode("step_start", json!({})), finish("length")],
            Some("length"),
            Some("the answer was cut at the model's limit of output tokens (length)"),
        ),
        (copilot_session(&[], 0), Some("success"), None),
        (
            vec![
                copilot("session.tools_updated", json!({})),
                copilot("abort", json!({"reason": "user_abort"})),
            ],
            None,
            Some("it was stopped"),
        ),
        (
            copilot_session(&[copilot("abort", json!({"reason": "user_initiated"}))], 0),
            Some("aborted"),
            Some("it was stopped"),
        ),
        (
            qwen(&[
                json!({"type": "result", "subtype": "error_during_execution", "is_error": true, "error": {"message": "no"}}),
            ]),
            Some("error_during_execution"),
            Some("no"),
        ),
        (
            qwen(&[
                json!({"type": "result", "subtype": "success", "is_error": false, "result": "ok"}),
            ]),
            Some("success"),
            None,
        ),
    ] {
        let summary = read(&events);
        assert_eq!(
            (summary.ended.as_deref(), summary.error.as_deref()),
            (ended, error),
            "{events:?}"
        );
        assert_eq!(
            summary.reports_success(),
            ended.is_some() && error.is_none()
        );
        assert!(
            summary
                .dialect
                .is_some_and(StreamDialect::always_reports_its_end)
        );
    }
}

#[test]
fn errors_come_with_the_status_of_the_service() {
    let failed = json!({"type": "error", "sessionID": OPENCODE_ID,
        "error": {"name": "APIError", "data": {"message": "Incorrect API key provided", "statusCode": 401, "isRetryable": false}}});
    let summary = read(&[failed]);
    assert_eq!(
        (summary.error.as_deref(), summary.error_status),
        (Some("Incorrect API key provided"), Some(401))
    );
    assert_eq!(summary.session_id.as_deref(), Some(OPENCODE_ID));
    for (message, status) in [
        (
            r#"[API Error: {"error":{"code":403,"message":"denied","status":"PERMISSION_DENIED"}}]"#,
            Some(403),
        ),
        (
            "[API Error: You have exhausted your daily quota on this model.]",
            None,
        ),
    ] {
        let summary = read(&gemini(&[
            json!({"type": "result", "status": "error", "error": {"type": "unknown", "message": message}}),
        ]));
        assert_eq!(
            (summary.error.as_deref(), summary.error_status),
            (Some(message), status)
        );
    }
    for (kind, told, status) in [
        ("rate_limit", Some(429), 429),
        ("authentication", None, 401),
    ] {
        let error = copilot(
            "session.error",
            json!({"errorType": kind, "message": "no", "statusCode": told}),
        );
        assert_eq!(
            read(&copilot_session(&[error], 1)).error_status,
            Some(status)
        );
    }
}

#[test]
fn refused_tools_of_each_program_carry_causes() {
    let call = json!({"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "c", "parameters": {}});
    let answered = |kind: &str| {
        let error = json!({"type": kind, "message": "no"});
        let result = json!({"type": "tool_result", "tool_id": "c", "status": "error", "output": "no", "error": error});
        read(&gemini(&[call.clone(), result]))
    };
    assert_eq!(
        refused(&answered("tool_not_registered")),
        [("run_shell_command", RefusalCause::NotOffered)]
    );
    assert_eq!(
        refused(&answered("policy_violation")),
        [("run_shell_command", RefusalCause::Permission)]
    );
    assert_eq!(refused(&answered("execution_failed")), []);

    let tool = |error: &str| {
        let state = json!({"status": "error", "input": {"command": "ls"}, "error": error});
        read(&[
            opencode("step_start", json!({})),
            opencode(
                "tool_use",
                json!({"tool": "bash", "callID": "c", "state": state}),
            ),
        ])
    };
    let asked = "The user rejected permission to use this specific tool call.";
    assert_eq!(refused(&tool(asked)), [("bash", RefusalCause::Permission)]);
    assert_eq!(
        refused(&tool(
            "Model tried to call unavailable tool 'invalid'. Available tools: ."
        )),
        [("bash", RefusalCause::NotOffered)]
    );
    assert_eq!(refused(&tool(&format!("the test expects: {asked}"))), []);

    let ran = |error: Value| {
        let begun = copilot(
            "tool.execution_start",
            json!({"toolCallId": "c", "toolName": "bash", "arguments": {}}),
        );
        read(&copilot_session(
            &[
                begun,
                copilot(
                    "tool.execution_complete",
                    json!({"toolCallId": "c", "success": false, "error": error}),
                ),
            ],
            0,
        ))
    };
    let denied = "Permission denied because no interactive user response was available.";
    assert_eq!(
        refused(&ran(json!({"message": denied, "code": "denied"}))),
        [("bash", RefusalCause::Permission)]
    );
    assert_eq!(
        refused(&ran(
            json!({"message": "Tool 'bash' does not exist.", "code": "failure"})
        )),
        [("bash", RefusalCause::NotOffered)]
    );
    assert_eq!(
        refused(&ran(json!({"message": "exit code 1", "code": "failure"}))),
        []
    );

    let command = |exit: i64, output: &str| {
        let item = json!({"id": "1", "type": "command_execution", "command": "git commit", "aggregated_output": output, "exit_code": exit});
        read(&codex(&[json!({"type": "item.completed", "item": item})]))
    };
    let git = "fatal: Unable to create '/r/.git/index.lock': Read-only file system\n";
    assert_eq!(
        refused(&command(128, git)),
        [("command_execution", RefusalCause::ReadOnlyGit)]
    );
    assert_eq!(
        refused(&command(0, git)),
        [],
        "printed by a command that did what it should"
    );

    let denial = json!({"tool_name": "run_shell_command", "tool_use_id": "c", "tool_input": {}});
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "result": "x", "permission_denials": [denial]});
    assert_eq!(
        refused(&read(&qwen(&[result]))),
        [("run_shell_command", RefusalCause::Permission)]
    );
}

#[test]
fn printed_retries_count_and_others_stay_unknown() {
    let reconnects = |n: u64| json!({"type": "error", "message": format!("Reconnecting... {n}/5 (exceeded retry limit, last status: 429)")});
    let summary = read(&codex(&[
        reconnects(1),
        reconnects(2),
        json!({"type": "turn.completed", "usage": {}}),
    ]));
    assert_eq!(
        (summary.known_retries(), summary.last_retry.as_deref()),
        (Some(2), Some("exceeded retry limit, last status: 429"))
    );
    assert_eq!(read(&codex(&[])).known_retries(), Some(0));
    let retry = copilot(
        "assistant.turn_retry",
        json!({"turnId": "0", "reason": "rate_limit"}),
    );
    assert_eq!(read(&copilot_session(&[retry], 1)).known_retries(), Some(1));
    let again = json!({"type": "system", "subtype": "retry", "session_id": ID, "data": {"reason": "retry"}});
    assert_eq!(read(&qwen(&[again])).known_retries(), Some(1));
    for silent in [
        qwen(&[]),
        gemini(&[]),
        vec![opencode("step_start", json!({}))],
    ] {
        assert_eq!(read(&silent).known_retries(), None);
    }
}

#[test]
fn command_outliving_its_turn_is_background_work() {
    let item = |kind: &str, id: &str| {
        json!({"type": kind, "item": {"id": id, "type": "command_execution", "command": "sleep 60",
        "aggregated_output": "", "exit_code": 0}})
    };
    let events = codex(&[
        item("item.started", "1"),
        item("item.started", "2"),
        item("item.completed", "1"),
        json!({"type": "turn.completed", "usage": {}}),
    ]);
    let tasks = read(&events).background_tasks;
    assert_eq!(
        tasks,
        [json!({"id": "2", "type": "shell", "status": "running", "description": "sleep 60"})]
    );
    assert_eq!(
        read(&events[..4]).background_tasks,
        Vec::<Value>::new(),
        "while the turn lasts, it is waited for"
    );
}

#[test]
fn earlier_session_spending_stays_out_of_run() {
    let spent = |events: &[Value], earlier: Option<TokenCounts>| {
        let totals: HashMap<String, TokenCounts> = earlier
            .map(|tokens| (ID.to_owned(), tokens))
            .into_iter()
            .collect();
        let tap = StreamTap::default();
        tap.continues(totals);
        watchdog_process::OutputReader::push(&tap, lines(events).as_bytes());
        let summary = tap.finish();
        (
            (summary.usage.input_tokens, summary.usage.output_tokens),
            summary.session_tokens,
        )
    };
    let tokens = |input, output| Some(TokenCounts { input, output });
    let usage = json!({"input_tokens": 500, "cached_input_tokens": 100, "output_tokens": 80});
    let codex = codex(&[json!({"type": "turn.completed", "usage": usage})]);
    let qwen = qwen(&[
        json!({"type": "assistant", "message": {"id": "m", "model": "m", "content": [], "usage": {"input_tokens": 100, "output_tokens": 20}}}),
        json!({"type": "result", "subtype": "success", "num_turns": 1, "result": "ok", "usage": {"input_tokens": 500, "output_tokens": 80}}),
    ]);
    for events in [codex, qwen] {
        assert_eq!(
            spent(&events, None),
            ((Some(500), Some(80)), tokens(500, 80)),
            "nothing is known: rather too much"
        );
        assert_eq!(
            spent(&events, tokens(400, 60)),
            ((Some(100), Some(20)), tokens(500, 80))
        );
        assert_eq!(
            spent(&events, tokens(900, 90)),
            ((Some(500), Some(80)), tokens(500, 80)),
            "it counts anew"
        );
    }
}

#[test]
fn copilot_and_qwen_are_read_as_sessions() {
    let summary = read(&copilot_session(
        &[
            copilot("user.message", json!({"content": "do it"})),
            copilot("assistant.turn_start", json!({"turnId": "0"})),
            copilot(
                "assistant.message",
                json!({"messageId": "m", "content": "Done."}),
            ),
        ],
        0,
    ));
    assert_eq!(
        (
            summary.session_id.as_deref(),
            summary.output.as_deref(),
            summary.usage.turns
        ),
        (Some(ID), Some("Done."), Some(1))
    );
    assert_eq!(
        (summary.usage.input_tokens, summary.usage.cost_usd),
        (None, None),
        "it does not tell"
    );
    let summary = read(&qwen(&[
        json!({"type": "stream_event", "session_id": ID, "event": {"type": "goal_state"}}),
        json!({"type": "assistant", "session_id": ID, "message": {"id": "a", "model": "m", "content": [{"type": "text", "text": "I will."}]}}),
        json!({"type": "assistant", "session_id": ID, "message": {"id": "b", "model": "m", "content": [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]}}),
        json!({"type": "result", "subtype": "success", "num_turns": 1, "structured_result": {"status": "complete"}, "result": "Done.",
               "usage": {"input_tokens": 9, "output_tokens": 3}}),
    ]));
    assert_eq!(
        (summary.usage.turns, summary.output.as_deref()),
        (Some(1), Some("Done."))
    );
    assert_eq!(
        summary.structured_output,
        Some(json!({"status": "complete"}))
    );
}

#[test]
fn cursor_and_amp_follow_their_documented_streams() {
    let call = |subtype: &str, call: Value| json!({"type": "tool_call", "subtype": subtype, "call_id": "c", "session_id": ID, "tool_call": call});
    let summary = read(&[
        json!({"type": "system", "subtype": "init", "session_id": ID, "model": "m", "permissionMode": "default"}),
        json!({"type": "assistant", "session_id": ID, "message": {"role": "assistant", "content": [{"type": "text", "text": "I will."}]}}),
        call(
            "started",
            json!({"shellToolCall": {"args": {"command": "git commit"}}}),
        ),
        call(
            "completed",
            json!({"shellToolCall": {"args": {"command": "git commit"}, "result": {"rejected": {"reason": "no"}}}}),
        ),
        json!({"type": "result", "subtype": "success", "is_error": false, "session_id": ID, "result": "Done."}),
    ]);
    assert_eq!(
        (
            summary.session_id.as_deref(),
            summary.output.as_deref(),
            summary.reports_success()
        ),
        (Some(ID), Some("Done."), true)
    );
    assert_eq!(refused(&summary), [("shell", RefusalCause::Permission)]);
}

#[test]
fn known_program_uses_its_own_dialect_alone() {
    let tap = StreamTap::with_format(&StreamFormat::Dialect(StreamDialect::Codex));
    watchdog_process::OutputReader::push(
        &tap,
        lines(&gemini(&[json!({"type": "result", "status": "success"})])).as_bytes(),
    );
    let summary = tap.finish();
    assert_eq!(
        (summary.structured, summary.session_id, summary.dialect),
        (false, None, Some(StreamDialect::Codex))
    );
}
