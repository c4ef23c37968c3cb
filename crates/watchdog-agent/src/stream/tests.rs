//! Outputs of sessions, as programs print them and as no program does.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::reader::TEXT;
use super::*;

const ID: &str = "0a0a0a0a-0000-4000-8000-000000000001";

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn read(output: &str) -> SessionSummary {
    let mut reader = StreamReader::default();
    reader.push(output.as_bytes());
    reader.finish()
}

fn figures(summary: &SessionSummary) -> (Option<u64>, Option<u64>, Option<u64>, Option<f64>) {
    (
        summary.usage.turns,
        summary.usage.input_tokens,
        summary.usage.output_tokens,
        summary.usage.cost_usd,
    )
}

fn said(id: &str, content: Value, usage: Value) -> Value {
    json!({"type": "assistant", "session_id": ID, "parent_tool_use_id": null,
           "message": {"id": id, "role": "assistant", "model": "m", "content": content, "stop_reason": null, "usage": usage}})
}

fn returned(call: &str, content: &str) -> Value {
    json!({"type": "user", "session_id": ID, "parent_tool_use_id": null,
           "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": content, "is_error": false}]}})
}

fn a_session() -> Vec<Value> {
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1});
    vec![
        json!({"type": "system", "subtype": "init", "session_id": ID, "model": "m"}),
        said(
            "m1",
            json!([{"type": "text", "text": "Let me look."}]),
            usage.clone(),
        ),
        said(
            "m1",
            json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]),
            usage.clone(),
        ),
        returned("t1", "a.txt"),
        said("m2", json!([{"type": "text", "text": "All done."}]), usage),
        json!({"type": "result", "subtype": "success", "is_error": false, "session_id": ID, "num_turns": 2, "result": "All done.",
               "stop_reason": "end_turn", "terminal_reason": "completed", "total_cost_usd": 0.02,
               "usage": {"input_tokens": 20, "cache_read_input_tokens": 10, "output_tokens": 12},
               "modelUsage": {"m": {"inputTokens": 20, "cacheReadInputTokens": 10, "outputTokens": 12, "costUSD": 0.02}}}),
    ]
}

#[test]
fn claude_session_reports_words_actions_and_usage() {
    let summary = read(&lines(&a_session()));
    assert_eq!(figures(&summary), (Some(2), Some(30), Some(12), Some(0.02)));
    assert_eq!(
        (summary.session_id.as_deref(), summary.output.as_deref()),
        (Some(ID), Some("All done."))
    );
    assert_eq!(
        (
            summary.stop_reason.as_deref(),
            summary.ended.as_deref(),
            &summary.error
        ),
        (Some("end_turn"), Some("completed"), &None)
    );
    let roles: Vec<&str> = summary
        .messages
        .iter()
        .map(|message| message.role.as_str())
        .collect();
    assert_eq!(roles, ["assistant", "tool", "assistant"]);
    let result = summary.messages[1].tool_result.as_ref().expect("a result");
    assert_eq!(
        (result.name.as_deref(), result.content.as_str()),
        (Some("Bash"), "a.txt")
    );
}

#[test]
fn running_session_shows_usage_so_far() {
    let mut reader = StreamReader::default();
    reader.push(lines(&a_session()[..5]).as_bytes());
    let view = reader.view();
    assert_eq!(
        (
            view.structured,
            view.usage.turns,
            view.usage.input_tokens,
            view.usage.cost_usd
        ),
        (true, Some(2), Some(30), None)
    );
    assert_eq!(view.last_line, "All done.");
}

#[test]
fn lone_result_and_event_array_are_readable() {
    let events = a_session();
    let alone = read(&events[5].to_string());
    assert_eq!(
        (figures(&alone), alone.output.as_deref()),
        ((Some(2), Some(30), Some(12), Some(0.02)), Some("All done."))
    );
    let array = read(&serde_json::to_string_pretty(&events).expect("JSON"));
    assert_eq!(array, read(&lines(&events)));
}

#[test]
fn several_results_are_turns_of_one_session() {
    let model = |input: u64, output: u64, cost: f64| json!({"m": {"inputTokens": input, "outputTokens": output, "costUSD": cost}});
    let result = |turns: u64, answer: &str, usage: Value, whole: Value, since: Value, cost: f64| {
        json!({"type": "result", "subtype": "success", "num_turns": turns, "result": answer, "session_id": ID, "usage": usage,
               "modelUsage": whole, "model_usage_since_last_result": since, "total_cost_usd": cost})
    };
    let task = json!({"task_id": "b1", "task_type": "local_bash", "description": "tests"});
    let mut events = vec![
        json!({"type": "system", "subtype": "init", "session_id": ID}),
        json!({"type": "system", "subtype": "background_tasks_changed", "session_id": ID, "tasks": [task]}),
        result(
            2,
            "waiting",
            json!({"input_tokens": 20, "output_tokens": 10}),
            model(120, 60, 1.2),
            model(20, 10, 0.2),
            1.2,
        ),
    ];
    let waiting = read(&lines(&events));
    assert_eq!(
        waiting.background_tasks,
        [json!({"id": "b1", "type": "shell", "status": "running", "description": "tests"})]
    );
    // Resumed: the whole cost is that of earlier runs, too.
    assert_eq!(
        (figures(&waiting), waiting.session_cost_usd),
        ((Some(2), Some(20), Some(10), Some(0.2)), Some(1.2))
    );
    events.push(json!({"type": "system", "subtype": "task_updated", "task_id": "b1", "patch": {"status": "completed"}}));
    events.push(result(
        1,
        "finished",
        json!({"input_tokens": 10, "output_tokens": 5}),
        model(130, 65, 1.3),
        model(10, 5, 0.1),
        1.3,
    ));
    let summary = read(&lines(&events));
    assert_eq!(summary.background_tasks, Vec::<Value>::new());
    assert_eq!(summary.output.as_deref(), Some("finished"));
    let cost = summary.usage.cost_usd.expect("known");
    assert_eq!(
        (
            summary.usage.turns,
            summary.usage.input_tokens,
            summary.usage.output_tokens
        ),
        (Some(3), Some(30), Some(15))
    );
    assert!((cost - 0.3).abs() < 1e-9, "{cost}");
}

#[test]
fn errors_retries_and_limits_are_told() {
    let summary = read(&lines(&[
        json!({"type": "system", "subtype": "init", "session_id": ID}),
        json!({"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 529, "error": "overloaded"}),
        json!({"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1_787_200_000}}),
        json!({"type": "result", "subtype": "error_max_turns", "is_error": true, "num_turns": 1, "errors": ["Reached maximum number of turns (1)"]}),
    ]));
    assert_eq!(
        (summary.retries, summary.last_retry.as_deref()),
        (1, Some("overloaded (529)"))
    );
    assert_eq!(
        (summary.ended.as_deref(), summary.error.as_deref()),
        (
            Some("error_max_turns"),
            Some("Reached maximum number of turns (1)")
        )
    );
    assert_eq!(
        summary.limit_ends.map(|at| at.as_second()),
        Some(1_787_200_000)
    );
    let qwen = json!({"type": "result", "subtype": "error_during_execution", "is_error": true, "error": {"message": "[API Error: 403 no]"}});
    assert_eq!(
        read(&lines(&[qwen])).error.as_deref(),
        Some("[API Error: 403 no]")
    );
    let allowed = json!({"type": "rate_limit_event", "rate_limit_info": {"status": "allowed", "resetsAt": 1_787_200_000}});
    assert_eq!(read(&lines(&[allowed])).limit_ends, None);
}

#[test]
fn subagents_spend_but_do_not_speak() {
    let mut events = a_session();
    let mut helper = said(
        "h1",
        json!([{"type": "text", "text": "helping"}]),
        json!({"input_tokens": 100, "output_tokens": 7}),
    );
    helper["parent_tool_use_id"] = json!("t1");
    events.insert(5, helper);
    let summary = read(&lines(&events));
    assert_eq!(
        (summary.usage.turns, summary.usage.input_tokens),
        (Some(2), Some(130))
    );
    assert!(
        summary
            .messages
            .iter()
            .all(|message| message.text.as_deref() != Some("helping"))
    );
}

#[test]
fn the_agents_list_is_followed() {
    let summary = read(&lines(&[
        said(
            "m1",
            json!([{"type": "tool_use", "id": "t1", "name": "TaskCreate", "input": {"subject": "test", "description": "d"}}]),
            json!({}),
        ),
        returned("t1", "Task #1 created successfully: test"),
        said(
            "m2",
            json!([{"type": "tool_use", "id": "t2", "name": "TaskUpdate", "input": {"taskId": "1", "status": "completed"}}]),
            json!({}),
        ),
        returned("t2", "Updated task #1 status"),
    ]));
    let steps = summary.plan.expect("a plan").steps;
    assert_eq!(
        (
            steps.len(),
            steps[0].title.as_str(),
            steps[0].status.as_str()
        ),
        (1, "test", "done")
    );
}

#[test]
fn other_programs_are_understood() {
    let codex = read(&lines(&[
        json!({"type": "thread.started", "thread_id": ID}),
        json!({"type": "turn.started"}),
        json!({"type": "error", "message": "Reconnecting... 1/5"}),
        json!({"type": "item.started", "item": {"id": "i0", "type": "todo_list", "items": [{"text": "a", "completed": false}]}}),
        json!({"type": "item.completed", "item": {"id": "i1", "type": "command_execution", "command": "ls", "aggregated_output": "x", "exit_code": 1}}),
        json!({"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": "OK"}}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 100, "cached_input_tokens": 30, "output_tokens": 23}}),
    ]));
    assert_eq!(
        (figures(&codex), codex.output.as_deref()),
        ((Some(1), Some(100), Some(23), None), Some("OK"))
    );
    assert_eq!(
        (
            codex.session_id.as_deref(),
            codex.error,
            codex.plan.map(|plan| plan.steps.len())
        ),
        (Some(ID), None, Some(1))
    );
    assert!(codex.messages.iter().any(|message| {
        message
            .tool_result
            .as_ref()
            .is_some_and(|result| result.is_error)
    }));

    let gemini = read(&lines(&[
        json!({"type": "init", "session_id": ID, "model": "m"}),
        json!({"type": "message", "role": "user", "content": "do it"}),
        json!({"type": "message", "role": "assistant", "content": "I ", "delta": true}),
        json!({"type": "message", "role": "assistant", "content": "did.", "delta": true}),
        json!({"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "c", "parameters": {}}),
        json!({"type": "tool_result", "tool_id": "c", "status": "success", "output": "fine"}),
        json!({"type": "message", "role": "assistant", "content": "All done.", "delta": true}),
        json!({"type": "result", "status": "success", "stats": {"total_tokens": 120, "input_tokens": 90, "output_tokens": 20}}),
    ]));
    assert_eq!(
        (figures(&gemini), gemini.output.as_deref()),
        ((None, Some(90), Some(30), None), Some("All done."))
    );
    assert_eq!(
        (gemini.prompt.as_deref(), gemini.session_id.as_deref()),
        (Some("do it"), Some(ID))
    );

    let whole = json!({"session_id": ID, "response": "Done.", "stats": {"models": {"m": {"api": {"totalRequests": 3},
        "tokens": {"prompt": 50, "candidates": 5, "thoughts": 4, "cached": 10, "total": 60}}}}});
    let gemini = read(&serde_json::to_string_pretty(&whole).expect("JSON"));
    assert_eq!(
        (figures(&gemini), gemini.output.as_deref()),
        ((Some(3), Some(50), Some(10), None), Some("Done."))
    );

    let step = |cost: f64| {
        json!({"type": "step_finish", "sessionID": "ses_1", "part": {"type": "step-finish", "reason": "stop", "cost": cost,
               "tokens": {"input": 10, "output": 3, "reasoning": 2, "cache": {"read": 4, "write": 1}}}})
    };
    let opencode = read(&lines(&[
        json!({"type": "step_start", "sessionID": "ses_1", "part": {}}),
        json!({"type": "tool_use", "sessionID": "ses_1", "part": {"tool": "todowrite", "callID": "c", "state": {"status": "completed",
               "input": {"todos": [{"content": "a", "status": "pending"}]}, "output": "ok"}}}),
        step(0.25),
        json!({"type": "step_start", "sessionID": "ses_1", "part": {}}),
        json!({"type": "text", "sessionID": "ses_1", "part": {"id": "p", "text": "Done."}}),
        step(0.5),
    ]));
    assert_eq!(
        (figures(&opencode), opencode.output.as_deref()),
        ((Some(2), Some(30), Some(10), Some(0.75)), Some("Done."))
    );
    assert_eq!(opencode.plan.map(|plan| plan.steps.len()), Some(1));

    let antigravity = read(&lines(&[
        json!({"event": "init", "conversation_id": ID, "init": {}}),
        json!({"event": "step_update", "step_update": {"step_index": 2, "step_type": "agent_response", "text_delta": "OK\n", "usage": {"input_tokens": 17, "output_tokens": 2}}}),
        json!({"event": "result", "result": {"conversation_id": ID, "status": "SUCCESS", "response": "OK\n", "num_turns": 1, "usage": {"input_tokens": 17, "output_tokens": 2}}}),
    ]));
    assert_eq!(
        (figures(&antigravity), antigravity.output.as_deref()),
        ((Some(1), Some(17), Some(2), None), Some("OK"))
    );
}

#[test]
fn plain_text_tells_its_end_and_no_figures() {
    let summary = read("Working...\n\x1b[32mAll done.\x1b[0m\n");
    assert_eq!(
        (
            summary.structured,
            summary.output.as_deref(),
            figures(&summary)
        ),
        (
            false,
            Some("Working...\nAll done."),
            (None, None, None, None)
        )
    );
    assert_eq!(read("").output, None);
    let long = "x".repeat(3 * TEXT) + "\nTASK_DONE\n";
    let summary = read(&long).output.expect("its end");
    assert!(summary.ends_with("TASK_DONE") && summary.len() <= TEXT);
}

#[test]
fn quoted_event_in_prose_is_no_event() {
    let [result] = &a_session()[5..] else {
        panic!("one result")
    };
    let summary = read(&format!(
        "The program prints this:\n{result}\nand then it ends.\n"
    ));
    assert_eq!((summary.structured, summary.usage.cost_usd), (false, None));
    // But a script may say something before it starts the agent, or after.
    assert!(read(&format!("starting\n{}", lines(&a_session()))).structured);
    assert!(read(&format!("{}finished\n", lines(&a_session()))).structured);
    assert!(read(&format!("starting\n{result}\n")).structured);
}

#[test]
fn unknown_and_broken_lines_pass() {
    let mut output = String::from(
        "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"nonsense\"}\nnot json\n{\"type\":\"assistant\"\n{}\n[]\n",
    );
    output
        .push_str("{\"type\":\"unknown\",\"value\":1}\n{\"type\":\"assistant\",\"message\":7}\n{\"type\":\"user\"}\n{\"type\":5}\nnull\n");
    let summary = read(&(output + &lines(&a_session()[1..])));
    assert_eq!(figures(&summary), (Some(2), Some(30), Some(12), Some(0.02)));
    assert_eq!(summary.session_id.as_deref(), Some(ID));
}

#[test]
fn huge_tool_result_is_cheap_without_hiding_events() {
    let mut events = a_session();
    events[3] = returned("t1", &format!("begin {} end", "é\n".repeat(4 << 20)));
    let summary = read(&lines(&events));
    assert_eq!(figures(&summary), (Some(2), Some(30), Some(12), Some(0.02)));
    let content = &summary.messages[1]
        .tool_result
        .as_ref()
        .expect("kept")
        .content;
    assert!(content.starts_with("begin") && content.ends_with("end") && content.len() < 100 << 10);
}

fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (0_usize..6).prop_map(|at| a_session()[at].to_string()),
        1 => any::<String>(),
        1 => Just(json!({"type": "item.completed", "item": {"type": "agent_message", "text": "é"}}).to_string()),
        1 => "\\{\"type\":\"(assistant|user|result|system|error|text|step_finish|init|message)\",\"(message|part|item|usage|tasks|stats|error)\":[\\[{\"a-z:0-9,}\\]]{0,20}\\}",
    ]
}

proptest! {
    #[test]
    fn output_reads_the_same_however_split(all in prop::collection::vec(any_line(), 0..20), at in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let output = all.join("\n");
        let mut cuts: Vec<usize> = at.iter().map(|index| index.index(output.len() + 1)).collect();
        cuts.sort_unstable();
        let mut reader = StreamReader::default();
        let mut from = 0;
        for to in cuts.into_iter().chain([output.len()]) {
            reader.push(&output.as_bytes()[from..to]);
            // Looking changes nothing.
            reader.view();
            from = to;
        }
        prop_assert_eq!(reader.finish(), read(&output));
    }

    #[test]
    fn no_output_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut reader = StreamReader::default();
        reader.push(&bytes);
        reader.finish();
    }
}
