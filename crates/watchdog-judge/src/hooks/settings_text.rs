//! Edits the text of a settings file: our entries in, or out, and every other byte as it was. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};

use watchdog_core::config::STRICT_JSON;

use super::dialect::HookDialect;
use super::entry::{HeldAgents, HookEntries, HookEntry, own_call, parse_own_command};
use super::input::HookEvent;

/// The new content of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsEdit {
    /// The whole new text; empty where a file that is all ours goes.
    pub text: String,
    /// Whether nothing but an empty object is left of what was ours alone.
    pub is_emptied: bool,
    /// Other entries that call watchdog in their own way; they stay as they are.
    pub others: Vec<String>,
}

/// Why a settings file cannot be edited. The words are for a person, without a final period.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It is no JSON.
    #[error("it is not valid JSON: {0}")]
    Broken(String),
    /// A value has another type than the host expects.
    #[error("`{path}` is {actual}, not {expected}")]
    Shape {
        /// The keys down to the value, joined with periods.
        path: String,
        /// The kind of value that is there, with its article.
        actual: &'static str,
        /// The kind of value that the host reads, with its article.
        expected: &'static str,
    },
    /// A whole file that somebody else wrote.
    #[error("it is there, and watchdog did not write it")]
    Foreign,
    /// The effective one of two equal keys is unknown.
    #[error("`{path}` is there twice")]
    Twice {
        /// The keys down to the value, joined with periods.
        path: String,
    },
}

/// Comments are kept, as some editors allow them here; everything else that is no JSON is refused.
const DIALECT: ParseOptions = ParseOptions {
    allow_comments: true,
    ..STRICT_JSON
};

/// The text with exactly the wanted entries of ours in it. `program` is what our own entries may call beside `watchdog`.
///
/// # Errors
/// When the text is no settings file that the host could read.
pub(super) fn edit_settings(
    text: &str,
    wanted: &HookEntries,
    program: &str,
) -> Result<SettingsEdit, EditError> {
    let (mark, text) = if text.starts_with('\u{feff}') {
        text.split_at('\u{feff}'.len_utf8())
    } else {
        ("", text)
    };
    let empty = text.trim().is_empty();
    if empty && wanted.entries.is_empty() {
        return Ok(SettingsEdit {
            text: format!("{mark}{text}"),
            is_emptied: false,
            others: Vec::new(),
        });
    }
    let source = if empty { "{\n}\n" } else { text };
    let root = CstRootNode::parse(source, &DIALECT)
        .map_err(|error| EditError::Broken(error.to_string()))?;
    let top = match root.value() {
        Some(value) => value
            .as_object()
            .ok_or_else(|| new_shape_error("the file", &value, "an object"))?,
        None => return Err(EditError::Broken("it holds comments only".into())),
    };
    let mut others = Vec::new();
    let hooks = match find_single_property(&top, "hooks", "hooks")? {
        Some(property) => Some(require_object(&property, "hooks")?),
        None => None,
    };
    if let Some(hooks) = &hooks {
        for (event, name) in events_of(wanted.dialect) {
            update_event_entry(hooks, (wanted, event, name), program, &mut others)?;
        }
    }
    let missing: Vec<&HookEntry> = match &hooks {
        None => wanted.entries.iter().collect(),
        Some(hooks) => wanted
            .entries
            .iter()
            .filter(|entry| !is_there(hooks, entry, program))
            .collect(),
    };
    if !missing.is_empty() {
        let hooks = hooks
            .clone()
            .unwrap_or_else(|| top.object_value_or_set("hooks"));
        for entry in missing {
            hooks
                .array_value_or_set(entry.name)
                .append(build_group(entry));
        }
    } else if let Some(hooks) =
        hooks.filter(|hooks| hooks.properties().is_empty() && wanted.entries.is_empty())
        && own_entries(wanted.dialect, text, program) > 0
    {
        hooks
            .parent()
            .and_then(|parent| parent.as_object_prop())
            .into_iter()
            .for_each(CstObjectProp::remove);
    }
    let edited = format!("{mark}{root}");
    let is_bare = edited.split_whitespace().collect::<String>() == "{}";
    let is_emptied =
        is_bare && wanted.entries.is_empty() && own_entries(wanted.dialect, text, program) > 0;
    Ok(SettingsEdit {
        text: edited,
        is_emptied,
        others,
    })
}

/// The events of an agent, with its names for them.
fn events_of(dialect: HookDialect) -> impl Iterator<Item = (HookEvent, &'static str)> {
    HookEvent::ALL
        .into_iter()
        .filter_map(move |event| Some((event, dialect.event_name(event)?)))
}

/// The settings of an agent as it reads them itself: Gemini CLI and Qwen Code alone pass over comments.
pub(super) fn parse_settings(dialect: HookDialect, text: &str) -> Result<CstRootNode, String> {
    let text = text.trim_start_matches('\u{feff}');
    if !matches!(dialect, HookDialect::Gemini | HookDialect::Qwen) {
        serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|error| error.to_string())?;
    }
    CstRootNode::parse(text, &DIALECT).map_err(|error| error.to_string())
}

/// Why an agent reads no hook of a settings file; `None` where it reads them.
pub(super) fn find_reading_fault(dialect: HookDialect, text: &str) -> Option<String> {
    let root = match parse_settings(dialect, text) {
        Ok(root) => root,
        Err(error) => {
            return Some(format!(
                "it is not JSON as {} reads it: {error}",
                dialect.title()
            ));
        }
    };
    let is_strict = matches!(dialect, HookDialect::Claude | HookDialect::Copilot);
    let switch = root.object_value()?.get("disableAllHooks")?.value()?;
    (is_strict && switch.as_boolean_lit().is_none()).then(|| {
        format!(
            "disableAllHooks is {switch}, and {} wants true or false",
            dialect.title()
        )
    })
}

/// Our entries in a text; none where the agent could not read it. `program` is what they may call beside `watchdog`.
fn list_own_hooks(dialect: HookDialect, text: &str, program: &str) -> Vec<(HookEvent, FoundHook)> {
    let root = CstRootNode::parse(text.trim_start_matches('\u{feff}'), &DIALECT).ok();
    let hooks = root.and_then(|root| root.object_value()?.object_value("hooks"));
    let list_event = |(event, name): (HookEvent, &str)| {
        let groups = hooks.as_ref().and_then(|hooks| hooks.array_value(name));
        let mut own = groups.as_ref().map(list_commands).unwrap_or_default();
        own.retain(|hook| parse_own_command(&hook.command, program) == Some(event));
        own.into_iter().map(move |hook| (event, hook))
    };
    events_of(dialect).flat_map(list_event).collect()
}

/// The names of our entries by which an agent can leave them out: the command where an entry has no name.
pub(super) fn list_own_names(dialect: HookDialect, text: &str) -> Vec<String> {
    let own = list_own_hooks(dialect, text, "watchdog").into_iter();
    own.map(|(_, hook)| text_of(&hook.entry, "name").unwrap_or(hook.command))
        .collect()
}

/// How many entries of ours a text holds; none where it is no settings file.
pub(super) fn own_entries(dialect: HookDialect, text: &str, program: &str) -> u64 {
    list_own_hooks(dialect, text, program).len() as u64
}

/// The entries of ours that a settings file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledHooks {
    /// The programs that they call.
    pub programs: BTreeSet<String>,
    /// The agents that they hold.
    pub holds: HeldAgents,
    /// How long the host waits for a judgement.
    pub patience: Duration,
    /// Whether an entry has options that `watchdog hook install` does not write.
    pub by_hand: bool,
}

/// Reads our own entries; `None` where there is none.
pub(super) fn read_installed_hooks(
    dialect: HookDialect,
    text: &str,
    program: &str,
) -> Option<InstalledHooks> {
    let mut installed_hooks = InstalledHooks {
        programs: BTreeSet::new(),
        holds: HeldAgents::default(),
        patience: HookEntries::USUAL_PATIENCE,
        by_hand: false,
    };
    for (event, hook) in list_own_hooks(dialect, text, program) {
        let Some(call) = own_call(&hook.command) else {
            continue;
        };
        installed_hooks.holds.subagents |= event == HookEvent::SubagentStop
            && call.options.iter().any(|option| option == "--hold");
        installed_hooks.holds.all_sessions |=
            call.options.iter().any(|option| option == "--all-sessions");
        installed_hooks.by_hand |= !call.is_plain;
        installed_hooks.programs.insert(call.program);
        let timeout = hook
            .entry
            .get("timeout")
            .and_then(|property| property.value())
            .and_then(|value| value.to_string().parse().ok());
        if let Some(timeout) = timeout.filter(|_| event == HookEvent::Stop) {
            installed_hooks.patience = dialect.patience(timeout);
        }
    }
    (!installed_hooks.programs.is_empty()).then_some(installed_hooks)
}

/// A command in a list of groups.
struct FoundHook {
    group: CstObject,
    list: CstArray,
    entry: CstObject,
    command: String,
}

/// Every command of an event. Entries of another shape are no commands of ours and stay unchanged.
fn list_commands(groups: &CstArray) -> Vec<FoundHook> {
    let mut hooks = Vec::new();
    for group in groups.elements().iter().filter_map(CstNode::as_object) {
        let Some(list) = group.array_value("hooks") else {
            continue;
        };
        for entry in list.elements().iter().filter_map(CstNode::as_object) {
            if let Some(command) = text_of(&entry, "command") {
                hooks.push(FoundHook {
                    group: group.clone(),
                    list: list.clone(),
                    entry,
                    command,
                });
            }
        }
    }
    hooks
}

/// Leaves at most one entry of ours in an event's list: the wanted one, brought up to date.
fn update_event_entry(
    hooks: &CstObject,
    (entries, event, name): (&HookEntries, HookEvent, &str),
    program: &str,
    others: &mut Vec<String>,
) -> Result<(), EditError> {
    let wanted = entries.entries.iter().find(|entry| entry.event == event);
    let path = format!("hooks.{name}");
    let Some(property) = find_single_property(hooks, name, &path)? else {
        return Ok(());
    };
    let value = property
        .value()
        .ok_or_else(|| EditError::Broken(format!("`{path}` has no value")))?;
    let groups = value
        .as_array()
        .ok_or_else(|| new_shape_error(&path, &value, "a list"))?;
    let mut is_updated = false;
    let mut removed = false;
    for hook in list_commands(&groups) {
        let own_event = parse_own_command(&hook.command, program);
        if own_event != Some(event) {
            // Two events of ours may have one name.
            let is_ours = own_event.and_then(|own| entries.dialect.event_name(own)) == Some(name);
            if !is_ours && hook.command.contains("watchdog") && hook.command.contains(" hook ") {
                others.push(hook.command);
            }
            continue;
        }
        match wanted
            .filter(|wanted| !is_updated && get_matcher(&hook.group).as_deref() == wanted.matcher)
        {
            Some(wanted) => {
                is_updated = true;
                update_entry(&hook.entry, wanted);
            }
            None => {
                removed = true;
                hook.entry.remove();
                if hook.list.elements().is_empty() {
                    hook.group.remove();
                }
            }
        }
    }
    if removed && groups.elements().is_empty() {
        property.remove();
    }
    Ok(())
}

fn is_there(hooks: &CstObject, entry: &HookEntry, program: &str) -> bool {
    let groups = hooks.array_value(entry.name);
    groups.is_some_and(|groups| {
        list_commands(&groups)
            .iter()
            .any(|hook| parse_own_command(&hook.command, program) == Some(entry.event))
    })
}

/// Changes what differs, and nothing else.
fn update_entry(entry: &CstObject, wanted: &HookEntry) {
    if text_of(entry, "command").as_deref() != Some(wanted.command.as_str()) {
        set_property(entry, "command", wanted.command.as_str().into());
    }
    if text_of(entry, "type").as_deref() != Some("command") {
        set_property(entry, "type", "command".into());
    }
    let timeout = entry
        .get("timeout")
        .and_then(|property| property.value())
        .map(|value| value.to_string());
    if timeout.as_deref() != Some(wanted.timeout.to_string().as_str()) {
        set_property(
            entry,
            "timeout",
            CstInputValue::Number(wanted.timeout.to_string()),
        );
    }
}

fn set_property(object: &CstObject, name: &str, value: CstInputValue) {
    match object.get(name) {
        Some(property) => property.set_value(value),
        None => drop(object.append(name, value)),
    }
}

fn build_group(entry: &HookEntry) -> CstInputValue {
    let object = |fields: Vec<(&str, CstInputValue)>| {
        CstInputValue::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    };
    let hook = object(vec![
        ("type", "command".into()),
        ("command", entry.command.as_str().into()),
        ("timeout", CstInputValue::Number(entry.timeout.to_string())),
    ]);
    let mut fields = vec![("hooks", CstInputValue::Array(vec![hook]))];
    if let Some(matcher) = entry.matcher {
        fields.insert(0, ("matcher", matcher.into()));
    }
    object(fields)
}

/// A group's matcher; an empty one and `*` mean every tool, as no matcher does.
fn get_matcher(group: &CstObject) -> Option<String> {
    text_of(group, "matcher").filter(|text| !text.is_empty() && text != "*")
}

fn text_of(object: &CstObject, name: &str) -> Option<String> {
    object
        .get(name)?
        .value()?
        .as_string_lit()?
        .decoded_value()
        .ok()
}

/// The property of this name, if it is there once.
fn find_single_property(
    object: &CstObject,
    name: &str,
    path: &str,
) -> Result<Option<CstObjectProp>, EditError> {
    let mut same_name = object
        .properties()
        .into_iter()
        .filter(|property| property.decoded_name().as_deref() == Some(name));
    match (same_name.next(), same_name.next()) {
        (found, None) => Ok(found),
        (_, Some(_)) => Err(EditError::Twice { path: path.into() }),
    }
}

fn require_object(property: &CstObjectProp, path: &str) -> Result<CstObject, EditError> {
    let value = property
        .value()
        .ok_or_else(|| EditError::Broken(format!("`{path}` has no value")))?;
    value
        .as_object()
        .ok_or_else(|| new_shape_error(path, &value, "an object"))
}

fn new_shape_error(path: &str, value: &CstNode, expected: &'static str) -> EditError {
    let actual = if value.as_array().is_some() {
        "a list"
    } else if value.as_object().is_some() {
        "an object"
    } else if value.as_string_lit().is_some() {
        "a text"
    } else if value.as_null_keyword().is_some() {
        "null"
    } else {
        "another value"
    };
    EditError::Shape {
        path: path.into(),
        actual,
        expected,
    }
}

#[cfg(test)]
#[path = "settings_text_tests.rs"]
mod tests;
