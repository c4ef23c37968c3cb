//! The optional fields of a reply, read from any type that the model gave them.
//!
//! `Ok(None)` or an empty list means that nothing was said; `Err` that something was said and cannot be understood.

use serde_json::{Map, Value};

use watchdog_facts::display::cut_text;

/// Bytes kept of a free text.
const TEXT: usize = 4096;
/// Entries kept of a list.
const ENTRIES: usize = 100;
/// Bytes kept of one entry.
const ENTRY: usize = 500;

/// Something was said that cannot be understood.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FieldError;

/// Yes or no: booleans, their words, and counts (any above zero means yes).
pub(super) fn parse_flag(value: &Value) -> Result<Option<bool>, FieldError> {
    match value {
        Value::Null => Ok(None),
        Value::Bool(yes) => Ok(Some(*yes)),
        Value::Number(_) => parse_count(value).map(|n| Some(n > 0)).ok_or(FieldError),
        Value::Array(items) => Ok(Some(!items.is_empty())),
        Value::String(word) => match word.trim().to_lowercase().as_str() {
            "" => Ok(None),
            "true" | "yes" => Ok(Some(true)),
            "false" | "no" | "none" => Ok(Some(false)),
            number => number
                .parse::<u64>()
                .map(|n| Some(n > 0))
                .map_err(|_| FieldError),
        },
        Value::Object(_) => Err(FieldError),
    }
}

/// A list of texts: an array of texts or objects, one text, or a number of things that are not named.
pub(super) fn parse_list(value: &Value) -> Result<Vec<String>, FieldError> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => Ok(items.iter().filter_map(parse_entry).take(ENTRIES).collect()),
        Value::Bool(false) => Ok(Vec::new()),
        Value::Bool(true) => Ok(make_unnamed_entries(1)),
        Value::Number(_) => parse_count(value)
            .map(make_unnamed_entries)
            .ok_or(FieldError),
        Value::String(word) => match word.trim().parse::<u64>() {
            Ok(number) => Ok(make_unnamed_entries(number)),
            Err(_) => Ok(parse_entry(value).into_iter().collect()),
        },
        Value::Object(members) => Ok(members
            .iter()
            .map(|(name, of)| cut_text(&format!("{name}: {}", value_to_text(of)), ENTRY))
            .take(ENTRIES)
            .collect()),
    }
}

/// A count: whole numbers, and texts that begin with one (`"2"`, `"2 commits"`). Returns `None` for
/// other values.
pub(super) fn parse_count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64()?;
            (float >= 0.0 && float.fract() == 0.0 && float < 1e15).then_some(float as u64)
        }),
        Value::String(word) => word.split_whitespace().next()?.parse().ok(),
        Value::Array(items) => Some(items.len() as u64),
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    }
}

/// A text; other values as their JSON. Returns `None` for an empty value.
pub(super) fn parse_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        value => Some(cut_text(&value_to_text(value), TEXT)).filter(|text| !text.is_empty()),
    }
}

/// An object's report of unfinished work, beyond the requested fields: counts of open items, and progress short of its goal.
pub(super) fn find_unfinished_work(object: &Map<String, Value>) -> Option<String> {
    // Looks one level down as well, where `progress` and `counts` keep theirs.
    let inner = object.iter().filter_map(|(_, value)| value.as_object());
    std::iter::once(object)
        .chain(inner)
        .find_map(unfinished_here)
}

fn unfinished_here(object: &Map<String, Value>) -> Option<String> {
    const LEFT: &[&str] = &[
        "remaining",
        "unfinished",
        "incomplete",
        "outstanding",
        "open",
        "todo",
        "todos",
        "left",
        "pending",
    ];
    let number = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| parse_count(object.get(*name)?))
    };
    if let (Some(done), Some(of)) = (
        number(&["done", "completed", "complete", "finished", "passed"]),
        number(&["of", "total", "all", "planned"]),
    ) && done < of
    {
        return Some(format!(
            "it says complete, and that {done} of {of} are done"
        ));
    }
    object.iter().find_map(|(name, value)| {
        let plain = name.to_lowercase();
        let of_open_work =
            plain != "tasks_pending" && plain.split('_').any(|part| LEFT.contains(&part));
        if of_open_work
            && !value.is_object()
            && matches!(parse_flag(value), Ok(Some(true)))
            && !matches!(value, Value::Bool(_))
        {
            return Some(format!(
                "it says complete, and has work in {}",
                cut_text(name, 80)
            ));
        }
        if matches!(
            plain.as_str(),
            "active_agents" | "running_agents" | "agents_running" | "background_tasks"
        ) && parse_flag(value) == Ok(Some(true))
        {
            return Some("it says complete and that agents are still active".to_string());
        }
        let share =
            plain.starts_with("percent") || plain.starts_with("progress") || plain == "completion";
        (share && parse_percent(value).is_some_and(|percent| percent < 100.0)).then(|| {
            format!(
                "it says complete, and {} is below its goal",
                cut_text(name, 80)
            )
        })
    })
}

/// A share of the whole: a percentage, or a fraction of one.
fn parse_percent(value: &Value) -> Option<f64> {
    let share = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => return text.trim().strip_suffix('%')?.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    Some(if share <= 1.0 { share * 100.0 } else { share })
}

fn make_unnamed_entries(number: u64) -> Vec<String> {
    (1..=number.min(ENTRIES as u64))
        .map(|i| format!("{i} of {number}, not named"))
        .collect()
}

/// Reads an entry; `None` for synonyms of "none".
fn parse_entry(item: &Value) -> Option<String> {
    let shown = match item {
        Value::Null => return None,
        Value::Object(members) => {
            let name = ["title", "name", "task", "description", "message", "id"]
                .iter()
                .find_map(|key| members.get(*key)?.as_str());
            name.map_or_else(|| item.to_string(), str::to_owned)
        }
        item => value_to_text(item),
    };
    let shown = shown.trim();
    let nothing = matches!(
        shown.to_lowercase().as_str(),
        "" | "none" | "n/a" | "nothing"
    );
    (!nothing).then(|| cut_text(shown, ENTRY))
}

fn value_to_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn flag_words_are_read_and_never_guessed() {
        for (value, flagged) in [
            (json!(null), Ok(None)),
            (json!(true), Ok(Some(true))),
            (json!("False"), Ok(Some(false))),
            (json!(" yes "), Ok(Some(true))),
            (json!(0), Ok(Some(false))),
            (json!(3), Ok(Some(true))),
            (json!("2"), Ok(Some(true))),
            (json!([]), Ok(Some(false))),
            (json!(["a"]), Ok(Some(true))),
            (json!("maybe"), Err(FieldError)),
            (json!(-1), Err(FieldError)),
            (json!({"n": 1}), Err(FieldError)),
            (json!("1e999999"), Err(FieldError)),
        ] {
            assert_eq!(parse_flag(&value), flagged, "{value}");
        }
    }

    #[test]
    fn pending_tasks_are_counted_in_any_form() {
        for (value, entries) in [
            (json!(null), 0),
            (json!([]), 0),
            (json!(["a", {"title": "b"}, 3]), 3),
            (json!(["none"]), 0),
            (json!("None"), 0),
            (json!("write the docs"), 1),
            (json!(2), 2),
            (json!("2"), 2),
            (json!(0), 0),
            (json!(true), 1),
            (json!({"a": "open", "b": "open"}), 2),
            (json!(u64::MAX), 100),
        ] {
            assert_eq!(parse_list(&value).map(|l| l.len()), Ok(entries), "{value}");
        }
        assert_eq!(parse_list(&json!(-1)), Err(FieldError));
        assert_eq!(parse_list(&json!(1.5)), Err(FieldError));
    }

    #[test]
    fn commits_are_counted_where_a_count_is_given() {
        for (value, commits) in [
            (json!(2), Some(2)),
            (json!(2.0), Some(2)),
            (json!("2"), Some(2)),
            (json!("2 commits"), Some(2)),
            (json!("two"), None),
            (json!(-2), None),
            (json!(1.5), None),
            (json!(true), None),
        ] {
            assert_eq!(parse_count(&value), commits, "{value}");
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        assert!(parse_text(&json!("x".repeat(100_000))).is_some_and(|t| t.len() <= TEXT));
        assert!(
            parse_list(&json!(vec!["y".repeat(9000); 900]))
                .is_ok_and(|l| l.len() == ENTRIES && l.iter().all(|e| e.len() <= ENTRY))
        );
    }
}
