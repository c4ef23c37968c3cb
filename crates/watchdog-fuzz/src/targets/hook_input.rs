//! What agents tell their hooks: nothing is made up, and a stop gives no output that only a tool may give.

use serde_json::Value;
use watchdog_facts::context::SessionContext;
use watchdog_judge::hooks::{HookDialect, HookEvent, HookInput, build_context};

/// Reads an input in the words of each agent.
pub fn run(input: &[u8]) {
    for dialect in HookDialect::ALL {
        let Ok(read) = HookInput::parse(dialect, input) else {
            let object =
                serde_json::from_slice::<Value>(input).is_ok_and(|value| value.is_object());
            assert!(
                !object && !input.trim_ascii().is_empty(),
                "{dialect:?}: an object is always taken"
            );
            continue;
        };
        if input.trim_ascii().is_empty() {
            assert_eq!(read, HookInput::default());
            continue;
        }
        let value: Value = serde_json::from_slice(input).expect("what was taken is JSON");
        assert_eq!(
            value.as_object(),
            Some(&read.fields),
            "{dialect:?}: no member is lost"
        );
        assert!(
            !read.stop_hook_active || value["stop_hook_active"] == true,
            "{dialect:?}: a hold that nobody spoke of"
        );
        assert!(read.running_tasks().len() <= read.background_tasks.len());
        assert!(
            read.running_tasks()
                .iter()
                .all(|task| !task.trim().is_empty()),
            "a task has a name"
        );
        if let Some(event) = read.event {
            assert_eq!(value["hook_event_name"].as_str(), dialect.event_name(event));
        }
        for event in HookEvent::ALL {
            let session = build_context(event, &read, SessionContext::default());
            let gives = matches!(event, HookEvent::PreToolUse | HookEvent::PostToolUse);
            assert!(
                gives || session.tentative_output.is_none(),
                "{dialect:?}: only a tool gives an output"
            );
            assert_eq!(
                session.claims_done, None,
                "{dialect:?}: a hook's input claims nothing"
            );
        }
    }
}
