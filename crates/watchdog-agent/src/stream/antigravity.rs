//! Events of Antigravity's command line: each has an `event`, and a member of that name.

use serde_json::Value;

use super::fields::{cut_middle, get_number, get_text};
use super::figures::ResultUsage;
use super::gemini::read_streamed_tokens;
use super::session_fold::SessionFold;

/// Takes one event; says whether it is one of Antigravity's.
pub(super) fn apply_antigravity_event(gathered: &mut SessionFold, event: &Value) -> bool {
    let Some(kind) = get_text(event, "event") else {
        return false;
    };
    let Some(reported) = event.get(kind).filter(|reported| reported.is_object()) else {
        return false;
    };
    match kind {
        "init" => {}
        "step_update" if get_text(reported, "step_type") == Some("agent_response") => {
            gathered.says(
                get_text(reported, "text_delta")
                    .unwrap_or_default()
                    .trim_end(),
                None,
            );
            let index = get_number(reported, "step_index").unwrap_or_default();
            gathered.figures.message(
                &format!("step {index}"),
                reported.get("usage").and_then(read_streamed_tokens),
                true,
            );
        }
        "step_update" => {}
        "result" => {
            gathered.answers(
                get_text(reported, "response")
                    .unwrap_or_default()
                    .trim_end(),
            );
            gathered.reported.structured_output = reported
                .get("structured_output")
                .filter(|value| !value.is_null())
                .cloned();
            let status = get_text(reported, "status").unwrap_or("result");
            gathered.reported.ended = Some(cut_middle(&status.to_lowercase(), 100));
            match status {
                "SUCCESS" => gathered.recovers(),
                _ => gathered.fails(
                    cut_middle(get_text(reported, "error").unwrap_or(status), 4000),
                    None,
                ),
            }
            let settled = ResultUsage {
                turns: get_number(reported, "num_turns"),
                tokens: reported.get("usage").and_then(read_streamed_tokens),
                ..ResultUsage::default()
            };
            gathered.figures.settle(&settled);
        }
        _ => return false,
    }
    gathered.session(
        get_text(event, "conversation_id").or_else(|| get_text(reported, "conversation_id")),
    );
    true
}
