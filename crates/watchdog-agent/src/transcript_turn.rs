//! Whether an agent's turn is over, by the end of its transcript: of Claude Code and of Codex.

use std::path::Path;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde_json::Value;

use super::stream::get_text;
use watchdog_core::decision::session_life::SessionTurn;
use watchdog_system::read_behind;

/// How much of a transcript is read, from its end.
const WINDOW: u64 = 512 << 10;

/// A last message without a word on why it ended is the end of a turn once nothing followed for so long.
const SETTLED: Duration = Duration::from_secs(60);

/// Kinds of a user's lines that are no prompt: what commands of the program itself printed.
const PROGRAM_LINES: [&str; 3] = ["<command-name>", "<local-command", "<bash-"];

/// Reads the state of the turn. An unknown state counts as busy.
pub fn read_turn(path: &Path) -> SessionTurn {
    let Some((tail, modified)) = read_tail(path) else {
        return SessionTurn::Busy;
    };
    turn_of(&tail, modified, SystemTime::now())
}

fn read_tail(path: &Path) -> Option<(String, SystemTime)> {
    // Before the content: what is appended meanwhile is newer than its time, never older.
    let modified = path.metadata().ok()?.modified().ok()?;
    let (bytes, _) = read_behind(path, 0, WINDOW).ok()?;
    Some((String::from_utf8_lossy(&bytes).into_owned(), modified))
}

fn turn_of(tail: &str, modified: SystemTime, now: SystemTime) -> SessionTurn {
    for line in tail.lines().rev() {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let Some(ends) = ends_turn(&event) else {
            continue;
        };
        let settled = now
            .duration_since(modified)
            .is_ok_and(|quiet| quiet >= SETTLED);
        let since = get_text(&event, "timestamp")
            .and_then(|at| at.parse().ok())
            .or_else(|| Timestamp::try_from(modified).ok());
        return match (ends, since) {
            (TurnEnd::Yes, Some(since)) => SessionTurn::Over { since },
            (TurnEnd::OnceSettled, Some(since)) if settled => SessionTurn::Over { since },
            _ => SessionTurn::Busy,
        };
    }
    SessionTurn::Busy
}

enum TurnEnd {
    Yes,
    No,
    OnceSettled,
}

/// Reads whether a line ends the turn; `None` if the line does not tell.
fn ends_turn(event: &Value) -> Option<TurnEnd> {
    match get_text(event, "type")? {
        "assistant" if event["isSidechain"] != true => Some(after_message(&event["message"])),
        "user" if event["isSidechain"] != true && event["isMeta"] != true => {
            after_prompt(&event["message"]["content"])
        }
        "event_msg" => match get_text(&event["payload"], "type")? {
            "task_complete" | "turn_aborted" => Some(TurnEnd::Yes),
            "task_started" | "user_message" => Some(TurnEnd::No),
            _ => None,
        },
        _ => None,
    }
}

fn after_message(message: &Value) -> TurnEnd {
    let calls = message["content"]
        .as_array()
        .is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_use"));
    match get_text(message, "stop_reason") {
        _ if calls => TurnEnd::No,
        Some("tool_use" | "pause_turn") => TurnEnd::No,
        Some(_) => TurnEnd::Yes,
        None => TurnEnd::OnceSettled,
    }
}

fn after_prompt(content: &Value) -> Option<TurnEnd> {
    let first = content
        .as_str()
        .or_else(|| content[0]["text"].as_str())
        .unwrap_or_default();
    if PROGRAM_LINES.iter().any(|begin| first.starts_with(begin)) {
        return None;
    }
    Some(if first.starts_with("[Request interrupted") {
        TurnEnd::Yes
    } else {
        TurnEnd::No
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assistant(content: &Value, stop_reason: &Value) -> Value {
        json!({"type": "assistant", "timestamp": "2026-03-04T05:06:07Z", "message": {"content": content, "stop_reason": stop_reason}})
    }

    fn is_over(lines: &[Value], quiet: u64) -> bool {
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let tail: String = lines.iter().map(|line| format!("{line}\n")).collect();
        matches!(
            turn_of(
                &format!("{{\"cut\n{tail}"),
                modified,
                modified + Duration::from_secs(quiet)
            ),
            SessionTurn::Over { .. }
        )
    }

    #[test]
    fn turn_ends_after_last_agent_message() {
        let (said, call) = (
            json!([{"type": "text", "text": "done"}]),
            json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]),
        );
        let user = |content: Value| json!({"type": "user", "message": {"content": content}});
        let aside = json!({"type": "assistant", "isSidechain": true, "message": {"content": call, "stop_reason": "tool_use"}});
        let codex = |kind: &str| json!({"type": "event_msg", "timestamp": "2026-03-04T05:06:07Z", "payload": {"type": kind}});
        let end = assistant(&said, &json!("end_turn"));
        for (name, lines, quiet, over) in [
            ("nothing", vec![], 900, false),
            ("an end", vec![end.clone()], 0, true),
            (
                "an end, then lines of the program",
                vec![end.clone(), json!({"type": "summary"}), aside],
                0,
                true,
            ),
            (
                "an end, then a prompt",
                vec![end.clone(), user(json!("go on"))],
                900,
                false,
            ),
            (
                "an end, then a command of the program",
                vec![
                    end.clone(),
                    user(json!("<command-name>/cost</command-name>")),
                ],
                0,
                true,
            ),
            (
                "a call",
                vec![assistant(&call, &json!("tool_use"))],
                900,
                false,
            ),
            (
                "a result",
                vec![
                    end.clone(),
                    user(json!([{"type": "tool_result", "tool_use_id": "t"}])),
                ],
                900,
                false,
            ),
            (
                "an interruption",
                vec![user(
                    json!([{"type": "text", "text": "[Request interrupted by user]"}]),
                )],
                0,
                true,
            ),
            (
                "a message without a reason, a moment ago",
                vec![assistant(&said, &Value::Null)],
                59,
                false,
            ),
            (
                "a message without a reason, a minute ago",
                vec![assistant(&said, &Value::Null)],
                60,
                true,
            ),
            (
                "a call without a reason",
                vec![assistant(&call, &Value::Null)],
                900,
                false,
            ),
            (
                "codex works",
                vec![
                    codex("task_complete"),
                    codex("task_started"),
                    codex("token_count"),
                ],
                900,
                false,
            ),
            (
                "codex is done",
                vec![
                    codex("task_started"),
                    codex("task_complete"),
                    codex("token_count"),
                ],
                0,
                true,
            ),
        ] {
            assert_eq!(is_over(&lines, quiet), over, "{name}");
        }
        let SessionTurn::Over { since } = turn_of(
            &format!("{end}\n"),
            SystemTime::UNIX_EPOCH,
            SystemTime::UNIX_EPOCH,
        ) else {
            panic!("over")
        };
        assert_eq!(since.to_string(), "2026-03-04T05:06:07Z");
    }
}
