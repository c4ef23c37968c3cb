//! Contexts read from JSON and written to it: tables, and properties over any context and any JSON.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::context_reader::{MAX_CONTEXT_BYTES, context_from_json, context_from_value};
use super::context_writer::context_to_json;
use watchdog_facts::context::{
    AgentTodoPlan, ContextMessage, IterationSummary, PlanStep, SessionContext, SessionUsage,
    ToolResult,
};

fn read(value: Value) -> SessionContext {
    context_from_value(&value).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_whole_context_is_read() {
    let found = read(json!({
        "schema": 1, "worktree": "/w", "spec": "s", "baseline": "abc", "head": "def", "iteration": 3.0, "claims_done": true,
        "stop_reason": "end_turn", "tentative_output": {"a": 1}, "output": "done", "prompt": "do it",
        "summaries": [{"iteration": 2, "assistant_responses": ["one"], "detected_actions": [{"type": "decision"}], "note": "n"}],
        "plan": {"objective": "o", "status": "active", "steps": [{"step_id": 1, "title": "t", "status": "done"}, {"id": "b", "content": "u"}]},
        "messages": [
            {"role": "user", "content": "do it"},
            {"role": "tool", "tool_result": {"id": "1", "name": "execute_sql", "content": "{\"rows\":[]}"}}],
        "usage": {"turns": 4, "input_tokens": 100, "cost_usd": 0.2, "new": []},
        "background_tasks": [{"id": 7}], "something_new": {"x": 1},
    }));
    let step = |id: &str, title: &str, status: &str| PlanStep {
        id: Some(id.into()),
        title: title.into(),
        status: status.into(),
    };
    let result = ToolResult {
        id: Some("1".into()),
        name: Some("execute_sql".into()),
        content: "{\"rows\":[]}".into(),
        is_error: false,
    };
    let wanted = SessionContext {
        worktree: Some("/w".into()),
        spec: Some("s".into()),
        baseline: Some("abc".into()),
        head: Some("def".into()),
        iteration: Some(3),
        claims_done: Some(true),
        stop_reason: Some("end_turn".into()),
        tentative_output: Some(json!({"a": 1})),
        output: Some("done".into()),
        prompt: Some("do it".into()),
        summaries: vec![IterationSummary {
            iteration: Some(2),
            assistant_responses: vec!["one".into()],
            detected_actions: vec![json!({"type": "decision"})],
            more: [("note".to_owned(), json!("n"))].into(),
        }],
        plan: Some(AgentTodoPlan {
            objective: Some("o".into()),
            status: Some("active".into()),
            steps: vec![step("1", "t", "done"), step("b", "u", "")],
        }),
        messages: vec![
            ContextMessage {
                role: "user".into(),
                text: Some("do it".into()),
                tool_result: None,
            },
            ContextMessage {
                role: "tool".into(),
                text: None,
                tool_result: Some(result),
            },
        ],
        usage: SessionUsage {
            turns: Some(4),
            input_tokens: Some(100),
            cost_usd: Some(0.2),
            ..SessionUsage::default()
        },
        background_tasks: vec![json!({"id": 7})],
        from_host: false,
    };
    assert_eq!(found, wanted);
}

#[test]
fn what_is_absent_or_null_is_unknown() {
    let nulls = json!({
        "schema": 1, "output": null, "plan": null, "messages": null, "usage": null, "iteration": null, "summaries": null,
        "tentative_output": null, "background_tasks": null,
    });
    for value in [
        json!({}),
        json!({"schema": 1}),
        nulls,
        json!({"schema": 1, "usage": {"turns": null}}),
    ] {
        assert_eq!(read(value), SessionContext::default());
    }
}

#[test]
fn content_may_be_a_text_or_blocks() {
    let blocks = json!([{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "x"}, {"type": "text", "text": "b"}]);
    let found = read(
        json!({"output": blocks, "messages": [{"role": "assistant", "content": blocks}, {"role": "assistant", "text": "c"}]}),
    );
    assert_eq!(found.output.as_deref(), Some("a\nb"));
    let texts: Vec<Option<&str>> = found
        .messages
        .iter()
        .map(|message| message.text.as_deref())
        .collect();
    assert_eq!(texts, [Some("a\nb"), Some("c")]);
}

#[test]
fn text_blocks_count_and_nonword_kinds_are_unknown() {
    let output = |blocks: Value| read(json!({"output": blocks})).output;
    assert_eq!(
        output(json!(["a", {"text": "b"}, {"type": "text", "text": "c"}, {"type": "refusal", "refusal": "d"}])).as_deref(),
        Some("a\nb\nc\nd")
    );
    assert_eq!(
        output(json!([{"type": 5, "text": "a"}, {"type": "image", "text": "b"}, 5])).as_deref(),
        Some("")
    );
    let content = json!([{"text": "a"}, {"type": "text", "text": "b"}]);
    assert_eq!(
        read(json!({"messages": [{"role": "assistant", "content": content}]})).messages[0]
            .text
            .as_deref(),
        Some("a\nb")
    );
    let mixed = json!([{"type": "text", "text": "x"}, {"type": "image", "data": "y"}]);
    let found =
        read(json!({"messages": [{"role": "tool", "tool_result": {"id": "1", "content": mixed}}]}));
    let result = found.messages[0].tool_result.as_ref().expect("it is one");
    assert_eq!(
        serde_json::from_str::<Value>(&result.content).ok(),
        Some(mixed),
        "nothing of a result is left out"
    );
}

#[test]
fn context_length_is_bounded_with_exact_counts() {
    let why = |length: usize| {
        context_from_json(&"x".repeat(length))
            .expect_err("it is no JSON")
            .why
    };
    assert!(why(MAX_CONTEXT_BYTES).starts_with("the context is not valid JSON"));
    for more in [1, 2] {
        let length = MAX_CONTEXT_BYTES + more;
        assert_eq!(
            why(length),
            format!("the context is {length} bytes long; at most 67108864 are read")
        );
    }
    assert_eq!(
        read(json!({"iteration": 999_999_999_999_999.0})).iteration,
        Some(999_999_999_999_999)
    );
    let error = context_from_value(&json!({"iteration": 1e15}))
        .expect_err("a count of this size was rounded somewhere");
    assert_eq!(error.key, "iteration");
}

#[test]
fn context_cuts_are_marked_and_leave_no_halves() {
    let steps = |count: usize| AgentTodoPlan {
        steps: vec![PlanStep::default(); count],
        ..AgentTodoPlan::default()
    };
    let written = |plan: AgentTodoPlan, output: &str, tentative: &str| {
        let tentative_output = Some(json!({"a": tentative}));
        let context = SessionContext {
            plan: Some(plan),
            output: Some(output.into()),
            tentative_output,
            ..SessionContext::default()
        };
        context_to_json(&context)
    };
    let long = "x".repeat(1 << 20);
    for (value, kept, cut, tentative) in [
        (written(steps(1), "o", "t"), 1, false, json!({"a": "t"})),
        (
            written(steps(1000), "o", "t"),
            1000,
            false,
            json!({"a": "t"}),
        ),
        (
            written(steps(1001), "o", "t"),
            1000,
            true,
            json!({"a": "t"}),
        ),
        (written(steps(1), &long, "t"), 1, true, json!({"a": "t"})),
        (written(steps(1), "o", &long), 1, true, Value::Null),
        (
            written(steps(1), "o", &long[..(1 << 20) - 8]),
            1,
            false,
            json!({"a": &long[..(1 << 20) - 8]}),
        ),
    ] {
        assert_eq!(value["plan"]["steps"].as_array().map(Vec::len), Some(kept));
        assert_eq!(
            (
                value.get("cut").is_some(),
                value["tentative_output"] == tentative
            ),
            (cut, true),
            "{kept} steps"
        );
    }
}

#[test]
fn tool_results_are_named_by_their_calls() {
    let found = read(json!({"messages": [
        {"role": "assistant", "tool_call": {"id": 1, "name": "one"}},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "2", "name": "two", "input": {}}]},
        {"role": "tool", "tool_result": {"id": "1", "content": {"rows": [1]}}},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "x"}], "is_error": true},
            {"type": "tool_result", "tool_use_id": "3", "content": "y"},
            {"type": "text", "text": "go on"}]},
    ]}));
    let results: Vec<(Option<&str>, &str, bool)> = (found
        .messages
        .iter()
        .filter_map(|message| message.tool_result.as_ref()))
    .map(|result| {
        (
            result.name.as_deref(),
            result.content.as_str(),
            result.is_error,
        )
    })
    .collect();
    assert_eq!(
        results,
        [
            (Some("one"), "{\"rows\":[1]}", false),
            (Some("two"), "x", true),
            (None, "y", false)
        ]
    );
    assert!(
        found
            .messages
            .iter()
            .any(|message| message.text.as_deref() == Some("go on"))
    );
}

/// A result: the name of its tool, its text, whether it failed.
type ToldResult = (Option<String>, String, bool);

/// The texts and the results of a conversation.
fn told(messages: &Value) -> (Vec<String>, Vec<ToldResult>) {
    let found = read(json!({"messages": messages})).messages;
    let texts = found
        .iter()
        .filter_map(|message| message.text.clone())
        .collect();
    let results = found.into_iter().filter_map(|message| message.tool_result);
    (
        texts,
        results
            .map(|result| (result.name, result.content, result.is_error))
            .collect(),
    )
}

#[test]
fn every_form_of_a_conversation_says_the_same() {
    let rows = "{\"rows\":[]}";
    let ours = json!([
        {"role": "user", "content": "list them"},
        {"role": "assistant", "tool_call": {"id": "1", "name": "execute_sql"}, "content": "I ask."},
        {"role": "tool", "tool_result": {"id": "1", "content": rows}},
        {"role": "assistant", "content": "None."}]);
    let anthropic = json!([
        {"role": "user", "content": [{"type": "text", "text": "list them"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "y"}, {"type": "text", "text": "I ask."},
                                          {"type": "tool_use", "id": "1", "name": "execute_sql", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": rows}]}]},
        {"role": "assistant", "content": [{"type": "text", "text": "None."}]}]);
    let spore = json!([
        {"role": "user", "content": {"type": "text", "text": "list them"}},
        {"role": "assistant", "content": {"type": "text", "text": "I ask."}},
        {"role": "assistant", "content": {"type": "tool_call", "id": "1", "name": "execute_sql", "input": {"q": "select"}}},
        {"role": "tool", "content": {"type": "tool_result", "tool_use_id": "1", "content": rows, "is_error": false}},
        {"role": "user", "content": {"type": "image", "media_type": "image/png", "data": ""}},
        {"role": "assistant", "content": {"type": "text", "text": "None."}}]);
    let call = json!({"id": "1", "type": "function", "function": {"name": "execute_sql", "arguments": "{}"}});
    let chat = json!([
        {"role": "user", "content": [{"type": "text", "text": "list them"}, {"type": "image_url", "image_url": {"url": "data:"}}]},
        {"role": "assistant", "content": "I ask.", "refusal": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": rows},
        {"role": "assistant", "content": [{"type": "text", "text": "None."}]}]);
    let responses = json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "list them"}]},
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I ask.", "annotations": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "1", "name": "execute_sql", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": rows},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "None."}]}]);
    for (form, messages) in [
        ("ours", ours),
        ("Anthropic", anthropic),
        ("spore-core", spore),
        ("chat", chat),
        ("responses", responses),
    ] {
        let (texts, results) = told(&messages);
        assert_eq!(texts, ["list them", "I ask.", "None."], "{form}");
        assert_eq!(
            results,
            [(Some("execute_sql".to_owned()), rows.to_owned(), false)],
            "{form}"
        );
    }
}

#[test]
fn model_refusals_and_tool_failures_are_reported() {
    let (texts, results) = told(&json!([
        {"role": "assistant", "content": null, "refusal": "I will not."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "Nor this."}]},
        {"role": "tool", "content": {"type": "tool_result", "tool_use_id": "9", "content": "no such table", "is_error": true}},
        {"role": "function", "name": "execute_sql", "content": "an old form"},
        {"role": "tool", "tool_call_id": "8", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]));
    assert_eq!(texts, ["I will not.", "Nor this."]);
    assert_eq!(
        results,
        [
            (None, "no such table".to_owned(), true),
            (
                Some("execute_sql".to_owned()),
                "an old form".to_owned(),
                false
            ),
            (None, "a\nb".to_owned(), false)
        ]
    );
}

#[test]
fn unknown_message_kind_is_an_error() {
    for (message, words) in [
        (
            json!({"role": "user", "content": [{"type": "hologram", "of": "x"}]}),
            "messages[0].content[0].type: 'hologram' is no kind of block",
        ),
        (
            json!({"role": "user", "content": {"type": "hologram"}}),
            "messages[0].content.type: 'hologram' is no kind of block",
        ),
        (
            json!({"role": "user", "content": {"of": "x"}}),
            "messages[0].content: expected a block with a type or a text",
        ),
        (
            json!({"role": "user", "content": [7]}),
            "messages[0].content[0]: expected an object, found a number",
        ),
        (
            json!({"role": "user", "content": [{"type": "text", "text": 7}]}),
            "messages[0].content[0].text: expected a text, found a number",
        ),
        (
            json!({"type": "hologram"}),
            "messages[0].type: 'hologram' is no kind of block",
        ),
        (
            json!({"role": "assistant", "tool_calls": [{"id": "1", "function": 7}]}),
            "messages[0].tool_calls[0].function: expected an object",
        ),
        (
            json!({"role": "tool", "content": {"type": "tool_result", "tool_use_id": []}}),
            "messages[0].content.tool_use_id: expected a number or",
        ),
    ] {
        let error = context_from_value(&json!({"messages": [message]}))
            .expect_err("it is not understood")
            .to_string();
        assert!(error.starts_with(words), "{message}: {error}");
    }
}

#[test]
fn a_plan_may_be_its_steps_alone() {
    let found =
        read(json!({"plan": [{"content": "a", "status": "completed", "activeForm": "doing a"}]}));
    let step = PlanStep {
        id: None,
        title: "a".into(),
        status: "completed".into(),
    };
    assert_eq!(
        found.plan,
        Some(AgentTodoPlan {
            steps: vec![step],
            ..AgentTodoPlan::default()
        })
    );
    assert_eq!(
        read(json!({"plan": {}})).plan,
        Some(AgentTodoPlan::default())
    );
}

#[test]
fn a_wrong_type_names_the_key() {
    for (value, words) in [
        (json!([]), "expected an object, found a list"),
        (
            json!({"schema": 2}),
            "schema: this program reads schema 1 of the context, found 2",
        ),
        (
            json!({"schema": "1"}),
            "schema: this program reads schema 1",
        ),
        (
            json!({"output": 5}),
            "output: expected a text or a list of blocks, found a number",
        ),
        (
            json!({"claims_done": "yes"}),
            "claims_done: expected true or false, found a text",
        ),
        (
            json!({"iteration": -1}),
            "iteration: expected a whole number of at least 0, found -1",
        ),
        (
            json!({"iteration": 1.5}),
            "iteration: expected a whole number of at least 0, found 1.5",
        ),
        (
            json!({"usage": {"cost_usd": -0.1}}),
            "usage.cost_usd: expected a number of at least 0, found -0.1",
        ),
        (
            json!({"usage": {"turns": "4"}}),
            "usage.turns: expected a whole number of at least 0, found a text",
        ),
        (
            json!({"plan": {"steps": [{"step_id": []}]}}),
            "plan.steps[0].step_id: expected a number or a text, found a list",
        ),
        (
            json!({"plan": {"steps": [{}, {"title": 1}]}}),
            "plan.steps[1].title: expected a text, found a number",
        ),
        (
            json!({"plan": "x"}),
            "plan: expected an object, found a text",
        ),
        (
            json!({"messages": {}}),
            "messages: expected a list, found an object",
        ),
        (
            json!({"messages": ["x"]}),
            "messages[0]: expected an object, found a text",
        ),
        (
            json!({"messages": [{"role": 1}]}),
            "messages[0].role: expected a text, found a number",
        ),
        (
            json!({"messages": [{"tool_result": 1}]}),
            "messages[0].tool_result: expected an object, found a number",
        ),
        (
            json!({"messages": [{"content": 1}]}),
            "messages[0].content: expected a text or a list of blocks, found a number",
        ),
        (
            json!({"summaries": [{"assistant_responses": "x"}]}),
            "summaries[0].assistant_responses: expected a list, found a text",
        ),
    ] {
        assert!(
            context_from_value(&value)
                .unwrap_err()
                .to_string()
                .starts_with(words),
            "{value}"
        );
    }
    assert!(
        context_from_json("{")
            .unwrap_err()
            .to_string()
            .starts_with("the context is not valid JSON: ")
    );
    assert!(context_from_json("\u{feff}{}").is_ok());
    let deep = "[".repeat(100_000);
    assert!(context_from_json(&deep).is_err());
}

#[test]
fn written_context_is_short_and_keeps_newest() {
    let message = |n: usize| ContextMessage {
        role: "assistant".into(),
        text: Some(format!("{n} {}", "x".repeat(50_000))),
        tool_result: None,
    };
    let context = SessionContext {
        output: Some(format!("{}END", "é".repeat(100_000))),
        messages: (0..200).map(message).collect(),
        tentative_output: Some("x".repeat(3 << 20).into()),
        ..SessionContext::default()
    };
    let written = context_to_json(&context);
    assert!(written.to_string().len() < 3 << 20);
    assert_eq!(written["cut"], true);
    assert_eq!(written["tentative_output"], Value::Null);
    assert!(written["output"].as_str().unwrap().ends_with("END"));
    assert!(
        written["messages"].as_array().unwrap().last().unwrap()["content"]
            .as_str()
            .unwrap()
            .starts_with("199 ")
    );
    assert_eq!(context_to_json(&SessionContext::default()).get("cut"), None);
}

fn some<T: std::fmt::Debug + Clone + 'static>(
    strategy: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Option<T>> {
    prop::option::of(strategy).boxed()
}

fn word() -> BoxedStrategy<String> {
    "\\PC{0,12}".boxed()
}

fn json_value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        word().prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,9}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
    .boxed()
}

prop_compose! {
    fn message()(
        role in "[a-z]{1,9}",
        (text, result) in prop_oneof![
            word().prop_map(|text| (Some(text), None)),
            (some(word()), some(word()), word(), any::<bool>())
                .prop_map(|(id, name, content, is_error)| (None, Some(ToolResult { id, name, content, is_error }))),
        ],
    ) -> ContextMessage {
        ContextMessage { role, text, tool_result: result }
    }
}

prop_compose! {
    fn context()(
        (worktree, spec, baseline, head, stop_reason) in (some(word()), some(word()), some(word()), some(word()), some(word())),
        (iteration, claims_done) in (some(0..1_000_000_u64), some(any::<bool>())),
        (output, prompt) in (some(word()), some(word())),
        messages in prop::collection::vec(message(), 0..4),
        steps in prop::collection::vec((some(word()), word(), word()), 0..3),
        (objective, status, planned) in (some(word()), some(word()), any::<bool>()),
        summaries in prop::collection::vec((some(0..9_u64), prop::collection::vec(word(), 0..3)), 0..3),
        (turns, cost_usd) in (some(any::<u32>()), some((0..1_000_000_u32).prop_map(|cents| f64::from(cents) / 100.0))),
    ) -> SessionContext {
        let steps = steps.into_iter().map(|(id, title, status)| PlanStep { id, title, status }).collect();
        let summary = |(iteration, assistant_responses)| IterationSummary { iteration, assistant_responses, ..IterationSummary::default() };
        SessionContext {
            worktree, spec, baseline, head, stop_reason, iteration, claims_done, output, prompt, messages,
            tentative_output: None,
            plan: planned.then_some(AgentTodoPlan { objective, status, steps }),
            summaries: summaries.into_iter().map(summary).collect(),
            usage: SessionUsage { turns: turns.map(u64::from), cost_usd, ..SessionUsage::default() },
            background_tasks: Vec::new(),
            from_host: false,
        }
    }
}

/// The names of the calls are part of no message, so that a result without a name stays without one.
fn without_names_of_calls(mut context: SessionContext) -> SessionContext {
    context
        .messages
        .retain(|message| message.text.is_some() || message.tool_result.is_some());
    context
}

proptest! {
    #[test]
    fn a_context_survives_being_written_and_read(context in context()) {
        let text = context_to_json(&context).to_string();
        let read = context_from_json(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(read, without_names_of_calls(context));
    }

    #[test]
    fn no_json_makes_the_reader_panic(
        key in prop::sample::select(vec!["messages", "plan", "summaries", "usage", "output", "background_tasks", "iteration"]),
        value in json_value(),
    ) {
        let _ = context_from_value(&json!({ key: value }));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,60}") {
        let _ = context_from_json(&text);
    }
}
