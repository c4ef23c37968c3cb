//! Events of Antigravity's command line: each has an `event`, and a member of that name.

use serde_json::Value;

use super::fields::{cut, number, text};
use super::figures::{ResultUsage, TokenCounts};
use super::session_fold::SessionFold;

/// Takes one event; says whether it is one of Antigravity's.
pub(super) fn take(gathered: &mut SessionFold, event: &Value) -> bool {
    let Some(kind) = text(event, "event") else {
        return false;
    };
    let Some(reported) = event.get(kind).filter(|reported| reported.is_object()) else {
        return false;
    };
    match kind {
        "init" => {}
        "step_update" if text(reported, "step_type") == Some("agent_response") => {
            gathered.says(
                text(reported, "text_delta").unwrap_or_default().trim_end(),
                None,
            );
            let index = number(reported, "step_index").unwrap_or_default();
            gathered.figures.message(
                &format!("step {index}"),
                reported.get("usage").and_then(tokens),
                true,
            );
        }
        "step_update" => {}
        "result" => {
            gathered.answers(text(reported, "response").unwrap_or_default().trim_end());
            gathered.structured_output = reported
                .get("structured_output")
                .filter(|value| !value.is_null())
                .cloned();
            let status = text(reported, "status").unwrap_or("result");
            gathered.ended = Some(cut(&status.to_lowercase(), 100));
            match status {
                "SUCCESS" => gathered.recovers(),
                _ => gathered.fails(cut(text(reported, "error").unwrap_or(status), 4000), None),
            }
            let settled = ResultUsage {
                turns: number(reported, "num_turns"),
                tokens: reported.get("usage").and_then(tokens),
                ..ResultUsage::default()
            };
            gathered.figures.settle(&settled);
        }
        _ => return false,
    }
    gathered.session(text(event, "conversation_id").or_else(|| text(reported, "conversation_id")));
    true
}

fn tokens(usage: &Value) -> Option<TokenCounts> {
    let input = number(usage, "input_tokens")?;
    let total = number(usage, "total_tokens").unwrap_or(0);
    Some(TokenCounts {
        input,
        output: number(usage, "output_tokens")
            .unwrap_or(0)
            .max(total.saturating_sub(input)),
    })
}
