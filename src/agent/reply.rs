//! Reads an agent's answer to a probe out of whatever its program printed. Pure, and bounded on any input.
//!
//! First the structure that the known agents print ([`super::envelope`]): structured output, then the text of the answer.
//! Without one, or within that text, the last JSON object in the prose that stands for itself (`reply_scan` says which do).
//!
//! The status is one of three words, in any case and padding, or a plain synonym:
//! `complete` (`completed`, `done`, `finished`), `waiting`, `working` (`in_progress`, `in-progress`, `in progress`, `running`).
//! Nothing else is one: not `pending`, `blocked`, `success`, `ok`, and not the template `complete|waiting|working`.

use serde_json::{Map, Value};

use super::envelope;
use super::plain_text::{WINDOW, plain_text};
use super::reply_fields as fields;
use super::reply_scan::{Scan, last_object};
use crate::decision::display::bounded;
use crate::decision::evidence::{Reply, ReplyStatus};

/// What an output holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// A usable answer.
    Reply(Reply),
    /// Something, but no usable answer; `why` is for people.
    Unreadable { why: String },
    /// Nothing at all.
    Empty,
}

/// Keys that mark an object as a record which some other program printed.
const MARKS_OF_A_RECORD: &[&str] = &["type", "event", "level", "logger", "jsonrpc", "conclusion", "exit_code"];

/// Reads the answer to a probe from an output.
///
/// Looks at the last 256 KiB (for envelopes at the last 2 MiB) and reads in time linear in that.
pub fn read(bytes: &[u8]) -> Reading {
    match envelope::read(bytes) {
        Some(found) => from_envelope(&found),
        None => in_prose(bytes),
    }
}

/// Reads the answer from an envelope that is already open.
pub(super) fn from_envelope(found: &envelope::Envelope) -> Reading {
    if found.is_error {
        return Reading::Unreadable { why: format!("the agent reports an error: {}", bounded(&found.error_text(), 500)) };
    }
    let structured = match &found.structured_output {
        Some(Value::Object(object)) => from_object(object),
        _ => Err(String::new()),
    };
    match (structured, &found.text) {
        (Ok(reply), _) => Reading::Reply(reply),
        (Err(_), Some(text)) if !text.trim().is_empty() => in_prose(text.as_bytes()),
        (Err(why), _) if found.structured_output.is_some() => Reading::Unreadable { why },
        (Err(_), _) => Reading::Empty,
    }
}

fn in_prose(bytes: &[u8]) -> Reading {
    let input = plain_text(bytes);
    // Only blanks in sight: the rest decides between nothing and nothing usable.
    if input.text.trim().is_empty() && bytes[..bytes.len().saturating_sub(WINDOW)].trim_ascii().is_empty() {
        return Reading::Empty;
    }
    match last_object(&input, from_object) {
        Scan::Found { answer, later_one_cut: true } if answer.status == ReplyStatus::Complete => {
            Reading::Unreadable { why: "it says complete, and then begins another answer that is cut off".into() }
        }
        Scan::Found { answer, .. } => Reading::Reply(answer),
        Scan::Nothing { why } => Reading::Unreadable { why },
    }
}

/// Reads an object as a reply; `Err` says what is wrong with it.
///
/// A `complete` whose word on active agents or pending tasks is there but cannot be understood is not usable:
/// what it says is unknown, and unknown is never "none".
fn from_object(object: &Map<String, Value>) -> Result<Reply, String> {
    if let Some(mark) = MARKS_OF_A_RECORD.iter().find(|mark| object.contains_key(**mark)) {
        return Err(format!("the only object with a status is a record with a \"{mark}\", not an answer"));
    }
    let status = match object.get("status") {
        Some(Value::String(word)) => {
            status(word).ok_or_else(|| format!("its status is \"{}\", which is none of complete, waiting, working", bounded(word, 80)))?
        }
        Some(_) => return Err("its status is not a word".into()),
        None => return Err("it has no status".into()),
    };
    let field = |name: &str| object.get(name).unwrap_or(&Value::Null);
    let agents_active = fields::flag(field("agents_active"));
    let tasks_pending = fields::list(field("tasks_pending"));
    if status == ReplyStatus::Complete {
        for (name, understood) in [("agents_active", agents_active.is_ok()), ("tasks_pending", tasks_pending.is_ok())] {
            if !understood {
                return Err(format!("it says complete, and its {name} makes no sense"));
            }
        }
    }
    Ok(Reply {
        status,
        message: fields::text(field("message")).unwrap_or_default(),
        agents_active: agents_active.unwrap_or(None),
        agents_details: fields::list(field("agents_details")).unwrap_or_default(),
        tasks_completed: fields::list(field("tasks_completed")).unwrap_or_default(),
        tasks_pending: tasks_pending.unwrap_or_default(),
        commits_made: fields::count(field("commits_made")),
        should_continue: fields::flag(field("should_continue")).unwrap_or(None),
        next_action: fields::text(field("next_action")),
    })
}

/// The status that a word stands for.
fn status(word: &str) -> Option<ReplyStatus> {
    let word = word.trim().to_lowercase().replace(['-', ' '], "_");
    match word.as_str() {
        "complete" | "completed" | "done" | "finished" => Some(ReplyStatus::Complete),
        "waiting" => Some(ReplyStatus::Waiting),
        "working" | "in_progress" | "running" => Some(ReplyStatus::Working),
        _ => None,
    }
}
